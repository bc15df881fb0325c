"""Records captures by running the real mcp SDK over stdio, with a tap on the wire: ``python tests/captures/record_mcp.py``.

Three processes write one file, a row a line: the server's tools (``truth``), the tap between the two (``runtime``, the exact messages) and
this script (``driver``, ``outcome``). Every scenario is run over each wire generation that can have it. No network, about a minute.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel

TARGET = Path(__file__).parents[2] / "spec" / "captures" / "mcp" / "recorded"


def append(file: str, src: str, kind: str, event: Any) -> None:
    """Append one row; lines of several processes do not mix."""
    row = json.dumps({"t": time.clock_gettime(time.CLOCK_MONOTONIC), "src": src, "kind": kind, "event": event})
    with Path(file).open("ab", buffering=0) as rows:
        rows.write(row.encode() + b"\n")


# ── the tap ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def tap(file: str) -> None:
    """Stand between client and server and write down what goes by."""
    server = subprocess_of(file)
    append(file, "pid", "server", server.pid)

    def forward(reads: Any, writes: Any, way: str) -> None:
        for line in iter(reads.readline, b""):
            try:
                message = json.loads(line)
            except ValueError:
                message = {"unreadable": line.decode("utf-8", "replace")}
            kind = message.get("method") or ("error" if "error" in message else "result")
            append(file, "runtime", f"{way}:{kind}", message)
            try:
                writes.write(line)
                writes.flush()
            except OSError:
                return
        writes.close()

    up = threading.Thread(target=forward, args=(sys.stdin.buffer, server.stdin, "c2s"), daemon=True)
    up.start()
    forward(server.stdout, sys.stdout.buffer, "s2c")
    os._exit(0)  # the other way may still wait for a line, and nobody will write one


def subprocess_of(file: str) -> Any:
    import subprocess  # noqa: PLC0415 -- only the tap starts a process

    command = [sys.executable, __file__, "server", file]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


# ── the server ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Confirm(BaseModel):
    confirm: bool


QUESTION = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Book?", requested_schema={"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
    )
)


def serve(file: str) -> None:  # noqa: C901, PLR0915 -- one tool after the other
    """Run a server whose tools write what they really do, with the id of their request."""
    server: MCPServer[Any] = MCPServer("truth", log_level="CRITICAL")

    def truth(kind: str, tool: str, ctx: Context) -> None:
        append(file, "truth", kind, {"tool": tool, "id": ctx.request_id})

    def plain(name: str, answer: Callable[[], Any]) -> None:
        async def body(ctx: Context) -> Any:
            truth("start", name, ctx)
            truth("end", name, ctx)
            return answer()

        server.add_tool(body, name=name)

    for name, answer in {
        "scalar": lambda: 42, "nothing": lambda: None, "empty": list, "text": lambda: "two flights",
        "nested": lambda: {"a": [1, {"b": None}]},
        "picture": lambda: Image(data=b"\x89PNG", format="png"), "status": lambda: {"status": "cancelled"}, "word": lambda: "canceled",
        "not_a_number": lambda: '{"mean": NaN}', "long": lambda: "x" * 5000,
    }.items():  # fmt: skip  # pairs in lines
        plain(name, answer)

    @server.tool()
    async def broken(ctx: Context) -> str:
        truth("start", "broken", ctx)
        truth("raise", "broken", ctx)
        raise ValueError("upstream 502")

    @server.tool()
    async def says_cancelled(ctx: Context) -> str:
        truth("start", "says_cancelled", ctx)
        truth("raise", "says_cancelled", ctx)
        raise ToolError("The operation was cancelled by the user")

    @server.tool()
    async def protocol(ctx: Context) -> str:
        truth("start", "protocol", ctx)
        truth("raise", "protocol", ctx)
        raise MCPError(-32050, "quota is used up")

    @server.tool()
    async def typed(amount: int, ctx: Context) -> int:
        truth("start", "typed", ctx)
        truth("end", "typed", ctx)
        return amount

    @server.tool()
    async def slow(ctx: Context) -> str:
        truth("start", "slow", ctx)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            truth("cancelled_in_body", "slow", ctx)
            raise
        return "never"

    @server.tool()
    def pay(ctx: Context) -> str:
        truth("start", "pay", ctx)
        time.sleep(0.4)
        truth("SIDE EFFECT pay", "pay", ctx)
        truth("end", "pay", ctx)
        return "paid"

    @server.tool()
    async def steps(n: int, ctx: Context) -> str:
        truth("start", "steps", ctx)
        for step in range(n):
            await ctx.report_progress((step + 1) / n, 1, f"step {step + 1}")
            await asyncio.sleep(0.02)
        truth("end", "steps", ctx)
        return "ready"

    @server.tool()
    async def ask(ctx: Context) -> str:
        truth("start", "ask", ctx)
        answer = await ctx.elicit("Sure?", Confirm)
        truth("elicit_result", "ask", ctx)
        truth("end", "ask", ctx)
        return f"answered: {answer.action}"

    @server.tool()
    async def rounds(ctx: Context) -> str | InputRequiredResult:
        append(file, "truth", "tool body entered", {"tool": "rounds"})  # each request has its own id, and the call is one
        if not ctx.input_responses:
            return InputRequiredResult(input_requests={"confirm": QUESTION}, request_state="round-1")
        append(file, "truth", "end", {"tool": "rounds"})
        return "done"

    server.run("stdio")


# ── scenarios ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Run:
    """One scenario over one wire: a client at the tap, and rows of what is done to it."""

    def __init__(self, file: str, wire: str) -> None:
        self.file = file
        self.wire = wire

    def client(self, **more: Any) -> Client:
        command = StdioServerParameters(command=sys.executable, args=[__file__, "tap", self.file])
        return Client(command, mode=self.wire, **more)

    def driver(self, kind: str) -> None:
        append(self.file, "driver", kind, {})

    async def call(self, client: Client, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> None:
        """Call once and write how the SDK's call ended."""
        try:
            result = await client.call_tool(tool, arguments or {}, **more)
            append(self.file, "outcome", f"call_tool {tool} returned", result.model_dump(mode="json", by_alias=True, exclude_none=True))
        except BaseException as error:
            append(self.file, "outcome", f"call_tool {tool} raised", _plain(error))
            if not isinstance(error, Exception):
                raise

    async def until(self, kind: str, tool: str = "") -> None:
        """Wait until a tool has written this word."""
        while not self._written(kind, tool):  # noqa: ASYNC110 -- another process writes; nothing here makes an event of it
            await asyncio.sleep(0.01)

    def _written(self, kind: str, tool: str) -> bool:
        return any(row["src"] == "truth" and row["kind"].startswith(kind) and tool in str(row["event"]) for row in self.rows())

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path(self.file).read_bytes().splitlines()]


