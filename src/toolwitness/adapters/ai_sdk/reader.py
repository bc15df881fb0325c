"""Reads the UI message stream of the AI SDK, versions 6 and 7: chunks in, drafts out.

The package's own reducer has no guards: a late error overwrites a result, an abort changes nothing, a second attempt under the same id
hides the first. Here every end stays, and what comes after it is kept beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.adapters.ai_sdk.approvals import Approvals
from toolwitness.adapters.ai_sdk.mapping import ADAPTER, SILENT, VERSION
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.answers import take_error, take_result
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import members, text
from toolwitness.reading.pen import exact
from toolwitness.reading.reader import CaptureReader

Chunk = Mapping[str, Any]
Handler = Callable[[str, Chunk], None]


@dataclass(frozen=True, slots=True)
class _Announced:
    """Where a call was announced: the count of steps then, and the input as it came."""

    step: int
    args: bytes


_NOWHERE: Final = _Announced(-1, b"")


class Reader(CaptureReader):
    """Reads the chunks of one stream, or of several that follow one another."""

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin with nothing seen."""
        super().__init__(source)
        self._step = 0
        self._writing: dict[str, Writing] = {}
        self._as_text: set[str] = set()
        """Calls whose input is declared to be a text and no JSON."""
        self._announced: dict[str, _Announced] = {}
        """By invocation."""
        self._answered_in: dict[str, int] = {}
        """The step in which a call was answered that nobody was seen to propose."""
        self.approvals = Approvals(self.calls, self.note)
        self._handlers: dict[str, Handler] = {
            "start": self._start,
            "start-step": self._start_step,
            "finish-step": self._finish_step,
            "reset-step": self._reset_step,
            "finish": self._finish,
            "abort": self._abort,
            "error": self._error,
            "tool-input-start": self._input_start,
            "tool-input-delta": self._input_delta,
            "tool-input-available": self._input_available,
            "tool-input-error": self._input_error,
            "tool-approval-request": self._approval_request,
            "tool-approval-response": self._approval_response,
            "tool-output-available": self._output,
            "tool-output-error": self._output_error,
            "tool-output-denied": self._output_denied,
        }

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def chunk(self, chunk: Chunk) -> None:
        """Map one chunk, or one act of a client that stands between the chunks."""
        if "type" not in chunk and isinstance(chunk.get("chunk"), Mapping):
            chunk = members(chunk["chunk"])
        if "type" not in chunk and chunk.get("ui"):
            self.driver(text(chunk["ui"]), chunk)
            return
        word = text(chunk.get("type"))
        handler = self._handlers.get(word)
        if handler is not None:
            if word.startswith("tool-") and word != "tool-approval-response" and not text(chunk.get("toolCallId")):
                self.note(word, "it names no call")
                return
            handler(word, chunk)
        elif word not in SILENT and not word.startswith("data-"):
            self.note(word, "the table does not have this word")

    def runtime(self, kind: str, event: Any) -> None:
        """Map a chunk that a recorder wrote as a row."""
        self.chunk({"type": kind, **members(event)})

    def driver(self, kind: str, event: Any) -> None:
        """Map what a client did: its answer to an approval is a decision it submits, its stop a request."""
        if kind == "respond":
            self.approvals.respond("client respond", members(event))
        elif kind in {"stop", "cancel", "abort"}:
            self.calls.request_cancellation("client stop", "the whole run")
        else:
            self.note(f"client {kind}", "the table does not have this act")

    def outcome(self, kind: str, event: Any) -> None:
        """Leave aside how a driver went on: the stream has its own end."""

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, word: str, chunk: Chunk) -> None:
        """Begin a message; one that was cut before says nothing about its calls."""
        self._give_up_writing(word)
        self.calls.running = self.calls.running and not self.calls.all
        self.calls.begin_run()
        self._step += 1

    def _start_step(self, word: str, chunk: Chunk) -> None:
        self.calls.begin_run()
        self.calls.turn_to_tools()
        self._step += 1

    def _finish_step(self, word: str, chunk: Chunk) -> None:
        self._give_up_writing(word)
        self.calls.turn_to_tools()

    def _reset_step(self, word: str, chunk: Chunk) -> None:
        """Note that the step is made again: its parts are gone from the screen, which says nothing about a body."""
        for call in self.calls.live():
            if self._announced.get(call.invocation_id, _NOWHERE).step == self._step:
                endings.release(self.calls, call, word, "the step was reset and its parts were removed")
        self._writing.clear()
        self.calls.turn_to_tools()
        self._step += 1

    def _finish(self, word: str, chunk: Chunk) -> None:
        self._give_up_writing(word)
        if not self.calls.awaiting_approval():
            endings.leave_refused(self.calls, word)
        reason = text(chunk.get("finishReason")) or "no reason given"
        endings.end_run(self.calls, word, f"the response finished ({reason}) without a result for this call")

    def _abort(self, word: str, chunk: Chunk) -> None:
        self._give_up_writing(word)
        endings.end_run(self.calls, word, f"the run was aborted ({text(chunk.get('reason')) or 'no reason given'})")

    def _error(self, word: str, chunk: Chunk) -> None:
        self._give_up_writing(word)
        endings.end_run(self.calls, word, "the run ended by an error")

    def end(self) -> None:
        """End the stream. What was still being written is kept as it is; an end of a stream is no end of a call."""
        self._give_up_writing("end")

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _input_start(self, word: str, chunk: Chunk) -> None:
        key = text(chunk["toolCallId"])
        if key in self._writing:
            self.note(word, f"{key} is being written already; it begins anew")
        if chunk.get("inputEncoding") == "text":
            self._as_text.add(key)
        self.calls.begin_run()
        self._writing[key] = Writing(provider_id=key, tool=text(chunk.get("toolName")))

    def _input_delta(self, word: str, chunk: Chunk) -> None:
        key = text(chunk["toolCallId"])
        if key in self._writing:
            self._writing[key].add(text(chunk.get("inputTextDelta")))
        else:
            self.note(word, f"nobody was seen to begin {key}")

    def _input_available(self, word: str, chunk: Chunk) -> None:
        self.calls.begin_run()
        self._announce(word, chunk)

    def _input_error(self, word: str, chunk: Chunk) -> None:
        """Record a proposal whose input was refused. It goes back to the model; version 6 repeats it as an output error."""
        self.calls.begin_run()
        call = self._announce(word, chunk)
        if call is not None and not call.refused:
            self.calls.refuse_inputs(word, call, text(chunk.get("errorText")) or "the input was refused")

    def _announce(self, word: str, chunk: Chunk) -> Call | None:
        """Propose the call, unless it is one that was announced before; ``None`` where it is and has ended.

        Whatever the model was seen to begin anew is another call, also under the same id in one response: the framework runs both.
        """
        key = text(chunk["toolCallId"])
        written = self._writing.pop(key, None)
        draft = written or Writing(provider_id=key, tool="")
        args = draft.bytes_for(chunk["input"]) if "input" in chunk else exact(draft.text)
        if "input" in chunk and not isinstance(chunk["input"], Mapping) and key not in self._as_text:
            self.note(word, doubts(args.decode("utf-8", "replace")))
        tool = text(chunk.get("toolName")) or draft.tool
        known = self.calls.known(key)
        if not known:
            return self._propose(word, key, tool, args)
        last = known[-1]
        there = self._announced.get(last.invocation_id)
        if there is None:
            same_step = self._step == self._answered_in.get(last.invocation_id)
            return self._propose(word, key, tool, args, answered=last if same_step else None)
        here = there.step == self._step
        if there.args == args and not last.over and (last.waits_for == "approval" if not here else written is None):
            self.note(word, f"{key} was announced before, with the same input")
            return last
        if there.args == args and here and written is None:
            self.note(word, f"{key} was announced before and has ended; that stands")
            return None
        return self._again(word, key, tool, args, last)

    def _again(self, word: str, key: str, tool: str, args: bytes, last: Call) -> Call:
        """Propose another call under an id that was used before; after an end that was no success it is another attempt."""
        if last.over and not last.refused and not last.well:
            last.wants_retry = True
            self.calls.turn_to_tools()
        return self._propose(word, key, tool, args)

    def _propose(self, word: str, key: str, tool: str, args: bytes, answered: Call | None = None) -> Call:
        call = self.calls.propose(word, key, tool, args, answered=answered)
        self._announced[call.invocation_id] = _Announced(self._step, args)
        return call

    def _give_up_writing(self, word: str) -> None:
        """Propose what was being written when the model was stopped, with the arguments as far as they came."""
        for key, writing in list(self._writing.items()):
            del self._writing[key]
            self.note(word, doubts(writing.text) if key not in self._as_text else "")
            self.calls.begin_run()
            known = self.calls.known(key)
            if known and not known[-1].over and self._announced.get(known[-1].invocation_id) == _Announced(self._step, exact(writing.text)):
                continue
            self._propose("tool-input-start", key, writing.tool, exact(writing.text))

    # ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _approval_request(self, word: str, chunk: Chunk) -> None:
        self.approvals.ask(word, chunk, self._meant(text(chunk["toolCallId"])))

    def _approval_response(self, word: str, chunk: Chunk) -> None:
        self.approvals.answered_by_policy(word, chunk)

    def _output_denied(self, word: str, chunk: Chunk) -> None:
        self.approvals.close_denied(word, self.calls.current(text(chunk["toolCallId"])))

    # ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _output(self, word: str, chunk: Chunk) -> None:
        """Record a result; a preliminary one proves that the body is at work, and ends nothing."""
        call = self._meant_by_an_end(chunk)
        if chunk.get("preliminary") is True:
            call.steps += 1
            self.pen.write(
                Kind.OUTPUT, f"{word} preliminary", call.invocation_id, attempt=call.attempt,
                data={"order": call.steps}, values={"output": exact(chunk.get("output"))},
            )  # fmt: skip  # facts in lines
            return
        self.approvals.show_granted(word, call)
        endings.run_again(self.calls, call, f"{word} again")
        self.note(word, take_result(self.calls, call, word, chunk.get("output")))

    def _output_error(self, word: str, chunk: Chunk) -> None:
        """Record an error, unless it repeats that the input was refused, or says in its own way that the approval was denied."""
        call = self._meant_by_an_end(chunk)
        content = chunk.get("errorText")
        if call.refused and not call.ended:
            return
        if call.answer == "denied" and not call.ended:
            self.note(word, f"a denial is reported as an error: {text(content)[:200]}")
            self.approvals.close_denied(f"{word} denied", call)
        elif call.awaits_approval and not call.ended:
            why = "an error for a call whose approval nobody was seen to answer: it may have been refused, or run and failed"
            endings.doubt(self.calls, call, f"{word} doubted", why)
        else:
            endings.run_again(self.calls, call, f"{word} again")
            self.note(word, take_error(self.calls, call, word, content))

    def _meant_by_an_end(self, chunk: Chunk) -> Call:
        """Give the call that has ended; one that nobody was seen to propose is taken as it comes: a resumed run begins with its results."""
        self.calls.begin_run()
        call = self._meant(text(chunk["toolCallId"]))
        if not call.proposal:
            self._answered_in.setdefault(call.invocation_id, self._step)
        return call

    def _meant(self, key: str) -> Call:
        """Give the call that a word with this id is about: one of this step before one of an earlier step."""
        for call in self.calls.known(key):
            if not call.over and self._announced.get(call.invocation_id, _NOWHERE).step == self._step:
                return call
        return self.calls.meant(key)
