"""What the guard of a body saw, as events: in order, each once, and never lost behind one that cannot be recorded."""

import asyncio
from datetime import UTC, datetime

import pytest

import toolwitness as tw
from tests.unit.runtime.failing import EVERYTHING, FailingLedger
from toolwitness.bootstrap.world import TimeOrderedIds
from toolwitness.core.errors import Unavailable
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import Verdict
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.ports import Recorded
from toolwitness.runtime.facts import (
    BodyLeft,
    CommitmentCrossed,
    EffectObserved,
    Ended,
    Ending,
    EndingKind,
    Executor,
    Heartbeat,
    OutputEmitted,
    PartCompleted,
    ProgressReported,
    Started,
    WaiterReleased,
)
from toolwitness.runtime.reporting import Reporter, words
from toolwitness.runtime.tools import Tool
from toolwitness.service.cancel import request_cancellation
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.workplace import Workplace, read
from toolwitness.testing.clock import FakeClock

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
STARTED = Started(at=AT, executor=Executor.TASK, lease="lease-1")


def number() -> int:
    """Declares a whole number."""
    return 1


class World:
    """One call and its reporter, on a ledger that can fail."""

    def __init__(self) -> None:
        self.ledger = FailingLedger()
        self.place = Workplace(ledger=self.ledger, clock=FakeClock(), ids=TimeOrderedIds())
        self.kept: list[object] = []

    async def reporter(self, **options: object) -> Reporter:
        tool = Tool(name="number", fn=number, policy=ToolPolicy(tool="number", consequences=("read-only",)))
        self.place.policies["number"] = tool.policy
        task = await open_task(self.place, "Report")
        self.one = await propose(self.place, task, Proposal(tool="number", inputs=b"{}", source_request="m", proposer="p"))
        record = (await read(self.place, self.one)).record
        chosen = {"patience_seconds": 0, **options}
        return Reporter(
            self.place, record, tool, source="local:1", worker="host:1:x", permit="ev_permit", keep_value=self.kept.append, **chosen
        )  # fmt: skip  # one call

    async def events(self) -> list[Recorded]:
        return [r for r in await self.ledger.read(invocation_id=self.one) if r.event.source == "local:1"]

    async def said(self) -> list[tuple[str, int | None]]:
        return [(str(r.event.kind), r.event.sequence) for r in await self.events()]


def ended(kind: EndingKind, **what: object) -> Ended:
    return Ended(at=AT, ending=Ending(kind=kind, executor=Executor.TASK, **what))


async def test_every_fact_has_its_kind_and_its_number():
    world = World()
    report = await world.reporter()
    await report.accepted(queue_ref="q-1")
    for fact in (
        STARTED,
        ProgressReported(at=AT, order=1, text="half", percent=50),
        ProgressReported(at=AT, order=2, text="more"),
        OutputEmitted(at=AT, order=3, value={"a": 1}),
        PartCompleted(at=AT, part="one", open=("two",)),
        CommitmentCrossed(at=AT, description="at the bank"),
        EffectObserved(at=AT, description="paid", reference="p-1", fields={"amount": "5.00", "final": True, "note": None, "n": 3}),
        Heartbeat(at=AT, lease="lease-1"),
        WaiterReleased(at=AT, body=BodyLeft.STOPPING),
        ended(EndingKind.RETURNED, value=1),
    ):
        await report(fact)
    expected = [
        Kind.ACCEPTED, Kind.STARTED, Kind.PROGRESS, Kind.PROGRESS, Kind.OUTPUT, Kind.PART_COMPLETED, Kind.COMMITTED, Kind.EFFECT,
        Kind.HEARTBEAT, Kind.WAITER_RELEASED, Kind.SUCCEEDED,
    ]  # fmt: skip  # in order
    assert await world.said() == [(kind, n) for n, kind in enumerate(expected, start=1)]
    assert all(r.verdict in {Verdict.MOVED, Verdict.NOTED} for r in await world.events())
    assert (world.kept, report.unsaid) == ([1], ())


async def test_what_the_ledger_cannot_take_keeps_its_place_and_its_number():
    world = World()
    report = await world.reporter()
    await report.accepted(queue_ref="q-1")
    await report(STARTED)
    world.ledger.broken.add(EVERYTHING)
    for order in (1, 2):
        with pytest.raises(Unavailable):
            await report(ProgressReported(at=AT, order=order, text="x"))
    assert report.unsaid == (Kind.PROGRESS, Kind.PROGRESS)
    world.ledger.broken.clear()
    await report(ended(EndingKind.RETURNED, value=1))
    assert [kind for kind, _ in await world.said()][-3:] == [Kind.PROGRESS, Kind.PROGRESS, Kind.SUCCEEDED]
    assert [n for _, n in await world.said()] == [1, 2, 3, 4, 5]
    await report.say_unsaid()


