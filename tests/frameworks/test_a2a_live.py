"""The recorder at a real A2A server and at a real client. Truth is written by the executor itself."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import TaskNotFoundError
from starlette.applications import Starlette

import toolwitness as tw
from toolwitness.adapters.a2a import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Reconciliation, State
from toolwitness.policy.tool_policy import ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
URL = "http://agent.test/"


def card() -> AgentCard:
    return AgentCard(
        name="travel", description="books trips", version="1", default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0")],
    )  # fmt: skip  # facts in lines


def ask(text: str, *, task: str = "", context: str = "") -> SendMessageRequest:
    parts = [Part(text=text)]
    return SendMessageRequest(message=Message(message_id=f"m-{text}", role=Role.ROLE_USER, parts=parts, task_id=task, context_id=context))


class Agent(AgentExecutor):
    """An agent that does what the message says, and writes what it really does."""

    def __init__(self) -> None:
        self.truth: list[str] = []
        self.busy = asyncio.Event()
        self.let_go = threading.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        said = context.get_user_input()
        self.truth.append(f"execute {said}")
        task_id, context_id = str(context.task_id), str(context.context_id)
        updater = TaskUpdater(event_queue, task_id, context_id)
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(Task(id=task_id, context_id=context_id, status=status, history=[context.message]))
        await updater.start_work()
        try:
            await self._do(said, updater)
        except asyncio.CancelledError:
            self.truth.append("execute cancelled")
            raise
        self.truth.append("execute returned")

    async def _do(self, said: str, updater: TaskUpdater) -> None:
        words: dict[str, Callable[[Message], Awaitable[None]]] = {
            "fail": updater.failed, "refuse": updater.reject, "ask": updater.requires_input, "authorise": updater.requires_auth,
        }  # fmt: skip  # pairs in lines
        if said in words:
            await words[said](updater.new_agent_message([Part(text=f"about {said}")]))
            return
        if said == "raise":
            raise RuntimeError("boom")
        if said == "wait":
            self.busy.set()
            await asyncio.Event().wait()
        if said == "pay":
            self.busy.set()
            await asyncio.to_thread(self._pay)
        for piece in range(2):
            await updater.add_artifact([Part(text=f"piece {piece}")], artifact_id="a1", append=piece > 0, last_chunk=piece == 1)
        await updater.complete(updater.new_agent_message([Part(text="done")]))

    def _pay(self) -> None:
        self.let_go.wait(10)
        self.truth.append("SIDE EFFECT pay")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.truth.append("cancel() called")
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.cancel(updater.new_agent_message([Part(text="stopped")]))


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


def handler_of(executor: AgentExecutor) -> DefaultRequestHandler:
    return DefaultRequestHandler(agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card())


async def drain(handler: Any, request: SendMessageRequest) -> list[Any]:
    return [event async for event in handler.on_message_send_stream(request, ServerCallContext())]


def states(events: list[Any]) -> list[str]:
    return [TaskState.Name(event.status.state).removeprefix("TASK_STATE_").lower() for event in events if hasattr(event, "status")]


async def records(desk: tw.Desk) -> list[InvocationRecord]:
    found: list[InvocationRecord] = []
    for task_id in reversed(await desk.ledger.tasks()):
        view = await desk.ledger.task(task_id)
        assert view is not None
        found += list(view.records.values())
    return found


async def until(desk: tw.Desk, holds: Callable[[InvocationRecord], bool]) -> InvocationRecord:
    """Wait until the ledger says so of the one call."""
    async with asyncio.timeout(20):
        head = await desk.ledger.head()
        found = await records(desk)
        if found and holds(found[-1]):
            return found[-1]
        async for _ in desk.follow(after=head):
            found = await records(desk)
            if found and holds(found[-1]):
                return found[-1]
    raise AssertionError("the ledger ended")


# ── at the server ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_task_that_ends_well_has_its_whole_path_and_its_pieces_on_record(desk: tw.Desk) -> None:
    agent = Agent()
    events = await drain(handler_of(Recorder(desk).serve(agent)), ask("go"))

    record = (await records(desk))[0]
    assert states(events)[-1] == "completed"
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "streaming", "succeeded"]
    assert record.output_order == 1  # two pieces, counted from 0
    assert agent.truth == ["execute go", "execute returned"]
    assert await desk.verify() == []


async def test_a_declared_failure_and_a_raised_one_are_failures_and_a_refusal_is_a_cancellation(desk: tw.Desk) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    await drain(handler, ask("fail"))
    with pytest.raises(RuntimeError, match="boom"):
        await drain(handler, ask("raise"))
    await drain(handler, ask("refuse"))

    found = await records(desk)
    assert [str(record.state) for record in found] == ["failed", "failed", "cancelled"]
    categories = [record.outcome.data["category"] for record in found if record.outcome is not None]
    assert categories == ["agent-failed", "tool-error"]
    assert found[2].closure is not None
    assert "about refuse" in found[2].closure.reason


async def test_a_cancelled_task_is_seen_to_end(desk: tw.Desk) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    stream = asyncio.create_task(drain(handler, ask("wait")))
    await agent.busy.wait()
    record = (await records(desk))[0]
    await stored(handler, provider(record))
    task = await handler.on_cancel_task(CancelTaskRequest(id=provider(record)), ServerCallContext())
    await asyncio.gather(stream, return_exceptions=True)

    after = await until(desk, lambda one: one.state is State.CANCELLED)
    assert task is not None
    assert TaskState.Name(task.status.state) == "TASK_STATE_CANCELED"
    assert after.closure is not None
    assert (str(after.closure.termination), after.reconciliation) == ("unwound", Reconciliation.UNKNOWN)
    assert agent.truth == ["execute wait", "cancel() called", "execute cancelled"]


async def stored(handler: Any, task_id: str) -> None:
    """Wait until the server has stored the task, which follows its events."""
    async with asyncio.timeout(10):
        while True:
            try:
                await handler.on_get_task(GetTaskRequest(id=task_id), ServerCallContext())
            except TaskNotFoundError:
                await asyncio.sleep(0)
            else:
                return


def provider(record: InvocationRecord) -> str:
    return str(record.proposal["correlation"][0]["provider_call_id"])


async def test_an_effect_of_a_thread_after_a_cancellation_is_never_excluded(desk: tw.Desk) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    stream = asyncio.create_task(drain(handler, ask("pay")))
    await agent.busy.wait()
    record = (await records(desk))[0]
    await stored(handler, provider(record))
    await handler.on_cancel_task(CancelTaskRequest(id=provider(record)), ServerCallContext())
    await asyncio.gather(stream, return_exceptions=True)
    after = await until(desk, lambda one: one.state is State.CANCELLED)
    agent.let_go.set()
    await asyncio.to_thread(wait_for, lambda: "SIDE EFFECT pay" in agent.truth)

    assert after.reconciliation is Reconciliation.UNKNOWN


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait in a thread until the executor has written a word."""
    tick = threading.Event()
    for _ in range(2000):
        if holds():
            return
        tick.wait(0.005)
    raise AssertionError("it never came")


