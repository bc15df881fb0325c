"""A JSON reader that stops nowhere without saying where: the slow path of ``json_text.parse``.

The values it has read when the text ends or goes wrong stay readable in ``value``. Only whole members are kept: a
text that ends in ``{"n": 12`` may have meant 123, so ``n`` is not in the reading.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, NoReturn, TypeAlias

from toolwitness.core.strict_json import MAX_INTEGER_DIGITS, is_exact_fraction

Path: TypeAlias = tuple[str | int, ...]

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBER_LIKE: Final = re.compile(r"[-+.0-9eE]+")
_WORDS: Final = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_STRICT: Final = JSONDecoder()
_CONTROLS_ALLOWED: Final = JSONDecoder(strict=False)
_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,4})?\Z")


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that the scanner cannot vouch for."""

    code: str
    path: Path
    detail: str
    offset: int


class _StopError(Exception):
    """Ends the reading after its doubt was noted."""


class Scanner:
    """Reads one text once; afterwards ``value`` holds the reading and ``doubts`` what is wrong with it."""

    def __init__(self, text: str, *, max_depth: int) -> None:
        """Prepare to read ``text``."""
        self.value: Any = None
        self.doubts: list[Doubt] = []
        self._text = text
        self._end = len(text)
        self._max_depth = max_depth

    def scan(self) -> None:
        """Read the text; never raises."""
        start = self._skip(1 if self._text.startswith("\ufeff") else 0)
        if start == self._end:
            self._doubt("empty", (), "no JSON at all", start)
            return
        try:
            end = self._value(start, (), self._keep)
        except _StopError:
            return
        rest = self._skip(end)
        if rest < self._end:
            self._after(rest)

    def _keep(self, value: Any) -> None:
        self.value = value

    def _after(self, rest: int) -> None:
        beyond = Scanner(self._text[rest:], max_depth=self._max_depth)
        beyond.scan()
        broken = {doubt.code for doubt in beyond.doubts} & {"syntax", "truncated", "trailing-text", "too-deep"}
        code = "trailing-text" if broken else "several-values"
        self._doubt(code, (), f"after the value: {self._text[rest : rest + 40]!a}", rest)

    def _value(self, at: int, path: Path, keep: Callable[[Any], None]) -> int:
        """Read the value at ``at``, hand it to ``keep`` (containers before they are filled) and give its end."""
        if at >= self._end:
            self._cut(path, at)
        if self._text[at] == '"':
            text, end = self._string(at, path)
            keep(text)
            return end
        if self._text[at] not in "{[":
            return self._word_or_number(at, path, keep)
        if len(path) >= self._max_depth:
            self._stop("too-deep", path[:3], f"more than {self._max_depth} levels", at)
        if self._text[at] == "[":
            items: list[Any] = []
            keep(items)
            return self._array(at + 1, path, items)
        members: dict[str, Any] = {}
        keep(members)
        return self._object(at + 1, path, members)

    def _object(self, at: int, path: Path, members: dict[str, Any]) -> int:
        at = self._need(self._skip(at), path)
        if self._text[at] == "}":
            return at + 1
        while True:
            if self._text[at] != '"':
                self._stop("syntax", path, f"a key was expected, not {self._text[at]!a}", at)
            key, colon = self._string(at, path)
            colon = self._need(self._skip(colon), path)
            if self._text[colon] != ":":
                self._stop("syntax", (*path, key), f"a colon was expected, not {self._text[colon]!a}", colon)
            if key in members:
                self._doubt("duplicate-key", (*path, key), f"an earlier value was {ascii(members[key])[:60]}", at)
            end = self._value(self._skip(colon + 1), (*path, key), lambda value, key=key: members.__setitem__(key, value))
            at = self._separator(end, path, "}")
            if at < 0:
                return -at
            at = self._need(self._skip(at), path)

    def _array(self, at: int, path: Path, items: list[Any]) -> int:
        at = self._need(self._skip(at), path)
        if self._text[at] == "]":
            return at + 1
        while True:
            end = self._value(self._skip(at), (*path, len(items)), items.append)
            at = self._separator(end, path, "]")
            if at < 0:
                return -at

    def _separator(self, end: int, path: Path, close: str) -> int:
        """Give the place after a comma, or minus the place after the closing bracket."""
        at = self._need(self._skip(end), path)
        if self._text[at] == ",":
            return at + 1
        if self._text[at] != close:
            self._stop("syntax", path, f"a comma or {close} was expected, not {self._text[at]!a}", at)
        return -(at + 1)

    def _string(self, at: int, path: Path) -> tuple[str, int]:
        try:
            return _STRICT.raw_decode(self._text, at)
        except JSONDecodeError as error:
            first = error
        try:
            text, end = _CONTROLS_ALLOWED.raw_decode(self._text, at)
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated") or _CUT_ESCAPE.search(self._text, at):
                self._cut(path, self._end)
            self._stop("syntax", path, error.msg, error.pos)
        self._doubt("control-character", path, ascii(self._text[first.pos : first.pos + 1]), first.pos)
        return text, end

    def _word_or_number(self, at: int, path: Path, keep: Callable[[Any], None]) -> int:
        for word, meaning in _WORDS.items():
            if self._text.startswith(word, at):
                if word in {"NaN", "Infinity", "-Infinity"}:
                    self._doubt("not-finite", path, word, at)
                keep(meaning)
                return at + len(word)
            if word.startswith(self._text[at:]):
                self._cut(path, self._end)
        like = _NUMBER_LIKE.match(self._text, at)
        if like is None:
            self._stop("syntax", path, f"a value was expected, not {self._text[at]!a}", at)
        number = _NUMBER.match(self._text, at)
        if path and like.end() == self._end:
            self._cut(path, self._end)
        if number is None or number.end() != like.end():
            self._stop("syntax", path, f"{like.group()[:40]!a} is not a number", at)
        keep(self._number(number, path))
        return number.end()

    def _number(self, number: re.Match[str], path: Path) -> Any:
        text = number.group()
        if number.group(1) or number.group(2):
            if not is_exact_fraction(text):
                self._doubt("inexact-number", path, text, number.start())
            return float(text)
        if len(text) > MAX_INTEGER_DIGITS:
            self._doubt("inexact-number", path, text, number.start())
            return float(text[:400])
        return int(text)

    def _skip(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return at if blank is None else blank.end()

    def _need(self, at: int, path: Path) -> int:
        if at >= self._end:
            self._cut(path, at)
        return at

    def _doubt(self, code: str, path: Path, detail: str, offset: int) -> None:
        self.doubts.append(Doubt(code, path, detail, offset))

    def _cut(self, path: Path, offset: int) -> NoReturn:
        self._stop("truncated", path, f"the text ends after {self._end} characters", offset)

    def _stop(self, code: str, path: Path, detail: str, offset: int) -> NoReturn:
        self._doubt(code, path, detail, offset)
        raise _StopError
