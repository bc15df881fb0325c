"""The order in which one source spoke: what is next, what waits for a hole to fill, what came after the wait was over (R2).

A source numbers what it says about an invocation from 1. A number beyond the next one is held; it is let go when the hole fills, or
when policy records ``hold.released``. A number that was given up and comes after all is judged when it comes. Unnumbered events are
never held.
"""

from enum import StrEnum

from toolwitness.core.evidence import Event
from toolwitness.core.findings import Code, Finding
from toolwitness.core.record import InvocationRecord
from toolwitness.core.shapes import ORDINAL


class Place(StrEnum):
    """Where an event stands in the order of its source."""

    NEXT = "next"
    """It is its turn, or its source does not number."""
    LATE = "late"
    """Others have stopped waiting for it; it counts from now on."""
    HELD = "held"
    REUSED = "reused"
    """The source has already used this number for something else."""


def place(record: InvocationRecord, event: Event, recorded_at: str) -> Place:
    """Take ``event`` into the order of its source, and tell where it stands."""
    number, source = event.sequence, event.source
    if number is None or not ORDINAL.fits(number):
        return Place.NEXT
    if number in record.held.get(source, ()):
        return Place.REUSED
    if number < record.next_sequence.get(source, 1):
        return Place.LATE if _take_skipped(record, source, number) else Place.REUSED
    if number > awaited(record, source):
        record.held.setdefault(source, {})[number] = event
        record.held_times[event.ref] = recorded_at
        return Place.HELD
    _advance(record, source, number)
    return Place.NEXT


def next_free(record: InvocationRecord) -> tuple[Event, str] | None:
    """Take out the next event that nothing holds any more, with the time at which it was recorded; ``None`` when all must wait."""
    for source, waiting in record.held.items():
        expected, limit = record.next_sequence.get(source, 1), awaited(record, source)
        number = expected if expected in waiting else limit if limit == expected else min(waiting)
        if number not in waiting or number > limit:
            continue
        event = waiting.pop(number)
        if not waiting:
            del record.held[source]
        _advance(record, source, number)
        return event, record.held_times.pop(event.ref, "")
    return None


def awaited(record: InvocationRecord, source: str) -> int:
    """Give the lowest number of ``source`` that is still waited for."""
    return max(record.next_sequence.get(source, 1), record.released_up_to.get(source, 0) + 1)


def release(record: InvocationRecord, source: str, up_to: int) -> None:
    """Wait no longer for numbers of ``source`` up to this one."""
    record.released_up_to[source] = max(record.released_up_to.get(source, 0), up_to)


def name_holes(record: InvocationRecord) -> None:
    """Let the finding ``evidence-held`` say what is held now and what it waits for, and nothing else."""
    if not record.held:
        record.findings.pop(Code.EVIDENCE_HELD, None)
        return
    sources = sorted(record.held)
    waits = "; ".join(f"{source} has not yet said number {awaited(record, source)}" for source in sources)
    refs = tuple(record.held[source][min(record.held[source])].ref for source in sources)
    record.findings[Code.EVIDENCE_HELD] = Finding(Code.EVIDENCE_HELD, waits, refs, sum(map(len, record.held.values())))


def _advance(record: InvocationRecord, source: str, number: int) -> None:
    """Count ``number`` as said; what lies between it and the last one is skipped, and may still come."""
    expected = record.next_sequence.get(source, 1)
    if number > expected:
        record.skipped[source] = (*record.skipped.get(source, ()), (expected, number - 1))
    record.next_sequence[source] = number + 1


def _take_skipped(record: InvocationRecord, source: str, number: int) -> bool:
    """Tell whether ``number`` was skipped and never said, and count it as said from now on."""
    for low, high in record.skipped.get(source, ()):
        if low <= number <= high:
            left = ((low, number - 1), (number + 1, high))
            others = (r for r in record.skipped[source] if r != (low, high))
            record.skipped[source] = (*others, *(r for r in left if r[0] <= r[1]))
            return True
    return False
