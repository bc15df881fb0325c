"""The words of truth in stream captures: ``<name>.truth.jsonl``, rows of ``{"t_ms", "ev", …}`` written by tools, server and page."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolwitness.testing.truth.episodes import Mark, Row, Sign

_BODY: Final = {
    "start": Sign.ENTERED,
    "end": Sign.RETURNED,
    "throw": Sign.RAISED,
    "saw_abort": Sign.CANCELLED,
    "saw_cancel": Sign.CANCELLED,
    "finally": Sign.UNWOUND,
    "ack": Sign.CARRIED_ON,
    "yield": Sign.CARRIED_ON,
    "progress": Sign.CARRIED_ON,
    "step": Sign.CARRIED_ON,
    "tick": Sign.CARRIED_ON,
    "emitted_cancel_result": Sign.CARRIED_ON,
}
_STARTING: Final = frozenset({"server.onToolCallStart", "server.onToolExecutionStart", "onToolExecutionStart"})
_ENDING: Final = frozenset({"server.onToolCallFinish", "server.onToolExecutionEnd", "onToolExecutionEnd"})
_WATCHES: Final = frozenset({"server.onEnd", "server.onToolCallStart", "server.onToolExecutionStart", "server.onError"})
_NOT_A_BODY: Final = re.compile(
    r"^(wire(\..*)?|ui|agui|status|final|onError|server\.\w+|client\.\w+|user\.\w+|aclose\.\w+|stream\.\w+|append\.\w+|late\.\w+|second_\w+)$"
)
_LEFT: Final = re.compile(r"abort|timeout|timed out|cancel", re.IGNORECASE)


def marks(rows: Iterable[Row]) -> Iterator[Mark]:
    """Read the truth beside a stream."""
    for row in rows:
        if row.get("src") == "truth":
            event: Any = row.get("event")
            yield from _marks(int(row.get("seq") or 0), str(row.get("kind") or ""), event if isinstance(event, dict) else {})


def watches(rows: Iterable[Row]) -> bool:
    """Tell whether the server saw every start: then a call without a run never started."""
    return any(row.get("src") == "truth" and row.get("kind") in _WATCHES for row in rows)


def _marks(row: int, word: str, event: Row) -> Iterator[Mark]:
    call = str(event.get("toolCallId") or event.get("id") or "")
    said: dict[str, Any] = {"row": row, "call": call, "word": word, "inputs": event.get("input")}
    if word in _STARTING:
        yield Mark(sign=Sign.SEEN_STARTING, **said)
    elif word in _ENDING:
        yield Mark(sign=_ending(event), **said)
    elif _NOT_A_BODY.match(word):
        yield Mark(sign=Sign.NOTHING, **said)
    else:
        yield from _body(word, said)


def _body(word: str, said: dict[str, Any]) -> Iterator[Mark]:
    who, _, what = word.partition(".")
    said["tool"] = "" if who == "tool" else who
    if what.startswith("EFFECT"):
        yield Mark(sign=Sign.EFFECT, **said)
    elif what.startswith("EXECUTED"):
        yield Mark(sign=Sign.ENTERED, **said)
        yield Mark(sign=Sign.RETURNED, **said)
    else:
        yield Mark(sign=_BODY.get(what, Sign.UNREAD), **said)


def _ending(event: Row) -> Sign:
    error = event.get("error")
    if event.get("success") is True or event.get("type") == "tool-result" or ("result" in event and error is None):
        return Sign.SEEN_RETURNING
    return Sign.SEEN_LEAVING if _LEFT.search(str(error)) else Sign.SEEN_RAISING
