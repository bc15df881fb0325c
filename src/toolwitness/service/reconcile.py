"""Record what is now known about the effects of an attempt; the attempt itself is never rewritten."""

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, require


async def reconcile(
    place: Workplace, invocation_id: str, *, actor: Actor, conclusion: str, detail: str = "", reference: str = ""
) -> Receipt:
    """Record a conclusion such as ``effect stands``, ``no effect`` or ``effect undone``, by whom and on what reference.

    Raises:
        NotPermitted: nothing needs reconciliation.
        InvalidInput: the conclusion is empty.
    """
    if not conclusion.strip():
        raise InvalidInput("The conclusion is empty.", field="conclusion", remedy="Say what the provider's side shows, in one sentence.")

    def decide(situation: Situation) -> list[Draft]:
        authority, now = situation.authority, situation.now
        require(judge_action(situation.record, situation.policy, actor, action="reconcile", now=now, authority=authority))
        facts = {"conclusion": conclusion, "by": actor.id, "detail": detail or None, "reference": reference or None}
        return [make_draft(place, situation.record, Kind.RECONCILED, facts)]

    return await carry_out(place, invocation_id, decide)
