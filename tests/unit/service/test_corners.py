"""The corners of the commands: keys that somebody else took, questions that were answered elsewhere, policies that cannot be read."""

import asyncio

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, EVE, Kind, Stage, a_stage, in_state, until_state
from toolwitness.core.errors import Conflict
from toolwitness.core.evidence import Event
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool
from toolwitness.policy.written import write_policy
from toolwitness.ports import Draft
from toolwitness.service import workplace
from toolwitness.service.claim import claim
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.submit import ask_for_inputs_again, refuse_dispatch
from toolwitness.service.unblock import unblock
from toolwitness.service.workplace import carry_out_on_inputs, make_draft

READS = {"consequences": [tw.READ_ONLY], "approvers": [], "approval_seconds": None, "commitment_boundary": ""}


async def taken(stage: Stage, one: str, key: str) -> None:
    """Let some other event take a single use."""
    record = await stage.desk.record(one)
    event = Event(
        kind=Kind.HEARTBEAT, source="elsewhere", id="h-1", task_id=record.task_id, invocation_id=one, owner=Owner.RUNTIME, once_key=key,
        data={"attempt": 9, "lease": "x", "worker": "elsewhere:1"},
    )  # fmt: skip  # facts in lines
    await stage.desk.ledger.append(record.task_id, [Draft(event=event)])


async def test_a_decision_whose_single_use_is_gone_is_refused_and_told_who_took_it():
    async with a_stage() as stage:
        _, one = await stage.asked()
        await taken(stage, one, f"answer:{(await stage.approval(one)).id}")
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.approve(one, by=ANN)
        winner = no.value.facts["winner"]
        assert (no.value.facts["rule"], winner["kind"], winner["actor"]) == ("already-decided", Kind.HEARTBEAT, "elsewhere:1")
        assert await stage.refused(one) == [(Kind.GRANTED, "already-decided")]


async def test_a_claim_whose_single_use_is_gone_claims_nothing():
    async with a_stage(**READS) as stage:
        one = await stage.proposed(host="another:1:process")
        await stage.desk.submit(one)
        await taken(stage, one, f"dispatch:{one}")
        answer = await claim(stage.desk.place, one, source="x", worker="y")
        assert isinstance(answer, PolicyVerdict)
        assert (answer.rule, answer.reason) == ("one-dispatch", f"{Kind.HEARTBEAT} took the dispatch first")


async def test_of_many_claims_at_once_one_holds_the_permit_and_all_others_hear_of_it():
    async with a_stage(**READS) as stage:
        one = await stage.proposed(host="another:1:process")
        await stage.desk.submit(one)
        answers = await asyncio.gather(*(claim(stage.desk.place, one, source="x", worker=f"w{n}") for n in range(8)))
        assert sum(not isinstance(answer, PolicyVerdict) for answer in answers) == 1
        assert {answer.rule for answer in answers if isinstance(answer, PolicyVerdict)} == {"already-claimed"}


async def test_a_claim_without_a_permission_says_what_is_missing():
    async with a_stage() as stage:
        one = await stage.proposed()
        answer = await claim(stage.desk.place, one, source="x", worker="y")
        assert isinstance(answer, PolicyVerdict)
        assert (answer.rule, await stage.recorded(one, Kind.CLAIMED)) == ("not-permitted", [])


# ── submitting ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_inputs_of_the_wrong_type_are_rejected_when_the_call_is_submitted_and_asked_for_once():
    async with a_stage() as stage:

        @stage.desk.tool(consequences=[tw.READ_ONLY])
        async def seat(row: int) -> int:
            return row

        call = stage.task.call(seat, row="fourteen")
        one = await call.invocation_id()
        await until_state(stage.desk, one, tw.State.AWAITING_INPUT)
        asked = (await stage.desk.record(one)).input_request
        assert "row:" in asked["validation"]
        assert (await stage.desk.submit(one)).recorded == ()
        await stage.desk.supply_input(one, {"row": 14}, by=ANN)
        assert (await call).value == 14


async def test_a_question_that_turns_out_to_be_answered_is_taken_back():
    async with a_stage() as stage:
        one = await stage.proposed()
        record = await stage.desk.record(one)
        asks = {"unresolved": ["amount"], "collector": "person"}
        await stage.desk.ledger.append(record.task_id, [make_draft(stage.desk.place, record, Kind.INPUT_REQUIRED, asks)])
        await stage.desk.submit(one)
        assert [str(r.event.kind) for r in await stage.recorded(one)][-2:] == [Kind.INPUTS_ACCEPTED, Kind.APPROVAL_REQUESTED]


async def test_a_granted_call_whose_inputs_turn_out_wrong_needs_a_new_grant():
    async with a_stage() as stage:
        one = await stage.proposed(host="another:1:process")
        await stage.desk.submit(one)
        await stage.desk.approve(one, by=ANN)
        problems = list(stage.desk.tool_named("pay").check_to_run(b"{}"))
        await ask_for_inputs_again(stage.desk.place, one, problems)
        record = await stage.desk.record(one)
        assert (record.state, record.granted, record.input_request["unresolved"]) == (tw.State.AWAITING_INPUT, False, ["amount"])
        assert (await ask_for_inputs_again(stage.desk.place, one, problems)).recorded == ()
        await stage.desk.supply_input(one, {"amount": "2.00"}, by=EVE)
        assert await in_state(stage, one) is tw.State.AWAITING_APPROVAL


