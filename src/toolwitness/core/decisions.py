"""Inputs, approvals, permissions and the one claim: what may still count, and what each adds to a record (R6).

``objection`` says why a decision or permit cannot count although it is whole. The claim is the last door before a body starts: whatever was
decided about other inputs, another attempt or an older question does not open it.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.entries import Answer, Approval, Claim
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, Deadline, State

Absorber = Callable[[InvocationRecord, Event, str], None]
Objector = Callable[[InvocationRecord, Event], str]


def objection(record: InvocationRecord, event: Event) -> str:
    """Say why ``event`` cannot count although it is whole; empty when it can."""
    if record.state in TERMINAL and event.kind in _ONLY_WHILE_OPEN:
        return f"terminal: the attempt is already {record.state}"
    objector = _OBJECTORS.get(event.kind)  # type: ignore[call-overload]  # a kind without an objector is not a key
    return objector(record, event) if objector else ""


_ONLY_WHILE_OPEN: Final = frozenset({
    Kind.CLAIMED, Kind.PERMITTED, Kind.REFUSED, Kind.APPROVAL_REQUESTED, Kind.APPROVAL_INVALIDATED, Kind.INPUT_REQUIRED, Kind.INPUTS_REJECTED,
    Kind.INPUTS_ACCEPTED,
})  # fmt: skip  # a set reads better in lines
"""What is asked or allowed about an attempt that has ended is kept and changes nothing that its card says."""


def _named(record: InvocationRecord, event: Event) -> Approval | None:
    return next((a for a in record.approvals if a.id == event.data["approval_id"]), None)


def _answer_objection(record: InvocationRecord, event: Event) -> str:
    named = _named(record, event)
    if named is None:
        return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
    if named.answer is not None:
        return f"already-answered: {named.answer.kind} by {named.answer.actor} at {named.answer.at or 'an unrecorded time'}"
    if record.state in TERMINAL:
        return f"terminal: the attempt is already {record.state}"
    if event.kind == Kind.DENIED:
        return ""
    bound, shown = named.data.get("inputs_digest"), event.data.get("inputs_digest")
    if (bound and shown and bound != shown) or _moved_on(record, named):
        return "other-inputs: the decision was made on inputs that are not the ones asked about"
    return ""


def _moved_on(record: InvocationRecord, approval: Approval) -> bool:
    """Tell whether other inputs stand now than the ones that this approval was asked about."""
    return approval.inputs is not None and record.inputs is not None and approval.inputs.get("ref") != record.inputs.get("ref")


def _request_objection(record: InvocationRecord, event: Event) -> str:
    return f"repeated: approval {event.data['approval_id']} was already asked for" if _named(record, event) else ""


def _invalidation_objection(record: InvocationRecord, event: Event) -> str:
    named = _named(record, event)
    if named is None:
        return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
    if named.answer is not None and named.answer.kind != "granted":
        return f"already-answered: {named.answer.kind} by {named.answer.actor}; there is no decision to invalidate"
    if named.gates_start and (record.claim is not None or record.starts):
        return "too-late: the call was dispatched under this decision"
    return ""


def _claim_objection(record: InvocationRecord, event: Event) -> str:
    """Say why a dispatch permit cannot be claimed."""
    if record.claim is not None:
        return f"already-claimed: permit {record.claim.permit} was claimed at {record.claim.at or 'an unrecorded time'}"
    if record.starts or record.state in EXECUTING:
        return "already-started: this attempt was seen to start; a second body would run"
    if record.state is None:
        return "unproposed: nothing was proposed that could be dispatched"
    if event.data["attempt"] != record.attempt:
        return f"other-attempt: this is attempt {record.attempt} and the permit is for attempt {event.data['attempt']}"
    if record.input_request is not None:
        return "inputs-unresolved: required input is still missing"
    if record.permission is not None and record.permission.get("refused"):
        return f"not-permitted: {record.permission.get('reason')}"
    return _scope_objection(record, event)


def _scope_objection(record: InvocationRecord, event: Event) -> str:
    """Say why a claim is not covered by a grant of exactly this."""
    missing = record.ungranted
    if missing is not None:
        return f"not-granted: approval {missing.id} has not been granted"
    approval = record.approval
    if approval is not None and _moved_on(record, approval):
        return f"other-inputs: the inputs have changed since approval {approval.id} was asked for"
    bound, standing = event.data.get("inputs_digest"), (record.inputs or {}).get("digest")
    if bound and standing and bound != standing:
        return "other-inputs: the permit names inputs that are not the ones that stand"
    return ""


_OBJECTORS: Final = MappingProxyType({
    Kind.GRANTED: _answer_objection,
    Kind.DENIED: _answer_objection,
    Kind.APPROVAL_REQUESTED: _request_objection,
    Kind.APPROVAL_INVALIDATED: _invalidation_objection,
    Kind.CLAIMED: _claim_objection,
})  # fmt: skip  # one line a kind


def _input_wanted(record: InvocationRecord, event: Event, at: str) -> None:
    record.input_request = {**event.data, "at": at, "ref": event.ref}
    record.deadlines.pop(Deadline.INPUT, None)
    if event.data.get("expires_at"):
        record.deadlines[Deadline.INPUT] = event.data["expires_at"]
    if record.state is State.QUEUED or record.state in EXECUTING:
        record.raise_finding(Code.WAITING_FOR_PERSON, "the running call asks for input", event.ref)
    settle_waiting(record)


def _inputs_accepted(record: InvocationRecord, event: Event, at: str) -> None:
    """Let the checked inputs stand; a permission that was given for other inputs is gone."""
    if event.data.get("inputs"):
        record.inputs = event.data["inputs"]
        record.inputs_history.append(event.data["inputs"])
        if record.claim is None:
            _void_permission(record)
    if event.data.get("unresolved"):
        if record.input_request is not None:
            record.input_request = {**record.input_request, "unresolved": event.data["unresolved"]}
        return
    record.input_request = None
    record.deadlines.pop(Deadline.INPUT, None)
    settle_waiting(record)


def _approval_requested(record: InvocationRecord, event: Event, at: str) -> None:
    """Ask; an older question that nobody has answered is superseded by this one."""
    waiting = record.open_approval
    if waiting is not None:
        waiting.answer = Answer("superseded", "policy", event.ref, at, f"{event.data['approval_id']} took its place")
    running = bool(record.starts) or record.state in EXECUTING
    record.approvals.append(
        Approval(event.data["approval_id"], event.data, event.ref, at, inputs=record.inputs, gates_start=not running)
    )
    for code in (Code.APPROVAL_INVALIDATED, Code.APPROVED_NOT_QUEUED):
        record.findings.pop(code, None)
    record.deadlines.pop(Deadline.APPROVAL, None)
    if event.data.get("expires_at"):
        record.deadlines[Deadline.APPROVAL] = event.data["expires_at"]
    if record.state is State.QUEUED or running:
        record.raise_finding(Code.WAITING_FOR_PERSON, "the running call asks for an approval", event.ref)


def settle_waiting(record: InvocationRecord) -> None:
    """Take back what says that something is asked for, where nothing is any more."""
    if record.open_approval is None:
        record.deadlines.pop(Deadline.APPROVAL, None)
    if not record.waits_for_person:
        record.findings.pop(Code.WAITING_FOR_PERSON, None)


def _answered(record: InvocationRecord, event: Event, at: str, *, kind: str, actor: str) -> Approval | None:
    """Answer the approval that the event names, and give it."""
    approval = _named(record, event)
    if approval is not None:
        approval.answer = Answer(kind, actor, event.ref, at, str(event.data.get("reason") or ""))
    settle_waiting(record)
    return approval


def _granted(record: InvocationRecord, event: Event, at: str) -> None:
    _answered(record, event, at, kind="granted", actor=event.data["actor"])
    if record.state is State.AWAITING_APPROVAL:
        record.raise_finding(Code.APPROVED_NOT_QUEUED, "approved; no acceptance or start is recorded yet", event.ref)


def _denied(record: InvocationRecord, event: Event, at: str) -> None:
    _answered(record, event, at, kind="denied", actor=event.data["actor"])


def _invalidated(record: InvocationRecord, event: Event, at: str) -> None:
    """Void a question or its grant; what was permitted on it is permitted no longer."""
    approval = _answered(record, event, at, kind="invalidated", actor="policy")
    if approval is record.approval:
        record.findings.pop(Code.APPROVED_NOT_QUEUED, None)
        record.raise_finding(Code.APPROVAL_INVALIDATED, event.data["reason"], event.ref)
        if record.claim is None:
            _void_permission(record)


def _permission(record: InvocationRecord, event: Event, at: str) -> None:
    record.permission = {**event.data, "refused": event.kind == Kind.REFUSED, "ref": event.ref, "at": at}
    for name, deadline in (("expires_at", Deadline.QUEUE_START), ("result_expires_at", Deadline.RESULT)):
        if event.data.get(name):
            record.deadlines[deadline] = event.data[name]


def _void_permission(record: InvocationRecord) -> None:
    """Take back a permission together with the deadlines that ran from it."""
    if record.permission is not None:
        record.permission = None
        record.deadlines.pop(Deadline.QUEUE_START, None)
        record.deadlines.pop(Deadline.RESULT, None)


def _claimed(record: InvocationRecord, event: Event, at: str) -> None:
    record.claim = Claim(event.data["permit"], event.ref, at, event.data)


ABSORBERS: Final = MappingProxyType({
    Kind.INPUT_REQUIRED: _input_wanted,
    Kind.INPUTS_REJECTED: _input_wanted,
    Kind.INPUTS_ACCEPTED: _inputs_accepted,
    Kind.APPROVAL_REQUESTED: _approval_requested,
    Kind.GRANTED: _granted,
    Kind.DENIED: _denied,
    Kind.APPROVAL_INVALIDATED: _invalidated,
    Kind.PERMITTED: _permission,
    Kind.REFUSED: _permission,
    Kind.CLAIMED: _claimed,
})  # fmt: skip  # one line a kind
