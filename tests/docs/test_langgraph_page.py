"""The lines on the LangChain and LangGraph page are run as they stand, with a scripted model in the place of the real one."""

import re
import textwrap
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

import toolwitness
from tests.frameworks.langgraph_model import ScriptedModel
from toolwitness.adapters.langgraph import Recorder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks" / "langgraph.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


class Messages(TypedDict):
    """The state of the graph on the page."""

    messages: Annotated[list[AnyMessage], add_messages]


async def search_flights(origin: str) -> str:
    """Search."""
    return f"2 flights from {origin}"


async def book(itinerary: str) -> str:
    """Book."""
    return itinerary


async def states(desk: toolwitness.Desk) -> list[str]:
    return [str(row.state) for row in await desk.ledger.states()]


async def test_the_integration_is_at_most_ten_lines_and_runs_as_it_stands() -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    code = BLOCKS[0].replace('"openai:gpt-5"', "model").replace('"calls.db"', '"memory:"')
    last = [line for line in code.splitlines() if line.strip()][-1]
    inside = code.replace(last, f"{last}\n    seen(await states(desk))")
    found: list[str] = []

    model = ScriptedModel(responses=[[("search_flights", {"origin": "LHR"}, "c1")], "two flights"])
    scope: dict[str, Any] = {"model": model, "search_flights": search_flights, "book": book, "states": states, "seen": found.extend}
    exec(compile("async def page():\n" + textwrap.indent(inside, "    "), str(PAGE), "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    await scope["page"]()

    assert len(lines) <= 10
    assert found == ["succeeded"]


async def test_the_lines_for_a_graph_of_ones_own_run_as_they_stand() -> None:
    def model(state: Messages) -> dict[str, Any]:
        done = any(message.type == "tool" for message in state["messages"])
        call = {"name": "search_flights", "args": {"origin": "LHR"}, "id": "c1", "type": "tool_call"}
        return {"messages": [AIMessage("done") if done else AIMessage("", tool_calls=[call])]}

    async with toolwitness.open("memory:") as desk:
        graph = StateGraph(Messages)
        scope = {"desk": desk, "graph": graph, "Recorder": Recorder, "search_flights": search_flights, "book": book}
        exec(compile(BLOCKS[1], str(PAGE), "exec"), scope)  # noqa: S102 -- as above
        graph.add_node("model", model)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
        graph.add_edge("tools", "model")
        await graph.compile().ainvoke({"messages": [("user", "go")]})

        assert await states(desk) == ["succeeded"]


async def test_the_policy_on_the_page_is_one_that_the_desk_takes() -> None:
    async with toolwitness.open("memory:") as desk:
        exec(compile(BLOCKS[2], str(PAGE), "exec"), {"desk": desk, "tw": toolwitness})  # noqa: S102 -- as above

        assert desk.place.policies["book"].requires_approval


async def test_the_lines_for_the_frameworks_own_review_run_as_they_stand() -> None:
    async with toolwitness.open("memory:") as desk:
        model = ScriptedModel(responses=[[("book", {"itinerary": "IT-1"}, "b1")], "done"])
        scope = {
            "recorder": Recorder(desk), "model": model, "search_flights": search_flights, "book": book, "create_agent": create_agent,
            "saver": InMemorySaver(), "HumanInTheLoopMiddleware": HumanInTheLoopMiddleware,
        }  # fmt: skip  # names in lines
        exec(compile(BLOCKS[3], str(PAGE), "exec"), scope)  # noqa: S102 -- as above
        await scope["agent"].ainvoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}})

        assert await states(desk) == ["awaiting_approval"]
