"""Reads an application's log of what Spring AI gave it, one JSON object a line, and says what it is evidence of.

Spring AI numbers nothing: an observation of an older version names a tool and no call, and a tool response has an id but no error flag.
What could belong to several calls belongs to nobody, and is reported; a text that may be an exception's message is doubted.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from toolwitness.adapters.spring_ai import mapping
from toolwitness.core.times import rfc3339
from toolwitness.reading import answers, endings
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.disguises import error_text
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import exact
from toolwitness.reading.reader import CaptureReader
from toolwitness.wire.json_text import ProblemCode, parse

Row = Mapping[str, Any]
_GONE: Final = re.compile(r"(?:Cancell?ation|Interrupted|ClosedByInterrupt|Abort(?:ed)?|Timeout)Exception\b")
_NO_JSON: Final = frozenset({
    ProblemCode.EMPTY, ProblemCode.TRUNCATED, ProblemCode.SYNTAX, ProblemCode.TRAILING_TEXT, ProblemCode.SEVERAL_VALUES,
    ProblemCode.TOO_DEEP,
})  # fmt: skip  # a set reads better in lines
_PLAIN: Final = "the result is no JSON, and what is thrown comes as plain text too"


class Reader(CaptureReader):
    """Maps the rows of one log, in order, to drafts. Kept for one log and thrown away."""

    adapter = mapping.ADAPTER
    version = mapping.VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self._conversations: dict[str, str] = {}
        """By invocation: the conversation that it belongs to, where its row names one."""
        self._observed: dict[str, Call | None] = {}
        """By the id of an observation, where the log gives one: the call that it is about."""

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map one line that a recorder wrote as a row."""
        self.chunk({"type": kind, **members(event)})

    def driver(self, kind: str, event: Any) -> None:
        """Map what the application did: cancelling its own stream is all that is known."""
        self.chunk({**members(event), "type": "flux", "signal": "cancel"} if kind == "flux cancel" else {"type": kind})

    def outcome(self, kind: str, event: Any) -> None:
        """Leave aside how a driver went on: it says nothing about calls."""

    def chunk(self, chunk: Row) -> None:
        """Map one line. A message or a response that stands there without a ``type`` is known by its fields."""
        kind = text(chunk.get("type")) or _shape(chunk)
        if kind == "chat.response":
            self._propose(kind, chunk)
        elif kind == "tool.response":
            self._answer(kind, chunk)
        elif kind == "observation":
            self._observe(chunk)
        elif kind == "flux":
            self._flux(chunk)
        else:
            self.note(kind, "the table does not have this word")

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _propose(self, word: str, row: Row) -> None:
        self.calls.turn_to_tools()
        before = list(self.calls.all)
        for told in [members(call) for message in _messages(row) for call in items(message.get("toolCalls"))]:
            provider_id, tool, arguments = text(told.get("id")), text(told.get("name")), told.get("arguments")
            args = b"" if arguments is None else exact(arguments)
            if any(provider_id and (c.provider_id, c.tool, c.args) == (provider_id, tool, args) and _untouched(c) for c in before):
                self.note(f"{word} again", "the same open call, seen once more")
                continue
            call = self.calls.propose(word, provider_id, tool, args, time=_time(row))
            self._conversations[call.invocation_id] = text(row.get("conversationId"))
            self.note(word, doubts(text(arguments)) if isinstance(arguments, str | None) else "")

    def _answer(self, word: str, row: Row) -> None:
        self.calls.turn_to_tools()
        told = [members(one) for one in items((members(row.get("message")) or row).get("responses"))]
        groups: dict[tuple[str, str], list[Row]] = {}
        for one in told:
            groups.setdefault((text(one.get("id")), text(one.get("name"))), []).append(one)
        for (provider_id, tool), group in groups.items():
            meant = self._answered(provider_id, tool)
            if len(meant) != len(group):
                why = f"{len(group)} answers to {provider_id!r}, and {len(meant)} calls that they could answer"
                self.note(f"{word} unassigned", f"ambiguous-result-pairing:{provider_id}: {why}")
                continue
            for call, one in zip(meant, group, strict=True):
                over = "the call has an answer already"
                self.note(f"{word} unassigned", over if call.over else self._take(word, call, one.get("responseData"), row))

    def _answered(self, provider_id: str, tool: str) -> Sequence[Call]:
        """Give the calls of the latest turn that an answer with this id and name can be about."""
        known = self.calls.known(provider_id)
        if not known:
            return [self.calls.meant(provider_id, tool)] if provider_id else []
        named = [call for call in known if not tool or not call.tool or call.tool == tool]
        return [call for call in named if call.step == named[-1].step]

    def _take(self, word: str, call: Call, content: Any, row: Row) -> str:
        """Record how a call ended by what it gave: JSON is a result, and any other text may be an exception's."""
        content = members(content).get("content", content)
        said = text(content)
        found = error_text(said)
        if isinstance(content, str) and (found or not _is_json(said)):
            if not answers.first_time(call, "result", content):
                return answers.SAME_AGAIN
            reason = f"the result reads like an error ({found}), and there is no flag" if found else _PLAIN
            endings.doubt(self.calls, call, f"{word} doubted", reason, time=_time(row))
            return ""
        return answers.take_result(self.calls, call, word, content, time=_time(row))

    # ── observations ────────────────────────────────────────────────────────────────────────────────────────────────

    def _observe(self, row: Row) -> None:
        name, event = text(row.get("name")), text(row.get("event"))
        if name != mapping.TOOL:
            self.note("observation", f"{name or 'an observation without a name'} is not about a tool's code")
            return
        word = f"{mapping.TOOL} {event}"
        if event in mapping.SILENT_OBSERVATIONS:
            return
        context = members(row.get("context"))
        if event not in {"start", "stop", "error"}:
            self.note(word, "the table does not have this word")
        elif (call := self._observed_call(event, row, context)) is None:
            self.note(f"{mapping.TOOL} unassigned", f"{event}: it names no call, and not exactly one could be meant")
        elif event == "start":
            self._start(word, call, row, context)
        elif event == "error":
            self._error(word, call, row, context)
        elif context.get("toolCallResult") is None or call.over:
            self.note(f"{word} bare", "it does not say how the call ended" if not call.over else "the end of the call is known")
        else:
            self.note(word, self._take(word, call, context["toolCallResult"], row))

    def _observed_call(self, event: str, row: Row, context: Row) -> Call | None:
        """Give the call that an observation is about: as it says, as its start was assigned, or the only one that is open."""
        own = text(row.get("id"))
        if own and own in self._observed:
            return self._observed[own]
        tool = text(members(context.get("toolDefinition")).get("name")) or _key(row, "spring.ai.tool.definition.name")
        named = text(context.get("toolCallId")) or _key(row, "spring.ai.tool.call.id")
        call = self._named(event, named, tool) if named else self._only(event, tool, text(row.get("conversationId")), context)
        if own:
            self._observed[own] = call
        return call

    def _named(self, event: str, provider_id: str, tool: str) -> Call | None:
        meant = self._answered(provider_id, tool)
        ready = [call for call in meant if not call.over and call.begun is (event != "start")] or meant
        return ready[0] if len(ready) == 1 else None

    def _only(self, event: str, tool: str, conversation: str, context: Row) -> Call | None:
        """Give the one call of this tool that is open, where it stands where the observation says and has its arguments."""
        opened = [call for call in self.calls.all if tool and call.tool == tool and not call.over and self._same(call, conversation)]
        if len(opened) != 1 or opened[0].begun is not (event != "start"):
            return None
        given = context.get("toolCallArguments")
        return opened[0] if given is None or _same_arguments(opened[0], given) else None

    def _same(self, call: Call, conversation: str) -> bool:
        """Whether a call may be of this conversation; one that names none may be of any."""
        own = self._conversations.get(call.invocation_id, "")
        return not own or not conversation or own == conversation

    def _start(self, word: str, call: Call, row: Row, context: Row) -> None:
        given = context.get("toolCallArguments")
        compared = "" if given is None else "same" if _same_arguments(call, given) else "different"
        endings.start(self.calls, call, word, inputs=given, time=_time(row), compared=compared)
        call.begun = True

    def _error(self, word: str, call: Call, row: Row, context: Row) -> None:
        said = row.get("error", context.get("error"))
        kind, message = text(members(said).get("type")), text(members(said).get("message"))
        content = ": ".join(filter(None, (kind, message))) or text(said) or "an exception that is not named"
        if not answers.first_time(call, "error", content):
            self.note(word, answers.SAME_AGAIN)
        elif found := _GONE.search(kind or content.partition(":")[0]):
            endings.doubt(self.calls, call, f"{word} doubted", f"{found.group(0)} was thrown: a wait has ended", time=_time(row))
        else:
            category = kind.rpartition(".")[2] or "tool-error"
            detail = "The tool's code threw an exception."
            endings.fail(self.calls, call, word, category, content, detail=detail, time=_time(row), effects="unknown")

    # ── the stream ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _flux(self, row: Row) -> None:
        signal = text(row.get("signal"))
        if signal != "cancel":
            self.note("flux", f"{signal or 'no signal'}: it says nothing about calls")
            return
        conversation = text(row.get("conversationId"))
        waiting = [call for call in self.calls.all if not call.over and self._same(call, conversation)]
        if len({self._conversations.get(call.invocation_id, "") for call in waiting}) > 1:
            self.note("flux cancel", "it names no conversation, and calls of several are open")
            return
        for call in waiting:
            endings.release(self.calls, call, "flux cancel", "the subscriber cancelled the Flux; the tool is not told")


