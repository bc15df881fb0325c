"""OpenAI's own wires: proposals exactly, results paired by order, nothing else; and the SDK's own vocabulary."""

import json
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_chunk import Choice as ChunkChoice
from openai.types.responses import ResponseItem, ResponseOutputItem, ResponseStreamEvent
from openai.types.responses.response_input_item import ResponseInputItem

from toolwitness.adapters.openai_api import TABLE, read_messages
from toolwitness.adapters.openai_api.mapping import CALLS, FINISHED, HOSTED, OUTPUTS, SILENT_EVENTS, SILENT_ITEMS
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.allowed.openai_api import allowed
from toolwitness.testing.truth.claims import claims_of
from toolwitness.wire.stream_files import chunks_in

ROOT = Path(__file__).parents[3]
CAPTURES = [
    path for path in sorted((ROOT / "spec" / "captures" / "provider-wire").glob("*.jsonl")) if not path.name.startswith("anthropic")
]


def format_of(path: Path) -> str:
    return "openai-chat" if path.name.startswith("chat") else "openai-responses"


async def replayed(objects: list[Any], format_name: str) -> dict[str, Any]:
    return await replayed_lines([json.dumps(one).encode() for one in objects], format_name)


async def replayed_lines(lines: list[bytes], format_name: str) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    reader = reader_for(format_name, "capture:x.jsonl")
    result = await replay(lines, reader=reader, ledger=ledger, clock=clock, file="x.jsonl", format_name=format_name)
    assert await ledger.verify() == []
    return result


def states(result: dict[str, Any]) -> list[str]:
    return [document["state"] for document in result["invocations"]]


def inputs(result: dict[str, Any]) -> list[Any]:
    return [document["inputs"].get("values", document["inputs"].get("valuesText")) for document in result["invocations"]]


def findings(result: dict[str, Any]) -> list[str]:
    return [finding["code"] for document in result["invocations"] for finding in document["findings"]]


def why(result: dict[str, Any]) -> str:
    return " | ".join(one["why"] for one in result["unmapped"])


# ── captures ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_a_capture_shows_every_claim_that_its_evidence_allows_and_no_start(path: Path) -> None:
    result = await replay_file(path, format_of(path), relative_to=ROOT)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    claims = {one.call: one for one in claims_of(result)}

    expected = list(allowed(rows))
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}
    said = {(event["adapter"].split("#")[1], event["type"].removeprefix("toolcall.")) for event in result["events"]}

    assert [(one.call, one.claim) for one in expected if one.call not in claims or not one.made(claims[one.call])] == []
    assert {(word, kind) for word, kind in said if kind not in table.get(word, ())} == set()
    assert not {"execution.started", "dispatch.accepted", "cancellation.acknowledged"} & {kind for _, kind in said}
    assert "does not have" not in why(result)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_the_same_stream_framed_as_server_sent_events_says_the_same(path: Path) -> None:
    events = [json.loads(line)["event"] for line in path.read_bytes().splitlines() if json.loads(line)["src"] == "runtime"]
    framed = b"".join(b": keep\r\nevent: x\r\ndata: " + json.dumps(one).encode() + b"\r\n\r\n" for one in events) + b"data: [DONE]\n\n"

    plain = await replayed(events, format_of(path))
    actual = await replayed_lines(list(chunks_in("x.sse", framed)), format_of(path))

    assert (states(actual), inputs(actual)) == (states(plain), inputs(plain))


# ── the vocabulary ──────────────────────────────────────────────────────────────────────────────────────────────────


def members_of(union: Any) -> set[str]:
    """Every ``type`` that a union of the SDK's models can hold."""
    if typing.get_origin(union) is typing.Annotated:
        return members_of(typing.get_args(union)[0])
    if typing.get_origin(union) in {typing.Union, types.UnionType}:
        return set().union(*map(members_of, typing.get_args(union)))
    if typing.is_typeddict(union):
        return members_of(typing.get_type_hints(union).get("type"))
    if typing.get_origin(union) is typing.Literal:
        return set(typing.get_args(union))
    field = getattr(union, "model_fields", {}).get("type")
    return members_of(field.annotation) if field is not None else set()


def test_every_event_of_the_responses_stream_is_mapped_or_says_nothing_for_a_reason() -> None:
    rows = {word.word.partition(" ")[0] for word in TABLE} | {"response.output_item.added"}

    events = members_of(ResponseStreamEvent)

    assert len(events) > 50
    assert events - rows - SILENT_EVENTS.keys() == set()
    assert SILENT_EVENTS.keys() - events == set()
    assert all(SILENT_EVENTS.values())


