"""The server's side: every tool body of an ``MCPServer`` under a guard, with approvals at the desk before it.

What becomes what::

    tools/call arrives           → invocation.proposed, with the arguments as sent
    the arguments validate       → inputs.accepted, where validation changed them
    they do not, or no such tool → execution.failed, effects excluded: no body was entered
    policy demands an approval   → approval.requested at the desk; the request waits
    the body is entered and left → dispatch.claimed, execution.started, …, its real end
    ctx.elicit, input_required   → input.required; inputs.accepted when it goes on
    ctx.report_progress          → progress.reported

A tool whose policy is declared at the desk is governed: it runs only with a permit. Any other tool is observed.
"""

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolwitness.adapters.mcp.emitter import Emitter
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.reading.pen import exact
from toolwitness.recording.desk_side import DeskSide, Rule, Support, same_json
from toolwitness.recording.guard import Guard, Raised
from toolwitness.runtime.courier import outlast
from toolwitness.runtime.encoding import encode_value, to_json
from toolwitness.runtime.facts import Ending, EndingKind
from toolwitness.service.workplace import make_draft, read


class _Asked(Exception):
    """The body gave back a question instead of a result. No error: it will be entered again."""

    def __init__(self, question: InputRequiredResult) -> None:
        super().__init__("the tool asks for input")
        self.question = question


class _NotRun(ToolError):
    """The call is over without a result: it was not run, or was stopped."""


_RAISED: Final = Raised(
    pauses={"_Asked": "answer"}, categories={"ToolError": ("tool-failed", "The tool reported a failure.")}
)  # fmt: skip  # facts in lines


@dataclass(slots=True, kw_only=True)
class _Call:
    """One request on its way to its body."""

    id: str
    task_id: str
    provider_id: str
    tool: str
    refusal: str = ""
    entered: list[str] = field(default_factory=list[str])
    """How its body was entered; empty while it was not."""


