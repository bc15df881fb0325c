"""The recorder under the real openai-agents, with scripted models and no network. Truth is written by the bodies themselves."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from agents import Agent, FunctionTool, RunConfig, Runner, RunState, function_tool
from agents.testing import ScriptedModel
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import toolwitness as tw
from toolwitness.adapters.openai_agents import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Reconciliation, State
from toolwitness.policy.tool_policy import ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
BOB = tw.Actor(id="bob", roles=frozenset({"finance", "approver"}))
Said = list[tuple[str, Any, str]] | str


def say(said: Said) -> list[Any]:
    """A response of the model: tool calls (name, arguments, id) or a text."""
    if isinstance(said, str):
        content = [ResponseOutputText(text=said, type="output_text", annotations=[])]
        return [ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")]
    return [
        ResponseFunctionToolCall(
            arguments=args if isinstance(args, str) else json.dumps(args), call_id=call_id, name=name, type="function_call", id=call_id
        )
        for name, args, call_id in said
    ]


def scripted(*responses: Said) -> ScriptedModel:
    return ScriptedModel([say(one) for one in responses])


QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


def agent_of(model: ScriptedModel, *tools: Any, **more: Any) -> Agent[Any]:
    return Agent(name="travel", model=model, tools=list(tools), **more)


async def records(desk: tw.Desk) -> dict[str, InvocationRecord]:
    """Every record by the provider's id, the latest of each."""
    found: dict[str, InvocationRecord] = {}
    for task_id in await desk.ledger.tasks():
        view = await desk.ledger.task(task_id)
        assert view is not None
        for record in view.records.values():
            found[record.proposal["correlation"][0]["provider_call_id"]] = record
    return found


async def follow(desk: tw.Desk) -> AsyncIterator[None]:
    head = await desk.ledger.head()
    yield None
    async for _ in desk.follow(after=head):
        yield None


async def until(desk: tw.Desk, holds: Callable[[dict[str, InvocationRecord]], bool]) -> dict[str, InvocationRecord]:
    """Wait until the ledger says so."""
    async with asyncio.timeout(20):
        async for _ in follow(desk):
            found = await records(desk)
            if holds(found):
                return found
    raise AssertionError("the ledger ended")


async def waiting(desk: tw.Desk, call: str = "b") -> InvocationRecord:
    return (await until(desk, lambda now: call in now and now[call].open_approval is not None))[call]


async def value(desk: tw.Desk, reference: Any) -> Any:
    raw = await desk.ledger.value(reference["ref"])
    assert raw is not None
    return json.loads(raw)


def outputs(result: Any) -> dict[str, Any]:
    """What the model was given, by call."""
    return {item.raw_item["call_id"]: item.output for item in result.new_items if item.type == "tool_call_output_item"}


# ── ok, parallel, cancel, thread ────────────────────────────────────────────────────────────────────────────────────


@function_tool
async def flight(origin: str, seats: int = 1) -> str:
    return f"2 flights from {origin}"


async def test_a_call_that_ends_well_has_its_whole_path_on_record(desk: tw.Desk) -> None:
    agent = agent_of(scripted([("flight", {"origin": "LHR"}, "c1")], "two flights"), flight)

    result = await Recorder(desk).run(agent, "Find me a flight", run_config=QUIET)

    record = (await records(desk))["c1"]
    assert result.final_output == "two flights"
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "succeeded"]
    assert await value(desk, record.executed_inputs) == {"origin": "LHR", "seats": 1}
    assert record.outcome is not None
    assert await value(desk, record.outcome.data["result"]) == "2 flights from LHR"
    assert "policy-unobserved" in record.findings
    view = await desk.ledger.task(record.task_id)
    assert view is not None
    assert view.task.purpose == "Find me a flight"
    assert await desk.verify() == []


def leg(name: str, body: Callable[[], Any]) -> FunctionTool:
    async def run(city: str) -> str:
        return await body()

    return function_tool(run, name_override=name)


