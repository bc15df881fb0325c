"""Every MCP and A2A capture, replayed and judged: no false claim, and few missed; and captures that were broken claim nothing more."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from toolwitness.adapters import a2a, mcp
from toolwitness.adapters.a2a.mapping import CAPABILITIES as A2A
from toolwitness.adapters.mcp.mapping import CAPABILITIES as MCP
from toolwitness.bootstrap.replay import replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.reading.capabilities import Tells
from toolwitness.service.replay import RecordingClock, replay
from toolwitness.testing.truth.running import Judged, judge
from toolwitness.testing.truth.score import Score

ROOT = Path(__file__).parents[2]
DIRECTORIES = {"mcp": ROOT / "spec" / "captures" / "mcp", "a2a": ROOT / "spec" / "captures" / "a2a"}
CAPTURES = [(name, path) for name, directory in DIRECTORIES.items() for path in sorted(directory.rglob("*.jsonl"))]
READERS = {"mcp": mcp.Reader, "a2a": a2a.Reader}
CAPABILITIES = {"mcp": MCP, "a2a": A2A}
TABLES = {"mcp": mcp.TABLE, "a2a": a2a.TABLE}
EXPLAINED = (
    "whose answer it is cannot be known", "a question whose call cannot be known", "no version's spelling", "nothing to cancel",
    "no task, or several, could be meant", "a task that is not known", "a refused request", "after the end", "names no task that is known",
    "the same answer once more", "the same row once more",
    "what the user says is a request", "it names no call", "completed, and", "its token belongs to no call",
)  # fmt: skip  # phrases in lines


@pytest.mark.parametrize("framework", sorted(DIRECTORIES))
async def test_no_claim_is_false_and_at_most_three_in_a_hundred_are_missed(framework: str) -> None:
    total = Score(framework)
    async for one in judge(DIRECTORIES[framework], framework=framework):
        assert isinstance(one, Judged), one
        print(one.score)  # noqa: T201 -- the score is what this test is for; pytest -s shows it
        total.add(one.score)

    assert [str(verdict) for verdict in total.false] == []
    assert total.allowed > 0
    assert len(total.missed) <= 0.03 * total.allowed


@pytest.mark.parametrize(("framework", "path"), CAPTURES, ids=[f"{name}-{path.stem}" for name, path in CAPTURES])
async def test_every_row_is_mapped_or_says_why_it_is_not_and_every_event_says_what_its_row_of_the_table_says(
    framework: str, path: Path
) -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLES[framework]}
    result = await replay_file(path, framework, relative_to=ROOT)

    unexplained = [one for one in result["unmapped"] if not any(phrase in one["why"] for phrase in EXPLAINED)]
    unsaid = {
        (event["adapter"].split("#")[1], event["type"])
        for event in result["events"]
        if event["type"].removeprefix("toolcall.") not in table.get(event["adapter"].split("#")[1], ())
    }

    assert unexplained == []
    assert unsaid == set()


KINDS = {
    "proposed": {"invocation.proposed"}, "approval asked": {"approval.requested"}, "who decided": {"approval.granted", "approval.denied"},
    "queued": {"dispatch.accepted"}, "started": {"execution.started", "progress.reported", "output.emitted"},
    "progress": {"progress.reported", "output.emitted"}, "ended": {"execution.succeeded", "execution.failed"},
    "acknowledgement": {"cancellation.acknowledged"}, "expiry": {"deadline.elapsed"},
}  # fmt: skip  # pairs in lines
"""Which evidence answers each question of the capability table."""


@pytest.mark.parametrize(("framework", "way"), [("mcp", "from captured JSON-RPC"), ("a2a", "from captured events")])
async def test_the_captures_hold_what_the_capability_table_says_and_nothing_that_it_denies(framework: str, way: str) -> None:
    said: set[str] = set()
    for name, path in CAPTURES:
        if name == framework:
            events = (await replay_file(path, framework, relative_to=ROOT))["events"]
            said |= {event["type"].removeprefix("toolcall.") for event in events}
    declared = dict(CAPABILITIES[framework][way].rows())

    actual = {question: bool(kinds & said) for question, kinds in KINDS.items()}
    expected = {question: declared[question].tells is not Tells.NO for question in KINDS}

    assert actual == expected


def broken(rows: list[Any], seed: int) -> list[bytes]:
    """Drop, double, swap, cut and garble rows of a capture."""
    chance = random.Random(seed)  # noqa: S311 -- no secret: the same seed breaks the same rows
    kept = [row for row in rows if chance.random() > 0.15]
    kept += [row for row in rows if chance.random() < 0.1]
    for _ in range(len(kept) // 4):
        one, other = chance.randrange(len(kept)), chance.randrange(len(kept))
        kept[one], kept[other] = kept[other], kept[one]
    lines = [json.dumps(_garbled(row, chance)).encode() for row in kept]
    if lines:
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    return lines


JUNK = (None, True, 7, 0.5, float("nan"), "", "canceled", "\ud800", [], [1], {}, {"status": "cancelled"}, "x" * 3000)


def _garbled(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.03:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {name: one if name in {"src", "seq"} else _garbled(one, chance) for name, one in value.items()}
    return [_garbled(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("framework", "path"), CAPTURES, ids=[f"{name}-{path.stem}" for name, path in CAPTURES])
async def test_a_broken_capture_raises_nothing_and_claims_no_end_that_no_row_tells(framework: str, path: Path) -> None:
    rows = [row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if row.get("src") != "truth"]
    for seed in range(12):
        lines = broken(rows, seed)
        clock = RecordingClock()
        ledger = MemoryLedger(now=clock.now)
        try:
            reader = READERS[framework]("capture:broken")
            result = await replay(lines or [b"{}"], reader=reader, ledger=ledger, clock=clock, file="broken", format_name=framework)
        finally:
            await ledger.close()
        said = b"".join(lines).lower()
        for document in result["invocations"]:
            if document["state"] == "cancelled":
                assert b"cancel" in said or b"rejected" in said
            if document["state"] == "succeeded" and framework == "a2a":
                assert b"completed" in said or b"messageid" in said
