"""A process of its own that runs a recorded agent and is killed, or resumes one: ``pydantic_ai_victim.py DIRECTORY run|resume TOOL``.

Ledger, conversation and truth lie in the directory. ``charge`` is observed and ``book`` has a policy; either body writes its start, makes
its effect, and then waits for ever. It is a test's, and no test itself.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tests are not installed

import toolwitness as tw
from toolwitness.adapters.pydantic_ai import Recorder
from toolwitness.policy.tool_policy import RetryPolicy, ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))


def govern(desk: tw.Desk) -> None:
    """Declare a policy that asks a person."""
    desk.declare_policy(
        ToolPolicy(tool="book", consequences=(tw.FINANCIAL,), approvers=("role:finance",), retry=RetryPolicy(attempts=3))  # type: ignore[arg-type]  # words are turned into classes there
    )


def agent_for(desk: tw.Desk, place: Path, tool: str, *, stuck: bool) -> Agent[None, str]:
    """Make the agent; what its bodies really do, and the conversation before each of them, is written into the directory."""

    async def act(ctx: RunContext[None], amount: int) -> str:
        (place / "conversation.json").write_bytes(ModelMessagesTypeAdapter.dump_json(ctx.messages))
        with (place / "truth.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(["start", ctx.tool_call_id]) + "\n")
            out.write(json.dumps(["effect", ctx.tool_call_id]) + "\n")
        if stuck:
            await asyncio.Event().wait()
        return "paid"

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool, {"amount": 5}, "c1")])
        return ModelResponse(parts=[TextPart("done")])

    act.__name__ = tool
    return Agent(FunctionModel(answer), tools=[act], capabilities=[Recorder(desk)])


async def main(place: Path, act: str, tool: str) -> None:
    """Run, or resume, and write what the model was told."""
    async with tw.open(str(place / "calls.db"), sweep_seconds=0.05) as desk:
        govern(desk)
        agent = agent_for(desk, place, tool, stuck=act == "run")
        if act == "run":
            await agent.run("pay", conversation_id="trip")
            return
        history = ModelMessagesTypeAdapter.validate_json((place / "conversation.json").read_bytes())
        result = await agent.run(message_history=history, conversation_id="trip")
        told: list[Any] = [
            [part.part_kind, str(getattr(part, "content", ""))] for message in result.new_messages() for part in message.parts
        ]
        (place / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
