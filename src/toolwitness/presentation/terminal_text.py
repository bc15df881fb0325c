"""Text on a terminal: how wide it is, where it breaks, in which ink, and in whose time.

Nothing foreign reaches the terminal as an order: control characters and escapes are shown, and only our own ink writes escapes.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolwitness.presentation.foreign import disarmed, visible
from toolwitness.presentation.times import TOKEN, instant


class Ink(StrEnum):
    """Whether a terminal is written in colours."""

    PLAIN = "plain"
    ANSI = "ansi"


class Glyphs(StrEnum):
    """Which signs a terminal can draw."""

    UNICODE = "unicode"
    ASCII = "ascii"


ALL: Final = "*"
"""Opens every disclosure."""
EVIDENCE: Final = "evidence"
"""Opens the evidence rail."""
NARROWEST: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What is drawn on: its width in columns, ink and signs, the reader's zone and day, and what is opened."""

    width: int = 80
    ink: Ink = Ink.PLAIN
    glyphs: Glyphs = Glyphs.UNICODE
    zone: tzinfo = UTC
    now: datetime | None = None
    """The time of drawing: a time of the same day is shown without its day."""
    opened: frozenset[str] = frozenset()
    """Ids of the disclosures that are drawn open, ``EVIDENCE`` for the rail, ``ALL`` for everything."""

    @property
    def columns(self) -> int:
        """The columns that are used; a terminal narrower than ``NARROWEST`` wraps by itself."""
        return max(self.width, NARROWEST)

    def is_open(self, name: str) -> bool:
        """Tell whether a disclosure is drawn open."""
        return ALL in self.opened or name in self.opened


def ink_for(no_color: str | None, *, term: str | None) -> Ink:
    """Choose the ink by the values of ``NO_COLOR`` and ``TERM``; pass ``term=None`` where the output is no terminal.

    Any value of ``NO_COLOR`` that is not empty means plain (no-color.org).
    """
    return Ink.PLAIN if no_color or term in {None, "", "dumb"} else Ink.ANSI


_SGR: Final = MappingProxyType({
    "bold": "1", "quiet": "2", "live": "34", "ok": "32", "bad": "31", "wait": "33", "off": "2",
    "violation": "1;31", "warning": "33", "note": "2",
})  # fmt: skip  # a table reads better than one a line


def inked(text: str, ink: str, screen: Screen) -> str:
    """Write ``text`` in a named ink, or plainly where the screen has none."""
    code = _SGR.get(ink)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text and screen.ink is Ink.ANSI else text


def shown(text: object, screen: Screen) -> str:
    """Make a text of a card ready to draw: nothing in it acts, and its times are the reader's."""
    return TOKEN.sub(lambda match: local(match[1], screen), disarmed(str(text))).replace("\n", "↵")


def local(text: str, screen: Screen, *, timespec: str = "seconds") -> str:
    """Write a time in the reader's zone, with its day unless that is today; what is no time stays as it came."""
    read = instant(text)
    if read is None:
        return visible(text)
    try:
        there = read.astimezone(screen.zone)
    except OverflowError:  # the last hours of the calendar have no name in this zone
        return visible(text)
    today = screen.now is not None and there.date() == screen.now.astimezone(screen.zone).date()
    clock = there.time().isoformat(timespec)
    return clock if today else f"{there.date().isoformat()} {clock}"


# ── width and breaks ────────────────────────────────────────────────────────────────────────────────────────────────


def columns(text: str) -> int:
    """Count the columns that ``text`` takes: none for marks that sit on another, two for wide characters."""
    return len(text) if text.isascii() else sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def broken(text: str, width: int) -> Iterator[str]:
    """Break a long text into pieces of at most ``width`` columns, through words where it must."""
    start, used = 0, 0
    for place, character in enumerate(text):
        wide = _columns(character)
        if used + wide > width:
            yield text[start:place]
            start, used = place, 0
        used += wide
    yield text[start:]


def wrapped(text: str, width: int) -> list[str]:
    """Set a sentence in lines of at most ``width`` columns; words stay whole where they fit."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        joined = f"{current} {word}" if current else word
        if columns(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        *whole, current = broken(word, width)
        lines += whole
    return [*lines, current]


def block(text: str, width: int) -> list[str]:
    """Set a foreign text line by line as it is, every character visible, breaking only what is too long."""
    return [piece for row in visible(text).expandtabs(4).split("\n") for piece in broken(row, width)]


def paragraph(text: str, screen: Screen, *, first: str = "  ", rest: str = "  ", ink: str = "", bold: str = "") -> list[str]:
    """Set a sentence behind a margin; ``bold`` is a beginning of ``text`` that is written stronger."""
    lines = wrapped(text, screen.columns - columns(first))
    strong = len(bold)
    drawn: list[str] = []
    for number, row in enumerate(lines):
        head, tail = row[: max(0, strong)], row[max(0, strong) :]
        strong -= len(row) + 1
        margin = first if number == 0 else rest
        drawn.append(margin + inked(head, "bold", screen) + inked(tail, ink, screen))
    return drawn


def page(lines: list[str]) -> str:
    """Join drawn lines into one text that ends with a line break."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(row.rstrip() for row in lines)).strip("\n") + "\n"
