"""Puts a capture file, its reader and a ledger in memory together: what ``toolwitness replay`` does."""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, RowReader, executed_inputs, replay
from toolwitness.wire.stream_files import chunks_in

FORMATS: Final[Mapping[str, str]] = {
    "assistant-ui": "toolwitness.adapters.assistant_ui:Reader",
    "assistant-ui-messages": "toolwitness.adapters.assistant_ui:MessagesReader",
    "ag-ui": "toolwitness.adapters.ag_ui:Reader",
    "ai-sdk": "toolwitness.adapters.ai_sdk:Reader",
    "ai-sdk-messages": "toolwitness.adapters.ai_sdk:MessagesReader",
    "langgraph": "toolwitness.adapters.langgraph:Reader",
    "langgraph-recorder": "toolwitness.adapters.langgraph:HookReader",
    "anthropic": "toolwitness.adapters.anthropic_api:Reader",
    "openai-responses": "toolwitness.adapters.openai_api:ResponsesReader",
    "openai-chat": "toolwitness.adapters.openai_api:ChatReader",
    "openai-chat-messages": "toolwitness.adapters.openai_api:MessagesReader",
    "openai-agents": "toolwitness.adapters.openai_agents:Reader",
    "openai-agents-recorder": "toolwitness.adapters.openai_agents:HookReader",
    "pydantic-ai": "toolwitness.adapters.pydantic_ai:Reader",
    "pydantic-ai-recorder": "toolwitness.adapters.pydantic_ai:HookReader",
    "celery": "toolwitness.adapters.celery:Reader",
    "spring-ai": "toolwitness.adapters.spring_ai:Reader",
    "mcp": "toolwitness.adapters.mcp:Reader",
    "a2a": "toolwitness.adapters.a2a:Reader",
}
"""Every format that can be replayed, and the reader that is imported when it is asked for."""


def reader_for(format_name: str, source: str) -> RowReader:
    """Make the reader of a format; ``source`` is the event source that its events will carry.

    Raises:
        InvalidInput: no reader has this name.
    """
    place = FORMATS.get(format_name)
    if place is None:
        raise InvalidInput(f"No format is called {format_name!r}.", field="format", remedy=f"Use one of: {', '.join(FORMATS)}.")
    module, _, name = place.partition(":")
    make = cast("Callable[[str], RowReader]", getattr(import_module(module), name))
    return make(source)


async def replay_file(
    path: Path, format_name: str, *, relative_to: Path | None = None, executed: dict[str, str] | None = None
) -> dict[str, Any]:
    """Replay one capture file and give the result as one JSON object; the same file gives the same result.

    The event source is ``capture:`` and the path relative to ``relative_to`` (the working directory). ``executed`` is given the inputs with
    which the record says that each call was executed, which no document shows.

    Raises:
        InvalidInput: the format is unknown, the file cannot be read, or not one of its lines can.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", field="file", remedy="Check the path.") from error
    file = Path(os.path.relpath(path.resolve(), (relative_to or Path.cwd()).resolve())).as_posix()
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    reader = reader_for(format_name, f"capture:{file}")
    try:
        # A document is one row, however many lines it is written on: inside a JSON text no line break is a value.
        rows = iter([content.replace(b"\n", b" ")]) if path.suffix == ".json" else chunks_in(path.name, content)
        result = await replay(rows, reader=reader, ledger=ledger, clock=clock, file=file, format_name=format_name)
        if executed is not None:
            executed.update(await executed_inputs(ledger))
        return result
    finally:
        await ledger.close()
