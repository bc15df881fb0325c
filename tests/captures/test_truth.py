"""The whole judge over every recording that ships: no false claim, few missed, and no file left out in silence."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from toolwitness.testing.truth.alone import DERIVATIONS
from toolwitness.testing.truth.layout import Capture, Skipped, captures_in
from toolwitness.testing.truth.running import judge, judge_capture
from toolwitness.testing.truth.totals import Run

CAPTURES = Path(__file__).parents[2] / "spec" / "captures"
FRAMEWORKS = {
    "a2a", "ag-ui", "ai-sdk", "assistant-ui", "celery", "copilotkit", "langgraph", "mcp", "openai-agents", "provider-wire", "pydantic-ai",
}  # fmt: skip  # names in lines
REASONS = {
    "documentation",
    "no recording: what a page's reducer did, a summary or a measurement",
    "no stream was recorded: what the page showed is judged alone",
}
"""Why a file may be left out: nothing else may be."""


@pytest.fixture(scope="module")
def told() -> Run:
    async def run() -> Run:
        made = Run()
        async for one in judge(CAPTURES):
            made.add(one)
        return made

    return asyncio.run(run())


def test_no_record_claims_what_the_tools_did_not_do(told: Run) -> None:
    assert [(one.capture.file, str(verdict)) for one in told.judged for verdict in one.score.false] == []


def test_at_most_three_in_a_hundred_claims_are_missed_over_all_and_for_each_framework(told: Run) -> None:
    assert told.total.ours.allowed > 900
    for total in (*told.frameworks, told.total):
        assert total.missed_percent <= 3, (total.name, [str(verdict) for verdict in total.ours.missed])


def test_every_framework_is_judged_beside_what_it_alone_shows(told: Run) -> None:
    assert {total.name for total in told.frameworks} == FRAMEWORKS
    assert all(total.alone_calls for total in told.frameworks)
    assert {one.capture.framework for one in told.judged if one.alone is None} == set()
    assert set(DERIVATIONS) >= FRAMEWORKS


def test_the_frameworks_alone_make_false_claims_that_ours_do_not(told: Run) -> None:
    assert told.total.alone_false > 25


def test_no_file_is_left_out_in_silence(told: Run) -> None:
    named = {one.capture.file for one in told.judged} | {one.file for one in told.skipped}
    named |= {p.relative_to(CAPTURES).as_posix() for one in told.judged for p in (one.capture.truth, one.capture.ui) if p is not None}

    assert {path.relative_to(CAPTURES).as_posix() for path in CAPTURES.rglob("*") if path.is_file()} - named == set()
    assert {one.reason for one in told.skipped if "framed" not in one.reason} <= REASONS


def test_every_word_of_truth_is_known(told: Run) -> None:
    unknown = [v.said for one in told.judged for v in one.score.undecided if "does not know" in v.reason]

    assert unknown == []


def test_every_verdict_names_its_rows_and_its_reason(told: Run) -> None:
    for one in told.judged:
        for verdict in (*one.score.missed, *one.score.undecided, *(one.alone.false if one.alone else ())):
            document = verdict.as_document()
            assert list(document) == ["invocationId", "providerCallId", "occurrence", "said", "true", "rows", "reason"]
            assert document["reason"]
    assert json.loads(json.dumps(told.as_document()))["total"]["false"] == 0


# ── the directory ───────────────────────────────────────────────────────────────────────────────────────────────────


def shown(directory: Path) -> dict[str, str]:
    return {one.file: one.reason if isinstance(one, Skipped) else one.format_name for one in captures_in(directory)}


def test_a_directory_of_one_framework_is_known_by_its_own_name_or_by_that_above_it() -> None:
    assert shown(CAPTURES / "mcp")["task_ok.jsonl"] == "mcp"
    assert shown(CAPTURES / "aisdk" / "v7")["a_success.jsonl"] == "ai-sdk"
    assert shown(CAPTURES / "langgraph")["hook_awrap_tool_call.jsonl"] == "langgraph-recorder"


def test_in_a_directory_of_another_name_the_header_or_the_first_chunk_says_who_wrote_it(tmp_path: Path) -> None:
    for source, name in (
        ("pydantic-ai/a_ok", "one"),
        ("a2a/b_cancel", "two"),
        ("agui/b_parallel_plain", "three"),
        ("aisdk/v7/a_success", "four"),
    ):
        (tmp_path / f"{name}.jsonl").write_bytes((CAPTURES / f"{source}.jsonl").read_bytes())
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_bytes(b"\xff\x00not json\n")

    assert shown(tmp_path) == {
        "one.jsonl": "pydantic-ai", "two.jsonl": "a2a", "three.jsonl": "ag-ui", "four.jsonl": "ai-sdk",
        "notes.txt": "no capture: neither its directory nor its first line names a framework that we read",
        "broken.jsonl": "no capture: neither its directory nor its first line names a framework that we read",
    }  # fmt: skip  # pairs in lines


async def test_a_capture_that_cannot_be_read_is_skipped_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "empty.jsonl").write_bytes(b"")
    (tmp_path / "mcp" / "noise.jsonl").write_bytes(b"\x00\xff\n[1,2]\nnull\n")

    captures = [one for one in captures_in(tmp_path) if isinstance(one, Capture)]
    judged = [await judge_capture(one, tmp_path) for one in captures]

    assert Counter(type(one) for one in judged) == {Skipped: 2}
    assert all(isinstance(one, Skipped) and "cannot be read" in one.reason for one in judged)
