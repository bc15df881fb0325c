"""Dismiss or withdraw a call before dispatch: two closures that are neither a denial nor an error (R5)."""

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import TERMINAL, ClosureKind, Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.answer import closure_draft
from toolwitness.service.cancel import cancellation_draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, dispatched, make_draft, require, said_by


async def dismiss(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Dismiss a proposal that nobody wants to follow up.

    Raises:
        NotPermitted: it has been dispatched or has ended; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        return _closing(place, situation, ClosureKind.DISMISSED, actor, reason, request_id)

    return await carry_out(place, invocation_id, decide)


async def withdraw(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Withdraw a request before it is dispatched; after that it becomes a cancellation request.

    Raises:
        NotPermitted: it has ended; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        if dispatched(situation.record) and situation.record.state not in TERMINAL:
            why = reason or "withdrawn after dispatch"
            return [cancellation_draft(place, situation, actor, why, request_id=request_id)]
        return _closing(place, situation, ClosureKind.WITHDRAWN, actor, reason, request_id)

    return await carry_out(place, invocation_id, decide)


_ACTS = {ClosureKind.DISMISSED: (Kind.DISMISSED, "dismiss"), ClosureKind.WITHDRAWN: (Kind.WITHDRAWN, "withdraw")}


def _closing(place: Workplace, situation: Situation, closure: ClosureKind, actor: Actor, reason: str, request_id: str) -> list[Draft]:
    """Make the person's act and, caused by it, the closure; both compete for the keys that a decision or a dispatch would take."""
    kind, action = _ACTS[closure]
    waiting = situation.record.open_approval
    facts = said_by(actor, reason=reason or None, request_id=request_id or None)
    key = f"answer:{waiting.id}" if waiting else ""
    act = make_draft(place, situation.record, kind, facts, owner=Owner.USER, once_key=key)
    require(judge_action(situation.record, situation.policy, actor, action=action, now=situation.now, authority=situation.authority), act)
    return [act, closure_draft(place, situation, closure, actor, reason, caused_by=act, approval_id=waiting.id if waiting else "")]


async def release_waiter(place: Workplace, invocation_id: str, *, source: str, body: str) -> Receipt:
    """Record that the caller that waited was cancelled, and withdraw in its name what has not been dispatched.

    A late approval would run something that nobody waits for any more. What has been dispatched is not closed by this: that somebody
    stopped waiting proves nothing about a body. ``body`` says what becomes of it.
    """

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        said = {"waiter": "caller", "reason": "the caller's own task was cancelled", "body": body}
        gone = Draft(
            event=Event(
                kind=Kind.WAITER_RELEASED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id,
                owner=Owner.RUNTIME, attempt=record.attempt, tenant=record.tenant, time=place.stamp(), data=said,
            )
        )  # fmt: skip  # facts in lines
        if dispatched(record) or record.state in TERMINAL:
            return [gone]
        caller = Actor(id=str(record.proposal.get("proposer") or "caller"), tenant=record.tenant)
        why = "the caller's own task was cancelled before the call was dispatched"
        return [gone, closure_draft(place, situation, ClosureKind.WITHDRAWN, caller, why, caused_by=gone)]

    return await carry_out(place, invocation_id, decide)
