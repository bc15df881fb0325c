"""The recorder for ``create_agent`` and for hand-built graphs: one object that puts every tool call on record at a desk.

It sees what the model proposes, asks the desk for the approvals that policy demands, and runs each body once: what is executed again on
resume or on replay of an old checkpoint is given what is on record, and never a second body.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar, cast

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ValidationError

from toolwitness.adapters.langgraph import outcomes
from toolwitness.adapters.langgraph.bodies import Instead, Taken, guarded
from toolwitness.adapters.langgraph.home import Home
from toolwitness.adapters.langgraph.mapping import ADAPTER
from toolwitness.adapters.langgraph.places import RUN, RecordedState, Whereabouts, carried, whereabouts
from toolwitness.adapters.langgraph.reviews import heard_in_history, reviewed
from toolwitness.core.errors import InvalidInput
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.consequences import Consequence
from toolwitness.reading.pen import exact
from toolwitness.recording.desk_side import DeskLike, DeskSide, Rule, same_json
from toolwitness.runtime.encoding import encode_value
from toolwitness.service.workplace import read

Answer = TypeVar("Answer")
_RUN_AGAIN: Final = "again"


class Waiting(StrEnum):
    """How a run waits for a person."""

    IN_PLACE = "in place"
    """The run waits, and its process with it."""
    INTERRUPT = "interrupt"
    """The run stops with an interrupt of its own for each call, and can be resumed by any process. Needs a checkpointer."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nobody has decided yet: the run is to stop with this question."""

    question: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Passed:
    """The framework is to answer by itself, since the body is not reached: no such tool, or arguments that it refuses."""

    record: InvocationRecord


