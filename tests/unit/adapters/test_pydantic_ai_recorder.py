"""The recorder under the real pydantic-ai, with scripted models and no network."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, CancellationToken, CustomEvent, ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import RunCancelled, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

import toolwitness as tw
from toolwitness.adapters.pydantic_ai import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Reconciliation, State
from toolwitness.policy.tool_policy import RetryPolicy, ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
Calls = list[tuple[str, dict[str, Any], str]] | str


def scripted(*responses: Calls) -> FunctionModel:
    """A model that gives ``responses`` in turn."""

    def pick(messages: list[ModelMessage]) -> Calls:
        return responses[min(sum(m.kind == "response" for m in messages), len(responses) - 1)]

    def plain(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = pick(messages)
        if isinstance(said, str):
            return ModelResponse(parts=[TextPart(said)])
        return ModelResponse(parts=[ToolCallPart(name, args, call_id) for name, args, call_id in said])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        said = pick(messages)
        if isinstance(said, str):
            yield said
            return
        for place, (name, args, call_id) in enumerate(said):
            yield {place: DeltaToolCall(name=name, json_args=json.dumps(args), tool_call_id=call_id)}

    return FunctionModel(plain, stream_function=stream)


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


def agent_of(desk: tw.Desk, model: FunctionModel, *tools: Any, **more: Any) -> Agent[None, Any]:
    return Agent(model, tools=list(tools), capabilities=[Recorder(desk)], **more)


async def records(desk: tw.Desk) -> dict[str, InvocationRecord]:
    """Every record by ``provider id``, the latest of each."""
    found: dict[str, InvocationRecord] = {}
    for task_id in await desk.ledger.tasks():
        view = await desk.ledger.task(task_id)
        assert view is not None
        for record in view.records.values():
            found[record.proposal["correlation"][0]["provider_call_id"]] = record
    return found


async def until(desk: tw.Desk, holds: Callable[[dict[str, InvocationRecord]], bool]) -> dict[str, InvocationRecord]:
    """Wait until the ledger says so."""
    async for _ in follow(desk):
        found = await records(desk)
        if holds(found):
            return found
    raise AssertionError("the ledger ended")


async def follow(desk: tw.Desk) -> AsyncIterator[None]:
    head = await desk.ledger.head()
    yield None
    async for _ in desk.follow(after=head):
        yield None


async def values(desk: tw.Desk, reference: Any) -> Any:
    raw = await desk.ledger.value(reference["ref"])
    assert raw is not None
    return json.loads(raw)


async def test_a_call_that_ends_well_has_its_whole_path_on_record(desk: tw.Desk) -> None:
    async def flight(origin: str) -> dict[str, int]:
        return {"flights": 2}

    result = await agent_of(desk, scripted([("flight", {"origin": "LHR"}, "c1")], "two flights"), flight).run("Find me a flight")

    record = (await records(desk))["c1"]
    assert result.output == "two flights"
    assert record.state is State.SUCCEEDED
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "succeeded"]
    assert await values(desk, record.executed_inputs) == {"origin": "LHR"}
    assert await values(desk, record.outcome.data["result"]) == {"flights": 2}
    assert "policy-unobserved" in record.findings
    view = await desk.ledger.task(record.task_id)
    assert view is not None
    assert view.task.purpose == "Find me a flight"
    assert await desk.verify() == []


async def test_of_three_parallel_calls_one_fails_one_is_cancelled_alone_and_the_third_is_untouched(desk: tw.Desk) -> None:
    stopped = asyncio.Event()

    async def flight(origin: str) -> str:
        await stopped.wait()
        return "2 flights"

    async def hotel(city: str) -> str:
        raise ToolFailed("upstream 502")

    async def rail(line: str) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return "never"

    model = scripted([("flight", {"origin": "LHR"}, "f"), ("hotel", {"city": "Rome"}, "h"), ("rail", {"line": "X"}, "r")], "settled")
    run = asyncio.create_task(agent_of(desk, model, flight, hotel, rail).run("go"))
    found = await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING and now["h"].state is State.FAILED)
    await desk.request_cancellation(found["r"].id, by=ANN, reason="too slow")
    result = await run

    after = await records(desk)
    assert result.output == "settled"
    assert {key: str(record.state) for key, record in after.items()} == {"f": "succeeded", "h": "failed", "r": "cancelled"}
    closure = after["r"].closure
    assert closure is not None
    assert (closure.initiator, closure.reason, str(closure.termination)) == ("ann", "too slow", "unwound")
    outcomes = [part.outcome for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert sorted(outcomes) == ["denied", "failed", "success"]


async def test_a_threaded_tool_stays_running_when_its_run_is_cancelled_and_its_late_effect_is_the_truth(desk: tw.Desk) -> None:
    let_go, effects = threading.Event(), []

    def pay(amount: int) -> str:
        let_go.wait(10)
        effects.append(amount)
        return "paid"

    token = CancellationToken()
    run = asyncio.create_task(agent_of(desk, scripted([("pay", {"amount": 5}, "p")], "x"), pay).run("go", cancellation_token=token))
    await until(desk, lambda now: "p" in now and now["p"].state is State.RUNNING)
    token.cancel()
    with pytest.raises(RunCancelled):
        await run

    during = (await records(desk))["p"]
    assert (str(during.state), during.cancel_support, effects) == ("running", "thread", [])
    assert "waiter-gone" in during.findings

    let_go.set()
    after = await until(desk, lambda now: now["p"].state is State.SUCCEEDED)
    assert effects == [5]
    assert await values(desk, after["p"].outcome.data["result"]) == "paid"


async def test_a_requested_cancellation_of_a_threaded_tool_is_shown_and_never_acknowledged(desk: tw.Desk) -> None:
    let_go = threading.Event()

    def pay(amount: int) -> str:
        let_go.wait(10)
        return "paid"

    run = asyncio.create_task(agent_of(desk, scripted([("pay", {"amount": 5}, "p")], "done"), pay).run("go"))
    found = await until(desk, lambda now: "p" in now and now["p"].state is State.RUNNING)
    await desk.request_cancellation(found["p"].id, by=ANN)
    assert "cannot-be-stopped" in (await records(desk))["p"].findings
    let_go.set()
    await run

    record = (await records(desk))["p"]
    assert record.state is State.SUCCEEDED
    assert "completed-despite-cancel-request" in record.findings


async def test_a_cancelled_run_records_that_an_async_body_has_really_ended(desk: tw.Desk) -> None:
    async def rail(line: str) -> str:
        await asyncio.sleep(60)
        return "never"

    token = CancellationToken()
    run = asyncio.create_task(agent_of(desk, scripted([("rail", {"line": "X"}, "r")], "x"), rail).run("go", cancellation_token=token))
    await until(desk, lambda now: "r" in now and now["r"].state is State.RUNNING)
    token.cancel()
    with pytest.raises(RunCancelled):
        await run

    record = (await records(desk))["r"]
    assert record.state is State.CANCELLED
    assert record.closure is not None
    assert str(record.closure.termination) == "unwound"
    assert record.reconciliation is Reconciliation.UNKNOWN


def booking(ran: list[Any]) -> Any:
    async def book(itinerary: str, total: float) -> dict[str, str]:
        ran.append({"itinerary": itinerary, "total": total})
        return {"pnr": "ABC123"}

    return book


BOOK: Calls = [("book", {"itinerary": "IT-1", "total": 120.0}, "b")]


async def waiting(desk: tw.Desk) -> InvocationRecord:
    found = await until(desk, lambda now: "b" in now and now["b"].open_approval is not None)
    return found["b"]


async def test_an_approval_that_the_framework_demands_is_answered_at_the_desk(desk: tw.Desk) -> None:
    ran: list[Any] = []
    tool = Tool(booking(ran), name="book", requires_approval=True)
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), tool).run("book it"))
    record = await waiting(desk)
    assert ran == []
    await desk.approve(record.id, by=ANN)
    result = await run

    after = (await records(desk))["b"]
    assert (result.output, ran) == ("booked", [{"itinerary": "IT-1", "total": 120.0}])
    assert (str(after.state), after.approvals[0].answer.actor) == ("succeeded", "ann")
    assert after.claim is not None
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=ANN)


async def test_a_tool_with_a_declared_policy_waits_for_its_approval_though_the_framework_asks_for_none(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(
        ToolPolicy(tool="book", consequences=("financially-consequential",), approvers=("role:finance",), scope_fields=("total",))
    )
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), booking(ran)).run("book it"))
    record = await waiting(desk)
    assert ran == []
    await desk.approve(record.id, by=ANN)
    await run

    after = (await records(desk))["b"]
    assert (str(after.state), len(ran), after.claim is not None) == ("succeeded", 1, True)
    assert "policy-unobserved" not in after.findings


async def test_a_call_with_a_policy_is_asked_for_and_runs_though_a_sibling_is_slow(desk: tw.Desk) -> None:
    ran: list[Any] = []
    go_on = asyncio.Event()

    async def slow() -> str:
        await go_on.wait()
        return "slow"

    desk.declare_policy(ToolPolicy(tool="book", consequences=("financially-consequential",), approvers=("role:finance",)))
    calls: Calls = [("slow", {}, "s"), ("book", {"itinerary": "IT-1", "total": 120.0}, "b")]
    run = asyncio.create_task(agent_of(desk, scripted(calls, "booked"), slow, booking(ran)).run("go"))
    await desk.approve((await waiting(desk)).id, by=ANN)
    found = await until(desk, lambda now: now["b"].state is State.SUCCEEDED)
    assert found["s"].state is State.RUNNING
    go_on.set()
    await run

    assert (await records(desk))["s"].state is State.SUCCEEDED
    assert len(ran) == 1


async def test_edited_inputs_that_do_not_validate_run_nothing_and_say_which_field(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", consequences=("financially-consequential",), approvers=("role:finance",)))
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "no"), booking(ran)).run("book it"))
    record = await waiting(desk)
    await desk.edit_inputs(record.id, {"total": "a lot"}, by=ANN)
    await desk.approve(record.id, by=ANN)
    result = await run

    after = (await records(desk))["b"]
    assert (str(after.state), str(after.closure.kind), ran) == ("cancelled", "withdrawn", [])
    assert "total" in after.closure.reason
    outcomes = [part.outcome for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert outcomes == ["denied"]


async def test_edited_inputs_of_a_tool_with_a_policy_are_the_ones_that_run(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", consequences=("financially-consequential",), approvers=("role:finance",)))
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), booking(ran)).run("book it"))
    record = await waiting(desk)
    await desk.edit_inputs(record.id, {"total": 99.0}, by=ANN)
    await desk.approve(record.id, by=ANN)
    await run

    after = (await records(desk))["b"]
    assert ran == [{"itinerary": "IT-1", "total": 99.0}]
    assert await values(desk, after.executed_inputs) == {"itinerary": "IT-1", "total": 99.0}
    assert "executed-inputs-differ" not in after.findings


async def test_a_denial_is_an_outcome_for_the_model_and_no_error(desk: tw.Desk) -> None:
    ran: list[Any] = []
    tool = Tool(booking(ran), name="book", requires_approval=True)
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "understood"), tool).run("book it"))
    await desk.deny((await waiting(desk)).id, by=ANN, reason="too expensive")
    result = await run

    after = (await records(desk))["b"]
    outcomes = [part.outcome for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert (str(after.state), str(after.closure.kind), ran, outcomes) == ("cancelled", "denied", [], ["denied"])
    assert after.reconciliation is Reconciliation.NOT_EXECUTED


async def test_an_approval_that_nobody_answers_expires_and_runs_nothing(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", approvers=("role:finance",), approval_seconds=0.05))
    result = await agent_of(desk, scripted(BOOK, "too late"), booking(ran)).run("book it")

    after = (await records(desk))["b"]
    assert (result.output, str(after.state), after.elapsed, ran) == ("too late", "expired", "approval", [])


async def test_inputs_that_a_person_edited_are_the_ones_that_run_and_the_ones_on_record(desk: tw.Desk) -> None:
    ran: list[Any] = []
    tool = Tool(booking(ran), name="book", requires_approval=True)
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), tool).run("book it"))
    record = await waiting(desk)
    await desk.edit_inputs(record.id, {"total": 99.0}, by=ANN)
    await desk.approve(record.id, by=ANN)
    await run

    after = (await records(desk))["b"]
    assert ran == [{"itinerary": "IT-1", "total": 99.0}]
    assert await values(desk, after.executed_inputs) == {"itinerary": "IT-1", "total": 99.0}
    assert await values(desk, after.inputs_history[0]) == {"itinerary": "IT-1", "total": 120.0}
    assert "executed-inputs-differ" not in after.findings


async def test_a_run_that_is_cancelled_while_it_waits_withdraws_its_request(desk: tw.Desk) -> None:
    ran: list[Any] = []
    tool = Tool(booking(ran), name="book", requires_approval=True)
    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "x"), tool).run("book it"))
    record = await waiting(desk)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    after = (await records(desk))["b"]
    assert (str(after.state), str(after.closure.kind), ran) == ("cancelled", "withdrawn", [])
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=ANN)


async def test_a_retry_is_a_new_attempt_that_points_back(desk: tw.Desk) -> None:
    tries = 0

    async def hotel(city: str) -> str:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ModelRetry("upstream 502, try again")
        return "1 hotel"

    model = scripted([("hotel", {"city": "Rome"}, "h1")], [("hotel", {"city": "Rome"}, "h2")], "done")
    await agent_of(desk, model, hotel, retries=3).run("go")

    after = await records(desk)
    assert (str(after["h1"].state), after["h1"].outcome.data["category"]) == ("failed", "retry-asked")
    assert (str(after["h2"].state), after["h2"].attempt, after["h2"].proposal["retry_of"]) == ("succeeded", 2, after["h1"].id)


async def test_refused_inputs_are_sent_back_to_the_model_and_closed_by_the_corrected_call(desk: tw.Desk) -> None:
    async def flight(origin: str) -> str:
        return "2 flights"

    model = scripted([("flight", {"orig": 1}, "bad")], [("nowhere", {}, "no")], [("flight", {"origin": "LHR"}, "good")], "done")
    await agent_of(desk, model, flight, retries=4).run("go")

    after = await records(desk)
    assert (str(after["bad"].state), after["bad"].closure.initiator, after["bad"].replaced_by) == (
        "cancelled",
        "proposer",
        after["good"].id,
    )
    assert (str(after["no"].state), after["no"].closure.reason) == ("cancelled", "the run that proposed it is over")
    assert str(after["good"].state) == "succeeded"


async def test_a_call_that_the_framework_skips_is_closed_when_its_run_is_over(desk: tw.Desk) -> None:
    class Answer(BaseModel):
        text: str

    ran: list[str] = []

    async def lookup(word: str) -> str:
        ran.append(word)
        return word

    model = scripted([("final_result", {"text": "enough"}, "e"), ("lookup", {"word": "a"}, "l")], "x")
    result = await agent_of(desk, model, lookup, output_type=Answer, end_strategy="early").run("go")

    after = await records(desk)
    assert (result.output.text, ran, list(after)) == ("enough", [], ["l"])
    assert (str(after["l"].state), str(after["l"].closure.kind)) == ("cancelled", "withdrawn")


async def test_a_question_stays_open_for_the_application_when_its_run_is_over(desk: tw.Desk) -> None:
    async def ask(q: str) -> str:
        raise CallDeferred(kind="question")

    agent = agent_of(desk, scripted([("ask", {"q": "Which city?"}, "q")], "x"), ask, output_type=[str, DeferredToolRequests])
    await agent.run("go")

    after = (await records(desk))["q"]
    assert str(after.state) == "partially_complete"
    assert after.input_request is not None
    assert after.input_request["collector"] == "person"


async def test_the_same_history_run_again_is_another_call_that_needs_its_own_approval(desk: tw.Desk) -> None:
    ran: list[Any] = []
    tool = Tool(booking(ran), name="book", requires_approval=True)
    agent = agent_of(desk, scripted(BOOK, "booked"), tool)
    run = asyncio.create_task(agent.run("book it"))
    await desk.approve((await waiting(desk)).id, by=ANN)
    first = await run
    history = first.all_messages()[:2]

    again = asyncio.create_task(agent.run(message_history=history))
    second = await until(desk, lambda now: now["b"].attempt == 2 and now["b"].open_approval is not None)
    assert len(ran) == 1
    await desk.deny(second["b"].id, by=ANN, reason="once is enough")
    await again

    assert len(ran) == 1


@dataclasses.dataclass(kw_only=True)
class RecorderProgress(CustomEvent):
    done: int
    total: int


async def test_progress_that_a_tool_emits_is_on_record_in_order(desk: tw.Desk) -> None:
    async def rail(ctx: RunContext[None], line: str) -> str:
        for leg in range(1, 4):
            await ctx.emit(RecorderProgress(done=leg, total=3))
        tw.progress("nearly there", percent=90)
        return "3 trains"

    agent = agent_of(desk, scripted([("rail", {"line": "X"}, "r")], "done"), rail)
    async with agent.run_stream_events("go") as events:
        async for _ in events:
            pass

    record = (await records(desk))["r"]
    told = [e.event for e in await desk.ledger.read() if e.event.kind == "progress.reported"]
    assert record.state is State.SUCCEEDED
    assert [e.data.get("current") for e in told if "current" in e.data] == [1, 2, 3]
    assert [e.data["percent"] for e in told if "percent" in e.data] == [90]


async def test_a_body_that_cancels_itself_fails_alone(desk: tw.Desk) -> None:
    async def odd(word: str) -> str:
        raise asyncio.CancelledError("by itself")

    async def sibling(word: str) -> str:
        return "fine"

    model = scripted([("odd", {"word": "a"}, "o"), ("sibling", {"word": "b"}, "s")], "done")
    result = await agent_of(desk, model, odd, sibling).run("go")

    after = await records(desk)
    assert result.output == "done"
    assert (str(after["o"].state), after["o"].outcome.data["category"], str(after["s"].state)) == ("failed", "aborted", "succeeded")


async def test_a_time_limit_fails_an_async_body_and_leaves_the_outcome_of_a_thread_open(desk: tw.Desk) -> None:
    let_go = threading.Event()

    async def nap(word: str) -> str:
        await asyncio.sleep(60)
        return "never"

    def wire(word: str) -> str:
        let_go.wait(10)
        return "wired"

    model = scripted([("nap", {"word": "a"}, "n"), ("wire", {"word": "b"}, "w")], "done")
    await agent_of(desk, model, Tool(nap, timeout=0.05), Tool(wire, timeout=0.05), retries=3).run("go")
    let_go.set()

    after = await records(desk)
    assert (str(after["n"].state), after["n"].outcome.data["category"]) == ("failed", "timeout")
    assert (str(after["w"].state), after["w"].reconciliation) == ("expired", Reconciliation.REQUIRED)


async def test_a_body_that_asks_for_its_own_approval_goes_on_as_the_same_attempt(desk: tw.Desk) -> None:
    entered: list[bool] = []

    async def book(ctx: RunContext[None], itinerary: str, total: float) -> str:
        entered.append(ctx.tool_call_approved)
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "booked"

    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "done"), book).run("book it"))
    record = await waiting(desk)
    assert str(record.state) == "partially_complete"
    await desk.approve(record.id, by=ANN)
    await run

    after = (await records(desk))["b"]
    assert entered == [False, True]
    assert (str(after.state), "duplicate-start" in after.findings) == ("succeeded", False)


async def test_a_body_that_asked_for_its_own_approval_and_was_denied_has_ended(desk: tw.Desk) -> None:
    async def book(ctx: RunContext[None], itinerary: str, total: float) -> str:
        raise ApprovalRequired

    run = asyncio.create_task(agent_of(desk, scripted(BOOK, "done"), book).run("book it"))
    await desk.deny((await waiting(desk)).id, by=ANN, reason="no")
    await run

    after = (await records(desk))["b"]
    assert (str(after.state), after.closure.initiator, after.reconciliation) == ("cancelled", "ann", Reconciliation.UNKNOWN)


class Elsewhere(AbstractToolset[None]):
    """A tool that runs where we cannot see it, as on an MCP server."""

    @property
    def id(self) -> str:
        return "elsewhere"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        definition = ToolDefinition(name="remote", parameters_json_schema={"type": "object", "properties": {}})
        return {
            "remote": ToolsetTool(
                toolset=self,
                tool_def=definition,
                max_retries=1,
                args_validator=SchemaValidator(core_schema.dict_schema()),
            )
        }

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]) -> Any:
        await asyncio.sleep(60)


async def test_what_runs_elsewhere_is_left_and_its_outcome_is_unknown(desk: tw.Desk) -> None:
    agent = Agent(scripted([("remote", {}, "m")], "done"), toolsets=[Elsewhere()], capabilities=[Recorder(desk)])
    run = asyncio.create_task(agent.run("go"))
    found = await until(desk, lambda now: "m" in now and now["m"].state is State.RUNNING)
    with pytest.raises(tw.NotPermitted, match="cannot be asked to stop"):
        await desk.request_cancellation(found["m"].id, by=ANN)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    after = (await records(desk))["m"]
    assert (str(after.state), "outcome-unknown" in after.findings) == ("running", True)


async def test_the_same_agent_works_at_a_desk_on_a_file_and_its_record_verifies(tmp_path: Path) -> None:
    ran: list[Any] = []
    async with tw.open(str(tmp_path / "calls.db"), sweep_seconds=0.05) as desk:
        tool = Tool(booking(ran), name="book", requires_approval=True)
        run = asyncio.create_task(agent_of(desk, scripted(BOOK, "booked"), tool).run("book it"))
        await desk.approve((await waiting(desk)).id, by=ANN)
        await run

        assert (str((await records(desk))["b"].state), len(ran)) == ("succeeded", 1)
        assert await desk.verify() == []


async def test_a_tool_that_the_desk_could_run_itself_is_run_by_the_agent_alone(desk: tw.Desk) -> None:
    ran: list[str] = []

    @desk.tool(consequences=[tw.READ_ONLY])
    async def flight(origin: str) -> str:
        ran.append(origin)
        return "2 flights"

    await agent_of(desk, scripted([("flight", {"origin": "LHR"}, "f")], "done"), flight).run("go")

    record = (await records(desk))["f"]
    assert (str(record.state), record.claim is not None, ran) == ("succeeded", True, ["LHR"])


async def test_an_agent_that_is_run_without_streaming_stays_so(desk: tw.Desk) -> None:
    def plain(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("no stream here")])

    result = await Agent(FunctionModel(plain), capabilities=[Recorder(desk)]).run("go")

    assert result.output == "no stream here"


async def test_retries_allowed_by_policy_do_not_let_a_second_run_through_without_a_permit(desk: tw.Desk) -> None:
    ran: list[Any] = []
    desk.declare_policy(ToolPolicy(tool="book", consequences=("read-only",), retry=RetryPolicy(attempts=3)))
    await agent_of(desk, scripted(BOOK, "done"), booking(ran)).run("go")

    after = (await records(desk))["b"]
    assert (str(after.state), after.claim is not None, len(ran)) == ("succeeded", True, 1)
