"""The thread that writes: it takes what callers have left for it since the last commit, commits it together, and answers each of them.

One hop there and one back, whatever the number of callers: a queue that needs no Python lock, and one call into the event loop a batch.
"""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolwitness.ledger.book import Book
from toolwitness.ledger.connection import checkpoint, explained
from toolwitness.ledger.transaction import Append
from toolwitness.ports import Recorded

_MOST_IN_ONE_COMMIT: Final = 256
_IDLE_SECONDS: Final = 1.0
_CHECKPOINT_EVERY: Final = 4_000
"""Events after which the write-ahead log is folded back although nobody is idle; well below what the writer itself would wait for."""
_COURTESY_SECONDS: Final = 0.000_4
"""How long a writer steps back before its next commit when another process is writing too."""


@dataclass(slots=True, eq=False)
class Reading:
    """Something to look up on the writing thread, and whom to answer."""

    call: Callable[[Book], Any]
    waiter: "asyncio.Future[Any] | None" = None
    answer: Any = None
    error: BaseException | None = None


Job = Append | Reading


class Writer:
    """One writing thread over one file; opens it when the first job comes."""

    def __init__(self, open_book: Callable[[], Book], *, path: Path, on_recorded: Callable[[Sequence[Recorded]], None]) -> None:
        """``on_recorded`` is called on the event loop with what is new in each commit, before its callers are answered."""
        self._open_book = open_book
        self._path = path
        self._on_recorded = on_recorded
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since_checkpoint = 0
        self._checkpointing: threading.Thread | None = None
        self.book: Book | None = None
        """The open file, once it is open."""

    def submit(self, job: Job) -> "asyncio.Future[None]":
        """Leave a job for the thread, and give what tells when it is done; the job then holds its answer."""
        waiter = job.waiter = asyncio.get_running_loop().create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="toolwitness-ledger", daemon=True)
            self._thread.start()
        self._jobs.put(job)
        return waiter

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the thread."""
        return self._jobs.empty()

    async def stop(self) -> None:
        """Do what was left, close the file, and end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
            self._thread = None

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._next_batch()
            if batch:
                self._work(batch)
            elif more and self._since_checkpoint:
                self._checkpoint()
        if self._checkpointing is not None:
            self._checkpointing.join()
        if self.book is not None:
            self.book.close()

    def _next_batch(self) -> tuple[list[Job], bool]:
        """Wait for a job and take all others that are there; empty when nothing came for a while."""
        try:
            first = self._jobs.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            return [], True
        batch: list[Job] = []
        while first is not None:
            batch.append(first)
            if len(batch) >= _MOST_IN_ONE_COMMIT or self._jobs.empty():
                return batch, True
            first = self._jobs.get()
        return batch, False

    def _work(self, batch: Sequence[Job]) -> None:
        """Do a batch of jobs and answer them all."""
        try:
            book = self.book = self.book or self._open_book()
        except Exception as error:  # noqa: BLE001 - every caller is told why the file cannot be opened
            for job in batch:
                job.error = error
            self._answer(batch, [])
            return
        appends = [job for job in batch if isinstance(job, Append)]
        if len(appends) < len(batch):
            readers = [job for job in batch if isinstance(job, Reading)]
            _call(book, readers)
            self._answer(readers, [])  # at once: another process may keep the writer waiting
        if appends:
            self._answer(appends, self._write(book, appends))
        if book.shared:
            time.sleep(_COURTESY_SECONDS)
        if self._since_checkpoint >= _CHECKPOINT_EVERY:
            self._checkpoint()

    def _write(self, book: Book, appends: Sequence[Append]) -> list[Recorded]:
        try:
            recorded = book.write(appends, meanwhile=lambda: self._serve_readers(book))
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing was written and every caller must hear of it
            if len(appends) > 1 and isinstance(error.__cause__, sqlite3.IntegrityError):
                return [recorded for append in appends for recorded in self._write(book, [append])]
            for append in appends:
                append.error = error
            return []
        self._since_checkpoint += len(recorded)
        return recorded

    def _serve_readers(self, book: Book) -> None:
        """Answer those who only read while another process keeps the writer waiting."""
        waiting: list[Job | None] = []
        while not self._jobs.empty():
            waiting.append(self._jobs.get())
        readers = [job for job in waiting if isinstance(job, Reading)]
        for job in waiting:
            if not isinstance(job, Reading):
                self._jobs.put(job)
        _call(book, readers)
        self._answer(readers, [])

    def _answer(self, jobs: Sequence[Job], recorded: Sequence[Recorded]) -> None:
        """Tell each event loop once."""
        loops = {job.waiter.get_loop() for job in jobs if job.waiter is not None}
        for loop in loops:
            mine = jobs if len(loops) == 1 else [job for job in jobs if job.waiter is not None and job.waiter.get_loop() is loop]
            try:
                loop.call_soon_threadsafe(self._settle, mine, recorded)
            except RuntimeError:
                continue  # that loop is gone, and with it everybody who waited

    def _settle(self, jobs: Sequence[Job], recorded: Sequence[Recorded]) -> None:
        if recorded:
            self._on_recorded(recorded)
        for job in jobs:
            waiter = job.waiter
            if waiter is None or waiter.done():
                continue
            if job.error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(job.error)

    def _checkpoint(self) -> None:
        """Fold the write-ahead log back on a connection and a thread of its own."""
        if self._checkpointing is not None and self._checkpointing.is_alive():
            return
        self._since_checkpoint = 0
        self._checkpointing = threading.Thread(target=checkpoint, args=(self._path,), name="toolwitness-checkpoint", daemon=True)
        self._checkpointing.start()


def _call(book: Book, jobs: Sequence[Reading]) -> None:
    for job in jobs:
        try:
            job.answer = job.call(book)
        except sqlite3.Error as error:
            job.error = explained(error, str(book.path))
        except Exception as error:  # noqa: BLE001 - it is this caller's
            job.error = error
