"""Who follows a ledger: listeners that are called, and followers that iterate, all fed from one place.

Positions have no holes and become visible in their order, so a follower needs nothing but the last position that it gave out: nothing
is missed and nothing comes twice. What was just recorded is shared from a short memory; who is further behind reads from the ledger.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import islice
from typing import Final

from toolwitness.core.errors import Unavailable
from toolwitness.ports import Listener, Recorded

BATCH: Final = 500
_REMEMBERED: Final = 4_096


class Feed:
    """One broadcast of everything recorded, in order of position, to any number of followers on one event loop."""

    def __init__(self, read: Callable[[int, int], Awaitable[Sequence[Recorded]]], *, head: int = 0) -> None:
        """Follow from ``head``; ``read(after, limit)`` fetches what is not remembered."""
        self._read = read
        self._recent: deque[Recorded] = deque(maxlen=_REMEMBERED)
        self._waiting: set[asyncio.Future[None]] = set()
        self._listeners: list[Listener] = []
        self._told: int | None = head
        """The last position that the listeners were told; ``None`` while nobody knows where now is."""
        self._catching_up: asyncio.Task[None] | None = None
        self._following = 0
        self._closed = False
        self.head = head
        """The last position that is known to be recorded."""

    @property
    def watched(self) -> bool:
        """Whether anybody follows or listens."""
        return bool(self._following or self._listeners)

    def add_listener(self, listener: Listener, *, after: int | None) -> Callable[[], None]:
        """Call ``listener`` with each batch after the position ``after``; gives what takes it away again.

        A first listener that gives no position hears everything from the next news on; a further one hears what the first hears.
        """
        if not self._listeners:
            self._told = after
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def offer(self, batch: Sequence[Recorded]) -> None:
        """Take in what this process has just recorded; positions ascend without holes inside the batch."""
        if not batch:
            return
        first, last = batch[0].position, batch[-1].position
        if self._recent and first != self._recent[-1].position + 1:
            self._recent.clear()
        if self.watched:
            self._recent.extend(batch)
        else:
            self._recent.clear()
        if self._told is None:
            self._told = first - 1
        contiguous = first == self._told + 1 and self._catching_up is None
        self._advance(last)
        if self._listeners:
            if contiguous:
                self._tell(batch)
            else:
                self._catch_up()

    def advance(self, head: int) -> None:
        """Hear that the ledger has grown to ``head``, by whomever."""
        self._told = head if self._told is None else self._told
        self._advance(head)
        if self._listeners and self._told < head:
            self._catch_up()

    async def follow(self, after: int) -> AsyncGenerator[Sequence[Recorded], None]:
        """Yield batches in order of position after ``after`` until the ledger closes."""
        self._following += 1
        try:
            while not self._closed:
                if self.head <= after:
                    await self._more()
                elif batch := self._remembered(after) or await self._fetch(after):
                    after = batch[-1].position
                    yield batch
                else:
                    self.head = after  # it was said to be longer than it is: closed, or a file was exchanged
        finally:
            self._following -= 1

    def close(self) -> None:
        """Let every follower end."""
        self._closed = True
        if self._catching_up is not None:
            self._catching_up.cancel()
        self._wake()

    async def _fetch(self, after: int) -> Sequence[Recorded]:
        """Read what is not remembered; nothing where the ledger is closed meanwhile."""
        try:
            return await self._read(after, BATCH)
        except Unavailable:
            if self._closed:
                return ()
            raise

    def _advance(self, head: int) -> None:
        self.head = max(self.head, head)
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    async def _more(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def _remembered(self, after: int) -> Sequence[Recorded]:
        """Give what follows ``after`` if it is remembered."""
        if not self._recent or not self._recent[0].position <= after + 1 <= self._recent[-1].position:
            return ()
        start = after + 1 - self._recent[0].position
        missing = len(self._recent) - start
        if missing > BATCH:
            return list(islice(self._recent, start, start + BATCH))
        newest = list(islice(reversed(self._recent), missing))  # a deque is walked to where one begins: from this end, a few steps
        newest.reverse()
        return newest

    def _tell(self, batch: Sequence[Recorded]) -> None:
        self._told = batch[-1].position
        for listener in tuple(self._listeners):
            try:
                listener(batch)
            except Exception as error:  # noqa: BLE001  # one listener's fault is not the others' and never the ledger's
                loop = asyncio.get_running_loop()
                loop.call_exception_handler({"message": "a listener of the ledger raised", "exception": error})

    def _catch_up(self) -> None:
        if self._catching_up is None:
            self._catching_up = asyncio.get_running_loop().create_task(self._tell_what_was_missed())

    async def _tell_what_was_missed(self) -> None:
        try:
            while self._told is not None and self._told < self.head and self._listeners:
                batch = await self._read(self._told, BATCH)
                if not batch:
                    break
                self._tell(batch)
        except Unavailable:
            return  # the next news tries again
        finally:
            self._catching_up = None
