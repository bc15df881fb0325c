"""LangChain and LangGraph, the real packages, under the recorder: every situation, held against what the tool bodies really did."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import toolwitness as tw
from tests.frameworks.langgraph_bench import (
    ANN,
    BEN,
    GO,
    Truth,
    agent_of,
    assert_record_equals,
    by_id,
    govern,
    records,
    said,
    thread,
    until,
    waiting,
)
from tests.frameworks.langgraph_model import StreamingModel
from toolwitness.adapters.langgraph import Recorder
from toolwitness.core.evidence import Kind
from toolwitness.core.states import State

Id = Annotated[str, InjectedToolCallId]
BOOK = [("book", {"itinerary": "IT-1", "total": 120}, "b1")]


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


@pytest.fixture
def truth() -> Truth:
    return []


def booking(truth: Truth, *, asynchronous: bool = True) -> Any:
    """A tool that costs money and writes when it does."""

    async def book(itinerary: str, total: int, call: Id) -> str:
        """Book."""
        truth.append(("start", call))
        truth.append(("end", call))
        return f"PNR {itinerary} {total}"

    def book_in_thread(itinerary: str, total: int, call: Id) -> str:
        """Book."""
        truth.append(("start", call))
        truth.append(("end", call))
        return f"PNR {itinerary} {total}"

    return tool("book")(book if asynchronous else book_in_thread)


def results(state: Any) -> dict[str, ToolMessage]:
    return {m.tool_call_id: m for m in state["messages"] if isinstance(m, ToolMessage)}


# ── it goes well ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async tool", "tool in a thread"])
async def test_a_call_that_ends_well_has_its_whole_path_on_record(desk: tw.Desk, truth: Truth, asynchronous: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    state = await agent_of(desk, BOOK, "done", tools=[booking(truth, asynchronous=asynchronous)]).ainvoke(GO, thread())

    record = (await by_id(desk))["b1"]
    assert results(state)["b1"].content == "PNR IT-1 120"
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "succeeded"]
    assert record.cancel_support == ("task" if asynchronous else "thread")
    assert "policy-unobserved" in record.findings
    assert "executed-inputs-differ" not in record.findings
    await assert_record_equals(desk, truth)


# ── parallel calls ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_of_three_parallel_calls_one_fails_one_is_cancelled_alone_and_the_third_is_untouched(desk: tw.Desk, truth: Truth) -> None:
    riding, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def flight(origin: str, call: Id) -> str:
        """Fly."""
        truth.append(("start", call))
        await stopped.wait()
        truth.append(("end", call))
        return "2 flights"

    @tool
    async def hotel(city: str, call: Id) -> str:
        """Sleep."""
        truth.append(("start", call))
        truth.append(("raise", call))
        raise ToolException("upstream 502")

    hotel.handle_tool_error = True

    @tool
    async def rail(line: str, call: Id) -> str:
        """Ride."""
        truth.append(("start", call))
        riding.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            truth.append(("cancelled", call))
            stopped.set()
            raise
        return "never"

    calls = [("flight", {"origin": "LHR"}, "f"), ("hotel", {"city": "Rome"}, "h"), ("rail", {"line": "X"}, "r")]
    run = asyncio.create_task(agent_of(desk, calls, "settled", tools=[flight, hotel, rail]).ainvoke(GO, thread()))
    await riding.wait()
    found = await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING and now["h"].state is State.FAILED)
    await desk.request_cancellation(found["r"].id, by=ANN, reason="too slow")
    state = await run

    after = await by_id(desk)
    assert {key: str(record.state) for key, record in after.items()} == {"f": "succeeded", "h": "failed", "r": "cancelled"}
    closure = after["r"].closure
    assert closure is not None
    assert (closure.initiator, closure.reason, str(closure.termination)) == ("ann", "too slow", "unwound")
    assert "ann" in results(state)["r"].content
    assert "too slow" in results(state)["r"].content
    assert after["h"].outcome is not None
    assert after["h"].outcome.data["category"] == "tool-failed"
    await assert_record_equals(desk, truth)


async def test_a_tool_that_cancels_itself_takes_no_sibling_along(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def flight(origin: str, call: Id) -> str:
        """Fly."""
        truth.append(("start", call))
        truth.append(("end", call))
        return "2 flights"

    @tool
    async def hotel(city: str, call: Id) -> str:
        """Sleep."""
        truth.append(("start", call))
        truth.append(("raise", call))
        raise asyncio.CancelledError("by itself")

    calls = [("flight", {"origin": "LHR"}, "f"), ("hotel", {"city": "Rome"}, "h")]
    state = await agent_of(desk, calls, "settled", tools=[flight, hotel]).ainvoke(GO, thread())

    assert {key: m.status for key, m in results(state).items()} == {"f": "success", "h": "error"}
    assert (await by_id(desk))["h"].outcome.data["category"] == "aborted"
    await assert_record_equals(desk, truth)


async def test_one_id_that_is_used_twice_in_a_message_is_two_calls(desk: tw.Desk, truth: Truth) -> None:
    calls = [("book", {"itinerary": "A", "total": 1}, "x"), ("book", {"itinerary": "B", "total": 2}, "x")]
    await agent_of(desk, calls, "done", tools=[booking(truth)]).ainvoke(GO, thread())

    assert [(str(r.state), len(r.starts)) for r in await records(desk)] == [("succeeded", 1), ("succeeded", 1)]
    assert {r.proposal["correlation"][0]["occurrence"] for r in await records(desk)} == {1, 2}


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def asking(desk: tw.Desk, truth: Truth, **more: Any) -> tuple[asyncio.Task[Any], Any, Any]:
    """Start a run and wait until its call asks; give the run, the record and the agent."""
    govern(desk)
    agent = agent_of(desk, BOOK, "done", tools=[booking(truth)], **more)
    run = asyncio.create_task(agent.ainvoke(GO, thread()))
    return run, await waiting(desk, "b1"), agent


async def test_a_granted_approval_runs_the_body_once_under_a_permit(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    assert truth == []
    await desk.approve(record.id, by=ANN)
    state = await run

    after = (await by_id(desk))["b1"]
    assert results(state)["b1"].content == "PNR IT-1 120"
    assert after.approval is not None
    assert after.approval.answer is not None
    assert (str(after.state), after.approval.answer.actor) == ("succeeded", "ann")
    assert {"started-without-permit", "policy-unobserved"}.isdisjoint(after.findings)
    await assert_record_equals(desk, truth)


async def test_a_denied_approval_runs_nothing_and_the_model_is_told_that_it_is_a_decision(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    await desk.deny(record.id, by=ANN, reason="too expensive")
    message = results(await run)["b1"]

    assert "too expensive" in message.content
    assert "did not run" in message.content
    assert (await by_id(desk))["b1"].closure.kind == "denied"
    await assert_record_equals(desk, truth)
    assert truth == []


async def test_a_withdrawn_request_runs_nothing(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    await desk.withdraw(record.id, by=ANN, reason="not any more")
    await run

    assert (await by_id(desk))["b1"].closure.kind == "withdrawn"
    assert truth == []
    await assert_record_equals(desk, truth)


async def test_a_run_that_is_cancelled_while_it_waits_withdraws_its_request(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    after = (await by_id(desk))["b1"]
    assert (str(after.state), after.closure.kind) == ("cancelled", "withdrawn")
    with pytest.raises(Exception, match=r"."):
        await desk.approve(record.id, by=ANN)
    assert truth == []


async def test_an_approval_that_nobody_gives_in_time_expires_and_runs_nothing(desk: tw.Desk, truth: Truth) -> None:
    govern(desk, approval_seconds=0.05)
    state = await agent_of(desk, BOOK, "done", tools=[booking(truth)]).ainvoke(GO, thread())

    assert str((await by_id(desk))["b1"].state) == "expired"
    assert "This call expired" in results(state)["b1"].content
    assert truth == []


async def test_edited_inputs_are_what_the_body_gets(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    await desk.edit_inputs(record.id, {"total": 99}, by=ANN)
    again = await waiting(desk, "b1")
    await desk.approve(again.id, by=ANN)
    state = await run

    assert results(state)["b1"].content == "PNR IT-1 99"
    assert "executed-inputs-differ" not in (await by_id(desk))["b1"].findings
    await assert_record_equals(desk, truth)


async def test_of_two_people_one_wins_and_the_other_is_told_who_did(desk: tw.Desk, truth: Truth) -> None:
    run, record, _ = await asking(desk, truth)
    answers = await asyncio.gather(desk.approve(record.id, by=ANN), desk.deny(record.id, by=BEN), return_exceptions=True)
    await run

    lost = [one for one in answers if isinstance(one, Exception)]
    assert len(lost) == 1
    assert "ann" in str(lost[0]) or "ben" in str(lost[0])
    assert len(truth) in {0, 2}
    await assert_record_equals(desk, truth)


# ── resume and replay ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_old_checkpoint_that_is_replayed_runs_no_body_a_second_time(desk: tw.Desk, truth: Truth) -> None:
    run, record, agent = await asking(desk, truth)
    await desk.approve(record.id, by=ANN)
    first = results(await run)["b1"]
    history = [one async for one in agent.aget_state_history(thread())]
    before_the_tools = next(one for one in history if one.next == ("tools",))

    state = await agent.ainvoke(None, before_the_tools.config)

    assert results(state)["b1"].content == first.content
    assert truth == [("start", "b1"), ("end", "b1")]
    await assert_record_equals(desk, truth)


async def test_two_that_resume_with_one_approval_at_once_run_the_body_once_and_both_get_its_result(desk: tw.Desk, truth: Truth) -> None:
    govern(desk)
    saver, recorder = InMemorySaver(), Recorder(desk, waiting="interrupt")
    agent = agent_of(desk, BOOK, "done", tools=[booking(truth)], saver=saver, recorder=recorder)
    stopped = await agent.ainvoke(GO, thread())
    question = stopped["__interrupt__"][0].value
    assert (question["type"], question["tool_call_id"], truth) == ("tool_approval", "b1", [])

    await desk.approve((await waiting(desk, "b1")).id, by=ANN)
    states = await asyncio.gather(*(agent.ainvoke(Command(resume="whatever"), thread()) for _ in range(4)))

    assert {results(state)["b1"].content for state in states} == {"PNR IT-1 120"}
    assert truth == [("start", "b1"), ("end", "b1")]
    await assert_record_equals(desk, truth)


async def test_a_resume_that_says_approve_is_not_believed_while_nobody_has_approved_at_the_desk(desk: tw.Desk, truth: Truth) -> None:
    govern(desk)
    agent = agent_of(desk, BOOK, "done", tools=[booking(truth)], recorder=Recorder(desk, waiting="interrupt"))
    await agent.ainvoke(GO, thread())

    again = await agent.ainvoke(Command(resume={"type": "approve"}), thread())
    assert "__interrupt__" in again
    assert truth == []

    await desk.deny((await waiting(desk, "b1")).id, by=ANN, reason="no")
    final = await agent.ainvoke(Command(resume={"type": "approve"}), thread())
    assert "denied by ann" in results(final)["b1"].content
    assert truth == []
    await assert_record_equals(desk, truth)


async def test_what_failed_is_not_run_again_on_resume_and_the_run_goes_on(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def book(total: int, call: Id) -> str:
        """Book."""
        truth.append(("start", call))
        truth.append(("raise", call))
        raise ValueError("502 after the money went out")

    agent = agent_of(desk, [("book", {"total": 1}, "b1")], "done", tools=[book])
    with pytest.raises(ValueError, match="502"):
        await agent.ainvoke(GO, thread())
    state = await agent.ainvoke(None, thread())

    assert results(state)["b1"].status == "error"
    assert "Its outcome in the world is unknown" in results(state)["b1"].content
    assert truth == [("start", "b1"), ("raise", "b1")]
    await assert_record_equals(desk, truth)


async def test_a_thread_whose_run_was_cancelled_goes_on_is_waited_for_on_resume_and_pays_once(desk: tw.Desk, truth: Truth) -> None:
    paying, let_go = threading.Event(), threading.Event()

    @tool
    def pay(amount: int, call: Id) -> str:
        """Pay."""
        truth.append(("start", call))
        paying.set()
        let_go.wait(10)
        truth.append(("end", call))
        return f"paid {amount}"

    agent = agent_of(desk, [("pay", {"amount": 5}, "p")], "done", tools=[pay])
    run = asyncio.create_task(agent.ainvoke(GO, thread()))
    await asyncio.to_thread(paying.wait, 10)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    during = (await by_id(desk))["p"]
    assert (str(during.state), during.cancel_support) == ("running", "thread")
    assert "waiter-gone" in during.findings
    assert truth == [("start", "p")]

    resumed = asyncio.create_task(agent.ainvoke(None, thread()))
    let_go.set()
    state = await resumed
    assert results(state)["p"].content == "paid 5"
    assert truth == [("start", "p"), ("end", "p")]
    await assert_record_equals(desk, truth)


async def test_an_async_body_whose_run_is_cancelled_has_really_ended_and_is_not_run_again(desk: tw.Desk, truth: Truth) -> None:
    inside = asyncio.Event()

    @tool
    async def rail(line: str, call: Id) -> str:
        """Ride."""
        truth.append(("start", call))
        inside.set()
        try:
            await asyncio.sleep(60)
        finally:
            truth.append(("cancelled", call))
        return "never"

    agent = agent_of(desk, [("rail", {"line": "X"}, "r")], "done", tools=[rail])
    run = asyncio.create_task(agent.ainvoke(GO, thread()))
    await inside.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    state = await agent.ainvoke(None, thread())

    assert truth == [("start", "r"), ("cancelled", "r")]
    assert "its body was seen to end" in results(state)["r"].content
    assert str((await by_id(desk))["r"].state) == "cancelled"
    await assert_record_equals(desk, truth)


async def test_the_same_id_in_a_run_without_a_thread_is_another_call(desk: tw.Desk, truth: Truth) -> None:
    agent = agent_of(desk, BOOK, "done", tools=[booking(truth)], saver=False)
    await agent.ainvoke(GO)
    await agent.ainvoke(GO)

    assert truth.count(("start", "b1")) == 2
    assert [str(record.state) for record in await records(desk)] == ["succeeded", "succeeded"]


# ── retry, invalid input, questions ─────────────────────────────────────────────────────────────────────────────────


async def test_each_attempt_of_the_retrying_middleware_is_an_attempt_that_points_back(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def flight(origin: str, call: Id) -> str:
        """Fly."""
        truth.append(("start", call))
        if truth.count(("start", call)) < 3:
            truth.append(("raise", call))
            raise ConnectionError("upstream")
        truth.append(("end", call))
        return "2 flights"

    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False, backoff_factor=0.0)
    agent = agent_of(desk, [("flight", {"origin": "LHR"}, "f")], "done", tools=[flight], before=[retry])
    state = await agent.ainvoke(GO, thread())

    found = await records(desk)
    assert [(record.attempt, str(record.state)) for record in found] == [(1, "failed"), (2, "failed"), (3, "succeeded")]
    assert [record.proposal.get("retry_of") for record in found] == [None, found[0].id, found[1].id]
    assert results(state)["f"].content == "2 flights"
    await assert_record_equals(desk, truth)


async def test_refused_arguments_start_nothing_and_the_corrected_call_closes_them(desk: tw.Desk, truth: Truth) -> None:
    bad, good = [("book", {"itinerary": "A"}, "bad")], [("book", {"itinerary": "A", "total": 3}, "good")]
    await agent_of(desk, bad, [("nope", {}, "nope")], good, "done", tools=[booking(truth)]).ainvoke(GO, thread())

    found = await by_id(desk)
    assert {key: str(record.state) for key, record in found.items()} == {"bad": "cancelled", "nope": "cancelled", "good": "succeeded"}
    assert found["bad"].closure.reason == "replaced by a corrected call"
    assert len(await said(desk, Kind.INPUTS_REJECTED)) == 2
    await assert_record_equals(desk, truth)


async def test_nobody_is_asked_to_approve_arguments_that_the_tool_would_refuse(desk: tw.Desk, truth: Truth) -> None:
    govern(desk)
    state = await agent_of(desk, [("book", {"itinerary": "A"}, "bad")], "done", tools=[booking(truth)]).ainvoke(GO, thread())

    assert results(state)["bad"].status == "error"
    assert await said(desk, Kind.APPROVAL_REQUESTED) == []
    await assert_record_equals(desk, truth)


async def test_a_body_that_asks_is_paused_and_its_second_entry_is_shown_as_a_second_start(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def transfer(amount: int, call: Id) -> str:
        """Transfer."""
        truth.append(("start", call))
        answer = interrupt({"q": "ok?"})
        truth.append(("end", call))
        return str(answer)

    agent = agent_of(desk, [("transfer", {"amount": 1}, "t")], "done", tools=[transfer])
    await agent.ainvoke(GO, thread())
    paused = (await by_id(desk))["t"]
    assert (str(paused.state), paused.outcome) == ("partially_complete", None)

    state = await agent.ainvoke(Command(resume="yes"), thread())
    after = (await by_id(desk))["t"]
    assert results(state)["t"].content == "yes"
    assert (str(after.state), "duplicate-start" in after.findings) == ("succeeded", True)
    await assert_record_equals(desk, truth)


# ── streaming ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_streamed_run_is_recorded_the_same_and_its_progress_with_it(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def rail(line: str, call: Id) -> str:
        """Ride."""
        truth.append(("start", call))
        for leg in (1, 2, 3):
            await tw.progress(f"leg {leg}", percent=33 * leg)
        truth.append(("end", call))
        return "3 trains"

    model = StreamingModel(responses=[[("rail", {"line": "X"}, "r")], "done"])
    agent = agent_of(desk, model=model, tools=[rail])
    modes = [
        mode async for mode, _ in agent.astream(GO, thread(), stream_mode=["updates", "messages", "tasks", "tools", "values", "debug"])
    ]

    record = (await by_id(desk))["r"]
    assert {"updates", "messages", "tasks", "tools", "values", "debug"} == set(modes)
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "streaming", "succeeded"]
    assert record.progress["percent"] == 99
    await assert_record_equals(desk, truth)
