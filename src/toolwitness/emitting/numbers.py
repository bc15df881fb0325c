"""Numbers that survive ``JSON.parse``: a client written in JavaScript rounds a 19-digit integer without a word."""

from typing import Any, Final, cast

from toolwitness.runtime.encoding import MARK

_SAFE: Final = 2**53 - 1
"""The largest integer that every JavaScript number tells apart from its neighbours."""


def for_scripts(value: Any) -> Any:
    """Give a document in which every integer beyond 53 bits is ``{"$toolwitness": "number", "text": "<its digits>"}``."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: for_scripts(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [for_scripts(item) for item in cast("list[Any]", value)]
    if type(value) is int and not -_SAFE <= value <= _SAFE:
        return {MARK: "number", "text": str(value)}
    return value