async def test_of_three_parallel_calls_one_fails_one_is_cancelled_alone_and_the_third_is_untouched(desk: tw.Desk) -> None:
    stopped = asyncio.Event()

    async def fly() -> str:
        await stopped.wait()
        return "2 flights"

    async def stay() -> str:
        raise ValueError("upstream 502")

    async def ride() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    city = {"city": "Rome"}
    model = scripted([("fly", city, "f"), ("stay", city, "h"), ("ride", city, "r")], "settled")
    agent = agent_of(model, leg("fly", fly), leg("stay", stay), leg("ride", ride))
    run = asyncio.create_task(Recorder(desk).run(agent, "go", run_config=QUIET))
    found = await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING and now["h"].state is State.FAILED)
    await desk.request_cancellation(found["r"].id, by=ANN, reason="too slow")
    result = await run

    after = await records(desk)
    assert result.final_output == "settled"
    assert {key: str(record.state) for key, record in after.items()} == {"f": "succeeded", "h": "failed", "r": "cancelled"}
    closure = after["r"].closure
    assert closure is not None
    assert (closure.initiator, closure.reason, str(closure.termination)) == ("ann", "too slow", "unwound")
    assert outputs(result) == {
        "f": "2 flights",
        "h": "An error occurred while running the tool. Please try again.",
        "r": "The call was cancelled: too slow.",
    }


async def test_a_threaded_tool_stays_running_when_its_run_is_cancelled_and_its_late_effect_is_the_truth(desk: tw.Desk) -> None:
    let_go, effects = threading.Event(), list[int]()

    @function_tool
    def pay(amount: int) -> str:
        let_go.wait(10)
        effects.append(amount)
        return "paid"

    result = Recorder(desk).run_streamed(agent_of(scripted([("pay", {"amount": 5}, "p")], "x"), pay), "go", run_config=QUIET)
    reading = asyncio.create_task(drain(result))
    await until(desk, lambda now: "p" in now and now["p"].state is State.RUNNING)
    result.cancel()
    await reading

    during = (await until(desk, lambda now: "waiter-gone" in now["p"].findings))["p"]
    assert (str(during.state), during.cancel_support, effects) == ("running", "thread", [])
    assert result.new_items == []

    let_go.set()
    after = await until(desk, lambda now: now["p"].state is State.SUCCEEDED)
    assert effects == [5]
    assert after["p"].outcome is not None
    assert await value(desk, after["p"].outcome.data["result"]) == "paid"


async def drain(result: Any) -> list[Any]:
    return [event async for event in result.stream_events()]


async def test_a_cancelled_run_loses_no_result_and_an_async_body_is_seen_to_end(desk: tw.Desk) -> None:
    async def fly() -> str:
        return "2 flights"

    async def ride() -> str:
        await asyncio.Event().wait()
        return "never"

    model = scripted([("fly", {"city": "Rome"}, "f"), ("ride", {"city": "Rome"}, "r")], "x")
    result = Recorder(desk).run_streamed(agent_of(model, leg("fly", fly), leg("ride", ride)), "go", run_config=QUIET)
    reading = asyncio.create_task(drain(result))
    await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING and now["f"].state is State.SUCCEEDED)
    result.cancel()
    await reading

    found = await until(desk, lambda now: now["r"].state is State.CANCELLED)
    assert found["r"].closure is not None
    assert str(found["r"].closure.termination) == "unwound"
    assert found["r"].reconciliation is Reconciliation.UNKNOWN
    assert result.new_items == []  # the framework lost the finished result; the desk has it
    assert found["f"].outcome is not None
    assert await value(desk, found["f"].outcome.data["result"]) == "2 flights"


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def booking(ran: list[Any], **more: Any) -> FunctionTool:
    async def book(itinerary: str, total: float) -> str:
        ran.append((itinerary, total))
        return "PNR ABC123"

    return function_tool(book, name_override="book", **{"needs_approval": True, **more})


BOOK: Said = [("book", {"itinerary": "IT-1", "total": 120.0}, "b")]


