"""The framework's own reviews under the recorder: what they ask and hear is on record, by whoever is named, and nothing is made up."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import toolwitness as tw
from tests.frameworks.langgraph_bench import ANN, GO, Truth, agent_of, assert_record_equals, by_id, govern, records, thread, until
from toolwitness.adapters.langgraph import Recorder

Id = Annotated[str, InjectedToolCallId]
CALLS = [("look", {"at": "x"}, "l"), ("book", {"total": 120}, "b")]


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


@pytest.fixture
def truth() -> Truth:
    return []


def tools(truth: Truth) -> list[BaseTool]:
    @tool
    async def book(total: int, call: Id) -> str:
        """Book."""
        truth.extend([("start", call), ("end", call)])
        return f"PNR {total}"

    @tool
    async def look(at: str, call: Id) -> str:
        """Look."""
        truth.extend([("start", call), ("end", call)])
        return "seen"

    return [book, look]


async def test_a_rejection_is_a_denial_also_where_nobody_gave_the_review_to_the_recorder(desk: tw.Desk, truth: Truth) -> None:
    agent = agent_of(desk, CALLS, "done", tools=tools(truth), before=[HumanInTheLoopMiddleware({"book": True})])
    await agent.ainvoke(GO, thread())
    await agent.ainvoke(Command(resume={"decisions": [DECISIONS["reject"]]}), thread())

    record = (await by_id(desk))["b"]
    assert (str(record.state), record.closure.kind, record.closure.initiator) == ("cancelled", "denied", "unrecorded")
    await assert_record_equals(desk, truth)


async def test_reviews_of_a_run_in_a_thread_are_recorded_the_same(desk: tw.Desk, truth: Truth) -> None:
    recorder = Recorder(desk)
    review = recorder.reviewing(HumanInTheLoopMiddleware({"book": True}, interrupt_mode="per_call"))
    agent = agent_of(desk, CALLS, "done", tools=sync_tools(truth), recorder=recorder, before=[review])
    asked = await asyncio.to_thread(agent.invoke, GO, thread())
    await asyncio.to_thread(agent.invoke, Command(resume={asked["__interrupt__"][0].id: DECISIONS["approve"]}), thread())

    record = (await by_id(desk))["b"]
    assert (str(record.state), record.approval.answer.kind) == ("succeeded", "granted")
    await assert_record_equals(desk, truth)


def sync_tools(truth: Truth) -> list[BaseTool]:
    @tool
    def book(total: int, call: Id) -> str:
        """Book."""
        truth.extend([("start", call), ("end", call)])
        return f"PNR {total}"

    @tool
    def look(at: str, call: Id) -> str:
        """Look."""
        truth.extend([("start", call), ("end", call)])
        return "seen"

    return [book, look]


DECISIONS: dict[str, dict[str, Any]] = {
    "approve": {"type": "approve"},
    "edit": {"type": "edit", "edited_action": {"name": "book", "args": {"total": 99}}},
    "reject": {"type": "reject", "message": "too expensive"},
    "respond": {"type": "respond", "message": "I did it by hand"},
}


async def reviewed(desk: tw.Desk, truth: Truth, mode: str, decision: str, *, actor: str = "") -> Any:
    """Run until the review asks, answer it, and give the record of the call."""
    recorder = Recorder(desk)
    review = recorder.reviewing(HumanInTheLoopMiddleware({"book": True}, interrupt_mode=mode))  # type: ignore[arg-type]  # one of its two words
    agent = agent_of(desk, CALLS, "done", tools=tools(truth), recorder=recorder, before=[review], saver=InMemorySaver())
    config = thread()
    config["configurable"] |= {"toolwitness_actor": actor} if actor else {}
    asked = await agent.ainvoke(GO, config)
    waiting = (await by_id(desk))["b"]
    assert str(waiting.state) == "awaiting_approval"
    (question,) = asked["__interrupt__"]
    given = {question.id: DECISIONS[decision]} if mode == "per_call" else {"decisions": [DECISIONS[decision]]}
    await agent.ainvoke(Command(resume=given), config)
    await assert_record_equals(desk, truth)
    return (await by_id(desk))["b"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_approval_is_recorded_as_an_answer_by_the_actor_that_is_named(desk: tw.Desk, truth: Truth, mode: str) -> None:
    record = await reviewed(desk, truth, mode, "approve", actor="ana")

    assert (str(record.state), record.approval.answer.kind, record.approval.answer.actor) == ("succeeded", "granted", "ana")
    assert "policy-unobserved" in record.findings


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_answer_without_a_name_is_unrecorded(desk: tw.Desk, truth: Truth, mode: str) -> None:
    record = await reviewed(desk, truth, mode, "approve")

    assert record.approval.answer.actor == "unrecorded"


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_edit_is_recorded_and_what_ran_is_what_was_approved(desk: tw.Desk, truth: Truth, mode: str) -> None:
    record = await reviewed(desk, truth, mode, "edit", actor="ana")

    assert str(record.state) == "succeeded"
    assert "executed-inputs-differ" not in record.findings
    assert len(record.inputs_history) == 2
    assert record.approval.answer.actor == "ana"
    assert {"ran-without-approval", "decision-refused"}.isdisjoint(record.findings)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_rejection_is_a_denial_and_no_failure(desk: tw.Desk, truth: Truth, mode: str) -> None:
    record = await reviewed(desk, truth, mode, "reject", actor="ana")

    assert (str(record.state), record.closure.kind, record.closure.initiator) == ("cancelled", "denied", "ana")
    assert ("start", "b") not in truth
    assert ("end", "l") in truth


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_answer_in_the_tools_place_is_no_success_of_the_tool(desk: tw.Desk, truth: Truth, mode: str) -> None:
    record = await reviewed(desk, truth, mode, "respond", actor="ana")

    assert (str(record.state), record.closure.kind) == ("cancelled", "answered-by-human")
    assert ("start", "b") not in truth


async def test_a_reviewer_who_puts_another_tool_in_its_place_does_not_get_around_that_tools_policy(desk: tw.Desk, truth: Truth) -> None:
    @tool
    async def wipe(db: str, call: Id) -> str:
        """Wipe."""
        truth.extend([("start", call), ("end", call)])
        return "wiped"

    govern(desk, "wipe")
    recorder = Recorder(desk)
    review = recorder.reviewing(HumanInTheLoopMiddleware({"book": True}))
    agent = agent_of(desk, CALLS[1:], "done", tools=[*tools(truth), wipe], recorder=recorder, before=[review])
    await agent.ainvoke(GO, thread())
    switched = {"type": "edit", "edited_action": {"name": "wipe", "args": {"db": "prod"}}}
    run = asyncio.create_task(agent.ainvoke(Command(resume={"decisions": [switched]}), thread()))
    asked = (await until(desk, lambda now: now["b"].tool == "wipe" and now["b"].open_approval is not None))["b"]
    assert truth == []
    await desk.deny(asked.id, by=ANN, reason="not that one")
    await run

    assert truth == []
    assert [(record.tool, str(record.state)) for record in await records(desk)] == [("book", "cancelled"), ("wipe", "cancelled")]
