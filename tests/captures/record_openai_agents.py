"""Records captures by running the real openai-agents with scripted models: ``python tests/captures/record_openai_agents.py``.

Every scenario is a script of model responses, tools that write what they really do (``truth``), and a driver. It is run in two forms: as a
stream with hooks and trace, and with a wrapper around ``on_invoke_tool`` and no trace (``hook_``). No network, no key, under a minute.
"""

import asyncio
import dataclasses
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import agents
import openai
from agents import Agent, FunctionTool, RunConfig, RunHooks, Runner, RunState, function_tool
from agents.testing import ScriptedModel
from agents.tool_context import ToolContext
from agents.tracing import TracingProcessor, set_trace_processors
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

TARGET = Path(__file__).parents[2] / "spec" / "captures" / "openai-agents" / "recorded"
Said = list[tuple[str, Any, str]] | str


class Capture:
    """Rows of one scenario in one form."""

    def __init__(self, scenario: str, form: str) -> None:
        self.form = form
        self.began = time.monotonic()
        self.rows: list[dict[str, Any]] = [
            {"src": "header", "scenario": scenario, "note": form, "versions": {"openai-agents": _version(), "openai": openai.__version__}}
        ]
        self.changed = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    def add(self, src: str, kind: str, event: Any) -> None:
        self.rows.append({"seq": len(self.rows), "t": round(time.monotonic() - self.began, 4), "src": src, "kind": kind, "event": event})
        self.loop.call_soon_threadsafe(self.changed.set)

    async def until(self, kind: str, count: int = 1, *, src: str = "truth") -> None:
        """Wait until ``count`` rows of this kind are there."""
        while sum(row.get("src") == src and row["kind"].startswith(kind) for row in self.rows) < count:
            self.changed.clear()
            await self.changed.wait()

    def write(self, path: Path) -> None:
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in self.rows), encoding="utf-8")


def _version() -> str:
    return str(agents.__version__)


