"""What the documentation tells a newcomer to type works as it says."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, "PYTHONWARNINGS": "error"})


def test_the_quickstart_books_and_its_record_verifies(tmp_path: Path) -> None:
    booked = run(sys.executable, str(ROOT / "examples" / "quickstart.py"), folder=tmp_path)
    assert booked.returncode == 0, booked.stderr
    assert booked.stdout.startswith("ok: Booking(reference='ref-it-7-EUR'")

    verified = run(str(Path(sys.executable).parent / "toolwitness"), "verify", "--db", "calls.db", folder=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_the_eight_lines_of_the_readme_use_the_real_names() -> None:
    import toolwitness  # noqa: PLC0415 - the names are what is tested

    blocks = PYTHON_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    tree = ast.parse("async def page():\n" + "".join(f"    {line}\n" for line in blocks[0].splitlines()))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "tw"}
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "desk"}
    lines = [line for line in blocks[0].splitlines() if line.strip() and not line.startswith("import")]
    assert used <= set(toolwitness.__all__)
    assert asked <= set(dir(toolwitness.Desk))
    assert len(lines) <= 8


def test_every_command_of_the_makefile_that_the_pages_name_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    assert named - targets == set()
