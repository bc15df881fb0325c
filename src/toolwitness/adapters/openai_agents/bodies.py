"""A function tool of the framework, taken apart: its check of arguments, its body, and what it makes of an error.

``on_invoke_tool`` does all three in one: it turns a refused argument, a raised exception and a time-out into a text for the model, so that
from outside they look like results. The parts are the framework's own and are used as they are; whatever in them is private is named here
and nowhere else. A tool whose invoker is the application's own is one part: all of it is the body.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, cast

from agents import FunctionTool, ModelBehaviorError
from agents import tool as framework
from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
from agents.exceptions import ToolTimeoutError
from agents.tool_context import ToolContext

from toolwitness.recording.desk_side import Support
from toolwitness.runtime.encoding import encode_value

Context = ToolContext[Any]


Invoke = Callable[[Context, str], Awaitable[Any]]


class Late(ToolTimeoutError):
    """The tool's own limit passed, and it was stopped."""


class NotWell(Exception):
    """The tool gave its result and marked it as an error (an MCP server's ``isError``); the model gets the result all the same."""

    def __init__(self, result: Any) -> None:
        """Keep the result."""
        super().__init__(str(result))
        self.result = result


class Paused(Exception):
    """An agent that is used as a tool has stopped to ask for an approval: no end."""

    def __init__(self, result: Any) -> None:
        """Keep what the framework gets meanwhile."""
        super().__init__("an agent used as a tool asks for an approval")
        self.result = result


@dataclass(slots=True)
class McpAnswer:
    """What an MCP server said of its own result, beside the text that the framework hands on."""

    marked: bool = False


mcp_answer: Final[ContextVar[McpAnswer | None]] = ContextVar("toolwitness_mcp_answer", default=None)
"""Where the answer of the MCP call that runs here is noted."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Arguments that the tool has accepted."""

    inputs: bytes
    """The exact JSON of what the body gets."""
    body: Callable[[], Awaitable[Any]]