def test_every_item_of_the_responses_api_is_mapped_or_says_nothing_for_a_reason() -> None:
    known = CALLS.keys() | HOSTED.keys() | OUTPUTS | SILENT_ITEMS.keys() | {"mcp_approval_request", "mcp_approval_response"}

    items = members_of(ResponseOutputItem) | members_of(ResponseItem) | members_of(ResponseInputItem)

    assert len(items) > 25
    assert items - known == set()
    assert all(SILENT_ITEMS.values())


def test_every_reason_to_finish_is_known() -> None:
    reasons = {
        reason
        for choice in (Choice, ChunkChoice)
        for part in [choice.model_fields["finish_reason"].annotation]
        for literal in ([part] if typing.get_origin(part) is typing.Literal else typing.get_args(part))
        for reason in typing.get_args(literal)
    }

    assert reasons == set(FINISHED)


# ── the Responses API ───────────────────────────────────────────────────────────────────────────────────────────────


def created(response: str = "r1") -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": response}}


def begun(place: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": place, "item": {"type": "function_call", "arguments": "", **item}}


def done(place: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": place, "item": {"type": "function_call", **item}}


def call(place: int, call_id: str, arguments: str = '{"q":1}', name: str = "find") -> dict[str, Any]:
    return done(place, call_id=call_id, name=name, arguments=arguments)


def back(call_id: str, output: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


async def test_a_finished_call_is_proposed_and_nothing_more() -> None:
    result = await replayed([created(), call(0, "c1"), {"type": "response.completed", "response": {"id": "r1"}}], "openai-responses")

    assert (states(result), inputs(result)) == (["proposed"], [{"q": 1}])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("", ""),
        ('{"q":', '{"q":'),
        ("[1]", [1]),
        ('{"q":1,"q":2}', '{"q":1,"q":2}'),
        ('{"n":12345678901234567890}', {"n": 12345678901234567890}),
    ],
)
async def test_arguments_of_any_kind_are_kept_as_they_came_and_doubts_are_reported(written: str, kept: Any) -> None:
    result = await replayed([created(), call(0, "c1", written)], "openai-responses")

    assert states(result) == ["proposed"]
    assert inputs(result) == [kept]
    assert bool(result["unmapped"]) == (written != '{"n":12345678901234567890}')


async def test_a_cut_stream_proposes_what_was_whole_and_reports_what_was_not() -> None:
    def piece(place: int, text: str) -> dict[str, Any]:
        return {"type": "response.function_call_arguments.delta", "output_index": place, "delta": text}

    stream = [
        created(),
        begun(0, call_id="c1", name="find"),
        piece(0, '{"q":'),
        piece(0, "1}"),
        begun(1, call_id="c2", name="book"),
        piece(1, '{"to'),
    ]
    result = await replayed(stream, "openai-responses")

    assert (states(result), inputs(result)) == (["proposed"], [{"q": 1}])
    assert "book c2 was still being written: nothing is proposed" in why(result)


async def test_a_stream_that_is_read_again_from_the_middle_says_nothing_twice() -> None:
    stream = [created(), call(0, "c1"), call(1, "c2"), created(), call(0, "c1"), call(1, "c2")]
    whole = {
        "type": "response.completed",
        "response": {"id": "r1", "output": [call(0, "c1")["item"], call(1, "c2")["item"], call(2, "c3")["item"]]},
    }

    result = await replayed([*stream, whole], "openai-responses")

    assert states(result) == ["proposed"] * 3


async def test_an_id_used_twice_in_one_response_is_two_calls_whose_outputs_are_paired_by_order() -> None:
    turn = [created(), call(0, "c1", '{"q":1}'), call(1, "c1", '{"q":2}')]

    both = await replayed([*turn, back("c1", "one"), back("c1", "two")], "openai-responses")
    one = await replayed([*turn, back("c1", "one"), created("r2")], "openai-responses")

    assert states(both) == ["succeeded", "succeeded"]
    assert [document["output"]["resultText"] for document in both["invocations"]] == ["one", "two"]
    assert states(one) == ["proposed", "proposed"]
    assert "ambiguous-result-pairing:c1" in why(one)
    assert "unassigned-result:one" in why(one)


async def test_a_second_output_of_one_call_is_reported_and_replaces_nothing() -> None:
    result = await replayed([created(), call(0, "c1"), back("c1", "one"), back("c1", "two")], "openai-responses")

    assert [document["output"]["resultText"] for document in result["invocations"]] == ["one"]
    assert "unassigned-result:two" in why(result)


@pytest.mark.parametrize("output", ["cancelled by user", "Error: 502", {"status": "cancelled"}, {"isError": True}, '{"error": "x"}'])
async def test_what_reads_like_a_cancellation_or_an_error_is_never_believed(output: Any) -> None:
    result = await replayed([created(), call(0, "c1"), back("c1", output)], "openai-responses")

    assert states(result) == ["proposed"]
    assert "outcome-unknown" in findings(result)


@pytest.mark.parametrize("output", ["ok", "", 0, False, None, [], {"n": 10**20}, [{"type": "output_text", "text": "fine"}]])
async def test_an_output_of_any_kind_is_a_success(output: Any) -> None:
    assert states(await replayed([created(), call(0, "c1"), back("c1", output)], "openai-responses")) == ["succeeded"]


async def test_an_output_that_is_not_final_says_so() -> None:
    assert findings(await replayed([created(), call(0, "c1"), back("c1", "half", status="incomplete")], "openai-responses")) == [
        "outcome-unknown"
    ]
    assert states(await replayed([created(), call(0, "c1"), back("c1", "half", status="in_progress")], "openai-responses")) == ["proposed"]


async def test_an_approval_of_a_hosted_call_is_followed_to_its_end() -> None:
    asked = done(0, type="mcp_approval_request", id="m1", name="drop", arguments="{}")
    yes = {"type": "mcp_approval_response", "approval_request_id": "m1", "approve": True, "reason": "fine"}
    ran = done(0, type="mcp_call", id="mc1", name="drop", arguments="{}", status="completed", output="gone", approval_request_id="m1")

    result = await replayed([created(), asked, yes, created("r2"), ran], "openai-responses")

    assert states(result) == ["succeeded"]
    assert result["invocations"][0]["authorization"]["decidedBy"] == "unrecorded"
    assert states(await replayed([created(), asked], "openai-responses")) == ["awaiting_approval"]


@pytest.mark.parametrize(
    ("kind", "inputs_field"), [("web_search_call", "action"), ("file_search_call", "queries"), ("code_interpreter_call", "code")]
)
async def test_what_the_provider_runs_ends_by_its_own_status(kind: str, inputs_field: str) -> None:
    async def state_for(status: str) -> str:
        return states(await replayed([created(), done(0, type=kind, id="h1", status=status, **{inputs_field: "x"})], "openai-responses"))[0]

    expected = {"completed": "succeeded", "failed": "failed", "in_progress": "proposed", "incomplete": "proposed"}
    assert {status: await state_for(status) for status in expected} == expected


async def test_a_whole_response_says_what_its_stream_would_have_said() -> None:
    whole = {
        "id": "r1",
        "object": "response",
        "status": "completed",
        "output": [call(0, "c1")["item"], {"type": "message"}, call(2, "c2")["item"]],
    }

    assert states(await replayed([whole, back("c2", "fine")], "openai-responses")) == ["proposed", "succeeded"]


async def test_an_item_that_nobody_knows_is_reported() -> None:
    assert "does not have this word" in why(await replayed([created(), done(0, type="brand_new", id="x")], "openai-responses"))


# ── Chat Completions ────────────────────────────────────────────────────────────────────────────────────────────────


def chunk(*pieces: dict[str, Any], finish: str | None = None, response: str = "x1", choice: int = 0) -> dict[str, Any]:
    return {
        "id": response,
        "object": "chat.completion.chunk",
        "choices": [{"index": choice, "delta": {"tool_calls": list(pieces)}, "finish_reason": finish}],
    }


def piece(index: int | None, arguments: str = "", *, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


async def test_pieces_of_parallel_calls_are_put_together_by_their_index() -> None:
    stream = [
        chunk(piece(0, "", call_id="a", name="find"), piece(1, '{"t', call_id="b", name="book")),
        chunk(piece(0, '{"q":1}')), chunk(piece(1, 'o":2}')), chunk(finish="tool_calls"),
    ]  # fmt: skip  # one stream

    assert inputs(await replayed(stream, "openai-chat")) == [{"q": 1}, {"to": 2}]


async def test_a_character_that_two_pieces_tore_apart_is_made_whole_again() -> None:
    stream = [chunk(piece(0, '{"q":"\ud83d', call_id="a", name="find")), chunk(piece(0, '\ude00"}')), chunk(finish="tool_calls")]

    assert inputs(await replayed(stream, "openai-chat")) == [{"q": "\U0001f600"}]


async def test_calls_that_a_provider_puts_under_one_index_are_told_apart_by_their_ids() -> None:
    stream = [chunk(piece(0, "{}", call_id="a", name="find")), chunk(piece(0, "{}", call_id="b", name="book")), chunk(finish="stop")]

    assert [document["tool"] for document in (await replayed(stream, "openai-chat"))["invocations"]] == ["find", "book"]


async def test_two_choices_of_one_response_are_kept_apart() -> None:
    stream = [
        chunk(piece(0, '{"q":1}', call_id="a", name="find"), choice=0),
        chunk(piece(0, '{"q":2}', call_id="b", name="find"), choice=1),
    ]
    ends = [chunk(finish="tool_calls", choice=1), chunk(finish="tool_calls", choice=0)]

    assert inputs(await replayed([*stream, *ends], "openai-chat")) == [{"q": 2}, {"q": 1}]


async def test_a_cut_chat_stream_proposes_what_was_whole_and_reports_what_was_not() -> None:
    stream = [chunk(piece(0, '{"q":1}', call_id="a", name="find")), chunk(piece(1, '{"to', call_id="b", name="book"))]

    result = await replayed(stream, "openai-chat")

    assert inputs(result) == [{"q": 1}]
    assert "book b was still being written" in why(result)


async def test_an_unknown_reason_to_finish_is_reported_and_the_old_form_of_a_call_is_read() -> None:
    old = {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"function_call": {"name": "find", "arguments": "{}"}}}],
    }

    result = await replayed([old, chunk(finish="brand_new", response="x")], "openai-chat")

    assert states(result) == ["proposed"]
    assert "brand_new" in why(result)


