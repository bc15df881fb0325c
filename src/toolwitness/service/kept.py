"""Inputs that were edited on a page: what stands in the place of a redacted value keeps that value, and never becomes one itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.values import MARKER
from toolwitness.policy.redaction import is_marker, markers_in


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedInput:
    """An input that holds what only stands for a redacted value."""

    field: str
    kind: str = "type"
    message: str = "says that a value is redacted and does not hold it; whoever knows the value has to give it"


def marked_inputs(raw: bytes) -> list[MarkedInput]:
    """Name the inputs in which a redacted value is missing: a tool must not run with what stands for it."""
    if MARKER.encode() not in raw:
        return []
    try:
        read: object = loads_strict(raw)
    except (InvalidInput, ValueError):
        return []
    if not isinstance(read, dict):
        return []
    return [MarkedInput(field=name) for name, value in cast("dict[str, Any]", read).items() if markers_in(value)]


def kept(fields: Mapping[str, Any], standing: bytes) -> dict[str, Any]:
    """Give ``fields`` with every redacted value that was left in its place put back from the inputs that stand.

    A whole input that was left as it is, is left out: so it stays exactly as it is written.

    Raises:
        InvalidInput: there is no value in that place to keep, or nothing else was given.
    """
    if not any(markers_in(value) for value in fields.values()):
        return dict(fields)
    try:
        before: object = loads_strict(standing)
    except (InvalidInput, ValueError):
        before = None
    held = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if is_marker(value) and name in held:
            continue
        given[name] = _restored(value, held.get(name), f"/{name}")
    if not given:
        raise InvalidInput("Nothing was changed.", field="fields", remedy="Change an input; a redacted one that is left as it is, is kept.")
    return given


def _restored(value: Any, before: Any, place: str) -> Any:
    if is_marker(value):
        if before is None:
            remedy = "Give the value itself, or leave the whole input as it is."
            raise InvalidInput(f"{place} says that a value is redacted, and none stands there to keep.", field=place, remedy=remedy)
        return before
    if isinstance(value, dict):
        held = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
        members = cast("dict[str, Any]", value)
        return {name: _restored(inner, held.get(name), f"{place}/{name}") for name, inner in members.items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        earlier = cast("list[Any]", before) if isinstance(before, list) else []
        if len(items) != len(earlier) and markers_in(items):
            remedy = "Keep as many entries as there are, or give each value itself."
            raise InvalidInput(f"{place} has another length, so that nobody can tell which entry is kept.", field=place, remedy=remedy)
        return [_restored(inner, old, f"{place}/{number}") for number, (inner, old) in enumerate(zip(items, earlier, strict=False))]
    return value