class Serving:
    """Stands before the tools of one server."""

    def __init__(self, desk: DeskSide, server: MCPServer[Any], *, emitter: Sequence[Emitter] = ()) -> None:
        """Stand before ``server``; ``install`` puts it there. ``emitter`` holds who completes results, or nobody."""
        self._emitter = emitter
        self._desk = desk
        self._server = server
        self._tools = server._tool_manager  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the SDK has no public way to a tool's function
        self._alone = f"{server.name}/{uuid4().hex}"
        """The one client of a server over stdio, where no connection is told."""
        self._connections: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._paused: dict[tuple[str, str, str], str] = {}
        """By tool, arguments and the state it gave out: the call whose body asked and waits for the answer."""

    def install(self) -> None:
        """Answer the server's tool calls from now on."""
        self._server.call_tool = self.call_tool  # type: ignore[method-assign]  # the SDK's own handler calls this very method

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Do what ``MCPServer.call_tool`` does, on record.

        Raises:
            ToolError: as the SDK's.
        """
        context = context if context is not None else Context(mcp_server=self._server)
        call = await self._begin(name, arguments, context)
        try:
            return await self._answer(call, arguments, context)
        finally:
            await outlast(asyncio.ensure_future(self._desk.leave([call.id], "the request that proposed it is over")))

    async def _answer(
        self, call: _Call, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:  # fmt: skip  # a signature in two lines
        name = call.tool
        tool = self._tools.get_tool(name)
        if tool is None:
            await self._not_entered(call, "unknown-tool", f"no tool is called {name!r}")
            raise ToolError(f"Unknown tool: {name}")
        guarded = tool.model_copy(update={"fn": functools.partial(self._body, call, tool, context), "is_async": True})
        self._listen(call, context)
        try:
            result = await guarded.run(arguments, context, convert_result=True)
        except ToolError as error:
            if not call.refusal:
                await self._failed(call, error)
                if not self._emitter:
                    raise
                said = CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)  # as the SDK makes of it
                return await self._told(call, said)
            return await self._told(call, CallToolResult(content=[TextContent(type="text", text=call.refusal)], is_error=True))
        if isinstance(result, InputRequiredResult):
            await self._wait_for_answer(call, arguments, result)
            return result
        return await self._told(call, result)

    async def _told(self, call: _Call, result: CallToolResult) -> CallToolResult:
        """Give the result with the record beside it, where somebody asked for that."""
        for emitter in self._emitter:
            result = await emitter.complete(result, call.task_id, call.id)
        return result

    # ── before the body ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _begin(self, name: str, arguments: dict[str, Any], context: Context[Any, Any]) -> _Call:
        """Record the proposal; a request that brings back a state which a call gave out goes on with that call."""
        answers = context.request_state is not None or context.input_responses is not None
        paused = self._paused.pop(_key(name, arguments, context.request_state), "") if answers else ""
        provider_id = _request_id(context)
        if paused:
            record = await self._record(paused)
            await self._desk.answered(paused)
            return _Call(id=paused, task_id=record.task_id, provider_id=provider_id, tool=name)
        conversation = self._conversation(context)
        task_id = await self._desk.task_for(conversation, f"Calls of the MCP server {self._server.name}")
        rule = Rule.GOVERNED if name in self._desk.place.policies else Rule.OBSERVED
        made = await self._desk.propose(task_id, provider_id, name, exact(arguments), run_id=conversation, rule=rule, proposer="client")
        return _Call(id=made, task_id=task_id, provider_id=provider_id, tool=name)

    def _conversation(self, context: Context[Any, Any]) -> str:
        """Name the connection that a request came on: what one client asks for is one task.

        On 2026-07-28 each request stands alone. Over stdio there is one client all the same; over HTTP nobody says which requests belong
        together, so each gets a task of its own.
        """
        try:
            request = context.request_context
        except ValueError:
            return f"{self._server.name}/{uuid4().hex}"  # called by the application itself, outside any request
        if request.request is None and request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._alone
        connection = getattr(request.session, "_connection", request.session)
        return self._connections.setdefault(connection, f"{self._server.name}/{uuid4().hex}")

    async def _record(self, invocation_id: str) -> InvocationRecord:
        return (await read(self._desk.place, invocation_id)).record

    async def _failed(self, call: _Call, error: ToolError) -> None:
        """Record what the SDK made of the call outside its body, where it did."""
        if not call.entered:
            invalid = isinstance(error.__cause__, ValidationError)
            await self._not_entered(
                call, "invalid-input" if invalid else "raised", "the arguments did not validate" if invalid else str(error)
            )
        elif call.entered == ["returned"]:
            facts = {"problems": ["the value that the body returned is not of the declared type: the client was told of an error"]}
            record = await self._record(call.id)
            await self._desk.place.ledger.append(call.task_id, [make_draft(self._desk.place, record, Kind.RESULT_REJECTED, facts)])

    async def _not_entered(self, call: _Call, category: str, detail: str) -> None:
        facts = {"category": category, "detail": detail, "evidence_ref": f"mcp:{category}", "retryable": "unknown", "effects": "excluded"}
        await self._desk.tell(call.id, Kind.FAILED, facts)

    # ── the body ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _body(self, call: _Call, tool: Tool, context: Context[Any, Any], **given: Any) -> Any:
        """Stand in the function's place: validated, resolved, and now asked to run."""
        names = set(tool.parameters.get("properties", {}))
        inputs = {name: value for name, value in given.items() if name in names}
        beside = {name: value for name, value in given.items() if name not in names}
        record = await self._record(call.id)
        goes_on = record.state is State.PARTIALLY_COMPLETE
        if not goes_on:
            await self._desk.accept_inputs(record, encode_value(inputs))
        permit = ""
        if record.governed and not goes_on:
            permit, inputs = await self._permitted(call, tool, inputs)
        record = await self._record(call.id)
        raw = encode_value(inputs)
        same = "same" if same_json(await self._desk.standing(record), raw) else "different"
        support = Support.TASK if tool.is_async else Support.THREAD
        guard = Guard(self._desk, record, support=support, permit=permit, inputs=raw, compared=same, raised=_RAISED)
        call.entered.append("entered")
        ending = await guard.run(_runner(tool, {**inputs, **beside}))
        return self._result(call, ending)

    async def _permitted(self, call: _Call, tool: Tool, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Wait for the answer at the desk, and claim the permit; give it with the inputs that were approved."""
        await self._desk.ask(call.id)
        decided = await self._desk.decision(call.id)
        if decided.permitted != "yes":
            raise self._refuse(call, f"The call was not run: {decided.why}")
        if not same_json(decided.inputs, encode_value(inputs)):
            try:
                inputs = tool.fn_metadata.validate_arguments(json.loads(decided.inputs))
            except ValidationError:
                await self._desk.withdraw(call.id, "the inputs that were approved did not validate")
                raise self._refuse(call, "The call was not run: the inputs that were approved did not validate.") from None
        claimed = await self._desk.claim(call.id)
        if isinstance(claimed, PolicyVerdict):
            raise self._refuse(call, f"The call was not run: {claimed.reason}")
        return claimed, inputs

    def _refuse(self, call: _Call, why: str) -> _NotRun:
        call.refusal = why
        return _NotRun(why)

    def _result(self, call: _Call, ending: Ending) -> Any:
        """Hand the SDK what the body gave. A stopped call is an outcome, not an error (R5), and touches no sibling."""
        if ending.kind is EndingKind.RETURNED:
            call.entered[:] = ["returned"]
            return ending.value
        if isinstance(ending.exception, _Asked):
            return ending.exception.question
        if ending.termination is not None:
            raise self._refuse(call, f"The call was cancelled: {ending.stop_reason or 'no reason was given'}.")
        if ending.kind is EndingKind.SELF_CANCELLED:
            raise ToolError("The tool cancelled itself; nobody had asked for it.")
        return ending.unwrap()

    async def _wait_for_answer(self, call: _Call, arguments: dict[str, Any], question: InputRequiredResult) -> None:
        await self._desk.ask_input(await self._record(call.id), "question")
        self._paused[_key(call.tool, arguments, question.request_state)] = call.id

    # ── what a body says on the way ─────────────────────────────────────────────────────────────────────────────────

    def _listen(self, call: _Call, context: Context[Any, Any]) -> None:
        """Hear what the body says through its context. It is this request's own object, and is thrown away with it."""
        report, elicit, elicit_url = context.report_progress, context.elicit, context.elicit_url

        async def report_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
            counts = {
                name: int(value) for name, value in (("current", progress), ("total", total)) if value is not None and value == int(value)
            }
            said = {"progress": progress, "total": total, "message": message}
            await self._desk.progress(call.task_id, call.provider_id, encode_value(to_json(said)), counts)
            await report(progress, total, message)

        def asking(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def asked(*args: Any, **more: Any) -> Any:
                await self._desk.ask_input(await self._record(call.id), "question")
                try:
                    return await ask(*args, **more)
                finally:
                    await self._desk.answered(call.id)

            return asked

        for name, heard in (("report_progress", report_progress), ("elicit", asking(elicit)), ("elicit_url", asking(elicit_url))):
            object.__setattr__(context, name, heard)


def _key(tool: str, arguments: dict[str, Any], state: str | None) -> tuple[str, str, str]:
    return tool, exact(arguments).decode("utf-8", "replace"), state or ""


def _runner(tool: Tool, given: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    async def run() -> Any:
        if tool.is_async:
            value = await tool.fn(**given)
        else:
            value = await anyio.to_thread.run_sync(functools.partial(tool.fn, **given))
        if isinstance(value, InputRequiredResult):
            raise _Asked(value)
        return value

    return run


def _request_id(context: Context[Any, Any]) -> str:
    try:
        return str(context.request_id)
    except ValueError:
        return f"call-{uuid4().hex[:12]}"
