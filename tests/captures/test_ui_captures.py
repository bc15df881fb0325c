"""Every stream of the AI SDK, AG-UI and assistant-ui, replayed and judged: no false claim, few missed, whatever becomes of the stream."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from toolwitness.adapters import ag_ui, ai_sdk, assistant_ui
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.allowed import ag_ui as ag_ui_allowed
from toolwitness.testing.allowed import ai_sdk as ai_sdk_allowed
from toolwitness.testing.allowed import assistant_ui as assistant_ui_allowed
from toolwitness.testing.truth.score import Score, score

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "spec" / "captures"
FORMATS = {"aisdk": "ai-sdk", "agui": "ag-ui", "assistantui": "assistant-ui"}
TABLES = {"aisdk": ai_sdk.TABLE, "agui": ag_ui.TABLE, "assistantui": assistant_ui.TABLE}
ALLOWED = {"aisdk": ai_sdk_allowed.allowed, "agui": ag_ui_allowed.allowed, "assistantui": assistant_ui_allowed.allowed}
STREAMS = sorted(
    path for name in FORMATS for path in (SPEC / name).rglob("*.jsonl") if not path.name.endswith(".truth.jsonl")
)  # fmt: skip  # one condition
FRAMED = sorted(path for name in FORMATS for ending in ("*.sse", "*.data.txt") for path in (SPEC / name).rglob(ending))


def room(path: Path) -> str:
    return path.relative_to(SPEC).parts[0]


def name_of(path: Path) -> str:
    return path.relative_to(SPEC).as_posix()


def truth_of(path: Path) -> list[dict[str, Any]]:
    """Give the rows of truth beside a stream, which no reader is shown."""
    beside = path.with_name(f"{path.name.removesuffix('.jsonl')}.truth.jsonl")
    rows = [json.loads(line) for line in beside.read_text(encoding="utf-8").split("\n") if line] if beside.exists() else []
    return [{"src": "truth", "seq": number, "kind": row["ev"], "event": row} for number, row in enumerate(rows, start=1)]


def chunks_of(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line]


async def replayed(path: Path, lines: list[bytes]) -> dict[str, Any]:
    clock = RecordingClock()
    name = FORMATS[room(path)]
    reader = reader_for(name, "capture:varied.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="varied.jsonl", format_name=name)


def judged(path: Path, result: dict[str, Any], lines: list[bytes]) -> Score:
    rows = [
        {"src": "runtime", "seq": number, "kind": "chunk", "event": json.loads(line)} for number, line in enumerate(lines, start=1)
    ]  # fmt: skip  # one row
    return score(result, [*rows, *truth_of(path)], allowed=ALLOWED[room(path)], name=name_of(path))


@pytest.mark.parametrize("path", STREAMS, ids=name_of)
async def test_a_replay_claims_nothing_that_the_tool_did_not_do(path: Path) -> None:
    result = await replay_file(path, FORMATS[room(path)], relative_to=ROOT)

    assert [str(one) for one in judged(path, result, chunks_of(path)).false] == []


@pytest.mark.parametrize("framework", FORMATS)
async def test_at_most_three_in_a_hundred_claims_are_missed(framework: str) -> None:
    total = Score(framework)
    for path in (one for one in STREAMS if room(one) == framework):
        one = judged(path, await replay_file(path, FORMATS[framework], relative_to=ROOT), chunks_of(path))
        print(one)  # noqa: T201 -- the score is what this test is for; pytest -s shows it
        total.add(one)
    print(total, *total.missed, sep="\n  missed ")  # noqa: T201 -- as above

    assert total.allowed > 0
    assert len(total.missed) <= 0.03 * total.allowed


@pytest.mark.parametrize("path", FRAMED, ids=name_of)
async def test_a_framed_stream_says_what_its_chunks_say(path: Path) -> None:
    plain = path.with_name(f"{path.name.removesuffix('.sse').removesuffix('.txt')}.jsonl")
    expected = await replay_file(plain, FORMATS[room(path)], relative_to=ROOT)
    actual = await replay_file(path, FORMATS[room(path)], relative_to=ROOT)

    def told(result: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [(event["id"], event["type"], event["verdict"], event["row"]) for event in result["events"]]

    assert told(actual) == told(expected)
    assert [one["state"] for one in actual["invocations"]] == [one["state"] for one in expected["invocations"]]
    assert actual["unmapped"] == expected["unmapped"]


@pytest.mark.parametrize("framework", FORMATS)
async def test_every_event_says_what_its_row_of_the_table_says(framework: str) -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLES[framework]}

    unsaid = set()
    for path in (one for one in STREAMS if room(one) == framework):
        for event in (await replay_file(path, FORMATS[framework], relative_to=ROOT))["events"]:
            row, kind = event["adapter"].split("#")[1], event["type"].removeprefix("toolcall.")
            if kind not in table.get(row, ()):
                unsaid.add((row, kind))

    assert unsaid == set()


@pytest.mark.parametrize("path", STREAMS, ids=name_of)
async def test_every_word_is_mapped_or_says_why_it_is_not(path: Path) -> None:
    result = await replay_file(path, FORMATS[room(path)], relative_to=ROOT)

    assert [one for one in result["unmapped"] if "the table does not have" in one["why"] or not one["why"]] == []


@pytest.mark.parametrize("path", STREAMS, ids=name_of)
async def test_a_stream_that_is_cut_anywhere_claims_nothing_false(path: Path) -> None:
    lines = chunks_of(path)
    wrong = {}
    for cut in range(1, len(lines), max(1, len(lines) // 12)):
        false = judged(path, await replayed(path, lines[:cut]), lines[:cut]).false
        # What came later is in the whole truth and not in the cut stream: how many starts there were is not the cut stream's to say.
        wrong |= {cut: [str(one) for one in false if "start" not in one.said]}

    assert [cut for cut, false in wrong.items() if false] == []


@pytest.mark.parametrize("path", [path for path in STREAMS if ".transport." not in path.name], ids=name_of)
async def test_a_stream_whose_every_chunk_came_twice_claims_nothing_false(path: Path) -> None:
    """The transport is left out: its paths count the parts, so one that came twice means another part."""
    lines = [line for line in chunks_of(path) for _ in range(2)]

    assert [str(one) for one in judged(path, await replayed(path, lines), lines).false] == []


@pytest.mark.parametrize("path", STREAMS, ids=name_of)
async def test_whatever_is_lost_doubled_or_out_of_place_nothing_is_queued_and_nothing_raises(path: Path) -> None:
    chance = random.Random(path.name)  # noqa: S311 -- the same variations every time
    for _ in range(4):
        lines = chunks_of(path)
        for _ in range(3):
            place = chance.randrange(len(lines))
            act = chance.choice(["drop", "double", "move", "cut"] if len(lines) > 4 else ["double", "move"])
            if act == "double":
                lines.insert(place, lines[place])
            elif act == "move":
                lines.insert(chance.randrange(len(lines)), lines.pop(place))
            elif act == "cut":
                lines[place] = lines[place][: chance.randrange(1, len(lines[place]) + 1)]
            else:
                del lines[place]
        result = await replayed(path, lines)

        assert not {"queued", "running", "expired"} & {one["state"] for one in result["invocations"]} - _evidenced(lines)
        assert all(one["why"] for one in result["unmapped"])


def _evidenced(lines: list[bytes]) -> set[str]:
    """Give the states that one word of a stream is whole evidence for."""
    return {"running"} if any(b"SUBAGENT_STARTED" in line for line in lines) else set()


async def test_the_clients_own_truth_files_hold_no_stream_and_are_left_aside() -> None:
    files = sorted((SPEC / "copilotkit").glob("*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]

    assert files
    assert all(path.name.endswith(".truth.jsonl") for path in files)
    assert not [row for row in rows if row["ev"] == "agui" and ("toolCallId" in row or "delta" in row)]
