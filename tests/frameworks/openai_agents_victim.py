"""A process that is killed while the body of an approved call runs: ``victim.py DB STATE TRUTH``. It is a test's, and no test itself."""

import asyncio
import json
import sys
from pathlib import Path

from agents import Agent, RunConfig, RunState, function_tool
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import toolwitness as tw
from toolwitness.adapters.openai_agents import Recorder

QUIET = RunConfig(tracing_disabled=True)
ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))


def agent_for(truth: Path, stuck: str) -> Agent:
    """Make the agent whose one tool writes into ``truth`` what it does; with ``stuck`` it never ends."""

    async def book(itinerary: str) -> str:
        with truth.open("a", encoding="utf-8") as file:
            file.write(f"start {itinerary}\n")
        if stuck:
            await asyncio.Event().wait()
        return "PNR ABC123"

    call = ResponseFunctionToolCall(arguments='{"itinerary": "IT-1"}', call_id="b", name="book", type="function_call", id="b")
    content = [ResponseOutputText(text="done", type="output_text", annotations=[])]
    said = ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")
    steps = [[call], [said]] if stuck else [[said]]
    tool = function_tool(book, name_override="book", needs_approval=True)
    return Agent(name="travel", model=ScriptedModel(steps), tools=[tool])


async def main(database: str, state: Path, truth: Path) -> None:
    """Pause, save, approve, go on, and hang in the body until somebody kills this process."""
    agent = agent_for(truth, "stuck")
    async with tw.open(database) as desk:
        recorder = Recorder(desk, waiting="interrupt")
        result = await recorder.run(agent, "book it", run_config=QUIET)
        state.write_text(json.dumps(result.to_state().to_json()), encoding="utf-8")
        waiting = await desk.ledger.states()
        await desk.approve(waiting[0].invocation_id, by=ANN)
        resumed = await recorder.resolve(await RunState.from_json(agent, json.loads(state.read_text(encoding="utf-8"))))
        await recorder.run(agent, resumed, run_config=QUIET)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
