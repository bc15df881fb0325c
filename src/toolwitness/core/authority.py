"""What questions, answers, permissions and the one claim add to a record, once they can count (``core/decisions.py``)."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.entries import Answer, Approval, Claim
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, Deadline, State

Absorber = Callable[[InvocationRecord, Event, str], None]


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
    running = record.state in EXECUTING
    record.approvals.append(Approval(event.data["approval_id"], event.data, event.ref, at, inputs=record.inputs, gates_start=not running))
    for code in (Code.APPROVAL_INVALIDATED, Code.APPROVED_NOT_QUEUED):
        record.findings.pop(code, None)
    if record.claim is None:
        _void_permission(record)
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


def _answered(record: InvocationRecord, event: Event, at: str, *, kind: str, actor: str) -> Approval:
    """Answer the approval that the event names, and give it; that there is one, the objections have made sure of."""
    approval = next(a for a in record.approvals if a.id == event.data["approval_id"])
    roles = tuple(str(role) for role in event.data.get("roles") or ())
    approval.answer = Answer(kind, actor, event.ref, at, str(event.data.get("reason") or ""), roles)
    settle_waiting(record)
    return approval


def _granted(record: InvocationRecord, event: Event, at: str) -> None:
    """Answer the request; where it takes several people, the last of them does, and the others are kept until then."""
    approval = next(a for a in record.approvals if a.id == event.data["approval_id"])
    if approval.lacking > 1:
        roles = tuple(str(role) for role in event.data.get("roles") or ())
        agreed = Answer("agreed", event.data["actor"], event.ref, at, str(event.data.get("reason") or ""), roles)
        approval.agreed = (*approval.agreed, agreed)
        return
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
