"""Every Pydantic AI capture, replayed and judged: no false claim, and few missed."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwitness.adapters.pydantic_ai import TABLE
from toolwitness.bootstrap.replay import replay_file
from toolwitness.testing.allowed.pydantic_ai import allowed
from toolwitness.testing.scoring import Score, score

ROOT = Path(__file__).parents[2]
CAPTURES = sorted((ROOT / "spec" / "captures" / "pydantic-ai").rglob("*.jsonl"))


def format_of(path: Path) -> str:
    return "pydantic-ai-recorder" if path.name.startswith("hook_") else "pydantic-ai"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def judged(path: Path) -> Score:
    result = await replay_file(path, format_of(path), relative_to=ROOT)
    rows = rows_of(path)
    return score(result, rows, allowed=allowed, name=path.stem)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_a_replay_claims_nothing_that_the_tool_did_not_do(path: Path) -> None:
    assert (await judged(path)).false == []


async def test_at_most_three_in_a_hundred_claims_are_missed_over_all_captures() -> None:
    total = Score("all captures")
    for path in CAPTURES:
        one = await judged(path)
        print(one)  # noqa: T201 -- the score is what this test is for; pytest -s shows it
        total.add(one)
    print(total, *total.missed, sep="\n  missed ")  # noqa: T201 -- as above

    assert len(CAPTURES) >= 110
    assert total.false == []
    assert total.allowed > 0
    assert len(total.missed) <= 0.03 * total.allowed


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
async def test_every_row_is_mapped_or_says_why_it_is_not(path: Path) -> None:
    result = await replay_file(path, format_of(path), relative_to=ROOT)

    unexplained = [one for one in result["unmapped"] if "names no call" not in one["why"]]

    assert unexplained == []


async def test_every_event_says_what_its_row_of_the_table_says() -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}

    unsaid = set()
    for path in CAPTURES:
        for event in (await replay_file(path, format_of(path), relative_to=ROOT))["events"]:
            row, kind = event["adapter"].split("#")[1], event["type"].removeprefix("toolcall.")
            if kind not in table.get(row, ()):
                unsaid.add((row, kind))

    assert unsaid == set()


async def test_replaying_a_capture_twice_says_the_same_twice() -> None:
    path = ROOT / "spec" / "captures" / "pydantic-ai" / "c_approve.jsonl"

    first = await replay_file(path, "pydantic-ai", relative_to=ROOT)
    second = await replay_file(path, "pydantic-ai", relative_to=ROOT)

    expected = [(e["id"], e["type"], e["verdict"], e["recordedtime"]) for e in first["events"]]
    actual = [(e["id"], e["type"], e["verdict"], e["recordedtime"]) for e in second["events"]]
    assert actual == expected
    assert {e["source"] for e in first["events"]} == {"capture:spec/captures/pydantic-ai/c_approve.jsonl"}
