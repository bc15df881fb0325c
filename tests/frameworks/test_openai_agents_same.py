"""Under the recorder an agent does what it does without: the same outputs, the same errors, for tools of every make."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    ModelBehaviorError,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunState,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
)
from agents.tool_context import ToolContext
from pydantic import BaseModel, field_validator

import toolwitness as tw
from tests.frameworks.test_openai_agents_live import ANN, BOOK, QUIET, Said, agent_of, booking, outputs, records, scripted, value, waiting
from toolwitness.adapters.openai_agents import Recorder, bodies
from toolwitness.recording.desk_side import Support


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


class Place(BaseModel):
    """A model that looks at its own field."""

    name: str

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name == "Atlantis":
            raise ValueError("sunk")
        return name.title()


@function_tool
def plain_thread(q: str, n: int = 2) -> str:
    return q * n


@function_tool
async def with_context(context: ToolContext[Any], q: str) -> str:
    return f"{context.tool_name} {context.tool_call_id} {context.tool_arguments} {q}"


@function_tool
async def with_wrapper(context: RunContextWrapper[Any], q: str) -> str:
    return f"{context.context} {q}"


@function_tool(strict_mode=False)
async def with_rest(q: str, *rest: str, **named: str) -> str:
    return f"{q} {rest} {named}"


@function_tool
async def gives_model(q: str) -> Place:
    return Place(name=q)


@function_tool
async def takes_model(place: Place) -> str:
    return place.name


@function_tool
async def gives_none(q: str) -> None:
    return None


@function_tool
async def raises(q: str) -> str:
    raise ValueError(f"no {q}")


@function_tool(failure_error_function=lambda context, error: f"sorry: {error}")
async def raises_in_words(q: str) -> str:
    raise ValueError(f"no {q}")


@function_tool(failure_error_function=None)
async def raises_through(q: str) -> str:
    raise ValueError(f"no {q}")


@function_tool(timeout=0.02)
async def late(q: str) -> str:
    await asyncio.Event().wait()
    return q


@function_tool(timeout=0.02, timeout_error_function=lambda context, error: f"late: {error}")
async def late_in_words(q: str) -> str:
    await asyncio.Event().wait()
    return q


@function_tool(timeout=0.02, timeout_behavior="raise_exception")
async def late_through(q: str) -> str:
    await asyncio.Event().wait()
    return q


@tool_input_guardrail
async def no_bombs(given: Any) -> ToolGuardrailFunctionOutput:
    if "bomb" in given.context.tool_arguments:
        return ToolGuardrailFunctionOutput.reject_content("not that")
    return ToolGuardrailFunctionOutput.allow()


@function_tool(tool_input_guardrails=[no_bombs])
async def guarded(q: str) -> str:
    return q


async def _own(context: ToolContext[Any], raw: str) -> str:
    return f"own {raw}"


async def _narrow(context: RunContextWrapper[Any], raw: str) -> str:
    return f"{type(context).__name__} {raw}"


OWN = FunctionTool(
    name="own", description="", params_json_schema={"type": "object", "properties": {}}, on_invoke_tool=_own, strict_json_schema=False
)
NARROW = FunctionTool(
    name="narrow", description="", params_json_schema={"type": "object"}, on_invoke_tool=_narrow, strict_json_schema=False
)  # type: ignore[arg-type]  # some take less

CASES = [
    (plain_thread, {"q": "x"}),
    (plain_thread, {"q": "x", "n": 3}),
    (plain_thread, {"n": 1}),
    (with_context, {"q": "x"}),
    (with_wrapper, {"q": "x"}),
    (with_rest, {"q": "x", "rest": ["a"], "named": {"b": "c"}}),
    (gives_model, {"q": "rome"}),
    (gives_model, {"q": "Atlantis"}),
    (takes_model, {"place": {"name": "rome"}}),
    (takes_model, {"place": {"name": "Atlantis"}}),
    (gives_none, {"q": "x"}),
    (raises, {"q": "x"}),
    (raises, "no json"),
    (raises_in_words, {"q": "x"}),
    (raises_in_words, {}),
    (raises_through, {"q": "x"}),
    (raises_through, {}),
    (late, {"q": "x"}),
    (late_in_words, {"q": "x"}),
    (late_through, {"q": "x"}),
    (guarded, {"q": "x"}),
    (guarded, {"q": "bomb"}),
    (OWN, {"q": "x"}),
    (OWN, "no json"),
    (NARROW, {"q": "x"}),
]


async def told(run: Callable[..., Any], tool: FunctionTool, arguments: Any) -> Any:
    """What the consumer gets, or the error that the run ends with."""
    agent = agent_of(scripted([(tool.name, arguments, "c1")], "done"), tool)
    try:
        result = await run(agent, "go", context="ctx", run_config=QUIET)
    except Exception as error:  # noqa: BLE001 -- whatever it raises is compared
        return type(error).__name__, str(error)
    return outputs(result)["c1"], result.final_output


@pytest.mark.parametrize(("tool", "arguments"), CASES, ids=lambda value: getattr(value, "name", None) or json.dumps(value))
async def test_a_call_gives_the_same_with_and_without_the_recorder(desk: tw.Desk, tool: FunctionTool, arguments: Any) -> None:
    expected = await told(Runner.run, tool, arguments)
    actual = await told(Recorder(desk).run, tool, arguments)

    assert actual == expected
    assert len(await records(desk)) == 1
    assert await desk.verify() == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(tool, given) for tool, given in CASES if tool.name in {"raises_through", "takes_model", "raises"}],
    ids=lambda value: getattr(value, "name", None) or json.dumps(value),
)
async def test_what_is_on_record_is_what_the_body_did(desk: tw.Desk, tool: FunctionTool, arguments: Any) -> None:
    await told(Recorder(desk).run, tool, arguments)

    record = (await records(desk))["c1"]
    refused = isinstance(arguments, str) or not arguments or "Atlantis" in str(arguments)
    raised = tool.name in {"raises_through", "raises"} and not refused
    assert (len(record.starts), str(record.state)) == ((0, "cancelled") if refused else (1, "failed" if raised else "succeeded"))
    if tool is takes_model and not refused:
        assert await value(desk, record.executed_inputs) == {"place": {"name": "Rome"}}


async def test_the_applications_own_hooks_and_those_of_its_agent_are_called_as_before(desk: tw.Desk) -> None:
    seen: list[str] = []

    class Hooks(RunHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            seen.append(f"run {tool.name}")

    class Own(AgentHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            seen.append(f"agent {tool.name}")

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            seen.append("said")

    agent = Agent(name="a", model=scripted([("guarded", {"q": "x"}, "c1")], "done"), tools=[guarded], hooks=Own())
    await Recorder(desk).run(agent, "go", hooks=Hooks(), run_config=QUIET)

    assert sorted(seen) == ["agent guarded", "run guarded", "said", "said"]


async def test_a_tool_that_the_agent_does_not_have_is_on_record_as_refused_though_the_run_fails(desk: tw.Desk) -> None:
    agent = agent_of(scripted([("nothing", {"q": "x"}, "c1")]), guarded)
    with pytest.raises(ModelBehaviorError):
        await Recorder(desk).run(agent, "go", run_config=QUIET)

    record = (await records(desk))["c1"]
    assert record.closure is not None
    assert (record.starts, str(record.closure.kind)) == ([], "withdrawn")


async def test_an_interrupted_run_runs_what_a_person_put_in_place_of_the_inputs_and_leaves_what_was_denied(desk: tw.Desk) -> None:
    ran: list[Any] = []
    said: Said = [*BOOK, ("book", {"itinerary": "IT-2", "total": 5.0}, "b2")]  # type: ignore[list-item]  # a list of calls
    agent, recorder = agent_of(scripted(said, "done"), booking(ran)), Recorder(desk, waiting="interrupt")
    saved = (await recorder.run(agent, "book", run_config=QUIET)).to_state().to_json()
    first, second = await waiting(desk, "b"), await waiting(desk, "b2")
    await desk.edit_inputs(first.id, {"total": 99.0}, by=ANN)
    await desk.approve((await waiting(desk, "b")).id, by=ANN)
    await desk.deny(second.id, by=ANN, reason="one is enough")

    result = await recorder.run(agent, await recorder.resolve(await RunState.from_json(agent, saved)), run_config=QUIET)

    assert ran == [("IT-1", 99.0)]
    assert outputs(result)["b2"] == "The call was not made: denied by ann: one is enough"


def test_how_a_body_runs_is_known_from_its_tool() -> None:
    expected = {plain_thread.name: Support.THREAD, raises.name: Support.TASK, OWN.name: Support.TASK}

    assert {tool.name: bodies.Parts(tool).support for tool in (plain_thread, raises, OWN)} == expected
