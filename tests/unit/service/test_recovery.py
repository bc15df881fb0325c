"""Recovery at a desk, on every ledger: what changed voids an approval, the other side is asked, an undoing is settled, a key is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, BOB, EVE, events, kinds, until, until_state
from toolwitness.bootstrap.task import TaskHandle
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.lineage import idempotency_key as key_of
from toolwitness.core.states import Owner, Reconciliation
from toolwitness.core.verdicts import Verdict
from toolwitness.policy.provider import Attempt
from toolwitness.ports import Draft
from toolwitness.runtime import asking
from toolwitness.runtime.context import idempotency_key
from toolwitness.service import views
from toolwitness.service.record import Registration
from toolwitness.testing.clock import FakeClock


@dataclass
class World:
    """What the tools of a hotel really find and do."""

    version: str = "v7"
    price: str = "412.50"
    booked: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    asked: list[Attempt] = field(default_factory=list)
    answer: Any = "happened"
    breaks: str = ""
    leaves_open: tuple[str, ...] = ()
    times_out: bool = False
    looks: int = 0

    def target(self, room: str) -> str:
        self.looks += 1
        if self.breaks == "target":
            raise OSError("the register is not there")
        return f"{room}@{self.version}"

    async def quote(self, room: str) -> dict[str, str]:
        if self.breaks == "quote":
            raise OSError("no prices today")
        return {"amount": self.price, "currency": "EUR", "board": "breakfast"}

    async def reconcile(self, attempt: Attempt) -> Any:
        self.asked.append(attempt)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class Hotel:
    """A desk with tools of a hotel, and an open task."""

    desk: tw.Desk
    clock: FakeClock
    world: World
    task: TaskHandle
    tools: dict[str, Callable[..., Any]]

    async def asked(self, tool: str = "book", room: str = "12") -> str:
        """Make a call and give its id when its approval is asked for."""
        call = self.task.call(self.tools[tool], room=room)
        invocation_id = await call.invocation_id()
        await until_state(self.desk, invocation_id, tw.State.AWAITING_APPROVAL)
        return invocation_id

    async def done(self, tool: str = "book") -> str:
        """Make a call, approve it, and give its id when it has succeeded."""
        one = await self.asked(tool)
        await self.desk.approve(one, by=ANN)
        await until_state(self.desk, one, tw.State.SUCCEEDED)
        return one

    async def doubtful(self, **more: Any) -> str:
        """Let a booking time out, so that nobody knows whether it was made."""
        self.world.times_out = True
        one = await self.asked(**more)
        await self.desk.approve(one, by=ANN)
        await until_state(self.desk, one, tw.State.FAILED)
        self.world.times_out = False
        return one


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of each kind of ledger."""
    return "memory:" if request.param == "memory" else str(tmp_path / "calls.db")


@asynccontextmanager
async def a_hotel(url: str, *, inverse: tw.Inverse | None = None, **policy: Any) -> AsyncIterator[Hotel]:
    """Open a desk whose booking watches target and price, can be undone, and can be asked about."""
    world, clock = World(), FakeClock()
    async with tw.open(url, clock=clock, sweep_seconds=3600) as desk:
        declared: dict[str, Any] = {
            "consequences": [tw.EXTERNALLY_VISIBLE, tw.FINANCIAL], "approvers": ["role:finance"],
            "inverse": inverse or tw.Inverse(tool="cancel_booking", window_seconds=3600, verified_by="a test"), "retry_attempts": 5,
            "target": world.target, "quote": world.quote, "reconcile": world.reconcile,
        }  # fmt: skip  # facts in lines

        @desk.tool(**{**declared, **policy})
        async def book(room: str) -> str:
            world.keys.append(idempotency_key())
            if world.times_out:
                raise TimeoutError("no answer")
            world.booked.append(room)
            return f"booked {room}"

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def cancel_booking(room: str) -> str:
            if world.times_out:
                raise TimeoutError("no answer")
            world.cancelled.append(room)
            if world.leaves_open:
                await tw.part_completed("the room", open=world.leaves_open)
            return f"cancelled {room}"

        async with desk.task("A night") as task:
            yield Hotel(desk, clock, world, task, {"book": book, "cancel_booking": cancel_booking})


