"""What a move leaves out or goes round: expected steps without evidence (R8), a policy that was bypassed (R7), clocks that disagree."""

from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, State
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.transitions import Row

_ASKED: Final = frozenset({Kind.INPUT_REQUIRED, Kind.INPUTS_REJECTED, Kind.APPROVAL_REQUESTED})
_UNDONE: Final = frozenset({State.FAILED, State.CANCELLED})
"""Ends that need no body: a call can fail or be terminated before anything of it ran."""


def name_gaps(record: InvocationRecord, row: Row, event: Event, before: State | None) -> None:
    """Name the expected steps that this move shows to have left no evidence (R8), and policies that were bypassed (R7)."""
    if before is None and event.kind in _ASKED:
        _name(record, event, Code.PROPOSAL_NOT_RECORDED, "a person is asked about a call of which no proposal was recorded")
    if row.next in BEFORE_DISPATCH or event.kind in {Kind.CLOSED, Kind.DEADLINE_ELAPSED}:
        return
    if before is None:
        _name(record, event, Code.PROPOSAL_NOT_RECORDED, "the runtime was seen at work and no proposal was recorded")
    if not record.queue_ref and not record.accepted_at:
        _name(record, event, Code.ACCEPTANCE_NOT_RECORDED, "no acceptance was recorded; queued is not claimed")
    if row.next in _UNDONE:
        return
    queued = row.next is State.QUEUED
    if not queued and not record.starts and not record.lease:
        _name(record, event, Code.START_NOT_RECORDED, "no start was recorded")
    bypassed = Code.ACCEPTED_WITHOUT_PERMIT if queued else Code.STARTED_WITHOUT_PERMIT
    if record.ungranted is not None:
        code = bypassed if queued else Code.RAN_WITHOUT_APPROVAL
        _name(record, event, code, f"approval {record.ungranted.id} was not granted")
    elif record.governed and record.claim is None:
        _name(record, event, bypassed, "no claimed dispatch permit covers this")
    if not record.governed:
        _name(record, event, Code.POLICY_UNOBSERVED, "no policy of ours was asked about this call")


def _name(record: InvocationRecord, event: Event, code: Code, detail: str) -> None:
    """Raise a finding of this move, once."""
    if code not in record.findings:
        record.raise_finding(code, detail, event.ref)


def name_skew(record: InvocationRecord, event: Event) -> None:
    """Say that what came next carries an earlier time of another source: no duration between the two means anything (R10)."""
    kind, source, time = record.clocked
    before, now = parse_rfc3339(time), parse_rfc3339(event.time)
    if before is not None and now is not None and now < before and source != event.source:
        detail = f"{event.kind} of {event.source} carries {event.time}, before {kind} of {source} at {time}, which it followed"
        record.raise_finding(Code.CLOCK_SKEW, detail, event.ref)
    if now is not None:
        record.clocked = (event.kind, event.source, str(event.time))
