"""The framework's two streams for user interfaces: AG-UI, and the one for the Vercel AI SDK. Both say less than its own events.

AG-UI has one word for every result; its outcome follows in a REASONING_ENCRYPTED_VALUE, or not at all from a version that has none. The
Vercel stream writes a cancelled call with the word for success. Neither says when a body started.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from toolwitness.adapters.pydantic_ai import mapping
from toolwitness.adapters.pydantic_ai.native import Event, Handler, nothing
from toolwitness.adapters.pydantic_ai.results import Result, take_result
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import Place, exact


@dataclass(slots=True)
class Stream:
    """What a stream has begun and not finished."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """Tool names by call id, of calls whose arguments are still being written."""
    args: dict[str, str] = field(default_factory=dict[str, str])
    waiting: tuple[str, Result] | None = None
    """A result whose outcome the next row may tell, with its message id."""
    waiting_row: Place = field(default_factory=Place)
    """The row that the waiting result came in."""
    marks: str = "unknown"
    """``yes`` once the stream has shown that it marks outcomes other than success."""
    unclear: list[str] = field(default_factory=list[str])
    """Why a word of the present row was not read."""


def _key(event: Event) -> str:
    return text(event.get("toolCallId"))


def answered_later(calls: Calls, call: Call, result: Result) -> None:
    """Take up a call that a later run answers: after an approval it was run; without one, its result was given from outside."""
    made_up = result.text in {mapping.INTERRUPTED, mapping.BROKEN_OFF}
    if call.run == calls.run or made_up or result.outcome in {"denied", "interrupted"}:
        return
    if call.waits_for == "approval":
        calls.take_up(f"{result.word} resumed", call)
    elif not call.ended:
        calls.settle_outside(call)


# ── AG-UI ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class AgUi:
    """Reads ``agui:`` rows. A result waits for the next row, which may tell its outcome."""

    def __init__(self, calls: Calls) -> None:
        """Begin with nothing seen."""
        self.calls = calls
        self.stream = Stream()

    def handlers(self) -> Mapping[str, Handler]:
        """Give the handlers by the name after ``agui:``."""
        said: dict[str, Handler] = {
            "RUN_STARTED": self._run_started,
            "TOOL_CALL_START": self._start,
            "TOOL_CALL_ARGS": self._more,
            "TOOL_CALL_END": self._end,
            "TOOL_CALL_RESULT": self._result,
            "REASONING_ENCRYPTED_VALUE": self._mark,
            "RUN_FINISHED": self._finished,
            "RUN_ERROR": self._error,
        }
        silent = [word.word.removeprefix("agui:") for word in mapping.AGUI if not word.says]
        return {**{name: nothing for name in silent if " " not in name and name != "CUSTOM"}, **said}

    def settle(self) -> None:
        """Take the result that waited: no mark has followed."""
        if self.stream.waiting is None:
            return
        _, result = self.stream.waiting
        self.stream.waiting = None
        if self.stream.marks != "yes":
            self.stream.unclear.append("this version of the protocol does not mark outcomes; success and failure look alike")
            return
        self._take(result)

    def cut(self) -> None:
        """End the stream; a result whose mark may have been on its way is not read as a success."""
        if self.stream.waiting is not None:
            self.stream.waiting = None
            self.stream.unclear.append("the stream ends before it could tell the outcome of this result")

    def _take(self, result: Result) -> None:
        pen = self.calls.pen
        here, pen.place = pen.place, self.stream.waiting_row
        answered_later(self.calls, self.calls.meant(result.provider_id), result)
        take_result(self.calls, result)
        pen.place = here

    def _run_started(self, calls: Calls, word: str, event: Event) -> None:
        calls.running = calls.running and not calls.all
        calls.begin_run()
        calls.run_id = text(event.get("runId")) or None
        if event.get("protocolVersion"):
            self.stream.marks = "yes"

    def _start(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.names[_key(event)], self.stream.args[_key(event)] = text(event.get("toolCallName")), ""

    def _more(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.args[_key(event)] = self.stream.args.get(_key(event), "") + text(event.get("delta"))

    def _end(self, calls: Calls, word: str, event: Event) -> None:
        key = _key(event)
        if key in self.stream.names:
            call = calls.propose(word, key, self.stream.names.pop(key), exact(self.stream.args.pop(key, "") or {}), time=_time(event))
            call.taken_up = 1  # the stream has no call event of its own

    def _result(self, calls: Calls, word: str, event: Event) -> None:
        content = _parsed(event.get("content"))
        result = Result(provider_id=_key(event), outcome="success", content=content, word=word, time=_time(event))
        self.stream.waiting = (text(event.get("messageId")), result)
        self.stream.waiting_row = calls.pen.place
        calls.turn_to_tools()

    def _mark(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.marks = "yes"
        if self.stream.waiting is None or event.get("entityId") != self.stream.waiting[0]:
            self.settle()
            return
        _, result = self.stream.waiting
        self.stream.waiting = None
        claim = _claim(event.get("encryptedValue"))
        outcome, cause = text(claim.get("outcome")) or "success", text(members(claim.get("retry")).get("cause"))
        self._take(replace(result, outcome=outcome, cause=cause, word=f"{result.word} marked"))

    def _finished(self, calls: Calls, word: str, event: Event) -> None:
        outcome = members(event.get("outcome"))
        interrupts = [members(interrupt) for interrupt in items(outcome.get("interrupts"))]
        for interrupt in interrupts:
            calls.ask_approval(f"{word} interrupt", calls.meant(_key(interrupt)))
        for provider_id in items(outcome.get("pendingToolCallIds")):
            calls.ask_input(f"{word} pending", calls.meant(text(provider_id)), "external")
        cancelled = outcome.get("type") == "cancelled"
        if not cancelled and not interrupts:
            endings.leave_refused(calls, word)
        endings.end_run(calls, "agui:RUN_ERROR", "the run was cancelled" if cancelled else "")

    def _error(self, calls: Calls, word: str, event: Event) -> None:
        endings.end_run(calls, word, "the run ended by an error")


def _time(event: Event) -> str | None:
    """Give the event's own time; made-up results carry none."""
    stamp = event.get("timestamp")
    if type(stamp) is not int or not 0 <= stamp < _LAST_MILLISECOND:
        return None
    return datetime.fromtimestamp(stamp / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_LAST_MILLISECOND = 253_402_300_800_000
"""The end of the year 9999."""


def _parsed(content: Any) -> Any:
    """Give the content as the framework held it: it writes what is no text as JSON."""
    if isinstance(content, str) and content[:1] in {"{", "["}:
        try:
            return json.loads(content)
        except ValueError:
            return content
    return content


def _claim(value: Any) -> Mapping[str, Any]:
    """Read the framework's own claim; a provider's real blob is not one."""
    try:
        return members(members(json.loads(text(value) or "{}")).get("pydantic_ai"))
    except ValueError:
        return {}


# ── Vercel AI SDK ───────────────────────────────────────────────────────────────────────────────────────────────────


class Vercel:
    """Reads ``vercel:`` rows."""

    def __init__(self, calls: Calls) -> None:
        """Begin with nothing seen."""
        self.calls = calls
        self.stream = Stream()
        self.asked_inside: set[str] = set()
        """Calls about which a handler inside the run was asked: the stream for version 5 writes its no as an output."""

    def handlers(self) -> Mapping[str, Handler]:
        """Give the handlers by the name after ``vercel:``."""
        said: dict[str, Handler] = {
            "start": self._run_started,
            "tool-input-start": self._start,
            "tool-input-available": self._available,
            "tool-input-error": self._refused,
            "tool-approval-request": self._ask,
            "tool-output-available": self._output,
            "tool-output-error": self._failed,
            "tool-output-denied": self._denied,
            "abort": self._abort,
            "error": self._error,
            "finish": self._finish,
        }
        silent = [word.word.removeprefix("vercel:") for word in mapping.VERCEL if not word.says]
        return {**{name: nothing for name in silent if " " not in name and "…" not in name}, **said}

    def _run_started(self, calls: Calls, word: str, event: Event) -> None:
        calls.running = calls.running and not calls.all
        calls.begin_run()

    def _start(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.names[_key(event)] = text(event.get("toolName"))

    def _propose(self, calls: Calls, word: str, event: Event) -> Call:
        """Propose where the model was seen to begin a call, or nobody knows it; else it is a call that a later run takes up again."""
        key = _key(event)
        begun = self.stream.names.pop(key, None)
        known = calls.current(key)
        if begun is None and known is not None:
            return known
        return calls.propose(word, key, text(event.get("toolName")) or begun or "", exact(event.get("input")))

    def _available(self, calls: Calls, word: str, event: Event) -> None:
        call = self._propose(calls, word, event)
        if call.taken_up or call.run != calls.run:
            calls.take_up(f"{word} resumed", call)
        else:
            call.taken_up = 1

    def _refused(self, calls: Calls, word: str, event: Event) -> None:
        call = self._propose(calls, word, event)
        calls.refuse_inputs(word, call, "pydantic-ai: the arguments did not validate", details=_parsed(event.get("errorText")))

    def _ask(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.marks = "yes"
        calls.ask_approval(word, calls.meant(_key(event)))

    def _output(self, calls: Calls, word: str, event: Event) -> None:
        if self.stream.marks != "yes" and _key(event) in self.asked_inside and isinstance(event.get("output"), str):
            why = "a handler was asked about this call, and this stream may write its no as an output"
            endings.doubt(calls, calls.meant(_key(event)), f"{word} unmarked", why)
            return
        self._take(calls, Result(provider_id=_key(event), outcome="success", content=event.get("output"), word=word))

    def _failed(self, calls: Calls, word: str, event: Event) -> None:
        content = _parsed(event.get("errorText"))
        self._take(calls, Result(provider_id=_key(event), outcome="error", content=content, word=word))

    def _denied(self, calls: Calls, word: str, event: Event) -> None:
        self.stream.marks = "yes"
        self._take(calls, Result(provider_id=_key(event), outcome="denied", content=None, word=word))

    def _take(self, calls: Calls, result: Result) -> None:
        answered_later(calls, calls.meant(result.provider_id), result)
        take_result(calls, result)

    def _abort(self, calls: Calls, word: str, event: Event) -> None:
        endings.end_run(calls, word, "the run was cancelled")

    def _error(self, calls: Calls, word: str, event: Event) -> None:
        endings.end_run(calls, word, "the run ended by an error")

    def _finish(self, calls: Calls, word: str, event: Event) -> None:
        if not calls.awaiting_approval():
            endings.leave_refused(calls, word)
        endings.end_run(calls, word)
