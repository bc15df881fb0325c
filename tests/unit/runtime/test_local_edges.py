"""The moments between: what changes while a call is being taken up, and what goes wrong where nobody looks."""

import asyncio
import json
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, Kind, a_desk, kinds, until, until_state
from tests.unit.runtime.failing import a_failing_desk
from toolwitness.core.errors import Unavailable
from toolwitness.core.findings import Code
from toolwitness.runtime.dispatching import Dispatch
from toolwitness.runtime.reporting import Reporter
from toolwitness.runtime.tools import Tool
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

READS = {"consequences": [tw.READ_ONLY]}


async def by_nobody(desk: tw.Desk, task_id: str, tool: str, **inputs: object) -> str:
    """Propose and submit a call that nobody here waits for."""
    given = Proposal(tool=tool, inputs=json.dumps(inputs).encode(), source_request="m", proposer="p")
    one = await propose(desk.place, task_id, given)
    await submit(desk.place, one)
    return one


async def test_inputs_that_change_between_the_look_and_the_claim_are_the_ones_that_run(monkeypatch: pytest.MonkeyPatch):
    async with a_desk() as desk:
        ran: list[int] = []

        @desk.tool(**READS)
        async def work(n: int) -> int:
            ran.append(n)
            return n

        claim = Dispatch._claim

        async def edited_first(self: Dispatch) -> Any:
            monkeypatch.undo()
            await desk.edit_inputs(self._id, {"n": 2}, by=ANN)
            return await claim(self)

        async with desk.task("Work") as task:
            monkeypatch.setattr(Dispatch, "_claim", edited_first)
            outcome = await task.call(work, n=1)
            assert (outcome.value, ran) == (2, [2])
            assert (await kinds(desk, outcome.invocation_id)).count(Kind.CLAIMED) == 1


async def test_inputs_that_change_to_what_this_process_cannot_run_are_a_failure_before_the_start(monkeypatch: pytest.MonkeyPatch):
    async with a_desk() as desk:
        ran: list[int] = []

        @desk.tool(**READS)
        async def work(n: int) -> int:
            ran.append(n)
            return n

        claim = Dispatch._claim

        async def edited_first(self: Dispatch) -> Any:
            monkeypatch.undo()
            del desk.place.checkers["work"]  # whoever edits cannot check
            await desk.edit_inputs(self._id, {"n": "two"}, by=ANN)
            return await claim(self)

        async with desk.task("Work") as task:
            monkeypatch.setattr(Dispatch, "_claim", edited_first)
            outcome = await task.call(work, n=1)
            assert (outcome.kind, outcome.which, ran) == ("error", "not-started", [])


async def test_a_permission_that_comes_while_the_last_one_is_being_looked_at_is_not_lost():
    async with a_desk() as desk:
        ran: list[int] = []

        @desk.tool(**READS)
        async def work(n: int) -> int:
            ran.append(n)
            return n

        async with desk.task("Work") as task:
            one = await by_nobody(desk, task.id, "work", n=1)
            desk.runtime._take(one)
            desk.runtime._take(one)
            await until_state(desk, one, tw.State.SUCCEEDED)

            async def over() -> bool:
                return one not in desk.runtime._calls

            await until(over)
            assert ran == [1]


async def test_a_call_whose_inputs_can_no_longer_be_read_is_refused_and_its_card_says_why(monkeypatch: pytest.MonkeyPatch):
    async with a_desk() as desk:

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def work(n: int) -> int:
            return n

        async with desk.task("Work") as task:
            one = await by_nobody(desk, task.id, "work", n=1)

            async def gone(_ref: str) -> bytes | None:
                return None

            monkeypatch.setattr(desk.ledger, "exact", gone)
            await desk.approve(one, by=ANN)

            async def refused() -> bool:
                return Kind.REFUSED in await kinds(desk, one)

            await until(refused)
            assert (await desk.record(one)).permission["rule"] == "inputs-unreadable"


