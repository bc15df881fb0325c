"""Standing grants: permission given beforehand for calls of one tool, within a scope, a limit and a time, all three on record.

There is no other way to approve for a while or always. What has to be confirmed each time is never covered, and a grant that cannot be
read covers nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.times import parse_rfc3339, rfc3339
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import Authority
from toolwitness.policy.consequences import Confirm
from toolwitness.policy.cost import Money, read_money, total
from toolwitness.policy.deadlines import Standing, standing
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import ToolPolicy, objection_to


@dataclass(frozen=True, slots=True)
class Cover:
    """One counted use of a grant, which stands in the place of an approval."""

    grant_id: str
    number: int
    reason: str
    objection: str = ""
    """Why the grant covers the call no more; empty while it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a grant is for: the tool, what its inputs must hold, and how much, how often and until when."""

    tool: str
    expires_at: datetime
    count: int | None = None
    """How many calls it covers at most."""
    amount: Money | None = None
    """What all of them may cost together."""
    most: Money | None = None
    """What one of them may cost."""
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Inputs by name that must be exactly this: text, whole number, true, false or null."""
    task: str = ""
    """The task in which it holds; empty where it holds in the whole tenant."""


def judge_terms(terms: Terms, policy: ToolPolicy, actor: Actor, now: datetime) -> PolicyVerdict:
    """Judge whether ``actor`` may give a grant on these terms."""
    case = _Terms(terms, policy, actor, now)
    return judge(_GIVING, case, allowed_by="may-grant", reason=f"{actor.id} may approve calls of {terms.tool}")


def write_terms(terms: Terms, policy: ToolPolicy, *, grant_id: str) -> dict[str, Any]:
    """Give the terms as they stand on record, bound to the policy under which they are given."""
    scope = {
        "tool": terms.tool, "policy_version": policy.version, "task": terms.task, "where": dict(terms.where),
        "most": terms.most.plain if terms.most else None,
    }  # fmt: skip  # facts in lines
    limit = {"count": terms.count, "amount": terms.amount.plain if terms.amount else None}
    return {
        "grant_id": grant_id, "expires_at": rfc3339(terms.expires_at),
        "scope": {k: v for k, v in scope.items() if v not in (None, "", {})}, "limit": {k: v for k, v in limit.items() if v is not None},
    }  # fmt: skip  # as above


def read_terms(data: Mapping[str, Any]) -> tuple[Terms, str]:
    """Read a recorded grant: its terms, and the policy version that it is bound to.

    Raises:
        InvalidInput: it cannot be understood; then it covers nothing.
    """
    expires_at = parse_rfc3339(data.get("expires_at"))
    try:
        scope, limit = cast("Mapping[str, Any]", data["scope"]), cast("Mapping[str, Any]", data["limit"])
        count = limit.get("count")
        most, amount = (
            None if one is None else read_money(one["amount"], one["currency"]) for one in (scope.get("most"), limit.get("amount"))
        )  # fmt: skip  # one comprehension
        where, task = scope.get("where", {}), scope.get("task", "")
        tool, version = str(scope["tool"]), str(scope["policy_version"])
    except (KeyError, TypeError, ValueError, AttributeError, InvalidInput) as error:
        raise InvalidInput(f"The grant cannot be read: {error}.", field="grant", remedy="Record a new one.") from None
    if not isinstance(where, dict) or not isinstance(task, str):
        raise InvalidInput("The grant does not say readably what it is for.", field="grant", remedy="Record a new one.")
    countable = count is None or (isinstance(count, int) and not isinstance(count, bool) and count > 0)
    if expires_at is None or not countable or (count is None and amount is None):
        raise InvalidInput("The grant has no limit or no end that can be read.", field="grant", remedy="Record a new one.")
    terms = Terms(
        tool=tool, expires_at=expires_at, count=count, amount=amount, most=most, where=cast("dict[str, Any]", where), task=task
    )  # fmt: skip  # one call
    return terms, version


def judge_cover(
    grant: Mapping[str, Any], record: InvocationRecord, policy: ToolPolicy, inputs: bytes, *, uses: Sequence[Mapping[str, Any]],
    now: datetime, authority: Authority,
) -> PolicyVerdict:  # fmt: skip  # a signature in three lines
    """Judge whether a recorded grant covers one more call, with these inputs, after these uses."""
    try:
        terms, version = read_terms(grant)
    except InvalidInput as error:
        return PolicyVerdict(allowed=False, rule="grant-unreadable", reason=error.message)
    case = _Covering(terms, version, grant, record, policy, inputs, tuple(uses), now, authority)
    number = f"use {len(uses) + 1}" + (f" of {terms.count}" if terms.count else "")
    reason = f"grant {grant['grant_id']} by {grant.get('actor')}, {number}, until {grant['expires_at']}"
    return judge((*_STANDING, *_COVERING), case, allowed_by="standing-grant", reason=reason)


def judge_standing(
    grant: Mapping[str, Any] | None, record: InvocationRecord, policy: ToolPolicy, *, now: datetime, authority: Authority
) -> str:
    """Say why a grant that was used for a call stands no more; empty while it does. The use itself has been counted and stays so."""
    if grant is None:
        return "the grant was taken back"
    try:
        terms, version = read_terms(grant)
    except InvalidInput as error:
        return error.message
    case = _Covering(terms, version, grant, record, policy, b"{}", (), now, authority)
    return judge(_STANDING, case, allowed_by="", reason="").reason


def cost_of(policy: ToolPolicy, inputs: bytes) -> Money | None:
    """Estimate what a call costs, ``None`` where its policy does not say.

    Raises:
        InvalidInput: it says, and the inputs do not.
    """
    return policy.cost.of(inputs) if policy.cost is not None else None


