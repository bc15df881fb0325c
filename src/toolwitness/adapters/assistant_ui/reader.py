"""Reads assistant-ui's streams: the data stream (``{"code", "value"}``) and the transport (events with a path); drafts out.

A part's own status is never read: it is the message's, or made up. What counts is a result, a preliminary result and an approval gate.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolwitness.adapters.assistant_ui.gates import Gates
from toolwitness.adapters.assistant_ui.mapping import ADAPTER, PARTS, SILENT, VERSION
from toolwitness.adapters.assistant_ui.messages import Stored
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.answers import take_error, take_result
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import Place, exact
from toolwitness.reading.reader import CaptureReader

Value = Mapping[str, Any]
Handler = Callable[[str, str, Value], None]
"""Takes the word, the key of the call and the chunk's members."""


class Reader(CaptureReader):
    """Reads the chunks of one stream in either encoding.

    A call is found by a key: its id in the data stream, the path of its part in the transport.
    """

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin with nothing seen."""
        super().__init__(source)
        self._writing: dict[str, Writing] = {}
        self._proposed: dict[str, Call] = {}
        """By key: the latest call that was proposed under it."""
        self._parts: dict[tuple[int, ...], int] = {}
        """By path: how many parts have begun there."""
        self._parked: dict[str, list[tuple[str, Value, Place]]] = {}
        """By key: results of calls that nobody was seen to begin, each with its word and its row."""
        self.gates = Gates(self.calls, self.note)
        self._stored = Stored(self.calls, self.gates, self.note)
        self._of_calls: dict[str, Handler] = {
            "b": self._begin, "c": self._more, "9": self._whole, "a": self._result, "aui-tool-call-approval": self._approval,
            "text-delta": self._more, "tool-call-args-text-finish": self._written, "part-finish": self._written,
            "result": self._result, "tool-call-approval": self._approval,
        }  # fmt: skip  # pairs in lines
        self._of_the_run: dict[str, Callable[[str, Any], None]] = {
            "f": self._step, "step-start": self._step, "e": self._step, "step-finish": self._step, "d": self._finish,
            "message-finish": self._finish, "3": self._error, "error": self._error,
        }  # fmt: skip  # pairs in lines

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def chunk(self, chunk: Value) -> None:
        """Map one chunk of either encoding; a whole message among them is read as a stored one."""
        if "code" not in chunk and "type" not in chunk and any(name in chunk for name in ("content", "message", "messages")):
            self._stored.read(chunk)
            return
        if "code" in chunk:
            word, value = text(chunk["code"]), chunk.get("value")
            key = text(members(value).get("toolCallId"))
        else:
            word, value = text(chunk.get("type")), chunk
            key = _path(chunk)
        if word == "part-start":
            self._part_start(word, chunk)
        elif word in self._of_calls:
            self._about_a_call(word, key, members(value))
        elif word in self._of_the_run:
            self._of_the_run[word](word, value)
        elif word not in SILENT:
            self.note(word, "the table does not have this word")

    def runtime(self, kind: str, event: Any) -> None:
        """Map a chunk that a recorder wrote as a row."""
        self.chunk(members(event))

    def driver(self, kind: str, event: Any) -> None:
        """Map what a client did: its stop is a request."""
        if kind in {"stop", "cancel", "abort"}:
            self.calls.request_cancellation("client stop", "the whole run")
        else:
            self.note(f"client {kind}", "the table does not have this act")

    def outcome(self, kind: str, event: Any) -> None:
        """Leave aside how a driver went on: the stream has its own end."""

    def end(self) -> None:
        """End the stream. What was still being written is kept as it is; an end of a stream is no end of a call."""
        self._give_up_writing()
        for key, waiting in self._parked.items():
            for word, _, place in waiting:
                self.note(word, f"a result (row {place.seq}) for {key}, which nobody was seen to begin: it is reported, not believed")

    def _about_a_call(self, word: str, key: str, value: Value) -> None:
        known = key in self._writing or key in self._proposed
        if known or word in {"b", "9", "a"}:
            if not key:
                self.note(word, "it names no call")
                return
            self._of_calls[word](word, key, value)
        elif word == "result":
            self.note(word, "a result that names no part that was seen to begin: it is reported, not believed")
        elif word not in {"text-delta", "part-finish"}:  # which may be about text
            self.note(word, f"nobody was seen to begin {key or 'it'}")

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _part_start(self, word: str, chunk: Value) -> None:
        """Count the parts, since a path is a count, and begin a call where the part is one."""
        parent = tuple(one for one in items(chunk.get("path")) if isinstance(one, int))
        number = self._parts[parent] = self._parts.get(parent, -1) + 1
        part = members(chunk.get("part"))
        kind = text(part.get("type"))
        if kind == "tool-call":
            self._begin(word, _key((*parent, number)), part)
        elif kind not in PARTS:
            self.note(f"{word} {kind}", "the table does not have this part")

    def _begin(self, word: str, key: str, value: Value) -> None:
        """Begin a call: another one, where its id or its place was used before and something was written."""
        if key in self._writing:
            if not self._writing[key].text:
                self.note(word, f"{key} has just begun: the same word again")
                return
            self._propose(word, key)
        self._proposed.pop(key, None)
        self.calls.begin_run()
        self._writing[key] = Writing(provider_id=text(value.get("toolCallId")), tool=text(value.get("toolName")))

    def _whole(self, word: str, key: str, value: Value) -> None:
        self._begin(word, key, value)
        args = value.get("args")
        self._writing[key].text = "" if args is None else exact(args).decode("utf-8", "surrogatepass")
        self._propose(word, key)

    def _more(self, word: str, key: str, value: Value) -> None:
        """Take the next piece of arguments; a whole object is complete, whatever the stream says or leaves out."""
        piece = text(value.get("argsTextDelta")) + text(value.get("textDelta"))
        writing = self._writing.get(key)
        if writing is None:
            self.note(word, f"the arguments of {key} go on after they were complete" if piece.strip() else "")
            return
        writing.add(piece)
        if writing.is_whole or value.get("isFinal") is True:
            self._propose(word, key)

    def _written(self, word: str, key: str, value: Value) -> None:
        if key in self._writing:
            self._propose(word, key)

    def _propose(self, word: str, key: str) -> Call:
        writing = self._writing.pop(key)
        self.note(word, doubts(writing.text))
        known = self.calls.known(writing.provider_id)
        if known and known[-1].over and not known[-1].well:
            known[-1].wants_retry = True
            self.calls.turn_to_tools()
        call = self._proposed[key] = self.calls.propose(word, writing.provider_id, writing.tool, exact(writing.text))
        self._unpark(key)
        return call

    def _unpark(self, key: str) -> None:
        """Record the results that came before the call, each in its own row."""
        here = self.pen.place
        for word, answer, place in self._parked.pop(key, ()):
            self.pen.place = place
            self._result(word, key, answer)
        self.pen.place = here

    def _give_up_writing(self) -> None:
        for key in list(self._writing):
            self._propose("part-start" if key.startswith("[") else "b", key)

    def _call(self, word: str, key: str) -> Call:
        """Give the call of a key; one that is still being written is proposed as far as it came."""
        begun = {"a": "b", "aui-tool-call-approval": "b"}.get(word, "part-start")
        return self._propose(begun, key) if key in self._writing else self._proposed[key]

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _result(self, word: str, key: str, value: Value) -> None:
        """Record a result; a preliminary one ends nothing, and one of a call that nobody was seen to begin waits for its beginning."""
        if key not in self._writing and key not in self._proposed:
            self._parked.setdefault(key, []).append((word, value, self.pen.place))
            return
        call, content = self._call(word, key), value.get("result")
        self.calls.turn_to_tools()
        if value.get("isPreliminary") is True:
            call.steps += 1
            self.pen.write(
                Kind.OUTPUT, f"{word} preliminary", call.invocation_id, attempt=call.attempt,
                data={"order": call.steps}, values={"output": exact(content)},
            )  # fmt: skip  # facts in lines
        elif self.gates.was_refused(call):
            self.note(word, "the denial comes again as an error")
        elif value.get("isError") is True and call.awaits_approval and not call.over:
            why = "an error for a call whose approval nobody was seen to answer: it may have been refused, or run and failed"
            endings.doubt(self.calls, call, f"{word} doubted", why)
        elif value.get("isError") is True:
            self.note(word, take_error(self.calls, call, word, content, failed_word=f"{word} error"))
        else:
            self.gates.show_granted(word, call)
            self.note(word, take_result(self.calls, call, word, content))

    def _approval(self, word: str, key: str, value: Value) -> None:
        self.gates.stand(word, self._call(word, key), members(value.get("approval")))

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _step(self, word: str, value: Any) -> None:
        if word in {"e", "step-finish"}:
            self._give_up_writing()
        else:
            self.calls.begin_run()
        self.calls.turn_to_tools()

    def _finish(self, word: str, value: Any) -> None:
        self._give_up_writing()
        reason = text(members(value).get("finishReason")) or "no reason given"
        endings.end_run(self.calls, word, f"the message finished ({reason}) without a result for this call")

    def _error(self, word: str, value: Any) -> None:
        if members(value).get("severity") in ("warning", "info"):
            return
        self._give_up_writing()
        endings.end_run(self.calls, word, "the stream reported an error")


def _path(chunk: Value) -> str:
    path = tuple(one for one in items(chunk.get("path")) if isinstance(one, int))
    return _key(path) if path else ""


def _key(path: tuple[int, ...]) -> str:
    """Give a path as a key; no id of a call in the data stream can be taken for one, since each stream has one encoding."""
    return f"[{', '.join(map(str, path))}]"
