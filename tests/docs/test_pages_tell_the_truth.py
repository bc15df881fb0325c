"""The documentation is true to the code: nothing is undocumented, stale, or points nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import toolwitness
from toolwitness.core.findings import SEVERITY
from toolwitness.core.states import State
from toolwitness.core.vocabulary import KINDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "changes").glob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")


def rows_of(page: str) -> dict[str, tuple[str, ...]]:
    """Give the hand-written table rows of a page: the code in the first cell, and the other cells."""
    text = (DOCS / page).read_text(encoding="utf-8").split("<!-- generated")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \|$", text, re.MULTILINE)
    return {code: tuple(cell.strip() for cell in rest.split("|")) for code, rest in rows}


def test_every_kind_of_evidence_is_explained_and_no_other_is() -> None:
    expected = {str(kind) for kind in KINDS}
    actual = set(rows_of("evidence.md"))
    assert actual == expected


def test_every_finding_is_explained_with_its_severity_and_no_other_is() -> None:
    expected = {str(code): str(severity) for code, severity in SEVERITY.items()}
    actual = {code: cells[0] for code, cells in rows_of("findings.md").items()}
    assert actual == expected


def test_every_state_is_explained() -> None:
    text = (DOCS / "states.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| ([a-z ]+) \|", text, re.MULTILINE))
    missing = {state.value.replace("_", " ") for state in State} - explained
    assert missing == set()


def test_the_generated_parts_are_what_the_code_says_today() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert run.returncode == 0, f"run `make reference`:\n{run.stdout}{run.stderr}"


def test_every_public_name_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    undocumented = [name for name in toolwitness.__all__ if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert undocumented == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_points_nowhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_the_index_of_decisions_is_complete_and_in_the_navigation() -> None:
    decisions = {page.name for page in (DOCS / "adr").glob("[0-9]*.md")}
    index = (DOCS / "adr" / "index.md").read_text(encoding="utf-8")
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {name for name in decisions if f"]({name})" not in index} == set()
    assert {name for name in decisions if f"adr/{name}" not in navigation} == set()


def test_decisions_are_numbered_without_a_gap_and_say_what_was_rejected() -> None:
    decisions = sorted((DOCS / "adr").glob("[0-9]*.md"))
    numbers = [int(page.name[:4]) for page in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    silent = [page.name for page in decisions if "## Rejected" not in page.read_text(encoding="utf-8")]
    assert silent == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert {page for page in pages if page not in navigation} == set()


def test_the_site_builds_without_a_warning_and_asks_no_other_host(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    fetched = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")
    asked = {address for page in tmp_path.rglob("*.html") for address in fetched.findall(page.read_text(encoding="utf-8"))}
    assert asked == set()
