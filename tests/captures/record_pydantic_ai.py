"""Records captures by running the real pydantic-ai with scripted models: ``python tests/captures/record_pydantic_ai.py``.

Every scenario is a script of model responses, tools that write what they really do (``truth``), and a driver. It is run over each surface
of the framework: its own events, hooks inside the process, AG-UI, and the Vercel AI stream. No network, no key, under a minute.
"""

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pydantic
import pydantic_ai
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, CancellationToken, CustomEvent, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import RunCancelled, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.ui.ag_ui._event_stream import AGUIEventStream
from pydantic_ai.ui.vercel_ai._event_stream import VercelAIEventStream

TARGET = Path(__file__).parents[2] / "spec" / "captures" / "pydantic-ai" / "recorded"


@dataclasses.dataclass(kw_only=True)
class LegProgress(CustomEvent):
    """Progress as an application would define it."""

    current: int
    total: int
    text: str = ""


class Capture:
    """Rows of one scenario on one surface."""

    def __init__(self, scenario: str, surface: str) -> None:
        self.surface = surface
        self.began = time.monotonic()
        versions = {"pydantic-ai-slim": pydantic_ai.__version__, "pydantic": pydantic.__version__}
        self.rows: list[dict[str, Any]] = [{"src": "header", "scenario": scenario, "note": surface, "versions": versions}]
        self.changed = asyncio.Event()

    def add(self, src: str, kind: str, event: Any) -> None:
        self.rows.append({"seq": len(self.rows), "t": round(time.monotonic() - self.began, 4), "src": src, "kind": kind, "event": event})
        self.changed.set()

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until ``count`` truth rows of this kind are there."""
        while sum(row.get("src") == "truth" and row["kind"].startswith(kind) for row in self.rows) < count:
            self.changed.clear()
            await self.changed.wait()

    def write(self, path: Path) -> None:
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")


class Hooks(AbstractCapability[Any]):
    """What a capability sees from inside, in the words of the ``hook_*`` captures."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    async def before_tool_validate(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any) -> Any:
        self.capture.add("runtime", "hook.before_tool_validate", {"id": call.tool_call_id, "args": args})
        return args

    async def wrap_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        say = self.capture.add
        say("runtime", "hook.START", {
            "id": call.tool_call_id, "tool": call.tool_name, "args": dict(args), "retry": ctx.retry, "approved": ctx.tool_call_approved,
            "run_id": ctx.run_id,
        })  # fmt: skip  # a list in lines
        try:
            result = await handler(args)
        except asyncio.CancelledError:
            say("runtime", "hook.CANCELLED", {"id": call.tool_call_id})
            raise
        except BaseException as error:
            say("runtime", "hook.RAISED", {"id": call.tool_call_id, "exc": type(error).__name__, "msg": str(error)})
            raise
        say("runtime", "hook.RETURNED", {"id": call.tool_call_id, "result": _dump(result)})
        return result


def _dump(value: Any) -> Any:
    try:
        return pydantic.TypeAdapter(type(value)).dump_python(value, mode="json")
    except pydantic.PydanticUserError:
        return repr(value)


Calls = list[tuple[str, dict[str, Any] | str, str]] | str


