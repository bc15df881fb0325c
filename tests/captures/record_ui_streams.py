"""Records streams of AG-UI and assistant-ui with the real Python packages: ``record_ui_streams.py [SCENARIO …]``.

A small agent runs real tool bodies, which write what they really do (``truth``), and says it through the package's own encoder. AG-UI has
no agent of its own: its events are made here, with the package's models. No network, no key, a few seconds.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Interrupt,
    MessagesSnapshotEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from ag_ui.core.events import RunFinishedCancelledOutcome
from ag_ui.encoder import EventEncoder
from assistant_stream import RunController, create_run
from assistant_stream.serialization import AssistantTransportEncoder, DataStreamEncoder

TARGET = Path(__file__).parents[2] / "spec" / "captures"
ODD = {"lines": "one\u2028two\u2029three\u0085four", "number": 9007199254740993, "none": None, "list": [1, "two"]}


class Truth:
    """What the bodies wrote."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def wrote(self, ev: str, **more: Any) -> None:
        self.rows.append({"t_ms": round((time.monotonic() - self.began) * 1000), "ev": ev, **more})

    def run(self, call: str, body: Callable[[], Any]) -> tuple[Any, str]:
        """Run a body to its end and give its result, or its error."""
        self.wrote("tool.start", id=call)
        try:
            value = body()
        except Exception as error:  # noqa: BLE001 -- whatever a body raises is what is recorded
            self.wrote("tool.throw", id=call)
            return None, f"{type(error).__name__}: {error}"
        self.wrote("tool.end", id=call)
        return value, ""


def raising(message: str) -> Callable[[], Any]:
    def body() -> Any:
        raise ValueError(message)

    return body


# ── AG-UI ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class AgUi:
    """One recording: events as the package encodes them."""

    def __init__(self) -> None:
        self.truth = Truth()
        self.framed: list[str] = []
        self.encoder = EventEncoder()

    def say(self, *events: Any) -> None:
        self.framed += [self.encoder.encode(event) for event in events]

    def start(self, run: str, resume: list[ResumeEntry] | None = None) -> None:
        given = None
        if resume is not None:
            given = RunAgentInput(
                thread_id="th", run_id=run, state={}, messages=[], tools=[], context=[], forwarded_props={}, resume=resume
            )
        self.say(RunStartedEvent(thread_id="th", run_id=run, input=given))

    def write(self, call: str, tool: str, arguments: str) -> None:
        half = len(arguments) // 2
        pieces = [ToolCallArgsEvent(tool_call_id=call, delta=part) for part in (arguments[:half], arguments[half:]) if part]
        self.say(ToolCallStartEvent(tool_call_id=call, tool_call_name=tool), *pieces, ToolCallEndEvent(tool_call_id=call))

    def answer(self, call: str, content: str) -> None:
        self.say(ToolCallResultEvent(message_id=f"m-{call}-{len(self.framed)}", tool_call_id=call, content=content))

    def finish(self, run: str, outcome: Any = None) -> None:
        self.say(RunFinishedEvent(thread_id="th", run_id=run, outcome=outcome or RunFinishedSuccessOutcome(pending_tool_call_ids=[])))

    def save(self, name: str) -> None:
        directory = TARGET / "agui" / "recorded"
        self.truth.wrote("server.onEnd")
        _save(directory, name, ".sse", "".join(self.framed), [frame.removeprefix("data: ").strip() for frame in self.framed], self.truth)


def ask(call: str, reason: str = "tool_call") -> RunFinishedInterruptOutcome:
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    return RunFinishedInterruptOutcome(
        interrupts=[Interrupt(id=f"int-{call}", reason=reason, tool_call_id=call, message="Book LH1?", response_schema=schema)]
    )


def resume(call: str, payload: Any = None, status: str = "resolved") -> list[ResumeEntry]:
    return [ResumeEntry(interrupt_id=f"int-{call}", status=status, payload=payload)]


def agui_results_of_every_kind(stream: AgUi) -> None:
    stream.start("r1")
    for name, value in ODD.items():
        stream.write(f"c-{name}", "give", json.dumps({"which": name}))
        stream.truth.run(f"c-{name}", lambda value=value: value)
        stream.answer(f"c-{name}", value if isinstance(value, str) else json.dumps(value))
    stream.write("c-empty", "give", "")
    stream.truth.run("c-empty", lambda: "")
    stream.answer("c-empty", "")
    stream.finish("r1")


