"""Spells out what a stranger's facts hold and the record's own fields cannot: nothing is refused for it, and nothing is lost (R2, R11)."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolwitness.wire.canonical import MAX_INTEGER


def spelt_out(fact: Any) -> Any:
    """Give a fact as the record can hold it: half a surrogate pair, which no UTF-8 carries, and an integer beyond 2^53-1 as their texts."""
    if isinstance(fact, str):
        return fact if fact.isascii() else fact.encode("utf-8", "backslashreplace").decode()
    if isinstance(fact, bool):
        return fact
    if isinstance(fact, int):
        return fact if -MAX_INTEGER <= fact <= MAX_INTEGER else str(fact)
    if isinstance(fact, Mapping):
        members = cast("Mapping[Any, Any]", fact)
        return {spelt_out(name): spelt_out(one) for name, one in members.items()}
    if isinstance(fact, list | tuple):
        return [spelt_out(one) for one in cast("Sequence[Any]", fact)]
    return fact
