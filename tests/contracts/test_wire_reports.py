"""Reports on every wire that a reader reads: stored or streamed, bare or wrapped, under a kind of its own or under one of its family."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwitness.testing.reports import run_report

REPORTS = Path(__file__).resolve().parents[2] / "spec" / "cases" / "reports" / "wires"
NAMES = sorted(file.stem for file in REPORTS.glob("*.json"))
Report = dict[str, Any]


def report(name: str) -> Report:
    return json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
async def test_the_report_holds(name: str) -> None:
    result = await run_report(report(name))

    assert (result.wrong, result.unchecked) == ([], [])
    assert result.passed


@pytest.mark.parametrize("name", NAMES)
async def test_another_state_is_said_to_be_wrong(name: str) -> None:
    told = report(name)
    told["expected"] = {"states": dict.fromkeys(told["expected"]["states"], "queued")}

    result = await run_report(told)

    assert len(result.wrong) == len(told["expected"]["states"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("mcp_task_and_late_result", "raw:mcp-tasks"), ("langchain_messages", "raw:langgraph-updates"), ("responses_stream", "raw:responses"),
     ("ai_sdk_stop", "raw:ui-stream"), ("anthropic_messages", "raw:anthropic-messages"), ("ag_ui_late_result", "raw:agui")],
)  # fmt: skip  # pairs in lines
async def test_a_kind_of_the_family_is_played_alike(name: str, kind: str) -> None:
    told = {**report(name), "kind": kind}

    result = await run_report(told)

    assert (result.kind, result.passed) == (kind, True)


async def test_a_wire_that_nobody_reads_is_unsupported() -> None:
    told = report("ag_ui_late_result")
    told |= {"kind": "raw:carrier-pigeon", "input": {**told["input"], "format": "pigeon/1"}}

    result = await run_report(told)

    assert (result.passed, result.unchecked[0]) == (False, "unsupported")


async def test_a_call_that_comes_back_with_every_request_is_one_call() -> None:
    told = report("responses_stored_items")
    told["input"]["items"] += told["input"]["items"][:5]
    told["expected"]["invocations"] = 2

    result = await run_report(told)

    assert result.wrong == []
