"""Times in words and in tokens: every clock time that a person reads is local to that person.

A sentence holds a time as the token ``⟦2026-11-30T12:01:36.411Z⟧`` (U+27E6, RFC 3339 in UTC with ``Z``, U+27E7); whoever draws the card
writes the local time in its place. Foreign text cannot hold a token (see ``foreign``).
"""

import re
from datetime import UTC, datetime
from typing import Final

from toolwitness.presentation.foreign import line

TOKEN: Final = re.compile(r"⟦(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)⟧")
"""What a drawing finds its times by."""

_BARE: Final = re.compile(r"(?<![\w⟦])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)(?!\w)")


def instant(text: str | None) -> datetime | None:
    """Read an RFC 3339 time with its zone, or give ``None`` where there is none to read."""
    if not text:
        return None
    try:
        read = datetime.fromisoformat(text)
        return read.astimezone(UTC) if read.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def iso(at: datetime) -> str:
    """Write a time as RFC 3339 in UTC with ``Z``, with three decimals, or six where three would lose some."""
    exact = at.astimezone(UTC)
    spec = "milliseconds" if exact.microsecond % 1000 == 0 else "microseconds"
    return exact.isoformat(timespec=spec).removesuffix("+00:00") + "Z"


def stamp(text: str | None) -> str | None:
    """Give ``text`` as our RFC 3339 form, or ``None`` where it is not a time."""
    read = instant(text)
    return iso(read) if read else None


def token(text: str | None) -> str:
    """Write a time into a sentence of ours; what is not a time is quoted as it came, and none is named."""
    read = instant(text)
    if read:
        return f"⟦{iso(read)}⟧"
    return f"“{line(text)}”" if text else "at an unrecorded time"


def tokens_in(sentence: str) -> str:
    """Turn the bare times in a sentence of ours into tokens."""
    return _BARE.sub(lambda match: token(match[0]), sentence)


def between(earlier: str | None, later: str | None) -> float | None:
    """Give the seconds from one time to another, or ``None`` where one cannot be read."""
    start, end = instant(earlier), instant(later)
    return (end - start).total_seconds() if start and end else None


def span(seconds: float) -> str:
    """Say a span of time in plain words: ``0.2 s``, ``38 s``, ``2 min 05 s``, ``1 h 02 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
