"""Times as text: RFC 3339 in and out, and nothing that reads a clock."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(at: datetime) -> str:
    """Write an aware time as RFC 3339 in UTC with microseconds and ``Z``.

    Raises:
        ValueError: ``at`` has no time zone; such a time says nothing about when.
    """
    if at.tzinfo is None:
        raise ValueError("a time without a zone cannot be recorded; pass an aware datetime")
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def parse_rfc3339(text: object) -> datetime | None:
    """Read an RFC 3339 time; ``None`` for whatever cannot be read or carries no zone (R10)."""
    return _read(text) if isinstance(text, str) else None


@lru_cache(maxsize=1_024)
def _read(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):  # the first and the last hours of the calendar have no name in UTC
        return None
