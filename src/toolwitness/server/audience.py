"""Those who see the same thing, the log of frames that they share, and each one's place in it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from toolwitness.core.verdicts import Actor

_MOST_ENTRIES: Final = 2048
_MOST_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """The frames of one batch: for everybody in the audience, by task for those who follow one, and for those who follow another."""

    position: int
    frames: bytes
    by_task: dict[str, bytes] = field(default_factory=dict[str, bytes])
    everywhere: bytes = b""

    def part(self, task_id: str) -> bytes:
        """Give what a follower of ``task_id`` is sent; of every task where that is empty."""
        return self.by_task.get(task_id, self.everywhere) if task_id else self.frames


class Subscriber:
    """One open stream: where it stands in the log of its audience, and whether anybody still listens."""

    __slots__ = ("_waiter", "after", "gone", "index", "pinged", "task_id")

    def __init__(self, task_id: str, index: int) -> None:
        """Stand at ``index`` of the log."""
        self.task_id = task_id
        self.index = index
        self.after = 0
        """Entries up to this position were part of what it caught up with."""
        self.gone = False
        self.pinged = False
        self._waiter: asyncio.Future[None] | None = None

    async def news(self) -> None:
        """Wait until there is something to do."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def wake(self) -> None:
        """Look again."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def go(self) -> None:
        """End the stream."""
        self.gone = True
        self.wake()


class Audience:
    """Subscribers with the same eyes, and the log that they share."""

    def __init__(self, actor: Actor) -> None:
        """Begin with nobody and nothing."""
        self.actor = actor
        self.dropped = 0
        """How many entries have been dropped from the front of the log."""
        self.subscribers: set[Subscriber] = set()
        self._log: list[Entry] = []
        self._bytes = 0
        self._followed: Counter[str] = Counter()
        self._shared: dict[tuple[int, int, str], asyncio.Task[Entry]] = {}

    @property
    def end(self) -> int:
        """The index behind the last entry."""
        return self.dropped + len(self._log)

    def join(self, task_id: str) -> Subscriber:
        """Take in somebody who follows one task, or all where none is named, from the next entry on."""
        subscriber = Subscriber(task_id, self.end)
        self.subscribers.add(subscriber)
        self._followed[task_id] += 1
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Let somebody go."""
        self.subscribers.discard(subscriber)
        self._followed[subscriber.task_id] -= 1

    def follows(self, task_id: str) -> bool:
        """Tell whether anybody wants to hear of a task."""
        return self._followed[""] > 0 or self._followed[task_id] > 0

    def add(self, entry: Entry) -> None:
        """Append an entry and wake everybody; the older half goes when the log grows too long."""
        self._log.append(entry)
        self._bytes += len(entry.frames)
        if len(self._log) > _MOST_ENTRIES or (self._bytes > _MOST_BYTES and len(self._log) > 1):
            cut = len(self._log) // 2
            self._bytes -= sum(len(old.frames) for old in self._log[:cut])
            del self._log[:cut]
            self.dropped += cut
        for subscriber in self.subscribers:
            subscriber.wake()

    def take(self, subscriber: Subscriber) -> bytes:
        """Give what a subscriber has not been sent yet, and move it to the end."""
        at, subscriber.index = subscriber.index - self.dropped, self.end
        if at == len(self._log) - 1:
            entry = self._log[at]
            return entry.part(subscriber.task_id) if entry.position > subscriber.after else b""
        return b"".join(entry.part(subscriber.task_id) for entry in self._log[at:] if entry.position > subscriber.after)

    def ping(self) -> None:
        """Let everybody hear that the stream is alive."""
        for subscriber in self.subscribers:
            subscriber.pinged = True
            subscriber.wake()

    def dismiss(self) -> None:
        """End every stream; who wants to hear more comes back."""
        for subscriber in self.subscribers:
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