async def test_an_end_that_cannot_be_told_is_an_unknown_outcome_for_the_caller_too(monkeypatch: pytest.MonkeyPatch, caplog):
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def work() -> int:
            return 1

        def broken(*_: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr(Tool, "check_result", broken)
        async with desk.task("Work") as task:
            async with asyncio.timeout(10):
                outcome = await task.call(work)
            assert (outcome.kind, outcome.which) == ("error", "outcome_unknown")
            assert "how could not be recorded" in outcome.why
            assert Code.OUTCOME_UNKNOWN in outcome.record.findings


async def test_a_stop_that_comes_before_there_is_a_body_keeps_it_from_starting(monkeypatch: pytest.MonkeyPatch):
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(**READS)
        async def work() -> None:
            ran.append("yes")

        ready = Dispatch._ready

        async def stopped_meanwhile(self: Dispatch, *args: Any) -> bool:
            self.request_stop("enough", by="somebody")
            return await ready(self, *args)

        monkeypatch.setattr(Dispatch, "_ready", stopped_meanwhile)
        async with desk.task("Work") as task:
            outcome = await task.call(work)
            closure = outcome.record.closure
            assert (outcome.which, closure.initiator, closure.reason, ran) == ("execution-terminated", "somebody", "enough", [])


async def test_a_desk_that_cannot_read_while_it_closes_leaves_nobody_waiting(caplog: pytest.LogCaptureFixture):
    async with a_failing_desk() as (desk, ledger):

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def asks() -> None: ...

        async with desk.task("Ask") as task:
            call = task.call(asks)
            await until_state(desk, await call.invocation_id(), tw.State.AWAITING_APPROVAL)
            ledger.unreadable = True
    with pytest.raises(Unavailable):
        await call
    assert "while closing" in caplog.text


async def test_a_sweep_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture):
    async with a_failing_desk(sweep_seconds=0.01) as (desk, ledger), desk.task("Sweep") as task:

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=60)
        async def asks() -> None: ...

        call = task.call(asks)
        one = await call.invocation_id()
        await until_state(desk, one, tw.State.AWAITING_APPROVAL)
        ledger.unreadable = True

        async def logged() -> bool:
            await asyncio.sleep(0.005)
            return "could not look at deadlines" in caplog.text

        await until(logged)
        ledger.unreadable = False
        desk.place.clock.advance(60)
        assert (await call).which == "expired"


async def test_a_caller_whose_submission_fails_is_told_and_leaves_nothing_kept(monkeypatch: pytest.MonkeyPatch):
    async with a_failing_desk() as (desk, _ledger):

        @desk.tool(**READS)
        async def work() -> None: ...

        async def unavailable(*_: object) -> None:
            raise Unavailable("The disk is full.")

        monkeypatch.setattr("toolwitness.bootstrap.task.submit", unavailable)
        async with desk.task("Work") as task:
            call = task.call(work)
            with pytest.raises(Unavailable):
                await call
            one = await call.invocation_id()
            assert (desk.runtime._awaited, desk.runtime._held) == ({}, {})
            assert (await desk.record(one)).state is tw.State.PROPOSED


async def test_a_call_that_depends_on_one_that_was_never_proposed_is_told_so():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def work() -> None: ...

        async with desk.task("Work") as task:
            never = task.call("nobody")
            with pytest.raises(tw.InvalidInput):
                await task.call(work, depends_on=[never])
            with pytest.raises(tw.InvalidInput):
                await never
            with pytest.raises(tw.InvalidInput):
                await never.invocation_id()


async def test_a_waiter_that_is_cancelled_before_anything_was_proposed_goes_away_untouched():
    async with a_desk() as desk, desk.task("Work") as task:
        call = task.call("nobody")
        waiting = asyncio.ensure_future(_await(call))
        await asyncio.sleep(0)
        waiting.cancel("mine")
        with pytest.raises((asyncio.CancelledError, tw.InvalidInput)):
            await waiting
        with pytest.raises(tw.InvalidInput):
            await call


async def _await(call: tw.Call) -> tw.CallOutcome:
    return await call


