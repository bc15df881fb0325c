"""Writing to many: what waits is finished by itself, what breaks ends one stream, and whatever a server's ``send`` gives can be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

import toolwitness as tw
from toolwitness.server.audience import Audience, Entry

EVE = tw.Actor(id="eve")


def _audience() -> Audience:
    return Audience(EVE, lambda: b"resync\n\n")


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class _Line:
    """A connection that can be made to wait or to break."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.free = asyncio.Event()
        self.free.set()
        self.fault: BaseException | None = None
        self.cancelled = 0

    async def send(self, message: Any) -> None:
        try:
            if self.fault is not None:
                raise self.fault
            await self.free.wait() if not self.free.is_set() else None
            if self.fault is not None:
                raise self.fault
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.sent.append(message["body"])


async def test_what_is_told_is_written_to_everybody_without_a_task_for_each():
    audience, lines = _audience(), [_Line() for _ in range(600)]
    for line in lines:
        audience.join("", line.send).open(0)
    before = len(asyncio.all_tasks())
    await audience.tell(Entry(1, b"one"))
    assert {tuple(line.sent) for line in lines} == {(b"one",)}
    assert len(asyncio.all_tasks()) == before


async def test_a_line_that_waits_is_finished_by_itself_and_holds_up_no_other():
    audience, slow, quick = _audience(), _Line(), _Line()
    for line in (slow, quick):
        audience.join("", line.send).open(0)
    slow.free.clear()
    for number in (1, 2, 3):
        await audience.tell(Entry(number, f"{number}".encode()))
    audience.ping(b"ping")
    assert (slow.sent, quick.sent) == ([], [b"1", b"2", b"3", b"ping"])
    slow.free.set()
    await _settle()
    assert slow.sent == [b"1", b"23"], "what came meanwhile comes in one piece, and a ping would have said nothing"
    await audience.tell(Entry(4, b"4"))
    assert slow.sent[-1] == b"4"


@pytest.mark.parametrize("fault", [ConnectionResetError(), RuntimeError("closed"), asyncio.CancelledError()])
async def test_a_line_that_breaks_ends_one_stream(fault: BaseException):
    audience, broken, other = _audience(), _Line(), _Line()
    ended = asyncio.Event()

    async def stream(line: _Line) -> None:
        subscriber = audience.join("", line.send)
        subscriber.open(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert subscriber.gone
            ended.set()
        finally:
            audience.leave(subscriber)

    streams = [asyncio.create_task(stream(line)) for line in (broken, other)]
    await _settle()
    broken.fault = fault
    await audience.tell(Entry(1, b"1"))
    await _settle()
    assert ended.is_set() and other.sent == [b"1"] and len(audience.subscribers) == 1
    streams[1].cancel()
    await asyncio.gather(*streams, return_exceptions=True)


async def test_a_line_that_breaks_after_it_waited_ends_its_stream():
    audience, line = _audience(), _Line()
    ended = asyncio.Event()

    async def stream() -> None:
        subscriber = audience.join("", line.send)
        subscriber.open(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
        finally:
            audience.leave(subscriber)

    running = asyncio.create_task(stream())
    await _settle()
    line.free.clear()
    await audience.tell(Entry(1, b"1"))
    line.fault = ConnectionResetError()
    line.free.set()
    await _settle()
    assert ended.is_set()
    await running


async def test_a_stream_that_ends_while_it_writes_gives_up_writing():
    audience, line = _audience(), _Line()
    subscriber = audience.join("", line.send)
    subscriber.open(0)
    line.free.clear()
    await audience.tell(Entry(1, b"1"))
    await _settle()
    audience.leave(subscriber)
    await _settle()
    assert (line.cancelled, line.sent) == (1, [])
    await audience.tell(Entry(2, b"2"))
    assert line.sent == []


class _Future:
    """What a server that is not written in Python may give: something to await, and no coroutine."""

    def __init__(self, sent: list[bytes], body: bytes) -> None:
        self.sent, self.body = sent, body

    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.sleep(0).__await__()
        self.sent.append(self.body)


async def test_whatever_can_be_awaited_will_do():
    audience, sent = _audience(), list[bytes]()
    subscriber = audience.join("", lambda message: _Future(sent, message["body"]))  # type: ignore[arg-type,return-value]  # as granian's
    subscriber.open(0)
    for number in (1, 2):
        await audience.tell(Entry(number, f"{number}".encode()))
        await _settle()
    assert sent == [b"1", b"2"]


async def test_entries_that_were_part_of_catching_up_do_not_come_again():
    audience, line = _audience(), _Line()
    subscriber = audience.join("", line.send)
    await audience.tell(Entry(5, b"5"))
    await audience.tell(Entry(7, b"7"))
    subscriber.open(5)
    assert line.sent == [b"7"]
    await audience.tell(Entry(7, b"again"))
    assert line.sent == [b"7", b"again"]


async def test_a_follower_of_one_task_is_sent_that_and_what_everybody_is_told():
    audience, line = _audience(), _Line()
    audience.join("a", line.send).open(0)
    await audience.tell(Entry(1, b"all", {"a": b"of a"}, b"everywhere"))
    await audience.tell(Entry(2, b"all", {"b": b"of b"}, b"everywhere"))
    await audience.tell(Entry(3, b"all", {"b": b"of b"}))
    assert line.sent == [b"of a", b"everywhere"]
    assert (audience.follows("a"), audience.follows("b")) == (True, False)


async def test_a_log_that_grows_too_large_lets_go_of_its_older_half(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("toolwitness.server.audience._MOST_BYTES", 100)
    audience, line = _audience(), _Line()
    audience.join("", line.send).open(0)
    line.free.clear()
    for number in range(10):
        await audience.tell(Entry(number + 1, b"x" * 30))
    assert audience.dropped > 0
    line.free.set()
    await _settle()
    assert line.sent == [b"x" * 30, b"resync\n\n"]
