"""Attempts are immutable (R9): retry, reverse, resubmit, ask again, another route.

Each is made once, points back, and is refused with its reason.
"""

import asyncio

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, BOB, EVE, MALLORY, Kind, Stage, a_stage, in_state, until_state
from toolwitness.core.errors import UnknownId
from toolwitness.policy.tool_policy import Inverse
from toolwitness.service.workplace import inputs_of

READS = {"consequences": [tw.READ_ONLY]}


async def a_failure(stage: Stage, **policy: object) -> tuple[str, list[str]]:
    """Let a call of a tool fail that could be tried again, and give its id and what the tool is to do next."""
    moods: list[str] = []

    @stage.desk.tool(**{**READS, "retry_attempts": 3, **policy})
    async def flaky(day: str) -> str:
        if not moods:
            raise tw.ToolFailure("upstream-unavailable", "It did not answer.")
        return day

    outcome = await stage.task.call(flaky, day="Monday")
    return outcome.invocation_id, moods


async def test_of_two_retries_at_once_one_is_made_and_the_other_is_told_which():
    async with a_stage() as stage:
        one, moods = await a_failure(stage)
        moods.append("fine")
        answers = await asyncio.gather(stage.desk.retry(one, by=ANN), stage.desk.retry(one, by=BOB), return_exceptions=True)
        made = [answer for answer in answers if not isinstance(answer, BaseException)]
        assert [len(made), [type(answer) for answer in answers if isinstance(answer, BaseException)]] == [1, [tw.NotPermitted]]
        again = made[0].record
        await until_state(stage.desk, again.id, tw.State.SUCCEEDED)
        assert (again.attempt, again.proposal["retry_of"]) == (2, one)
        assert (await stage.desk.record(one)).retried_by == again.id
        view = await stage.desk.ledger.task(stage.task.id)
        assert [r.id for r in view.records.values()] == [one, again.id]


async def test_only_the_latest_attempt_is_tried_again():
    async with a_stage() as stage:
        one, _ = await a_failure(stage)
        second = (await stage.desk.retry(one, by=ANN)).record.id
        await until_state(stage.desk, second, tw.State.FAILED)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.retry(one, by=ANN)
        assert no.value.facts["rule"] == "not-latest"
        third = (await stage.desk.retry(second, by=ANN)).record.id
        await until_state(stage.desk, third, tw.State.FAILED)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.retry(third, by=ANN)
        assert no.value.facts["rule"] == "attempts"
        assert [kind for kind, _ in await stage.refused(one)] == [Kind.RETRY_REQUESTED]


async def test_a_retry_goes_through_policy_again_with_the_same_inputs():
    async with a_stage(retry_attempts=2) as stage:

        @stage.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], retry_attempts=2, idempotency="idempotent")
        async def send(to: str) -> str:
            raise tw.ToolFailure("upstream-unavailable", "It did not answer.")

        call = stage.task.call(send, to="x")
        one = await call.invocation_id()
        await until_state(stage.desk, one, tw.State.AWAITING_APPROVAL)
        await stage.desk.approve(one, by=ANN)
        await call
        again = (await stage.desk.retry(one, by=EVE)).record
        assert (again.state, again.claim) == (tw.State.AWAITING_APPROVAL, None)
        assert await inputs_of(stage.desk.place, again) == b'{"to":"x"}'


async def test_a_retry_from_a_process_without_the_tool_is_governed_as_the_attempt_before_and_runs_where_the_tool_is(tmp_path):
    url = str(tmp_path / "calls.db")
    async with a_stage(url) as stage, tw.open(url, sweep_seconds=3600) as elsewhere:
        one, moods = await a_failure(stage)
        moods.append("fine")
        again = (await elsewhere.retry(one, by=ANN)).record
        before = await stage.desk.record(one)
        assert again.proposal["policy_version"] == before.proposal["policy_version"]
        assert await elsewhere.place.policy_of(again) == stage.desk.place.policies["flaky"]
        await until_state(stage.desk, again.id, tw.State.SUCCEEDED)


async def test_what_fails_for_good_and_what_has_not_failed_are_not_tried_again():
    async with a_stage() as stage:
        one, _ = await a_failure(stage, retry_categories=["timeout"])
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.retry(one, by=ANN)
        assert no.value.facts["rule"] == "category"
        _, two = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.retry(two, by=ANN)
        assert no.value.facts["rule"] == "not-failed"


async def test_a_retry_moves_what_waits_for_the_attempt():
    async with a_stage() as stage:
        one, moods = await a_failure(stage)

        @stage.desk.tool(**READS)
        async def after() -> str:
            return "after"

        waiting = stage.task.call(after, depends_on=[one])
        two = await waiting.invocation_id()
        moods.append("fine")
        again = (await stage.desk.retry(one, by=ANN)).record.id
        assert (await waiting).value == "after"
        record = await stage.desk.record(two)
        assert record.moved_dependencies == {one: again}
        assert list(record.resolved_dependencies) == [one]


