"""The lines on the pages of the AI SDK, AG-UI and assistant-ui are run as they stand, on a recorded stream."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolwitness

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "ai-sdk": "aisdk/v7/a_success.jsonl",
    "ag-ui": "agui/recorded/chunks.jsonl",
    "assistant-ui": "assistantui/recorded/results_of_every_kind.data.jsonl",
}  # fmt: skip  # a page, and a stream for it


def block(name: str) -> str:
    page = (ROOT / "docs" / "frameworks" / f"{name}.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]


@pytest.mark.parametrize("name", PAGES)
async def test_reading_a_stream_is_at_most_ten_lines_and_runs_as_it_stands(name: str) -> None:
    lines = [line for line in block(name).splitlines() if line.strip()]
    content = (ROOT / "spec" / "captures" / PAGES[name]).read_text(encoding="utf-8")

    async def chunks() -> AsyncIterator[Any]:
        for line in content.split("\n"):
            if line:
                yield json.loads(line)

    scope: dict[str, Any] = {}
    exec(compile(block(name), name, "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    async with toolwitness.open("memory:") as desk:
        await scope["watch"](desk, chunks())
        states = [str(row.state) for row in await desk.ledger.states()]

    assert len(lines) <= 10
    assert "succeeded" in states


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_the_framework_is_in_three_sentences(name: str) -> None:
    page = (ROOT / "docs" / "frameworks" / f"{name}.md").read_text(encoding="utf-8")
    opening = page.split("\n\n")[1]

    assert len(re.findall(r"\.(?=\s|$)", opening)) == 3
    assert "What no wire tells" in page
