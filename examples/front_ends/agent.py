"""A Pydantic AI agent with a scripted model, so that the pages run offline: it plans a trip, or pays a deposit."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import toolwitness as tw
from toolwitness.adapters.pydantic_ai import Recorder
from toolwitness.policy.tool_policy import ToolPolicy

TRIP = ("search_flights", {"origin": "LHR"}), ("find_rail", {"line": "Nightjet"}), ("book", {"itinerary": "IT-7", "total": "412.50"})
DEPOSIT = (("pay_deposit", {"total": "120.00"}),)


@dataclass
class World:
    """What the tools touch: how long things take, and what was really paid."""

    rail_found: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the slow search has found something."""
    paid: list[str] = field(default_factory=list[str])
    let_pay: threading.Event = field(default_factory=threading.Event)
    """Set when the bank answers the thread that waits for it."""
    seconds: float | None = None
    """How long things take by themselves; ``None``: until somebody sets the events."""


def agent(desk: tw.Desk, world: World) -> tuple[Agent[None, str], Recorder]:
    """Make the agent, with one more object in its capabilities, and give both."""

    async def search_flights(origin: str) -> dict[str, Any]:
        """Find flights."""
        return {"flights": 2, "from": origin}

    async def find_rail(line: str) -> str:
        """Find a night train; this takes long."""
        tw.progress("asking the railway", percent=30)
        if world.seconds is None:
            await world.rail_found.wait()
        else:
            await asyncio.sleep(world.seconds)
        return f"{line}: 1 berth"

    async def book(itinerary: str, total: str) -> str:
        """Book the trip; somebody has to approve."""
        world.paid.append(total)
        return f"booked {itinerary} for {total}"

    def pay_deposit(total: str) -> str:
        """Pay in a thread, which nothing can stop."""
        world.let_pay.wait(world.seconds or 60)
        world.paid.append(total)
        return f"paid {total}"

    desk.declare_policy(
        ToolPolicy(tool="book", consequences=[tw.FINANCIAL], approvers=["role:finance"], scope_fields=["total"], approval_seconds=600)
    )
    recorder = Recorder(desk)
    made = Agent(FunctionModel(stream_function=_script), tools=[search_flights, find_rail, book, pay_deposit], capabilities=[recorder])
    return made, recorder


async def _script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    """Answer a prompt with calls, and their results with a sentence."""
    last = messages[-1]
    prompts = [part.content for part in last.parts if isinstance(part, UserPromptPart)] if isinstance(last, ModelRequest) else []
    if not prompts:
        yield "That is all."
        return
    calls = DEPOSIT if "deposit" in str(prompts[-1]) else TRIP
    turn = sum(message.kind == "response" for message in messages)
    for place, (name, arguments) in enumerate(calls):
        yield {place: DeltaToolCall(name=name, json_args=json.dumps(arguments), tool_call_id=f"{name}-{turn}")}
