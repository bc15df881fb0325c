"""Who may decide, asked through one narrow port: principal, action, resource and context as plain data in, a verdict out.

Roles and tenants are built in (``RolesAndTenants``). An engine of another kind (Cedar) fits behind the same call: no rule knows which one
answers. An authorizer that breaks refuses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, cast

from toolwitness.core.record import InvocationRecord
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.deadlines import Standing, standing
from toolwitness.policy.files import PolicyFile
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import ToolPolicy, objection_to

AUTHORITY: Final = "authority:"
"""With what the id of every taken authority begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """One question to an authorizer: may this principal do this to that, as things are? Plain JSON values only."""

    principal: Mapping[str, Any]
    """``id`` (empty: nobody), ``roles`` (sorted), ``tenant``, ``channel``."""
    action: str
    """As controls name it: ``approve``, ``deny``, ``withdraw``, …"""
    resource: Mapping[str, Any]
    """``type``, ``id``, ``task``, ``tenant``, ``tool``, ``attempt``, ``state``, ``consequences``, ``proposer``."""
    context: Mapping[str, Any]
    """``now`` (RFC 3339), ``policy_version``, ``revoked`` (ids of authority that was taken back), and for an answer ``eligible``."""


class Authorizer(Protocol):
    """Who may do what. The port is narrow so that an engine of another kind fits behind it."""

    def judge(self, request: AuthorizationRequest) -> PolicyVerdict:
        """Allow or refuse, with the rule and the reason; pure and quick."""
        ...


def authority_id(holder: str, role: str = "") -> str:
    """Give the id under which the authority that somebody holds is taken back: all of it, or one role."""
    return f"{AUTHORITY}{holder}:{role}" if role else f"{AUTHORITY}{holder}"


class RolesAndTenants:
    """The built-in authorizer: the same tenant, authority that still stands, and one of those who are eligible.

    Roles are those with which somebody is authenticated. Where the policy file names the person, they hold at most the roles that it gives,
    and until when it says.
    """

    def __init__(self, file: PolicyFile | None = None) -> None:
        """Take the policy file whose ``[actors]`` bound what people hold."""
        self._actors = (file or PolicyFile()).actors

    def judge(self, request: AuthorizationRequest) -> PolicyVerdict:
        """Judge by tenant, by what still stands of the principal's authority, and by eligibility."""
        who = request.principal["id"] or "nobody"
        return judge(_RULES, _Asked(request, self._held(request)), allowed_by="eligible", reason=f"{who} may {request.action}")

    def _held(self, request: AuthorizationRequest) -> "_Held":
        """Give the roles that still stand, and where some are gone the rule and the reason."""
        who, claimed = str(request.principal["id"]), frozenset(str(role) for role in request.principal["roles"])
        revoked = request.context.get("revoked", ())
        if authority_id(who) in revoked:
            return _Held(frozenset(), "authority-revoked", f"the authority of {who} was taken back", whole=True)
        taken = {role for role in claimed if authority_id(who, role) in revoked}
        if taken:
            return _Held(claimed - taken, "authority-revoked", f"{who} holds {', '.join(sorted(taken))} no more: it was taken back")
        holding = self._actors.get(who)
        if holding is None:
            return _Held(claimed)
        if holding.until and standing(holding.until, _now(request)) is not Standing.OPEN:
            return _Held(frozenset(), "authority-expired", f"the authority of {who} ended at {holding.until}", whole=True)
        gone = claimed - holding.roles
        rule = "authority-narrowed" if gone else ""
        return _Held(claimed & holding.roles, rule, f"the policy file does not give {who} {', '.join(sorted(gone))}")


@dataclass(frozen=True, slots=True)
class _Held:
    """What still stands of somebody's authority."""

    roles: frozenset[str]
    rule: str = ""
    """The rule by which some of it is gone; empty where none is."""
    why: str = ""
    whole: bool = False
    """Whether all of it is gone, also where they are named by their id."""


@dataclass(frozen=True, slots=True)
class _Asked:
    request: AuthorizationRequest
    held: _Held


def _now(request: AuthorizationRequest) -> datetime:
    return datetime.fromisoformat(request.context["now"])


def _signed_in(asked: _Asked) -> str:
    return "" if asked.request.principal["id"] else "nobody is signed in: a decision without an actor is no decision"


def _same_tenant(asked: _Asked) -> str:
    same = asked.request.principal["tenant"] == asked.request.resource["tenant"]
    return "" if same else "this belongs to another tenant"


def _still_eligible(asked: _Asked) -> str:
    """Say so where somebody would be eligible with what they no longer hold.

    Whoever is named by id stays eligible when a role is gone, and not when all of their authority is.
    """
    if "eligible" not in asked.request.context or _eligible(asked, frozenset(asked.request.principal["roles"])):
        return ""  # it is no answer to a request, or they never were eligible: that is then the reason to name
    return asked.held.why if asked.held.whole or _eligible(asked, asked.held.roles) else ""


def _eligible(asked: _Asked, roles: frozenset[str]) -> str:
    request = asked.request
    if "eligible" not in request.context:
        return ""
    actor = Actor(id=str(request.principal["id"]), roles=roles)
    return objection_to(actor, request.context["eligible"], proposer=str(request.resource.get("proposer") or ""))


