"""Runs that go on elsewhere: in another process after a kill, in two places at once, in another agent, on an MCP server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FunctionTool, RunState, SQLiteSession, function_tool, handoff, set_trace_processors
from agents.mcp import MCPServer
from agents.tool_context import ToolContext
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpTool

import toolwitness as tw
from tests.frameworks.openai_agents_victim import QUIET, agent_for
from tests.frameworks.test_openai_agents_live import (
    ANN,
    BOOK,
    Said,
    agent_of,
    booking,
    flight,
    outputs,
    paused,
    records,
    scripted,
    until,
    waiting,
)
from toolwitness.adapters.openai_agents import Recorder
from toolwitness.adapters.openai_agents.earlier import Key
from toolwitness.adapters.openai_agents.recorded_run import RecordedRun
from toolwitness.adapters.openai_agents.watching import parts_of
from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import State

VICTIM = Path(__file__).with_name("openai_agents_victim.py")


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


async def test_a_process_killed_in_the_middle_of_a_call_is_resumed_and_the_call_is_not_made_again(tmp_path: Path) -> None:
    database, state, truth = tmp_path / "calls.db", tmp_path / "state.json", tmp_path / "truth.txt"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.frameworks.openai_agents_victim", str(database), str(state), str(truth)]
    with subprocess.Popen(command, cwd=root) as victim:  # noqa: ASYNC220 -- the process that is killed
        try:
            async with tw.open(str(database)) as watching:
                await until(watching, lambda now: "b" in now and bool(now["b"].starts) and truth.exists())
        finally:
            victim.kill()

    agent = agent_for(truth, "")
    async with tw.open(str(database)) as desk:
        recorder = Recorder(desk, waiting="interrupt")
        resumed = await recorder.resolve(await RunState.from_json(agent, json.loads(state.read_text(encoding="utf-8"))))
        result = await recorder.run(agent, resumed, run_config=QUIET)
        record = (await records(desk))["b"]
        assert await desk.verify() == []

    assert truth.read_text(encoding="utf-8").splitlines() == ["start IT-1"]
    assert (str(record.state), len(record.starts)) == ("running", 1)
    assert "outcome-unknown" in record.findings
    assert "not known" in outputs(result)["b"]
    assert "not run again" in outputs(result)["b"]
    assert result.final_output == "done"


async def test_two_resumptions_of_one_snapshot_at_once_run_the_body_once(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent = agent_of(scripted(BOOK, "one", "two"), booking(ran))
    recorder = Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    await desk.approve((await waiting(desk)).id, by=ANN)

    async def resume() -> str:
        state = await recorder.resolve(await RunState.from_json(agent, json.loads(saved)))
        return str(outputs(await recorder.run(agent, state, run_config=QUIET))["b"])

    told = await asyncio.gather(resume(), resume())

    assert len(ran) == 1
    assert told == ["PNR ABC123", "PNR ABC123"]


async def test_one_approval_lets_one_of_two_conversations_go_on_that_look_alike(desk: tw.Desk) -> None:
    set_trace_processors([])
    ran: list[Any] = []
    recorder = Recorder(desk, waiting="interrupt")
    agents = [agent_of(scripted(BOOK, "done"), booking(ran)) for _ in range(2)]
    saved = [(await recorder.run(agent, "book it")).to_state().to_json() for agent in agents]
    tasks = list(reversed(await desk.ledger.tasks()))
    views = [await desk.ledger.task(task) for task in tasks]
    first, later = [next(iter(view.records.values())) for view in views if view is not None]
    await desk.approve(later.id, by=ANN)

    waits = asyncio.create_task(recorder.resolve(await RunState.from_json(agents[0], saved[0])))
    done, _ = await asyncio.wait({waits}, timeout=0.1)
    resumed = await recorder.resolve(await RunState.from_json(agents[1], saved[1]))
    await recorder.run(agents[1], resumed)

    assert (len(tasks), len(ran), done) == (2, 1, set())
    await desk.deny(first.id, by=ANN)
    await waits


async def test_an_observed_call_that_two_resumptions_make_at_once_in_one_process_is_made_once(desk: tw.Desk) -> None:
    ran: list[str] = []
    go = asyncio.Event()

    @function_tool
    async def slow(q: str) -> str:
        ran.append(q)
        await go.wait()
        return "done"

    agent, recorder = agent_of(scripted([("slow", {"q": "x"}, "c1")], "one", "two"), slow), Recorder(desk)
    run = asyncio.create_task(recorder.run(agent, "go", conversation="ann", run_config=QUIET))
    await until(desk, lambda now: "c1" in now and now["c1"].state is State.RUNNING)
    tool = agent.tools[0]
    assert isinstance(tool, FunctionTool)
    again = RecordedRun(recorder.desk, recorder.waiting, Key("ann", ""), "go")
    context: ToolContext[Any] = ToolContext(context=None, tool_name="slow", tool_call_id="c1", tool_arguments='{"q": "x"}')
    parts = parts_of(tool)
    assert parts is not None
    second = asyncio.create_task(again.invoke(parts, context, '{"q": "x"}'))
    done, _ = await asyncio.wait({second}, timeout=0.05)
    go.set()
    await run

    assert (done, await second, ran) == (set(), "done", ["x"])


async def test_what_is_rejected_in_the_saved_state_closes_the_request_at_the_desk(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent, recorder = agent_of(scripted(BOOK, "fine"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    state = await RunState.from_json(agent, json.loads(saved))
    state.reject(state.get_interruptions()[0])
    await recorder.run(agent, state, run_config=QUIET)

    record = (await records(desk))["b"]
    assert ran == []
    assert record.closure is not None
    assert str(record.closure.kind) == "withdrawn"
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=ANN)


async def test_calls_of_an_agent_that_is_handed_over_to_or_used_as_a_tool_are_on_record(desk: tw.Desk) -> None:
    ran: list[Any] = []
    clerk = agent_of(scripted(BOOK, "booked"), booking(ran))
    clerk.name = "clerk"
    scout = Agent(name="scout", model=scripted([("flight", {"origin": "LHR"}, "s")], "found"), tools=[flight])
    lead_model = scripted([("scout", {"input": "find"}, "n")], [("transfer_to_clerk", {}, "t")])
    lead = Agent(name="lead", model=lead_model, tools=[scout.as_tool("scout", "finds")], handoffs=[clerk])
    run = asyncio.create_task(Recorder(desk).run(lead, "go", run_config=QUIET))
    record = await waiting(desk)
    await desk.approve(record.id, by=ANN)
    result = await run

    found = await records(desk)
    assert result.final_output == "booked"
    assert {call: str(one.state) for call, one in found.items()} == {"n": "succeeded", "s": "succeeded", "b": "succeeded"}
    assert len({one.task_id for one in found.values()}) == 1


async def test_an_agent_used_as_a_tool_that_stops_to_ask_is_no_end_of_its_call(desk: tw.Desk) -> None:
    ran: list[Any] = []
    inner = Agent(name="inner", model=scripted(BOOK, "inner done"), tools=[booking(ran)])
    lead = Agent(name="lead", model=scripted([("inner", {"input": "book"}, "n")], "done"), tools=[inner.as_tool("inner", "books")])
    recorder = Recorder(desk, waiting="interrupt")

    result = await recorder.run(lead, "go", run_config=QUIET)
    found = await records(desk)
    assert [item.call_id for item in result.interruptions] == ["b"]
    assert (str(found["n"].state), str(found["b"].state)) == ("partially_complete", "awaiting_approval")

    await desk.approve(found["b"].id, by=ANN)
    result = await recorder.run(lead, await recorder.resolve(result.to_state()), run_config=QUIET)

    after = await records(desk)
    assert result.final_output == "done"
    assert len(ran) == 1
    assert (str(after["n"].state), str(after["b"].state)) == ("succeeded", "succeeded")
    assert len(after["n"].starts) == 1


class Shelf(MCPServer):
    """An MCP server of two tools, in this process: one answers, one marks its answer as an error; ``hang`` never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    @property
    def name(self) -> str:
        return "shelf"

    async def connect(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[McpTool]:
        schema = {"type": "object", "properties": {"q": {"type": "string"}}}
        return [McpTool(name=name, input_schema=schema, description=name) for name in ("find", "lose", "hang")]

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None) -> CallToolResult:
        self.asked.append(tool_name)
        if tool_name == "hang":
            await asyncio.Event().wait()
        return CallToolResult(content=[TextContent(type="text", text=f"{tool_name} said so")], is_error=tool_name == "lose")

    async def list_prompts(self) -> Any:
        raise NotImplementedError

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError


