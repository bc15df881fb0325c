"""What only the ledger in a file has to promise: durability, several processes, migrations, and what it does when the file does not
play along."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolwitness.core.errors import Conflict, InvalidInput, NewerFormat, Tampered, ToolwitnessError, Unavailable
from toolwitness.core.states import State
from toolwitness.core.verdicts import Verdict
from toolwitness.ledger import folded
from toolwitness.ledger.book import Book
from toolwitness.ledger.connection import checkpoint, explained
from toolwitness.ledger.schema import APPLICATION_ID, MIGRATIONS, Migration
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.ledger.transaction import Transaction
from toolwitness.ports import Recorded
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ledger_contract import first_batches, opened, output, proposed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


def pragma(ledger: SqliteLedger, name: str) -> Any:
    book = ledger._writer.book
    assert book is not None
    with book.lock:
        return book.connection.execute(f"PRAGMA {name}").fetchone()[0]


# ── the file ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_is_made_before_the_first_use(path: Path) -> None:
    ledger = SqliteLedger(path)
    assert not path.exists()
    assert await ledger.head() == 0
    assert path.exists()
    await ledger.close()


@pytest.mark.parametrize(("synchronous", "level"), [("full", 2), ("normal", 1)])
async def test_acknowledged_means_on_disk_unless_it_was_asked_otherwise(path: Path, synchronous: str, level: int) -> None:
    ledger = SqliteLedger(path, synchronous=synchronous)
    await ledger.head()
    assert (pragma(ledger, "synchronous"), pragma(ledger, "journal_mode")) == (level, "wal")
    await ledger.close()


async def test_an_unknown_durability_is_invalid(path: Path) -> None:
    ledger = SqliteLedger(path, synchronous="off")
    with pytest.raises(InvalidInput, match="synchronous"):
        await ledger.head()
    await ledger.close()


async def test_a_migration_records_itself(path: Path, clock: FakeClock) -> None:
    ledger = SqliteLedger(path, now=clock.now)
    await ledger.head()
    await ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT number, name, applied_time FROM migrations").fetchall()
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
    assert (rows, owner) == ([(step.number, step.name, "2026-01-01T12:00:00.000000Z") for step in MIGRATIONS], APPLICATION_ID)


async def test_a_newer_file_is_refused_and_not_touched(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'from the future', '2030-01-01T00:00:00Z', 'toolwitness 9.0')")
    before = filled.read_bytes()
    ledger = SqliteLedger(filled)
    with pytest.raises(NewerFormat, match=r"format 99, written by toolwitness 9\.0"):
        await ledger.append("task_1", [opened("another")])
    await ledger.close()
    assert filled.read_bytes() == before


async def test_another_applications_database_is_refused_and_not_touched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    before = path.read_bytes()
    ledger = SqliteLedger(path)
    with pytest.raises(InvalidInput, match="another application"):
        await ledger.head()
    await ledger.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("case", ["text", "directory", "nowhere"])
async def test_what_cannot_be_a_ledger_is_invalid_by_name(tmp_path: Path, case: str) -> None:
    places = {"text": tmp_path / "notes.txt", "directory": tmp_path, "nowhere": tmp_path / "no" / "where.db"}
    places["text"].write_text("These are notes, and there are enough of them to fill the header of a database. " * 20)
    ledger = SqliteLedger(places[case])
    with pytest.raises(InvalidInput, match=str(places[case])):
        await ledger.head()
    await ledger.close()


async def test_an_unreadable_file_is_tried_again_on_the_next_use(path: Path) -> None:
    path.mkdir()
    ledger = SqliteLedger(path)
    with pytest.raises(InvalidInput):
        await ledger.head()
    path.rmdir()
    assert await ledger.head() == 0
    await ledger.close()


async def test_a_reopened_ledger_goes_on_where_it_was(path: Path) -> None:
    first = SqliteLedger(path)
    await first.append("task_1", [opened(), proposed()])
    await first.close()
    second = SqliteLedger(path)
    answer = (await second.append("task_1", [output(0)], expected_sequence=2))[0]
    view = await second.task("task_1")
    assert view is not None
    assert (answer.position, answer.task_sequence, view.records["inv_1"].state) == (3, 3, State.STREAMING)
    assert list(await second.verify()) == []
    await second.close()


async def test_recorded_times_are_the_clocks_in_microseconds(path: Path) -> None:
    ledger = SqliteLedger(path, now=lambda: datetime(2026, 5, 4, 3, 2, 1, 98765, tzinfo=UTC))
    assert (await ledger.append("task_1", [opened()]))[0].recorded_time == "2026-05-04T03:02:01.098765Z"
    await ledger.close()


# ── sharing a commit ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_appends_of_many_callers_share_commits(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.append("task_0", [opened(task="task_0")])
    commits = 0
    write = Book.write

    def counted(book: Book, *arguments: Any, **options: Any) -> Any:
        nonlocal commits
        commits += 1
        return write(book, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Book, "write", counted)
        await asyncio.gather(*(ledger.append(f"task_{n}", [output(0, f"o{n}", task=f"task_{n}", about=f"inv_{n}")]) for n in range(200)))
    assert 1 <= commits <= 20
    assert await ledger.head() == 201
    await ledger.close()


async def test_an_append_that_conflicts_fails_alone(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened(), proposed()])
    answers = await asyncio.gather(
        *(
            ledger.append("task_1", [output(n)], expected_sequence=1 if n % 3 == 0 else None) for n in range(30)
        ),
        return_exceptions=True,
    )  # fmt: skip  # one append a line
    assert [isinstance(answer, Conflict) for answer in answers] == [n % 3 == 0 for n in range(30)]
    assert [r.event.data["order"] for r in await ledger.read(after=2)] == [n for n in range(30) if n % 3]
    assert list(await ledger.verify()) == []
    await ledger.close()


async def test_an_append_that_breaks_the_fold_fails_nobody_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should folding ever raise, the event is kept as refused, in both ledgers and for ever."""
    judge = folded.judge

    def fragile(record: Any, event: Any, **options: Any) -> Any:
        if event.id == "poison" and not event.refusal:
            record.state = State.FAILED
            raise TypeError("cannot be compared")
        return judge(record, event, **options)

    monkeypatch.setattr(folded, "judge", fragile)
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened(), proposed()])
    answers = await asyncio.gather(
        ledger.append("task_1", [output(0), output(1, "poison"), output(2)]), ledger.append("task_1", [output(3)])
    )
    assert [[r.verdict for r in answer] for answer in answers] == [[Verdict.MOVED, Verdict.REFUSED, Verdict.MOVED], [Verdict.MOVED]]
    assert answers[0][1].reason.startswith("malformed: ")
    view = await ledger.task("task_1")
    assert view is not None
    assert (view.records["inv_1"].state, view.sequence, list(await ledger.verify())) == (State.STREAMING, 6, [])
    await ledger.close()


