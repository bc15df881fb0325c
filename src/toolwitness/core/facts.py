"""What each kind of evidence adds to a record, apart from moving its state.

``absorb`` dispatches on the kind; one small function a kind. Nothing here names a next state: that is the table's alone.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core import endings
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import Answer, Approval, Claim, Effect, InvocationRecord, Outcome, Request
from toolwitness.core.states import EXECUTING, TERMINAL, Deadline, State

Absorber = Callable[[InvocationRecord, Event, str], None]

DECISIONS: Final = frozenset({
    Kind.GRANTED, Kind.DENIED, Kind.DISMISSED, Kind.WITHDRAWN, Kind.CANCEL_REQUESTED, Kind.RETRY_REQUESTED, Kind.REVERSAL_REQUESTED,
    Kind.ROUTE_CHOSEN, Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED,
})  # fmt: skip  # a set reads better in lines
"""Kinds that are a person's decision: a refused one is a finding."""

REFUSABLE: Final = DECISIONS | {Kind.CLAIMED}
"""Kinds that are refused, not merely noted, when they cannot count."""

after_the_end = endings.after_the_end
entered = endings.entered


def objection(record: InvocationRecord, event: Event) -> str:
    """Say why a decision or permit cannot count although it is whole; empty when it can."""
    if event.kind in {Kind.GRANTED, Kind.DENIED}:
        named = next((a for a in record.approvals if a.id == event.data["approval_id"]), None)
        if named is None:
            return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
        if named.answer is not None:
            return f"already-answered: {named.answer.kind} by {named.answer.actor} at {named.answer.at or 'an unrecorded time'}"
        if record.state in TERMINAL:
            return f"terminal: the attempt is already {record.state}"
        bound, shown = named.data.get("inputs_digest"), event.data.get("inputs_digest")
        if event.kind == Kind.GRANTED and bound and shown and bound != shown:
            return "other-inputs: the decision was made on inputs that are not the ones asked about"
    if event.kind == Kind.CLAIMED:
        return _claim_objection(record)
    if event.kind in {Kind.APPROVAL_REQUESTED, Kind.INPUT_REQUIRED, Kind.INPUTS_REJECTED} and record.state in TERMINAL:
        return f"terminal: the attempt is already {record.state}"
    if event.kind == Kind.APPROVAL_INVALIDATED and not any(a.id == event.data["approval_id"] for a in record.approvals):
        return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
    return ""


def _claim_objection(record: InvocationRecord) -> str:
    """Say why a dispatch permit cannot be claimed: the last door before a body starts (R6)."""
    if record.claim is not None:
        return f"already-claimed: permit {record.claim.permit} was claimed at {record.claim.at or 'an unrecorded time'}"
    if record.state in TERMINAL:
        return f"terminal: the attempt is already {record.state}"
    if record.approval is not None and not record.granted:
        return f"not-granted: approval {record.approval.id} has not been granted"
    return ""


def absorb(record: InvocationRecord, event: Event, at: str) -> None:
    """Add what ``event`` says to the record."""
    absorber = _ABSORBERS.get(event.kind)  # type: ignore[call-overload]  # a kind without an absorber adds nothing but itself
    if absorber:
        absorber(record, event, at)


def _proposed(record: InvocationRecord, event: Event, at: str) -> None:
    if record.proposal:
        return
    record.proposal = event.data
    record.task_id, record.tenant = event.task_id, event.tenant
    record.attempt = event.attempt or 1
    record.inputs = event.data["inputs"]
    record.inputs_history.append(event.data["inputs"])
    record.cancel_support = record.cancel_support or str(event.data.get("cancel_support") or "")


def _input_wanted(record: InvocationRecord, event: Event, at: str) -> None:
    record.input_request = {**event.data, "at": at, "ref": event.ref}
    if event.data.get("expires_at"):
        record.deadlines[Deadline.INPUT] = event.data["expires_at"]
    if record.state is State.QUEUED or record.state in EXECUTING:
        record.raise_finding(Code.WAITING_FOR_PERSON, "the running call asks for input", event.ref)


