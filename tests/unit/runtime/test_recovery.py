"""Which bodies are gone with their process: said only where it can be known, once, and nothing is ever run again for it."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, a_desk, events, kinds, until, until_state
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import Owner
from toolwitness.ports import Draft
from toolwitness.recording.desk_side import DeskSide, Rule
from toolwitness.runtime import recovery
from toolwitness.service.claim import claim
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit
from toolwitness.service.workplace import read

READS = {"consequences": [tw.READ_ONLY]}
HERE = socket.gethostname()


def a_dead_process() -> int:
    """Give the number of a process that is no longer there."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.parametrize(
    "worker",
    [
        "", "no worker", f"{HERE}:x:y", f"{HERE}:²:y", f"{HERE}:{'9' * 5000}:y",
        f"elsewhere:{a_dead_process()}:1", f"{HERE}:1:", f"{HERE}:{os.getppid()}:-abc",
    ],
)  # fmt: skip  # names in lines
def test_of_what_cannot_be_known_nothing_is_said(worker: str):
    assert recovery.is_gone(worker) == ""


def test_a_process_that_is_not_there_is_gone():
    pid = a_dead_process()
    assert recovery.is_gone(f"{HERE}:{pid}:123-abc") == f"the process that held it (pid {pid}) is gone"
    assert recovery.is_gone(f"{HERE}:{2**70}:123-abc")


def test_another_process_under_the_same_number_is_not_the_one_that_is_gone():
    """In a container the first process is number 1 again after every restart."""
    parent = os.getppid()
    started = recovery._started(parent)
    assert started
    assert recovery.is_gone(f"{HERE}:{parent}:{started}-abc") == ""
    assert recovery.is_gone(f"{HERE}:{parent}:{int(started) - 1}-abc")


def test_a_desk_of_this_process_is_gone_when_it_is_closed_and_not_before():
    name = recovery.name_of_process()
    recovery.know_desk(name)
    assert recovery.is_gone(name) == ""
    recovery.forget_desk(name)
    assert recovery.is_gone(name) == f"the desk that held it (in process {os.getpid()}) is closed"


def test_a_process_of_somebody_else_is_there(monkeypatch: pytest.MonkeyPatch):
    def not_ours(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", not_ours)
    assert recovery.is_gone(f"{HERE}:1:") == ""


def test_a_system_that_does_not_tell_when_a_process_started_is_no_reason_to_call_it_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recovery, "_started", lambda _pid: "")
    assert recovery.is_gone(f"{HERE}:{os.getppid()}:12345-abc") == ""
    assert recovery._started.__name__ == "<lambda>"


def test_a_number_that_no_process_has_tells_no_start():
    assert recovery._started(2**22 + 7) == ""


async def held_by(desk: tw.Desk, task_id: str, worker: str, *, starts: str = "yes") -> str:
    """Make a call whose permit a worker elsewhere has claimed, and which has perhaps begun."""
    one = await propose(desk.place, task_id, Proposal(tool="look", inputs=b"{}", source_request="m", proposer="p", host=worker))
    await submit(desk.place, one)
    await claim(desk.place, one, source="toolwitness:local:gone", worker=worker)
    if starts == "yes":
        facts = {"attempt": 1, "executor": "task", "lease": "l", "worker": worker}
        event = Event(
            kind=Kind.STARTED, source="toolwitness:local:gone", id=desk.place.ids.new("evt"), task_id=task_id, invocation_id=one,
            owner=Owner.RUNTIME, attempt=1, data=facts, sequence=1,
        )  # fmt: skip  # facts in lines
        await desk.ledger.append(task_id, [Draft(event=event)])
    return one


