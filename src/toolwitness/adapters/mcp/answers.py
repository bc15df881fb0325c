"""What ``tools/call`` is answered with, read as evidence. A tool's content is its own: only its shape and the SDKs' texts are read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.adapters.mcp import mapping
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Termination
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED

_COMPLETE: Final = frozenset({"", "complete"})
_DETAILS: Final[Mapping[str, str]] = {
    "invalid-input": "The server did not take the arguments.",
    "unknown-tool": "The server has no tool of this name.",
    "refused": "The server refused the request.",
    "tool-error": "The server answered that the tool failed.",
}
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float),
}  # fmt: skip  # pairs in lines


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a call, read: the row of the table that reads it, a failure's category, and the sentence that says it."""

    row: str
    category: str = ""
    why: str = ""


def read_result(result: Any, *, schema: Mapping[str, Any]) -> Answer:
    """Read a finished tool result; ``schema`` is the tool's listed outputSchema, empty where none was seen."""
    told = members(result)
    is_error, disguise = told.get("isError"), _disguise(told)
    if disguise:
        return Answer("disguised", why=f"the result reads like a cancellation ({disguise}); it proves neither end")
    if is_error is True:
        category = _category(" ".join(_texts(told)))
        return Answer("isError", category, _DETAILS[category])
    if is_error is not None and is_error is not False:
        return Answer("unreadable", why="isError is neither true nor false")
    if text(told.get("resultType")) not in _COMPLETE:
        return Answer("unreadable", why=f"the result is of the unknown type {text(told.get('resultType'))[:40]!r}")
    missing = _unlike(told, schema)
    return Answer("invalid", "invalid-result", f"The result is not of the declared type: {missing}.") if missing else Answer("complete")


def read_error(error: Any, *, cancelled: str = "") -> Answer:
    """Read a JSON-RPC error that answers a call; ``cancelled`` is the reason of a cancellation that was sent, empty for none."""
    told = members(error)
    code, said = told.get("code"), text(told.get("message"))
    if type(code) is not int:
        return Answer("disguised" if disguised_cancel(said) else "error", "protocol", "The server answered with an error without a code.")
    if (code, said) == mapping.CANCELLED_ERROR and cancelled:
        return Answer("cancelled", why=cancelled)
    if code == mapping.URL_ELICITATION:
        return Answer("url elicitation")
    if disguised_cancel(said):
        return Answer("disguised", why=f"the error reads like a cancellation ({said}); it proves no end")
    if code in mapping.LOST_CODES:
        return Answer("lost", why=mapping.LOST_CODES[code])
    category = "invalid-input" if code == mapping.INVALID_PARAMS else "protocol"
    return Answer("error", category, f"The server answered with the error {code}.")


def take_result(calls: Calls, call: Call, word: str, result: Any, *, schema: Mapping[str, Any]) -> None:
    """Record what a finished tool result says."""
    answer = read_result(result, schema=schema)
    row = f"{word} {answer.row}"
    if answer.row == "complete":
        endings.succeed(calls, call, row, result)
    elif answer.category:
        endings.fail(calls, call, row, answer.category, result, detail=answer.why)
    else:
        endings.doubt(calls, call, row, answer.why)


def take_error(calls: Calls, call: Call, error: Any, *, cancelled: str) -> None:
    """Record a JSON-RPC error as the answer to a call."""
    answer = read_error(error, cancelled=cancelled)
    row = "s2c:error" if answer.row == "error" else f"s2c:error {answer.row}"
    if answer.row == "cancelled":
        acknowledge(calls, call, row, scope="this request", reason=answer.why, initiator=UNRECORDED)
    elif answer.row == "url elicitation":
        ask_input(calls, call, row, [text(members(one).get("elicitationId")) or "a page" for one in _pages(members(error))])
    elif answer.row == "error":
        endings.fail(calls, call, row, answer.category, error, detail=answer.why)
    else:
        endings.doubt(calls, call, row, answer.why or "an error that reads like a cancellation proves no end")


def _pages(error: Mapping[str, Any]) -> list[Any]:
    return list(items(members(error.get("data")).get("elicitations"))) or [None]


def acknowledge(calls: Calls, call: Call, word: str, *, scope: str, reason: str, initiator: str, time: str | None = None) -> None:
    """Record that the server itself says that the call is cancelled. What the work did before, or does still, is not in it."""
    call.over = call.ended = True
    calls.pen.write(
        Kind.CANCEL_ACKNOWLEDGED, word, call.invocation_id, attempt=call.attempt, time=time,
        data={
            "termination": Termination.CONFIRMED.value, "initiator": initiator, "scope": scope, "reason": reason or "no reason was given",
            "at": time or calls.pen.clock,
        },
    )  # fmt: skip  # facts in lines


def ask_input(calls: Calls, call: Call, word: str, wanted: list[str], *, prompt: str = "") -> None:
    """Record that the call waits for a person's answer."""
    call.waits_for = "question"
    calls.pen.write(
        Kind.INPUT_REQUIRED, word, call.invocation_id, attempt=call.attempt,
        data={"unresolved": wanted or ["answer"], "collector": "person", "prompt": prompt or None},
    )  # fmt: skip  # facts in lines


def _category(said: str) -> str:
    return next((category for category, pattern in mapping.TEXTS if re.search(pattern, said)), "tool-error")


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    for block in items(result.get("content")):
        if text(members(block).get("type")) == "text":
            yield text(members(block).get("text"))


def _disguise(result: Mapping[str, Any]) -> str:
    """Say which words make a result look like a cancellation. A text among several blocks is the tool's report, not its outcome."""
    structured = result.get("structuredContent")
    said = [re.sub(mapping.PREFIX, "", one) for one in _texts(result)]
    candidates = [structured, members(structured).get("result"), said[0] if len(said) == len(items(result.get("content"))) == 1 else ""]
    return next((found for found in map(disguised_cancel, candidates) if found), "")


def _unlike(result: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Say how the structured result is plainly not what the schema asks for: absent, of another type, or without a member it demands."""
    if not schema:
        return ""
    if "structuredContent" not in result or result["structuredContent"] is None:
        return "structuredContent is missing"
    value, kinds = result["structuredContent"], _TYPES.get(text(schema.get("type")), ())
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        return f"it is no {schema['type']}"
    lacking = [text(name) for name in items(schema.get("required")) if text(name) not in members(value)]
    return f"{', '.join(lacking)} is missing" if lacking else ""
