"""Where it takes several people, it takes several people: different ones, each of whom may, and all of whom still may when it starts."""

import asyncio
from pathlib import Path

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import kinds, until
from tests.unit.service.attacks import ANN, BOB, EVE, FINANCE, Kind, Stage, a_stage, until_state
from toolwitness.policy.files import read_policy_file
from toolwitness.policy.merge import stricter
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.service import views
from toolwitness.testing.reports import run_report

CHO = tw.Actor(id="cho", roles=FINANCE)


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of each kind of ledger."""
    return "memory:" if request.param == "memory" else str(tmp_path / "calls.db")


async def controls(stage: Stage, one: str, who: tw.Actor) -> dict[str, bool]:
    """Give the controls that a person sees, on or off."""
    card = await views.card(stage.desk.place, one, who)
    return {control["action"]: control["enabled"] for control in card["controls"]}


async def test_the_last_of_them_permits_and_nobody_counts_twice(url: str):
    async with a_stage(url, approvals_needed=2) as stage:
        call, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        record = await stage.desk.record(one)
        assert (record.granted, record.permission, record.open_approval.lacking) == (False, None, 1)
        assert "1 of 2 approvals still missing" in str(await views.card(stage.desk.place, one, BOB))
        assert ((await controls(stage, one, ANN))["approve"], (await controls(stage, one, BOB))["approve"]) == (False, True)
        with pytest.raises(tw.NotPermitted) as twice:
            await stage.desk.approve(one, by=ANN)
        assert twice.value.facts["rule"] == "already-answered"
        with pytest.raises(tw.NotPermitted) as stranger:
            await stage.desk.approve(one, by=EVE)
        assert stranger.value.facts["rule"] == "eligible"
        assert stage.paid == []
        await stage.desk.approve(one, by=BOB)
        assert (await call).value == "paid 412.50"
        assert stage.paid == ["412.50"]
        with pytest.raises(tw.NotPermitted):
            await stage.desk.approve(one, by=CHO)
        assert await stage.desk.verify() == []


async def test_of_many_at_once_exactly_enough_count(url: str):
    people = [tw.Actor(id=f"p{number}", roles=FINANCE) for number in range(8)]
    async with a_stage(url, approvals_needed=3) as stage:
        call, one = await stage.asked()
        twice = [person for person in people for _ in range(2)]
        answers = await asyncio.gather(*(stage.desk.approve(one, by=person) for person in twice), return_exceptions=True)
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 3
        assert (await call).kind == "ok"
        assert (stage.paid, (await kinds(stage.desk, one)).count(Kind.PERMITTED)) == (["412.50"], 1)
        record = await stage.desk.record(one)
        assert record.approval is not None
        assert record.approval.answer is not None
        assert len({*(answer.actor for answer in record.approval.agreed), record.approval.answer.actor}) == 3


async def test_one_denial_closes_it_whoever_agreed_before(url: str):
    async with a_stage(url, approvals_needed=2) as stage:
        call, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        await stage.desk.deny(one, by=BOB, reason="no")
        assert ((await call).kind, stage.paid) == ("cancelled", [])


async def test_who_agreed_to_other_inputs_has_not_agreed_to_these(url: str):
    async with a_stage(url, approvals_needed=2) as stage:
        _, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        await stage.desk.edit_inputs(one, {"amount": "1.00"}, by=BOB)
        fresh = (await stage.desk.record(one)).open_approval
        assert fresh is not None
        assert (fresh.agreed, fresh.lacking) == ((), 2)
        await stage.desk.approve(one, by=BOB)
        assert stage.paid == []
        await stage.desk.approve(one, by=ANN)
        await until_state(stage.desk, one, tw.State.SUCCEEDED)
        assert stage.paid == ["1.00"]


async def test_where_the_first_of_them_may_no_more_the_whole_is_void():
    async with a_stage("memory:", approvals_needed=2) as stage:
        stage.desk.place.file = read_policy_file('[authority]\nadministrators = ["user:cho"]\n')
        _, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        await stage.desk.revoke_authority("ann", by=CHO)
        await stage.desk.approve(one, by=BOB)

        async def void() -> bool:
            return Kind.APPROVAL_INVALIDATED in await kinds(stage.desk, one)

        await until(void)
        assert stage.paid == []


async def test_nobody_permits_alone_beforehand_what_takes_several_each_time():
    async with a_stage("memory:", approvals_needed=2, consequences=[tw.EXTERNALLY_VISIBLE]) as stage:
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.grant("pay", by=ANN, seconds=60, count=1)
        assert no.value.facts["rule"] == "several-approvers"


def test_it_is_declared_in_the_file_and_the_larger_number_counts():
    file = read_policy_file('[tools.pay]\nconsequences = ["externally-visible"]\napprovals_needed = 3\n')
    own = ToolPolicy(tool="pay", consequences=file.tools["pay"].consequences, approvals_needed=2)
    assert stricter(own, file.tools["pay"]).approvals_needed == 3
    assert own.requires_approval


@pytest.mark.parametrize("written", ["0", "21", "true", '"two"', "1.5"])
def test_what_is_no_number_of_people_is_refused_with_its_line(written: str):
    with pytest.raises(tw.InvalidInput) as wrong:
        read_policy_file(f'[tools.pay]\nconsequences = ["externally-visible"]\napprovals_needed = {written}\n', "team.toml")
    assert wrong.value.message.startswith("team.toml, line 3: tools.pay.approvals_needed is ")


async def test_a_report_tells_of_an_approval_by_two():
    told = [
        {"seq": 1, "t": 0, "source": "proposer", "type": "proposed", "invocation": "i1", "attempt": 1, "tool": "pay", "args": {"n": 1},
         "consequence": ["financially-consequential"]},
        {"seq": 2, "t": 1, "source": "policy", "type": "approval.requested", "invocation": "i1", "attempt": 1, "approval": "ap1",
         "authority": {"eligible": ["u1", "u2", "u3"], "quorum": 2}},
        {"seq": 3, "t": 2, "source": "ui", "type": "click", "control": "approve", "approval": "ap1", "actor": "u1"},
        {"seq": 4, "t": 3, "source": "orchestrator", "type": "dispatch.requested", "invocation": "i1", "attempt": 1, "approval": "ap1"},
        {"seq": 5, "t": 4, "source": "ui", "type": "click", "control": "approve", "approval": "ap1", "actor": "u1"},
        {"seq": 6, "t": 5, "source": "ui", "type": "click", "control": "approve", "approval": "ap1", "actor": "u2"},
        {"seq": 7, "t": 6, "source": "orchestrator", "type": "dispatch.requested", "invocation": "i1", "attempt": 1, "approval": "ap1"},
    ]  # fmt: skip  # events in lines
    expected = {
        "decisions": {"3": "accepted", "5": "rejected:already-approved", "6": "accepted"},
        "dispatch": {"4": "refuse:not-yet-approved", "7": "allow"}, "states": {"i1#1": "awaiting_approval"},
        "checkpoints": [{"after": 3, "inbox": ["ap1"], "controls": {"i1#1": {"for": {
            "u1": ["inspect", "deny", "withdraw"], "u2": ["inspect", "approve", "deny", "withdraw"],
        }}}}],
    }  # fmt: skip  # facts in lines
    result = await run_report({"id": "two", "kind": "abstract-events", "input": {"events": told}, "expected": expected})
    assert (result.wrong, result.unchecked, result.passed) == ([], [], True)
