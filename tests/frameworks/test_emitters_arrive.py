"""What is emitted arrives unchanged: the real clients hold the very documents that the desk holds."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import toolwitness as tw
from tests.unit.server.house import serve
from toolwitness.adapters.ag_ui import emitter as ag_ui
from toolwitness.adapters.ai_sdk import emitter as ai_sdk
from toolwitness.adapters.mcp import Emitter, Recorder
from toolwitness.emitting.moves import KEY
from toolwitness.emitting.numbers import for_scripts
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.service import views

NODE = Path(__file__).resolve().parents[1] / "node"
NEWER = NODE / "node_modules" / "node" / "bin" / "node"
"""The Node.js that version 7 asks for."""
ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
SUSPECTS = {
    "big": 9007199254740993123,
    "tiny": "1.10",
    "line": "a\u2028b",
    "emoji": "😀",
    "none": None,
    "deep": [[{"x": []}]],
    "rtl": "שלום",
}


async def received(kind: str, url: str) -> Any:
    """Let a real client read the stream, and give what it holds."""
    node = str(NEWER) if kind == "ai7" else shutil.which("node")
    assert node, "Node.js runs the clients"
    asked = await asyncio.create_subprocess_exec(
        node, "receive.mjs", kind, url, cwd=NODE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(asked.communicate(), 60)
    assert asked.returncode == 0, err.decode()
    return json.loads(out)


async def trip(desk: tw.Desk, task: tw.TaskHandle) -> None:
    """One call that succeeds with a result that JSON readers like to change, one that fails, one that is denied, one that is cancelled."""

    @desk.tool(consequences=[tw.READ_ONLY])
    async def search(about: dict[str, Any]) -> dict[str, Any]:
        return SUSPECTS

    @desk.tool(consequences=[tw.READ_ONLY])
    async def broken() -> str:
        raise RuntimeError("no")

    @desk.tool(consequences=[tw.READ_ONLY])
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["total"])
    async def pay(total: str) -> str:
        return total

    calls = [task.call(search, about=SUSPECTS), task.call(broken), task.call(slow), task.call(pay, total="12.50")]
    await desk.deny(await _when(desk, task.id, "pay", "awaiting_approval"), by=ANN)
    await desk.request_cancellation(await _when(desk, task.id, "slow", "running"), by=ANN)
    await asyncio.gather(*calls)


async def _when(desk: tw.Desk, task_id: str, tool: str, state: str) -> str:
    async for _ in desk.follow():
        view = await desk.ledger.task(task_id)
        for record in view.records.values() if view else ():
            if record.tool == tool and record.state == state:
                return record.id
    raise AssertionError("the ledger ended")


async def held(desk: tw.Desk, task_id: str) -> dict[str, Any]:
    """Give the documents and cards as the desk holds them now, as JSON makes them."""
    view = await desk.ledger.task(task_id)
    assert view is not None
    found = {
        name: {
            "invocationId": name, "version": (await desk.record(name)).version,
            "document": await views.document(desk.place, name, ANN), "card": await views.card(desk.place, name, ANN),
        }
        for name in view.records
    }  # fmt: skip  # facts in lines
    exact: dict[str, Any] = json.loads(json.dumps(for_scripts(found)))
    return exact


def served(desk: tw.Desk, task: tw.TaskHandle) -> Starlette:
    async def chat(request: Request) -> StreamingResponse:
        emitter = ai_sdk.Emitter(desk, task.id, actor=ANN)
        return StreamingResponse(emitter.stream(trip(desk, task), message_id="m-1"), headers=dict(ai_sdk.HEADERS))

    async def run(request: Request) -> StreamingResponse:
        async def events() -> AsyncIterator[dict[str, Any]]:
            yield {"type": "RUN_STARTED", "threadId": "c", "runId": "r"}
            await trip(desk, task)
            view = await desk.ledger.task(task.id)
            assert view is not None
            for name, record in view.records.items():
                if record.state == "succeeded":
                    yield {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": record.tool}
                    yield {"type": "TOOL_CALL_END", "toolCallId": name}
                    yield {"type": "TOOL_CALL_RESULT", "messageId": f"m-{name}", "toolCallId": name, "content": "2", "role": "tool"}
            yield {"type": "RUN_FINISHED", "threadId": "c", "runId": "r"}

        return StreamingResponse(ag_ui.Emitter(desk, task.id, actor=ANN).beside(events()), headers=dict(ag_ui.HEADERS))

    return Starlette(routes=[Route("/chat", chat, methods=["POST"]), Route("/run", run, methods=["POST"])])


@pytest.mark.parametrize("version", ["ai6", "ai7"])
async def test_the_ai_sdks_client_holds_the_desks_documents_and_true_native_parts(version: str) -> None:
    async with tw.open("memory:", sweep_seconds=0.05) as desk, desk.task("The trip") as task, serve(served(desk, task)) as base:
        found = await received(version, f"{base}/chat")
        expected = await held(desk, task.id)

    assert {part["id"]: part["data"] for part in found["ours"]} == expected
    assert "9007199254740993123" in json.dumps(found["native"]), "no digit of a result is lost in the native part either"
    tools = {name: payload["card"]["tool"] for name, payload in expected.items()}
    assert {tools[part["id"]]: part["state"] for part in found["native"]} == {
        "search": "output-available", "broken": "output-error", "slow": "input-available", "pay": "output-denied",
    }  # fmt: skip  # pairs in lines


async def test_ag_uis_client_holds_the_desks_documents_in_events_in_results_and_at_the_end() -> None:
    async with tw.open("memory:", sweep_seconds=0.05) as desk, desk.task("The trip") as task, serve(served(desk, task)) as base:
        found = await received("ag-ui", f"{base}/run")
        expected = await held(desk, task.id)

    assert {one["id"]: one["data"] for one in found["ours"]} == expected
    (result,) = found["results"]
    assert result[KEY] == expected[result[KEY]["invocationId"]]
    assert {one["invocationId"]: one for one in found["finished"][0][KEY]} == expected


async def test_an_mcp_client_holds_the_desks_documents_in_the_meta_of_every_result_failed_and_refused_ones_too() -> None:
    server = MCPServer("travel")

    @server.tool()
    async def search(city: str) -> dict[str, Any]:
        """Search."""
        return SUSPECTS

    @server.tool()
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("no")

    @server.tool()
    async def pay(total: str) -> str:
        """Pay, once somebody agrees."""
        return total

    async with tw.open("memory:", sweep_seconds=0.05) as desk:
        desk.declare_policy(ToolPolicy(tool="pay", approvers=("role:finance",)))
        recorder = Recorder(desk)
        Emitter(desk, actor=ANN).on(recorder)
        async with Client(recorder.serve(server)) as client:
            found = [await client.call_tool("search", {"city": "Rome"}), await client.call_tool("broken", {})]
            paying = asyncio.ensure_future(client.call_tool("pay", {"total": "5"}))
            async for _ in desk.follow():
                (task_id,) = await desk.ledger.tasks()
                view = await desk.ledger.task(task_id)
                waiting = [name for name, one in view.records.items() if one.open_approval] if view else []
                if waiting:
                    await desk.deny(waiting[0], by=ANN)
                    break
            found.append(await paying)
        expected = await held(desk, task_id)

    assert [result.is_error for result in found] == [False, True, True]
    carried = [(result.meta or {})[KEY] for result in found]
    assert {payload["invocationId"]: payload for payload in carried} == expected


async def test_a_result_that_this_reader_may_not_see_carries_nothing() -> None:
    server = MCPServer("travel")

    @server.tool()
    async def search(city: str) -> str:
        """Search."""
        return city

    async with tw.open("memory:") as desk:
        recorder = Recorder(desk)
        Emitter(desk, actor=tw.Actor(id="eve", tenant="another")).on(recorder)
        async with Client(recorder.serve(server)) as client:
            result = await client.call_tool("search", {"city": "Rome"})

    assert KEY not in (result.meta or {})
    assert not result.is_error
