"""A board draws what changed and no more, and what it draws is what a fresh reading would draw."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.server.house import PEOPLE, a_booking, a_house
from tests.unit.server.test_live import _a_run, _say
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.ports import Draft
from toolwitness.presentation import cards
from toolwitness.service.boards import Boards

ANN = PEOPLE["ann"]
END = {"completed_at": "2027-01-01T00:00:00Z", "result": b'"ok"'}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the list of the cards that were drawn since it was last cleared."""
    names: list[str] = []
    original = cards.invocation_card

    def counted(record: Any, **facts: Any) -> Any:
        names.append(record.id)
        return original(record, **facts)

    monkeypatch.setattr(cards, "invocation_card", counted)
    return names


async def test_one_event_in_a_task_of_many_calls_draws_one_card(drawn: list[str]):
    async with a_house() as house:
        names = [f"inv_{number}" for number in range(200)]
        await _a_run(house.desk, "task_a", names)
        boards = Boards(house.desk.place)
        await boards.task_card("task_a", ANN)
        for number, (name, kind) in enumerate(
            [("inv_7", Kind.OUTPUT), ("inv_7", Kind.OUTPUT), ("inv_7", Kind.PROGRESS), ("inv_7", Kind.SUCCEEDED)]
        ):
            drawn.clear()
            before = await house.desk.ledger.head()
            await _say(house.desk, "task_a", name, kind, number, **(END if kind is Kind.SUCCEEDED else {"order": number, "output": b'"x"'}))
            told = await boards.draw(ANN, await house.desk.ledger.read(after=before))
            assert drawn == [name]
            heads = [what for what, _, _ in told if what == "task"]
            assert len(heads) == (kind is Kind.SUCCEEDED or number == 0), "the task's own line changes when its state can"


async def test_only_news_is_read(monkeypatch: pytest.MonkeyPatch):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a", "inv_b"])
        boards = Boards(house.desk.place)
        await boards.task_card("task_a", ANN)
        head, original, read = await house.desk.ledger.head(), house.desk.ledger.read, list[int]()

        async def noting(**facts: Any) -> Any:
            found = await original(**facts)
            read.append(len(found))
            return found

        monkeypatch.setattr(house.desk.ledger, "read", noting)
        await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1)
        await boards.draw(ANN, await original(after=head))
        await boards.task_card("task_a", ANN)
        assert read == [1]


@dataclass
class _Anything:
    """Somebody who does anything to a task, in an order that chance decides."""

    desk: tw.Desk
    task: tw.TaskHandle
    search: Any
    pay: Any
    chance: random.Random
    calls: list[tw.Call] = field(default_factory=list)

    async def act(self, number: int) -> None:
        """Do one thing; what policy refuses is on record too."""
        view = await self.desk.ledger.task(self.task.id)
        names = list(view.records) if view else []
        what = self.chance.choice(["search", "pay", "wait", "retry", "approve", "deny", "waive"])
        if what == "search" or not names:
            self.calls.append(self.task.call(self.search, number=number, purpose=f"Search {number}"))
        elif what == "pay":
            self.calls.append(self.task.call(self.pay, total="1.00", purpose=f"Pay {number}"))
        elif what == "wait":
            self.calls.append(self.task.call(self.search, number=number, depends_on=[self.chance.choice(names)], purpose=f"After {number}"))
        else:
            with suppress(tw.ToolwitnessError):
                await self._decide(what, self.chance.choice(names))

    async def _decide(self, what: str, name: str) -> None:
        if what == "waive":
            await self.desk.waive(self.task.id, name, by=ANN, reason="not needed")
        else:
            await getattr(self.desk, what)(name, by=ANN)


@pytest.mark.parametrize("seed", range(6))
async def test_whoever_is_told_every_change_holds_what_a_fresh_reading_shows(seed: int):
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated, and guards nothing
    async with a_house() as house:
        desk, boards = house.desk, Boards(house.desk.place)

        @desk.tool(consequences=[tw.READ_ONLY], retry_attempts=9, retry_categories=["down"])
        async def search(number: int) -> int:
            if chance.random() < 0.6:
                raise tw.ToolFailure("down", "Down.", retryable="yes")
            return number

        @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
        async def pay(total: str) -> str:
            return total

        held: dict[str, Any] = {}
        heads: list[dict[str, Any]] = []
        position = 0
        async with desk.task("Everything") as task:
            somebody = _Anything(desk, task, search, pay, chance)
            for number in range(60):
                if number < 40:
                    await somebody.act(number)
                await asyncio.sleep(0)
                if batch := await desk.ledger.read(after=position):
                    position = batch[-1].position
                    told = await boards.draw(ANN, batch)
                    held |= {document["id"]: document for name, _, document in told if name == "card"}
                    heads += [document for name, _, document in told if name == "task"]
            assert position == await desk.ledger.head(), "everything has come to rest"
            fresh = await Boards(desk.place).task_card(task.id, ANN)
        assert len(fresh["cards"]) > 5
        assert [held[card["id"]] for card in fresh["cards"]] == fresh["cards"]
        assert {**heads[-1], "cards": 0, "version": 0} == {**fresh, "cards": 0, "version": 0}


async def test_the_inbox_holds_what_asks_a_person_whatever_its_state():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        await _a_run(house.desk, "task_a", ["inv_a"])
        asked = {"approval_id": "apr_1", "consequence_summary": "x", "authority": "x", "authorization_owner": "x", "scope": "x"}
        await _ask(house.desk, "task_a", "inv_a", asked)
        inbox = await Boards(house.desk.place).inbox(ANN)
        assert {card["id"] for card in inbox["items"]} >= {booking.waiting}
        assert await Boards(house.desk.place).waiting_count(ANN) == 2


async def _ask(desk: tw.Desk, task: str, invocation: str, data: dict[str, str]) -> None:
    """Let policy ask for an approval while a call runs elsewhere."""

    said = Event(
        kind=Kind.APPROVAL_REQUESTED, source="toolwitness:service", id="ask-1", task_id=task, invocation_id=invocation, owner=Owner.POLICY,
        data=data,
    )  # fmt: skip  # facts in lines
    await desk.ledger.append(task, [Draft(event=said)])


async def test_what_was_drawn_ahead_of_its_batch_is_not_drawn_again(drawn: list[str]):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a", "inv_b"])
        boards, kept = Boards(house.desk.place), dict[str, int]()
        head = await house.desk.ledger.head()
        for number, name in enumerate(["inv_a", "inv_b", "inv_a", "inv_b"]):
            await _say(house.desk, "task_a", name, Kind.OUTPUT, number, order=number, output=b'"x"')
        late = await house.desk.ledger.read(after=head)
        drawn.clear()
        told = [[name for name, _, _ in await boards.draw(ANN, [one], drawn=kept)] for one in late]
        assert sorted(drawn) == ["inv_a", "inv_b"]
        assert [bool(names) for names in told] == [True, False, False, False]
