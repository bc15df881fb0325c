"""What the A2A reader makes of single updates: late ones, other spellings, unknown states, requests that are refused."""

import json
from typing import Any

import pytest

from toolwitness.adapters.a2a import Reader
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay


def update(state: str, task: str = "t1", **more: Any) -> dict[str, Any]:
    return {"update": {"kind": "status-update", "taskId": task, "contextId": "cx", "status": {"state": state, **more}, "final": False}}


def says(text: str) -> dict[str, Any]:
    return {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": text}]}


async def played(*rows: Any) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    lines = [json.dumps(row).encode() for row in rows]
    try:
        return await replay(lines, reader=Reader("capture:test"), ledger=ledger, clock=clock, file="test", format_name="a2a")
    finally:
        await ledger.close()


async def one(*rows: Any) -> dict[str, Any]:
    (document,) = (await played(*rows))["invocations"]
    return dict(document)


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["submitted"], "proposed"), (["working"], "running"), (["TASK_STATE_WORKING"], "running"), (["working", "completed"], "succeeded"),
        (["working", "failed"], "failed"), (["working", "canceled"], "cancelled"), (["working", "cancelled"], "cancelled"),
        (["submitted", "TASK_STATE_CANCELED"], "cancelled"), (["working", "rejected"], "cancelled"),
        (["submitted", "rejected"], "cancelled"),
        (["working", "canceling"], "running"), (["working", "unknown"], "running"), (["working", "TASK_STATE_UNSPECIFIED"], "running"),
        (["working", "working", "input-required", "working"], "running"), (["submitted", "input-required"], "awaiting_input"),
        (["submitted", "auth-required"], "awaiting_approval"), (["working", "completed", "canceled", "working"], "succeeded"),
        (["working", "canceled", "completed"], "cancelled"), (["submitted", "canceled", "working"], "cancelled"),
    ],
)  # fmt: skip  # one story after the other
async def test_a_task_stands_where_its_first_end_left_it(states: list[str], expected: str) -> None:
    assert (await one(*map(update, states)))["state"] == expected


async def test_what_comes_after_the_end_is_a_finding_and_is_reported() -> None:
    late = await played(update("working"), update("completed"), update("canceled"))
    revived = await one(update("submitted"), update("canceled"), update("working"))

    assert "late-closure" in codes(late["invocations"][0])
    assert [report["why"] for report in late["unmapped"]] == ["an update after the end: it is kept and revives nothing"]
    assert "started-after-end" in codes(revived)
    assert revived["sideEffects"]["reconciliationState"] == "required"


async def test_other_spellings_and_unknown_states_are_reported() -> None:
    result = await played(update("working"), update("canceling"), update("cancelled"))

    assert ["canceling" in result["unmapped"][0]["why"], "no version's spelling" in result["unmapped"][1]["why"]] == [True, True]


@pytest.mark.parametrize("state", ["completed", "failed"])
async def test_an_end_whose_message_reads_like_a_cancellation_is_doubted(state: str) -> None:
    document = await one(update("working"), update(state, message=says("canceled")))

    assert document["state"] == "running"
    assert "outcome-unknown" in codes(document)


async def test_a_request_to_cancel_is_a_request_and_its_refusal_or_a_running_answer_changes_nothing() -> None:
    request = {"request": {"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": "t1"}}, "actor": "u1"}
    refused = {"response": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "Task cannot be canceled"}}}
    answered = {"response": {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t1", "status": {"state": "working"}}}}

    too_late = await one(update("working"), request, update("completed"), refused)
    running = await one(update("working"), request, answered)

    assert (too_late["state"], running["state"]) == ("succeeded", "running")
    assert "completed-despite-cancel-request" in codes(too_late)
    assert "u1" in json.dumps(running["requests"])


async def test_a_cancellation_that_was_asked_for_before_the_task_was_seen_is_not_lost() -> None:
    driver = {"src": "driver", "kind": "on_cancel_task", "event": {"id": "t1"}}
    result = await played(driver, update("working"))

    assert [event["type"].removeprefix("toolcall.") for event in result["events"]] == [
        "task.opened", "invocation.proposed", "cancellation.requested", "execution.started",
    ]  # fmt: skip  # a list in lines


async def test_an_answer_that_is_no_task_is_a_whole_answer_and_one_about_a_task_is_not() -> None:
    whole = await one({"message": {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]}})
    about = await one(
        update("working"), {"message": {"messageId": "m2", "taskId": "t1", "role": "ROLE_AGENT", "parts": [{"text": "soon"}]}}
    )
    mine = await played({"message": {"messageId": "m3", "role": "ROLE_USER", "parts": [{"text": "go"}]}})

    assert (whole["state"], about["state"], mine["invocations"]) == ("succeeded", "streaming", [])


async def test_a_snapshot_says_what_an_update_says_and_says_it_once() -> None:
    task = {"id": "t1", "contextId": "cx", "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-11-29T23:35:13Z"}, "history": []}
    result = await played(task, task, {"task": task}, {"jsonrpc": "2.0", "id": 9, "result": {"task": task}})

    assert [event["type"] for event in result["events"]].count("toolcall.execution.started") == 1
    assert [document["state"] for document in result["invocations"]] == ["running"]


@pytest.mark.parametrize("junk", [{}, {"update": {}}, {"update": {"kind": "status-update"}}, {"response": {"id": 1}}, {"task": {"id": 7}}])
async def test_what_has_no_known_shape_is_reported_and_raises_nothing(junk: dict[str, Any]) -> None:
    result = await played(junk, update("working"))

    assert [document["state"] for document in result["invocations"]] == ["running"]
