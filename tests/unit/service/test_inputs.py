"""Inputs before dispatch: asked for, supplied, edited, by several people and from a process that cannot check them."""

import asyncio
from decimal import Decimal

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, BOB, EVE, Kind, Stage, Verdict, a_stage, in_state, until, until_state
from toolwitness.core.states import Owner
from toolwitness.service.inputs import edit_inputs, merge, supply_input, written
from toolwitness.service.workplace import inputs_of, make_draft

READS = {"consequences": [tw.READ_ONLY]}


async def standing(stage: Stage, one: str) -> bytes:
    return await inputs_of(stage.desk.place, await stage.desk.record(one))


async def a_seat(stage: Stage, **given: object) -> tuple[object, str]:
    @stage.desk.tool(**READS)
    async def seat(flight: str, row: int, name: str) -> str:
        return f"{flight} {row} {name}"

    call = stage.task.call(seat, **given)
    one = await call.invocation_id()
    await until_state(stage.desk, one, tw.State.AWAITING_INPUT)
    return call, one


async def test_what_was_supplied_right_is_kept_when_something_else_is_still_missing():
    async with a_stage() as stage:
        call, one = await a_seat(stage, flight="NW 1")
        await stage.desk.supply_input(one, {"row": 14}, by=ANN)
        record = await stage.desk.record(one)
        assert (record.state, record.input_request["unresolved"]) == (tw.State.AWAITING_INPUT, ["name"])
        await stage.desk.supply_input(one, {"name": "Liv"}, by=BOB)
        assert (await call).value == "NW 1 14 Liv"


async def test_what_was_supplied_right_beside_something_wrong_need_not_be_supplied_again():
    async with a_stage() as stage:
        call, one = await a_seat(stage, flight="NW 1")
        await stage.desk.supply_input(one, {"name": "Liv", "row": "fourteen"}, by=ANN)
        asked = (await stage.desk.record(one)).input_request
        assert asked["unresolved"] == ["row"]
        await stage.desk.supply_input(one, {"row": 14}, by=ANN)
        assert (await call).value == "NW 1 14 Liv"


async def test_two_people_who_supply_at_once_both_count():
    async with a_stage() as stage:
        call, one = await a_seat(stage, flight="NW 1")
        await asyncio.gather(stage.desk.supply_input(one, {"row": 14}, by=ANN), stage.desk.supply_input(one, {"name": "Liv"}, by=BOB))
        assert (await call).value == "NW 1 14 Liv"


async def test_two_people_of_whom_one_is_wrong_both_count():
    async with a_stage() as stage:
        call, one = await a_seat(stage, flight="NW 1")
        wrong, right = {"row": "fourteen"}, {"name": "Liv"}
        await asyncio.gather(stage.desk.supply_input(one, wrong, by=ANN), stage.desk.supply_input(one, right, by=BOB))
        await stage.desk.supply_input(one, {"row": 14}, by=ANN)
        assert (await call).value == "NW 1 14 Liv"


async def test_submitting_again_does_not_take_back_what_was_tried():
    async with a_stage() as stage:
        call, one = await a_seat(stage, flight="NW 1")
        await stage.desk.supply_input(one, {"name": "Liv", "row": "fourteen"}, by=ANN)
        assert (await stage.desk.submit(one)).recorded == ()
        await stage.desk.supply_input(one, {"row": 14}, by=ANN)
        assert (await call).kind == "ok"


async def test_two_edits_at_once_do_not_undo_one_another():
    async with a_stage(scope=["amount"]) as stage:

        @stage.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def send(to: str, text: str) -> str:
            return f"{to}: {text}"

        call = stage.task.call(send, to="a", text="b")
        one = await call.invocation_id()
        await until_state(stage.desk, one, tw.State.AWAITING_APPROVAL)
        await asyncio.gather(stage.desk.edit_inputs(one, {"to": "A"}, by=ANN), stage.desk.edit_inputs(one, {"text": "B"}, by=BOB))
        assert await standing(stage, one) == b'{"to":"A","text":"B"}'
        requests = await stage.recorded(one, Kind.APPROVAL_REQUESTED)
        record = await stage.desk.record(one)
        assert [approval.answer is None for approval in record.approvals] == [False] * (len(requests) - 1) + [True]
        await stage.desk.approve(one, by=ANN)
        assert (await call).value == "A: B"


