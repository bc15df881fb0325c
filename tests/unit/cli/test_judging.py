"""The command that judges recordings: its table, its sentences, its document and its exit code."""

import json
from pathlib import Path

from tests.unit.cli.terminals import a_process, toolwitness

CAPTURES = Path(__file__).resolve().parents[3] / "spec" / "captures"


def lied_about(folder: Path) -> Path:
    """A recording of a success whose body wrote that it raised."""
    (folder / "pydantic-ai").mkdir()
    rows = (CAPTURES / "pydantic-ai" / "a_ok.jsonl").read_text(encoding="utf-8").replace('"kind": "end"', '"kind": "raise"')
    (folder / "pydantic-ai" / "lie.jsonl").write_text(rows, encoding="utf-8")
    (folder / "notes.md").write_text("nothing", encoding="utf-8")
    return folder


def test_recordings_that_say_the_truth_end_with_0_and_a_table_that_fits(tmp_path: Path) -> None:
    told = a_process("truth", str(CAPTURES / "a2a"), folder=tmp_path, environment={"COLUMNS": "80"})

    assert told.returncode == 0, told.stderr
    assert "No false claim; 0 of" in told.stdout
    assert "the framework alone" in told.stdout.splitlines()[0]
    assert max(map(len, told.stdout.splitlines())) <= 80
    assert told.stderr == ""


def test_a_false_claim_is_told_in_a_sentence_with_its_rows_and_ends_with_1(tmp_path: Path) -> None:
    told = a_process("truth", str(lied_about(tmp_path)), folder=tmp_path)

    assert told.returncode == 1
    said = " ".join(told.stdout.split())
    assert "1 false claim; " in said
    assert "pydantic-ai/lie.jsonl call call_flight_1: the record says succeeded (row" in said
    assert "its body started and raised (rows" in said
    assert "No end that returned well." in said
    assert "1 file: documentation notes.md" in said


def test_the_document_has_every_verdict_and_every_file_that_was_left_out(tmp_path: Path) -> None:
    told = a_process("truth", str(lied_about(tmp_path)), "--json", folder=tmp_path)

    assert told.returncode == 1
    document = json.loads(told.stdout)
    (file,) = document["files"]
    (false,) = file["false"]
    assert {"file", "framework", "calls", "claims", "false", "missed", "unscored", "alone_false"} <= set(file)
    assert (file["file"], file["framework"], file["claims"]) == ("pydantic-ai/lie.jsonl", "pydantic-ai", {"succeeded": 1})
    assert (false["providerCallId"], false["occurrence"], false["said"]) == ("call_flight_1", 1, "succeeded")
    assert false["rows"]["said"]
    assert len(false["rows"]["true"]) == 2
    assert [one["said"] for one in file["alone_false"]] == ["succeeded (outcome success)"]
    assert document["skipped"] == [{"file": "notes.md", "reason": "documentation"}]
    assert document["total"]["false"] == 1


def test_a_framework_that_recorded_nothing_here_is_named_with_what_to_do(tmp_path: Path) -> None:
    told = a_process("truth", str(CAPTURES / "a2a"), "--framework", "mcp", folder=tmp_path)

    assert told.returncode == 2
    assert "Nothing in" in told.stderr
    assert "Leave the option out" in told.stderr


def test_a_directory_in_which_nothing_lies_is_no_success(tmp_path: Path) -> None:
    asked = toolwitness("truth", str(tmp_path), "--json", folder=tmp_path)
    assert asked.returncode == 2
    assert json.loads(asked.stdout)["error"]["field"] == "directory"
