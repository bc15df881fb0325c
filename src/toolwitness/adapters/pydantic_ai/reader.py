"""Reads a capture of Pydantic AI row by row and says what each row is evidence of.

``Reader`` is for what the framework handed to its consumer: its own events, its AG-UI and Vercel streams. ``HookReader`` is for what a
capability's hooks saw inside the process, which is stronger: real starts and ends, executed arguments. Rows of a driver and its outcomes
become requests and decisions by an unrecorded actor. Rows of ``truth`` are for the judge and are refused here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwitness.adapters.pydantic_ai import native, outside
from toolwitness.adapters.pydantic_ai.calls import Calls
from toolwitness.adapters.pydantic_ai.mapping import ADAPTER
from toolwitness.adapters.pydantic_ai.native import Handler
from toolwitness.adapters.pydantic_ai.pen import Pen
from toolwitness.adapters.pydantic_ai.reading import members, text
from toolwitness.adapters.pydantic_ai.streams import AgUi, Vercel
from toolwitness.core.evidence import Kind
from toolwitness.ports import Draft


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A row, or a word in it, that says nothing to us, and why."""

    row: int
    word: str
    why: str


class Reader:
    """Maps the rows of one capture, in order, to drafts. Kept for one capture and thrown away."""

    name = ADAPTER
    hooks: Mapping[str, Handler] = {}

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        self._pen = Pen(source)
        self._calls = Calls(self._pen)
        self._agui = AgUi(self._calls)
        self._vercel = Vercel(self._calls)
        self._handlers: dict[str, Handler] = {**native.HANDLERS, **self.hooks}
        self._handlers |= {f"agui:{name}": handler for name, handler in self._agui.handlers().items()}
        self._handlers |= {f"vercel:{name}": handler for name, handler in self._vercel.handlers().items()}
        self._opened = False
        self._line = 0
        self.unmapped: list[Unmapped] = []

    @property
    def task_id(self) -> str:
        """The task that the calls of this capture belong to."""
        return self._pen.task_id

    def feed(self, row: Mapping[str, Any], *, raw: bytes = b"") -> list[Draft]:
        """Map one row; ``raw`` is its line as it came. A word that is not mapped is in ``unmapped``, never guessed.

        Raises:
            ValueError: the row is the judge's (``truth``), which no adapter may see.
        """
        self._line += 1
        source, kind, event = row.get("src"), str(row.get("kind") or ""), row.get("event")
        if source == "truth":
            raise ValueError("a truth row was handed to an adapter")
        if not self._opened:
            self._open()
        if source == "header":
            return self._pen.take()
        seq, at = row.get("seq"), row.get("t")
        line = raw or json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._pen.begin(seq if isinstance(seq, int) else self._line, at if isinstance(at, int | float) else None, line)
        if kind != "agui:REASONING_ENCRYPTED_VALUE":  # a result and its mark leave the framework in one step: nothing comes between them
            self._agui.settle()
            self._report_unclear()
        if source == "driver":
            self._note(kind, outside.driver(self._calls, kind, event))
        elif source == "outcome":
            outside.outcome(self._calls, kind, event)
        elif source == "runtime":
            self._runtime(kind, event)
        else:
            self._note(kind, f"no row of a capture has the src {source!r}")
        return self._pen.take()

    def close(self) -> list[Draft]:
        """End the capture; what still waited for a next row is reported."""
        self._agui.cut()
        self._report_unclear()
        return self._pen.take()

    def _open(self) -> None:
        self._opened = True
        self._pen.begin(0, None, b"")
        name = self._pen.source.removeprefix("capture:")
        self._pen.write(Kind.TASK_OPENED, "capture", data={"purpose": f"Calls recorded in {name}", "opened_by": "replay"})

    def _report_unclear(self) -> None:
        row = self._agui.stream.waiting_row.seq
        for why in self._agui.stream.unclear:
            self.unmapped.append(Unmapped(row, "agui:TOOL_CALL_RESULT", why))
        self._agui.stream.unclear.clear()

    def _runtime(self, kind: str, event: Any) -> None:
        handler = self._handlers.get(kind) or self._by_shape(kind, event)
        if handler is None:
            self._note(kind, self._why_unmapped(kind))
            return
        if not kind.startswith(("agui:", "vercel:")):
            self._calls.begin_run()
        handler(self._calls, "CustomEvent" if handler is native.custom else kind, members(event))

    def _by_shape(self, kind: str, event: Any) -> Handler | None:
        """Know an application's own event by its shape: its name is the application's."""
        shown = members(event)
        if ":" in kind or kind.startswith("hook."):
            return None
        if shown.get("event_kind") in {"custom", "capability"} and text(shown.get("tool_call_id")):
            return native.custom
        return native.nothing if kind.startswith("Realtime") else None

    def _why_unmapped(self, kind: str) -> str:
        if kind == "agui:CUSTOM" or kind.startswith("vercel:data-"):
            return "an event of the application that names no call: whose progress it is cannot be known"
        if kind.startswith("hook."):
            known = "the table does not have this word of a hook"
            return known if self.hooks else "a hook's word: read it with the format pydantic-ai-recorder"
        return "the table does not have this word"

    def _note(self, word: str, why: str) -> None:
        if why:
            self.unmapped.append(Unmapped(self._pen.place.seq, word, why))


class HookReader(Reader):
    """Also believes the rows that an in-process hook wrote."""

    name = f"{ADAPTER}-recorder"
    hooks = native.HOOKS
