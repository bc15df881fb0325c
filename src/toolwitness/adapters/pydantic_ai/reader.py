"""Reads a capture of Pydantic AI row by row and says what each row is evidence of.

``Reader`` is for what the framework handed to its consumer: its own events, its AG-UI and Vercel streams. ``HookReader`` is for what a
capability's hooks saw inside the process, which is stronger: real starts and ends, executed arguments. Rows of a driver and its outcomes
become requests and decisions by an unrecorded actor. Rows of ``truth`` are for the judge and are refused here.
"""

from collections.abc import Mapping
from typing import Any

from toolwitness.adapters.pydantic_ai import native, outside
from toolwitness.adapters.pydantic_ai.mapping import ADAPTER, VERSION
from toolwitness.adapters.pydantic_ai.native import Handler
from toolwitness.adapters.pydantic_ai.streams import AgUi, Vercel
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.reader import CaptureReader, Unmapped


class Reader(CaptureReader):
    """Maps the rows of one capture of the framework, in order, to drafts. Kept for one capture and thrown away."""

    name = ADAPTER
    adapter = ADAPTER
    version = VERSION
    hooks: Mapping[str, Handler] = {}

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self._agui = AgUi(self.calls)
        self._vercel = Vercel(self.calls)
        self._handlers: dict[str, Handler] = {**native.HANDLERS, **self.hooks}
        self._handlers |= {f"agui:{name}": handler for name, handler in self._agui.handlers().items()}
        self._handlers |= {f"vercel:{name}": handler for name, handler in self._vercel.handlers().items()}

    def before(self, kind: str) -> None:
        """Settle a result that waited for its mark: the two leave the framework in one step, and nothing comes between them."""
        if kind != "agui:REASONING_ENCRYPTED_VALUE":
            self._agui.settle()
            self._report_unclear()

    def driver(self, kind: str, event: Any) -> None:
        """Map what was done from outside."""
        if kind == "handler called":
            self._vercel.asked_inside |= {text(one) for one in items(members(event).get("ids"))}
        self.note(kind, outside.driver(self.calls, kind, event))

    def outcome(self, kind: str, event: Any) -> None:
        """Map how the run ended."""
        outside.outcome(self.calls, kind, event)

    def end(self) -> None:
        """Report what still waited for a next row."""
        self._agui.cut()
        self._report_unclear()

    def _report_unclear(self) -> None:
        row = self._agui.stream.waiting_row.seq
        for why in self._agui.stream.unclear:
            self.unmapped.append(Unmapped(row, "agui:TOOL_CALL_RESULT", why))
        self._agui.stream.unclear.clear()

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the framework handed to its consumer."""
        handler = self._handlers.get(kind) or self._by_shape(kind, event)
        if handler is None:
            self.note(kind, self._why_unmapped(kind))
            return
        if not kind.startswith(("agui:", "vercel:")):
            self.calls.begin_run()
        handler(self.calls, "CustomEvent" if handler is native.custom else kind, members(event))

    def _by_shape(self, kind: str, event: Any) -> Handler | None:
        """Know an application's own event by its shape: its name is the application's."""
        shown = members(event)
        if ":" in kind or kind.startswith("hook."):
            return None
        if shown.get("event_kind") in ("custom", "capability") and text(shown.get("tool_call_id")):
            return native.custom
        return native.nothing if kind.startswith("Realtime") else None

    def _why_unmapped(self, kind: str) -> str:
        if kind == "agui:CUSTOM" or kind.startswith("vercel:data-"):
            return "an event of the application that names no call: whose progress it is cannot be known"
        if kind.startswith("hook."):
            known = "the table does not have this word of a hook"
            return known if self.hooks else "a hook's word: read it with the format pydantic-ai-recorder"
        return "the table does not have this word"


class HookReader(Reader):
    """Also believes the rows that an in-process hook wrote."""

    name = f"{ADAPTER}-recorder"
    hooks = native.HOOKS
