"""Records captures by running the real LangChain and LangGraph with scripted models: ``python tests/captures/record_langgraph.py``.

Every scenario is a script of model responses, tools that write what they really do (``truth``), and a driver. It is run twice: as a stream
in every mode, and with a middleware's hooks inside the process. Some are also run in one mode alone. No network, no key, under a minute.
"""

import asyncio
import dataclasses
import json
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolCallLimitMiddleware, ToolRetryMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command, Interrupt, interrupt

sys.path.insert(0, str(Path(__file__).parents[2]))  # run as a script, from anywhere

from tests.frameworks.langgraph_model import StreamingModel

TARGET = Path(__file__).parents[2] / "spec" / "captures" / "langgraph" / "recorded"
EVERY_MODE = ["updates", "messages", "tasks", "custom", "tools"]
THREAD = {"configurable": {"thread_id": "t1"}}
GO = {"messages": [("user", "go")]}
Id = Annotated[str, InjectedToolCallId]


class Capture:
    """Rows of one scenario on one surface."""

    def __init__(self, scenario: str, surface: str) -> None:
        self.surface = surface
        self.began = time.monotonic()
        packages = ("langgraph", "langchain", "langchain-core", "langgraph-prebuilt", "langgraph-checkpoint")
        versions = {package: version(package) for package in packages}
        self.rows: list[dict[str, Any]] = [{"src": "header", "scenario": scenario, "note": surface, "versions": versions}]
        self.changed = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    def add(self, src: str, kind: str, event: Any) -> None:
        seconds = round(time.monotonic() - self.began, 4)
        self.rows.append({"seq": len(self.rows), "t": seconds, "src": src, "kind": kind, "event": plain(event)})
        self.loop.call_soon_threadsafe(self.changed.set)

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until ``count`` truth rows of this kind are there."""
        while sum(row.get("src") == "truth" and row["kind"].startswith(kind) for row in self.rows) < count:
            self.changed.clear()
            await self.changed.wait()

    def write(self, path: Path) -> None:
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")


def plain(value: Any) -> Any:
    """Give a value as JSON; messages with the fields that a consumer sees, the rest as its text."""
    if isinstance(value, BaseMessage):
        return {**plain(value.model_dump()), "__type__": type(value).__name__}
    if isinstance(value, Interrupt):
        return {"__type__": "Interrupt", "id": value.id, "value": plain(value.value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"__type__": type(value).__name__, **{f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}}
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items() if not str(key).startswith("__pregel") and key != "runtime"}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


class Hooks(AgentMiddleware):
    """What a middleware sees from inside, in the words of the ``hook_*`` captures."""

    def __init__(self, capture: Capture) -> None:
        super().__init__()
        self.capture = capture

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        say, call = self.capture.add, request.tool_call
        info = request.runtime.execution_info
        say("runtime", "mw.START", {"id": call["id"], "tool": call["name"], "args": call["args"], "execution_info": info})
        try:
            result = await handler(request)
        except GraphBubbleUp:
            say("runtime", "mw.PAUSED(interrupt)", {"id": call["id"]})
            raise
        except asyncio.CancelledError:
            say("runtime", "mw.CANCELLED", {"id": call["id"]})
            raise
        except Exception as error:
            say("runtime", "mw.RAISED", {"id": call["id"], "exc": type(error).__name__, "msg": str(error)})
            raise
        told = result if isinstance(result, BaseMessage) else (getattr(result, "update", None) or {}).get("messages", [None])[-1]
        say(
            "runtime",
            "mw.RETURNED",
            {"id": call["id"], "status": getattr(told, "status", "success"), "content": getattr(told, "content", "")},
        )
        return result


class Bench:
    """One scenario on one surface: tools that tell the truth, runs that write rows."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.release = threading.Event()
        self.asked: list[dict[str, Any]] = []
        self.modes = [capture.surface] if capture.surface not in {"stream", "hook"} else EVERY_MODE
        if capture.surface == "hook":
            self.modes = ["tools", "custom"]

    def truth(self, kind: str, name: str, call: str, **facts: Any) -> None:
        self.capture.add("truth", kind, {"tool": name, "id": call, **facts})

    def agent(self, *responses: Any, tools: list[Any], **more: Any) -> Any:
        middleware = list(more.pop("middleware", ()))
        if self.capture.surface == "hook":
            middleware.append(Hooks(self.capture))
        return create_agent(StreamingModel(responses=list(responses)), tools, middleware=middleware, checkpointer=InMemorySaver(), **more)

    async def run(self, agent: Any, given: Any = GO, config: Any = None) -> None:
        """Run once, write what the stream shows, how it ended, and the state of the thread."""
        config = config or THREAD
        try:
            async for mode, chunk in agent.astream(given, config, stream_mode=self.modes):
                self._show(mode, chunk)
            self.capture.add("outcome", "stream ended", None)
        except BaseException as error:  # noqa: BLE001 -- how the driving call ended is what is recorded, whatever it was
            name = f"{type(error).__module__}.{type(error).__name__}"
            self.capture.add("outcome", "raised", {"__exc__": name, "str": str(error), "cause": None})
        state = await agent.aget_state(THREAD)
        tasks = [
            {"id": t.id, "name": t.name, "error": repr(t.error) if t.error else None, "interrupts": t.interrupts, "result": t.result}
            for t in state.tasks
        ]
        messages = [
            {
                "type": m.type, "id": m.id, "tool_calls": [call["id"] for call in getattr(m, "tool_calls", [])],
                "tool_call_id": getattr(m, "tool_call_id", None), "status": getattr(m, "status", None), "content": str(m.content)[:120],
            }
            for m in state.values.get("messages", [])
        ]  # fmt: skip  # facts in lines
        self.capture.add("runtime", "get_state", {"next": state.next, "tasks": tasks, "messages": messages})

    def _show(self, mode: str, chunk: Any) -> None:
        say = self.capture.add
        if mode == "messages":
            message, meta = chunk
            kept = {name: meta.get(name) for name in ("langgraph_node", "langgraph_step", "checkpoint_ns") if name in meta}
            say("runtime", "messages", {"message": message, "meta": kept})
        elif mode == "tasks":
            what = "start" if "triggers" in chunk else "result"
            shown = {name: value for name, value in chunk.items() if name not in {"input", "metadata"}}
            if what == "start":
                calls = [call for call in chunk["input"] if isinstance(call, dict)] if isinstance(chunk["input"], list) else []
                shown |= (
                    {"input.tool_calls": [{name: call.get(name) for name in ("id", "name", "args")} for call in calls]} if calls else {}
                )
            say("runtime", f"tasks:{what}:{chunk['name']}", shown)
        elif mode == "tools":
            say("runtime", f"tools:{chunk['event']}", chunk)
        else:
            say("runtime", mode, chunk)
        for one in chunk.get("__interrupt__", ()) if mode in {"updates", "values"} and isinstance(chunk, dict) else ():
            self.asked.append({"id": one.id, "value": one.value})

    async def cancel(self, run: "asyncio.Task[None]") -> None:
        self.capture.add("driver", "Task.cancel of the astream consumer", {})
        run.cancel()
        await run

    async def resume(self, agent: Any, answer: Any, kind: str = "Command(resume)", config: Any = None) -> None:
        self.capture.add("driver", kind, {"resume": answer})
        await self.run(agent, Command(resume=answer), config)


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def flight(bench: Bench, result: Any = "2 flights") -> BaseTool:
    @tool("flight")
    async def body(origin: str, call: Id) -> Any:
        """Fly."""
        bench.truth("start", "flight", call, args={"origin": origin})
        bench.truth("end", "flight", call)
        return result

    return body


