"""What the README tells a stranger to type, typed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.terminals import a_process, document, surroundings

README = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")
PROGRAM = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
TYPED = next(block for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL) if "[actors]" in block)


def test_the_program_waits_until_somebody_approves_it_from_another_terminal_and_then_books(tmp_path: Path) -> None:
    (tmp_path / "trip.py").write_text(PROGRAM, encoding="utf-8")
    role, *_ = TYPED.split("\n$ ")
    subprocess.run(["bash", "-c", role.removeprefix("$ ")], check=True, cwd=tmp_path)
    assert list(tomllib.loads((tmp_path / "toolwitness.toml").read_text(encoding="utf-8"))) == ["actors"]
    with subprocess.Popen([sys.executable, "trip.py"], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=surroundings()) as program:
        while not (waiting := calls_that_wait(tmp_path)):
            assert program.poll() is None
        assert a_process("approve", waiting[0], folder=tmp_path).returncode == 0
        assert program.communicate(timeout=60)[0] == "booked it-7 for 412.50 EUR\n"
        assert program.returncode == 0
    assert a_process("verify", folder=tmp_path).returncode == 0


def calls_that_wait(folder: Path) -> list[str]:
    """Give the ids of what the inbox shows; none while there is no ledger yet."""
    asked = a_process("inbox", "--json", folder=folder)
    return [call["identity"]["invocationId"] for call in document(asked).get("approvals", ())]


@pytest.mark.parametrize("line", [line for line in TYPED.splitlines() if line.startswith("$ toolwitness")])
def test_every_line_to_type_names_a_command_that_is_there(line: str, tmp_path: Path) -> None:
    assert a_process(*line.split()[2:3], "--help", folder=tmp_path).returncode == 0
