"""Every LangGraph capture, replayed and judged: no false claim, and few missed; and captures that were broken claim nothing more."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from toolwitness.adapters.langgraph import TABLE, HookReader, Reader
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.truth.running import Judged, judge
from toolwitness.testing.truth.score import Score, score

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "spec" / "captures" / "langgraph"
CAPTURES = sorted(DIRECTORY.rglob("*.jsonl"))
EXPLAINED = ("names no call", "could show that the arguments", "nothing waits for it", "as many decisions as calls are needed")


def format_of(path: Path) -> str:
    return "langgraph-recorder" if path.name.startswith("hook_") else "langgraph"


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


async def replayed(lines: list[bytes], format_name: str) -> dict[str, Any]:
    clock = RecordingClock()
    reader = reader_for(format_name, "capture:broken.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="broken.jsonl", format_name=format_name)


async def test_no_claim_is_false_and_at_most_three_in_a_hundred_are_missed() -> None:
    total = Score("langgraph")
    async for one in judge(DIRECTORY, framework="langgraph"):
        assert isinstance(one, Judged), one
        print(one.score)  # noqa: T201 -- the score is what this test is for; pytest -s shows it
        total.add(one.score)

    assert len(CAPTURES) >= 90
    assert [str(verdict) for verdict in total.false] == []
    assert total.allowed > 400
    assert len(total.missed) <= 0.03 * total.allowed


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_every_row_is_mapped_or_says_why_not_and_every_event_says_what_its_row_of_the_table_says(path: Path) -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}
    result = await replay_file(path, format_of(path), relative_to=ROOT)

    unexplained = [one for one in result["unmapped"] if not any(phrase in one["why"] for phrase in EXPLAINED)]
    unsaid = {
        (event["adapter"].split("#")[1], event["type"])
        for event in result["events"]
        if event["type"].removeprefix("toolcall.") not in table.get(event["adapter"].split("#")[1], ())
    }

    assert unexplained == []
    assert unsaid == set()


@pytest.mark.parametrize("path", [path for path in CAPTURES if path.parent == DIRECTORY], ids=lambda path: path.stem)
async def test_a_capture_that_is_cut_after_any_row_claims_nothing_false(path: Path) -> None:
    lines = lines_of(path)
    rows = [json.loads(line) for line in lines]

    actual = {}
    for cut in range(2, len(lines)):
        result = await replayed(lines[:cut], format_of(path))
        whole, so_far = (score(result, known, allowed=lambda _: [], name=path.stem).false for known in (rows, rows[:cut]))
        # False is what is so by what is true in the end, and by what had happened when the stream was cut.
        actual |= {cut: [str(why) for why in whole if "duplicate-start" not in why.reason and str(why)[:60] in str(so_far)]}

    assert {cut: false for cut, false in actual.items() if false} == {}


@pytest.mark.parametrize("seed", range(40))
async def test_rows_that_are_lost_doubled_exchanged_or_full_of_nonsense_raise_nothing_and_claim_no_acknowledgement(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 -- a test's own dice
    path = chance.choice(CAPTURES)
    lines = lines_of(path)
    for _ in range(len(lines) // 2):
        place = chance.randrange(1, len(lines))
        match chance.randrange(4):
            case 0:
                lines.pop(place)
            case 1:
                lines.insert(place, lines[place])
            case 2:
                other = chance.randrange(1, len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case _:
                row = json.loads(lines[place])
                row["event"] = chance.choice([None, [], "x", {"messages": 3}, {"model": {"messages": [{"type": "tool", "content": None}]}}])
                lines[place] = json.dumps(row).encode()

    result = await replayed(lines, format_of(path))

    told = {event["type"].removeprefix("toolcall.") for event in result["events"]}
    assert told.isdisjoint({"dispatch.accepted", "cancellation.acknowledged", "deadline.elapsed"})
    assert {str(document["state"]) for document in result["invocations"]}.isdisjoint({"queued", "expired"})


@pytest.mark.parametrize("path", [path for path in CAPTURES if path.parent == DIRECTORY], ids=lambda path: path.stem)
async def test_rows_that_are_delivered_twice_say_nothing_more(path: Path) -> None:
    once = await replayed(lines_of(path), format_of(path))
    twice = await replayed([line for line in lines_of(path) for _ in range(2)], format_of(path))

    assert [document["state"] for document in twice["invocations"]] == [document["state"] for document in once["invocations"]]
    assert [(event["id"], event["type"]) for event in twice["events"]] == [(event["id"], event["type"]) for event in once["events"]]


@pytest.mark.parametrize("content", [{}, [], 0, False, None, "", "null", {"a": {"b": [1]}}, "é" * 5000, [{"type": "text", "text": "x"}]])
async def test_a_result_of_any_json_type_is_a_result(content: Any) -> None:
    call = {"name": "t", "args": {}, "id": "c" * 300, "type": "tool_call"}
    rows = [
        {
            "src": "runtime",
            "kind": "updates",
            "event": {"m": {"messages": [{"type": "ai", "id": "m", "content": "", "tool_calls": [call]}]}},
        },
        {"src": "runtime", "kind": "tools:tool-started", "event": {"event": "tool-started", "tool_call_id": call["id"], "input": {}}},
        {
            "src": "runtime",
            "kind": "tools:tool-finished",
            "event": {"event": "tool-finished", "tool_call_id": call["id"], "output": content},
        },
    ]

    result = await replayed([json.dumps({"seq": n, **row}).encode() for n, row in enumerate(rows, 1)], "langgraph")

    assert [document["state"] for document in result["invocations"]] == ["succeeded"]


async def test_the_envelope_of_the_framework_is_read_like_the_rows_of_a_capture() -> None:
    call = {"name": "t", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    parts = [
        {"type": "updates", "ns": [], "data": {"model": {"messages": [{"type": "ai", "id": "m", "content": "", "tool_calls": [call]}]}}},
        {"type": "tools", "ns": [], "data": {"event": "tool-started", "tool_call_id": "c1", "tool_name": "t", "input": {"a": 1}}},
        {"type": "tools", "ns": [], "data": {"event": "tool-finished", "tool_call_id": "c1", "output": "x"}},
        {"type": "unheard-of", "ns": [], "data": {}},
    ]

    result = await replayed([json.dumps(part).encode() for part in parts], "langgraph")

    assert [document["state"] for document in result["invocations"]] == ["succeeded"]
    assert [one["word"] for one in result["unmapped"]] == ["unheard-of"]


def test_a_hooks_word_is_not_believed_by_the_reader_of_streams() -> None:
    row = {"src": "runtime", "kind": "mw.START", "seq": 1, "event": {"id": "c1", "tool": "t", "args": {}}}
    stream, hook = Reader("capture:x"), HookReader("capture:x")
    stream.feed(row)
    hook.feed(row)
    hook.feed({"src": "runtime", "kind": "mw.RETURNED", "seq": 2, "event": {"id": "c1", "status": "success", "content": "x"}})
    stream.close()

    assert [one.why for one in stream.unmapped] == ["a hook's word: read it with the format langgraph-recorder"]
    assert hook.unmapped == []


def test_a_row_of_truth_is_refused() -> None:
    with pytest.raises(ValueError, match="truth"):
        Reader("capture:x").feed({"src": "truth", "kind": "start", "event": {}})


async def test_a_stream_of_an_agent_under_our_recorder_claims_no_end_that_was_only_told() -> None:
    def told(key: str, closure: str, state: str) -> dict[str, Any]:
        marks = {"toolwitness": {"invocation": "inv_x", "state": state, "closure": closure or None}}
        message = {"type": "tool", "id": f"m{key}", "tool_call_id": key, "status": "error", "content": "…", "additional_kwargs": marks}
        return {"src": "runtime", "kind": "updates", "event": {"tools": {"messages": [message]}}}

    calls = [{"name": "t", "args": {}, "id": key, "type": "tool_call"} for key in ("denied", "unknown")]
    made = {
        "src": "runtime",
        "kind": "updates",
        "event": {"m": {"messages": [{"type": "ai", "id": "m", "content": "", "tool_calls": calls}]}},
    }
    rows = [made, told("denied", "denied", "cancelled"), told("unknown", "", "running")]

    result = await replayed([json.dumps({"seq": n, **row}).encode() for n, row in enumerate(rows, 1)], "langgraph")

    found = {document["correlation"][0]["providerCallId"]: document for document in result["invocations"]}
    assert (found["denied"]["state"], found["denied"]["closure"]["kind"]) == ("cancelled", "denied")
    assert found["unknown"]["state"] == "proposed"
    assert "outcome-unknown" in {finding["code"] for finding in found["unknown"]["findings"]}
