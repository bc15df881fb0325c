"""Foreign text made safe to read: nothing hides in it, and nothing is dropped from it.

Names of tools, results, reasons and errors are written by others. A control character can redraw a terminal, a bidi control can turn
"pay 100" into "pay 001", an invisible one can carry a second message. Each of them is shown as ``⟨U+202E⟩`` in its place. Source: Unicode
Technical Report 36 (visual spoofing), UAX 9 (bidirectional text).

Times in sentences of ours are written as tokens (see ``times``): ``⟦2026-11-30T12:01:36Z⟧``. The opening bracket is shown as a code point
in foreign text, so that nobody else can write one.
"""

import re
import unicodedata
from typing import Final

FIRST_STRONG_ISOLATE: Final = "\u2068"
POP_ISOLATE: Final = "\u2069"
_OURS: Final = (FIRST_STRONG_ISOLATE, POP_ISOLATE, "\u27e6")
CUT_AT: Final = 300
"""Characters of foreign text in one line of a card; more is one disclosure away."""

_ALWAYS_SHOWN: Final = (
    "\u27e6"  # opens a time of ours
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters; tab and newline are decided by the caller
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners and fillers that draw nothing
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff"  # halves of surrogate pairs: no encoder takes them
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # shorthand, music, tags and more selectors
)
_HIDDEN: Final = re.compile(f"[{_ALWAYS_SHOWN}]")
_LONELY_JOINER: Final = re.compile("(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])")
"""Joiners belong in emoji, Persian and the scripts of India; beside plain Latin they only hide."""
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


def visible(text: str) -> str:
    """Show every character of ``text`` that would hide or act; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text  # as nearly always: plain letters and blanks
    return _LONELY_JOINER.sub(_code_point, _HIDDEN.sub(_code_point, text.replace("\r\n", "\n")))


def disarmed(text: str) -> str:
    """Show what would hide or act in a text that was already made for a card: our own isolates and times stay as they are."""
    return "".join(part if part in _OURS else visible(part) for part in re.split(f"([{''.join(_OURS)}])", text))


def line(text: object, *, cut_at: int = CUT_AT) -> str:
    """Show ``text`` in one line of a sentence of ours: nothing hidden, nothing reordered, and a cut that is said.

    Line breaks appear as ``↵``. Right-to-left text stands in an isolate, so that it reorders no neighbour.
    """
    shown = visible(str(text)).replace("\n", "↵").replace("\t", "⇥")
    if len(shown) > cut_at:
        end = boundary(shown, cut_at)
        shown = f"{shown[:end]}… ({len(shown) - end} more characters)"
    return isolate(shown)


def boundary(text: str, at: int) -> int:
    """Give the last place up to ``at`` where ``text`` can be cut: never before a mark that belongs to a letter, nor inside a joined sign.

    Where nothing but one such sign stands before ``at``, nothing of it is shown.
    """
    while 0 < at < len(text) and (_joined(text[at]) or text[at - 1] == _JOINER or _inside_a_flag(text, at)):
        at -= 1
    return at


_JOINER: Final = "\u200d"


def _joined(character: str) -> bool:
    """Tell whether a character belongs to the one before it: a combining mark, a joiner, a selector, a skin tone."""
    return character == _JOINER or unicodedata.category(character).startswith("M") or "\U0001f3fb" <= character <= "\U0001f3ff"


def _inside_a_flag(text: str, at: int) -> bool:
    """Tell whether ``at`` lies between the two letters of a flag."""
    before = len(text[:at]) - len(text[:at].rstrip(_FLAG_LETTERS))
    return before % 2 == 1 and text[at] in _FLAG_LETTERS


_FLAG_LETTERS: Final = "".join(chr(letter) for letter in range(0x1F1E6, 0x1F200))


def isolate(text: str) -> str:
    """Put ``text`` in a bidi isolate where it holds right-to-left letters; other text is given back as it is."""
    if text.isascii() or not any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return text
    return f"{FIRST_STRONG_ISOLATE}{text}{POP_ISOLATE}"
