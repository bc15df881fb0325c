"""The lines on the Pydantic AI page are run as they stand, with a scripted model in the place of the real one."""

import re
import textwrap
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import toolwitness

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks" / "pydantic-ai.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def model() -> FunctionModel:
    def answer(messages: list[Any], info: Any) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("search_flights", {"origin": "LHR"}, "c1")])
        return ModelResponse(parts=[TextPart("two flights")])

    return FunctionModel(answer)


async def search_flights(origin: str) -> str:
    return f"2 flights from {origin}"


async def book(itinerary: str) -> str:
    return itinerary


async def test_the_integration_is_at_most_ten_lines_and_runs_as_it_stands() -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    code = BLOCKS[0].replace('"openai:gpt-5"', "model").replace('"calls.db"', '"memory:"')
    inside = code.replace(
        'result = await agent.run("Book the trip")', 'result = await agent.run("Book the trip")\n    seen(await records(desk))'
    )
    states: list[str] = []

    async def records(desk: toolwitness.Desk) -> list[Any]:
        return [row.state for row in await desk.ledger.states()]

    scope: dict[str, Any] = {"model": model(), "search_flights": search_flights, "book": book, "records": records, "seen": states.extend}
    exec(compile("async def page():\n" + textwrap.indent(inside, "    "), str(PAGE), "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    await scope["page"]()

    assert len(lines) <= 10
    assert [str(state) for state in states] == ["succeeded"]


async def test_the_policy_on_the_page_is_one_that_the_desk_takes() -> None:
    async with toolwitness.open("memory:") as desk:
        exec(compile(BLOCKS[1], str(PAGE), "exec"), {"desk": desk, "tw": toolwitness})  # noqa: S102 -- as above

        assert desk.place.policies["book"].requires_approval
