"""Every word that the installed MCP types can say, on both wires, is in the table: mapped, or left out for a reason."""

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any, get_args

import mcp_types
import mcp_types._v2025_11_25 as wire_2025
import mcp_types._v2026_07_28 as wire_2026
import pytest
from mcp_types import jsonrpc, methods
from pydantic import BaseModel

from toolwitness.adapters.mcp import TABLE, Reader

WORDS = {word.word for word in TABLE}
MODULES = (mcp_types, wire_2025, wire_2026)
RESULTS = {
    "CallToolResult": "s2c:result complete",
    "InputRequiredResult": "s2c:result input_required",
    "CreateTaskResult": "s2c:result task",
    "GetTaskResult": "task working",
    "CancelTaskResult": "task cancelled",
    "GetTaskPayloadResult": "task result complete",
    "ListTasksResult": "task working",
    "ElicitResult": "c2s:result elicitation",
    "CreateMessageResult": "c2s:result",
    "ListRootsResult": "c2s:result",
    "ClientResult": "c2s:result",
}
"""Which row reads each kind of result; every other one answers a request that is no call."""
OTHERS = {
    "CacheableResult", "CompleteResult", "DiscoverResult", "EmptyResult", "GetPromptResult", "InitializeResult", "ListPromptsResult",
    "ListResourceTemplatesResult", "ListResourcesResult", "ListToolsResult", "PaginatedResult", "ReadResourceResult", "Result",
    "SubscriptionsListenResult",
}  # fmt: skip  # a set in lines


def models(module: ModuleType) -> list[type[BaseModel]]:
    return [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, BaseModel)]


def literals(module: ModuleType, name: str) -> set[str]:
    found: set[str] = set()
    for model in models(module):
        field = model.model_fields.get(name)
        if field is not None:
            found |= {str(value) for value in get_args(field.annotation) if isinstance(value, str)}
    return found


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("c2s", methods.CLIENT_REQUESTS), ("c2s", methods.CLIENT_NOTIFICATIONS), ("s2c", methods.SERVER_REQUESTS),
        ("s2c", methods.SERVER_NOTIFICATIONS),
    ],
)  # fmt: skip  # pairs in lines
def test_every_method_of_every_protocol_version_has_a_row_for_the_way_it_goes(way: str, said: Any) -> None:
    missing = {f"{way}:{method}" for method, _ in said} - WORDS

    assert missing == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_method_that_any_type_names_has_a_row_also_those_of_tasks(module: ModuleType) -> None:
    named = literals(module, "method")
    missing = {method for method in named if not {f"c2s:{method}", f"s2c:{method}"} & WORDS}

    assert len(named) > 15
    assert missing == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_kind_of_result_is_read_by_a_row_or_answers_no_call(module: ModuleType) -> None:
    named = {model.__name__ for model in models(module) if model.__name__.endswith("Result") and not model.__name__.startswith("JSONRPC")}

    assert named - RESULTS.keys() - OTHERS == set()
    assert set(RESULTS.values()) <= WORDS


def test_every_status_of_a_task_has_a_row() -> None:
    statuses = set().union(*(literals(module, "status") for module in MODULES))

    assert {"working", "cancelled"} <= statuses
    assert {f"task {status}" for status in statuses} <= WORDS


def test_no_error_code_of_the_package_becomes_a_success_or_a_cancellation() -> None:
    codes = {name: value for name, value in vars(jsonrpc).items() if name.isupper() and isinstance(value, int)}
    for code in codes.values():
        reader = Reader("capture:codes")
        reader.feed({"src": "runtime", "kind": "c2s:tools/call", "event": {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}})
        error = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}}
        said = [draft.event.kind for draft in reader.feed({"src": "runtime", "kind": "s2c:error", "event": error})]

        assert len(said) == 1
        assert said[0] in {"execution.failed", "execution.lost", "input.required"}
    assert len(codes) > 5


def test_an_unknown_word_is_reported_and_becomes_nothing() -> None:
    reader = Reader("capture:unknown")
    reader.feed({"src": "header"})

    said = reader.feed({"src": "runtime", "kind": "s2c:tools/rewind", "event": {"jsonrpc": "2.0", "method": "tools/rewind", "id": 9}})

    assert said == []
    assert [one.why for one in reader.unmapped] == ["the table does not have this word"]


def test_reading_a_capture_does_not_need_the_package() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('mcp', 'mcp_types'))); import toolwitness.adapters.mcp.reader"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
