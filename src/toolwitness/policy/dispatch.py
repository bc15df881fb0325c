"""May this call be handed to an executor now? Asked when policy permits, and again when the permit is claimed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.deadlines import Standing, after, standing
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import ToolPolicy


@dataclass(frozen=True, slots=True)
class _Case:
    record: InvocationRecord
    policy: ToolPolicy
    now: datetime


def judge_dispatch(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict:
    """Judge whether ``record`` may be dispatched at ``now``; what it waits for in its task is the task's matter."""
    allowed_by, reason = _authority(record, policy)
    facts = {"policy_version": policy.version}
    return judge(_RULES, _Case(record, policy, now), allowed_by=allowed_by, reason=reason, facts=facts)


def judge_claim(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict:
    """Judge whether the permit of ``record`` may be claimed at ``now``: permitted on record, and still right (R6)."""
    case = _Case(record, policy, now)
    allowed_by, reason = _authority(record, policy)
    return judge((Rule("not-permitted", _permitted), *_RULES), case, allowed_by=allowed_by, reason=reason)


def _permitted(case: _Case) -> str:
    permission = case.record.permission
    if permission is None:
        return "no permission to dispatch is recorded"
    return f"dispatch was refused: {permission.get('reason')}" if permission.get("refused") else ""


def _authority(record: InvocationRecord, policy: ToolPolicy) -> tuple[str, str]:
    """Name the authority under which an allowed dispatch happens."""
    answer = record.approval.answer if record.approval else None
    if record.approval is not None and answer is not None:
        return "approved", f"approval {record.approval.id} was {answer.kind} by {answer.actor}"
    if policy.standing_authorization:
        return "standing-authorization", policy.standing_authorization
    return "no-confirmation-needed", "no class of this tool and no rule of its policy asks for a confirmation"


def _not_ended(case: _Case) -> str:
    return f"the attempt is already {case.record.state}" if case.record.state in TERMINAL else ""


def _unclaimed(case: _Case) -> str:
    claim = case.record.claim
    return f"permit {claim.permit} was already claimed at {claim.at}" if claim is not None else ""


def _not_started(case: _Case) -> str:
    return "a start of this attempt is already recorded" if case.record.starts else ""


def _inputs_settled(case: _Case) -> str:
    waiting = case.record.input_request
    return f"inputs are unresolved: {', '.join(map(str, waiting.get('unresolved') or ()))}" if waiting is not None else ""


def _approved(case: _Case) -> str:
    record = case.record
    if record.granted or (record.approval is None and not case.policy.requires_approval):
        return ""
    if record.approval is None:
        return "an approval is required and none has been asked for"
    kind = record.approval.answer.kind if record.approval.answer else "not answered"
    return f"approval {record.approval.id} is {kind}"


def _bound(case: _Case) -> str:
    """A grant is good for the inputs, the attempt and the policy under which it was asked for, and for nothing else."""
    approval = case.record.approval
    if approval is None:
        return ""
    data = approval.data
    if data.get("inputs_digest") != (case.record.inputs or {}).get("digest"):
        return "the inputs have changed since the approval"
    if data.get("attempt", case.record.attempt) != case.record.attempt:
        return f"the approval is for attempt {data['attempt']}"
    if data.get("policy_version", case.policy.version) != case.policy.version:
        return "the tool's policy has changed since the approval"
    return ""


def _grant_fresh(case: _Case) -> str:
    """A grant for a destructive call is good for a short while only: the target may have changed since it was looked at."""
    seconds = case.policy.demands.grant_seconds.value
    answer = case.record.approval.answer if case.record.approval else None
    if seconds is None or answer is None:
        return ""
    granted_at = parse_rfc3339(answer.at)
    if granted_at is None:
        return f"when it was approved cannot be read ({answer.at!r}), and this approval is good for {seconds} seconds only"
    if standing(after(granted_at, seconds), case.now) is Standing.ELAPSED:
        return f"the approval of {answer.at} was good for {seconds} seconds and has lapsed"
    return ""


def _in_time(case: _Case) -> str:
    for deadline in (Deadline.QUEUE_START, Deadline.RESULT):
        declared = case.record.deadlines.get(deadline)
        stands = standing(declared, case.now)
        if stands is Standing.UNREADABLE:
            return f"the {deadline} deadline {declared!r} cannot be read as a time with a zone"
        if stands is Standing.ELAPSED:
            return f"the {deadline} deadline passed at {declared}"
    return ""


_RULES: Final[tuple[Rule[_Case], ...]] = (
    Rule("terminal", _not_ended),
    Rule("already-claimed", _unclaimed),
    Rule("already-started", _not_started),
    Rule("inputs-unresolved", _inputs_settled),
    Rule("approval-missing", _approved),
    Rule("approval-bound", _bound),
    Rule("approval-lapsed", _grant_fresh),
    Rule("deadline", _in_time),
)
