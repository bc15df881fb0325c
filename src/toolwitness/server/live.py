"""The live stream: Server-Sent Events as plain ASGI, encoded once for everybody who sees the same thing.

Subscribers with the same eyes (tenant, actor and roles) form an audience with one shared log of encoded frames. A subscriber is a
place in that log and nothing more. Frames are snapshots (the card as it is now), so a
subscriber that resumes, or that lags behind the log, gets what changed since its cursor and has lost nothing.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Final, Protocol

from starlette.types import Receive, Send

from toolwitness.contract.encode import encode
from toolwitness.core.errors import ToolwitnessError
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Ledger, Recorded
from toolwitness.server.audience import Audience, Entry, Subscriber, chunk
from toolwitness.server.leaving import server_is_leaving


class Drawing(Protocol):
    """What draws for the stream."""

    async def draw(
        self, actor: Actor, batch: Sequence[Recorded], *, drawn: MutableMapping[str, int] | None = None
    ) -> Iterable[tuple[str, str, Any]]:
        """Draw what an actor sees of these events, as it is now: (event name, task id, document); ``drawn`` keeps what was drawn before."""
        ...

    async def newly_waiting(self, batch: Sequence[Recorded]) -> Mapping[str, int]:
        """Count by tenant what waits for a person, for the tenants where this batch may have changed it."""
        ...

    async def waiting_count(self, actor: Actor) -> int:
        """Count what waits for a person in the actor's tenant."""
        ...


