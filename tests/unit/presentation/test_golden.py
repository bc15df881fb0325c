"""The cards of the main situations, whole: a changed word is seen before a person sees it.

``TOOLWITNESS_WRITE_GOLDEN=1 pytest tests/unit/presentation/test_golden.py`` writes them anew; read the difference before committing it.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.presentation.scenarios import SCENARIOS
from tests.unit.presentation.scene import NOON
from toolwitness.presentation.terminal import draw_card
from toolwitness.presentation.terminal_text import EVIDENCE, Screen

GOLDEN = Path(__file__).parent / "golden"
OPENED = frozenset({EVIDENCE, "inputs", "effects", "error"})


def shortened(card: dict[str, Any]) -> dict[str, Any]:
    """Leave the middle of long exact texts out of the file that is kept."""
    for disclosure in card["disclosures"]:
        if len(disclosure.get("text") or "") > 2000:
            disclosure["text"] = f"{disclosure['text'][:60]} [{len(disclosure['text'])} characters] {disclosure['text'][-60:]}"
    return card


def kept(name: str, actual: str) -> str:
    path = GOLDEN / name
    if os.environ.get("TOOLWITNESS_WRITE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_card_is_the_one_that_was_agreed_on(name: str) -> None:
    actual = json.dumps(shortened(SCENARIOS[name]()), indent=1, ensure_ascii=False) + "\n"
    expected = kept(f"{name}.json", actual)
    assert actual == expected


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_terminal_draws_the_same_card(name: str) -> None:
    actual = draw_card(SCENARIOS[name](), Screen(now=NOON, opened=OPENED))
    expected = kept(f"{name}.txt", actual)
    assert actual == expected
    assert all(len(row) <= 80 for row in actual.splitlines() if row.isascii())
