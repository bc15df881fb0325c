"""The page on tool messages shows a turn that runs, and tells of every format that there is."""

import os
import re
import subprocess
import sys
from pathlib import Path

from toolwitness.presentation.turn_formats import FORMATS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tool-messages.md").read_text(encoding="utf-8")


def test_the_turn_on_the_page_is_closed_as_it_says(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "tool_messages.py")],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip  # one call
    assert run.returncode == 0, run.stderr
    answers = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert answers["call_1"] == '{"flights":2}'
    assert answers["call_2"].startswith("This call was denied by ann")
    assert "Reason: it-7 is over budget." in answers["call_2"]
    assert answers["call_3"].startswith("This call waits for an approval (role:finance)")


def test_every_format_is_on_the_page_and_no_other() -> None:
    table = PAGE.split("## The formats")[1].split("## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == set(FORMATS)