def asks(*calls: tuple[str, str, str]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}} for call_id, name, arguments in calls
    ]}  # fmt: skip  # one message


def tells(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


REUSED = [
    {"role": "user", "content": "make two notes, then read both"},
    asks(("X1", "create_note", '{"name":"a"}')), tells("X1", "created a"),
    asks(("X1", "create_note", '{"name":"b"}')), tells("X1", "created b"),
    asks(("X1", "read_note", '{"name":"a"}'), ("X1", "read_note", '{"name":"b"}')), tells("X1", "first"),
]  # fmt: skip  # one message or turn a line


@pytest.mark.parametrize(
    "lines", [REUSED, [{"format": "openai-chat-messages/1", "messages": REUSED}]], ids=["a message a line", "one list"]
)
async def test_one_id_for_every_call_is_four_calls_and_an_ambiguous_answer_belongs_to_none(lines: list[Any]) -> None:
    result = await replayed(lines, "openai-chat-messages")

    assert states(result) == ["succeeded", "succeeded", "proposed", "proposed"]
    assert [document["output"].get("resultText") for document in result["invocations"]] == ["created a", "created b", None, None]
    assert "provider-id-reused:X1" in why(result)
    assert "ambiguous-result-pairing:X1" in why(result)
    assert "unassigned-result:first" in why(result)


def test_a_list_of_messages_can_be_read_without_a_file() -> None:
    drafts, notes = read_messages(REUSED, source="conversation:7")

    assert [str(draft.event.kind) for draft in drafts].count("invocation.proposed") == 4
    assert any("ambiguous-result-pairing" in reason for _, reason in notes)
    again, _ = read_messages(REUSED, source="conversation:7")
    assert [draft.event.id for draft in again] == [draft.event.id for draft in drafts]


async def test_an_answer_to_a_call_that_nobody_was_seen_to_propose_is_taken_as_it_comes() -> None:
    result = await replayed([tells("nobody", "fine")], "openai-chat-messages")

    assert states(result) == ["succeeded"]
    assert "proposal-not-recorded" in findings(result)


# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(["c1", "function_call", "response.output_item.done", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "item", "output", "role", "messages", "choices", "delta", "tool_calls", "id", "call_id", "index"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=6), st.sampled_from(["openai-responses", "openai-chat", "openai-chat-messages"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_whatever_a_stranger_writes_nothing_is_raised_and_nothing_is_started(objects: list[Any], format_name: str) -> None:
    result = await replayed([{"type": "response.created"}, *(one for one in objects if isinstance(one, dict))], format_name)

    assert not {"running", "queued", "cancelled", "expired"} & set(states(result))
