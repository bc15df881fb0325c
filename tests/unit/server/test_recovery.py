"""Recovery over HTTP: the serving process asks the tool, authority is taken and given back, and a repeated answer is one answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.server.house import House, a_booking, a_house, until
from toolwitness.core.evidence import Kind
from toolwitness.core.states import State
from toolwitness.policy.files import read_policy_file

ADMIN = '[authority]\nadministrators = ["role:finance"]\n'


async def a_doubt(house: House, answer: Any) -> str:
    """Let a call fail with its outcome unknown, whose tool can be asked."""

    @house.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="the mandate", reconcile=lambda _attempt: answer)
    async def post(text: str) -> str:
        raise TimeoutError("no answer")

    async with house.desk.task("Post") as task:
        return (await task.call(post, text="x")).invocation_id


async def test_the_serving_process_asks_the_tool():
    async with a_house() as house:
        one = await a_doubt(house, ("happened", "post_7"))
        answer = (await house.act("eve", one, "reconcile")).json()
        assert answer["accepted"] is True
        assert answer["document"]["sideEffects"]["reconciliationState"] == "reconciled"
        again = await house.act("eve", one, "reconcile")
        assert (again.status_code, again.json()["rule"]) == (409, "nothing-in-doubt")


async def test_an_answer_that_settles_nothing_is_not_accepted_and_the_finding_stays():
    async with a_house() as house:
        one = await a_doubt(house, "unknown")
        answer = (await house.act("eve", one, "reconcile")).json()
        assert (answer["accepted"], len(answer["recorded"])) == (False, 1)
        assert answer["document"]["sideEffects"]["reconciliationState"] == "unknown"


async def test_a_person_says_what_the_other_side_shows():
    async with a_house() as house:
        one = await a_doubt(house, "unknown")
        fields = {"conclusion": "did-not-happen", "reference": "search 9"}
        assert (await house.act("bob", one, "reconcile", fields=fields)).json()["accepted"] is True
        half = await house.act("bob", one, "reconcile", fields={"reference": "search 9"})
        assert half.status_code in {409, 422}


async def test_authority_is_taken_listed_and_given_back():
    async with a_house(policy=read_policy_file(ADMIN)) as house:
        booking = await a_booking(house.desk)
        ann, eve = await house.of("ann"), await house.of("eve")
        taken = await ann.post("/api/authority/revoke", json={"holder": "bob", "role": "finance", "reason": "left the team"})
        assert (taken.status_code, taken.json()["accepted"], taken.json()["voided"]) == (200, True, [])
        [listed] = (await ann.get("/api/authority")).json()["revoked"]
        assert (listed["holder"], listed["role"], listed["by"], listed["reason"]) == ("bob", "finance", "ann", "left the team")
        assert (await eve.get("/api/authority")).json()["revoked"] == [], "others' authority is not everybody's to read"
        refused = await house.act("bob", booking.waiting, "approve")
        assert (refused.status_code, refused.json()["rule"]) == (409, "authority-revoked")
        again = await ann.post("/api/authority/restore", json={"holder": "bob", "role": "finance"})
        assert (again.status_code, (await ann.get("/api/authority")).json()["revoked"]) == (200, [])
        assert (await house.act("bob", booking.waiting, "approve")).status_code == 200


async def test_what_rests_on_authority_that_is_taken_is_void():
    async with a_house(policy=read_policy_file(ADMIN)) as house:

        @house.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["user:bob"])
        async def post(text: str) -> str:
            return text

        async with house.desk.task("Post") as task:
            one = await task.call(post, text="x").invocation_id()

        async def waits() -> bool:
            return (await house.desk.record(one)).state is State.AWAITING_APPROVAL

        await until(waits)
        taken = await (await house.of("ann")).post("/api/authority/revoke", json={"holder": "bob"})
        assert taken.json()["voided"] == [one]
        approval = (await house.desk.record(one)).approval
        assert approval is not None
        assert approval.answer is not None
        assert approval.answer.kind == "invalidated"


@pytest.mark.parametrize("person", ["eve", "olga"])
async def test_who_does_not_look_after_authority_takes_none(person: str):
    async with a_house(policy=read_policy_file('[authority]\nadministrators = ["user:ann"]\n')) as house:
        refused = await (await house.of(person)).post("/api/authority/revoke", json={"holder": "bob"})
        assert (refused.status_code, refused.json()["rule"]) == (409, "administrator")
        assert (await (await house.of("ann")).get("/api/authority")).json()["revoked"] == []


@pytest.mark.parametrize("body", [{}, {"holder": ""}, {"holder": "bob", "rolle": "x"}, {"holder": 3}, {"holder": "b" * 201}])
async def test_a_body_that_cannot_be_read_takes_nothing(body: dict[str, object]):
    async with a_house(policy=read_policy_file(ADMIN)) as house:
        assert (await (await house.of("ann")).post("/api/authority/revoke", json=body)).status_code == 422


async def test_a_repeated_submission_is_answered_from_the_first_and_records_nothing_more():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        ann = await house.of("ann")
        said = {"decisions": [{"invocationId": booking.waiting, "answer": "approve", "requestId": "click-1"}]}
        first, second = await asyncio.gather(ann.post("/api/decisions", json=said), ann.post("/api/decisions", json=said))
        third = await ann.post("/api/decisions", json=said)
        given = [answer.json()["decisions"][0] for answer in (first, second, third)]
        assert [one["accepted"] for one in given] == [True, True, True]
        assert len({tuple(one["recorded"]) for one in given}) == 1
        acts = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind == Kind.GRANTED]
        assert len(acts) == 1


async def test_a_click_that_came_alone_and_comes_again_in_a_submission_is_one_click():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        alone = (await house.act("ann", booking.waiting, "deny", requestId="click-1")).json()
        said = {"decisions": [{"invocationId": booking.waiting, "answer": "deny", "requestId": "click-1"}]}
        [again] = (await (await house.of("ann")).post("/api/decisions", json=said)).json()["decisions"]
        assert (again["accepted"], again["recorded"]) == (True, alone["recorded"])
        fresh = {"decisions": [{"invocationId": booking.waiting, "answer": "deny", "requestId": "click-2"}]}
        [late] = (await (await house.of("ann")).post("/api/decisions", json=fresh)).json()["decisions"]
        assert (late["accepted"], late["problem"]["rule"]) == (False, "already-answered")


async def test_a_repeated_contradiction_is_refused_once():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        said = {
            "decisions": [{"invocationId": booking.waiting, "answer": word, "requestId": f"click-{word}"} for word in ("approve", "deny")]
        }
        ann = await house.of("ann")
        for _ in range(2):
            answer = (await ann.post("/api/decisions", json=said)).json()["decisions"]
            assert [one["problem"]["rule"] for one in answer] == ["contradictory", "contradictory"]
        acts = [r for r in await house.desk.ledger.read(invocation_id=booking.waiting) if r.event.kind in {Kind.GRANTED, Kind.DENIED}]
        assert len(acts) == 2
        assert (await house.desk.record(booking.waiting)).open_approval is not None


async def test_a_person_answers_in_the_tools_place_once():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        empty = await house.act("ann", booking.waiting, "respond")
        assert (empty.status_code, empty.json()["field"]) == (422, "answer")
        refused = await house.act("eve", booking.waiting, "respond", fields={"answer": "mine"})
        assert (refused.status_code, refused.json()["rule"]) == (409, "eligible")
        said = {"fields": {"answer": {"booked": "by phone"}}, "reason": "their page is down", "requestId": "click-1"}
        first, again = [(await house.act("ann", booking.waiting, "respond", **said)).json() for _ in range(2)]
        assert (first["accepted"], first["recorded"]) == (True, again["recorded"])
        closure = first["document"]["closure"]
        assert (first["document"]["state"], closure["kind"], closure["initiator"]) == ("cancelled", "answered-by-human", "ann")
        assert (await house.desk.record(booking.waiting)).starts == []
