"""How attempts end, what arrives after the end, and what is then known about effects.

Terminal is final (R4): what comes later is kept, stands in the headline as a finding, and opens reconciliation.
"""

from types import MappingProxyType
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import OPENS_RECONCILIATION, Code
from toolwitness.core.record import Answer, Closure, InvocationRecord, Outcome
from toolwitness.core.states import TERMINAL, ClosureKind, Consequence, Deadline, Reconciliation, State, Termination

_HARMLESS: Final = frozenset({Consequence.READ_ONLY, Consequence.PERMISSION_GATED})


def _closed(record: InvocationRecord, event: Event, at: str) -> None:
    """Keep a closure before dispatch, and answer the approval that it closes."""
    if record.state in TERMINAL or record.claim is not None or record.starts:
        record.raise_finding(Code.LATE_CLOSURE, "a closure before dispatch was recorded after dispatch", event.ref)
        return
    data = event.data
    kind = next((k for k in ClosureKind if k == data["kind"]), None)
    if kind is None:
        return
    record.closure = Closure(
        kind, str(data.get("owner_name") or event.owner), data["initiator"], data["scope"], data["reason"], data["at"], event.ref,
        replaced_by=str(data.get("replaced_by") or ""),
    )  # fmt: skip  # positional facts in one line
    record.replaced_by = record.closure.replaced_by or record.replaced_by
    waiting = record.open_approval
    if waiting is not None:
        waiting.answer = Answer(kind.value, data["initiator"], event.ref, at, data["reason"])


def _acknowledged(record: InvocationRecord, event: Event, at: str) -> None:
    """Keep an acknowledged termination; doubt one that the executor cannot have seen."""
    data = event.data
    termination = next((t for t in Termination if t == data["termination"]), None)
    if termination is None or (termination is Termination.UNWOUND and record.cancel_support == "thread"):
        record.raise_finding(Code.ACKNOWLEDGEMENT_DOUBTED, f"termination {data['termination']!r} cannot be believed of this body", event.ref)
        return
    if record.closure is None and record.state not in TERMINAL:
        record.closure = Closure(
            ClosureKind.TERMINATED, "executor", data["initiator"], data["scope"], data["reason"], data["at"], event.ref, termination
        )


def _succeeded(record: InvocationRecord, event: Event, at: str) -> None:
    if record.outcome is None and record.state not in TERMINAL:
        record.outcome = Outcome(event.data, event.ref, at)


def _failed(record: InvocationRecord, event: Event, at: str) -> None:
    if record.outcome is None and record.state not in TERMINAL:
        record.outcome = Outcome(event.data, event.ref, at)


def _elapsed(record: InvocationRecord, event: Event, at: str) -> None:
    which = event.data["deadline"]
    if which == Deadline.APPROVAL and (waiting := record.open_approval) is not None:
        waiting.answer = Answer("expired", event.owner, event.ref, at)
    record.deadlines.pop(which, None)


def _lost(record: InvocationRecord, event: Event, at: str) -> None:
    if record.state not in TERMINAL:
        record.raise_finding(Code.OUTCOME_UNKNOWN, str(event.data["reason"]), event.ref)
        record.reconciliation = Reconciliation.UNKNOWN


def _waiter(record: InvocationRecord, event: Event, at: str) -> None:
    if record.state not in TERMINAL:
        record.raise_finding(Code.WAITER_GONE, "nobody waits for this call any more; that proves nothing about its body", event.ref)


def _rejected(record: InvocationRecord, event: Event, at: str) -> None:
    record.raise_finding(Code.RESULT_REJECTED, "the body ended and its result does not fit the declared type", event.ref)


def _reconciled(record: InvocationRecord, event: Event, at: str) -> None:
    record.reconciliations.append(Outcome(event.data, event.ref, at))
    record.reconciliation = Reconciliation.RECONCILED
    for code in OPENS_RECONCILIATION:
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


_AFTER: Final = MappingProxyType({
    Kind.EFFECT: (Code.LATE_EFFECT, "an effect was reported after the end"),
    Kind.COMMITTED: (Code.LATE_EFFECT, "the commitment boundary was crossed after the end"),
    Kind.STARTED: (Code.STARTED_AFTER_END, "a start was recorded after the end"),
    Kind.SUCCEEDED: (Code.LATE_OUTCOME, "a success was recorded after the end"),
    Kind.FAILED: (Code.LATE_OUTCOME, "a failure was recorded after the end"),
    Kind.CANCEL_ACKNOWLEDGED: (Code.LATE_CLOSURE, "a termination was acknowledged after the end"),
})  # fmt: skip  # one line a kind


def after_the_end(record: InvocationRecord, event: Event) -> None:
    """Raise the finding for a fact that arrives after the attempt has ended."""
    late = _AFTER.get(event.kind)  # type: ignore[call-overload]  # most kinds may come late without consequence
    if late is None:
        return
    code, detail = late
    if code is Code.LATE_OUTCOME and record.state in {State.SUCCEEDED, State.FAILED}:
        code = Code.CONFLICTING_OUTCOMES
    record.raise_finding(code, f"{detail} ({record.state})", event.ref)
    if code in OPENS_RECONCILIATION:
        record.reconciliation = Reconciliation.REQUIRED


def entered(record: InvocationRecord, state: State, event: Event, at: str) -> None:
    """Settle what entering ``state`` means for findings and for what is known about effects."""
    if state is State.EXPIRED:
        record.elapsed = str(event.data["deadline"])
        if event.data["deadline"] == Deadline.RESULT and (record.starts or record.claim):
            record.raise_finding(Code.RESULT_DEADLINE_PASSED, "the result deadline passed while the execution may go on", event.ref)
    if state in TERMINAL:
        for code in (Code.APPROVED_NOT_QUEUED, Code.WAITING_FOR_PERSON, Code.WAITER_GONE, Code.CANNOT_BE_STOPPED):
            record.findings.pop(code, None)
        record.deadlines.clear()
    if state in {State.SUCCEEDED, State.FAILED, State.CANCELLED}:
        record.findings.pop(Code.OUTCOME_UNKNOWN, None)
    if state is State.SUCCEEDED and record.open_cancellation is not None:
        record.raise_finding(Code.COMPLETED_DESPITE_CANCEL, "it succeeded although its cancellation had been requested", event.ref)
    record.reconciliation = _effects_known(record, state, event)


def _effects_known(record: InvocationRecord, state: State, event: Event) -> Reconciliation:
    """Say what is known about effects on entering ``state``; silence is never taken for absence."""
    if record.needs_reconciliation:
        return Reconciliation.REQUIRED if state in TERMINAL else Reconciliation.UNKNOWN
    executed = bool(record.starts) or state in {State.SUCCEEDED, State.RUNNING, State.STREAMING, State.PARTIALLY_COMPLETE}
    if not executed and state in TERMINAL and record.claim is None and state is not State.FAILED:
        return Reconciliation.NOT_EXECUTED
    harmless = bool(record.consequences) and Consequence.READ_ONLY in record.consequences and _HARMLESS.issuperset(record.consequences)
    if harmless or event.data.get("effects") == "excluded":
        return Reconciliation.NONE_EXPECTED if executed else record.reconciliation
    if state is State.SUCCEEDED:
        return Reconciliation.AS_REPORTED
    return Reconciliation.UNKNOWN if executed else record.reconciliation
