"""From a record to its ``tool-call-ui/1`` document, and from a task to its task document: plain dicts, nothing invented.

Every field is a fact of the record, null where there is none. A document names no actor's permissions unless they are
passed in: the shared one is the same for everybody. Models stay out of this way on purpose; the tests read every document
that is built here back through them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolwitness.contract.encode import encode
from toolwitness.contract.foreign import text, text_or_none, texts
from toolwitness.contract.sections import (
    Values,
    authorization_section,
    closure_section,
    correlation_section,
    dependencies,
    effect_section,
    expected_transitions,
    inputs_section,
    observations_section,
    output_section,
    recovery_section,
    request_section,
    result_section,
    rows,
    said,
    timestamps_section,
)
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.task import TaskRecord, blocked_by, required_lineages, summarize, synthesis_of
from toolwitness.core.verdicts import Control

__all__ = ["build_invocation_document", "build_task_document", "encode", "task_entry", "task_section"]


def build_invocation_document(
    record: InvocationRecord,
    *,
    values: Values | None = None,
    verdicts: Sequence[Control] = (),
    blocked: Sequence[str] = (),
) -> dict[str, Any]:
    """Build the ``tool-call-ui/1`` document of one attempt.

    ``values`` adds the inputs and the result themselves; ``verdicts`` are what policy lets one actor do now; ``blocked``
    names the invocations that this one still waits for (``core.task.blocked_by``).
    """
    proposal, outcome = record.proposal, record.outcome
    result: Mapping[str, Any] = outcome.data if outcome and record.state is State.SUCCEEDED else {}
    failure: Mapping[str, Any] = outcome.data if outcome and record.state is State.FAILED else {}
    return {
        "contractVersion": "tool-call-ui/1",
        "documentVersion": record.version,
        "identity": {
            "taskId": record.task_id,
            "invocationId": record.id,
            "parentId": text_or_none(proposal.get("parent")) or record.task_id or None,
            "attempt": max(record.attempt, 1),
            "retryOf": text_or_none(proposal.get("retry_of")),
            "dependencies": dependencies(record),
        },
        "tool": record.tool or None,
        "state": record.state,
        "stateEvidenceRefs": list(record.state_refs),
        "purpose": text(proposal.get("purpose")),
        "findings": [
            {"code": code, "severity": found.severity, "detail": found.detail, "evidenceRefs": list(found.refs)}
            for code, found in record.findings.items()
        ],
        "requests": [request_section(request) for request in record.requests],
        "blockedBy": list(blocked),
        "queueRef": record.queue_ref or None,
        "replaces": text_or_none(proposal.get("replaces")),
        "reverses": text_or_none(proposal.get("reverses")),
        "retriedBy": record.retried_by or None,
        "reversedBy": record.reversed_by or None,
        "replacedBy": record.replaced_by or None,
        "correlation": [correlation_section(row) for row in rows(record.correlation)],
        "inputs": inputs_section(record, values),
        "consequence": {
            "classes": texts(proposal.get("consequences")),
            "commitmentBoundary": text_or_none(proposal.get("commitment_boundary")),
        },
        "authorization": authorization_section(record),
        "expectedTransitions": list(expected_transitions(record.state)),
        "runtimeObservations": observations_section(record),
        "output": output_section(record, result, values),
        "sideEffects": {
            "expected": texts(proposal.get("expected_effects")),
            "observed": [effect_section(effect) for effect in record.effects],
            "reconciliationState": record.reconciliation,
        },
        "closure": closure_section(record),
        "errors": {
            "safeCategory": text_or_none(failure.get("category")),
            "userMessage": said(failure.get("detail"), values),
            "internalEvidenceRef": text_or_none(failure.get("evidence_ref")),
        },
        "recovery": recovery_section(record),
        "alternateRoutes": texts(proposal.get("alternate_routes")),
        "permittedActions": [control.action for control in verdicts if control.enabled],
        "timestamps": timestamps_section(record),
        "evidenceRefs": list(record.evidence_refs),
        "acceptance": {"correctionOwner": None, "retestTrigger": None, "disposition": "not-judged"},
    }


def build_task_document(task: TaskRecord, records: Mapping[str, InvocationRecord], *, not_retryable: Sequence[str] = ()) -> dict[str, Any]:
    """Build the task document: the task, and every attempt in order of proposal."""
    return {
        **task_section(task, records, not_retryable=not_retryable),
        "invocations": [task_entry(record, blocked_by(record, task, records)) for record in records.values()],
    }


def task_section(task: TaskRecord, records: Mapping[str, InvocationRecord], *, not_retryable: Sequence[str] = ()) -> dict[str, Any]:
    """Build what a task document says of the task itself, without its invocations."""
    summary = summarize(task, records, not_retryable=not_retryable)
    synthesis = synthesis_of(task, records)
    return {
        "documentVersion": task.version + sum(record.version for record in records.values()),
        "task": {
            "taskId": task.id,
            "purpose": task.purpose,
            "state": summary.state,
            "requiredChildren": [root for root in required_lineages(task, records) if root != synthesis],
            "synthesisInvocationId": synthesis or None,
            "openedAt": task.opened_at or None,
            "unresolvedChildren": list(summary.unresolved),
            "waitingForPerson": list(summary.waiting_for_person),
            "waivers": [
                {
                    "invocationId": text(waiver.get("child")),
                    "actor": text(waiver.get("actor")),
                    "reason": text(waiver.get("reason")),
                    "at": text_or_none(waiver.get("at")),
                    "evidenceRef": text_or_none(waiver.get("ref")),
                }
                for waiver in task.waivers
            ],
            "evidenceRefs": list(task.evidence_refs),
        },
    }


def task_entry(record: InvocationRecord, blocked: Sequence[str] = ()) -> dict[str, Any]:
    """Build what a task document says of one attempt."""
    proposal = record.proposal
    return {
        "invocationId": record.id,
        "documentVersion": record.version,
        "tool": record.tool or None,
        "purpose": text(proposal.get("purpose")),
        "parentId": text_or_none(proposal.get("parent")) or record.task_id or None,
        "dependencies": dependencies(record),
        "attempt": max(record.attempt, 1),
        "retryOf": text_or_none(proposal.get("retry_of")),
        "replaces": text_or_none(proposal.get("replaces")),
        "reverses": text_or_none(proposal.get("reverses")),
        "state": record.state,
        "queueRef": record.queue_ref or None,
        "acceptedAt": record.accepted_at or None,
        "blockedBy": list(blocked),
        "result": result_section(record),
        "evidenceRefs": list(record.evidence_refs),
    }
