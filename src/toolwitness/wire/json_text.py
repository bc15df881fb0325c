"""JSON as other people send it: read as far as it goes, with every doubt named.

Providers and models send arguments that are cut, doubled, not finite or not JSON at all. ``parse`` never fails: it
gives the best reading, the exact text, and the problems. Where there are none, the value is exactly what was written.
Our own documents are read by ``loads_strict``, which refuses instead.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import MAX_DEPTH, SURROGATE, loads_strict, pointer, walk
from toolwitness.wire.json_scanner import Scanner

__all__ = ["Parsed", "Problem", "ProblemCode", "loads_strict", "parse"]


class ProblemCode(StrEnum):
    """What can be wrong with a JSON text."""

    EMPTY = "empty"
    """Nothing but white space."""
    TRUNCATED = "truncated"
    """The text ends inside a value; the reading holds only what was whole before."""
    SYNTAX = "syntax"
    """Not JSON from the offset on."""
    TRAILING_TEXT = "trailing-text"
    """A whole value, then something that is not JSON."""
    SEVERAL_VALUES = "several-values"
    """Whole values one after another; which one is meant is unknown. The reading is the first."""
    DUPLICATE_KEY = "duplicate-key"
    """A key stands twice in one object; the reading holds the last value."""
    NOT_FINITE = "not-finite"
    """NaN or an infinity, which JSON does not have."""
    INEXACT_NUMBER = "inexact-number"
    """No double holds this number; ``detail`` keeps its text, and the reading is the nearest double."""
    LONE_SURROGATE = "lone-surrogate"
    """Half of a surrogate pair; it is kept, and no UTF-8 can carry it."""
    CONTROL_CHARACTER = "control-character"
    """A control character stands unescaped in a string; it is kept."""
    INVALID_UTF8 = "invalid-utf-8"
    """Bytes that are no UTF-8; each appears as a lone surrogate U+DC80…U+DCFF, so that none is lost."""
    TOO_DEEP = "too-deep"
    """Nested beyond what encoders take; not read further."""
    NOT_AN_OBJECT = "not-an-object"
    """JSON, but not the object that was expected."""


_NO_VALUE: Final = frozenset({ProblemCode.EMPTY, ProblemCode.SYNTAX, ProblemCode.TRUNCATED, ProblemCode.TOO_DEEP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One doubt about a JSON text."""

    code: ProblemCode
    path: str
    """A JSON Pointer to the place; empty for the whole text."""
    detail: str
    offset: int | None = None
    """Where in the text, in characters; ``None`` where the place says enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A reading of a JSON text, the text itself, and what is doubtful about the reading."""

    value: Any
    exact_text: str
    """The text as it came. Bytes that are no UTF-8 are kept as surrogate escapes."""
    problems: tuple[Problem, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Tell whether the value is exactly what the text says, with no doubt."""
        return not self.problems

    @property
    def is_whole(self) -> bool:
        """Tell whether the text held a whole value, whatever else may be wrong with it."""
        return not any(problem.code in _NO_VALUE for problem in self.problems)

    def has(self, code: ProblemCode) -> bool:
        """Tell whether a problem of this kind was found."""
        return any(problem.code == code for problem in self.problems)


def parse(text: bytes | str, *, expect: Literal["any", "object"] = "any") -> Parsed:
    """Read ``text`` as far as it goes and name every doubt; never raises."""
    try:
        parsed = Parsed(value=loads_strict(text), exact_text=text if isinstance(text, str) else text.decode("utf-8"))
    except InvalidInput:
        parsed = _parse_doubtful(text)
    if expect == "object" and parsed.is_whole and not isinstance(parsed.value, dict):
        kind = type(parsed.value).__name__
        problem = Problem(code=ProblemCode.NOT_AN_OBJECT, path="", detail=f"a JSON object was expected, not {kind}")
        return Parsed(value=parsed.value, exact_text=parsed.exact_text, problems=(*parsed.problems, problem))
    return parsed


def _parse_doubtful(text: bytes | str) -> Parsed:
    characters = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
    scanner = Scanner(characters, max_depth=MAX_DEPTH)
    scanner.scan()
    found = [
        Problem(code=ProblemCode(doubt.code), path=pointer(doubt.path), detail=doubt.detail, offset=doubt.offset)
        for doubt in scanner.doubts
    ]
    if isinstance(text, bytes) and (bad := SURROGATE.search(characters)) is not None:
        detail = f"byte 0x{ord(bad.group()) - 0xDC00:02x}"
        found.insert(0, Problem(code=ProblemCode.INVALID_UTF8, path="", detail=detail, offset=bad.start()))
    found += _lone_surrogates(scanner.value)
    return Parsed(value=scanner.value, exact_text=characters, problems=tuple(found))


def _lone_surrogates(value: Any) -> list[Problem]:
    return [
        Problem(code=ProblemCode.LONE_SURROGATE, path=pointer(path), detail=ascii(text)[:60])
        for path, node in walk(value)
        for text in (path[-1] if path else None, node)
        if isinstance(text, str) and SURROGATE.search(text)
    ]
