"""The one byte string of a JSON value (RFC 8785), for the fields of our own events.

Two machines that hold the same fields get the same bytes, and so the same hash. Only what cannot be read in two ways is
taken: texts, booleans, null, integers within ±(2⁵³−1), lists and objects with text keys. A fraction is refused by name:
amounts are texts here, and foreign values lie beside the event as exact bytes.
"""

import json
from typing import Any, Final, NoReturn, TypeAlias, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import MAX_DEPTH, SURROGATE, pointer

_Path: TypeAlias = tuple[str | int, ...]

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every reader of JSON holds exactly."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
_SORTING_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False, sort_keys=True)


def canonical(value: Any) -> bytes:
    """Give the RFC 8785 bytes of ``value``; equal values give equal bytes.

    Raises:
        InvalidInput: a value that has no canonical form here; ``facts['field']`` is its JSON Pointer.
    """
    if _check(value, ()):
        return _SORTING_ENCODER.encode(value).encode("utf-8")
    return _ENCODER.encode(_sorted(value)).encode("utf-8")


def _check(node: Any, path: _Path) -> bool:
    """Refuse what has no canonical form; tell whether sorting by code points is sorting by UTF-16 units."""
    if node is None or node is True or node is False:
        return True
    if isinstance(node, str):
        if not node.isascii() and SURROGATE.search(node):
            _refuse(path, "a lone surrogate", "Keep it as a value beside the event.")
        return True
    if isinstance(node, int):
        if not -MAX_INTEGER <= node <= MAX_INTEGER:
            _refuse(path, "an integer beyond 2^53-1", "Send it as a string.")
        return True
    if isinstance(node, dict):
        _check_depth(path)
        # The keys are counted, not asked with all(): every member must be checked.
        members = cast("dict[Any, Any]", node).items()
        return sum(_check_member(key, member, path) for key, member in members) == len(members)
    if isinstance(node, list | tuple):
        _check_depth(path)
        items = cast("list[Any]", node)
        return sum(_check(item, (*path, index)) for index, item in enumerate(items)) == len(items)
    remedy = "Send it as a string." if isinstance(node, float) else "Send plain JSON."
    return _refuse(path, f"a value of type {type(node).__name__}", remedy)


def _check_member(key: Any, member: Any, path: _Path) -> bool:
    if not isinstance(key, str):
        _refuse(path, f"the key {key!r}, which is {type(key).__name__}", "Keys are strings.")
    if not key.isascii() and SURROGATE.search(key):
        _refuse((*path, key), "a lone surrogate in its key", "Keep it as a value beside the event.")
    return _check(member, (*path, key)) and key.isascii()


def _check_depth(path: _Path) -> None:
    if len(path) >= MAX_DEPTH:
        _refuse(path[:3], f"more than {MAX_DEPTH} levels", "Keep it as a value beside the event.")


def _sorted(node: Any) -> Any:
    if isinstance(node, dict):
        members = cast("dict[str, Any]", node)
        return {key: _sorted(members[key]) for key in sorted(members, key=_utf16)}
    if isinstance(node, list | tuple):
        return [_sorted(item) for item in cast("list[Any]", node)]
    return node


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _refuse(path: _Path, what: str, remedy: str) -> NoReturn:
    place = pointer(path)
    raise InvalidInput(f"{place or 'The value'} has no canonical form: it holds {what}.", remedy=remedy, field=place)
