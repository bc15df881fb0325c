"""Findings: facts about a record that a person must not miss.

A finding never moves a state. It is raised by evidence, stands in the headline of the card, and is closed by evidence only.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolwitness.core.states import EvidenceRef


class Severity(StrEnum):
    """How loudly a finding speaks."""

    VIOLATION = "violation"
    WARNING = "warning"
    NOTE = "note"


class Code(StrEnum):
    """Stable codes of every finding that toolwitness can raise."""

    STARTED_WITHOUT_PERMIT = "started-without-permit"
    ACCEPTED_WITHOUT_PERMIT = "accepted-without-permit"
    RAN_WITHOUT_APPROVAL = "ran-without-approval"
    POLICY_UNOBSERVED = "policy-unobserved"
    DUPLICATE_START = "duplicate-start"
    STARTED_AFTER_END = "started-after-end"
    LATE_EFFECT = "late-effect"
    LATE_OUTCOME = "late-outcome"
    CONFLICTING_OUTCOMES = "conflicting-outcomes"
    LATE_CLOSURE = "late-closure"
    ACTIVITY_AFTER_END = "activity-after-end"
    OUTCOME_UNKNOWN = "outcome-unknown"
    WAITER_GONE = "waiter-gone"
    COMPLETED_DESPITE_CANCEL = "completed-despite-cancel-request"
    EFFECT_AFTER_CANCEL = "effect-after-cancel-request"
    CANCEL_UNACKNOWLEDGED = "cancel-unacknowledged"
    CANNOT_BE_STOPPED = "cannot-be-stopped"
    ACKNOWLEDGEMENT_DOUBTED = "acknowledgement-doubted"
    APPROVED_NOT_QUEUED = "approved-not-queued"
    APPROVAL_INVALIDATED = "approval-invalidated"
    WAITING_FOR_PERSON = "waiting-for-person"
    EXECUTED_INPUTS_DIFFER = "executed-inputs-differ"
    ACCEPTANCE_NOT_RECORDED = "acceptance-not-recorded"
    START_NOT_RECORDED = "start-not-recorded"
    PROPOSAL_NOT_RECORDED = "proposal-not-recorded"
    PROGRESS_REGRESSED = "progress-regressed"
    ORDER_REPEATED = "order-repeated"
    EVIDENCE_INCOMPLETE = "evidence-incomplete"
    EVIDENCE_MISSING = "evidence-missing"
    EVIDENCE_HELD = "evidence-held"
    SEQUENCE_REUSED = "sequence-reused"
    UNKNOWN_WORD = "unknown-word"
    DECISION_REFUSED = "decision-refused"
    RESULT_REJECTED = "result-rejected"
    RESULT_DEADLINE_PASSED = "result-deadline-passed"
    RECONCILIATION_REQUIRED = "reconciliation-required"
    LEASE_UNKNOWN = "lease-unknown"
    INFERRED_END_REFUSED = "inferred-end-refused"
    CLOCK_SKEW = "clock-skew"
    RETRY_UNLINKED = "retry-unlinked"
    IDEMPOTENCY_KEY_CHANGED = "idempotency-key-changed"
    REVERSAL_UNSETTLED = "reversal-unsettled"
    CALL_LEFT_OPEN = "call-left-open"
    RESULT_NOT_IN_HISTORY = "result-not-in-history"


_V, _W, _N = Severity.VIOLATION, Severity.WARNING, Severity.NOTE
_NOTES: Final = (
    Code.POLICY_UNOBSERVED, Code.ACCEPTANCE_NOT_RECORDED, Code.START_NOT_RECORDED, Code.PROPOSAL_NOT_RECORDED, Code.APPROVED_NOT_QUEUED,
    Code.WAITING_FOR_PERSON, Code.EVIDENCE_HELD, Code.ORDER_REPEATED, Code.UNKNOWN_WORD, Code.DECISION_REFUSED, Code.APPROVAL_INVALIDATED,
    Code.PROGRESS_REGRESSED, Code.CANNOT_BE_STOPPED, Code.WAITER_GONE, Code.CLOCK_SKEW, Code.RETRY_UNLINKED,
    Code.REVERSAL_UNSETTLED,
)  # fmt: skip  # one line a group reads better than one a line
_VIOLATIONS: Final = (
    Code.STARTED_WITHOUT_PERMIT, Code.ACCEPTED_WITHOUT_PERMIT, Code.RAN_WITHOUT_APPROVAL, Code.DUPLICATE_START, Code.STARTED_AFTER_END,
)  # fmt: skip  # as above
SEVERITY: Final = MappingProxyType({code: _N if code in _NOTES else _V if code in _VIOLATIONS else _W for code in Code})
"""The severity of each code."""

OPENS_RECONCILIATION: Final = frozenset({
    Code.LATE_EFFECT, Code.LATE_OUTCOME, Code.CONFLICTING_OUTCOMES, Code.OUTCOME_UNKNOWN, Code.DUPLICATE_START, Code.STARTED_AFTER_END,
    Code.RESULT_DEADLINE_PASSED, Code.RECONCILIATION_REQUIRED, Code.RESULT_REJECTED,
    Code.ACTIVITY_AFTER_END, Code.LEASE_UNKNOWN,
})  # fmt: skip  # as above
"""Findings after which somebody must find out what really happened; ``effects.reconciled`` closes them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its code, the facts in words for an engineer, and the evidence under it."""

    code: Code
    detail: str
    refs: tuple[EvidenceRef, ...] = ()
    count: int = field(default=1)
    """How often evidence has raised it."""

    @property
    def severity(self) -> Severity:
        """How loudly it speaks."""
        return SEVERITY[self.code]
