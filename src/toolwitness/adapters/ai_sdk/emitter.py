"""Our record in the AI SDK's UI message stream: one ``data-tool-call`` part a call, and native parts where the protocol has true ones.

The part's id is the invocation's, so that the client updates it in place; a retry is another invocation and another part. What is emitted
holds for versions 6 and 7. The protocol has no word for queued, cancelled after dispatch, withdrawn or expired: nothing native is said of
them, and the part says it.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from toolwitness.contract.encode import encode
from toolwitness.core.states import ClosureKind, State
from toolwitness.core.verdicts import Actor
from toolwitness.emitting.beside import beside
from toolwitness.emitting.moves import DeskLike, Move, Moves
from toolwitness.emitting.numbers import for_scripts
from toolwitness.wire.framing import encode_sse

PART: Final = "data-tool-call"
"""The type of our parts."""
HEADERS: Final[Mapping[str, str]] = MappingProxyType({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
})  # fmt: skip  # one header a line
"""What the client expects of the response."""
_DONE: Final = b"data: [DONE]\n\n"

Chunk = Mapping[str, Any]


def part(move: Move) -> Chunk:
    """Give the part of a call as it stands: ``data`` holds the contract document, and the card that ``<tool-call-card>`` draws."""
    return {"type": PART, "id": move.record.id, "data": move.payload()}


class Emitter:
    """Writes the calls of one task into a UI message stream, for one reader."""

    def __init__(self, desk: DeskLike, task_id: str, *, actor: Actor) -> None:
        """Take the task and who reads: controls are this actor's, and what it may not see is not there."""
        self._moves = Moves(desk, task_id, actor=actor)
        self._sent: dict[str, int] = {}

    async def beside(self, chunks: AsyncIterable[Chunk | bytes | str], *, settle_seconds: float = 0.0) -> AsyncIterator[bytes]:
        """Give a framework's own stream unchanged, with our parts between its chunks.

        ``chunks`` are objects, or whole frames as they go out; a ``[DONE]`` mark among them is kept for the end. ``settle_seconds`` keeps
        the stream open that long after the framework's end, for calls that outlive their run.
        """
        async for one in beside(_without_done(chunks), self._moves.follow(), last=self._last, settle_seconds=settle_seconds):
            if isinstance(one, Move):
                yield self._framed(one)
            else:
                yield one if isinstance(one, bytes) else encode_sse(encode(dict(one)))
        yield _DONE

    async def watch(self) -> AsyncIterator[bytes]:
        """Give our parts alone, until every call of the task has ended: for a client that stopped its stream, or comes back to one.

        The client's ``resumeStream`` goes on with the message that it has, and updates the parts in place.
        """
        yield encode_sse(encode({"type": "start"}))
        async for one in beside(_until(self._moves.settled()), self._moves.follow(), last=self._last):
            yield self._framed(one) if isinstance(one, Move) else encode_sse(encode(dict(one)))
        yield encode_sse(encode({"type": "finish"}))
        yield _DONE

    async def stream(self, run: Awaitable[Any], *, message_id: str, settle_seconds: float = 0.0) -> AsyncIterator[bytes]:
        """Give a whole message for a desk that has no framework: native parts as far as they are true, and ours, until ``run`` has ended.

        The run is cancelled where the client goes away; shield it to let it go on.

        Raises:
            Exception: whatever ``run`` raises, after an ``error`` chunk that names no detail of it.
        """
        native = _Native()
        yield encode_sse(encode({"type": "start", "messageId": message_id}))
        async for one in beside(_until(run), self._moves.follow(), last=self._last, settle_seconds=settle_seconds):
            if isinstance(one, Move):
                for chunk in native.chunks(one):
                    yield encode_sse(encode(dict(chunk)))
                yield self._framed(one)
            else:
                yield encode_sse(encode(dict(one)))
        yield encode_sse(encode({"type": "finish"}))
        yield _DONE

    def _framed(self, move: Move) -> bytes:
        self._sent[move.record.id] = move.record.version
        return encode_sse(encode(part(move)))

    async def _last(self) -> list[Move]:
        return [move for move in await self._moves.standing() if self._sent.get(move.record.id) != move.record.version]


async def _without_done(chunks: AsyncIterable[Chunk | bytes | str]) -> AsyncIterator[Chunk | bytes]:
    async for chunk in chunks:
        whole = chunk.encode() if isinstance(chunk, str) else chunk
        if whole != _DONE:
            yield whole


async def _until(run: Awaitable[Any]) -> AsyncIterator[Chunk]:
    """Wait for a run, and give nothing but the fact that it broke, where it did."""
    try:
        await run
    except Exception:
        yield {"type": "error", "errorText": "The run ended by an error. Each call says what is known of it."}
        raise


class _Native:
    """The protocol's own parts of each call, each said once and only where the record makes it true."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said: set[tuple[str, str]] = set()
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def chunks(self, move: Move) -> Iterator[Chunk]:
        """Give what has become true of a call and was not said yet."""
        for name, chunk in self._true(move, self._id(move)):
            if (move.record.id, name) not in self._said:
                self._said.add((move.record.id, name))
                yield chunk

    def _id(self, move: Move) -> str:
        """Give the id under which the client knows the call: the provider's, or ours where another call has that already."""
        known = self._ids.get(move.record.id)
        if known is None:
            known = move.provider_call_id if move.provider_call_id not in self._taken else move.record.id
            self._ids[move.record.id] = known
            self._taken.add(known)
        return known

    def _true(self, move: Move, call: str) -> Iterator[tuple[str, Chunk]]:
        record = move.record
        yield (
            "input",
            {
                "type": "tool-input-available",
                "toolCallId": call,
                "toolName": record.tool,
                "input": for_scripts(move.inputs),
                "dynamic": True,
            },
        )
        denied = record.closure is not None and record.closure.kind is ClosureKind.DENIED and record.approvals
        asked = record.open_approval or (record.approvals[-1] if denied else None)  # a denial needs the request that it answers
        if asked is not None:
            yield asked.id, {"type": "tool-approval-request", "approvalId": asked.id, "toolCallId": call}
        if record.state is State.SUCCEEDED:
            yield "end", {"type": "tool-output-available", "toolCallId": call, "output": for_scripts(move.result), "dynamic": True}
        elif record.state is State.FAILED:
            yield "end", {"type": "tool-output-error", "toolCallId": call, "errorText": _failure(move), "dynamic": True}
        elif denied:
            yield "end", {"type": "tool-output-denied", "toolCallId": call}


def _failure(move: Move) -> str:
    """Give the category and the sentence of a failure; the tool's own words stay where they are sealed."""
    said = move.record.outcome.data if move.record.outcome is not None else {}
    return ": ".join(text for text in (str(said.get("category") or ""), str(said.get("detail") or "")) if text) or "failed"
