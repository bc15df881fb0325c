"""The lines on the OpenAI Agents page, and on that of the providers' wires, are run as they stand, with a scripted model."""

import asyncio
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunState, function_tool, set_trace_processors
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import toolwitness as tw
from toolwitness.adapters.openai_agents import Recorder

DOCS = Path(__file__).resolve().parents[2] / "docs" / "frameworks"
BLOCKS = re.findall(r"```python\n(.*?)```", (DOCS / "openai-agents.md").read_text(encoding="utf-8"), re.DOTALL)
WIRES = (DOCS / "provider-wires.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def traces_stay_here() -> None:
    set_trace_processors([])


def model(name: str) -> ScriptedModel:
    content = [ResponseOutputText(text="done", type="output_text", annotations=[])]
    said = ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")
    return ScriptedModel(
        [[ResponseFunctionToolCall(arguments='{"q": "x"}', call_id="c1", name=name, type="function_call", id="c1")], [said]]
    )


@function_tool
async def search_flights(q: str) -> str:
    return f"2 flights to {q}"


async def _book(q: str) -> str:
    return q


book = function_tool(_book, name_override="book", needs_approval=True)


async def run(code: str, scope: dict[str, Any]) -> None:
    exec(compile("async def page():\n" + textwrap.indent(code, "    "), "openai-agents.md", "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    await scope["page"]()


async def test_the_integration_is_at_most_ten_lines_and_runs_as_it_stands() -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    states: list[str] = []

    async def seen(desk: tw.Desk) -> None:
        states.extend(str(row.state) for row in await desk.ledger.states())

    code = BLOCKS[0].replace('model="gpt-5"', "model=model").replace('"calls.db"', '"memory:"')
    await run(
        code + "    await seen(desk)\n", {"model": model("search_flights"), "search_flights": search_flights, "book": book, "seen": seen}
    )

    assert len(lines) <= 10
    assert states == ["succeeded"]


async def test_the_policy_on_the_page_is_one_that_the_desk_takes() -> None:
    async with tw.open("memory:") as desk:
        exec(compile(BLOCKS[1], "openai-agents.md", "exec"), {"desk": desk, "tw": tw})  # noqa: S102 -- as above

        assert desk.place.policies["book"].requires_approval


async def test_the_lines_that_pause_and_go_on_run_as_they_stand() -> None:
    async with tw.open("memory:") as desk:
        agent = Agent(name="travel", model=model("book"), tools=[book])
        found: list[Any] = []
        code = BLOCKS[2] + "found.append(result)\n"
        going = asyncio.create_task(run(code, {"desk": desk, "agent": agent, "Recorder": Recorder, "RunState": RunState, "found": found}))
        async for _ in desk.follow():
            waiting = [row for row in await desk.ledger.states() if str(row.state) == "awaiting_approval"]
            if waiting:
                break
        await desk.approve(waiting[0].invocation_id, by=tw.Actor(id="ann", roles=frozenset({"approver"})))
        await going

        assert found[0].final_output == "done"
        assert [str(row.state) for row in await desk.ledger.states()] == ["succeeded"]


def test_every_format_on_the_page_of_the_wires_is_one_that_can_be_replayed_and_its_lines_run() -> None:
    from toolwitness.bootstrap.replay import FORMATS  # noqa: PLC0415 -- for this test alone

    formats = set(re.findall(r"--format ([a-z-]+)", WIRES))
    code = re.findall(r"```python\n(.*?)```", WIRES, re.DOTALL)[0]
    scope: dict[str, Any] = {"messages": [{"role": "tool", "tool_call_id": "a", "content": "fine"}]}
    exec(compile(code, "provider-wires.md", "exec"), scope)  # noqa: S102 -- as above

    assert formats == {"openai-responses", "openai-chat", "openai-chat-messages", "anthropic"}
    assert formats <= FORMATS.keys()
    assert scope["drafts"]