@pytest.mark.parametrize("starts", ["yes", "no"])
async def test_a_call_that_a_dead_process_held_has_an_unknown_outcome_once_and_is_never_run_again(starts: str):
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(**READS)
        async def look() -> None:
            ran.append("yes")

        async with desk.task("Look") as task:
            one = await held_by(desk, task.id, f"{HERE}:{a_dead_process()}:1-x", starts=starts)
            before = (await desk.record(one)).state
            found = await asyncio.gather(*(recovery.record_lost(desk.place, source=f"recovery-{n}") for n in range(4)))
            assert sum(len(f) for f in found) == 1
            record = await desk.record(one)
            assert (record.state, Code.OUTCOME_UNKNOWN in record.findings, record.reconciliation) == (before, True, "unknown")
            with pytest.raises(tw.NotPermitted):
                await desk.retry(one, by=ANN)
            await desk.runtime._resume()
            await desk.reconcile(one, "no-effect", by=ANN)
            assert await recovery.record_lost(desk.place, source="recovery") == []
            assert ((await desk.record(one)).findings.get(Code.OUTCOME_UNKNOWN), ran) == (None, [])


async def test_a_call_that_a_living_process_or_another_machine_holds_is_left_alone():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def look() -> None: ...

        async with desk.task("Look") as task:
            for worker in (f"{HERE}:{os.getppid()}:{recovery._started(os.getppid())}-x", "elsewhere:1:1-x", desk.host):
                await held_by(desk, task.id, worker)
                situation = await read(desk.place, (await desk.ledger.states())[-1].invocation_id)
                assert recovery._lost(desk.place, situation, "recovery") == []
            assert await recovery.record_lost(desk.place, source="recovery") == []


async def seen_by_a_recorder(desk: tw.Desk, task_id: str, worker: str) -> str:
    """Make a call that no policy governs and that a recorder of some process has seen start."""
    side = DeskSide(desk, "some-framework")
    one = await side.propose(task_id, "call_1", "look", b"{}", run_id="r", rule=Rule.OBSERVED)
    facts = {"attempt": 1, "executor": "thread", "lease": f"{worker}/{one[-8:]}", "worker": worker}
    await side.tell(one, Kind.STARTED, facts)
    return one


async def test_a_call_without_a_permit_that_a_dead_process_was_seen_to_run_is_lost_too_and_says_so_once():
    async with a_desk() as desk, desk.task("Look") as task:
        one = await seen_by_a_recorder(desk, task.id, f"{HERE}:{a_dead_process()}:1-x")
        found = await asyncio.gather(*(recovery.record_lost(desk.place, source=f"recovery-{n}") for n in range(4)))
        record = await desk.record(one)
        assert [len(f) for f in found if f] == [1]
        assert (record.claim, record.state, Code.OUTCOME_UNKNOWN in record.findings) == (None, tw.State.RUNNING, True)
        assert await desk.verify() == []


async def test_a_call_without_a_permit_is_left_alone_where_its_process_lives_or_nothing_is_known_of_it():
    async with a_desk() as desk, desk.task("Look") as task:
        alive = f"{HERE}:{os.getppid()}:{recovery._started(os.getppid())}-x"
        for worker in (alive, f"elsewhere:{a_dead_process()}:1-x", desk.host, f"{a_dead_process()}", "celery@elsewhere"):
            await seen_by_a_recorder(desk, task.id, worker)
        assert await recovery.record_lost(desk.place, source="recovery") == []


@pytest.mark.parametrize("goes_on", ["no", "yes"])
async def test_a_body_that_stopped_to_ask_is_not_lost_with_the_process_that_asked(goes_on: str):
    """Nothing runs while it waits; and when it goes on, in another process, it does so under the lease that it had."""
    async with a_desk() as desk, desk.task("Look") as task:
        worker = f"{HERE}:{a_dead_process()}:1-x"
        one = await seen_by_a_recorder(desk, task.id, worker)
        side = DeskSide(desk, "some-framework")
        await side.tell(one, Kind.PART_COMPLETED, {"part": "until it asked", "open": ["approval"], "outcome": "paused"})
        if goes_on == "yes":
            await side.tell(one, Kind.HEARTBEAT, {"attempt": 1, "lease": f"{worker}/{one[-8:]}"})
        assert (await desk.record(one)).state is (tw.State.RUNNING if goes_on == "yes" else tw.State.PARTIALLY_COMPLETE)
        assert await recovery.record_lost(desk.place, source="recovery") == []


