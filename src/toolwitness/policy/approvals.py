"""Approval requests, bound to exactly what is asked about, and the judgement of each answer (R6).

A request is bound to its own id, the invocation, the attempt, the digest of the exact inputs, the scope in view, the policy
version, the deadline and those who may answer. An answer that does not fit all of it decides nothing, and the reason is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.record import Approval, InvocationRecord
from toolwitness.core.states import TERMINAL
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import Authority, eligible_for
from toolwitness.policy.consequences import CONSEQUENCES
from toolwitness.policy.deadlines import Standing, after, standing
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import ToolPolicy


class Decision(StrEnum):
    """The two answers to an approval request."""

    APPROVE = "approve"
    DENY = "deny"


def build_request(record: InvocationRecord, policy: ToolPolicy, *, approval_id: str, inputs: bytes, now: datetime) -> dict[str, Any]:
    """Give the fields of ``approval.requested``, without absent ones.

    ``facts`` names the inputs that must be in view (``fields``) and those of them that the inputs do not hold (``unreadable``),
    which block approving. A call that destroys and whose inputs name nothing cannot be shown either, unless its policy says in
    ``expected_effects`` what it does without inputs. It never holds their values: those stay in the value table and are bound by their
    digest (R12).
    Redacted fields are not among them.
    """
    scope = [(term, name) for term, name in policy.scope if f"/{name}" not in policy.redact]
    shown = f"; in view: {', '.join(term for term, _ in scope)}" if scope else ""
    facts = {"fields": [name for _, name in scope], "unreadable": _unreadable(scope, inputs) if scope else _unnamed(policy, inputs)}
    request = {
        "approval_id": approval_id,
        "consequence_summary": consequence_summary(policy),
        "authority": ", ".join(entry for entry in policy.eligible if not entry.startswith("not:")),
        "authorization_owner": policy.authorization_owner,
        "scope": f"one call of {record.tool or policy.tool}, attempt {record.attempt}, with exactly these inputs{shown}",
        "expires_at": after(now, policy.approval_seconds),
        "eligible": list(policy.eligible),
        "inputs_digest": (record.inputs or {}).get("digest"),
        "attempt": record.attempt,
        "policy_version": policy.version,
        "facts": facts if scope or facts["unreadable"] else None,
        "rule": "confirmation-required",
        "needed": policy.approvals_needed if (policy.approvals_needed or 1) > 1 else None,
    }
    return {name: value for name, value in request.items() if value is not None}


def consequence_summary(policy: ToolPolicy) -> str:
    """Say in one line what the call does to the world, as declared; and if nobody declared it, say that."""
    if not policy.consequences:
        return "nobody has declared what this tool does; treated as visible to others, destructive and in need of permission"
    labels = ", ".join(CONSEQUENCES[c].label for c in policy.consequences)
    boundary = f"; cannot be called back after: {policy.commitment_boundary}" if policy.commitment_boundary else ""
    return f"{labels}{boundary}"


def _unnamed(policy: ToolPolicy, inputs: bytes) -> list[str]:
    """Name the targets where a class wants them in view, nobody declared which inputs they are, and there are no inputs at all."""
    if "targets" not in policy.demands.shown or policy.expected_effects:
        return []
    try:
        return [] if loads_strict(inputs) else ["targets"]
    except (InvalidInput, ValueError):
        return ["targets"]


def _unreadable(scope: Sequence[tuple[str, str]], inputs: bytes) -> list[str]:
    """Name the scope fields that nobody can be shown; whatever two readers could read differently counts as such."""
    try:
        read: object = loads_strict(inputs)
    except (InvalidInput, ValueError):
        read = None
    held = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return [name for _, name in scope if held.get(name) in (None, "")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One answer, beside everything that it must fit."""

    record: InvocationRecord
    policy: ToolPolicy
    actor: Actor | None
    decision: Decision
    approval_id: str
    inputs_digest: str
    now: datetime
    authority: Authority

    @property
    def request(self) -> Approval | None:
        return next((a for a in self.record.approvals if a.id == self.approval_id), None)

    @property
    def asked(self) -> Approval:
        """The request, once a rule has made sure that there is one."""
        return cast("Approval", self.request)

    @property
    def approving(self) -> bool:
        return self.decision is Decision.APPROVE


def judge_decision(
    record: InvocationRecord,
    policy: ToolPolicy,
    actor: Actor | None,
    *,
    action: Decision | str,
    approval_id: str,
    now: datetime,
    inputs_digest: str = "",
    authority: Authority | None = None,
) -> PolicyVerdict:
    """Judge one answer (``approve`` or ``deny``) to one approval request at ``now``.

    ``inputs_digest`` is what the person had in view; without it only what the request itself is bound to is compared. The facts
    of a refused late answer name the winner: ``{"winner": {"kind", "actor", "at", "ref"}}``.

    Raises:
        ValueError: ``action`` is neither.
    """
    decision = Decision(action)
    case = _Case(
        record=record,
        policy=policy,
        actor=actor,
        decision=decision,
        approval_id=approval_id,
        inputs_digest=inputs_digest,
        now=now,
        authority=authority or Authority(),
    )
    answer = case.request.answer if case.request else None
    facts = {"winner": {"kind": answer.kind, "actor": answer.actor, "at": answer.at, "ref": str(answer.ref)}} if answer else {}
    who = actor.id if actor else "nobody"
    verdict = judge(_RULES, case, allowed_by="eligible", reason=f"{who} may {decision} {approval_id}", facts=facts)
    # The authorizer's own rule is the one to name.
    return replace(verdict, rule=_authorized(case).rule) if verdict.rule == "eligible" and not verdict.allowed else verdict


