"""A model's turn through a real desk: calls that end in every way, and a next turn that no SDK refuses."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage, convert_to_messages
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, a_desk, until, until_state
from toolwitness.adapters.pydantic_ai import Recorder
from toolwitness.core.states import State

TURN = ["c_ok", "c_failed", "c_denied", "c_dismissed", "c_withdrawn", "c_cancelled", "c_running", "c_waiting", "c_retried", "c_never_seen"]


class Stage:
    """A desk at which one turn's calls have ended in every way, and two are open."""

    def __init__(self, desk: tw.Desk, task: tw.TaskHandle, calls: dict[str, tw.Call], tools: dict[str, str]) -> None:
        self.desk, self.task, self.calls, self.tools = desk, task, calls, tools


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with a_desk() as desk:
        hold, tries = asyncio.Event(), list[str]()

        @desk.tool(consequences=[tw.READ_ONLY])
        async def look() -> dict[str, int]:
            return {"id": 9223372036854775807}

        @desk.tool(consequences=[tw.REVERSIBLE])
        async def break_down() -> None:
            raise ValueError("the password is hunter2")

        @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
        async def pay(total: str) -> str:
            return f"paid {total}"

        @desk.tool(consequences=[tw.REVERSIBLE])
        async def send() -> None:
            tw.emit("to ann; ")
            tw.emit("to bob; ")
            tw.effect_observed("mail sent to ann", reference="m-1")
            await hold.wait()

        @desk.tool(consequences=[tw.READ_ONLY], retry_attempts=2, retry_categories=["flaky"])
        async def fetch() -> str:
            tries.append("once")
            if len(tries) == 1:
                raise tw.ToolFailure("flaky", "The line was bad.", retryable="yes")
            return "fetched"

        async with desk.task("Do it all") as task:
            made = {
                "c_ok": task.call(look, provider_call_id="c_ok"),
                "c_failed": task.call(break_down, provider_call_id="c_failed"),
                "c_denied": task.call(pay, total="9", provider_call_id="c_denied"),
                "c_dismissed": task.call(pay, total="10", provider_call_id="c_dismissed"),
                "c_withdrawn": task.call(pay, total="11", provider_call_id="c_withdrawn"),
                "c_waiting": task.call(pay, total="12", provider_call_id="c_waiting"),
                "c_cancelled": task.call(send, provider_call_id="c_cancelled"),
                "c_running": task.call(send, provider_call_id="c_running"),
                "c_retried": task.call(fetch, provider_call_id="c_retried"),
            }
            ids = {name: await call.invocation_id() for name, call in made.items()}
            for name in ("c_denied", "c_dismissed", "c_withdrawn", "c_waiting"):
                await until_state(desk, ids[name], State.AWAITING_APPROVAL)
            await desk.deny(ids["c_denied"], by=ANN, reason="too dear")
            await desk.dismiss(ids["c_dismissed"], by=ANN, reason="not wanted")
            await desk.withdraw(ids["c_withdrawn"], by="application", reason="asked twice")
            for name in ("c_cancelled", "c_running"):
                await until(lambda name=name: _acted(desk, ids[name]))
            await desk.request_cancellation(ids["c_cancelled"], by=ANN, reason="too slow")
            await made["c_retried"]
            again = (await desk.retry(ids["c_retried"], by=ANN)).record.id
            await until_state(desk, again, State.SUCCEEDED)
            for name in ("c_ok", "c_failed", "c_denied", "c_dismissed", "c_withdrawn", "c_cancelled"):
                await made[name]
            tools = {name: (await desk.record(invocation_id)).tool for name, invocation_id in ids.items()}
            yield Stage(desk, task, made, {**tools, "c_never_seen": "look"})
            hold.set()
            await made["c_running"]
            if (await desk.record(ids["c_waiting"])).state is State.AWAITING_APPROVAL:
                await desk.dismiss(ids["c_waiting"], by=ANN)


async def _acted(desk: tw.Desk, invocation_id: str) -> bool:
    return bool((await desk.record(invocation_id)).effects)


async def test_every_call_of_the_turn_is_closed_once_in_the_order_that_was_asked_for(stage: Stage) -> None:
    messages = await stage.desk.tool_messages(stage.task, only=TURN)
    said = {message["tool_call_id"]: message["content"] for message in messages}

    assert list(said) == TURN
    assert said["c_ok"] == '{"id":9223372036854775807}'
    assert "failed (tool-error): The tool raised ValueError." in said["c_failed"]
    assert "denied by ann" in said["c_denied"]
    assert "dismissed by ann" in said["c_dismissed"]
    assert "withdrawn by application" in said["c_withdrawn"]
    assert "at the request of ann; its body was seen to end. Reason: too slow." in said["c_cancelled"]
    assert "Recorded effect: mail sent to ann" in said["c_cancelled"]
    assert said["c_cancelled"].endswith("\n\nto ann; to bob; ")
    assert "still running" in said["c_running"]
    assert "waits for an approval" in said["c_waiting"]
    assert said["c_retried"].startswith('"fetched"\n\n[This is attempt 2 of the call. Attempt 1: It failed (flaky): The line was bad.')
    assert "Nothing is recorded of this call" in said["c_never_seen"]
    assert not any("hunter2" in text for text in said.values())