async def test_a_call_that_goes_on_elsewhere_is_not_lost_with_the_process_that_claimed_it():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def look() -> None: ...

        async with desk.task("Look") as task:
            one = await held_by(desk, task.id, f"{HERE}:{a_dead_process()}:1-x", starts="no")
            facts = {"attempt": 1, "executor": "task", "lease": f"{desk.host}/{one[-8:]}", "worker": desk.host}
            await DeskSide(desk, "some-framework").tell(one, Kind.STARTED, facts)
            assert await recovery.record_lost(desk.place, source="recovery") == []


async def test_while_a_desk_stays_open_it_looks_again_for_processes_that_are_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("toolwitness.runtime.local._LOOK_FOR_LOST_EVERY", 1)
    async with a_desk(sweep_seconds=0.01) as desk:

        @desk.tool(**READS)
        async def look() -> None: ...

        async with desk.task("Look") as task:
            one = await held_by(desk, task.id, f"{HERE}:{a_dead_process()}:1-x")

            async def said() -> bool:
                return Kind.LOST in await kinds(desk, one)

            await until(said)


async def test_who_waits_for_a_call_of_a_process_that_is_gone_is_told_that_nobody_knows():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def look() -> None: ...

        async with desk.task("Look") as task:
            one = await held_by(desk, task.id, f"{HERE}:{a_dead_process()}:1-x")
            waiting = asyncio.ensure_future(desk.runtime.outcome(one))
            await asyncio.sleep(0)
            await recovery.record_lost(desk.place, source="recovery")
            outcome = await waiting
            assert (outcome.kind, outcome.which) == ("error", "outcome_unknown")
            assert "is gone" in outcome.why


async def test_an_approved_call_whose_process_is_gone_is_not_run_by_another_and_its_card_says_why():
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def send() -> None:
            ran.append("yes")

        async with desk.task("Send") as task:
            host = f"{HERE}:{a_dead_process()}:1-x"
            one = await propose(desk.place, task.id, Proposal(tool="send", inputs=b"{}", source_request="m", proposer="p", host=host))
            await submit(desk.place, one)
            await desk.approve(one, by=ANN)

            async def refused() -> bool:
                return Kind.REFUSED in await kinds(desk, one)

            await until(refused)
            record = await desk.record(one)
            assert (record.state, record.permission["rule"], ran) == (tw.State.AWAITING_APPROVAL, "host-gone", [])
            await desk.withdraw(one, by=ANN)
            again = (await desk.resubmit(one, by=ANN)).record
            assert (again.proposal.get("host"), again.state) == (None, tw.State.AWAITING_APPROVAL)
            await desk.approve(again.id, by=ANN)
            await until_state(desk, again.id, tw.State.SUCCEEDED)
            assert ran == ["yes"]


async def test_a_sign_of_life_takes_the_doubt_back():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def look() -> None: ...

        async with desk.task("Look") as task:
            one = await held_by(desk, task.id, f"{HERE}:{a_dead_process()}:1-x")
            await recovery.record_lost(desk.place, source="recovery")
            last = (await events(desk, one))[-1]
            assert last.event.caused_by == ((await desk.record(one)).claim.ref,)
            facts = {"completed_at": "2026-01-01T12:00:00Z"}
            event = Event(
                kind=Kind.SUCCEEDED, source="toolwitness:local:gone", id="late", task_id=task.id, invocation_id=one, owner=Owner.RUNTIME,
                attempt=1, data=facts, sequence=2,
            )  # fmt: skip  # facts in lines
            await desk.ledger.append(task.id, [Draft(event=event, values={"result": b"1"})])
            record = await desk.record(one)
            assert (record.state, Code.OUTCOME_UNKNOWN in record.findings) == (tw.State.SUCCEEDED, False)
