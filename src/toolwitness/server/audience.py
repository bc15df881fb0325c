"""Those who see the same thing, the log of frames that they share, and each one's place in it.

A subscriber costs no task, no queue and no wake-up: what is new is written straight to all of them, one after the other. Writing is a
coroutine that nearly always ends without waiting; where a reader is slow and it does wait, a task of the subscriber's own finishes it and
catches up.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from types import CoroutineType
from typing import Any, Final, cast

from starlette.types import Send

from toolwitness.core.verdicts import Actor

_MOST_ENTRIES: Final = 2048
_MOST_BYTES: Final = 32 * 1024 * 1024
_AT_A_TIME: Final = 256
"""After so many subscribers, others on the loop have their turn."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The frames of one batch: for everybody in the audience, by task for those who follow one, and for those who follow another."""

    reaches: int
    """Up to where the ledger was drawn; it may be further than the batch."""
    frames: bytes
    by_task: dict[str, bytes] = field(default_factory=dict[str, bytes])
    everywhere: bytes = b""

    def part(self, task_id: str) -> bytes:
        """Give what a follower of ``task_id`` is sent; of every task where that is empty."""
        return self.by_task.get(task_id, self.everywhere) if task_id else self.frames


class Subscriber:
    """One open stream: where it stands in the log of its audience, and how to write to it."""

    __slots__ = ("_audience", "_rest", "_send", "_task", "after", "gone", "index", "live", "task_id")

    def __init__(self, audience: "Audience", task_id: str, send: Send) -> None:
        """Stand behind the last entry; nothing is written before ``open``."""
        self.task_id = task_id
        self.index = audience.end
        self.after = 0
        """Entries up to this position were part of what it caught up with."""
        self.live = False
        self.gone = False
        """Whether it was asked to end."""
        self._audience = audience
        self._send = send
        self._task = asyncio.current_task()
        self._rest: asyncio.Task[None] | None = None

    def open(self, after: int) -> None:
        """Write everything behind the position ``after``, from now on."""
        self.after, self.live = after, True
        self.push()

    def push(self) -> None:
        """Write what is new, as far as it goes without waiting."""
        if self.live and self._rest is None and (body := self._audience.take(self)):
            self._write(body)

    def ping(self, body: bytes) -> None:
        """Write ``body`` if nothing else is being written."""
        if self.live and self._rest is None:
            self._write(body)

    def _write(self, body: bytes) -> None:
        """Write a piece of the stream; where that has to wait, a task finishes it and then writes what came meanwhile."""
        sending: Any = self._send(chunk(body))
        writing = cast("CoroutineType[Any, Any, Any]", sending if type(sending) is CoroutineType else _awaited(sending))
        try:
            waits_for = writing.send(None)
        except StopIteration:
            return
        except (Exception, asyncio.CancelledError):  # noqa: BLE001 - however a connection breaks, this one is over and the others are not
            self.go()
            return
        self._rest = asyncio.create_task(self._finish(_Rest(writing, waits_for)), name="toolwitness-slow-reader")

    async def _finish(self, rest: "_Rest") -> None:
        """Write to the end what had to wait, and then what came meanwhile."""
        try:
            await rest
            while self.live and (body := self._audience.take(self)):
                await self._send(chunk(body))
        except Exception:  # noqa: BLE001 - as in ``_write``
            self.go()
        finally:
            self._rest = None

    def go(self) -> None:
        """End the stream; who wants to hear more comes back."""
        if not self.gone:
            self.gone = True
            if self.live and self._task is not None:
                self._task.cancel()

    def close(self) -> None:
        """Write nothing any more."""
        self.live = False
        if self._rest is not None:
            self._rest.cancel()


