"""How appends come to the file: those of one turn of the event loop together, on a thread that writes; one that is all alone, at once.

The thread takes what callers have left since the last commit, commits it together, and answers each of them: one hop there and one back,
whatever the number of callers. Where nobody shares a commit, the two hops cost as much as half a flush; so a single append is written from
the event loop itself, if the file is free and its commits take less than a millisecond lately. A disk that becomes slow holds the loop
for that one commit, and the thread has the next ones.
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

from toolwitness.core.evidence import Kind
from toolwitness.ledger.book import Book
from toolwitness.ledger.connection import checkpoint, explained
from toolwitness.ledger.transaction import Append
from toolwitness.ports import Recorded

_MOST_IN_ONE_COMMIT: Final = 256
_IDLE_SECONDS: Final = 1.0
_CHECKPOINT_EVERY: Final = 1_500
"""Pages, as far as we can tell, after which the write-ahead log is folded back although nobody is idle; well below what the writer itself
would wait for."""
_PAGES_A_COMMIT, _EVENTS_A_PAGE = 4, 2
_BRIEF_SECONDS: Final = 0.001
"""How long a commit may hold up the event loop."""
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
        self._jobs: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn: list[Job] = []
        """What was left in this turn of the event loop."""
        self._outstanding = 0
        """How many jobs of the event loop the thread has not answered."""
        self._thread: threading.Thread | None = None
        self._since_checkpoint = 0
        self._checkpointing: threading.Thread | None = None
        self.book: Book | None = None
        """The open file, once it is open."""

    def submit(self, job: Job) -> "asyncio.Future[None]":
        """Leave a job for the thread, and give what tells when it is done; the job then holds its answer."""
        loop = asyncio.get_running_loop()
        waiter = job.waiter = loop.create_future()
        if loop is not self._loop:
            if self._loop is not None and not self._loop.is_closed():
                self._leave([job])  # a guest from another loop
                return waiter
            self._loop, self._turn, self._outstanding = loop, [], 0
        if not self._turn:
            loop.call_soon(self._end_turn)
        self._turn.append(job)
        return waiter

    def _end_turn(self) -> None:
        """Write what was left in this turn if it is one append alone, else leave it for the thread."""
        turn, self._turn = self._turn, []
        if not turn or (len(turn) == 1 and not self._outstanding and self._write_here(turn[0])):
            return
        self._outstanding += len(turn)
        self._leave(turn)

    def _leave(self, jobs: list[Job]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="toolwitness-ledger", daemon=True)
            self._thread.start()
        self._jobs.put(jobs)

    def _write_here(self, job: Job) -> bool:
        """Write one append on the event loop, if that can be done at once; tell whether it was."""
        book = self.book
        if book is None or book.shared or book.commit_seconds > _BRIEF_SECONDS:
            return False
        if not isinstance(job, Append) or job.deciding is not None:
            return False  # what decides may call somebody's policy, and that shall not run on the event loop
        if any(one.event.kind == Kind.VALUE_ERASED for one in job.prepared):
            return False  # to forget takes a while
        try:
            recorded = book.write_at_once((job,))
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing was written and the caller must hear of it
            job.error, recorded = error, []
        if recorded is None:
            return False
        self._settle((job,), recorded)
        self._count(recorded)
        if self._since_checkpoint >= _CHECKPOINT_EVERY:
            self._checkpoint()
        return True

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the thread."""
        return self._jobs.empty()

    async def stop(self) -> None:
        """Do what was left, close the file, and end the thread."""
        self._end_turn()
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
            batch += first
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
        self._count(recorded)
        if book.unforgotten:
            self._forget(book)
        return recorded

    def _forget(self, book: Book) -> None:
        """See that what was erased stands nowhere any more, before anybody is told that it is."""
        try:
            book.forget()
        except sqlite3.Error:
            return  # it is tried again with the next append

    def _count(self, recorded: Sequence[Recorded]) -> None:
        self._since_checkpoint += _PAGES_A_COMMIT + len(recorded) // _EVENTS_A_PAGE

    def _serve_readers(self, book: Book) -> None:
        """Answer those who only read while another process keeps the writer waiting."""
        readers: list[Reading] = []
        left: list[list[Job] | None] = []
        while not self._jobs.empty():
            jobs = self._jobs.get()
            readers += [job for job in jobs or () if isinstance(job, Reading)]
            left.append([job for job in jobs if isinstance(job, Append)] if jobs is not None else None)
        for jobs in left:
            if jobs is None or jobs:
                self._jobs.put(jobs)
        _call(book, readers)
        self._answer(readers, [])

    def _answer(self, jobs: Sequence[Job], recorded: Sequence[Recorded]) -> None:
        """Tell each event loop once."""
        loops = {job.waiter.get_loop() for job in jobs if job.waiter is not None}
        for loop in loops:
            mine = jobs if len(loops) == 1 else [job for job in jobs if job.waiter is not None and job.waiter.get_loop() is loop]
            try:
                loop.call_soon_threadsafe(self._receive, mine, recorded)
            except RuntimeError:
                continue  # that loop is gone, and with it everybody who waited

    def _receive(self, jobs: Sequence[Job], recorded: Sequence[Recorded]) -> None:
        """Take the thread's answers, on the event loop."""
        if asyncio.get_running_loop() is self._loop:
            self._outstanding -= len(jobs)
        self._settle(jobs, recorded)

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