async def test_a_caller_that_is_cancelled_disturbs_nobody(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.head()
    gone = asyncio.ensure_future(ledger.append("task_1", [opened()]))
    stays = asyncio.ensure_future(ledger.append("task_2", [opened("two", task="task_2")]))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays)[0].event.task_id == "task_2"
    again = (await ledger.append("task_1", [opened()]))[0]
    assert again.task_sequence == 1
    await ledger.close()


# ── when the file does not play along ───────────────────────────────────────────────────────────────────────────────


async def test_a_locked_file_is_unavailable_after_a_bounded_wait_and_still_readable(path: Path) -> None:
    ledger = SqliteLedger(path, busy_seconds=0.3)
    await ledger.append("task_1", [opened()])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(ledger.append("task_1", [proposed()]))
        view = await ledger.task("task_1")
        with pytest.raises(Unavailable, match="locked by another process"):
            await waiting
        other.execute("ROLLBACK")
    assert view is not None
    assert (await ledger.append("task_1", [proposed()]))[0].position == 2
    await ledger.close()


async def test_a_file_that_becomes_free_in_time_is_waited_for(path: Path) -> None:
    ledger = SqliteLedger(path, busy_seconds=30)
    await ledger.append("task_1", [opened()])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(ledger.append("task_1", [proposed()]))
        cold = await ledger.task("task_9")
        assert (cold, waiting.done()) == (None, False)
        other.execute("ROLLBACK")
        assert (await waiting)[0].position == 2
    await ledger.close()


async def test_a_full_disk_is_unavailable_and_loses_nothing(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened(), proposed()])
    pragma(ledger, f"max_page_count = {pragma(ledger, 'page_count') + 2}")
    with pytest.raises(Unavailable, match="no room"):
        await ledger.append("task_1", [output(0, values={"output": b"x" * 100_000})])
    view = await ledger.task("task_1")
    assert view is not None
    assert (view.records["inv_1"].state, view.sequence, await ledger.head()) == (State.PROPOSED, 2, 2)
    pragma(ledger, "max_page_count = 1000000")
    assert (await ledger.append("task_1", [output(0, values={"output": b"x" * 100_000})]))[0].position == 3
    assert list(await ledger.verify()) == []
    await ledger.close()


