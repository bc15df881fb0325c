"""LangChain and LangGraph, alone and with toolwitness: approvals used twice, checkpoints replayed, results lost, and who decided what."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolwitness.adapters.langgraph import Recorder
from toolwitness.core.states import TERMINAL
from toolwitness.policy.consequences import Consequence
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.testing.prove.errands import BOOKINGS, Payment, Trip
from toolwitness.testing.prove.stage import ANA, Scene, Seen, Stage

_THREAD: Final[Any] = {"configurable": {"thread_id": "t1"}}
_GO: Final[Any] = {"messages": [("user", "pay the invoice")]}
_PAY: Final = ("pay", {"total": 120})
_MOMENT: Final = 0.4
"""Seconds that one payment waits for another to come beside it."""


class _Model(BaseChatModel):
    """Makes these calls at once and then says that it is done."""

    calls: list[tuple[str, dict[str, Any]]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "_Model":
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        made = any(isinstance(message, AIMessage) for message in messages)
        calls = [] if made else [{"name": name, "args": args, "id": name, "type": "tool_call"} for name, args in self.calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done" if made else "", tool_calls=calls))])


def _agent(stage: Stage, *tools: Callable[..., Any], calls: Any = (_PAY,), asks: bool = False) -> Any:
    """The agent of every script: alone it asks with the framework's own middleware, with toolwitness the desk does."""
    ours: list[Any] = []
    if stage.desk is not None:
        ours = [Recorder(stage.desk, waiting="interrupt")]
        if asks:
            policy = ToolPolicy(tool="pay", consequences=(Consequence.FINANCIAL,), approvers=("role:finance",))
            stage.desk.declare_policy(policy)
    elif asks:
        ours = [HumanInTheLoopMiddleware({"pay": True})]
    return create_agent(_Model(calls=list(calls)), list(tools), middleware=ours, checkpointer=InMemorySaver())


def _pay(stage: Stage) -> Callable[..., Any]:
    beside = threading.Barrier(2)

    def pay(total: int) -> str:
        """Pay."""
        with suppress(threading.BrokenBarrierError):
            beside.wait(_MOMENT)
        stage.effects.append(f"paid {total}")
        return f"paid {total}"

    return pay


async def _asked(stage: Stage, agent: Any, answer: str = "approve") -> Any:
    """Run until the approval is asked for, answer it where it is to be answered, and give what the resume hands in."""
    await asyncio.to_thread(agent.invoke, _GO, _THREAD)
    if stage.desk is not None:
        decide = stage.desk.approve if answer == "approve" else stage.desk.deny
        await decide((await stage.waiting()).id, by=ANA, reason="too expensive")
    return Command(resume={"decisions": [{"type": answer, "message": "too expensive"} if answer == "reject" else {"type": answer}]})


def _last_result(state: Any, tool: str = "pay") -> str:
    found = [m for m in state["messages"] if isinstance(m, ToolMessage) and m.tool_call_id == tool]
    return f"{found[-1].status}, “{found[-1].text}”" if found else "no result at all"


# ── one approval, used twice ────────────────────────────────────────────────────────────────────────────────────────


async def _resumed_twice(stage: Stage) -> Seen:
    """A person approves once, and two threads resume with it: a double click, or a retry of the request."""
    agent = _agent(stage, _pay(stage), asks=True)
    answer = await _asked(stage, agent)
    states = await asyncio.gather(*(asyncio.to_thread(agent.invoke, answer, _THREAD) for _ in range(2)))
    told = f"approved once; both are told: {_last_result(states[0])}"
    return Seen(told=told, happened=stage.paid, holds=len(stage.effects) == 1)


async def _replayed(stage: Stage) -> Seen:
    """The run is over; somebody opens an old tab and goes on from the checkpoint before the payment, with the old approval."""
    agent = _agent(stage, _pay(stage), asks=True)
    answer = await _asked(stage, agent)
    before = agent.get_state(_THREAD).config
    await asyncio.to_thread(agent.invoke, answer, _THREAD)
    state = await asyncio.to_thread(agent.invoke, answer, before)
    told = f"approved once; the second time: {_last_result(state)}"
    return Seen(told=told, happened=stage.paid, holds=len(stage.effects) == 1)