def scripted(*responses: Calls) -> FunctionModel:
    """A model that says ``responses`` one after the other: tool calls (name, args, id) or a text, which it then repeats."""

    async def stream(messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        said = sum(1 for message in messages if message.kind == "response")
        response = responses[min(said, len(responses) - 1)]
        if isinstance(response, str):
            yield response
            return
        for place, (name, args, call_id) in enumerate(response):
            text = args if isinstance(args, str) else json.dumps(args)
            yield {place: DeltaToolCall(name=name, json_args=text[:5], tool_call_id=call_id)}
            yield {place: DeltaToolCall(json_args=text[5:])}

    return FunctionModel(stream_function=stream, model_name="scripted")


class Bench:
    """One scenario on one surface: tools that tell the truth, runs that write rows."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.release = asyncio.Event()
        self.threads: list[asyncio.Future[None]] = []

    def agent(self, model: FunctionModel, tools: list[Any], **more: Any) -> Agent[Any, Any]:
        capabilities = list(more.pop("capabilities", ()))
        if self.capture.surface == "hook":
            capabilities.append(Hooks(self.capture))
        return Agent(
            model, tools=tools, output_type=more.pop("output_type", [str, DeferredToolRequests]), capabilities=capabilities, **more
        )

    def truth(self, kind: str, ctx: RunContext[Any], **facts: Any) -> None:
        self.capture.add("truth", kind, {"tool": ctx.tool_name, "id": ctx.tool_call_id, "retry": ctx.retry, **facts})

    async def run(self, agent: Agent[Any, Any], prompt: str | None = "go", **more: Any) -> Any:
        """Run once and write what the surface shows; give the result or ``None``."""
        say = self.capture.add
        try:
            return await {
                "native": self._native,
                "hook": self._native,
                "agui": self._agui,
                "vercel": self._vercel,
                "vercel5": self._vercel,
            }[self.capture.surface](agent, prompt, more)
        except BaseException as error:  # noqa: BLE001 -- how the driving call ended is what is recorded, whatever it was
            say("outcome", "raised", _exception(error))
            try:
                cancelled = error if isinstance(error, RunCancelled) else RunCancelled.from_cancellation(error)
                if cancelled is not None:
                    say("outcome", "RunCancelled.all_messages", _messages(cancelled.all_messages()))
            except (AttributeError, TypeError):
                pass
            if isinstance(error, asyncio.CancelledError):
                task = asyncio.current_task()
                while task is not None and task.cancelling():
                    task.uncancel()
            return None

    async def _native(self, agent: Agent[Any, Any], prompt: str | None, more: dict[str, Any]) -> Any:
        result = None
        async with agent.run_stream_events(prompt, **more) as events:
            async for event in events:
                if type(event).__name__ == "AgentRunResultEvent":
                    result = event.result
                    self.capture.add("runtime", "AgentRunResultEvent", {"output": _dump(result.output)})
                else:
                    self.capture.add("runtime", type(event).__name__, _dump(event))
        if result is not None:
            self.capture.add("outcome", "returned", {"messages": _messages(result.all_messages())})
        return result

    async def _agui(self, agent: Agent[Any, Any], prompt: str | None, more: dict[str, Any]) -> Any:
        def shown(event: Any) -> Any:
            return event.model_dump(mode="json", by_alias=True, exclude_none=True)

        return await self._stream(AGUIEventStream(thread_id="th1"), agent, prompt, more, "agui:", shown)

    async def _vercel(self, agent: Agent[Any, Any], prompt: str | None, more: dict[str, Any]) -> Any:
        version = 5 if self.capture.surface == "vercel5" else 6

        def chunk(event: Any) -> Any:
            text = event.encode(version)
            return json.loads(text) if text.startswith("{") else text

        return await self._stream(VercelAIEventStream(sdk_version=version), agent, prompt, more, "vercel:", chunk)

    async def _stream(self, stream: Any, agent: Any, prompt: Any, more: dict[str, Any], prefix: str, shown: Callable[[Any], Any]) -> Any:
        held: list[Any] = []

        async def native() -> AsyncIterator[Any]:
            async with agent.run_stream_events(prompt, **more) as events:
                async for event in events:
                    if type(event).__name__ == "AgentRunResultEvent":
                        held.append(event.result)
                    yield event

        async for event in stream.transform_stream(native()):
            body = shown(event)
            self.capture.add("runtime", prefix + (body.get("type", "raw") if isinstance(body, dict) else "raw"), body)
        self.capture.add("outcome", "stream ended normally", None)
        return held[0] if held else None


def _messages(messages: Any) -> Any:
    return json.loads(ModelMessagesTypeAdapter.dump_json(messages))


def _exception(error: BaseException | None) -> Any:
    if error is None:
        return None
    return {"__exc__": f"{type(error).__module__}.{type(error).__name__}", "str": str(error), "cause": _exception(error.__cause__)}


# ── tools that tell the truth ───────────────────────────────────────────────────────────────────────────────────────


def quick(bench: Bench, name: str, *, answer: Any = None, seconds: float = 0.01, **tool: Any) -> Tool[Any]:
    """A tool that ends well."""

    async def body(ctx: RunContext[Any], word: str = "x") -> Any:
        bench.truth("start", ctx)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            bench.truth("cancelled_in_body", ctx)
            raise
        bench.truth("end", ctx)
        return answer if answer is not None else {name: word}

    return Tool(body, name=name, takes_ctx=True, **tool)


def broken(bench: Bench, name: str, error: Callable[[], Exception], *, times: int = 99, **tool: Any) -> Tool[Any]:
    """A tool that raises the first ``times`` times."""
    raised = 0

    async def body(ctx: RunContext[Any], word: str = "x") -> Any:
        nonlocal raised
        bench.truth("start", ctx)
        await asyncio.sleep(0.01)
        raised += 1
        if raised <= times:
            exception = error()
            bench.truth("raise", ctx, exc=type(exception).__name__)
            raise exception
        bench.truth("end", ctx)
        return "ok"

    return Tool(body, name=name, takes_ctx=True, **tool)


def threaded(bench: Bench, name: str, *, seconds: float = 0.25, **tool: Any) -> Tool[Any]:
    """A sync tool: it runs in a thread that nothing can stop, and its effect lands at the end."""
    loop = asyncio.get_running_loop()

    def body(ctx: RunContext[Any], amount: int = 1) -> str:
        over: asyncio.Future[None] = asyncio.run_coroutine_threadsafe(_future(), loop).result()
        bench.threads.append(over)
        loop.call_soon_threadsafe(bench.truth, "start", ctx)
        time.sleep(seconds)
        loop.call_soon_threadsafe(
            lambda: (bench.capture.add("truth", f"SIDE EFFECT {name}", {"id": ctx.tool_call_id}), over.done() or over.set_result(None))
        )
        return "paid"

    return Tool(body, name=name, takes_ctx=True, **tool)


async def _future() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


def gated(bench: Bench, name: str, **tool: Any) -> Tool[Any]:
    """A tool that needs an approval and has an effect."""

    async def body(ctx: RunContext[Any], total: float = 1.0) -> Any:
        bench.capture.add(
            "truth", f"SIDE EFFECT {name}", {"id": ctx.tool_call_id, "approved": ctx.tool_call_approved, "args": {"total": total}}
        )
        return {"booked": name}

    return Tool(body, name=name, takes_ctx=True, requires_approval=True, **tool)


# ── scenarios ───────────────────────────────────────────────────────────────────────────────────────────────────────

Scenario = Callable[[Bench], Awaitable[None]]


async def four_parallel(b: Bench) -> None:
    """Four calls at once: one ends well in a task, one in a thread, one fails, one asks for a retry under a new id."""
    model = scripted(
        [("north", {"word": "a"}, "n1"), ("pay", {"amount": 2}, "p1"), ("south", {"word": "b"}, "s1"), ("west", {"word": "c"}, "w1")],
        [("west", {"word": "c"}, "w2")], "all done",
    )  # fmt: skip  # a list in lines
    agent = b.agent(model, [
        quick(b, "north"), threaded(b, "pay", seconds=0.05), broken(b, "south", lambda: ToolFailed("502")),
        broken(b, "west", lambda: ModelRetry("again please"), times=1),
    ], retries=3)  # fmt: skip  # a list in lines
    await b.run(agent)


async def cancel_task_and_thread(b: Bench) -> None:
    """A cancelled run with a body in a task and one in a thread; the thread's effect lands later."""
    token = CancellationToken()
    agent = b.agent(scripted([("slow", {"word": "a"}, "k1"), ("charge", {"amount": 9}, "k2"), ("fast", {"word": "q"}, "k3")], "x"), [
        quick(b, "slow", seconds=5), threaded(b, "charge", seconds=0.4), quick(b, "fast"),
    ])  # fmt: skip  # a list in lines
    running = asyncio.create_task(b.run(agent, cancellation_token=token))
    await b.capture.until("start", 3)
    await b.capture.until("end", 1)
    await asyncio.sleep(0.05)
    b.capture.add("driver", "CancellationToken.cancel", {"scope": "run"})
    token.cancel()
    await running
    await asyncio.gather(*b.threads)
    b.capture.add("driver", "resume new run with cancelled history", {})


async def timeouts(b: Bench) -> None:
    """Two time-outs: a task that is stopped and a thread that is not, whose effect lands after the result."""
    agent = b.agent(scripted([("nap", {"word": "a"}, "t1"), ("wire", {"amount": 3}, "t2")], "late"), [
        quick(b, "nap", seconds=5, timeout=0.1), threaded(b, "wire", seconds=0.3, timeout=0.1),
    ], retries=2)  # fmt: skip  # a list in lines
    await b.run(agent)
    await asyncio.gather(*b.threads)


async def retry_same_id(b: Bench) -> None:
    """Three attempts under one id, the last of which ends well."""
    once: Calls = [("fetch", {"word": "a"}, "same")]
    agent = b.agent(scripted(once, once, once, "ok"), [broken(b, "fetch", lambda: ModelRetry("not yet"), times=2)], retries=5)
    await b.run(agent)


async def retries_exhausted(b: Bench) -> None:
    """One retry too many ends the run."""
    agent = b.agent(scripted([("fetch", {"word": "a"}, "f1")], [("fetch", {"word": "a"}, "f2")], "never"), [
        broken(b, "fetch", lambda: ModelRetry("no"))], retries=1)  # fmt: skip  # a list in lines
    await b.run(agent)


async def refused_inputs(b: Bench) -> None:
    """Wrong arguments, a tool that does not exist, arguments that are no JSON; then a good call."""
    agent = b.agent(scripted(
        [("find", {"wrong": 1}, "r1"), ("nowhere", {}, "r2")], [("find", '{"word": ', "r3")], [("find", {"word": "ok"}, "r4")], "found",
    ), [quick(b, "find")], retries=5)  # fmt: skip  # a list in lines
    await b.run(agent)


async def error_inside(b: Bench) -> None:
    """A validation error inside a body is not one of its arguments."""

    async def body(ctx: RunContext[Any], word: str = "x") -> Any:
        b.truth("start", ctx)
        b.truth("raise", ctx, exc="ValidationError")
        return pydantic.TypeAdapter(dict[str, int]).validate_python({"word": word})

    agent = b.agent(scripted([("parse", {"word": "a"}, "v1")], "gave up"), [Tool(body, name="parse", takes_ctx=True)], retries=3)
    await b.run(agent)


async def bare_exception(b: Bench) -> None:
    """An exception in one of three ends the run; the siblings are cancelled."""
    agent = b.agent(scripted([("one", {"word": "a"}, "b1"), ("two", {"word": "b"}, "b2"), ("three", {"word": "c"}, "b3")], "x"), [
        quick(b, "one"), broken(b, "two", lambda: RuntimeError("boom")), quick(b, "three", seconds=5),
    ])  # fmt: skip  # a list in lines
    await b.run(agent)


async def sequential_exception(b: Bench) -> None:
    """The first of a sequence raises; the others never start, though their calls were announced."""
    agent = b.agent(scripted([("first", {"word": "a"}, "q1"), ("second", {"word": "b"}, "q2")], "x"), [
        broken(b, "first", lambda: RuntimeError("boom"), sequential=True), quick(b, "second", sequential=True),
    ])  # fmt: skip  # a list in lines
    await b.run(agent)


async def two_approvals_mixed(b: Bench) -> None:
    """Two gated calls and a free one in one response: one approved with other inputs, one denied."""
    model = scripted([("book", {"total": 10.0}, "g1"), ("refund", {"total": 5.0}, "g2"), ("look", {"word": "z"}, "g3")], "settled")
    agent = b.agent(model, [gated(b, "book"), gated(b, "refund"), quick(b, "look")])
    result = await b.run(agent)
    decisions: dict[str, Any] = {"g1": ToolApproved(override_args={"total": 8.5}), "g2": ToolDenied("no refunds")}
    b.capture.add("driver", "decision", {"decision": {key: repr(value) for key, value in decisions.items()}})
    await b.run(agent, None, message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals=decisions))


