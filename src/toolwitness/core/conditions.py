"""Which condition of the closed enum holds for this record and this event.

One reader per kind, and ``ALWAYS`` where a kind depends on nothing else. A reader looks; it never changes the record and never names a
next state.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.endings import believable
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, ClosureKind, Deadline, Origin, Owner, State, Validation
from toolwitness.core.transitions import Condition as C

_CHECKS: Final = frozenset(Validation)

Reader = Callable[[InvocationRecord, Event], C]


def _proposal(record: InvocationRecord, _event: Event) -> C:
    return C.REPEATED if record.proposal else C.FIRST


def _inputs_accepted(_record: InvocationRecord, event: Event) -> C:
    return C.UNRESOLVED if event.data.get("unresolved") else C.RESOLVED


def _accepted(record: InvocationRecord, _event: Event) -> C:
    """Read under which authority a runtime acted: an unanswered approval counts before anything else."""
    if record.ungranted is not None:
        return C.UNANSWERED
    if record.claim is not None:
        return C.CLAIMED
    return C.UNCLAIMED if record.governed else C.UNOBSERVED


def _started(record: InvocationRecord, event: Event) -> C:
    known = bool(record.proposal or record.starts)
    return C.OTHER_ATTEMPT if known and event.data["attempt"] != record.attempt else _accepted(record, event)


def _heartbeat(record: InvocationRecord, event: Event) -> C:
    known = bool(record.proposal or record.starts or record.lease)
    same = not known or event.data["attempt"] == record.attempt
    return C.LIVE_LEASE if same and record.lease in {"", event.data["lease"]} else C.BARE


def _output(record: InvocationRecord, event: Event) -> C:
    return C.REPEATED if event.data["order"] <= record.output_order else C.ALWAYS


def _progress(record: InvocationRecord, event: Event) -> C:
    return C.REPEATED if event.data["order"] <= record.progress_order else C.ALWAYS


def _part(_record: InvocationRecord, event: Event) -> C:
    return C.WORK_OPEN if event.data["open"] else C.WORK_CLOSED


def _succeeded(record: InvocationRecord, event: Event) -> C:
    """Read whether a result may count: not when policy has rejected one, and not on a word about its check that we do not know (R11)."""
    word = event.data.get("validation") or Validation.UNDECLARED
    passed = word in _CHECKS and word != Validation.REJECTED
    return C.RESULT_ACCEPTED if passed and not record.result_rejected else C.RESULT_REJECTED


def _closed(record: InvocationRecord, event: Event) -> C:
    if event.origin is not Origin.SERVER:
        return C.CLIENT_MADE
    if record.claim is not None:
        return C.DISPATCHED
    kind = event.data["kind"]
    if kind == ClosureKind.ANSWERED_BY_HUMAN:
        return C.ANSWERED_BY_HUMAN
    return C.OWNED if kind in {ClosureKind.DENIED, ClosureKind.DISMISSED, ClosureKind.WITHDRAWN} else C.BARE


def _acknowledged(record: InvocationRecord, event: Event) -> C:
    """Read whether an acknowledgement may be believed: never ``unwound`` for a body in a thread, never one that a client made up."""
    if event.origin is not Origin.SERVER:
        return C.CLIENT_MADE
    return C.OWNED if believable(record, event.data["termination"]) else C.BARE


def _elapsed(record: InvocationRecord, event: Event) -> C:
    """Read whether the deadline belongs to the phase that the invocation is in."""
    which = event.data["deadline"]
    if which == Deadline.RESULT:
        return C.PHASE_DEADLINE if record.state in BEFORE_DISPATCH else C.RESULT_DEADLINE
    mine = {
        Deadline.APPROVAL: _approval_is_due,
        Deadline.INPUT: _input_is_due,
        Deadline.QUEUE_START: _start_is_due,
    }.get(which)
    return C.PHASE_DEADLINE if mine is not None and mine(record, event) else C.OTHER_DEADLINE


def _approval_is_due(record: InvocationRecord, event: Event) -> bool:
    waiting = record.open_approval
    named = event.data.get("approval_id")
    return waiting is not None and named in {None, "", waiting.id} and record.state is State.AWAITING_APPROVAL


def _input_is_due(record: InvocationRecord, event: Event) -> bool:
    return record.input_request is not None and record.state in BEFORE_DISPATCH


def _start_is_due(record: InvocationRecord, event: Event) -> bool:
    """Tell whether a start is still owed: it is not while an approval is, and policy cannot say so once the permit is claimed."""
    if record.starts or record.ungranted is not None:
        return False
    return record.claim is None or event.owner is Owner.RUNTIME


_READERS: Final = MappingProxyType({
    Kind.PROPOSED: _proposal,
    Kind.INPUTS_ACCEPTED: _inputs_accepted,
    Kind.ACCEPTED: _accepted,
    Kind.STARTED: _started,
    Kind.HEARTBEAT: _heartbeat,
    Kind.OUTPUT: _output,
    Kind.PROGRESS: _progress,
    Kind.PART_COMPLETED: _part,
    Kind.SUCCEEDED: _succeeded,
    Kind.CLOSED: _closed,
    Kind.CANCEL_ACKNOWLEDGED: _acknowledged,
    Kind.DEADLINE_ELAPSED: _elapsed,
})  # fmt: skip  # one line a kind


def condition_of(record: InvocationRecord, event: Event) -> C:
    """Give the one condition that holds for ``event``, which is whole and well-formed, on ``record`` as it stands before the event."""
    reader = _READERS.get(event.kind)  # type: ignore[call-overload]  # a foreign kind is simply not a key
    return reader(record, event) if reader else C.ALWAYS