async def test_an_approval_is_answered_at_the_desk_and_the_call_waits_where_it_is(desk: tw.Desk) -> None:
    ran: list[Any] = []
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "booked"), booking(ran)), "book it", run_config=QUIET))
    record = await waiting(desk)
    assert ran == []
    await desk.approve(record.id, by=ANN)
    result = await run

    after = (await records(desk))["b"]
    assert (result.final_output, ran, result.interruptions) == ("booked", [("IT-1", 120.0)], [])
    answer = after.approvals[0].answer
    assert answer is not None
    assert (str(after.state), answer.actor, after.claim is not None) == ("succeeded", "ann", True)
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=BOB)


@pytest.mark.parametrize("how", ["deny", "dismiss", "withdraw"])
async def test_a_call_that_is_not_approved_does_not_run_and_the_model_is_told_in_words(desk: tw.Desk, how: str) -> None:
    ran: list[Any] = []
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "fine"), booking(ran)), "book it", run_config=QUIET))
    record = await waiting(desk)
    await getattr(desk, how)(record.id, by=ANN, reason="too dear")
    result = await run

    after = (await records(desk))["b"]
    closure = after.closure
    assert closure is not None
    assert (str(after.state), str(closure.kind), ran) == (
        "cancelled",
        {"deny": "denied", "dismiss": "dismissed", "withdraw": "withdrawn"}[how],
        [],
    )
    assert outputs(result)["b"].startswith("The call was not made: ")
    assert "too dear" in outputs(result)["b"]


async def test_an_approval_that_nobody_gives_expires_and_a_late_one_runs_nothing(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", approvers=("role:finance",), approval_seconds=0.05))
    result = await Recorder(desk).run(agent_of(scripted(BOOK, "fine"), booking(ran)), "book it", run_config=QUIET)

    after = (await records(desk))["b"]
    assert (str(after.state), ran) == ("expired", [])
    assert "deadline passed" in outputs(result)["b"]
    with pytest.raises(tw.NotPermitted):
        await desk.approve(after.id, by=ANN)


async def test_an_edited_approval_runs_the_edited_inputs_and_both_are_on_record(desk: tw.Desk) -> None:
    ran: list[Any] = []
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "booked"), booking(ran)), "book it", run_config=QUIET))
    record = await waiting(desk)
    await desk.edit_inputs(record.id, {"total": 99.0}, by=ANN)
    record = await waiting(desk)
    await desk.approve(record.id, by=ANN)
    await run

    after = (await records(desk))["b"]
    assert ran == [("IT-1", 99.0)]
    assert await value(desk, after.executed_inputs) == {"itinerary": "IT-1", "total": 99.0}
    assert await value(desk, after.inputs_history[0]) == {"itinerary": "IT-1", "total": 120.0}


async def test_of_two_people_who_answer_at_once_one_wins_and_the_body_runs_once(desk: tw.Desk) -> None:
    ran: list[Any] = []
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "booked"), booking(ran)), "book it", run_config=QUIET))
    record = await waiting(desk)
    answers = await asyncio.gather(desk.approve(record.id, by=ANN), desk.deny(record.id, by=BOB), return_exceptions=True)
    await run

    after = (await records(desk))["b"]
    lost = [one for one in answers if isinstance(one, BaseException)]
    assert len(lost) == 1
    assert (len(ran), str(after.state)) in {(1, "succeeded"), (0, "cancelled")}


async def test_a_run_that_is_cancelled_while_it_waits_takes_its_request_back_and_a_late_approval_runs_nothing(desk: tw.Desk) -> None:
    ran: list[Any] = []
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "x"), booking(ran)), "book it", run_config=QUIET))
    record = await waiting(desk)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    after = (await until(desk, lambda now: now["b"].state is State.CANCELLED))["b"]
    assert after.closure is not None
    assert str(after.closure.kind) == "withdrawn"
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=ANN)
    assert ran == []