class Recorder(AgentMiddleware[RecordedState, Any, Any]):
    """Puts the tool calls of an agent or a graph on record at a desk. Last in ``middleware``, so that it sees every attempt."""

    state_schema = RecordedState

    def __init__(self, desk: DeskLike, *, task_id: str = "", waiting: str = Waiting.IN_PLACE) -> None:
        """Record at ``desk``; ``task_id`` names an open task for all calls, else each conversation gets its own.

        Raises:
            InvalidInput: ``waiting`` is neither ``in place`` nor ``interrupt``.
        """
        super().__init__()
        if waiting not in set(Waiting):
            raise InvalidInput(f"There is no way of waiting called {waiting!r}.", field="waiting", remedy=f"Use {' or '.join(Waiting)}.")
        self.tools = []
        self._waiting = Waiting(waiting)
        self._home = Home(desk, task_id=task_id)
        self._inside: dict[str, asyncio.Event] = {}
        """The calls that are in hand here, each with what is set when it no longer is."""
        self._failed_in: dict[str, tuple[str, float | None]] = {}
        """In which execution of a node a call failed: the same one may try again."""
        self._asked_again: dict[tuple[str, str], list[str]] = {}
        """By conversation and tool: the calls that the model was asked to make again."""
        self._proposed: dict[str, list[str]] = {}
        """By conversation: what was proposed."""

    def tool_node(self, tools: Sequence[Any], **more: Any) -> ToolNode:
        """Make the tool node of a hand-built graph; ``more`` is handed on."""
        return ToolNode(tools, wrap_tool_call=self.wrap_tool_call, awrap_tool_call=self.awrap_tool_call, **more)

    def reviewing(self, middleware: HumanInTheLoopMiddleware[Any, Any, Any]) -> HumanInTheLoopMiddleware[Any, Any, Any]:
        """Give the framework's own review with what it asks and hears on record; it stands where it stood.

        Who answered is what the resuming run's ``configurable`` says under ``toolwitness_actor``, unchecked, and ``unrecorded`` else.
        """
        return reviewed(middleware, self._home)

    # ── a run ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Name the turn, so that the calls of a run without a thread are known to belong together."""
        return {RUN: self._home.side().place.ids.new("run")}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do as ``before_agent`` does."""
        return {RUN: self._home.here().place.ids.new("run")}

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Record every call that the model proposes."""
        return self._home.call(self._propose_all(self._home.side(), state, runtime))

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do as ``after_model`` does."""
        return await self._propose_all(self._home.here(), state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Close the calls that were proposed and that nobody will make any more."""
        return self._home.call(self._leave(self._home.side(), state, runtime))

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do as ``after_agent`` does."""
        return await self._leave(self._home.here(), state, runtime)

    async def _leave(self, side: DeskSide, state: Any, runtime: Any) -> None:
        where = whereabouts(state, runtime.execution_info)
        for key in [key for key in self._asked_again if key[0] == where.conversation]:
            del self._asked_again[key]
        await heard_in_history(side, state, runtime.execution_info)
        proposed = self._proposed.pop(where.conversation, [])
        for invocation_id in proposed:
            self._failed_in.pop(invocation_id, None)
        await side.leave(proposed, "the run that proposed it is over")

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _propose_all(self, side: DeskSide, state: Any, runtime: Any) -> None:
        where = whereabouts(state, runtime.execution_info)
        place, message = next(((n, m) for n, m in reversed(list(enumerate(state["messages"]))) if isinstance(m, AIMessage)), (0, None))
        counted: dict[str, int] = {}
        answered = {m.tool_call_id for m in state["messages"][place:] if isinstance(m, ToolMessage)}
        for call in message.tool_calls if message is not None else ():
            key = str(call["id"])
            if key in answered:
                continue  # by the framework itself: a structured response, which has no body
            counted[key] = counted.get(key, 0) + 1
            task_id = await side.task_for(where.conversation, where.purpose)
            known = carried(await side.records(task_id), where, key)
            if not where.durable and known and known[0].starts:
                continue  # an id of a run that is over
            if len(known) < counted[key]:
                await self._propose(side, where, call)

    async def _propose(self, side: DeskSide, where: Whereabouts, call: Any, *, again: InvocationRecord | None = None) -> InvocationRecord:
        task_id = await side.task_for(where.conversation, where.purpose)
        follows = again or await self._predecessor(side, where, call["name"])
        rule = Rule.GOVERNED if call["name"] in side.place.policies else Rule.OBSERVED
        invocation_id = await side.propose(
            task_id, str(call["id"]), call["name"], exact(call["args"]), run_id=where.message, follows=follows, rule=rule
        )
        if where.told_when_over:
            self._proposed.setdefault(where.conversation, []).append(invocation_id)
        return (await read(side.place, invocation_id)).record

    async def _predecessor(self, side: DeskSide, where: Whereabouts, tool: str) -> InvocationRecord | None:
        """Give the one call of this tool that the model was asked to make again; none where several could be meant."""
        asked = self._asked_again.pop((where.conversation, tool), [])
        return (await read(side.place, asked[0])).record if len(asked) == 1 else None

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer | ToolMessage:
        """Run one call, once, from a thread."""
        side = self._home.side()
        where = _where(request)
        while isinstance(found := self._home.call(self._take(side, request, where)), Undecided):
            interrupt(found.question)
        if isinstance(found, ToolMessage):
            return found
        if isinstance(found, Passed):
            answer = handler(request)
            self._home.call(self._refused(side, where, found.record, answer))
            return answer
        try:
            return handler(_guarded(request, found, side, self._home.loop))
        except Instead:
            return self._home.call(self._stopped(side, request, found))
        except Exception:
            self._failed_in[found.record.id] = where.execution
            raise
        finally:
            self._home.call(self._done(side, where, found))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer | ToolMessage:  # fmt: skip  # a signature in two lines
        """Run one call, once."""
        side = self._home.here()
        where = _where(request)
        while isinstance(found := await self._take(side, request, where), Undecided):
            interrupt(found.question)
        if isinstance(found, ToolMessage):
            return found
        if isinstance(found, Passed):
            answer = await handler(request)
            await self._refused(side, where, found.record, answer)
            return answer
        try:
            return await handler(_guarded(request, found, side, self._home.loop))
        except Instead:
            return await self._stopped(side, request, found)
        except asyncio.CancelledError:
            await _release(found)
            raise
        except Exception:
            self._failed_in[found.record.id] = where.execution
            raise
        finally:
            await asyncio.shield(self._done(side, where, found))

    async def _take(self, side: DeskSide, request: ToolCallRequest, where: Whereabouts) -> "Taken | Passed | Undecided | ToolMessage":
        """Take a call in hand: it may run, or here is what to say instead."""
        while True:
            record = await self._current(side, request, where)
            if (busy := self._inside.get(record.id)) is not None:
                await busy.wait()
                continue
            self._inside[record.id] = asyncio.Event()
            taken: Any = None
            try:
                taken = await self._answer(side, request, where, record)
            finally:
                if not isinstance(taken, Taken):
                    self._let_go(record)
            if taken != _RUN_AGAIN:
                return cast("Taken | Passed | Undecided | ToolMessage", taken)

    def _let_go(self, record: InvocationRecord) -> None:
        event = self._inside.pop(record.id, None)
        if event is not None:
            event.set()

    async def _current(self, side: DeskSide, request: ToolCallRequest, where: Whereabouts) -> InvocationRecord:
        """Give the call that this is. One that a reviewer has turned into a call of another tool is another one, under that tool's rule."""
        call = request.tool_call
        task_id = await side.task_for(where.conversation, where.purpose)
        known = carried(await side.records(task_id), where, str(call["id"]))
        mine = [record for record in known if record.tool == call["name"]]
        for record in known if not mine else ():
            await side.withdraw(record.id, f"a reviewer put a call of {call['name']} in its place")
        idle = [record for record in mine if record.id not in self._inside and not _over(record)] or mine
        for record in idle:
            if same_json(await side.standing(record), exact(call["args"])):
                return record
        return idle[0] if idle else await self._propose(side, where, call)

    async def _answer(self, side: DeskSide, request: ToolCallRequest, where: Whereabouts, record: InvocationRecord) -> Any:
        """Say what is to be done with a call: run it, tell what is on record, ask, or let the framework refuse it."""
        call, tool = request.tool_call, request.tool
        if _over(record):
            if await self._may_try_again(side, where, record):
                await self._propose(side, where, call, again=record)
                return _RUN_AGAIN
            return await self._tell(side, call, tool, record)
        why = _refusal(tool, call["args"]) if tool is not None and record.governed else ""
        if tool is None or why:
            reason = f"no tool is called {call['name']!r}" if tool is None else f"{ADAPTER}: {why}"
            await side.reject_inputs(record, reason)
            self._asked_again.setdefault((where.conversation, call["name"]), []).append(record.id)
            return Passed(record)
        if record.state is State.PARTIALLY_COMPLETE:
            return Taken(record=record, permit="", args=call["args"], compared="same")
        return await (self._permitted if record.governed else self._observed)(side, call, record)

    async def _observed(self, side: DeskSide, call: Any, record: InvocationRecord) -> Taken:
        same = same_json(await side.standing(record), exact(call["args"]))
        return Taken(record=record, permit="", args=call["args"], compared="same" if same else "different")

    async def _permitted(self, side: DeskSide, call: Any, record: InvocationRecord) -> Any:
        """Ask policy, wait for whoever decides, and claim the one permit."""
        if record.approval is None and record.permission is None:
            await side.accept_inputs(record, exact(call["args"]))
        await side.ask(record.id)
        if self._waiting is Waiting.INTERRUPT and not await side.is_decided(record.id):
            return Undecided(await _question(side, call, record))
        decided = await side.decision(record.id)
        now = (await read(side.place, record.id)).record
        if decided.permitted != "yes":
            return await outcomes.told(side, call, now)
        claimed = await side.claim(record.id)
        if isinstance(claimed, PolicyVerdict):
            now = (await read(side.place, record.id)).record
            return _RUN_AGAIN if _over(now) else await outcomes.told(side, call, now)
        now = (await read(side.place, record.id)).record
        return Taken(record=now, permit=claimed, args=json.loads(decided.inputs), compared="same")

    async def _may_try_again(self, side: DeskSide, where: Whereabouts, record: InvocationRecord) -> bool:
        """Tell whether a second execution is another attempt: the framework's own retry, a run without a thread, a tool that only reads."""
        if not where.durable:
            return True
        if record.state is State.FAILED:
            return self._failed_in.get(record.id) == where.execution
        policy = side.place.policies.get(record.tool)
        reads = policy is not None and set(policy.consequences) == {Consequence.READ_ONLY}
        return reads and record.state not in TERMINAL and (await side.ended(record.id)).state not in TERMINAL

    async def _tell(self, side: DeskSide, call: Any, tool: BaseTool | None, record: InvocationRecord) -> ToolMessage:
        """Tell what is on record of a call that is not to be run again; one that is at work is waited for."""
        return await outcomes.told(side, call, await side.ended(record.id), tool)

    async def _stopped(self, side: DeskSide, request: ToolCallRequest, taken: Taken) -> ToolMessage:
        return await outcomes.told(side, request.tool_call, (await read(side.place, taken.record.id)).record)

    async def _done(self, side: DeskSide, where: Whereabouts, taken: Taken) -> None:
        """Let go of a call; one whose body was not reached was refused by the framework."""
        try:
            if not taken.entered:
                await self._refused(side, where, taken.record, None)
        finally:
            self._let_go(taken.record)

    async def _refused(self, side: DeskSide, where: Whereabouts, record: InvocationRecord, answer: Any) -> None:
        """Record that the framework refused the arguments and asks the model, where that was not said before."""
        now = (await read(side.place, record.id)).record
        if now.starts or now.state in TERMINAL or now.state is State.AWAITING_INPUT:
            return
        said = exact(answer.content) if isinstance(answer, ToolMessage) else None
        await side.reject_inputs(now, f"{ADAPTER}: it was refused before its body was reached", said)
        self._asked_again.setdefault((where.conversation, now.tool), []).append(now.id)