async def test_a_commit_that_fails_is_told_to_everybody_who_shared_it(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened(), proposed()])
    pragma(ledger, f"max_page_count = {pragma(ledger, 'page_count')}")
    drafts = [output(n, values={"output": os.urandom(9_000)}) for n in range(8)]
    answers = await asyncio.gather(*(ledger.append("task_1", [draft]) for draft in drafts), return_exceptions=True)
    assert all(isinstance(answer, Unavailable) for answer in answers)
    pragma(ledger, "max_page_count = 1000000")
    for draft in drafts:
        await ledger.append("task_1", [draft])
    assert (await ledger.head(), list(await ledger.verify())) == (10, [])
    await ledger.close()


# ── several processes (each with a ledger of its own on the file) ───────────────────────────────────────────────────


async def test_what_another_process_wrote_counts_at_once(path: Path) -> None:
    ours, theirs = SqliteLedger(path), SqliteLedger(path)
    await ours.append("task_1", [opened(), proposed()])
    for order in range(6):
        ledger = theirs if order % 2 else ours
        assert (await ledger.append("task_1", [output(order)], expected_sequence=2 + order))[0].position == 3 + order
        views = [await other.task("task_1") for other in (ours, theirs)]
        assert [view and (view.sequence, view.records["inv_1"].output_order) for view in views] == [(3 + order, order)] * 2
    with pytest.raises(Conflict):
        await theirs.append("task_1", [output(9)], expected_sequence=2)
    assert list(await ours.verify()) == []
    await ours.close()
    await theirs.close()


async def test_a_repetition_is_known_across_processes(path: Path) -> None:
    ours, theirs = SqliteLedger(path), SqliteLedger(path)
    first = (await ours.append("task_1", [proposed()]))[0]
    again = (await theirs.append("task_1", [proposed()]))[0]
    assert (again.verdict, again.position, again.hash) == (Verdict.DUPLICATE, first.position, first.hash)
    await ours.close()
    await theirs.close()


async def test_both_processes_write_at_full_speed_and_neither_starves(path: Path) -> None:
    ledgers = [SqliteLedger(path, busy_seconds=30) for _ in range(2)]
    await ledgers[0].append("task_0", [opened(task="task_0")])

    async def caller(number: int, order: int) -> None:
        task = f"task_{number}_{order % 5}"
        await ledgers[number].append(task, [output(order, f"{number}-{order}", task=task, about=f"inv_{task}")])

    await asyncio.gather(*(caller(number, order) for order in range(150) for number in range(2)))
    recorded = await ledgers[0].read()
    assert [r.position for r in recorded] == list(range(1, 302))
    assert list(await ledgers[1].verify()) == []
    for ledger in ledgers:
        await ledger.close()


async def test_a_follower_sees_what_other_processes_write(path: Path) -> None:
    ours, theirs = SqliteLedger(path), SqliteLedger(path)
    await ours.append("task_1", [opened()])
    heard: list[int] = []
    everything = asyncio.Event()

    def hear(batch: Sequence[Recorded]) -> None:
        heard.extend(r.position for r in batch)
        if len(heard) >= 20:
            everything.set()

    ours.add_listener(hear)
    follower = asyncio.ensure_future(first_batches(ours.follow(), until=21))
    for order in range(20):
        await (theirs if order % 3 else ours).append("task_1", [output(order)])
    assert await asyncio.wait_for(follower, 60) == list(range(1, 22))
    await asyncio.wait_for(everything.wait(), 60)
    assert heard == list(range(2, 22))
    await ours.close()
    await theirs.close()


async def test_a_record_that_was_edited_behind_our_back_is_read_again(path: Path) -> None:
    """What is remembered is trusted only while nobody else has written anything."""
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened(), proposed()])
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("DELETE FROM events WHERE position = 2")
        other.execute("DELETE FROM invocations")
    view = await ledger.task("task_1")
    assert view is not None
    assert list(view.records) == []
    assert [p.place.split()[0] for p in await ledger.verify()] != []
    await ledger.close()


async def test_more_news_than_is_worth_folding_is_read_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwitness.ledger.book._MOST_TO_FOLD_ON", 3)
    ours, theirs = SqliteLedger(path), SqliteLedger(path)
    await ours.append("task_1", [opened(), proposed()])
    for order in range(9):
        await theirs.append("task_1", [output(order)])
    view = await ours.task("task_1")
    assert view is not None
    assert (view.sequence, view.records["inv_1"].output_order) == (11, 8)
    await ours.close()
    await theirs.close()


# ── the edges ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_write_ahead_log_is_folded_back_beside_the_writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwitness.ledger.writer._CHECKPOINT_EVERY", 5)
    ledger = SqliteLedger(path)
    size = path.stat().st_size if path.exists() else 0
    for order in range(6):
        await ledger.append("task_1", [output(order, values={"output": b"x" * 9_000})])
    await ledger.close()
    assert path.stat().st_size > size + 30_000
    checkpoint(path)
    checkpoint(path.parent / "no" / "where.db")


