"""Which appends share a commit, which one is written at once, and that no order and no answer depends on the way that was taken."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolwitness.core.errors import OnceKeyTaken, Unavailable
from toolwitness.ledger.book import Book
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.ledger.transaction import Append
from toolwitness.ports import Draft, TaskView
from toolwitness.testing.ledger_contract import opened, output

COMMITS = list[tuple[str, int]]
"""The thread and the number of appends of each commit."""


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> COMMITS:
    seen: COMMITS = []
    carry_out = Book._carry_out

    def noted(book: Book, appends: Sequence[Append]) -> Any:
        seen.append(("loop" if threading.current_thread() is threading.main_thread() else "thread", len(appends)))
        return carry_out(book, appends)

    monkeypatch.setattr(Book, "_carry_out", noted)
    return seen


@pytest.fixture
async def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: COMMITS) -> AsyncIterator[SqliteLedger]:
    """A ledger that is open and whose disk, as far as it knows, is quick."""
    monkeypatch.setattr("toolwitness.ledger.writer._BRIEF_SECONDS", 3_600)
    ledger = SqliteLedger(tmp_path / "calls.db")
    await ledger.append("task_1", [opened()])
    commits.clear()
    yield ledger
    await ledger.close()


async def left_for_the_thread(ledger: SqliteLedger, count: int) -> None:
    """Wait until so many appends are the thread's."""
    while ledger._writer._outstanding < count:  # noqa: ASYNC110 - a turn of the loop is what is waited for, and no event tells of one
        await asyncio.sleep(0)


async def test_one_append_alone_is_written_at_once(ledger: SqliteLedger, commits: COMMITS) -> None:
    answers = [(await ledger.append("task_1", [output(order)]))[0].position for order in range(3)]
    assert (answers, commits) == ([2, 3, 4], [("loop", 1)] * 3)
    assert list(await ledger.verify()) == []


async def test_what_decides_in_its_turn_decides_on_the_thread(ledger: SqliteLedger, commits: COMMITS) -> None:
    where: list[bool] = []

    def deciding(view: TaskView) -> Sequence[Draft]:
        where.append(threading.current_thread() is threading.main_thread())
        return [output(view.sequence)]

    await ledger.decide("task_1", deciding)
    assert (where, commits) == ([False], [("thread", 1)])


async def test_the_appends_of_one_turn_share_a_commit(ledger: SqliteLedger, commits: COMMITS) -> None:
    answers = await asyncio.gather(*(ledger.append("task_1", [output(order)]) for order in range(40)))
    assert ([answer[0].position for answer in answers], commits) == (list(range(2, 42)), [("thread", 40)])


async def test_an_append_does_not_overtake_those_that_wait(ledger: SqliteLedger, commits: COMMITS) -> None:
    book = ledger._writer.book
    assert book is not None
    with book.lock:
        waiting = [asyncio.ensure_future(ledger.append("task_1", [output(order)])) for order in range(2)]
        await left_for_the_thread(ledger, 2)
        last = asyncio.ensure_future(ledger.append("task_1", [output(2)]))
        await left_for_the_thread(ledger, 3)
    answers = await asyncio.gather(*waiting, last)
    assert [answer[0].position for answer in answers] == [2, 3, 4]
    assert {where for where, _ in commits} == {"thread"}


async def test_the_event_loop_does_not_wait_for_a_slow_disk(
    ledger: SqliteLedger, commits: COMMITS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwitness.ledger.writer._BRIEF_SECONDS", 0)
    await ledger.append("task_1", [output(0)])
    assert commits == [("thread", 1)]


async def test_how_long_commits_take_is_learnt_at_once_and_forgotten_slowly(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 2.0, 10.0, 10.0])
    monkeypatch.setattr("toolwitness.ledger.book.time.perf_counter", lambda: next(ticks))
    book = ledger._writer.book
    assert book is not None
    seen: list[float] = []
    for order in range(2):
        await ledger.append("task_1", [output(order)])
        seen.append(book.commit_seconds)
    assert seen == [2.0, pytest.approx(1.8)]


async def test_the_event_loop_does_not_wait_for_another_process(ledger: SqliteLedger, commits: COMMITS, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "calls.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        append = asyncio.ensure_future(ledger.append("task_1", [output(0)]))
        await left_for_the_thread(ledger, 1)
        assert commits == []
        other.execute("ROLLBACK")
    assert ((await append)[0].position, commits) == (2, [("thread", 1)])


async def test_an_append_that_loses_alone_is_told_as_among_others(ledger: SqliteLedger) -> None:
    await ledger.append("task_1", [output(0, once_key="dispatch:inv_1")])
    with pytest.raises(OnceKeyTaken) as loss:
        await ledger.append("task_1", [output(1, once_key="dispatch:inv_1")])
    assert loss.value.facts["position"] == 2
    assert await ledger.head() == 2


async def test_a_file_that_fails_is_told_to_the_one_who_appended(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(book: Book) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Book, "refresh", broken)
    with pytest.raises(Unavailable, match="disk I/O error"):
        await ledger.append("task_1", [output(0)])
    monkeypatch.undo()
    assert (await ledger.append("task_1", [output(0)]))[0].position == 2


async def test_what_was_left_in_the_turn_in_which_the_ledger_closes_is_written(tmp_path: Path, ledger: SqliteLedger) -> None:
    append = asyncio.ensure_future(ledger.append("task_1", [output(0)]))
    await asyncio.sleep(0)
    await ledger.close()
    assert (await append)[0].position == 2


async def test_another_loop_is_answered_by_the_thread(ledger: SqliteLedger, commits: COMMITS) -> None:
    def elsewhere() -> int:
        async def append() -> int:
            return (await ledger.append("task_1", [output(0)]))[0].position

        return asyncio.run(append())

    assert (await asyncio.to_thread(elsewhere), commits) == (2, [("thread", 1)])
    assert (await ledger.append("task_1", [output(1)]))[0].position == 3
