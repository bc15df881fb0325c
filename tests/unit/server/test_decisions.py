"""Several answers over HTTP: each call by itself, and a result for each answer."""

from __future__ import annotations

import pytest

from tests.unit.server.house import a_booking, a_house


async def test_each_answer_gets_its_own_result():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        said = [{"invocationId": booking.waiting, "answer": "approve"}, {"invocationId": "inv_gone", "answer": "deny"}]
        answer = await (await house.of("ann")).post("/api/decisions", json={"decisions": said})
        first, second = answer.json()["decisions"]
        assert answer.status_code == 200
        assert (first["accepted"], first["document"]["authorization"]["state"]) == (True, "granted")
        assert (second["accepted"], second["problem"]["code"]) == (False, "unknown-id")


async def test_two_opposite_answers_decide_nothing():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        said = [{"invocationId": booking.waiting, "answer": word} for word in ("approve", "deny")]
        answer = await (await house.of("ann")).post("/api/decisions", json={"decisions": said})
        assert [one["problem"]["rule"] for one in answer.json()["decisions"]] == ["contradictory", "contradictory"]
        assert (await house.desk.record(booking.waiting)).open_approval is not None


@pytest.mark.parametrize("body", [{}, {"decisions": []}, {"decisions": [{"invocationId": "x", "answer": "always"}]}, {"decision": 1}])
async def test_a_submission_that_cannot_be_read_decides_nothing(body: dict[str, object]):
    async with a_house() as house:
        assert (await (await house.of("ann")).post("/api/decisions", json=body)).status_code == 422
