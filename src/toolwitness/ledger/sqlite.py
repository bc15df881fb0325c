"""The ledger in one SQLite file that several processes may share.

Acknowledged means committed with ``synchronous=FULL``: on disk. Appends of many callers share a commit on a thread that writes; one that
is alone is written at once where the disk is quick (``writer.py``). Another thread reads. What is remembered between appends is trusted
only while nobody else has written.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar, cast

from toolwitness.core.errors import Unavailable
from toolwitness.core.states import State
from toolwitness.ledger.book import Book
from toolwitness.ledger.connection import Synchronous
from toolwitness.ledger.feed import Feed
from toolwitness.ledger.prepare import fresh_salts, prepare_all
from toolwitness.ledger.reader import Reader, select_events, select_states, select_tasks
from toolwitness.ledger.transaction import Append, value_of
from toolwitness.ledger.verify_file import verify_file
from toolwitness.ledger.writer import Reading, Writer
from toolwitness.ports import Deciding, Draft, Listener, Problem, Recorded, StateRow, TaskView

_POLL_SECONDS: Final = 0.05
"""How often somebody who follows looks whether another process has written."""

Given = TypeVar("Given")


class SqliteLedger:
    """An append-only record in a SQLite file; everything else is as the ``Ledger`` port says.

    Nothing is read or written before the first use; the file is made where there is none.
    """

    def __init__(
        self, path: str | Path, *, now: Callable[[], datetime] | None = None, synchronous: Synchronous = "full", busy_seconds: float = 10.0
    ) -> None:
        """Keep the record at ``path``, by the clock ``now``, which gives aware UTC datetimes; the system's where none is given.

        ``synchronous="normal"`` is several times faster alone and **not durable**: a machine that loses power may lose what was
        acknowledged. ``busy_seconds`` is how long an append waits for other processes before it is ``Unavailable``.
        """
        self._path = Path(path)
        clock = now or (lambda: datetime.now(UTC))
        self._salts = fresh_salts()
        self._salts_of_the_writer = fresh_salts()
        self._feed = Feed(self._read_after)
        self._writer = Writer(
            lambda: Book(self._path, synchronous=synchronous, now=clock, busy_seconds=busy_seconds),
            path=self._path, on_recorded=self._feed.offer,
        )  # fmt: skip  # how to open, and whom to tell
        self._reader = Reader(self._path)
        self._watching: asyncio.Task[None] | None = None
        self._closed = False
        self.duplicates = 0
        """How many repetitions this process was answered and did not append."""

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        """Append all drafts of one task in one atomic step; see ``Ledger.append``.

        A caller that is cancelled while it waits does not know whether it was recorded; appending the same drafts again tells.
        """
        append = Append(task_id, prepare_all(task_id, drafts, salts=self._salts), expected_sequence)
        self._require_open()
        await self._writer.submit(append)
        self.duplicates += append.duplicates
        return append.answers

    async def decide(self, task_id: str, deciding: Deciding) -> Sequence[Recorded]:
        """Append what ``deciding`` makes of the task when its turn comes, on the writing thread; see ``Ledger.decide``."""
        append = Append(task_id, (), deciding=lambda view: prepare_all(task_id, deciding(view), salts=self._salts_of_the_writer))
        self._require_open()
        await self._writer.submit(append)
        return append.answers

    async def task(self, task_id: str) -> TaskView | None:
        """Read one task and all its invocations; the records are the caller's own and may be kept."""
        found = self._at_once(lambda book: book.glimpse(task_id))
        return found[0] if found is not None else await self._call(lambda book: book.view(task_id))

    async def find(self, invocation_id: str) -> str | None:
        """Give the id of the task that this invocation belongs to."""
        query = "SELECT task_id FROM invocations JOIN tasks ON tasks.id = task WHERE invocation_id = ?"
        row = await self._look_up(lambda connection: connection.execute(query, (invocation_id,)).fetchone())
        return row[0] if row is not None else None

    async def tasks(self, *, tenant: str | None = None, limit: int = 200) -> Sequence[str]:
        """List task ids, the most recently touched first; the tenant of a task is that of its first event."""
        return await self._read(lambda connection: select_tasks(connection, tenant=tenant, limit=limit))

    async def states(self, *, states: Iterable[State | None] | None = None) -> Sequence[StateRow]:
        """List the state rows of invocations, optionally only those in ``states``."""
        wanted = None if states is None else set(states)
        return await self._read(lambda connection: select_states(connection, wanted))

    async def read(
        self, *, after: int = 0, task_id: str | None = None, invocation_id: str | None = None, limit: int | None = None
    ) -> Sequence[Recorded]:
        """Read recorded events in order of position, after a position."""
        return await self._read(
            lambda connection: select_events(connection, after=after, task_id=task_id, invocation_id=invocation_id, limit=limit)
        )

    async def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """Yield batches of recorded events in order of position until the ledger is closed, those of other processes included."""
        self._feed.advance(await self.head())
        self._watch()
        async with aclosing(self._feed.follow(after)) as batches:
            async for batch in batches:
                yield batch

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each batch recorded from now on, by any process; gives what takes it away again."""
        self._watch()
        head = None if self._feed.watched else self._at_once(Book.head)
        return self._feed.add_listener(listener, after=head)

    async def value(self, ref: str) -> bytes | None:
        """Give the exact bytes of a value, or ``None`` where it was erased or never was."""
        return await self._look_up(lambda connection: value_of(connection, ref))

    async def head(self) -> int:
        """Give the position of the last event, 0 when there is none."""
        return await self._look_up(lambda connection: connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    async def verify(self) -> Sequence[Problem]:
        """Recompute every hash, record, row and key from the events; empty when all is good."""
        await self._opened()
        return await asyncio.get_running_loop().run_in_executor(None, verify_file, self._path)

    async def close(self) -> None:
        """Write what is on its way and let go of the file."""
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
        self._feed.close()
        await self._reader.stop()
        await self._writer.stop()

    # ── ways to the file ────────────────────────────────────────────────────────────────────────────────────────────

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("The ledger is closed.", remedy="Open it again.")

    async def _call(self, call: Callable[[Book], Given]) -> Given:
        """Look something up on the writing thread."""
        self._require_open()
        reading = Reading(call)
        await self._writer.submit(reading)
        return cast("Given", reading.answer)

    def _at_once(self, look: Callable[[Book], Given]) -> Given | None:
        """Look something up without a hop, if the file is open and nobody is using the writing connection."""
        book = self._writer.book
        if book is None or self._closed or not book.lock.acquire(blocking=False):
            return None
        try:
            return look(book)
        except sqlite3.Error:
            return None  # the way through the thread tells what is wrong
        finally:
            book.lock.release()

    async def _look_up(self, look: Callable[[sqlite3.Connection], Given]) -> Given:
        """Look up one thing: at once where that is possible, else on the reading thread."""
        found = self._at_once(lambda book: (look(book.connection),))
        return found[0] if found is not None else await self._read(look)

    async def _read(self, reading: Callable[[sqlite3.Connection], Given]) -> Given:
        await self._opened()
        return await self._reader.run(reading)

    async def _read_after(self, after: int, limit: int) -> Sequence[Recorded]:
        return await self.read(after=after, limit=limit)

    async def _opened(self) -> None:
        """Wait until the file is there, made and migrated."""
        if self._closed or self._writer.book is None:
            await self._call(lambda _: None)

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.get_running_loop().create_task(self._look_out())

    async def _look_out(self) -> None:
        """Tell the feed how far the ledger has grown, for as long as anybody follows or listens."""
        while self._feed.watched and not self._closed:
            head = self._at_once(Book.grown)
            if head is not None:
                self._feed.advance(head)
            await asyncio.sleep(_POLL_SECONDS)
