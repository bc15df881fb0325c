"""Messages that an application of the AI SDK has stored: one state a call, and nothing of how it came about."""

import json
from typing import Any

import pytest

from toolwitness.adapters.ai_sdk import read_messages
from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Part = dict[str, Any]


def part(state: str, call: str = "c1", **more: Any) -> Part:
    return {"type": "tool-book", "toolCallId": call, "state": state, "input": {"id": 7}, **more}


def message(*parts: Part, **more: Any) -> dict[str, Any]:
    return {"id": "m", "role": "assistant", "parts": list(parts), **more}


async def read(*messages: dict[str, Any]) -> dict[str, Any]:
    clock = RecordingClock()
    lines = [json.dumps(one).encode() for one in messages]
    reader = reader_for("ai-sdk-messages", "capture:m.jsonl")
    return await replay(
        lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="m.jsonl", format_name="ai-sdk-messages"
    )


def states(result: dict[str, Any]) -> list[str | None]:
    return [one["state"] for one in result["invocations"]]


def findings(result: dict[str, Any], place: int = 0) -> set[str]:
    return {finding["code"] for finding in result["invocations"][place]["findings"]}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (part("input-streaming", rawInput='{"id'), "proposed"),
        (part("input-available"), "proposed"),
        (part("approval-requested", approval={"id": "a1"}), "awaiting_approval"),
        (part("approval-responded", approval={"id": "a1", "approved": True}), "awaiting_approval"),
        (part("approval-responded", approval={"id": "a1", "approved": False}), "awaiting_approval"),
        (part("output-available", output={"ref": 1}), "succeeded"),
        (part("output-available", output={"rows": 1}, preliminary=True), "streaming"),
        (part("output-available", output={"status": "cancelled"}), "proposed"),
        (part("output-error", errorText="upstream 503"), "failed"),
        (part("output-error", errorText="AbortError: This operation was aborted"), "proposed"),
        (part("output-error", errorText="no", input=None, rawInput='{"id'), "awaiting_input"),
        (part("output-denied", approval={"id": "a1", "approved": False, "reason": "too dear"}), "cancelled"),
        (part("output-denied"), "proposed"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
async def test_a_stored_state_is_read_for_what_it_is_evidence_of(shown: Part, expected: str) -> None:
    assert states(await read(message(shown))) == [expected]


async def test_a_call_that_the_application_keeps_as_pending_waits_for_its_approval() -> None:
    kept = {"pendingToolApprovals": {"c1": {"runId": "run-1", "toolName": "book"}}}

    assert states(await read(message(part("input-available"), metadata=kept))) == ["awaiting_approval"]


async def test_an_approval_that_was_answered_is_neither_queued_nor_asked_again() -> None:
    result = await read(message(part("approval-responded", approval={"id": "a1", "approved": True})))

    assert findings(result) == {"approved-not-queued"}
    assert result["invocations"][0]["authorization"]["state"] == "granted"


async def test_a_denial_that_is_stored_as_an_error_is_a_denial() -> None:
    result = await read(message(part("output-error", errorText="refused", approval={"id": "a1", "approved": False, "reason": "too dear"})))

    assert states(result) == ["cancelled"]
    assert result["invocations"][0]["closure"]["reason"] == "too dear"


async def test_a_copy_in_a_second_message_is_the_same_call() -> None:
    done = part("output-available", output=1)

    assert states(await read(message(done), message(part("input-available")), message(done))) == ["succeeded"]


async def test_a_copy_that_has_got_further_tells_the_end() -> None:
    assert states(await read(message(part("input-available")), message(part("output-available", output=1)))) == ["succeeded"]


async def test_a_second_end_under_the_same_id_is_another_attempt() -> None:
    result = await read(message(part("output-error", errorText="boom"), {"type": "step-start"}, part("output-available", output=1)))

    assert states(result) == ["failed", "succeeded"]
    assert result["invocations"][1]["identity"]["attempt"] == 2


async def test_dynamic_tools_and_lists_of_messages_are_read_too() -> None:
    dynamic = {"type": "dynamic-tool", "toolName": "look", "toolCallId": "c2", "state": "output-available", "input": {}, "output": 1}

    result = await read({"messages": [message({"type": "text", "text": "hi"}), message(dynamic)]})

    assert [(one["tool"], one["state"]) for one in result["invocations"]] == [("look", "succeeded")]


async def test_an_unknown_state_and_a_row_that_is_no_message_are_reported() -> None:
    result = await read(message(part("output-imagined")), {"role": "user"})

    assert states(result) == []
    assert [one["row"] for one in result["unmapped"]] == [1, 2]


def test_messages_can_be_read_without_a_file() -> None:
    drafts = read_messages([message(part("approval-requested", approval={"id": "a1"}))], "import:chat-1")

    assert [draft.event.kind for draft in drafts] == ["task.opened", "invocation.proposed", "approval.requested"]
    assert {draft.event.source for draft in drafts} == {"import:chat-1"}
