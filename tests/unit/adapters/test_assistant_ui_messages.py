"""Messages of an assistant-ui thread as an application stores them: results, gates and questions, never a status."""

import json
from typing import Any

import pytest

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Part = dict[str, Any]


def part(call: str = "c1", **more: Any) -> Part:
    return {"type": "tool-call", "toolCallId": call, "toolName": "book", "args": {"q": 1}, "argsText": '{"q":1}', **more}


def message(*parts: Part, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": "hi"}, *parts], **more}


async def read(*messages: dict[str, Any]) -> dict[str, Any]:
    clock = RecordingClock()
    name = "assistant-ui-messages"
    lines = [json.dumps(one).encode() for one in messages]
    reader = reader_for(name, "capture:m.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="m.jsonl", format_name=name)


def states(told: dict[str, Any]) -> list[str | None]:
    return [one["state"] for one in told["invocations"]]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (part(), "proposed"),
        (part(result=None), "proposed"),
        (part(result={"ok": 1}), "succeeded"),
        (part(result="upstream 503", isError=True), "failed"),
        (part(result="Tool execution was cancelled.", isError=True), "proposed"),
        (part(result={"cancelled": True}), "proposed"),
        (part(result={"rows": 1}, isPreliminary=True), "streaming"),
        (part(interrupt={"type": "human", "payload": {}}), "awaiting_input"),
        (part(approval={"id": "g"}), "awaiting_approval"),
        (part(approval={"id": "g", "approved": True}), "awaiting_approval"),
        (part(approval={"id": "g", "approved": False}), "cancelled"),
        (part(approval={"id": "g", "approved": False}, result={"error": "too dear"}, isError=True), "cancelled"),
        (part(approval={"id": "g", "resolution": "cancelled"}), "cancelled"),
        (part(approval={"id": "g", "resolution": "expired"}), "expired"),
        (part(approval={"id": "g", "approved": True}, result=1), "succeeded"),
        (part(approval={"id": "g"}, result="no", isError=True), "awaiting_approval"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
async def test_a_part_is_read_for_what_it_is_evidence_of(shown: Part, expected: str) -> None:
    assert states(await read(message(shown))) == [expected]


@pytest.mark.parametrize("status", [{"type": "running"}, {"type": "complete"}, {"type": "incomplete", "reason": "cancelled"}])
async def test_a_status_says_nothing_about_a_call(status: Part) -> None:
    assert states(await read(message(part(status=status), status=status))) == ["proposed"]


async def test_a_copy_adds_nothing_and_one_that_has_got_further_tells_the_end() -> None:
    assert states(await read(message(part()), message(part(result=1)), message(part()), message(part(result=1)))) == ["succeeded"]


async def test_a_second_end_after_one_that_was_not_good_is_another_attempt() -> None:
    told = await read(message(part(result="boom", isError=True)), message(part(result=1)))

    assert states(told) == ["failed", "succeeded"]
    assert [one["identity"]["attempt"] for one in told["invocations"]] == [1, 2]


async def test_an_export_wraps_its_messages() -> None:
    told = await read({"headId": "m", "messages": [{"parentId": None, "message": message(part(result=1))}]})

    assert states(told) == ["succeeded"]


async def test_what_is_no_message_and_a_part_without_an_id_are_reported() -> None:
    told = await read({"role": "user"}, message(part(toolCallId=None)))

    assert states(told) == []
    assert [one["row"] for one in told["unmapped"]] == [1, 2]
