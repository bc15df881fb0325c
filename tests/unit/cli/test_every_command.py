"""Every command, in a process of its own: what it says, on which stream, with which exit code, on whatever terminal."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.terminals import COMMAND, Ledger, a_process, document, roles_for_me, surroundings

ROOT = Path(__file__).resolve().parents[3]
CAPTURE = min((ROOT / "spec" / "captures" / "pydantic-ai").rglob("*.jsonl"))
ESCAPE = re.compile("\x1b\\[")


def lines_of(ledger: Ledger) -> dict[str, list[str]]:
    """Give one line to type for each command that ends by itself."""
    return {
        "show": ["show"],
        "show a task": ["show", ledger.task],
        "show a call": ["show", ledger.waiting],
        "inbox": ["inbox"],
        "approve": ["approve", ledger.waiting],
        "deny": ["deny", ledger.waiting],
        "retry": ["retry", ledger.failed],
        "verify": ["verify"],
        "schema": ["schema", "event"],
        "replay": ["replay", str(CAPTURE), "--format", "pydantic-ai"],
        "prove": ["prove", "pydantic-ai"],
        "truth": ["truth", str(CAPTURE.parents[1] / "a2a")],
    }


NAMES = ["show", "show a task", "show a call", "inbox", "approve", "deny", "retry", "verify", "schema", "replay", "prove", "truth"]
TERMINALS = {
    "a narrow one": {"COLUMNS": "30"},
    "one that speaks ASCII": {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    "one that speaks Latin": {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
    "a dumb one": {"TERM": "dumb"},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_command_answers_on_standard_output_and_ends_with_0(ledger: Ledger, name: str) -> None:
    roles_for_me(ledger.folder, "finance")
    answered = a_process(*lines_of(ledger)[name], folder=ledger.folder)
    assert answered.returncode == 0, answered.stderr
    assert answered.stdout.strip()
    assert not ESCAPE.search(answered.stdout), "nobody sees colours in a file"
    if name != "schema":
        assert document(a_process(*lines_of(ledger)[name], "--json", folder=ledger.folder))


@pytest.mark.parametrize("terminal", TERMINALS)
def test_every_terminal_gets_an_answer(ledger: Ledger, terminal: str) -> None:
    for arguments in (["show", ledger.task], ["show", ledger.succeeded], ["inbox"], ["--help"], ["demo", "--help"], ["show", "inv_ø"]):
        asked = subprocess.run(
            [str(COMMAND), *arguments], capture_output=True, check=False, cwd=ledger.folder, env=surroundings(**TERMINALS[terminal])
        )  # fmt: skip  # facts in lines
        assert b"Traceback" not in asked.stderr
        assert asked.returncode == (1 if "inv_ø" in arguments else 0), asked.stderr


def test_a_terminal_that_speaks_ascii_gets_ascii_and_loses_nothing(ledger: Ledger) -> None:
    shown = a_process("show", ledger.task, folder=ledger.folder, environment=TERMINALS["one that speaks ASCII"])
    assert shown.stdout.isascii()
    assert "Prepare the trip to Troms\\xf8" in shown.stdout


def test_a_document_is_the_same_bytes_on_every_terminal(ledger: Ledger) -> None:
    asked = [str(COMMAND), "show", ledger.succeeded, "--json"]
    answers = {
        subprocess.run(asked, capture_output=True, check=True, cwd=ledger.folder, env=surroundings(**terminal)).stdout
        for terminal in ({}, *TERMINALS.values())
    }
    assert len(answers) == 1
    assert "412.50 €".encode() in answers.pop()


def seen_on_a_terminal(arguments: list[str], folder: Path, **environment: str) -> str:
    """Run the command on a terminal of its own and give what would be seen on it."""
    ours, theirs = os.openpty()
    seen = b""
    with subprocess.Popen([str(COMMAND), *arguments], stdout=theirs, stderr=theirs, cwd=folder, env=surroundings(**environment)) as process:
        os.close(theirs)
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # that is how Linux says that the other side has closed
            pass
        finally:
            os.close(ours)
        assert process.wait(timeout=60) == 0
    return seen.decode()


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_whose_owner_wants_them(ledger: Ledger, environment: dict[str, str], coloured: bool) -> None:  # noqa: FBT001 - a column of the table above
    assert bool(ESCAPE.search(seen_on_a_terminal(["show"], ledger.folder, **environment))) is coloured


@pytest.mark.parametrize("arguments", [["schema", "contract"], ["--help"], ["show"], ["show", "--json"]], ids=" ".join)
def test_a_reader_who_leaves_early_hears_no_complaint(ledger: Ledger, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody_reads:
        asked = subprocess.run(
            [str(COMMAND), *arguments], stdout=nobody_reads, stderr=subprocess.PIPE, check=False, cwd=ledger.folder, env=surroundings()
        )  # fmt: skip  # facts in lines
    assert asked.stderr == b""


def test_the_answer_counts_even_when_nobody_reads_it(ledger: Ledger) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody_reads:
        asked = subprocess.run(
            [str(COMMAND), "verify"], stdout=nobody_reads, stderr=subprocess.PIPE, check=False, cwd=ledger.folder, env=surroundings()
        )  # fmt: skip  # facts in lines
    assert (asked.returncode, asked.stderr) == (0, b"")