async def approval_replayed_three_times(b: Bench) -> None:
    """The same approval on the same history, three times: three effects."""
    agent = b.agent(scripted([("book", {"total": 7.0}, "m1")], "booked"), [gated(b, "book")])
    result = await b.run(agent)
    for word in ("decision", "REPLAY the same approval + same history a second time", "REPLAY the same approval a third time"):
        b.capture.add("driver", word, {"decision": "True"} if word == "decision" else {})
        await b.run(agent, None, message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals={"m1": True}))


async def denied_then_approved(b: Bench) -> None:
    """The same history denied once, then approved: the call that was closed runs after all."""
    agent = b.agent(scripted([("book", {"total": 7.0}, "d1")], "x"), [gated(b, "book")])
    result = await b.run(agent)
    b.capture.add("driver", "deny", {})
    await b.run(agent, None, message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals={"d1": False}))
    b.capture.add("driver", "approve", {})
    await b.run(agent, None, message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals={"d1": True}))


async def inline_mixed(b: Bench) -> None:
    """A handler inside the run approves one and denies the other."""

    async def handler(ctx: Any, requests: DeferredToolRequests) -> DeferredToolResults:
        b.capture.add("driver", "handler called", {"ids": [call.tool_call_id for call in requests.approvals]})
        return DeferredToolResults(approvals={"i1": True, "i2": ToolDenied("too much")}, answered_by={"i1": "user:7", "i2": "user:8"})

    agent = b.agent(scripted([("book", {"total": 1.0}, "i1"), ("book", {"total": 900.0}, "i2")], "done"), [gated(b, "book")],
                    capabilities=[HandleDeferredToolCalls(handler=handler)])  # fmt: skip  # a list in lines
    await b.run(agent)


