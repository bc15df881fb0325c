"""What a capture of these frameworks has told about each call, and which call a word is about.

One fact comes several times: a result as the end of a tool, as an update, as a message, in the state. It is recorded once: a message is
known by its id, and what has ended stays so until it is seen to begin again. An id is no attempt: the same one is executed again on
resume, on replay, by a retrying middleware, and twice where the model used it twice.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from toolwitness.adapters.langgraph import mapping
from toolwitness.adapters.langgraph.messages import Event, Proposed, decision_in, told_by_us
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import members, text
from toolwitness.reading.pen import UNRECORDED, Place, exact


@dataclass(slots=True, kw_only=True)
class Trace:
    """What is known about one call beyond the book of calls."""

    args: Any = None
    """The arguments as the framework shows them, where the proposal holds the model's exact text."""
    how: str = ""
    """How it ended last: ``succeeded``, ``failed``, ``doubted``, ``closed``."""
    results: set[str] = field(default_factory=set[str])
    """The ids of the messages that told its end."""
    per_call: bool = False
    """Whether its approval was asked for by its own id."""
    denial: str = ""
    """The id of the event that denied it."""
    told_by: str = ""
    """The row of the table that told its end; the tool itself tells it before any message does."""
    outputs: int = 0

    @property
    def of_the_tool(self) -> bool:
        """Whether the tool itself, or a hook around it, told its end: a message then only repeats it."""
        return self.told_by.startswith(("tools:", "mw."))


@dataclass(slots=True)
class Held:
    """A start that does not count yet: its arguments may still be refused."""

    place: Place
    call: Call
    word: str
    tool: str
    inputs: Any


