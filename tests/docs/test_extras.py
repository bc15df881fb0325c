"""What an extra installs is all that its framework's proof needs, and the base install reads every capture without a framework.

Each extra gets the wheel in an environment of its own, as a user would make it; `uv` only makes that quick. The times are in `-rP`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from uv import find_uv_bin

from toolwitness.testing.prove.runner import PROVABLE
from toolwitness.testing.truth.layout import Capture, captures_in

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "spec" / "captures"
HERE = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV", "COVERAGE_PROCESS_START"}}

ONE_PROCESS = "import json, sys; from toolwitness.cli import main; [main(line, standalone_mode=False) for line in json.loads(sys.argv[1])]"
"""Many command lines in one process: each start costs more than what it reads."""


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=HERE)
    print(f"{time.monotonic() - began:6.1f} s  {' '.join(Path(part).name for part in command[:3])}")  # noqa: T201 - the times are what -rP shows
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


def installed(wheel: Path, folder: Path, extra: str = "") -> Path:
    """Make an environment that holds the wheel and what the extra names, and nothing else; give its programs."""
    made = run(find_uv_bin(), "venv", "--quiet", "--python", sys.executable, folder / "venv", folder=folder)
    assert made.returncode == 0, made.stderr
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    named = f"toolwitness[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    filled = run(find_uv_bin(), "pip", "install", "--quiet", "--python", programs / "python", named, folder=folder)
    if filled.returncode:  # uv does not read pip's configuration: where only pip knows the way to the packages, pip goes it
        assert run(sys.executable, "-m", "venv", "--clear", folder / "venv", folder=folder).returncode == 0
        filled = run(programs / "python", "-m", "pip", "install", "--quiet", named, folder=folder)
    assert filled.returncode == 0, filled.stderr
    return programs


@pytest.mark.parametrize("name", PROVABLE)
def test_an_extra_brings_all_that_its_proof_needs(name: str, wheel: Path, tmp_path: Path) -> None:
    programs = installed(wheel, tmp_path, PROVABLE[name].extra)
    proved = run(programs / "toolwitness", "prove", name, "--json", folder=tmp_path)
    assert proved.returncode == 0, proved.stdout + proved.stderr
    (shown,) = json.loads(proved.stdout)["frameworks"]
    assert shown["framework"] == name
    assert shown["withToolwitness"] == len(shown["scenes"]) > 0


def test_the_base_install_reads_every_format_and_names_the_extra_that_a_proof_needs(wheel: Path, tmp_path: Path) -> None:
    command = installed(wheel, tmp_path) / "toolwitness"

    listed = run(command, "prove", folder=tmp_path)
    assert listed.returncode == 0
    assert [line.split(" ", 3)[2] for line in listed.stdout.splitlines()] == list(PROVABLE)
    refused = run(command, "prove", "langgraph", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'pip install "toolwitness[langgraph]"' in refused.stderr

    first = {one.format_name: one for one in captures_in(CAPTURES) if isinstance(one, Capture) and one.replayed and one.format_name}
    assert len(first) >= 14
    lines = [["replay", str(capture.path), "--format", name, "--json"] for name, capture in first.items()]
    read = run(command.with_name("python"), "-c", ONE_PROCESS, json.dumps(lines), folder=tmp_path)
    assert read.returncode == 0, read.stderr
    assert [json.loads(line)["format"] for line in read.stdout.rstrip("\n").split("\n")] == list(first)
