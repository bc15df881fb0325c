"""One decision, one dispatch (R6): every way to use an approval that was not given for exactly this, exactly once, now."""

import asyncio

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, BOB, EVE, MALLORY, Kind, Verdict, a_stage, in_state, until_recorded, until_state
from toolwitness.core.findings import Code


async def test_an_approval_of_another_call_approves_nothing():
    async with a_stage() as stage:
        _, one = await stage.asked("1.00")
        _, two = await stage.asked("2.00")
        other = await stage.approval(two)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.approve(one, by=ANN, approval_id=other.id)
        assert no.value.facts["rule"] == "known-request"
        assert (await in_state(stage, one), await in_state(stage, two)) == (tw.State.AWAITING_APPROVAL, tw.State.AWAITING_APPROVAL)
        assert (await stage.refused(one), stage.paid) == ([(Kind.GRANTED, "known-request")], [])


async def test_a_digest_from_before_an_edit_approves_nothing():
    async with a_stage() as stage:
        _, one = await stage.asked("1.00")
        seen = (await stage.approval(one)).data["inputs_digest"]
        await stage.desk.edit_inputs(one, {"amount": "900.00"}, by=EVE)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.click(one, "approve", ANN, inputsDigest=seen)
        assert (no.value.facts["rule"], stage.paid) == ("inputs", [])


async def test_between_an_edit_and_the_new_request_there_is_nothing_to_approve():
    async with a_stage() as stage:
        _, one = await stage.asked("1.00")
        old = await stage.approval(one)
        edited = await stage.desk.edit_inputs(one, {"amount": "900.00"}, by=EVE)
        kinds = [str(recorded.event.kind) for recorded in edited.recorded]
        assert kinds == [Kind.INPUTS_EDITED, Kind.APPROVAL_INVALIDATED, Kind.INPUTS_ACCEPTED, Kind.APPROVAL_REQUESTED]
        with pytest.raises(tw.NotPermitted, match="invalidated"):
            await stage.desk.approve(one, by=ANN, approval_id=old.id)
        assert stage.paid == []


async def test_two_requests_of_one_call_are_never_both_approved():
    async with a_stage() as stage:
        call, one = await stage.asked("1.00")
        old = await stage.approval(one)
        await stage.desk.edit_inputs(one, {"amount": "2.00"}, by=ANN)
        new = await stage.approval(one)
        answers = await asyncio.gather(
            stage.desk.approve(one, by=ANN, approval_id=old.id), stage.desk.approve(one, by=BOB, approval_id=new.id),
            stage.desk.approve(one, by=ANN, approval_id=new.id), return_exceptions=True,
        )  # fmt: skip  # one answer each
        assert [isinstance(answer, tw.NotPermitted) for answer in answers] == [True, False, True]
        assert ((await call).kind, stage.paid) == ("ok", ["2.00"])


async def test_a_permission_that_is_stale_when_it_is_claimed_starts_nothing():
    """Grant, edit, claim: whichever comes between, what runs is what was approved, or nothing."""
    async with a_stage() as stage:
        one = await stage.proposed("1.00", host="another:1:process")
        await stage.desk.submit(one)
        await stage.desk.approve(one, by=ANN)
        await stage.desk.edit_inputs(one, {"amount": "900.00"}, by=EVE)
        record = await stage.desk.record(one)
        assert (record.permission, record.granted) == (None, False)
        assert (record.state, stage.paid) == (tw.State.AWAITING_APPROVAL, [])


async def test_a_denial_after_the_grant_is_told_who_granted_and_stops_nothing():
    async with a_stage() as stage:
        call, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.deny(one, by=BOB)
        winner = no.value.facts["winner"]
        assert (no.value.facts["rule"], winner["kind"], winner["actor"]) == ("already-answered", "granted", "ann")
        assert (await call).kind == "ok"
        assert await stage.refused(one) == [(Kind.DENIED, "already-answered")]