async def test_one_task_is_stopped_alone_from_the_desk_and_its_stream_is_told(desk: tw.Desk) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    stream = asyncio.create_task(drain(handler, ask("wait")))
    await agent.busy.wait()
    other = await drain(handler, ask("go"))
    waiting = next(record for record in await records(desk) if record.state is State.RUNNING)
    await desk.request_cancellation(waiting.id, by=ANN, reason="too slow")

    assert states(await stream)[-1] == "canceled"
    assert states(other)[-1] == "completed"
    after = {provider(record): record for record in await records(desk)}[provider(waiting)]
    assert after.closure is not None
    assert (after.closure.initiator, after.closure.reason, str(after.closure.termination)) == ("ann", "too slow", "unwound")


@pytest.mark.parametrize("word", ["ask", "authorise"])
async def test_a_task_that_asks_goes_on_as_the_same_attempt_when_it_is_answered(desk: tw.Desk, word: str) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    await drain(handler, ask(word, context="cx"))
    paused = (await records(desk))[0]
    await drain(handler, ask("go", task=provider(paused), context="cx"))

    found = await records(desk)
    assert (str(paused.state), paused.waits_for_person) == ("partially_complete", True)
    assert [(str(record.state), len(record.starts), record.waits_for_person) for record in found] == [("succeeded", 1, False)]
    assert "duplicate-start" not in found[0].findings
    assert agent.truth == [f"execute {word}", "execute returned", "execute go", "execute returned"]


