"""Approve or deny: one decision, bound to one request, used once (R6)."""

from collections.abc import Sequence
from dataclasses import replace

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.states import ClosureKind, Owner
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.approvals import judge_decision
from toolwitness.ports import Draft
from toolwitness.service.covering import charged, charged_facts, judge_money, never
from toolwitness.service.submit import permission_facts
from toolwitness.service.workplace import Receipt, Refusal, Situation, Workplace, carry_out, dispatched, make_draft, require, said_by


async def approve(
    place: Workplace, invocation_id: str, *, actor: Actor, approval_id: str = "", inputs_digest: str = "", reason: str = "",
    request_id: str = "",
) -> Receipt:  # fmt: skip  # a signature in three lines
    """Approve the request that waits, as ``actor``; policy's permission to dispatch is recorded with it.

    Where it takes several people, the last of them permits; what the others have said is kept until then.

    ``approval_id`` and ``inputs_digest`` bind the click to what was shown; empty means the request that waits now.

    Raises:
        NotPermitted: not theirs to approve, already answered, expired, or made on other inputs; the refusal is on record.
    """
    raw, standing = await charged(place, invocation_id, actor=actor, approval_id=approval_id, inputs_digest=inputs_digest)

    def decide(situation: Situation) -> list[Draft]:
        act, wanted = _act(place, situation, Kind.GRANTED, actor, approval_id, inputs_digest, reason, request_id)
        verdict = judge_decision(
            situation.record,
            situation.policy,
            actor,
            action="approve",
            approval_id=wanted,
            inputs_digest=inputs_digest,
            now=situation.now,
            authority=situation.authority,
        )
        require(verdict, act)
        asked = next((one for one in situation.record.approvals if one.id == wanted), None)
        if asked is not None and asked.lacking > 1:
            return [replace(act, event=replace(act.event, once_key=f"answer:{wanted}:{actor.id}"))]  # others still have to agree
        if dispatched(situation.record):
            return [act]  # asked for in the middle of a run: what goes on has been permitted long ago
        money = judge_money(place, situation, raw, standing)
        if never(money):
            facts = {"rule": money.rule, "reason": money.reason, "policy_version": situation.policy.version}
            return [act, make_draft(place, situation.record, Kind.REFUSED, facts, caused_by=[act.event.ref])]
        facts = permission_facts(situation, rule="approved", reason=f"approved by {actor.id}") | charged_facts(situation, raw, None)
        return [act, make_draft(place, situation.record, Kind.PERMITTED, facts, caused_by=[act.event.ref])]

    return await carry_out(place, invocation_id, decide)


async def deny(
    place: Workplace, invocation_id: str, *, actor: Actor, approval_id: str = "", reason: str = "", request_id: str = ""
) -> Receipt:
    """Deny the request that waits: the person's denial and, before dispatch, the authorization owner's closure caused by it.

    Raises:
        NotPermitted: not theirs to deny, or already answered; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        act, wanted = _act(place, situation, Kind.DENIED, actor, approval_id, "", reason, request_id)
        verdict = judge_decision(
            situation.record,
            situation.policy,
            actor,
            action="deny",
            approval_id=wanted,
            inputs_digest="",
            now=situation.now,
            authority=situation.authority,
        )
        require(verdict, act)
        if dispatched(situation.record):
            return [act]  # asked for in the middle of a run: only its executor can say that it ended
        return [act, closure_draft(place, situation, ClosureKind.DENIED, actor, reason, caused_by=act, approval_id=wanted)]

    return await carry_out(place, invocation_id, decide)


async def answer_together(
    place: Workplace, invocation_id: str, *, actor: Actor, answers: Sequence[str], approval_id: str = "", reason: str = "",
    request_id: str = "",
) -> Receipt:  # fmt: skip  # a signature in three lines
    """Take what one submission answers to one request, ``approve`` and ``deny`` among it: the same answer twice is one answer.

    Raises:
        NotPermitted: two opposite answers decide nothing; both are on record as refused. Else as ``approve`` and ``deny``.
        InvalidInput: there is no answer in it, or one that is neither.
    """
    given = list(dict.fromkeys(answers))
    if not given or set(given) - {"approve", "deny"}:
        raise InvalidInput(f"{', '.join(given) or 'nothing'} is no answer.", field="answers", remedy="Send approve or deny.")
    if len(given) == 1:
        answer = approve if given[0] == "approve" else deny
        return await answer(place, invocation_id, actor=actor, approval_id=approval_id, reason=reason, request_id=request_id)
    verdict = PolicyVerdict(allowed=False, rule="contradictory", reason="one submission held two opposite answers: it decides nothing")

    def decide(situation: Situation) -> list[Draft]:
        acts = [
            _act(place, situation, kind, actor, approval_id, "", reason, request_id)[0] for kind in (Kind.GRANTED, Kind.DENIED)
        ]  # fmt: skip  # one comprehension
        raise Refusal(verdict, acts[0], others=acts[1:])

    return await carry_out(place, invocation_id, decide)


def _act(
    place: Workplace, situation: Situation, kind: Kind, actor: Actor, approval_id: str, inputs_digest: str, reason: str, request_id: str
) -> tuple[Draft, str]:
    """Make the event of the person's act, and name the request that it answers."""
    waiting = situation.record.open_approval or situation.record.approval
    wanted = approval_id or (waiting.id if waiting else "")
    digest = inputs_digest or (waiting.data.get("inputs_digest") if waiting and kind is Kind.GRANTED else None)
    facts = said_by(
        actor, approval_id=wanted or "none", inputs_digest=digest, reason=reason or None, request_id=request_id or None,
        tool=situation.record.tool or None,
    )  # fmt: skip  # facts in lines
    key = f"answer:{wanted}" if wanted else ""
    return make_draft(place, situation.record, kind, facts, owner=Owner.USER, once_key=key), wanted


def closure_draft(
    place: Workplace, situation: Situation, kind: ClosureKind, actor: Actor, reason: str, *, caused_by: Draft, approval_id: str = "",
    replaced_by: str = "",
) -> Draft:  # fmt: skip  # a signature in three lines
    """Make the closure of an invocation before dispatch; it competes with the dispatch for one key."""
    record = situation.record
    facts = {
        "kind": str(kind),
        "initiator": actor.id,
        "scope": "this invocation",
        "reason": reason or f"{kind} by {actor.id}",
        "at": place.stamp(),
        "approval_id": approval_id or None,
        "replaced_by": replaced_by or None,
        "owner_name": "authorization" if kind is ClosureKind.DENIED else "proposal",
    }
    return make_draft(place, record, Kind.CLOSED, facts, caused_by=[caused_by.event.ref], once_key=f"dispatch:{record.id}")
