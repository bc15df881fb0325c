"""What the guard of one body says: how it ended, what a stop could do, and what becomes of it when its waiter goes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial, wraps

import pytest

from toolwitness.core.states import Termination
from toolwitness.runtime.body import (
    Body,
    Ending,
    EndingKind,
    Executor,
    StopHonoured,
    StopReply,
    UnrecordedStart,
    WaiterGone,
    drain,
    effect_observed,
    executor_of,
    stop_requested,
)
from toolwitness.runtime.facts import (
    BodyLeft,
    EffectObserved,
    Ended,
    Fact,
    OutputEmitted,
    Started,
    WaiterReleased,
)


@dataclass
class Watcher:
    """An observer that keeps what it was told, and can be waited on."""

    facts: list[Fact] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, fact: Fact) -> None:
        self.facts.append(fact)
        self._news.set()

    async def until(self, kind: type[Fact]) -> Fact:
        while not (found := self.all(kind)):
            self._news.clear()
            await self._news.wait()
        return found[0]

    def all(self, kind: type[Fact]) -> list[Fact]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def names(self) -> list[str]:
        return [type(fact).__name__ for fact in self.facts]


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture(autouse=True)
async def nothing_leaks() -> AsyncIterator[None]:
    yield
    assert await drain(seconds=5) == 0
    assert asyncio.all_tasks() - {asyncio.current_task()} == set()
    for thread in threading.enumerate():
        if thread.name.startswith("toolwitness-lease"):
            thread.join(5)
            assert not thread.is_alive()


async def begun(body: Body) -> None:
    """Wait until the body is past its first step."""
    while not body._begun:  # noqa: ASYNC110 - the guard's own progress has no event to wait for
        await asyncio.sleep(0)
    await asyncio.sleep(0)


async def forever() -> None:
    await asyncio.Event().wait()


# ── ends of their own accord ────────────────────────────────────────────────────────────────────────────────────────


async def test_an_async_body_runs_in_a_task_and_returns_its_value(watcher: Watcher) -> None:
    async def add(a: int, *, b: int) -> int:
        return a + b

    ending = await Body(add, (1,), kwargs={"b": 2}, lease="lease_1").run(watcher)

    assert ending == Ending(kind=EndingKind.RETURNED, executor=Executor.TASK, value=3)
    assert watcher.names == ["Started", "Ended"]
    started, ended = watcher.facts
    assert isinstance(started, Started)
    assert (started.executor, started.lease) == (Executor.TASK, "lease_1")
    assert isinstance(ended, Ended)
    assert ended.ending is ending
    assert (ending.category, ending.termination, ending.unwrap()) == (None, None, 3)


async def test_a_sync_body_runs_in_a_thread_of_its_own(watcher: Watcher) -> None:
    ending = await Body(threading.get_ident).run(watcher)

    assert (ending.kind, ending.executor) == (EndingKind.RETURNED, Executor.THREAD)
    assert ending.value != threading.get_ident()


@pytest.mark.parametrize("place", ["task", "thread"])
async def test_a_body_that_returns_nothing_is_an_ending_like_any_other(watcher: Watcher, place: str) -> None:
    async def nothing() -> None: ...

    ending = await Body(nothing if place == "task" else lambda: None).run(watcher)

    assert (ending.kind, ending.value, ending.executor) == (EndingKind.RETURNED, None, Executor(place))


@pytest.mark.parametrize(
    ("error", "kind", "category"),
    [
        (ValueError("no such flight"), EndingKind.RAISED, "tool-error"),
        (TimeoutError(), EndingKind.RAISED, "timeout"),
        (StopIteration(4), EndingKind.RAISED, "tool-error"),
        (StopHonoured("nobody asked"), EndingKind.RAISED, "tool-error"),
        (ExceptionGroup("two", [ValueError(), KeyError()]), EndingKind.RAISED, "tool-error"),
        (asyncio.CancelledError("mine"), EndingKind.SELF_CANCELLED, "aborted"),
        (BaseExceptionGroup("c", [asyncio.CancelledError()]), EndingKind.SELF_CANCELLED, "aborted"),
        (BaseExceptionGroup("m", [asyncio.CancelledError(), ValueError()]), EndingKind.BASE_EXCEPTION, "aborted"),
        (GeneratorExit(), EndingKind.BASE_EXCEPTION, "aborted"),
    ],
)
async def test_whatever_a_thread_raises_is_kept_as_the_very_object(
    watcher: Watcher, error: BaseException, kind: EndingKind, category: str
) -> None:
    def raises() -> None:
        raise error

    ending = await Body(raises).run(watcher)

    assert (ending.kind, ending.category, ending.termination) == (kind, category, None)
    assert ending.exception is error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("no such flight"), EndingKind.RAISED),
        (asyncio.CancelledError("mine"), EndingKind.SELF_CANCELLED),
        (BaseExceptionGroup("c", [asyncio.CancelledError()]), EndingKind.SELF_CANCELLED),
        (GeneratorExit(), EndingKind.BASE_EXCEPTION),
    ],
)
async def test_whatever_a_task_raises_is_kept_and_its_waiter_is_not_cancelled(
    watcher: Watcher, error: BaseException, kind: EndingKind
) -> None:
    async def raises() -> None:
        raise error

    ending = await Body(raises).run(watcher)

    assert ending.kind is kind
    assert ending.exception is error
    with pytest.raises(type(error)) as caught:
        ending.unwrap()
    assert caught.value is error


@pytest.mark.parametrize("executor", list(Executor))
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
async def test_an_interrupt_reaches_the_caller_after_it_is_on_record(watcher: Watcher, error: BaseException, executor: Executor) -> None:
    def raises() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await Body(raises, executor=executor).run(watcher)

    assert caught.value is error
    (ended,) = watcher.all(Ended)
    assert isinstance(ended, Ended)
    assert (ended.ending.kind, ended.ending.category) == (EndingKind.BASE_EXCEPTION, "aborted")


async def test_a_body_runs_once(watcher: Watcher) -> None:
    body = Body(lambda: 1)
    await body.run(watcher)

    with pytest.raises(RuntimeError, match="a second run is a new attempt"):
        await body.run(watcher)
    assert watcher.names == ["Started", "Ended"]


# ── stopped on request ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_requested_stop_unwinds_the_task_and_its_cleanup_is_part_of_the_body(watcher: Watcher) -> None:
    cleaned = []

    async def tool() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            cleaned.append(len(watcher.all(Ended)))

    body = Body(tool)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    replies = [body.request_stop("the person pressed cancel")]
    await asyncio.sleep(0)
    replies.append(body.request_stop("pressed again"))
    ending = await running
    replies.append(body.request_stop("too late"))

    assert replies == [StopReply.ASKED, StopReply.ALREADY_ASKED, StopReply.ALREADY_ENDED]
    assert cleaned == [0]
    assert (ending.kind, ending.stop_reason) == (EndingKind.UNWOUND, "the person pressed cancel")
    assert (ending.termination, ending.category) == (Termination.UNWOUND, None)
    assert (body.ending, body.stop_reason, body.unrecorded) == (ending, "the person pressed cancel", ())


async def test_stopping_one_of_three_parallel_bodies_touches_no_sibling(watcher: Watcher) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    watchers = [Watcher() for _ in range(3)]

    async def search(at: int) -> int:
        await gates[at].wait()
        return at

    bodies = [Body(search, (at,)) for at in range(3)]
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(body.run(watch)) for body, watch in zip(bodies, watchers, strict=True)]
        for body in bodies:
            await begun(body)
        assert bodies[2].request_stop("only this one") is StopReply.ASKED
        await watchers[2].until(Ended)
        assert [len(watch.all(Ended)) for watch in watchers] == [0, 0, 1]
        gates[0].set()
        gates[1].set()

    kinds = [run.result().kind for run in runs]
    assert kinds == [EndingKind.RETURNED, EndingKind.RETURNED, EndingKind.UNWOUND]


async def test_a_body_that_ignores_cancellation_is_still_running_until_it_returns(watcher: Watcher) -> None:
    noticed, gate = asyncio.Event(), asyncio.Event()

    async def stubborn() -> str:
        try:
            await forever()
        except asyncio.CancelledError:
            noticed.set()
        await gate.wait()
        return "paid"

    body = Body(stubborn)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    body.request_stop("cancel")
    await noticed.wait()
    assert (body.ending, watcher.all(Ended)) == (None, [])
    gate.set()
    ending = await running

    assert (ending.kind, ending.value, ending.stop_requested) == (EndingKind.RETURNED, "paid", True)
    assert ending.termination is None


async def test_a_body_that_returns_in_the_step_in_which_it_is_stopped_has_returned(watcher: Watcher) -> None:
    async def finishes_first() -> str:
        assert body.request_stop("from inside") is StopReply.ASKED
        return "done in time"

    body = Body(finishes_first)
    ending = await body.run(watcher)

    assert (ending.kind, ending.value, ending.stop_requested) == (EndingKind.RETURNED, "done in time", True)


async def test_a_stop_that_comes_after_the_last_line_is_told_that_it_is_late(watcher: Watcher) -> None:
    replies = []

    async def observer(fact: Fact) -> None:
        if isinstance(fact, Ended):
            replies.append(body.request_stop("late"))

    async def quick() -> int:
        return 1

    body = Body(quick)
    ending = await body.run(observer)

    assert replies == [StopReply.ALREADY_ENDED]
    assert (ending.kind, ending.stop_requested) == (EndingKind.RETURNED, False)


async def test_a_body_that_raises_while_it_is_being_stopped_has_raised(watcher: Watcher) -> None:
    async def tool() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            raise ValueError("could not clean up") from None

    body = Body(tool)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    body.request_stop("cancel")
    ending = await running

    assert (ending.kind, ending.category, ending.stop_requested) == (EndingKind.RAISED, "tool-error", True)
    assert ending.termination is None


async def test_a_stop_before_the_run_means_that_nothing_starts(watcher: Watcher) -> None:
    ran = []
    body = Body(ran.append, (1,))

    reply = body.request_stop("changed my mind")
    ending = await body.run(watcher)

    assert reply is StopReply.WILL_NOT_START
    assert (ran, watcher.names) == ([], ["Ended"])
    assert (ending.kind, ending.termination, ending.category) == (EndingKind.NEVER_STARTED, Termination.CONFIRMED, None)
    with pytest.raises(asyncio.CancelledError):
        ending.unwrap()


async def test_a_stop_while_the_start_is_being_recorded_means_that_nothing_starts() -> None:
    ran: list[int] = []
    kept: list[Fact] = []
    replies = []

    async def observer(fact: Fact) -> None:
        kept.append(fact)
        if isinstance(fact, Started):
            replies.append(body.request_stop("at the last moment"))

    body = Body(ran.append, (1,))
    ending = await body.run(observer)

    assert replies == [StopReply.WILL_NOT_START]
    assert (ran, ending.kind, ending.termination) == ([], EndingKind.NEVER_STARTED, Termination.CONFIRMED)
    assert [type(fact) for fact in kept] == [Started, Ended]


async def test_a_stop_before_the_first_step_of_the_task_means_that_nothing_ran(watcher: Watcher) -> None:
    ran = []

    async def tool() -> None:
        ran.append(1)

    body = Body(tool)
    running = asyncio.create_task(body.run(watcher))
    while body._inner is None:  # noqa: ASYNC110 - as in begun()
        await asyncio.sleep(0)
    if not ran:
        body.request_stop("now")
    ending = await running

    assert (ran, ending.kind, ending.stop_requested) == ([], EndingKind.NEVER_STARTED, True)


# ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_thread_cannot_be_stopped_and_its_late_effect_is_reported(watcher: Watcher) -> None:
    gate = threading.Event()

    def pay() -> str:
        gate.wait(5)
        effect_observed("charged the card", reference="ch_1", amount="412.50", asked=stop_requested())
        return "paid"

    body = Body(pay)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    replies = [body.request_stop("cancel"), body.request_stop("cancel")]
    assert (body.ending, watcher.all(Ended)) == (None, [])
    gate.set()
    ending = await running

    assert replies == [StopReply.CANNOT_STOP, StopReply.ALREADY_ASKED]
    assert (ending.kind, ending.value, ending.stop_requested) == (EndingKind.RETURNED, "paid", True)
    assert ending.termination is None
    assert watcher.names == ["Started", "EffectObserved", "Ended"]
    effect = watcher.facts[1]
    assert isinstance(effect, EffectObserved)
    assert (effect.description, effect.reference) == ("charged the card", "ch_1")
    assert effect.fields == {"amount": "412.50", "asked": True}


async def test_a_cancelled_error_out_of_a_thread_never_counts_as_unwound(watcher: Watcher) -> None:
    gate = threading.Event()

    def tool() -> None:
        gate.wait(5)
        raise asyncio.CancelledError

    body = Body(tool)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    body.request_stop("cancel")
    gate.set()
    ending = await running

    assert (ending.kind, ending.termination, ending.category) == (EndingKind.SELF_CANCELLED, None, "aborted")


async def test_a_thread_that_looks_at_the_request_can_say_that_it_stopped(watcher: Watcher) -> None:
    looked = threading.Event()

    def polite() -> None:
        looked.set()
        body_inside = current()
        assert body_inside.wait_for_stop(5)
        assert stop_requested()
        raise StopHonoured("after page 3")

    def current():
        from toolwitness.runtime.body import current_body  # noqa: PLC0415 - read inside the thread on purpose

        found = current_body()
        assert found is not None
        return found

    body = Body(polite)
    running = asyncio.create_task(body.run(watcher))
    await watcher.until(Started)
    await asyncio.to_thread(looked.wait, 5)
    body.request_stop("cancel")
    ending = await running

    assert (ending.kind, ending.termination) == (EndingKind.HONOURED, Termination.CONFIRMED)
    assert ending.executor is Executor.THREAD


async def test_when_the_machine_gives_no_thread_nothing_started(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        ending = await Body(lambda: 1).run(watcher)

    assert (ending.kind, ending.category) == (EndingKind.NEVER_STARTED, "not-started")
    assert str(ending.exception) == "can't start new thread"


async def test_a_sync_function_that_returns_an_awaitable_is_awaited_as_a_task(watcher: Watcher) -> None:
    async def inner() -> str:
        return "from the task"

    ending = await Body(lambda: inner()).run(watcher)  # noqa: PLW0108 - a plain function that returns an awaitable is the point

    assert (ending.kind, ending.value, ending.executor) == (EndingKind.RETURNED, "from the task", Executor.TASK)


async def test_an_awaitable_that_comes_after_a_stop_is_closed_unrun(watcher: Watcher) -> None:
    gate = threading.Event()
    ran = []

    async def inner() -> None:
        ran.append(1)

    def outer() -> object:
        gate.wait(5)
        return inner()

    body = Body(outer)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    body.request_stop("cancel")
    gate.set()
    ending = await running

    assert (ran, ending.kind, ending.executor) == ([], EndingKind.UNWOUND, Executor.TASK)


async def test_an_async_generator_that_comes_out_of_a_thread_after_a_stop_is_dropped(watcher: Watcher) -> None:
    gate = threading.Event()

    async def items() -> AsyncIterator[int]:
        yield 1

    def outer() -> object:
        gate.wait(5)
        return items()

    body = Body(outer)
    running = asyncio.create_task(body.run(watcher))
    await begun(body)
    body.request_stop("cancel")
    gate.set()
    ending = await running

    assert (ending.kind, watcher.all(OutputEmitted)) == (EndingKind.UNWOUND, [])


def test_where_a_function_would_run_is_seen_from_its_kind() -> None:
    async def coroutine() -> None: ...

    async def stream() -> AsyncIterator[int]:
        yield 1

    class AsyncCallable:
        async def __call__(self) -> None: ...

    @wraps(coroutine)
    def wrapped() -> object:
        return coroutine()

    expected = {"coroutine": "task", "stream": "task", "partial": "task", "callable": "task", "sync": "thread", "wrapped": "thread"}
    subjects = {
        "coroutine": coroutine,
        "stream": stream,
        "partial": partial(partial(coroutine)),
        "callable": AsyncCallable(),
        "sync": len,
        "wrapped": wrapped,
    }
    assert {name: str(executor_of(fn)) for name, fn in subjects.items()} == expected


# ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def stream_of_two() -> AsyncIterator[str]:
    yield "a"
    await asyncio.sleep(0)
    yield "b"


def generator_of_two() -> Iterator[str]:
    yield "a"
    yield "b"


@pytest.mark.parametrize(
    ("fn", "executor", "runs_in"),
    [
        (stream_of_two, None, Executor.TASK),
        (generator_of_two, None, Executor.THREAD),
        (lambda: stream_of_two(), None, Executor.TASK),  # noqa: PLW0108 - as above, for a stream
        (generator_of_two, Executor.TASK, Executor.TASK),
    ],
)
async def test_each_item_of_a_stream_is_an_ordered_piece_of_output(
    watcher: Watcher, fn, executor: Executor | None, runs_in: Executor
) -> None:
    ending = await Body(fn, executor=executor).run(watcher)

    assert [(fact.order, fact.value) for fact in watcher.all(OutputEmitted)] == [(1, "a"), (2, "b")]
    assert (ending.kind, ending.value, ending.items) == (EndingKind.RETURNED, ("a", "b"), 2)
    assert ending.executor is runs_in
    assert watcher.names == ["Started", "OutputEmitted", "OutputEmitted", "Ended"]


async def test_a_generator_that_returns_a_value_has_it_as_its_result(watcher: Watcher) -> None:
    def tool():
        yield "half"
        return {"total": 1}

    ending = await Body(tool).run(watcher)

    assert (ending.value, ending.items) == ({"total": 1}, 1)


async def test_a_stopped_stream_is_closed_and_keeps_what_it_gave(watcher: Watcher) -> None:
    closed = []

    async def endless() -> AsyncIterator[int]:
        try:
            yield 1
            await forever()
        finally:
            closed.append(True)

    body = Body(endless)
    running = asyncio.create_task(body.run(watcher))
    await watcher.until(OutputEmitted)
    body.request_stop("enough")
    ending = await running

    assert (closed, ending.kind, ending.items) == ([True], EndingKind.UNWOUND, 1)
    assert watcher.names == ["Started", "OutputEmitted", "Ended"]


async def test_a_stream_that_raises_keeps_what_it_gave_before(watcher: Watcher) -> None:
    def tool():
        yield 1
        raise ValueError("cut")

    ending = await Body(tool).run(watcher)

    assert (ending.kind, ending.items, str(ending.exception)) == (EndingKind.RAISED, 1, "cut")
    assert len(watcher.all(OutputEmitted)) == 1


@pytest.mark.parametrize("place", ["task", "thread"])
async def test_a_fast_stream_waits_for_a_slow_observer_and_loses_nothing(place: str) -> None:
    seen: list[object] = []
    most = 0

    async def slow(fact: Fact) -> None:
        nonlocal most
        if isinstance(fact, OutputEmitted):
            most = max(most, produced - len(seen))
            seen.append(fact.value)
            await asyncio.sleep(0)

    produced = 0

    async def stream() -> AsyncIterator[int]:
        nonlocal produced
        for number in range(500):
            produced += 1
            yield number

    def generate() -> Iterator[int]:
        nonlocal produced
        for number in range(500):
            produced += 1
            yield number

    ending = await Body(stream if place == "task" else generate).run(slow)

    assert (seen, ending.items) == (list(range(500)), 500)
    assert most < 100


# ── the waiter goes ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cancelled_waiter_gets_its_own_error_back_after_the_body_has_really_ended(watcher: Watcher) -> None:
    gate = asyncio.Event()
    caught: list[BaseException] = []

    async def slow_to_stop() -> None:
        try:
            await forever()
        finally:
            await gate.wait()

    body = Body(slow_to_stop)

    async def caller() -> None:
        try:
            await body.run(watcher)
        except asyncio.CancelledError as error:
            caught.append(error)
            raise

    waiting = asyncio.create_task(caller())
    await begun(body)
    waiting.cancel("shutting down")
    released = await watcher.until(WaiterReleased)
    waiting.cancel("and again")
    await asyncio.sleep(0)
    assert (waiting.done(), watcher.all(Ended)) == (False, [])
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert isinstance(released, WaiterReleased)
    assert released.body is BodyLeft.STOPPING
    assert [error.args for error in caught] == [("shutting down",)]
    assert waiting.cancelling() == 2
    assert watcher.names == ["Started", "WaiterReleased", "Ended"]
    (ended,) = watcher.all(Ended)
    assert isinstance(ended, Ended)
    assert ended.ending.kind is EndingKind.UNWOUND


async def test_a_timeout_around_a_body_works_as_it_does_around_any_await(watcher: Watcher) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Body(forever).run(watcher)

    assert watcher.names == ["Started", "WaiterReleased", "Ended"]


async def test_a_body_that_is_left_goes_on_and_its_end_is_reported_when_it_comes(watcher: Watcher) -> None:
    gate = asyncio.Event()

    async def tool() -> str:
        await gate.wait()
        return "finished alone"

    body = Body(tool, on_waiter_gone=WaiterGone.LEAVE)
    waiting = asyncio.create_task(body.run(watcher))
    await begun(body)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await drain(seconds=0) > 0
    gate.set()
    assert await drain() == 0

    released, ended = watcher.facts[1:]
    assert isinstance(released, WaiterReleased)
    assert released.body is BodyLeft.RUNNING
    assert isinstance(ended, Ended)
    assert (ended.ending.value, ended.ending.stop_requested) == ("finished alone", False)


async def test_a_thread_holds_no_waiter_and_what_it_did_is_reported_later(watcher: Watcher) -> None:
    gate = threading.Event()

    def pay() -> str:
        gate.wait(5)
        effect_observed("charged the card")
        return "paid"

    body = Body(pay)
    waiting = asyncio.create_task(body.run(watcher))
    await begun(body)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert watcher.all(Ended) == []
    gate.set()
    assert await drain() == 0

    assert watcher.names == ["Started", "WaiterReleased", "EffectObserved", "Ended"]
    released, _, ended = watcher.facts[1:]
    assert isinstance(released, WaiterReleased)
    assert released.body is BodyLeft.CANNOT_STOP
    assert isinstance(ended, Ended)
    assert (ended.ending.kind, ended.ending.stop_requested) == (EndingKind.RETURNED, True)


async def test_a_waiter_cancelled_before_the_start_starts_nothing(watcher: Watcher) -> None:
    ran = []
    waiting = asyncio.create_task(Body(ran.append, (1,)).run(watcher))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert ran == []
    (ended,) = watcher.all(Ended)
    assert isinstance(ended, Ended)
    assert ended.ending.kind is EndingKind.NEVER_STARTED


async def test_a_waiter_cancelled_while_the_end_is_being_recorded_is_held_until_it_is() -> None:
    recording, gate = asyncio.Event(), asyncio.Event()
    kept = []

    async def observer(fact: Fact) -> None:
        if isinstance(fact, Ended):
            recording.set()
            await gate.wait()
        kept.append(type(fact))

    async def quick() -> int:
        return 1

    waiting = asyncio.create_task(Body(quick).run(observer))
    await recording.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert kept == [Started, Ended]


async def test_a_late_effect_from_a_thread_that_outlives_its_body_still_arrives(watcher: Watcher) -> None:
    gate = threading.Event()
    threads = []

    async def tool() -> str:
        loop = asyncio.get_running_loop()

        def later() -> None:
            gate.wait(5)
            effect_observed("mail sent")

        threads.append(loop.create_task(asyncio.to_thread(later)))
        return "handed over"

    await Body(tool).run(watcher)
    assert watcher.names == ["Started", "Ended"]
    gate.set()
    await threads[0]
    await watcher.until(EffectObserved)

    assert watcher.names == ["Started", "Ended", "EffectObserved"]


# ── observers that fail ─────────────────────────────────────────────────────────────────────────────────────────────


class RefusesOne:
    """An observer that takes everything but one kind of fact."""

    def __init__(self, kind: type[Fact], error: BaseException) -> None:
        self.kind, self.error, self.kept = kind, error, []

    def __call__(self, fact: Fact) -> None:
        if isinstance(fact, self.kind):
            raise self.error
        self.kept.append(type(fact))


async def test_an_observer_that_fails_at_the_end_does_not_lose_the_result() -> None:
    observer = RefusesOne(Ended, OSError("disk full"))
    body = Body(lambda: 42)

    ending = await body.run(observer)

    assert ending.value == 42
    assert [(type(missed.fact), missed.error) for missed in body.unrecorded] == [(Ended, observer.error)]


async def test_an_observer_that_fails_once_is_told_everything_else() -> None:
    observer = RefusesOne(OutputEmitted, OSError("disk full"))
    body = Body(generator_of_two)

    ending = await body.run(observer)

    assert ending.value == ("a", "b")
    assert observer.kept == [Started, Ended]
    assert len(body.unrecorded) == 2


async def test_nothing_runs_whose_start_could_not_be_recorded() -> None:
    ran: list[int] = []
    observer = RefusesOne(Started, OSError("disk full"))

    ending = await Body(ran.append, (1,)).run(observer)

    assert (ran, ending.kind, ending.category) == ([], EndingKind.NEVER_STARTED, "not-started")
    assert ending.exception is observer.error
    assert observer.kept == [Ended]


async def test_a_mere_watcher_is_not_in_the_way_of_a_start() -> None:
    observer = RefusesOne(Started, OSError("disk full"))

    ending = await Body(lambda: 1, unrecorded_start=UnrecordedStart.RUN).run(observer)

    assert (ending.kind, ending.value) == (EndingKind.RETURNED, 1)


async def test_an_observer_that_is_cancelled_counts_as_one_that_failed() -> None:
    observer = RefusesOne(OutputEmitted, asyncio.CancelledError())

    ending = await Body(generator_of_two).run(observer)

    assert (ending.kind, observer.kept) == (EndingKind.RETURNED, [Started, Ended])


# ── the loop shuts down ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["task", "thread"])
def test_a_loop_that_shuts_down_waits_for_the_truth(place: str) -> None:
    kept: list[Fact] = []
    gate = threading.Event()

    async def tool() -> None:
        await forever()

    def threaded() -> str:
        gate.wait(5)
        return "paid"

    async def main() -> None:
        watch = Watcher(kept)
        fn = tool if place == "task" else threaded
        body = Body(fn, on_waiter_gone=WaiterGone.LEAVE)
        leftover = asyncio.create_task(body.run(watch))
        await begun(body)
        asyncio.get_running_loop().call_later(0.01, gate.set)
        assert not leftover.done()

    asyncio.run(main())

    ended = kept[-1]
    assert isinstance(ended, Ended)
    expected = EndingKind.SELF_CANCELLED if place == "task" else EndingKind.RETURNED
    assert ended.ending.kind is expected
