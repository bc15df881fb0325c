"""Captures that are cut, broken, renamed or nonsense: nothing false is claimed, nothing is raised, nothing is lost in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.captures.test_pydantic_ai_captures import CAPTURES, format_of, rows_of
from toolwitness.adapters.pydantic_ai import Reader
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.core.errors import InvalidInput
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.scoring import score

SEEDS = [path for path in CAPTURES if path.parent.name == "pydantic-ai"]


async def replayed(lines: list[bytes], format_name: str) -> dict[str, Any]:
    clock = RecordingClock()
    reader = reader_for(format_name, "capture:broken.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="broken.jsonl", format_name=format_name)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
async def test_a_capture_that_is_cut_after_any_row_claims_nothing_false(path: Path) -> None:
    lines, rows = path.read_bytes().splitlines(), rows_of(path)

    actual = {}
    for cut in range(2, len(lines)):
        result = await replayed(lines[:cut], format_of(path))
        false = score(result, rows, allowed=lambda _: [], name=path.stem).false
        # A later start is in the whole truth and not in the cut stream: how many there were is not the cut stream's to say.
        actual |= {cut: [verdict for verdict in false if not verdict.true.endswith(("start", "starts"))]}

    assert [cut for cut, false in actual.items() if false] == []


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
async def test_other_names_and_ids_make_no_difference(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in ("flight", "hotel", "rail", "book", "pay"):
        text = text.replace(f'"{name}"', f'"tool_{name[::-1]}"').replace(f"call_{name}", f"toolu_{len(name)}{name[::-1]}")

    expected = await replayed(path.read_bytes().splitlines(), format_of(path))
    actual = await replayed(text.encode().splitlines(), format_of(path))

    assert [d["state"] for d in actual["invocations"]] == [d["state"] for d in expected["invocations"]]
    assert [e["type"] for e in actual["events"]] == [e["type"] for e in expected["events"]]


async def test_a_broken_line_is_reported_and_the_rest_is_read() -> None:
    lines = (SEEDS[0]).read_bytes().splitlines()
    lines[2] = lines[2][:30]
    lines.append(b"not JSON at all")

    result = await replayed(lines, "pydantic-ai")

    assert [one["row"] for one in result["unmapped"]] == [3, len(lines)]
    assert [document["state"] for document in result["invocations"]] == ["succeeded"]


async def test_a_file_without_one_readable_line_is_refused() -> None:
    with pytest.raises(InvalidInput, match="No line of"):
        await replayed([b"\x00\x01", b"[1, 2]"], "pydantic-ai")


async def test_a_missing_file_and_an_unknown_format_are_named() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        await replay_file(Path("no-such-file.jsonl"), "pydantic-ai")
    with pytest.raises(InvalidInput, match="No format is called"):
        await replay_file(SEEDS[0], "nonsense")


def test_truth_is_for_the_judge_and_no_reader_takes_it() -> None:
    with pytest.raises(ValueError, match="truth"):
        Reader("capture:x").feed({"src": "truth", "kind": "start", "event": {"id": "c1"}})


async def test_a_word_that_the_table_does_not_have_is_reported_and_claims_nothing() -> None:
    rows = [
        {"seq": 1, "t": 0.1, "src": "runtime", "kind": "BrandNewEvent", "event": {"tool_call_id": "c1"}},
        {"seq": 2, "t": 0.2, "src": "runtime", "kind": "hook.START", "event": {"id": "c1"}},
        {"seq": 3, "t": 0.3, "src": "somebody", "kind": "x", "event": {}},
    ]

    result = await replayed([json.dumps(row).encode() for row in rows], "pydantic-ai")

    assert result["invocations"] == []
    assert [one["word"] for one in result["unmapped"]] == ["BrandNewEvent", "hook.START", "x"]


NONSENSE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["call_book_1", "success", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A real capture, some of whose rows have lost, repeated or nonsensical parts."""
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
                damage(draw, rows[place])
    return format_of(path), [json.dumps(row).encode() for row in rows]


def damage(draw: st.DrawFn, node: Any) -> None:
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
            node[key] = draw(NONSENSE)
            return
        node = node[key]


@given(damaged())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_whatever_a_stranger_writes_nothing_is_raised_and_the_record_stays_whole(capture: tuple[str, list[bytes]]) -> None:
    format_name, lines = capture
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)

    result = await replay(lines, reader=reader_for(format_name, "capture:x"), ledger=ledger, clock=clock, file="x", format_name=format_name)

    assert json.loads(json.dumps(result))["format"] == format_name
    assert await ledger.verify() == []


async def test_each_event_names_the_row_of_the_capture_that_said_it(tmp_path: Path) -> None:
    whole = (SEEDS[0].parent / "hook_approval.jsonl").read_bytes()
    file = tmp_path / "hook_approval.jsonl"
    file.write_bytes(whole)
    rows = {json.loads(line).get("seq") for line in whole.splitlines()} - {None}

    result = await replay_file(file, "pydantic-ai-recorder")

    said = [event["row"] for event in result["events"] if event["type"] != "toolcall.task.opened"]
    assert said
    assert set(said) <= rows
    moved = [event for event in result["events"] if event["verdict"] == "moved"]
    assert all(event["transition"] and event["state"] for event in moved)
