"""Deadlines: declared by the policy, judged by the policy's clock, which is passed in (R10).

``now == deadline`` is expired. A deadline that cannot be read, or that has no zone, is no deadline that ever allows anything.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline, State
from toolwitness.core.times import parse_rfc3339, rfc3339


class Standing(StrEnum):
    """How a deadline stands at a moment."""

    NONE = "none"
    OPEN = "open"
    ELAPSED = "elapsed"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A deadline that has elapsed and is not yet on record."""

    deadline: Deadline
    declared_at: str
    """The deadline as the authority wrote it."""
    approval_id: str = ""
    once_key: str = ""
    """The single use that recording it competes for; empty where a body is already out and nothing competes."""


def after(now: datetime, seconds: float | None) -> str | None:
    """Give the time ``seconds`` after ``now`` as RFC 3339; ``None`` where no limit was declared."""
    return None if seconds is None else rfc3339(now + timedelta(seconds=seconds))


def standing(declared: object, now: datetime) -> Standing:
    """Judge one deadline at ``now``.

    Raises:
        ValueError: ``now`` has no zone; the authority's clock always has one.
    """
    if now.tzinfo is None:
        raise ValueError("now has no zone: pass the aware time of the policy's clock")
    if declared in (None, ""):
        return Standing.NONE
    at = parse_rfc3339(declared)
    if at is None:
        return Standing.UNREADABLE
    return Standing.ELAPSED if now >= at else Standing.OPEN


def due(record: InvocationRecord, now: datetime) -> tuple[Due, ...]:
    """Name the deadlines of ``record`` that have elapsed at ``now`` and may still be recorded.

    One whose phase is over is not due: the approval's after its answer, input's after the inputs, queue start's after the claim
    (who holds the permit may be starting; a start that never comes is an unknown outcome, not an expiry).
    """
    if record.state in TERMINAL or record.state is None:
        return ()
    found: list[Due] = []
    for name, declared in record.deadlines.items():
        deadline = Deadline(name)
        if _of_phase(record, deadline) and standing(declared, now) is Standing.ELAPSED:
            waiting = record.open_approval if deadline is Deadline.APPROVAL else None
            found.append(
                Due(
                    deadline=deadline,
                    declared_at=declared,
                    approval_id=waiting.id if waiting else "",
                    once_key=f"answer:{waiting.id}" if waiting else _dispatch_key(record),
                )
            )
    return tuple(found)


def _dispatch_key(record: InvocationRecord) -> str:
    return "" if record.claim is not None or record.starts else f"dispatch:{record.id}"


def _of_phase(record: InvocationRecord, deadline: Deadline) -> bool:
    match deadline:
        case Deadline.INPUT:
            return record.claim is None and record.state in {State.PROPOSED, State.AWAITING_INPUT}
        case Deadline.APPROVAL:
            return record.open_approval is not None and record.state is State.AWAITING_APPROVAL
        case Deadline.QUEUE_START:
            return record.claim is None and not record.starts and record.open_approval is None
        case _:  # the result's deadline belongs to every phase
            return True