def _is_json(said: str) -> bool:
    """Whether a text is one JSON value, whatever is doubtful inside it."""
    return not _NO_JSON & {problem.code for problem in parse(said).problems}


def _untouched(call: Call) -> bool:
    return not call.over and not call.begun


def _shape(row: Row) -> str:
    """Say what a line without a ``type`` is."""
    if "responses" in row or row.get("messageType") == "TOOL":
        return "tool.response"
    return "chat.response" if {"results", "result", "toolCalls", "output"} & set(row) else ""


def _messages(row: Row) -> list[Row]:
    """Give the assistant messages of a chat response, however deep the log holds it; ``result`` is the first of ``results`` again."""
    response = members(row.get("response")) or row
    generations = [members(one) for one in items(response.get("results"))] or [members(response.get("result"))]
    outputs = [members(one.get("output")) for one in generations if one]
    return outputs or [members(response.get("message")) or members(response.get("output")) or response]


def _key(row: Row, name: str) -> str:
    """Give a key value of an observation: of an object, or of a list of pairs."""
    for where in ("highCardinalityKeyValues", "lowCardinalityKeyValues", "keyValues"):
        held = row.get(where, members(row.get("context")).get(where))
        pairs = [members(pair) for pair in items(held)]
        found = members(held).get(name) or next((pair.get("value") for pair in pairs if pair.get("key") == name), "")
        if text(found):
            return text(found)
    return ""


def _same_arguments(call: Call, given: Any) -> bool:
    """Whether an observation's arguments are those of the call; empty ones are ``{}`` by the time that a tool gets them."""
    proposed, told = parse(call.args or b"{}"), parse(exact(given) or b"{}")
    return exact(given) == call.args or (not proposed.problems and not told.problems and proposed.value == told.value)


def _time(row: Row) -> str | None:
    """Give the application's own time of a line, where it is whole."""
    try:
        return rfc3339(datetime.fromisoformat(text(row.get("time"))))
    except (ValueError, OverflowError):  # no time, no zone, or none that UTC can say
        return None