async def test_an_outcome_is_given_in_the_form_that_the_reducer_takes():
    async with a_desk() as desk:

        @desk.tool(**READS)
        async def good() -> dict[str, int]:
            return {"a": 1}

        @desk.tool(**READS)
        async def bad() -> None:
            raise tw.ToolFailure("broken", "It broke.")

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"])
        async def asks() -> None: ...

        async with desk.task("Reduce") as task:
            call = task.call(asks)
            await until_state(desk, await call.invocation_id(), tw.State.AWAITING_APPROVAL)
            await desk.deny(await call.invocation_id(), by=ANN, reason="no")
            results = [(await c).as_tool_result() for c in (task.call(good), task.call(bad), call)]
            assert results == [
                {"status": "ok", "payload": {"a": 1}},
                {"status": "error", "error": {"category": "broken", "detail": "It broke."}},
                {"status": "cancelled", "reason": "no"},
            ]
            state = {"kept": True}
            after = [tw.apply_tool_result(state, result) for result in results]
            assert [(one["commit"], one["state"] is state) for one in after] == [(True, False), (False, True), (False, True)]


@pytest.mark.parametrize(("raw", "fields"), [(b"not json", [""]), (b"[1]", [""]), (b"{}", ["n"]), (b'{"n":1}', [])])
def test_recorded_inputs_are_checked_whatever_they_are(raw: bytes, fields: list[str]):
    def work(n: int) -> int:
        return n

    from toolwitness.policy.tool_policy import ToolPolicy  # noqa: PLC0415 - one test makes a tool by hand

    tool = Tool(name="work", fn=work, policy=ToolPolicy(tool="work", consequences=("read-only",)))
    assert [problem.field for problem in tool.check(raw)] == fields


async def test_a_ledger_that_cannot_be_read_for_a_moment_while_a_call_is_taken_up_is_waited_for():
    async with a_failing_desk(patience_seconds=30) as (desk, ledger):

        @desk.tool(**READS)
        async def work() -> str:
            return "done"

        def for_a_moment(batch: Any) -> None:
            if any(recorded.event.kind == Kind.PERMITTED for recorded in batch):
                ledger.unreadable = True
                asyncio.get_running_loop().call_later(0.15, setattr, ledger, "unreadable", False)  # noqa: FBT003 - a flag of the fake

        ledger.add_listener(for_a_moment)
        async with desk.task("Work") as task:
            one = await propose(desk.place, task.id, Proposal(tool="work", inputs=b"{}", source_request="m", proposer="p"))
            with pytest.raises(Unavailable):
                await submit(desk.place, one)  # it is recorded; only the answer could not be read
            await until(lambda: _is(ledger.unreadable, wanted="no"))
            await until_state(desk, one, tw.State.SUCCEEDED)


async def _is(unreadable: bool, *, wanted: str) -> bool:  # noqa: FBT001 - the fake's own flag
    await asyncio.sleep(0.01)
    return unreadable == (wanted == "yes")


async def test_a_cancellation_that_is_requested_while_the_call_is_accepted_keeps_it_from_starting(monkeypatch: pytest.MonkeyPatch):
    async with a_desk() as desk:
        ran: list[str] = []

        @desk.tool(**READS)
        async def work() -> None:
            ran.append("yes")

        accepted = Reporter.accepted

        async def asked_first(self: Reporter, *, queue_ref: str) -> None:
            await desk.request_cancellation(self._record.id, by=ANN, reason="enough")
            await accepted(self, queue_ref=queue_ref)

        monkeypatch.setattr(Reporter, "accepted", asked_first)
        async with desk.task("Work") as task:
            outcome = await task.call(work)
            closure = outcome.record.closure
            assert (outcome.which, closure.initiator, closure.reason, closure.termination, ran) == (
                "execution-terminated", "ann", "enough", "confirmed", [],
            )  # fmt: skip  # one claim after the other
            assert outcome.record.reconciliation in {"not-executed", "none-expected"}
