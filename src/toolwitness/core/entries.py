"""The small facts that a record is made of: moves, approvals and their answers, requests, effects, closures, outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwitness.core.states import ClosureKind, EvidenceRef, State, Termination
from toolwitness.core.transitions import Basis

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Move:
    """One transition that evidence made."""

    origin: State | None
    target: State
    basis: Basis
    row: str
    ref: EvidenceRef
    at: str


@dataclass(frozen=True, slots=True)
class Answer:
    """How an approval request was answered: once, by whom, by which event."""

    kind: str
    """``granted``, ``denied``, ``invalidated``, ``expired``, ``superseded`` (a newer request took its place) or the kind of closure."""
    actor: str
    ref: EvidenceRef
    at: str
    reason: str = ""
    roles: tuple[str, ...] = ()
    """The roles that the actor held when answering, as far as they are on record."""


@dataclass(slots=True)
class Approval:
    """One approval request and, once it has one, its only answer."""

    id: str
    data: Data
    ref: EvidenceRef
    at: str
    answer: Answer | None = None
    inputs: Data | None = None
    """The inputs that stood when it was asked for: an answer covers these and no others (R6)."""
    gates_start: bool = True
    """Whether it was asked for before anything had started; one asked for in the middle of a run gates what follows, not the start."""
    agreed: tuple[Answer, ...] = ()
    """Those who have agreed before the one that made it enough, where it takes several people."""

    @property
    def needed(self) -> int:
        """How many different people must agree."""
        said = self.data.get("needed")
        return said if isinstance(said, int) and not isinstance(said, bool) and said > 1 else 1

    @property
    def lacking(self) -> int:
        """How many more people must agree before it is granted; 0 once it is answered."""
        return max(0, self.needed - len(self.agreed)) if self.answer is None else 0


@dataclass(frozen=True, slots=True)
class Request:
    """Something a person asked for. A request is not its acknowledgement (R3)."""

    kind: str
    """``cancellation``, ``retry``, ``reversal``, ``input`` or ``route``."""
    actor: str
    ref: EvidenceRef
    at: str
    scope: str = ""
    reason: str = ""
    target: str = ""
    """The new invocation that answers it, where there is one."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened in the world, as reported."""

    data: Data
    ref: EvidenceRef
    at: str
    late: bool


@dataclass(frozen=True, slots=True)
class Closure:
    """Why and by whom the attempt ended without a result."""

    kind: ClosureKind
    owner: str
    initiator: str
    scope: str
    reason: str
    at: str
    ref: EvidenceRef
    termination: Termination | None = None
    replaced_by: str = ""
    request_ref: str = ""
    """The person's cancellation request that stood when the termination was acknowledged; empty where nobody had asked."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The dispatch permit that was claimed for this attempt."""

    permit: str
    ref: EvidenceRef
    at: str
    data: Data


@dataclass(frozen=True, slots=True)
class Outcome:
    """The terminal result or failure as the runtime reported it."""

    data: Data
    ref: EvidenceRef
    at: str
    source: str = ""
    """Who reported it."""