async def test_a_dispatch_is_refused_once_and_can_be_submitted_again():
    async with a_stage(**READS) as stage:
        one = await stage.proposed(host="another:1:process")
        assert (await refuse_dispatch(stage.desk.place, one, rule="host-gone", reason="gone")).recorded == ()
        await stage.desk.submit(one)
        await refuse_dispatch(stage.desk.place, one, rule="host-gone", reason="gone")
        assert (await refuse_dispatch(stage.desk.place, one, rule="host-gone", reason="gone")).recorded == ()
        answer = await claim(stage.desk.place, one, source="x", worker="y")
        assert isinstance(answer, PolicyVerdict)
        assert "dispatch was refused: gone" in answer.reason
        await stage.click(one, "submit", ANN)
        assert not isinstance(await claim(stage.desk.place, one, source="x", worker="y"), PolicyVerdict)


async def test_somebody_of_another_tenant_submits_nothing():
    async with a_stage() as stage:
        one = await stage.proposed()
        with pytest.raises(tw.NotPermitted) as no:
            await stage.click(one, "submit", tw.Actor(id="mallory", tenant="elsewhere"))
        assert (no.value.facts["rule"], await in_state(stage, one)) == ("actor", tw.State.PROPOSED)


async def test_inputs_that_never_stop_changing_end_a_command_with_a_conflict(monkeypatch: pytest.MonkeyPatch):
    async with a_stage() as stage:
        one = await stage.proposed()
        monkeypatch.setattr(workplace, "_TRIES", 3)
        edits: list[int] = []

        async def changing(_place: object, record: object) -> bytes:
            edits.append(1)
            await stage.desk.edit_inputs(one, {"amount": str(len(edits))}, by=ANN)
            return b"{}"

        with pytest.raises(Conflict):
            await carry_out_on_inputs(stage.desk.place, one, lambda _before, _raw: lambda _now: [], inputs=changing)
        assert len(edits) == 3


# ── policies and tasks ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("written", [b"", b"not json", b'{"tool":"pay","no_such_word":1}', write_policy(ToolPolicy(tool="pay"))])
async def test_a_recorded_policy_that_cannot_be_read_or_is_not_the_one_named_counts_as_unknown(written: bytes):
    async with a_stage() as stage:
        data = {"tool": "foreign", "source_request": "m", "proposer": "p", "policy_version": "pol_claimed"}
        event = Event(
            kind=Kind.PROPOSED, source="trusted", id="p-1", task_id=stage.task.id, invocation_id="inv_foreign", owner=Owner.RUNTIME,
            data=data,
        )  # fmt: skip  # facts in lines
        draft = Draft(event=event, values={"inputs": b"{}", "policy": written})
        await stage.desk.ledger.append(stage.task.id, [draft])
        record = await stage.desk.record("inv_foreign")
        assert await stage.desk.place.policy_of(record) == unknown_tool("foreign")


async def test_a_policy_read_back_once_is_remembered_under_its_own_version(tmp_path):
    url = str(tmp_path / "calls.db")
    async with a_stage(url) as stage, tw.open(url, sweep_seconds=3600) as elsewhere:
        one = await stage.proposed()
        record = await elsewhere.record(one)
        first, second = await elsewhere.place.policy_of(record), await elsewhere.place.policy_of(record)
        assert first is second
        assert first == stage.desk.place.policies["pay"]


async def test_tasks_and_proposals_that_lead_nowhere_are_refused_with_the_remedy():
    async with a_stage() as stage:
        with pytest.raises(tw.InvalidInput, match="purpose"):
            await open_task(stage.desk.place, "  ")
        with pytest.raises(tw.InvalidInput, match="Open it first"):
            await propose(stage.desk.place, "task_none", Proposal(tool="pay", inputs=b"{}", source_request="m", proposer="p"))
        assert await unblock(stage.desk.place, "task_none", tools={"pay"}, host="h") == []


async def test_a_waiting_call_that_cannot_be_submitted_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch):
    async with a_stage(**READS) as stage:
        first = stage.task.call(stage.pay, amount="1")
        await first
        ids = [await stage.proposed(str(n), dependencies=[await first.invocation_id()], host="another:1:process") for n in range(2)]
        exact, broken = stage.desk.ledger.exact, (await stage.desk.record(ids[0])).inputs["ref"]

        async def one_gone(ref: str) -> bytes | None:
            return None if ref == broken else await exact(ref)

        monkeypatch.setattr(stage.desk.ledger, "exact", one_gone)
        assert await unblock(stage.desk.place, stage.task.id, tools={"pay"}, host="another:1:process") == ids[1:]
