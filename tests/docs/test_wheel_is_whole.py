"""What a user installs has everything in it: the page, the example, the types, the licence."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel as a release would, and open it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_elements_the_example_the_types_and_the_licence(wheel: zipfile.ZipFile) -> None:
    expected = {
        "toolwitness/server/static/toolwitness.js",
        "toolwitness/server/static/toolwitness.css",
        "toolwitness/py.typed",
        "tripdesk/trip.py",
    }
    names = set(wheel.namelist())
    assert expected - names == set()
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_holds_every_module_and_nothing_for_developers(wheel: zipfile.ZipFile) -> None:
    expected = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "toolwitness").rglob("*.py")}
    names = set(wheel.namelist())
    assert expected - names == set()
    assert {name for name in names if name.endswith(("ruff.toml", ".ts", ".map")) or "tests/" in name} == set()


def test_the_page_keeps_the_notices_of_those_whose_code_it_holds(wheel: zipfile.ZipFile) -> None:
    script = wheel.read("toolwitness/server/static/toolwitness.js").decode()
    assert "SPDX-License-Identifier: BSD-3-Clause" in script