CLIENT: Final = "client"
"""The channel of answers that a client's library sends in a person's name."""


def objection_to_channel(actor: Actor | None, record: InvocationRecord) -> str:
    """Say why an answer that a client gives for a person does not count: nobody was shown the question. Empty where somebody was."""
    if actor is None or actor.channel != CLIENT or record.rendered:
        return ""
    return "a client answered for a person, and nothing shows that the question was presented to anybody"


def objection_to_actor(actor: Actor | None, record: InvocationRecord) -> str:
    """Say why nobody, or somebody of another tenant, may decide anything here; empty otherwise."""
    if actor is None or not actor.id:
        return "nobody is signed in: a decision without an actor is no decision"
    if actor.tenant != record.tenant:
        return "this belongs to another tenant"
    return ""


def _known(case: _Case) -> str:
    return "" if case.request else f"no approval request {case.approval_id or '(none)'} is recorded for this invocation"


def _unanswered(case: _Case) -> str:
    answer, who = case.asked.answer, case.actor.id if case.actor else ""
    if answer is None:
        agreed = case.approving and any(one.actor == who for one in case.asked.agreed)
        return f"{who} has approved it already; {case.asked.lacking} more must" if agreed else ""
    by = f" by {answer.actor}" if answer.actor else ""
    return f"already {answer.kind}{by} at {answer.at or 'a time that was not recorded'}"


def _not_ended(case: _Case) -> str:
    return f"the attempt is already {case.record.state}" if case.record.state in TERMINAL else ""


def _latest(case: _Case) -> str:
    latest = case.record.approval
    return "" if latest is case.request else f"a newer request took its place: {latest.id if latest else ''}"


def _undispatched(case: _Case) -> str:
    claim = case.record.claim
    # A call that asks while it runs has been dispatched long ago, and its question is open all the same.
    asked_before = claim is not None and not case.record.starts
    return f"permit {claim.permit} was claimed at {claim.at}" if claim is not None and asked_before else ""


def _same_attempt(case: _Case) -> str:
    bound = case.asked.data.get("attempt")
    if bound is None or (type(bound) is int and bound == case.record.attempt):  # True is no number, though it equals 1
        return ""
    return f"it was asked for attempt {bound}, and this is attempt {case.record.attempt}"


def _authorized(case: _Case) -> PolicyVerdict:
    eligible = eligible_for(case.asked.data, case.policy)
    return case.authority.judge(case.record, case.policy, case.actor, action=case.decision, now=case.now, eligible=eligible)


def _eligible(case: _Case) -> str:
    verdict = _authorized(case)
    return "" if verdict.allowed else verdict.reason


def _readable_deadline(case: _Case) -> str:
    declared = case.asked.data.get("expires_at")
    unreadable = case.approving and standing(declared, case.now) is Standing.UNREADABLE
    return f"the deadline {declared!r} cannot be read as a time with a zone" if unreadable else ""


def _in_time(case: _Case) -> str:
    declared = case.asked.data.get("expires_at")
    return f"the time to answer ended at {declared}" if standing(declared, case.now) is Standing.ELAPSED else ""


def _same_inputs(case: _Case) -> str:
    if not case.approving:
        return ""
    # A framework that asks binds its question to no digest: it asked about the inputs that were proposed.
    # A digest that is there and says nothing (0, false, an empty text) is no missing one, and fits no inputs.
    proposed: Any = case.record.proposal.get("inputs") or {}
    bound: object = case.asked.data.get("inputs_digest")
    bound = proposed.get("digest") if bound is None else bound
    now = (case.record.inputs or {}).get("digest")
    if case.inputs_digest and case.inputs_digest != bound:
        return "the inputs that were in view are not the ones asked about"
    return "" if bound == now else "the inputs have changed since it was asked"


def _same_policy(case: _Case) -> str:
    bound = case.asked.data.get("policy_version")
    changed = case.approving and bound is not None and bound != case.policy.version
    return "the tool's policy has changed since it was asked" if changed else ""


def _scope_in_view(case: _Case) -> str:
    if not case.approving:
        return ""
    if not case.record.tool:
        return "no tool is on record that would be approved"
    facts: Any = case.asked.data.get("facts")
    hidden: Any = facts.get("unreadable") if isinstance(facts, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # a source's
    if not (facts is None or isinstance(facts, Mapping)) or not (hidden is None or isinstance(hidden, list | tuple)):
        return "what must be in view cannot be understood"
    missing = [str(name) for name in cast("Sequence[object]", hidden or ())]
    return f"what it covers cannot be shown: {', '.join(missing)}" if missing else ""


_RULES: Final[tuple[Rule[_Case], ...]] = (
    Rule("presented", lambda case: objection_to_channel(case.actor, case.record)),
    Rule("actor", lambda case: objection_to_actor(case.actor, case.record)),
    Rule("known-request", _known),
    Rule("already-answered", _unanswered),
    Rule("terminal", _not_ended),
    Rule("superseded", _latest),
    Rule("already-dispatched", _undispatched),
    Rule("attempt", _same_attempt),
    Rule("eligible", _eligible),
    Rule("deadline-unreadable", _readable_deadline),
    Rule("deadline-elapsed", _in_time),
    Rule("inputs", _same_inputs),
    Rule("policy-version", _same_policy),
    Rule("scope", _scope_in_view),
)
"""Every way in which an answer can fail to fit, in the order in which they are named to a person."""
