"""Every word that the installed LangChain and LangGraph can say is mapped, or deliberately left out with a reason."""

import inspect
from typing import Any, get_args

import langgraph.errors
from langchain.agents.middleware import AgentMiddleware, human_in_the_loop
from langchain_core import messages
from langchain_core.messages import BaseMessage
from langgraph import types
from langgraph.prebuilt import tool_node

from toolwitness.adapters.langgraph import mapping
from toolwitness.adapters.langgraph.reader import Reader


def test_every_stream_mode_is_mapped() -> None:
    assert set(get_args(types.StreamMode)) <= set(mapping.MODES)
    assert set(mapping.MODES) <= set(Reader("capture:x")._modes)
    words = {word.word for word in mapping.TABLE}
    unsaid = [mode for mode in mapping.MODES if not any(word == mode or word.startswith((f"{mode} ", f"{mode}:")) for word in words)]
    assert unsaid == []


def test_every_event_of_the_mode_that_the_framework_does_not_list_is_mapped() -> None:
    from langgraph.pregel import _tools  # noqa: PLC0415 -- the only place where these words stand

    source = inspect.getsource(_tools)
    assert all(f'"{event}"' in source for event in mapping.TOOL_EVENTS)
    assert set(mapping.TOOL_EVENTS) == {part.split('"')[0] for part in source.split('"event": "')[1:]}
    assert {f"tools:{event}" for event in mapping.TOOL_EVENTS} <= {word.word for word in mapping.TABLE}


def test_every_type_of_message_is_mapped_or_left_out_with_a_reason() -> None:
    said: set[str] = set()
    for value in (getattr(messages, name) for name in messages.__all__):
        if inspect.isclass(value) and issubclass(value, BaseMessage) and "type" in value.model_fields:
            default: Any = value.model_fields["type"].default
            said |= {default} if isinstance(default, str) else set()

    assert said == set(mapping.MESSAGES)
    assert all(mapping.MESSAGES.values())


def test_every_hook_of_a_middleware_is_used_or_left_out_with_a_reason() -> None:
    hooks = {
        name
        for name, value in vars(AgentMiddleware).items()
        if inspect.isfunction(value) and not name.startswith("_") and name.removeprefix("a").startswith(("before", "after", "wrap", "fter"))
    }

    assert hooks == set(mapping.HOOKS)
    assert all(mapping.HOOKS.values())


def test_every_decision_of_the_reviewing_middleware_becomes_a_row_of_the_table() -> None:
    assert set(get_args(human_in_the_loop.DecisionType)) == set(mapping.DECISIONS)
    assert set(mapping.DECISIONS.values()) <= {word.word for word in mapping.TABLE}
    assert set(get_args(human_in_the_loop.InterruptMode)) == {"batched", "per_call"}
    assert set(human_in_the_loop.ToolApprovalRequest.__annotations__) == {"type", "tool_call_id", "name", "args", "description"}
    assert set(human_in_the_loop.HITLRequest.__annotations__) == {"action_requests", "review_configs"}


def test_everything_that_bubbles_up_through_a_tool_is_known() -> None:
    bubbling = {
        name
        for name, value in vars(langgraph.errors).items()
        if inspect.isclass(value) and issubclass(value, langgraph.errors.GraphBubbleUp)
    }

    assert bubbling == set(mapping.BUBBLES)


def test_the_fields_of_tasks_and_interrupts_are_the_ones_that_are_read() -> None:
    assert {"id", "name", "input", "triggers"} <= set(types.TaskPayload.__annotations__)
    assert {"id", "name", "error", "interrupts", "result"} == set(types.TaskResultPayload.__annotations__)
    assert {"id", "value"} <= set(inspect.signature(types.Interrupt).parameters)


def test_the_frameworks_own_texts_are_still_written_as_they_are_read() -> None:
    import re  # noqa: PLC0415 -- only here

    unknown = tool_node.INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool="nope", available_tools="a, b")
    invalid = tool_node.TOOL_INVOCATION_ERROR_TEMPLATE.format(tool_name="book", tool_kwargs={}, error="x")

    assert re.fullmatch(mapping.UNKNOWN_TOOL, unknown)
    assert invalid.startswith(mapping.INVOCATION)
    from langchain.agents.middleware import auto_mode, tool_call_limit  # noqa: PLC0415 -- as above

    limits = [tool_call_limit._build_tool_message_content(name) for name in ("book", None)]
    blocked = auto_mode._DEFAULT_BLOCKED_MESSAGE.format(tool_name="book", probability=0.9)
    assert [any(re.fullmatch(pattern, text) for pattern in mapping.NOT_EXECUTED) for text in (*limits, blocked)] == [True, True, True]


def test_no_row_of_the_table_stands_twice_and_each_says_by_what() -> None:
    words = [word.word for word in mapping.TABLE]

    assert len(words) == len(set(words))
    assert all(word.by for word in mapping.TABLE)