# ── a decision ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _rejected(stage: Stage) -> Seen:
    """A person says no. What is on record: a decision, and whose, or an error?"""
    agent = _agent(stage, _pay(stage), asks=True)
    state = await asyncio.to_thread(agent.invoke, await _asked(stage, agent, "reject"), _THREAD)
    told = _last_result(state)
    if stage.desk is not None:
        record = (await stage.records())[0]
        closure = record.closure
        told = f"{await stage.card(record)}: {closure.kind} by {closure.initiator}, {closure.reason}" if closure else str(record.state)
    return Seen(told=told, happened=stage.paid, holds="ana" in told and not told.startswith("error") and not stage.effects)


# ── stop ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _stopped_and_resumed(stage: Stage) -> Seen:
    """The run is cancelled while its tool pays in a thread; then somebody resumes it."""
    payment = Payment(stage)
    agent = _agent(stage, payment.tool())
    run = asyncio.create_task(agent.ainvoke(_GO, _THREAD))
    await stage.until(payment.entered.is_set)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    error = (await agent.aget_state(_THREAD)).tasks[0].error
    told = f"stopped, {error or 'without a result'}" if stage.desk is None else await stage.card((await stage.records())[0])
    payment.let_go.set()
    await stage.until(lambda: stage.effects)
    state = await agent.ainvoke(None, _THREAD)
    told += f"; resumed: {_last_result(state)}"
    if stage.desk is not None:
        await stage.record(lambda record: record.state in TERMINAL)
    return Seen(told=told, happened=stage.paid, holds=len(stage.effects) == 1)


async def _one_of_three(stage: Stage) -> Seen:
    """Three calls run at once; a person wants the slow one stopped and the other two to go on."""
    trip = Trip(stage)
    calls = tuple((name, {}) for name in BOOKINGS)
    run = asyncio.create_task(_agent(stage, *trip.tools(), calls=calls).ainvoke(_GO, _THREAD))
    await trip.stop_the_slow_one(run.cancel)
    return await trip.ended(run)


async def _lost(stage: Stage) -> Seen:
    """One of two calls has booked when the run is stopped; then the user goes on talking on the same thread."""
    slow_begun = asyncio.Event()

    async def flight() -> str:
        """Fly."""
        stage.effects.append("flight booked")
        return "flight booked"

    async def rail() -> str:
        """Ride."""
        slow_begun.set()
        await asyncio.sleep(30)
        return "never"

    agent = _agent(stage, flight, rail, calls=(("flight", {}), ("rail", {})))
    run = asyncio.create_task(agent.ainvoke(_GO, _THREAD))
    await slow_begun.wait()
    await stage.until(lambda: stage.effects)
    if stage.desk is not None:
        await stage.record(lambda record: record.tool == "flight" and record.state in TERMINAL)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    state = await agent.ainvoke({"messages": [("user", "what have you booked?")]}, _THREAD)
    told = f"flight: {_last_result(state, 'flight')}; rail: {_last_result(state, 'rail')}"
    if stage.desk is not None:
        told = ", ".join(f"{record.tool} {record.state}" for record in await stage.records())
    return Seen(told=told, happened=stage.paid, holds="flight succeeded" in told or "flight: success" in told)


SCENES: Final = (
    Scene(title="One approval, and two requests that resume with it at once", script=_resumed_twice),
    Scene(title="Paid, then resumed from an old checkpoint with the same approval", script=_replayed),
    Scene(title="Stop is pressed while a payment runs in a thread; then it is resumed", script=_stopped_and_resumed),
    Scene(title="Stop after one booking, then ask: what was booked?", script=_lost),
    Scene(title="Ana says no: an error, or her decision?", script=_rejected),
    Scene(title="Stop the rail booking alone: do flight and hotel go on?", script=_one_of_three),
)
"""The scenes, the loudest first."""
