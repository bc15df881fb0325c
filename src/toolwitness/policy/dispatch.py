"""May this call be handed to an executor now? Asked when policy permits, and again when the permit is claimed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline, State
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.authorization import Authority
from toolwitness.policy.deadlines import Standing, after, standing
from toolwitness.policy.grants import Cover
from toolwitness.policy.looks import NOT_TAKEN, Look, judge_difference
from toolwitness.policy.retry import objection_to_repeat
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import ToolPolicy


@dataclass(frozen=True, slots=True)
class _Case:
    record: InvocationRecord
    policy: ToolPolicy
    now: datetime
    earlier: InvocationRecord | None = None
    """The attempt that this one retries or replaces."""
    blocked_by: tuple[str, ...] = ()
    approval_id: str = ""
    """The approval under which a runtime says that it dispatches; empty where it names none."""
    cover: Cover | None = None
    """The use of a standing grant that stands in an approval's place."""
    granter: PolicyVerdict | None = None
    """What the authorizer says now of whoever granted the approval."""


def judge_dispatch(
    record: InvocationRecord, policy: ToolPolicy, now: datetime, *, earlier: InvocationRecord | None = None, blocked_by: Sequence[str] = (),
    approval_id: str = "", cover: Cover | None = None,
) -> PolicyVerdict:  # fmt: skip  # a signature in three lines
    """Judge whether ``record`` may be dispatched at ``now``.

    ``earlier`` is the attempt before it; ``blocked_by`` names what it waits for in its task; ``approval_id`` is the approval that a runtime
    claims to dispatch under, which must be one of this call's own; ``cover`` is the use of a standing grant in an approval's place.
    """
    allowed_by, reason = _authority(record, policy, cover)
    case = _Case(record, policy, now, earlier, tuple(blocked_by), approval_id, cover)
    return judge(_RULES, case, allowed_by=allowed_by, reason=reason, facts={"policy_version": policy.version})


def judge_claim(
    record: InvocationRecord, policy: ToolPolicy, now: datetime, *, earlier: InvocationRecord | None = None,
    authority: Authority | None = None, cover: Cover | None = None, look: Look = NOT_TAKEN,
) -> PolicyVerdict:  # fmt: skip  # a signature in three lines
    """Judge whether the permit of ``record`` may be claimed at ``now``: permitted on record, and still right (R6).

    Whoever approved must still be somebody who may, as ``authority`` knows it, a standing grant must still stand, and what the policy
    wants to be read again must be, in ``look``, as it was when the call was asked about.
    """
    granter = authority.judge_grant(record, policy, now) if authority else None
    looked = judge_difference(policy.read_again, looked_before(record), look) if policy.read_again else None
    case = _Case(record, policy, now, earlier, cover=cover, granter=granter)
    allowed_by, reason = _authority(record, policy, cover)
    rules = (Rule("not-permitted", _permitted), *_RULES, Rule("authority-revoked", _granter_stands))
    verdict = judge(rules, case, allowed_by=allowed_by, reason=reason)
    return verdict if looked is None or looked.allowed or not verdict.allowed else looked


def looked_before(record: InvocationRecord) -> Mapping[str, Any]:
    """Give what was read when the call was last asked about or, where nobody was asked, permitted."""
    asked: Mapping[str, Any] = record.approval.data if record.approval else record.permission or {}
    found = asked.get("looked")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _granter_stands(case: _Case) -> str:
    return case.granter.reason if case.granter is not None and not case.granter.allowed else ""


def _permitted(case: _Case) -> str:
    permission = case.record.permission
    if permission is None:
        return "no permission to dispatch is recorded"
    return f"dispatch was refused: {permission.get('reason')}" if permission.get("refused") else ""


def _authority(record: InvocationRecord, policy: ToolPolicy, cover: Cover | None) -> tuple[str, str]:
    """Name the authority under which an allowed dispatch happens."""
    answer = record.approval.answer if record.approval else None
    if record.approval is not None and answer is not None:
        return "approved", f"approval {record.approval.id} was {answer.kind} by {answer.actor}"
    if cover is not None:
        return "standing-grant", cover.reason
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


def _unblocked(case: _Case) -> str:
    return f"it waits for {', '.join(case.blocked_by)}" if case.blocked_by else ""


def _not_done_already(case: _Case) -> str:
    """A success is known for what it is: nothing about it waits for reconciliation, and the decision that it used up is spent."""
    earlier = case.earlier
    if earlier is None or earlier.state is not State.SUCCEEDED or earlier.needs_reconciliation or earlier.reconciliations:
        return ""
    again = "to do it once more is a call of its own, which needs a decision of its own"
    return f"{earlier.id} has succeeded, and this would repeat it: {again}" if objection_to_repeat(earlier, case.policy) else ""


def _safe_to_repeat(case: _Case) -> str:
    """Ask again, at the last moment, what a retry was asked before: by now the first attempt may have turned out otherwise."""
    if case.earlier is None:
        return ""
    objection = objection_to_repeat(case.earlier, case.policy)
    return f"it repeats {case.earlier.id}: {objection}" if objection else ""


def _own_approval(case: _Case) -> str:
    named = case.approval_id
    if not named or any(approval.id == named for approval in case.record.approvals):
        return ""
    return f"approval {named} was not asked for this call"


def _same_question(case: _Case) -> str:
    """Name a decision on other inputs before the missing one on these: that is what changed."""
    record = case.record
    standing = (record.inputs or {}).get("ref")
    if record.granted:
        return ""
    voided = next((a for a in reversed(record.approvals) if a.answer and a.answer.kind == "invalidated"), None)
    other = voided is not None and voided.inputs is not None and voided.inputs.get("ref") != standing
    return f"approval {voided.id} was asked for other inputs than the ones that stand" if voided is not None and other else ""


def _inputs_settled(case: _Case) -> str:
    waiting = case.record.input_request
    return f"inputs are unresolved: {', '.join(map(str, waiting.get('unresolved') or ()))}" if waiting is not None else ""


def _approved(case: _Case) -> str:
    record = case.record
    if record.granted or (record.approval is None and (case.cover is not None or not case.policy.requires_approval)):
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
    attempt = data.get("attempt", case.record.attempt)
    if type(attempt) is not int or attempt != case.record.attempt:  # True is no number, though it equals 1
        return f"the approval is for attempt {attempt}"
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
    Rule("blocked", _unblocked),
    Rule("earlier-succeeded", _not_done_already),
    Rule("earlier-outcome-unknown", _safe_to_repeat),
    Rule("inputs-unresolved", _inputs_settled),
    Rule("approval-of-another", _own_approval),
    Rule("approval-outdated", _same_question),
    Rule("standing-grant", lambda case: case.cover.objection if case.cover else ""),
    Rule("approval-missing", _approved),
    Rule("approval-bound", _bound),
    Rule("approval-lapsed", _grant_fresh),
    Rule("deadline", _in_time),
)