async def test_the_write_ahead_log_is_folded_back_when_nobody_writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwitness.ledger.writer._IDLE_SECONDS", 0.01)
    folded_back = threading.Event()
    monkeypatch.setattr("toolwitness.ledger.writer.checkpoint", lambda _: folded_back.set())
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened()])
    assert await asyncio.to_thread(folded_back.wait, 60)
    await ledger.close()


async def test_an_append_that_the_file_refuses_fails_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should SQLite ever refuse a row, the others of the same commit are tried again without it."""
    write = Transaction._write

    def picky(transaction: Transaction) -> None:
        if any(entry.recorded.event.id == "bad" for entry in transaction.entries):
            raise sqlite3.IntegrityError("UNIQUE constraint failed")
        write(transaction)

    monkeypatch.setattr(Transaction, "_write", picky)
    ledger = SqliteLedger(path)
    await ledger.head()
    names = ["a", "bad", "b"]
    answers = await asyncio.gather(*(ledger.append("task_1", [output(n, name)]) for n, name in enumerate(names)), return_exceptions=True)
    assert [isinstance(answer, Unavailable) for answer in answers] == [False, True, False]
    assert ([r.event.id for r in await ledger.read()], list(await ledger.verify())) == (["a", "b"], [])
    await ledger.close()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(2, "broken", ("CREATE TABLE half (id INTEGER)", "CREATE TABLE half (id INTEGER)"))
    monkeypatch.setattr("toolwitness.ledger.schema.MIGRATIONS", (*MIGRATIONS, broken))
    ledger = SqliteLedger(path)
    with pytest.raises(Unavailable, match="half"):
        await ledger.head()
    await ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


async def test_an_older_file_is_migrated_and_keeps_what_it_holds(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = Migration(2, "one more table", ("CREATE TABLE more (id INTEGER)",))
    monkeypatch.setattr("toolwitness.ledger.schema.MIGRATIONS", (*MIGRATIONS, more))
    monkeypatch.setattr("toolwitness.ledger.verify_file.MIGRATIONS", (*MIGRATIONS, more))
    ledger = SqliteLedger(filled)
    assert (await ledger.head(), list(await ledger.verify())) == (15, [])
    await ledger.close()
    with closing(sqlite3.connect(filled)) as connection:
        assert [row[0] for row in connection.execute("SELECT number FROM migrations")] == [1, 2]


def test_a_ledger_can_be_used_from_one_event_loop_after_the_other(path: Path) -> None:
    ledger = SqliteLedger(path)

    async def use(order: int) -> int:
        ledger.add_listener(lambda _: None)
        answer = (await ledger.append("task_1", [output(order)]))[0]
        follower = ledger.follow(after=answer.position - 1)
        async for batch in follower:
            await follower.aclose()  # type: ignore[attr-defined]  # it is a generator
            return batch[0].position
        return 0

    assert [asyncio.run(use(order)) for order in range(3)] == [1, 2, 3]
    asyncio.run(ledger.close())


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, Unavailable), (sqlite3.SQLITE_BUSY, Unavailable), (sqlite3.SQLITE_IOERR, Unavailable),
        (sqlite3.SQLITE_NOTADB, InvalidInput), (sqlite3.SQLITE_CORRUPT, Tampered), (sqlite3.SQLITE_READONLY, Unavailable),
    ],
)  # fmt: skip  # a few cases a line
def test_what_sqlite_says_is_told_as_whose_fault_it_is(code: int, kind: type[ToolwitnessError]) -> None:
    error = sqlite3.OperationalError("it says so")
    error.sqlite_errorcode = code
    explanation = explained(error, "calls.db")
    assert type(explanation) is kind
    assert "calls.db" in str(explanation)
    assert explanation.remedy


async def test_a_damaged_file_is_called_damaged(filled: Path) -> None:
    raw = bytearray(filled.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    filled.write_bytes(raw)
    ledger = SqliteLedger(filled)
    with pytest.raises(Tampered):
        await ledger.read()
    with pytest.raises(Tampered):
        await ledger.verify()
    await ledger.close()


async def test_a_file_that_was_cut_ends_nobody_in_a_busy_loop(path: Path) -> None:
    """A follower that was told of more than there is waits for news."""
    ledger = SqliteLedger(path)
    await ledger.append("task_1", [opened()])
    ledger._feed.head = 9
    follower = asyncio.ensure_future(first_batches(ledger.follow(), until=2))
    await ledger.read()
    await ledger.append("task_1", [proposed()])
    assert await asyncio.wait_for(follower, 60) == [1, 2]
    await ledger.close()
