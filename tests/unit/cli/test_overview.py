"""Help that teaches, in a blink; wrong usage; and imports that cost nothing before they are needed."""

import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.unit.cli.terminals import COMMAND, document, surroundings, toolwitness
from toolwitness.cli import main
from toolwitness.cli.main import COMMANDS
from toolwitness.cli.teaching import Taught


def the_command(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def least_of(tries: int, *command: str) -> float:
    """Give the shortest of several runs: what the code costs, and not what else the machine is doing."""
    taken: list[float] = []
    for _ in range(tries):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=surroundings())
        taken.append(time.perf_counter() - begun)
    return min(taken)


def test_the_overview_comes_in_less_than_a_third_of_a_second() -> None:
    assert least_of(5, str(COMMAND), "--help") < 0.3


def test_importing_the_package_costs_less_than_a_tenth_of_a_second_more_than_python_itself() -> None:
    bare = least_of(5, sys.executable, "-c", "")
    assert least_of(5, sys.executable, "-c", "import toolwitness") - bare < 0.1


@pytest.mark.parametrize("said", ["import toolwitness", "import toolwitness.cli"])
def test_nothing_heavy_is_imported_before_it_is_needed(said: str) -> None:
    heavy = {"fastapi", "starlette", "uvicorn", "pydantic", "pydantic_ai", "sqlite3", "asyncio"}
    asked = f"import sys; {said}; print(*({heavy!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=surroundings())
    assert loaded.stdout.split() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_of_a_command_what_the_command_says_of_itself(name: str) -> None:
    expected = (the_command(name).help or "").split("\n")[0]
    actual = COMMANDS[name].says
    assert actual == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_a_line_to_type_that_it_would_understand(name: str) -> None:
    command = the_command(name)
    assert isinstance(command, Taught)
    assert command.examples
    shown = CliRunner().invoke(main, [name, "--help"], prog_name="toolwitness").output
    for example in command.examples:
        assert example in shown
        words = example.split(" | ")[0].split(" > ")[0].split()
        assert words[:2] == ["toolwitness", name]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_the_overview_names_the_commands_in_the_order_in_which_a_newcomer_needs_them() -> None:
    shown = CliRunner().invoke(main, ["--help"], prog_name="toolwitness").output
    listed = shown.split("Commands:\n")[1].split("\nBegin with")[0]
    actual = [line.split()[0] for line in listed.splitlines() if line[2:3] != " "]
    assert actual == list(COMMANDS)
    assert shown.index("Begin with:") < shown.index("toolwitness demo") < shown.index("Exit codes:")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["show", "--colour"],
        ["schema", "everything"],
        ["demo", "--port", "70000"],
        ["replay", "gone.jsonl"],
        ["approve"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(arguments: list[str], tmp_path: Path) -> None:
    asked = toolwitness(*arguments, folder=tmp_path)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr.startswith("Usage: toolwitness")
    assert "Error: " in asked.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["fly", "--json"], "toolwitness"),
        (["show", "--colour", "--json"], "toolwitness show"),
        (["demo", "--json"], "toolwitness demo"),
        (["approve", "--json"], "toolwitness approve"),
        (["authority", "revoke", "--json"], "toolwitness authority revoke"),
        (["replay", "gone.jsonl", "--format", "tape", "--json"], "toolwitness replay"),
    ],
)
def test_wrong_usage_is_a_document_where_json_is_asked_for(arguments: list[str], where: str, tmp_path: Path) -> None:
    asked = toolwitness(*arguments, folder=tmp_path)
    error = document(asked)["error"]
    assert asked.returncode == 2
    assert (error["code"], error["remedy"]) == ("usage", f"See `{where} --help`.")
    assert f"Error: {error['message']}" in asked.stderr


def test_the_version_is_printed() -> None:
    shown = CliRunner().invoke(main, ["--version"])
    assert shown.output.startswith("toolwitness, version ")
