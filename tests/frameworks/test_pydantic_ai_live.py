"""Pydantic AI, the real package, under the recorder: what is on record is held against what the tool bodies wrote themselves."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import CancellationToken, ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import RunCancelled, ToolFailed

import toolwitness as tw
from tests.frameworks.langgraph_bench import ANN, BEN, Truth, assert_record_equals, by_id, govern, until, waiting
from tests.unit.adapters.test_pydantic_ai_recorder import agent_of, scripted
from toolwitness.core.errors import Conflict
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.recording.desk_side import DeskSide
from toolwitness.service.views import card

VICTIM = Path(__file__).with_name("pydantic_ai_victim.py")
BOOK = [("book", {"itinerary": "IT-1", "total": 120}, "b1")]
Body = Callable[..., Any]


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


@pytest.fixture
def truth() -> Truth:
    return []


def booking(truth: Truth, *, asynchronous: bool = True, **more: Any) -> Tool[None]:
    """A tool that costs money and writes when it does."""

    async def book(ctx: RunContext[None], itinerary: str, total: int) -> str:
        truth.append(("start", str(ctx.tool_call_id)))
        truth.append(("end", str(ctx.tool_call_id)))
        return f"PNR {itinerary} {total}"

    def book_in_thread(ctx: RunContext[None], itinerary: str, total: int) -> str:
        truth.append(("start", str(ctx.tool_call_id)))
        truth.append(("end", str(ctx.tool_call_id)))
        return f"PNR {itinerary} {total}"

    return Tool(book if asynchronous else book_in_thread, name="book", **more)


async def asking(desk: tw.Desk, truth: Truth, **more: Any) -> tuple[Any, InvocationRecord]:
    govern(desk, **more)
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), booking(truth)).run("book it"))
    return run, await waiting(desk, "b1")


# ── streaming ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", ["run", "run_stream", "run_stream_events", "iter"])
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async tool", "tool in a thread"])
async def test_streamed_or_not_the_record_is_what_the_body_wrote(desk: tw.Desk, truth: Truth, way: str, asynchronous: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    agent = agent_of(desk, scripted(BOOK, "booked"), booking(truth, asynchronous=asynchronous))
    if way == "run":
        said = (await agent.run("go")).output
    elif way == "run_stream":
        async with agent.run_stream("go") as streamed:
            said = await streamed.get_output()
    elif way == "run_stream_events":
        async with agent.run_stream_events("go") as events:
            said = [event async for event in events][-1].result.output
    else:
        async with agent.iter("go") as steps:
            async for _ in steps:
                pass
        said = steps.result.output

    assert said == "booked"
    assert truth == [("start", "b1"), ("end", "b1")]
    assert [str(move.target) for move in (await by_id(desk))["b1"].moves] == ["proposed", "running", "succeeded"]
    await assert_record_equals(desk, truth)


@pytest.mark.parametrize("way", ["run", "run_stream_events"])
async def test_three_parallel_calls_streamed_or_not_are_each_what_their_bodies_wrote(desk: tw.Desk, truth: Truth, way: str) -> None:
    riding, stopped = asyncio.Event(), asyncio.Event()

    async def flight(ctx: RunContext[None], origin: str) -> str:
        truth.append(("start", "f"))
        await stopped.wait()
        truth.append(("end", "f"))
        return "2 flights"

    async def hotel(ctx: RunContext[None], city: str) -> str:
        truth.append(("start", "h"))
        truth.append(("raise", "h"))
        raise ToolFailed("upstream 502")

    async def rail(ctx: RunContext[None], line: str) -> str:
        truth.append(("start", "r"))
        riding.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            truth.append(("cancelled", "r"))
            stopped.set()
            raise
        return "never"

    calls = [("flight", {"origin": "LHR"}, "f"), ("hotel", {"city": "Rome"}, "h"), ("rail", {"line": "X"}, "r")]
    agent = agent_of(desk, scripted(calls, "settled"), flight, hotel, rail)

    async def streamed() -> None:
        async with agent.run_stream_events("go") as events:
            async for _ in events:
                pass

    going: Awaitable[Any] = agent.run("go") if way == "run" else streamed()
    run = asyncio.ensure_future(going)
    await riding.wait()
    found = await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING and now["h"].state is State.FAILED)
    await desk.request_cancellation(found["r"].id, by=ANN, reason="too slow")
    await run

    assert {key: str(record.state) for key, record in (await by_id(desk)).items()} == {"f": "succeeded", "h": "failed", "r": "cancelled"}
    await assert_record_equals(desk, truth)


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_of_two_people_one_wins_and_the_other_is_told_who_did(desk: tw.Desk, truth: Truth) -> None:
    run, record = await asking(desk, truth)

    answers = await asyncio.gather(desk.approve(record.id, by=ANN), desk.deny(record.id, by=BEN), return_exceptions=True)
    await run

    lost = [one for one in answers if isinstance(one, Exception)]
    assert len(lost) == 1
    assert ("ben" if answers[0] in lost else "ann") in str(lost[0])
    assert len(truth) == (0 if answers[0] in lost else 2)
    await assert_record_equals(desk, truth)


@pytest.mark.parametrize(("act", "kind"), [("deny", "denied"), ("dismiss", "dismissed"), ("withdraw", "withdrawn")])
async def test_what_a_person_turns_down_runs_nothing_and_the_model_is_told_that_it_is_a_decision(
    desk: tw.Desk, truth: Truth, act: str, kind: str
) -> None:
    run, record = await asking(desk, truth)

    await getattr(desk, act)(record.id, by=ANN)
    result = await run

    (part,) = [part for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    after = (await by_id(desk))["b1"]
    assert (str(after.state), str(after.closure and after.closure.kind), part.outcome, truth) == ("cancelled", kind, "denied", [])
    await assert_record_equals(desk, truth)


async def test_a_request_expires_and_a_late_approval_runs_nothing(desk: tw.Desk, truth: Truth) -> None:
    run, record = await asking(desk, truth, approval_seconds=0.05)
    await run

    with pytest.raises((tw.NotPermitted, Conflict)):
        await desk.approve(record.id, by=ANN)
    assert (str((await by_id(desk))["b1"].state), truth) == ("expired", [])
    await assert_record_equals(desk, truth)


async def test_an_approval_that_is_used_once_lets_nothing_through_a_second_time(desk: tw.Desk, truth: Truth) -> None:
    run, record = await asking(desk, truth)
    await desk.approve(record.id, by=ANN)
    first = await run

    again = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), booking(truth)).run(message_history=first.all_messages()[:2]))
    second = await until(desk, lambda now: now["b1"].id != record.id and now["b1"].open_approval is not None)
    assert truth == [("start", "b1"), ("end", "b1")]
    with pytest.raises((tw.NotPermitted, Conflict)):
        await desk.approve(record.id, by=ANN)
    await desk.deny(second["b1"].id, by=ANN, reason="once is enough")
    await again

    assert truth == [("start", "b1"), ("end", "b1")]
    await assert_record_equals(desk, truth)


# ── retries, refused inputs ─────────────────────────────────────────────────────────────────────────────────────────


async def test_each_retry_is_an_attempt_of_its_own_and_refused_inputs_start_nothing(desk: tw.Desk, truth: Truth) -> None:
    async def hotel(ctx: RunContext[None], city: str) -> str:
        key = str(ctx.tool_call_id)
        truth.append(("start", key))
        if key == "h1":
            truth.append(("raise", key))
            raise ModelRetry("upstream 502, try again")
        truth.append(("end", key))
        return "1 hotel"

    model = scripted([("hotel", {"town": 1}, "h0")], [("hotel", {"city": "Rome"}, "h1")], [("hotel", {"city": "Rome"}, "h2")], "done")
    await agent_of(desk, model, hotel, retries=3).run("go")

    after = await by_id(desk)
    assert {key: str(record.state) for key, record in after.items()} == {"h0": "cancelled", "h1": "failed", "h2": "succeeded"}
    assert (after["h2"].attempt, after["h2"].proposal["retry_of"]) == (2, after["h1"].id)
    await assert_record_equals(desk, truth)


# ── what outlives its run ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_thread_whose_run_was_cancelled_is_waited_for_when_the_conversation_goes_on_and_pays_once(
    desk: tw.Desk, truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go, waits = threading.Event(), asyncio.Event()
    ended = DeskSide.ended

    async def seen(side: DeskSide, invocation_id: str) -> InvocationRecord:
        waits.set()
        return await ended(side, invocation_id)

    monkeypatch.setattr(DeskSide, "ended", seen)

    def pay(ctx: RunContext[None], amount: int) -> str:
        truth.append(("start", "p"))
        let_go.wait(10)
        truth.append(("end", "p"))
        return "paid"

    token = CancellationToken()
    agent = agent_of(desk, scripted([("pay", {"amount": 5}, "p")], "done"), pay)
    history: list[Any] = []

    async def first() -> None:
        async with agent.iter("go", conversation_id="trip", cancellation_token=token) as steps:
            try:
                async for _ in steps:
                    pass
            finally:
                history.extend(steps.ctx.state.message_history)

    run = asyncio.create_task(first())
    await until(desk, lambda now: "p" in now and now["p"].state is State.RUNNING)
    token.cancel()
    with pytest.raises(RunCancelled):
        await run
    again = asyncio.create_task(agent.run(message_history=history[:2], conversation_id="trip"))
    await waits.wait()
    assert truth == [("start", "p")]
    let_go.set()
    result = await again

    (told,) = [part for message in result.new_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert told.content == "paid"
    assert truth == [("start", "p"), ("end", "p")]
    await assert_record_equals(desk, truth)


def wrote(place: Path) -> list[list[str]]:
    file = place / "truth.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("]")] if file.exists() else []


async def killed(place: Path, tool: str) -> None:
    """Run the agent in a process of its own, approve what it asks, and kill it once its body has made its effect."""
    victim = await asyncio.create_subprocess_exec(sys.executable, str(VICTIM), str(place), "run", tool)
    try:
        async with asyncio.timeout(60):
            while not (place / "calls.db").exists():  # noqa: ASYNC110 -- another process makes it
                await asyncio.sleep(0.02)
            async with tw.open(str(place / "calls.db")) as desk:
                govern(desk)
                if tool == "book":
                    await desk.approve((await waiting(desk, "c1")).id, by=ANN)
                await until(desk, lambda now: "c1" in now and bool(now["c1"].starts))
            while ["effect", "c1"] not in wrote(place):
                assert victim.returncode is None
                await asyncio.sleep(0.02)
    finally:
        victim.kill()
        await victim.wait()


async def test_an_observed_call_whose_process_was_killed_is_not_made_again_and_its_outcome_is_unknown(tmp_path: Path) -> None:
    await killed(tmp_path, "charge")

    heir = await asyncio.create_subprocess_exec(sys.executable, str(VICTIM), str(tmp_path), "resume", "charge")
    assert await asyncio.wait_for(heir.wait(), 60) == 0

    told = dict(json.loads((tmp_path / "told.json").read_text(encoding="utf-8")))
    assert wrote(tmp_path) == [["start", "c1"], ["effect", "c1"]]
    assert "How it ended is not known" in told["tool-return"]
    async with tw.open(str(tmp_path / "calls.db")) as desk:
        record = (await by_id(desk))["c1"]
        shown = json.dumps(await card(desk.place, record.id, ANN))
        assert (str(record.state), len(record.starts)) == ("running", 1)
        assert "outcome-unknown" in record.findings
        assert await desk.verify() == []
    assert "how it ended is not known" in shown.lower()


async def test_a_governed_call_whose_process_was_killed_is_made_again_only_after_a_new_decision(tmp_path: Path) -> None:
    await killed(tmp_path, "book")

    heir = await asyncio.create_subprocess_exec(sys.executable, str(VICTIM), str(tmp_path), "resume", "book")
    try:
        async with tw.open(str(tmp_path / "calls.db")) as desk, asyncio.timeout(60):
            govern(desk)
            now = await until(desk, lambda now: now["c1"].attempt == 2 and (now["c1"].open_approval is not None or now["c1"].closure))
            first = await desk.record(now["c1"].proposal["retry_of"])
            assert "outcome-unknown" in first.findings
            assert wrote(tmp_path) == [["start", "c1"], ["effect", "c1"]]
            if now["c1"].open_approval is not None:
                await desk.deny(now["c1"].id, by=ANN, reason="it may have been made")
            assert await heir.wait() == 0
    finally:
        if heir.returncode is None:
            heir.kill()
            await heir.wait()

    assert wrote(tmp_path) == [["start", "c1"], ["effect", "c1"]]
