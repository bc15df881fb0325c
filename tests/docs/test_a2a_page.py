"""The lines on the A2A page are run as they stand, with an agent of our own behind them."""

import re
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)

import toolwitness
from toolwitness.core.record import InvocationRecord

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks" / "a2a.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
REQUEST = SendMessageRequest(message=Message(message_id="m1", role=Role.ROLE_USER, parts=[Part(text="book")]))


class TravelAgent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        await event_queue.enqueue_event(Task(id=str(context.task_id), context_id=str(context.context_id), status=status))
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.start_work()
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def code(block: str) -> str:
    return block.replace('"calls.db"', '"memory:"')


async def records(desk: toolwitness.Desk) -> list[InvocationRecord]:
    views = [await desk.ledger.task(task_id) for task_id in await desk.ledger.tasks()]
    return [record for view in views if view is not None for record in view.records.values()]


def test_each_integration_is_at_most_ten_lines() -> None:
    assert [len([line for line in block.splitlines() if line.strip()]) <= 10 for block in BLOCKS[:2]] == [True, True]


async def test_the_lines_of_the_server_run() -> None:
    card = AgentCard(name="travel", capabilities=AgentCapabilities(streaming=True))
    scope: dict[str, Any] = {"TravelAgent": TravelAgent, "card": card}
    exec(compile(code(BLOCKS[0]), str(PAGE), "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    async with scope["desk"] as desk:
        events = [event async for event in scope["handler"].on_message_send_stream(REQUEST, ServerCallContext())]

        assert len(events) == 3
        assert [(record.tool, str(record.state)) for record in await records(desk)] == [("travel", "succeeded")]


class Told:
    """A client whose agent says two things."""

    async def send_message(self, request: SendMessageRequest) -> AsyncIterator[StreamResponse]:
        yield StreamResponse(task={"id": "t1", "status": {"state": "TASK_STATE_WORKING"}})
        yield StreamResponse(status_update={"task_id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}})


async def test_the_lines_of_the_client_run() -> None:
    async with toolwitness.open("memory:") as desk:
        scope: dict[str, Any] = {"desk": desk, "told": Told(), "request": REQUEST}
        body = "client = told\n" + BLOCKS[1]
        exec(compile("async def page():\n" + textwrap.indent(body, "    "), str(PAGE), "exec"), scope)  # noqa: S102 -- as above
        await scope["page"]()

        assert [str(record.state) for record in await records(desk)] == ["succeeded"]