def hotel(bench: Bench, error: Exception | None = None, failures: int = 99) -> BaseTool:
    left = [failures]

    @tool("hotel")
    async def body(city: str, call: Id) -> str:
        """Sleep."""
        bench.truth("start", "hotel", call)
        if left[0] > 0:
            left[0] -= 1
            raised = error or ToolException("upstream-unavailable 502")
            bench.truth("raise", "hotel", call, exc=type(raised).__name__)
            raise raised
        bench.truth("end", "hotel", call)
        return "1 hotel"

    return body


def rail(bench: Bench) -> BaseTool:
    @tool("rail")
    async def body(line: str, call: Id) -> str:
        """Ride."""
        bench.truth("start", "rail", call)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            bench.truth("cancelled_in_body", "rail", call)
            raise
        return "never"

    return body


def pay(bench: Bench) -> BaseTool:
    @tool("pay")
    def body(amount: int, call: Id) -> str:
        """Pay."""
        bench.truth("start", "pay", call)
        bench.release.wait(10)
        bench.truth("SIDE EFFECT pay", "pay", call)
        bench.truth("end", "pay", call)
        return "paid"

    return body


def book(bench: Bench) -> BaseTool:
    @tool("book")
    async def body(itinerary: str, total: float, call: Id) -> str:
        """Book."""
        bench.truth("SIDE EFFECT book", "book", call, args={"itinerary": itinerary, "total": total})
        bench.truth("end", "book", call)
        return "PNR ABC123"

    return body


