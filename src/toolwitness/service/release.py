"""Let numbered reports go on whose wait is over: what is missing before them has not come in the time that policy gives it (R2)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.times import parse_rfc3339
from toolwitness.policy.deadlines import Standing, after, standing
from toolwitness.ports import Draft
from toolwitness.service.workplace import Situation, Workplace, make_draft


def overdue(record: InvocationRecord, now: datetime, hold_seconds: float) -> tuple[str, ...]:
    """Name the sources whose reports about this call have waited for longer than ``hold_seconds``."""
    return tuple(source for source, waiting in record.held.items() if _waited(record, waiting, now, hold_seconds))


def _waited(record: InvocationRecord, waiting: Mapping[int, Event], now: datetime, hold_seconds: float) -> bool:
    """Tell whether the one that came first has waited long enough; when it came the ledger says, not its source."""
    came = [at for at in (parse_rfc3339(record.held_times.get(event.ref)) for event in waiting.values()) if at is not None]
    return bool(came) and standing(after(min(came), hold_seconds), now) is Standing.ELAPSED


def release_drafts(place: Workplace, situation: Situation) -> Sequence[Draft]:
    """Make the events that let the overdue reports of every source go on."""
    record = situation.record
    return [_release(place, record, source) for source in overdue(record, situation.now, place.hold_seconds)]


def _release(place: Workplace, record: InvocationRecord, source: str) -> Draft:
    up_to, missing = max(record.held[source]), record.next_sequence.get(source, 1)
    facts = {
        "held_source": source, "up_to": up_to, "reason": f"number {missing} of {source} has not come within {place.hold_seconds:g} seconds",
    }  # fmt: skip  # facts in lines
    return make_draft(place, record, Kind.HOLD_RELEASED, facts, once_key=f"hold:{record.id}:{source}:{up_to}")
