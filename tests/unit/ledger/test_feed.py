"""Followers and listeners: everything once, in order, from wherever they begin."""

import asyncio
from collections.abc import Sequence

import pytest

from toolwitness.ledger.feed import Feed
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ports import Recorded
from toolwitness.testing.ledger_contract import first_batches, output


async def recorded(count: int) -> list[Recorded]:
    ledger = MemoryLedger()
    for order in range(count):
        await ledger.append("task_1", [output(order)])
    return list(await ledger.read())


class Shelf:
    """What stands in for a ledger: events up to ``length``, and how often it was asked."""

    def __init__(self, events: Sequence[Recorded], length: int) -> None:
        self.events, self.length, self.readings = events, length, 0

    async def read(self, after: int, limit: int) -> Sequence[Recorded]:
        self.readings += 1
        await asyncio.sleep(0)
        return self.events[after : min(self.length, after + limit)]


async def test_many_followers_of_the_same_news_read_nothing() -> None:
    events = await recorded(10)
    shelf = Shelf(events, 4)
    feed = Feed(shelf.read, head=4)
    followers = [asyncio.ensure_future(first_batches(feed.follow(4), until=10)) for _ in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    before = shelf.readings
    for event in events[4:]:
        shelf.length += 1
        feed.offer([event])
        await asyncio.sleep(0)
    assert await asyncio.gather(*followers) == [list(range(5, 11))] * 100
    assert (shelf.readings, before) == (0, 0)


async def test_a_hole_that_others_have_filled_is_read() -> None:
    """Another process wrote between two commits of ours."""
    events = await recorded(9)
    shelf = Shelf(events, 2)
    feed = Feed(shelf.read, head=2)
    heard: list[int] = []
    feed.add_listener(lambda batch: heard.extend(r.position for r in batch), after=2)
    follower = asyncio.ensure_future(first_batches(feed.follow(0), until=9))
    await asyncio.sleep(0)
    for first, last in ((3, 3), (6, 7), (9, 9)):
        shelf.length = last
        feed.offer(events[first - 1 : last])
        for _ in range(20):
            await asyncio.sleep(0)
    assert (await follower, heard) == (list(range(1, 10)), list(range(3, 10)))


async def test_growth_by_others_alone_is_noticed_when_it_is_told() -> None:
    events = await recorded(5)
    shelf = Shelf(events, 1)
    feed = Feed(shelf.read, head=1)
    heard: list[int] = []
    feed.add_listener(lambda batch: heard.extend(r.position for r in batch), after=1)
    follower = asyncio.ensure_future(first_batches(feed.follow(1), until=5))
    await asyncio.sleep(0)
    shelf.length = 5
    feed.advance(5)
    feed.advance(3)
    assert await follower == [2, 3, 4, 5]
    for _ in range(10):
        await asyncio.sleep(0)
    assert heard == [2, 3, 4, 5]


async def test_a_listener_that_comes_before_anything_is_known_hears_the_next_news() -> None:
    events = await recorded(6)
    shelf = Shelf(events, 6)
    heard: list[list[int]] = [[], []]
    feeds = [Feed(shelf.read), Feed(shelf.read)]
    for feed, ears in zip(feeds, heard, strict=True):
        feed.add_listener(lambda batch, ears=ears: ears.extend(r.position for r in batch), after=None)
    feeds[0].offer(events[4:5])
    feeds[1].advance(5)
    for feed in feeds:
        feed.offer(events[5:])
    assert heard == [[5, 6], [6]]


async def test_a_listener_that_raises_is_reported_and_disturbs_nobody() -> None:
    events = await recorded(1)
    feed = Feed(Shelf(events, 1).read)
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))
    heard: list[int] = []

    def broken(_batch: Sequence[Recorded]) -> None:
        raise ValueError("not today")

    remove = feed.add_listener(broken, after=0)
    feed.add_listener(lambda batch: heard.extend(r.position for r in batch), after=0)
    feed.offer(events)
    remove()
    remove()
    assert (heard, [str(context["exception"]) for context in reported]) == ([1], ["not today"])


async def test_a_follower_that_leaves_is_forgotten() -> None:
    events = await recorded(2)
    feed = Feed(Shelf(events, 2).read, head=2)
    follower = feed.follow(2)
    waiting = asyncio.ensure_future(anext(follower))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert feed.watched
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not feed.watched
