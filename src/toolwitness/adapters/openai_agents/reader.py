"""Reads a capture of OpenAI Agents row by row and says what each row is evidence of.

``Reader`` is for what the framework handed to its consumer: its stream, what the result shows, and what hooks, the error formatter and the
trace saw. ``HookReader`` also believes a wrapper around ``on_invoke_tool``. Rows of a driver and its outcomes become requests and decisions
by an unrecorded actor.
"""

from collections.abc import Mapping
from typing import Any

from toolwitness.adapters.openai_agents import outside, words
from toolwitness.adapters.openai_agents.mapping import ADAPTER, VERSION
from toolwitness.adapters.openai_agents.story import Story
from toolwitness.adapters.openai_agents.words import Handler
from toolwitness.ports import Draft
from toolwitness.reading.lenient import members
from toolwitness.reading.reader import CaptureReader

_LISTS = frozenset({"interruptions", "session.get_items"})


class Reader(CaptureReader):
    """Maps the rows of one capture of the framework, in order, to drafts. Kept for one capture and thrown away."""

    adapter = ADAPTER
    version = VERSION
    wrapped: Mapping[str, Handler] = {}

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.story = Story(self.calls)
        self._handlers = {**words.HANDLERS, **self.wrapped}

    def feed(self, row: Mapping[str, Any], *, raw: bytes = b"") -> list[Draft]:
        """Map one row."""
        at = row.get("t")
        if isinstance(at, int | float) and not isinstance(at, bool):
            self.story.now = float(at)
        return super().feed(row, raw=raw)

    def before(self, kind: str) -> None:
        """Record the starts that time has shown."""
        self.story.settle()

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the framework handed to its consumer."""
        name = kind.partition("(")[0]
        if name in {"tool_called", "tool_output"}:
            name = f"run_item_stream_event:{name}"
        if name.startswith("raw_response_event"):
            self.calls.begin_run()
            done = name == "raw_response_event:response.output_item.done"
            self.note(kind, words.raw_item(self.story, name, members(event)) if done else "")
            return
        handler = self._handlers.get(name)
        if handler is None:
            self.note(kind, self._why_unmapped(kind))
            return
        if name.startswith(("run_item", "agent_", "hook.", "wrap.")):
            self.calls.begin_run()
        given: Any = event if name in _LISTS else members(event)
        self.note(kind, handler(self.story, name, given))

    def driver(self, kind: str, event: Any) -> None:
        """Map what was done from outside."""
        self.note(kind, outside.driver(self.story, kind, event))

    def outcome(self, kind: str, event: Any) -> None:
        """Map how the run ended."""
        outside.outcome(self.story, kind, event)

    def end(self) -> None:
        """Judge what a hook saw come back, where nothing else did."""
        self.story.end_run("outcome ended", "")
        self.story.clear_up()

    def _why_unmapped(self, kind: str) -> str:
        if kind.startswith("wrap.") and not self.wrapped:
            return "a wrapper's word: read it with the format openai-agents-recorder"
        return "the table does not have this word"


class HookReader(Reader):
    """Also believes the rows that a wrapper around ``on_invoke_tool`` wrote."""

    wrapped = words.WRAPPED
