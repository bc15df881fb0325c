"""Anthropic's own wire: proposals exactly, results by is_error and order, nothing else; and the SDK's own vocabulary."""

import json
import types
import typing
from pathlib import Path
from typing import Any

import anthropic.types as sdk
import pytest
from anthropic.types import beta
from anthropic.types.raw_content_block_start_event import ContentBlock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwitness.adapters.anthropic_api import TABLE
from toolwitness.adapters.anthropic_api.mapping import CALLS, SERVER_RESULTS, SILENT_BLOCKS, SILENT_DELTAS, STOPPED
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.allowed.anthropic_api import allowed
from toolwitness.testing.truth.claims import claims_of

ROOT = Path(__file__).parents[3]
CAPTURES = sorted((ROOT / "spec" / "captures" / "provider-wire").glob("anthropic*.jsonl"))


async def replayed(objects: list[Any]) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    reader = reader_for("anthropic", "capture:x.jsonl")
    lines = [json.dumps(one).encode() for one in objects]
    result = await replay(lines, reader=reader, ledger=ledger, clock=clock, file="x.jsonl", format_name="anthropic")
    assert await ledger.verify() == []
    return result


def states(result: dict[str, Any]) -> list[str]:
    return [document["state"] for document in result["invocations"]]


def inputs(result: dict[str, Any]) -> list[Any]:
    return [document["inputs"].get("values", document["inputs"].get("valuesText")) for document in result["invocations"]]


def why(result: dict[str, Any]) -> str:
    return " | ".join(one["why"] for one in result["unmapped"])


def begin(index: int, call_id: str, name: str = "find", kind: str = "tool_use") -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, "id": call_id, "name": name, "input": {}}}


def more(index: int, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


START = {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}}


def call(index: int, call_id: str, text: str = '{"q":1}') -> list[dict[str, Any]]:
    return [begin(index, call_id), more(index, text), stop(index)]


def back(call_id: str, content: Any, **flags: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **flags}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_a_capture_shows_every_claim_that_its_evidence_allows_and_no_start(path: Path) -> None:
    result = await replay_file(path, "anthropic", relative_to=ROOT)
    claims = {one.call: one for one in claims_of(result)}

    expected = list(allowed([json.loads(line) for line in path.read_bytes().splitlines()]))
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}
    said = {(event["adapter"].split("#")[1], event["type"].removeprefix("toolcall.")) for event in result["events"]}

    assert expected
    assert [(one.call, one.claim) for one in expected if one.call not in claims or not one.made(claims[one.call])] == []
    assert {(word, kind) for word, kind in said if kind not in table.get(word, ())} == set()
    assert "execution.started" not in {kind for _, kind in said}
    assert "does not have" not in why(result)


# ── the vocabulary ──────────────────────────────────────────────────────────────────────────────────────────────────


def members_of(union: Any) -> set[str]:
    """Every ``type`` that a union of the SDK's models can hold, or every word of a literal."""
    union = getattr(union, "__value__", union)
    if typing.get_origin(union) is typing.Annotated:
        return members_of(typing.get_args(union)[0])
    if typing.get_origin(union) in {typing.Union, types.UnionType}:
        return set().union(*map(members_of, typing.get_args(union)))
    if typing.get_origin(union) is typing.Literal:
        return set(typing.get_args(union))
    if typing.is_typeddict(union):
        return members_of(typing.get_type_hints(union).get("type"))
    field = getattr(union, "model_fields", {}).get("type")
    return members_of(field.annotation) if field is not None else set()


def test_every_event_block_delta_and_reason_to_stop_is_mapped_or_says_nothing_for_a_reason() -> None:
    events = members_of(sdk.RawMessageStreamEvent) | members_of(beta.BetaRawMessageStreamEvent)
    blocks = members_of(ContentBlock) | members_of(sdk.ContentBlockParam) | members_of(beta.beta_raw_content_block_start_event.ContentBlock)
    deltas = members_of(sdk.RawContentBlockDelta) | members_of(beta.BetaRawContentBlockDelta)
    reasons = members_of(sdk.StopReason) | members_of(beta.BetaStopReason)

    assert len(events) == 6
    assert len(blocks) > 15
    assert events <= {word.word for word in TABLE}
    assert blocks - CALLS - SERVER_RESULTS - SILENT_BLOCKS.keys() - {"tool_result"} == set()
    assert deltas - SILENT_DELTAS.keys() == {"input_json_delta"}
    assert reasons == set(STOPPED)


# ── the stream ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_finished_block_is_proposed_with_its_very_text_and_nothing_more() -> None:
    result = await replayed([START, *call(0, "t1", '{"n":12345678901234567890}')])

    assert (states(result), inputs(result)) == (["proposed"], [{"n": 12345678901234567890}])