@dataclass(slots=True)
class Parts:
    """One function tool in its parts."""

    tool: FunctionTool
    support: Support = field(init=False)
    """How its body runs."""
    _invoker: Any = field(init=False)

    def __post_init__(self) -> None:
        """Look at the tool's invoker."""
        self._invoker = self.tool.on_invoke_tool
        self.support = self._runs()

    @property
    def checks_arguments(self) -> bool:
        """Whether the framework checks the arguments before the body runs; the application's own invoker does what it likes."""
        return isinstance(self._invoker, framework._FailureHandlingFunctionToolInvoker)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # no public name tells it

    def _runs(self) -> Support:
        origin = framework.get_function_tool_origin(self.tool)
        if origin is not None and origin.type is framework.ToolOriginType.MCP:
            return Support.UNSUPPORTED
        sync = getattr(self._invoker, framework._SYNC_FUNCTION_TOOL_MARKER, False)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # as above
        return Support.THREAD if sync else Support.TASK

    # ── arguments ───────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self, ctx: Context, raw: str) -> Prepared:
        """Check the arguments as the framework does, once, without running anything of the body.

        Raises:
            ModelBehaviorError: the framework refuses them.
        """
        if not self.checks_arguments:
            return Prepared(_json_or_text(raw), lambda: self._whole(ctx, raw))
        ready: Any = self._invoker.prepare_arguments(raw, self.tool.name)
        if ready is None:
            if not isinstance(_parsed(raw), dict):
                raise ModelBehaviorError(f"Invalid JSON input for tool {self.tool.name}: expected a JSON object")
            return Prepared(raw.encode("utf-8", "surrogatepass") or b"{}", lambda: self._part(ctx, raw, None))
        ready = ready.owner(raw, self.tool.name)
        return Prepared(self._named(ready.args, ready.kwargs, raw), lambda: self._part(ctx, raw, ready))

    def _named(self, args: list[Any], kwargs: dict[str, Any], raw: str) -> bytes:
        """Give the arguments by name, defaults included; the text as it came where the function's signature does not tell."""
        with suppress(Exception):
            parameters = list(inspect.signature(cast("Callable[..., Any]", self.tool.__wrapped__)).parameters.values())
            plain = [p for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
            context = [None] if len(plain) == len(args) + len(kwargs) + 1 and plain[0].name not in kwargs else []
            bound = inspect.signature(cast("Callable[..., Any]", self.tool.__wrapped__)).bind(*context, *args, **kwargs)
            return encode_value({name: value for name, value in bound.arguments.items() if not context or name != plain[0].name})
        return raw.encode("utf-8", "surrogatepass") or b"{}"

    async def as_it_was(self, ctx: Context, raw: str) -> Any:
        """Run the tool as if nobody watched it."""
        seen = framework._get_function_tool_invoke_context(self.tool, ctx)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # some take less of it
        return await self.tool.on_invoke_tool(cast("Any", seen), raw)

    # ── the body ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _whole(self, ctx: Context, raw: str) -> Any:
        """Run the application's own invoker, under the tool's limit."""
        return await self._within(lambda: self.as_it_was(ctx, raw))

    async def _part(self, ctx: Context, raw: str, ready: Any) -> Any:
        """Run the body alone, under the tool's limit, with the arguments that were checked."""
        ctx._function_tool_arguments = ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # so that they are checked once
        noted = McpAnswer()
        token = mcp_answer.set(noted)
        try:
            result = await self._within(lambda: self._invoker._invoke_tool_impl(ctx, raw))  # noqa: SLF001  # the body without its error handler
        finally:
            mcp_answer.reset(token)
        if noted.marked:
            raise NotWell(result)
        if self._asks(ctx):
            raise Paused(result)
        return result

    async def _within(self, call: Callable[[], Awaitable[Any]]) -> Any:
        limit = self.tool.timeout_seconds
        if limit is None:
            return await call()
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await call()
        except TimeoutError:
            if scope.expired():
                raise Late(self.tool.name, limit) from None
            raise

    def _asks(self, ctx: Context) -> bool:
        """Tell whether an agent that is used as a tool has stopped to ask."""
        if ctx.tool_call is None:
            return False
        nested = peek_agent_tool_run_result(ctx.tool_call, scope_id=get_agent_tool_state_scope(ctx))
        return bool(getattr(nested, "interruptions", None))

    # ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, ctx: Context, raw: str, error: BaseException) -> Any:
        """Give what the framework would give the model for this error, by the tool's own rules.

        Raises:
            BaseException: the error, where the tool is made to let it through.
        """
        if isinstance(error, NotWell | Paused):
            return error.result
        if isinstance(error, Late):
            return await self._late(ctx, error)
        if not self.checks_arguments:
            raise error

        async def again(_ctx: Context, _input: str) -> Any:
            raise error

        handler = framework._FailureHandlingFunctionToolInvoker  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # the very handler that it took away
        return await handler(again, self._invoker._on_handled_error, function_tool=self.tool)(ctx, raw)  # noqa: SLF001  # as above

    async def _late(self, ctx: Context, error: Late) -> Any:
        if self.tool.timeout_behavior == "raise_exception":
            raise ToolTimeoutError(tool_name=error.tool_name, timeout_seconds=error.timeout_seconds)
        words = self.tool.timeout_error_function
        if words is None:
            return framework.default_tool_timeout_error_message(tool_name=error.tool_name, timeout_seconds=error.timeout_seconds)
        said = words(ctx, error)
        return await said if inspect.isawaitable(said) else said


class _Invoker(framework._FailureHandlingFunctionToolInvoker):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # the framework asks for this class before it looks at arguments
    """The invoker of a watched tool: looks at arguments as the tool's own does, and leaves the call to whoever takes it."""

    def __init__(self, own: Any, entry: Callable[[], Invoke], tool: FunctionTool) -> None:
        super().__init__(own._invoke_tool_impl, own._on_handled_error, function_tool=tool)  # noqa: SLF001  # its parts
        self._entry = entry

    def __agents_bind_function_tool__(self, function_tool: FunctionTool) -> "_Invoker":
        return self

    async def __call__(self, ctx: Context, input: str) -> Any:  # noqa: A002 -- the framework's name
        return await self._entry()(ctx, input)


def invoker_for(parts: Parts, entry: Callable[[], Invoke]) -> Any:
    """Give the invoker of a watched tool; ``entry`` says who takes the call at the moment it is made."""
    if parts.checks_arguments:
        own: Any = parts.tool.on_invoke_tool
        made = _Invoker(own, entry, parts.tool)
        marker = framework._SYNC_FUNCTION_TOOL_MARKER  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # how it tells a sync function
        setattr(made, marker, getattr(own, marker, False))
        return made

    async def on_invoke_tool(ctx: Context, raw: str) -> Any:
        return await entry()(ctx, raw)

    return on_invoke_tool


def limit_of(error: BaseException) -> str:
    """Give the tool's own limit in words where passing it is what was raised."""
    return f"{error.timeout_seconds:g} seconds" if isinstance(error, Late) else ""


def _parsed(raw: str) -> Any:
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return None


def _json_or_text(raw: str) -> bytes:
    return raw.encode("utf-8", "surrogatepass") if _parsed(raw) is not None else encode_value(raw)