async def test_a_result_that_an_mcp_server_marks_as_an_error_is_a_failure_though_the_model_gets_it_as_text(desk: tw.Desk) -> None:
    said: Said = [("find", {"q": "x"}, "f"), ("lose", {"q": "x"}, "l")]
    agent = Agent(name="reader", model=scripted(said, "done"), mcp_servers=[Shelf()])
    result = await Recorder(desk).run(agent, "go", run_config=QUIET)

    found = await records(desk)
    assert {call: str(one.state) for call, one in found.items()} == {"f": "succeeded", "l": "failed"}
    assert found["f"].cancel_support == "unsupported"
    assert "lose said so" in str(outputs(result)["l"])


async def test_a_call_on_an_mcp_server_that_is_left_is_unknown_and_never_cancelled(desk: tw.Desk) -> None:
    agent = Agent(name="reader", model=scripted([("hang", {"q": "x"}, "h")], "done"), mcp_servers=[Shelf()])
    run = asyncio.create_task(Recorder(desk).run(agent, "go", run_config=QUIET))
    await until(desk, lambda now: "h" in now and now["h"].state is State.RUNNING)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    record = (await until(desk, lambda now: "outcome-unknown" in now["h"].findings))["h"]
    assert record.state is State.RUNNING


async def test_a_tool_that_cancels_itself_takes_no_sibling_with_it(desk: tw.Desk) -> None:
    @function_tool
    async def odd(city: str) -> str:
        raise asyncio.CancelledError

    model = scripted([("odd", {"city": "Rome"}, "o"), ("flight", {"origin": "LHR"}, "f")], "done")
    result = await Recorder(desk).run(agent_of(model, odd, flight), "go", run_config=QUIET)

    found = await records(desk)
    assert result.final_output == "done"
    assert {call: str(one.state) for call, one in found.items()} == {"o": "failed", "f": "succeeded"}
    assert found["o"].outcome is not None
    assert found["o"].outcome.data["category"] == "aborted"


