"""The local runtime as its callers and its tools see it: what runs, with what, for whom, and how it all ends."""

import asyncio
import gc
import threading
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, Kind, a_desk, kinds, until, until_state
from toolwitness.core.findings import Code
from toolwitness.core.states import Reconciliation
from toolwitness.runtime.dispatching import running_inside
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

READS = {"consequences": [tw.READ_ONLY]}
ASKS = {"consequences": [tw.EXTERNALLY_VISIBLE], "approvers": ["role:finance"]}


@pytest.fixture(autouse=True)
async def _nothing_is_left_behind():
    """Every test ends without a task or a thread of ours that was not there before: a program without a loop keeps its desk's own."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    ours = [task for task in asyncio.all_tasks() if task.get_name().startswith("toolwitness")]
    assert ours == []
    new = [t.name for t in threading.enumerate() if t not in before]
    assert [name for name in new if name.startswith("toolwitness") and not name.startswith("toolwitness-ledger")] == []


# ── what the body gets ──────────────────────────────────────────────────────────────────────────────────────────────


class Trip(BaseModel):
    """Something of the caller's that can be changed."""

    stops: list[str]


async def test_what_the_caller_changes_after_the_call_reaches_neither_the_record_nor_the_body():
    """Approved was one payment; what runs is that payment, whatever became of the caller's object meanwhile."""
    async with a_desk() as desk:
        got: list[Any] = []

        @desk.tool(**ASKS)
        async def book(trip: Trip, options: dict[str, Any]) -> None:
            got.extend([trip.stops, options])

        async with desk.task("Book") as task:
            trip, options = Trip(stops=["Oslo"]), {"total": Decimal("5.00"), "seats": ["1A"]}
            call = task.call(book, trip=trip, options=options)
            trip.stops.append("Bergen")
            options["total"] = Decimal("500.00")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            options["seats"].append("1B")
            await desk.approve(one, by=ANN)
            await call
            assert got == [["Oslo"], {"total": Decimal("5.00"), "seats": ["1A"]}]
            raw = await desk.ledger.value((await desk.record(one)).inputs["ref"])
            assert b"Bergen" not in raw
            assert b"500" not in raw


async def test_a_tool_that_changes_its_argument_changes_neither_the_record_nor_the_callers_object():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def collect(into: list[str]) -> list[str]:
            into.append("mine")
            return into

        async with desk.task("Collect") as task:
            mine: list[str] = ["yours"]
            outcome = await task.call(collect, into=mine)
            assert (outcome.value, mine) == (["yours", "mine"], ["yours"])
            assert await desk.ledger.value(outcome.record.inputs["ref"]) == b'{"into":["yours"]}'


async def test_what_cannot_be_written_is_passed_on_as_the_very_object():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def wait_for(event: asyncio.Event, beside: list[Any]) -> bool:
            return event.is_set() and beside[0] is event

        async with desk.task("Wait") as task:
            event = asyncio.Event()
            event.set()
            assert (await task.call(wait_for, event=event, beside=[event])).value is True


class Stubborn(dict[str, str]):
    """Refuses to be copied."""

    def __deepcopy__(self, memo: object) -> "Stubborn":
        raise TypeError("no copies")


async def test_what_refuses_to_be_copied_is_passed_on_all_the_same():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def take(what) -> str:
            return what["a"]

        async with desk.task("Take") as task:
            assert (await task.call(take, what=Stubborn(a="b"))).value == "b"


# ── bodies that begin others ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_call_made_inside_a_body_points_to_its_parent_and_needs_no_slot_of_its_own():
    async with a_desk(concurrency=1) as desk:

        @desk.tool(**READS)
        async def inner(n: int) -> int:
            return n + 1

        async with desk.task("Nest") as task:

            @desk.tool(**READS)
            async def outer() -> int:
                here = running_inside()
                assert here is not None
                async with desk.task("A task of its own") as other:
                    beside = await other.call(inner, n=1)
                within = await task.call(inner, n=beside.value)
                return within.value

            async with asyncio.timeout(10):
                outcome = await task.call(outer)
            assert outcome.value == 3
            view = await desk.ledger.task(task.id)
            child = next(r for r in view.records.values() if r.tool == "inner")
            assert child.proposal["parent"] == outcome.invocation_id
            others = [t for t in await desk.ledger.tasks() if t != task.id]
            assert [(await desk.ledger.task(t)).task.parent_task for t in others] == [task.id]
        assert running_inside() is None


