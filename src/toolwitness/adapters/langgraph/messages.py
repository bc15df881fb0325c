"""Messages in whatever form they were written down, and what a list of them holds. Nothing is ever raised (R11)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from toolwitness.adapters.langgraph.mapping import MESSAGES
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import exact

Event = Mapping[str, Any]
_CLASSES: Final = {"AIMessage": "ai", "ToolMessage": "tool", "HumanMessage": "human", "SystemMessage": "system"}
_LAST: Final = "last"


def unwrap(value: Any) -> Event:
    """Give a message as plain members; none where it is no message. Both of LangChain's own forms of serialization are opened."""
    shown = members(value)
    if shown.get("type") == "constructor" and isinstance(shown.get("kwargs"), Mapping):
        name = text((items(shown.get("id")) or ("",))[-1])
        shown = {"type": _CLASSES.get(name, name), **members(shown["kwargs"])}
    elif isinstance(shown.get("data"), Mapping) and text(shown.get("type")) in MESSAGES:
        shown = {**members(shown["data"]), "type": shown["type"]}
    return shown if text(shown.get("type")) in MESSAGES and ("content" in shown or "tool_calls" in shown) else {}


def messages_in(value: Any, depth: int = 3) -> Iterator[Event]:
    """Give every message in a node's update, in state, or in a list of those, in order."""
    if message := unwrap(value):
        yield message
    elif depth and isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from messages_in(inner, depth - 1)
    elif depth:
        for inner in items(value):
            yield from messages_in(inner, depth - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One call of an AI message; ``refused`` is why its arguments cannot be used, where they cannot."""

    id: str
    tool: str
    args: Any
    refused: str = ""

    @property
    def raw(self) -> bytes:
        """The bytes of the arguments: a text as it was written, else compact JSON."""
        return exact(self.args)


def proposed_in(message: Event) -> list[Proposed]:
    """Give the calls of an AI message, those with arguments that are no JSON object too; ids alone say too little."""
    found = [members(call) for call in items(message.get("tool_calls"))]
    calls = [Proposed(id=text(c.get("id")), tool=text(c.get("name")), args=c.get("args")) for c in found if c]
    broken = [members(call) for call in items(message.get("invalid_tool_calls"))]
    return calls + [
        Proposed(id=text(c.get("id")), tool=text(c.get("name")), args=c.get("args"), refused=text(c.get("error")) or "not a JSON object")
        for c in broken
        if c.get("id") or c.get("name")
    ]


def decision_in(message: Event) -> str:
    """Give the reviewer's decision that a tool message stands for: ``reject``, ``respond``, or nothing."""
    marks = members(message.get("additional_kwargs"))
    return text(members(marks.get("lc_data")).get("decision")) if marks.get("lc_source") == "hitl_interrupt_decision" else ""


def told_by_us(message: Event) -> Event:
    """Give what a message says that our recorder gave in the place of a result, or once more; nothing where it is none of ours."""
    return members(members(message.get("additional_kwargs")).get("toolwitness"))


# ── what the model writes ───────────────────────────────────────────────────────────────────────────────────────────


class Chunks:
    """Puts together the parts of AI messages that several models may write at once; whole where the last one says that it is."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self._written: dict[str, list[dict[str, Any]]] = {}
        self._ids: dict[str, list[str]] = {}

    def take(self, message: Event, meta: Event) -> tuple[list[str], list[Proposed]] | None:
        """Take one part; give the ids that the message went by, and its calls, once it is whole."""
        place = text(meta.get("checkpoint_ns")) or f"{meta.get('langgraph_node')} {meta.get('langgraph_step')}"
        written, ids = self._written.setdefault(place, []), self._ids.setdefault(place, [])
        if text(message.get("id")):
            ids.append(text(message.get("id")))
        for part in map(members, items(message.get("tool_call_chunks"))):
            self._write(written, part)
        if message.get("chunk_position") != _LAST:
            return None
        del self._written[place], self._ids[place]
        return ids, [Proposed(id=one["id"], tool=one["name"], args=one["args"] or {}) for one in written]

    @staticmethod
    def _write(written: list[dict[str, Any]], part: Event) -> None:
        index = part.get("index")
        found = next((one for one in written if index is not None and one["index"] == index), None)
        if found is None:
            found = {"index": index, "id": "", "name": "", "args": ""}
            written.append(found)
        for name in ("id", "name", "args"):
            found[name] = f"{found[name]}{text(part.get(name))}"
