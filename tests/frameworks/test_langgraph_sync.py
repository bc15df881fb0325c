"""``invoke`` from threads and from plain programs, hand-built graphs, and the loop that a desk lives on."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from typing_extensions import TypedDict

import toolwitness as tw
from tests.frameworks.langgraph_bench import ANN, GO, Truth, agent_of, assert_record_equals, by_id, govern, records, thread, until, waiting
from toolwitness.adapters.langgraph import Recorder
from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import State

Id = Annotated[str, InjectedToolCallId]
PAY = [("pay", {"amount": 5}, "p")]


class Messages(TypedDict):
    """The state of a hand-built graph."""

    messages: Annotated[list[AnyMessage], add_messages]


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


@pytest.fixture
def truth() -> Truth:
    return []


def paying(truth: Truth) -> BaseTool:
    @tool
    def pay(amount: int, call: Id) -> str:
        """Pay."""
        truth.append(("start", call))
        tw.progress("paying", percent=50)
        truth.append(("end", call))
        return f"paid {amount}"

    return pay


def graph_of(node: Any, *calls: dict[str, Any], saver: Any = None) -> Any:
    """A graph whose model is a function and whose tools are in the given node."""
    made = AIMessage("", id="m1", tool_calls=[{**call, "type": "tool_call"} for call in calls])

    def model(state: Messages) -> dict[str, Any]:
        return {"messages": [made if not any(m.type == "tool" for m in state["messages"]) else AIMessage("done")]}

    graph = StateGraph(Messages)
    graph.add_node("model", model)
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def told(state: Any) -> dict[str, str]:
    return {m.tool_call_id: m.content for m in state["messages"] if isinstance(m, ToolMessage)}


# ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_invoke_in_a_thread_is_recorded_at_the_desk_of_the_loop(desk: tw.Desk, truth: Truth) -> None:
    govern(desk, "pay")
    agent = agent_of(desk, PAY, "done", tools=[paying(truth)])
    run = asyncio.create_task(asyncio.to_thread(agent.invoke, GO, thread()))
    await desk.approve((await waiting(desk, "p")).id, by=ANN)

    state = await run
    record = (await by_id(desk))["p"]
    assert told(state) == {"p": "paid 5"}
    assert (str(record.state), record.cancel_support, record.progress["percent"]) == ("succeeded", "thread", 50)
    await assert_record_equals(desk, truth)


def test_a_plain_program_needs_nothing_but_the_recorder(tmp_path: Any, truth: Truth) -> None:
    file = str(tmp_path / "calls.db")
    agent = agent_of(tw.open(file), PAY, "done", tools=[paying(truth)])
    first, again = agent.invoke(GO, thread()), agent.invoke({"messages": [("user", "more")]}, thread("t2"))

    async def seen() -> list[str]:
        async with tw.open(file) as other:
            assert await other.verify() == []
            return [str(record.state) for record in await records(other)]

    assert (told(first), told(again)) == ({"p": "paid 5"}, {"p": "paid 5"})
    assert truth.count(("start", "p")) == 2
    assert asyncio.run(seen()) == ["succeeded", "succeeded"]


async def test_two_threads_that_resume_with_one_approval_run_the_body_once(desk: tw.Desk, truth: Truth) -> None:
    govern(desk, "pay")
    agent = agent_of(desk, PAY, "done", tools=[paying(truth)], recorder=Recorder(desk, waiting="interrupt"))
    await asyncio.to_thread(agent.invoke, GO, thread())
    await desk.approve((await waiting(desk, "p")).id, by=ANN)

    both = threading.Barrier(2)

    def resume() -> Any:
        both.wait(10)
        return agent.invoke(Command(resume=True), thread())

    states = await asyncio.gather(asyncio.to_thread(resume), asyncio.to_thread(resume))
    assert [told(state) for state in states] == [{"p": "paid 5"}, {"p": "paid 5"}]
    assert truth == [("start", "p"), ("end", "p")]
    await assert_record_equals(desk, truth)


async def test_a_failing_body_in_a_thread_raises_what_it_raised(desk: tw.Desk, truth: Truth) -> None:
    @tool
    def pay(amount: int, call: Id) -> str:
        """Pay."""
        truth.append(("start", call))
        truth.append(("raise", call))
        raise ValueError("no money")

    with pytest.raises(ValueError, match="no money"):
        await asyncio.to_thread(agent_of(desk, PAY, "done", tools=[pay]).invoke, GO, thread())
    await assert_record_equals(desk, truth)


async def test_invoke_on_the_loop_that_the_desk_lives_on_is_refused_and_says_what_to_do(desk: tw.Desk, truth: Truth) -> None:
    agent = agent_of(desk, PAY, "done", tools=[paying(truth)])

    with pytest.raises(InvalidInput, match="ainvoke"):
        agent.invoke(GO, thread())
    assert truth == []


async def test_a_recorder_whose_desk_lives_on_another_loop_says_so(desk: tw.Desk, truth: Truth) -> None:
    agent = agent_of(desk, PAY, "done", tools=[paying(truth)])

    with pytest.raises(InvalidInput, match="another event loop"):
        await asyncio.to_thread(lambda: asyncio.run(agent.ainvoke(GO, thread())))
    assert truth == []


def test_a_way_of_waiting_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="in place or interrupt"):
        Recorder(tw.open("memory:"), waiting="forever")


# ── hand-built graphs ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_tool_node_of_a_hand_built_graph_records_the_same(desk: tw.Desk, truth: Truth) -> None:
    govern(desk, "pay")
    graph = graph_of(Recorder(desk).tool_node([paying(truth)]), {"name": "pay", "args": {"amount": 5}, "id": "p"}, saver=InMemorySaver())
    run = asyncio.create_task(graph.ainvoke(GO, thread()))
    await desk.approve((await waiting(desk, "p")).id, by=ANN)

    assert told(await run) == {"p": "paid 5"}
    old = await anext(one async for one in graph.aget_state_history(thread()) if one.next == ("tools",))
    assert told(await graph.ainvoke(None, old.config)) == {"p": "paid 5"}
    await assert_record_equals(desk, truth)


async def test_a_tool_node_takes_the_two_wrappers_themselves(desk: tw.Desk, truth: Truth) -> None:
    recorder = Recorder(desk)
    node = ToolNode([paying(truth)], wrap_tool_call=recorder.wrap_tool_call, awrap_tool_call=recorder.awrap_tool_call)
    graph = graph_of(node, {"name": "pay", "args": {"amount": 5}, "id": "p"})

    assert told(await graph.ainvoke(GO)) == {"p": "paid 5"}
    assert told(await asyncio.to_thread(graph.invoke, GO)) == {"p": "paid 5"}
    assert [str(record.state) for record in await records(desk)] == ["succeeded", "succeeded"]
    assert truth.count(("start", "p")) == 2


async def test_answers_to_two_questions_of_one_node_are_never_given_to_the_wrong_call(desk: tw.Desk, truth: Truth) -> None:
    """One node asks about two calls at once; whatever the resume says, each call gets the answer that was given to it at the desk."""
    govern(desk, "pay")
    calls = ({"name": "pay", "args": {"amount": 1}, "id": "a"}, {"name": "pay", "args": {"amount": 2}, "id": "b"})
    graph = graph_of(Recorder(desk, waiting="interrupt").tool_node([paying(truth)]), *calls, saver=InMemorySaver())
    await graph.ainvoke(GO, thread())
    await desk.deny((await waiting(desk, "a")).id, by=ANN, reason="not this one")
    await desk.approve((await waiting(desk, "b")).id, by=ANN)

    state = await graph.ainvoke(Command(resume="yes to everything"), thread())

    assert "not this one" in told(state)["a"]
    assert told(state)["b"] == "paid 2"
    assert truth == [("start", "b"), ("end", "b")]
    await assert_record_equals(desk, truth)


# ── tools of other kinds ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_tool_class_with_a_body_of_its_own_is_guarded_too(desk: tw.Desk, truth: Truth) -> None:
    class Pay(BaseTool):
        name: str = "pay"
        description: str = "Pay."

        def _run(self, amount: int) -> str:
            truth.append(("start", "p"))
            truth.append(("end", "p"))
            return f"paid {amount}"

        async def _arun(self, amount: int) -> str:
            return self._run(amount)

    assert told(await agent_of(desk, PAY, "done", tools=[Pay()]).ainvoke(GO, thread())) == {"p": "paid 5"}
    assert (await by_id(desk))["p"].cancel_support == "task"
    await assert_record_equals(desk, truth)


async def test_results_with_an_artifact_and_commands_are_handed_on_as_they_are(desk: tw.Desk) -> None:
    @tool(response_format="content_and_artifact")
    async def table(rows: int) -> tuple[str, dict[str, int]]:
        """Make a table."""
        return "made", {"rows": rows}

    @tool
    async def route(to: str, call: Id) -> Command:
        """Go."""
        return Command(update={"messages": [ToolMessage(f"went {to}", tool_call_id=call)]})

    calls = [("table", {"rows": 3}, "t"), ("route", {"to": "x"}, "r")]
    agent = agent_of(desk, calls, "done", tools=[table, route])
    state = await agent.ainvoke(GO, thread())

    assert told(state) == {"t": "made", "r": "went x"}
    assert [m.artifact for m in state["messages"] if getattr(m, "tool_call_id", "") == "t"] == [{"rows": 3}]
    old = await anext(one async for one in agent.aget_state_history(thread()) if "tools" in one.next)
    again = await agent.ainvoke(None, old.config)
    assert [m.artifact for m in again["messages"] if getattr(m, "tool_call_id", "") == "t"] == [{"rows": 3}]
    assert {len(record.starts) for record in await records(desk)} == {1}


async def test_a_cancellation_that_is_requested_before_anybody_decides_is_not_lost(desk: tw.Desk, truth: Truth) -> None:
    govern(desk, "pay")
    run = asyncio.create_task(agent_of(desk, PAY, "done", tools=[paying(truth)]).ainvoke(GO, thread()))
    record = await waiting(desk, "p")
    await desk.dismiss(record.id, by=ANN, reason="not needed")
    await run

    assert (await until(desk, lambda now: now["p"].state is State.CANCELLED))["p"].closure.kind == "dismissed"
    assert truth == []


async def test_an_async_tool_that_is_invoked_without_a_loop_was_never_started(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def pay(amount: int, call: Id) -> str:
        """Pay."""
        truth.append(("start", call))
        return "never"

    with pytest.raises(NotImplementedError):
        await asyncio.to_thread(agent_of(desk, PAY, "done", tools=[pay]).invoke, GO, thread())

    record = (await by_id(desk))["p"]
    assert (record.starts, str(record.state)) == ([], "awaiting_input")
    assert truth == []