async def answered_by(desk: tw.Desk, one: str, kind: str) -> list[dict[str, Any]]:
    """Give the fields of the events of a kind about a call."""
    return [dict(recorded.event.data) for recorded in await events(desk, one) if recorded.event.kind == kind]


# ── what it is about ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_as_it_was_approved_runs_once_and_the_request_says_what_was_read(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.done()
        [asked] = await answered_by(hotel.desk, one, Kind.APPROVAL_REQUESTED)
        assert asked["looked"] == {"target": "12@v7", "price": {"amount": "412.50", "currency": "EUR", "board": "breakfast"}}
        assert "target as read now: 12@v7; price as read now: 412.50 EUR; board: breakfast" in asked["scope"]
        assert (hotel.world.booked, hotel.world.looks) == (["12"], 2)


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ({"version": "v8"}, "target-changed", "target 12@v7 → 12@v8"),
        ({"price": "450.00"}, "price-changed", "amount 412.50 → 450.00"),
    ],
)
async def test_what_changed_since_the_request_voids_it_and_asks_anew_with_old_and_new(
    url: str, change: dict[str, str], rule: str, words: str
):
    async with a_hotel(url) as hotel:
        one = await hotel.asked()
        vars(hotel.world).update(change)
        await hotel.desk.approve(one, by=ANN)

        async def anew() -> bool:
            return (await kinds(hotel.desk, one)).count(Kind.APPROVAL_REQUESTED) == 2

        await until(anew)
        [void] = await answered_by(hotel.desk, one, Kind.APPROVAL_INVALIDATED)
        fresh = (await hotel.desk.record(one)).open_approval
        assert fresh is not None
        assert (void["rule"], hotel.world.booked) == (rule, [])
        assert words in void["reason"]
        assert f"changed since the last request: {words}" in fresh.data["scope"]
        card = await views.card(hotel.desk.place, one, ANN)
        assert words in str(card), "the card says what changed"
        with pytest.raises(tw.NotPermitted) as stale:
            await hotel.desk.approve(one, by=BOB, approval_id=void["approval_id"])
        assert stale.value.facts["rule"] in {"already-answered", "superseded"}
        await hotel.desk.approve(one, by=BOB)
        await until_state(hotel.desk, one, tw.State.SUCCEEDED)
        assert hotel.world.booked == ["12"]


@pytest.mark.parametrize("what", ["target", "quote"])
async def test_what_cannot_be_read_before_the_start_is_not_started_and_the_approval_is_void(url: str, what: str):
    async with a_hotel(url) as hotel:
        one = await hotel.asked()
        hotel.world.breaks = what
        await hotel.desk.approve(one, by=ANN)

        async def void() -> list[dict[str, Any]]:
            return await answered_by(hotel.desk, one, Kind.APPROVAL_INVALIDATED)

        [why] = await until(void)
        assert why["rule"] == {"target": "target-unread", "quote": "price-unread"}[what]
        assert "OSError" in why["reason"]
        assert hotel.world.booked == []
        with pytest.raises(tw.NotPermitted) as still:
            await hotel.desk.request_approval_again(one, by=ANN)
        assert still.value.facts["rule"] == why["rule"]
        hotel.world.breaks = ""
        await hotel.desk.request_approval_again(one, by=ANN)
        await hotel.desk.approve(one, by=ANN)
        await until_state(hotel.desk, one, tw.State.SUCCEEDED)


async def test_what_cannot_be_read_when_it_is_asked_about_is_refused_with_the_reason_and_can_be_submitted_again(url: str):
    async with a_hotel(url) as hotel:
        hotel.world.breaks = "target"
        call = hotel.task.call(hotel.tools["book"], room="12")
        one = await call.invocation_id()

        async def refused() -> bool:
            return Kind.REFUSED in await kinds(hotel.desk, one)

        await until(refused)
        record = await hotel.desk.record(one)
        assert (record.state, record.permission["rule"], record.approvals) == (tw.State.PROPOSED, "target-unread", [])
        await hotel.desk.submit(one)
        assert (await kinds(hotel.desk, one)).count(Kind.REFUSED) == 1, "the same refusal is not said twice"
        hotel.world.breaks = ""
        await hotel.desk.submit(one)
        await hotel.desk.approve(one, by=ANN)
        assert (await call).value == "booked 12"


