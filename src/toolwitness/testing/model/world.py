"""One moment of the model: the ledger, the policy's clock, who works on what, and what really ran.

What really ran is known here from the worker's side and not from the record, so that the one can be held against the other.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, cast

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import Actor
from toolwitness.policy.tool_policy import CancelSupport, RetryPolicy, ToolPolicy
from toolwitness.ports import Ledger
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.register import register_id
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Workplace
from toolwitness.testing.model.ledger import ForkingLedger

TICK_SECONDS: Final = 60
"""Every limit of the model's policies is a multiple of this, so that a clock that moves by it passes every deadline."""
START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)

ANN: Final = Actor(id="ann", roles=frozenset({"finance"}))
BOB: Final = Actor(id="bob", roles=frozenset({"finance"}))
CARL: Final = Actor(id="carl")
"""The person on whose behalf both calls are made."""

PAY: Final = ToolPolicy(
    tool="pay", consequences=(Consequence.EXTERNALLY_VISIBLE,), approvers=("role:finance",), approval_seconds=TICK_SECONDS,
    queue_seconds=TICK_SECONDS, result_seconds=2 * TICK_SECONDS, cancel_support=CancelSupport.TASK, retry=RetryPolicy(attempts=2),
)  # fmt: skip  # facts in lines
ERASE: Final = ToolPolicy(
    tool="erase", consequences=(Consequence.DESTRUCTIVE,), approvers=("role:finance",), approval_seconds=2 * TICK_SECONDS,
    commitment_boundary="the row is gone", scope_fields=("what",), cancel_support=CancelSupport.TASK,
)  # fmt: skip  # facts in lines


class Work(StrEnum):
    """Where the worker of a call is."""

    NOBODY = "nobody"
    CLAIMED = "claimed"
    ACCEPTED = "accepted"
    STARTED = "started"
    OVER = "over"
    DEAD = "dead"
    """It was killed while it held the permit."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The process that works on one call."""

    call: str
    at: Work = Work.NOBODY
    said: int = 0
    """How many numbered reports it has made."""
    ran: tuple[str, ...] = ()
    """The inputs with which bodies were really run under a permit, one entry a body."""
    rogue: int = 0
    """How many bodies somebody started without asking."""
    lives: int = 1
    """Which process it is; a new one takes over after a death."""

    @property
    def holds(self) -> bool:
        """Whether it holds a permit, alive."""
        return self.at in {Work.CLAIMED, Work.ACCEPTED, Work.STARTED}

    @property
    def name(self) -> str:
        """The name under which it claims."""
        return f"worker-{self.lives}-of-{self.call}"


@dataclass(slots=True)
class World:
    """Everything that is so at one moment."""

    ledger: ForkingLedger
    ticks: int = 0
    issued: int = 0
    calls: tuple[str, ...] = ()
    """The calls that people and workers act on."""
    workers: dict[str, Worker] = field(default_factory=dict[str, Worker])
    path: tuple[str, ...] = ()
    """The steps that led here."""

    def fork(self) -> "World":
        """Give a world of its own in which all is as it is here."""
        return World(self.ledger.fork(), self.ticks, self.issued, self.calls, self.workers.copy(), self.path)

    @property
    def revoked(self) -> frozenset[str]:
        """The authority that was taken back."""
        register = self.ledger.index.folded.get(register_id(""))
        return frozenset(register.task.revoked) if register else frozenset()

    def amount(self, value: Any) -> str:
        """Give the bytes of a value as text; empty where there is none."""
        return (self.ledger.index.value(value["ref"]) or b"").decode() if value else ""


