"""Reads Chat Completions: chunks of its stream, whole completions, and messages that are sent back.

A call's id and name come with its first piece alone; later pieces name its index. A choice's calls are complete when its finish_reason has
come, whatever it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwitness.adapters.openai_api import answers
from toolwitness.adapters.openai_api.mapping import ADAPTER, FINISHED, VERSION
from toolwitness.adapters.openai_api.messages import Messages
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.reader import CaptureReader, Unmapped

Event = Mapping[str, Any]


@dataclass(slots=True)
class Choice:
    """What one choice of a response is writing, in the order in which it began."""

    writing: list[Writing] = field(default_factory=list[Writing])
    at: dict[int, Writing] = field(default_factory=dict[int, Writing])
    """By index: the call that is being written there."""


class ChatReader(CaptureReader):
    """Maps one capture of Chat Completions, in order, to drafts. Kept for one capture and thrown away."""

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.messages = Messages(self.calls, self.note)
        self._response = ""
        self._choices: dict[int, Choice] = {}

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the provider sent."""
        self.chunk(members(event) or {"type": kind})

    def driver(self, kind: str, event: Any) -> None:
        """Map what the application sent back."""
        if text(members(event).get("role")) or items(members(event).get("messages")):
            self.chunk(members(event))
        else:
            self.note(kind, "an act outside the wire")

    def outcome(self, kind: str, event: Any) -> None:
        """Map what the application sent back, where it stands there."""
        if text(members(event).get("role")):
            self.chunk(members(event))

    def chunk(self, chunk: Event) -> None:
        """Map one object of the wire."""
        if items(chunk.get("messages")):
            for message in items(chunk.get("messages")):
                self.messages.take(members(message))
        elif text(chunk.get("role")):
            self.messages.take(chunk)
        elif items(chunk.get("choices")) or text(chunk.get("object")).startswith("chat.completion"):
            self._response_of(chunk)
        else:
            self.note(text(chunk.get("type")) or text(chunk.get("object")), "the table does not have this word")

    def end(self) -> None:
        """Pair what was sent back, and report what was still being written."""
        self._settle()
        self._cut("the stream ends")

    def _settle(self) -> None:
        for one in self.messages.settle():
            self.unmapped.append(Unmapped(one.row, one.word, one.why))

    # ── chunks ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _response_of(self, chunk: Event) -> None:
        if text(chunk.get("id")) != self._response or chunk.get("object") == "chat.completion":
            self._settle()
            self._cut("another response begins")
            self._response = text(chunk.get("id"))
            self.calls.turn_to_tools()
            self.calls.run_id = self._response or None
        for one in map(members, items(chunk.get("choices"))):
            place = one.get("index")
            choice = self._choices.setdefault(place if isinstance(place, int) else 0, Choice())
            delta = members(one.get("delta"))
            if message := members(one.get("message")):
                self.messages.propose("chat.completion", message)
                self.note("chat.completion", FINISHED.get(text(one.get("finish_reason")), "") if message.get("tool_calls") else "")
                continue
            for piece in map(members, items(delta.get("tool_calls"))):
                self._write(choice, piece)
            if function := members(delta.get("function_call")):
                self._write(choice, {"index": 0, "function": function})
            if text(one.get("finish_reason")):
                self._finish(choice, text(one.get("finish_reason")))

    def _write(self, choice: Choice, piece: Event) -> None:
        place, function = piece.get("index"), members(piece.get("function")) or members(piece.get("custom"))
        index, provider_id = place if isinstance(place, int) else len(choice.at), text(piece.get("id"))
        writing = choice.at.get(index)
        another = writing is not None and provider_id and writing.provider_id and provider_id != writing.provider_id
        if writing is None or another:
            writing = choice.at[index] = Writing(provider_id=provider_id, tool="")
            choice.writing.append(writing)
        writing.provider_id = writing.provider_id or provider_id
        if text(function.get("name")) != writing.tool:
            writing.tool += text(function.get("name"))
        writing.add(text(function.get("arguments")) or text(function.get("input")))

    def _finish(self, choice: Choice, why: str) -> None:
        if why not in FINISHED:
            self.note("chat.completion.chunk", f"finish_reason {why!r} is not in the table; the calls are complete as far as it tells")
        for place, writing in enumerate(choice.writing, start=1):
            self.note("chat.completion.chunk", answers.reused(self.calls, writing.provider_id))
            self.calls.propose("chat.completion.chunk", writing.provider_id, writing.tool, writing.text.encode("utf-8", "surrogatepass"))
            doubt = doubts(writing.text)
            self.note("chat.completion.chunk", doubt or (FINISHED.get(why, "") if place == len(choice.writing) else ""))
        choice.writing.clear()
        choice.at.clear()

    def _cut(self, why: str) -> None:
        """End what was being written: arguments that are one whole object are complete, anything else is not proposed."""
        for one in [one for choice in self._choices.values() for one in choice.writing]:
            if one.provider_id and one.is_whole:
                self.calls.propose("chat.completion.chunk cut", one.provider_id, one.tool, one.text.encode("utf-8", "surrogatepass"))
            else:
                self.note("chat.completion.chunk", f"{why}, and {one.tool} {one.provider_id} was still being written: nothing is proposed")
        self._choices.clear()


class MessagesReader(ChatReader):
    """Reads lists of chat messages: one message a line, or objects that hold ``messages``."""
