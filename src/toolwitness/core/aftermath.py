"""What arrives after the end. Terminal is final (R4): it is kept, stands in the headline as a finding, and opens reconciliation."""

from types import MappingProxyType
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State

_ACTIVITY: Final = (Code.ACTIVITY_AFTER_END, "the call was seen at work after the end")
_AFTER: Final = MappingProxyType({
    Kind.EFFECT: (Code.LATE_EFFECT, "an effect was reported after the end"),
    Kind.COMMITTED: (Code.LATE_EFFECT, "the commitment boundary was crossed after the end"),
    Kind.STARTED: (Code.STARTED_AFTER_END, "a start was recorded after the end"),
    Kind.SUCCEEDED: (Code.LATE_OUTCOME, "a success was recorded after the end"),
    Kind.FAILED: (Code.LATE_OUTCOME, "a failure was recorded after the end"),
    Kind.CANCEL_ACKNOWLEDGED: (Code.LATE_CLOSURE, "a termination was acknowledged after the end"),
    Kind.ACCEPTED: _ACTIVITY,
    Kind.HEARTBEAT: _ACTIVITY,
    Kind.PROGRESS: _ACTIVITY,
    Kind.OUTPUT: _ACTIVITY,
    Kind.PART_COMPLETED: _ACTIVITY,
})  # fmt: skip  # one line a kind
_ENDED_WITHOUT_BODY: Final = frozenset({State.CANCELLED, State.EXPIRED})
"""States after which a body at work contradicts the record. After a result, a straggling report of the work before it does not."""


def after_the_end(record: InvocationRecord, event: Event) -> None:
    """Raise the finding for a fact that arrives after the attempt has ended."""
    late = _AFTER.get(event.kind)  # type: ignore[call-overload]  # most kinds may come late without consequence
    if late is None:
        return
    code, detail = late
    if code is Code.ACTIVITY_AFTER_END and record.state not in _ENDED_WITHOUT_BODY:
        return
    if code is Code.LATE_OUTCOME and record.state in {State.SUCCEEDED, State.FAILED}:
        if _agrees(record, event):
            return
        code = Code.CONFLICTING_OUTCOMES
    record.raise_finding(code, f"{detail} ({record.state})", event.ref)


def _agrees(record: InvocationRecord, event: Event) -> bool:
    """Tell whether another source reports the very end that stands. One source that reports two ends has seen two."""
    stands = record.outcome
    same_end = event.kind == (Kind.SUCCEEDED if record.state is State.SUCCEEDED else Kind.FAILED)
    return same_end and stands is not None and stands.source != event.source and event.data.get("validation") != "rejected"
