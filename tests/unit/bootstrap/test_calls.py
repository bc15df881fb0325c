"""Whatever a tool does, its record is the right one, and no call raises for how it ended."""

import asyncio
import threading
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, BOB, EVE, a_desk, events, kinds, until_state
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import Reconciliation
from toolwitness.core.verdicts import Verdict

READS = {"consequences": [tw.READ_ONLY]}


async def test_a_call_that_succeeds_leaves_every_step_on_record():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def add(a: int, b: int) -> int:
            return a + b

        async with desk.task("Add") as task:
            outcome = await task.call(add, a=1, b=2, purpose="Add two numbers", source_request="message-1", proposer="planner")
            actual = await kinds(desk, outcome.invocation_id)
            expected = [Kind.PROPOSED, Kind.PERMITTED, Kind.CLAIMED, Kind.ACCEPTED, Kind.STARTED, Kind.SUCCEEDED]
            assert actual == expected
            assert (outcome.kind, outcome.commit, outcome.value) == ("ok", True, 3)
            proposal = outcome.record.proposal
            assert (proposal["purpose"], proposal["source_request"], proposal["proposer"]) == ("Add two numbers", "message-1", "planner")
            assert {row["field"]: row["source"] for row in proposal["provenance"]} == {"a": "unrecorded", "b": "unrecorded"}


async def test_declared_provenance_is_recorded_with_the_place_in_the_result():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def find() -> dict[str, list[dict[str, str]]]:
            return {"options": [{"id": "it-7"}]}

        @desk.tool(**READS)
        async def take(option: str, day: str) -> str:
            return f"{option} {day}"

        async with desk.task("Take") as task:
            found = await task.call(find)
            taken = await task.call(take, option=tw.from_result(found, "/options/0/id"), day=tw.from_user("Thursday", "message-3"))
            expected = [
                {"field": "option", "source": "result", "source_ref": found.invocation_id, "pointer": "/options/0/id"},
                {"field": "day", "source": "user", "source_ref": "message-3"},
            ]
            assert taken.record.proposal["provenance"] == expected
            assert taken.value == "it-7 Thursday"


async def test_a_tool_that_raises_fails_with_its_type_and_keeps_its_words_out_of_the_chain():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def leak() -> None:
            raise ValueError("the password is hunter2")

        async with desk.task("Leak") as task:
            outcome = await task.call(leak)
            assert (outcome.kind, outcome.which, outcome.why) == ("error", "tool-error", "The tool raised ValueError.")
            said = [str(recorded.event.data) for recorded in await events(desk, outcome.invocation_id)]
            assert not any("hunter2" in text for text in said)
            failure = outcome.record.outcome
            assert failure is not None
            kept = await desk.ledger.value(failure.data["exception"]["ref"])
            assert b"hunter2" in (kept or b"")


async def test_a_tool_can_fail_with_a_category_and_words_for_a_person():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def hotels() -> None:
            raise tw.ToolFailure("upstream-unavailable", "The hotel service did not answer.")

        async with desk.task("Hotels") as task:
            outcome = await task.call(hotels)
            assert (outcome.which, outcome.why) == ("upstream-unavailable", "The hotel service did not answer.")


async def test_cancelling_one_of_three_parallel_calls_touches_no_sibling():
    async with a_desk() as desk:
        go, inside = asyncio.Event(), asyncio.Semaphore(0)

        @desk.tool(**READS)
        async def wait(name: str) -> str:
            inside.release()
            await go.wait()
            return name

        async with desk.task("Three") as task:
            calls = [task.call(wait, name=name) for name in "abc"]
            ids = [await call.invocation_id() for call in calls]
            for _ in ids:
                await inside.acquire()
            await desk.request_cancellation(ids[1], by=ANN, reason="enough")
            cancelled = await calls[1]
            assert [(await desk.record(i)).state for i in ids] == [tw.State.RUNNING, tw.State.CANCELLED, tw.State.RUNNING]
            go.set()
            outcomes = [await calls[0], await calls[2]]
            assert [o.value for o in outcomes] == ["a", "c"]
            closure = cancelled.record.closure
            assert closure is not None
            expected = ("cancelled", "execution-terminated", "enough", "ann", "unwound")
            assert (cancelled.kind, cancelled.which, cancelled.why, closure.initiator, closure.termination) == expected


async def test_a_request_is_shown_at_once_and_is_no_acknowledgement():
    async with a_desk() as desk:
        inside, may_end, asked = asyncio.Event(), asyncio.Event(), asyncio.Event()

        @desk.tool(**READS)
        async def tidy_up() -> None:
            inside.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                asked.set()
                await may_end.wait()
                raise

        async with desk.task("Tidy") as task:
            call = task.call(tidy_up)
            one = await call.invocation_id()
            await inside.wait()
            await desk.request_cancellation(one, by=ANN)
            await asked.wait()
            record = await desk.record(one)
            assert record.state is tw.State.RUNNING
            assert record.closure is None
            may_end.set()
            assert (await call).which == "execution-terminated"


