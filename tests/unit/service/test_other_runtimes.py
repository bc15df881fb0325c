"""A runtime of somebody else's asks before it starts anything; what it is told no to is on record, and what repeats is recognised."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

import toolwitness as tw
from toolwitness.bootstrap.desk import Desk
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence, Owner, Reconciliation, State
from toolwitness.core.verdicts import PolicyVerdict, Verdict
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.policy.grants import Terms
from toolwitness.policy.tool_policy import Idempotency, RetryPolicy, ToolPolicy
from toolwitness.ports import Draft, Recorded
from toolwitness.service.answer import answer_together
from toolwitness.service.dispatch import request_dispatch
from toolwitness.service.inputs import rewrite_inputs
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.record import Registration
from toolwitness.service.standing import grant
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ids import CountedIds

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
PAY = ToolPolicy(tool="pay", consequences=(Consequence.FINANCIAL,), approvers=("role:finance",), retry=RetryPolicy(attempts=3))
POST = ToolPolicy(tool="post", consequences=(Consequence.EXTERNALLY_VISIBLE,), approvers=("role:finance",))
LOOK = ToolPolicy(tool="look", consequences=(Consequence.READ_ONLY,))


@dataclass
class House:
    """A desk that a runtime of somebody else's works with."""

    desk: Desk
    task: str

    async def proposed(self, tool: str = "pay", inputs: bytes = b'{"order":"A17","idempotency_key":"k-1"}', **facts: object) -> str:
        proposal = Proposal(tool=tool, inputs=inputs, source_request="run 1", proposer="model", **facts)
        return await propose(self.desk.place, self.task, proposal)

    async def approved(self, **facts: object) -> str:
        one = await self.proposed(**facts)
        await self.desk.submit(one)
        await self.desk.approve(one, by=ANN)
        return one

    async def asks(self, one: str, **facts: object) -> Recorded | PolicyVerdict:
        return await request_dispatch(self.desk.place, one, source="acme", worker="w1", **facts)

    async def says(self, kind: Kind, one: str, **data: object) -> Recorded:
        number = await self.desk.ledger.head()
        event = Event(
            kind=kind, source="acme", id=f"e{number}", task_id=self.task, invocation_id=one, owner=Owner.RUNTIME, attempt=1, data=data,
            time="2026-01-01T12:00:00Z",
        )  # fmt: skip  # facts in lines
        values = {"result": b"{}"} if kind is Kind.SUCCEEDED else {}
        return (await self.desk.observe([Draft(event=event, values=values)], by="acme"))[0]

    async def record(self, one: str) -> InvocationRecord:
        return await self.desk.record(one)

    async def refusals(self, one: str) -> list[str]:
        events = await self.desk.ledger.read(invocation_id=one)
        return [r.reason.partition(":")[0] for r in events if r.event.kind == Kind.CLAIMED and r.verdict is Verdict.REFUSED]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    clock = FakeClock()
    desk = Desk(MemoryLedger(now=clock.now), clock=clock, ids=CountedIds(), sweep_seconds=3600)
    for policy in (PAY, LOOK):
        desk.declare_policy(policy)
    desk.register.add(Registration(source="acme", principal="acme"))
    yield House(desk, await open_task(desk.place, "Pay the order"))
    await desk.close()


async def test_a_permitted_call_gets_its_one_permit_and_no_second(house: House) -> None:
    one = await house.approved()
    first, second = await house.asks(one), await house.asks(one)
    assert isinstance(first, Recorded)
    assert isinstance(second, PolicyVerdict)
    assert (second.rule, await house.refusals(one)) == ("already-claimed", ["already-claimed"])


async def test_a_call_that_needs_no_confirmation_is_submitted_on_the_way(house: House) -> None:
    assert isinstance(await house.asks(await house.proposed("look", b"{}")), Recorded)


async def test_an_unapproved_call_is_refused_and_the_refusal_is_on_record(house: House) -> None:
    one = await house.proposed()
    answer = await house.asks(one)
    assert isinstance(answer, PolicyVerdict)
    assert (answer.rule, await house.refusals(one)) == ("approval-missing", ["approval-missing"])
    assert (await house.record(one)).claim is None


async def test_the_approval_of_another_call_covers_nothing_here(house: House) -> None:
    one = await house.approved()
    other = await house.approved(inputs=b'{"order":"B2"}')
    used = (await house.record(one)).approval
    assert used is not None
    answer = await house.asks(other, approval_id=used.id)
    assert isinstance(answer, PolicyVerdict)
    assert answer.rule == "approval-of-another"


async def test_what_waits_for_another_call_is_refused_as_blocked(house: House) -> None:
    first = await house.proposed("look", b"{}")
    one = await house.proposed("look", b'{"page":2}', dependencies=[first])
    answer = await house.asks(one)
    assert isinstance(answer, PolicyVerdict)
    assert answer.rule == "blocked"


async def test_equal_inputs_in_another_order_are_the_same_inputs(house: House) -> None:
    one = await house.approved()
    assert isinstance(await house.asks(one, inputs=b'{"idempotency_key":"k-1", "order":"A17"}'), Recorded)


