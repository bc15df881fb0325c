"""What a guarded body can be seen to do, and how it can end: plain facts, one frozen class each.

A fact is what the guard saw with its own eyes, stamped when it happened. It names no state: the fold decides states.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from toolwitness.core.states import Termination


class Executor(StrEnum):
    """Where a body runs; this decides whether it can be stopped."""

    TASK = "task"
    """An ``asyncio.Task`` of its own: it can be cancelled alone."""
    THREAD = "thread"
    """A worker thread: Python cannot stop one."""


class EndingKind(StrEnum):
    """The ways a body can have ended. Exactly one is reported for each body."""

    RETURNED = "returned"
    """It gave a value; also when a stop had been requested and it took no notice."""
    RAISED = "raised"
    """It raised an ``Exception``."""
    UNWOUND = "unwound"
    """Its own task ended by the cancellation that we requested. Never said of a thread."""
    HONOURED = "honoured"
    """After a requested stop it raised ``StopHonoured``: the tool itself says that it stopped."""
    SELF_CANCELLED = "self_cancelled"
    """It ended with ``CancelledError`` and nobody had asked this guard to stop it."""
    BASE_EXCEPTION = "base_exception"
    """It raised ``KeyboardInterrupt``, ``SystemExit`` or another ``BaseException``."""
    NEVER_STARTED = "never_started"
    """None of its code ran: the stop came first, or the start could not be recorded."""


class StopReply(StrEnum):
    """What a request to stop could do at that moment. None of them says that the body has stopped."""

    ASKED = "asked"
    """The body's own task has been told to cancel."""
    CANNOT_STOP = "cannot_stop"
    """It runs in a thread; the tool can see the request if it looks, and nothing forces it."""
    ALREADY_ASKED = "already_asked"
    """It was asked before; its clean-up is not disturbed a second time."""
    WILL_NOT_START = "will_not_start"
    """Its code has not begun and will not."""
    ALREADY_ENDED = "already_ended"
    """It had ended before this request came."""


class WaiterGone(StrEnum):
    """What becomes of a body when the task that awaits it is cancelled."""

    STOP = "stop"
    """It is asked to stop, and the waiter is held until it has really ended (a thread holds nobody)."""
    LEAVE = "leave"
    """It goes on in the background and its end is reported when it comes."""


class BodyLeft(StrEnum):
    """What the released waiter leaves behind."""

    STOPPING = "stopping"
    RUNNING = "running"
    CANNOT_STOP = "cannot_stop"


class StopHonoured(Exception):
    """Raised by a tool that looked at ``stop_requested()`` and stopped: the only way a thread can acknowledge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one body really ended; the value and the exception are the very objects it gave."""

    kind: EndingKind
    executor: Executor
    value: object = None
    """What it returned. A stream that returned nothing else has the tuple of its items."""
    exception: BaseException | None = None
    stop_reason: str | None = None
    """Why a stop had been requested while it ran; ``None`` when none had."""
    items: int | None = None
    """How many items it streamed; ``None`` when it is no stream."""

    @property
    def stop_requested(self) -> bool:
        """Whether a stop had been requested before it ended."""
        return self.stop_reason is not None

    @property
    def termination(self) -> Termination | None:
        """How strongly this ending acknowledges a requested stop; ``None`` when it does not (R3)."""
        if not self.stop_requested:
            return None
        if self.kind is EndingKind.UNWOUND:
            return Termination.UNWOUND
        if self.kind in {EndingKind.HONOURED, EndingKind.NEVER_STARTED}:
            return Termination.CONFIRMED
        return None

    @property
    def category(self) -> str | None:
        """The stable category of a failure, or ``None`` where nothing failed."""
        match self.kind:
            case EndingKind.RAISED:
                return "timeout" if isinstance(self.exception, TimeoutError) else "tool-error"
            case EndingKind.SELF_CANCELLED | EndingKind.BASE_EXCEPTION:
                return "aborted"
            case EndingKind.NEVER_STARTED if not self.stop_requested:
                return "not-started"
            case _:
                return None

    def unwrap(self) -> object:
        """Return the value or raise the very exception, as if nobody had stood between.

        Raises:
            BaseException: whatever the body raised, ``CancelledError`` included.
        """
        if self.exception is not None:
            raise self.exception
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The body is about to run its first line."""

    at: datetime
    executor: Executor
    lease: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEmitted:
    """One item of a stream. ``order`` is shared with progress and grows by one."""

    at: datetime
    order: int
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReported:
    """The tool said how far it is. ``order`` is shared with output."""

    at: datetime
    order: int
    text: str
    percent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCompleted:
    """The tool finished one part of its work; ``open`` names what it still has to do."""

    at: datetime
    part: str
    open: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentCrossed:
    """The tool said that from here on its effect cannot be called back."""

    at: datetime
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectObserved:
    """The tool said that something happened in the outside world. ``fields`` is plain JSON without floats."""

    at: datetime
    description: str
    reference: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The body is alive and holds its lease."""

    at: datetime
    lease: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiterReleased:
    """Somebody stopped waiting. It proves nothing about the body."""

    at: datetime
    body: BodyLeft


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The body has really ended. Said once."""

    at: datetime
    ending: Ending


Fact = Started | OutputEmitted | ProgressReported | PartCompleted | CommitmentCrossed | EffectObserved | Heartbeat | WaiterReleased | Ended
"""Everything an observer can be told."""
