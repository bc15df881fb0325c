"""Carries facts to one observer: in order, one at a time, from any thread, and never inside the body's own task.

Delivery has a task of its own because a cancelled body must not interrupt the recording of what it did.
"""

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.runtime.facts import Fact

Observer = Callable[[Fact], Awaitable[None] | None]
"""Whoever is told the facts; plain or async."""

_log: Final = logging.getLogger("toolwitness.runtime")
_background: Final[set[asyncio.Task[Any]]] = set()
"""Tasks that must outlive whoever waits for them; asyncio itself keeps only weak references."""
_POLL_SECONDS: Final = 1.0
"""How often a thread that waits for a delivery looks whether the loop is still there."""


class NotRecorded(Exception):
    """The observer did not take a fact; the cause is its own exception. The fact happened all the same."""


class Delivery:
    """What a report gives back: ignore it, ``await`` it in async code, or ``wait()`` for it in a thread."""

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._future.set_running_or_notify_cancel()  # from here nobody who waits can cancel it for the others

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until the observer has taken the fact.

        Raises:
            NotRecorded: the observer raised; its exception is the cause.
        """
        return self._as_asyncio().__await__()

    def wait(self) -> None:
        """Block this thread until the observer has taken the fact; never call it on the event loop's own thread.

        Raises:
            NotRecorded: the observer raised, or its event loop is gone.
            RuntimeError: called where it would block the event loop for ever.
        """
        if not self._future.done() and _on_a_loop():
            raise RuntimeError("this thread runs an event loop: await the delivery instead of wait()")
        self._future.result()

    async def outlast(self) -> None:
        """Wait until it is over, whatever the answer, and whoever cancels the waiting task meanwhile."""
        await outlast(self._as_asyncio())

    async def over(self) -> None:
        """Wait until it is over, whatever the answer; unlike ``outlast`` the waiting can be cancelled."""
        await asyncio.wait({self._as_asyncio()})

    @property
    def error(self) -> BaseException | None:
        """The observer's own error, or ``None`` when there is none (yet)."""
        refusal = self._future.exception() if self._future.done() else None
        return None if refusal is None else refusal.__cause__

    @property
    def settled(self) -> bool:
        """Whether the observer has taken the fact or failed to."""
        return self._future.done()

    def settled_within(self, seconds: float) -> bool:
        """Block this thread for at most ``seconds``; tell whether it is over by then."""
        return bool(concurrent.futures.wait((self._future,), timeout=seconds).done)

    def _as_asyncio(self) -> asyncio.Future[None]:
        future = asyncio.wrap_future(self._future)
        future.add_done_callback(_look_at)
        return future

    def settle(self, error: BaseException | None = None) -> None:
        """Say that the fact was taken, or why it was not. The first answer stands."""
        if self._future.done():
            return
        if error is None:
            self._future.set_result(None)
            return
        refusal = NotRecorded(f"the fact was not recorded: {error!r}")
        refusal.__cause__ = error
        self._future.set_exception(refusal)


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def outlast(future: asyncio.Future[Any]) -> None:
    """Wait until ``future`` is over; a cancellation of the waiting task neither reaches it nor ends the wait.

    Only guards use it. Nobody cancels a guard but a loop that shuts down, and that is when the truth must not be lost.
    """
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            continue
    _look_at(future)


def _look_at(future: asyncio.Future[Any]) -> None:
    """Look at a future's exception, so that asyncio does not complain that nobody did."""
    if not future.cancelled():
        future.exception()


def taken() -> Delivery:
    """Give a delivery that is over, for reports that go nowhere."""
    delivery = Delivery()
    delivery.settle()
    return delivery


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A fact that its observer failed to take, and the observer's error."""

    fact: Fact
    error: BaseException


class Courier:
    """Delivers each fact once, in the order of posting. An observer that raises loses only that one report."""

    def __init__(self, observer: Observer, loop: asyncio.AbstractEventLoop) -> None:
        self._observer = observer
        self._loop = loop
        self._thread = threading.get_ident()
        self._context = contextvars.copy_context()
        self._queue: deque[tuple[Fact, Delivery]] = deque()
        self._task: asyncio.Task[None] | None = None
        self.unrecorded: list[Unrecorded] = []

    @property
    def backlog(self) -> int:
        """How many facts wait to be delivered."""
        return len(self._queue)

    def post(self, fact: Fact) -> Delivery:
        """Take a fact from any thread; it is delivered after all that were posted before it."""
        delivery = Delivery()
        self._queue.append((fact, delivery))
        try:
            self.call_on_loop(self._wake)
        except RuntimeError as closed:
            self._note_failure(fact, delivery, closed)
        return delivery

    def call_on_loop(self, action: Callable[[], object]) -> None:
        """Run ``action`` on the loop's thread: at once if this is it, else as soon as it comes round.

        Raises:
            RuntimeError: the loop is closed.
        """
        if threading.get_ident() == self._thread:
            action()
        else:
            self._loop.call_soon_threadsafe(action)

    def wait_in_thread(self, delivery: Delivery) -> None:
        """Hold a producing thread until ``delivery`` is over, however, or the loop is gone."""
        while not self._loop.is_closed() and not delivery.settled_within(_POLL_SECONDS):
            pass

    def note_lost_end(self, closed: RuntimeError) -> None:
        """Say in the log that a thread ended after its loop had closed: nobody is left to take the record."""
        _log.error("the event loop closed before a tool's thread ended: its end is not recorded", exc_info=closed)

    def _wake(self) -> None:
        if self._task is None and self._queue:
            # The observer runs in the context of whoever called run(), never in the tool's.
            task = self._loop.create_task(self._deliver(), name="toolwitness-courier", context=self._context)
            self._task = keep(task)

    async def _deliver(self) -> None:
        try:
            while self._queue:
                fact, delivery = self._queue.popleft()
                try:
                    answer = self._observer(fact)
                    if answer is not None:
                        await answer
                except BaseException as error:
                    # A delivery cancelled by a loop that shuts down fails alone: the rest must still go out.
                    self._note_failure(fact, delivery, error)
                    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
                        raise
                else:
                    delivery.settle()
        finally:
            self._task = None
            if not self._loop.is_closed():
                self._wake()

    def _note_failure(self, fact: Fact, delivery: Delivery, error: BaseException) -> None:
        self.unrecorded.append(Unrecorded(fact, error))
        delivery.settle(error)
        _log.error("a fact about a tool's body was not recorded: %s", type(fact).__name__, exc_info=error)


def keep(task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    """Hold a task strongly until it has ended."""
    _background.add(task)
    task.add_done_callback(_let_go)
    return task


def _let_go(task: asyncio.Task[Any]) -> None:
    """Forget a task that has ended; an interrupt in it has already gone through the loop."""
    _background.discard(task)
    _look_at(task)


async def drain(*, seconds: float | None = None) -> int:
    """Wait until every guarded body of this loop has ended and been reported; give the number that still run.

    Call it before the loop closes. Without ``seconds`` it waits for as long as the slowest thread takes, and gives 0.
    """
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    while here := {task for task in _background if task.get_loop() is loop and task is not asyncio.current_task()}:
        left = None if deadline is None else deadline - loop.time()
        if left is not None and left <= 0:
            break
        await asyncio.wait(here, timeout=left)
    return len(here)