async def test_eight_approvers_at_once_are_one_acceptance_and_seven_recorded_refusals():
    async with a_stage() as stage:
        call, one = await stage.asked()
        people = [tw.Actor(id=f"approver-{n}", roles=frozenset({"finance"})) for n in range(8)]
        answers = await asyncio.gather(*(stage.desk.approve(one, by=who) for who in people), return_exceptions=True)
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
        assert (await call).kind == "ok"
        grants = await stage.recorded(one, Kind.GRANTED)
        assert sorted(str(grant.verdict) for grant in grants) == ["noted"] + ["refused"] * 7
        assert stage.paid == ["412.50"]


async def test_approve_and_deny_at_once_are_one_answer():
    async with a_stage() as stage:
        call, one = await stage.asked()
        answers = await asyncio.gather(stage.desk.approve(one, by=ANN), stage.desk.deny(one, by=BOB), return_exceptions=True)
        accepted = [not isinstance(answer, BaseException) for answer in answers]
        outcome = await call
        assert sum(accepted) == 1
        assert (outcome.kind, len(stage.paid)) == (("ok", 1) if accepted[0] else ("cancelled", 0))


async def test_withdraw_dismiss_and_approve_at_once_are_one_answer():
    async with a_stage() as stage:
        call, one = await stage.asked()
        answers = await asyncio.gather(
            stage.desk.withdraw(one, by=ANN), stage.desk.dismiss(one, by=EVE), stage.desk.approve(one, by=BOB), return_exceptions=True
        )
        outcome = await call
        assert sum(not isinstance(answer, BaseException) for answer in answers) >= 1
        assert len(stage.paid) == (outcome.kind == "ok")
        closures = [r for r in await stage.recorded(one, Kind.CLOSED) if r.verdict is Verdict.MOVED]
        assert len(closures) + len(stage.paid) == 1


async def test_a_withdrawal_that_comes_after_the_claim_is_a_request_to_cancel_and_never_a_refusal():
    """The claim comes while the withdrawal is on its way: it must not be lost because it decided on an older reading."""
    async with a_stage() as stage:
        go = asyncio.Event()

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def wait() -> None:
            await go.wait()

        call = stage.task.call(wait)
        one = await call.invocation_id()
        receipt = await stage.desk.withdraw(one, by=ANN, reason="enough")
        outcome = await call
        assert {str(r.event.kind) for r in receipt.recorded} & {Kind.CANCEL_REQUESTED, Kind.WITHDRAWN}
        assert outcome.kind == "cancelled"
        assert await stage.refused(one) == []


async def test_a_withdrawal_of_a_running_call_is_recorded_as_the_request_that_it_has_become():
    async with a_stage() as stage:
        inside, go = asyncio.Event(), asyncio.Event()

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def wait() -> None:
            inside.set()
            await go.wait()

        call = stage.task.call(wait)
        one = await call.invocation_id()
        await inside.wait()
        receipt = await stage.desk.withdraw(one, by=ANN)
        assert [str(r.event.kind) for r in receipt.recorded] == [Kind.CANCEL_REQUESTED]
        outcome = await call
        assert (outcome.which, outcome.why) == ("execution-terminated", "withdrawn after dispatch")
        with pytest.raises(tw.NotPermitted):
            await stage.desk.withdraw(one, by=ANN)


async def test_a_permitted_call_that_nobody_has_claimed_can_be_dismissed_and_then_never_starts():
    async with a_stage(consequences=[tw.READ_ONLY], approvers=[], approval_seconds=None, commitment_boundary="") as stage:
        one = await stage.proposed(host="another:1:process")
        await stage.desk.submit(one)
        assert (await stage.desk.record(one)).permission is not None
        await stage.desk.dismiss(one, by=EVE)
        assert await in_state(stage, one) is tw.State.CANCELLED
        with pytest.raises(tw.NotPermitted):
            await stage.desk.request_cancellation(one, by=ANN)


