"""Records captures by running the real a2a-sdk in one process: ``python tests/captures/record_a2a.py``.

Every scenario is written in both versions' words: the protobuf JSON of 1.0, and, by the SDK's own conversion, the JSON of 0.3. What the
executor really does is ``truth``. No network, a few seconds.
"""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import TaskNotFoundError
from google.protobuf.json_format import MessageToDict

TARGET = Path(__file__).parents[2] / "spec" / "captures" / "a2a" / "recorded"


class Capture:
    """Rows of one scenario in one version's words."""

    def __init__(self, scenario: str, wire: str) -> None:
        self.wire = wire
        self.began = time.monotonic()
        versions = {"a2a-sdk": version("a2a-sdk")}
        self.rows: list[dict[str, Any]] = [{"src": "header", "scenario": scenario, "note": f"words of {wire}", "versions": versions}]
        self.changed = asyncio.Event()

    def add(self, src: str, kind: str, event: Any) -> None:
        seconds = round(time.monotonic() - self.began, 4)
        self.rows.append({"seq": len(self.rows), "t": seconds, "src": src, "kind": kind, "event": event})
        self.changed.set()

    async def until(self, kind: str) -> dict[str, Any]:
        """Wait for a truth row of this kind, and give it."""
        while not (found := [row for row in self.rows if row.get("src") == "truth" and row["kind"] == kind]):
            self.changed.clear()
            await self.changed.wait()
        return found[-1]

    def shown(self, event: Any) -> Any:
        """Give an event as it goes over the wire."""
        return MessageToDict(event) if self.wire == "1.0" else _in_0_3(event)


def _in_0_3(event: Any) -> Any:
    makers: dict[type[Any], Callable[[Any], Any]] = {
        Task: conversions.to_compat_task, Message: conversions.to_compat_message,
        TaskStatusUpdateEvent: conversions.to_compat_task_status_update_event,
        TaskArtifactUpdateEvent: conversions.to_compat_task_artifact_update_event,
    }  # fmt: skip  # pairs in lines
    return makers[type(event)](event).model_dump(mode="json", by_alias=True, exclude_none=True)


class Agent(AgentExecutor):
    """An agent that does what the message says, and writes what it really does."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.let_go = threading.Event()

    def truth(self, kind: str, context: RequestContext) -> None:
        self.capture.add("truth", kind, {"task": context.task_id})

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.truth("execute", context)
        said = context.get_user_input()
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        if said == "chat":
            self.truth("completed", context)
            await event_queue.enqueue_event(updater.new_agent_message([Part(text="hello")]))
            return
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                Task(id=str(context.task_id), context_id=str(context.context_id), status=status, history=[context.message])
            )
        if said == "refuse":
            self.truth("raise", context)
            await updater.reject(updater.new_agent_message([Part(text="not today")]))
            return
        await updater.start_work()
        try:
            await self._work(said, context, updater)
        except asyncio.CancelledError:
            self.truth("execute cancelled", context)
            raise

    async def _work(self, said: str, context: RequestContext, updater: TaskUpdater) -> None:
        words = {"fail": "upstream 502", "stop": "The task was cancelled by its owner"}
        if said in words:
            self.truth("raise", context)
            await updater.failed(updater.new_agent_message([Part(text=words[said])]))
        elif said == "raise":
            self.truth("raise", context)
            raise RuntimeError("boom")
        elif said == "ask":
            await updater.requires_input(updater.new_agent_message([Part(text="Which city?")]))
        elif said == "authorise":
            await updater.requires_auth(updater.new_agent_message([Part(text="Please authorise")]))
        elif said == "wait":
            self.truth("waits", context)
            await asyncio.sleep(30)
        elif said == "pay":
            self.truth("waits", context)
            await asyncio.to_thread(self._pay, context)
        else:
            for piece in range(3):
                await updater.add_artifact([Part(text=f"piece {piece}")], artifact_id="a1", append=piece > 0, last_chunk=piece == 2)
            self.truth("completed", context)
            text = "canceled" if said == "canceled" else "done"
            await updater.complete(updater.new_agent_message([Part(text=text)]))

    def _pay(self, context: RequestContext) -> None:
        self.let_go.wait(10)
        self.truth("SIDE EFFECT pay", context)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.truth("cancel() called", context)
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.cancel(updater.new_agent_message([Part(text="stopped")]))


class Run:
    """One scenario: a handler, and what is done to it."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.agent = Agent(capture)
        card = AgentCard(name="travel", capabilities=AgentCapabilities(streaming=True))
        self.handler = DefaultRequestHandler(agent_executor=self.agent, task_store=InMemoryTaskStore(), agent_card=card)
        self.seen: list[str] = []

    async def send(self, text: str, *, task: str = "", context: str = "cx") -> None:
        """Send one message and write what is streamed back."""
        message = Message(message_id=f"m-{text}", role=Role.ROLE_USER, parts=[Part(text=text)], task_id=task, context_id=context)
        try:
            async for event in self.handler.on_message_send_stream(SendMessageRequest(message=message), ServerCallContext()):
                plain = getattr(event, event.WhichOneof("payload")) if isinstance(event, StreamResponse) else event
                self._see(plain)
                self.capture.add("runtime", f"event:{type(plain).__name__}", self.capture.shown(plain))
            self.capture.add("outcome", "stream ended", None)
        except Exception as error:  # noqa: BLE001 -- how the stream ended is what is recorded
            self.capture.add("outcome", "stream raised", {"__exc__": type(error).__name__, "str": str(error)})

    def _see(self, event: Any) -> None:
        named = event.id if isinstance(event, Task) else event.task_id
        self.seen += [named] if named and named not in self.seen else []

    async def stored(self, task: str) -> None:
        """Wait until the server knows the task."""
        while True:
            try:
                await self.handler.on_get_task(GetTaskRequest(id=task), ServerCallContext())
            except TaskNotFoundError:
                await asyncio.sleep(0)
            else:
                return

    async def look(self, task: str) -> None:
        """Ask for the task and write the answer."""
        found = await self.handler.on_get_task(GetTaskRequest(id=task), ServerCallContext())
        self.capture.add("runtime", "get_task:Task", self.capture.shown(found))

    async def cancel(self, task: str) -> None:
        """Cancel the task and write the answer."""
        self.capture.add("driver", "on_cancel_task", {"id": task})
        try:
            answer = await self.handler.on_cancel_task(CancelTaskRequest(id=task), ServerCallContext())
            self.capture.add("runtime", "cancel response:Task", self.capture.shown(answer))
        except Exception as error:  # noqa: BLE001 -- as above
            self.capture.add("outcome", "cancel raised", {"__exc__": type(error).__name__, "str": str(error)})


