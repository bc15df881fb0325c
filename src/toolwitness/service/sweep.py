"""The sweeper: records that deadlines have passed, by the policy's clock, once across processes and also after a restart (R10).

It also lets go what has waited long enough for reports that do not come (R2).
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, State
from toolwitness.policy.deadlines import Due, due
from toolwitness.ports import Draft, Recorded
from toolwitness.service.release import overdue, release_drafts
from toolwitness.service.workplace import Situation, Workplace, carry_out, make_draft, read

OPEN: Final = (None, *(state for state in State if state not in TERMINAL))
"""States in which a call can still be late; in none at all is one of which only reports are known that wait for earlier ones."""


async def sweep(place: Workplace) -> list[Recorded]:
    """Record every deadline that has passed and belongs to the phase its invocation is in; give what was recorded.

    Raises:
        Exception: what went wrong with one call, after all the others were looked at.
    """
    found: list[Recorded] = []
    wrong: list[Exception] = []
    for row in await place.ledger.states(states=OPEN):
        try:
            situation = await read(place, row.invocation_id)
            if overdue(situation.record, situation.now, place.hold_seconds):
                found += (await carry_out(place, row.invocation_id, partial(release_drafts, place))).recorded
            if due(situation.record, situation.now):
                found += (await carry_out(place, row.invocation_id, partial(_elapsed, place))).recorded
        except Exception as error:  # noqa: BLE001 - one call that cannot be read must not keep all others from expiring
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return found


def _elapsed(place: Workplace, situation: Situation) -> Sequence[Draft]:
    """Make the event of the first deadline that has passed; it may end the attempt, and then no other matters."""
    return [_event(place, situation, one) for one in due(situation.record, situation.now)[:1]]


def _event(place: Workplace, situation: Situation, elapsed: Due) -> Draft:
    record = situation.record
    facts = {"deadline": str(elapsed.deadline), "declared_at": elapsed.declared_at, "approval_id": elapsed.approval_id or None}
    key = elapsed.once_key or f"{elapsed.deadline}-deadline:{record.id}"
    return make_draft(place, record, Kind.DEADLINE_ELAPSED, {**facts, "judged_at": place.stamp()}, once_key=key)