def _inputs_accepted(record: InvocationRecord, event: Event, at: str) -> None:
    if event.data.get("inputs"):
        record.inputs = event.data["inputs"]
        record.inputs_history.append(event.data["inputs"])
        record.permission = None  # it was given for the inputs that stood before
    if not event.data.get("unresolved"):
        record.input_request = None
        record.deadlines.pop(Deadline.INPUT, None)
        if record.open_approval is None:
            record.findings.pop(Code.WAITING_FOR_PERSON, None)


def _approval_requested(record: InvocationRecord, event: Event, at: str) -> None:
    if any(a.id == event.data["approval_id"] for a in record.approvals):
        return
    record.approvals.append(Approval(event.data["approval_id"], event.data, event.ref, at))
    record.findings.pop(Code.APPROVAL_INVALIDATED, None)
    record.deadlines.pop(Deadline.APPROVAL, None)
    if event.data.get("expires_at"):
        record.deadlines[Deadline.APPROVAL] = event.data["expires_at"]
    if record.state is State.QUEUED or record.state in EXECUTING:
        record.raise_finding(Code.WAITING_FOR_PERSON, "the running call asks for an approval", event.ref)


def _answer(record: InvocationRecord, event: Event, at: str, *, kind: str, actor: str) -> None:
    """Answer the approval that the event names, or the open one; an answered one keeps its answer, save that a grant can be invalidated."""
    wanted = event.data.get("approval_id")
    approval = next((a for a in record.approvals if a.id == wanted), None) if wanted else record.open_approval
    if approval is None or (approval.answer is not None and kind != "invalidated"):
        return
    approval.answer = Answer(kind, actor, event.ref, at, str(event.data.get("reason") or ""))
    record.deadlines.pop(Deadline.APPROVAL, None)
    if record.input_request is None:
        record.findings.pop(Code.WAITING_FOR_PERSON, None)


def _granted(record: InvocationRecord, event: Event, at: str) -> None:
    _answer(record, event, at, kind="granted", actor=event.data["actor"])
    if record.state is State.AWAITING_APPROVAL:
        record.raise_finding(Code.APPROVED_NOT_QUEUED, "approved; no acceptance or start is recorded yet", event.ref)


def _denied(record: InvocationRecord, event: Event, at: str) -> None:
    _answer(record, event, at, kind="denied", actor=event.data["actor"])


def _invalidated(record: InvocationRecord, event: Event, at: str) -> None:
    _answer(record, event, at, kind="invalidated", actor="policy")
    record.findings.pop(Code.APPROVED_NOT_QUEUED, None)
    record.raise_finding(Code.APPROVAL_INVALIDATED, str(event.data["reason"]), event.ref)


def _permission(record: InvocationRecord, event: Event, at: str) -> None:
    record.permission = {**event.data, "refused": event.kind == Kind.REFUSED, "ref": event.ref, "at": at}
    for name, deadline in (("expires_at", Deadline.QUEUE_START), ("result_expires_at", Deadline.RESULT)):
        if event.data.get(name):
            record.deadlines[deadline] = event.data[name]


def _claimed(record: InvocationRecord, event: Event, at: str) -> None:
    record.claim = Claim(event.data["permit"], event.ref, at, event.data)


def _accepted(record: InvocationRecord, event: Event, at: str) -> None:
    record.queue_ref = record.queue_ref or str(event.data.get("queue_ref") or "")
    record.accepted_at = record.accepted_at or str(event.data.get("accepted_at") or at)
    record.findings.pop(Code.APPROVED_NOT_QUEUED, None)


def _started(record: InvocationRecord, event: Event, at: str) -> None:
    if event.data["attempt"] != record.attempt and record.proposal:
        record.raise_finding(Code.DUPLICATE_START, f"a start of attempt {event.data['attempt']} was recorded here", event.ref)
    elif record.starts:
        record.raise_finding(Code.DUPLICATE_START, "the same attempt was seen to start again", event.ref)
    record.starts.append(event.ref)
    record.started_at = record.started_at or str(event.data.get("started_at") or at)
    record.executor = str(event.data.get("executor") or record.executor)
    record.lease = str(event.data.get("lease") or record.lease)
    record.cancel_support = str(event.data.get("cancel_support") or record.cancel_support)
    ran = event.data.get("inputs")
    if ran:
        record.executed_inputs = ran
        if record.inputs and ran.get("ref") != record.inputs.get("ref"):
            record.raise_finding(Code.EXECUTED_INPUTS_DIFFER, "the body was started with other inputs than the ones that stand", event.ref)
    record.deadlines.pop(Deadline.QUEUE_START, None)
    record.findings.pop(Code.APPROVED_NOT_QUEUED, None)


