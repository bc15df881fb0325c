"""Values read for a person without changing one digit: JSON whose numbers stay text, and whole texts with a cut that is said."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from toolwitness.core.values import MARKER, Hidden, Redacted
from toolwitness.presentation.foreign import line

SHOWN_BYTES: Final = 64 * 1024
"""How much of a value goes onto a card; the whole stays in the record."""
_READ_LEVELS: Final = 40
_LISTS_NAMED: Final = 4
_PLACES_NAMED: Final = 8
REDACTED: Final = "(not shown, by policy)"


class Number(str):
    """The digits of a JSON number, or ``NaN`` and its like, exactly as they were written."""

    __slots__ = ()


class Members(tuple[tuple[str, Any], ...]):
    """The members of a JSON object in their order, repeated names included."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A value as text, with what is missing from it."""

    text: str
    size: int
    """Bytes of the whole value."""
    complete: bool
    note: str = ""
    """What is not shown and where it is, in words; empty where nothing is missing."""
    parsed: Any = None
    """The JSON value (``Number``, ``Members``, lists, strings, booleans) where the whole text is JSON."""
    is_json: bool = False
    hidden: tuple[Hidden, ...] = ()
    """What is secret in it and stands nowhere here."""


class Secret:
    """What a person is shown in the place of a secret part, with what made it secret."""

    __slots__ = ("by",)

    def __init__(self, by: str) -> None:
        """Say why it is not shown."""
        self.by = by

    def __str__(self) -> str:
        """Say it as a person reads it."""
        return f"(redacted: {self.by})"


def read(raw: bytes, *, ref: str = "") -> Text:
    """Read the bytes of a value; what is not UTF-8 is shown byte by byte, and a long value is cut between characters."""
    whole, note = _decode(raw)
    parsed, is_json = _parse(whole)
    if isinstance(raw, Redacted) and raw.hidden:
        return _redacted(raw, whole, parsed, note, is_json="yes" if is_json else "no")
    if len(raw) <= SHOWN_BYTES:
        return Text(text=whole, size=len(raw), complete=True, note=note, parsed=parsed, is_json=is_json)
    cut = raw[:SHOWN_BYTES].decode("utf-8", "ignore") if not note else whole[:SHOWN_BYTES]
    more = f"The first {SHOWN_BYTES} of {len(raw)} bytes. The whole is kept in the record" + (f" as value {ref}." if ref else ".")
    return Text(text=cut, size=len(raw), complete=False, note=f"{note} {more}".strip(), parsed=parsed, is_json=is_json)


def _redacted(raw: Redacted, whole: str, parsed: Any, note: str, *, is_json: str) -> Text:
    """Read the copy of a value from which its secret parts were taken; what is missing, and why, is said."""
    named = [f"{line(hidden.at, cut_at=80) or 'all or part of it'} ({line(hidden.by, cut_at=80)})" for hidden in raw.hidden[:_PLACES_NAMED]]
    more = f" and {len(raw.hidden) - len(named)} more" if len(raw.hidden) > len(named) else ""
    said = f"Sealed; not shown: {', '.join(named)}{more}. {note}".strip()
    seen = _with_secrets(parsed) if is_json == "yes" else parsed
    text = written(seen) if is_json == "yes" else whole
    return Text(
        text=text[:SHOWN_BYTES], size=len(raw), complete=False, note=said, parsed=seen, is_json=is_json == "yes", hidden=raw.hidden
    )  # fmt: skip  # facts in lines


def _with_secrets(parsed: Any) -> Any:
    """Give a parsed copy with a ``Secret`` wherever one is missing."""
    if isinstance(parsed, Members):
        if len(parsed) == 1 and parsed[0][0] == MARKER:
            return Secret(str(parsed[0][1]))
        return Members((name, _with_secrets(inner)) for name, inner in parsed)
    return [_with_secrets(inner) for inner in cast("list[Any]", parsed)] if isinstance(parsed, list) else parsed


def _decode(raw: bytes) -> tuple[str, str]:
    try:
        return raw.decode("utf-8"), ""
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace"), "Bytes that are not UTF-8 are shown as \\x and two digits."


def _parse(text: str) -> tuple[Any, bool]:
    """Parse JSON leniently and exactly; ``False`` where the text is not JSON."""
    try:
        parsed = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=Members)
    except (ValueError, RecursionError):
        return None, False
    return parsed, True


def items_of(value: Any) -> tuple[Any, ...]:
    """Give the members of a list, one member for any other value, none for what is absent: a field is read whatever its type is."""
    if value is None or value == "":
        return ()
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) and not isinstance(value, Members) else (value,)


