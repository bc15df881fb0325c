"""Reads AG-UI streams: events in, drafts out.

``TOOL_CALL_END`` ends the arguments, not the call. ``TOOL_CALL_RESULT`` has no field for a failure: an answer is believed only when the run
is over and no snapshot of the messages has said otherwise, and never where it reads like an error, a refusal or a cancellation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwitness.adapters.ag_ui.interrupts import ACTOR, Interrupts, entries_of
from toolwitness.adapters.ag_ui.mapping import ADAPTER, SILENT, VERSION
from toolwitness.core.states import Origin
from toolwitness.reading import endings
from toolwitness.reading.answers import take_error, take_result
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.disguises import error_text
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import Place, exact
from toolwitness.reading.reader import CaptureReader

Event = Mapping[str, Any]
Handler = Callable[[str, Event], None]


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that waits until the run is over: a snapshot may say that it was an error."""

    call: Call
    word: str
    content: Any
    doubt: str
    place: Place


class Reader(CaptureReader):
    """Reads the events of one stream, or of several that follow one another."""

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin with nothing seen."""
        super().__init__(source)
        self._writing: dict[str, Writing] = {}
        self._chunked = ""
        """The call that chunks are about."""
        self._answers: list[_Answer] = []
        self._messages: set[str] = set()
        """The messages that answers came in."""
        self._running = False
        """Whether a run was seen to begin and not to end."""
        self.interrupts = Interrupts(self.calls, self.note)
        self._handlers: dict[str, Handler] = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_ARGS": self._call_args,
            "TOOL_CALL_END": self._call_end,
            "TOOL_CALL_CHUNK": self._call_chunk,
            "TOOL_CALL_RESULT": self._result,
            "MESSAGES_SNAPSHOT": self._snapshot,
            "SUBAGENT_STARTED": self._subagent,
        }

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def chunk(self, chunk: Event) -> None:
        """Map one event, or one input that a client sent between the events."""
        if "type" not in chunk and isinstance(chunk.get("event"), Mapping):
            chunk = members(chunk["event"])
        if "type" not in chunk and isinstance(chunk.get("input"), Mapping):
            self.driver("input", chunk)
            return
        word = text(chunk.get("type"))
        if word not in {"TOOL_CALL_CHUNK", "RAW"}:
            self._end_chunks()
        handler = self._handlers.get(word)
        if handler is not None:
            handler(word, chunk)
        elif word not in SILENT:
            self.note(word, "the table does not have this word")

    def runtime(self, kind: str, event: Any) -> None:
        """Map an event that a recorder wrote as a row."""
        self.chunk({"type": kind.removeprefix("agui:"), **members(event)})

    def driver(self, kind: str, event: Any) -> None:
        """Map what a client did: the input of a run holds its answers, its stop is a request."""
        if kind == "input":
            given = members(event)
            self._take_input("client input", members(given.get("input")) or given, text(given.get("actor")) or ACTOR)
        elif kind in {"stop", "cancel", "abort"}:
            self.calls.request_cancellation("client stop", "the whole run")
        else:
            self.note(f"client {kind}", "the table does not have this act")

    def outcome(self, kind: str, event: Any) -> None:
        """Leave aside how a driver went on: the stream has its own end."""

    def end(self) -> None:
        """End the stream. What was still being written is kept as it is; an end of a stream is no end of a call.

        Where a run was seen to begin and not to end, a snapshot may have been on its way: its answers are not believed.
        """
        if self._running:
            cut = "it was answered, and the stream ended before its run: a snapshot could still have said that the answer was an error"
            self._answers = [replace(answer, doubt=answer.doubt or cut) for answer in self._answers]
        self._settle_run("end")

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run_started(self, word: str, event: Event) -> None:
        self._settle_run(word)
        self.calls.running = self.calls.running and not self.calls.all
        self.calls.begin_run()
        self._running = True
        self.calls.run_id = text(event.get("runId")) or None
        given = members(event.get("input"))
        if given:
            self._take_input(f"{word} input", given, ACTOR)

    def _take_input(self, word: str, given: Event, actor: str) -> None:
        self.interrupts.resume(word, entries_of(given), actor)
        for message in map(members, items(given.get("messages"))):
            if message.get("role") == "tool" and self.calls.known(text(message.get("toolCallId"))):
                self._answer_of(word, self.calls.meant(text(message["toolCallId"])), message)
        self._settle_answers()

    def _run_finished(self, word: str, event: Event) -> None:
        self._settle_run(word)
        self._running = False
        outcome = members(event.get("outcome"))
        kind = text(outcome.get("type")) or "success"
        if kind == "interrupt":
            for interrupt in map(members, items(outcome.get("interrupts"))):
                self.interrupts.ask(f"{word} interrupt", interrupt)
            endings.end_run(self.calls, word)
        elif kind == "cancelled":
            endings.end_run(self.calls, f"{word} cancelled", "the run was cancelled")
        elif kind == "success":
            self._run_succeeded(word, {text(one) for one in items(outcome.get("pendingToolCallIds"))})
        else:
            self.note(f"{word} {kind}", "the table does not have this outcome of a run")
            endings.end_run(self.calls, word)

    def _run_succeeded(self, word: str, pending: set[str]) -> None:
        """End a run that succeeded: refused calls are closed, and those without an answer have lost their waiter."""
        for call in self.calls.all:
            self.interrupts.close_refused(word, call)
        for call in self.calls.live():
            left = "the run finished and left this call to the application"
            why = left if call.provider_id in pending else "the run finished without an answer to this call"
            self.note(word, f"the run finished while {call.provider_id} is open")
            endings.release(self.calls, call, word, why)
        endings.end_run(self.calls, word)

    def _run_error(self, word: str, event: Event) -> None:
        self._settle_run(word)
        self._running = False
        aborted = text(event.get("code")) == "abort"
        if any(call.run == self.calls.run and call.ended for call in self.calls.all):
            self.note(word, "the run ended by an error after calls of it had ended: what they did stands")
        for call in self.calls.live():
            if aborted:
                reason = "the run is reported as aborted, perhaps by the client itself"
                endings.release(self.calls, call, f"{word} abort", reason, origin=Origin.SYNTHESIZED)
            else:
                endings.release(self.calls, call, word, "the run ended by an error")
        endings.end_run(self.calls, word)

    def _settle_run(self, word: str) -> None:
        self._end_chunks()
        for key in list(self._writing):
            self.note(word, f"{key}: {doubts(self._writing[key].text)}" if doubts(self._writing[key].text) else "")
            self._announce("TOOL_CALL_START", key)
        self._settle_answers()

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _call_start(self, word: str, event: Event) -> None:
        key = text(event.get("toolCallId"))
        if not key:
            self.note(word, "it names no call")
            return
        if key in self._writing:
            if not self._writing[key].text:
                self.note(word, f"{key} has just begun: the same word again")
                return
            self.note(word, f"{key} is being written already: what was written is a call of its own")
            self._announce(word, key)
        self.calls.begin_run()
        self._writing[key] = Writing(provider_id=key, tool=text(event.get("toolCallName")))

    def _call_args(self, word: str, event: Event) -> None:
        key = text(event.get("toolCallId"))
        if key in self._writing:
            self._writing[key].add(text(event.get("delta")))
        else:
            self.note(word, f"nobody was seen to begin {key or 'it'}")

    def _call_end(self, word: str, event: Event) -> None:
        key = text(event.get("toolCallId"))
        if key in self._writing:
            self.note(word, doubts(self._writing[key].text))
            self._announce(word, key)
        else:
            self.note(word, f"nobody was seen to begin {key or 'it'}")

    def _call_chunk(self, word: str, event: Event) -> None:
        """Read a chunk: the first of a call names it, the next may leave that out."""
        key = text(event.get("toolCallId")) or self._chunked
        if not key:
            self.note(word, "it names no call")
            return
        if key != self._chunked:
            self._end_chunks()
            self._call_start(word, {**event, "toolCallId": key})
            self._chunked = key
        self._writing[key].add(text(event.get("delta")))

    def _end_chunks(self) -> None:
        if self._chunked:
            key, self._chunked = self._chunked, ""
            self._call_end("TOOL_CALL_CHUNK", {"toolCallId": key})

    def _announce(self, word: str, key: str) -> None:
        """Propose the call that was written, unless it is one that is open: a resumed run says its calls again."""
        writing = self._writing.pop(key)
        args = exact(writing.text)
        self._settle_answers(key)
        known = self.calls.known(key)
        last = known[-1] if known else None
        if last is not None and not last.proposal and last.run == self.calls.run:
            self.calls.propose(word, key, writing.tool, args, answered=last)
        elif last is not None and not last.over and last.run < self.calls.run and (last.tool, last.args) == (writing.tool, args):
            self.note(word, f"{key} was announced before, with the same arguments: they are not added to one another")
        else:
            if last is not None and last.over and not last.well:
                last.wants_retry = True
                self.calls.turn_to_tools()
            self.calls.propose(word, key, writing.tool, args)

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _result(self, word: str, event: Event) -> None:
        key = text(event.get("toolCallId"))
        if not key:
            self.note(word, "it names no call")
            return
        self.calls.begin_run()
        if key in self._writing:
            self.note(word, f"{key} is answered while it is being written")
            self._announce("TOOL_CALL_START", key)
        self.calls.turn_to_tools()
        call = self._unanswered(key)
        content, message = event.get("content"), text(event.get("messageId"))
        if call.over and message and message in self._messages:
            self.note(word, f"message {message} again")
            return
        self._messages.add(message)
        if self.interrupts.close_refused(word, call):
            self.note(word, "the answer to a call that was refused: it is kept in the row, and is no result")
            return
        if not call.over:
            call.run = self.calls.run
        unknown = "it carries an error, in a field that the protocol does not have" if event.get("error") else ""
        self._answers.append(_Answer(call, word, content, self._doubt(call, content, unknown), self.pen.place))

    def _unanswered(self, key: str) -> Call:
        """Give the call that an answer is about: the oldest that has none yet, else the one that any word with this id is about."""
        answered = [answer.call for answer in self._answers]
        open_calls = [call for call in self.calls.known(key) if not call.over and call not in answered]
        return open_calls[0] if open_calls else self.calls.meant(key)

    def _doubt(self, call: Call, content: Any, why: str = "") -> str:
        reads = error_text(content)
        return why or self.interrupts.doubt_about(call) or (f"the answer reads like an error or a refusal ({reads})" if reads else "")

    def _snapshot(self, word: str, event: Event) -> None:
        """Read the messages for what the stream did not carry; the arguments of a call that it did carry are not read again."""
        for message in map(members, items(event.get("messages"))):
            for told in map(members, items(message.get("toolCalls"))):
                self._told_call(word, told)
            key = text(message.get("toolCallId"))
            if message.get("role") == "tool" and key:
                self._answer_of(word, self.calls.meant(key), message)

    def _told_call(self, word: str, told: Event) -> None:
        key, function = text(told.get("id")), members(told.get("function"))
        if key and key not in self._writing and not self.calls.known(key):
            self.calls.begin_run()
            arguments = text(function.get("arguments"))
            self.note(word, doubts(arguments))
            self.calls.propose(word, key, text(function.get("name")), exact(arguments))

    def _answer_of(self, word: str, call: Call, message: Event) -> None:
        """Read a tool message: its error is the only failure that the protocol types."""
        content, error = message.get("content"), message.get("error")
        mine = [answer for answer in self._answers if answer.call is call]
        if error:
            self._answers = [answer for answer in self._answers if answer.call is not call]
            if not self.interrupts.close_refused("TOOL_CALL_RESULT", call):
                self.note(word, self._take_error(word, call, error))
        elif not mine and not call.over:
            self._answers.append(_Answer(call, word, content, self._doubt(call, content), self.pen.place))

    def _take_error(self, word: str, call: Call, error: Any) -> str:
        if why := self.interrupts.doubt_about(call):
            endings.doubt(self.calls, call, f"{word} doubted", why)
            return ""
        return take_error(self.calls, call, word, error, failed_word=f"{word} error")

    def _settle_answers(self, key: str = "") -> None:
        """Take the answers that waited, of one call or of all: nothing has said that they were errors."""
        waiting: Sequence[_Answer] = self._answers
        self._answers = [answer for answer in waiting if key and answer.call.provider_id != key]
        here = self.pen.place
        for answer in (one for one in waiting if not key or one.call.provider_id == key):
            self.pen.place = answer.place
            if answer.word == "TOOL_CALL_RESULT":
                endings.run_again(self.calls, answer.call, f"{answer.word} again")
            if answer.doubt:
                endings.doubt(self.calls, answer.call, f"{answer.word} doubted", answer.doubt)
            else:
                self.note(answer.word, take_result(self.calls, answer.call, answer.word, answer.content))
        self.pen.place = here

    # ── inside a call ───────────────────────────────────────────────────────────────────────────────────────────────

    def _subagent(self, word: str, event: Event) -> None:
        """Record a start, once: a run inside the call has begun."""
        call = self.calls.current(text(event.get("parentToolCallId")))
        if call is None:
            self.note(word, "a subagent that is inside no call that was seen")
        elif not call.begun and not call.over:
            endings.start(self.calls, call, word)
            call.begun = True
