"""Look at the world for a decision: outside the ledger's turn, where the tool is hosted. What was read is bound into the decision."""

from toolwitness.policy.looks import NOT_TAKEN, Look
from toolwitness.service.workplace import Situation, Workplace


async def look_at(place: Workplace, situation: Situation, raw_inputs: bytes) -> Look:
    """Read what the policy of a call wants to be read; a process that does not host the tool says that it cannot look.

    Never raises: what could not be read is part of the answer.
    """
    tool = situation.record.tool
    if not situation.policy.read_again:
        return Look()
    looker = place.lookers.get(tool)
    if looker is None:
        return Look() if tool in place.policies else NOT_TAKEN
    return await looker(raw_inputs)