async def test_a_standing_grant_covers_a_dispatch_for_which_nobody_has_asked_an_approval(house: House) -> None:
    house.desk.declare_policy(POST)
    terms = Terms(tool="post", expires_at=house.desk.place.now() + timedelta(seconds=60), count=2)
    await grant(house.desk.place, terms, actor=ANN)
    one, two = await house.proposed("post", b'{"text":"a"}'), await house.proposed("post", b'{"text":"b"}')
    await house.desk.submit(two)
    three = await house.proposed("post", b'{"text":"c"}')
    answers = [await house.asks(call) for call in (one, two, three)]
    assert [isinstance(answer, Recorded) for answer in answers] == [True, True, False]
    assert (await house.record(three)).open_approval is not None


async def test_other_inputs_than_the_approved_ones_are_not_dispatched_and_asked_about_anew(house: House) -> None:
    one = await house.approved()
    answer = await house.asks(one, inputs=b'{"order":"A18"}')
    record = await house.record(one)
    assert isinstance(answer, PolicyVerdict)
    assert (answer.rule, record.claim, record.state) == ("other-inputs", None, State.AWAITING_APPROVAL)
    assert [approval.answer.kind if approval.answer else "open" for approval in record.approvals] == ["invalidated", "open"]
    again = await house.asks(one, inputs=b'{"order":"A18"}')
    assert isinstance(again, PolicyVerdict)
    assert again.rule == "approval-outdated"


async def test_a_rule_that_rewrites_inputs_voids_the_approval_of_the_old_ones_and_asks_anew(house: House) -> None:
    one = await house.approved()
    await rewrite_inputs(house.desk.place, one, by="clamp", inputs=b'{"order":"A17","limit":60}')
    record = await house.record(one)
    assert record.open_approval is not None
    assert not record.granted
    assert record.permission is None


async def test_a_rule_that_rewrites_inputs_before_anybody_is_asked_asks_nobody(house: House) -> None:
    one = await house.proposed()
    await rewrite_inputs(house.desk.place, one, by="clamp", inputs=b'{"order":"A17","limit":60}')
    record = await house.record(one)
    assert (record.state, record.approvals, len(record.inputs_history)) == (State.PROPOSED, [], 2)


async def test_inputs_of_a_dispatched_call_are_not_rewritten(house: House) -> None:
    one = await house.approved()
    await house.asks(one)
    with pytest.raises(tw.NotPermitted):
        await rewrite_inputs(house.desk.place, one, by="clamp", inputs=b"{}")


# ── two answers in one submission ───────────────────────────────────────────────────────────────────────────────────


async def test_two_opposite_answers_decide_nothing_and_both_are_on_record(house: House) -> None:
    one = await house.proposed()
    await house.desk.submit(one)
    with pytest.raises(tw.NotPermitted) as refused:
        await answer_together(house.desk.place, one, actor=ANN, answers=["approve", "deny", "approve"])
    record = await house.record(one)
    assert refused.value.facts["rule"] == "contradictory"
    assert record.open_approval is not None
    events = await house.desk.ledger.read(invocation_id=one)
    assert [r.event.kind for r in events if r.verdict is Verdict.REFUSED] == [Kind.GRANTED, Kind.DENIED]


@pytest.mark.parametrize(("answers", "state"), [(["approve", "approve"], State.AWAITING_APPROVAL), (["deny"], State.CANCELLED)])
async def test_one_answer_said_twice_is_one_answer(house: House, answers: list[str], state: State) -> None:
    one = await house.proposed()
    await house.desk.submit(one)
    await answer_together(house.desk.place, one, actor=ANN, answers=answers)
    record = await house.record(one)
    assert (record.state, record.open_approval) == (state, None)


@pytest.mark.parametrize("answers", [[], ["maybe"], ["approve", "maybe"]])
async def test_what_is_no_answer_is_refused_as_input(house: House, answers: list[str]) -> None:
    one = await house.proposed()
    await house.desk.submit(one)
    with pytest.raises(tw.InvalidInput):
        await answer_together(house.desk.place, one, actor=ANN, answers=answers)


# ── what repeats ────────────────────────────────────────────────────────────────────────────────────────────────────


async def failed(house: House, **how: object) -> str:
    """A payment that ran and failed, and nobody knows what it did."""
    one = await house.approved()
    await house.asks(one)
    await house.says(Kind.ACCEPTED, one, queue_ref="q/1")
    await house.says(Kind.STARTED, one, attempt=1, executor="w1")
    facts = {"category": "timeout", "detail": "No answer.", "evidence_ref": "log-1", "effects": "unknown", **how}
    await house.says(Kind.FAILED, one, **facts)
    return one


@pytest.mark.parametrize(
    "inputs",
    [b'{"total":9,"total":1}', b'{"total":1,"total":1}', b'{"total":1.0}', b'{"total":true}', b'{"total":1,"more":1e999}', b"\xff"],
)
async def test_inputs_that_could_be_read_otherwise_are_not_the_ones_that_were_approved(house: House, inputs: bytes) -> None:
    one = await house.approved(inputs=b'{"total":1}')
    answer = await house.asks(one, inputs=inputs)
    assert isinstance(answer, PolicyVerdict)
    assert (answer.rule, (await house.record(one)).claim) == ("other-inputs", None)