@pytest.mark.parametrize(
    ("inverse", "rule"), [(None, "inverse"), (Inverse(tool="unpay"), "inverse"), (Inverse(tool="unpay", verified_by="a test"), "")]
)
async def test_only_a_verified_inverse_is_ever_proposed_and_only_once(inverse: Inverse | None, rule: str):
    async with a_stage(consequences=[tw.REVERSIBLE], approvers=[], commitment_boundary="", approval_seconds=None, inverse=inverse) as stage:

        @stage.desk.tool(**READS)
        async def unpay(amount: str) -> str:
            return amount

        outcome = await stage.task.call(stage.pay, amount="1.00")
        one = outcome.invocation_id
        answers = await asyncio.gather(stage.desk.reverse(one, by=ANN), stage.desk.reverse(one, by=BOB), return_exceptions=True)
        made = [answer.record for answer in answers if not isinstance(answer, BaseException)]
        rules = {answer.facts["rule"] for answer in answers if isinstance(answer, tw.NotPermitted)}
        if rule:
            assert (made, rules) == ([], {rule})
            return
        assert (len(made), rules) == (1, {"already-reversed"})
        await until_state(stage.desk, made[0].id, tw.State.SUCCEEDED)
        assert (made[0].tool, made[0].proposal["reverses"], made[0].proposal["required"]) == ("unpay", one, False)
        assert await in_state(stage, one) is tw.State.SUCCEEDED


async def test_an_expired_approval_is_asked_for_again_as_a_replacement():
    async with a_stage() as stage:
        _, one = await stage.asked()
        stage.clock.advance(300)
        await stage.desk.sweep()
        answers = await asyncio.gather(
            stage.desk.request_approval_again(one, by=ANN), stage.desk.resubmit(one, by=BOB), return_exceptions=True
        )
        made = [answer.record for answer in answers if not isinstance(answer, BaseException)]
        assert [(r.proposal["replaces"], r.state, r.attempt) for r in made] == [(one, tw.State.AWAITING_APPROVAL, 2)]
        assert (await stage.desk.record(one)).replaced_by == made[0].id
        await stage.desk.approve(made[0].id, by=ANN)
        await until_state(stage.desk, made[0].id, tw.State.SUCCEEDED)
        assert stage.paid == ["412.50"]


async def test_an_open_request_is_not_asked_for_again():
    async with a_stage() as stage:
        _, one = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.request_approval_again(one, by=ANN)
        assert no.value.facts["rule"] == "approval-gone"
        assert len(await stage.recorded(one, Kind.APPROVAL_REQUESTED)) == 1


async def test_only_a_declared_route_is_chosen_and_that_withdraws_the_call():
    async with a_stage(alternate_routes=["pay by post"]) as stage:
        call, one = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.choose_route(one, "pay in gold", by=ANN)
        assert no.value.facts["rule"] == "route"
        await stage.desk.choose_route(one, "pay by post", by=ANN)
        outcome = await call
        assert (outcome.which, outcome.why) == ("withdrawn", "chose: pay by post")
        assert stage.paid == []


async def test_after_a_failure_a_route_is_noted_and_nothing_is_closed_a_second_time():
    async with a_stage() as stage:
        one, _ = await a_failure(stage, alternate_routes=["by post"])
        receipt = await stage.desk.choose_route(one, "by post", by=ANN)
        assert ([str(r.event.kind) for r in receipt.recorded], receipt.record.state) == ([Kind.ROUTE_CHOSEN], tw.State.FAILED)


# ── reconciling and waiving ─────────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_is_reconciled_where_nothing_is_in_doubt():
    async with a_stage() as stage:
        _, one = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.reconcile(one, "no-effect", by=ANN)
        assert no.value.facts["rule"] == "nothing-in-doubt"
        with pytest.raises(tw.InvalidInput):
            await stage.desk.reconcile(one, " ", by=ANN)


async def test_a_child_that_runs_or_has_succeeded_is_not_waived_and_the_wish_is_on_record():
    async with a_stage() as stage:
        _, one = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.waive(stage.task.id, one, by=ANN, reason="not needed")
        assert no.value.facts["rule"] == "waive-only-ended"
        refused = [r for r in await stage.desk.ledger.read() if r.event.kind == Kind.CHILD_WAIVED]
        assert [(r.verdict, r.reason.partition(":")[0]) for r in refused] == [("refused", "waive-only-ended")]


@pytest.mark.parametrize("who", [MALLORY, tw.Actor(id="")])
async def test_a_stranger_waives_nothing(who: tw.Actor):
    async with a_stage() as stage:
        call, one = await stage.asked()
        await stage.desk.deny(one, by=ANN)
        await call
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.waive(stage.task.id, one, by=who, reason="mine")
        assert no.value.facts["rule"] == "actor"
        view = await stage.desk.ledger.task(stage.task.id)
        assert view.task.waived == {}


async def test_of_several_waivers_at_once_one_counts():
    async with a_stage() as stage:
        call, one = await stage.asked()
        await stage.desk.deny(one, by=ANN)
        await call
        answers = await asyncio.gather(
            *(stage.desk.waive(stage.task.id, one, by=who, reason="not needed") for who in (ANN, BOB, EVE)), return_exceptions=True
        )
        assert [isinstance(answer, tw.NotPermitted) for answer in answers] == [False, True, True]
        with pytest.raises(tw.InvalidInput):
            await stage.desk.waive(stage.task.id, one, by=ANN, reason=" ")
        for task, child in ((stage.task.id, "inv_nobody"), ("task_none", one)):
            with pytest.raises(UnknownId):
                await stage.desk.waive(task, child, by=ANN, reason="x")


async def test_nothing_is_decided_about_what_is_not_recorded():
    async with a_stage() as stage:
        for act in (stage.desk.approve, stage.desk.withdraw, stage.desk.retry, stage.desk.reverse, stage.desk.request_cancellation):
            with pytest.raises(UnknownId):
                await act("inv_nobody", by=ANN)
        with pytest.raises(tw.InvalidInput):
            await stage.desk.place.ledger.task("task_none") or await stage.task._desk.reopen("task_none")
