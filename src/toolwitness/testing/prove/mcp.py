"""MCP, alone and with toolwitness: cancellations that were none, retries that pay twice, tools that say nothing about themselves."""

import asyncio
import threading
from typing import Any, Final

import anyio
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Tool

from toolwitness.adapters.mcp import Recorder
from toolwitness.core.states import TERMINAL, Consequence, Reconciliation, State
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.testing.prove.stage import ANA, Scene, Seen, Stage


class _Bank:
    """A server whose one tool pays in a thread, when it is let go."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.server: MCPServer[Any] = MCPServer("bank", log_level="CRITICAL")
        self.server.add_tool(self.pay)
        self.begun = 0
        self.let_go = threading.Event()

    def pay(self, total: int) -> str:
        """Pay."""
        self.begun += 1
        self.let_go.wait(5)
        self.stage.effects.append(f"paid {total}")
        if total < 0:
            raise ValueError("the bank answered 502 after the booking")
        return f"paid {total}"

    def recorded(self) -> MCPServer[Any]:
        """Give the server; with toolwitness it is served by one more object, and nothing else changes."""
        return Recorder(self.stage.desk).serve(self.server) if self.stage.desk is not None else self.server


# ── stop, while a thread pays ───────────────────────────────────────────────────────────────────────────────────────


async def _stopped_thread(stage: Stage) -> Seen:
    """The client cancels its request while the tool pays in a thread."""
    bank, told = _Bank(stage), ""
    async with Client(bank.recorded(), mode="legacy") as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "pay", {"total": 120})
            await stage.until(lambda: bank.begun)
            group.cancel_scope.cancel()
        told = "cancelled: the request was cancelled, and no answer will come"
        if stage.desk is not None:
            told = await stage.card((await stage.records())[0])
        bank.let_go.set()
        await stage.until(lambda: stage.effects)
        if stage.desk is not None:
            told += f" … then: {await stage.card(await stage.record(lambda record: record.state in TERMINAL))}"
    return Seen(told=told, happened=stage.paid, holds=bool(stage.effects) == told.endswith("Succeeded"))


# ── a time-out, and the call again ──────────────────────────────────────────────────────────────────────────────────


async def _retried(stage: Stage) -> Seen:
    """The client's own limit passes, and it makes the same call again."""
    bank = _Bank(stage)
    if stage.desk is not None:
        stage.desk.declare_policy(ToolPolicy(tool="pay", consequences=(Consequence.FINANCIAL,), approvers=("role:finance",)))
    async with Client(bank.recorded(), mode="legacy") as client:
        first = asyncio.create_task(client.call_tool("pay", {"total": 120}, read_timeout_seconds=1 if stage.desk is not None else 0.05))
        if stage.desk is not None:
            await stage.desk.approve((await stage.waiting()).id, by=ANA)
        await stage.until(lambda: bank.begun == 1)
        told = [await _told(first)]
        second = asyncio.create_task(client.call_tool("pay", {"total": 120}))
        if stage.desk is not None:
            asked = await stage.waiting()
            seen = await stage.card((await stage.records())[0])
            told.append(f"Ana is asked again, and sees of the first: {seen}. She denies")
            await stage.desk.deny(asked.id, by=ANA, reason="the first is still paying")
        bank.let_go.set()
        told.append(await _told(second))
        await stage.until(lambda: len(stage.effects) == bank.begun)
    return Seen(told="; ".join(told), happened=stage.paid, holds=len(stage.effects) == 1)


async def _told(call: "asyncio.Task[CallToolResult]") -> str:
    try:
        result = await call
    except MCPError as error:
        return error.message
    return " ".join(str(getattr(block, "text", "")) for block in result.content)


# ── a tool that says nothing about itself ───────────────────────────────────────────────────────────────────────────


async def _says_nothing(stage: Stage) -> Seen:
    """A tool without annotations deletes rows; the application asks a person for what calls itself destructive."""
    server: MCPServer[Any] = MCPServer("rows", log_level="CRITICAL")

    async def delete_rows(table: str) -> str:
        stage.effects.append(f"{table} deleted")
        return "done"

    server.add_tool(delete_rows)
    if stage.desk is None:
        async with Client(server) as client:
            tool = (await client.list_tools()).tools[0]
            asked = _calls_itself_destructive(tool)
            if not asked:
                await client.call_tool(tool.name, {"table": "orders"})
        told = "a person was asked" if asked else "harmless: it does not call itself destructive"
    else:
        async with Recorder(stage.desk).watch(Client(server)) as watched:
            call = asyncio.create_task(watched.call_tool("delete_rows", {"table": "orders"}))
            waiting = await stage.waiting()
            await stage.desk.deny(waiting.id, by=ANA, reason="not the orders")
            await call
        told = f"a person was asked; {await stage.card((await stage.records())[0])}"
    return Seen(told=told, happened=stage.paid, holds="a person was asked" in told and not stage.effects)


def _calls_itself_destructive(tool: Tool) -> bool:
    return tool.annotations is not None and tool.annotations.destructive_hint is True


# ── two failures ────────────────────────────────────────────────────────────────────────────────────────────────────


async def _two_failures(stage: Stage) -> Seen:
    """One call is refused for its arguments; another pays and then raises. May they be made again?"""
    bank = _Bank(stage)
    bank.let_go.set()
    async with Client(bank.recorded()) as client:
        answers = [await client.call_tool("pay", arguments) for arguments in ({"total": "much"}, {"total": -1})]
    words = [f"isError {answer.is_error}" for answer in answers]
    if stage.desk is not None:
        words = [
            f"{record.state}, {'nothing ran' if record.reconciliation is Reconciliation.NOT_EXECUTED else 'it ran, its effects are open'}"
            for record in await stage.records()
            if record.state is State.FAILED
        ]
    ran = [word for word in words if "nothing ran" not in word]
    return Seen(told="; ".join(words), happened=stage.paid, holds=len(ran) == len(stage.effects) == 1)


SCENES: Final = (
    Scene(
        title="Stop is pressed while a payment runs in a thread: is it cancelled?",
        script=_stopped_thread,
        source="modelcontextprotocol/python-sdk#160, #2493",
    ),
    Scene(title="A time-out, and the same call again: how often is it paid?", script=_retried, source="measured with mcp 2.3.0"),
    Scene(title="A tool that deletes and does not say so: is anybody asked?", script=_says_nothing, source="openai/codex#15519"),
    Scene(title="Two calls fail: which of them paid first?", script=_two_failures, source="measured with mcp 2.3.0"),
)
"""The scenes, the loudest first."""