async def test_a_rule_of_the_tool_decides_call_by_call_and_is_asked_once(desk: tw.Desk) -> None:
    ran: list[Any] = []
    asked: list[float] = []

    async def dear(context: Any, inputs: dict[str, Any], call_id: str) -> bool:
        asked.append(inputs["total"])
        return bool(inputs["total"] > 100)

    said: Said = [("book", {"itinerary": "IT-0", "total": 5.0}, "cheap"), *BOOK]  # type: ignore[list-item]  # a list of calls
    run = asyncio.create_task(
        Recorder(desk).run(agent_of(scripted(said, "done"), booking(ran, needs_approval=dear)), "go", run_config=QUIET)
    )
    record = await waiting(desk)
    found = await until(desk, lambda now: now["cheap"].state is State.SUCCEEDED)
    assert (ran, "policy-unobserved" in found["cheap"].findings) == ([("IT-0", 5.0)], True)
    await desk.approve(record.id, by=ANN)
    await run
    assert sorted(asked) == [5.0, 120.0]


async def test_a_tool_with_a_declared_policy_waits_though_the_framework_asks_for_nothing(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", consequences=("financially-consequential",), approvers=("role:finance",)))
    tool = booking(ran, needs_approval=False)
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, "booked"), tool), "book it", run_config=QUIET))
    record = await waiting(desk)
    assert ran == []
    await desk.approve(record.id, by=ANN)
    await run
    assert len(ran) == 1
    assert "policy-unobserved" not in (await records(desk))["b"].findings


# ── saved states ────────────────────────────────────────────────────────────────────────────────────────────────────


async def paused(desk: tw.Desk, agent: Agent[Any], recorder: Recorder) -> str:
    result = await recorder.run(agent, "book it", run_config=QUIET)
    assert [item.call_id for item in result.interruptions] == ["b"]
    return json.dumps(result.to_state().to_json())


