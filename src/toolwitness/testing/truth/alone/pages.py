"""Packages that keep a page's state: what their own reducer said in the end, in the words of their own components."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolwitness.testing.truth.alone.shown import Board
from toolwitness.testing.truth.capture import Rows
from toolwitness.testing.truth.layout import Capture

AI_SDK: Final[Mapping[str, str]] = {
    "input-streaming": "proposed",
    "input-available": "running",
    "approval-requested": "awaiting_approval",
    "approval-responded": "awaiting_approval",
    "output-available": "succeeded",
    "output-error": "failed",
    "output-denied": "denied",
}
"""Part states of a UIMessage, as AI Elements' own ``Tool`` labels them: Pending, Running, Awaiting Approval, Responded, Completed, …"""

ASSISTANT_UI: Final[Mapping[str, str]] = {
    "running": "running",
    "requires-action": "awaiting_input",
    "complete": "succeeded",
    "incomplete": "failed",
}
"""The status that assistant-ui hands to a tool's component; ``incomplete`` with reason ``cancelled`` is shown as cancelled."""

COPILOTKIT: Final[Mapping[str, str]] = {"inProgress": "proposed", "executing": "running", "complete": "succeeded"}
"""CopilotKit's ToolCallStatus: in progress means that its arguments are still coming."""


def ai_sdk(capture: Capture, rows: Rows) -> Board:
    """Read the last UIMessage beside an AI SDK capture; without one, reduce the chunks as its own reducer does."""
    board = Board()
    page = _json(capture)
    parts = _parts(page)
    for part in parts:
        _ai_sdk_part(board, part)
    if not page:
        for row in rows:
            if row["src"] == "runtime":
                ai_sdk_chunk(board, row["event"], row["seq"])
    return board


def _ai_sdk_part(board: Board, part: Mapping[str, Any]) -> None:
    state = str(part.get("state"))
    tool = str(part.get("toolName") or str(part.get("type")).removeprefix("tool-"))
    word = f"{state}{' (preliminary)' if part.get('preliminary') else ''}"
    board.say(str(part.get("toolCallId") or ""), AI_SDK.get(state, "proposed"), word, tool=tool, result=part.get("output"))


def ai_sdk_chunk(board: Board, chunk: Mapping[str, Any], row: int) -> None:
    """Reduce one chunk of a UI message stream."""
    kind, call = str(chunk.get("type")), str(chunk.get("toolCallId") or "")
    states = {
        "tool-input-start": "proposed", "tool-input-available": "running", "tool-input-error": "failed",
        "tool-approval-request": "awaiting_approval", "tool-output-available": "succeeded", "tool-output-error": "failed",
        "tool-output-denied": "denied",
    }  # fmt: skip  # pairs in lines
    if kind in states:
        board.say(call, states[kind], kind, row=row, tool=str(chunk.get("toolName") or ""), result=chunk.get("output"))


def _parts(page: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    messages = [page.get("last"), *(page.get("messages") or ())]
    for message in messages:
        for part in (message or {}).get("parts") or ():
            if part.get("toolCallId"):
                yield part


def ag_ui(capture: Capture, rows: Rows) -> Board:
    """Read the client's messages: a call with a tool message is complete, one with an error on it failed, the others are in progress."""
    board = Board()
    kept = _json(capture).get(_stem(capture))
    if not isinstance(kept, Mapping):
        for row in rows:
            if row["src"] == "runtime":
                ag_ui_chunk(board, row["event"], row["seq"])
        return board
    for message in kept.get("messages") or ():
        for call in message.get("tool_calls") or ():
            provider_id, _, rest = str(call).partition(":")
            board.say(provider_id, "running", "in progress", tool=rest.partition("(")[0])
        if message.get("role") == "tool":
            state = "failed" if message.get("error") else "succeeded"
            board.say(str(message.get("id")), state, "a tool message", result=_parsed(message.get("content")))
    return board


def ag_ui_chunk(board: Board, chunk: Mapping[str, Any], row: int) -> None:
    """Reduce one event of the protocol as its client does."""
    kind, call = str(chunk.get("type")), str(chunk.get("toolCallId") or "")
    if kind == "TOOL_CALL_START":
        board.say(call, "running", "in progress", row=row, tool=str(chunk.get("toolCallName") or ""))
    elif kind == "TOOL_CALL_RESULT":
        board.say(call, "succeeded", "a tool message", row=row, result=_parsed(chunk.get("content")))


def assistant_ui(capture: Capture, rows: Rows) -> Board:
    """Read the status that a tool's component gets; of a capture that holds what the page showed, the last one."""
    board = Board()
    page = _json(capture)
    name = capture.path.name.removesuffix(".jsonl")
    kept = next((page[one] for one in (f"{name}.txt", f"{name}.sse") if isinstance(page.get(one), Mapping)), None)
    for number, tool in enumerate((kept or {}).get("tools") or ()):
        known = any(call == tool.get("id") for call in board.calls)
        call = f"{tool.get('id')}#{number}" if known else str(tool.get("id"))
        _assistant_ui(board, call, tool.get("renderer_status") or {}, is_error=bool(tool.get("isError")), result=tool.get("result"))
    for row in rows:
        if row["src"] == "truth" and row["kind"] == "ui":
            _assistant_ui_row(board, row["event"], row["seq"])
    return board


def _assistant_ui_row(board: Board, event: Mapping[str, Any], row: int) -> None:
    if isinstance(event.get("part"), list):
        _, status, result, error = [*event["part"], None, None, None, None][:4]
        _assistant_ui(board, "1", status or {}, is_error=error is True, result=result, row=row)
    for number, tool in enumerate(event.get("tool") or (), start=1):
        _assistant_ui(board, str(number), tool.get("s") or {}, is_error=bool(tool.get("isError")), result=tool.get("result"), row=row)


def _assistant_ui(board: Board, call: str, status: Mapping[str, Any], *, is_error: bool, result: Any, row: int = 0) -> None:
    kind, reason = str(status.get("type")), str(status.get("reason") or "")
    state = "cancelled" if (kind, reason) == ("incomplete", "cancelled") else ASSISTANT_UI.get(kind, "proposed")
    state = "failed" if state == "succeeded" and is_error else state
    board.say(call, state, f"{kind} {reason}".strip(), row=row, result=result)


def copilotkit(capture: Capture, rows: Rows) -> Board:
    """Read the status that CopilotKit's formula gives to a call's component."""
    board = Board()
    for row in rows:
        if row["src"] == "truth" and row["kind"] == "status":
            for call, word in (row["event"].get("v") or {}).items():
                status, _, result = str(word).partition("(")
                board.say(call, COPILOTKIT.get(status, "proposed"), status, row=row["seq"], result=_parsed(result.rstrip(")")))
    return board


def _stem(capture: Capture) -> str:
    return re.sub(r"\.jsonl$", "", capture.path.name)


def _json(capture: Capture) -> Mapping[str, Any]:
    try:
        page: Any = json.loads(capture.ui.read_bytes()) if capture.ui else {}
    except ValueError:
        page = {}
    return page if isinstance(page, dict) else {}


def _parsed(content: Any) -> Any:
    try:
        return json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return content