class Hooks(RunHooks[Any]):
    """What the run's hooks see, in the words of the captures."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.capture.add(
            "runtime", "hook.on_tool_start", {"tool": tool.name, "call_id": context.tool_call_id, "args": context.tool_arguments}
        )

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.capture.add("runtime", "hook.on_tool_end", {"tool": tool.name, "call_id": context.tool_call_id, "result": repr(result)})


class Trace(TracingProcessor):
    """Writes every function span."""

    capture: Capture | None = None

    def on_trace_start(self, trace: Any) -> None:
        return None

    on_trace_end = on_trace_start

    def on_span_start(self, span: Any) -> None:
        if self.capture is not None and span.span_data.type == "function":
            self.capture.add("runtime", "trace.span_start", {"span_id": span.span_id, "data": span.span_data.export()})

    def on_span_end(self, span: Any) -> None:
        if self.capture is not None and span.span_data.type == "function":
            self.capture.add("runtime", "trace.span_end", {"span_id": span.span_id, "data": span.span_data.export(), "error": span.error})

    def shutdown(self) -> None:
        return None

    def force_flush(self) -> None:
        return None


TRACE = Trace()


def say(said: Said) -> list[Any]:
    if isinstance(said, str):
        content = [ResponseOutputText(text=said, type="output_text", annotations=[])]
        return [ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")]
    return [
        ResponseFunctionToolCall(
            arguments=args if isinstance(args, str) else json.dumps(args), call_id=call_id, name=name, type="function_call", id=call_id
        )
        for name, args, call_id in said
    ]


class Bench:
    """One scenario in one form: tools that tell the truth, runs that write rows."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.release = asyncio.Event()
        self.let_go = threading.Event()

    def tool(self, name: str, body: Callable[[], Awaitable[Any]] | None = None, *, result: Any = "done", **more: Any) -> FunctionTool:
        """An async tool of one argument that writes its truth."""

        async def run(context: ToolContext[Any], q: str) -> Any:
            def write(kind: str) -> None:
                self.capture.add("truth", kind, {"tool": name, "id": context.tool_call_id})

            write("start")
            try:
                value = await body() if body is not None else result
            except asyncio.CancelledError:
                write("cancelled_in_body")
                raise
            except BaseException:
                write("raise")
                raise
            write("end")
            return value

        return self.watch(function_tool(run, name_override=name, **more))

    def thread(self, name: str) -> FunctionTool:
        """A sync tool whose effect lands when it is let go."""

        def run(context: ToolContext[Any], q: str) -> str:
            self.capture.add("truth", "start", {"tool": name, "id": context.tool_call_id})
            self.let_go.wait(5)
            self.capture.add("truth", f"SIDE EFFECT {name}", {"id": context.tool_call_id})
            self.capture.add("truth", "end", {"tool": name, "id": context.tool_call_id})
            return "paid"

        return self.watch(function_tool(run, name_override=name))

    def watch(self, tool: FunctionTool) -> FunctionTool:
        if self.capture.form != "hook":
            return tool
        own, add = tool.on_invoke_tool, self.capture.add

        async def on_invoke_tool(context: ToolContext[Any], raw: str) -> Any:
            call = context.tool_call_id
            add("runtime", "wrap.START", {"id": call, "tool": tool.name, "args": raw})
            try:
                out = await own(context, raw)
            except asyncio.CancelledError:
                add("runtime", "wrap.CANCELLED", {"id": call})
                raise
            except BaseException as error:
                add("runtime", "wrap.RAISED", {"id": call, "exc": type(error).__name__, "msg": str(error)})
                raise
            add("runtime", "wrap.RETURNED", {"id": call, "out": repr(out)})
            return out

        return dataclasses.replace(tool, on_invoke_tool=on_invoke_tool)

    def agent(self, responses: list[Said], tools: list[Any], **more: Any) -> Agent[Any]:
        return Agent(name="a", model=ScriptedModel([say(one) for one in responses]), tools=tools, **more)

    def formatter(self, args: Any) -> str | None:
        event = {"kind": args.kind, "tool": args.tool_name, "call_id": args.call_id, "error": repr(getattr(args, "error", None))}
        self.capture.add("runtime", "tool_error_formatter", event)
        return None

    async def run(self, agent: Agent[Any], given: Any = "go", *, during: Callable[[Any], Awaitable[None]] | None = None) -> Any:
        """Run once and write what the consumer sees; ``during`` drives it from outside."""
        hook = self.capture.form == "hook"
        config = RunConfig(tracing_disabled=hook, tool_error_formatter=self.formatter if hook else None)
        result = Runner.run_streamed(agent, given, hooks=Hooks(self.capture), run_config=config)
        driving = asyncio.ensure_future(during(result)) if during is not None else None
        try:
            async for event in result.stream_events():
                self.capture.add("runtime", *self.shown(event))
        except asyncio.CancelledError as error:
            self.capture.add("outcome", "raised", {"exc": type(error).__name__, "str": str(error), "run_data_items": []})
        except Exception as error:  # noqa: BLE001 -- how the run ended is what is recorded
            listed = [self.item(one) for one in getattr(getattr(error, "run_data", None), "new_items", [])]
            self.capture.add("outcome", "raised", {"exc": type(error).__name__, "str": str(error), "run_data_items": listed})
        else:
            if result.interruptions:
                waiting = [{"tool": i.tool_name, "call_id": i.call_id, "args": i.arguments} for i in result.interruptions]
                self.capture.add("runtime", "interruptions", waiting)
            ended = {
                "final_output": result.final_output,
                "is_complete": result.is_complete,
                "new_items": [self.item(i) for i in result.new_items],
            }
            self.capture.add("outcome", "stream ended", ended)
        if driving is not None:
            await driving
        return result

    def item(self, item: Any) -> dict[str, Any]:
        raw = item.raw_item if isinstance(item.raw_item, dict) else item.raw_item.model_dump()
        return {"type": item.type, "call_id": raw.get("call_id"), "output": getattr(item, "output", None)}

    def shown(self, event: Any) -> tuple[str, dict[str, Any]]:
        if event.type == "raw_response_event":
            return f"raw_response_event:{event.data.type}", {"type": event.type, "data": event.data.model_dump()}
        if event.type == "agent_updated_stream_event":
            return event.type, {"type": event.type}
        raw = event.item.raw_item if isinstance(event.item.raw_item, dict) else event.item.raw_item.model_dump()
        told = {
            "type": event.type,
            "name": event.name,
            "item_type": event.item.type,
            "raw_item": raw,
            **self.item(event.item),
            "call_id": raw.get("call_id"),
        }
        return f"run_item_stream_event:{event.name}", {**told, "type": event.type}

    # ── what is done from outside ───────────────────────────────────────────────────────────────────────────────────

    async def cancel(self, result: Any, mode: str = "immediate", starts: int = 1) -> None:
        await self.capture.until("start", starts)
        await asyncio.sleep(0.15)  # a person needs longer than this to press stop
        self.capture.add("driver", "result.cancel", {"mode": mode})
        result.cancel(mode=mode)

    async def decide(self, agent: Agent[Any], saved: dict[str, Any], answer: str, **more: Any) -> RunState[Any]:
        state = await RunState.from_json(agent, saved)
        item = state.get_interruptions()[0]
        self.capture.add("driver", answer, {"call_id": item.call_id})
        (state.reject if answer == "reject" else state.approve)(item, **more)
        return state


