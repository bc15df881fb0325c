"""What a capture has told of each call so far: when it was entered, what its ends said, what the trace holds against it.

The framework has one text for what went well and what did not. What tells them apart comes from four places, in any order, each perhaps
missing; so a result is judged when it comes, by all that has come before it.
"""

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from toolwitness.adapters.openai_agents import mapping
from toolwitness.core.evidence import evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.reading import endings
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.disguises import disguised_cancel, disguised_failure, error_text
from toolwitness.reading.lenient import members, text
from toolwitness.reading.pen import UNRECORDED, Place, exact
from toolwitness.wire.json_text import parse


@dataclass(slots=True)
class Told:
    """What is known of one call beside the book."""

    called: bool = False
    """``tool_called`` has shown it."""
    entered: bool = False
    """About to be made, or made: ``on_tool_start`` or the wrapper said so, and it has not come back."""
    entered_at: float | None = None
    word: str = ""
    args: Any = None
    begun: bool = False
    """Its start is on record since it was entered."""
    over_in: int = 0
    """The run in which its result came."""
    left: Any = None
    """What ``on_tool_end`` or the trace showed, where nothing has judged it yet."""
    has_left: bool = False
    left_word: str = ""
    clean: bool = False
    """The trace has closed it without an error."""


@dataclass(slots=True)
class Story:
    """The calls of one capture, and what is known of each."""

    calls: Calls
    told: dict[str, Told] = field(default_factory=dict[str, Told])
    waiting: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """Tool and input of spans that closed with neither output nor error: calls that wait, or were cancelled."""
    traced: bool = False
    """The capture holds a trace: what has come back is judged when its span has closed."""
    entering: list[Call] = field(default_factory=list[Call])
    """Calls that are entered, and whose start is not on record."""
    unclear: list[tuple[Call, Place]] = field(default_factory=list[tuple[Call, Place]])
    """Calls that came back at once with the default error text: their body raised, or their arguments were refused."""
    cancelled: bool = False
    """The present run was cancelled from outside."""
    now: float | None = None

    def of(self, call: Call) -> Told:
        """Give what is known of a call."""
        return self.told.setdefault(call.invocation_id, Told())

    # ── the model ───────────────────────────────────────────────────────────────────────────────────────────────────

    def propose(self, word: str, provider_id: str, tool: str, arguments: Any) -> Call:
        """Record a proposal, with the very text of its arguments."""
        return self.calls.propose(word, provider_id, tool, exact_text(arguments))

    def known(self, word: str, provider_id: str, tool: str, arguments: Any) -> Call:
        """Give the call that a word is about; one that nothing has shown before is proposed by this word."""
        known = self.calls.current(provider_id)
        if known is None or (tool and known.tool and known.tool != tool):
            return self.propose(word, provider_id, tool, arguments)
        return known

    # ── starts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def enter(self, call: Call, word: str, args: Any) -> None:
        """Note that a call is about to be made; if it waited for an approval, it was granted; if it had ended, this is another run."""
        told = self.of(call)
        if told.entered:
            told.word, told.args = word, args if args is not None else told.args
            return
        self.calls.take_up(word, call)
        told.entered, told.entered_at, told.word, told.args = True, self.now, word, args
        told.begun = told.has_left = told.clean = False
        self.entering.append(call)

    def settle(self) -> None:
        """Record the start of every call that is past the check of its arguments."""
        for call in list(self.entering):
            told = self.of(call)
            if not told.entered or told.begun or told.has_left:
                self.entering.remove(call)
            elif told.entered_at is not None and self.now is not None and self.now - told.entered_at >= mapping.ENTERED_SECONDS:
                self.begin(call, f"{told.word} entered")

    def begin(self, call: Call, word: str) -> None:
        """Record the start of a body, once for each time that it was entered."""
        told = self.of(call)
        if not told.entered or told.begun:
            return
        told.begun = call.begun = True
        self.clear_up(call)
        args = told.args if told.args is not None else None
        endings.start(self.calls, call, word, attempt=call.attempt + call.runs, inputs=text(args) or args)

    # ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def result(self, call: Call, word: str, content: Any) -> str:
        """Judge a result; give why it says nothing, where it does not."""
        told = self.of(call)
        if (call.told or call.over) and (told.over_in in {0, self.calls.run} or call.answer == "denied" or not self._again(call, word)):
            return ""  # its end is on record: the trace, a hook or the wrapper came first
        said = text(content)
        if call.answer == "denied" or (said == mapping.REJECTION and call.approval_id and not told.entered):
            self.deny(call, f"{word} denied")
        elif limit := re.fullmatch(mapping.TIMED_OUT, said, re.DOTALL):
            self.time_out(call, f"{word} timed out", limit.group(1))
        elif said == mapping.DEFAULT_ERROR:
            self._default_error(call, word)
        elif why := self._doubt(content, told):
            self.doubt(call, f"{word} doubted", why)
        else:
            self._ready(call, f"{word} success")
            endings.succeed(self.calls, call, f"{word} success", content)
            self._told(call)
            self.clear_up(call)
        return ""

    def _again(self, call: Call, word: str) -> bool:
        """Take up a call whose result comes in a later run: it was run once more."""
        if not call.ended or not call.over:
            return False
        self.calls.take_up(f"{word} success", call)
        return True

    def _default_error(self, call: Call, word: str) -> None:
        """Judge the default error text: it stands for an exception and for refused arguments alike."""
        if doubts(call.args.decode("utf-8", "replace")):
            self.refuse(call, f"{word} refused", mapping.DEFAULT_ERROR)
        elif self.of(call).begun or not call.tool:
            self.fail(call, f"{word} failed", mapping.DEFAULT_ERROR)
        else:
            call.told = call.over = call.wants_retry = True
            told = self.of(call)
            told.entered = told.has_left = False  # it has come back
            told.over_in = self.calls.run
            self.unclear.append((call, self.calls.pen.place))

    def clear_up(self, good: Call | None = None) -> None:
        """Judge what was unclear: by a call of the same tool whose arguments were accepted, or, at the end, by there being none."""
        here = self.calls.pen.place
        for call, place in [one for one in self.unclear if good is None or one[0].tool == good.tool]:
            self.unclear.remove((call, place))
            self.calls.pen.place = place
            call.told = call.over = False
            word = "hook.on_tool_end unclear"
            if good is None or shape(call.args) == shape(good.args):
                self.of(call).begun = self.of(call).entered = False
                self.fail(call, word, mapping.DEFAULT_ERROR)
            else:
                self.of(call).entered = False
                self.doubt(call, word, "its error may be of the tool or of refused arguments: the framework has one text for both")
        self.calls.pen.place = here

    def _doubt(self, content: Any, told: Told) -> str:
        if found := disguised_cancel(content) or disguised_cancel(shown(content)):
            return f"the result reads like a cancellation ({found})"
        if found := disguised_failure(content) or disguised_failure(shown(content)):
            return f"the result says of itself that it failed ({found})"
        found = "" if told.clean else error_text(content)
        return f"the result reads like an error ({found}), and results and errors have one word here" if found else ""

    def _ready(self, call: Call, word: str) -> None:
        """Settle what an end implies: a grant that nobody was seen to give, and the start of what was entered."""
        told = self.of(call)
        if call.waits_for == "approval" and call.answer != "granted":
            self.calls.grant(word, call, UNRECORDED)
        if told.entered:
            self.begin(call, word)
        else:
            endings.again(self.calls, call, word)

    def _told(self, call: Call) -> None:
        told = self.of(call)
        told.entered, told.has_left, told.clean, told.over_in = False, False, False, self.calls.run
        call.told = True

    def fail(
        self, call: Call, word: str, content: Any, *, category: str = "tool-error", detail: str = "The tool raised an exception."
    ) -> None:
        """Record a failure. The default text alone may also stand for refused arguments: then no start is claimed."""
        if content == mapping.DEFAULT_ERROR:
            detail = "The call ended with an error that the framework does not show."
        elif category == "tool-error":
            self._ready(call, word)
        told = self.of(call)
        if call.waits_for == "approval" and call.answer != "granted":
            self.calls.grant(word, call, UNRECORDED)
        if not told.entered:
            endings.again(self.calls, call, word)
        endings.fail(self.calls, call, word, category, content, detail=detail, wants_retry=True)
        self._told(call)

    def refuse(self, call: Call, word: str, details: Any) -> None:
        """Record that the framework refused the arguments."""
        self.calls.refuse_inputs(word, call, f"{mapping.ADAPTER}: the arguments did not validate", details=details)
        self._told(call)

    def time_out(self, call: Call, word: str, seconds: str) -> None:
        """Record that the tool's own limit passed."""
        self._ready(call, word)
        endings.time_out(self.calls, call, word, f"{seconds} seconds")
        self._told(call)

    def doubt(self, call: Call, word: str, why: str) -> None:
        """Record an end that cannot be believed."""
        self._ready(call, word)
        endings.doubt(self.calls, call, word, why)
        self._told(call)

    def deny(self, call: Call, word: str) -> None:
        """Record a denial, where nobody was seen to deny, and the closure of the framework."""
        if call.over and call.told:
            return
        cause: tuple[str, ...] = ()
        if call.awaits_approval:
            cause = (evidence_ref(self.calls.pen.source, self.calls.deny(word, call, UNRECORDED)),)
        self.calls.close(word, call, ClosureKind.DENIED, UNRECORDED, "the approval was denied", caused_by=cause)
        self._told(call)

    def cancelled_wait(self, call: Call, word: str) -> None:
        """Record that the wait for a body was cancelled; the body was entered, and what became of it is not known."""
        self.begin(call, word)
        endings.release(self.calls, call, word, "the wait for the body was cancelled")
        self.of(call).entered = False

    # ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def end_run(self, word: str, reason: str) -> None:
        """End the run: what a hook saw come back is judged now, and what is still in hand has lost its waiter where ``reason`` says why."""
        for call in self.calls.all:
            told = self.told.get(call.invocation_id)
            if told is not None and told.has_left and not call.told and (told.clean or not self.traced):
                self.result(call, told.left_word, told.left)
        if reason:
            for call in self.calls.live():
                if not call.told:
                    endings.release(self.calls, call, word, reason)
        endings.end_run(self.calls, word)
        self.cancelled = False


def exact_text(arguments: Any) -> bytes:
    """Give the arguments' own text."""
    if isinstance(arguments, str):
        return arguments.encode("utf-8", "surrogatepass")
    return b"" if arguments is None else exact(arguments)


def shape(args: bytes) -> Any:
    """Give the names and the JSON types of arguments; two calls of one shape are accepted or refused alike."""
    value = parse(args).value
    return {name: type(one).__name__ for name, one in members(value).items()} if isinstance(value, dict) else None


def shown(value: Any) -> Any:
    """Read a value that Python has shown (``'2 flights'``); what cannot be read stays the text that it is."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