def _where(request: ToolCallRequest) -> Whereabouts:
    info = getattr(request.runtime, "execution_info", None) or get_runtime().execution_info
    return whereabouts(request.state, info, str(request.tool_call["id"]))


def _over(record: InvocationRecord) -> bool:
    """Tell whether a call has been dispatched or closed: whoever executes it now executes it again."""
    paused = record.state is State.PARTIALLY_COMPLETE
    return record.state in TERMINAL or ((bool(record.starts) or record.claim is not None) and not paused)


def _guarded(request: ToolCallRequest, taken: Taken, side: DeskSide, loop: asyncio.AbstractEventLoop) -> ToolCallRequest:
    tool = guarded(cast("BaseTool", request.tool), taken, side, loop)
    return request.override(tool=tool, tool_call={**request.tool_call, "args": dict(taken.args)})


async def _release(taken: Taken) -> None:
    """Tell the guard of a body in a thread that nobody waits any more; the thread goes on, and its end is recorded when it comes."""
    if taken.guard is not None and not taken.guard.done():
        taken.guard.cancel()
        with suppress(asyncio.CancelledError):
            await taken.guard


async def _question(side: DeskSide, call: Any, record: InvocationRecord) -> dict[str, Any]:
    return {
        "type": "tool_approval", "tool_call_id": call["id"], "name": call["name"], "args": json.loads(await side.standing(record)),
        "description": f"{call['name']} waits for an answer at the desk. Resume with anything: what counts is what is recorded there.",
        "invocation": record.id,
    }  # fmt: skip  # facts in lines


def _refusal(tool: BaseTool, args: Any) -> str:
    """Say why a tool's own schema refuses arguments; nothing where it takes them, or cannot be asked."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return ""
    try:
        schema.model_validate(args)
    except ValidationError as error:
        return json.dumps(json.loads(encode_value(error.errors(include_url=False, include_context=False))), ensure_ascii=False)
    return ""