async def approval_asked_by_body(b: Bench) -> None:
    """A body that asks for its approval itself and runs again once it has it."""

    async def body(ctx: RunContext[Any], total: float = 1.0) -> Any:
        b.truth("start", ctx)
        if not ctx.tool_call_approved:
            b.truth("raise", ctx, exc="ApprovalRequired")
            raise ApprovalRequired(metadata={"why": "large"})
        b.truth("end", ctx)
        return "sold"

    agent = b.agent(scripted([("sell", {"total": 3.0}, "a1")], "sold"), [Tool(body, name="sell", takes_ctx=True)])
    result = await b.run(agent)
    b.capture.add("driver", "decision", {"decision": "True"})
    await b.run(agent, None, message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals={"a1": True}))


async def question_and_external(b: Bench) -> None:
    """A question to a person and a call for another executor, both answered from outside."""

    async def ask(ctx: RunContext[Any], q: str) -> str:
        raise CallDeferred(kind="question", metadata={"form": {"type": "string"}})

    async def outsourced(ctx: RunContext[Any], job: str) -> str:
        raise CallDeferred

    agent = b.agent(
        scripted([("ask", {"q": "Which?"}, "x1"), ("outsourced", {"job": "j"}, "x2")], "thanks"),
        [Tool(ask, takes_ctx=True), Tool(outsourced, takes_ctx=True)],
    )
    result = await b.run(agent)
    await b.run(
        agent,
        None,
        message_history=result.all_messages(),
        deferred_tool_results=DeferredToolResults(calls={"x1": "Rome", "x2": {"job": "ready"}}),
    )


