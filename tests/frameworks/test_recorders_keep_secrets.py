"""Secrets and changed arguments under the real packages: a tool gets what it was given, and the record says what that was, without them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest
from agents import Agent as OpenAIAgent
from agents import RunConfig, function_tool
from agents.testing import ScriptedModel as OpenAIModel
from google.protobuf.struct_pb2 import Value
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from mcp import Client
from mcp.server.mcpserver import MCPServer
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import toolwitness as tw
from tests.frameworks.langgraph_bench import ANN, GO
from tests.frameworks.langgraph_model import ScriptedModel
from tests.frameworks.test_a2a_live import Agent, drain, handler_of
from tests.frameworks.test_mcp_live import until
from toolwitness.adapters import a2a, langgraph, mcp, openai_agents
from toolwitness.core.record import InvocationRecord
from toolwitness.core.values import MARKER
from toolwitness.service.sealing import open_value
from toolwitness.service.views import card

SECRET = "hunter2-hunter2"
GIVEN = {"basket": {"items": ["a"], "password": SECRET}}
Body = Callable[[dict[str, Any]], Awaitable[str]]


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


async def with_langgraph(desk: tw.Desk, take: Body) -> None:
    tool = langchain_tool("take", description="Take.")(take)
    agent = create_agent(ScriptedModel(responses=[[("take", GIVEN, "c1")], "done"]), [tool], middleware=[langgraph.Recorder(desk)])
    await agent.ainvoke(GO)


async def with_openai_agents(desk: tw.Desk, take: Body) -> None:
    call = ResponseFunctionToolCall(arguments=json.dumps(GIVEN), call_id="c1", name="take", type="function_call", id="c1")
    text = [ResponseOutputText(text="done", type="output_text", annotations=[])]
    said = ResponseOutputMessage(id="m", content=text, role="assistant", status="completed", type="message")
    tool = function_tool(take, name_override="take", strict_mode=False)
    agent = OpenAIAgent(name="shop", model=OpenAIModel([[call], [said]]), tools=[tool])
    await openai_agents.Recorder(desk).run(agent, "go", run_config=RunConfig(tracing_disabled=True))


WAYS = {"langgraph": with_langgraph, "openai-agents": with_openai_agents}


async def records(desk: tw.Desk) -> list[InvocationRecord]:
    views = [await desk.ledger.task(task_id) for task_id in await desk.ledger.tasks()]
    return [record for view in views if view is not None for record in view.records.values()]


async def assert_kept(desk: tw.Desk, logged: str, *, items: bytes = b'"items":["a"]') -> None:
    """Hold every event, value, card and log line against the secret, and the inputs against what was given."""
    (record,) = await records(desk)
    for said in filter(None, (record.inputs, record.executed_inputs)):
        raw = await desk.ledger.value(said["ref"]) or b""
        assert MARKER.encode() in raw
        assert items in raw.replace(b" ", b"")
        assert SECRET.encode() in (await open_value(desk.ledger, said["ref"]) or b"")
    events = await desk.ledger.read()
    shown = [str(dict(one.event.data)) for one in events]
    refs = [said["ref"] for one in events for said in one.event.data.values() if isinstance(said, dict) and "ref" in said]
    shown += [str(await desk.ledger.value(ref)) for ref in refs]
    shown += [str(await card(desk.place, record.id, ANN)), logged]
    assert [text for text in shown if SECRET in text] == []
    assert await desk.verify() == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["returns", "raises"])
async def test_a_tool_that_changes_its_arguments_leaks_nothing_and_changes_no_evidence(
    desk: tw.Desk, caplog: pytest.LogCaptureFixture, way: str, how: str
) -> None:
    caplog.set_level(logging.DEBUG, logger="toolwitness")
    got: list[str] = []

    async def take(basket: dict[str, Any]) -> str:
        got.append(basket["password"])
        basket["items"] = ["changed"]
        basket["password"] = "changed as well"
        if how == "raises":
            raise ValueError(f"{SECRET} was refused")
        return f"took {SECRET}"

    if how == "raises":
        with suppress(Exception):  # how a framework ends on a tool's exception is its own affair
            await WAYS[way](desk, take)
    else:
        await WAYS[way](desk, take)

    assert got == [SECRET]
    assert [str(record.state) for record in await records(desk)] == ["failed" if how == "raises" else "succeeded"]
    await assert_kept(desk, caplog.text)


@pytest.mark.parametrize("side", ["server", "client"])
async def test_an_mcp_call_leaks_nothing_at_either_side(desk: tw.Desk, caplog: pytest.LogCaptureFixture, side: str) -> None:
    caplog.set_level(logging.DEBUG, logger="toolwitness")

    async def take(basket: dict[str, Any]) -> str:
        basket["items"], basket["password"] = ["changed"], "changed as well"
        return f"took {SECRET}"

    server: MCPServer[Any] = MCPServer("shop")
    server.add_tool(take)
    client = Client(server)
    if side == "server":
        mcp.Recorder(desk).serve(server)
    else:
        client = mcp.Recorder(desk).watch(client)
    async with client, asyncio.timeout(20):
        call = asyncio.create_task(client.call_tool("take", GIVEN))
        if side == "client":  # a stranger's tool that nobody declared waits for an approval
            await desk.approve((await until(desk, lambda now: any(r.open_approval for r in now.values()))).popitem()[1].id, by=ANN)
        await call

    assert [str(record.state) for record in await records(desk)] == ["succeeded"]
    await assert_kept(desk, caplog.text)


class Changing(Agent):
    """An agent that changes the message that it was given, and completes."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        said = context.message
        assert said is not None
        self.truth.append(said.parts[0].data.struct_value.fields["password"].string_value)
        said.parts[0].data.struct_value.fields["items"].string_value = "changed"
        said.parts[0].data.struct_value.fields["password"].string_value = "changed as well"
        await super().execute(context, event_queue)


async def test_an_a2a_message_leaks_nothing_and_is_on_record_as_it_came(desk: tw.Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="toolwitness")
    held = Value()
    held.struct_value.update({"items": "a", "password": SECRET})
    agent = Changing()
    request = SendMessageRequest(message=Message(message_id="m", role=Role.ROLE_USER, parts=[Part(data=held)]))

    await drain(handler_of(a2a.Recorder(desk).serve(agent)), request)

    assert agent.truth[0] == SECRET
    assert [str(record.state) for record in await records(desk)] == ["succeeded"]
    await assert_kept(desk, caplog.text, items=b'"items":"a"')
