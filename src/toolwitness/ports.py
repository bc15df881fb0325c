"""What the house asks of the world, as protocols: a ledger, a clock, ids, an authorizer.

A room that needs one of these takes it as an argument; ``bootstrap`` decides which one it gets. The authorizer's port is policy's own
(``policy/authorization.py``), since rules ask it; it is named here beside the others.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from toolwitness.core.evidence import Event
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.task import TaskRecord
from toolwitness.core.verdicts import Verdict
from toolwitness.policy.authorization import AuthorizationRequest, Authorizer

__all__ = [
    "AuthorizationRequest", "Authorizer", "Clock", "Deciding", "Draft", "Ids", "Ledger", "Listener", "Problem", "Recorded", "StateRow",
    "TaskView",
]  # fmt: skip  # names in lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One event to append, with the exact bytes of the values that its data refers to by name."""

    event: Event
    values: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Field name in ``event.data`` → exact bytes. The ledger fills ``data[name]`` with ``{"ref", "digest", "bytes"}``."""
    media_types: Mapping[str, str] = field(default_factory=dict[str, str])
    """Field name → media type; ``application/json`` where it is not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event as the ledger keeps it."""

    event: Event
    position: int
    """Place in the whole ledger, from 1 without holes."""
    task_sequence: int
    """Place in the task's chain, from 1 without holes."""
    recorded_time: str
    verdict: Verdict
    reason: str
    hash: str
    """64 hex digits: the task's chain up to and including this event."""
    state: State | None = None
    """The state after this event; ``None`` for events about the task itself."""
    basis: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A consistent reading of one task: its record, its invocations in order of proposal, and where its chain stands."""

    task: TaskRecord
    records: Mapping[str, InvocationRecord]
    sequence: int
    """The task sequence of the last event; what a command passes as ``expected_sequence``."""
    shared: Mapping[str, InvocationRecord]
    """The same records as the ledger keeps them, to be looked at and never changed. To look at all of a large task copies nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """The small row that lists are made of."""

    invocation_id: str
    task_id: str
    tenant: str
    state: State | None
    version: int
    position: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a ledger does not verify."""

    place: str
    what: str


class Ledger(Protocol):
    """An append-only record of events: ``append``, ``read``, ``follow``. There is no update and no delete.

    The one thing that is ever forgotten is a value: in the same step in which a ``value.erased`` of its task is recorded and believed, its
    bytes and its salt are gone; the event that referred to it stays as it is.

    ``verify`` recomputes everything from the events. All methods may be called from any coroutine of the loop that opened the ledger.
    """

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        """Append all drafts of one task in one atomic step; returned means durable.

        A duplicate (same source, id and content) is not appended again and comes back as first recorded, with verdict ``duplicate``.

        Raises:
            Conflict: ``expected_sequence`` was given and the task has moved on; nothing was written.
            OnceKeyTaken: another event holds a once-key of these; nothing was written; ``winner`` is a ``Recorded``.
            Unavailable: the ledger cannot be written now; nothing was written.
        """
        ...

    async def decide(self, task_id: str, deciding: "Deciding") -> Sequence[Recorded]:
        """Append what ``deciding`` makes of the task as it stands when its turn comes; nobody writes between the two.

        ``deciding`` is pure and quick. It may be called more than once and on another thread; it may make nothing. A task of which nothing
        is recorded has the sequence 0.

        Raises:
            OnceKeyTaken, Unavailable: as ``append``; nothing was written. So too where ``deciding`` raises: its error is the caller's.
        """
        ...

    async def task(self, task_id: str) -> TaskView | None:
        """Read one task and all its invocations; the records are the caller's own and may be kept."""
        ...

    async def find(self, invocation_id: str) -> str | None:
        """Give the id of the task that this invocation belongs to."""
        ...

    async def tasks(self, *, tenant: str | None = None, limit: int = 200) -> Sequence[str]:
        """List task ids, the most recently touched first."""
        ...

    async def states(self, *, states: Iterable[State | None] | None = None) -> Sequence[StateRow]:
        """List the state rows of invocations, optionally only those in ``states``; ``None`` among them: those in no state yet."""
        ...

    async def read(
        self, *, after: int = 0, task_id: str | None = None, invocation_id: str | None = None, limit: int | None = None
    ) -> Sequence[Recorded]:
        """Read recorded events in order of position, after a position."""
        ...

    def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """Yield batches of recorded events in order of position, for ever, those of other processes included."""
        ...

    async def value(self, ref: str) -> bytes | None:
        """Give the exact bytes of a value, or ``None`` where it was erased or never was."""
        ...

    async def head(self) -> int:
        """Give the position of the last event, 0 when there is none."""
        ...

    async def verify(self) -> Sequence[Problem]:
        """Recompute every hash, record, row and key from the events; empty when all is good."""
        ...

    async def close(self) -> None:
        """Write what is on its way and let go of the file."""
        ...


class Clock(Protocol):
    """The authority's clock (R10)."""

    def now(self) -> datetime:
        """Give the time as an aware UTC datetime."""
        ...


class Ids(Protocol):
    """Where new ids come from."""

    def new(self, prefix: str) -> str:
        """Give a new id ``<prefix>_<26 characters>``, later ones sorting after earlier ones."""
        ...


Deciding = Callable[[TaskView], Sequence[Draft]]
"""A command's decision: the task as it stands → what is recorded."""

Listener = Callable[[Sequence[Recorded]], None]
"""Called on the loop with each batch that was recorded."""