async def test_the_calls_of_one_session_or_of_one_named_task_are_together(desk: tw.Desk) -> None:
    session = SQLiteSession("ann-1")
    for turn in range(2):
        call: Said = [("flight", {"origin": "LHR"}, f"s{turn}")]
        await Recorder(desk).run(agent_of(scripted(call, "done"), flight), "go", session=session, run_config=QUIET)
    async with desk.task("Ann's trip") as trip:
        call = [("flight", {"origin": "LHR"}, "t")]
        await Recorder(desk, task_id=trip.id).run(agent_of(scripted(call, "done"), flight), "go", run_config=QUIET)

    found = await records(desk)
    assert found["s0"].task_id == found["s1"].task_id
    assert found["t"].task_id == trip.id != found["s0"].task_id


async def test_a_handoff_that_is_made_by_hand_is_followed_too(desk: tw.Desk) -> None:
    ran: list[Any] = []
    clerk = agent_of(scripted(BOOK, "booked"), booking(ran))
    lead = Agent(name="lead", model=scripted([("to_clerk", {}, "t")]), handoffs=[handoff(clerk, tool_name_override="to_clerk")])
    run = asyncio.create_task(Recorder(desk).run(lead, "go", run_config=QUIET))
    await desk.approve((await waiting(desk)).id, by=ANN)
    result = await run

    assert result.final_output == "booked"
    assert list(await records(desk)) == ["b"]


async def test_an_observed_call_that_a_snapshot_makes_again_gives_its_recorded_result(desk: tw.Desk) -> None:
    ran: list[Any] = []
    said: Said = [("flight", {"origin": "LHR"}, "f"), *BOOK]  # type: ignore[list-item]  # a list of calls
    agent, recorder = agent_of(scripted(said, "one", "two"), flight, booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    await desk.approve((await waiting(desk)).id, by=ANN)
    for _ in range(2):
        state = await recorder.resolve(await RunState.from_json(agent, json.loads(saved)))
        await recorder.run(agent, state, run_config=QUIET)

    found = await records(desk)
    assert len(ran) == 1
    assert {call: (str(one.state), len(one.starts)) for call, one in found.items()} == {"f": ("succeeded", 1), "b": ("succeeded", 1)}


def test_an_unknown_way_of_waiting_is_refused_with_the_ways_that_there_are() -> None:
    with pytest.raises(InvalidInput, match="no way of waiting called 'later'") as refused:
        Recorder(tw.open("memory:"), waiting="later")

    assert "in place" in str(refused.value.remedy)