_RULES: Final[tuple[Rule[_Asked], ...]] = (
    Rule("actor", _signed_in),
    Rule("tenant", _same_tenant),
    *(
        Rule(name, lambda asked, name=name: _still_eligible(asked) if asked.held.rule == name else "")
        for name in ("authority-revoked", "authority-expired", "authority-narrowed")
    ),
    Rule("eligible", lambda asked: _eligible(asked, asked.held.roles)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The authorizer of a house, and what has been taken back in the tenant that is asked about."""

    authorizer: Authorizer = field(default_factory=RolesAndTenants)
    revoked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def judge(
        self, record: InvocationRecord, policy: ToolPolicy, actor: Actor | None, *, action: str, now: datetime, eligible: Sequence[str] = ()
    ) -> PolicyVerdict:
        """Ask whether ``actor`` may do ``action`` to ``record``; ``eligible`` names who may answer, where it is an answer.

        An authorizer that raises, or that answers something that is no verdict, refuses.
        """
        try:
            context: dict[str, Any] = {"now": rfc3339(now), "policy_version": policy.version, "revoked": sorted(self.revoked)}
            if eligible:
                context["eligible"] = list(eligible)
            request = AuthorizationRequest(principal=_principal(actor), action=action, resource=_resource(record), context=context)
            verdict: Any = self.authorizer.judge(request)
        except Exception as error:  # noqa: BLE001 - whatever breaks an authorizer, the answer is no
            reason = f"who may do this could not be found out (the authorizer raised {type(error).__name__}), so the answer is no"
            return PolicyVerdict(allowed=False, rule="authorizer", reason=reason)
        if isinstance(verdict, PolicyVerdict) and verdict.allowed in (True, False):
            return verdict
        return PolicyVerdict(allowed=False, rule="authorizer", reason=f"the authorizer answered {verdict!r}, which is no verdict")

    def judge_grant(self, record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict | None:
        """Ask again about whoever granted the approval that counts: it stands while they could still give it, each of them
        where it took several. ``None`` without a grant.
        """
        approval = record.approval
        if approval is None or approval.answer is None or not record.granted:
            return None
        verdict = None
        for answer in (*approval.agreed, approval.answer):
            granter = Actor(id=answer.actor, roles=frozenset(answer.roles), tenant=record.tenant)
            verdict = self.judge(record, policy, granter, action="approve", now=now, eligible=eligible_for(approval.data, policy))
            if not verdict.allowed:
                break
        return verdict

    def gone(self, record: InvocationRecord, policy: ToolPolicy, now: datetime) -> PolicyVerdict | None:
        """Say that what an approval of a call rests on is gone: taken back, narrowed, or over. ``None`` where it is not, or nobody knows.

        That is so of a granted one where whoever granted it could not give it any more; of one that waits where nobody whom it names could,
        or one of several who have agreed already could not. What breaks an authorizer takes nobody's authority.
        """
        approval = record.approval
        if approval is None or (record.open_approval is None and not record.granted):
            return None
        eligible = eligible_for(approval.data, policy)
        if record.granted:
            verdict = self.judge_grant(record, policy, now)
            return verdict if verdict is not None and not verdict.allowed and verdict.rule in GONE else None
        actors = [Actor(id=one.actor, roles=frozenset(one.roles), tenant=record.tenant) for one in approval.agreed]
        agreed = (self.judge(record, policy, actor, action="approve", now=now, eligible=eligible) for actor in actors)
        left = next((verdict for verdict in agreed if not verdict.allowed and verdict.rule in GONE), None)
        named = [entry for entry in eligible if not entry.startswith("not:")]
        if left is not None or not all(entry.startswith("user:") for entry in named):
            return left  # a role may be anybody's: who holds it is not known here
        people = [Actor(id=entry.removeprefix("user:"), tenant=record.tenant) for entry in named]
        verdicts = [self.judge(record, policy, actor, action="approve", now=now, eligible=eligible) for actor in people]
        over = bool(verdicts) and all(not verdict.allowed and verdict.rule in GONE for verdict in verdicts)
        return verdicts[0] if over else None


GONE: Final = frozenset({"authority-revoked", "authority-expired", "authority-narrowed"})
"""Rules that say that authority that was there is there no more."""


def eligible_for(asked: Mapping[str, Any], policy: ToolPolicy) -> tuple[str, ...]:
    """Name who may answer: those whom the request was bound to, else those of the policy; nobody where that cannot be understood."""
    bound: Any = asked.get("eligible")
    if bound is None or bound in ([], ()):
        return policy.eligible
    named = isinstance(bound, list | tuple) and all(isinstance(entry, str) for entry in bound)  # pyright: ignore[reportUnknownVariableType]  # a source's
    return tuple(cast("Sequence[str]", bound)) if named else _NOBODY


_NOBODY: Final = ("not:understood",)


def _principal(actor: Actor | None) -> dict[str, Any]:
    if actor is None:
        return {"id": "", "roles": [], "tenant": "", "channel": ""}
    return {"id": actor.id, "roles": sorted(actor.roles), "tenant": actor.tenant, "channel": actor.channel}


def _resource(record: InvocationRecord) -> dict[str, Any]:
    return {
        "type": "invocation", "id": record.id, "task": record.task_id, "tenant": record.tenant, "tool": record.tool,
        "attempt": record.attempt, "state": str(record.state or ""), "consequences": list(record.consequences),
        "proposer": str(record.proposal.get("proposer") or ""),
    }  # fmt: skip  # facts in lines
