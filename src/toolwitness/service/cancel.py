"""Request the cancellation of one call. A request is not its acknowledgement (R3), and no sibling is touched."""

from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, require, said_by


async def request_cancellation(
    place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", scope: str = "this invocation", request_id: str = ""
) -> Receipt:
    """Record the request; the runtime that holds the body follows the ledger and passes it on. The state stays what was last evidenced.

    Raises:
        NotPermitted: nothing is running, or it is past the point of no return; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        return [cancellation_draft(place, situation, actor, reason, scope=scope, request_id=request_id)]

    return await carry_out(place, invocation_id, decide)


def cancellation_draft(
    place: Workplace, situation: Situation, actor: Actor, reason: str, *, scope: str = "this invocation", request_id: str = ""
) -> Draft:
    """Make the request, where policy lets ``actor`` make it.

    Raises:
        Refusal: it does not.
    """
    facts = said_by(actor, scope=scope, reason=reason or None, request_id=request_id or None)
    act = make_draft(place, situation.record, Kind.CANCEL_REQUESTED, facts, owner=Owner.USER)
    verdict = judge_action(
        situation.record, situation.policy, actor, action="request_cancellation", now=situation.now, authority=situation.authority
    )  # fmt: skip  # one call
    require(verdict, act)
    return act
