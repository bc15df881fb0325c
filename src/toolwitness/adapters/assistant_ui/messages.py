"""Reads the messages of an assistant-ui thread, as an application exports or stores them.

A part's status is never read: it is the message's, or made up by the renderer. What counts is whether there is a result, what the approval
gate says, and whether the part asks a person.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolwitness.adapters.assistant_ui.gates import Gates
from toolwitness.adapters.assistant_ui.mapping import ADAPTER, VERSION
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.answers import take_error, take_result
from toolwitness.reading.arguments import doubts
from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import exact
from toolwitness.reading.reader import CaptureReader

Part = Mapping[str, Any]


class Stored:
    """The stored messages of one capture. It speaks to the same book of calls, and the same gates, as a stream beside it."""

    def __init__(self, calls: Calls, gates: Gates, note: Callable[[str, str], None]) -> None:
        """Begin with nothing seen."""
        self.calls = calls
        self.gates = gates
        self.note = note
        self._ends: dict[str, bytes] = {}
        """By invocation: the end that was read."""

    def read(self, chunk: Mapping[str, Any]) -> None:
        """Map one message, or a list of them; an export wraps each with its parent."""
        if isinstance(chunk.get("messages"), list):
            for message in items(chunk["messages"]):
                self.read(members(message))
            return
        if isinstance(chunk.get("message"), Mapping):
            chunk = members(chunk["message"])
        if not isinstance(chunk.get("content"), list):
            self.note(text(chunk.get("role")), "a row that is no message with parts")
            return
        self.calls.turn_to_tools()
        for part in map(members, items(chunk["content"])):
            if part.get("type") == "tool-call":
                self._part(part)

    def _part(self, part: Part) -> None:
        key = text(part.get("toolCallId"))
        if not key:
            self.note("part", "it names no call")
            return
        call = self._proposed(key, text(part.get("toolName")), part)
        if call is None:
            return
        if isinstance(part.get("approval"), Mapping):
            self.gates.stand("part approval", call, members(part["approval"]))
        if "result" in part and part["result"] is not None:
            self._result(call, part)
        elif members(part.get("interrupt")).get("type") == "human":
            self.calls.ask_input("part interrupt", call, "question")

    def _proposed(self, key: str, tool: str, part: Part) -> Call | None:
        """Propose the call; ``None`` where the part is a copy of one that was read."""
        written = text(part.get("argsText")) or (exact(part["args"]).decode("utf-8", "surrogatepass") if "args" in part else "")
        args = exact(written)
        ended = part.get("result") is not None and part.get("isPreliminary") is not True
        end = exact({name: part.get(name) for name in ("result", "isError")}) if ended else b""
        for call in self.calls.known(key):
            if (call.tool, call.args) != (tool, args):
                continue
            if self._ends.get(call.invocation_id) == end if ended else call.well or not call.over:
                self.note("part copy", f"{key} is in an earlier message too; this copy adds nothing")
                return None
            if ended and not call.over:
                self._ends[call.invocation_id] = end
                return call
        self.note("part", doubts(written))
        known = self.calls.known(key)
        if known and known[-1].over and not known[-1].well:
            known[-1].wants_retry = True
            self.calls.turn_to_tools()
        call = self.calls.propose("part", key, tool, args)
        if ended:
            self._ends[call.invocation_id] = end
        return call

    def _result(self, call: Call, part: Part) -> None:
        content = part["result"]
        if part.get("isPreliminary") is True:
            call.steps += 1
            self.calls.pen.write(
                Kind.OUTPUT, "part result preliminary", call.invocation_id, attempt=call.attempt,
                data={"order": call.steps}, values={"output": exact(content)},
            )  # fmt: skip  # facts in lines
        elif self.gates.was_refused(call):
            self.note("part result", "the denial is stored as a result")
        elif part.get("isError") is not True:
            self.note("part result", take_result(self.calls, call, "part result", content))
        elif call.awaits_approval:
            why = "an error of a call whose approval nobody was seen to answer: it may have been refused, or run and failed"
            endings.doubt(self.calls, call, "part result doubted", why)
        else:
            self.note("part result", take_error(self.calls, call, "part result", content, failed_word="part result error"))


class MessagesReader(CaptureReader):
    """Reads stored messages, one a row; a row with a list of ``messages`` is read as those."""

    adapter = f"{ADAPTER}-messages"
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin with nothing seen."""
        super().__init__(source)
        self._stored = Stored(self.calls, Gates(self.calls, self.note), self.note)

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one message."""
        self._stored.read(chunk)
