"""The conformance suite of the ledger port: a ledger that passes it can stand under everything else.

Subclass ``LedgerContract`` in a test module, give it ``open_ledger``, and let pytest (with pytest-asyncio in ``auto`` mode) collect it::

    class TestMyLedger(LedgerContract):
        async def open_ledger(self):
            return MyLedger()
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from toolwitness.core.errors import Conflict, InvalidInput, OnceKeyTaken
from toolwitness.core.evidence import Kind
from toolwitness.core.invocation import fold, judge
from toolwitness.core.states import Owner, State
from toolwitness.core.verdicts import Verdict
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.testing.ledger_values import OpenLedger, ValuesContract, opened, output, proposed, said


async def first_batches(follower: AsyncIterator[Sequence[Recorded]], *, until: int) -> list[int]:
    """Read positions from a follower until ``until`` has come."""
    positions: list[int] = []
    async for batch in follower:
        positions += [recorded.position for recorded in batch]
        if positions[-1] >= until:
            break
    return positions


class LedgerContract(ValuesContract):
    """What every ledger promises (``ports.Ledger``, design rules R2, R6 and R12)."""

    async def open_ledger(self) -> OpenLedger:
        """Give a new, empty ledger."""
        raise NotImplementedError

    @pytest.fixture
    async def ledger(self) -> AsyncIterator[OpenLedger]:
        """An open ledger that is verified and closed after the test."""
        ledger = await self.open_ledger()
        yield ledger
        problems = await ledger.verify()
        await ledger.close()
        assert list(problems) == []

    async def test_an_empty_ledger_is_empty_and_good(self, ledger: OpenLedger) -> None:
        """Nothing is there, and nothing is wrong."""
        actual = (
            await ledger.head(),
            list(await ledger.read()),
            await ledger.task("task_1"),
            await ledger.find("inv_1"),
            list(await ledger.tasks()),
        )
        assert actual == (0, [], None, None, [])

    async def test_what_is_appended_is_answered_and_read_alike(self, ledger: OpenLedger) -> None:
        """The answer to an append is what is read ever after."""
        answers = [*await ledger.append("task_1", [opened(), proposed()]), *await ledger.append("task_1", [output(0)])]
        actual = list(await ledger.read())
        assert actual == answers
        assert [(r.position, r.task_sequence, r.verdict, r.state) for r in actual] == [
            (1, 1, Verdict.NOTED, None),
            (2, 2, Verdict.MOVED, State.PROPOSED),
            (3, 3, Verdict.MOVED, State.STREAMING),
        ]
        assert actual[1].row == "proposal"
        assert actual[1].basis == "expected"

    async def test_a_task_is_the_fold_of_its_events(self, ledger: OpenLedger) -> None:
        """A view holds what folding the recorded events gives."""
        await ledger.append("task_1", [opened(), proposed(), proposed("other", about="inv_2")])
        await ledger.append("task_1", [output(0), output(1)])
        view = await ledger.task("task_1")
        assert view is not None
        events = [r.event for r in await ledger.read(invocation_id="inv_1")]
        expected = fold("inv_1", events)
        actual = view.records["inv_1"]
        assert (actual.state, actual.version, actual.state_refs, actual.inputs) == (
            expected.state, expected.version, expected.state_refs, expected.inputs,
        )  # fmt: skip  # expected beside actual
        assert (list(view.records), view.sequence, view.task.purpose) == (["inv_1", "inv_2"], 5, "to see")

    async def test_a_view_is_the_callers_own(self, ledger: OpenLedger) -> None:
        """What a caller does to its records changes nothing, and what is recorded later does not change them."""
        await ledger.append("task_1", [opened(), proposed()])
        view, twin = await ledger.task("task_1"), await ledger.task("task_1")
        assert view is not None
        assert twin is not None
        await ledger.append("task_1", [output(0)])
        judge(view.records["inv_1"], said(Kind.FAILED, "mine", data={"category": "x", "detail": "y", "evidence_ref": "z"}).event)
        view.task.waived["inv_1"] = view.records["inv_1"].state_refs[0]
        now = await ledger.task("task_1")
        assert now is not None
        assert (view.records["inv_1"].state, view.sequence) == (State.FAILED, 2)
        assert (twin.records["inv_1"].state, twin.task.waived, twin.sequence) == (State.PROPOSED, {}, 2)
        assert (now.records["inv_1"].state, now.task.waived, now.sequence) == (State.STREAMING, {}, 3)

    async def test_a_repetition_is_counted_and_not_appended(self, ledger: OpenLedger) -> None:
        """The same source, id and content is answered as first recorded, with the verdict ``duplicate``."""
        first = (await ledger.append("task_1", [proposed()]))[0]
        again = await ledger.append("task_1", [proposed(), output(0), output(0)])
        actual = [(r.position, r.verdict) for r in again]
        assert actual == [(1, Verdict.DUPLICATE), (2, Verdict.MOVED), (2, Verdict.DUPLICATE)]
        assert (again[0].event, again[0].hash) == (first.event, first.hash)
        assert (await ledger.head(), ledger.duplicates) == (2, 2)

    async def test_a_repetition_is_known_in_another_task_and_after_others(self, ledger: OpenLedger) -> None:
        """A repetition conflicts with nothing, however long ago the first was."""
        await ledger.append("task_1", [proposed()], expected_sequence=0)
        await ledger.append("task_1", [output(0)])
        again = await ledger.append("task_1", [proposed()], expected_sequence=0)
        assert [r.verdict for r in again] == [Verdict.DUPLICATE]

    async def test_an_id_reused_with_other_content_is_kept_as_refused(self, ledger: OpenLedger) -> None:
        """The second content is on record, believed by nobody, once; its value has a reference of its own."""
        await ledger.append("task_1", [proposed()])
        other = proposed(inputs=b'{"city":"Oslo"}')
        answers = [(await ledger.append("task_1", [other]))[0] for _ in range(2)]
        third = (await ledger.append("task_1", [proposed(inputs=b"{}")]))[0]
        actual = [(r.position, r.verdict) for r in (*answers, third)]
        assert actual == [(2, Verdict.REFUSED), (2, Verdict.DUPLICATE), (3, Verdict.REFUSED)]
        assert answers[0].event.refusal.startswith("id-reused: ")
        values = [await ledger.value(r.event.data["inputs"]["ref"]) for r in await ledger.read()]
        assert values == [b'{"city":"Bergen"}', b'{"city":"Oslo"}', b"{}"]
        view = await ledger.task("task_1")
        assert view is not None
        assert view.records["inv_1"].inputs == (await ledger.read())[0].event.data["inputs"]

    async def test_an_id_reused_in_another_task_is_refused_there(self, ledger: OpenLedger) -> None:
        """Ids are unique in their source, whatever the task."""
        await ledger.append("task_1", [proposed()])
        answer = (await ledger.append("task_2", [proposed(task="task_2", about="inv_9")]))[0]
        assert (answer.verdict, answer.task_sequence, answer.position) == (Verdict.REFUSED, 1, 2)

    async def test_an_id_reused_inside_one_append_is_refused(self, ledger: OpenLedger) -> None:
        """Drafts of one append are compared with one another as with what is recorded."""
        answers = await ledger.append("task_1", [output(0, "same"), output(1, "same"), output(0, "same")])
        assert [(r.position, r.verdict) for r in answers] == [(1, Verdict.MOVED), (2, Verdict.REFUSED), (1, Verdict.DUPLICATE)]

    async def test_an_expected_sequence_that_is_past_conflicts_and_writes_nothing(self, ledger: OpenLedger) -> None:
        """A command that decided on an old reading must decide anew."""
        await ledger.append("task_1", [opened(), proposed()], expected_sequence=0)
        with pytest.raises(Conflict) as caught:
            await ledger.append("task_1", [output(0)], expected_sequence=1)
        assert (caught.value.facts["actual"], await ledger.head()) == (2, 2)
        await ledger.append("task_1", [output(0)], expected_sequence=2)

    async def test_a_once_key_is_taken_once_and_the_winner_is_named(self, ledger: OpenLedger) -> None:
        """The loser of a race is told who won; nothing of its append is written, and the answer to the winner's own retry stays."""
        await ledger.append("task_1", [proposed()])
        claim = said(Kind.CLAIMED, "first", data={"permit": "prm_1", "attempt": 1}, once_key="dispatch:inv_1")
        winner = (await ledger.append("task_1", [claim]))[0]
        with pytest.raises(OnceKeyTaken) as caught:
            await ledger.append(
                "task_1", [output(0), said(Kind.CLAIMED, "second", data={"permit": "prm_2", "attempt": 1}, once_key="dispatch:inv_1")]
            )
        assert (caught.value.winner, await ledger.head()) == (winner, 2)
        assert [r.verdict for r in await ledger.append("task_1", [claim])] == [Verdict.DUPLICATE]

    async def test_a_refused_event_takes_no_once_key(self, ledger: OpenLedger) -> None:
        """A decision that was refused when it came stands in nobody's way."""
        decision = {"actor": "a", "approval_id": "x"}
        refusal = said(Kind.GRANTED, "refused", owner=Owner.USER, data=decision, once_key="answer:x", refusal="role: no")
        taken = output(0, once_key="answer:x")
        answers = [(await ledger.append("task_1", [draft]))[0].verdict for draft in (refusal, taken, replace_id(refusal, "again"))]
        assert answers == [Verdict.REFUSED, Verdict.MOVED, Verdict.REFUSED]

    async def test_two_takers_in_one_append_are_invalid(self, ledger: OpenLedger) -> None:
        """Which of the two should win is the caller's to decide."""
        drafts = [said(Kind.CLAIMED, name, data={"permit": name, "attempt": 1}, once_key="k") for name in ("a", "b")]
        with pytest.raises(InvalidInput):
            await ledger.append("task_1", drafts)
        assert await ledger.head() == 0

    async def test_an_observation_is_never_refused_by_the_ledger(self, ledger: OpenLedger) -> None:
        """Unknown words, wrong speakers, lacking and unreadable fields: kept, each with its verdict and reason."""
        answers = await ledger.append(
            "task_1",
            [
                said("execution.exploded", "unknown"),
                said(Kind.GRANTED, "speaker", data={"actor": "a", "approval_id": "x"}),
                said(Kind.PROGRESS, "lacking"),
                said(Kind.PROGRESS, "unreadable", data={"order": "first"}),
                said(Kind.OUTPUT, "held", data={"order": 0}, sequence=3),
            ],
        )
        assert [r.verdict for r in answers] == [Verdict.NOTED, Verdict.REFUSED, Verdict.NOTED, Verdict.NOTED, Verdict.HELD]
        assert all(r.reason for r in answers)

    async def test_an_invocation_belongs_to_the_task_that_named_it_first(self, ledger: OpenLedger) -> None:
        """What another task says about it is kept there as refused and moves nothing."""
        await ledger.append("task_1", [proposed()])
        answer = (await ledger.append("task_2", [output(0, task="task_2")]))[0]
        first, second = await ledger.task("task_1"), await ledger.task("task_2")
        assert first is not None
        assert second is not None
        assert (answer.verdict, answer.reason.split(":")[0], await ledger.find("inv_1")) == (Verdict.REFUSED, "other-task", "task_1")
        assert (first.records["inv_1"].state, list(second.records)) == (State.PROPOSED, [])

    @pytest.mark.parametrize(
        ("fields", "place"),
        [
            ({"data": {"amount": 4.5}}, "/data/amount"),
            ({"data": {"a": [{"b": {1}}]}}, "/data/a/0/b"),
            ({"data": {"n": 2**60}}, "/data/n"),
            ({"data": {"text": "\ud800"}}, "/data/text"),
            ({"data": {1: "x"}}, "/data"),
            ({"sequence": -1}, "/sequence"),
            ({"source": ""}, "/source"),
            ({"time": 5}, "/time"),
        ],
    )
    async def test_what_is_not_plain_json_is_invalid_by_name(self, ledger: OpenLedger, fields: dict[str, Any], place: str) -> None:
        """The place is named and nothing is written."""
        with pytest.raises(InvalidInput) as caught:
            await ledger.append("task_1", [output(0), said(Kind.HEARTBEAT, "bad", **fields)])
        assert (caught.value.facts["field"], await ledger.head()) == (place, 0)

    async def test_an_event_of_another_task_is_invalid(self, ledger: OpenLedger) -> None:
        """An append is about one task."""
        with pytest.raises(InvalidInput):
            await ledger.append("task_2", [output(0)])

    async def test_reading_selects_by_place_task_and_invocation(self, ledger: OpenLedger) -> None:
        """Every selection is in order of position."""
        await ledger.append("task_1", [opened(), proposed()])
        await ledger.append("task_2", [output(0, "two", task="task_2", about="inv_2")])
        await ledger.append("task_1", [output(0), output(1)])
        reads = [
            await ledger.read(after=2),
            await ledger.read(after=1, limit=2),
            await ledger.read(task_id="task_1", limit=3),
            await ledger.read(task_id="task_1", after=2),
            await ledger.read(invocation_id="inv_1", after=2, limit=1),
            await ledger.read(task_id="task_3"),
            await ledger.read(after=5),
        ]
        assert [[r.position for r in found] for found in reads] == [[3, 4, 5], [2, 3], [1, 2, 4], [4, 5], [4], [], []]

    async def test_lists_name_tasks_and_states(self, ledger: OpenLedger) -> None:
        """Tasks come most recently touched first; a state row carries place and version."""
        await ledger.append("task_1", [opened(tenant="a"), proposed(tenant="a")])
        await ledger.append("task_2", [proposed("two", task="task_2", about="inv_2", tenant="b")])
        await ledger.append("task_1", [output(0, tenant="a")])
        rows = await ledger.states(states=[State.STREAMING])
        assert [(r.invocation_id, r.task_id, r.tenant, r.state, r.version, r.position) for r in rows] == [
            ("inv_1", "task_1", "a", State.STREAMING, 2, 4)
        ]
        assert {r.invocation_id for r in await ledger.states()} == {"inv_1", "inv_2"}
        await ledger.append("task_2", [replace_refusal(output(1, "refused", task="task_2", about="inv_3"))])
        assert [(r.invocation_id, r.state) for r in await ledger.states(states=[None])] == [("inv_3", None)]
        lists = [list(await ledger.tasks()), list(await ledger.tasks(tenant="b")), list(await ledger.tasks(limit=1))]
        assert lists == [["task_2", "task_1"], ["task_2"], ["task_2"]]
        assert [await ledger.find(name) for name in ("inv_1", "inv_2", "inv_4")] == ["task_1", "task_2", None]

    async def test_a_follower_sees_everything_once_in_order(self, ledger: OpenLedger) -> None:
        """From the start, from the middle, and while others append."""
        await ledger.append("task_1", [opened(), proposed()])
        followers = [asyncio.ensure_future(first_batches(ledger.follow(after=after), until=12)) for after in (0, 1, 0)]
        for order in range(10):
            await ledger.append("task_1", [output(order)])
        actual = await asyncio.wait_for(asyncio.gather(*followers), 30)
        assert actual == [list(range(1, 13)), list(range(2, 13)), list(range(1, 13))]

    async def test_a_listener_hears_each_batch_until_it_is_removed(self, ledger: OpenLedger) -> None:
        """From its adding on, in order, and a listener that raises disturbs nobody."""
        heard: list[int] = []
        await ledger.append("task_1", [opened()])
        remove = ledger.add_listener(lambda batch: heard.extend(r.position for r in batch))
        await ledger.append("task_1", [proposed(), output(0)])
        remove()
        await ledger.append("task_1", [output(1)])
        assert heard == [2, 3]

    async def test_closing_ends_followers_and_refuses_appends(self) -> None:
        """A follower's loop ends; it does not hang."""
        ledger = await self.open_ledger()
        await ledger.append("task_1", [opened()])
        follower = asyncio.ensure_future(_all(ledger.follow()))
        await asyncio.sleep(0)
        await ledger.close()
        assert await asyncio.wait_for(follower, 30) in ([1], [])
        with pytest.raises(Exception, match="closed"):
            await ledger.append("task_1", [proposed()])

    async def test_concurrent_appends_to_one_task_make_one_chain(self, ledger: OpenLedger) -> None:
        """Sequences and positions have no holes, whoever came first."""
        answers = await asyncio.gather(*(ledger.append("task_1", [output(n, about=f"inv_{n % 7}")]) for n in range(60)))
        assert sorted(r[0].task_sequence for r in answers) == list(range(1, 61))
        assert [r.position for r in await ledger.read()] == list(range(1, 61))

    async def test_of_concurrent_commands_on_one_reading_exactly_one_wins(self, ledger: OpenLedger) -> None:
        """All the others are told to decide anew."""
        await ledger.append("task_1", [proposed()])
        answers = await asyncio.gather(
            *(ledger.append("task_1", [output(n, about="inv_1")], expected_sequence=1) for n in range(20)), return_exceptions=True
        )
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
        assert sum(isinstance(answer, Conflict) for answer in answers) == 19

    async def test_of_concurrent_decisions_each_is_made_on_what_all_before_it_wrote(self, ledger: OpenLedger) -> None:
        """Nobody conflicts, nothing is decided on a stale reading, and who decides on nothing writes nothing."""
        await ledger.append("task_1", [proposed()])

        def next_one(view: TaskView) -> Sequence[Draft]:
            return [output(view.sequence, about="inv_1")] if view.sequence <= 10 else []

        answers = await asyncio.gather(*(ledger.decide("task_1", next_one) for _ in range(20)))
        assert [answer[0].event.data["order"] for answer in answers if answer] == list(range(1, 11))
        assert await ledger.head() == 11

    async def test_a_decision_that_raises_writes_nothing_and_stops_nobody(self, ledger: OpenLedger) -> None:
        """Its caller gets the error as it is."""

        def no(_view: TaskView) -> Sequence[Draft]:
            raise InvalidInput("no")

        refused, kept = await asyncio.gather(ledger.decide("task_1", no), ledger.append("task_1", [proposed()]), return_exceptions=True)
        assert isinstance(refused, InvalidInput)
        assert not isinstance(kept, BaseException)
        assert await ledger.head() == 1


def replace_refusal(draft: Draft) -> Draft:
    """Give the same draft as one that nobody believes."""
    return replace(draft, event=replace(draft.event, refusal="speaker: nobody"))


def replace_id(draft: Draft, event_id: str) -> Draft:
    """Give the same draft under another id."""
    return replace(draft, event=replace(draft.event, id=event_id))


async def _all(follower: AsyncIterator[Sequence[Recorded]]) -> list[int]:
    return [recorded.position async for batch in follower for recorded in batch]