async def pieces(run: Run) -> None:
    """A task that sends an artifact in pieces and ends well; and a look at it."""
    await run.send("go")
    await run.look(run.seen[0])


async def chat(run: Run) -> None:
    """An agent that answers with a message and makes no task."""
    await run.send("chat")


async def ends(run: Run) -> None:
    """Four tasks: one fails, one raises, one is refused, one ends well."""
    for word in ("fail", "raise", "refuse", "go"):
        await run.send(word, context=f"cx-{word}")
    for task in run.seen:
        await run.look(task)


async def disguises(run: Run) -> None:
    """Ends whose message reads like a cancellation."""
    for word in ("stop", "canceled"):
        await run.send(word, context=f"cx-{word}")


async def cancelled(run: Run) -> None:
    """Two tasks run; one is cancelled, twice, and the other ends well."""
    one = asyncio.create_task(run.send("wait", context="cx-1"))
    task = (await run.capture.until("waits"))["event"]["task"]
    await run.stored(task)
    await run.send("go", context="cx-2")
    await run.cancel(task)
    await one
    await run.cancel(task)


async def thread(run: Run) -> None:
    """A cancelled task whose payment runs in a thread: it lands after the end."""
    one = asyncio.create_task(run.send("pay"))
    task = (await run.capture.until("waits"))["event"]["task"]
    await run.stored(task)
    await run.cancel(task)
    await one
    run.agent.let_go.set()
    await run.capture.until("SIDE EFFECT pay")
    await run.look(task)


async def questions(run: Run) -> None:
    """A task that asks, is answered, asks to be authorised, and goes on."""
    await run.send("ask")
    for word in ("authorise", "go"):
        run.capture.add("driver", "answer", {"task": run.seen[0]})
        await run.send(word, task=run.seen[0])


async def asked_and_cancelled(run: Run) -> None:
    """A task that is cancelled while it asks, and a message that comes after."""
    await run.send("ask")
    await run.cancel(run.seen[0])
    await run.send("go", task=run.seen[0])


SCENARIOS: tuple[Callable[[Run], Awaitable[None]], ...] = (
    pieces, chat, ends, disguises, cancelled, thread, questions, asked_and_cancelled,
)  # fmt: skip  # a list in lines


async def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for scenario in SCENARIOS:
        for wire in ("1.0", "0.3"):
            capture = Capture(str(scenario.__doc__), wire)
            async with asyncio.timeout(30):
                await scenario(Run(capture))
            name = f"{'old_' if wire == '0.3' else ''}{scenario.__name__}.jsonl"
            (TARGET / name).write_text("".join(json.dumps(row) + "\n" for row in capture.rows), encoding="utf-8")
            print(f"{name}: {len(capture.rows)} rows")  # noqa: T201 -- a script says what it did


if __name__ == "__main__":
    asyncio.run(main())
