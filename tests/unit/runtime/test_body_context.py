"""What a running tool says about itself: in order, from any thread, and as nothing at all outside a body."""

import asyncio
import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from toolwitness.runtime.body import (
    Body,
    EndingKind,
    NotRecorded,
    crossed_commitment,
    current_body,
    effect_observed,
    emit,
    progress,
    stop_requested,
)
from toolwitness.runtime.context import plain_json
from toolwitness.runtime.courier import Courier, Delivery
from toolwitness.runtime.facts import (
    CommitmentCrossed,
    EffectObserved,
    Ended,
    Fact,
    Heartbeat,
    OutputEmitted,
    ProgressReported,
    Started,
)

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def told(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if not isinstance(fact, Started | Ended)]


def say_everything() -> None:
    body = current_body()
    assert body is not None
    progress("searching", percent=33.9)
    emit({"found": 1})
    progress("half")
    crossed_commitment("the provider accepted")
    effect_observed("charged", reference="ch_1", amount=Decimal("412.50"), currency="EUR")
    body.heartbeat()


@pytest.mark.parametrize("place", ["task", "thread"])
async def test_reports_arrive_in_the_order_in_which_they_were_made(place: str) -> None:
    facts: list[Fact] = []

    async def tool() -> None:
        say_everything()

    await Body(tool if place == "task" else say_everything, lease="lease_1", now=lambda: NOON).run(facts.append)

    assert told(facts) == [
        ProgressReported(at=NOON, order=1, text="searching", percent=33),
        OutputEmitted(at=NOON, order=2, value={"found": 1}),
        ProgressReported(at=NOON, order=3, text="half"),
        CommitmentCrossed(at=NOON, description="the provider accepted"),
        EffectObserved(at=NOON, description="charged", reference="ch_1", fields={"amount": "412.50", "currency": "EUR"}),
        Heartbeat(at=NOON, lease="lease_1"),
    ]


async def test_reports_of_several_threads_of_one_body_are_numbered_without_a_hole() -> None:
    facts: list[Fact] = []
    start = threading.Barrier(4)

    def work(who: int) -> None:
        start.wait(5)
        for _ in range(50):
            emit(who)

    async def tool() -> None:
        await asyncio.gather(*(asyncio.to_thread(work, who) for who in range(4)))

    await Body(tool).run(facts.append)

    orders = [fact.order for fact in told(facts) if isinstance(fact, OutputEmitted)]
    assert orders == list(range(1, 201))


def test_outside_a_body_a_tool_is_a_plain_function() -> None:
    assert current_body() is None
    assert stop_requested() is False
    for delivery in (emit(1), progress("x", percent=3), crossed_commitment("y"), effect_observed("z", amount="1")):
        assert delivery.settled
        delivery.wait()


async def test_outside_a_body_a_delivery_can_be_awaited_too() -> None:
    await crossed_commitment("y")


@pytest.mark.parametrize("percent", [-1, 100.1, float("nan"), float("inf")])
async def test_a_percentage_out_of_range_is_the_tools_mistake_and_is_named(percent: float) -> None:
    async def tool() -> None:
        progress("x", percent=percent)

    ending = await Body(tool).run(lambda _fact: None)

    assert ending.kind is EndingKind.RAISED
    assert "give a number from 0 to 100" in str(ending.exception)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (7, 7),
        ("x", "x"),
        (412.5, "412.5"),
        (Decimal("412.50"), "412.50"),
        (NOON, "2026-05-04T12:00:00+00:00"),
        (date(2026, 5, 4), "2026-05-04"),
        ({1: [1.5, (2,)]}, {"1": ["1.5", [2]]}),
        (b"ab", "b'ab'"),
        ({3}, "{3}"),
    ],
)
def test_fields_of_an_effect_are_json_without_floats(value: object, expected: object) -> None:
    assert plain_json(value) == expected


# ── waiting until it is on record ───────────────────────────────────────────────────────────────────────────────────


async def test_a_tool_can_wait_until_its_commitment_is_on_record() -> None:
    recorded: list[str] = []
    order: list[str] = []

    async def observer(fact: Fact) -> None:
        await asyncio.sleep(0)
        recorded.append(type(fact).__name__)

    async def tool() -> None:
        await crossed_commitment("the provider accepted")
        order.extend(recorded)

    await Body(tool).run(observer)

    assert order == ["Started", "CommitmentCrossed"]