def agui_chunks(stream: AgUi) -> None:
    stream.start("r1")
    stream.say(
        ToolCallChunkEvent(tool_call_id="c-one", tool_call_name="look", delta='{"q":'), ToolCallChunkEvent(delta="1}"),
        ToolCallChunkEvent(tool_call_id="c-two", tool_call_name="look", delta='{"q":2}'),
    )  # fmt: skip  # three chunks
    for call in ("c-one", "c-two"):
        stream.truth.run(call, lambda: 1)
        stream.answer(call, "1")
    stream.finish("r1")


def agui_failure_in_a_snapshot(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-hotel", "hotel", '{"q": "h"}')
    stream.write("c-flight", "flight", '{"q": "f"}')
    _, error = stream.truth.run("c-hotel", raising("upstream 503"))
    stream.answer("c-hotel", "503")
    stream.truth.run("c-flight", lambda: 2)
    stream.answer("c-flight", "2")
    calls = [ToolCall(id=f"c-{name}", type="function", function=FunctionCall(name=name, arguments="{}")) for name in ("hotel", "flight")]
    stream.say(
        MessagesSnapshotEvent(messages=[
            AssistantMessage(id="m1", role="assistant", tool_calls=calls),
            ToolMessage(id="m2", role="tool", tool_call_id="c-hotel", content="503", error=error),
            ToolMessage(id="m3", role="tool", tool_call_id="c-flight", content="2"),
        ])
    )  # fmt: skip  # one message a line
    stream.finish("r1")


def agui_the_same_id_twice_in_one_response(stream: AgUi) -> None:
    stream.start("r1")
    for number in (1, 1, 2):
        stream.write("c-same", "look", json.dumps({"q": number}))
    for number in (1, 1, 2):
        stream.truth.run("c-same", lambda number=number: number)
        stream.answer("c-same", str(number))
    stream.finish("r1")


def agui_approval_granted(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-book", "book", '{"q": "LH1"}')
    stream.finish("r1", ask("c-book"))
    stream.truth.wrote("user.approves", id="c-book")
    stream.start("r2", resume("c-book", {"approved": True}))
    stream.write("c-book", "book", '{"q": "LH1"}')
    stream.truth.run("c-book", lambda: "R-1")
    stream.answer("c-book", "R-1")
    stream.finish("r2")


def agui_approval_sent_twice(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-book", "book", '{"q": "LH1"}')
    stream.finish("r1", ask("c-book"))
    for run in ("r2", "r3"):
        stream.truth.wrote("user.approves", id="c-book")
        stream.start(run, resume("c-book", {"approved": True}))
        stream.truth.run("c-book", lambda run=run: run)
        stream.answer("c-book", f"booked in {run}")
        stream.finish(run)


def agui_approval_denied(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-book", "book", '{"q": "LH1"}')
    stream.finish("r1", ask("c-book"))
    stream.truth.wrote("user.denies", id="c-book")
    stream.start("r2", resume("c-book", {"approved": False, "reason": "too expensive"}))
    stream.answer("c-book", "It was not booked.")
    stream.finish("r2")


def agui_approval_put_aside(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-book", "book", '{"q": "LH1"}')
    stream.finish("r1", ask("c-book", "confirmation"))
    stream.start("r2", resume("c-book", status="cancelled"))
    stream.finish("r2")


def agui_a_run_that_is_cancelled(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-deaf", "book", "{}")
    stream.truth.wrote("tool.start", id="c-deaf")
    stream.finish("r1", RunFinishedCancelledOutcome())
    stream.truth.wrote("tool.EFFECT_COMMITTED", id="c-deaf")


def agui_an_error_after_a_result(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-one", "book", "{}")
    stream.write("c-two", "book", '{"n": 2}')
    stream.truth.run("c-one", lambda: "booked")
    stream.answer("c-one", "booked")
    stream.say(RunErrorEvent(message="the model returned 500"))


def agui_an_error_as_a_text(stream: AgUi) -> None:
    stream.start("r1")
    for number, message in enumerate(("Error: boom", "HotelError: no room", '{"status": "failed"}', '{"error": "no room"}')):
        stream.write(f"c-{number}", "hotel", "{}")
        stream.truth.run(f"c-{number}", raising(message))
        stream.answer(f"c-{number}", message)
    stream.finish("r1")


def agui_a_run_inside_a_call(stream: AgUi) -> None:
    stream.start("r1")
    stream.write("c-sub", "research", "{}")
    stream.truth.wrote("tool.start", id="c-sub")
    stream.say(SubagentStartedEvent(subagent_run_id="s1", name="researcher", parent_tool_call_id="c-sub"))
    stream.say(SubagentFinishedEvent(subagent_run_id="s1"))
    stream.truth.wrote("tool.end", id="c-sub")
    stream.answer("c-sub", "found")
    stream.finish("r1")


AGUI = {name.removeprefix("agui_"): play for name, play in globals().items() if name.startswith("agui_") and callable(play)}


# ── assistant-ui ────────────────────────────────────────────────────────────────────────────────────────────────────

Play = Callable[[RunController, Truth], Any]


async def aui_results_of_every_kind(controller: RunController, truth: Truth) -> None:
    for name, value in ODD.items():
        call = await controller.add_tool_call("give", f"c-{name}")
        call.append_args_text(json.dumps({"which": name}))
        truth.run(f"c-{name}", lambda value=value: value)
        call.set_response(value)
    await controller.add_tool_call("open", "c-open")


async def aui_errors(controller: RunController, truth: Truth) -> None:
    for number, message in enumerate(("upstream 503", "Tool execution was cancelled.", "AbortError: This operation was aborted")):
        call = await controller.add_tool_call("hotel", f"c-{number}")
        call.append_args_text("{}")
        truth.run(f"c-{number}", raising(message))
        call.set_response(message, is_error=True)


async def aui_arguments_that_are_cut(controller: RunController, truth: Truth) -> None:
    for name, text in (("cut", '{"q": "x'), ("list", "[1]"), ("none", "")):
        call = await controller.add_tool_call("book", f"c-{name}")
        if text:
            call.append_args_text(text)
        truth.run(f"c-{name}", lambda: 1)
        call.set_response(1)


async def aui_answers_that_say_they_are_none(controller: RunController, truth: Truth) -> None:
    for number, value in enumerate(({"status": "cancelled"}, {"cancelled": True}, {"status": "failed"}, {"error": "no room"})):
        call = await controller.add_tool_call("rail", f"c-{number}")
        call.append_args_text("{}")
        truth.run(f"c-{number}", lambda value=value: value)
        call.set_response(value)


ASSISTANT: dict[str, Play] = {name.removeprefix("aui_"): play for name, play in globals().items() if name.startswith("aui_")}


async def record_assistant(name: str, play: Play) -> None:
    """Record one scenario in both encodings."""
    for encoder, suffix in ((DataStreamEncoder(), ".data.txt"), (AssistantTransportEncoder(), ".transport.sse")):
        truth = Truth()

        async def callback(controller: RunController, truth: Truth = truth) -> None:
            await play(controller, truth)

        stream = create_run(callback, state=None)
        pieces = [piece async for piece in encoder.encode_stream(stream)]
        truth.wrote("server.onEnd")
        kept = [piece for piece in pieces if "[DONE]" not in piece]
        chunks = [_data_line(piece) if suffix == ".data.txt" else piece.removeprefix("data: ").strip() for piece in kept]
        stem = f"{name}.data" if suffix == ".data.txt" else f"{name}.transport"
        _save(
            TARGET / "assistantui" / "recorded",
            stem,
            suffix.removeprefix(".data").removeprefix(".transport"),
            "".join(pieces),
            chunks,
            truth,
        )


def _data_line(piece: str) -> str:
    code, _, value = piece.rstrip("\n").partition(":")
    return f'{{"code": "{code}", "value": {value}}}'


def _save(directory: Path, stem: str, suffix: str, framed: str, chunks: list[str], truth: Truth) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{stem}{suffix}").write_text(framed, encoding="utf-8", newline="")
    (directory / f"{stem}.jsonl").write_text("".join(f"{chunk}\n" for chunk in chunks), encoding="utf-8", newline="")
    rows = "".join(f"{json.dumps(row)}\n" for row in truth.rows)
    (directory / f"{stem}.truth.jsonl").write_text(rows, encoding="utf-8", newline="")


async def main(only: list[str]) -> None:
    for name, play in AGUI.items():
        if only and name not in only:
            continue
        stream = AgUi()
        play(stream)
        stream.save(name)
    for name, play in ASSISTANT.items():
        if only and name not in only:
            continue
        await record_assistant(name, play)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
