"""Settle, by what the other side says, what an attempt did; what that does not answer is left to a person (``reconcile``)."""

from toolwitness.core.evidence import Kind
from toolwitness.policy.effects import settled_by
from toolwitness.policy.retry import Conclusion
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft


async def settle_effects(place: Workplace, invocation_id: str) -> Receipt:
    """Record that the effect of an attempt is known now, where one report of the other side answers exactly that; else nothing."""

    def decide(situation: Situation) -> list[Draft]:
        effect = settled_by(situation.record)
        if effect is None:
            return []
        facts = {
            "conclusion": str(Conclusion.AS_REPORTED), "by": "the other side's report", "reference": str(effect.data["provider_reference"]),
            "detail": str(effect.data["effect"]),
        }  # fmt: skip  # facts in lines
        return [make_draft(place, situation.record, Kind.RECONCILED, facts, caused_by=[effect.ref])]

    return await carry_out(place, invocation_id, decide)
