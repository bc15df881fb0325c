"""What the sweeper makes of silence and of commands that died half-way."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

import toolwitness as tw
from toolwitness.bootstrap.world import TimeOrderedIds
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import Owner
from toolwitness.core.times import rfc3339
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ports import Draft
from toolwitness.service import again, inputs
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.testing.clock import FakeClock

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))


class Scene:
    """A desk that runs nothing, so that only the sweeper takes things further."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.desk = tw.Desk(MemoryLedger(now=self.clock.now), clock=self.clock, ids=TimeOrderedIds(), sweep_seconds=3600)
        self.desk.tool(name="send", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], retry_attempts=2)(_send)
        self.task = ""

    async def call(self, *, submitted: str = "yes") -> str:
        self.task = self.task or await open_task(self.desk.place, "Send what is due")
        given = Proposal(tool="send", inputs=json.dumps({"to": "a"}).encode(), source_request="m", proposer="p")
        one = await propose(self.desk.place, self.task, given)
        if submitted == "yes":
            await self.desk.submit(one)
        return one

    async def say(self, one: str, kind: Kind, **data: Any) -> None:
        event = Event(
            kind=kind, source="elsewhere", id=self.desk.place.ids.new("evt"), task_id=self.task, invocation_id=one, owner=Owner.RUNTIME,
            attempt=1, time=self.desk.place.stamp(), data={"attempt": 1, **data},
        )  # fmt: skip  # facts in lines
        await self.desk.ledger.append(self.task, [Draft(event=event)])

    def ahead(self, seconds: float) -> str:
        return rfc3339(self.clock.now() + timedelta(seconds=seconds))


async def _send(to: str) -> str:
    return to


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    assert await made.desk.verify() == []
    await made.desk.close()


async def test_an_executor_whose_lease_has_run_out_is_lost_and_its_call_stays_as_it_was_seen_last(scene: Scene):
    one = await scene.call()
    await scene.say(one, Kind.STARTED, lease="L1", expires_at=scene.ahead(30))
    scene.clock.advance(30 - 1e-6)
    assert await scene.desk.sweep() == []
    scene.clock.advance(1e-6)
    found = await scene.desk.sweep()
    assert [(r.event.kind, r.event.owner, r.event.data["lease"]) for r in found] == [(Kind.LOST, Owner.RUNTIME, "L1")]
    assert "lease L1 was good until" in found[0].event.data["reason"]
    record = await scene.desk.record(one)
    assert (record.state, record.reconciliation, Code.OUTCOME_UNKNOWN in record.findings) == (tw.State.RUNNING, "unknown", True)
    assert await scene.desk.sweep() == []


async def test_a_heartbeat_that_renews_the_lease_keeps_its_executor_and_takes_a_loss_back(scene: Scene):
    one = await scene.call()
    await scene.say(one, Kind.STARTED, lease="L1", expires_at=scene.ahead(30))
    scene.clock.advance(20)
    await scene.say(one, Kind.HEARTBEAT, lease="L1", expires_at=scene.ahead(30))
    scene.clock.advance(20)
    assert await scene.desk.sweep() == []
    scene.clock.advance(20)
    assert len(await scene.desk.sweep()) == 1
    await scene.say(one, Kind.HEARTBEAT, lease="L1", expires_at=scene.ahead(30))
    assert Code.OUTCOME_UNKNOWN not in (await scene.desk.record(one)).findings
    scene.clock.advance(30)
    assert len(await scene.desk.sweep()) == 1


@pytest.mark.parametrize("until", [None, "", "soon", "2026-01-01T00:00:00", "99"])
async def test_a_lease_that_does_not_say_readably_until_when_it_is_good_is_never_known_to_have_run_out(scene: Scene, until: str | None):
    one = await scene.call()
    await scene.say(one, Kind.STARTED, lease="L1", **({} if until is None else {"expires_at": until}))
    scene.clock.advance(10 * 365 * 86_400)
    assert Kind.LOST not in [recorded.event.kind for recorded in await scene.desk.sweep()]


async def test_a_call_that_has_ended_is_not_lost_when_its_lease_runs_out(scene: Scene):
    one = await scene.call()
    await scene.say(one, Kind.STARTED, lease="L1", expires_at=scene.ahead(30))
    await scene.say(one, Kind.FAILED, category="upstream", detail="It did not answer.", evidence_ref="raised")
    scene.clock.advance(60)
    assert await scene.desk.sweep() == []


async def test_of_a_call_that_somebody_settled_nothing_is_said_when_its_lease_runs_out_again(scene: Scene):
    one = await scene.call()
    await scene.say(one, Kind.STARTED, lease="L1", expires_at=scene.ahead(30))
    scene.clock.advance(30)
    await scene.desk.sweep()
    await scene.desk.reconcile(one, "no-effect", by=ANN)
    assert await scene.desk.sweep() == []


async def _dies(*_: Any, **__: Any) -> None:
    raise ConnectionError("the process dies here")


async def test_an_edit_whose_process_died_before_it_went_on_is_taken_further_by_any_sweeper(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    one = await scene.call()
    await scene.desk.approve(one, by=ANN)
    with monkeypatch.context() as dying:
        dying.setattr(inputs, "submit", _dies)
        with pytest.raises(ConnectionError):
            await scene.desk.edit_inputs(one, {"to": "b"}, by=ANN)
    assert (await scene.desk.record(one)).state is tw.State.PROPOSED
    found = await scene.desk.sweep()
    assert [recorded.event.kind for recorded in found] == [Kind.APPROVAL_REQUESTED]
    record = await scene.desk.record(one)
    assert (record.state, record.open_approval.data["inputs_digest"]) == (tw.State.AWAITING_APPROVAL, record.inputs["digest"])
    assert await scene.desk.sweep() == []


async def test_a_next_attempt_whose_process_died_before_it_went_on_is_taken_further(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    one = await scene.call()
    await scene.say(one, Kind.FAILED, category="upstream", detail="It did not answer.", evidence_ref="raised", effects="excluded")
    with monkeypatch.context() as dying:
        dying.setattr(again, "submit", _dies)
        with pytest.raises(ConnectionError):
            await scene.desk.retry(one, by=ANN)
    made = (await scene.desk.record(one)).retried_by
    assert (await scene.desk.record(made)).state is tw.State.PROPOSED
    await scene.desk.sweep()
    assert (await scene.desk.record(made)).state is tw.State.AWAITING_APPROVAL


async def test_a_proposal_that_nobody_has_touched_waits_for_its_submit(scene: Scene):
    one = await scene.call(submitted="no")
    assert await scene.desk.sweep() == []
    assert (await scene.desk.record(one)).state is tw.State.PROPOSED
