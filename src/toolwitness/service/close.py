"""Dismiss or withdraw a call before dispatch: two closures that are neither a denial nor an error (R5)."""

from toolwitness.core.evidence import Kind
from toolwitness.core.states import ClosureKind, Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.answer import closure_draft
from toolwitness.service.cancel import request_cancellation
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, read, require, said_by


async def dismiss(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Dismiss a proposal that nobody wants to follow up.

    Raises:
        NotPermitted: it has been dispatched or has ended; the refusal is on record.
    """
    return await _close(place, invocation_id, Kind.DISMISSED, ClosureKind.DISMISSED, actor, reason, request_id)


async def withdraw(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Withdraw a request before it is dispatched; after the claim it becomes a cancellation request.

    Raises:
        NotPermitted: it has ended; the refusal is on record.
    """
    situation = await read(place, invocation_id)
    if situation.record.claim is not None and situation.record.closure is None:
        return await request_cancellation(place, invocation_id, actor=actor, reason=reason or "withdrawn after dispatch", request_id=request_id)
    return await _close(place, invocation_id, Kind.WITHDRAWN, ClosureKind.WITHDRAWN, actor, reason, request_id)


async def _close(
    place: Workplace, invocation_id: str, kind: Kind, closure: ClosureKind, actor: Actor, reason: str, request_id: str
) -> Receipt:
    """Record the person's act and, caused by it, the closure; both compete for the keys that a decision or a dispatch would take."""
    action = "dismiss" if kind is Kind.DISMISSED else "withdraw"

    def decide(situation: Situation) -> list[Draft]:
        waiting = situation.record.open_approval
        facts = said_by(actor, reason=reason or None, request_id=request_id or None)
        key = f"answer:{waiting.id}" if waiting else ""
        act = make_draft(place, situation.record, kind, facts, owner=Owner.USER, once_key=key)
        require(judge_action(situation.record, situation.policy, actor, action=action, now=situation.now), act)
        return [act, closure_draft(place, situation, closure, actor, reason, caused_by=act, approval_id=waiting.id if waiting else "")]

    return await carry_out(place, invocation_id, decide)
