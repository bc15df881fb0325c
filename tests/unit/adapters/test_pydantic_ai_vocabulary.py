"""The other side's vocabulary, enumerated from the installed package: a word that the table does not have fails here."""

import inspect
import re
import subprocess
import sys
from typing import get_args

import pydantic_ai.messages as theirs
import pytest
from ag_ui.core import EventType
from pydantic_ai.messages import INTERRUPTED_TOOL_RETURN_CONTENT, RetryInfo, ToolReturnPart
from pydantic_ai.tools import ToolDenied
from pydantic_ai.toolsets import function as toolset_module
from pydantic_ai.ui import _event_stream
from pydantic_ai.ui.vercel_ai import response_types

from toolwitness.adapters.pydantic_ai import mapping, native
from toolwitness.core.vocabulary import KINDS

HEADS = {word.word.split(" ")[0] for word in mapping.TABLE}


def test_every_event_of_the_framework_is_in_the_table() -> None:
    events = {
        name
        for name, found in vars(theirs).items()
        if inspect.isclass(found) and name.endswith("Event") and found.__module__ == theirs.__name__ and not name.startswith("_")
    }
    ours_by_shape = {"CustomEvent", "UnknownCustomEvent", "CapabilityEvent", "UnknownCapabilityEvent", "ToolCallEvent", "ToolResultEvent"}
    expected = {name for name in events - ours_by_shape if not name.startswith("Realtime")} | {"AgentRunResultEvent"}

    assert expected - HEADS == set()
    assert expected - native.HANDLERS.keys() == set()


def test_every_ag_ui_event_is_in_the_table_but_one_that_the_framework_never_sends() -> None:
    known = {head.removeprefix("agui:") for head in HEADS if head.startswith("agui:")}

    assert {event.value for event in EventType} - known == {"TOOL_CALL_CHUNK"}


def test_every_chunk_of_the_vercel_stream_is_in_the_table() -> None:
    types = {
        get_args(found.model_fields["type"].annotation)[0]
        for found in vars(response_types).values()
        if inspect.isclass(found)
        and issubclass(found, response_types.BaseChunk)
        and get_args(getattr(found.model_fields.get("type"), "annotation", None))
    }
    known = {head.removeprefix("vercel:") for head in HEADS if head.startswith("vercel:")}

    assert {one for one in types if not one.startswith("data-")} - known == set()


def test_every_outcome_and_every_cause_of_a_retry_is_one_that_the_reader_knows() -> None:
    outcomes = set(get_args(ToolReturnPart.__dataclass_fields__["outcome"].type)) or set(
        re.findall(r"'(\w+)'", str(ToolReturnPart.__dataclass_fields__["outcome"].type))
    )

    assert outcomes == {"success", "failed", "denied", "interrupted", "retried"}
    assert set(get_args(theirs.ToolRetryCause)) == {"validation_error", "model_retry", "unknown_tool", "unavailable_tool"}
    assert RetryInfo(cause="model_retry").cause == "model_retry"


@pytest.mark.parametrize(
    ("ours", "theirs_says_it"),
    [
        (mapping.INTERRUPTED, INTERRUPTED_TOOL_RETURN_CONTENT),
        (mapping.DENIED_BY_DEFAULT, ToolDenied().message),
        (mapping.BROKEN_OFF, inspect.getsource(_event_stream)),
        (mapping.NOT_EXECUTED[0], inspect.getsource(__import__("pydantic_ai._tool_execution", fromlist=["x"]))),
        (mapping.NOT_EXECUTED[1], inspect.getsource(__import__("pydantic_ai._tool_execution", fromlist=["x"]))),
        (mapping.OUTPUT_FAILED[0], inspect.getsource(__import__("pydantic_ai._tool_execution", fromlist=["x"]))),
        (mapping.OUTPUT_FAILED[1], inspect.getsource(__import__("pydantic_ai._tool_execution", fromlist=["x"]))),
        ("Timed out after {timeout} seconds.", inspect.getsource(toolset_module)),
    ],
)
def test_the_framework_s_own_texts_are_still_its_own(ours: str, theirs_says_it: str) -> None:
    assert ours in theirs_says_it


def test_every_word_of_the_table_says_kinds_that_there_are_and_says_by_what() -> None:
    assert [word.word for word in mapping.TABLE if not word.by] == []
    assert {str(kind) for word in mapping.TABLE for kind in word.says} - KINDS.keys() == set()
    assert len({word.word for word in mapping.TABLE}) == len(mapping.TABLE)


def test_the_adapter_is_there_by_its_full_name_and_reading_needs_no_framework() -> None:
    by_name = "import toolwitness; toolwitness.adapters.pydantic_ai.Recorder"
    without = "import sys; sys.modules['pydantic_ai'] = None; from toolwitness.adapters.pydantic_ai import Reader; Reader('capture:x')"

    for code in (by_name, without):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
