"""Every OpenAI Agents capture, replayed and judged; streams that are cut, damaged or nonsense; and the framework's own vocabulary."""

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import agents.items
import pytest
from agents.stream_events import AgentUpdatedStreamEvent, RawResponsesStreamEvent, RunItemStreamEvent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwitness.adapters.openai_agents import TABLE, words
from toolwitness.adapters.openai_agents.mapping import DEFAULT_ERROR, ITEMS, REJECTION, TIMED_OUT
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.truth.running import Judged, judge
from toolwitness.testing.truth.score import score

ROOT = Path(__file__).parents[3]
HOME = ROOT / "spec" / "captures" / "openai-agents"
CAPTURES = sorted(HOME.rglob("*.jsonl"))
ROWS = set[str]


def format_of(path: Path) -> str:
    return "openai-agents-recorder" if path.name.startswith("hook_") else "openai-agents"


async def replayed(lines: list[bytes], format_name: str = "openai-agents") -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    reader = reader_for(format_name, "capture:x.jsonl")
    result = await replay(lines, reader=reader, ledger=ledger, clock=clock, file="x.jsonl", format_name=format_name)
    assert await ledger.verify() == []
    return result


def row(kind: str, event: Any, *, src: str = "runtime", t: float = 0.0) -> bytes:
    return json.dumps({"src": src, "kind": kind, "event": event, "t": t}).encode()


def called(call_id: str, tool: str = "flight", arguments: str = '{"q": "x"}') -> bytes:
    item = {"type": "function_call", "call_id": call_id, "name": tool, "arguments": arguments}
    return row("run_item_stream_event:tool_called", {"raw_item": item, "call_id": call_id})


def output(call_id: str, value: Any) -> bytes:
    item = {"type": "function_call_output", "call_id": call_id, "output": str(value)}
    return row("run_item_stream_event:tool_output", {"raw_item": item, "call_id": call_id, "output": value})


def states(result: dict[str, Any]) -> list[str]:
    return [document["state"] for document in result["invocations"]]


def kinds(result: dict[str, Any]) -> list[str]:
    return [event["type"].removeprefix("toolcall.") for event in result["events"]]


# ── captures ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def judged() -> list[Judged]:
    return [one async for one in judge(HOME.parent, framework="openai-agents") if isinstance(one, Judged)]


