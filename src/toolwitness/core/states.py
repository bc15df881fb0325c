"""The words of the lifecycle: states, owners, origins, closures and consequence classes.

Source: the lifecycle matrix (``spec/matrix.csv``) and the consequence matrices of the seed.
"""

from enum import StrEnum
from typing import Final, NewType

TaskId = NewType("TaskId", str)
InvocationId = NewType("InvocationId", str)
EvidenceRef = NewType("EvidenceRef", str)


class State(StrEnum):
    """The eleven states an invocation can be in; each is entered on recorded evidence only."""

    PROPOSED = "proposed"
    AWAITING_INPUT = "awaiting_input"
    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    RUNNING = "running"
    STREAMING = "streaming"
    PARTIALLY_COMPLETE = "partially_complete"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


TERMINAL: Final = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED})
"""States that end an attempt. Later facts are kept beside them and never move them (R4)."""

BEFORE_DISPATCH: Final = frozenset({State.PROPOSED, State.AWAITING_INPUT, State.AWAITING_APPROVAL})
"""States in which nothing has been handed to an executor yet."""

EXECUTING: Final = frozenset({State.RUNNING, State.STREAMING, State.PARTIALLY_COMPLETE})
"""States that claim a body has started and has not been seen to end."""


class Owner(StrEnum):
    """Who owns a fact. A fact said by the wrong owner is kept and believed by nobody (R13)."""

    RUNTIME = "runtime"
    POLICY = "policy"
    USER = "user"
    PRESENTATION = "presentation"


class Origin(StrEnum):
    """Where an event was made. Client-made and synthesized closures never enter cancelled."""

    SERVER = "server"
    CLIENT = "client"
    SYNTHESIZED = "synthesized"


class ClosureKind(StrEnum):
    """The different ways a call ends without having failed or succeeded (R5)."""

    DENIED = "denied"
    DISMISSED = "dismissed"
    WITHDRAWN = "withdrawn"
    ANSWERED_BY_HUMAN = "answered-by-human"
    TERMINATED = "execution-terminated"
    EXPIRED = "expired"


class Termination(StrEnum):
    """How strong an acknowledgement of a cancellation is."""

    UNWOUND = "unwound"
    """The body's own task was seen to end by the cancellation."""
    CONFIRMED = "confirmed"
    """The executor says that the body has ended."""


class Validation(StrEnum):
    """What the check of a result against its declared type came to."""

    PASSED = "passed"
    ACCEPTED = "accepted"
    """A foreign runtime says that its own check let it pass."""
    UNDECLARED = "undeclared"
    """No type is declared, so there is nothing that it could fail."""
    REJECTED = "rejected"


class Deadline(StrEnum):
    """The four deadlines that can be declared for an invocation."""

    INPUT = "input"
    APPROVAL = "approval"
    QUEUE_START = "queue_start"
    RESULT = "result"


class Consequence(StrEnum):
    """What a call can affect. A class describes; it neither grants nor removes authority."""

    READ_ONLY = "read-only"
    REVERSIBLE = "reversible"
    EXTERNALLY_VISIBLE = "externally-visible"
    DESTRUCTIVE = "destructive"
    PERMISSION_GATED = "permission-gated"
    FINANCIAL = "financially-consequential"


class Reconciliation(StrEnum):
    """What is known about the effects of an attempt in the outside world."""

    NOT_EXECUTED = "not-executed"
    NONE_EXPECTED = "none-expected"
    AS_REPORTED = "as-reported"
    UNKNOWN = "unknown"
    REQUIRED = "required"
    RECONCILED = "reconciled"


NO_REASON: Final = "no reason was given"
"""What stands where a reason must stand and nobody gave one."""
