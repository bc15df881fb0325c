"""Puts the tools of an agent under a recorder without changing what the agent is.

An agent is watched in place: the framework finds the same object again when a saved run is resumed, and an agent that is used
as a tool, or handed over to, is watched too. Outside a recorded run a watched tool is what it was: its own approval rule, limit and body.
"""

import copy
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Final, Protocol, cast

from agents import Agent, AgentHooks, FunctionTool, Handoff
from agents.mcp import MCPServer
from agents.mcp._compat import result_is_error  # the one place that knows both generations of the protocol's package
from agents.tool_context import ToolContext

from toolwitness.adapters.openai_agents.bodies import Invoke, Parts, invoker_for, mcp_answer

Need = bool | Callable[..., Awaitable[bool]]


class Recording(Protocol):
    """The run that is being recorded."""

    def rule(self, parts: Parts) -> Need:
        """Give the approval rule that the framework shall see."""
        ...

    async def proposed(self, agent: Agent[Any], context: Any, response: Any) -> None:
        """Take a response of the model."""
        ...

    async def invoke(self, parts: Parts, context: ToolContext[Any], raw: str) -> Any:
        """Run a call, or say why not."""
        ...


_OFFERED: Final = "toolwitness_offered"
recording: Final[ContextVar[Recording | None]] = ContextVar("toolwitness_openai_agents_run", default=None)
"""The recorded run that this code is part of."""


# ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def watch_agent(agent: Agent[Any]) -> None:
    """Watch an agent's tools, those of its MCP servers, and the agents that it hands over to or uses as tools; again, what is new."""
    waiting, seen = [agent], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for place, tool in enumerate(one.tools):
            if isinstance(tool, FunctionTool):
                one.tools[place] = watched(tool)
                inner = tool.__dict__.get("_agent_instance")
                waiting += [inner] if isinstance(inner, Agent) else []
        waiting += [found for found in map(_target, one.handoffs) if found is not None]
        if not isinstance(one.hooks, Listener):
            one.hooks = Listener(one.hooks)
        _watch_servers(one)


def _target(handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | None:
    """Give the agent of a handoff, where it can be known before it happens."""
    if isinstance(handoff, Agent):
        return handoff
    reference = handoff.__dict__.get("_agent_ref")
    found: Any = reference() if callable(reference) else None
    return cast("Agent[Any]", found) if isinstance(found, Agent) else None


def _watch_servers(agent: Agent[Any]) -> None:
    """Watch what the MCP servers of an agent offer, each time they are asked."""
    if not agent.mcp_servers or "get_mcp_tools" in agent.__dict__:
        return
    ask = agent.get_mcp_tools

    async def get_mcp_tools(run_context: Any) -> list[Any]:
        for server in agent.mcp_servers:
            _listen(server)
        offered = [watched(tool) if isinstance(tool, FunctionTool) else tool for tool in await ask(run_context)]
        agent.__dict__[_OFFERED] = offered
        return offered

    agent.__dict__["get_mcp_tools"] = get_mcp_tools


def tools_of(agent: Agent[Any]) -> dict[str, Parts]:
    """Give the watched tools of an agent by name, those that its MCP servers offered last included."""
    tools = [*agent.tools, *agent.__dict__.get(_OFFERED, ())]
    return {parts.tool.name: parts for parts in map(parts_of, tools) if parts is not None}


def _listen(server: MCPServer) -> None:
    """Note what a server says of its own result: the framework hands on the text alone."""
    if "call_tool" in server.__dict__:
        return
    call: Any = server.call_tool

    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        result = await call(*args, **kwargs)
        noted = mcp_answer.get()
        if noted is not None:
            noted.marked = bool(result_is_error(result))
        return result

    cast("Any", server).call_tool = call_tool


class Listener(AgentHooks[Any]):
    """The agent's own hooks, and a look at each response of the model before they get it."""

    def __init__(self, own: Any) -> None:
        """Keep the agent's own hooks, where it has any."""
        self._own = own if own is not None else AgentHooks[Any]()

    async def on_start(self, context: Any, agent: Any) -> None:
        """Pass it on."""
        await self._own.on_start(context, agent)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        """Pass it on."""
        await self._own.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        """Pass it on."""
        await self._own.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Pass it on."""
        await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        """Pass it on."""
        await self._own.on_tool_end(context, agent, tool, result)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]) -> None:
        """Pass it on."""
        await self._own.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Record what the model proposes, and pass it on."""
        run = recording.get()
        if run is not None:
            await run.proposed(agent, context, response)
        await self._own.on_llm_end(context, agent, response)


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def watched(tool: FunctionTool) -> FunctionTool:
    """Give the tool with a body that asks the recorded run; a tool that is watched stays as it is."""
    if parts_of(tool) is not None:
        return tool
    parts = Parts(tool)
    own_rule, own_limit = tool.needs_approval, tool.timeout_seconds
    copied = copy.copy(tool)
    copied.on_invoke_tool = invoker_for(parts, lambda: _entry(parts))
    cast("Any", copied).__class__ = _watched_class(type(tool))
    copied.__dict__ |= {"toolwitness_parts": parts, "needs_approval": own_rule, "timeout_seconds": own_limit}
    return copied


def _entry(parts: Parts) -> Invoke:
    """Say who takes a call: the recorded run, or the tool as it was."""
    run = recording.get()
    return parts.as_it_was if run is None else partial(run.invoke, parts)


def parts_of(tool: Any) -> Parts | None:
    """Give the parts of a watched tool; ``None`` where it is not watched."""
    found = getattr(tool, "__dict__", {}).get("toolwitness_parts")
    return found if isinstance(found, Parts) else None


def _own(name: str, now: Callable[[Any], Any]) -> property:
    """Make an attribute that is the tool's own outside a recorded run, and what the run says inside one."""

    def read(tool: FunctionTool) -> Any:
        run = recording.get()
        return tool.__dict__[name] if run is None else now((run, tool))

    def write(tool: FunctionTool, value: Any) -> None:
        tool.__dict__[name] = value

    return property(read, write)


@cache
def _watched_class(base: type[FunctionTool]) -> type[FunctionTool]:
    """Make the class of the watched tools of one class."""
    rule = _own("needs_approval", lambda both: both[0].rule(both[1].__dict__["toolwitness_parts"]))
    limit = _own("timeout_seconds", lambda _: None)  # the wait for a person is not the body's time; the recorder keeps the limit
    return cast("type[FunctionTool]", type(f"Watched{base.__name__}", (base,), {"needs_approval": rule, "timeout_seconds": limit}))
