"""An edit that names another tool makes another call, which its own tool's policy governs."""

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import a_desk, kinds
from tests.unit.service.test_standing import FILE, proposed
from toolwitness.core.states import ClosureKind


async def test_the_old_call_is_withdrawn_and_points_to_the_new_one_under_the_other_policy() -> None:
    async with a_desk(policy=FILE) as desk:
        _, old = await proposed(desk, "look", '{"total":"1"}')
        _, asked = await proposed(desk, "post", "{}")
        new = (await desk.edit_inputs(asked, {"what": "everything"}, by="ann", tool="wipe")).record
        closed = await desk.record(asked)
        assert closed.state is tw.State.CANCELLED
        assert closed.closure is not None
        assert (closed.closure.kind, closed.closure.replaced_by) == (ClosureKind.WITHDRAWN, new.id)
        assert (new.tool, new.state, new.proposal["replaces"]) == ("wipe", tw.State.AWAITING_APPROVAL, asked)
        assert new.consequences == ("destructive",)
        assert await kinds(desk, old) == ["invocation.proposed", "dispatch.permitted"]


async def test_an_approval_of_the_old_call_does_not_cover_the_new_one() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "post", "{}")
        await desk.approve(call, by="ann")
        new = (await desk.edit_inputs(call, {"total": "9"}, by="ann", tool="pay")).record
        assert not new.granted
        assert new.permission is None


async def test_an_edit_that_names_the_same_tool_or_none_stays_the_same_call() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "post", "{}")
        for tool in ("", "post"):
            assert (await desk.edit_inputs(call, {"x": 1}, by="ann", tool=tool)).record.id == call


async def test_what_is_over_is_not_edited_into_another_call_and_the_refusal_is_on_record() -> None:
    async with a_desk(policy=FILE) as desk:
        task, call = await proposed(desk, "post", "{}")
        await desk.deny(call, by="ann")
        with pytest.raises(tw.NotPermitted):
            await desk.edit_inputs(call, {"x": 1}, by="ann", tool="wipe")
        view = await desk.ledger.task(task)
        assert view is not None
        assert list(view.records) == [call]
        assert (await kinds(desk, call))[-1] == "inputs.edited"


async def test_a_tool_that_nobody_declared_gets_the_worst_answers() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "look", '{"total":"1"}')
        new = (await desk.edit_inputs(call, {"x": 1}, by="ann", tool="never_heard_of")).record
        assert new.state is tw.State.AWAITING_APPROVAL
        assert new.approval is not None
        assert new.approval.data["eligible"] == ["role:approver"]
