"""Settle, by what the other side says, what an attempt did; what that does not answer is left to a person (``reconcile``)."""

from toolwitness.core.errors import NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Reconciliation, State
from toolwitness.policy.effects import settled_by
from toolwitness.policy.retry import Conclusion
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, read


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


async def settle_reversal(place: Workplace, invocation_id: str) -> Receipt | None:
    """Record on the call that was to be undone what the end of its reversal shows; ``None`` where it shows nothing for certain.

    A verified inverse that succeeded whole has undone it; one that ended without being executed has undone nothing. Whatever lies between,
    a part that is left open, a failure, a doubt, stays with the finding until somebody reconciles it.
    """
    reversal = await read(place, invocation_id)
    original = str(reversal.record.proposal.get("reverses") or "")
    if reversal.record.state not in TERMINAL or original not in reversal.view.shared:
        return None

    def decide(situation: Situation) -> list[Draft]:
        ended = situation.view.records[invocation_id]
        found = _undone(ended, situation)
        if found is None or ended.retried_by or ended.replaced_by or _is_settled(situation.record, ended.id):
            return []
        conclusion, detail = found
        facts = {"conclusion": str(conclusion), "by": "the end of its reversal", "reference": ended.id, "detail": detail}
        ref = ended.state_refs[0] if ended.state_refs else ""
        return [make_draft(place, situation.record, Kind.RECONCILED, facts, caused_by=[ref], once_key=f"undone:{ended.id}")]

    try:
        return await carry_out(place, original, decide)
    except NotPermitted:
        return None  # another process has said so in the same moment


def _undone(reversal: InvocationRecord, situation: Situation) -> tuple[Conclusion, str] | None:
    if reversal.reconciliation is Reconciliation.NOT_EXECUTED:
        return Conclusion.AS_REPORTED, f"the reversal was not executed: it is {reversal.state}"
    inverse = situation.policy.inverse
    whole = reversal.state is State.SUCCEEDED and not reversal.open_parts and not reversal.needs_reconciliation
    if inverse is None or inverse.leaves or not inverse.verified_by or not whole or reversal.tool != inverse.tool:
        return None
    return Conclusion.REVERSED, f"{reversal.tool} succeeded"


def _is_settled(original: InvocationRecord, reversal_id: str) -> bool:
    return any(one.data.get("reference") == reversal_id for one in original.reconciliations)
