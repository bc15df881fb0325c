"""Recordings made anew are compared word by word and verdict by verdict; what is the same is not mentioned."""

import inspect
from pathlib import Path

import pytest

from scripts.captures import CAPTURES, SCRIPTS, compared, judged, versions, words

A_OK = CAPTURES / "pydantic-ai" / "a_ok.jsonl"


def recorded(below: Path, text: str) -> Path:
    directory = below / "pydantic-ai"
    directory.mkdir(parents=True)
    (directory / "a_ok.jsonl").write_text(text, encoding="utf-8")
    return below


async def changes(tmp_path: Path, text: str) -> list[str]:
    old = recorded(tmp_path / "old", A_OK.read_text(encoding="utf-8"))
    new = recorded(tmp_path / "new", text)
    return list(compared(old, new, await judged(old), await judged(new)))


async def test_the_same_recording_changes_nothing(tmp_path: Path) -> None:
    assert await changes(tmp_path, A_OK.read_text(encoding="utf-8")) == []


async def test_a_new_word_and_another_verdict_are_told(tmp_path: Path) -> None:
    text = A_OK.read_text(encoding="utf-8").replace('"FunctionToolResultEvent"', '"FunctionToolAnswerEvent"')

    told = await changes(tmp_path, text)

    assert "pydantic-ai/a_ok.jsonl: a new word: FunctionToolAnswerEvent 0 -> 1" in told
    assert "pydantic-ai/a_ok.jsonl: a word that is gone: FunctionToolResultEvent 1 -> 0" in told
    assert any("not mapped: FunctionToolAnswerEvent" in one for one in told)


async def test_a_false_claim_of_a_new_recording_is_told(tmp_path: Path) -> None:
    told = await changes(tmp_path, A_OK.read_text(encoding="utf-8").replace('"kind": "end"', '"kind": "raise"'))

    assert [one for one in told if "FALSE CLAIM: call_flight_1: succeeded" in one]


def test_a_text_that_holds_what_looks_like_a_line_end_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"type": "text", "delta": "one\u2028two\u0085three"}\n{"type": "cut', encoding="utf-8")

    assert words(path) == {"text": 1}


def test_the_versions_are_those_of_the_headers() -> None:
    assert {"pydantic-ai-slim", "pydantic"} <= set(versions(CAPTURES / "pydantic-ai"))


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("record_*.py")), ids=lambda path: path.stem)
def test_every_script_says_where_it_writes_and_records_all_where_none_is_named(script: Path) -> None:
    source = script.read_text(encoding="utf-8")

    assert "\nTARGET = " in source
    assert "def main(" in source
    assert inspect.cleandoc(source.split('"""')[1])
