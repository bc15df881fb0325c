"""Which condition of the closed enum holds for this record and this event.

One reader per kind, and ``ALWAYS`` where a kind depends on nothing else. A reader looks; it never changes the record and never names a next state.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, ClosureKind, Deadline, Origin, State, Termination
from toolwitness.core.transitions import Condition as C

Reader = Callable[[InvocationRecord, Event], C]


def _proposal(record: InvocationRecord, _event: Event) -> C:
    return C.REPEATED if record.proposal else C.FIRST


def _inputs_accepted(_record: InvocationRecord, event: Event) -> C:
    return C.UNRESOLVED if event.data.get("unresolved") else C.RESOLVED


def _dispatch(record: InvocationRecord, _event: Event) -> C:
    """Read under which authority a runtime acted: an unanswered approval counts before anything else."""
    if record.open_approval is not None or (record.approval is not None and not record.granted):
        return C.UNANSWERED
    if record.claim is not None:
        return C.CLAIMED
    return C.UNCLAIMED if record.governed else C.UNOBSERVED


def _heartbeat(record: InvocationRecord, event: Event) -> C:
    same = event.data.get("attempt") == record.attempt
    live = record.lease in {"", event.data.get("lease")}
    return C.LIVE_LEASE if same and live else C.BARE


def _part(_record: InvocationRecord, event: Event) -> C:
    return C.WORK_OPEN if event.data.get("open") else C.WORK_CLOSED


def _succeeded(_record: InvocationRecord, event: Event) -> C:
    return C.RESULT_REJECTED if event.data.get("validation") == "rejected" else C.RESULT_ACCEPTED


def _closed(_record: InvocationRecord, event: Event) -> C:
    if event.origin is not Origin.SERVER:
        return C.CLIENT_MADE
    kind = event.data.get("kind")
    if kind == ClosureKind.ANSWERED_BY_HUMAN:
        return C.ANSWERED_BY_HUMAN
    return C.OWNED if kind in {ClosureKind.DENIED, ClosureKind.DISMISSED, ClosureKind.WITHDRAWN} else C.BARE


def _acknowledged(record: InvocationRecord, event: Event) -> C:
    """Read whether an acknowledgement may be believed: never ``unwound`` for a body in a thread, never one that a client made up."""
    if event.origin is not Origin.SERVER:
        return C.CLIENT_MADE
    termination = event.data.get("termination")
    if termination == Termination.CONFIRMED:
        return C.OWNED
    return C.OWNED if termination == Termination.UNWOUND and record.cancel_support != "thread" else C.BARE


def _elapsed(record: InvocationRecord, event: Event) -> C:
    """Read whether the deadline belongs to the phase that the invocation is in."""
    which, state = event.data.get("deadline"), record.state
    if which == Deadline.RESULT:
        return C.PHASE_DEADLINE if state in BEFORE_DISPATCH else C.RESULT_DEADLINE
    if which == Deadline.APPROVAL:
        named = event.data.get("approval_id")
        waiting = record.open_approval
        mine = waiting is not None and named in {None, waiting.id}
        return C.PHASE_DEADLINE if mine and state is State.AWAITING_APPROVAL else C.OTHER_DEADLINE
    if which == Deadline.INPUT:
        return C.PHASE_DEADLINE if state in {State.AWAITING_INPUT, State.PROPOSED} else C.OTHER_DEADLINE
    if which == Deadline.QUEUE_START:
        started = bool(record.starts)
        return C.OTHER_DEADLINE if started or record.open_approval else C.PHASE_DEADLINE
    return C.OTHER_DEADLINE


_READERS: Final = MappingProxyType({
    Kind.PROPOSED: _proposal,
    Kind.INPUTS_ACCEPTED: _inputs_accepted,
    Kind.ACCEPTED: _dispatch,
    Kind.STARTED: _dispatch,
    Kind.HEARTBEAT: _heartbeat,
    Kind.PART_COMPLETED: _part,
    Kind.SUCCEEDED: _succeeded,
    Kind.CLOSED: _closed,
    Kind.CANCEL_ACKNOWLEDGED: _acknowledged,
    Kind.DEADLINE_ELAPSED: _elapsed,
})  # fmt: skip  # one line a kind


def condition_of(record: InvocationRecord, event: Event) -> C:
    """Give the one condition that holds for ``event`` on ``record`` as it stands before the event."""
    reader = _READERS.get(event.kind)  # type: ignore[call-overload]  # a foreign kind is simply not a key
    return reader(record, event) if reader else C.ALWAYS