async def results(run: Run) -> None:
    """Results of every type: scalar, nothing, empty, text, nested, binary, long."""
    async with run.client() as client:
        for tool in ("scalar", "nothing", "empty", "text", "nested", "picture", "not_a_number", "long"):
            await run.call(client, tool)


async def failures(run: Run) -> None:
    """A tool that raises, one that raises a protocol error, refused arguments, an unknown tool."""
    async with run.client() as client:
        await run.call(client, "broken")
        await run.call(client, "protocol")
        await run.call(client, "typed", {"amount": "many"})
        await run.call(client, "typed")
        await run.call(client, "teleport")
        await run.call(client, "typed", {"amount": 3})


async def disguises(run: Run) -> None:
    """Ends that only read like a cancellation: a status, a word, an error's text."""
    async with run.client() as client:
        for tool in ("status", "word", "says_cancelled"):
            await run.call(client, tool)


async def parallel(run: Run) -> None:
    """Four calls at once: one ends well, one in a thread, one fails, one is cancelled alone."""
    async with run.client() as client, anyio.create_task_group() as group:
        for tool in ("text", "pay", "broken"):
            group.start_soon(run.call, client, tool)
        async with anyio.create_task_group() as one:
            one.start_soon(run.call, client, "slow")
            await run.until("start", "slow")
            run.driver("cancel scope of slow only")
            one.cancel_scope.cancel()
        await run.until("cancelled_in_body", "slow")


async def cancel_thread(run: Run) -> None:
    """A cancelled call whose body runs in a thread: the effect lands, and no answer comes."""
    async with run.client() as client:
        async with anyio.create_task_group() as one:
            one.start_soon(run.call, client, "pay")
            await run.until("start", "pay")
            run.driver("cancel scope of pay")
            one.cancel_scope.cancel()
        await run.until("SIDE EFFECT", "pay")
        await run.call(client, "text")


