"""Rows whose words are of another type, and ids that no UTF-8 carries: every reader reports or spells them out, none raises."""

import json
from typing import Any

import pytest

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

BY_FORMAT: dict[str, list[dict[str, Any]]] = {
    "openai-agents": [
        {"seq": 1, "src": "runtime", "kind": "run_item_stream_event:tool_called",
         "event": {"raw_item": {"type": "function_call", "call_id": "ID", "name": "pay", "arguments": "{}"}}},
        {"seq": 2, "src": "runtime", "kind": "run_item_stream_event:tool_output",
         "event": {"raw_item": {"type": "function_call_output", "call_id": "ID", "output": "x"}, "output": "x"}},
    ],
    "langgraph": [
        {"seq": 1, "src": "runtime", "kind": "updates",
         "event": {"model": {"messages": [{"type": "ai", "tool_calls": [{"name": "pay", "args": {}, "id": "ID", "type": "tool_call"}]}]}}},
        {"seq": 2, "src": "runtime", "kind": "tasks:start:tools",
         "event": {"id": "t", "name": "tools", "input.tool_calls": [{"id": "ID", "name": "pay", "args": {}, "type": "tool_call"}]}},
        {"seq": 3, "src": "runtime", "kind": "tools:tool-started", "event": {"tool_call_id": "ID", "tool_name": "pay", "input": {}}},
    ],
    "celery": [{"type": "task-received", "uuid": "ID", "name": "pay", "args": "()"},
               {"type": "task-progress", "uuid": "ID", "step": 2**70, "of": 1}],
    "openai-chat": [
        {"seq": 1, "src": "runtime", "kind": "chat.completion.chunk",
         "event": {"choices": [{"delta": {"tool_calls": [
             {"index": 0, "id": "ID", "function": {"name": "pay", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}},
    ],
}  # fmt: skip  # rows in lines
ODD: list[Any] = [None, 7, 2**70, True, [], [1], {}, {"a": 1}, "", "\ud800", "x" * 5000]


async def replayed(rows: list[Any], format_name: str) -> dict[str, Any]:
    clock, lines = RecordingClock(), [json.dumps(row).encode() for row in rows]
    ledger = MemoryLedger(now=clock.now)
    reader = reader_for(format_name, "capture:x")
    result = await replay(lines, reader=reader, ledger=ledger, clock=clock, file="x", format_name=format_name)
    assert await ledger.verify() == []
    return result


def places(node: Any) -> list[tuple[Any, Any]]:
    inner = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [(node, key) for key, _ in inner] + [place for _, value in inner for place in places(value)]


@pytest.mark.parametrize("format_name", BY_FORMAT)
async def test_any_word_may_be_of_any_type(format_name: str) -> None:
    rows = BY_FORMAT[format_name]
    for number in range(len(places(rows))):
        for odd in ODD:
            damaged = json.loads(json.dumps(rows))
            node, key = places(damaged)[number]
            node[key] = odd
            await replayed([{"src": "header", "type": "worker-online"}, *damaged], format_name)


@pytest.mark.parametrize("format_name", BY_FORMAT)
async def test_an_id_with_half_a_surrogate_pair_is_spelt_out_and_its_call_is_kept(format_name: str) -> None:
    rows = json.loads(json.dumps(BY_FORMAT[format_name]).replace('"ID"', '"call-\\ud800"'))

    result = await replayed(rows, format_name)

    assert [document["correlation"][0]["providerCallId"] for document in result["invocations"]] == ["call-\\ud800"]