async def streaming_progress(b: Bench) -> None:
    """Two calls that report progress at the same time; one of them is cancelled with the run."""

    def make(name: str, steps: int, stop: int) -> Tool[Any]:
        async def body(ctx: RunContext[Any], word: str = "x") -> str:
            b.truth("start", ctx)
            try:
                for step in range(1, steps + 1):
                    await ctx.emit(LegProgress(current=step, total=steps, text=f"{name} {step}"))
                    await asyncio.sleep(5 if step == stop else 0.005)
            except asyncio.CancelledError:
                b.truth("cancelled_in_body", ctx)
                raise
            b.truth("end", ctx)
            return "there"

        return Tool(body, name=name, takes_ctx=True)

    token = CancellationToken()
    agent = b.agent(scripted([("near", {"word": "a"}, "l1"), ("far", {"word": "b"}, "l2")], "x"), [make("near", 3, 0), make("far", 9, 4)])
    running = asyncio.create_task(b.run(agent, cancellation_token=token))
    await b.capture.until("end", 1)
    await asyncio.sleep(0.05)
    b.capture.add("driver", "CancellationToken.cancel", {})
    token.cancel()
    await running


async def early_final_answer(b: Bench) -> None:
    """The model hands in its final answer beside a call: the call is reported as a success and never made."""

    class Answer(pydantic.BaseModel):
        text: str

    agent = b.agent(scripted([("final_result", {"text": "enough"}, "e1"), ("lookup", {"word": "a"}, "e2")], "x"), [quick(b, "lookup")],
                    output_type=Answer, end_strategy="early")  # fmt: skip  # a list in lines
    await b.run(agent)