def _heartbeat(record: InvocationRecord, event: Event, at: str) -> None:
    record.lease = record.lease or str(event.data["lease"])
    if event.data["lease"] == record.lease:
        record.findings.pop(Code.OUTCOME_UNKNOWN, None)


def _progress(record: InvocationRecord, event: Event, at: str) -> None:
    order, percent = event.data["order"], event.data.get("percent")
    best = (record.progress or {}).get("percent")
    if order <= record.progress_order or (isinstance(percent, int) and isinstance(best, int) and percent < best):
        record.raise_finding(Code.PROGRESS_REGRESSED, "progress moved backwards; the furthest point is kept", event.ref)
        return
    record.progress_order = order
    record.progress = {**event.data, "percent": best if percent is None else percent, "at": at, "ref": event.ref}


def _output(record: InvocationRecord, event: Event, at: str) -> None:
    order = event.data["order"]
    if order <= record.output_order:
        record.raise_finding(Code.ORDER_REPEATED, f"output number {order} came again or late", event.ref)
        return
    record.output_order = order
    record.output_chunks.append({**event.data, "ref": event.ref, "at": at})


def _part(record: InvocationRecord, event: Event, at: str) -> None:
    record.parts.append({**event.data, "ref": event.ref, "at": at})
    record.open_parts = tuple(event.data["open"])


def _committed(record: InvocationRecord, event: Event, at: str) -> None:
    record.commitment = record.commitment or Outcome(event.data, event.ref, at)


def _effect(record: InvocationRecord, event: Event, at: str) -> None:
    record.effects.append(Effect(event.data, event.ref, at, late=record.state in TERMINAL))
    if record.open_cancellation is not None and record.state not in TERMINAL:
        record.raise_finding(Code.EFFECT_AFTER_CANCEL, "an effect landed after the cancellation had been requested", event.ref)


def _request(kind: str) -> Absorber:
    """Make the absorber of a kind of request."""

    def absorber(record: InvocationRecord, event: Event, at: str) -> None:
        data = event.data
        target = str(data.get("new_invocation") or "")
        record.requests.append(
            Request(kind, data["actor"], event.ref, at, str(data.get("scope") or ""), str(data.get("reason") or ""), target)
        )
        if target:
            name = {"retry": "retried_by", "reversal": "reversed_by", "route": "replaced_by"}[kind]
            setattr(record, name, target)
        if kind == "cancellation" and record.state in EXECUTING and record.cancel_support in {"thread", "unsupported"}:
            record.raise_finding(Code.CANNOT_BE_STOPPED, f"the body runs as {record.cancel_support} and cannot be stopped from here", event.ref)

    return absorber


def _moved_dependency(record: InvocationRecord, event: Event, at: str) -> None:
    record.moved_dependencies[event.data["dependency"]] = event.data["moved_to"]


def _resolved_dependency(record: InvocationRecord, event: Event, at: str) -> None:
    record.resolved_dependencies[event.data["dependency"]] = event.data["by"]


_ABSORBERS: Final = MappingProxyType({
    Kind.PROPOSED: _proposed,
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
    Kind.ACCEPTED: _accepted,
    Kind.STARTED: _started,
    Kind.HEARTBEAT: _heartbeat,
    Kind.PROGRESS: _progress,
    Kind.OUTPUT: _output,
    Kind.PART_COMPLETED: _part,
    Kind.COMMITTED: _committed,
    Kind.EFFECT: _effect,
    Kind.CANCEL_REQUESTED: _request("cancellation"),
    Kind.RETRY_REQUESTED: _request("retry"),
    Kind.REVERSAL_REQUESTED: _request("reversal"),
    Kind.ROUTE_CHOSEN: _request("route"),
    Kind.INPUT_SUPPLIED: _request("input"),
    Kind.INPUTS_EDITED: _request("input"),
    Kind.DEPENDENCY_MOVED: _moved_dependency,
    Kind.DEPENDENCY_RESOLVED: _resolved_dependency,
    **endings.ABSORBERS,
})  # fmt: skip  # one line a kind