async def test_a_function_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    async def silent(room: str) -> str:
        await asyncio.Event().wait()
        return room

    monkeypatch.setattr("toolwitness.runtime.tools.look", lambda *given, **named: asking.look(*given, **named, patience_seconds=0.01))
    async with a_hotel("memory:", target=silent) as hotel:
        one = await hotel.task.call(hotel.tools["book"], room="12").invocation_id()

        async def refused() -> bool:
            return Kind.REFUSED in await kinds(hotel.desk, one)

        await until(refused)
        assert "no answer in 0.01 seconds" in (await hotel.desk.record(one)).permission["reason"]


async def test_edited_inputs_are_looked_at_anew(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.asked()
        await hotel.desk.edit_inputs(one, {"room": "14"}, by=ANN)
        fresh = (await hotel.desk.record(one)).open_approval
        assert fresh is not None
        assert fresh.data["looked"]["target"] == "14@v7"
        await hotel.desk.approve(one, by=ANN)
        await until_state(hotel.desk, one, tw.State.SUCCEEDED)
        assert hotel.world.booked == ["14"]


def test_a_policy_file_that_wants_a_reading_which_no_function_gives_is_refused_at_the_tool(tmp_path: Path):
    file = tmp_path / "toolwitness.toml"
    file.write_text('[tools.wipe]\nconsequences = ["reversible"]\nread_again = ["target"]\n', encoding="utf-8")
    desk = tw.open("memory:", policy=file)
    with pytest.raises(tw.InvalidInput) as wrong:

        @desk.tool(consequences=[tw.REVERSIBLE])
        async def wipe(room: str) -> str:
            return room

    assert "target=" in wrong.value.remedy


async def test_a_cost_is_declared_at_the_tool(tmp_path: Path):
    file = tmp_path / "toolwitness.toml"
    file.write_text('[[budgets]]\nper = "task"\namount = "100"\ncurrency = "EUR"\n', encoding="utf-8")
    async with tw.open("memory:", policy=file, sweep_seconds=3600) as desk:

        @desk.tool(consequences=[tw.READ_ONLY], cost={"amount_field": "total", "currency": "EUR"})
        async def look_up(total: str) -> str:
            return total

        async with desk.task("Spend") as task:
            assert (await task.call(look_up, total="99")).kind == "ok"
            one = await task.call(look_up, total="2").invocation_id()

            async def refused() -> bool:
                return Kind.REFUSED in await kinds(desk, one)

            await until(refused)
            assert (await desk.record(one)).permission["rule"] == "budget"


# ── asking the other side ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "conclusion", "retried"),
    [
        ("happened", "happened", "outcome-unknown"),
        (("did-not-happen", "search 4"), "no-effect", ""),
        ({"happened": "partly", "detail": "one of two nights"}, "partial-effect", "outcome-unknown"),
    ],
)
async def test_what_the_other_side_says_is_recorded_and_closes_the_finding(url: str, answer: Any, conclusion: str, retried: str):
    async with a_hotel(url) as hotel:
        one = await hotel.doubtful()
        before = await hotel.desk.record(one)
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.retry(one, by=ANN)
        assert (no.value.facts["rule"], before.reconciliation) == ("outcome-unknown", Reconciliation.UNKNOWN)
        hotel.world.answer = answer
        after = (await hotel.desk.reconcile(one, by=EVE)).record
        said = after.reconciliations[-1].data
        assert (said["conclusion"], said["by"], said["asked_by"]) == (conclusion, "the reconcile function of book", "eve")
        assert (after.state, after.moves, after.reconciliation) == (before.state, before.moves, Reconciliation.RECONCILED)
        [attempt] = hotel.world.asked
        assert (attempt.invocation_id, attempt.attempt, attempt.inputs) == (one, 1, {"room": "12"})
        assert [attempt.idempotency_key] == hotel.world.keys
        if retried:
            with pytest.raises(tw.NotPermitted) as no:
                await hotel.desk.retry(one, by=ANN)
            assert no.value.facts["rule"] == retried
        else:
            again = (await hotel.desk.retry(one, by=ANN)).record
            assert (again.attempt, again.state) == (2, tw.State.AWAITING_APPROVAL)


