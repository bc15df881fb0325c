"""OpenAI Agents, alone and with toolwitness: snapshots that pay twice, approvals that stick, results that a cancellation forgets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from agents import Agent, FunctionTool, RunConfig, Runner, RunState, function_tool
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from toolwitness.adapters.openai_agents import Recorder
from toolwitness.core.states import TERMINAL, State
from toolwitness.testing.prove.errands import Payment
from toolwitness.testing.prove.stage import ANA, BEN, Scene, Seen, Stage

_QUIET: Final = RunConfig(tracing_disabled=True)
_PAY: Final = ("pay", {"total": 120}, "c1")
Call = tuple[str, dict[str, Any], str]


def _model(*turns: tuple[Call, ...]) -> ScriptedModel:
    """A model that makes these calls, turn by turn, and then says that it is done, as often as it is asked."""
    content: list[Any] = [ResponseOutputText(text="done", type="output_text", annotations=[])]
    done = ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")
    made = [
        [
            ResponseFunctionToolCall(arguments=json.dumps(inputs), call_id=call_id, name=name, type="function_call", id=call_id)
            for name, inputs, call_id in turn
        ]
        for turn in turns
    ]
    return ScriptedModel([*made, [done], [done]])


def _agent(stage: Stage, *turns: tuple[Call, ...], tools: tuple[FunctionTool, ...] = ()) -> Agent[Any]:
    async def pay(total: int) -> str:
        stage.effects.append(f"paid {total}")
        return f"paid {total}"

    asking = function_tool(pay, needs_approval=True)
    return Agent(name="clerk", model=_model(*turns), tools=list(tools) or [asking])


def _run(stage: Stage) -> Callable[..., Awaitable[Any]]:
    """Give the way to run: with toolwitness it is one more object, and nothing else changes."""
    return Recorder(stage.desk, waiting="interrupt").run if stage.desk is not None else Runner.run


def _outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


# ── one saved state, resumed twice ──────────────────────────────────────────────────────────────────────────────────


async def _resumed_twice(stage: Stage) -> Seen:
    """A person approves once; the saved state is resumed a second time, as after a crash or a double click."""
    agent, run = _agent(stage, (_PAY,)), _run(stage)
    paused = await run(agent, "pay the invoice", run_config=_QUIET)
    saved = json.dumps(paused.to_state().to_json())
    if stage.desk is not None:
        await stage.desk.approve((await stage.waiting()).id, by=ANA)
    told: list[str] = []
    for _ in range(2):
        state = await RunState.from_json(agent, json.loads(saved))
        if stage.desk is not None:
            state = await Recorder(stage.desk).resolve(state)
        else:
            state.approve(state.get_interruptions()[0])
        told += _outputs(await run(agent, state, run_config=_QUIET))[-1:]
    return Seen(told=f"approved once; resumed: {told[0]}; resumed again: {told[1]}", happened=stage.paid, holds=len(stage.effects) == 1)


# ── an approval that sticks ─────────────────────────────────────────────────────────────────────────────────────────


async def _sticks(stage: Stage) -> Seen:
    """A person ticks “always” for 120; the next call is for 9999."""
    agent, run = _agent(stage, (_PAY,), (("pay", {"total": 9999}, "c2"),)), _run(stage)
    state = (await run(agent, "pay the invoices", run_config=_QUIET)).to_state()
    told = "Ana said always, to 120"
    if stage.desk is not None:
        await stage.desk.approve((await stage.waiting()).id, by=ANA)
    state.approve(state.get_interruptions()[0], always_approve=True)
    going = asyncio.ensure_future(run(agent, state, run_config=_QUIET))
    if stage.desk is not None:
        second = await stage.record(lambda record: record.open_approval is not None and bool(stage.effects))
        await stage.desk.deny(second.id, by=BEN, reason="that is another sum")
    told = "; ".join([told, *_outputs(await going)])
    return Seen(told=told, happened=stage.paid, holds=stage.effects == ["paid 120"])


# ── stop, with one call finished ────────────────────────────────────────────────────────────────────────────────────


def _plain(name: str, body: Callable[[], Awaitable[str]]) -> FunctionTool:
    async def call() -> str:
        return await body()

    return function_tool(call, name_override=name)


async def _forgotten(stage: Stage) -> Seen:
    """The hotel is booked, the train is slow; somebody presses stop."""
    begun = asyncio.Event()

    async def hotel() -> str:
        stage.effects.append("hotel booked")
        return "hotel booked"

    async def rail() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    turn: tuple[Call, ...] = (("hotel", {}, "h"), ("rail", {}, "r"))
    agent = _agent(stage, turn, tools=(_plain("hotel", hotel), _plain("rail", rail)))
    recorder = Recorder(stage.desk) if stage.desk is not None else None
    start = recorder.run_streamed if recorder is not None else Runner.run_streamed
    result = start(agent, "book the trip", run_config=_QUIET)
    reading = asyncio.ensure_future(_drain(result))
    await begun.wait()
    await stage.until(lambda: stage.effects)
    if stage.desk is not None:
        await stage.record(lambda record: record.tool == "hotel" and record.state is State.SUCCEEDED)
    result.cancel()
    await reading
    told = ", ".join(_outputs(result)) or f"the history holds {len(result.to_input_list()) - 1} calls and no result"
    if stage.desk is not None:
        await stage.record(lambda record: record.tool == "rail" and record.state in TERMINAL)
        told = ", ".join(f"{record.tool} {record.state}" for record in await stage.records())
    return Seen(told=told, happened=stage.paid, holds="hotel" in told)


async def _drain(result: Any) -> None:
    async for _ in result.stream_events():
        pass


# ── stop, while a thread pays ───────────────────────────────────────────────────────────────────────────────────────


async def _stopped_thread(stage: Stage) -> Seen:
    """The run is cancelled while its tool pays in a thread."""
    payment = Payment(stage)
    agent = _agent(stage, (_PAY,), tools=(function_tool(payment.tool()),))
    start = Recorder(stage.desk).run_streamed if stage.desk is not None else Runner.run_streamed
    result = start(agent, "pay the invoice", run_config=_QUIET)
    reading = asyncio.ensure_future(_drain(result))
    await stage.until(payment.entered.is_set)
    result.cancel()
    await reading
    return await payment.landed("the stream ended; the history holds no call")


# ── failed, or denied? ──────────────────────────────────────────────────────────────────────────────────────────────


async def _failed_or_denied(stage: Stage) -> Seen:
    """One call fails, another is denied. Which is which, without reading what was written for the model?"""

    async def ship() -> str:
        stage.effects.append("ship raised")
        raise ValueError("upstream 502")

    async def pay() -> str:
        stage.effects.append("paid")
        return "paid"

    turn: tuple[Call, ...] = (("ship", {}, "s"), ("pay", {}, "p"))
    agent = _agent(stage, turn, tools=(_plain("ship", ship), function_tool(pay, needs_approval=True)))
    run = _run(stage)
    state = (await run(agent, "ship and pay", run_config=_QUIET)).to_state()
    if stage.desk is not None:
        await stage.desk.deny((await stage.waiting()).id, by=ANA, reason="too dear")
        state = await Recorder(stage.desk).resolve(state)
    else:
        state.reject(state.get_interruptions()[0])
    result = await run(agent, state, run_config=_QUIET)
    kinds = [str(item.type) for item in result.new_items if item.type == "tool_call_output_item"]
    if stage.desk is not None:
        kinds = [f"{r.tool}: {r.closure.kind if r.closure else r.state}" for r in await stage.records()]
    return Seen(told=", ".join(kinds), happened=stage.paid, holds=len(set(kinds)) == len(kinds) == 2)


SCENES: Final = (
    Scene(
        title="One approval, one saved state, resumed twice",
        script=_resumed_twice,
        source="openai/openai-agents-python#4896; measured with 0.24.0",
    ),
    Scene(title="“Always”, said to 120; the next call is for 9999", script=_sticks, source="measured with openai-agents 0.24.0"),
    Scene(
        title="Stop is pressed while a payment runs in a thread: is it cancelled?",
        script=_stopped_thread,
        source="measured with openai-agents 0.24.0",
    ),
    Scene(title="Stop after one booking: does the history know of it?", script=_forgotten, source="measured with openai-agents 0.24.0"),
    Scene(
        title="One call fails, one is denied: which is which?",
        script=_failed_or_denied,
        source="openai/openai-agents-python#1579, openai-agents-js#1104",
    ),
)
"""The scenes, the loudest first."""
