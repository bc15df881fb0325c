"""Reads Anthropic's Messages wire: the events of its stream, whole messages, and the results that an application sends back."""

import json
from collections.abc import Mapping
from typing import Any

from toolwitness.adapters.anthropic_api.mapping import ADAPTER, CALLS, SERVER_RESULTS, SILENT_BLOCKS, SILENT_DELTAS, STOPPED, VERSION
from toolwitness.reading import answers, endings
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pairing import Pairing
from toolwitness.reading.pen import exact
from toolwitness.reading.reader import CaptureReader, Unmapped

Event = Mapping[str, Any]


class Reader(CaptureReader):
    """Maps one capture of the Messages wire, in order, to drafts. Kept for one capture and thrown away."""

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self._pairing = Pairing(self.calls)
        self._writing: dict[int, Writing] = {}
        """By index: the call that the model has begun and not finished."""
        self._begun: dict[int, Any] = {}
        """By index: the input that came with a block's beginning."""

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the provider sent."""
        self._take(kind, members(event))

    def driver(self, kind: str, event: Any) -> None:
        """Map what the application sent back."""
        if text(members(event).get("type")) or text(members(event).get("role")) or items(members(event).get("messages")):
            self._take(kind, members(event))
        else:
            self.note(kind, "an act outside the wire")

    def outcome(self, kind: str, event: Any) -> None:
        """Map what the application sent back, where it stands there."""
        if text(members(event).get("type")) or text(members(event).get("role")):
            self._take(kind, members(event))

    def chunk(self, chunk: Event) -> None:
        """Map one object of a plain stream."""
        self._take(text(chunk.get("type")), chunk)

    def end(self) -> None:
        """Pair what was sent back, and report what was still being written."""
        self._settle()
        self._cut("the stream ends")

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, kind: str, event: Event) -> None:
        name, place = text(event.get("type")) or kind, event.get("index")
        index = place if isinstance(place, int) else -1
        if name == "message_start":
            self._begin(text(members(event.get("message")).get("id")))
        elif name == "content_block_start":
            self._start(index, members(event.get("content_block")))
        elif name == "content_block_delta":
            self._delta(index, members(event.get("delta")))
        elif name == "content_block_stop":
            self._stop(index)
        elif name == "message_delta":
            why = text(members(event.get("delta")).get("stop_reason"))
            self.note("message_delta", STOPPED.get(why, f"stop_reason {why!r} is not in the table") if why else "")
        elif name == "message_stop":
            self._cut("the message is over")
        elif name == "error":
            self._cut("the stream failed")
        elif items(event.get("messages")):
            for message in map(members, items(event.get("messages"))):
                self._message(message)
        elif text(event.get("role")):
            self._message(event)
        elif name != "ping":
            self._block("tool_result", event)

    def _begin(self, message_id: str) -> None:
        self._settle()
        self._cut("another message begins")
        self.calls.turn_to_tools()
        self.calls.run_id = message_id or None

    def _start(self, index: int, block: Event) -> None:
        if text(block.get("type")) not in CALLS:
            self._block("server result", block)
            return
        self._writing[index] = Writing(provider_id=text(block.get("id")), tool=text(block.get("name")))
        self._begun[index] = block.get("input")

    def _delta(self, index: int, delta: Event) -> None:
        name, writing = text(delta.get("type")), self._writing.get(index)
        if name == "input_json_delta":
            if writing is not None:
                writing.add(text(delta.get("partial_json")))
            else:
                self.note("content_block_delta", "a piece of an input whose block nothing has begun")
        elif name not in SILENT_DELTAS:
            self.note("content_block_delta", f"{name!r}: the table does not have this delta")

    def _stop(self, index: int) -> None:
        writing = self._writing.pop(index, None)
        begun = self._begun.pop(index, None)
        if writing is None:
            return
        self._propose("content_block_stop", writing.provider_id, writing.tool, writing.text or begun)

    def _propose(self, word: str, provider_id: str, tool: str, inputs: Any) -> None:
        if self.calls.known(provider_id):
            self.note(word, f"provider-id-reused:{provider_id}: the id of an earlier call; this one is a call of its own")
        written = exact({} if inputs is None or inputs == "" else inputs)
        self.calls.propose(word, provider_id, tool, written)
        self.note(word, doubts(written.decode("utf-8", "replace")))

    def _cut(self, why: str) -> None:
        """End what was being written: an input that is one whole object is complete, anything else is not proposed."""
        for one in self._writing.values():
            if one.provider_id and one.is_whole:
                self.calls.propose("content_block_start cut", one.provider_id, one.tool, exact(one.text))
            else:
                self.note("content_block_start", f"{why}, and {one.tool} {one.provider_id} was still being written: nothing is proposed")
        self._writing.clear()
        self._begun.clear()

    def _settle(self) -> None:
        for one in self._pairing.settle():
            self.unmapped.append(Unmapped(one.row, one.word, one.why))

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _message(self, message: Event) -> None:
        """Take a whole message."""
        role = text(message.get("role"))
        if role == "assistant":
            self._begin(text(message.get("id")))
        elif role not in {"user", "system"}:
            self.note(role, "the table does not have this role")
        for block in map(members, items(message.get("content"))):
            if text(block.get("type")) in CALLS and role == "assistant":
                self._propose("assistant", text(block.get("id")), text(block.get("name")), block.get("input"))
            else:
                self._block("tool_result", block)
        if role == "assistant":
            why = text(message.get("stop_reason"))
            self.note("assistant", STOPPED.get(why, ""))

    def _block(self, kind: str, block: Event) -> None:
        """Take a result, or say why a block says nothing."""
        name = text(block.get("type"))
        if name == "tool_result":
            content, failed = _plain(block.get("content")), block.get("is_error") is True
            self._pairing.give(
                "tool_result", text(block.get("tool_use_id")), lambda call: self._back(call, content, failed), _shown(content)
            )
        elif name in SERVER_RESULTS:
            call = self.calls.meant(text(block.get("tool_use_id")))
            if call.over:
                return
            self._served(call, block)
        elif name not in SILENT_BLOCKS:
            self.note(name or kind, "the table does not have this block")

    def _back(self, call: Call, content: Any, failed: bool) -> str:  # noqa: FBT001 -- the wire's own word
        if failed:
            return answers.take_error(self.calls, call, "tool_result is_error", content)
        return answers.take_result(self.calls, call, "tool_result", content)

    def _served(self, call: Call, block: Event) -> None:
        """Record the result of a tool that the provider ran."""
        content = block.get("content")
        code = text(members(content).get("error_code"))
        self.calls.turn_to_tools()
        if code:
            endings.fail(self.calls, call, "server result", "tool-error", content, detail=f"The provider reports {code}.")
        elif block.get("is_error") is True:
            answers.take_error(self.calls, call, "server result", _plain(content))
        else:
            endings.succeed(self.calls, call, "server result", _plain(content), executed="by the provider")


def _plain(content: Any) -> Any:
    """Give the text of a content that is one block of text, and any other content as it is."""
    blocks = [members(block) for block in items(content)]
    if len(blocks) == 1 and blocks[0].get("type") == "text" and isinstance(blocks[0].get("text"), str):
        return blocks[0]["text"]
    return content


def _shown(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