@pytest.mark.parametrize("answer", ["unknown", ("unknown", "ticket 9"), OSError("the bank is closed"), None, "yes", {"happened": True}])
async def test_what_the_other_side_does_not_know_settles_nothing_and_is_on_record(url: str, answer: Any):
    async with a_hotel(url) as hotel:
        one = await hotel.doubtful()
        before = await hotel.desk.record(one)
        hotel.world.answer = answer
        receipt = await hotel.desk.reconcile(one, by=EVE)
        assert [(r.event.kind, r.verdict, r.reason.partition(":")[0]) for r in receipt.recorded] == [
            (Kind.RECONCILED, Verdict.REFUSED, "still-unknown")
        ]
        assert (receipt.record.reconciliation, receipt.record.findings.keys()) == (before.reconciliation, before.findings.keys())
        assert receipt.record.reconciliations == []
        with pytest.raises(tw.NotPermitted):
            await hotel.desk.retry(one, by=ANN)


async def test_what_a_late_report_settled_while_the_other_side_was_asked_is_not_settled_again(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.doubtful()

        async def slowly(attempt: Attempt) -> str:
            await hotel.desk.reconcile(one, "happened", by=BOB, reference="pay_1")
            return "did-not-happen"

        hotel.desk.place.providers["book"] = lambda attempt, _raw: asking.ask(slowly, attempt)
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.reconcile(one, by=EVE)
        record = await hotel.desk.record(one)
        assert (no.value.facts["rule"], [o.data["conclusion"] for o in record.reconciliations]) == ("nothing-in-doubt", ["happened"])


async def test_nobody_is_asked_where_nothing_is_in_doubt_and_who_cannot_ask_says_what_to_do(url: str):
    async with a_hotel(url) as hotel:
        fine = await hotel.done()
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.reconcile(fine, by=EVE)
        assert (no.value.facts["rule"], hotel.world.asked) == ("nothing-in-doubt", [])
        one = await hotel.doubtful()
        hotel.desk.place.providers.clear()
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.reconcile(one, by=EVE)
        assert no.value.facts["rule"] == "cannot-ask"
        assert "did-not-happen" in no.value.remedy


@pytest.mark.parametrize(("word", "conclusion"), [("happened", "happened"), ("did-not-happen", "no-effect"), ("partly", "partial-effect")])
async def test_a_person_says_it_in_the_same_words(url: str, word: str, conclusion: str):
    async with a_hotel(url) as hotel:
        one = await hotel.doubtful()
        after = (await hotel.desk.reconcile(one, word, by=BOB, reference="pay_1", detail="seen in the list")).record
        said = after.reconciliations[-1].data
        assert (said["conclusion"], said["by"], said["reference"], said["detail"]) == (conclusion, "bob", "pay_1", "seen in the list")


@pytest.mark.parametrize(("conclusion", "more"), [("", {"reference": "pay_1"}), ("", {"detail": "x"}), (" ", {}), ("unknown", {})])
async def test_half_a_conclusion_is_none(conclusion: str, more: dict[str, str]):
    async with a_hotel("memory:") as hotel:
        one = await hotel.doubtful()
        with pytest.raises(tw.InvalidInput):
            await hotel.desk.reconcile(one, conclusion, by=BOB, **more)
        assert hotel.world.asked == []


async def test_a_call_with_which_contact_was_lost_is_tried_again_once_it_is_known_that_nothing_happened(url: str):
    async with a_hotel(url, target=None, quote=None) as hotel:
        hotel.desk.register.add(Registration(source="watch", principal="watch"))
        gate = asyncio.Event()

        @hotel.desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="the mandate of 2026", retry_attempts=2)
        async def post(text: str) -> str:
            await gate.wait()
            return text

        one = await hotel.task.call(post, text="x").invocation_id()
        await until_state(hotel.desk, one, tw.State.RUNNING)
        record = await hotel.desk.record(one)
        lost = Event(
            kind=Kind.LOST, source="watch", id="w1", task_id=record.task_id, invocation_id=one, owner=Owner.RUNTIME, data={"reason": "gone"}
        )
        await hotel.desk.observe([Draft(event=lost)], by="watch")
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.retry(one, by=ANN)
        assert no.value.facts["rule"] == "outcome-unknown"
        assert "may still be running" in str(no.value)
        await hotel.desk.reconcile(one, "did-not-happen", by=BOB, detail="nothing was posted")
        again = (await hotel.desk.retry(one, by=ANN)).record
        assert (again.attempt, again.proposal["retry_of"]) == (2, one)
        assert (await hotel.desk.record(one)).state is tw.State.RUNNING, "the attempt is not rewritten"
        gate.set()
        await until_state(hotel.desk, again.id, tw.State.SUCCEEDED)


