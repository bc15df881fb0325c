"""Whether a decision, a question or a permit can still count (R6).

``objection`` says why a decision or permit cannot count although it is whole. The claim is the last door before a body starts: whatever was
decided about other inputs, another attempt or an older question does not open it.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.entries import Approval
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL

Objector = Callable[[InvocationRecord, Event], str]


def objection(record: InvocationRecord, event: Event) -> str:
    """Say why ``event`` cannot count although it is whole; empty when it can."""
    if record.state in TERMINAL and event.kind in _ONLY_WHILE_OPEN:
        return f"terminal: the attempt is already {record.state}"
    objector = _OBJECTORS.get(event.kind)  # type: ignore[call-overload]  # a kind without an objector is not a key
    return objector(record, event) if objector else ""


_ONLY_WHILE_OPEN: Final = frozenset({
    Kind.CLAIMED, Kind.PERMITTED, Kind.REFUSED, Kind.APPROVAL_REQUESTED, Kind.APPROVAL_INVALIDATED, Kind.INPUT_REQUIRED,
    Kind.INPUTS_REJECTED, Kind.INPUTS_ACCEPTED,
})  # fmt: skip  # a set reads better in lines
"""What is asked or allowed about an attempt that has ended is kept and changes nothing that its card says."""


def _named(record: InvocationRecord, event: Event) -> Approval | None:
    """Give the approval request that ``event`` is about."""
    return next((a for a in record.approvals if a.id == event.data["approval_id"]), None)


def _answer_objection(record: InvocationRecord, event: Event) -> str:
    approval = _named(record, event)
    if approval is None:
        return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
    if approval.answer is not None:
        return f"already-answered: {approval.answer.kind} by {approval.answer.actor} at {approval.answer.at or 'an unrecorded time'}"
    if record.state in TERMINAL:
        return f"terminal: the attempt is already {record.state}"
    if event.kind == Kind.DENIED:
        return ""
    if any(one.actor == event.data["actor"] for one in approval.agreed):
        return f"already-answered: {event.data['actor']} has agreed already; it takes {approval.lacking} more"
    bound, shown = approval.data.get("inputs_digest"), event.data.get("inputs_digest")
    if (bound and shown and bound != shown) or _moved_on(record, approval):
        return "other-inputs: the decision was made on inputs that are not the ones asked about"
    return ""


def _moved_on(record: InvocationRecord, approval: Approval) -> bool:
    """Tell whether other inputs stand now than the ones that this approval was asked about; where it was asked about none, any are."""
    return record.inputs is not None and (approval.inputs or {}).get("ref") != record.inputs.get("ref")


def _request_objection(record: InvocationRecord, event: Event) -> str:
    return f"repeated: approval {event.data['approval_id']} was already asked for" if _named(record, event) else ""


def _invalidation_objection(record: InvocationRecord, event: Event) -> str:
    approval = _named(record, event)
    if approval is None:
        return f"unknown-approval: no request {event.data['approval_id']} is recorded for this invocation"
    if approval.answer is not None and approval.answer.kind != "granted":
        return f"already-answered: {approval.answer.kind} by {approval.answer.actor}; there is no decision to invalidate"
    if approval.gates_start and (record.claim is not None or record.starts):
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
