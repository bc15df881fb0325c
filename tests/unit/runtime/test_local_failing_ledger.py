"""The ledger fails while calls are running: nothing that happened is lost, nobody waits for ever, and nothing runs unrecorded."""

import asyncio
import logging

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, kinds, until, until_state
from tests.unit.runtime.failing import EVERYTHING, a_failing_desk
from toolwitness.core.errors import Unavailable
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.runtime.body import NotRecorded

READS = {"consequences": [tw.READ_ONLY]}


async def test_a_disk_that_fills_up_during_the_body_loses_nothing_and_the_caller_is_told():
    async with a_failing_desk() as (desk, ledger):
        ran: list[str] = []

        @desk.tool(**READS)
        async def work() -> str:
            ledger.broken.add(EVERYTHING)
            ran.append("yes")
            return "the result"

        async with desk.task("Work") as task:
            outcome = await task.call(work)
            assert (outcome.kind, outcome.which, outcome.value, ran) == ("error", "outcome_unknown", "the result", ["yes"])
            assert Kind.SUCCEEDED in outcome.why
            ledger.broken.clear()
            await until_state(desk, outcome.invocation_id, tw.State.SUCCEEDED)
            assert await ledger.verify() == []


async def test_what_could_not_be_written_is_written_later_in_its_order():
    async with a_failing_desk() as (desk, ledger):

        @desk.tool(**READS)
        async def work() -> str:
            ledger.broken.add(Kind.PROGRESS)
            for n in range(3):
                with pytest.raises(NotRecorded):
                    await tw.progress(f"step {n}", percent=10 * n)
            ledger.broken.clear()
            await tw.effect_observed("mail sent", reference="m-1")
            return "done"

        async with desk.task("Work") as task:
            outcome = await task.call(work)
            said = await kinds(desk, outcome.invocation_id)
            assert said[-5:] == [Kind.PROGRESS, Kind.PROGRESS, Kind.PROGRESS, Kind.EFFECT, Kind.SUCCEEDED]
            assert (outcome.kind, outcome.record.progress["percent"], outcome.record.held) == ("ok", 20, {})


async def test_a_ledger_that_is_away_for_a_moment_is_waited_for():
    async with a_failing_desk(patience_seconds=30) as (desk, ledger):

        @desk.tool(**READS)
        async def work() -> str:
            ledger.broken.add(EVERYTHING)
            asyncio.get_running_loop().call_later(0.1, ledger.broken.clear)
            return "done"

        async with desk.task("Work") as task:
            assert (await task.call(work)).kind == "ok"


async def test_nothing_runs_whose_acceptance_or_start_cannot_be_recorded():
    for kind in (Kind.ACCEPTED, Kind.STARTED):
        async with a_failing_desk() as (desk, ledger):
            ran: list[str] = []

            @desk.tool(**READS)
            async def work(ran: list[str] = ran) -> None:
                ran.append("yes")

            async with desk.task("Work") as task:
                ledger.broken.add(kind)
                call = task.call(work)
                one = await call.invocation_id()
                if kind == Kind.ACCEPTED:
                    assert (await call).which == "outcome_unknown"
                    ledger.broken.clear()
                await until_state(desk, one, tw.State.FAILED)
                record = await desk.record(one)
                assert (record.outcome.data["category"], record.starts, ran) == ("not-started", [], [])
                assert record.outcome.data["effects"] == "excluded"


async def test_a_call_that_cannot_be_claimed_is_answered_not_started_and_says_so_when_the_ledger_is_back(caplog):
    async with a_failing_desk() as (desk, ledger):
        ran: list[str] = []

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def work() -> None:
            ran.append("yes")

        async with desk.task("Work") as task:
            call = task.call(work)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            ledger.add_listener(lambda batch: [ledger.broken.add(EVERYTHING) for r in batch if r.event.kind == Kind.PERMITTED])
            await desk.approve(one, by=ANN)
            outcome = await call
            assert (outcome.which, ran) == ("outcome_unknown", [])
            assert "nothing was started" in outcome.why
            ledger.broken.clear()

            async def refused() -> bool:
                return Kind.REFUSED in await kinds(desk, one)

            await until(refused)
            record = await desk.record(one)
            assert (record.state, record.permission["rule"], record.claim) == (tw.State.AWAITING_APPROVAL, "ledger-unavailable", None)