async def test_a_task_that_is_cancelled_while_it_asks_is_over_as_the_agent_says(desk: tw.Desk) -> None:
    agent = Agent()
    handler = handler_of(Recorder(desk).serve(agent))
    await drain(handler, ask("ask"))
    await handler.on_cancel_task(CancelTaskRequest(id=provider((await records(desk))[0])), ServerCallContext())

    after = await until(desk, lambda one: one.state is State.CANCELLED)
    assert after.closure is not None
    assert (str(after.closure.termination), after.reconciliation) == ("confirmed", Reconciliation.UNKNOWN)


@pytest.mark.parametrize("answer", ["approve", "deny"])
async def test_an_agent_with_a_policy_waits_for_an_answer_at_the_desk_before_its_code_begins(desk: tw.Desk, answer: str) -> None:
    agent = Agent()
    desk.declare_policy(ToolPolicy(tool="travel", consequences=("financially-consequential",), approvers=("role:finance",)))
    handler = handler_of(Recorder(desk).serve(agent, agent="travel"))
    stream = asyncio.create_task(drain(handler, ask("go")))
    asked = await until(desk, lambda one: one.open_approval is not None)
    assert agent.truth == []
    await getattr(desk, answer)(asked.id, by=ANN, reason="so be it")
    events = await stream

    after = (await records(desk))[0]
    if answer == "approve":
        assert (states(events)[-1], str(after.state), len(agent.truth)) == ("completed", "succeeded", 2)
    else:
        assert (states(events)[-1], str(after.state), agent.truth) == ("rejected", "cancelled", [])
        assert after.reconciliation is Reconciliation.NOT_EXECUTED


# ── at the client ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def client(desk: tw.Desk) -> AsyncIterator[tuple[Any, Agent]]:
    agent = Agent()
    app = Starlette(routes=create_jsonrpc_routes(handler_of(agent), rpc_url="/"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=URL) as http:
        plain = ClientFactory(ClientConfig(httpx_client=http)).create(card())
        yield Recorder(desk).watch(plain), agent


async def test_what_an_agent_tells_its_client_is_on_record_as_it_comes(desk: tw.Desk, client: tuple[Any, Agent]) -> None:
    watched, agent = client
    async for _ in watched.send_message(ask("go")):
        pass

    record = (await records(desk))[0]
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "streaming", "succeeded"]
    assert agent.truth == ["execute go", "execute returned"]
    assert await desk.verify() == []


async def test_a_question_an_answer_and_a_cancellation_are_as_the_agent_tells_them(desk: tw.Desk, client: tuple[Any, Agent]) -> None:
    watched, agent = client
    async for _ in watched.send_message(ask("ask", context="cx")):
        pass
    asked = (await records(desk))[0]
    assert (str(asked.state), asked.waits_for_person) == ("running", True)
    async for _ in watched.send_message(ask("authorise", task=provider(asked), context="cx")):
        pass
    assert (await records(desk))[0].open_approval is not None
    task = await watched.get_task(GetTaskRequest(id=provider(asked)))
    assert TaskState.Name(task.status.state) == "TASK_STATE_AUTH_REQUIRED"
    await watched.cancel_task(CancelTaskRequest(id=provider(asked)))

    found = await records(desk)
    assert [(str(record.state), len(record.starts)) for record in found] == [("cancelled", 1)]
    assert found[0].reconciliation is Reconciliation.UNKNOWN
    assert found[0].cancellation is not None
    assert agent.truth.count("cancel() called") == 1


async def test_a_failed_task_is_failed_and_nothing_more_is_claimed(desk: tw.Desk, client: tuple[Any, Agent]) -> None:
    watched, _ = client
    async for _ in watched.send_message(ask("fail")):
        pass

    record = (await records(desk))[0]
    assert record.outcome is not None
    assert (str(record.state), record.outcome.data["category"]) == ("failed", "agent-failed")