async def test_a_tool_that_ignores_cancellation_is_recorded_as_what_it_then_did():
    async with a_desk() as desk:
        inside = asyncio.Event()

        @desk.tool(**READS)
        async def stubborn() -> str:
            inside.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "went on"
            return "never"

        async with desk.task("Stubborn") as task:
            call = task.call(stubborn)
            one = await call.invocation_id()
            await inside.wait()
            await desk.request_cancellation(one, by=ANN)
            outcome = await call
            assert (outcome.kind, outcome.value) == ("ok", "went on")
            assert Code.COMPLETED_DESPITE_CANCEL in outcome.record.findings
            assert Kind.CANCEL_ACKNOWLEDGED not in await kinds(desk, one)


async def test_a_threaded_tool_cannot_be_stopped_and_its_late_effect_is_the_truth():
    async with a_desk() as desk:
        inside, go = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        @desk.tool(consequences=[tw.FINANCIAL], standing_authorization="mandate 1", commitment_boundary="at the charge")
        def pay(amount: str) -> str:
            loop.call_soon_threadsafe(inside.set)
            go.wait(10)
            tw.effect_observed("charge", reference="P-1", amount=amount)
            return "paid"

        async with desk.task("Pay") as task:
            call = task.call(pay, amount="5.00")
            one = await call.invocation_id()
            await inside.wait()
            await desk.request_cancellation(one, by=ANN)
            record = await desk.record(one)
            assert record.state is tw.State.RUNNING
            assert Code.CANNOT_BE_STOPPED in record.findings
            go.set()
            outcome = await call
            assert outcome.kind == "ok"
            assert {Code.EFFECT_AFTER_CANCEL, Code.COMPLETED_DESPITE_CANCEL} <= set(outcome.record.findings)
            assert [effect.data["reference"] for effect in outcome.record.effects] == ["P-1"]


async def test_a_thread_may_look_at_the_request_and_say_that_it_stopped():
    async with a_desk() as desk:

        @desk.tool(**READS)
        def polite() -> None:
            while not tw.stop_requested():
                threading.Event().wait(0.001)
            raise tw.StopHonoured

        async with desk.task("Polite") as task:
            call = task.call(polite)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.RUNNING)
            await desk.request_cancellation(one, by=ANN, reason="stop")
            outcome = await call
            closure = outcome.record.closure
            assert closure is not None
            assert (outcome.which, closure.termination) == ("execution-terminated", "confirmed")


async def test_a_tool_that_cancels_itself_has_failed_and_nobody_is_named():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def cancels_itself() -> None:
            raise asyncio.CancelledError

        async with desk.task("Self") as task:
            outcome = await task.call(cancels_itself)
            assert (outcome.kind, outcome.which) == ("error", "aborted")
            assert outcome.record.state is tw.State.FAILED
            assert outcome.record.closure is None


class Odd(BaseException):
    """Not an Exception."""


async def test_a_base_exception_is_a_failure_and_takes_nothing_else_down():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def odd() -> None:
            raise Odd

        @desk.tool(**READS)
        async def even() -> int:
            return 2

        async with desk.task("Odd") as task:
            first, second = await asyncio.gather(task.call(odd), task.call(even))
            assert (first.kind, first.which) == ("error", "aborted")
            assert second.value == 2


async def test_a_tool_that_returns_nothing_succeeds_with_null():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def nothing() -> None:
            return None

        async with desk.task("Nothing") as task:
            outcome = await task.call(nothing)
            result = outcome.record.outcome
            assert result is not None
            assert await desk.ledger.value(result.data["result"]["ref"]) == b"null"
            assert outcome.kind == "ok"


async def test_a_result_that_does_not_fit_its_declared_type_is_no_success_and_is_kept():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def wrong() -> int:
            return "three"  # type: ignore[return-value]  # the very point of the test

        async with desk.task("Wrong") as task:
            outcome = await task.call(wrong)
            assert (outcome.kind, outcome.which) == ("error", "invalid-result")
            rejected = [r for r in await events(desk, outcome.invocation_id) if r.event.kind == Kind.RESULT_REJECTED]
            assert await desk.ledger.value(rejected[0].event.data["result"]["ref"]) == b'"three"'
            assert Code.RESULT_REJECTED in outcome.record.findings


