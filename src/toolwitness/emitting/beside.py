"""A stream that goes on, with another beside it: whatever comes first is given first, and the end of the first ends both."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from toolwitness.emitting.moves import Move

Chunk = TypeVar("Chunk")


async def beside(
    chunks: AsyncIterable[Chunk],
    moves: AsyncIterator[Move],
    *,
    last: Callable[[], Awaitable[list[Move]]],
    settle_seconds: float = 0.0,
) -> AsyncIterator[Chunk | Move]:
    """Give the chunks of a stream unchanged and in order, and moves between them as they come.

    When the chunks have ended, ``last`` gives what has moved since and was not given yet, so that the stream never ends with an older
    record than the ledger holds. ``settle_seconds`` waits that long for more after the end: a call that outlives its run.

    Raises:
        Exception: whatever the chunks raise, after every move that was recorded before it.
    """
    queue: asyncio.Queue[Chunk | Move | BaseException | None] = asyncio.Queue(maxsize=64)
    tasks = [asyncio.create_task(_pour(chunks, queue, end="tell")), asyncio.create_task(_pour(moves, queue, end="keep"))]
    try:
        async for one in _until_end(queue):
            yield one
        if settle_seconds:
            async for one in _until_quiet(queue, settle_seconds):
                yield one
        for move in await last():
            yield move
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pour(source: AsyncIterable[Any], queue: "asyncio.Queue[Any]", *, end: str) -> None:
    """Put what comes into the queue, and what it breaks with too: a record that cannot be read must not look like one that stands still."""
    try:
        async for one in source:
            await queue.put(one)
    except Exception as error:  # noqa: BLE001 -- it is raised again where the stream is read
        await queue.put(error)
    else:
        if end == "tell":
            await queue.put(None)


async def _until_end(queue: "asyncio.Queue[Chunk | Move | BaseException | None]") -> AsyncIterator[Chunk | Move]:
    while (one := await queue.get()) is not None:
        if isinstance(one, BaseException):
            raise one
        yield one


async def _until_quiet(queue: "asyncio.Queue[Chunk | Move | BaseException | None]", seconds: float) -> AsyncIterator[Move]:
    try:
        async with asyncio.timeout(seconds):
            while True:
                one = await queue.get()
                if isinstance(one, Move):
                    yield one
    except TimeoutError:
        return