def redacted(text: Text, pointers: Sequence[str]) -> Text:
    """Give ``text`` without the values at these JSON Pointers; text in which they cannot be found is not shown at all.

    What came out of its seal already without its secrets is left as it is.
    """
    if not pointers or text.hidden:
        return text
    if not text.is_json:
        hidden = "Policy redacts parts of this value; it is not JSON, so that none of it is shown."
        return Text(text="", size=text.size, complete=False, note=hidden)
    parsed, hit = text.parsed, list[str]()
    for pointer in pointers:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        if _leads_somewhere(parsed, steps):
            parsed, hit = _without(parsed, steps), [*hit, pointer or "all of it"]
    if not hit:
        return text
    note = f"Not shown, by policy: {', '.join(line(pointer) for pointer in hit)}. {text.note}".strip()
    return replace(text, text=written(parsed)[:SHOWN_BYTES], complete=False, note=note, parsed=parsed)


def _leads_somewhere(parsed: Any, steps: Sequence[str]) -> bool:
    for number, step in enumerate(steps):
        inner = [value for name, value in members(parsed) if name == step]
        if isinstance(parsed, list) and step.isdecimal():
            inner = cast("list[Any]", parsed)[int(step) : int(step) + 1]
        if len(inner) > 1:
            return any(_leads_somewhere(value, steps[number + 1 :]) for value in inner)
        if not inner:
            return False
        parsed = inner[0]
    return True


def _without(parsed: Any, steps: Sequence[str]) -> Any:
    """Replace whatever lies at the end of the steps, under a repeated name each time."""
    if not steps:
        return REDACTED
    first, rest = steps[0], steps[1:]
    if isinstance(parsed, Members) and any(name == first for name, _ in parsed):
        return Members((name, _without(inner, rest) if name == first else inner) for name, inner in parsed)
    items = cast("list[Any]", parsed) if isinstance(parsed, list) else []
    place = int(first) if first.isdecimal() else len(items)
    return [*items[:place], _without(items[place], rest), *items[place + 1 :]] if place < len(items) else cast("Any", parsed)


def members(parsed: Any) -> tuple[tuple[str, Any], ...]:
    """Give the members of a parsed object, nothing for any other value."""
    return parsed if isinstance(parsed, Members) else ()


def pairs_of(value: Any) -> dict[str, Any]:
    """Give an object's members by name, whether it was parsed from a value or is a plain field; empty for anything else."""
    return dict(_pairs(value) or ())


def _length(value: Any) -> int | None:
    return len(cast("list[Any]", value)) if isinstance(value, list) else None


def shape(text: Text) -> str:
    """Say in a few words what a value holds: the lists in it and how long they are, else how much of what."""
    if not text.is_json:
        return f"{len(text.text)} characters" if text.complete else f"{text.size} bytes"
    count = _length(text.parsed)
    if count is not None:
        return "1 entry" if count == 1 else f"{count} entries"
    held = members(text.parsed)
    lists = [f"{line(name, cut_at=30)}: {length}" for name, inner in held if (length := _length(inner)) is not None]
    if lists:
        return ", ".join(lists[:_LISTS_NAMED])
    if held:
        return "1 field" if len(held) == 1 else f"{len(held)} fields"
    return ""


def scalar(value: Any, *, cut_at: int = 300) -> str:
    """Write a parsed or plain JSON value in one line for a person; text without quotes, everything nested as JSON."""
    if isinstance(value, str | Secret):
        return line(str(value), cut_at=cut_at)
    return line(written(_spoken(value)), cut_at=cut_at)


def _spoken(value: Any) -> Any:
    """Give a parsed value with every secret part as a person reads that it is missing."""
    if isinstance(value, Secret):
        return Number(str(value))  # written as it is, without quotes
    if isinstance(value, Members):
        return Members((name, _spoken(inner)) for name, inner in value)
    return [_spoken(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


def written(value: Any, *, depth: int = 0) -> str:
    """Write a parsed or plain JSON value as JSON text, numbers digit for digit; what lies deeper than a person reads is named."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Secret):
        return json.dumps({MARKER: value.by}, ensure_ascii=False)
    if value is None or isinstance(value, str | bool | int):
        return json.dumps(value, ensure_ascii=False)
    if depth > _READ_LEVELS:
        return "… (nested deeper)"
    pairs = _pairs(value)
    if pairs is not None:
        return "{" + ", ".join(f"{written(name)}: {written(inner, depth=depth + 1)}" for name, inner in pairs) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(written(inner, depth=depth + 1) for inner in cast("Sequence[Any]", value)) + "]"
    return json.dumps(str(value), ensure_ascii=False)


def _pairs(value: Any) -> tuple[tuple[str, Any], ...] | None:
    if isinstance(value, Members):
        return value
    if isinstance(value, Mapping):
        return tuple((str(name), inner) for name, inner in cast("Mapping[Any, Any]", value).items())
    return None
