"""Where in a JSON text a value stands, so that it can be kept exactly as it was written: ``412.50`` keeps its zero."""

import re
from json import JSONDecoder
from typing import Final

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = JSONDecoder()


def members(text: str, at: int) -> dict[str, tuple[int, int]]:
    """Give the start and end of every member's value of the object at ``at``. The text is known to be JSON."""
    found: dict[str, tuple[int, int]] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, colon = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, colon) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        found[key] = (start, end)
        at = _next(text, end)
    return found


def items(text: str, at: int) -> list[tuple[int, int]]:
    """Give the start and end of every item of the array at ``at``. The text is known to be JSON."""
    found: list[tuple[int, int]] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _DECODER.raw_decode(text, at)[1]
        found.append((at, end))
        at = _next(text, end)
    return found


def start(text: str) -> int:
    """Give the place of the value that the text holds."""
    return _skip(text, 1 if text.startswith("\ufeff") else 0)


def _next(text: str, end: int) -> int:
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()
