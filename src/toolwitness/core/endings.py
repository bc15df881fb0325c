"""How attempts end, and what entering an end means for what was only true until then."""

from types import MappingProxyType
from typing import Final

from toolwitness.core.authority import settle_waiting
from toolwitness.core.entries import Answer, Closure, Outcome
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import OPENS_RECONCILIATION, Code
from toolwitness.core.reconciliation import effects_known, only_reads
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, ClosureKind, Deadline, Origin, Reconciliation, State, Termination

_CLOSURES: Final = frozenset(ClosureKind)
_DEADLINES: Final = frozenset(Deadline)


def _closed(record: InvocationRecord, event: Event, at: str) -> None:
    """Say why a closure that closes nothing does not; one that does is kept when the state is entered."""
    if event.data["kind"] not in _CLOSURES:
        record.raise_finding(Code.UNKNOWN_WORD, f"a closure of the unknown kind {event.data['kind']!r}", event.ref)
    elif record.state in TERMINAL:
        record.raise_finding(Code.LATE_CLOSURE, f"a closure was recorded after the end ({record.state})", event.ref)
    elif record.claim is not None or record.state is State.QUEUED or record.state in EXECUTING:
        record.raise_finding(Code.LATE_CLOSURE, "a closure before dispatch was recorded after dispatch", event.ref)


def believable(record: InvocationRecord, termination: object) -> bool:
    """Tell whether an executor can know this termination: nobody has seen the task of a threaded body unwind."""
    return termination == Termination.CONFIRMED or (termination == Termination.UNWOUND and record.cancel_support != "thread")


def _acknowledged(record: InvocationRecord, event: Event, at: str) -> None:
    """Count a believed termination as an end of the body; doubt one that the executor cannot have seen."""
    if believable(record, event.data["termination"]):
        if event.origin is Origin.SERVER:
            record.ends.append(event.ref)
            record.findings.pop(Code.CANCEL_UNACKNOWLEDGED, None)
    else:
        detail = f"termination {event.data['termination']!r} cannot be believed of this body"
        record.raise_finding(Code.ACKNOWLEDGEMENT_DOUBTED, detail, event.ref)


def _succeeded(record: InvocationRecord, event: Event, at: str) -> None:
    record.ends.append(event.ref)
    if event.data.get("validation") == "rejected":
        _rejected(record, event, at)


def _failed(record: InvocationRecord, event: Event, at: str) -> None:
    record.ends.append(event.ref)


def _elapsed(record: InvocationRecord, event: Event, at: str) -> None:
    """Close the question whose deadline this was: the approval that it names, or what a running call had asked for."""
    which, waiting = event.data["deadline"], record.open_approval
    if which not in _DEADLINES:
        record.raise_finding(Code.UNKNOWN_WORD, f"a deadline of the unknown kind {which!r}", event.ref)
    if which == Deadline.APPROVAL:
        if waiting is None or event.data.get("approval_id") not in {None, "", waiting.id}:
            return
        waiting.answer = Answer("expired", event.owner, event.ref, at)
    if which == Deadline.INPUT and (record.state is State.QUEUED or record.state in EXECUTING):
        record.input_request = None
    record.deadlines.pop(which, None)
    settle_waiting(record)


def _lost(record: InvocationRecord, event: Event, at: str) -> None:
    if record.state not in TERMINAL:
        record.raise_finding(Code.OUTCOME_UNKNOWN, event.data["reason"], event.ref)
        record.reconciliation = Reconciliation.UNKNOWN
        _name_silence(record, event)


def _name_silence(record: InvocationRecord, event: Event) -> None:
    """Say that a cancellation was requested and that nobody has acknowledged it, where nobody may be left to do so (R3)."""
    if record.open_cancellation is not None:
        detail = "its cancellation was requested and nobody has acknowledged it"
        record.raise_finding(Code.CANCEL_UNACKNOWLEDGED, detail, record.open_cancellation.ref, event.ref)


def _waiter(record: InvocationRecord, event: Event, at: str) -> None:
    if record.state not in TERMINAL:
        record.raise_finding(Code.WAITER_GONE, "nobody waits for this call any more; that proves nothing about its body", event.ref)
        if record.reconciliation is Reconciliation.NOT_EXECUTED and event.data.get("body") != "not started":
            record.reconciliation = Reconciliation.UNKNOWN  # a body that nobody saw start may be at work all the same


