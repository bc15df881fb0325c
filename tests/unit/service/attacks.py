"""What an adversary works with: a desk whose clock stands still, a tool that asks for an approval, and strangers who observe."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import toolwitness as tw
from tests.unit.bootstrap.desks import until, until_state
from toolwitness.bootstrap.task import Call, TaskHandle
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import Approval
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Verdict
from toolwitness.ports import Draft, Recorded
from toolwitness.server.actions import ActionBody, perform
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.record import Registration
from toolwitness.testing.clock import FakeClock

FINANCE = frozenset({"finance"})
ANN = tw.Actor(id="ann", roles=FINANCE)
BOB = tw.Actor(id="bob", roles=FINANCE)
EVE = tw.Actor(id="eve")
MALLORY = tw.Actor(id="mallory", roles=FINANCE, tenant="elsewhere")


@dataclass
class Stage:
    """A desk with one tool that pays, and what it really paid."""

    desk: tw.Desk
    clock: FakeClock
    task: TaskHandle
    pay: Any
    paid: list[str] = field(default_factory=list)

    async def asked(self, amount: str = "412.50") -> tuple[Call, str]:
        """Make a call of the paying tool, and give it when its approval is asked for."""
        call = self.task.call(self.pay, amount=amount)
        invocation_id = await call.invocation_id()
        await until_state(self.desk, invocation_id, tw.State.AWAITING_APPROVAL)
        return call, invocation_id

    async def awaited(self, call: Call, state: tw.State) -> str:
        """Wait until a call is in a state, and give its id."""
        invocation_id = await call.invocation_id()
        await until_state(self.desk, invocation_id, state)
        return invocation_id

    async def proposed(self, amount: str = "412.50", **facts: Any) -> str:
        """Propose a call of the paying tool that nobody here waits for."""
        inputs = f'{{"amount":"{amount}"}}'.encode()
        proposal = Proposal(tool="pay", inputs=inputs, source_request="message-1", proposer="planner", **facts)
        return await propose(self.desk.place, self.task.id, proposal)

    async def approval(self, invocation_id: str) -> Approval:
        """Give the approval request that counts."""
        found = (await self.desk.record(invocation_id)).approval
        assert found is not None
        return found

    async def recorded(self, invocation_id: str, *kinds: str) -> list[Recorded]:
        """Give the events of a call, of these kinds where any are named."""
        events = await self.desk.ledger.read(invocation_id=invocation_id)
        return [one for one in events if not kinds or one.event.kind in kinds]

    async def refused(self, invocation_id: str) -> list[tuple[str, str]]:
        """Give the acts that are on record as refused, each with the rule."""
        return [
            (str(one.event.kind), one.reason.partition(":")[0])
            for one in await self.recorded(invocation_id)
            if one.verdict is Verdict.REFUSED
        ]

    async def click(self, invocation_id: str, action: str, actor: tw.Actor, **body: Any) -> Any:
        """Do what the API does with a click."""
        return await perform(self.desk.place, invocation_id, action, actor, ActionBody(**body))

    def listen_to(self, source: str, *, principal: str = "acme", kinds: frozenset[str] | None = None) -> None:
        """Register a source of somebody else's."""
        self.desk.register.add(Registration(source=source, principal=principal, **({"kinds": kinds} if kinds is not None else {})))

    def said(
        self, kind: str, about: str | None, *, source: str = "acme", owner: Owner = Owner.RUNTIME,
        values: Mapping[str, bytes] | None = None, task: str = "", **event: Any,
    ) -> Draft:  # fmt: skip  # a signature in three lines
        """Make what somebody else says."""
        made = Event(
            kind=kind, source=source, id=event.pop("id", self.desk.place.ids.new("evt")), task_id=task or self.task.id, invocation_id=about,
            owner=owner, **event,
        )  # fmt: skip  # facts in lines
        return Draft(event=made, values=values or {})

    async def observe(self, *drafts: Draft, by: tw.Actor | str = "acme") -> list[Recorded]:
        """Record what somebody else says."""
        return list(await self.desk.observe(drafts, by=by))


@asynccontextmanager
async def a_stage(url: str = "memory:", **policy: Any) -> AsyncIterator[Stage]:
    """Open a desk with the paying tool; ``policy`` goes beside what makes it ask for an approval."""
    clock = FakeClock()
    paid: list[str] = []
    async with tw.open(url, clock=clock, sweep_seconds=3600, concurrency=policy.pop("concurrency", None)) as desk:
        declared = {"consequences": [tw.EXTERNALLY_VISIBLE, tw.FINANCIAL], "approvers": ["role:finance"], "approval_seconds": 300}
        declared["commitment_boundary"] = "when the bank accepts"

        @desk.tool(**{**declared, **policy})
        async def pay(amount: str) -> str:
            paid.append(amount)
            return f"paid {amount}"

        async with desk.task("Pay the bill") as task:
            yield Stage(desk, clock, task, pay, paid)


async def until_recorded(desk: tw.Desk, invocation_id: str, kind: str) -> None:
    """Wait until an event of a kind is recorded about a call."""

    async def there() -> bool:
        return any(one.event.kind == kind for one in await desk.ledger.read(invocation_id=invocation_id))

    await until(there)


async def until_finding(desk: tw.Desk, invocation_id: str, code: Code) -> None:
    """Wait until a finding stands on the record of a call."""

    async def there() -> bool:
        return code in (await desk.record(invocation_id)).findings

    await until(there)


async def in_state(stage: Stage, invocation_id: str) -> tw.State | None:
    """Give the state of a call."""
    return (await stage.desk.record(invocation_id)).state


__all__ = [
    "ANN", "BOB", "EVE", "MALLORY", "Kind", "Stage", "Verdict", "a_stage", "in_state", "until", "until_finding", "until_recorded",
    "until_state",
]  # fmt: skip  # names in lines