async def test_a_paused_run_is_answered_from_the_desk_and_goes_on(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent, recorder = agent_of(scripted(BOOK, "booked"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    record = await waiting(desk)
    await desk.approve(record.id, by=ANN)

    state = await recorder.resolve(await RunState.from_json(agent, json.loads(saved)))
    result = await recorder.run(agent, state, run_config=QUIET)

    assert (result.final_output, ran) == ("booked", [("IT-1", 120.0)])
    assert len(await records(desk)) == 1
    assert (await records(desk))["b"].state is State.SUCCEEDED


async def test_the_same_snapshot_resumed_twice_runs_once_and_the_second_gets_the_recorded_result(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent, recorder = agent_of(scripted(BOOK, "one", "two"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    await desk.approve((await waiting(desk)).id, by=ANN)

    results = []
    for _ in range(2):
        state = await recorder.resolve(await RunState.from_json(agent, json.loads(saved)))
        results.append(await recorder.run(agent, state, run_config=QUIET))

    assert [outputs(result)["b"] for result in results] == ["PNR ABC123", "PNR ABC123"]
    assert ran == [("IT-1", 120.0)]
    record = (await records(desk))["b"]
    assert (str(record.state), len(record.starts)) == ("succeeded", 1)


async def test_a_denied_snapshot_is_rejected_in_words_and_a_state_that_somebody_else_approved_still_needs_the_desk(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent, recorder = agent_of(scripted(BOOK, "fine", "fine"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    await desk.deny((await waiting(desk)).id, by=ANN, reason="too dear")
    state = await recorder.resolve(await RunState.from_json(agent, json.loads(saved)))
    denied = await recorder.run(agent, state, run_config=QUIET)
    assert "too dear" in outputs(denied)["b"]

    forged = await RunState.from_json(agent, json.loads(saved))
    forged.approve(forged.get_interruptions()[0], always_approve=True)
    again = await recorder.run(agent, forged, run_config=QUIET)

    assert ran == []
    assert "denied" in outputs(again)["b"]


async def test_a_sticky_approval_never_exceeds_what_the_desk_has_granted(desk: tw.Desk) -> None:
    ran: list[Any] = []
    more: Said = [("book", {"itinerary": "IT-2", "total": 9999.0}, "b2")]
    agent, recorder = agent_of(scripted(BOOK, more, "done"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = await paused(desk, agent, recorder)
    await desk.approve((await waiting(desk)).id, by=ANN)
    state = await RunState.from_json(agent, json.loads(saved))
    state.approve(state.get_interruptions()[0], always_approve=True)
    run = asyncio.create_task(recorder.run(agent, state, run_config=QUIET))

    second = await waiting(desk, "b2")
    assert ran == [("IT-1", 120.0)]
    await desk.deny(second.id, by=ANN, reason="that is another sum")
    result = await run

    assert ran == [("IT-1", 120.0)]
    assert "another sum" in outputs(result)["b2"]


async def test_a_standing_grant_covers_what_it_says_and_no_more(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", consequences=("externally-visible",), approvers=("role:finance",)))
    await desk.grant("book", by=ANN, seconds=60, count=1, where={"itinerary": "IT-1"})
    more: Said = [("book", {"itinerary": "IT-2", "total": 1.0}, "b2")]
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(BOOK, more, "done"), booking(ran)), "go", run_config=QUIET))

    second = await waiting(desk, "b2")
    assert ran == [("IT-1", 120.0)]
    await desk.approve(second.id, by=ANN)
    await run
    assert [one for one, _ in ran] == ["IT-1", "IT-2"]


# ── retry, invalid input, streaming, limits ─────────────────────────────────────────────────────────────────────────


async def test_a_call_that_the_model_makes_again_is_a_new_attempt_that_points_back(desk: tw.Desk) -> None:
    tries: list[str] = []

    @function_tool
    async def fetch(city: str) -> str:
        tries.append(city)
        if len(tries) == 1:
            raise ValueError("upstream 502")
        return "sunny"

    model = scripted([("fetch", {"city": "Rome"}, "c1")], [("fetch", {"city": "Rome"}, "c2")], "sunny")
    await Recorder(desk).run(agent_of(model, fetch), "go", run_config=QUIET)

    found = await records(desk)
    assert {key: str(record.state) for key, record in found.items()} == {"c1": "failed", "c2": "succeeded"}
    assert (found["c2"].attempt, found["c2"].proposal["retry_of"]) == (2, found["c1"].id)


@pytest.mark.parametrize("raw", ['{"city": 5}', '{"city": "Ro', "[1]", '{"town": "Rome"}'])
async def test_refused_inputs_never_start_the_body_and_the_corrected_call_closes_them(desk: tw.Desk, raw: str) -> None:
    ran: list[str] = []

    @function_tool
    async def fetch(city: str) -> str:
        ran.append(city)
        return "sunny"

    model = scripted([("fetch", raw, "c1")], [("fetch", {"city": "Rome"}, "c2")], "sunny")
    result = await Recorder(desk).run(agent_of(model, fetch), "go", run_config=QUIET)

    found = await records(desk)
    assert ran == ["Rome"]
    assert (found["c1"].starts, str(found["c1"].state)) == ([], "cancelled")
    assert found["c1"].closure is not None
    assert str(found["c1"].closure.kind) == "withdrawn"
    assert outputs(result)["c1"] == "An error occurred while running the tool. Please try again."
    assert str(found["c2"].state) == "succeeded"


async def test_a_streamed_run_is_recorded_as_it_goes_and_progress_of_a_tool_is_shown(desk: tw.Desk) -> None:
    @function_tool
    async def work(steps: int) -> str:
        for step in range(steps):
            tw.progress(f"step {step + 1}", percent=50 * (step + 1))
        return "done"

    result = Recorder(desk).run_streamed(agent_of(scripted([("work", {"steps": 2}, "w")], "end"), work), "go", run_config=QUIET)
    events = await drain(result)

    record = (await until(desk, lambda now: "w" in now and now["w"].state is State.SUCCEEDED))["w"]
    assert result.final_output == "end"
    assert {"tool_called", "tool_output"} <= {getattr(event, "name", "") for event in events}
    assert record.progress is not None
    assert record.progress_order >= 1


async def test_the_limit_of_a_tool_is_kept_and_does_not_count_the_wait_for_a_person(desk: tw.Desk) -> None:
    async def slow(city: str) -> str:
        await asyncio.Event().wait()
        return "never"

    tool = function_tool(slow, name_override="slow", timeout=0.05, needs_approval=True)
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted([("slow", {"city": "Rome"}, "b")], "x"), tool), "go", run_config=QUIET))
    record = await waiting(desk)
    done, _ = await asyncio.wait({run}, timeout=0.15)
    assert done == set()
    await desk.approve(record.id, by=ANN)
    result = await run

    after = (await records(desk))["b"]
    assert after.outcome is not None
    assert (str(after.state), after.outcome.data["category"]) == ("failed", "timeout")
    assert outputs(result)["b"] == "Tool 'slow' timed out after 0.05 seconds."


async def test_outside_a_recorded_run_a_watched_agent_is_what_it_was(desk: tw.Desk) -> None:
    ran: list[Any] = []
    agent = agent_of(scripted(BOOK), booking(ran))
    Recorder(desk).watch(agent)

    result = await Runner.run(agent, "book it", run_config=QUIET)

    assert len(result.interruptions) == 1
    assert (ran, await records(desk)) == ([], {})


# ── all at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_of_forty_parallel_calls_of_every_kind_each_record_equals_what_its_body_wrote(desk: tw.Desk) -> None:
    truth: dict[str, str] = {}
    go, let_go, hangs = asyncio.Event(), threading.Event(), asyncio.Semaphore(0)

    @function_tool
    async def act(context: ToolContext[Any], how: str) -> str:
        call = context.tool_call_id
        truth[call] = "running"
        try:
            if how == "hang":
                hangs.release()
                await asyncio.Event().wait()
            await go.wait()
        except asyncio.CancelledError:
            truth[call] = "cancelled"
            raise
        if how == "raise":
            truth[call] = "failed"
            raise ValueError("upstream 502")
        truth[call] = "succeeded"
        return f"{call} done"

    @function_tool
    def thread(context: ToolContext[Any], how: str) -> str:
        truth[context.tool_call_id] = "running"
        let_go.wait(20)
        truth[context.tool_call_id] = "failed" if how == "raise" else "succeeded"
        if how == "raise":
            raise ValueError("upstream 502")
        return f"{context.tool_call_id} done"

    kinds = [
        ("act", "return"),
        ("act", "raise"),
        ("act", "hang"),
        ("thread", "return"),
        ("thread", "raise"),
        ("act", 5),
        ("act", "return"),
        ("act", "hang"),
    ]
    said = [(tool, {"how": how}, f"c{number}") for number, (tool, how) in enumerate(kinds * 5)]
    run = asyncio.create_task(Recorder(desk).run(agent_of(scripted(said, "settled"), act, thread), "go", run_config=QUIET))
    hanging = {call for tool, inputs, call in said if inputs["how"] == "hang"}
    refused = {call for tool, inputs, call in said if inputs["how"] == 5}
    for _ in hanging:  # a stop that comes before a body's first line is another story: then nothing of it runs
        await hangs.acquire()
    found = await records(desk)
    await asyncio.gather(*(desk.request_cancellation(found[call].id, by=ANN) for call in hanging))
    go.set()
    let_go.set()
    result = await run

    after = await records(desk)
    assert len(after) == len(said) == 40
    assert {call: str(one.state) for call, one in after.items() if call not in refused} == truth
    assert {call: (str(after[call].state), after[call].starts) for call in refused} == {call: ("cancelled", []) for call in refused}
    assert {call: len(one.starts) for call, one in after.items() if call not in refused} == dict.fromkeys(truth, 1)
    assert len(outputs(result)) == 40
    assert await desk.verify() == []


async def test_a_sync_tool_reports_progress_from_its_thread(desk: tw.Desk) -> None:
    @function_tool
    def work(steps: int) -> str:
        for step in range(steps):
            tw.progress(f"step {step + 1}", percent=50 * (step + 1))
        return "done"

    await Recorder(desk).run(agent_of(scripted([("work", {"steps": 2}, "w")], "end"), work), "go", run_config=QUIET)

    record = (await records(desk))["w"]
    assert (str(record.state), record.progress_order >= 1) == ("succeeded", True)
