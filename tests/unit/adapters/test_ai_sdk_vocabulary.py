"""No word of a front-end package is overlooked: each is mapped, or left aside with a reason that the table gives."""

import json
import subprocess
from pathlib import Path

import pytest

from toolwitness.adapters.ai_sdk.mapping import MESSAGES, TABLE

NODE = Path(__file__).parents[2] / "node"
WORDS = json.loads((NODE / "vocabulary.json").read_text(encoding="utf-8"))
MAPPED = {word.word.split(" ")[0] for word in TABLE}


@pytest.mark.parametrize("version", ["ai6", "ai7"])
def test_every_chunk_type_of_the_package_is_in_the_table(version: str) -> None:
    assert len(WORDS[version]["chunks"]) >= 25
    assert [word for word in WORDS[version]["chunks"] if word not in MAPPED] == []


@pytest.mark.parametrize("version", ["ai6", "ai7"])
def test_every_state_of_a_stored_tool_part_is_in_the_table(version: str) -> None:
    states = {word.word.split(" ")[1] for word in MESSAGES}

    assert len(WORDS[version]["states"]) == 7
    assert [state for state in WORDS[version]["states"] if state not in states] == []


def test_a_word_that_says_nothing_says_why() -> None:
    assert [word.word for word in TABLE if not word.says and not word.by] == []


def test_the_vocabulary_on_file_is_that_of_the_installed_packages() -> None:
    node = NODE / "node_modules" / ".bin" / "node"
    assert node.exists(), "the front-end packages are not installed: run `make tests/node/node_modules/.stamp`"

    run = subprocess.run([str(node), "vocabulary.mjs"], cwd=NODE, capture_output=True, text=True, check=True)

    assert json.loads(run.stdout) == WORDS
