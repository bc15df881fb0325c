"""Our record in an AG-UI stream: a ``CUSTOM`` event at every move, and the record in the ``metadata`` of the events that end something.

``metadata`` of a result and of the run's end arrives at the client unchanged, where unknown fields of the events themselves are stripped.
The protocol has no word for a call's failure, cancellation, denial or expiry: no native event is made up for them.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.contract.encode import encode
from toolwitness.core.verdicts import Actor
from toolwitness.emitting.beside import beside
from toolwitness.emitting.moves import KEY, DeskLike, Move, Moves
from toolwitness.wire.framing import SseDecoder, encode_sse
from toolwitness.wire.json_text import parse

NAME: Final = "toolwitness.tool-call"
"""The name of our custom events."""
HEADERS: Final[Mapping[str, str]] = MappingProxyType({
    "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no",
})  # fmt: skip  # a short table
"""What the client expects of the response."""
_FIRST: Final = "RUN_STARTED"
_LAST: Final = frozenset({"RUN_FINISHED", "RUN_ERROR"})

Event = Mapping[str, Any]


def custom(move: Move) -> Event:
    """Give the custom event of a call as it stands."""
    return {"type": "CUSTOM", "name": NAME, "value": move.payload()}


class Emitter:
    """Writes the calls of one task into an AG-UI stream, for one reader."""

    def __init__(self, desk: DeskLike, task_id: str, *, actor: Actor) -> None:
        """Take the task and who reads: controls are this actor's, and what it may not see is not there."""
        self._moves = Moves(desk, task_id, actor=actor)
        self._standing: dict[str, Move] = {}
        self._sent: dict[str, int] = {}

    async def beside(self, events: AsyncIterable[Event | bytes | str]) -> AsyncIterator[bytes]:
        """Give a framework's own events, framed and unchanged but for the metadata of those that end something, with ours between them.

        ``events`` are objects (``event.model_dump(by_alias=True, exclude_none=True)``), or whole frames as an encoder writes them. What
        follows the run's end is refused by the client, so the last of our events come just before it. Nothing of ours comes before the
        run has started.
        """
        held: list[Move] = []
        started = False
        async for one in beside(events, self._moves.follow(), last=_nothing):
            if isinstance(one, Move):
                self._standing[one.record.id] = one
                if started:
                    yield self._framed(one)
                else:
                    held.append(one)
                continue
            event = _read(one)
            kind = str(event.get("type") or "")
            if kind in _LAST:
                for move in await self._moves.standing():
                    self._standing[move.record.id] = move
                    if self._sent.get(move.record.id) != move.record.version:
                        yield self._framed(move)
            enriched = await self._with_metadata(kind, event)
            yield _bytes(one) if enriched is event else _frame(enriched)
            if kind == _FIRST and not started:
                started = True
                for move in held:
                    yield self._framed(move)

    async def watch(self, *, thread_id: str, run_id: str) -> AsyncIterator[bytes]:
        """Give a run that calls no model and only tells how the calls of the task go on, until every one has ended."""

        async def run() -> AsyncIterator[Event]:
            yield {"type": _FIRST, "threadId": thread_id, "runId": run_id}
            await self._moves.settled()
            yield {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id}

        async for frame in self.beside(run()):
            yield frame

    async def _with_metadata(self, kind: str, event: Event) -> Event:
        """Put the record of the call that a result answers, or of every call at the end of a run, into the event's open metadata."""
        found: Any = None
        if kind == "TOOL_CALL_RESULT":
            calls = [move for move in await self._moves.standing() if move.provider_call_id == event.get("toolCallId")]
            found = calls[-1].payload() if calls else None
        elif kind == "RUN_FINISHED":
            found = [move.payload() for move in self._standing.values()] or None
        if found is None:
            return event
        before = cast("Mapping[str, Any]", event.get("metadata") or {})
        return {**event, "metadata": {**before, KEY: found}}

    def _framed(self, move: Move) -> bytes:
        self._sent[move.record.id] = move.record.version
        return _frame(custom(move))


async def _nothing() -> list[Move]:
    return []


def _frame(event: Event) -> bytes:
    return encode_sse(encode(dict(event)))


def _bytes(one: Event | bytes | str) -> bytes:
    return one if isinstance(one, bytes) else one.encode() if isinstance(one, str) else _frame(one)


def _read(one: Event | bytes | str) -> Event:
    """Read an event, or the one that a frame holds; empty where it is neither, and then it passes as it came."""
    if isinstance(one, Mapping):
        return one
    decoder = SseDecoder()
    frames = list(decoder.feed(_bytes(one)))
    if len(frames) != 1:
        return {}
    parsed = parse(frames[0].data, expect="object")
    return cast("Event", parsed.value) if parsed.is_whole and isinstance(parsed.value, dict) else {}
