"""The lines on the MCP page are run as they stand: at a real server process, and at a client that somebody answers for."""

import asyncio
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

import toolwitness

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks" / "mcp.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
ANN = toolwitness.Actor(id="ann", roles=frozenset({"approver"}))


async def pay(amount: int) -> str:
    return f"paid {amount}"


async def states(path: Path) -> list[tuple[str, str]]:
    async with toolwitness.open(str(path)) as desk:
        found: list[tuple[str, str]] = []
        for task_id in await desk.ledger.tasks():
            view = await desk.ledger.task(task_id)
            assert view is not None
            found += [(record.tool, str(record.state)) for record in view.records.values()]
        return found


def test_each_integration_is_at_most_ten_lines() -> None:
    assert [len([line for line in block.splitlines() if line.strip()]) <= 10 for block in BLOCKS[:2]] == [True, True]


async def test_the_lines_of_the_server_run_in_a_process_of_their_own(tmp_path: Path) -> None:
    code = BLOCKS[0].replace('"calls.db"', repr(str(tmp_path / "calls.db")))
    script = tmp_path / "server.py"
    tool = 'async def pay(amount: int) -> str:\n    return f"paid {amount}"\n'
    script.write_text(f"import asyncio\n{tool}async def main():\n{textwrap.indent(code, '    ')}\nasyncio.run(main())\n", encoding="utf-8")
    async with Client(StdioServerParameters(command=sys.executable, args=[str(script)])) as client:
        result = await client.call_tool("pay", {"amount": 120})

    assert not result.is_error
    assert await states(tmp_path / "calls.db") == [("pay", "succeeded")]


async def test_the_lines_of_the_client_run_and_wait_for_an_approval(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    server: MCPServer[Any] = MCPServer("payments")
    server.add_tool(pay)
    code = BLOCKS[1].replace('"calls.db"', repr(str(path)))
    scope: dict[str, Any] = {"server": server}
    exec(compile("async def page():\n" + textwrap.indent(code, "    "), str(PAGE), "exec"), scope)  # noqa: S102 -- the page's own lines are what is tested
    async with toolwitness.open(str(path)) as desk, asyncio.timeout(20):
        run = asyncio.create_task(scope["page"]())
        while (waiting := await open_approval(desk)) is None and not run.done():  # noqa: ASYNC110 -- the page's own desk says nothing here
            await asyncio.sleep(0.01)
        await desk.approve(str(waiting), by=ANN)
        await run

    assert await states(path) == [("pay", "succeeded")]


async def open_approval(desk: toolwitness.Desk) -> str | None:
    for task_id in await desk.ledger.tasks():
        view = await desk.ledger.task(task_id)
        for record in view.records.values() if view is not None else ():
            if record.open_approval is not None:
                return str(record.id)
    return None


async def test_the_policy_on_the_page_is_one_that_the_desk_takes() -> None:
    async with toolwitness.open("memory:") as desk:
        exec(compile(BLOCKS[2], str(PAGE), "exec"), {"desk": desk, "tw": toolwitness})  # noqa: S102 -- as above

        assert desk.place.policies["pay"].requires_approval
