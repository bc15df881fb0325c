"""When what the other side says settles what an attempt did, without a person."""

from toolwitness.core.entries import Effect
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State


def settled_by(record: InvocationRecord) -> Effect | None:
    """Give the effect that answers the question whether a failed attempt had its effect; ``None`` where it stays a person's to answer.

    The attempt failed and left open what it did; after that, one effect and no other was reported, with the other side's own reference.
    Whatever else is in doubt (a second start, two references, a call that was cancelled or had succeeded) is not settled by this.
    """
    outcome = record.outcome
    open_question = outcome is not None and (outcome.data.get("effects") == "unknown" or outcome.data.get("inferred_by"))
    doubts = {Code.DUPLICATE_START, Code.STARTED_AFTER_END, Code.LEASE_UNKNOWN} & record.findings.keys()
    if record.state is not State.FAILED or not open_question or doubts or record.reconciliations:
        return None
    references = {str(effect.data.get("provider_reference") or "") for effect in record.effects}
    return record.effects[-1] if len(references) == 1 and "" not in references and record.effects[-1].late else None