async def test_what_was_open_is_told_as_it_ended_when_the_history_is_made_again(stage: Stage) -> None:
    waiting = await stage.calls["c_waiting"].invocation_id()
    await stage.desk.approve(waiting, by=ANN)
    await stage.calls["c_waiting"]
    assert await stage.desk.tool_messages(stage.task, only=["c_waiting"]) == [
        {"role": "tool", "tool_call_id": "c_waiting", "content": '"paid 12"'}
    ]


async def test_a_pydantic_ai_agent_goes_on_from_the_history_and_repairs_nothing_in_it(stage: Stage) -> None:
    seen: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(messages)
        return ModelResponse(parts=[TextPart("I see.")])

    closed = await stage.desk.tool_messages(stage.task, "pydantic-ai", only=TURN)
    history = [
        ModelRequest(parts=[UserPromptPart("Do it all")]),
        ModelResponse(parts=[ToolCallPart(stage.tools[name], {}, name) for name in TURN]),
        *ModelMessagesTypeAdapter.validate_python(closed),
    ]
    result = await Agent(FunctionModel(answer)).run("And now?", message_history=history)

    assert result.output == "I see."
    told = [part for message in seen for part in message.parts if isinstance(part, ToolReturnPart)]
    expected = {part["tool_call_id"]: (part["outcome"], part["content"]) for part in closed[0]["parts"]}
    assert {part.tool_call_id: (part.outcome, part.content) for part in told} == expected
    assert len(told) == len(TURN)
    outcomes = {name: outcome for name, (outcome, _) in expected.items()}
    assert [outcomes[name] for name in ("c_ok", "c_failed", "c_denied", "c_cancelled", "c_running")] == [
        "success", "failed", "denied", "interrupted", "interrupted",
    ]  # fmt: skip  # in the order of the names
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(seen))


async def test_anthropic_gets_one_user_message_whose_results_answer_every_call(stage: Stage) -> None:
    [message] = await stage.desk.tool_messages(stage.task, "anthropic", only=TURN)
    assert [block["tool_use_id"] for block in message["content"]] == TURN
    assert {block["tool_use_id"] for block in message["content"] if block.get("is_error")} == {"c_failed"}


async def test_langchain_finds_an_answer_to_every_call(stage: Stage) -> None:
    asked = AIMessage(content="", tool_calls=[{"name": stage.tools[name], "args": {}, "id": name, "type": "tool_call"} for name in TURN])
    history = convert_to_messages([asked, *await stage.desk.tool_messages(stage.task, "langchain", only=TURN)])
    answers = [message for message in history if isinstance(message, ToolMessage)]
    assert [message.tool_call_id for message in answers] == [call["id"] for call in asked.tool_calls]
    assert {message.tool_call_id for message in answers if message.status == "success"} == {"c_ok", "c_retried"}
    assert answers[0].artifact["toolwitness"]["state"] == "succeeded"


async def test_without_a_choice_all_calls_of_the_model_are_closed_in_the_order_of_their_proposals(stage: Stage) -> None:
    messages = await stage.desk.tool_messages(stage.task.id, "openai-responses")
    assert [message["call_id"] for message in messages] == list(stage.calls)


async def test_what_cannot_be_meant_is_refused_with_what_can(stage: Stage) -> None:
    desk, task = stage.desk, stage.task
    with pytest.raises(tw.InvalidInput, match=r"No tool messages are written as 'gemini'\. Use openai, openai-responses, anthropic"):
        await desk.tool_messages(task, "gemini")
    with pytest.raises(tw.InvalidInput, match="Give a list of ids"):
        await desk.tool_messages(task, only="c_ok")
    with pytest.raises(tw.InvalidInput, match="No task 'task_x' is recorded"):
        await desk.tool_messages("task_x")
    with pytest.raises(tw.InvalidInput, match="No invocation 'inv_x' is recorded"):
        await desk.tool_messages(task, only=["inv_x"])


async def test_calls_recorded_under_pydantic_ai_are_closed_under_the_ids_of_the_framework() -> None:
    async with a_desk() as desk:

        async def flight(origin: str) -> dict[str, int]:
            return {"flights": 2}

        def model(messages: list[Any], info: Any) -> ModelResponse:
            turn = sum(message.kind == "response" for message in messages)
            calls = [
                [ToolCallPart("flight", {"origin": "LHR"}, "c1")],
                [ToolCallPart("flight", {"origin": "OSL"}, "c1")],
                [TextPart("two")],
            ]
            return ModelResponse(parts=calls[turn])

        await Agent(FunctionModel(model), tools=[flight], capabilities=[Recorder(desk)]).run("Find a flight")
        [task_id] = await desk.ledger.tasks()

        [request] = ModelMessagesTypeAdapter.validate_python(await desk.tool_messages(task_id, "pydantic-ai"))
        assert [(part.tool_name, part.tool_call_id, part.content, part.outcome) for part in request.parts] == [
            ("flight", "c1", '{"flights":2}', "success")
        ] * 2
        assert len(await desk.tool_messages(task_id, only=["c1"])) == 1