class Book:
    """The calls of one capture, with what these frameworks say about them."""

    def __init__(self, calls: Calls) -> None:
        """Begin with none."""
        self.calls = calls
        self.pen = calls.pen
        self.hooked = False
        """Whether a hook speaks in this capture: it saw what a stream only repeats."""
        self.saw_tools = False
        """Whether the mode that tells starts is in this capture."""
        self._by_message: dict[str, list[Call]] = {}
        self._results: set[str] = set()
        self._traces: dict[str, Trace] = {}
        self._held: list[Held] = []

    def trace(self, call: Call) -> Trace:
        """Give what is known about a call."""
        return self._traces.setdefault(call.invocation_id, Trace())

    def calls_of(self, message_id: str) -> list[Call]:
        """Give the calls that an AI message proposed."""
        return self._by_message.get(message_id, [])

    def args(self, call: Call) -> Any:
        """Give the proposed arguments as the framework shows them."""
        return self.trace(call).args

    def edit(self, word: str, call: Call, args: Any) -> None:
        """Record that a reviewer put other arguments in the place of the proposed ones."""
        self.calls.edit(word, call, UNRECORDED, exact(args))
        self.trace(call).args = args

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    def propose(self, word: str, ids: list[str], proposed: list[Proposed]) -> None:
        """Record the calls of an AI message that were not seen before; ``ids`` are all that the message went by."""
        known = next((self._by_message[one] for one in ids if one in self._by_message), None)
        if known is None and not ids:
            known = [call for one in proposed if (call := self._unanswered(one))]
        mine, left, fresh = list(known or ()), list(known or ()), True
        for one in proposed:
            call = next((c for c in left if c.provider_id == one.id), None)
            if call is None:
                if fresh:
                    self.calls.turn_to_tools()
                    fresh = False
                call = self.calls.propose(f"{word} {'invalid ' * bool(one.refused)}tool calls".replace("chunk tool calls", "chunk"),
                                          one.id, one.tool, one.raw)  # fmt: skip  # one call
                mine.append(call)
            else:
                left.remove(call)
            if one.refused and not call.refused:
                self.calls.refuse_inputs(f"{word} invalid tool calls", call, f"{mapping.ADAPTER}: {one.refused}", details=one.args)
            self.trace(call).args = one.args
        for one in ids:
            self._by_message[one] = mine

    def _unanswered(self, one: Proposed) -> Call | None:
        """Find the call that a message without an id repeats."""
        return next((c for c in self.calls.known(one.id) if not c.over and endings.same_inputs(c.args, one.args)), None)

    # ── starts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def starting(self, word: str, provider_id: str, tool: str, inputs: Any) -> Call:
        """Give the call that begins: one that has not begun yet, else the latest, else, where that had failed, its next attempt."""
        known = [call for call in self.calls.known(provider_id) if not call.followed or call.begun]
        held = [one.call for one in self._held]
        fresh = [call for call in known if not call.begun and not call.over and call not in held]
        exactly = [call for call in fresh if endings.same_inputs(call.args, inputs) or self.args(call) == inputs]
        if exactly or fresh:
            return (exactly or fresh)[0]
        if not known:
            self.calls.turn_to_tools()
            return self.calls.propose(word, provider_id, tool, exact(inputs))  # its message was not streamed
        last = known[-1]
        if last.over and self.trace(last).how == "failed":
            return self.calls.propose(f"{word}, again", provider_id, tool or last.tool, last.args, again=last)
        at_work = (last.begun or last in held) and not last.over and not last.released
        if at_work and last.run == self.calls.run:  # nothing has ended it, and no other run takes it up: the id was used twice
            return self.calls.propose(word, provider_id, tool or last.tool, exact(inputs))
        return last

    def hold(self, word: str, provider_id: str, tool: str, inputs: Any) -> Call:
        """Keep a start until something shows that its arguments were not refused."""
        call = self.starting(word, provider_id, tool, inputs)
        call.run, call.released = self.calls.run, False
        self._held.append(Held(self.pen.place, call, word, tool, inputs))
        return call

    def settle(self, call: Call | None = None) -> None:
        """Record the held starts, or that of one call: nothing has refused their arguments."""
        ready = [held for held in self._held if call is None or held.call is call]
        self._held = [held for held in self._held if held not in ready]
        here = self.pen.place
        for held in ready:
            self.pen.place = held.place
            self._start(held)
        self.pen.place = here

    def _start(self, held: Held) -> None:
        call, word = held.call, held.word
        self.calls.turn_to_tools()
        if call.awaits_approval and self.trace(call).per_call:
            word = f"{word} approved"
            self.calls.grant(word, call, UNRECORDED)
        other = bool(held.tool and call.tool and held.tool != call.tool)
        endings.start(self.calls, call, word, inputs=held.inputs, compared="different" if other else "")
        self.trace(call).results.clear()
        call.run, call.begun, call.over, call.released = self.calls.run, True, False, False

    def unsettled(self) -> list[tuple[int, str]]:
        """Give the rows of the starts that are still held, with their words."""
        return [(held.place.seq, held.word) for held in self._held]

    def drop(self, call: Call) -> bool:
        """Forget the held start of a call whose arguments were refused; tell whether there was one."""
        before = len(self._held)
        self._held = [held for held in self._held if held.call is not call]
        return len(self._held) < before

    def ending(self, provider_id: str, tool: str = "") -> Call:
        """Give the call that ends: one that has begun, else one that is open, else the latest."""
        known = self.calls.known(provider_id)
        held = [one.call for one in self._held]
        begun = [call for call in known if (call.begun or call in held) and not call.over]
        opened = [call for call in known if not call.over and not call.followed]
        doubted = [call for call in known if self.trace(call).how == "doubted"]
        return (begun or opened or doubted or known[-1:] or [self.calls.meant(provider_id, tool)])[0]

    # ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_result(self, word: str, message: Event) -> None:
        """Record what a tool message says about its call, unless it repeats what is known."""
        self.calls.turn_to_tools()
        provider_id, key = text(message.get("tool_call_id")), text(message.get("id"))
        if (key and key in self._results) or not provider_id:
            return
        call = self.ending(provider_id, text(message.get("name")))
        if call.over and self.trace(call).how != "doubted":
            told = [c for c in self.calls.known(provider_id) if c.over and not self.trace(c).results and self.trace(c).of_the_tool]
            if told or not key:
                self._attach(told[0] if told else call, key)
                return
            if told_by_us(message):
                self._attach(call, key)
                return  # a recorder has told it once more, and run nothing
            if self.trace(call).how == "failed":  # and it was run once more, of which only the end is told
                call = self.calls.propose(f"{word} success, again", provider_id, call.tool, call.args, again=call)
                endings.start(self.calls, call, f"{word} success, again")
                call.run, call.begun = self.calls.run, True
        self._attach(call, key)
        if ours := told_by_us(message):
            self._ours(word, call, ours)
            return
        if call.refused and not call.begun and message.get("status") == "error":
            return  # the end of the tool has said it, and said it better
        self.settle_unless_refused(call, message)
        self._end(word, call, message)

    def _ours(self, word: str, call: Call, ours: Event) -> None:
        """Read what our recorder told instead of a result: it ran nothing, or what it ran was stopped or is unknown."""
        kind = text(ours.get("closure"))
        if not call.begun and kind in _BEFORE_DISPATCH:
            self.settle(call)
            self.calls.close(self._word(word, "denied"), call, ClosureKind(kind), UNRECORDED, f"told by a recorder: {kind}")
            self.trace(call).how = "closed"
        else:
            self.settle(call)
            self.doubt(self._word(word, "doubted"), call, f"told by a recorder: {text(ours.get('state')) or 'no result'}")

    def _attach(self, call: Call, key: str) -> None:
        if key:
            self._results.add(key)
            self.trace(call).results.add(key)

    def settle_unless_refused(self, call: Call, message: Event) -> None:
        """Record the held start of a call, unless its result is the framework's own text for refused arguments."""
        said = text(message.get("content"))
        if message.get("status") == "error" and (
            said.startswith(mapping.INVOCATION) or re.fullmatch(mapping.UNKNOWN_TOOL, said, re.DOTALL)
        ):
            self.drop(call)
        else:
            self.settle(call)

    def _end(self, word: str, call: Call, message: Event) -> None:
        content, said, decision = message.get("content"), text(message.get("content")), decision_in(message)
        if decision == "reject" or (not call.begun and call.waits_for == "approval" and said.startswith(mapping.REJECTED)):
            self._denied(word, call)
        elif decision == "respond":
            self._answered(word, call, content)
        elif disguised := disguised_cancel(content):
            self.doubt(self._word(word, "doubted"), call, f"its result looks like a cancellation ({disguised})")
        elif message.get("status") != "error" and (other := _says_otherwise(content)):
            self.doubt(self._word(word, "doubted"), call, f"it came as a success, and says of itself that it is none ({other})")
        elif message.get("status") != "error":
            self.succeed(word, call, content)
        elif not call.begun and re.fullmatch(mapping.UNKNOWN_TOOL, said, re.DOTALL):
            self.refuse(self._word(word, "refused"), call, "no tool has this name", said)
        elif not call.begun and any(re.fullmatch(one, said) for one in mapping.NOT_EXECUTED):
            self.trace(call).how = "closed"
            self.calls.withdraw(self._word(word, "not executed"), call, said, by=self.calls.framework)
        else:
            self.fail(word, call, "invalid-input" if said.startswith(mapping.INVOCATION) else "tool-error", content)

    @staticmethod
    def _word(word: str, ending: str) -> str:
        """Name the row of the table: what a tool's own end says has a row of its own, a message's has one for every ending."""
        return word if word.startswith(("tools:", "mw.")) and ending != "refused" else f"{word} {ending}"

    def succeed(self, word: str, call: Call, content: Any) -> None:
        """Record a success."""
        word = self._again(word, "success", call)
        self._approved(word, call)
        endings.succeed(self.calls, call, word, content)
        self.ended(call, "succeeded", word)

    def fail(self, word: str, call: Call, category: str, content: Any) -> None:
        """Record a failure; what it did is unknown where nothing shows that the body was entered."""
        effects = None if call.begun else "unknown"
        word = self._again(word, "failed", call)
        self._approved(word, call)
        endings.fail(self.calls, call, word, category, content, detail=_DETAILS[category], effects=effects)
        self.ended(call, "failed", word)

    def _again(self, word: str, ending: str, call: Call) -> str:
        """Record the start of a second run, which its own end proves, and name the row of the table."""
        second = call.over and call.ended and not call.begun and self.trace(call).how in {"succeeded", "failed"}
        word = self._word(word, f"{ending}, again" if second and ending == "success" else ending)
        if second:
            endings.start(self.calls, call, word, attempt=call.attempt + call.runs)
        return word

    def _approved(self, word: str, call: Call) -> None:
        if call.awaits_approval and self.trace(call).per_call:
            self.calls.grant(word, call, UNRECORDED)

    def doubt(self, word: str, call: Call, reason: str) -> None:
        """Record that what came as an end cannot be believed."""
        endings.doubt(self.calls, call, word, reason)
        self.ended(call, "doubted", word)

    def ended(self, call: Call, how: str, word: str) -> None:
        """Note how a call ended, and which row of the table told it."""
        trace = self.trace(call)
        trace.how, trace.told_by = how, word

    def refuse(self, word: str, call: Call, why: str, details: str) -> None:
        """Record that the arguments were refused: the model is told, and asked."""
        self.drop(call)
        if not call.refused:
            call.run = self.calls.run
            self.calls.refuse_inputs(word, call, f"{mapping.ADAPTER}: {why}", details=details)

    def _denied(self, word: str, call: Call) -> None:
        """Record a denial: the person's, where nobody was seen to answer, and the framework's closure."""
        word, trace = self._word(word, "denied"), self.trace(call)
        if call.awaits_approval:
            trace.denial = self.calls.deny(word, call, UNRECORDED)
        cause = (evidence_ref(self.pen.source, trace.denial),) if trace.denial else ()
        self.calls.close(word, call, ClosureKind.DENIED, UNRECORDED, "the approval was denied", caused_by=cause)
        trace.how = "closed"

    def _answered(self, word: str, call: Call, content: Any) -> None:
        word = self._word(word, "answered")
        if call.answer != "given":
            call.answer = "given"
            self.calls.supply(word, call, UNRECORDED, content)
        self.calls.close(word, call, ClosureKind.ANSWERED_BY_HUMAN, UNRECORDED, "answered in the tool's place")
        self.trace(call).how = "closed"

    def output(self, word: str, call: Call, delta: Any) -> None:
        """Record one part of a tool's output."""
        trace = self.trace(call)
        trace.outputs += 1
        self.pen.write(
            Kind.OUTPUT, word, call.invocation_id, attempt=call.attempt, data={"order": trace.outputs}, values={"output": exact(delta)}
        )

    def pause(self, word: str, call: Call) -> None:
        """Record that the body stopped to ask; it will begin again from its first line."""
        if call.begun:
            call.begun = False
            self.pen.write(
                Kind.PART_COMPLETED, word, call.invocation_id, attempt=call.attempt,
                data={"part": "the body until it asked", "open": ["answer"], "outcome": "paused"},
            )  # fmt: skip  # facts in lines
        self.calls.ask_input(word, call, "question")


def _says_otherwise(content: Any) -> str:
    """Say which words of a result own up to a failure, where it is an object, or the text of one."""
    try:
        told = members(json.loads(content) if isinstance(content, str) else content)
    except ValueError:
        return ""
    if told.get("isError") is True or told.get("is_error") is True:
        return "isError: true"
    return next((f"{name}: {told[name]}" for name in ("status", "state", "outcome") if str(told.get(name)).lower() in _NO_SUCCESS), "")


_BEFORE_DISPATCH = frozenset({"denied", "dismissed", "withdrawn"})
_NO_SUCCESS = frozenset({"failed", "failure", "error", "denied", "rejected"})
_DETAILS = {
    "invalid-input": "The framework did not accept the arguments, or a value inside the tool did not validate: it says the same of both.",
    "tool-error": "The call ended with an error.",
    "raised": "The tool raised an exception.",
    "tool-failed": "The tool reported a failure.",
}
"""A sentence for each category of failure."""