async def test_a_proposed_call_cannot_be_cancelled_only_closed():
    async with a_stage() as stage:
        one = await stage.proposed()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.request_cancellation(one, by=ANN)
        assert no.value.facts["rule"] == "not-dispatched"
        assert await stage.refused(one) == [(Kind.CANCEL_REQUESTED, "not-dispatched")]
        assert await in_state(stage, one) is tw.State.PROPOSED


async def test_a_second_cancellation_request_is_told_of_the_first():
    async with a_stage() as stage:
        inside, go = asyncio.Event(), asyncio.Event()

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def stubborn() -> str:
            inside.set()
            try:
                await go.wait()
            except asyncio.CancelledError:
                await go.wait()
            return "went on"

        call = stage.task.call(stubborn)
        one = await call.invocation_id()
        await inside.wait()
        await stage.desk.request_cancellation(one, by=ANN)
        with pytest.raises(tw.NotPermitted, match="ann"):
            await stage.desk.request_cancellation(one, by=BOB)
        go.set()
        outcome = await call
        assert (outcome.kind, outcome.value) == ("ok", "went on")
        assert Code.COMPLETED_DESPITE_CANCEL in outcome.record.findings


@pytest.mark.parametrize("who", [EVE, MALLORY, tw.Actor(id="")])
async def test_somebody_who_may_not_approve_does_not_and_is_on_record(who: tw.Actor):
    async with a_stage() as stage:
        _, one = await stage.asked()
        for act in (stage.desk.approve, stage.desk.deny):
            with pytest.raises(tw.NotPermitted):
                await act(one, by=who)
        assert await in_state(stage, one) is tw.State.AWAITING_APPROVAL
        assert [kind for kind, _ in await stage.refused(one)] == [Kind.GRANTED, Kind.DENIED]
        assert stage.paid == []


async def test_a_decision_on_a_call_that_asks_for_none_dispatches_nothing():
    async with a_stage() as stage:
        one = await stage.proposed()
        for act in (stage.desk.approve, stage.desk.deny):
            with pytest.raises(tw.NotPermitted):
                await act(one, by=ANN)
        record = await stage.desk.record(one)
        assert (record.state, record.approvals, record.permission) == (tw.State.PROPOSED, [], None)


async def test_submitting_again_and_again_asks_once_and_permits_once():
    async with a_stage() as stage:
        one = await stage.proposed(host="another:1:process")
        await asyncio.gather(*(stage.desk.submit(one) for _ in range(5)))
        assert len(await stage.recorded(one, Kind.APPROVAL_REQUESTED)) == 1
        await stage.desk.approve(one, by=ANN)
        await asyncio.gather(*(stage.desk.submit(one) for _ in range(5)))
        assert len(await stage.recorded(one, Kind.PERMITTED)) == 1
        await until_state(stage.desk, one, tw.State.AWAITING_APPROVAL)


async def test_a_grant_that_has_lapsed_before_the_start_is_invalidated_and_can_be_asked_for_again():
    destructive = {"consequences": [tw.DESTRUCTIVE], "commitment_boundary": "when the rows are gone", "expected_effects": ["rows deleted"]}
    async with a_stage(**destructive) as stage:
        one = await stage.proposed()
        del stage.desk._tools["pay"]  # the process that holds the tool is away for a while
        await stage.desk.submit(one)
        await stage.desk.approve(one, by=ANN)
        stage.clock.advance(3600)
        stage.desk.tool(stage.pay, **destructive, approvers=["role:finance"], approval_seconds=300)
        await stage.desk.runtime._resume()
        await until_recorded(stage.desk, one, Kind.APPROVAL_INVALIDATED)
        record = await stage.desk.record(one)
        assert Code.APPROVAL_INVALIDATED in record.findings
        assert (record.permission, stage.paid) == (None, [])
        await stage.desk.request_approval_again(one, by=ANN)
        await stage.desk.approve(one, by=ANN)
        await until_state(stage.desk, one, tw.State.SUCCEEDED)
        assert stage.paid == ["412.50"]