async def test_what_can_never_be_recorded_is_dropped_and_leaves_no_hole(monkeypatch: pytest.MonkeyPatch):
    world = World()
    report = await world.reporter()
    await report(STARTED)
    monkeypatch.setattr("toolwitness.runtime.reporting.words", lambda text: text)
    with pytest.raises(tw.InvalidInput):
        await report(ProgressReported(at=AT, order=1, text="half a character: \ud800"))
    await report(ProgressReported(at=AT, order=2, text="whole"))
    assert await world.said() == [(Kind.STARTED, 1), (Kind.PROGRESS, 2)]


async def test_a_start_that_could_not_be_recorded_is_never_recorded():
    world = World()
    report = await world.reporter()
    world.ledger.broken.add(Kind.STARTED)
    with pytest.raises(Unavailable):
        await report(STARTED)
    assert report.unsaid == ()
    world.ledger.broken.clear()
    await report(ended(EndingKind.NEVER_STARTED))
    assert await world.said() == [(Kind.FAILED, 1)]
    assert (await world.events())[0].event.data["effects"] == "excluded"


async def test_patience_is_had_once_and_not_again_for_every_fact():
    world = World()
    report = await world.reporter(patience_seconds=0.06)
    await report(STARTED)
    world.ledger.broken.add(EVERYTHING)
    loop = asyncio.get_running_loop()
    took: list[float] = []
    for order in range(1, 4):
        began = loop.time()
        with pytest.raises(Unavailable):
            await report(ProgressReported(at=AT, order=order, text="x"))
        took.append(loop.time() - began)
    assert took[0] >= 0.05
    assert max(took[1:]) < took[0]
    world.ledger.broken.clear()
    await report.say_unsaid()
    assert len(await world.said()) == 4


async def test_a_report_that_is_cut_off_by_a_cancellation_is_said_later_and_once(monkeypatch: pytest.MonkeyPatch):
    world = World()
    report = await world.reporter()
    append = world.ledger.append

    async def cancelled_after_writing(*args: object, **kwargs: object) -> object:
        await append(*args, **kwargs)
        raise asyncio.CancelledError

    monkeypatch.setattr(world.ledger, "append", cancelled_after_writing)
    with pytest.raises(asyncio.CancelledError):
        await report(Heartbeat(at=AT, lease="lease-1"))
    monkeypatch.undo()
    await report.say_unsaid()
    assert await world.said() == [(Kind.HEARTBEAT, 1)]


async def test_an_acknowledgement_names_the_person_who_asked_or_else_who_stopped_it():
    world = World()
    report = await world.reporter()
    await report(STARTED)
    await request_cancellation(world.place, world.one, actor=tw.Actor(id="ann"), reason="enough")
    world.ledger.unreadable = True
    report.stopped_by = "process"
    await report(ended(EndingKind.UNWOUND, stop_reason="closing"))
    world.ledger.unreadable = False
    unread = (await world.events())[-1].event.data
    assert (unread["initiator"], unread["reason"], unread["termination"]) == ("process", "closing", "unwound")

    other = World()
    report = await other.reporter()
    await report(STARTED)
    await request_cancellation(other.place, other.one, actor=tw.Actor(id="ann"), reason="enough")
    await report(ended(EndingKind.HONOURED, stop_reason="enough", exception=tw.StopHonoured()))
    data = (await other.events())[-1].event.data
    assert (data["initiator"], data["reason"], data["scope"], data["termination"]) == ("ann", "enough", "this invocation", "confirmed")


async def test_a_result_of_the_wrong_type_is_a_failure_that_cites_the_rejection():
    world = World()
    report = await world.reporter()
    await report(STARTED)
    await report(ended(EndingKind.RETURNED, value="one"))
    record = (await read(world.place, world.one)).record
    assert (record.outcome.data["category"], record.result_rejected) == ("invalid-result", record.outcome.data["evidence_ref"])
    assert world.kept == []


async def test_an_end_that_cannot_be_told_is_at_least_known_to_be_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    world = World()
    report = await world.reporter()
    await report(STARTED)

    def broken(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(Tool, "check_result", broken)
    await report(ended(EndingKind.RETURNED, value=1))
    last = (await world.events())[-1].event
    assert (last.kind, last.data["reason"]) == (Kind.LOST, "the body has ended (returned), and how could not be recorded: ValueError")
    assert "could not be told" in caplog.text


async def test_an_end_that_the_ledger_cannot_take_is_kept():
    world = World()
    report = await world.reporter()
    await report(STARTED)
    world.ledger.broken.add(Kind.SUCCEEDED)
    with pytest.raises(Unavailable):
        await report(ended(EndingKind.RETURNED, value=1))
    assert (report.unsaid, world.kept) == ((Kind.SUCCEEDED,), [1])


@pytest.mark.parametrize(
    ("said", "expected"), [("plain", "plain"), ("\ud800", "\\ud800"), ("æ" * 400, "æ" * 300), (7, "7"), (None, "None")]
)
def test_a_tools_own_words_become_text_that_an_event_can_hold(said: object, expected: str):
    assert words(said) == expected
