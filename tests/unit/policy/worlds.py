"""Records as the fold leaves them, made by hand at one moment, for the rules to judge."""

from datetime import UTC, datetime, timedelta
from typing import Any

from toolwitness.core.record import Answer, Approval, Claim, Closure, InvocationRecord, Outcome, Request
from toolwitness.core.states import ClosureKind, Consequence, EvidenceRef, Reconciliation, State, Termination
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor
from toolwitness.policy.tool_policy import CancelSupport, Inverse, RetryPolicy, ToolPolicy

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ANN = Actor(id="ann", roles=frozenset({"finance"}))
BOB = Actor(id="bob", roles=frozenset({"intern"}))
REF = EvidenceRef("ev_1")
DIGEST = "sha256:aaaa"

POLICY = ToolPolicy(
    tool="book",
    consequences=(Consequence.EXTERNALLY_VISIBLE, Consequence.FINANCIAL),
    approvers=("role:finance",),
    approval_seconds=300,
    scope_fields=("amount=total", "currency"),
    commitment_boundary="the provider accepts the purchase",
    cancel_support=CancelSupport.TASK,
    recovery=("void", "refund"),
    alternate_routes=("pick another itinerary",),
)
READER = ToolPolicy(
    tool="search",
    consequences=(Consequence.READ_ONLY,),
    retry=RetryPolicy(attempts=3),
    cancel_support=CancelSupport.TASK,
)
UNDOABLE = ToolPolicy(
    tool="tag",
    consequences=(Consequence.REVERSIBLE,),
    inverse=Inverse(tool="untag", window_seconds=60, verified_by="the test of 2026-05-01"),
    recovery=("untag by hand",),
)


def at(seconds: float) -> str:
    """The time so many seconds from now, as RFC 3339."""
    return rfc3339(NOW + timedelta(seconds=seconds))


def record(state: State | None = State.PROPOSED, **changes: Any) -> InvocationRecord:
    """An invocation in ``state``, with inputs that stand and a proposer."""
    made = InvocationRecord(id="inv_1", task_id="task_1", state=state)
    made.proposal = {"tool": "book", "proposer": "agent", "policy_version": POLICY.version}
    made.inputs = {"ref": "val_1", "digest": DIGEST, "bytes": 2}
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def asked(approval_id: str = "apr_1", **changes: Any) -> Approval:
    """An approval request of ``POLICY`` that nobody has answered."""
    facts = {
        "approval_id": approval_id,
        "inputs_digest": DIGEST,
        "attempt": 1,
        "policy_version": POLICY.version,
        "eligible": ["role:finance"],
        "expires_at": at(300),
        "facts": {"fields": ["total"], "unreadable": []},
    }
    data = {k: v for k, v in (facts | changes).items() if v is not ...}
    return Approval(approval_id, data, REF, at(0))


def answered(approval: Approval, kind: str = "granted", *, when: str | None = None) -> Approval:
    """The same request with its answer."""
    approval.answer = Answer(kind, "ann", REF, at(0) if when is None else when)
    return approval


def waiting(**changes: Any) -> InvocationRecord:
    """An invocation that awaits an approval."""
    return record(State.AWAITING_APPROVAL, approvals=[asked()], **changes)


def granted(**changes: Any) -> InvocationRecord:
    """An invocation whose approval was granted and that nobody has taken up."""
    return record(State.AWAITING_APPROVAL, approvals=[answered(asked())], **changes)


CLAIM = Claim("prm_1", REF, at(0), {})
PERMISSION = {"rule": "approved", "reason": "approved by ann", "refused": False, "ref": REF, "at": at(0)}


def running(state: State = State.RUNNING, **changes: Any) -> InvocationRecord:
    """An invocation that has started under its permit."""
    base: dict[str, Any] = {"claim": CLAIM, "starts": [REF], "cancel_support": "task", "reconciliation": Reconciliation.UNKNOWN}
    return record(state, **(base | changes))


def failed(category: str = "upstream", **changes: Any) -> InvocationRecord:
    """An attempt that ran and failed, with nothing in doubt about its effects."""
    base = {"outcome": Outcome({"category": category}, REF, at(0)), "reconciliation": Reconciliation.NONE_EXPECTED}
    return running(State.FAILED, **(base | changes))


def stopped(**changes: Any) -> InvocationRecord:
    """An attempt whose execution was cancelled and has acknowledged it."""
    closure = Closure(ClosureKind.TERMINATED, "executor", "ann", "this", "asked", at(0), REF, Termination.UNWOUND)
    return running(State.CANCELLED, **({"closure": closure, "reconciliation": Reconciliation.NONE_EXPECTED} | changes))


def succeeded(**changes: Any) -> InvocationRecord:
    """An attempt that has succeeded now."""
    base = {"outcome": Outcome({"completed_at": at(0)}, REF, at(0)), "reconciliation": Reconciliation.AS_REPORTED}
    return running(State.SUCCEEDED, **(base | changes))


def cancel_request() -> Request:
    """A person's wish that it stops."""
    return Request("cancellation", "ann", REF, at(0))
