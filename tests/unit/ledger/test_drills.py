"""The drills that ship: a small round of each, and what they call a failure."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolwitness.testing import kill, race


def test_a_killed_process_loses_nothing_that_was_acknowledged() -> None:
    report = kill.drill(1, seed=1, callers=16, least=60)
    assert (report.rounds, report.missing, report.verify, report.verify_good) == (1, 0, "good", 1)
    assert report.acknowledged == report.found >= 60


def test_one_of_two_processes_is_accepted_and_one_body_runs(tmp_path: Path) -> None:
    report = asyncio.run(race.race(2, 3, tmp_path))
    assert report.passed, report
    assert (report.accepted, report.refused, report.bodies, report.verify) == (3, 3, 3, "good")
    assert sum(report.winners.values()) == 3


@pytest.mark.parametrize(
    "changed", [{"missing": 1}, {"verify_good": 3}, {"unacknowledged_rounds": 2}, {"rounds": 0}]
)  # fmt: skip  # one case after the other
def test_a_kill_drill_passes_only_if_everything_is_as_it_must_be(changed: dict[str, int]) -> None:
    good = {"rounds": 4, "acknowledged": 9, "found": 9, "verify_good": 4, "unacknowledged_rounds": 3}
    assert kill.Report(**good).passed
    assert not kill.Report(**(good | changed)).passed


@pytest.mark.parametrize(
    "changed", [{"accepted": 3}, {"refused": 3}, {"bodies": 5}, {"doubles": 1}, {"claims_recorded": 3}, {"refusals_recorded": 0}]
)
def test_a_race_passes_only_if_everything_is_as_it_must_be(changed: dict[str, int]) -> None:
    def report(**counts: int) -> race.Report:
        once = {"accepted": 4, "refused": 8, "bodies": 4, "grants_recorded": 4, "refusals_recorded": 8, "claims_recorded": 4}
        return race.Report(processes=3, rounds=4, answers={}, winners={}, **{**once, **counts})

    assert report().passed
    assert not report(**changed).passed


@pytest.mark.parametrize("module", ["toolwitness.testing.kill", "toolwitness.testing.race"])
def test_a_drill_is_a_command_with_help(module: str) -> None:
    told = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    assert "--rounds" in told.stdout
    assert "--json" in told.stdout


def test_a_drill_prints_one_json_document(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kill, "drill", lambda *_, **__: kill.Report(rounds=1, missing=1))
    assert kill.main(["--rounds", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["missing"] == 1
    assert kill.main(["--rounds", "1"]) == 1
    assert "1 missing" in capsys.readouterr().out
