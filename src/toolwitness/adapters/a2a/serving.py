"""The server's side: an agent's executor under the guard, and a tap on the events that it sends.

What becomes what::

    execute is called for a new task → invocation.proposed, with the user's message
    policy demands an approval       → approval.requested at the desk; the task waits, submitted
    the executor's code begins, ends → execution.started, …, its real end, with the state that it declared
    an artifact is sent              → output.emitted
    it ends by asking                → part.completed, input.required; the next message goes on with it
    cancel, or a stop from the desk  → its own task is seen to end: cancellation.acknowledged

The agent's name is the tool: a policy declared for it at the desk governs it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from a2a.helpers.proto_helpers import get_message_text
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, Part, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict

from toolwitness.adapters.a2a.shapes import state_of
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State, Termination
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.recording.desk_side import DeskSide, Rule, Support
from toolwitness.recording.guard import Guard, Raised
from toolwitness.runtime.courier import outlast
from toolwitness.runtime.encoding import encode_value
from toolwitness.runtime.facts import Ending, EndingKind
from toolwitness.service.workplace import read


class _Asks(Exception):
    """The executor ended by asking. No error: the next message goes on with the task."""


class _Closed(Exception):
    """The executor ended by declaring that it will not do it."""


class _Failed(Exception):
    """The executor ended by declaring that it failed."""


_RAISED: Final = Raised(
    pauses={"_Asks": "answer", "_Closed": "nothing"}, categories={"_Failed": ("agent-failed", "The agent says that the task failed.")}
)  # fmt: skip  # facts in lines
_ENDS: Final = {
    "input-required": _Asks, "auth-required": _Asks, "failed": _Failed, "rejected": _Closed, "canceled": _Closed,
}  # fmt: skip  # pairs in lines


@dataclass(slots=True, kw_only=True)
class _Told:
    """What an executor has declared of its task so far."""

    state: str = ""
    words: str = ""
    pieces: int = 0


class _Tap(EventQueue):
    """Passes events on and hears them."""

    def __init__(self, queue: EventQueue, hear: Callable[[Any], Awaitable[None]]) -> None:
        self._queue = queue
        self._hear = hear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    async def enqueue_event(self, event: Any) -> None:
        """Pass one event on, and then hear it: what was not sent was not said."""
        await self._queue.enqueue_event(event)
        await self._hear(event)


class Recorded(AgentExecutor):
    """An executor whose tasks are on record."""

    def __init__(self, desk: DeskSide, executor: AgentExecutor, *, agent: str) -> None:
        """Stand before ``executor``; ``agent`` is the name under which policy knows it."""
        self._desk = desk
        self._executor = executor
        self._agent = agent
        self._calls: dict[str, str] = {}
        """By A2A task: the call that it is."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Run the executor as it would run, on record."""
        task_id = str(context.task_id)
        record = await self._current(context)
        self._calls[task_id] = record.id
        permit = ""
        if record.governed and record.state is not State.PARTIALLY_COMPLETE:
            claimed = await self._permitted(record)
            if isinstance(claimed, _Closed):
                await self._reject(context, event_queue, str(claimed))
                return
            permit = claimed
        record = await self._record(record.id)
        told = _Told()
        tap = _Tap(event_queue, lambda event: self._hear(record.id, told, event))
        inputs = await self._desk.standing(record)
        guard = Guard(self._desk, record, support=Support.TASK, permit=permit, inputs=inputs, compared="same", raised=_RAISED)
        try:
            ending = await guard.run(lambda: self._run(context, tap, told))
            await self._ended(context, event_queue, record, ending)
        finally:
            await outlast(asyncio.ensure_future(self._over(task_id, record.id)))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Let the executor cancel as it would; a task that waits for an answer has no body left, and what the agent says is its end."""
        task_id = str(context.task_id)
        told = _Told()

        async def hear(event: Any) -> None:
            _note(told, event)

        await self._executor.cancel(context, _Tap(event_queue, hear))
        known = self._calls.get(task_id)
        if known is not None and told.state == "canceled":
            await self._close(known, "the agent says canceled", told.words)

    # ── before it ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _current(self, context: RequestContext) -> InvocationRecord:
        """Give the call that this task is: the one that paused, or a new one."""
        task_id, said = str(context.task_id), context.get_user_input()
        conversation = await self._desk.task_for(f"a2a {context.context_id}", said.strip()[:_PURPOSE] or "A task for an agent")
        record = await self._desk.find(conversation, task_id)
        if record is not None and record.state is State.PARTIALLY_COMPLETE:
            await self._desk.answered(record.id)
            return await self._record(record.id)
        message = MessageToDict(context.message) if context.message is not None else {}
        rule = Rule.GOVERNED if self._agent in self._desk.place.policies else Rule.OBSERVED
        again = record if record is not None and record.state in TERMINAL else None
        made = await self._desk.propose(
            conversation, task_id, self._agent, exact(message), run_id=str(context.context_id), follows=again, rule=rule, proposer="client"
        )
        return await self._record(made)

    async def _record(self, invocation_id: str) -> InvocationRecord:
        return (await read(self._desk.place, invocation_id)).record

    async def _permitted(self, record: InvocationRecord) -> str | _Closed:
        await self._desk.ask(record.id)
        decided = await self._desk.decision(record.id)
        if decided.permitted != "yes":
            return _Closed(decided.why)
        claimed = await self._desk.claim(record.id)
        return _Closed(claimed.reason) if isinstance(claimed, PolicyVerdict) else claimed

    async def _over(self, task_id: str, invocation_id: str) -> None:
        """Keep nothing in memory of a task that has ended; one that paused may be cancelled yet."""
        if (await self._record(invocation_id)).state in TERMINAL:
            self._calls.pop(task_id, None)
            await self._desk.leave([invocation_id], "the task is over")

    # ── its run ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run(self, context: RequestContext, tap: _Tap, told: _Told) -> Any:
        """Run the executor, and end as it declared."""
        await self._executor.execute(context, tap)
        end = _ENDS.get(told.state)
        if end is not None:
            raise end(told.words)
        return {"state": told.state, "message": told.words}

    async def _hear(self, invocation_id: str, told: _Told, event: Any) -> None:
        _note(told, event)
        if isinstance(event, TaskArtifactUpdateEvent):
            told.pieces += 1
            record = await self._record(invocation_id)
            facts = {"order": record.output_order + 1, "channel": event.artifact.artifact_id or None}
            piece = encode_value(MessageToDict(event.artifact))
            await self._desk.tell(invocation_id, Kind.OUTPUT, facts, values={"output": piece})

    async def _ended(self, context: RequestContext, queue: EventQueue, record: InvocationRecord, ending: Ending) -> None:
        """Tell the other side how it ended, where the executor has not: a stop from the desk is an outcome, and no error."""
        if isinstance(ending.exception, _Asks):
            await self._desk.ask_input(await self._record(record.id), "question")
        elif isinstance(ending.exception, _Closed):
            await self._close(record.id, "the agent declared it", str(ending.exception))
        elif ending.termination is not None:
            updater = TaskUpdater(queue, str(context.task_id), str(context.context_id))
            await updater.cancel(updater.new_agent_message([Part(text=f"The task was cancelled: {ending.stop_reason or 'no reason'}.")]))
        elif not isinstance(ending.exception, _Failed) and ending.kind is not EndingKind.RETURNED:
            ending.unwrap()

    async def _close(self, invocation_id: str, why: str, words: str) -> None:
        """Record that the agent itself says that the task is over without a result, where its body's end has not said so."""
        record = await self._record(invocation_id)
        if record.state is not State.PARTIALLY_COMPLETE:
            return
        facts = {
            "termination": str(Termination.CONFIRMED), "initiator": UNRECORDED, "scope": "this A2A task",
            "reason": f"{why}: {words}" if words else why, "at": self._desk.place.stamp(),
        }  # fmt: skip  # facts in lines
        await outlast(asyncio.ensure_future(self._desk.tell(invocation_id, Kind.CANCEL_ACKNOWLEDGED, facts)))

    async def _reject(self, context: RequestContext, queue: EventQueue, why: str) -> None:
        """Tell the other side, in the protocol's words, that the task was not run."""
        task_id, context_id = str(context.task_id), str(context.context_id)
        if context.current_task is None:
            task = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
            if isinstance(context.message, Message):
                task.history.append(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task_id, context_id)
        await updater.reject(updater.new_agent_message([Part(text=f"The task was not run: {why}")]))


def _note(told: _Told, event: Any) -> None:
    """Keep the state that an event declares."""
    if isinstance(event, Task | TaskStatusUpdateEvent):
        told.state, _ = state_of({"state": TaskState.Name(event.status.state)})
        told.words = get_message_text(event.status.message) if event.status.HasField("message") else ""


_PURPOSE: Final = 200