async def test_numbers_that_no_double_holds_are_the_same_only_as_the_same_bytes(house: House) -> None:
    one, two = [await house.approved(inputs=b'{"total":1e400,"to":"%d"}' % number) for number in range(2)]
    assert isinstance(await house.asks(one, inputs=b'{"total":1e500,"to":"0"}'), PolicyVerdict)
    assert isinstance(await house.asks(two, inputs=b'{"total":1e400,"to":"1"}'), Recorded)


async def test_the_same_payment_proposed_anew_is_another_attempt_and_waits_for_the_first_to_be_settled(house: House) -> None:
    one = await failed(house)
    two = await house.proposed(inputs=b'{"order":"A17","idempotency_key":"k-2"}')
    await house.desk.submit(two)
    record, answer = await house.record(two), await house.asks(two)
    assert (record.attempt, record.proposal["retry_of"], record.state, record.approvals) == (2, one, State.PROPOSED, [])
    assert {Code.RETRY_UNLINKED, Code.IDEMPOTENCY_KEY_CHANGED} <= set(record.findings)
    assert isinstance(answer, PolicyVerdict)
    assert answer.rule == "earlier-outcome-unknown"


async def test_submitting_it_again_says_so_once(house: House) -> None:
    await failed(house)
    two = await house.proposed()
    await house.desk.submit(two)
    await house.desk.submit(two)
    events = await house.desk.ledger.read(invocation_id=two)
    assert [r.event.kind for r in events].count(Kind.REFUSED) == 1


async def test_once_it_is_settled_that_nothing_happened_the_further_attempt_is_asked_about(house: House) -> None:
    one = await failed(house)
    two = await house.proposed()
    await house.desk.reconcile(one, "no-effect", by=ANN)
    await house.desk.submit(two)
    await house.desk.approve(two, by=ANN)
    assert isinstance(await house.asks(two), Recorded)


@pytest.mark.parametrize(
    ("tool", "inputs"), [("pay", b'{"order":"B2","idempotency_key":"k-1"}'), ("look", b'{"order":"A17","idempotency_key":"k-1"}')]
)
async def test_another_order_or_another_tool_is_a_new_call(house: House, tool: str, inputs: bytes) -> None:
    await failed(house)
    record = await house.record(await house.proposed(tool, inputs))
    assert (record.attempt, record.proposal.get("retry_of")) == (1, None)


async def test_a_tool_that_is_safe_to_repeat_is_not_held_up(house: House) -> None:
    house.desk.declare_policy(ToolPolicy(tool="pay", consequences=(Consequence.FINANCIAL,), idempotency=Idempotency.KEYED))
    one = await house.proposed()
    await house.says(Kind.STARTED, one, attempt=1, executor="w1")
    await house.says(Kind.FAILED, one, category="timeout", detail="No answer.", evidence_ref="log-1", effects="unknown")
    record = await house.record(await house.proposed())
    assert record.proposal.get("retry_of") is None


# ── what the other side says ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_other_sides_report_settles_what_a_failure_left_open(house: House) -> None:
    one = await failed(house)
    assert (await house.record(one)).reconciliation is Reconciliation.REQUIRED
    await house.says(Kind.EFFECT, one, effect="charged", provider_reference="p-1")
    record = await house.record(one)
    assert (record.state, record.reconciliation) == (State.FAILED, Reconciliation.RECONCILED)
    assert (record.reconciliations[-1].data["conclusion"], record.reconciliations[-1].data["reference"]) == ("as-reported", "p-1")


@pytest.mark.parametrize(
    "said",
    [
        [(Kind.EFFECT, {"effect": "charged"})],
        [(Kind.STARTED, {"attempt": 1, "executor": "w2"}), (Kind.EFFECT, {"effect": "charged", "provider_reference": "p-1"})],
    ],
)
async def test_a_report_without_a_reference_or_after_a_second_start_settles_nothing(house: House, said: list[tuple[Kind, dict]]) -> None:
    one = await failed(house)
    for kind, data in said:
        await house.says(kind, one, **data)
    record = await house.record(one)
    assert (record.reconciliation, record.reconciliations) == (Reconciliation.REQUIRED, [])


async def test_a_second_reference_after_the_settlement_opens_the_question_again(house: House) -> None:
    one = await failed(house)
    for reference in ("p-1", "p-2"):
        await house.says(Kind.EFFECT, one, effect="charged", provider_reference=reference)
    assert Code.LATE_EFFECT in (await house.record(one)).findings


async def test_a_plain_failure_is_not_settled_by_a_late_report(house: House) -> None:
    one = await failed(house, effects="excluded")
    await house.says(Kind.EFFECT, one, effect="charged", provider_reference="p-1")
    record = await house.record(one)
    assert (record.reconciliations, Code.LATE_EFFECT in record.findings) == ([], True)
