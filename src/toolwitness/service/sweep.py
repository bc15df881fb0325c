"""The sweeper: records that deadlines have passed, by the policy's clock, once across processes and also after a restart (R10)."""

from toolwitness.core.errors import Conflict
from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, State
from toolwitness.policy.deadlines import Due, due
from toolwitness.ports import Recorded
from toolwitness.service.workplace import Situation, Workplace, make_draft, read


async def sweep(place: Workplace) -> list[Recorded]:
    """Record every deadline that has passed and belongs to the phase its invocation is in; give what was recorded."""
    found: list[Recorded] = []
    open_states = [state for state in State if state not in TERMINAL]
    for row in await place.ledger.states(states=open_states):
        situation = await read(place, row.invocation_id)
        for elapsed in due(situation.record, situation.now):
            found += await _record(place, situation, elapsed)
    return found


async def _record(place: Workplace, situation: Situation, elapsed: Due) -> list[Recorded]:
    """Record one elapsed deadline; somebody else who was faster makes it unnecessary."""
    record = situation.record
    facts = {"deadline": str(elapsed.deadline), "declared_at": elapsed.declared_at, "approval_id": elapsed.approval_id or None}
    key = elapsed.once_key or f"{elapsed.deadline}-deadline:{record.id}"
    draft = make_draft(place, record, Kind.DEADLINE_ELAPSED, {**facts, "judged_at": place.stamp()}, once_key=key)
    try:
        return list(await place.ledger.append(record.task_id, [draft], expected_sequence=situation.view.sequence))
    except Conflict:
        return []
