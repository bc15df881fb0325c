"""Decisions over HTTP: bound to what was shown, used once, refused with the winner's name, and one click however often it is sent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import toolwitness as tw
from tests.unit.server.house import a_booking, a_house, until_state
from tests.unit.server.test_reading import problem_of
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import Verdict
from toolwitness.server.actions import COMMANDS


async def test_an_approval_is_bound_to_request_and_inputs():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        shown = (await (await house.of("ann")).get(f"/api/invocations/{booking.waiting}")).json()["authorization"]
        for wrong in ({"approvalId": "apr_other"}, {"approvalId": shown["approvalId"], "inputsDigest": "sha256:other"}):
            answer = await house.act("ann", booking.waiting, "approve", **wrong)
            assert (answer.status_code, problem_of(answer)["code"]) == (409, "not-permitted")
        answer = await house.act("ann", booking.waiting, "approve", approvalId=shown["approvalId"], inputsDigest=shown["inputsDigest"])
        assert answer.status_code == 200
        assert answer.json()["accepted"] is True
        assert answer.json()["document"]["identity"]["invocationId"] == booking.waiting
        await until_state(house.desk, booking.waiting, tw.State.SUCCEEDED)
        refused = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.verdict is Verdict.REFUSED]
        assert [r.event.kind for r in refused] == [Kind.GRANTED, Kind.GRANTED]


async def test_a_second_approval_is_told_who_won_and_when():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        assert (await house.act("ann", booking.waiting, "approve")).status_code == 200
        answer = await house.act("bob", booking.waiting, "approve")
        found = problem_of(answer)
        granted = next(r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind == Kind.GRANTED)
        expected = {"kind": "granted", "actor": "ann", "at": granted.event.time, "ref": granted.event.ref}
        assert (answer.status_code, found["winner"]) == (409, expected)
        assert "ann" in str(found["detail"])


async def test_nobody_decides_who_may_not_and_the_refusal_is_on_record():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answer = await house.act("eve", booking.waiting, "approve")
        assert (answer.status_code, problem_of(answer)["rule"]) == (409, "eligible")
        last = (await house.desk.ledger.read(invocation_id=booking.waiting))[-1]
        assert (last.event.kind, last.verdict, last.event.data["actor"]) == (Kind.GRANTED, Verdict.REFUSED, "eve")
        assert (await house.desk.record(booking.waiting)).state is tw.State.AWAITING_APPROVAL


async def test_the_same_request_sent_twice_is_one_request():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        first, second = await asyncio.gather(*(house.act("ann", booking.waiting, "approve", requestId="r-1") for _ in range(2)))
        third = await house.act("ann", booking.waiting, "approve", requestId="r-1")
        assert [a.status_code for a in (first, second, third)] == [200, 200, 200]
        assert first.json()["recorded"] == second.json()["recorded"] == third.json()["recorded"]
        grants = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind == Kind.GRANTED]
        assert [r.verdict for r in grants] == [Verdict.NOTED]


async def test_a_refusal_sent_twice_is_one_refusal():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answers = [await house.act("eve", booking.waiting, "approve", requestId="r-1") for _ in range(2)]
        assert [a.status_code for a in answers] == [409, 409]
        assert answers[0].json() == answers[1].json()
        assert len([r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind == Kind.GRANTED]) == 1


async def test_what_is_shared_by_id_is_not_shared_by_people():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        assert (await house.act("ann", booking.waiting, "approve", requestId="r-1")).status_code == 200
        assert (await house.act("bob", booking.waiting, "approve", requestId="r-1")).status_code == 409


@pytest.mark.parametrize("action", ["approve", "deny", "withdraw"])
async def test_a_request_that_another_process_answered_gets_its_answer(tmp_path: Path, action: str):
    url = str(tmp_path / "calls.db")
    async with a_house(url) as house:
        booking = await a_booking(house.desk)
        first = await house.act("ann", booking.waiting, action, requestId="r-1", reason="now")
        assert first.status_code == 200
        async with a_house(url) as other:
            again = await other.act("ann", booking.waiting, action, requestId="r-1", reason="now")
            assert again.status_code == 200, again.text
            assert again.json()["recorded"][0] == first.json()["recorded"][0]
        acts = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.data.get("request_id") == "r-1"]
        assert len(acts) == 1


async def test_a_retry_sent_twice_makes_one_attempt():
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.READ_ONLY], retry_attempts=5, retry_categories=["down"])
        async def fail() -> None:
            raise tw.ToolFailure("down", "The service is down.", retryable="yes")

        async with house.desk.task("Try") as task:
            call = task.call(fail)
            await call
            failed = await call.invocation_id()
        answers = [await house.act("ann", failed, "retry", requestId="r-1") for _ in range(2)]
        new = {a.json()["document"]["identity"]["invocationId"] for a in answers}
        assert len(new) == 1 and failed not in new
        view = await house.desk.ledger.task(task.id)
        assert view is not None and len(view.records) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"reason": 7}', "/reason"),
        ('{"reason": "x", "approvalID": "apr"}', "/approvalID"),
        ('{"fields": []}', "/fields"),
        ('{"reason": "a", "reason": "b"}', "/reason"),
        ('{"fields": {"n": NaN}}', "/fields/n"),
        ("[]", ""),
        ("{", ""),
        (json.dumps({"reason": "x" * 501}), "/reason"),
    ],
)
async def test_a_body_that_cannot_be_understood_names_the_field_and_records_nothing(body: str, field: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        before = await house.desk.ledger.head()
        client = await house.of("ann")
        answer = await client.post(
            f"/api/invocations/{booking.waiting}/actions/deny", content=body, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, problem_of(answer)["code"]) == (422, "invalid-input")
        assert answer.json().get("field", "") == field
        assert await house.desk.ledger.head() == before


async def test_an_action_that_nobody_knows_is_named_with_those_that_there_are():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answer = await house.act("ann", booking.waiting, "explode")
        assert answer.status_code == 422
        assert set(COMMANDS) <= {word.strip(" .") for word in str(problem_of(answer)["remedy"]).removeprefix("Use one of").split(",")}


async def test_inputs_arrive_with_all_their_digits():
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.READ_ONLY])
        async def seat(number: int, row: str) -> str:
            return f"{row}{number}"

        async with house.desk.task("Sit") as task:
            call = task.call(seat, row="C")
            asked = await call.invocation_id()
            await until_state(house.desk, asked, tw.State.AWAITING_INPUT)
            answer = await house.act("ann", asked, "supply_input", fields={"number": 9007199254740993123})
            assert answer.status_code == 200
            outcome = await call
        assert outcome.value == "C9007199254740993123"


async def test_a_refusal_that_another_process_gave_is_given_again(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_house(url) as house:
        booking = await a_booking(house.desk)
        first = await house.act("eve", booking.waiting, "approve", requestId="r-1")
        async with a_house(url) as other:
            again = await other.act("eve", booking.waiting, "approve", requestId="r-1")
        assert (first.status_code, again.status_code) == (409, 409)
        assert (first.json()["rule"], first.json()["detail"]) == (again.json()["rule"], again.json()["detail"])
        acts = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind == Kind.GRANTED]
        assert len(acts) == 1


async def test_a_waiver_sent_twice_is_one_waiver_in_any_process(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_house(url) as house:

        @house.desk.tool(consequences=[tw.READ_ONLY])
        async def fail() -> None:
            raise tw.ToolFailure("down", "The service is down.")

        async with house.desk.task("Try") as task:
            call = task.call(fail)
            await call
            failed = await call.invocation_id()
        first = await house.act("ann", failed, "waive_child", requestId="r-1", reason="not needed")
        assert first.status_code == 200, first.text
        async with a_house(url) as other:
            again = await other.act("ann", failed, "waive_child", requestId="r-1", reason="not needed")
        assert (again.status_code, again.json()["recorded"]) == (200, first.json()["recorded"])
        third = await house.act("ann", failed, "waive_child", requestId="r-2", reason="still not needed")
        assert (third.status_code, problem_of(third)["code"]) == (409, "not-permitted")


async def test_what_leaves_no_request_id_on_record_is_still_done_once():
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="mandate 1")
        async def send() -> None:
            tw.effect_observed("mail", reference="m-1")
            raise tw.ToolFailure("cut", "The line was cut.", effects="unknown")

        async with house.desk.task("Send") as task:
            call = task.call(send)
            await call
            cut = await call.invocation_id()
        answers = [await house.act("ann", cut, "reconcile", requestId="r-1", fields={"conclusion": "no_effect"}) for _ in range(2)]
        assert len({a.status_code for a in answers}) == 1
        assert answers[0].json() == answers[1].json()
        told = [r for r in await house.desk.ledger.read(invocation_id=cut) if r.event.kind == Kind.RECONCILED]
        assert len(told) == (answers[0].status_code == 200)


async def test_what_failed_for_no_reason_of_policys_may_be_tried_again(monkeypatch: pytest.MonkeyPatch):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        original = house.desk.ledger.decide

        async def locked(*_: object, **__: object) -> None:
            raise tw.core.errors.Unavailable("The file is locked.")

        monkeypatch.setattr(house.desk.ledger, "decide", locked)
        assert (await house.act("ann", booking.waiting, "deny", requestId="r-1")).status_code == 503
        monkeypatch.setattr(house.desk.ledger, "decide", original)
        assert (await house.act("ann", booking.waiting, "deny", requestId="r-1")).status_code == 200


async def test_what_waits_for_an_approval_is_not_submitted_past_it():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        answer = await house.act("ann", booking.waiting, "submit")
        assert answer.status_code in {200, 409}
        record = await house.desk.record(booking.waiting)
        assert (record.state, record.permission, len(record.approvals)) == (tw.State.AWAITING_APPROVAL, None, 1)