async def test_a_character_that_two_pieces_tore_apart_is_made_whole_again() -> None:
    result = await replayed([START, begin(0, "t1"), more(0, '{"q":"\ud83d'), more(0, '\ude00"}'), stop(0)])

    assert inputs(result) == [{"q": "\U0001f600"}]


@pytest.mark.parametrize("text", ["", '{"q":', "[1]", '{"q":1,"q":2}'])
async def test_inputs_of_any_kind_are_kept_and_doubts_are_reported(text: str) -> None:
    result = await replayed([START, *call(0, "t1", text)])

    assert states(result) == ["proposed"]
    assert bool(result["unmapped"]) == bool(text)


async def test_a_cut_stream_proposes_what_was_whole_and_reports_what_was_not() -> None:
    result = await replayed([START, *call(0, "t1"), begin(1, "t2"), more(1, '{"a":2}'), begin(2, "t3", "book"), more(2, '{"to')])

    assert inputs(result) == [{"q": 1}, {"a": 2}]
    assert "book t3 was still being written: nothing is proposed" in why(result)


async def test_a_result_an_error_and_a_cancellation_that_looks_like_either() -> None:
    results = [
        back("a", "fine"),
        back("b", "502", is_error=True),
        back("c", "cancelled by user"),
        back("d", "AbortError: stop", is_error=True),
    ]

    result = await replayed([START, *call(0, "a"), *call(1, "b"), *call(2, "c"), *call(3, "d"), *results])

    assert states(result) == ["succeeded", "failed", "proposed", "proposed"]
    assert [d["tool"] for d in result["invocations"] if any(f["code"] == "outcome-unknown" for f in d["findings"])] == ["find", "find"]


@pytest.mark.parametrize("content", ["", None, [], [{"type": "text", "text": "fine"}], [{"type": "image"}, {"type": "text", "text": "x"}]])
async def test_a_result_of_any_kind_is_a_success(content: Any) -> None:
    assert states(await replayed([START, *call(0, "a"), back("a", content)])) == ["succeeded"]


async def test_an_id_used_twice_in_one_message_is_two_calls_and_one_answer_belongs_to_neither() -> None:
    turn = [START, *call(0, "a"), *call(1, "a")]

    assert states(await replayed([*turn, back("a", "one"), back("a", "two")])) == ["succeeded", "succeeded"]
    one = await replayed([*turn, back("a", "one")])
    assert states(one) == ["proposed", "proposed"]
    assert "ambiguous-result-pairing:a" in why(one)


async def test_whole_messages_say_what_their_stream_would_have_said() -> None:
    said = {
        "role": "assistant",
        "id": "m",
        "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "find", "input": {"q": 1}}],
    }
    answer = {"role": "user", "content": [back("a", "fine"), {"type": "text", "text": "go on"}]}

    for objects in ([said, answer], [{"messages": [said, answer]}]):
        result = await replayed(objects)
        assert (states(result), inputs(result)) == (["succeeded"], [{"q": 1}])


async def test_what_the_provider_runs_ends_by_its_own_block() -> None:
    def result_of(content: Any, kind: str = "web_search_tool_result", **flags: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": 1, "content_block": {"type": kind, "tool_use_id": "s", "content": content, **flags}}

    served = [START, begin(0, "s", "web_search", "server_tool_use"), more(0, '{"query":"x"}'), stop(0)]
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}

    assert states(await replayed([*served, result_of([{"title": "x"}])])) == ["succeeded"]
    assert states(await replayed([*served, result_of(failed)])) == ["failed"]
    assert states(await replayed([*served, result_of([{"type": "text", "text": "no"}], "mcp_tool_result", is_error=True)])) == ["failed"]


async def test_words_that_nobody_knows_are_reported() -> None:
    unknown = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "brand_new"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}},
        {"type": "message_delta", "delta": {"stop_reason": "new_reason"}},
        {"type": "new_event"},
    ]

    result = await replayed([START, *unknown])

    assert result["invocations"] == []
    assert len(result["unmapped"]) == 4


NAMES = st.sampled_from(
    ["type", "index", "content_block", "delta", "message", "messages", "role", "content", "id", "tool_use_id", "partial_json"]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.text(max_size=6)
    | st.sampled_from(["tool_use", "tool_result", "content_block_start", "assistant", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(NAMES, JSON, max_size=4), max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_whatever_a_stranger_writes_nothing_is_raised_and_nothing_is_started(objects: list[Any]) -> None:
    result = await replayed([START, *objects])

    assert not {"running", "queued", "cancelled", "expired"} & set(states(result))
