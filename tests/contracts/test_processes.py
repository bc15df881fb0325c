"""Several real processes on one file: whoever decides, whoever runs, whoever dies, nothing is decided or done twice."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

import toolwitness as tw
from tests.contracts.field import AHEAD_SECONDS, a_field
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import Verdict

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))


@pytest.mark.parametrize("approvers", range(2, 9))
async def test_of_several_approvers_at_once_one_is_accepted_and_the_body_runs_once(tmp_path: Path, approvers: int):
    async with a_field(tmp_path) as field:
        more = (("approver", "no", "never"),) * (approvers - 1)
        runner, *others = await field.children(("runner", "yes", "never"), *more)
        for key in "abc":
            one = await runner.do("call", tool="send", key=key, task=field.task)
            answers = await field.at_once(*((child, {"do": "approve", "id": one}) for child in (runner, *others)))
            assert sorted(map(str, answers)) == sorted([one, *["{'refused': 'already-answered'}"] * (approvers - 1)])
            await field.until(one, tw.State.SUCCEEDED)
            granted = [await field.count(one, Kind.GRANTED, verdict) for verdict in (Verdict.NOTED, Verdict.REFUSED)]
            assert (granted, await field.count(one, Kind.CLAIMED)) == ([1, approvers - 1], 1)
        assert field.ran() == Counter("abc")


async def test_four_workers_on_one_queue_run_each_call_once_and_leave_none(tmp_path: Path):
    async with a_field(tmp_path) as field:
        workers = await field.children(*((f"worker-{n}", "yes", "never") for n in range(4)))
        keys = [f"k{n}" for n in range(20)]
        calls = [await workers[n % 4].do("call", tool="send", key=key, task=field.task) for n, key in enumerate(keys)]
        for one in calls:
            await field.desk.approve(one, by=ANN)
        for one in calls:
            await field.until(one, tw.State.SUCCEEDED)
            assert await field.count(one, Kind.CLAIMED, Verdict.NOTED) == await field.count(one, Kind.STARTED) == 1
        assert field.ran() == Counter(keys)


async def test_four_workers_that_are_told_of_one_permit_at_once_and_again_get_it_once(tmp_path: Path):
    async with a_field(tmp_path) as field:
        workers = await field.children(*((f"worker-{n}", "declared", "never") for n in range(4)))
        for key in "abc":
            one = await workers[0].do("call", tool="send", key=key, task=field.task)
            await field.desk.approve(one, by=ANN)
            told = [(worker, {"do": "claim", "id": one}) for worker in workers]
            answers = await field.at_once(*told) + await field.at_once(*told)
            assert Counter(map(str, answers))["claimed"] == 1
            assert {str(answer) for answer in answers} <= {"claimed", "{'refused': 'already-claimed'}", "{'refused': 'one-dispatch'}"}
            assert await field.count(one, Kind.CLAIMED, Verdict.NOTED) == 1


async def test_an_approval_that_is_sent_again_by_every_process_starts_nothing_more(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, *others = await field.children(("runner", "yes", "never"), *((f"other-{n}", "no", "never") for n in range(3)))
        one = await runner.do("call", tool="send", key="a", task=field.task)
        assert await others[0].do("approve", id=one) == one
        await field.until(one, tw.State.SUCCEEDED)
        again = await field.at_once(*((child, {"do": "approve", "id": one}) for child in (runner, *others)))
        assert {str(answer) for answer in again} == {"{'refused': 'already-answered'}"}
        assert (field.ran(), await field.count(one, Kind.CLAIMED)) == ({"a": 1}, 1)


async def test_an_approval_in_another_process_starts_the_call_in_the_process_that_holds_it(tmp_path: Path):
    async with a_field(tmp_path) as field:
        holder, other = await field.children(("holder", "yes", "never"), ("other", "yes", "never"))
        one = await holder.do("call", tool="send", key="a", task=field.task, mine=True)
        await other.do("approve", id=one)
        await field.until(one, tw.State.SUCCEEDED)
        claim = (await field.desk.record(one)).claim
        assert claim.data["worker"] == (await field.desk.record(one)).proposal["host"]
        assert field.ran() == {"a": 1}


async def test_a_denial_and_an_approval_at_once_are_one_answer_and_what_runs_is_what_was_answered(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        ended = Counter()
        for n in range(8):
            one = await runner.do("call", tool="send", key=str(n), task=field.task)
            answers = await field.at_once((runner, {"do": "approve", "id": one}), (other, {"do": "deny", "id": one}))
            assert sum(answer == one for answer in answers) == 1
            await field.until(one, tw.State.SUCCEEDED, tw.State.CANCELLED)
            state = (await field.desk.record(one)).state
            assert field.ran()[str(n)] == (state is tw.State.SUCCEEDED) == (answers[0] == one)
            ended[state] += 1
        assert ended.total() == 8


async def test_a_withdrawal_that_races_the_claim_closes_the_call_or_asks_its_body_to_stop(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        for n in range(8):
            one = await runner.do("call", tool="send", key=str(n), task=field.task)
            moment = time.monotonic() + AHEAD_SECONDS
            runner.tell("approve", id=one, at=moment)
            other.tell("withdraw", id=one, at=moment + 0.0005 * n)
            approved, withdrawn = await runner.answer(), await other.answer()
            await field.until(one, tw.State.SUCCEEDED, tw.State.CANCELLED)
            record = await field.desk.record(one)
            closed = record.closure is not None and record.closure.kind == "withdrawn"
            assert field.ran()[str(n)] <= (record.claim is not None)
            assert not (closed and (record.claim or field.ran()[str(n)]))
            assert approved in (one, {"refused": "already-answered"}, {"refused": "terminal"})
            assert withdrawn == one or record.state is tw.State.SUCCEEDED


async def test_a_retry_from_a_process_without_the_tool_runs_in_the_one_that_has_it(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        one = await runner.do("call", tool="look", key="a", task=field.task, **{"with": {"fail": "yes"}})
        await field.until(one, tw.State.FAILED)
        again = await other.do("retry", id=one)
        await field.until(again, tw.State.FAILED)
        assert (field.ran()["a"], (await field.desk.record(again)).attempt) == (2, 2)


async def test_a_retry_that_every_process_could_run_is_run_by_exactly_one(tmp_path: Path):
    async with a_field(tmp_path) as field:
        children = await field.children(*((f"runner-{n}", "yes", "never") for n in range(3)))
        one = await children[0].do("call", tool="look", key="a", task=field.task, **{"with": {"fail": "yes"}})
        await field.until(one, tw.State.FAILED)
        for attempt in range(2, 6):
            answers = await field.at_once(*((child, {"do": "retry", "id": one}) for child in children))
            made = [answer for answer in answers if isinstance(answer, str)]
            assert len(made) == 1
            one = made[0]
            await field.until(one, tw.State.FAILED)
            assert (field.ran()["a"], await field.count(one, Kind.CLAIMED, Verdict.NOTED)) == (attempt, 1)


async def test_sweepers_of_all_processes_record_one_expiry(tmp_path: Path):
    async with a_field(tmp_path) as field:
        children = await field.children(("one", "yes", "never"), ("two", "no", "never"), ("three", "no", "never"))
        for key in "abc":
            one = await children[0].do("call", tool="hurry", key=key, task=field.task)
            await asyncio.sleep(0.06)  # the deadline is the real clock's, in three processes
            swept = await field.at_once(*((child, {"do": "sweep"}) for child in children))
            # A desk that has just started sweeps by itself: then none of these is the one that finds it.
            assert (sum(swept) <= 1, await field.count(one, Kind.DEADLINE_ELAPSED)) == (True, 1)
            assert (await field.desk.record(one)).state is tw.State.EXPIRED
            assert await children[1].do("approve", id=one) == {"refused": "already-answered"}
        assert field.ran() == {}