def reviewing(*names: str, mode: str = "batched") -> HumanInTheLoopMiddleware:
    return HumanInTheLoopMiddleware(dict.fromkeys(names, True), interrupt_mode=mode)  # type: ignore[arg-type]  # one of its two words


BOOK = [("book", {"itinerary": "IT-1", "total": 120.0}, "b1")]
TWO = [("book", {"itinerary": "IT-1", "total": 120.0}, "b1"), ("book", {"itinerary": "IT-2", "total": 75.0}, "b2")]
THREE = [("flight", {"origin": "LHR"}, "f1"), ("hotel", {"city": "Rome"}, "h1"), ("rail", {"line": "X"}, "r1")]


# ── scenarios ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def ok(bench: Bench) -> None:
    await bench.run(bench.agent([("flight", {"origin": "LHR"}, "f1")], "done", tools=[flight(bench)]))


async def two_turns_same_id(bench: Bench) -> None:
    call = [("flight", {"origin": "LHR"}, "f1")]
    await bench.run(bench.agent(call, call, "done", tools=[flight(bench)]))


async def duplicate_id_parallel(bench: Bench) -> None:
    calls = [("flight", {"origin": "LHR"}, "f1"), ("flight", {"origin": "CDG"}, "f1")]
    await bench.run(bench.agent(calls, "done", tools=[flight(bench)]))


async def results_of_every_kind(bench: Bench) -> None:
    for number, result in enumerate(({"a": [1, None]}, [], 0, False, "", None, "null", [{"type": "text", "text": "x"}])):
        agent = bench.agent([("flight", {"origin": "LHR"}, f"f{number}")], "done", tools=[flight(bench, result)])
        await bench.run(agent)


async def disguised_results(bench: Bench) -> None:
    for number, result in enumerate(({"status": "cancelled"}, '{"status": "canceled"}', "AbortError: aborted", {"status": "failed"})):
        agent = bench.agent([("flight", {"origin": "LHR"}, f"f{number}")], "done", tools=[flight(bench, result)])
        await bench.run(agent)


async def parallel_cancel_and_resume(bench: Bench) -> None:
    hotel_tool = hotel(bench)
    hotel_tool.handle_tool_error = True
    agent = bench.agent(THREE, "done", tools=[flight(bench), hotel_tool, rail(bench)])
    run = asyncio.create_task(bench.run(agent))
    await bench.capture.until("start", 3)
    await bench.capture.until("raise")
    await asyncio.sleep(0.05)  # the framework writes what has ended
    await bench.cancel(run)
    bench.capture.add("driver", "RESUME graph.astream(None) from the checkpoint", {})
    run = asyncio.create_task(bench.run(agent, None))
    await bench.capture.until("start", 4)
    await asyncio.sleep(0.05)  # as above: what has begun
    await bench.cancel(run)
    bench.capture.add("driver", "NEW user turn on the same thread", {})
    await bench.run(agent, {"messages": [("user", "next")]})


async def unhandled_failure_and_resume(bench: Bench) -> None:
    agent = bench.agent(THREE[:2], "done", tools=[flight(bench), hotel(bench, ValueError("boom"), failures=1)])
    await bench.run(agent)
    bench.capture.add("driver", "RESUME graph.astream(None) from the checkpoint", {})
    await bench.run(agent, None)


async def thread_cancel_late_effect(bench: Bench) -> None:
    agent = bench.agent([("pay", {"amount": 5}, "p1")], "done", tools=[pay(bench)])
    run = asyncio.create_task(bench.run(agent))
    await bench.capture.until("start")
    await asyncio.sleep(0.05)  # the framework writes what has begun
    await bench.cancel(run)
    bench.release.set()
    await bench.capture.until("end")
    bench.capture.add("driver", "RESUME astream(None): pays again", {})
    await bench.run(agent, None)


