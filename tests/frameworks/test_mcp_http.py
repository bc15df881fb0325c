"""A recorded server behind real streamable HTTP, over both wire generations."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from mcp import Client, MCPError
from mcp.server.mcpserver import Context, MCPServer

import toolwitness as tw
from toolwitness.adapters.mcp import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


async def report(n: int, ctx: Context) -> int:
    await ctx.report_progress(1, n)
    return n + 1


async def slow(n: int) -> int:
    await asyncio.sleep(30)
    return n


@pytest.fixture
async def address(desk: tw.Desk) -> AsyncIterator[str]:
    """Where the server listens, on a port of its own."""
    server: MCPServer[Any] = MCPServer("reports", log_level="CRITICAL")
    server.add_tool(report)
    server.add_tool(slow)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        http = uvicorn.Server(uvicorn.Config(Recorder(desk).serve(server).streamable_http_app(), log_level="critical"))
        serving = asyncio.create_task(http.serve(sockets=[listening]))
        while not http.started:  # noqa: ASYNC110 -- the server sets no event
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        http.should_exit = True
        await serving


async def records(desk: tw.Desk) -> dict[str, InvocationRecord]:
    found: dict[str, InvocationRecord] = {}
    for task_id in await desk.ledger.tasks():
        view = await desk.ledger.task(task_id)
        assert view is not None
        found |= {record.tool: record for record in view.records.values()}
    return found


@pytest.mark.parametrize("wire", ["legacy", "2026-07-28"])
async def test_over_http_a_body_is_seen_to_begin_report_and_end_and_to_be_stopped(desk: tw.Desk, address: str, wire: str) -> None:
    async with Client(address, mode=wire) as client:
        result = await client.call_tool("report", {"n": 2})
        with pytest.raises(MCPError, match=r"(?i)timed out"):
            await client.call_tool("slow", {"n": 1}, read_timeout_seconds=0.3)
        head = await desk.ledger.head()
        async with asyncio.timeout(10):
            if (await records(desk))["slow"].state is not State.CANCELLED:
                async for _ in desk.follow(after=head):
                    if (await records(desk))["slow"].state is State.CANCELLED:
                        break

    found = await records(desk)
    assert result.structured_content == {"result": 3}
    assert [str(move.target) for move in found["report"].moves] == ["proposed", "running", "streaming", "succeeded"]
    closure = found["slow"].closure
    assert closure is not None
    assert str(closure.termination) == "unwound"
