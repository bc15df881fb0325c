"""What is secret goes over no wire: not in a document, a card, an answer, a problem or the stream; and who may, has it forgotten."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.server.house import House, a_house
from tests.unit.server.streams import following
from toolwitness.core.values import MARKER
from toolwitness.policy.files import read_policy_file

SECRET = "hunter2-hunter2"


async def a_call(house: House, *, fails: str = "no") -> tuple[str, str]:
    """Make a call with a secret that ends; gives its task and its id."""

    @house.desk.tool(consequences=[tw.READ_ONLY])
    async def sign_in(user: str, password: str) -> dict[str, Any]:
        tw.progress(f"with {password}")
        if fails == "yes":
            raise ValueError(password)
        return {"token": SECRET, "echo": f"{user}:{password}"}

    async with house.desk.task("Sign in") as task:
        outcome = await task.call(sign_in, user="ann", password=SECRET, purpose="to look")
    return task.id, outcome.invocation_id


@pytest.mark.parametrize("fails", ["no", "yes"])
async def test_no_secret_is_in_any_answer_or_on_the_stream(fails: str):
    async with a_house() as house, following(house, "ann") as page:
        task, one = await a_call(house, fails=fails)
        client = await house.of("ann")
        answers = [
            await client.get(path)
            for path in (
                "/api/tasks", f"/api/tasks/{task}", f"/api/tasks/{task}?view=card", f"/api/invocations/{one}",
                f"/api/invocations/{one}?view=card", f"/api/invocations/{one}/events", "/api/approvals", f"/tasks/{task}", "/",
            )
        ]  # fmt: skip  # paths in lines
        await page.until("card", lambda card: card["id"] == one and card["state"] in {"succeeded", "failed"})
        assert [answer.status_code for answer in answers][:7] == [200] * 7
        assert [answer.url.path for answer in answers if SECRET in answer.text] == []
        assert SECRET.encode() not in bytes(page.raw)
        document = answers[3].json()
        assert document["inputs"]["values"] == {"user": "ann", "password": {MARKER: "named password"}}


async def test_an_edit_over_the_wire_that_cannot_be_taken_repeats_no_secret():
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
        async def pay(password: str, count: int) -> str:
            return "paid"

        async with house.desk.task("Pay") as task:
            call = task.call(pay, password=SECRET, count="many")
            one = await call.invocation_id()
            answers = [
                await house.act("ann", one, "supply_input", fields={"count": f"not {SECRET}"}),
                await house.act("ann", one, "supply_input", fields={"password": {MARKER: "x"}, "nothing": {MARKER: "x"}}),
                await house.act("ann", one, "approve"),
                await house.act("ann", one, "erase", reason=f"because of {SECRET}"),
            ]
            assert answers[-1].status_code == 409
            assert [answer.text for answer in answers if SECRET in answer.text] == []
            await house.act("ann", one, "dismiss", reason="enough")
            await call


async def test_a_value_is_forgotten_over_the_wire_by_who_may_and_by_nobody_else():
    async with a_house() as house:
        house.desk.place.file = read_policy_file('[authority]\nerasers = ["user:bob"]\n')
        _, one = await a_call(house)
        refused = await house.act("ann", one, "erase", reason="asked to")
        assert (refused.status_code, refused.json()["rule"]) == (409, "eraser")
        done = await house.act("bob", one, "erase", reason="asked to", fields={"which": "inputs"})
        assert (done.status_code, len(done.json()["recorded"])) == (200, 1)
        assert "values" not in done.json()["document"]["inputs"]
        again = await house.act("bob", one, "erase", reason="asked to", fields={"which": "inputs"})
        assert (again.status_code, again.json()["rule"]) == (409, "already-erased")
        unclear = await house.act("bob", one, "erase", fields={"which": "inputs"})
        assert (unclear.status_code, unclear.json()["field"]) == (422, "reason")
        hidden = await house.act("olga", one, "erase", reason="asked to")
        assert hidden.status_code == 404
        card = (await (await house.of("ann")).get(f"/api/invocations/{one}?view=card")).json()
        assert "by bob: asked to" in json.dumps(card)


async def test_a_card_that_was_shown_before_shows_an_erased_value_no_more():
    async with a_house() as house, following(house, "ann") as page:
        house.desk.place.file = read_policy_file('[authority]\nerasers = ["user:bob"]\n')

        @house.desk.tool(consequences=[tw.READ_ONLY])
        async def look(city: str) -> str:
            return f"sun over {city}"

        async with house.desk.task("Look") as task:
            one = (await task.call(look, city="Bergen-1234")).invocation_id
        seen = await page.until("card", lambda card: card["id"] == one and card["state"] == "succeeded")
        assert "Bergen-1234" in json.dumps(seen)
        await house.act("bob", one, "erase", reason="asked to")
        await page.until("card", lambda card: "asked to" in json.dumps(card) and "Bergen-1234" not in json.dumps(card))
        fresh = (await (await house.of("ann")).get(f"/api/invocations/{one}?view=card")).json()
        assert "Bergen-1234" not in json.dumps(fresh)