async def test_a_body_that_is_cancelled_takes_the_call_that_it_waits_for_with_it_and_no_other():
    async with a_desk() as desk:
        inside, go = asyncio.Event(), asyncio.Event()

        @desk.tool(**READS)
        async def inner() -> str:
            inside.set()
            await go.wait()
            return "inner"

        @desk.tool(**READS)
        async def beside() -> str:
            await go.wait()
            return "beside"

        async with desk.task("Nest") as task:

            @desk.tool(**READS)
            async def outer() -> None:
                await task.call(inner)

            sibling, call = task.call(beside), task.call(outer)
            one = await call.invocation_id()
            await inside.wait()
            await desk.request_cancellation(one, by=ANN, reason="stop")
            assert (await call).which == "execution-terminated"
            view = await desk.ledger.task(task.id)
            child = next(r for r in view.records.values() if r.tool == "inner")
            assert (child.state, child.closure.initiator) == (tw.State.CANCELLED, "caller")
            go.set()
            assert (await sibling).value == "beside"


async def test_a_task_that_a_body_leaves_behind_speaks_late_and_moves_nothing():
    async with a_desk() as desk:
        go, over = asyncio.Event(), asyncio.Event()
        kept: list[asyncio.Task[None]] = []

        async def later() -> None:
            await go.wait()
            await tw.effect_observed("mail sent", reference="m-1")
            over.set()

        @desk.tool(**READS)
        async def leaves() -> str:
            kept.append(asyncio.create_task(later()))
            return "left"

        async with desk.task("Leave") as task:
            outcome = await task.call(leaves)
            go.set()
            await over.wait()
            record = await desk.record(outcome.invocation_id)
            assert (record.state, Code.LATE_EFFECT in record.findings) == (tw.State.SUCCEEDED, True)
            assert record.reconciliation is Reconciliation.REQUIRED


# ── callers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_caller_cancelled_before_the_dispatch_withdraws_the_call_and_a_late_approval_runs_nothing():
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(**ASKS)
        async def book() -> None:
            ran.append("yes")

        async with desk.task("Book") as task:
            call = task.call(book)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await call
            record = await desk.record(one)
            assert (record.state, record.closure.kind, record.closure.initiator) == (tw.State.CANCELLED, "withdrawn", "application")
            assert Kind.WAITER_RELEASED in await kinds(desk, one)
            with pytest.raises(tw.NotPermitted):
                await desk.approve(one, by=ANN)
            assert ran == []


async def test_a_caller_cancelled_while_the_call_is_being_proposed_leaves_no_call_that_runs():
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(**READS)
        async def work() -> None:
            ran.append("yes")

        async with desk.task("Work") as task:
            call = task.call(work)
            waiting = asyncio.ensure_future(_await(call))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            record = await desk.record(await call.invocation_id())
            assert record.state is tw.State.CANCELLED
            assert ran == []


async def test_two_who_wait_are_two_and_one_that_is_cancelled_takes_nothing_from_the_other():
    async with a_desk() as desk:
        inside, go = asyncio.Event(), asyncio.Event()

        @desk.tool(**READS)
        async def work() -> str:
            inside.set()
            await go.wait()
            return "done"

        async with desk.task("Work") as task:
            call = task.call(work)
            first, second = asyncio.ensure_future(_await(call)), asyncio.ensure_future(_await(call))
            await inside.wait()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            go.set()
            assert (await second).value == "done"
            assert (await call).value == "done"


async def test_a_caller_of_a_thread_is_let_go_at_once_and_the_thread_is_seen_to_its_end():
    async with a_desk() as desk:
        inside, go = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        @desk.tool(**READS)
        def work() -> str:
            loop.call_soon_threadsafe(inside.set)
            go.wait(10)
            return "done"

        async with desk.task("Work") as task:
            call = task.call(work)
            one = await call.invocation_id()
            waiting = asyncio.ensure_future(_await(call))
            await inside.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            record = await desk.record(one)
            assert (record.state, Code.WAITER_GONE in record.findings) == (tw.State.RUNNING, True)
            go.set()
            await until_state(desk, one, tw.State.SUCCEEDED)
            assert (await call).value == "done"


async def test_a_second_cancellation_does_not_cut_the_clean_up_of_the_first_short():
    async with a_desk() as desk:
        inside, cleaning, may_end, cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event(), []

        @desk.tool(**READS)
        async def work() -> None:
            inside.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                await may_end.wait()
                cleaned.append("yes")

        async with desk.task("Work") as task:
            waiting = asyncio.ensure_future(_await(task.call(work)))
            await inside.wait()
            waiting.cancel("first")
            await cleaning.wait()
            waiting.cancel("second")
            await asyncio.sleep(0)
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert cleaned == ["yes"]


