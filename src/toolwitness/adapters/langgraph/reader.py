"""Reads a capture of LangGraph row by row and says what each row is evidence of.

``Reader`` is for what ``stream``, ``astream`` and ``get_state`` gave, in every mode. ``HookReader`` is for what a middleware's hooks saw
inside the process, which is stronger. Rows of a driver and its outcomes become requests and decisions by an unrecorded actor. Rows of
``truth`` are for the judge and are refused.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.adapters.langgraph import mapping
from toolwitness.adapters.langgraph.book import Book
from toolwitness.adapters.langgraph.interrupts import Interrupts
from toolwitness.adapters.langgraph.mapping import ADAPTER, VERSION
from toolwitness.adapters.langgraph.messages import Chunks, Event, messages_in, proposed_in, unwrap
from toolwitness.adapters.langgraph.outside import Outside
from toolwitness.reading import endings
from toolwitness.reading.calls import Call
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.reader import CaptureReader, Unmapped

Handler = Callable[[str, Any], None]
_INTERRUPT: Final = "__interrupt__"


class Reader(CaptureReader):
    """Maps the rows of one capture of the framework, in order, to drafts. Kept for one capture and thrown away."""

    name = ADAPTER
    adapter = ADAPTER
    version = VERSION
    believes_hooks = False

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.book = Book(self.calls)
        self.interrupts = Interrupts(self.book)
        self.outside = Outside(self.book, self.interrupts)
        self._chunks = Chunks()
        self._tasks: dict[str, list[Call]] = {}
        self._modes: dict[str, Handler] = {
            "updates": self._updates,
            "values": self._values,
            "messages": self._messages,
            "tasks": self._task,
            "tools": self._tool,
            "checkpoints": self._checkpoint,
            "get_state": self._checkpoint,
            "debug": self._debug,
            "custom": self._custom,
        }

    # ── the frame ───────────────────────────────────────────────────────────────────────────────────────────────────

    def before(self, kind: str) -> None:
        """Let the held starts count: a refusal of arguments comes in the same breath, and would have come by now."""
        if not kind.startswith(("tools", "mw.")):
            self.book.settle()

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the framework handed to its consumer."""
        mode = kind.split(":", 1)[0]
        if kind.startswith("mw."):
            self._hook(kind, members(event))
        elif handler := self._modes.get(mode):
            if mode != "get_state":
                self.calls.begin_run()
            handler(kind, event)
        else:
            self.note(kind, "the table does not have this mode")

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one part of a stream as the framework writes it in its own envelope: ``type``, ``ns``, ``data``."""
        mode = text(chunk.get("type"))
        self.before(mode)
        if mode in self._modes and "data" in chunk:
            self.runtime(mode, chunk["data"])
            if mode == "values":
                self.interrupts.take("values", chunk.get("interrupts"))
        else:
            self.note(mode, "a chunk that is neither a row of a capture nor a part of a stream")

    def driver(self, kind: str, event: Any) -> None:
        """Map what was done from outside."""
        self.note(kind, self.outside.driver(kind, event))

    def outcome(self, kind: str, event: Any) -> None:
        """Map how the run ended."""
        self.outside.outcome(kind, event)

    def end(self) -> None:
        """Report the starts that nothing confirmed, and the interrupts whose call was never known."""
        for row, word in self.book.unsettled():
            self.unmapped.append(Unmapped(row, word, "the stream ends before it could show that the arguments were not refused"))
        for one in self.interrupts.unattributed():
            why = "an interrupt that names no call while several could have asked"
            self.unmapped.append(Unmapped(one.row, _INTERRUPT, why))

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, word: str, value: Any) -> None:
        """Take every message in a node's update or in state."""
        for message in messages_in(value):
            if message["type"] == "ai":
                key = text(message.get("id"))
                self.book.propose(word, [key] if key else [], proposed_in(message))
            elif message["type"] == "tool" and not (self.book.hooked and word != "updates"):
                self.book.take_result(word, message)

    def _updates(self, kind: str, event: Any) -> None:
        if not isinstance(event, Mapping):
            self.note(kind, "an update that is no object")
        for node, update in members(event).items():
            if node == _INTERRUPT:
                self.interrupts.take("updates", update)
            elif node != "__metadata__":
                self.interrupts.reviewed("updates", update)
                self._take("updates", update)

    def _values(self, kind: str, event: Any) -> None:
        shown = members(event)
        self._take("values", {name: value for name, value in shown.items() if name != _INTERRUPT} or event)
        self.interrupts.take("values", shown.get(_INTERRUPT))

    def _messages(self, kind: str, event: Any) -> None:
        pair = items(event)
        raw, meta = (pair[0], pair[-1]) if pair else (members(event).get("message"), members(event).get("meta"))
        message = unwrap(raw)
        if not message:
            self.note(kind, "no message of a known type")
        elif message["type"] == "AIMessageChunk":
            if whole := self._chunks.take(message, members(meta)):
                self.book.propose("messages last chunk", *whole)
        else:
            self._take("messages", message)

    # ── tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _task(self, kind: str, event: Any) -> None:
        shown = members(event)
        started = ":start" in kind or ("triggers" in shown and ":result" not in kind)
        if started:
            self._scheduled(text(shown.get("id")), shown)
        else:
            self._task_over("tasks:result", shown, fresh=True)

    def _scheduled(self, task_id: str, shown: Event) -> None:
        """Learn which calls a task stands for. It is no acceptance: it comes again on resume for calls that had succeeded."""
        given = shown.get("input.tool_calls") or shown.get("input")
        inner = members(given).get("tool_call")
        named = [members(one) for one in items(given) if members(one).get("type") in (None, "tool_call")]
        wanted = [members(inner)] if inner else [one for one in named if one.get("id") and one.get("name")]
        found = [call for one in wanted if (call := self.calls.current(text(one.get("id"))))]
        if found:
            self._tasks[task_id] = found
        for call in found:
            if not call.over:
                call.run = self.calls.run

    def _task_over(self, word: str, shown: Event, *, fresh: bool) -> None:
        """Take what a task left: its messages, its interrupts, its error."""
        mine = self._tasks.get(text(shown.get("id")), [])
        result = shown.get("result")
        if fresh:
            self.interrupts.reviewed("updates", result)
        self._take(word, result)
        self.interrupts.take(word, shown.get("interrupts"), task=mine, fresh=fresh)
        error = text(shown.get("error"))
        for call in mine if error else ():
            self._ended_by(word, call, error, alone=len(mine) == 1)

    def _ended_by(self, word: str, call: Call, error: str, *, alone: bool) -> None:
        """Read a task's error. A cancellation says that nobody waits; the same word stands for a thread that goes on."""
        row = "tasks:result error" if word == "tasks:result" else f"{word} task"
        if call.over or call.awaits_approval:
            return
        if re.match(mapping.CANCELLED_TASK, error):
            if call.begun or not self.book.saw_tools:
                self.book.doubt(row, call, "the framework cancelled its task; whether the body has ended is not known")
        elif alone and (call.begun or not self.book.saw_tools):
            effects = None if call.begun else "unknown"
            endings.fail(self.calls, call, row, "raised", error, detail="The task of the call ended by an exception.", effects=effects)
            self.book.ended(call, "failed", row)

    # ── the state of a thread ───────────────────────────────────────────────────────────────────────────────────────

    def _checkpoint(self, kind: str, event: Any) -> None:
        shown, word = members(event), kind.split(":", 1)[0]
        fresh = word == "checkpoints"
        tasks = [members(task) for task in items(shown.get("tasks"))]
        self._learn(tasks)
        for task in tasks:
            self._task_over(word, task, fresh=False)
        values = members(shown.get("values"))
        self._take(word, values or shown.get("messages"))
        self.interrupts.take(word, shown.get("interrupts"), fresh=fresh)

    def _learn(self, tasks: list[Event]) -> None:
        """Learn which call the one task stands for that has failed and is not known, where one call is open and no other can be meant."""
        failed = [task for task in tasks if text(task.get("error")) and text(task.get("id")) not in self._tasks]
        for task in tasks:
            self._take("get_state", task.get("result"))
        opened = [call for call in self.calls.all if not call.over and not call.refused and not call.followed and not call.awaits_approval]
        if len(failed) == 1 and len(opened) == 1:
            self._tasks[text(failed[0].get("id"))] = opened

    def _debug(self, kind: str, event: Any) -> None:
        shown = members(event)
        what = text(shown.get("type")) or kind.partition(":")[2]
        payload = shown.get("payload", event)
        if what == "checkpoint":
            self._checkpoint("checkpoints", payload)
        elif what in {"task", "task_result"}:
            self._task("tasks:start" if what == "task" else "tasks:result", payload)
        else:
            self.note(kind, "the table does not have this kind of debug event")

    # ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _tool(self, kind: str, event: Any) -> None:
        shown = members(event)
        what, key = text(shown.get("event")) or kind.partition(":")[2], text(shown.get("tool_call_id"))
        word = f"tools:{what}"
        if what not in mapping.TOOL_EVENTS:
            self.note(kind, "the table does not have this event of a tool")
            return
        self.book.saw_tools = True
        if what == "tool-output-delta":
            call = self.book.ending(key)
            self.book.settle(call)
            self.book.output(word, call, shown.get("delta"))
        elif self.book.hooked:
            return  # the hook has told it, and told it first
        elif what == "tool-started":
            self.book.hold(word, key, text(shown.get("tool_name")), shown.get("input"))
        elif what == "tool-finished":
            self._finished(word, key, shown.get("output"))
        else:
            self._raised(word, self.book.ending(key), text(shown.get("message")))

    def _finished(self, word: str, key: str, output: Any) -> None:
        told = next((m for m in messages_in(output) if m["type"] == "tool" and m.get("tool_call_id") in (key, None)), None)
        message = {"status": "success", "content": output, **(told or {}), "tool_call_id": key}
        self.book.settle(self.book.ending(key))
        self.book.take_result(word, message)

    def _raised(self, word: str, call: Call, said: str, *, name: str = "") -> None:
        """Read an exception; arguments that did not fit the tool's own schema were refused before its body."""
        if name in {"", "ValidationError"} and re.match(mapping.VALIDATION.format(tool=re.escape(call.tool)), said):
            self.book.refuse(f"{word} refused", call, "the arguments did not validate", said)
            return
        self.book.settle(call)
        if disguised := disguised_cancel(f"{name}: {said}" if name else said):
            self.book.doubt(word, call, f"it ended with what looks like a cancellation ({disguised})")
        else:
            category = "tool-failed" if name == "ToolException" else "raised"
            self.book.fail(word, call, category, {"exception": name, "message": said} if name else said)

    def _custom(self, kind: str, event: Any) -> None:
        key = text(members(event).get("tool_call_id"))
        if key and self.calls.known(key):
            self.book.output("custom", self.book.ending(key), event)
        else:
            self.note(kind, "an event of the application that names no call: whose progress it is cannot be known")

    # ── hooks ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _hook(self, kind: str, event: Event) -> None:
        word, key = kind.split("(", 1)[0], text(event.get("id"))
        if not self.believes_hooks:
            self.note(kind, "a hook's word: read it with the format langgraph-recorder")
            return
        self.calls.begin_run()
        self.book.hooked = True
        if word == "mw.START":
            where = members(event.get("execution_info"))
            call = self.book.hold(word, key, text(event.get("tool")), event.get("args"))
            self._tasks[text(where.get("task_id"))] = [call]
        elif word == "mw.RETURNED":
            self._returned(word, key, event)
        elif word == "mw.RAISED":
            self._raised(word, self.book.ending(key), text(event.get("msg")), name=text(event.get("exc")))
        elif word in {"mw.CANCELLED", "mw.PAUSED"}:
            call = self.book.ending(key)
            self.book.settle(call)
            if word == "mw.PAUSED":
                self.book.pause(word, call)
            else:
                endings.release(self.calls, call, word, "the wait for the body was cancelled")
        else:
            self.note(kind, "the table does not have this word of a hook")

    def _returned(self, word: str, key: str, event: Event) -> None:
        call = self.book.ending(key)
        self.book.settle_unless_refused(call, event)
        self.book.take_result(word, {**event, "id": "", "tool_call_id": key})


class HookReader(Reader):
    """Also believes the rows that an in-process hook wrote."""

    name = f"{ADAPTER}-recorder"
    believes_hooks = True
