"""What the model is told instead of a result, and a recorded result given once more. Only a failure comes with the word for error (R5)."""

import json
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.reading.lenient import items, members

MARK: Final = "toolwitness"
"""The key in a message's ``additional_kwargs`` under which an outcome is told that is no result of the tool."""
_BLOCKS: Final = frozenset({"text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file"})
_COMMAND: Final = frozenset({"graph", "update", "resume", "goto"})


def _message(call: Any, content: Any, *, status: str, kind: str, record: InvocationRecord, **more: Any) -> ToolMessage:
    marks = {MARK: {"kind": kind, "state": str(record.state), "invocation": record.id}}
    return ToolMessage(content=content, name=call["name"], tool_call_id=call["id"], status=status, additional_kwargs=marks, **more)  # type: ignore[arg-type]  # status is one of the framework's two words


def not_made(call: Any, record: InvocationRecord, why: str) -> ToolMessage:
    """Say that a call was not made: denied, dismissed, withdrawn or expired. That is an outcome and no error."""
    return _message(call, f"The call was not made. {why}", status="success", kind="cancelled", record=record)


def stopped(call: Any, record: InvocationRecord, reason: str | None) -> ToolMessage:
    """Say that a call was stopped alone."""
    return _message(call, f"The call was cancelled: {reason or 'no reason was given'}.", status="success", kind="cancelled", record=record)


def cancelled_itself(call: Any, record: InvocationRecord) -> ToolMessage:
    """Say that a tool cancelled itself, which nobody had asked for."""
    return _message(call, "The tool cancelled itself; nobody had asked for it.", status="error", kind="error", record=record)


def told_again(call: Any, record: InvocationRecord, tool: BaseTool | None, value: Any, failure: str) -> ToolMessage:
    """Tell once more how a call ended that is not to be run a second time; ``value`` is its recorded result, ``failure`` its error."""
    if record.state is State.SUCCEEDED:
        return _result_again(call, record, tool, value)
    if record.state is State.FAILED:
        return _message(call, f"The call has failed, and is not run again: {failure}", status="error", kind="error", record=record)
    closure = record.closure
    if closure is not None and record.starts:
        return stopped(call, record, f"{closure.reason}, after it had started")
    if closure is not None:
        return not_made(call, record, f"{closure.kind} by {closure.initiator}: {closure.reason}")
    if record.state is State.EXPIRED:
        return not_made(call, record, f"The {record.elapsed} deadline passed.")
    said = "The call was started, and how it ended is not on record. It is not run again: first find out what it did."
    return _message(call, said, status="error", kind="error", record=record)


def _result_again(call: Any, record: InvocationRecord, tool: BaseTool | None, value: Any) -> ToolMessage:
    artifact = None
    pair = items(value)
    if tool is not None and tool.response_format == "content_and_artifact" and len(pair) == 2:
        value, artifact = pair
    shown = members(value)
    if shown.get("type") == "tool" and "content" in shown:
        value = shown["content"]
    elif shown and not _COMMAND.symmetric_difference(shown):
        value = "The call has ended well; its result was a command to the graph, which is not given twice."
    return _message(call, _content(value), status="success", kind="ok", record=record, artifact=artifact)


def _content(value: Any) -> Any:
    """Write a result as the framework writes it for the model."""
    if isinstance(value, str):
        return value
    blocks = items(value)
    if blocks and all(isinstance(block, str) or members(block).get("type") in _BLOCKS for block in blocks):
        return value
    return json.dumps(value, ensure_ascii=False)
