"""A real server process over stdio, killed in the middle of a call and started again; and its wire, recorded and read."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client, MCPError, StdioServerParameters

import toolwitness as tw
from toolwitness.adapters.mcp import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Reconciliation, State
from toolwitness.policy.tool_policy import ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
SERVER = """
import asyncio, json, os, sys
from mcp.server.mcpserver import MCPServer
import toolwitness as tw
from toolwitness.adapters.mcp import Recorder
from toolwitness.policy.tool_policy import ToolPolicy

database, truth = sys.argv[1:]
server = MCPServer("payments")

def word(what, **more):
    with open(truth, "a") as file:
        file.write(json.dumps({"word": what, "pid": os.getpid(), **more}) + "\\n")

@server.tool()
async def pay(amount: int, hang: bool = False) -> str:
    word("start", amount=amount)
    if hang:
        await asyncio.Event().wait()
    word("end", amount=amount)
    return f"paid {amount}"

async def main():
    async with tw.open(database, sweep_seconds=0.05) as desk:
        desk.declare_policy(ToolPolicy(tool="pay", consequences=("financially-consequential",), approvers=("role:finance",)))
        Recorder(desk).serve(server)
        await server.run_stdio_async()

asyncio.run(main())
"""


def parameters(directory: Path) -> StdioServerParameters:
    script = directory / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    arguments = [str(script), str(directory / "calls.db"), str(directory / "truth.jsonl")]
    return StdioServerParameters(command=sys.executable, args=arguments)


def truth(directory: Path) -> list[tuple[str, int]]:
    file = directory / "truth.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [(row["word"], row["amount"]) for row in map(json.loads, lines)]


def process(directory: Path) -> int:
    return int(json.loads((directory / "truth.jsonl").read_text(encoding="utf-8").splitlines()[-1])["pid"])


async def records(desk: tw.Desk) -> list[InvocationRecord]:
    found: list[InvocationRecord] = []
    for task_id in reversed(await desk.ledger.tasks()):
        view = await desk.ledger.task(task_id)
        assert view is not None
        found += list(view.records.values())
    return found


async def until(desk: tw.Desk, holds: Callable[[list[InvocationRecord]], bool]) -> list[InvocationRecord]:
    """Wait until the ledger, which two processes write, says so."""
    async with asyncio.timeout(30):
        while not holds(found := await records(desk)):  # noqa: ASYNC110 -- another process writes; nothing here makes an event of it
            await asyncio.sleep(0.02)
        return found


async def test_a_server_that_is_killed_in_the_middle_of_a_call_leaves_an_unknown_outcome_and_its_successor_runs_nothing_again(
    tmp_path: Path,
) -> None:
    async with tw.open(str(tmp_path / "calls.db")) as desk, tw.open("memory:") as own:
        own.declare_policy(ToolPolicy(tool="pay", consequences=("financially-consequential",), approvers=("role:finance",)))
        async with Recorder(own).watch(Client(parameters(tmp_path))) as client:
            call = asyncio.create_task(client.call_tool("pay", {"amount": 5, "hang": True}))
            sent = await until(own, lambda now: bool(now) and now[0].open_approval is not None)
            await own.approve(sent[0].id, by=ANN)
            asked = await until(desk, lambda now: bool(now) and now[0].open_approval is not None)
            await desk.approve(asked[0].id, by=ANN)
            await until(desk, lambda now: now[0].state is State.RUNNING and truth(tmp_path) == [("start", 5)])
            os.kill(process(tmp_path), signal.SIGKILL)
            with pytest.raises(MCPError, match=r"(?i)closed"):
                await call
        told = (await records(own))[0]
        assert (told.starts, told.closure, told.outcome) == ([], None, None)
        assert "outcome-unknown" in told.findings

        async with Client(parameters(tmp_path)) as client:
            lost = (await until(desk, lambda now: "outcome-unknown" in now[0].findings))[0]
            assert (str(lost.state), lost.reconciliation) == ("running", Reconciliation.UNKNOWN)
            assert truth(tmp_path) == [("start", 5)]
            again = asyncio.create_task(client.call_tool("pay", {"amount": 5}))
            asked = await until(desk, lambda now: len(now) == 2 and now[1].open_approval is not None)
            await desk.approve(asked[1].id, by=ANN)
            assert not (await again).is_error

        after = await records(desk)
        assert [str(record.state) for record in after] == ["running", "succeeded"]
        assert truth(tmp_path) == [("start", 5), ("start", 5), ("end", 5)]
        assert await desk.verify() == []