# ── giving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Terms:
    terms: Terms
    policy: ToolPolicy
    actor: Actor
    now: datetime


def _each_time(policy: ToolPolicy) -> str:
    demanded = policy.demands.confirm
    if demanded.value is not Confirm.BEFORE_COMMITMENT:
        return ""
    return f"{', '.join(demanded.demanded_by)}: such a call is confirmed each time, and nothing that stands covers it"


def _limited(case: _Terms) -> str:
    count = case.terms.count
    if count is None and case.terms.amount is None:
        return "a grant needs a limit: how many calls, or how much they may cost together"
    return "" if count is None or (not isinstance(count, bool) and count > 0) else f"{count!r} is no number of calls"


def _ends(case: _Terms) -> str:
    return "" if case.terms.expires_at > case.now else f"its end {rfc3339(case.terms.expires_at)} has passed"


def _money_bounded(case: _Terms) -> str:
    """A grant over money must bound the money, and then the policy must say what a call costs."""
    terms = case.terms
    bounds = [bound for bound in (terms.most, terms.amount) if bound is not None]
    if not bounds:
        return "it costs money: say what one call, or all of them, may cost" if Consequence.FINANCIAL in case.policy.consequences else ""
    if case.policy.cost is None:
        return "its policy does not say what a call costs, so that no amount can be held against it"
    return "its two amounts are in different currencies" if len({bound.currency for bound in bounds}) > 1 else ""


def _plain_where(case: _Terms) -> str:
    odd = [name for name, value in case.terms.where.items() if not (value is None or isinstance(value, str | int))]
    return f"{odd[0]} can only be held against a text, a whole number, true, false or null" if odd else ""


def _several(policy: ToolPolicy) -> str:
    """One person cannot permit beforehand what takes several each time."""
    needed = policy.approvals_needed or 1
    return f"each call is approved by {needed} people: nobody permits it alone" if needed > 1 else ""


_GIVING: Final[tuple[Rule[_Terms], ...]] = (
    Rule("confirmed-each-time", lambda case: _each_time(case.policy)),
    Rule("several-approvers", lambda case: _several(case.policy)),
    Rule("grant-eligible", lambda case: objection_to(case.actor, case.policy.eligible, proposer="")),
    Rule("grant-limit", _limited),
    Rule("grant-expiry", _ends),
    Rule("grant-money", _money_bounded),
    Rule("grant-scope", _plain_where),
)


# ── covering ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Covering:
    terms: Terms
    version: str
    grant: Mapping[str, Any]
    record: InvocationRecord
    policy: ToolPolicy
    inputs: bytes
    uses: tuple[Mapping[str, Any], ...]
    now: datetime
    authority: Authority

    @property
    def cost(self) -> Money | None:
        return cost_of(self.policy, self.inputs)


def _same_policy(case: _Covering) -> str:
    return "" if case.version == case.policy.version else "the tool's policy has changed since the grant"


def _in_time(case: _Covering) -> str:
    open_still = standing(case.grant.get("expires_at"), case.now) is Standing.OPEN
    return "" if open_still else f"the grant ended at {case.grant.get('expires_at')}"


def _granter(case: _Covering) -> str:
    """Whoever gave it must still be somebody who could approve this call."""
    who, held = case.grant.get("actor"), case.grant.get("roles", [])
    if not isinstance(who, str) or not isinstance(held, list | tuple):
        return "who gave it, and in which roles, cannot be understood"
    roles = frozenset(str(role) for role in cast("Sequence[object]", held))
    actor = Actor(id=who, roles=roles, tenant=case.record.tenant)
    verdict = case.authority.judge(
        case.record, case.policy, actor, action="approve", now=case.now, eligible=case.policy.eligible
    )  # fmt: skip  # one call
    return "" if verdict.allowed else verdict.reason


def _in_scope(case: _Covering) -> str:
    read: object = loads_strict(case.inputs)
    held: Mapping[str, Any] = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    for name, value in case.terms.where.items():
        if name not in held or held[name] != value or type(held[name]) is not type(value):
            return f"{name} is not {value!r}"
    return ""


def _within(case: _Covering) -> str:
    """Hold the amounts against what the call costs and what earlier uses cost."""
    terms, cost = case.terms, case.cost
    for bound, spent in ((terms.most, ()), (terms.amount, case.uses)):
        if bound is None:
            continue
        if cost is None or cost.currency != bound.currency:
            return f"what it costs ({cost or 'not said'}) cannot be held against {bound}"
        paid = [read_money(use["cost"]["amount"], use["cost"]["currency"]) for use in spent]
        if total((*paid, cost), bound.currency).amount > bound.amount:
            return f"it costs {cost}, {total(paid, bound.currency)} are used, and the grant is for {bound}"
    return ""


_STANDING: Final[tuple[Rule[_Covering], ...]] = (
    Rule("grant-tool", lambda case: "" if case.terms.tool == case.record.tool else f"the grant is for {case.terms.tool}"),
    Rule("grant-task", lambda case: "" if case.terms.task in {"", case.record.task_id} else "the grant is for another task"),
    Rule("confirmed-each-time", lambda case: _each_time(case.policy)),
    Rule("policy-version", _same_policy),
    Rule("grant-expired", _in_time),
    Rule("grant-authority", _granter),
)
"""What a grant must be at any time, also when the permit is claimed."""
_COVERING: Final[tuple[Rule[_Covering], ...]] = (
    Rule("grant-scope", _in_scope),
    Rule("grant-count", lambda case: "the grant is used up" if case.terms.count is not None and len(case.uses) >= case.terms.count else ""),
    Rule("grant-amount", _within),
)
"""What one more use must fit."""