def _rejected(record: InvocationRecord, event: Event, at: str) -> None:
    record.result_rejected = record.result_rejected or event.ref
    record.raise_finding(Code.RESULT_REJECTED, "the body ended and its result does not fit the declared type", event.ref)


def _reconciled(record: InvocationRecord, event: Event, at: str) -> None:
    record.reconciliations.append(Outcome(event.data, event.ref, at, event.source))
    record.reconciliation = Reconciliation.RECONCILED
    for code in (*OPENS_RECONCILIATION, Code.REVERSAL_UNSETTLED):
        record.findings.pop(code, None)


ABSORBERS: Final = MappingProxyType({
    Kind.CLOSED: _closed,
    Kind.CANCEL_ACKNOWLEDGED: _acknowledged,
    Kind.SUCCEEDED: _succeeded,
    Kind.FAILED: _failed,
    Kind.DEADLINE_ELAPSED: _elapsed,
    Kind.LOST: _lost,
    Kind.WAITER_RELEASED: _waiter,
    Kind.RESULT_REJECTED: _rejected,
    Kind.RECONCILED: _reconciled,
})  # fmt: skip  # one line a kind


def entered(record: InvocationRecord, state: State, event: Event, at: str) -> None:
    """Settle what entering ``state`` means for the end, for findings and for what is known about effects."""
    if state is not State.AWAITING_APPROVAL:
        record.findings.pop(Code.APPROVED_NOT_QUEUED, None)
    if state in TERMINAL:
        _ended(record, state, event, at)
    record.reconciliation = effects_known(record, state, event)


def _ended(record: InvocationRecord, state: State, event: Event, at: str) -> None:
    """Keep the end itself, and take back what was only true until then."""
    if state is State.CANCELLED:
        _keep_closure(record, event, at)
    elif state is State.EXPIRED:
        record.elapsed = event.data["deadline"]
        if record.elapsed == Deadline.RESULT and (record.seen_at_work or record.handed_over):
            record.raise_finding(Code.RESULT_DEADLINE_PASSED, "the result deadline passed while the execution may go on", event.ref)
    else:
        record.outcome = Outcome(event.data, event.ref, at, event.source)
        _name_doubt(record, event)
    if event.kind in {Kind.SUCCEEDED, Kind.FAILED, Kind.CANCEL_ACKNOWLEDGED}:
        for code in (Code.OUTCOME_UNKNOWN, Code.CANCEL_UNACKNOWLEDGED):
            record.findings.pop(code, None)
    else:
        _name_silence(record, event)
    if state is State.SUCCEEDED and record.cancellation is not None:
        record.raise_finding(Code.COMPLETED_DESPITE_CANCEL, "it succeeded although its cancellation had been requested", event.ref)
    for code in (Code.WAITING_FOR_PERSON, Code.WAITER_GONE, Code.CANNOT_BE_STOPPED, Code.APPROVAL_INVALIDATED):
        record.findings.pop(code, None)
    record.deadlines.clear()


def _name_doubt(record: InvocationRecord, event: Event) -> None:
    """Say that a failure leaves open what it did: its source says so, or only concludes that it failed. What only reads did nothing."""
    doubtful = event.data.get("effects") == "unknown" or event.data.get("inferred_by")
    if event.kind == Kind.FAILED and doubtful and not only_reads(record):
        record.raise_finding(Code.RECONCILIATION_REQUIRED, "it failed, and whether it had its effect is not known", event.ref)


def _keep_closure(record: InvocationRecord, event: Event, at: str) -> None:
    """Keep why and by whom it was closed: before dispatch by the owner of the proposal, after it by the executor."""
    data = event.data
    if event.kind == Kind.CANCEL_ACKNOWLEDGED:
        requested = record.cancellation.ref if record.cancellation else ""
        record.closure = Closure(
            ClosureKind.TERMINATED, "executor", data["initiator"], data["scope"], data["reason"], data["at"], event.ref,
            termination=Termination(data["termination"]), request_ref=requested,
        )  # fmt: skip  # positional facts in one line
        return
    record.closure = Closure(
        ClosureKind(data["kind"]), str(data.get("owner_name") or event.owner), data["initiator"], data["scope"], data["reason"], data["at"],
        event.ref, replaced_by=str(data.get("replaced_by") or ""),
    )  # fmt: skip  # positional facts in one line
    record.replaced_by = record.closure.replaced_by or record.replaced_by
    if record.approval is not None and record.approval.answer is None:
        record.approval.answer = Answer(data["kind"], data["initiator"], event.ref, at, data["reason"])