async def test_no_capture_leads_to_a_false_claim_and_at_most_three_in_a_hundred_are_missed() -> None:
    told = await judged()

    assert len(told) == len(CAPTURES) >= 75
    assert [(one.capture.file, str(verdict)) for one in told for verdict in one.score.false] == []
    allowed, missed = sum(one.score.allowed for one in told), sum(len(one.score.missed) for one in told)
    assert allowed >= 250
    assert missed <= 0.03 * allowed


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_every_event_says_what_its_row_of_the_table_says_and_every_word_is_mapped_or_explained(path: Path) -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}

    result = await replay_file(path, format_of(path), relative_to=ROOT)

    said = {(event["adapter"].split("#")[1], event["type"].removeprefix("toolcall.")) for event in result["events"]}
    assert {(word, kind) for word, kind in said if kind not in table.get(word, ())} == set()
    assert [one for one in result["unmapped"] if "does not have" in one["why"]] == []


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_a_capture_that_is_cut_after_any_row_claims_no_end_that_its_tools_did_not_write(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    truth = [json.loads(line) for line in lines]
    well = {one["event"].get("id") for one in truth if one["src"] == "truth" and (one["kind"] == "end" or one["kind"].startswith("SIDE"))}
    begun = {one["event"].get("id") for one in truth if one["src"] == "truth"}

    false: list[Any] = []
    for cut in range(2, len(lines)):
        for document in (await replayed(lines[:cut], format_of(path)))["invocations"]:
            call = (document.get("correlation") or [{}])[0].get("providerCallId")
            if document["state"] == "running" and begun and call not in begun:
                false.append((cut, call, "running"))
            if document["state"] == "succeeded" and begun and call in begun and call not in well and len(begun) == len(well):
                false.append((cut, call, "succeeded"))

    assert false == []


@pytest.mark.parametrize(
    "lost", ["raw_", "trace", "hook.", "run_item_stream_event:tool_called", "run_item_stream_event:tool_output", "tool_error", "interr"]
)
async def test_a_capture_that_lacks_one_of_its_sources_claims_nothing_false(lost: str) -> None:
    false: list[Any] = []
    for path in CAPTURES:
        if path.stem == "raises_with_own_formatter":
            continue  # without its trace, the words of a tool's own formatter look like any result: no reader can know
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        kept = [one for one in rows if not (one["src"] == "runtime" and one["kind"].startswith(lost))]
        result = await replayed([json.dumps(one).encode() for one in kept], format_of(path))
        false += [(path.stem, str(one)) for one in score(result, kept, allowed=lambda _: [], name=path.stem).false]

    assert false == []


# ── the vocabulary ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_event_of_the_frameworks_stream_has_its_row() -> None:
    names = {f"run_item_stream_event:{name}" for name in get_args(get_type_hints(RunItemStreamEvent)["name"])}
    types = {get_args(get_type_hints(one)["type"])[0] for one in (RunItemStreamEvent, AgentUpdatedStreamEvent, RawResponsesStreamEvent)}

    assert names <= words.HANDLERS.keys()
    assert types == {"run_item_stream_event", "agent_updated_stream_event", "raw_response_event"}
    assert names <= {word.word for word in TABLE} | {word.word.rpartition(" ")[0] for word in TABLE}


def test_every_kind_of_run_item_is_known_and_the_event_that_it_comes_with() -> None:
    classes = [one for _, one in inspect.getmembers(agents.items, inspect.isclass) if issubclass(one, agents.items.RunItemBase)]
    found = {field.default for one in classes for field in dataclasses.fields(one) if field.name == "type"}
    names = set(get_args(get_type_hints(RunItemStreamEvent)["name"]))

    assert found == set(ITEMS)
    assert {name for name in ITEMS.values() if name and name != "interruptions"} <= names


def test_the_frameworks_own_texts_are_the_ones_that_are_read() -> None:
    import re  # noqa: PLC0415 -- for this test alone

    from agents.run_internal.items import REJECTION_MESSAGE  # noqa: PLC0415 -- the framework's own constants
    from agents.tool import default_tool_error_function, default_tool_timeout_error_message  # noqa: PLC0415 -- as above

    assert default_tool_error_function(None, ValueError()) == DEFAULT_ERROR  # type: ignore[arg-type]  # it looks at neither
    assert REJECTION_MESSAGE == REJECTION
    assert re.fullmatch(TIMED_OUT, default_tool_timeout_error_message(tool_name="a 'b'", timeout_seconds=0.25))


# ── single words ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_called_tool_is_proposed_and_no_more() -> None:
    result = await replayed([called("c1")])

    assert states(result) == ["proposed"]


async def test_on_tool_start_is_no_start_until_the_check_of_arguments_is_past() -> None:
    begin = [called("c1"), row("hook.on_tool_start", {"call_id": "c1", "tool": "flight", "args": '{"q": "x"}'}, t=1.0)]

    at_once = await replayed([*begin, row("agent_updated_stream_event", {}, t=1.001)])
    later = await replayed([*begin, row("agent_updated_stream_event", {}, t=1.2)])

    assert (states(at_once), states(later)) == (["proposed"], ["running"])


@pytest.mark.parametrize("value", [{"n": 10**19}, [1, None], 0, False, "", "2 cancelled flights", "\ud800 half", {"status": "done"}])
async def test_a_result_of_any_kind_is_a_success_where_nothing_speaks_against_it(value: Any) -> None:
    assert states(await replayed([called("c1"), output("c1", value)])) == ["succeeded"]


@pytest.mark.parametrize(
    "value", [{"status": "cancelled"}, "AbortError: gone", "canceled", {"isError": True}, "Error: 502", "{'status': 'aborted'}"]
)
async def test_a_cancellation_or_an_error_in_disguise_is_flagged_and_never_believed(value: Any) -> None:
    result = await replayed([called("c1"), output("c1", value)])

    assert states(result) == ["proposed"]
    assert "outcome-unknown" in [finding["code"] for finding in result["invocations"][0]["findings"]]


async def test_an_id_that_is_used_again_is_another_call_and_each_gets_its_own_result() -> None:
    turn = row("agent_updated_stream_event", {})
    result = await replayed([called("c1"), output("c1", "a"), turn, called("c1", arguments='{"q": "y"}'), output("c1", "b")])

    assert states(result) == ["succeeded", "succeeded"]
    assert len({document["identity"]["invocationId"] for document in result["invocations"]}) == 2


async def test_a_second_result_in_a_later_run_is_a_second_start_of_the_same_call() -> None:
    ended = row("stream ended", {"final_output": "done", "new_items": []}, src="outcome")
    result = await replayed([called("c1"), output("c1", "a"), ended, row("agent_updated_stream_event", {}), output("c1", "a")])

    assert "duplicate-start" in [finding["code"] for finding in result["invocations"][0]["findings"]]


async def test_a_hosted_mcp_call_ends_as_the_provider_says() -> None:
    def hosted(**more: Any) -> bytes:
        return row(
            "run_item_stream_event:tool_called", {"raw_item": {"type": "mcp_call", "id": "m1", "name": "find", "arguments": "{}", **more}}
        )

    assert states(await replayed([hosted(status="completed", output="found")])) == ["succeeded"]
    assert states(await replayed([hosted(status="failed", error="boom")])) == ["failed"]
    assert states(await replayed([hosted(status="in_progress")])) == ["proposed"]


async def test_an_approval_that_the_provider_asks_for_is_answered_by_the_application() -> None:
    asked = row(
        "run_item_stream_event:mcp_approval_requested",
        {"raw_item": {"id": "r1", "name": "drop", "arguments": "{}", "type": "mcp_approval_request"}},
    )
    answer = row(
        "run_item_stream_event:mcp_approval_response",
        {"raw_item": {"approval_request_id": "r1", "approve": False, "type": "mcp_approval_response"}},
    )

    assert states(await replayed([asked])) == ["awaiting_approval"]
    assert states(await replayed([asked, answer])) == ["cancelled"]


async def test_a_cancel_after_the_turn_asks_no_call_to_stop_and_an_immediate_one_asks_all() -> None:
    begin = [called("c1"), row("hook.on_tool_start", {"call_id": "c1", "tool": "flight", "args": '{"q": "x"}'})]

    after = await replayed([*begin, row("result.cancel", {"mode": "after_turn"}, src="driver", t=1)])
    now = await replayed([*begin, row("result.cancel", {"mode": "immediate"}, src="driver", t=1)])

    assert "cancellation.requested" not in kinds(after)
    assert "cancellation.requested" in kinds(now)
    assert states(now) == ["running"]


async def test_a_word_that_the_table_does_not_have_is_reported_and_claims_nothing() -> None:
    result = await replayed(
        [row("run_item_stream_event:brand_new", {"call_id": "c1"}), row("wrap.START", {"id": "c1"}), row("x", {}, src="driver")]
    )

    assert result["invocations"] == []
    assert [one["word"] for one in result["unmapped"]] == ["run_item_stream_event:brand_new", "wrap.START", "x"]


# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


NONSENSE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["call_book_1", "\ud800", DEFAULT_ERROR]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A real capture, some of whose rows have lost, repeated, moved or nonsensical parts."""
    path = draw(st.sampled_from(CAPTURES))
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(rows) - 1))
        match draw(st.sampled_from(["drop", "repeat", "swap", "damage"])):
            case "drop" if len(rows) > 1:
                del rows[place]
            case "repeat":
                rows.insert(place, rows[place])
            case "swap":
                other = draw(st.integers(0, len(rows) - 1))
                rows[place], rows[other] = rows[other], rows[place]
            case _:
                node: Any = rows[place]
                while isinstance(node, dict | list) and node:
                    key = draw(st.sampled_from(list(node) if isinstance(node, dict) else list(range(len(node)))))
                    if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
                        node[key] = draw(NONSENSE)
                        break
                    node = node[key]
    return format_of(path), [json.dumps(one).encode() for one in rows if one.get("src") != "truth"]


@given(damaged())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_whatever_a_stranger_writes_nothing_is_raised_and_nothing_is_queued_or_acknowledged(capture: tuple[str, list[bytes]]) -> None:
    format_name, lines = capture

    result = await replayed(lines, format_name)

    assert not {"dispatch.accepted", "cancellation.acknowledged", "dispatch.claimed"} & set(kinds(result))
