"""The framework's own reviews (``HumanInTheLoopMiddleware``), with what they ask and hear on record.

The middleware does what it always does. What it asks for is seen when it interrupts; what it was told is seen in what it does next: the
messages with which it answers a call, the calls that it hands on, the arguments that it has put in place of others.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

from toolwitness.adapters.langgraph.home import Home
from toolwitness.adapters.langgraph.messages import decision_in
from toolwitness.adapters.langgraph.places import carried, whereabouts
from toolwitness.reading.lenient import items, members
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.recording import own_reviews
from toolwitness.recording.desk_side import DeskSide

ACTOR: Final = "toolwitness_actor"
"""Who answers, in the ``configurable`` part of the configuration of the run that resumes; else nobody knows."""
T = TypeVar("T")


def reviewed(middleware: HumanInTheLoopMiddleware[Any, Any, Any], home: Home) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    """Give a middleware that is the same in everything, and whose reviews are recorded."""
    kind = type(middleware)
    same = copy.copy(middleware)
    same.__class__ = type(kind.__name__, (_Reviewed, kind), {"home": home})  # the graph names its nodes after the class
    return same


class _Reviewed(HumanInTheLoopMiddleware[Any, Any, Any]):
    home: Home

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if _on_a_loop():
            return super().after_model(state, runtime)  # called by ``aafter_model``, which records
        side, info, actor = self.home.side(), runtime.execution_info, _actor()
        try:
            update = super().after_model(state, runtime)
        except GraphInterrupt as stop:
            self.home.call(_asked(side, state, info, stop))
            raise
        self.home.call(_heard(side, state, info, update, actor))
        return update

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        side, info, actor = self.home.here(), runtime.execution_info, _actor()
        try:
            update = await super().aafter_model(state, runtime)
        except GraphInterrupt as stop:
            await _asked(side, state, info, stop)
            raise
        await _heard(side, state, info, update, actor)
        return update

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        side, info, actor = self.home.side(), request.runtime.execution_info, _actor()

        def handed_on(passed: Any) -> Any:
            self.home.call(_handed_on(side, request.state, info, request.tool_call, passed.tool_call, actor))
            return handler(passed)

        try:
            result = super().wrap_tool_call(request, handed_on)
        except GraphInterrupt as stop:
            self.home.call(_asked(side, request.state, info, stop))
            raise
        self.home.call(_answered(side, request.state, info, [result], actor))
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        side, info, actor = self.home.here(), request.runtime.execution_info, _actor()

        async def handed_on(passed: Any) -> Any:
            await _handed_on(side, request.state, info, request.tool_call, passed.tool_call, actor)
            return await handler(passed)

        try:
            result = await super().awrap_tool_call(request, handed_on)
        except GraphInterrupt as stop:
            await _asked(side, request.state, info, stop)
            raise
        await _answered(side, request.state, info, [result], actor)
        return result


async def heard_in_history(side: DeskSide, state: Any, info: Any) -> None:
    """Record the answers that reviews left in the messages, also where nobody has given the review to be recorded."""
    told = [m for m in state["messages"] if isinstance(m, ToolMessage) and decision_in({"additional_kwargs": m.additional_kwargs})]
    await _answered(side, state, info, told, UNRECORDED)


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _actor() -> str:
    return str(members(get_config().get("configurable")).get(ACTOR) or UNRECORDED)


async def _known(side: DeskSide, state: Any, info: Any, call_id: str) -> Sequence[str]:
    """Give the calls of this id that the latest message proposed and that nothing has ended."""
    where = whereabouts(state, info, call_id)
    records = await side.records(await side.task_for(where.conversation, where.purpose))
    return [record.id for record in carried(records, where, call_id) if not record.starts]


def _proposed(state: Any) -> list[Any]:
    message = next((m for m in reversed(state["messages"]) if isinstance(m, AIMessage)), None)
    return list(message.tool_calls) if message is not None else []


async def _asked(side: DeskSide, state: Any, info: Any, stop: GraphInterrupt) -> None:
    """Record what an interrupt of the middleware asks for; a body's or the desk's own is none of its."""
    for one in items(stop.args[0] if stop.args else ()):
        value = members(one.value)
        keys = [str(value["tool_call_id"])] if value.get("type") == "tool_approval" and "invocation" not in value else []
        left = _proposed(state)
        for request in map(members, items(value.get("action_requests"))):
            meant = next((c for c in left if c["name"] == request.get("name") and c["args"] == request.get("args")), None)
            if meant is not None:
                left.remove(meant)
                keys.append(str(meant["id"]))
        for key in keys:
            for invocation_id in await _known(side, state, info, key):
                await own_reviews.requested(side, invocation_id)


async def _heard(side: DeskSide, state: Any, info: Any, update: Any, actor: str) -> None:
    """Record what the middleware was told about a batch of calls."""
    shown = members(update)
    if "hitl_edited_tool_calls" not in shown:
        return
    told = [m for m in items(shown.get("messages")) if isinstance(m, ToolMessage)]
    await _answered(side, state, info, told, actor)
    closed, edited = {m.tool_call_id for m in told}, members(shown["hitl_edited_tool_calls"])
    for call in _proposed(state):
        if call["id"] not in closed:
            await _handed_on(side, state, info, call, edited.get(str(call["id"]), call), actor)


async def _answered(side: DeskSide, state: Any, info: Any, told: Sequence[Any], actor: str) -> None:
    """Record the answers that came in the place of a result."""
    for message in told:
        decision = decision_in({"additional_kwargs": message.additional_kwargs}) if isinstance(message, ToolMessage) else ""
        for invocation_id in await _known(side, state, info, message.tool_call_id) if decision else ():
            if decision == "reject":
                await own_reviews.denied(side, invocation_id, actor, str(message.text))
            else:
                await own_reviews.answered(side, invocation_id, actor, exact(message.content))


async def _handed_on(side: DeskSide, state: Any, info: Any, call: Any, passed: Any, actor: str) -> None:
    """Record that a call was handed on: where its approval was asked for, it was given. A call of another tool is another call."""
    if passed["name"] != call["name"]:
        return
    edited = None if passed["args"] == call["args"] else exact(passed["args"])
    for invocation_id in await _known(side, state, info, str(call["id"])):
        await own_reviews.granted(side, invocation_id, actor, edited=edited)