_CATCH_UP: Final = 5000
"""Whoever missed more events than this reads a fresh snapshot instead."""
_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether the server wants to stop."""
_LONGEST_REST: Final = 0.5
_RETRY: Final = b"retry: 1000\n\n"
_PING: Final = b": ping\n\n"
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_log = logging.getLogger("toolwitness.server")


def frame(name: str, document: Any, *, cursor: str = "") -> bytes:
    """Encode one event; a cursor is given only with the last event of a batch, so that resuming never skips half of one."""
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {name}\ndata: ".encode() + encode(document) + b"\n\n"


def read_cursor(text: str, epoch: str) -> int | None:
    """Give the position of a cursor of ours; ``None`` for anything else, and for one of another ledger."""
    place, _, of = text.removeprefix("p").partition(".")
    if not text.startswith("p") or not place.isascii() or not place.isdecimal() or len(place) > 18:
        return None
    position = int(place)
    return position if of == epoch or position == 0 else None


class Live:
    """Follows the ledger once for all subscribers and writes to each what it may see."""

    def __init__(self, ledger: Ledger, drawing: Drawing, *, ping_seconds: float = 15.0, retry_seconds: float = 1.0) -> None:
        """Take the ledger and what draws documents; nothing is followed until the first subscriber comes."""
        self._ledger = ledger
        self._drawing = drawing
        self._ping_seconds = ping_seconds
        self._retry_seconds = retry_seconds
        self._audiences: dict[tuple[str, str, frozenset[str]], Audience] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._beginning = asyncio.Lock()
        self._epoch = ""
        self._position = 0

    @property
    def subscribers(self) -> int:
        """How many streams are open now."""
        return sum(len(audience.subscribers) for audience in self._audiences.values())

    async def cursor(self) -> str:
        """Give the cursor of now: a stream that resumes from it brings everything that is recorded later."""
        head = await self._ledger.head()
        await self._learn_epoch()
        return self._cursor(head)

    async def close(self) -> None:
        """Stop following and end every stream."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        self._dismiss()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(
        self, receive: Receive, send: Send, *, actor: Actor, cursor: str = "", task_id: str = "", begin: Send | None = None
    ) -> None:
        """Write the stream of one subscriber until it goes away; ``begin`` is called instead of ``send`` for the first message.

        Raises:
            ToolwitnessError: the ledger cannot be read; nothing was sent yet.
        """
        await self._begin()
        audience = self._audiences.get(_eyes(actor))
        if audience is None:
            audience = self._audiences[_eyes(actor)] = Audience(actor, lambda: self._resync(self._position))
        subscriber = audience.join(task_id, send)
        try:
            opening, after = await self._catch_up(audience, cursor, task_id)
            await (begin or send)({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await send(chunk(opening))
            subscriber.open(after)
            await _until_disconnected(receive, subscriber)
            subscriber.close()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            audience.leave(subscriber)
            if not audience.subscribers and self._audiences.get(_eyes(actor)) is audience:
                del self._audiences[_eyes(actor)]

    # ── catching up ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _catch_up(self, audience: Audience, cursor: str, task_id: str) -> tuple[bytes, int]:
        """Give what changed since the cursor as it is now, and up to where.

        Too much, a cursor that is not ours, or a fault in drawing asks for a fresh snapshot.
        """
        await self._learn_epoch()
        head = await self._ledger.head()
        after = read_cursor(cursor, self._epoch) if cursor else head
        if after is None or after > head or head - after > _CATCH_UP:
            return _RETRY + self._resync(head), head
        if after == head:
            return f"retry: 1000\nid: {self._cursor(head)}\n\n".encode(), head
        try:
            entry = await audience.once((after, head, task_id), lambda: self._missed(audience.actor, after, task_id))
        except Exception:  # noqa: BLE001 - what cannot be drawn does not end the stream: it is logged, and a snapshot is asked for
            _log.exception("the live stream could not draw what was missed after position %s", after)
            return _RETRY + self._resync(head), head
        return _RETRY + entry.frames + self._mark(entry.reaches), entry.reaches

    async def _missed(self, actor: Actor, after: int, task_id: str) -> Entry:
        """Draw what one who was away has missed; many who come back at once share one drawing."""
        missed = await self._ledger.read(after=after)
        wanted = [r for r in missed if r.event.tenant == actor.tenant and task_id in {"", r.event.task_id}]
        frames = [frame(name, document) for name, _, document in await self._drawing.draw(actor, wanted)] if wanted else []
        frames.append(frame("inbox", {"waiting": await self._drawing.waiting_count(actor)}))
        return Entry(missed[-1].position if missed else after, b"".join(frames))

    # ── following ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _begin(self) -> None:
        async with self._beginning:
            if self._tasks and not any(task.done() for task in self._tasks):
                return
            for task in self._tasks:
                task.cancel()
            self._position = await self._ledger.head()
            await self._learn_epoch()
            self._tasks = [
                asyncio.create_task(self._follow(), name="toolwitness-live"),
                asyncio.create_task(self._watch(), name="toolwitness-watch"),
            ]

    async def _follow(self) -> None:
        """Draw and hand out whatever is recorded, for as long as the ledger is open."""
        while True:
            try:
                async for batch in self._ledger.follow(after=self._position):
                    if batch:
                        await self._hand_out(batch)
                break
            except ToolwitnessError:
                _log.exception("the live stream cannot read the ledger; it tries again")
                await asyncio.sleep(self._retry_seconds)
        self._dismiss()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def _hand_out(self, batch: Sequence[Recorded]) -> None:
        """Draw a batch for each audience, and rest as long as that took: under load the next batch is larger and is drawn once."""
        begun = time.perf_counter()
        self._position = batch[-1].position
        for audience in self._audiences.values():
            audience.forget_shared()
        waiting: Mapping[str, int] = {}
        try:
            await self._learn_epoch()
            waiting = await self._drawing.newly_waiting(batch)
        except Exception:  # noqa: BLE001 - what cannot be counted does not end the stream; the next batch counts anew
            _log.exception("the live stream could not count who waits at position %s", self._position)
        drawing = time.perf_counter() - begun
        for audience in list(self._audiences.values()):
            begun = time.perf_counter()
            try:
                entry = await self._entry(audience, batch, waiting.get(audience.actor.tenant))
            except Exception:  # noqa: BLE001 - what cannot be drawn does not end the stream: a snapshot is asked for
                _log.exception("the live stream could not draw positions %s to %s", batch[0].position, self._position)
                stale = self._resync(self._position)
                entry = Entry(self._position, stale, everywhere=stale)
            drawing += time.perf_counter() - begun
            if entry.frames or entry.everywhere:
                await audience.tell(entry)
        await asyncio.sleep(min(_LONGEST_REST, drawing))

    async def _entry(self, audience: Audience, batch: Sequence[Recorded], waiting: int | None) -> Entry:
        """Encode what an audience sees of a batch, once; tasks that none of it follows are not drawn, and nothing is drawn twice."""
        position = batch[-1].position
        seen = [r for r in batch if r.event.tenant == audience.actor.tenant and audience.follows(r.event.task_id)]
        told = b"" if waiting is None else frame("inbox", {"waiting": waiting})
        if not seen and not told:
            return Entry(position, b"")
        by_task: dict[str, list[bytes]] = {one.event.task_id: [] for one in seen}
        parts: list[bytes] = []
        for name, task_id, document in await self._drawing.draw(audience.actor, seen, drawn=audience.drawn) if seen else ():
            encoded = frame(name, document)
            parts.append(encoded)
            by_task[task_id].append(encoded)
        mark = self._mark(position)
        return Entry(
            reaches=max(position, await self._ledger.head()),
            frames=b"".join(parts) + told + mark,
            by_task={task: b"".join(own) + told + mark for task, own in by_task.items()},
            everywhere=told + mark if told else b"",
        )

    async def _watch(self) -> None:
        """Keep quiet streams open with pings, and end all of them when the server wants to stop: it would wait for them for ever."""
        quiet = 0.0
        while True:
            await asyncio.sleep(min(_LOOK_SECONDS, self._ping_seconds))
            quiet += min(_LOOK_SECONDS, self._ping_seconds)
            if server_is_leaving():
                self._dismiss()
            elif quiet >= self._ping_seconds:
                quiet = 0.0
                for audience in self._audiences.values():
                    audience.ping(_PING)

    def _dismiss(self) -> None:
        for audience in self._audiences.values():
            audience.dismiss()

    # ── cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _learn_epoch(self) -> None:
        """Learn what tells this ledger from any other: the hash of its first event."""
        if not self._epoch and (first := await self._ledger.read(limit=1)):
            self._epoch = first[0].hash[:8]

    def _cursor(self, position: int) -> str:
        return f"p{position}.{self._epoch}"

    def _mark(self, position: int) -> bytes:
        return f"id: {self._cursor(position)}\n\n".encode()

    def _resync(self, position: int) -> bytes:
        """Ask the subscriber to read a fresh snapshot; the stream goes on from ``position``."""
        cursor = self._cursor(position)
        return frame("resync", {"cursor": cursor}, cursor=cursor)


def _eyes(actor: Actor) -> tuple[str, str, frozenset[str]]:
    return actor.tenant, actor.id, actor.roles


async def _until_disconnected(receive: Receive, subscriber: Subscriber) -> None:
    """Wait until the reader goes away, or we want it to.

    Raises:
        asyncio.CancelledError: somebody else wants the request to end.
    """
    if subscriber.gone:
        return
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not subscriber.gone or (task is not None and task.uncancel() > 0):
            raise