async def test_supplying_what_nobody_asked_for_is_refused_and_changes_nothing():
    async with a_stage() as stage:
        _, one = await stage.asked("1.00")
        with pytest.raises(tw.NotPermitted) as no:
            await stage.desk.supply_input(one, {"amount": "900.00"}, by=ANN)
        assert no.value.facts["rule"] == "input-wanted"
        assert await standing(stage, one) == b'{"amount":"1.00"}'
        assert await stage.refused(one) == [(Kind.INPUT_SUPPLIED, "input-wanted")]


async def test_inputs_are_not_edited_once_the_call_is_dispatched():
    async with a_stage() as stage:
        call, one = await stage.asked()
        await stage.desk.approve(one, by=ANN)
        await call
        with pytest.raises(tw.NotPermitted):
            await stage.desk.edit_inputs(one, {"amount": "1"}, by=ANN)
        assert [kind for kind, _ in await stage.refused(one)] == [Kind.INPUTS_EDITED]


async def test_a_program_gives_python_values_and_they_stand_as_the_tool_would_read_them():
    async with a_stage() as stage:
        call, one = await stage.asked("1.00")
        await stage.desk.edit_inputs(one, {"amount": Decimal("2.50")}, by=ANN)
        await stage.desk.approve(one, by=ANN)
        await call
        assert stage.paid == ["2.50"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_has_no_json_form_is_refused_by_name(value: object):
    with pytest.raises(tw.InvalidInput, match="amount"):
        written({"amount": value})


async def test_no_input_at_all_is_refused_with_the_remedy():
    async with a_stage() as stage:
        _, one = await stage.asked()
        with pytest.raises(tw.InvalidInput, match="No input was given"):
            await edit_inputs(stage.desk.place, one, actor=ANN, fields={})


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (b'{"a": 1.10, "big": 7300000000000000123, "s": "\\ud800"}', b'{"a":1.10,"big":7300000000000000123,"s":"\\ud800","new":[1]}'),
        (b'\xef\xbb\xbf{"a":1}', b'{"a":1,"new":[1]}'),
        (b"[1]", b'{"new":[1]}'),
        (b"not json", b'{"new":[1]}'),
        (b'{"a":1,"a":2}', b'{"new":[1]}'),
    ],
)
def test_what_is_not_edited_stays_exactly_as_it_is_written(old: bytes, expected: bytes):
    assert merge(old, written({"new": [1]})) == expected


async def test_a_process_that_cannot_check_inputs_says_so_and_the_one_that_runs_them_checks_before_it_starts(tmp_path):
    url = str(tmp_path / "calls.db")
    ran: list[int] = []
    async with tw.open(url, sweep_seconds=3600) as desk, tw.open(url, sweep_seconds=3600) as elsewhere:

        @desk.tool(**READS)
        async def seat(row: int) -> int:
            ran.append(row)
            return row

        async with desk.task("Seat") as task:
            call = task.call(seat)
            one = await call.invocation_id()
            await until_state(desk, one, tw.State.AWAITING_INPUT)
            await supply_input(elsewhere.place, one, actor=EVE, fields={"row": "fourteen"})

            async def rejected() -> object:
                asked = (await desk.record(one)).input_request
                return asked if asked and "validation" in asked else None

            asked = await until(rejected)
            assert (asked["unresolved"], ran) == (["row"], [])
            accepted = [r for r in await desk.ledger.read(invocation_id=one) if r.event.kind == Kind.INPUTS_ACCEPTED]
            assert accepted[0].event.data["checked_by"].startswith("nobody yet")
            await supply_input(elsewhere.place, one, actor=EVE, fields={"row": 14})
            assert ((await call).value, ran) == (14, [14])


async def test_an_input_that_is_called_reason_can_be_supplied_and_edited_by_a_click():
    async with a_stage() as stage:

        @stage.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def refund(order: str, reason: str) -> str:
            return f"{order}: {reason}"

        call = stage.task.call(refund, inputs={"order": "A-1"})
        one = await stage.awaited(call, tw.State.AWAITING_INPUT)
        await stage.click(one, "supply_input", ANN, fields={"reason": "broken"}, reason="she called")
        await stage.click(one, "edit_inputs", ANN, fields={"reason": "late"})
        supplied = (await stage.recorded(one, Kind.INPUT_SUPPLIED))[0].event.data
        assert (supplied["reason"], supplied["fields"]) == ("she called", ["reason"])
        await stage.desk.approve(one, by=ANN)
        assert (await call).value == "A-1: late"


