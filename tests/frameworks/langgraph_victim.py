"""A process of its own that runs a recorded agent and is killed, or resumes one: ``python langgraph_victim.py DIRECTORY run|resume``.

Ledger, checkpoints and truth lie in the directory. The body writes its start, makes its effect, and then waits for ever.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tests are not installed

import toolwitness as tw
from tests.frameworks.langgraph_model import ScriptedModel
from toolwitness.adapters.langgraph import Recorder


async def main(place: Path, act: str) -> None:
    """Run or resume, and write what the model was told."""

    def wrote(kind: str, call: str) -> None:
        with (place / "truth.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps([kind, call]) + "\n")

    @tool
    async def charge(amount: int, call: Annotated[str, InjectedToolCallId]) -> str:
        """Charge."""
        wrote("start", call)
        wrote("effect", call)
        await asyncio.Event().wait()
        return "never"

    @tool
    async def flight(origin: str, call: Annotated[str, InjectedToolCallId]) -> str:
        """Fly."""
        wrote("start", call)
        wrote("end", call)
        return "2 flights"

    calls = [("flight", {"origin": "LHR"}, "f1"), ("charge", {"amount": 5}, "c1")]
    async with tw.open(str(place / "calls.db")) as desk, AsyncSqliteSaver.from_conn_string(str(place / "checkpoints.db")) as saver:
        model = ScriptedModel(responses=[calls, "done"])
        agent = create_agent(model, [flight, charge], middleware=[Recorder(desk)], checkpointer=saver)
        given: Any = {"messages": [("user", "go")]} if act == "run" else None
        state = await agent.ainvoke(given, {"configurable": {"thread_id": "t1"}})
        told = {m.tool_call_id: [m.status, m.content] for m in state["messages"] if m.type == "tool"}
        (place / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
