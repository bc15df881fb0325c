"""The sweeper: records what time alone has made true, by the policy's clock, once across processes and also after a restart (R10).

Deadlines that have passed; authority that has ended while a request was pending; reports that have waited long enough for others that do
not come (R2); executors whose lease has run out without a word. And it takes further what a command had begun when its process died between
two steps.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.lineage import attempt_before, blocked_by
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.policy.deadlines import Due, Standing, due, standing
from toolwitness.ports import Draft, Recorded
from toolwitness.service.release import overdue, release_drafts
from toolwitness.service.standing import authority_gone, void_what_is_gone
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Situation, Workplace, carry_out, make_draft, read

OPEN: Final = (None, *(state for state in State if state not in TERMINAL))
"""States in which a call can still be late; in none at all is one of which only reports are known that wait for earlier ones."""
SOURCE: Final = "toolwitness:sweeper"
"""The source of what the sweeper concludes about an executor."""


async def sweep(place: Workplace) -> list[Recorded]:
    """Record what has become true of each open call by the passing of time, and give what was recorded.

    Raises:
        Exception: what went wrong with one call, after all the others were looked at.
    """
    found: list[Recorded] = []
    wrong: list[Exception] = []
    for row in await place.ledger.states(states=OPEN):
        try:
            found += await _look_at(place, row.invocation_id)
        except Exception as error:  # noqa: BLE001 - one call that cannot be read must not keep all others from expiring
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return found


async def _look_at(place: Workplace, invocation_id: str) -> list[Recorded]:
    """Record what is true of one call by now; each finding is judged once more in the ledger's turn."""
    found: list[Recorded] = []
    situation = await read(place, invocation_id)
    record, now = situation.record, situation.now
    decisions: list[tuple[object, Callable[[Situation], Sequence[Draft]]]] = [
        (overdue(record, now, place.hold_seconds), partial(release_drafts, place)),
        (due(record, now), partial(_elapsed, place)),
        (_lapsed(situation), partial(_lost, place)),
        (authority_gone(situation), partial(void_what_is_gone, place)),
    ]
    for is_due, decide in decisions:
        if is_due:
            found += (await carry_out(place, invocation_id, decide)).recorded
    if _was_on_its_way(situation):
        found += (await submit(place, invocation_id)).recorded
    return found


# ── deadlines ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _elapsed(place: Workplace, situation: Situation) -> Sequence[Draft]:
    """Make the event of the first deadline that has passed; it may end the attempt, and then no other matters."""
    return [_event(place, situation, one) for one in due(situation.record, situation.now)[:1]]


def _event(place: Workplace, situation: Situation, elapsed: Due) -> Draft:
    record = situation.record
    facts = {"deadline": str(elapsed.deadline), "declared_at": elapsed.declared_at, "approval_id": elapsed.approval_id or None}
    key = elapsed.once_key or f"{elapsed.deadline}-deadline:{record.id}"
    return make_draft(place, record, Kind.DEADLINE_ELAPSED, {**facts, "judged_at": place.stamp()}, once_key=key)


# ── leases ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lapsed(situation: Situation) -> str:
    """Say that the lease under which a body was seen to run is over and was not renewed; empty where that is not known.

    A lease of which nobody has said until when it is good, or said so in a way that cannot be read, is never known to have run out.
    """
    record = situation.record
    if record.state in TERMINAL or not record.still_running or Code.OUTCOME_UNKNOWN in record.findings or record.reconciliations:
        return ""
    if standing(record.lease_expires_at, situation.now) is not Standing.ELAPSED:
        return ""
    return f"lease {record.lease} was good until {record.lease_expires_at}, and nobody has renewed it"


def _lost(place: Workplace, situation: Situation) -> Sequence[Draft]:
    """Make the event that an executor is lost: what became of its body is unknown, and it may speak again."""
    record, reason = situation.record, _lapsed(situation)
    if not reason:
        return []
    event = Event(
        kind=Kind.LOST, source=SOURCE, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
        attempt=record.attempt, tenant=record.tenant, time=place.stamp(), data={"reason": reason, "lease": record.lease},
        caused_by=tuple(record.starts[-1:]),
    )  # fmt: skip  # facts in lines
    return [Draft(event=event)]


# ── commands that died half-way ─────────────────────────────────────────────────────────────────────────────────────


def _was_on_its_way(situation: Situation) -> bool:
    """Tell whether somebody's command meant this call to go on, and died after its first step and before it was submitted.

    That is so where somebody edited or supplied its inputs, or asked for it as the next attempt of another. A proposal that nobody has
    touched waits for its Submit.
    """
    record, view = situation.record, situation.view
    if record.state is not State.PROPOSED or not record.governed or record.permission is not None or record.claim is not None:
        return False
    if record.input_request is not None or record.open_approval is not None or blocked_by(record, view.task, view.shared):
        return False
    return any(request.kind == "input" for request in record.requests) or _was_asked_for(record, attempt_before(record, view.shared))


def _was_asked_for(record: InvocationRecord, earlier: InvocationRecord | None) -> bool:
    return earlier is not None and record.id in {earlier.retried_by, earlier.replaced_by}
