"""Pydantic AI, alone and with toolwitness: approvals that are used twice, cancellations that were none, and who decided what."""

import asyncio
from typing import Any, Final

from pydantic_ai import Agent, CancellationToken, Tool
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved

from toolwitness.adapters.pydantic_ai import Recorder
from toolwitness.core.errors import NotPermitted
from toolwitness.testing.prove.errands import BOOKINGS, Payment, Trip
from toolwitness.testing.prove.stage import ANA, BEN, Scene, Seen, Stage

_PAY: Final = ToolCallPart("pay", {"total": 120}, "c1")


def _model(*calls: ToolCallPart) -> FunctionModel:
    """A model that makes these calls at once and then says that it is done."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = any(message.kind == "response" for message in messages)
        return ModelResponse(parts=[TextPart("done")] if made else list(calls))

    return FunctionModel(answer)


def _agent(stage: Stage, *tools: Any, calls: tuple[ToolCallPart, ...] = (_PAY,)) -> Agent[None, Any]:
    """The agent of every script; with toolwitness it has one more object, and nothing else changes."""
    ours = [Recorder(stage.desk)] if stage.desk is not None else []
    return Agent(_model(*calls), tools=list(tools), capabilities=ours, output_type=[str, DeferredToolRequests])


def _pay(stage: Stage) -> Tool[None]:
    def pay(total: int) -> str:
        stage.effects.append(f"paid {total}")
        return f"paid {total}"

    return Tool(pay, requires_approval=True)


# ── one approval, used twice ────────────────────────────────────────────────────────────────────────────────────────


async def _used_twice(stage: Stage) -> Seen:
    """A person approves once; the history and the answer are then handed in a second time, as after a crash or a double click."""
    agent = _agent(stage, _pay(stage))
    run = asyncio.create_task(agent.run("pay the invoice"))
    if stage.desk is not None:
        await stage.desk.approve((await stage.waiting()).id, by=ANA)
    paused = (await run).all_messages()
    history = paused[: 1 + next(place for place, message in enumerate(paused) if message.kind == "response")]
    answer = DeferredToolResults(approvals={"c1": True})
    again = [asyncio.create_task(agent.run(message_history=history, deferred_tool_results=answer)) for _ in range(1 + (not stage.desk))]
    done, asking = await _settled(stage, again)
    told = "approved once"
    if stage.desk is not None:
        refused = [_last_result(task.result().all_messages()) for task in done]
        told += f"; the second use: {refused[0]}" if refused else f"; the second use waits for an approval of its own ({asking} open)"
    return Seen(told=told, happened=stage.paid, holds=len(stage.effects) == 1)


async def _settled(stage: Stage, runs: list[asyncio.Task[Any]]) -> tuple[list[asyncio.Task[Any]], int]:
    """Wait until the runs are over or wait for a person; give those that are over, and how many approvals are open."""
    everything = asyncio.gather(*runs)
    asking = asyncio.create_task(stage.waiting())
    await asyncio.wait({everything, asking}, return_when=asyncio.FIRST_COMPLETED)
    over = [run for run in runs if run.done()]
    for left in (*runs, asking):
        left.cancel()
    await asyncio.gather(*runs, asking, return_exceptions=True)
    return over, sum(record.open_approval is not None for record in await stage.records())


# ── stop, while a thread pays ───────────────────────────────────────────────────────────────────────────────────────


async def _stopped_thread(stage: Stage) -> Seen:
    """The run is cancelled while its tool pays in a thread."""
    payment = Payment(stage)
    token = CancellationToken()
    run = asyncio.create_task(_agent(stage, payment.tool()).run("pay the invoice", cancellation_token=token))
    await stage.until(payment.entered.is_set)
    token.cancel()
    told = "done"
    try:
        await run
    except RunCancelled as cancelled:
        told = f"cancelled: {_last_result(cancelled.all_messages()) or 'the history has the call and no result'}"
    return await payment.landed(told)


def _last_result(messages: list[ModelMessage]) -> str:
    parts = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    return f"{parts[-1].outcome}, “{parts[-1].content}”" if parts else ""


# ── stop one of three ───────────────────────────────────────────────────────────────────────────────────────────────


async def _one_of_three(stage: Stage) -> Seen:
    """Three calls run at once; a person wants the slow one stopped and the other two to go on."""
    trip = Trip(stage)
    token = CancellationToken()
    agent = _agent(stage, *trip.tools(), calls=tuple(ToolCallPart(name, {}, name) for name in BOOKINGS))
    run = asyncio.create_task(agent.run("book the trip", cancellation_token=token))
    await trip.stop_the_slow_one(token.cancel)
    return await trip.ended(run)


# ── two people answer at once ───────────────────────────────────────────────────────────────────────────────────────


async def _raced(stage: Stage) -> Seen:
    """Ana denies and Ben approves the same request at the same moment."""
    agent = _agent(stage, _pay(stage))
    if stage.desk is None:
        history = (await agent.run("pay the invoice")).all_messages()
        answers = [DeferredToolResults(approvals={"c1": said}) for said in (False, True)]
        said = await asyncio.gather(
            *(agent.run(message_history=history, deferred_tool_results=one) for one in answers), return_exceptions=True
        )
        told = [_last_result(one.all_messages()) if not isinstance(one, BaseException) else f"refused: {one}" for one in said]
    else:
        run = asyncio.create_task(agent.run("pay the invoice"))
        asked = await stage.waiting()
        said = await asyncio.gather(stage.desk.deny(asked.id, by=ANA), stage.desk.approve(asked.id, by=BEN), return_exceptions=True)
        await run
        card = await stage.card((await stage.records())[0])
        told = [f"refused, {one.message}" if isinstance(one, NotPermitted) else card for one in said]
    taken = [not isinstance(one, BaseException) for one in said]
    agreed = sum(taken) == 1 and len(stage.effects) == int(taken[1])
    return Seen(told=f"Ana: {told[0]}; Ben: {told[1]}", happened=stage.paid, holds=agreed)


# ── approved with another amount ────────────────────────────────────────────────────────────────────────────────────


async def _edited(stage: Stage) -> Seen:
    """Ana approves, and puts 99 in the place of 120."""
    agent = _agent(stage, _pay(stage))
    if stage.desk is None:
        history = (await agent.run("pay the invoice")).all_messages()
        answer = DeferredToolResults(approvals={"c1": ToolApproved(override_args={"total": 99})})
        messages = (await agent.run(message_history=history, deferred_tool_results=answer)).all_messages()
        shown = next(part.args_as_dict() for m in messages for part in m.parts if part.part_kind == "tool-call")
        told = f"the history says pay({shown}), approved by nobody"
    else:
        run = asyncio.create_task(agent.run("pay the invoice"))
        asked = await stage.waiting()
        await stage.desk.edit_inputs(asked.id, {"total": 99}, by=ANA)
        await stage.desk.approve(asked.id, by=ANA)
        await run
        record = (await stage.records())[0]
        raw = await stage.desk.ledger.value((record.executed_inputs or {}).get("ref", ""))
        answer = record.approvals[-1].answer
        told = f"pay({(raw or b'').decode()}) ran, approved by {answer.actor if answer else 'nobody'}"
    return Seen(told=told, happened=stage.paid, holds="99" in told and "ana" in told and stage.effects == ["paid 99"])


SCENES: Final = (
    Scene(title="One approval, handed in twice", script=_used_twice),
    Scene(title="Ana denies and Ben approves, at the same moment", script=_raced),
    Scene(title="Ana changes 120 to 99 and approves: is that on record?", script=_edited),
    Scene(title="Stop is pressed while a payment runs in a thread: is it cancelled?", script=_stopped_thread),
    Scene(title="Stop the rail booking alone: do flight and hotel go on?", script=_one_of_three),
)
"""The scenes, the loudest first."""