async def test_a_stream_is_recorded_chunk_by_chunk_in_order():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def count() -> AsyncIterator[int]:
            for number in range(3):
                yield number

        async with desk.task("Count") as task:
            outcome = await task.call(count)
            chunks = [await desk.ledger.value(chunk["output"]["ref"]) for chunk in outcome.record.output_chunks]
            assert chunks == [b"0", b"1", b"2"]
            assert [move.target for move in outcome.record.moves][-2:] == [tw.State.STREAMING, tw.State.SUCCEEDED]


async def test_parts_are_recorded_with_what_is_still_open():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def pack() -> str:
            await tw.part_completed("passport", open=["visa"])
            return "packed"

        async with desk.task("Pack") as task:
            outcome = await task.call(pack)
            assert tw.State.PARTIALLY_COMPLETE in [move.target for move in outcome.record.moves]


async def test_the_callers_own_cancellation_goes_through_untouched_after_the_body_has_really_ended():
    async with a_desk() as desk:
        inside, ended = asyncio.Event(), asyncio.Event()

        @desk.tool(**READS)
        async def wait() -> None:
            inside.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.set()

        async with desk.task("Leave") as task:
            call = task.call(wait)
            one = await call.invocation_id()

            async def caller() -> None:
                await call

            waiting = asyncio.create_task(caller())
            await inside.wait()
            waiting.cancel("mine")
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert ended.is_set()
            await until_state(desk, one, tw.State.CANCELLED)
            closure = (await desk.record(one)).closure
            assert closure is not None
            assert closure.initiator == "caller"
            assert Kind.WAITER_RELEASED in await kinds(desk, one)


async def test_beyond_the_concurrency_a_call_is_queued_and_says_so():
    async with a_desk(concurrency=1) as desk:
        go = asyncio.Event()

        @desk.tool(**READS)
        async def wait(name: str) -> str:
            await go.wait()
            return name

        async with desk.task("Queue") as task:
            first = task.call(wait, name="a")
            await until_state(desk, await first.invocation_id(), tw.State.RUNNING)
            second = task.call(wait, name="b")
            await until_state(desk, await second.invocation_id(), tw.State.QUEUED)
            queued = await desk.record(await second.invocation_id())
            assert queued.queue_ref
            assert not queued.starts
            go.set()
            assert [(await first).value, (await second).value] == ["a", "b"]


async def test_a_queued_call_that_is_cancelled_never_runs():
    async with a_desk(concurrency=1) as desk:
        go, ran = asyncio.Event(), []

        @desk.tool(**READS)
        async def wait(name: str) -> str:
            ran.append(name)
            await go.wait()
            return name

        async with desk.task("Queue") as task:
            first = task.call(wait, name="a")
            await until_state(desk, await first.invocation_id(), tw.State.RUNNING)
            second = task.call(wait, name="b")
            await until_state(desk, await second.invocation_id(), tw.State.QUEUED)
            await desk.request_cancellation(await second.invocation_id(), by=ANN)
            go.set()
            outcome = await second
            await first
            assert (outcome.which, ran) == ("execution-terminated", ["a"])
            assert outcome.record.reconciliation in {Reconciliation.NOT_EXECUTED, Reconciliation.NONE_EXPECTED}


def booking_desk(desk: tw.Desk, runs: list[str], **policy: object) -> object:
    """Declare a booking that needs finance's approval."""

    @desk.tool(
        consequences=[tw.EXTERNALLY_VISIBLE, tw.FINANCIAL], approvers=["role:finance"], scope=["total", "currency"],
        commitment_boundary="when the provider accepts", **policy,
    )  # fmt: skip  # facts in lines
    async def book(total: Decimal, currency: str) -> str:
        runs.append(str(total))
        return "booked"

    return book


async def test_one_approval_dispatches_once_and_the_second_is_told_who_won():
    async with a_desk() as desk:
        runs: list[str] = []
        book = booking_desk(desk, runs)
        async with desk.task("Book") as task:
            call = task.call(book, total=Decimal("412.50"), currency="EUR")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            await desk.approve(one, by=ANN)
            with pytest.raises(tw.NotPermitted, match="ann") as refused:
                await desk.approve(one, by=BOB)
            outcome = await call
            grants = [r for r in await events(desk, one) if r.event.kind == Kind.GRANTED]
            assert (outcome.kind, runs) == ("ok", ["412.50"])
            assert [r.verdict for r in grants] == [Verdict.NOTED, Verdict.REFUSED]
            assert refused.value.facts["rule"]