async def test_inputs_that_can_no_longer_be_read_are_not_taken_for_none(monkeypatch: pytest.MonkeyPatch):
    async with a_stage() as stage:
        _, one = await stage.asked()

        async def gone(_ref: str) -> bytes | None:
            return None

        monkeypatch.setattr(stage.desk.ledger, "exact", gone)
        for act in (stage.desk.edit_inputs(one, {"amount": "1"}, by=ANN), stage.desk.submit(one)):
            with pytest.raises(tw.NotPermitted) as no:
                await act
            assert no.value.facts["rule"] == "inputs-unreadable"


async def test_what_a_running_call_asks_for_is_answered_beside_its_inputs_and_changes_none_of_them():
    async with a_stage() as stage:
        inside, go = asyncio.Event(), asyncio.Event()

        @stage.desk.tool(**READS)
        async def wait(day: str) -> str:
            inside.set()
            await go.wait()
            return day

        call = stage.task.call(wait, day="Monday")
        one = await call.invocation_id()
        await inside.wait()
        record = await stage.desk.record(one)
        asks = {"unresolved": ["code"], "collector": "person"}
        await stage.desk.ledger.append(record.task_id, [make_draft(stage.desk.place, record, Kind.INPUT_REQUIRED, asks)])
        receipt = await stage.desk.supply_input(one, {"code": "1234"}, by=ANN)
        supplied = next(r for r in receipt.recorded if r.event.kind == Kind.INPUT_SUPPLIED)
        assert await stage.desk.ledger.value(supplied.event.data["inputs"]["ref"]) == b'{"code":"1234"}'
        assert (receipt.record.input_request, await standing(stage, one)) == (None, b'{"day":"Monday"}')
        go.set()
        assert (await call).value == "Monday"


@pytest.mark.parametrize("answer", ["approve", "deny"])
async def test_what_a_running_call_asks_approval_for_is_answered_without_a_second_permit_or_a_closure(answer: str):
    async with a_stage() as stage:
        inside, go = asyncio.Event(), asyncio.Event()

        @stage.desk.tool(**READS)
        async def wait() -> str:
            inside.set()
            await go.wait()
            return "done"

        call = stage.task.call(wait)
        one = await call.invocation_id()
        await inside.wait()
        record = await stage.desk.record(one)
        asks = {
            "approval_id": "apr_1", "consequence_summary": "goes on", "authority": "finance", "authorization_owner": "finance",
            "scope": "the rest of it", "eligible": ["role:finance"], "inputs_digest": record.inputs["digest"],
        }  # fmt: skip  # facts in lines
        await stage.desk.ledger.append(record.task_id, [make_draft(stage.desk.place, record, Kind.APPROVAL_REQUESTED, asks)])
        receipt = await getattr(stage.desk, answer)(one, by=ANN)
        assert [str(r.event.kind) for r in receipt.recorded] == [Kind.GRANTED if answer == "approve" else Kind.DENIED]
        assert receipt.record.state is tw.State.RUNNING
        go.set()
        assert (await call).kind == "ok"


async def test_what_a_model_is_asked_for_is_not_settled_by_submitting():
    async with a_stage() as stage:
        one = await stage.proposed()
        record = await stage.desk.record(one)
        wrong = {"validation": "no such account", "collector": "model", "unresolved": ["amount"]}
        await stage.desk.ledger.append(record.task_id, [make_draft(stage.desk.place, record, Kind.INPUTS_REJECTED, wrong)])
        assert (await stage.desk.submit(one)).recorded == ()
        assert await in_state(stage, one) is tw.State.AWAITING_INPUT


async def test_a_refused_act_keeps_what_was_in_it_and_moves_nothing():
    async with a_stage() as stage:
        _, one = await stage.asked()
        stage.clock.advance(300)
        await stage.desk.sweep()
        with pytest.raises(tw.NotPermitted):
            await stage.desk.edit_inputs(one, {"amount": "7"}, by=ANN)
        act = (await stage.recorded(one, Kind.INPUTS_EDITED))[0]
        assert (act.verdict, act.event.owner, act.event.data["actor"]) == (Verdict.REFUSED, Owner.USER, "ann")
        assert b'"7"' in (await stage.desk.ledger.value(act.event.data["inputs"]["ref"]) or b"")