async def test_what_goes_wrong_while_letting_go_does_not_replace_the_callers_own_error(monkeypatch: pytest.MonkeyPatch, caplog):
    async with a_desk() as desk:
        inside = asyncio.Event()

        async def broken(*_: object, **__: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr("toolwitness.runtime.local.release_waiter", broken)

        @desk.tool(**READS)
        async def work() -> None:
            inside.set()
            await asyncio.Event().wait()

        async with desk.task("Work") as task:
            waiting = asyncio.ensure_future(_await(task.call(work)))
            await inside.wait()
            waiting.cancel("mine")
            with pytest.raises(asyncio.CancelledError, match="mine"):
                await waiting
        assert "nobody waits" in caplog.text


async def test_a_call_that_another_desk_ran_gives_its_recorded_result():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def add(a: int) -> dict[str, int]:
            return {"sum": a + 1}

        async with desk.task("Add") as task:
            inputs = {"tool": "add", "inputs": b'{"a":1}', "source_request": "m", "proposer": "p"}
            one = await propose(desk.place, task.id, Proposal(**inputs))
            await submit(desk.place, one)
            await until_state(desk, one, tw.State.SUCCEEDED)
            assert (await desk.runtime.outcome(one)).value == {"sum": 2}


async def _await(call: tw.Call) -> tw.CallOutcome:
    return await call


# ── stopping ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_queued_call_that_is_cancelled_says_so_at_once_and_not_when_a_slot_is_free():
    async with a_desk(concurrency=1) as desk:
        go = asyncio.Event()

        @desk.tool(**READS)
        async def work(n: int) -> int:
            await go.wait()
            return n

        async with desk.task("Work") as task:
            first, second, third = (task.call(work, n=n) for n in range(3))
            await until_state(desk, await first.invocation_id(), tw.State.RUNNING)
            await until_state(desk, await second.invocation_id(), tw.State.QUEUED)
            await desk.request_cancellation(await second.invocation_id(), by=ANN)
            outcome = await second
            closure = outcome.record.closure
            assert (outcome.which, closure.termination, outcome.record.starts) == ("execution-terminated", "confirmed", [])
            assert (await desk.record(await first.invocation_id())).state is tw.State.RUNNING
            go.set()
            assert [(await first).value, (await third).value] == [0, 2]


async def test_closing_answers_everybody_who_waits_each_with_what_its_record_says():
    inside, go, ran = asyncio.Event(), threading.Event(), []
    async with a_desk(concurrency=2) as desk:
        loop = asyncio.get_running_loop()

        @desk.tool(**READS)
        async def forever() -> None:
            inside.set()
            await asyncio.Event().wait()

        @desk.tool(**READS)
        def thread() -> str:
            loop.call_soon_threadsafe(loop.call_later, 0.05, go.set)
            go.wait(10)
            return "thread"

        @desk.tool(**READS)
        async def queued() -> None:
            ran.append("queued")

        @desk.tool(**ASKS)
        async def asks() -> None:
            ran.append("asks")

        async with desk.task("Close") as task:
            calls = [task.call(forever), task.call(thread)]
            await inside.wait()
            await until_state(desk, await calls[1].invocation_id(), tw.State.RUNNING)
            calls += [task.call(queued), task.call(asks)]
            await until_state(desk, await calls[2].invocation_id(), tw.State.QUEUED)
            await until_state(desk, await calls[3].invocation_id(), tw.State.AWAITING_APPROVAL)
    outcomes = [await call for call in calls]
    assert [(o.kind, o.which) for o in outcomes] == [
        ("cancelled", "execution-terminated"), ("ok", "succeeded"), ("cancelled", "execution-terminated"), ("error", "outcome_unknown"),
    ]  # fmt: skip  # one outcome after the other
    assert outcomes[0].record.closure.initiator == "process"
    assert outcomes[0].why == "the process is closing"
    assert outcomes[3].why == "the desk closed while the call was awaiting_approval"
    assert ran == []


async def test_a_call_that_is_just_being_dispatched_when_the_desk_closes_never_starts():
    ran: list[str] = []
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def work() -> None:
            ran.append("yes")
            await asyncio.Event().wait()

        async with desk.task("Work") as task:
            call = task.call(work)
            one = await call.invocation_id()

            async def taken() -> bool:
                return one in desk.runtime._calls

            await until(taken)
    outcome = await call
    assert (outcome.kind, ran) in (("error", []), ("cancelled", []))


async def test_who_waits_only_after_the_close_is_answered_or_told_and_never_left_waiting():
    async with a_desk() as desk:

        @desk.tool(**ASKS)
        async def asks() -> None:
            pass

        async with desk.task("Late") as task:
            call = task.call(asks)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            runtime = desk.runtime
            await runtime.close()
            outcome = await runtime.outcome(one)
            assert outcome.why == "the desk closed while the call was awaiting_approval"
            assert (await call).which == "outcome_unknown"
    with pytest.raises(tw.ToolwitnessError):
        await task.call(asks)


async def test_closing_twice_and_starting_twice_at_once_change_nothing():
    async with a_desk() as desk:
        await asyncio.gather(*(desk.start() for _ in range(5)))
        followers = [task for task in asyncio.all_tasks() if task.get_name() == "toolwitness-follow"]
        assert len(followers) == 1
        await asyncio.gather(desk.close(), desk.close())


# ── what a tool can raise ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("where", ["task", "thread"])
async def test_a_tool_that_wants_to_end_the_process_has_failed_and_ends_only_itself(where: str):
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def leaves() -> None:
            raise SystemExit(3)

        @desk.tool(name="leaves_in_a_thread", **READS)
        def leaves_in_a_thread() -> None:
            raise SystemExit(3)

        async with desk.task("Leave") as task:
            outcome = await task.call(leaves if where == "task" else leaves_in_a_thread)
            assert (outcome.kind, outcome.which) == ("error", "aborted")


def test_an_interrupt_in_a_body_is_on_record_and_goes_on_to_whoever_runs_the_loop(tmp_path):
    url = str(tmp_path / "calls.db")
    seen: list[str] = []

    async def interrupted() -> None:
        async with tw.open(url) as desk:

            @desk.tool(**READS)
            async def work() -> None:
                raise KeyboardInterrupt

            async with desk.task("Work") as task:
                call = task.call(work)
                seen.append(await call.invocation_id())
                await call

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(interrupted())

    async def look() -> tw.State | None:
        async with tw.open(url) as desk:
            return (await desk.record(seen[0])).state

    assert asyncio.run(look()) is tw.State.FAILED


class Unspeakable(Exception):
    """Its own text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "which"),
    [
        (Unspeakable(), "tool-error"),
        (tw.ToolFailure("", ""), "tool-error"),
        (tw.ToolFailure("broken \ud800", "half \udfff a character"), "broken \\ud800"),
        (tw.ToolFailure(404, None), "404"),  # type: ignore[arg-type]  # what a tool gives need not keep a type
        (tw.ToolFailure("x" * 5000, "y" * 5000, retryable="no"), "x" * 300),
    ],
)
async def test_whatever_a_tool_says_of_its_failure_the_call_has_failed_and_nobody_waits(error: Exception, which: str):
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def fails() -> None:
            raise error

        async with desk.task("Fail") as task:
            async with asyncio.timeout(10):
                outcome = await task.call(fails)
            assert (outcome.kind, outcome.which, bool(outcome.why)) == ("error", which, True)


async def test_whatever_a_tool_reports_the_end_is_recorded_and_nothing_is_held_for_want_of_it():
    """One report that no ledger can take must not make every later one wait for its number."""
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def talks() -> str:
            odd = {"effect": "mine", "at": "then", "nested": {"a": [1.5]}, "nothing": None}
            await tw.effect_observed("charge", reference="r \ud800", amount=2**70, **odd)
            await tw.progress("half \ud800 a character" * 50)
            await tw.part_completed("one \udfff", open=["two \udfff"])
            await tw.crossed_commitment("boundary \ud800")
            await tw.emit({"raw": "\ud800", "big": 2**70, "nan": float("nan")})
            return "done"

        async with desk.task("Talk") as task:
            async with asyncio.timeout(10):
                outcome = await task.call(talks)
            record = outcome.record
            assert (outcome.kind, record.held) == ("ok", {})
            effect = record.effects[0].data
            assert (effect["effect"], effect["reference"], effect["amount"]) == ("charge", "r \\ud800", str(2**70))
            assert await desk.verify() == []


async def test_a_report_that_is_no_text_fails_alone():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def talks() -> str:
            await tw.progress(42)  # type: ignore[arg-type]  # the very point
            return "done"

        async with desk.task("Talk") as task:
            outcome = await task.call(talks)
            assert (outcome.kind, outcome.record.progress["text"]) == ("ok", "42")