async def test_a_ledger_that_stays_away_until_the_desk_closes_leaves_its_trace_in_the_log(caplog: pytest.LogCaptureFixture):
    async with a_failing_desk() as (desk, ledger):

        @desk.tool(**READS)
        async def work() -> str:
            ledger.broken.add(EVERYTHING)
            return "done"

        async with desk.task("Work") as task:
            call = task.call(work)
            outcome = await call
    assert outcome.value == "done"
    assert f"could not record {Kind.SUCCEEDED} of {outcome.invocation_id}" in caplog.text


async def test_a_ledger_that_cannot_be_read_is_told_as_such_and_leaves_nobody_waiting():
    async with a_failing_desk() as (desk, ledger):
        inside, go = asyncio.Event(), asyncio.Event()

        @desk.tool(**READS)
        async def work() -> str:
            inside.set()
            await go.wait()
            return "done"

        async with desk.task("Work") as task:
            call = task.call(work)
            await inside.wait()
            ledger.unreadable = True
            go.set()
            with pytest.raises(Unavailable):
                await call
            ledger.unreadable = False
            assert (await desk.record(await call.invocation_id())).state is tw.State.SUCCEEDED


async def test_following_begins_again_where_it_stopped_and_misses_nothing():
    async with a_failing_desk() as (desk, ledger):

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def work() -> str:
            return "done"

        async with desk.task("Work") as task:
            call = task.call(work)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_APPROVAL)
            ledger.stop_following_after = await ledger.head() + 1
            await desk.approve(one, by=ANN)
            assert (await call).kind == "ok"
            second = task.call(work)
            two = await second.invocation_id()
            await until_state(desk, two, tw.State.AWAITING_APPROVAL)
            await desk.approve(two, by=ANN)
            assert (await second).kind == "ok"
            assert len(ledger.follows) == 2
            assert [(await kinds(desk, i)).count(Kind.STARTED) for i in (one, two)] == [1, 1]


async def test_an_event_that_cannot_be_acted_on_stops_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    async with a_failing_desk() as (desk, _ledger):
        runtime = desk.runtime
        pass_on, seen = runtime._act_on, []

        async def act_on(recorded: object) -> None:
            seen.append(recorded)
            if len(seen) == 1:
                raise ValueError("a bug")
            await pass_on(recorded)

        monkeypatch.setattr(runtime, "_act_on", act_on)

        @desk.tool(**READS)
        async def work() -> str:
            return "done"

        async with desk.task("Work") as task:
            assert (await task.call(work)).kind == "ok"
        assert "could not act on event" in caplog.text


async def test_whatever_goes_wrong_after_the_claim_is_an_unknown_outcome_and_not_a_call_that_hangs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async with a_failing_desk() as (desk, _ledger):

        @desk.tool(**READS)
        async def work() -> str:
            return "done"

        async def broken(*_: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr("toolwitness.runtime.dispatching.Dispatch._run_body", broken)
        async with desk.task("Work") as task:
            outcome = await task.call(work)
            assert (outcome.kind, outcome.which) == ("error", "outcome_unknown")
            await until_finding(desk, outcome.invocation_id)
            record = await desk.record(outcome.invocation_id)
            assert record.state is tw.State.QUEUED
            await desk.reconcile(outcome.invocation_id, "no-effect", by=ANN)


async def test_a_bug_before_the_claim_is_answered_too(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    async with a_failing_desk() as (desk, _ledger):

        @desk.tool(**READS)
        async def work() -> str:
            return "done"

        async def broken(*_: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr("toolwitness.runtime.dispatching.Dispatch._ready", broken)
        async with desk.task("Work") as task:
            outcome = await task.call(work)
            assert (outcome.which, outcome.record.claim) == ("outcome_unknown", None)
            assert "lost sight of" in caplog.text


async def test_a_desk_that_could_not_start_can_be_started_again():
    async with a_failing_desk() as (desk, ledger):
        await desk.runtime.close()
        desk._runtime = None
        ledger_head, ledger.head = ledger.head, _unavailable
        with pytest.raises(Unavailable):
            await desk.start()
        with pytest.raises(tw.InvalidInput):
            _ = desk.runtime
        ledger.head = ledger_head
        await desk.start()

        @desk.tool(**READS)
        async def work() -> str:
            return "done"

        async with desk.task("Work") as task:
            assert (await task.call(work)).kind == "ok"


async def _unavailable() -> int:
    raise Unavailable("The disk is gone.")


async def until_finding(desk: tw.Desk, one: str) -> None:
    async def there() -> bool:
        return Code.OUTCOME_UNKNOWN in (await desk.record(one)).findings

    await until(there)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "toolwitness.runtime")
