"""JSON text that can be read in one way only.

Readers of JSON disagree on duplicate keys, on ``NaN``, on numbers that no double holds and on halves of surrogate
pairs; each picks silently. Whatever crosses our border as a document is refused there instead, by name and place.
Source: RFC 8259 sections 4, 6 and 8.2, RFC 7493 (I-JSON).
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput

MAX_DEPTH: Final = 200
"""Deeper nesting is refused: encoders further on give up near 250 levels, and no tool's input is that deep."""

MAX_INTEGER_DIGITS: Final = 4000
"""Longer integers are refused: Python converts no more than 4,300 digits, and other languages far fewer."""

SURROGATE: Final = re.compile("[\ud800-\udfff]")
_EXACT_DIGITS: Final = 15


def loads_strict(text: bytes | str) -> Any:
    """Read JSON and change no value on the way; whatever two readers could read differently is refused.

    Integers of any size up to 4,000 digits stay exact Python integers. A decimal fraction is accepted when the
    nearest double prints as the same number.

    Raises:
        InvalidInput: not JSON, or ambiguous; ``facts`` hold ``field`` (a JSON Pointer), ``problem`` and ``offset``.
    """
    characters = decode_utf8(text) if isinstance(text, bytes) else text
    reader = _Reader()
    try:
        value = json.loads(
            characters.removeprefix("\ufeff"),
            object_pairs_hook=reader.object,
            parse_float=reader.fraction,
            parse_int=reader.integer,
            parse_constant=reader.constant,
        )
    except json.JSONDecodeError as error:
        raise refusal("syntax", "", f"{error.msg} at line {error.lineno}, column {error.colno}", error.pos) from None
    except RecursionError:
        raise refusal("too-deep", "", f"more than {MAX_DEPTH} levels") from None
    if reader.suspicious or _may_hold_surrogates(characters) or _may_be_deep(characters):
        for path, node in walk(value):
            _check(path, node)
    return value


def decode_utf8(text: bytes) -> str:
    """Decode UTF-8 and refuse, with its offset, what is not."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal("invalid-utf-8", "", f"byte 0x{text[error.start]:02x}", error.start) from None


def refusal(problem: str, path: str, detail: str, offset: int | None = None) -> InvalidInput:
    """Build the error that names what is wrong, where it is and what to do about it."""
    place = path or "the top level"
    message = f"The JSON text is refused: {_MEANING[problem]} at {place} ({detail})."
    return InvalidInput(message, remedy=_REMEDY.get(problem, ""), field=path, problem=problem, offset=offset)


def pointer(path: tuple[str | int, ...]) -> str:
    """Write a path as a JSON Pointer (RFC 6901) that can be printed: lone surrogates appear as escapes."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps).encode("utf-8", "backslashreplace").decode("utf-8")


def walk(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Visit every node of a JSON value in document order, keys included (a key has the path of its member)."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        yield path, node
        if isinstance(node, dict):
            members = cast("dict[str, Any]", node)
            stack.extend(((*path, key), members[key]) for key in reversed(members))
        elif isinstance(node, list):
            items = cast("list[Any]", node)
            stack.extend(((*path, index), items[index]) for index in range(len(items) - 1, -1, -1))


def is_exact_fraction(text: str) -> bool:
    """Tell whether the double nearest to ``text`` still prints as the same number."""
    if len(text) <= _EXACT_DIGITS and "e" not in text and "E" not in text:
        return True
    try:
        return Decimal(text) == Decimal(repr(float(text)))
    except (InvalidOperation, OverflowError):
        return False


class _Ambiguous:
    """Stands where a value cannot be read in one way, until its path is known."""

    __slots__ = ("detail", "problem")

    def __init__(self, problem: str, detail: str) -> None:
        self.problem = problem
        self.detail = detail


class _Reader:
    """The hooks of one reading; ``suspicious`` once any of them saw something."""

    def __init__(self) -> None:
        self.suspicious = False

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    members[key] = self._ambiguous("duplicate-key", f"the key {key!a} stands there twice")
                seen.add(key)
        return members

    def fraction(self, text: str) -> Any:
        return float(text) if is_exact_fraction(text) else self._ambiguous("inexact-number", text[:60])

    def integer(self, text: str) -> Any:
        if len(text) <= MAX_INTEGER_DIGITS:
            return int(text)
        return self._ambiguous("inexact-number", f"an integer of {len(text)} digits")

    def constant(self, text: str) -> Any:
        return self._ambiguous("not-finite", text)

    def _ambiguous(self, problem: str, detail: str) -> _Ambiguous:
        self.suspicious = True
        return _Ambiguous(problem, detail)


def _may_hold_surrogates(text: str) -> bool:
    return "\\ud" in text or "\\uD" in text or (not text.isascii() and SURROGATE.search(text) is not None)


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_DEPTH


def _check(path: tuple[str | int, ...], node: Any) -> None:
    if isinstance(node, _Ambiguous):
        raise refusal(node.problem, pointer(path), node.detail)
    key = path[-1] if path else None
    for text in (key, node):
        if isinstance(text, str) and SURROGATE.search(text):
            raise refusal("lone-surrogate", pointer(path), ascii(text)[:60])
    if len(path) >= MAX_DEPTH and isinstance(node, dict | list):
        raise refusal("too-deep", pointer(path[:3]), f"more than {MAX_DEPTH} levels")


_MEANING: Final = {
    "syntax": "it is not JSON",
    "invalid-utf-8": "it is not UTF-8",
    "duplicate-key": "one key has two values",
    "not-finite": "a number is not finite",
    "inexact-number": "a number cannot be kept exactly",
    "lone-surrogate": "a text holds half of a surrogate pair",
    "too-deep": "it is nested too deeply",
}

_REMEDY: Final = {
    "duplicate-key": "Send each key once.",
    "not-finite": "JSON has no NaN or Infinity; send null or a string.",
    "inexact-number": "Send it as a string, so that every digit is kept.",
    "lone-surrogate": "Send whole characters; what is not text belongs in base64.",
}