async def duplicate_ids(b: Bench) -> None:
    """One id for two calls of a response: neither is made. A later turn uses the id well."""
    agent = b.agent(scripted([("look", {"word": "a"}, "dup"), ("look", {"word": "b"}, "dup")], "x"), [quick(b, "look")])
    await b.run(agent)


async def disconnect(b: Bench) -> None:
    """The consumer's task is cancelled from outside."""
    agent = b.agent(
        scripted([("brief", {"word": "a"}, "c1"), ("long", {"word": "b"}, "c2")], "x"), [quick(b, "brief"), quick(b, "long", seconds=5)]
    )
    running = asyncio.create_task(b.run(agent))
    await b.capture.until("end", 1)
    await asyncio.sleep(0.05)
    b.capture.add("driver", "Task.cancel (client disconnected)", {})
    running.cancel()
    await asyncio.wait({running})


async def raises_cancelled(b: Bench) -> None:
    """A body that raises a cancellation by itself takes its sibling with it; nobody had asked."""

    async def body(ctx: RunContext[Any], word: str = "x") -> str:
        b.truth("start", ctx)
        await asyncio.sleep(0.02)
        b.truth("raise", ctx, exc="CancelledError")
        raise asyncio.CancelledError("by itself")

    agent = b.agent(
        scripted([("mine", {"word": "a"}, "o1"), ("other", {"word": "b"}, "o2")], "x"),
        [Tool(body, name="mine", takes_ctx=True), quick(b, "other", seconds=5)],
    )
    await b.run(agent)


async def wordy_results(b: Bench) -> None:
    """Results whose content reads like an error or a denial are results."""
    like_errors = [{"type": "missing", "loc": ["word"], "msg": "not an error"}]
    tools = [quick(b, "echo", answer="error: cancelled, denied and failed"), quick(b, "echo2", answer=like_errors)]
    agent = b.agent(scripted([("echo", {"word": "a"}, "y1"), ("echo2", {"word": "b"}, "y2")], "ok"), tools)
    await b.run(agent)


SCENARIOS: dict[str, Scenario] = {
    name: scenario for name, scenario in list(globals().items())
    if asyncio.iscoroutinefunction(scenario) and not name.startswith("_") and name not in {"record", "main"}
}  # fmt: skip  # a list in lines
OLD_SDK: frozenset[str] = frozenset({"inline_mixed", "refused_inputs", "two_approvals_mixed", "error_inside"})
"""Scenarios in which version 5 of the Vercel AI SDK's stream says less than version 6."""
SURFACES = {"native": "", "hook": "hook_", "agui": "ui_agui_", "vercel": "ui_vercel_", "vercel5": "ui_vercel5_"}


async def record(name: str, surface: str, target: Path) -> None:
    """Record one scenario on one surface."""
    capture = Capture(f"{name}: {(SCENARIOS[name].__doc__ or '').strip()}", surface)
    await asyncio.wait_for(SCENARIOS[name](Bench(capture)), 20)
    capture.write(target / f"{SURFACES[surface]}{name}.jsonl")


async def main(names: list[str]) -> None:
    """Record everything, or what is named."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in names or SCENARIOS:
        for surface in SURFACES if name in OLD_SDK else [one for one in SURFACES if one != "vercel5"]:
            await record(name, surface, TARGET)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
