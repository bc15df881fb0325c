"""An open ledger file and what is remembered of it: the one connection that writes, and the folds that are trusted between appends.

Whoever uses a book holds its ``lock``. What is remembered is trusted only while ``PRAGMA data_version`` says that no other connection has
written; after that the book reads what the others appended and folds on.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from toolwitness.core.times import rfc3339
from toolwitness.ledger.cache import Cache
from toolwitness.ledger.connection import Synchronous, explained, is_busy, open_writer, patiently
from toolwitness.ledger.judging import replay
from toolwitness.ledger.rows import later_events, load
from toolwitness.ledger.transaction import Append, Transaction
from toolwitness.ports import Recorded, TaskView

_MOST_TO_FOLD_ON: Final = 2_000
"""How many events of others are folded on; beyond that the folds are let go and made again when they are asked for."""
_MOST_SOURCES: Final = 20_000
_FORGET_SECONDS: Final = 2.0
_FORGET_PAUSE_SECONDS: Final = 0.02


class Book:
    """One process's hold on a ledger file."""

    def __init__(self, path: Path, *, synchronous: Synchronous, now: Callable[[], datetime], busy_seconds: float) -> None:
        """Open the file, making or migrating it first; waits at most ``busy_seconds`` for other processes.

        Raises:
            InvalidInput, NewerFormat, Unavailable: as ``open_writer`` says.
        """
        self.lock = threading.Lock()
        self.path = path
        self.connection = open_writer(path, synchronous=synchronous, now=now, busy_seconds=busy_seconds)
        self.cache = Cache()
        self.shared = False
        """Whether another process wrote since the last transaction of this one."""
        self.commit_seconds = 0.002
        """How long a commit takes lately, the slow ones among them."""
        self.unforgotten = False
        """Whether the write-ahead log may still hold what was erased."""
        self._now = now
        self._busy_seconds = busy_seconds
        self._sources: dict[str, int] = {}
        self._version = -1
        self._polled = -1
        self._head = 0

    def head(self) -> int:
        """Give the position of the last event; the lock is held."""
        return int(self.connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    def grown(self) -> int | None:
        """Give the position of the last event if another connection has written since this was last asked; the lock is held."""
        version = self._data_version()
        if version == self._polled:
            return None
        self._polled = version
        return self.head()

    def is_current(self) -> bool:
        """Tell whether nobody else has written since the folds were last brought up to date; the lock is held."""
        return self._data_version() == self._version

    def glimpse(self, task_id: str) -> tuple[TaskView | None] | None:
        """Give a task where nothing must be folded for it: it is remembered and that can be trusted, or there is none; the lock is held."""
        folded = self.cache.get(task_id)
        if folded is not None:
            return (folded.view(),) if self.is_current() else None
        return None if self.connection.execute("SELECT 1 FROM tasks WHERE task_id = ?", (task_id,)).fetchone() else (None,)

    def view(self, task_id: str) -> TaskView | None:
        """Read a task, from the file where it is not remembered."""
        with self.lock, self._one_reading():
            self.refresh()
            folded = self.cache.get(task_id)
            if folded is None:
                folded = load(self.connection, task_id)
                if not folded.sequence:
                    return None
                self.cache.put(task_id, folded)
            return folded.view()

    def write(self, appends: Sequence[Append], *, meanwhile: Callable[[], Any]) -> list[Recorded]:
        """Carry out appends in one transaction and give what is new; an append that fails alone holds its error.

        ``meanwhile`` is run between tries while another process holds the file.

        Raises:
            ToolwitnessError: nothing of all this was written.
        """
        try:
            patiently(self._begin, seconds=self._busy_seconds, what=str(self.path), between=meanwhile)
        except sqlite3.Error as error:
            raise explained(error, str(self.path)) from error
        return self._carry_out(appends)

    def write_at_once(self, appends: Sequence[Append]) -> list[Recorded] | None:
        """Do what ``write`` does, unless the file or the book is in use; then nothing is done, and ``None`` says so.

        Raises:
            ToolwitnessError: nothing of all this was written.
        """
        if not self.lock.acquire(blocking=False):
            return None
        try:
            self._begin_with_lock()
        except sqlite3.Error as error:
            if is_busy(error):
                return None
            raise explained(error, str(self.path)) from error
        return self._carry_out(appends)

    def _carry_out(self, appends: Sequence[Append]) -> list[Recorded]:
        """Judge, write and commit in the transaction that has begun, and let go of the lock."""
        try:
            self.refresh()
            transaction = Transaction(self.connection, self.cache, self._sources, position=self._head, recorded_time=rfc3339(self._now()))
            transaction.run(appends)
            self._end("COMMIT" if transaction.entries else "ROLLBACK")
            transaction.publish()
            self.unforgotten = self.unforgotten or transaction.forgets
            self._head += len(transaction.entries)
        except BaseException as error:
            self._start_over()
            if isinstance(error, sqlite3.Error):
                raise explained(error, str(self.path)) from error
            raise
        else:
            return transaction.recorded
        finally:
            self.lock.release()

    def forget(self) -> None:
        """Empty the write-ahead log, in which what was erased may still stand; while somebody reads from it, that is tried again later."""
        until = time.monotonic() + min(self._busy_seconds, _FORGET_SECONDS)
        while self.unforgotten:
            with self.lock:
                busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.unforgotten = bool(busy)
            if not busy or time.monotonic() >= until:
                return
            time.sleep(_FORGET_PAUSE_SECONDS)

    def _end(self, how: str) -> None:
        """End the transaction, and note how long that took: at once where it took longer than lately, little by little where less."""
        begun = time.perf_counter()
        self.connection.execute(how)
        took = time.perf_counter() - begun
        self.commit_seconds = max(took, 0.9 * self.commit_seconds + 0.1 * took)

    def refresh(self) -> None:
        """Bring what is remembered up to what others have written; inside a transaction, and the lock is held."""
        version = self._data_version()
        self.shared = self._version not in {version, -1}
        if version == self._version:
            return
        head = self.head()
        if self._version == -1 or not self._head < head <= self._head + _MOST_TO_FOLD_ON:
            self._forget()
        elif len(self.cache):
            self._fold_on()
        if len(self._sources) > _MOST_SOURCES:
            self._sources.clear()
        self._head, self._version = head, version

    def close(self) -> None:
        """Let go of the file; what was erased is seen to be gone, as far as nobody reads."""
        with contextlib.suppress(sqlite3.Error):
            self.forget()
        with self.lock, contextlib.suppress(sqlite3.Error):
            self.connection.close()

    def _begin(self) -> None:
        """Take the lock and the file; on failure neither is held."""
        self.lock.acquire()
        self._begin_with_lock()

    def _begin_with_lock(self) -> None:
        """Take the file; on failure the lock is let go."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self.lock.release()
            raise

    @contextlib.contextmanager
    def _one_reading(self) -> Iterator[None]:
        """Read several things from one state of the file."""
        try:
            self.connection.execute("BEGIN")
            yield
        except sqlite3.Error as error:
            raise explained(error, str(self.path)) from error
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def _fold_on(self) -> None:
        """Fold what others have appended to the tasks that are remembered."""
        for recorded, subject in later_events(self.connection, self._head):
            folded = self.cache.get(recorded.event.task_id)
            if folded is not None:
                replay(folded, recorded, subject)

    def _start_over(self) -> None:
        """Undo, and trust nothing: neither what the undone transaction has touched nor where it ended."""
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        self._forget()
        self._version = -1

    def _forget(self) -> None:
        self.cache.clear()
        self._sources.clear()

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])