async def tool_retry(bench: Bench) -> None:
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, backoff_factor=0.0, jitter=False)
    tools = [hotel(bench, ConnectionError("again"), failures=2)]
    await bench.run(bench.agent([("hotel", {"city": "Rome"}, "h1")], "done", tools=tools, middleware=[retry]))


async def tool_retry_spent(bench: Bench) -> None:
    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, backoff_factor=0.0, jitter=False)
    tools = [hotel(bench, ConnectionError("again"))]
    await bench.run(bench.agent([("hotel", {"city": "Rome"}, "h1")], "done", tools=tools, middleware=[retry]))


async def call_limit(bench: Bench) -> None:
    calls = [("flight", {"origin": "LHR"}, "f1"), ("flight", {"origin": "CDG"}, "f2")]
    limit = ToolCallLimitMiddleware(run_limit=1)
    await bench.run(bench.agent(calls, "done", tools=[flight(bench)], middleware=[limit]))


async def invalid_input(bench: Bench) -> None:
    bad = [("flight", {"orig": 1}, "bad"), ("nope", {}, "unknown"), ("flight", {"origin": "CDG"}, "ok1")]
    await bench.run(bench.agent(bad, [("flight", {"origin": "LHR"}, "ok2")], "done", tools=[flight(bench)]))


async def arguments_empty_and_cut(bench: Bench) -> None:
    calls = [("flight", "", "e1"), ("flight", '{"origin": "LH', "e2"), ("flight", "[1]", "e3"), ("flight", "nonsense", "e4")]
    await bench.run(bench.agent(calls, "done", tools=[flight(bench)]))


async def validation_inside_the_body(bench: Bench) -> None:
    from pydantic import BaseModel, ValidationError  # noqa: PLC0415 -- only here

    class Room(BaseModel):
        """A room."""

        beds: int

    @tool("hotel")
    async def body(city: str, call: Id) -> str:
        """Sleep."""
        bench.truth("start", "hotel", call)
        try:
            return str(Room(beds="many"))  # type: ignore[arg-type]  # that is the point
        except ValidationError as error:
            bench.truth("raise", "hotel", call, exc=type(error).__name__)
            raise

    await bench.run(bench.agent([("hotel", {"city": "Rome"}, "h1")], "done", tools=[body]))


async def progress(bench: Bench) -> None:
    @tool("rail")
    async def body(line: str, call: Id, runtime: ToolRuntime) -> str:
        """Ride."""
        bench.truth("start", "rail", call)
        for leg in (1, 2, 3):
            runtime.stream_writer({"progress": leg, "total": 3})
            runtime.emit_output_delta(f"leg {leg}\n")
        bench.truth("end", "rail", call)
        return "3 trains"

    await bench.run(bench.agent([("rail", {"line": "X"}, "r1")], "done", tools=[body]))