Scenario = Callable[[Bench], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    SCENARIOS[run.__name__] = run
    return run


Q = {"q": "x"}


async def raises() -> Any:
    raise ValueError("upstream 502")


async def hangs() -> Any:
    await asyncio.Event().wait()


@scenario
async def ok(bench: Bench) -> None:
    await bench.run(bench.agent([[("flight", Q, "f1")], "done"], [bench.tool("flight", result="2 flights")]))


@scenario
async def result_types(bench: Bench) -> None:
    values = {
        "a": {"n": 10**19},
        "b": [1, None],
        "c": None,
        "d": 0,
        "e": "",
        "f": False,
        "g": "2 cancelled flights were found",
        "h": "Wörld \U0001f310",
    }
    tools = [bench.tool(name, result=value) for name, value in values.items()]
    await bench.run(bench.agent([[(name, Q, f"call_{name}") for name in values], "done"], tools))


@scenario
async def results_that_only_look_well(bench: Bench) -> None:
    values = {"a": {"status": "cancelled"}, "b": '{"status": "aborted"}', "c": {"isError": True, "message": "x"}, "d": "Error: 502"}
    tools = [bench.tool(name, result=value) for name, value in values.items()]
    await bench.run(bench.agent([[(name, Q, f"call_{name}") for name in values], "done"], tools))


@scenario
async def three_parallel(bench: Bench) -> None:
    slow = bench.tool("rail", lambda: asyncio.sleep(0.1, "3 trains"))
    tools = [bench.tool("flight", result="2 flights"), bench.tool("hotel", raises), slow]
    await bench.run(bench.agent([[("flight", Q, "f1"), ("hotel", Q, "h1"), ("rail", Q, "r1")], "done"], tools))


@scenario
async def same_tool_twice(bench: Bench) -> None:
    await bench.run(bench.agent([[("flight", Q, "f1"), ("flight", Q, "f2")], "done"], [bench.tool("flight", result="2 flights")]))


@scenario
async def raises_with_own_formatter(bench: Bench) -> None:
    tool = bench.tool("hotel", raises, failure_error_function=lambda _context, error: f"hotel says: {error}")
    await bench.run(bench.agent([[("hotel", Q, "h1")], "done"], [tool]))


@scenario
async def raises_through(bench: Bench) -> None:
    tools = [bench.tool("hotel", raises, failure_error_function=None), bench.tool("rail", hangs)]
    await bench.run(bench.agent([[("hotel", Q, "h1"), ("rail", Q, "r1")], "done"], tools))


@scenario
async def invalid_input(bench: Bench) -> None:
    wrong: list[Said] = [
        [("flight", {"q": 5}, "f1")],
        [("flight", '{"q": "Ro', "f2")],
        [("flight", {}, "f3")],
        [("flight", Q, "f4")],
        "done",
    ]
    await bench.run(bench.agent(wrong, [bench.tool("flight", result="2 flights")]))


@scenario
async def invalid_input_beside_a_slow_one(bench: Bench) -> None:
    tools = [bench.tool("flight"), bench.tool("rail", lambda: asyncio.sleep(0.2, "3 trains"))]
    await bench.run(bench.agent([[("flight", {"q": 5}, "f1"), ("rail", Q, "r1")], "done"], tools))


@scenario
async def invalid_input_given_up(bench: Bench) -> None:
    await bench.run(bench.agent([[("flight", {"q": 5}, "f1")], "I give up"], [bench.tool("flight")]))


@scenario
async def time_out(bench: Bench) -> None:
    await bench.run(bench.agent([[("rail", Q, "r1")], "done"], [bench.tool("rail", hangs, timeout=0.1)]))


@scenario
async def time_out_raises(bench: Bench) -> None:
    tool = bench.tool("rail", hangs, timeout=0.1, timeout_behavior="raise_exception")
    await bench.run(bench.agent([[("rail", Q, "r1")], "done"], [tool]))


@scenario
async def cancels_itself(bench: Bench) -> None:
    async def odd() -> Any:
        raise asyncio.CancelledError

    await bench.run(bench.agent([[("rail", Q, "r1")], "done"], [bench.tool("rail", odd)]))


@scenario
async def cancel_immediate(bench: Bench) -> None:
    tools = [bench.tool("flight", result="2 flights"), bench.tool("hotel", raises), bench.tool("rail", hangs)]
    agent = bench.agent([[("flight", Q, "f1"), ("hotel", Q, "h1"), ("rail", Q, "r1")], "done"], tools)
    await bench.run(agent, during=lambda result: bench.cancel(result, starts=3))
    await bench.capture.until("cancelled_in_body")


@scenario
async def cancel_after_turn(bench: Bench) -> None:
    async def waits() -> Any:
        await bench.release.wait()
        return "3 trains"

    async def drive(result: Any) -> None:
        await bench.cancel(result, "after_turn")
        bench.release.set()

    await bench.run(bench.agent([[("rail", Q, "r1")], "done"], [bench.tool("rail", waits)]), during=drive)


@scenario
async def cancel_thread(bench: Bench) -> None:
    await bench.run(bench.agent([[("pay", Q, "p1")], "done"], [bench.thread("pay")]), during=bench.cancel)
    bench.let_go.set()
    await bench.capture.until("end")


@scenario
async def task_cancel(bench: Bench) -> None:
    run = asyncio.ensure_future(bench.run(bench.agent([[("rail", Q, "r1")], "done"], [bench.tool("rail", hangs)])))
    await bench.capture.until("start")
    await asyncio.sleep(0.15)  # as above
    bench.capture.add("driver", "Task.cancel", {})
    run.cancel()
    await run
    await bench.capture.until("cancelled_in_body")


async def _paused(bench: Bench, *more: Said) -> tuple[Agent[Any], dict[str, Any]]:
    agent = bench.agent([[("flight", Q, "f1"), ("book", Q, "b1")], *more], [bench.tool("flight"), bench.tool("book", needs_approval=True)])
    result = await bench.run(agent)
    saved = result.to_state().to_json()
    bench.capture.add("runtime", "RunState.to_json(trimmed)", {"current_step": json.loads(json.dumps(saved["current_step"], default=str))})
    return agent, saved


@scenario
async def approve(bench: Bench) -> None:
    agent, saved = await _paused(bench, "done")
    await bench.run(agent, await bench.decide(agent, saved, "approve"))


@scenario
async def approve_replayed(bench: Bench) -> None:
    agent, saved = await _paused(bench, "one", "two")
    await bench.run(agent, await bench.decide(agent, saved, "approve"))
    await bench.run(agent, await bench.decide(agent, saved, "approve"))


@scenario
async def deny(bench: Bench) -> None:
    agent, saved = await _paused(bench, "done")
    await bench.run(agent, await bench.decide(agent, saved, "reject"))


@scenario
async def deny_in_words(bench: Bench) -> None:
    agent, saved = await _paused(bench, "done")
    await bench.run(agent, await bench.decide(agent, saved, "reject", rejection_message="Too dear, says Ann."))


@scenario
async def sticky(bench: Bench) -> None:
    agent, saved = await _paused(bench, [("book", {"q": "another"}, "b2")], "done")
    await bench.run(agent, await bench.decide(agent, saved, "approve always", always_approve=True))


@scenario
async def abandoned(bench: Bench) -> None:
    agent, _ = await _paused(bench, "moved on")
    bench.capture.add("driver", "new turn, the approval is left pending", {})
    await bench.run(agent, "never mind")


@scenario
async def retry_new_id(bench: Bench) -> None:
    tries: list[int] = []

    async def flaky() -> Any:
        tries.append(1)
        return await raises() if len(tries) == 1 else "2 hotels"

    await bench.run(bench.agent([[("hotel", Q, "h1")], [("hotel", Q, "h2")], "done"], [bench.tool("hotel", flaky)]))


@scenario
async def retry_same_id(bench: Bench) -> None:
    await bench.run(bench.agent([[("hotel", Q, "h1")], [("hotel", Q, "h1")], "done"], [bench.tool("hotel", raises)]))


@scenario
async def same_id_twice_in_one_response(bench: Bench) -> None:
    await bench.run(bench.agent([[("hotel", Q, "h1"), ("hotel", {"q": "y"}, "h1")], "done"], [bench.tool("hotel")]))


@scenario
async def unknown_tool(bench: Bench) -> None:
    await bench.run(bench.agent([[("nothing", Q, "n1")], "done"], [bench.tool("hotel")]))


@scenario
async def agent_as_tool_and_handoff(bench: Bench) -> None:
    scout = bench.agent([[("flight", Q, "s1")], "found"], [bench.tool("flight")])
    clerk = bench.agent([[("book", Q, "b1")], "booked"], [bench.tool("book")])
    clerk.name, scout.name = "clerk", "scout"
    lead: list[Said] = [[("scout", {"input": "find"}, "n1")], [("transfer_to_clerk", {}, "t1")]]
    await bench.run(bench.agent(lead, [scout.as_tool("scout", "finds")], handoffs=[clerk]))


async def record(name: str, form: str) -> None:
    capture = TRACE.capture = Capture(name, form)
    if form == "hook":
        TRACE.capture = None
    await SCENARIOS[name](Bench(capture))
    await asyncio.sleep(0.02)  # what the framework says after it has handed over
    TRACE.capture = None
    capture.write(TARGET / f"{'hook_' if form == 'hook' else ''}{name}.jsonl")


async def main(names: list[str]) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    set_trace_processors([TRACE])
    for name in names or SCENARIOS:
        for form in ("stream", "hook"):
            if (name, form) != ("raises_with_own_formatter", "hook"):  # without a trace, the formatter's words look like any result
                await record(name, form)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
