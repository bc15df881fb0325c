"""The words of truth in row captures: what a tool body wrote into its row, and what a runtime's row beside it says about an end."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from toolwitness.testing.truth.episodes import Mark, Row, Sign

_WORDS: Final = {
    "start": Sign.ENTERED,
    "execute": Sign.ENTERED,
    "end": Sign.RETURNED,
    "completed": Sign.RETURNED,
    "raise": Sign.RAISED,
    "cancelled_in_body": Sign.CANCELLED,
    "execute cancelled": Sign.CANCELLED,
    "cancel() called": Sign.NOTHING,
    "elicit_result": Sign.CARRIED_ON,
    "answer": Sign.CARRIED_ON,
    "waits": Sign.CARRIED_ON,
    "returned": Sign.RETURNED,
    "execute raises": Sign.RAISED,
}
_ASKING: Final = frozenset({"ApprovalRequired", "CallDeferred", "GraphInterrupt"})
_EFFECT: Final = re.compile(r"^SIDE EFFECT\s*(\w*)")
_ENTERED: Final = re.compile(r"\bentered\b|^before\b")
_CARRIED_ON: Final = re.compile(r"\banswered\b|^after\b|^(progress|tick|step|yield(ed)?|emit(ted)?|heartbeat|chunk|working|still \w+)\b")


def marks(rows: Iterable[Row]) -> Iterator[Mark]:
    """Read the truth of a row capture; what was done from outside, and a result of the same call, begin its next part."""
    seen: list[Row] = []
    part = 0
    for row in rows:
        part += row.get("src") in {"driver", "outcome"}
        if row.get("src") == "runtime":
            seen.append(row)
        elif row.get("src") == "truth":
            mark = _mark(row, part)
            results = sum(is_result(one, mark.call, mark.tool) for one in seen) if mark.call else 0
            yield replace(mark, part=part + results)


def _mark(row: Row, part: int) -> Mark:
    event: Any = row.get("event")
    event = event if isinstance(event, dict) else {}
    kind = str(row.get("kind") or "")
    call, tool = str(event.get("id") or event.get("task") or ""), str(event.get("tool") or "")
    said = _EFFECT.match(kind)
    sign = Sign.EFFECT if said else _sign(kind, event, call)
    return Mark(
        sign=sign, row=int(row.get("seq") or 0), call=call, tool=tool or (said.group(1) if said and not call else ""), word=kind,
        inputs=event.get("args"), part=part,
    )  # fmt: skip  # one row, one mark


def _sign(kind: str, event: Row, call: str) -> Sign:
    if kind.startswith("raise"):
        exception = str(event.get("exc") or kind.removeprefix("raise").strip())
        return Sign.PAUSED if exception in _ASKING else Sign.RAISED
    if kind in _WORDS:
        return _WORDS[kind]
    if _ENTERED.search(kind):
        return Sign.ENTERED
    if _CARRIED_ON.search(kind):
        return Sign.CARRIED_ON
    return Sign.ENTERED if call and re.fullmatch(r"\w+", kind) and set(event) <= {"id", "tool", "args"} else Sign.UNREAD


# ── the runtime's rows beside the truth ─────────────────────────────────────────────────────────────────────────────

_RESULTS: Final = frozenset({
    "FunctionToolResultEvent", "hook.RETURNED", "agui:TOOL_CALL_RESULT", "vercel:tool-output-available", "tools:tool-finished",
    "mw.RETURNED", "run_item_stream_event:tool_output", "tool_output", "hook.on_tool_end", "wrap.RETURNED",
})  # fmt: skip  # one line a framework


def is_result(row: Row, call: str, tool: str) -> bool:
    """Tell whether a runtime's row is the result of this call."""
    kind, event = str(row.get("kind")), row.get("event")
    if kind in _RESULTS:
        return bool(call) and call in str(event)
    if kind == "s2c:result":
        result = _member(event, "result")
        done = _member(result, "content") is not None or _member(result, "status") == "completed"
        return done and _member(result, "isError") is not True
    data = _member(event, "data")
    return kind == "trace.span_end" and _member(data, "name") == tool and bool(tool) and _member(data, "output") is not None


_STATES: Final = frozenset({"updates", "values", "messages", "debug", "checkpoints", "tasks:result:tools"})
"""Rows that show a graph's messages: the result of a call is the tool message that answers it."""


def shows_result(row: Row, call: str) -> bool:
    """Tell whether a row shows a graph's messages with the tool message that answers this call well; one result is shown in many."""
    return bool(call) and row.get("kind") in _STATES and any(_is_message_of(node, call) for node in _nodes(row.get("event")))


def _is_message_of(node: Any, call: str) -> bool:
    return _member(node, "type") == "tool" and _member(node, "tool_call_id") == call and _member(node, "status") != "error"


def _nodes(value: Any) -> Iterator[Any]:
    """Give every object inside a row."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


def asks(row: Row) -> bool:
    """Tell whether a runtime's row asks a person for something, which a paused body does."""
    return bool(_ASKS.search(f"{row.get('kind')} {row.get('event')}"))


_ASKS: Final = re.compile(
    r"__interrupt__|INPUT_REQUIRED|AUTH_REQUIRED|input.required|auth-required|inputRequests|PAUSED|DeferredToolRequests|'interrupts': \[\{"
)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
