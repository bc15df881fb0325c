"""Reads what a stranger wrote: whatever is not of the expected shape is empty, and nothing is ever raised (R11)."""

from collections.abc import Mapping, Sequence
from typing import Any, cast


def members(value: object) -> Mapping[str, Any]:
    """Give an object's members; none where it is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[Any]:
    """Give a list's items; none where it is no list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def text(value: object) -> str:
    """Give a text; empty where it is none."""
    return value if isinstance(value, str) else ""
