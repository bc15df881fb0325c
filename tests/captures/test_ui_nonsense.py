"""Streams of real words with nonsense in them: nothing raises, nothing is claimed that no wire can tell, the same says the same twice."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

WORDS = json.loads((Path(__file__).parents[1] / "node" / "vocabulary.json").read_text(encoding="utf-8"))
NEVER = {"queued", "partially_complete"}

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 2**70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "c1", "c2", "a1", "\ud83d", "x" * 400])
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)
ids = st.sampled_from(["c1", "c2", "c1", ""]) | anything
texts = (
    st.sampled_from(['{"q":', "1}", "{}", "[1]", "AbortError: x", "Error: boom", "User denied it", '{"status": "cancelled"}']) | anything
)
member = st.fixed_dictionaries({}, optional={
    "toolCallId": ids, "toolName": texts, "toolCallName": texts, "input": anything, "output": anything, "errorText": texts, "delta": texts,
    "inputTextDelta": texts, "argsTextDelta": texts, "textDelta": texts, "approvalId": st.sampled_from(["a1", "a2"]) | anything,
    "approved": anything, "isAutomatic": anything, "preliminary": anything, "isPreliminary": anything, "isError": anything,
    "content": texts, "result": texts, "error": anything, "code": st.just("abort") | anything,
    "messages": st.lists(anything, max_size=2) | anything,
    "parentToolCallId": ids, "path": st.lists(st.integers(-1, 2), max_size=2) | anything, "messageId": anything, "reason": anything,
    "approval": st.fixed_dictionaries({}, optional={
        "id": anything, "approved": anything, "resolution": st.just("expired") | anything,
    }) | anything,
    "part": st.fixed_dictionaries({"type": st.just("tool-call")}, optional={"toolCallId": ids, "toolName": texts}) | anything,
    "outcome": st.fixed_dictionaries({"type": st.sampled_from(["success", "interrupt", "cancelled", "odd"])}, optional={
        "interrupts": st.lists(st.fixed_dictionaries({}, optional={
            "id": st.just("i1") | anything, "toolCallId": ids, "reason": texts,
        })) | anything,
        "pendingToolCallIds": st.lists(ids) | anything,
    }) | anything,
})  # fmt: skip  # one line a kind of member
acts = st.fixed_dictionaries(
    {"src": st.just("driver"), "kind": st.sampled_from(["respond", "stop", "input", "odd"]), "event": member | anything}
)


def chunks(key: str, words: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Give streams of these words, each with members that may make sense."""
    one = st.builds(lambda word, more: {**more, key: word}, st.sampled_from(words), member)
    return st.lists(one | acts, min_size=1, max_size=14)


async def read(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    clock = RecordingClock()
    lines = [json.dumps(row).encode() for row in rows]
    reader = reader_for(name, "capture:odd.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="odd.jsonl", format_name=name)


async def check(rows: list[dict[str, Any]], name: str) -> None:
    first, second = await read(rows, name), await read(rows, name)

    assert not NEVER & {one["state"] for one in first["invocations"]}
    assert [(event["id"], event["type"], event["verdict"]) for event in first["events"]] == [
        (event["id"], event["type"], event["verdict"]) for event in second["events"]
    ]
    assert not [event for event in first["events"] if (event["reason"] or "").startswith(("malformed", "unknown"))]


often = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@given(chunks("type", sorted({*WORDS["ai6"]["chunks"], *WORDS["ai7"]["chunks"], "odd"})))
@often
async def test_ai_sdk(rows: list[dict[str, Any]]) -> None:
    await check(rows, "ai-sdk")


@given(chunks("type", [*WORDS["agui"]["events"], "odd"]))
@often
async def test_ag_ui(rows: list[dict[str, Any]]) -> None:
    await check(rows, "ag-ui")


@given(chunks("type", [*WORDS["assistant"]["chunks"], "odd"]))
@often
async def test_the_transport_of_assistant_ui(rows: list[dict[str, Any]]) -> None:
    await check(rows, "assistant-ui")


@given(
    st.lists(
        st.builds(lambda code, value: {"code": code, "value": value}, st.sampled_from(WORDS["assistant"]["codes"]), member | anything),
        min_size=1,
        max_size=14,
    )
)
@often
async def test_the_data_stream_of_assistant_ui(rows: list[dict[str, Any]]) -> None:
    await check(rows, "assistant-ui")


stored = st.builds(
    lambda state, more: {"type": "tool-book", "state": state, **more}, st.sampled_from([*WORDS["ai7"]["states"], "odd"]), member
)  # fmt: skip  # one part


@given(
    st.lists(
        st.fixed_dictionaries({"parts": st.lists(stored | anything, max_size=4)}, optional={"metadata": anything}), min_size=1, max_size=4
    )
)
@often
async def test_stored_messages(rows: list[dict[str, Any]]) -> None:
    await check(rows, "ai-sdk-messages")


kept = st.builds(lambda more: {"type": "tool-call", **more}, member)


@given(st.lists(st.fixed_dictionaries({"content": st.lists(kept | anything, max_size=4)}), min_size=1, max_size=4))
@often
async def test_stored_messages_of_assistant_ui(rows: list[dict[str, Any]]) -> None:
    await check(rows, "assistant-ui-messages")
