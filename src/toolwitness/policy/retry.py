"""May it be tried again, undone, or asked for anew? Each is a new invocation that points back (R9); each no has its reason."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, Deadline, Reconciliation, State
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.consequences import Repeat
from toolwitness.policy.deadlines import Standing, after, standing
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import Idempotency, Inverse, ToolPolicy


class Conclusion(StrEnum):
    """What a reconciliation can conclude about the effects of an attempt; any other word never makes a repeat safe."""

    NO_EFFECT = "no-effect"
    AS_REPORTED = "as-reported"
    HAPPENED = "happened"
    """It had its effect, whatever was reported of it."""
    PARTIAL = "partial-effect"
    REVERSED = "reversed"


_KEYS: Final = frozenset({"idempotencykey", "idempotencytoken", "requesttoken", "clienttoken", "dedupekey", "deduplicationkey"})
"""Names of inputs by which the other side tells a repetition from a new request; spelt without separators, in lower case."""
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)
_NOTHING_STANDS: Final = frozenset({Conclusion.NO_EFFECT, Conclusion.REVERSED})
_SAFE_TWICE: Final = frozenset({Idempotency.IDEMPOTENT, Idempotency.KEYED})
_NOTHING_DONE: Final = frozenset({Reconciliation.NOT_EXECUTED, Reconciliation.NONE_EXPECTED})
_ENDED_LATE: Final = frozenset({Code.LATE_OUTCOME, Code.LATE_CLOSURE, Code.CONFLICTING_OUTCOMES})


@dataclass(frozen=True, slots=True)
class _Case:
    record: InvocationRecord
    policy: ToolPolicy
    now: datetime


def body_may_run(record: InvocationRecord) -> bool:
    """Tell whether a start is on record and nothing that says that the body has ended, whatever the state (R4)."""
    ended = record.outcome is not None or (record.closure is not None and record.closure.termination is not None)
    return bool(record.starts) and not ended and not record.reconciliations and _ENDED_LATE.isdisjoint(record.findings)


def judge_retry(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict:
    """Judge whether a new attempt of this call may be made."""
    reason = f"attempt {record.attempt + 1} of at most {policy.retry.attempts}"
    return judge(_RETRY, _Case(record, policy, now), allowed_by="retry-policy", reason=reason)


def objection_to_repeat(record: InvocationRecord, policy: ToolPolicy) -> str:
    """Say why doing again what ``record`` did, or may have done, could do it twice; empty where it is safe."""
    return _repeatable(_Case(record, policy, _NO_TIME))


def same_purpose(one: bytes, other: bytes) -> tuple[str, ...] | None:
    """Tell whether two inputs ask for the same, idempotency keys apart: the keys that differ, or ``None`` where they do not.

    Inputs that cannot be read as one object ask for the same only where they are the same bytes.
    """
    try:
        mine, theirs = loads_strict(one), loads_strict(other)
    except (InvalidInput, ValueError):
        return () if one == other else None
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return () if mine == theirs else None
    before, after = cast("dict[str, Any]", mine), cast("dict[str, Any]", theirs)
    keys = {name for name in (*before, *after) if _plain_name(name) in _KEYS}
    if {k: v for k, v in before.items() if k not in keys} != {k: v for k, v in after.items() if k not in keys}:
        return None
    return tuple(sorted(name for name in keys if before.get(name) != after.get(name)))


def _plain_name(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def judge_resubmission(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict:
    """Judge whether a replacement for an expired or closed call may be proposed; it is judged anew from the start."""
    return judge(_RESUBMIT, _Case(record, policy, now), allowed_by="resubmission", reason="a replacement is a new proposal")


def judge_reversal(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict:
    """Judge whether the verified inverse of this call may be proposed."""
    reason = f"the verified inverse is {policy.inverse.tool}" if policy.inverse else ""
    return judge(_REVERSE, _Case(record, policy, now), allowed_by="verified-inverse", reason=reason)


def given_up(record: InvocationRecord) -> bool:
    """Tell whether contact with the attempt was lost while it was executing, so that nobody will say any more how it ended.

    It stays in the state that it was last seen in; whether it may be tried again, what is known about its effects decides.
    """
    lost = Code.OUTCOME_UNKNOWN in record.findings or bool(record.reconciliations)
    return lost and (record.state is State.QUEUED or record.state in EXECUTING)


def _failed(case: _Case) -> str:
    if case.record.state in {State.FAILED, State.CANCELLED} or given_up(case.record):
        return ""
    return f"only a failed or stopped attempt can be tried again, and this one is {case.record.state}"


def _latest(case: _Case) -> str:
    later = case.record.retried_by or case.record.replaced_by
    return f"a later attempt exists: {later}" if later else ""


def _attempts_left(case: _Case) -> str:
    most = case.policy.retry.attempts
    if case.record.attempt < most:
        return ""
    return f"the tool's policy permits {most} attempt{'s' if most > 1 else ''}, and this was number {case.record.attempt}"


def _category(case: _Case) -> str:
    named, outcome = case.policy.retry.categories, case.record.outcome
    category = str(outcome.data.get("category", "")) if outcome else str(case.record.state)
    return f"the policy permits no retry after {category or 'an unnamed failure'}" if named and category not in named else ""


def _repeatable(case: _Case) -> str:
    """Say why a second attempt could do the same thing twice."""
    record, policy = case.record, case.policy
    if policy.demands.repeat.value is Repeat.WITHIN_POLICY or policy.idempotency in _SAFE_TWICE:
        return ""
    if record.reconciliation in _NOTHING_DONE:
        return ""
    if body_may_run(record):
        return "the first attempt may still be running, and this tool is not known to be safe to repeat"
    if record.reconciliation is Reconciliation.RECONCILED:
        conclusion = str(record.reconciliations[-1].data.get("conclusion", "")) if record.reconciliations else ""
        return "" if conclusion in _NOTHING_STANDS else f"the first attempt had its effect ({conclusion}): a retry would repeat it"
    return "what the first attempt did is not known, and this tool is not known to be safe to repeat: reconcile first"


def _closed_before_run(case: _Case) -> str:
    if case.record.state in {State.EXPIRED, State.CANCELLED}:
        return ""
    return f"only an expired or closed call can be proposed again, and this one is {case.record.state}"


def _succeeded(case: _Case) -> str:
    return "" if case.record.state is State.SUCCEEDED else "only what succeeded can be undone"


def _inverse_verified(case: _Case) -> str:
    inverse = case.policy.inverse
    if inverse is None:
        return f"this tool names no inverse{_instead(case.policy)}"
    return "" if inverse.verified_by else f"its inverse {inverse.tool} is named and nothing shows that it works{_instead(case.policy)}"


def _instead(policy: ToolPolicy) -> str:
    return f"; instead: {', '.join(policy.recovery)}" if policy.recovery else ""


def _once(case: _Case) -> str:
    return f"its reversal was already requested: {case.record.reversed_by}" if case.record.reversed_by else ""


def _in_window(case: _Case) -> str:
    inverse: Inverse | None = case.policy.inverse
    if inverse is None or inverse.window_seconds is None:
        return ""
    completed = case.record.outcome.data.get("completed_at") if case.record.outcome else None
    completed_at = parse_rfc3339(completed)
    if completed_at is None:
        return f"when it completed cannot be read ({completed!r}), so nobody can tell whether the window is still open"
    until = after(completed_at, inverse.window_seconds)
    return f"the window for {inverse.tool} closed at {until}" if standing(until, case.now) is Standing.ELAPSED else ""


_RETRY: Final[tuple[Rule[_Case], ...]] = (
    Rule("not-failed", _failed),
    Rule("not-latest", _latest),
    Rule("attempts", _attempts_left),
    Rule("category", _category),
    Rule("outcome-unknown", _repeatable),
)
_RESUBMIT: Final[tuple[Rule[_Case], ...]] = (
    Rule("not-closed", _closed_before_run),
    Rule("not-latest", _latest),
    Rule("outcome-unknown", _repeatable),
)
_REVERSE: Final[tuple[Rule[_Case], ...]] = (
    Rule("not-succeeded", _succeeded),
    Rule("inverse", _inverse_verified),
    Rule("already-reversed", _once),
    Rule("window", _in_window),
)


def expired_approval(record: InvocationRecord) -> bool:
    """Tell whether it was the approval that ran out of time."""
    return record.state is State.EXPIRED and record.elapsed == Deadline.APPROVAL