class _Rest:
    """What is left of a coroutine that was begun elsewhere and waits for something."""

    def __init__(self, coroutine: "CoroutineType[Any, Any, Any]", waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        waits_for = self._waits_for
        while True:
            try:
                given = yield waits_for
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's to handle, a cancellation above all
                resume = lambda thrown=error: self._coroutine.throw(thrown)  # noqa: E731 - one of two ways on
            else:
                resume = lambda value=given: self._coroutine.send(value)  # noqa: E731 - the other
            try:
                waits_for = resume()
            except StopIteration:
                return


async def _awaited(sending: Awaitable[Any]) -> None:
    """Make a coroutine of what a server gives that is awaitable and none."""
    await sending


class Audience:
    """Subscribers with the same eyes, and the log that they share."""

    def __init__(self, actor: Actor, resync: Callable[[], bytes]) -> None:
        """Begin with nobody and nothing; ``resync`` is what one is sent who lags behind the log."""
        self.actor = actor
        self.dropped = 0
        """How many entries have been dropped from the front of the log."""
        self.subscribers: set[Subscriber] = set()
        self._resync = resync
        self._log: list[Entry] = []
        self._bytes = 0
        self._followed: Counter[str] = Counter()
        self._shared: dict[tuple[int, int, str], asyncio.Task[Entry]] = {}
        self.drawn: dict[str, int] = {}
        """Task id → its event up to which everything was told."""

    @property
    def end(self) -> int:
        """The index behind the last entry."""
        return self.dropped + len(self._log)

    def join(self, task_id: str, send: Send) -> Subscriber:
        """Take in somebody who follows one task, or all where none is named, from the next entry on."""
        subscriber = Subscriber(self, task_id, send)
        self.subscribers.add(subscriber)
        self._followed[task_id] += 1
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Let somebody go."""
        subscriber.close()
        self.subscribers.discard(subscriber)
        self._followed[subscriber.task_id] -= 1

    def follows(self, task_id: str) -> bool:
        """Tell whether anybody wants to hear of a task."""
        return self._followed[""] > 0 or self._followed[task_id] > 0

    async def tell(self, entry: Entry) -> None:
        """Append an entry and write it to everybody; the older half of the log goes when it grows too long."""
        self._log.append(entry)
        self._bytes += len(entry.frames)
        if len(self._log) > _MOST_ENTRIES or (self._bytes > _MOST_BYTES and len(self._log) > 1):
            cut = len(self._log) // 2
            self._bytes -= sum(len(old.frames) for old in self._log[:cut])
            del self._log[:cut]
            self.dropped += cut
        waiting = list(self.subscribers)
        for start in range(0, len(waiting), _AT_A_TIME):
            if start:
                await asyncio.sleep(0)
            for subscriber in waiting[start : start + _AT_A_TIME]:
                subscriber.push()

    def take(self, subscriber: Subscriber) -> bytes:
        """Give what a subscriber has not been sent yet, and move it to the end; empty when there is nothing."""
        log, dropped, index = self._log, self.dropped, subscriber.index
        end = subscriber.index = dropped + len(log)
        if index == end - 1:  # nearly always: one entry is new
            entry = log[-1]
            if entry.reaches <= subscriber.after:
                return b""
            return entry.part(subscriber.task_id) if subscriber.task_id else entry.frames
        if index < dropped:
            return self._resync()
        return b"".join([entry.part(subscriber.task_id) for entry in log[index - dropped :] if entry.reaches > subscriber.after])

    def ping(self, body: bytes) -> None:
        """Write the same to everybody to whom nothing is being written."""
        for subscriber in list(self.subscribers):
            subscriber.ping(body)

    def dismiss(self) -> None:
        """End every stream."""
        for subscriber in list(self.subscribers):
            subscriber.go()

    async def once(self, key: tuple[int, int, str], draw: Callable[[], Awaitable[Entry]]) -> Entry:
        """Draw once for all who ask for the same at the same time."""
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = asyncio.ensure_future(draw())
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done():
                self._shared.pop(key, None)
            raise

    def forget_shared(self) -> None:
        """Forget what was drawn for those who came back: the record has moved on."""
        self._shared.clear()


def chunk(body: bytes) -> dict[str, Any]:
    """Give the message that writes a piece of a stream that goes on."""
    return {"type": "http.response.body", "body": body, "more_body": True}
