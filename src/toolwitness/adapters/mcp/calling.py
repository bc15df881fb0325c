"""The client's side: every tool call of a ``Client`` on record, approved before its request leaves.

What is known here of the body is what the server says. While a plain request is out, only its dispatch is known; a start is known with the
first progress; a cancellation is a notification that nobody answers, so the request and its waiter are gone and the outcome is unknown.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from mcp import Client, ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, PaginatedRequestParams, TextContent, Tool, ToolListChangedNotification
from mcp_types.jsonrpc import REQUEST_TIMEOUT

from toolwitness.adapters.mcp.answers import Answer, read_error, read_result
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Consequence
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.consequences import raised_by_hints
from toolwitness.reading.pen import exact
from toolwitness.recording.desk_side import DeskSide, Rule
from toolwitness.runtime.courier import outlast
from toolwitness.runtime.encoding import encode_value, to_json
from toolwitness.service.workplace import read

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
_ASKING: Final[ContextVar["_Out | None"]] = ContextVar("toolwitness_mcp_call", default=None)


@dataclass(slots=True, kw_only=True, eq=False)
class _Out:
    """One request that is out: it can be asked to stop, which sends ``notifications/cancelled`` for it and for no other."""

    id: str
    task_id: str
    provider_id: str
    request: asyncio.Task[Any] | None = None
    stopped: str = ""
    steps: int = 0
    said: list[str] = field(default_factory=list[str])

    def request_stop(self, reason: str) -> bool:
        """Cancel the request; what the server makes of it, nobody will say."""
        if self.stopped or self.request is None or self.request.done():
            return False
        self.stopped = reason
        return self.request.cancel()


class Watched:
    """A client whose tool calls are on record; everything else is the client's own."""

    def __init__(self, desk: DeskSide, client: Client | ClientSession) -> None:
        """Watch ``client``; nothing is recorded yet."""
        self._desk = desk
        self._client = client
        self._conversation = f"mcp client {uuid4().hex}"
        self._out: list[_Out] = []
        self._listed: dict[str, Tool] | None = None
        self._rounds: dict[str, _Out] = {}
        """By requestState: the call whose round ended with a question, where the application itself goes on with it."""
        if isinstance(client, Client):
            client.message_handler = self._hearing(client.message_handler)
            if client.elicitation_callback is not None:
                client.elicitation_callback = self._asking(client.elicitation_callback)

    def __getattr__(self, name: str) -> Any:
        """Pass everything else through."""
        return getattr(self._client, name)

    async def __aenter__(self) -> Self:
        """Connect the client."""
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip  # a signature in two lines
        """Disconnect the client."""
        await self._client.__aexit__(kind, error, trace)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: Progress | None = None,
        **more: Any,
    ) -> Any:
        """Do what the client's ``call_tool`` does, on record. A denial, an expiry or a stop is a result that says so, no exception (R5).

        Raises:
            MCPError: as the client's.
        """
        earlier = self._rounds.pop(str(more.get("request_state")), None)
        if earlier is not None:
            await self._desk.answered(earlier.id)
            return await self._sent(earlier, self._call(earlier, name, arguments, read_timeout_seconds, progress_callback, more))
        out = await self._propose(name, {} if arguments is None else arguments)
        await self._desk.ask(out.id)
        decided = await self._desk.decision(out.id)
        claimed = await self._desk.claim(out.id) if decided.permitted == "yes" else decided.why
        if decided.permitted != "yes" or isinstance(claimed, PolicyVerdict):
            return _outcome(f"The call was not made: {claimed.reason if isinstance(claimed, PolicyVerdict) else claimed}")
        return await self._sent(out, self._call(out, name, json.loads(decided.inputs), read_timeout_seconds, progress_callback, more))

    def _call(
        self, out: _Out, name: str, arguments: Any, seconds: float | None, heard: Progress | None, more: Mapping[str, Any]
    ) -> Awaitable[Any]:  # fmt: skip  # a signature in two lines
        call: Callable[..., Awaitable[Any]] = self._client.call_tool
        return call(name, arguments, seconds, self._listening(out, heard), **more)

    # ── before the request ──────────────────────────────────────────────────────────────────────────────────────────

    async def _propose(self, name: str, arguments: dict[str, Any]) -> _Out:
        await self._raise_policy(name)
        task_id = await self._desk.task_for(self._conversation, "Calls of an MCP client")
        provider_id = f"call-{uuid4().hex[:12]}"
        made = await self._desk.propose(
            task_id, provider_id, name, exact(arguments), run_id=self._conversation, rule=Rule.GOVERNED, proposer="client"
        )
        return _Out(id=made, task_id=task_id, provider_id=provider_id)

    async def _raise_policy(self, name: str) -> None:
        """Let a tool's own hints make its declared policy stricter, never laxer. One that nobody declared has the strictest already."""
        policies, declared = self._desk.place.policies, self._desk.place.policy_for(name)
        if not declared.consequences:
            return
        raised = raised_by_hints(declared.consequences, await self._hints(name))
        if set(raised) != set(declared.consequences):
            boundary = declared.commitment_boundary or "as soon as the request is sent: the server names no later step"
            policies[name] = replace(
                declared, consequences=tuple(map(Consequence, raised)), commitment_boundary=boundary, standing_authorization=""
            )  # a mandate was given for less than what the tool says of itself

    async def _hints(self, name: str) -> Mapping[str, Any]:
        """Give what a tool says about itself, with the protocol's own defaults for what it leaves out."""
        if self._listed is None or name not in self._listed:
            self._listed = await self._list()
        tool = self._listed.get(name)
        said = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool is not None and tool.annotations is not None else {}
        return {**_DEFAULTS, **said}

    async def _list(self) -> dict[str, Tool]:
        found: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(_PAGES):
            listing = self._client
            page = await (
                listing.list_tools(cursor=cursor)
                if isinstance(listing, Client)
                else listing.list_tools(params=PaginatedRequestParams(cursor=cursor))
            )
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    # ── the request ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _sent(self, out: _Out, send: Awaitable[Any]) -> Any:
        """Wait for the answer; whoever stops waiting, the record says what is not known."""

        async def request() -> Any:
            _ASKING.set(out)
            return await send

        out.request = asyncio.get_running_loop().create_task(request(), name=f"toolwitness-mcp-{out.provider_id}")
        self._out.append(out)
        try:
            async with self._desk.holding(out.id, out):
                await asyncio.wait({out.request})
        except asyncio.CancelledError:
            out.request.cancel()
            done = out.request.done() and not out.request.cancelled()  # the answer came in the very step in which the caller left
            await outlast(
                asyncio.ensure_future(self._answered(out, out.request) if done else self._leave(out, "the caller stopped waiting"))
            )
            raise
        finally:
            self._out.remove(out)
            await outlast(asyncio.ensure_future(self._desk.leave([out.id], "the request is over")))
        if out.request.cancelled():
            await self._leave(out, out.stopped)
            return _outcome("The cancellation of the call was requested; the server does not say whether it took effect.")
        await self._answered(out, out.request)
        return out.request.result()

    async def _leave(self, out: _Out, reason: str) -> None:
        """Record that the request and its waiter are gone. That acknowledges nothing."""
        await self._desk.tell(out.id, Kind.WAITER_RELEASED, {"waiter": "MCP client", "reason": reason, "body": "unknown"})
        await self._desk.tell(out.id, Kind.LOST, {"reason": "the request was cancelled, which the server never answers"})

    async def _answered(self, out: _Out, request: "asyncio.Task[Any]") -> None:
        error = request.exception()
        if isinstance(error, MCPError):
            answer = read_error({"code": error.code, "message": error.message})
            if error.code == REQUEST_TIMEOUT:
                facts = {"waiter": "MCP client", "reason": error.message, "body": "unknown"}
                await self._desk.tell(out.id, Kind.WAITER_RELEASED, facts)
            await self._record(out, answer, encode_value({"code": error.code, "message": error.message}))
        elif error is not None:
            await self._record(out, Answer("unreadable", why=f"{type(error).__name__}: the SDK could not take the answer"), b"")
        elif isinstance(result := request.result(), InputRequiredResult):
            self._rounds[str(result.request_state)] = out
            await self._desk.ask_input((await read(self._desk.place, out.id)).record, "question")
        else:
            told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            await self._record(out, read_result(told, schema={}), encode_value(to_json(told)))

    async def _record(self, out: _Out, answer: Answer, raw: bytes) -> None:
        if answer.row == "complete":
            await self._desk.tell(out.id, Kind.SUCCEEDED, {"completed_at": self._desk.place.stamp()}, values={"result": raw})
        elif answer.category:
            facts = {"category": answer.category, "detail": answer.why, "evidence_ref": f"mcp:{answer.row}", "retryable": "unknown"}
            await self._desk.tell(out.id, Kind.FAILED, facts, values={"exception": raw})
        else:
            await self._desk.tell(out.id, Kind.LOST, {"reason": answer.why or f"the server answered with {answer.row}"})

    # ── on the way ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _listening(self, out: _Out, heard: Progress | None) -> Progress:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            out.steps += 1
            counts = {
                name: int(value) for name, value in (("current", progress), ("total", total)) if value is not None and value == int(value)
            }
            text = encode_value({"progress": progress, "total": total, "message": message})
            await self._desk.tell(out.id, Kind.PROGRESS, {"order": out.steps, **counts}, values={"text": text})
            if heard is not None:
                await heard(progress, total, message)

        return report

    def _hearing(self, handler: Callable[[Any], Awaitable[None]] | None) -> Callable[[Any], Awaitable[None]]:
        """Forget what tools said about themselves when the server says that they changed: a harmless one may be so no more."""

        async def heard(message: Any) -> None:
            if isinstance(message, ToolListChangedNotification):
                self._listed = None
            if handler is not None:
                await handler(message)

        return heard

    def _asking(self, ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Record a question of the server at the call that it belongs to: the one in whose task it comes, or the only one that is out."""

        async def asked(*args: Any, **more: Any) -> Any:
            out = _ASKING.get() or (self._out[0] if len(self._out) == 1 else None)
            if out is not None:
                await self._desk.ask_input((await read(self._desk.place, out.id)).record, "question")
            try:
                return await ask(*args, **more)
            finally:
                if out is not None:
                    await self._desk.answered(out.id)

        return asked


def _outcome(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)


_DEFAULTS: Final = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""What the protocol says of a tool that says nothing."""
_PAGES: Final = 100
