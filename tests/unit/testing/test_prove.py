"""The proof runs the real framework, holds with toolwitness, and can fail."""

import json
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic_ai.capabilities import AbstractCapability

from toolwitness.cli import main
from toolwitness.testing.prove import Scene, Seen, Stage, runner
from toolwitness.testing.prove.stage import counted

FRAMEWORKS = list(runner.PROVABLE)


def prove(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["prove", *arguments], prog_name="toolwitness")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_with_toolwitness_every_scene_holds_and_alone_each_shows_what_goes_wrong(framework: str) -> None:
    asked = prove(framework, "--json")

    assert asked.exit_code == 0, asked.output
    (shown,) = json.loads(asked.stdout)["frameworks"]
    assert shown["holds"] is True
    assert shown["withToolwitness"] == len(shown["scenes"]) >= 4
    for scene in shown["scenes"]:
        assert scene["withToolwitness"]["told"]
        assert "broke off" not in scene["alone"]["told"], scene
    assert shown["alone"] < len(shown["scenes"]), "a framework that does everything right needs no proof"


def test_a_person_reads_what_was_told_above_what_happened() -> None:
    said = prove("pydantic-ai").stdout

    assert "approved once" in said
    assert "paid 120 twice" in said
    assert said.rstrip().splitlines()[-2].endswith("5 of 5")


class Nothing(AbstractCapability[Any]):
    """A recorder that records nothing."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk


def test_a_recorder_that_does_nothing_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwitness.testing.prove.stage._PATIENCE", 0.2)
    monkeypatch.setattr("toolwitness.testing.prove.pydantic_ai.Recorder", Nothing)

    asked = prove("pydantic-ai", "--json")

    (shown,) = json.loads(asked.stdout)["frameworks"]
    assert asked.exit_code == 1
    assert (shown["withToolwitness"], shown["holds"]) == (0, False)


def test_a_script_that_breaks_off_is_told_and_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(stage: Stage) -> Seen:
        raise RuntimeError("the package has moved on")

    monkeypatch.setattr("toolwitness.testing.prove.pydantic_ai.SCENES", (Scene(title="Whatever", script=breaks),))

    asked = prove("pydantic-ai")

    assert asked.exit_code == 1
    assert "RuntimeError: the package has moved on" in " ".join(asked.stdout.split())
    assert "did not hold: Whatever" in asked.stdout


def test_without_a_name_the_frameworks_are_listed() -> None:
    assert all(f"toolwitness prove {framework}" in prove().stdout for framework in FRAMEWORKS)
    assert [one["framework"] for one in json.loads(prove("--json").stdout)["provable"]] == FRAMEWORKS


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.Provable, "installed", property(lambda self: ""))


@pytest.mark.usefixtures("nothing_installed")
def test_a_framework_that_is_not_installed_says_how_to_install_it() -> None:
    asked = prove("pydantic-ai")

    assert asked.exit_code == 2
    assert 'pip install "toolwitness[pydantic-ai]"' in asked.stderr
    assert prove("--all").exit_code == 1


def test_an_unknown_framework_names_those_that_are_known() -> None:
    asked = prove("crewai")

    assert asked.exit_code == 2
    assert "pydantic-ai" in asked.stderr


def test_a_name_and_all_together_are_refused() -> None:
    assert prove("pydantic-ai", "--all").exit_code == 2


def test_equal_effects_are_counted() -> None:
    assert counted([]) == "nothing ran"
    assert counted(["paid 1", "paid 2", "paid 1"]) == "paid 1 twice, paid 2 once"
    assert counted(["x"] * 3) == "x 3 times"
