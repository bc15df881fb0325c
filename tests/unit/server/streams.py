"""Clients of the live stream: they read frames as a browser does, and put together what they were told."""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.unit.server.house import House, until


@dataclass
class Frame:
    """One event of the stream."""

    name: str
    data: Any
    id: str


@dataclass
class Parser:
    """Reads an event stream as the HTML standard says; ``last_id`` is what a browser would send when it reconnects."""

    last_id: str = ""
    pings: int = 0
    retry: str = ""
    _name: str = ""
    _id: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, line: str) -> Frame | None:
        """Take one line; gives an event when the line ends one."""
        if not line:
            self.last_id = self._id or self.last_id
            name, data = self._name, self._data
            self._name, self._data = "", []
            return Frame(name or "message", json.loads("\n".join(data)), self.last_id) if data else None
        if line.startswith(":"):
            self.pings += 1
            return None
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "event":
            self._name = value
        elif key == "data":
            self._data.append(value)
        elif key == "id":
            self._id = value
        elif key == "retry":
            self.retry = value
        return None


@dataclass
class Follower:
    """One open stream."""

    parser: Parser = field(default_factory=Parser)
    frames: list[Frame] = field(default_factory=list)
    raw: bytearray = field(default_factory=bytearray)
    open: bool = False
    ended: bool = False

    def named(self, name: str) -> list[Any]:
        """Give the data of all events of one name."""
        return [frame.data for frame in self.frames if frame.name == name]

    async def until(self, name: str, holds: Any = lambda _: True) -> Any:
        """Wait for an event of this name of which something holds."""
        found = await until(lambda: next(((d,) for d in self.named(name) if holds(d)), None))
        return found[0]


@asynccontextmanager
async def following(house: House, person: str, *, cursor: str = "", task: str = "", last_id: str = "") -> AsyncIterator[Follower]:
    """Follow the stream until the block is left; it is open when the block begins."""
    follower = Follower()
    query = {name: value for name, value in (("cursor", cursor), ("task", task)) if value}
    headers = {"X-Person": person} | ({"Last-Event-ID": last_id} if last_id else {})

    async def read() -> None:
        async with (
            httpx.AsyncClient(base_url=house.base, headers=headers, timeout=60) as client,
            client.stream("GET", "/api/stream", params=query) as answer,
        ):
            assert answer.status_code == 200, answer.status_code
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            rest, decoder = "", codecs.getincrementaldecoder("utf-8")()
            async for chunk in answer.aiter_bytes():
                follower.raw += chunk
                *lines, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in lines:
                    if frame := follower.parser.feed(line):
                        follower.frames.append(frame)
                follower.open = True
        follower.ended = True

    reading = asyncio.create_task(read())
    try:
        await until(lambda: follower.open or reading.done())
        yield follower
    finally:
        reading.cancel()
        [fault] = await asyncio.gather(reading, return_exceptions=True)
        assert fault is None or isinstance(fault, asyncio.CancelledError | httpx.TransportError), fault


@dataclass
class Page:
    """A page that was painted from a snapshot and then told what changed: what a browser holds."""

    task: dict[str, Any]
    stale: bool = False

    def take(self, frame: Frame) -> None:
        """Take one event in, as the elements do."""
        if frame.name == "resync":
            self.stale = True
        elif frame.name == "task" and frame.data["id"] == self.task["id"] and frame.data["version"] >= self.task["version"]:
            self.task = {**self.task, **frame.data}
        elif frame.name == "card" and frame.data["task"] == self.task["id"]:
            places = {card["id"]: place for place, card in enumerate(self.task["cards"])}
            if frame.data["id"] not in places:
                self.task["cards"].append(frame.data)
            elif frame.data["version"] >= self.task["cards"][places[frame.data["id"]]]["version"]:
                self.task["cards"][places[frame.data["id"]]] = frame.data
