"""What the model is told instead of a result, and a recorded result given once more.

The texts are those that ``desk.tool_messages`` gives at a model's next turn: they say what happened, by whom, and whether anything ran. The
framework's ``status`` has two words; whatever gave no answer is ``error``, since a false success gets built upon.
"""

import json
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.reading.lenient import items, members
from toolwitness.recording.desk_side import DeskSide
from toolwitness.service.messages import tool_messages
from toolwitness.service.sealing import open_value

_BLOCKS: Final = frozenset({"text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file"})
_COMMAND: Final = frozenset({"graph", "update", "resume", "goto"})
_FORM: Final = "langchain"


async def told(side: DeskSide, call: Any, record: InvocationRecord, tool: BaseTool | None = None) -> ToolMessage:
    """Tell how a call stands that is not run, or not run again; ``tool`` says how its result is written."""
    told, *_ = await tool_messages(side.place, record.task_id, form=_FORM, only=[record.id])
    marks: dict[str, Any] = {"additional_kwargs": dict(told["artifact"] or {}), "name": call["name"], "tool_call_id": call["id"]}
    message = ToolMessage(**(told | marks))
    if record.state is not State.SUCCEEDED or record.outcome is None or not record.outcome.data.get("result"):
        return message
    raw = await open_value(side.place.ledger, record.outcome.data["result"]["ref"])
    return message if raw is None else _as_first_told(message, json.loads(raw), tool)


def _as_first_told(message: ToolMessage, value: Any, tool: BaseTool | None) -> ToolMessage:
    """Give a recorded result as the framework gave it the first time."""
    pair, shown = items(value), members(value)
    if tool is not None and tool.response_format == "content_and_artifact" and len(pair) == 2:
        return message.model_copy(update={"content": _content(pair[0]), "artifact": pair[1]})
    if shown.get("type") == "tool" and "content" in shown:
        return message.model_copy(update={"content": _content(shown["content"]), "artifact": shown.get("artifact")})
    if shown and not _COMMAND.symmetric_difference(shown):
        value = "The call has ended well; its result was a command to the graph, which is not given twice."
    return message.model_copy(update={"content": _content(value)})


def _content(value: Any) -> Any:
    """Write a result as the framework writes it for the model."""
    if isinstance(value, str):
        return value
    blocks = items(value)
    if blocks and all(isinstance(block, str) or members(block).get("type") in _BLOCKS for block in blocks):
        return value
    return json.dumps(value, ensure_ascii=False)
