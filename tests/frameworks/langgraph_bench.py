"""What the live tests of LangGraph share: tools that write what they really do, and a record that is held against it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

import toolwitness as tw
from tests.frameworks.langgraph_model import Calls, ScriptedModel
from toolwitness.adapters.langgraph import Recorder
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.policy.tool_policy import RetryPolicy, ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
BEN = tw.Actor(id="ben", roles=frozenset({"finance", "approver"}))
Truth = list[tuple[str, str]]
"""What bodies wrote: (what happened, with what), in order."""


def agent_of(desk: tw.Desk, *responses: Calls, tools: list[Any], saver: Any = None, recorder: Recorder | None = None, **more: Any) -> Any:
    """An agent under a recorder; ``before`` are middlewares that stand before it, as they should."""
    middleware = [*more.pop("before", ()), recorder or Recorder(desk)]
    model = more.pop("model", None) or ScriptedModel(responses=list(responses))
    return create_agent(model, tools, middleware=middleware, checkpointer=saver if saver is not None else InMemorySaver(), **more)


def thread(name: str = "t1") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


GO: dict[str, Any] = {"messages": [("user", "go")]}


def govern(desk: tw.Desk, tool: str = "book", **more: Any) -> None:
    """Declare a policy that asks a person."""
    desk.declare_policy(
        ToolPolicy(tool=tool, consequences=(tw.FINANCIAL,), approvers=("role:finance",), retry=RetryPolicy(attempts=3), **more)  # type: ignore[arg-type]  # words are turned into classes there
    )


async def records(desk: tw.Desk) -> list[InvocationRecord]:
    found: list[InvocationRecord] = []
    for task_id in reversed(await desk.ledger.tasks()):
        view = await desk.ledger.task(task_id)
        assert view is not None
        found += view.records.values()
    return found


async def by_id(desk: tw.Desk) -> dict[str, InvocationRecord]:
    """Every record by its provider's id, the latest of each."""
    return {str(one.proposal["correlation"][0]["provider_call_id"]): one for one in await records(desk)}


async def until(desk: tw.Desk, holds: Callable[[dict[str, InvocationRecord]], Any]) -> dict[str, InvocationRecord]:
    """Wait until the ledger says so."""
    async with asyncio.timeout(20):
        async for _ in _news(desk):
            found = await by_id(desk)
            if holds(found):
                return found
    raise AssertionError("the ledger ended")


async def _news(desk: tw.Desk) -> AsyncIterator[None]:
    head = await desk.ledger.head()
    yield None
    async for _ in desk.follow(after=head):
        yield None


async def waiting(desk: tw.Desk, key: str) -> InvocationRecord:
    """Wait until this call asks for an approval."""
    return (await until(desk, lambda now: key in now and now[key].open_approval is not None))[key]


async def said(desk: tw.Desk, kind: Kind) -> list[Any]:
    """Every event of a kind, in order."""
    return [one.event for one in await desk.ledger.read() if one.event.kind == kind]


async def assert_record_equals(desk: tw.Desk, truth: Truth) -> None:
    """Hold the record against what the bodies wrote: as many starts, and each end as it was."""
    wrote = {key: [kind for kind, mine in truth if mine == key] for _, key in truth}
    mine: dict[str, list[InvocationRecord]] = {}
    for record in await records(desk):
        mine.setdefault(str(record.proposal["correlation"][0]["provider_call_id"]), []).append(record)
    for key, attempts in mine.items():
        kinds = wrote.get(key, [])
        states = [record.state for record in attempts]
        assert sum(len(record.starts) for record in attempts) == kinds.count("start"), (key, kinds, states)
        assert states.count(State.SUCCEEDED) == min(kinds.count("end"), len(attempts)), (key, kinds, states)
        assert states.count(State.FAILED) == kinds.count("raise"), (key, kinds, states)
        stopped = [record for record in attempts if record.state is State.CANCELLED and record.starts]
        assert len(stopped) == kinds.count("cancelled"), (key, kinds, states)
    assert set(wrote) <= set(mine)
    assert await desk.verify() == []