async def test_a_threaded_tool_can_wait_until_its_commitment_is_on_record() -> None:
    recorded: list[str] = []
    order: list[str] = []

    def tool() -> None:
        crossed_commitment("the provider accepted").wait()
        order.extend(recorded)

    await Body(tool).run(lambda fact: recorded.append(type(fact).__name__))

    assert order == ["Started", "CommitmentCrossed"]


def refuses_commitments(fact: Fact) -> None:
    if isinstance(fact, CommitmentCrossed):
        raise OSError("disk full")


@pytest.mark.parametrize("place", ["task", "thread"])
async def test_a_tool_that_waits_is_told_that_nothing_was_recorded(place: str) -> None:
    async def tool() -> None:
        await crossed_commitment("x")

    def threaded() -> None:
        crossed_commitment("x").wait()

    ending = await Body(tool if place == "task" else threaded).run(refuses_commitments)

    assert ending.kind is EndingKind.RAISED
    assert isinstance(ending.exception, NotRecorded)
    assert isinstance(ending.exception.__cause__, OSError)


async def test_waiting_in_the_wrong_way_is_named_instead_of_hanging() -> None:
    async def tool() -> None:
        crossed_commitment("x").wait()

    ending = await Body(tool).run(lambda _fact: None)

    assert isinstance(ending.exception, RuntimeError)
    assert "await the delivery" in str(ending.exception)


async def test_a_wait_that_is_cancelled_leaves_the_record_to_be_made() -> None:
    gate = asyncio.Event()
    kept: list[str] = []

    async def observer(fact: Fact) -> None:
        if isinstance(fact, CommitmentCrossed):
            await gate.wait()
        kept.append(type(fact).__name__)

    waits = asyncio.Event()

    async def tool() -> None:
        delivery = crossed_commitment("x")
        waits.set()
        await delivery

    body = Body(tool)
    running = asyncio.create_task(body.run(observer))
    await waits.wait()
    body.request_stop("cancel")
    await asyncio.sleep(0)
    gate.set()
    ending = await running

    assert ending.kind is EndingKind.UNWOUND
    assert kept == ["Started", "CommitmentCrossed", "Ended"]


# ── loops that go, observers that break ─────────────────────────────────────────────────────────────────────────────


def test_a_thread_that_outlives_its_loop_ends_quietly_and_the_log_says_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    begun, gate = threading.Event(), threading.Event()
    lost: list[BaseException] = []

    def tool() -> None:
        begun.set()
        gate.wait(5)
        try:
            emit(1).wait()
        except NotRecorded as error:
            lost.append(error)

    loop = asyncio.new_event_loop()
    running = loop.create_task(Body(tool, lease="lease_orphan").run(lambda _fact: None))
    while not begun.is_set():
        loop.run_until_complete(asyncio.sleep(0))
    leftover = [task for task in asyncio.all_tasks(loop) if task is not running]
    for task in (running, *leftover):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # left pending on purpose
    loop.close()
    gate.set()
    (thread,) = (t for t in threading.enumerate() if t.name == "toolwitness-lease_orphan")
    thread.join(5)

    assert len(lost) == 1
    assert "its end is not recorded" in caplog.text
    for task in (running, *leftover):
        task.get_coro().close()  # type: ignore[union-attr]  # nothing runs it any more


async def test_a_stream_in_a_thread_does_not_wait_for_a_loop_that_is_gone() -> None:
    gone = asyncio.new_event_loop()
    courier = Courier(lambda _fact: None, gone)
    gone.close()

    await asyncio.to_thread(courier.wait_in_thread, Delivery())


def test_an_interrupt_in_the_observer_goes_on_and_the_rest_is_delivered_all_the_same() -> None:
    kept: list[Fact] = []

    def observer(fact: Fact) -> None:
        if isinstance(fact, ProgressReported):
            raise SystemExit(3)
        kept.append(fact)

    loop = asyncio.new_event_loop()

    async def post() -> None:
        courier = Courier(observer, asyncio.get_running_loop())
        courier.post(ProgressReported(at=NOON, order=1, text="x"))
        courier.post(Heartbeat(at=NOON, lease="l"))
        await asyncio.Event().wait()

    posting = loop.create_task(post())
    with pytest.raises(SystemExit):
        loop.run_until_complete(posting)
    loop.run_until_complete(asyncio.sleep(0))
    posting.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(posting)
    loop.close()

    assert kept == [Heartbeat(at=NOON, lease="l")]