async def time_out(run: Run) -> None:
    """The client's own limit passes, twice, and then a call ends in time."""
    async with run.client() as client:
        await run.call(client, "slow", read_timeout_seconds=0.2)
        await run.call(client, "pay", read_timeout_seconds=0.1)
        await run.until("SIDE EFFECT", "pay")
        await run.call(client, "pay", read_timeout_seconds=5)


async def progress(run: Run) -> None:
    """Progress in fractions and in words, of two calls at once."""

    async def hear(done: float, total: float | None, message: str | None) -> None:
        pass

    async with run.client() as client:
        await asyncio.gather(*(run.call(client, "steps", {"n": n}, progress_callback=hear) for n in (3, 4)))


async def questions(run: Run) -> None:
    """A question in the middle of a body, accepted, declined, and with another call open."""
    answers = iter(["accept", "decline", "accept", "cancel"])

    async def answer(context: Any, params: Any) -> ElicitResult:
        append(run.file, "driver", "elicitation callback", {})
        action = next(answers)
        return ElicitResult(action=action, content={"confirm": True} if action == "accept" else None)

    async with run.client(elicitation_callback=answer) as client:
        await run.call(client, "ask")
        await run.call(client, "ask")
        await asyncio.gather(run.call(client, "ask"), run.call(client, "ask"))


async def rounds(run: Run) -> None:
    """A body that gives back a question: two requests, one call; then another call."""

    async def answer(context: Any, params: Any) -> ElicitResult:
        append(run.file, "driver", "elicitation callback", {})
        return ElicitResult(action="accept", content={"confirm": True})

    async with run.client(elicitation_callback=answer) as client:
        await run.call(client, "rounds")
        await run.call(client, "text")


async def connected_again(run: Run) -> None:
    """Two connections one after the other: the same ids come again."""
    for tool in ("text", "broken"):
        async with run.client() as client:
            await run.call(client, tool)


async def killed(run: Run) -> None:
    """The server is killed in the middle of a call."""
    async with run.client() as client:
        call = asyncio.create_task(run.call(client, "slow"))
        await run.until("start", "slow")
        run.driver("kill -9 the server")
        os.kill(next(row["event"] for row in run.rows() if row["src"] == "pid"), signal.SIGKILL)
        await call


def _plain(error: BaseException) -> str:
    """Give an exception in words, without the addresses and paths of this machine."""
    return f"{type(error).__module__}.{type(error).__name__}: {str(error).split(' by <')[0]}"


BOTH = ("legacy", "2026-07-28")
SCENARIOS: dict[Callable[[Run], Awaitable[None]], tuple[str, ...]] = {
    results: BOTH, failures: BOTH, disguises: BOTH, parallel: BOTH, cancel_thread: BOTH, time_out: BOTH, progress: BOTH,
    questions: ("legacy",), rounds: ("2026-07-28",), connected_again: BOTH, killed: BOTH,
}  # fmt: skip  # pairs in lines


async def record(scenario: Callable[[Run], Awaitable[None]], wire: str) -> None:
    """Record one scenario and write its file, numbered and with a header."""
    with tempfile.TemporaryDirectory() as directory:
        file = str(Path(directory) / "rows.jsonl")
        Path(file).touch()
        run = Run(file, wire)
        async with asyncio.timeout(60):
            await scenario(run)
        rows = [row for row in run.rows() if row["src"] != "pid"]
    versions = {"mcp": version("mcp"), "mcp-types": version("mcp-types")}
    lines = [{"src": "header", "scenario": str(scenario.__doc__).strip(), "note": f"stdio, wire {wire}", "versions": versions}]
    began = rows[0]["t"]
    lines += [{"seq": place, **row, "t": round(row["t"] - began, 4)} for place, row in enumerate(rows, start=1)]
    name = f"{'modern_' if wire != 'legacy' else ''}{scenario.__name__}.jsonl"
    (TARGET / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print(f"{name}: {len(rows)} rows")  # noqa: T201 -- a script says what it did


async def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for scenario, wires in SCENARIOS.items():
        for wire in wires:
            await record(scenario, wire)


if __name__ == "__main__":
    roles = {"tap": tap, "server": serve}
    if len(sys.argv) > 2:
        roles[sys.argv[1]](sys.argv[2])
    else:
        asyncio.run(main())
