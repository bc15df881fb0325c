"""The sweeper: records that deadlines have passed, by the policy's clock, once across processes and also after a restart (R10)."""

from toolwitness.core.errors import Conflict
from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, Deadline, State
from toolwitness.policy.deadlines import Due, due_deadlines
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import Situation, Workplace, make_draft, read


async def sweep(place: Workplace) -> list[Recorded]:
    """Record every deadline that has passed and belongs to the phase its invocation is in; give what was recorded."""
    found: list[Recorded] = []
    open_states = [state for state in State if state not in TERMINAL]
    for row in await place.ledger.states(states=open_states):
        situation = await read(place, row.invocation_id)
        for due in due_deadlines(situation.record, situation.now):
            found += await _record(place, situation, due)
    return found


async def _record(place: Workplace, situation: Situation, due: Due) -> list[Recorded]:
    """Record one elapsed deadline; somebody else who was faster makes it unnecessary."""
    record = situation.record
    waiting = record.open_approval
    key = f"dispatch:{record.id}"
    if due.deadline is Deadline.APPROVAL and waiting is not None:
        key = f"answer:{waiting.id}"
    if due.deadline is Deadline.RESULT:
        key = f"result-deadline:{record.id}"
    draft: Draft = make_draft(
        place, record, Kind.DEADLINE_ELAPSED,
        {"deadline": str(due.deadline), "declared_at": due.declared_at, "approval_id": waiting.id if waiting else None, "judged_at": place.stamp()},
        once_key=key,
    )  # fmt: skip  # facts in lines
    try:
        return list(await place.ledger.append(record.task_id, [draft], expected_sequence=situation.view.sequence))
    except Conflict:
        return []
