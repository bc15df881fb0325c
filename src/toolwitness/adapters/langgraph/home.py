"""The event loop that a desk works on, reached from async code and from threads alike."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

from toolwitness.adapters.langgraph.mapping import ADAPTER
from toolwitness.core.errors import InvalidInput
from toolwitness.recording.desk_side import DeskLike, DeskSide

T = TypeVar("T")
_ANSWERS_WITHIN: Final = 10.0
"""Seconds within which a loop that is not held up answers."""


class Home:
    """Gives the desk's side of a run on the loop where the desk lives, and a loop of its own to a program that has none."""

    def __init__(self, desk: DeskLike, *, task_id: str) -> None:
        """Belong to the running loop, where there is one; else to the first that comes, or to one of its own."""
        self._desk = desk
        self._task_id = task_id
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._side: DeskSide | None = None
        self._own: threading.Thread | None = None
        with suppress(RuntimeError):  # where it is made outside any loop
            self._settle(asyncio.get_running_loop())

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop where the desk lives."""
        if self._loop is None:
            raise RuntimeError("no loop has been settled on")  # every way in settles one first
        return self._loop

    def here(self) -> DeskSide:
        """Give the desk's side on the running loop.

        Raises:
            InvalidInput: the desk lives on another loop, which is alive.
        """
        running = asyncio.get_running_loop()
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._settle(running)
        if self._loop is not running or self._side is None:
            raise InvalidInput(
                "This recorder's desk lives on another event loop.", field="desk",
                remedy="Open the desk and make the recorder on the loop that runs the graph, or use one of invoke and ainvoke.",
            )  # fmt: skip  # facts in lines
        return self._side

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the desk's loop from a thread, and wait for it.

        Raises:
            InvalidInput: this thread runs the loop itself, or the loop is held up by whoever waits for this call.
        """
        self._reach()
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def side(self) -> DeskSide:
        """Give the desk's side, for work on its loop."""
        self._reach()
        if self._side is None:
            raise RuntimeError("no desk's side has been made")  # made with the loop
        return self._side

    def _reach(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass  # as it should be
        else:
            raise _held_up()
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._settle(self._make())
        if not self._own or not self._own.is_alive():
            self._probe()

    def _probe(self) -> None:
        """Find out whether the loop answers: it does not where it waits for the very graph that asks."""
        answered: Future[None] = Future()
        self.loop.call_soon_threadsafe(answered.set_result, None)
        try:
            answered.result(_ANSWERS_WITHIN)
        except TimeoutError:
            raise _held_up() from None

    def _settle(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._side = DeskSide(self._desk, ADAPTER, task_id=self._task_id)

    def _make(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._own = threading.Thread(target=loop.run_forever, name="toolwitness-desk", daemon=True)
        self._own.start()
        return loop


def _held_up() -> InvalidInput:
    return InvalidInput(
        "The graph was invoked on the event loop that its desk lives on: the two would wait for each other.", field="desk",
        remedy="Use ainvoke or astream there, or `await asyncio.to_thread(graph.invoke, …)`.",
    )  # fmt: skip  # facts in lines