async def test_somebody_without_the_role_cannot_approve_and_the_attempt_is_on_record():
    async with a_desk() as desk:
        runs: list[str] = []
        book = booking_desk(desk, runs)
        async with desk.task("Book") as task:
            call = task.call(book, total=Decimal("1.00"), currency="EUR")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            with pytest.raises(tw.NotPermitted):
                await desk.approve(one, by=EVE)
            record = await desk.record(one)
            assert (record.state, runs) == (tw.State.AWAITING_APPROVAL, [])
            assert Code.DECISION_REFUSED in record.findings
            await desk.deny(one, by=ANN, reason="too dear")
            outcome = await call
            assert (outcome.kind, outcome.which, outcome.why, runs) == ("cancelled", "denied", "too dear", [])


@pytest.mark.parametrize(("act", "which"), [("dismiss", "dismissed"), ("withdraw", "withdrawn"), ("deny", "denied")])
async def test_the_three_closures_before_dispatch_are_three_records(act: str, which: str):
    async with a_desk() as desk:
        runs: list[str] = []
        book = booking_desk(desk, runs)
        blocker = asyncio.Event()

        @desk.tool(**READS)
        async def first() -> None:
            await blocker.wait()

        async with desk.task("Close") as task:
            before = task.call(first)
            # Only a proposal that still waits for something can be dismissed; the other two close a request.
            waits = [before] if act == "dismiss" else []
            call = task.call(book, total=Decimal("1.00"), currency="EUR", depends_on=waits)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.PROPOSED if waits else tw.State.AWAITING_APPROVAL)
            await getattr(desk, act)(one, by=ANN, reason="no")
            outcome = await call
            blocker.set()
            await before
            assert (outcome.kind, outcome.which, runs) == ("cancelled", which, [])
            assert outcome.record.reconciliation is Reconciliation.NOT_EXECUTED


async def test_edited_inputs_need_a_new_approval_and_are_what_runs():
    async with a_desk() as desk:
        runs: list[str] = []
        book = booking_desk(desk, runs)
        async with desk.task("Edit") as task:
            call = task.call(book, total=Decimal("412.50"), currency="EUR")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            old = (await desk.record(one)).approval
            assert old is not None
            await desk.edit_inputs(one, {"total": "99.00"}, by=ANN)
            with pytest.raises(tw.NotPermitted):
                await desk.approve(one, by=ANN, approval_id=old.id)
            assert runs == []
            await desk.approve(one, by=ANN)
            outcome = await call
            assert (outcome.kind, runs) == ("ok", ["99.00"])


async def test_missing_input_is_asked_for_and_supplied():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def seat(flight: str, seat: str) -> str:
            return f"{flight} {seat}"

        async with desk.task("Seat") as task:
            call = task.call(seat, flight="NW 1")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_INPUT)
            asked = (await desk.record(one)).input_request
            assert asked is not None
            assert (asked["unresolved"], asked["collector"]) == (["seat"], "person")
            await desk.supply_input(one, {"seat": 14}, by=ANN)
            assert (await desk.record(one)).state is tw.State.AWAITING_INPUT
            await desk.supply_input(one, {"seat": "14C"}, by=ANN)
            assert (await call).value == "NW 1 14C"


async def test_a_dependent_call_waits_until_the_retry_resolves_it():
    async with a_desk() as desk:
        up: list[str] = []

        @desk.tool(consequences=[tw.READ_ONLY], retry_attempts=2)
        async def hotels() -> str:
            if not up:
                raise tw.ToolFailure("upstream-unavailable", "The hotel service did not answer.")
            return "two hotels"

        @desk.tool(**READS)
        async def summary() -> str:
            return "summed up"

        async with desk.task("Trip") as task:
            first = task.call(hotels)
            second = task.call(summary, depends_on=[first])
            failed = await first
            assert (await desk.record(await second.invocation_id())).state is tw.State.PROPOSED
            up.append("yes")
            receipt = await desk.retry(failed.invocation_id, by=ANN)
            outcome = await second
            assert outcome.value == "summed up"
            again = await desk.record(receipt.record.id)
            assert (again.attempt, again.proposal["retry_of"], again.state) == (2, failed.invocation_id, tw.State.SUCCEEDED)
            untouched = await desk.record(failed.invocation_id)
            assert (untouched.state, untouched.retried_by) == (tw.State.FAILED, again.id)
            with pytest.raises(tw.NotPermitted):
                await desk.retry(failed.invocation_id, by=ANN)


async def test_a_tool_that_was_never_declared_is_refused_with_the_remedy_and_nothing_is_recorded():
    async with a_desk() as desk, desk.task("Nothing") as task:
        with pytest.raises(tw.InvalidInput, match=r"Decorate it with @desk\.tool"):
            await task.call("nobody")
        view = await desk.ledger.task(task.id)
        assert view is not None
        assert view.records == {}
