"""The live stream: Server-Sent Events as plain ASGI, encoded once for everybody who sees the same thing.

Subscribers with the same eyes (tenant, actor and roles) form an audience with one shared log of encoded frames. A subscriber is a
cursor into that log and nothing more: no queue and no task group of its own. Frames are snapshots (the card as it is now), so a
subscriber that resumes, or that lags behind the log, gets what changed since its cursor and has lost nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from toolwitness.core.verdicts import Actor
from toolwitness.ports import Ledger, Recorded

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Draw = Callable[[Actor, Sequence[Recorded]], Awaitable[Iterable[tuple[str, str, Any]]]]
"""Draws what an actor sees of these events: (event name, task id, document)."""

_LOG_FRAMES: Final = 2048
_CATCH_UP: Final = 5000
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_log = logging.getLogger("toolwitness.server")


def frame(name: str, document: Any, *, cursor: int | None = None) -> bytes:
    """Encode one event; ``cursor`` is given with the last event of a batch, so that resuming never skips half of one."""
    head = f"id: p{cursor}\n" if cursor is not None else ""
    body = document if isinstance(document, bytes) else orjson.dumps(document)
    return f"{head}event: {name}\ndata: ".encode() + body + b"\n\n"


def read_cursor(text: str) -> int | None:
    """Read a cursor that we gave out; ``None`` for anything else."""
    return int(text[1:]) if text.startswith("p") and text[1:].isdigit() and len(text) < 20 else None


@dataclass(frozen=True, slots=True)
class Entry:
    """The frames of one batch: for everybody in the audience, and by task for those who follow one task."""

    position: int
    frames: bytes
    by_task: dict[str, bytes]


@dataclass(slots=True, eq=False)
class Audience:
    """Subscribers that see the same thing, and the log they share."""

    actor: Actor
    log: list[Entry] = field(default_factory=list)
    dropped: int = 0
    """How many entries have been dropped from the front of the log."""
    waiting: list["asyncio.Future[None]"] = field(default_factory=list)
    subscribers: int = 0

    def add(self, entry: Entry) -> None:
        """Append an entry and wake everybody."""
        self.log.append(entry)
        if len(self.log) > _LOG_FRAMES:
            cut = len(self.log) // 2
            del self.log[:cut]
            self.dropped += cut
        self.wake()

    def wake(self) -> None:
        """Wake everybody who waits."""
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    @property
    def end(self) -> int:
        """The index behind the last entry."""
        return self.dropped + len(self.log)


class Live:
    """Follows the ledger once for all subscribers and writes to each what it may see."""

    def __init__(self, ledger: Ledger, draw: Draw, *, ping_seconds: float = 15.0) -> None:
        """Take the ledger and what draws documents; nothing is followed until the first subscriber comes."""
        self._ledger = ledger
        self._draw = draw
        self._ping_seconds = ping_seconds
        self._audiences: dict[tuple[str, str, frozenset[str]], Audience] = {}
        self._follower: asyncio.Task[None] | None = None
        self._pinger: asyncio.Task[None] | None = None
        self._position = 0
        self._pings = 0

    async def close(self) -> None:
        """Stop following."""
        for task in (self._follower, self._pinger):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(t for t in (self._follower, self._pinger) if t is not None), return_exceptions=True)
        self._follower = self._pinger = None

    async def serve(self, receive: Receive, send: Send, *, actor: Actor, cursor: str = "", task_id: str = "") -> None:
        """Write the stream of one subscriber until it goes away."""
        await self._begin()
        audience = self._audience(actor)
        audience.subscribers += 1
        gone = asyncio.ensure_future(_disconnected(receive))
        gone.add_done_callback(lambda _: audience.wake())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            index = audience.end
            caught_up = await self._catch_up(send, actor, cursor, task_id)
            await self._pump(send, audience, index=index, after=caught_up, task_id=task_id, gone=gone)
        finally:
            gone.cancel()
            audience.subscribers -= 1
            if audience.subscribers == 0:
                self._audiences.pop(_eyes(actor), None)

    async def _begin(self) -> None:
        if self._follower is None or self._follower.done():
            self._position = await self._ledger.head()
            self._follower = asyncio.create_task(self._follow(self._position), name="toolwitness-live")
            self._pinger = asyncio.create_task(self._ping(), name="toolwitness-ping")

    def _audience(self, actor: Actor) -> Audience:
        return self._audiences.setdefault(_eyes(actor), Audience(actor))

    async def _catch_up(self, send: Send, actor: Actor, cursor: str, task_id: str) -> int:
        """Send what changed since the cursor as it is now; too much, or a cursor that is not ours, asks for a fresh snapshot."""
        head = await self._ledger.head()
        after = read_cursor(cursor) if cursor else head
        if after is None or after > head or head - after > _CATCH_UP:
            await send(_chunk(frame("resync", {"cursor": f"p{head}"}, cursor=head)))
            return head
        missed = await self._ledger.read(after=after) if after < head else []
        if not missed:
            await send(_chunk(f": live\nretry: 1000\nid: p{head}\n\n".encode()))
            return head
        entry = await self._entry(actor, missed)
        await send(_chunk(b"retry: 1000\n\n" + _part(entry, task_id)))
        return entry.position

    async def _pump(
        self, send: Send, audience: Audience, *, index: int, after: int, task_id: str, gone: "asyncio.Future[None]"
    ) -> None:
        loop = asyncio.get_running_loop()
        pings = self._pings
        while not gone.done():
            if index < audience.dropped:
                head = self._position
                await send(_chunk(frame("resync", {"cursor": f"p{head}"}, cursor=head)))
                index, after = audience.end, head
            elif index < audience.end:
                entries = audience.log[index - audience.dropped :]
                index = audience.end
                body = b"".join(_part(entry, task_id) for entry in entries if entry.position > after)
                if body:
                    await send(_chunk(body))
            elif pings != self._pings:
                pings = self._pings
                await send(_chunk(b": ping\n\n"))
            else:
                future: asyncio.Future[None] = loop.create_future()
                audience.waiting.append(future)
                await future

    async def _follow(self, after: int) -> None:
        async for batch in self._ledger.follow(after=after):
            if not batch:
                continue
            self._position = batch[-1].position
            for audience in list(self._audiences.values()):
                try:
                    entry = await self._entry(audience.actor, batch)
                except Exception:
                    _log.exception("the live stream could not draw positions %s to %s", batch[0].position, self._position)
                    entry = Entry(self._position, frame("resync", {"cursor": f"p{self._position}"}, cursor=self._position), {})
                if entry.frames:
                    audience.add(entry)

    async def _entry(self, actor: Actor, batch: Sequence[Recorded]) -> Entry:
        """Encode what ``actor`` sees of a batch, once."""
        seen = [recorded for recorded in batch if recorded.event.tenant == actor.tenant]
        position = batch[-1].position
        if not seen:
            return Entry(position, b"", {})
        parts: list[bytes] = []
        by_task: dict[str, list[bytes]] = {}
        for name, task_id, document in await self._draw(actor, seen):
            encoded = frame(name, document)
            parts.append(encoded)
            by_task.setdefault(task_id, []).append(encoded)
        mark = f"id: p{position}\n\n".encode()
        whole = b"".join(parts) + mark if parts else b""
        everywhere = b"".join(by_task.pop("", []))
        return Entry(position, whole, {task: b"".join(own) + everywhere + mark for task, own in by_task.items()})

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._ping_seconds)
            self._pings += 1
            for audience in self._audiences.values():
                audience.wake()


def _part(entry: Entry, task_id: str) -> bytes:
    return entry.by_task.get(task_id, b"") if task_id else entry.frames


def _chunk(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


def _eyes(actor: Actor) -> tuple[str, str, frozenset[str]]:
    return actor.tenant, actor.id, actor.roles


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
