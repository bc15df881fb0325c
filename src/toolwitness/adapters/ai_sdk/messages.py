"""Reads the messages that an application of the AI SDK has stored: one state a call, and nothing of how it came about.

A stored part is what the reducer left: ``input-available`` may be a call that was never dispatched, one that ran into the void, or one that
waits for an approval which the application keeps beside the parts. It is proposed, and nothing more.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolwitness.adapters.ai_sdk.mapping import ADAPTER, VERSION
from toolwitness.core.evidence import Kind, evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.ports import Draft
from toolwitness.reading.answers import take_error, take_result
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.reading.reader import CaptureReader

Part = Mapping[str, Any]
_BEFORE_AN_END = frozenset({"input-streaming", "input-available", "approval-requested", "approval-responded"})


def read_messages(messages: Iterable[Mapping[str, Any]], source: str) -> list[Draft]:
    """Give the drafts that stored messages amount to; ``source`` is the event source."""
    reader = MessagesReader(source)
    drafts = [draft for message in messages for draft in reader.feed(message)]
    return [*drafts, *reader.close()]


class MessagesReader(CaptureReader):
    """Reads stored messages, one a row; a row with a list of ``messages`` is read as those."""

    adapter = f"{ADAPTER}-messages"
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin with nothing seen."""
        super().__init__(source)
        self._ends: dict[str, bytes] = {}
        """By invocation: the end that was read."""
        self._said: dict[str, str] = {}
        """By invocation: the event of a denial."""
        self._pending: set[str] = set()
        """The calls that the messages' metadata lists as waiting for an approval."""
        self._states: dict[str, Callable[[str, Call, Part], None]] = {
            "input-streaming": self._nothing_more,
            "input-available": self._available,
            "approval-requested": self._requested,
            "approval-responded": self._responded,
            "output-available": self._output,
            "output-error": self._failed,
            "output-denied": self._denied,
        }

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one message."""
        if isinstance(chunk.get("messages"), list):
            for message in items(chunk["messages"]):
                self.chunk(members(message))
            return
        if not isinstance(chunk.get("parts"), list):
            self.note(text(chunk.get("role")), "a row that is no message with parts")
            return
        self._pending |= set(members(members(chunk.get("metadata")).get("pendingToolApprovals")))
        self.calls.turn_to_tools()
        for part in items(chunk["parts"]):
            self._part(members(part))

    def _part(self, part: Part) -> None:
        kind, state = text(part.get("type")), text(part.get("state"))
        if kind == "step-start":
            self.calls.turn_to_tools()
        if not (kind.startswith("tool-") or kind == "dynamic-tool"):
            return
        handler = self._states.get(state)
        if handler is None:
            self.note(f"part {state}", "the table does not have this state")
            return
        tool = text(part.get("toolName")) or kind.removeprefix("tool-")
        word = f"part {state}"
        call = self._proposed(word, text(part.get("toolCallId")), tool, part)
        if call is not None:
            handler(word, call, part)

    def _proposed(self, word: str, key: str, tool: str, part: Part) -> Call | None:
        """Propose the call; ``None`` where the part is a copy of one that was read."""
        given = part.get("input", part.get("rawInput"))
        args = b"" if given is None else exact(given)
        if not isinstance(given, Mapping):
            self.note(word, doubts(args.decode("utf-8", "replace")))
        ended = word.removeprefix("part ") not in _BEFORE_AN_END and part.get("preliminary") is not True
        end = exact({name: part.get(name) for name in ("state", "output", "errorText")}) if ended else b""
        twins = [call for call in self.calls.known(key) if call.tool == tool and call.args == args]
        for call in twins:
            copy = self._ends.get(call.invocation_id) == end if ended else call.well or not call.over
            if copy:
                self.note("part copy", f"{key} is in an earlier message too; this copy ({word.removeprefix('part ')}) adds nothing")
                return None
        further = next((call for call in twins if ended and not call.over), None)
        call = further or self._propose(word, key, tool, args)
        if ended:
            self._ends[call.invocation_id] = end
        return call

    def _propose(self, word: str, key: str, tool: str, args: bytes) -> Call:
        """Propose a call; under an id whose last call ended, and not well, it is another attempt."""
        known = self.calls.known(key)
        if known and known[-1].over and not known[-1].well and not known[-1].refused:
            known[-1].wants_retry = True
            self.calls.turn_to_tools()
        return self.calls.propose(word, key, tool, args)

    # ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _nothing_more(self, word: str, call: Call, part: Part) -> None:
        """Leave it at the proposal."""

    def _available(self, word: str, call: Call, part: Part) -> None:
        if call.provider_id in self._pending:
            self.calls.ask_approval("part pending approval", call)

    def _requested(self, word: str, call: Call, part: Part) -> None:
        self.calls.ask_approval(word, call, summary=text(members(part.get("approval")).get("requestReason")))

    def _responded(self, word: str, call: Call, part: Part) -> None:
        """Record that an approval was asked for, and the answer that a client submitted to it."""
        approval = members(part.get("approval"))
        if not approval or call.answer:
            return
        self._requested(word, call, part)
        reason = text(approval.get("reason")) or None
        if approval.get("approved") is True:
            self.calls.grant(word, call, UNRECORDED, reason=reason)
        elif approval.get("approved") is False:
            self._deny(word, call, reason)

    def _deny(self, word: str, call: Call, reason: str | None) -> None:
        self._said[call.invocation_id] = self.calls.deny(word, call, UNRECORDED, reason=reason)

    def _output(self, word: str, call: Call, part: Part) -> None:
        self._responded(word, call, part)
        if part.get("preliminary") is True:
            call.steps += 1
            self.pen.write(
                Kind.OUTPUT, word, call.invocation_id, attempt=call.attempt,
                data={"order": call.steps}, values={"output": exact(part.get("output"))},
            )  # fmt: skip  # facts in lines
        else:
            self.note(word, take_result(self.calls, call, word, part.get("output")))

    def _failed(self, word: str, call: Call, part: Part) -> None:
        """Record an error; one without an input, and one of a denied call, is what it is and no failure of a body."""
        self._responded(word, call, part)
        if part.get("input") is None and part.get("rawInput") is not None:
            self.calls.refuse_inputs(f"{word} refused", call, text(part.get("errorText")) or "the input was refused")
        elif call.answer == "denied":
            self.note(word, f"a denial is stored as an error: {text(part.get('errorText'))[:200]}")
            self._close(f"{word} denied", call, part)
        else:
            self.note(word, take_error(self.calls, call, word, part.get("errorText")))

    def _denied(self, word: str, call: Call, part: Part) -> None:
        """Record a denial; only where the part holds the approval that it answers."""
        approval = members(part.get("approval"))
        if not approval or approval.get("approved") is True:
            self.note(word, "a denied call whose part holds no denied approval")
            return
        self._responded(word, call, part)
        if not call.answer:
            self._deny(word, call, text(approval.get("reason")) or None)
        self._close(word, call, part)

    def _close(self, word: str, call: Call, part: Part) -> None:
        reason = text(members(part.get("approval")).get("reason")) or "the approval was denied"
        said = self._said.get(call.invocation_id, "")
        caused_by = (evidence_ref(self.pen.source, said),) if said else ()
        self.calls.close(word, call, ClosureKind.DENIED, UNRECORDED, reason, caused_by=caused_by)
