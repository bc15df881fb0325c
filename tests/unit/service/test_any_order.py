"""Whatever people, clocks and tools do, in any order: what holds after every step (R1 to R9).

The machine drives a real desk on a ledger in memory: its bodies wait until a step lets them go on, its clock stands still until a step
moves it, and a restart is a new desk on the same ledger.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

import toolwitness as tw
from tests.unit.service.attacks import ANN, BOB, EVE, MALLORY
from toolwitness.bootstrap.world import TimeOrderedIds
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, Owner, State
from toolwitness.core.verdicts import Verdict
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ports import Draft
from toolwitness.runtime.dispatching import running_inside
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.record import Registration
from toolwitness.testing.clock import FakeClock

PEOPLE = st.sampled_from([ANN, BOB, EVE, MALLORY])
_ROUNDS = 60
"""Turns of the event loop after which everything that a step set off is over; a chain of appends in memory takes far fewer."""


@dataclass
class Running:
    """One body that waits to be told how to go on."""

    invocation_id: str
    amount: str
    go: asyncio.Event = field(default_factory=asyncio.Event)
    how: str = "succeed"


class AnyOrder(RuleBasedStateMachine):
    """The desk under every order of steps."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.ledger = MemoryLedger()
        self.clock = FakeClock()
        self.running: list[Running] = []
        self.bodies: Counter[str] = Counter()
        self.paid: dict[str, str] = {}
        self.ended: dict[str, State] = {}
        self.refusals = 0
        self.heard: list[Draft] = []

    def run(self, deed: Awaitable[Any]) -> Any:
        """Do something, and let everything that it sets off come to rest."""

        async def and_settle() -> Any:
            try:
                return await deed
            finally:
                for _ in range(_ROUNDS):
                    await asyncio.sleep(0)

        return self.loop.run_until_complete(and_settle())

    def act(self, deed: Awaitable[Any]) -> None:
        """Let a person do something; a refusal must be on record."""
        try:
            self.run(deed)
        except tw.NotPermitted:
            self.refusals += 1

    def open_a_desk(self) -> tw.Desk:
        desk = tw.Desk(self.ledger, clock=self.clock, ids=TimeOrderedIds(), sweep_seconds=3600)
        desk.register.add(Registration(source="acme", principal="acme"))

        async def work(amount: str) -> str:
            inside = running_inside()
            assert inside is not None
            body = Running(inside.invocation_id, amount)
            self.bodies[body.invocation_id] += 1
            self.paid[body.invocation_id] = amount
            self.running.append(body)
            while True:
                try:
                    await body.go.wait()
                except asyncio.CancelledError:
                    if body.how != "ignore":
                        raise
                    continue
                break
            if body in self.running:
                self.running.remove(body)
            if body.how == "fail":
                raise tw.ToolFailure("upstream-unavailable", "It did not answer.")
            return f"did {amount}"

        asks = {"consequences": [tw.EXTERNALLY_VISIBLE], "approvers": ["role:finance"], "approval_seconds": 60}
        desk.tool(name="pay", retry_attempts=3, idempotency="idempotent", queue_seconds=120, result_seconds=300, **asks)(work)
        desk.tool(name="look", consequences=[tw.READ_ONLY], retry_attempts=3)(work)
        return desk

    @initialize()
    def begin(self) -> None:
        self.desk = self.open_a_desk()
        self.run(self.desk.start())
        self.task = self.run(open_task(self.desk.place, "Everything at once"))

    # ── steps ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=calls,
        tool=st.sampled_from(["pay", "pay", "look"]),
        amount=st.sampled_from(["1.00", "2.00"]),
        go=st.sampled_from(["on", "wait"]),
    )
    def propose(self, tool: str, amount: str, go: str) -> Any:
        view = self.run(self.ledger.task(self.task))
        if len(view.records) > 3:
            return multiple()
        given = Proposal(tool=tool, inputs=json.dumps({"amount": amount}).encode(), source_request="m", proposer="p")
        one = self.run(propose(self.desk.place, self.task, given))
        if go == "on":
            self.run(self.desk.submit(one))
        return one

    @rule(one=calls)
    def submit(self, one: str) -> None:
        self.run(self.desk.submit(one))

    @rule(one=calls, who=PEOPLE, which=st.sampled_from(["the open one", "the first"]))
    def approve(self, one: str, who: tw.Actor, which: str) -> None:
        approvals = self.run(self.desk.record(one)).approvals
        named = {"approval_id": approvals[0].id} if which == "the first" and approvals else {}
        self.act(self.desk.approve(one, by=who, **named))

    @rule(one=calls, who=PEOPLE, act=st.sampled_from(["deny", "withdraw", "dismiss", "request_cancellation"]))
    def close(self, one: str, who: tw.Actor, act: str) -> None:
        self.act(getattr(self.desk, act)(one, by=who))

    @rule(one=calls, who=PEOPLE, amount=st.sampled_from(["1.00", "3.00"]))
    def edit(self, one: str, who: tw.Actor, amount: str) -> None:
        self.act(self.desk.edit_inputs(one, {"amount": amount}, by=who))

    @rule(target=calls, one=calls, who=PEOPLE, act=st.sampled_from(["retry", "resubmit"]))
    def begin_again(self, one: str, who: tw.Actor, act: str) -> Any:
        before = self.run(self.ledger.task(self.task)).records
        self.act(getattr(self.desk, act)(one, by=who))
        return multiple(*(set(self.run(self.ledger.task(self.task)).records) - set(before)))

    @rule(one=calls, both=st.sampled_from([("approve", "deny"), ("approve", "approve"), ("approve", "withdraw"), ("deny", "dismiss")]))
    def two_at_once(self, one: str, both: tuple[str, str]) -> None:
        deeds = [getattr(self.desk, act)(one, by=who) for act, who in zip(both, (ANN, BOB), strict=True)]
        answers = self.run(_together(deeds))
        self.refusals += sum(isinstance(answer, tw.NotPermitted) for answer in answers)
        assert all(isinstance(answer, tw.NotPermitted) or not isinstance(answer, BaseException) for answer in answers)

    @rule(seconds=st.sampled_from([1, 59, 61, 121, 301, -30]))
    def let_time_pass(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.run(self.desk.sweep())

    @rule(how=st.sampled_from(["succeed", "fail", "ignore"]), which=st.integers(0, 3))
    def a_body_goes_on(self, how: str, which: int) -> None:
        if self.running:
            body = self.running[which % len(self.running)]
            body.how = how
            if how != "ignore":
                body.go.set()
            self.run(asyncio.sleep(0))

    @rule(one=calls, kind=st.sampled_from([Kind.EFFECT, Kind.STARTED, Kind.SUCCEEDED, Kind.HEARTBEAT]))
    def somebody_else_says_something(self, one: str, kind: Kind) -> None:
        facts: dict[Kind, dict[str, Any]] = {
            Kind.EFFECT: {"effect": "mail sent"}, Kind.STARTED: {"attempt": 1, "executor": "theirs"},
            Kind.SUCCEEDED: {"completed_at": "2026-01-01T12:00:00Z"}, Kind.HEARTBEAT: {"attempt": 1, "lease": "theirs"},
        }  # fmt: skip  # facts in lines
        event = Event(
            kind=kind, source="acme", id=f"said-{len(self.heard)}", task_id=self.task, invocation_id=one, owner=Owner.RUNTIME,
            data=facts[kind],
        )  # fmt: skip  # facts in lines
        self.heard.append(Draft(event=event, values={"result": b"1"} if kind is Kind.SUCCEEDED else {}))
        self.run(self.desk.observe([self.heard[-1]], by="acme"))

    @rule(which=st.integers(0, 20))
    def something_is_delivered_twice(self, which: int) -> None:
        if self.heard:
            before = self.run(self.ledger.head())
            self.run(self.desk.observe([self.heard[which % len(self.heard)]], by="acme"))
            assert self.run(self.ledger.head()) == before

    @rule()
    def restart(self) -> None:
        for body in self.running:
            body.how = "succeed"
        self.run(self.desk.runtime.close())
        self.running.clear()
        self.desk = self.open_a_desk()
        self.run(self.desk.start())

    # ── what holds ──────────────────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_record_is_its_events(self) -> None:
        if not hasattr(self, "task"):
            return
        for one, record in self.run(self.ledger.task(self.task)).records.items():
            events = self.run(self.ledger.read(invocation_id=one))
            again = InvocationRecord(one, task_id=record.task_id, tenant=record.tenant)
            for recorded in events:
                judge(again, recorded.event, recorded_at=recorded.recorded_time)
            assert again == record
            moved = [r for r in events if r.verdict is Verdict.MOVED]
            assert record.state is (moved[-1].state if moved else None)
            origin = None
            for move in record.moves:
                assert (move.origin, move.ref in {r.event.ref for r in moved}) == (origin, True)
                origin = move.target
            assert origin is record.state
            claims = [r for r in events if r.event.kind == Kind.CLAIMED and r.verdict is not Verdict.REFUSED]
            self.nothing_ran_that_might_not(record, claims)

    def nothing_ran_that_might_not(self, record: InvocationRecord, claims: list[Any]) -> None:
        one = record.id
        assert self.bodies[one] <= len(claims) <= 1
        assert self.ended.setdefault(one, record.state) is record.state if record.state in TERMINAL else one not in self.ended
        if record.state in EXECUTING | {State.SUCCEEDED} and not self.heard:
            assert self.bodies[one] == 1, "a body is said to run that nobody saw"
        if not self.bodies[one]:
            return
        raw = json.loads(self.run(self.ledger.value(record.inputs["ref"])))
        assert self.paid[one] == raw["amount"], "what ran is not what stands"
        if record.tool == "pay":
            granted = [a for a in record.approvals if a.answer is not None and a.answer.kind == "granted"]
            assert [a.id for a in granted] == [claims[0].event.data["approval_id"]]
            assert granted[0].inputs["ref"] == record.inputs["ref"], "what ran is not what was approved"
            assert granted[0].answer.actor in {"ann", "bob"}

    @invariant()
    def every_refusal_is_on_record(self) -> None:
        events = self.run(self.ledger.read())
        assert sum(r.verdict is Verdict.REFUSED and r.event.owner is Owner.USER for r in events) == self.refusals

    @invariant()
    def the_ledger_verifies(self) -> None:
        assert self.run(self.ledger.verify()) == []

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            for body in self.running:
                body.how = "succeed"
            self.run(self.desk.close())
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        assert left == []


async def _together(deeds: list[Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*deeds, return_exceptions=True))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck)
)