async def approve(bench: Bench) -> None:
    agent = bench.agent([*THREE[:1], *BOOK], "done", tools=[flight(bench), book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    await bench.resume(agent, {"decisions": [{"type": "approve"}]})
    await bench.resume(agent, {"decisions": [{"type": "approve"}]}, "REPLAY Command(resume) again on the finished thread")


async def approve_many(bench: Bench) -> None:
    agent = bench.agent(TWO, "done", tools=[book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    edited = {"type": "edit", "edited_action": {"name": "book", "args": {"itinerary": "IT-2", "total": 1.0}}}
    await bench.resume(agent, {"decisions": [{"type": "reject", "message": "no"}, edited]})


async def too_few_decisions(bench: Bench) -> None:
    agent = bench.agent(TWO, "done", tools=[book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    await bench.resume(agent, {"decisions": [{"type": "approve"}]})


async def respond(bench: Bench) -> None:
    agent = bench.agent(BOOK, "done", tools=[book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    await bench.resume(agent, {"decisions": [{"type": "respond", "message": "I did it by hand"}]})


async def approval_abandoned(bench: Bench) -> None:
    agent = bench.agent(BOOK, "done", tools=[book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    bench.capture.add("driver", "NEW user turn while the approval is pending", {})
    await bench.run(agent, {"messages": [("user", "never mind")]})
    await bench.resume(agent, {"decisions": [{"type": "approve"}]}, "LATE Command(resume)")


async def per_call(bench: Bench) -> None:
    agent = bench.agent(TWO, "done", tools=[book(bench)], middleware=[reviewing("book", mode="per_call")])
    await bench.run(agent)
    ids = {one["value"]["tool_call_id"]: one["id"] for one in bench.asked} or await _pending(agent)
    await bench.resume(agent, {ids["b1"]: {"type": "approve"}})
    edited = {"type": "edit", "edited_action": {"name": "book", "args": {"itinerary": "IT-2", "total": 9.0}}}
    await bench.resume(agent, {ids["b2"]: edited})


async def _pending(agent: Any) -> dict[str, str]:
    state = await agent.aget_state(THREAD)
    return {one.value["tool_call_id"]: one.id for task in state.tasks for one in task.interrupts}


async def fork_replays_an_approval(bench: Bench) -> None:
    agent = bench.agent(BOOK, "done", tools=[book(bench)], middleware=[reviewing("book")])
    await bench.run(agent)
    before = (await agent.aget_state(THREAD)).config
    await bench.resume(agent, {"decisions": [{"type": "approve"}]})
    await bench.resume(agent, {"decisions": [{"type": "approve"}]}, "Command(resume) on the checkpoint before the approval", before)


async def interrupt_in_the_body(bench: Bench) -> None:
    @tool("transfer")
    async def body(amount: int, call: Id) -> str:
        """Transfer."""
        bench.truth("start", "transfer", call)
        bench.truth("SIDE EFFECT transfer", "transfer", call)
        try:
            answer = interrupt({"q": "ok?"})
        except GraphBubbleUp:
            bench.truth("raise", "transfer", call, exc="GraphInterrupt")
            raise
        bench.truth("end", "transfer", call)
        return str(answer)

    agent = bench.agent([("transfer", {"amount": 1}, "t1")], "done", tools=[body])
    await bench.run(agent)
    await bench.resume(agent, "yes")


async def cancels_itself(bench: Bench) -> None:
    @tool("hotel")
    async def body(city: str, call: Id) -> str:
        """Sleep."""
        bench.truth("start", "hotel", call)
        bench.truth("raise", "hotel", call, exc="cancel")
        raise asyncio.CancelledError("scoped")

    await bench.run(bench.agent(THREE, "done", tools=[flight(bench), body, rail(bench)]))


SCENARIOS: dict[str, Callable[[Bench], Awaitable[None]]] = {
    one.__name__: one
    for one in (
        ok, two_turns_same_id, duplicate_id_parallel, results_of_every_kind, disguised_results, parallel_cancel_and_resume,
        unhandled_failure_and_resume, thread_cancel_late_effect, tool_retry, tool_retry_spent, call_limit, invalid_input,
        arguments_empty_and_cut, validation_inside_the_body, progress, approve, approve_many, too_few_decisions, respond,
        approval_abandoned, per_call, fork_replays_an_approval, interrupt_in_the_body, cancels_itself,
    )
}  # fmt: skip  # names in lines
ALONE = {
    "ok": ("updates", "messages", "values", "tasks", "debug", "checkpoints", "tools"),
    "approve": ("updates", "values", "debug"),
    "respond": ("updates", "values"),
    "approve_many": ("updates", "debug"),
    "invalid_input": ("updates", "tools"),
    "parallel_cancel_and_resume": ("updates", "tasks"),
    "fork_replays_an_approval": ("updates",),
    "duplicate_id_parallel": ("updates", "tools"),
    "unhandled_failure_and_resume": ("tasks", "updates"),
    "per_call": ("updates",),
}
"""Scenarios that are also shown in one mode alone."""


async def main(only: str = "") -> None:
    """Record every scenario on every surface."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, scenario in SCENARIOS.items():
        for surface in ("stream", "hook", *ALONE.get(name, ())):
            file = {"stream": f"{name}.jsonl", "hook": f"hook_{name}.jsonl"}.get(surface, f"{name}_{surface}_only.jsonl")
            if not re.search(only, file):
                continue
            capture = Capture(name.replace("_", " "), surface)
            await asyncio.wait_for(scenario(Bench(capture)), 30)
            capture.write(TARGET / file)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
