"""Answering in the tool's place: once, by who may, before dispatch; the answer reaches the model as a person's and no tool has run."""

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, BOB, EVE, Kind, a_stage, until_state
from toolwitness.core.states import ClosureKind, Reconciliation


async def test_an_answer_closes_the_call_and_reaches_the_model_as_a_persons():
    async with a_stage() as stage:
        call, one = await stage.asked()
        receipt = await stage.desk.respond(one, {"paid": "by cheque"}, by=ANN, reason="the bank is closed")
        outcome = await call
        closure = receipt.record.closure
        assert closure is not None
        assert (closure.kind, closure.initiator, closure.owner) == (ClosureKind.ANSWERED_BY_HUMAN, "ann", "authorization")
        assert (outcome.kind, outcome.commit, receipt.record.state, stage.paid) == ("cancelled", False, tw.State.CANCELLED, [])
        assert receipt.record.reconciliation is Reconciliation.NOT_EXECUTED
        [message] = await stage.desk.tool_messages(stage.task)
        assert '{"paid":"by cheque"}' in message["content"]
        assert "did not run" in message["content"]


async def test_who_may_not_decide_may_not_answer_and_a_second_answer_changes_nothing():
    async with a_stage() as stage:
        call, one = await stage.asked()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.respond(one, "mine", by=EVE)
        assert no.value.facts["rule"] == "eligible"
        await stage.desk.respond(one, "first", by=ANN)
        with pytest.raises(tw.NotPermitted) as late:
            await stage.desk.respond(one, "second", by=BOB)
        assert late.value.facts["rule"] in {"already-answered", "terminal"}
        assert [kind for kind, _ in await stage.refused(one)] == [Kind.INPUT_SUPPLIED, Kind.INPUT_SUPPLIED]
        assert (await call).kind == "cancelled"


async def test_what_nobody_was_asked_about_is_answered_as_it_is_dismissed_and_what_was_dispatched_is_not():
    async with a_stage() as stage:
        one = await stage.proposed()
        closure = (await stage.desk.respond(one, 1, by=EVE)).record.closure
        assert closure is not None
        assert closure.owner == "proposal"
        call, two = await stage.asked()
        await stage.desk.approve(two, by=ANN)
        await until_state(stage.desk, two, tw.State.SUCCEEDED)
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.respond(two, "late", by=ANN)
        assert no.value.facts["rule"] == "already-dispatched"
        assert (await call).kind == "ok"