class Stage:
    """The workplace of the real commands, set up on one world at a time."""

    def __init__(self) -> None:
        """Declare the tools."""
        self.world = World(ForkingLedger(self.now))
        self.place = Workplace(ledger=cast("Ledger", self.world.ledger), clock=self, ids=self)
        self.place.policies.update({PAY.tool: PAY, ERASE.tool: ERASE})
        self.place.checkers[ERASE.tool] = _missing_target

    def enter(self, world: World) -> None:
        """Let the commands act in ``world``."""
        self.world, self.place.ledger = world, cast("Ledger", world.ledger)

    def now(self) -> datetime:
        """Give the time in the world that was entered (``ports.Clock``)."""
        return START + timedelta(seconds=TICK_SECONDS * self.world.ticks)

    def new(self, prefix: str) -> str:
        """Give the next id of the world that was entered (``ports.Ids``)."""
        self.world.issued += 1
        return f"{prefix}_{self.world.issued:026d}"

    async def two_siblings(self) -> World:
        """Give the first moment of two calls of one task: one waits for its approval, one for an input."""
        task = await open_task(self.place, "Pay, and clear up")
        self.world.calls = (await self._propose(task, PAY, {"amount": 1}), await self._propose(task, ERASE, {}))
        self.world.workers = {one: Worker(one) for one in self.world.calls}
        return self.world

    async def _propose(self, task: str, policy: ToolPolicy, inputs: dict[str, Any]) -> str:
        proposal = Proposal(
            tool=policy.tool, inputs=json.dumps(inputs).encode(), source_request="model", proposer="agent", requested_by=CARL.id
        )  # fmt: skip  # facts in one line
        one = await propose(self.place, task, proposal)
        await submit(self.place, one)
        return one


@dataclass(frozen=True, slots=True)
class _Missing:
    field: str = "what"
    kind: str = "missing"
    message: str = "nobody has said what to erase"


def _missing_target(raw: bytes) -> list[_Missing]:
    return [] if json.loads(raw).get("what") else [_Missing()]


# ── what makes two moments the same ─────────────────────────────────────────────────────────────────────────────────


def essence(world: World, record: InvocationRecord) -> tuple[Any, ...]:
    """Give all of a record that what comes next can depend on, and nothing that only tells how it came to be.

    Times count by how far off they are; ids, references and the number of refusals do not count.
    """
    approvals = tuple(
        (world.amount(a.inputs), a.gates_start, (a.answer.kind, a.answer.actor, _off(world, a.answer.at)) if a.answer else None,
         _off(world, a.data.get("expires_at")))
        for a in record.approvals
    )  # fmt: skip  # one comprehension
    permission, closure, outcome = record.permission, record.closure, record.outcome
    return (
        record.state, record.attempt, world.amount(record.inputs), tuple((record.input_request or {}).get("unresolved") or ()), approvals,
        None if permission is None else (permission.get("rule"), bool(permission.get("refused"))),
        tuple(sorted((str(name), _off(world, at)) for name, at in record.deadlines.items())),
        None if record.claim is None else record.claim.data.get("worker"), bool(record.queue_ref), len(record.starts), len(record.ends),
        record.lease, _off(world, record.lease_expires_at), record.leases, record.cancel_support,
        tuple(sorted({request.kind for request in record.requests})), record.progress is not None, record.commitment is not None,
        None if closure is None else (closure.kind, closure.termination, bool(closure.request_ref)),
        None if outcome is None else outcome.data.get("category", "ok"), record.elapsed, record.reconciliation,
        bool(record.retried_by), bool(record.replaced_by),
        tuple(sorted(code for code in record.findings if code not in _OF_NO_CONSEQUENCE)),
    )  # fmt: skip  # one field after the other


_OF_NO_CONSEQUENCE: Final = frozenset({"decision-refused", "clock-skew"})
_FAR: Final = 4


def _off(world: World, at: object) -> int | str:
    """Give how many ticks a time is off, as far as anything can depend on it."""
    then = parse_rfc3339(at)
    if then is None:
        return str(at or "")
    return max(-_FAR, min(_FAR, round((then - START).total_seconds() / TICK_SECONDS) - world.ticks))
