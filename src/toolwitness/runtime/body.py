"""Guards one tool body and says what really happened to it.

An async body runs in an ``asyncio.Task`` of its own, so that stopping one of several parallel calls touches no sibling
and so that its end is seen and not assumed. A sync body runs in a worker thread of its own, which Python cannot stop: a
stop is only shown to it, and what it then does is the truth. Generators of both kinds stream.

A cancellation is acknowledged only by ``EndingKind.UNWOUND`` (the body's own task ended by the cancellation requested
here), ``HONOURED`` (the tool says so) or ``NEVER_STARTED``. Every framework measured says "cancelled" while a threaded
tool goes on to pay: here the guard outlives its waiter and reports the real end.
"""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, cast
from uuid import uuid4

from toolwitness.runtime.context import (
    BodyContext,
    crossed_commitment,
    current_body,
    effect_observed,
    emit,
    entered,
    part_completed,
    progress,
    stop_requested,
)
from toolwitness.runtime.courier import Courier, Delivery, NotRecorded, Observer, Unrecorded, drain, keep, outlast
from toolwitness.runtime.facts import (
    BodyLeft,
    Ended,
    Ending,
    EndingKind,
    Executor,
    Fact,
    OutputEmitted,
    Started,
    StopHonoured,
    StopReply,
    WaiterGone,
    WaiterReleased,
)

__all__ = [
    "Body",
    "Ending",
    "EndingKind",
    "Executor",
    "NotRecorded",
    "Observer",
    "StopHonoured",
    "StopReply",
    "UnrecordedStart",
    "WaiterGone",
    "crossed_commitment",
    "current_body",
    "drain",
    "effect_observed",
    "emit",
    "executor_of",
    "part_completed",
    "progress",
    "stop_requested",
]

_MOST_WAITING: Final = 64
"""How many facts may wait for a slow observer before a stream is held back."""


class UnrecordedStart(StrEnum):
    """What to do when the observer fails to take the start."""

    REFUSE = "refuse"
    """Nothing runs whose start is not on record."""
    RUN = "run"
    """The body runs all the same: for a watcher that must not be in the way."""


@dataclass(frozen=True, slots=True)
class _Handover:
    """What a sync function returned when it turned out to be async after all."""

    value: object


def _utc_now() -> datetime:
    return datetime.now(UTC)


def executor_of(fn: Callable[..., object]) -> Executor:
    """Tell where ``fn`` would run: async functions and async generators in a task, everything else in a thread."""
    while isinstance(fn, partial):
        fn = cast("partial[object]", fn).func
    for candidate in (fn, getattr(fn, "__call__", None)):  # noqa: B004 - looks for an async __call__, not for callability
        if inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate):
            return Executor.TASK
    return Executor.THREAD


