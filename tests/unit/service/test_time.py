"""Time comes from the authority (R10): deadlines at their very moment, twice, after a restart, and with a clock that goes wrong."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, EVE, Kind, a_stage, in_state, until_finding, until_state
from toolwitness.core.findings import Code
from toolwitness.service.workplace import make_draft
from toolwitness.testing.clock import FakeClock

READS = {"consequences": [tw.READ_ONLY], "approvers": [], "approval_seconds": None, "commitment_boundary": ""}


async def test_an_approval_a_moment_before_its_deadline_counts_and_at_the_deadline_does_not():
    async with a_stage() as stage:
        call, one = await stage.asked("1.00")
        _, two = await stage.asked("2.00")
        stage.clock.advance(300 - 1e-6)
        await stage.desk.approve(one, by=ANN)
        assert (await call).kind == "ok"
        stage.clock.advance(1e-6)
        for act in (stage.desk.approve, stage.desk.deny):
            with pytest.raises(tw.NotPermitted) as no:
                await act(two, by=ANN)
            assert no.value.facts["rule"] == "deadline-elapsed"
        assert stage.paid == ["1.00"]


async def test_the_sweeper_records_an_expiry_once_however_often_and_by_however_many_it_runs():
    async with a_stage() as stage:
        call, one = await stage.asked()
        stage.clock.advance(300)
        swept = await asyncio.gather(*(stage.desk.sweep() for _ in range(6)))
        assert sum(len(found) for found in swept) == 1
        outcome = await call
        assert (outcome.kind, outcome.which, outcome.why) == ("cancelled", "expired", "approval deadline")
        assert len(await stage.recorded(one, Kind.DEADLINE_ELAPSED)) == 1
        assert await stage.desk.sweep() == []


async def test_an_approval_and_its_expiry_at_once_are_one_of_the_two():
    async with a_stage() as stage:
        call, one = await stage.asked()
        stage.clock.advance(300)
        answers = await asyncio.gather(stage.desk.approve(one, by=ANN), stage.desk.sweep(), return_exceptions=True)
        assert isinstance(answers[0], tw.NotPermitted)
        assert ((await call).which, stage.paid) == ("expired", [])


async def test_a_deadline_that_passed_while_nobody_was_there_is_recorded_after_the_restart(tmp_path: Path):
    clock = FakeClock()
    url = str(tmp_path / "calls.db")

    def declare(desk: tw.Desk) -> object:
        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=60)
        async def send(to: str) -> str:
            return to

        return send

    async with tw.open(url, clock=clock, sweep_seconds=3600) as desk:
        send = declare(desk)
        async with desk.task("Send") as task:
            call = task.call(send, to="x")
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
    closed = await call
    assert (closed.kind, closed.which) == ("error", "outcome_unknown")
    assert closed.why == "the desk closed while the call was awaiting_approval"
    clock.advance(60)
    async with tw.open(url, clock=clock, sweep_seconds=3600) as desk:
        declare(desk)
        await until_state(desk, one, tw.State.EXPIRED)
        assert (await desk.record(one)).elapsed == "approval"
        with pytest.raises(tw.NotPermitted):
            await desk.approve(one, by=ANN)


@pytest.mark.parametrize("declared", ["tomorrow", "2026-01-01T12:05:00", "12345"])
async def test_a_deadline_that_cannot_be_read_blocks_approving_and_not_denying(declared: str):
    async with a_stage() as stage:
        one = await stage.proposed()
        record = await stage.desk.record(one)
        asked = {
            "approval_id": "apr_1", "consequence_summary": "pays", "authority": "finance", "authorization_owner": "finance",
            "scope": "one payment", "expires_at": declared, "eligible": ["role:finance"], "inputs_digest": record.inputs["digest"],
        }  # fmt: skip  # facts in lines
        await stage.desk.ledger.append(record.task_id, [make_draft(stage.desk.place, record, Kind.APPROVAL_REQUESTED, asked)])
        stage.clock.advance(10**6)
        assert await stage.desk.sweep() == []
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.approve(one, by=ANN)
        assert no.value.facts["rule"] == "deadline-unreadable"
        await stage.desk.deny(one, by=ANN)
        assert await in_state(stage, one) is tw.State.CANCELLED


async def test_a_clock_that_goes_backwards_undoes_no_expiry_and_gives_no_second_chance():
    async with a_stage() as stage:
        _, one = await stage.asked()
        stage.clock.advance(300)
        await stage.desk.sweep()
        stage.clock.advance(-600)
        assert await stage.desk.sweep() == []
        with pytest.raises(tw.NotPermitted):
            await stage.desk.approve(one, by=ANN)
        assert await in_state(stage, one) is tw.State.EXPIRED


async def test_what_is_not_taken_up_in_time_expires_and_can_then_not_be_claimed():
    async with a_stage(**READS, queue_seconds=30) as stage:
        one = await stage.proposed(host="another:1:process")
        await stage.desk.submit(one)
        stage.clock.advance(30)
        await stage.desk.sweep()
        record = await stage.desk.record(one)
        assert (record.state, record.elapsed) == (tw.State.EXPIRED, "queue_start")
        assert record.reconciliation == "not-executed"


async def test_the_time_to_start_and_the_claim_exclude_one_another():
    async with a_stage(**READS, queue_seconds=30) as stage:
        call = stage.task.call(stage.pay, amount="1.00")
        outcome = await call
        stage.clock.advance(3600)
        assert await stage.desk.sweep() == []
        assert outcome.kind == "ok"


async def test_a_result_that_comes_after_its_deadline_is_kept_and_moves_nothing():
    async with a_stage(**READS, result_seconds=30) as stage:
        inside, go = asyncio.Event(), asyncio.Event()

        @stage.desk.tool(consequences=[tw.READ_ONLY], result_seconds=30)
        async def slow() -> str:
            inside.set()
            await go.wait()
            return "late"

        call = stage.task.call(slow)
        one = await call.invocation_id()
        await inside.wait()
        stage.clock.advance(30)
        await stage.desk.sweep()
        outcome = await call
        assert (outcome.kind, outcome.which, outcome.why) == ("cancelled", "expired", "result deadline")
        assert Code.RESULT_DEADLINE_PASSED in outcome.record.findings
        controls = {c.action: c.enabled for c in _controls(stage, await stage.desk.record(one))}
        assert controls["request_cancellation"] is True
        go.set()
        await until_finding(stage.desk, one, Code.LATE_OUTCOME)
        record = await stage.desk.record(one)
        assert (record.state, record.reconciliation) == (tw.State.EXPIRED, "required")
        await stage.desk.reconcile(one, "as-reported", by=ANN)
        assert (await stage.desk.record(one)).state is tw.State.EXPIRED


async def test_the_time_to_answer_goes_on_while_wrong_answers_are_given():
    async with a_stage(**READS, input_seconds=60) as stage:

        @stage.desk.tool(consequences=[tw.READ_ONLY], input_seconds=60)
        async def seat(row: int) -> int:
            return row

        call = stage.task.call(seat)
        one = await call.invocation_id()
        await until_state(stage.desk, one, tw.State.AWAITING_INPUT)
        due = (await stage.desk.record(one)).deadlines["input"]
        stage.clock.advance(59)
        await stage.desk.supply_input(one, {"row": "none"}, by=EVE)
        assert (await stage.desk.record(one)).deadlines["input"] == due
        stage.clock.advance(1)
        await stage.desk.sweep()
        assert ((await call).which, (await stage.desk.record(one)).elapsed) == ("expired", "input")
        with pytest.raises(tw.NotPermitted):
            await stage.desk.supply_input(one, {"row": 3}, by=EVE)


async def test_one_call_that_cannot_be_swept_keeps_no_other_from_expiring(monkeypatch: pytest.MonkeyPatch):
    async with a_stage() as stage:
        _, one = await stage.asked("1.00")
        _, two = await stage.asked("2.00")
        stage.clock.advance(300)
        find = stage.desk.ledger.find

        async def find_but_one(invocation_id: str) -> str | None:
            if invocation_id == one:
                raise RuntimeError("this one cannot be read")
            return await find(invocation_id)

        monkeypatch.setattr(stage.desk.ledger, "find", find_but_one)
        with pytest.raises(RuntimeError, match="cannot be read"):
            await stage.desk.sweep()
        monkeypatch.undo()
        assert (await in_state(stage, one), await in_state(stage, two)) == (tw.State.AWAITING_APPROVAL, tw.State.EXPIRED)


def test_the_clock_that_tests_use_moves_both_ways():
    clock = FakeClock()
    start = clock.now()
    assert clock.advance(-5) == start - timedelta(seconds=5)


def _controls(stage, record):
    from toolwitness.policy.controls import permitted_actions  # noqa: PLC0415 - only this test looks at the buttons

    return permitted_actions(record, stage.desk.place.policy_for(record.tool), ANN, stage.clock.now())
