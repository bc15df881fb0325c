"""Reads the Responses API: the events of its stream, whole responses, and the items that an application sends back.

Two ids: ``call_id`` is the call's, ``item_id`` the stream's. An item is proposed when it is done; it is known by its place in its
response, so that a stream that is read again from the middle says nothing twice.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolwitness.adapters.openai_api import answers
from toolwitness.adapters.openai_api.mapping import ADAPTER, CALLS, HOSTED, OUTPUTS, SILENT_EVENTS, SILENT_ITEMS, VERSION
from toolwitness.core.evidence import evidence_ref
from toolwitness.core.states import ClosureKind
from toolwitness.reading import endings
from toolwitness.reading.arguments import Writing, doubts
from toolwitness.reading.calls import Call
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pairing import Pairing
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.reading.reader import CaptureReader, Unmapped

Event = Mapping[str, Any]
_OVER: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class ResponsesReader(CaptureReader):
    """Maps one capture of the Responses API, in order, to drafts. Kept for one capture and thrown away."""

    adapter = ADAPTER
    version = VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self._pairing = Pairing(self.calls)
        self._response = ""
        self._running = False
        self._shown: set[object] = set()
        self._writing: dict[object, Writing] = {}
        """By place: the call that the model has begun and not finished."""
        self._asked: dict[str, Call] = {}
        """By the id of its approval request: a call that the provider runs."""

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map what the provider sent."""
        self._take(kind, members(event))

    def driver(self, kind: str, event: Any) -> None:
        """Map what the application sent back."""
        if text(members(event).get("type")) or members(event).get("input") is not None:
            self._take(kind, members(event))
        else:
            self.note(kind, "an act outside the wire")

    def outcome(self, kind: str, event: Any) -> None:
        """Map what the application sent back, where it stands there."""
        if text(members(event).get("type")):
            self._take(kind, members(event))

    def chunk(self, chunk: Event) -> None:
        """Map one object of a plain stream."""
        self._take(text(chunk.get("type")) or text(chunk.get("object")), chunk)

    def end(self) -> None:
        """Pair what was sent back, and report what was still being written."""
        self._settle()
        self._cut("the stream ends")

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, kind: str, event: Event) -> None:
        name = text(event.get("type")) or kind
        if name == "response.created":
            self._begin(members(event.get("response")))
        elif name == "response.output_item.added":
            item = members(event.get("item"))
            if text(item.get("type")) in CALLS or text(item.get("type")) in HOSTED:
                tool = text(item.get("name")) or text(item.get("type"))
                self._writing[self._place(event, item)] = Writing(provider_id=text(item.get("call_id")), tool=tool)
        elif name.startswith("response.function_call_arguments."):
            self._write(event)
        elif name == "response.output_item.done":
            self._done(members(event.get("item")), self._place(event, members(event.get("item"))))
        elif name in _OVER:
            self._whole(members(event.get("response")))
            self._cut(f"{name}: the response is over")
            self._running = False
        elif name == "error":
            self._cut("the stream failed")
        elif event.get("object") == "response":
            self._begin(event)
            self._whole(event)
            self._running = False
        elif name in SILENT_EVENTS:
            return
        elif items(event.get("input")):
            for item in map(members, items(event.get("input"))):
                self._back(item)
        else:
            self._back(event, kind)

    def _begin(self, response: Event) -> None:
        """Begin a response; the same one again is a stream that is read once more."""
        if self._running and text(response.get("id")) == self._response:
            return
        self._settle()
        self._cut("another response begins")
        self._response, self._running = text(response.get("id")), True
        self._shown.clear()
        self.calls.turn_to_tools()
        self.calls.run_id = self._response or None

    def _place(self, event: Event, item: Event) -> object:
        place = event.get("output_index")
        return place if isinstance(place, int) else text(event.get("item_id")) or text(item.get("id")) or text(item.get("call_id"))

    def _whole(self, response: Event) -> None:
        """Take the items of a whole response that no event has shown."""
        for place, item in enumerate(map(members, items(response.get("output")))):
            self._done(item, place)

    def _write(self, event: Event) -> None:
        """Follow the arguments of a function call: they are complete before the item is done."""
        writing = self._writing.get(self._place(event, {}))
        if writing is None:
            return
        writing.add(text(event.get("delta")))
        writing.text = text(event.get("arguments")) or writing.text

    def _cut(self, why: str) -> None:
        """End what was being written: arguments that are one whole object are complete, anything else is not proposed."""
        for place, one in self._writing.items():
            if one.provider_id and one.is_whole:
                self._shown.add(place)
                self.calls.propose("response.output_item.added cut", one.provider_id, one.tool, exact(one.text))
            else:
                self.note(
                    "response.output_item.added", f"{why}, and {one.tool} {one.provider_id} was still being written: nothing is proposed"
                )
        self._writing.clear()

    def _settle(self) -> None:
        for one in self._pairing.settle():
            self.unmapped.append(Unmapped(one.row, one.word, one.why))

    # ── items ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _done(self, item: Event, place: object) -> None:
        if place in self._shown or not item:
            return
        self._shown.add(place)
        self._writing.pop(place, None)
        kind = text(item.get("type"))
        if kind in CALLS:
            self._settle()
            self._propose(item, kind)
        elif kind in HOSTED:
            self._hosted(item, kind)
        elif kind == "mcp_approval_request":
            word = "response.output_item.done mcp_approval_request"
            call = self.calls.propose(word, text(item.get("id")), text(item.get("name")), _inputs(item.get("arguments")))
            self.calls.ask_approval(word, call)
            self._asked[call.provider_id] = call
        else:
            self._back(item)

    def _propose(self, item: Event, kind: str) -> None:
        name, inputs = CALLS[kind]
        arguments = item.get(inputs, item.get("actions"))
        provider_id = text(item.get("call_id")) or text(item.get("id"))
        self.note("response.output_item.done", answers.reused(self.calls, provider_id))
        self.calls.propose(
            "response.output_item.done call", provider_id, text(item.get(name)) or kind.removesuffix("_call"), _inputs(arguments)
        )
        self.note("response.output_item.done", doubts(text(arguments)) if kind == "function_call" else "")

    def _hosted(self, item: Event, kind: str) -> None:
        """Record a call that the provider runs, and how its own status says that it ended."""
        word, (name, inputs, result) = "response.output_item.done hosted", HOSTED[kind]
        call = self._asked.pop(text(item.get("approval_request_id")), None)
        if call is None:
            tool = text(item.get(name)) or kind.removesuffix("_call")
            call = self.calls.propose(word, text(item.get("id")), tool, _inputs(item.get(inputs)))
        elif call.awaits_approval:
            self.calls.grant(word, call, UNRECORDED)
        status, error = text(item.get("status")), item.get("error")
        content = answers.plain(item.get(result)) if result else None
        if error is not None or status == "failed":
            endings.fail(self.calls, call, word, "tool-error", error, detail="The provider reports that the call failed.")
        elif status == "incomplete" or (status == "completed" and disguised_cancel(content)):
            endings.doubt(self.calls, call, f"{word} doubted", f"the provider's status is {status}, and its result is no plain success")
        elif status == "completed" or (status == "" and content is not None):
            endings.succeed(self.calls, call, word, content, executed="by the provider")
        else:
            self.note(kind, f"status {status!r}: neither an end nor a start")

    def _back(self, item: Event, kind: str = "") -> None:
        """Take an item that is sent back, or say why an item says nothing."""
        name = text(item.get("type"))
        if name in OUTPUTS:
            content, status = item.get("output"), text(item.get("status"))
            self._pairing.give(
                "output", text(item.get("call_id")) or text(item.get("id")),
                lambda call: answers.take(self.calls, call, "output", content, status=status), answers.shown(answers.plain(content)),
            )  # fmt: skip  # facts in lines
        elif name == "mcp_approval_response":
            self._answered(item)
        elif name in CALLS or name in HOSTED or name == "mcp_approval_request":
            self._stored(item, name)
        elif name in SILENT_ITEMS or (not name and text(item.get("role"))):
            return
        else:
            self.note(name or kind, "the table does not have this word")

    def _stored(self, item: Event, kind: str) -> None:
        """Take a call of a stored conversation; one that a response has shown comes back with every request, and adds nothing."""
        provider_id = text(item.get("call_id")) or text(item.get("id"))
        inputs = CALLS[kind][1] if kind in CALLS else "arguments"
        written = _inputs(item.get(inputs, item.get("actions")))
        if kind in CALLS and any(call.args == written for call in self.calls.known(provider_id)):
            return
        if kind in CALLS or not self.calls.known(text(item.get("id"))):
            self._done(item, (kind, text(item.get("id")), provider_id, written))

    def _answered(self, item: Event) -> None:
        word, call = "mcp_approval_response", self._asked.get(text(item.get("approval_request_id")))
        if call is None:
            self.note(word, "an answer to a request that nothing has shown")
        elif item.get("approve") is True:
            self.calls.grant(word, call, UNRECORDED, reason=text(item.get("reason")) or None)
        elif item.get("approve") is False:
            reason = text(item.get("reason"))
            said = self.calls.deny(word, call, UNRECORDED, reason=reason or None)
            cause = (evidence_ref(self.pen.source, said),)
            if not call.over:
                self.calls.close(word, call, ClosureKind.DENIED, UNRECORDED, reason or "the approval was denied", caused_by=cause)
        else:
            self.note(word, "an answer that is neither yes nor no")


def _inputs(arguments: Any) -> bytes:
    """Give the arguments' own text, or the JSON of what is no text."""
    return b"" if arguments is None else exact(arguments)