class Body:
    """One run of one tool body, guarded. Used once; belongs to the event loop that runs it."""

    def __init__(
        self,
        fn: Callable[..., object],
        args: Sequence[object] = (),
        *,
        kwargs: Mapping[str, object] | None = None,
        executor: Executor | None = None,
        lease: str | None = None,
        on_waiter_gone: WaiterGone = WaiterGone.STOP,
        unrecorded_start: UnrecordedStart = UnrecordedStart.REFUSE,
        now: Callable[[], datetime] = _utc_now,
        idempotency_key: str = "",
    ) -> None:
        """Take the function and exactly the arguments it will get; nothing runs yet.

        ``executor`` forces the place; ``TASK`` also suits a plain function that returns an awaitable.
        ``lease`` names this run in evidence; without one it is made up. ``idempotency_key`` is what the body can give to the other side.
        """
        self._call = partial(fn, *args, **(kwargs or {}))
        self.executor = executor or executor_of(fn)
        """Where it runs now. A plain function that returns an awaitable moves from thread to task."""
        self.lease = lease or f"lease_{uuid4().hex}"
        self._on_waiter_gone = on_waiter_gone
        self._unrecorded_start = unrecorded_start
        self._now = now
        self._idempotency_key = idempotency_key
        self._courier: Courier | None = None
        self._begun = False
        self._inner: asyncio.Task[None] | None = None
        self._ending: Ending | None = None
        self._stop_reason: str | None = None
        self._stop_seen = threading.Event()
        self._items: list[object] | None = None
        self._order = 0
        self._lock = threading.Lock()

    @property
    def ending(self) -> Ending | None:
        """How it ended; ``None`` while it has not."""
        return self._ending

    @property
    def stop_reason(self) -> str | None:
        """Why it was asked to stop; ``None`` when it was not."""
        return self._stop_reason

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """The facts that the observer failed to take, with its errors; the body's result is never lost with them."""
        return () if self._courier is None else tuple(self._courier.unrecorded)

    # ── what the caller does ────────────────────────────────────────────────────────────────────────────────────────

    async def run(self, observer: Observer) -> Ending:
        """Run the body to its real end, tell ``observer`` every fact in order, and give the ending.

        Raises:
            asyncio.CancelledError: the caller was cancelled; the very same object, after ``WaiterGone`` was done (R5).
            KeyboardInterrupt, SystemExit: the body raised it; it is on record by then.
        """
        if self._courier is not None:
            raise RuntimeError("this body has run: a second run is a new attempt and needs a Body of its own")
        loop = asyncio.get_running_loop()
        self._courier = Courier(observer, loop)
        guard = keep(loop.create_task(self._guard(), name=f"toolwitness-guard-{self.lease}"))
        await self._wait_for(guard)
        ending = guard.result()
        if isinstance(ending.exception, KeyboardInterrupt | SystemExit):
            raise ending.exception
        return ending

    def request_stop(self, reason: str) -> StopReply:
        """Ask this body, and no other, to stop; say what the request could do. Call it on the loop that runs the body.

        The reply is never an acknowledgement: that is the ending's ``termination``.
        """
        if self._ending is not None or (self._inner is not None and self._inner.done()):
            return StopReply.ALREADY_ENDED
        if self._stop_reason is not None:
            return StopReply.ALREADY_ASKED
        self._stop_reason = reason
        self._stop_seen.set()
        if not self._begun:
            return StopReply.WILL_NOT_START
        if self._inner is None:
            return StopReply.CANNOT_STOP
        self._inner.cancel(reason)
        return StopReply.ASKED

    # ── the guard ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _wait_for(self, guard: asyncio.Task[Ending]) -> None:
        """Wait for the guard as the caller; when the caller is cancelled, do what was agreed and pass its error on."""
        released: asyncio.CancelledError | None = None
        while not guard.done():
            try:
                await asyncio.wait({guard})
            except asyncio.CancelledError as error:
                # A second cancellation is absorbed: the clean-up that the first one began is not to be cut short.
                if released is None:
                    released = error
                    if not self._holds_waiter():
                        break
        if released is not None:
            raise released

    def _holds_waiter(self) -> bool:
        """Report that the waiter is released; tell whether it must still be held until the body has ended."""
        if self._ending is not None:
            return True
        if self._on_waiter_gone is WaiterGone.LEAVE:
            self._post(WaiterReleased(at=self._now(), body=BodyLeft.RUNNING))
            return False
        in_thread = self._begun and self._inner is None
        self._post(WaiterReleased(at=self._now(), body=BodyLeft.CANNOT_STOP if in_thread else BodyLeft.STOPPING))
        self.request_stop("the caller that waited for it was cancelled")
        return not in_thread

    async def _guard(self) -> Ending:
        """See one body through. Not cancelled by anyone but a loop that shuts down, and outlasts that too."""
        ending = self._ending = await self._start() or await self._perform()
        await self._post(Ended(at=self._now(), ending=ending)).outlast()
        return ending

    async def _start(self) -> Ending | None:
        """Put the start on record; give an ending when the body must not start."""
        if self._stop_reason is not None:
            return self._never_started(None)
        delivery = self._post(Started(at=self._now(), executor=self.executor, lease=self.lease))
        await delivery.outlast()
        if (error := delivery.error) is not None and self._unrecorded_start is UnrecordedStart.REFUSE:
            return self._never_started(error)
        return self._never_started(None) if self._stop_reason is not None else None

    async def _perform(self) -> Ending:
        """Run the body where it belongs and wait for its real end."""
        self._begun = True
        entered(
            BodyContext(
                self._post, self._take_order, lease=self.lease, now=self._now, stop=self._stop_seen, idempotency_key=self._idempotency_key
            )
        )  # fmt: skip  # one call
        if self.executor is Executor.TASK:
            return await self._in_task(self._call)
        outcome = await self._in_thread()
        return await self._go_on_in_task(outcome.value) if isinstance(outcome, _Handover) else outcome

    async def _go_on_in_task(self, returned: object) -> Ending:
        """Run what a sync function returned that was async after all; from here on it can be stopped."""
        self.executor = Executor.TASK
        ending = None if self._stop_reason is not None else await self._in_task(lambda: returned)
        if ending is None or ending.kind is EndingKind.NEVER_STARTED:
            if inspect.iscoroutine(returned):
                returned.close()  # a stop came between: its first line has not run and will not
            return self._ended_by(asyncio.CancelledError(self._stop_reason))
        return ending

    async def _in_task(self, call: Callable[[], object]) -> Ending:
        inner = self._inner = asyncio.get_running_loop().create_task(self._live(call), name=f"toolwitness-{self.lease}")
        await outlast(inner)
        # The task's own result is not asked: a task that returns in the very step that cancels it counts as cancelled.
        return self._ending or self._never_started(None)

    async def _live(self, call: Callable[[], object]) -> None:
        """Be the body's own task: nothing but the body runs in it, and nothing escapes from it unseen."""
        try:
            value = call()
            if inspect.isawaitable(value):
                value = await value
            if inspect.isasyncgen(value):
                value = await self._stream(cast("AsyncGenerator[object, None]", value))
            elif inspect.isgenerator(value):
                value = self._pull(cast("Generator[object, object, object]", value), hold=None)
        except BaseException as error:  # noqa: BLE001 - whatever ends a body is what is to be reported
            self._ending = self._ended_by(error)
        else:
            self._ending = self._returned(value)

    async def _in_thread(self) -> Ending | _Handover:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[Ending | _Handover] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            outcome = context.run(self._live_in_thread)
            self._end_thread(partial(over.set_result, outcome))

        try:
            threading.Thread(target=work, name=f"toolwitness-{self.lease}", daemon=False).start()
        except RuntimeError as error:  # the machine gives no more threads
            return self._never_started(error)
        await outlast(over)
        return over.result()

    def _live_in_thread(self) -> Ending | _Handover:
        try:
            value = self._call()
            if inspect.isawaitable(value) or inspect.isasyncgen(value):
                return _Handover(value)
            if inspect.isgenerator(value):
                value = self._pull(cast("Generator[object, object, object]", value), hold=self._reporter.wait_in_thread)
        except BaseException as error:  # noqa: BLE001 - whatever ends a body is what is to be reported
            return self._ended_by(error)
        return self._returned(value)

    def _end_thread(self, report: Callable[[], None]) -> None:
        try:
            self._reporter.call_on_loop(report)
        except RuntimeError as closed:
            self._reporter.note_lost_end(closed)

    # ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _stream(self, stream: AsyncGenerator[object, None]) -> object:
        items = self._items = []
        async with aclosing(stream):
            async for item in stream:
                items.append(item)
                delivery = self._post_output(item)
                if self._reporter.backlog > _MOST_WAITING:
                    await delivery.over()
        return tuple(items)

    def _pull(self, stream: Generator[object, object, object], *, hold: Callable[[Delivery], None] | None) -> object:
        """Pull a generator dry; a value that it returns is the result, else its items are."""
        items = self._items = []
        while True:
            try:
                item = next(stream)
            except StopIteration as stopped:
                value: object = stopped.value
                return tuple(items) if value is None else value
            items.append(item)
            delivery = self._post_output(item)
            if hold is not None and self._reporter.backlog > _MOST_WAITING:
                hold(delivery)

    # ── facts and endings ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _reporter(self) -> Courier:
        return cast("Courier", self._courier)

    def _post(self, fact: Fact) -> Delivery:
        return self._reporter.post(fact)

    def _take_order(self, make: Callable[[int], Fact]) -> Delivery:
        """Number and post in one step, so that no thread can come between."""
        with self._lock:
            self._order += 1
            return self._post(make(self._order))

    def _post_output(self, item: object) -> Delivery:
        return self._take_order(lambda order: OutputEmitted(at=self._now(), order=order, value=item))

    def _ended_by(self, error: BaseException) -> Ending:
        asked, in_task = self._stop_reason is not None, self.executor is Executor.TASK
        if _is_cancellation(error):
            kind = EndingKind.UNWOUND if asked and in_task else EndingKind.SELF_CANCELLED
        elif isinstance(error, StopHonoured) and asked:
            kind = EndingKind.HONOURED
        else:
            kind = EndingKind.RAISED if isinstance(error, Exception) else EndingKind.BASE_EXCEPTION
        return self._end(kind, exception=error)

    def _returned(self, value: object) -> Ending:
        return self._end(EndingKind.RETURNED, value=value)

    def _never_started(self, error: BaseException | None) -> Ending:
        return self._end(EndingKind.NEVER_STARTED, exception=error or asyncio.CancelledError(self._stop_reason))

    def _end(self, kind: EndingKind, **what: Any) -> Ending:
        items = None if self._items is None else len(self._items)
        return Ending(kind=kind, executor=self.executor, stop_reason=self._stop_reason, items=items, **what)


def _is_cancellation(error: BaseException) -> bool:
    """Tell whether ``error`` is a cancellation, or a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_cancellation(inner) for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions)
    return isinstance(error, asyncio.CancelledError)