# ── undoing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def undone(hotel: Hotel, one: str) -> str:
    """Ask for the reversal of a call, approve it, and give its id."""
    reversal = (await hotel.desk.reverse(one, by=ANN, reason="the trip is off")).record
    assert (reversal.state, reversal.tool, reversal.proposal["reverses"]) == (tw.State.AWAITING_APPROVAL, "cancel_booking", one)
    return reversal.id


async def test_a_verified_inverse_that_succeeds_whole_undoes_it_and_both_point_to_each_other(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.done()
        other = await undone(hotel, one)
        waiting = await hotel.desk.record(one)
        assert Code.REVERSAL_UNSETTLED in waiting.findings
        assert (waiting.state, waiting.reversed_by) == (tw.State.SUCCEEDED, other)
        await hotel.desk.approve(other, by=BOB)

        async def settled() -> bool:
            return bool((await hotel.desk.record(one)).reconciliations)

        await until(settled)
        after = await hotel.desk.record(one)
        said = after.reconciliations[-1].data
        assert (said["conclusion"], said["reference"], hotel.world.cancelled) == ("reversed", other, ["12"])
        assert (after.state, after.moves) == (waiting.state, waiting.moves)
        assert Code.REVERSAL_UNSETTLED not in after.findings
        there, back = [await views.card(hotel.desk.place, call, ANN) for call in (one, other)]
        assert [claim["target"] for claim in there["lineage"]] == [other]
        assert [claim["target"] for claim in back["lineage"]] == [one]
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.reverse(one, by=ANN)
        assert no.value.facts["rule"] == "already-reversed"


@pytest.mark.parametrize("how", ["open parts", "leaves", "fails"])
async def test_what_is_undone_in_part_stays_with_its_finding_until_somebody_reconciles_it(url: str, how: str):
    leaves = "the cancellation fee" if how == "leaves" else ""
    async with a_hotel(url, inverse=tw.Inverse(tool="cancel_booking", verified_by="a test", leaves=leaves)) as hotel:
        one = await hotel.done()
        other = await undone(hotel, one)
        if how == "open parts":
            hotel.world.leaves_open = ("the breakfast",)
        hotel.world.times_out = how == "fails"
        await hotel.desk.approve(other, by=BOB)
        await until_state(hotel.desk, other, tw.State.FAILED if how == "fails" else tw.State.SUCCEEDED)
        hotel.world.times_out = False
        marker = await hotel.done()  # what is recorded after it has been acted on after it
        assert marker
        record, reversal = await hotel.desk.record(one), await hotel.desk.record(other)
        assert Code.REVERSAL_UNSETTLED in record.findings
        assert record.reconciliations == []
        if how == "open parts":
            assert reversal.open_parts == ("the breakfast",)
        if how == "leaves":
            assert "the cancellation fee stays" in reversal.proposal["purpose"]
        after = (await hotel.desk.reconcile(one, "partly", by=BOB, detail="the fee stays", reference="case 7")).record
        assert Code.REVERSAL_UNSETTLED not in after.findings
        assert after.state is tw.State.SUCCEEDED


async def test_an_undoing_that_is_denied_has_undone_nothing(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.done()
        other = await undone(hotel, one)
        await hotel.desk.deny(other, by=BOB, reason="keep it")

        async def settled() -> bool:
            return bool((await hotel.desk.record(one)).reconciliations)

        await until(settled)
        said = (await hotel.desk.record(one)).reconciliations[-1].data
        assert (said["conclusion"], hotel.world.cancelled) == ("as-reported", [])
        again = (await hotel.desk.resubmit(other, by=ANN)).record
        assert (again.proposal["reverses"], again.proposal["replaces"]) == (one, other)
        await hotel.desk.approve(again.id, by=BOB)

        async def reversed_now() -> bool:
            return (await hotel.desk.record(one)).reconciliations[-1].data["conclusion"] == "reversed"

        await until(reversed_now)
        assert hotel.world.cancelled == ["12"]


async def test_after_its_window_it_is_not_undone(url: str):
    async with a_hotel(url) as hotel:
        one = await hotel.done()
        hotel.clock.advance(3601)
        with pytest.raises(tw.NotPermitted) as no:
            await hotel.desk.reverse(one, by=ANN)
        assert no.value.facts["rule"] == "window"
        assert Code.REVERSAL_UNSETTLED not in (await hotel.desk.record(one)).findings, "a refused request is no request"


async def test_a_process_that_knows_neither_tool_has_it_undone_under_the_recorded_policy(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_hotel(url) as hotel, tw.open(url, clock=hotel.clock, sweep_seconds=3600) as elsewhere:
        one = await hotel.done()
        reversal = (await elsewhere.reverse(one, by=ANN)).record
        assert (reversal.state, reversal.proposal["policy_version"]) == (
            tw.State.AWAITING_APPROVAL, hotel.desk.place.policies["cancel_booking"].version,
        )  # fmt: skip  # facts in lines
        await elsewhere.approve(reversal.id, by=BOB)
        await until_state(hotel.desk, reversal.id, tw.State.SUCCEEDED)
        assert hotel.world.cancelled == ["12"]


async def test_an_inverse_that_nobody_here_knows_is_not_proposed_under_a_guess(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_hotel(url) as hotel, tw.open(url, clock=hotel.clock, sweep_seconds=3600) as elsewhere:
        hotel.desk.place.policies.pop("cancel_booking")
        one = await hotel.done()
        with pytest.raises(tw.NotPermitted) as no:
            await elsewhere.reverse(one, by=ANN)
        assert no.value.facts["rule"] == "inverse-unknown"
        assert "policy file" in no.value.remedy
        record = await hotel.desk.record(one)
        assert (record.reversed_by, Code.REVERSAL_UNSETTLED in record.findings) == ("", False)


# ── proposed elsewhere ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_retry_that_another_process_proposes_is_looked_at_where_the_tool_is(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_hotel(url, idempotency="keyed") as hotel, tw.open(url, clock=hotel.clock, sweep_seconds=3600) as elsewhere:
        one = await hotel.doubtful()
        again = (await elsewhere.retry(one, by=ANN)).record
        await until_state(hotel.desk, again.id, tw.State.AWAITING_APPROVAL)
        fresh = (await hotel.desk.record(again.id)).open_approval
        assert fresh is not None
        assert fresh.data["looked"]["target"] == "12@v7"
        await elsewhere.edit_inputs(again.id, {"room": "14"}, by=ANN)

        async def looked_anew() -> bool:
            waiting = (await hotel.desk.record(again.id)).open_approval
            return waiting is not None and waiting.data["looked"]["target"] == "14@v7"

        await until(looked_anew)
        await elsewhere.approve(again.id, by=BOB)
        await until_state(hotel.desk, again.id, tw.State.SUCCEEDED)
        assert hotel.world.booked == ["14"]
        assert len(set(hotel.world.keys)) == 1, "one key over all attempts, edited or not"
        view = await hotel.desk.ledger.task(hotel.task.id)
        assert {key_of(record, view.records) for record in view.records.values()} == set(hotel.world.keys)


async def test_who_does_not_host_the_tool_cannot_ask_again_for_what_it_cannot_read(tmp_path: Path):
    url = str(tmp_path / "calls.db")
    async with a_hotel(url) as hotel, tw.open(url, clock=hotel.clock, sweep_seconds=3600) as elsewhere:
        one = await hotel.asked()
        hotel.world.breaks = "target"
        await elsewhere.approve(one, by=ANN)

        async def void() -> bool:
            return Kind.APPROVAL_INVALIDATED in await kinds(hotel.desk, one)

        await until(void)
        with pytest.raises(tw.NotPermitted) as no:
            await elsewhere.request_approval_again(one, by=ANN)
        assert no.value.facts["rule"] == "not-looked"


def test_outside_a_body_there_is_no_key():
    assert idempotency_key() == ""
