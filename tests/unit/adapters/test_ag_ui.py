"""AG-UI: what each event is evidence for, and what it is not."""

import json
from typing import Any

import pytest

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Event = dict[str, Any]


def started(run: str = "r1", **more: Any) -> Event:
    return {"type": "RUN_STARTED", "threadId": "th", "runId": run, **more}


def finished(outcome: Event | None = None, run: str = "r1") -> Event:
    return {"type": "RUN_FINISHED", "threadId": "th", "runId": run, "outcome": outcome or {"type": "success"}}


def call(key: str = "c1", *pieces: str, tool: str = "book") -> list[Event]:
    args = [{"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": piece} for piece in pieces or ('{"q":', '"x"}')]
    return [{"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": tool}, *args, {"type": "TOOL_CALL_END", "toolCallId": key}]


def result(content: Any, key: str = "c1", **more: Any) -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": key, "content": content, "role": "tool", **more}


def interrupt(key: str = "c1", reason: str = "tool_call", **more: Any) -> Event:
    return finished({"type": "interrupt", "interrupts": [{"id": f"int-{key}", "reason": reason, "toolCallId": key, **more}]})


def resume(payload: Any = None, *, status: str = "resolved", key: str = "c1") -> Event:
    return {"resume": [{"interruptId": f"int-{key}", "status": status, "payload": payload}]}


def snapshot(*messages: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


async def read(*events: Event) -> dict[str, Any]:
    clock = RecordingClock()
    lines = [json.dumps(event).encode() for event in events]
    reader = reader_for("ag-ui", "capture:a.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="a.jsonl", format_name="ag-ui")


def states(told: dict[str, Any]) -> list[str | None]:
    return [one["state"] for one in told["invocations"]]


def findings(told: dict[str, Any], place: int = 0) -> set[str]:
    return {finding["code"] for finding in told["invocations"][place]["findings"]}


APPROVAL = {"responseSchema": {"type": "object", "properties": {"approved": {"type": "boolean"}}}}


# ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_end_of_a_tool_call_is_the_end_of_its_arguments() -> None:
    told = await read(started(), *call())

    assert states(told) == ["proposed"]
    assert told["invocations"][0]["inputs"]["values"] == {"q": "x"}


async def test_a_character_that_two_pieces_tore_apart_is_made_whole_again() -> None:
    told = await read(started(), *call("c1", '{"q":"\ud83d', '\ude00"}'))

    assert told["invocations"][0]["inputs"]["values"] == {"q": "\U0001f600"}


async def test_chunks_are_start_arguments_and_end_in_one() -> None:
    chunks = [{"toolCallId": "c1", "toolCallName": "book", "delta": '{"q":'}, {"delta": "1}"}, {"toolCallId": "c2", "toolCallName": "look"}]

    told = await read(started(), *({"type": "TOOL_CALL_CHUNK", **one} for one in chunks), result("1"), finished())

    assert [(one["tool"], one["state"]) for one in told["invocations"]] == [("book", "succeeded"), ("look", "proposed")]


async def test_arguments_that_are_cut_by_a_cancelled_run_are_kept() -> None:
    told = await read(started(), *call("c1", '{"q":"a')[:-1], finished({"type": "cancelled"}))

    assert states(told) == ["proposed"]
    assert any("cut" in one["why"] for one in told["unmapped"])


async def test_a_resumed_run_that_says_a_call_again_adds_no_arguments_and_no_call() -> None:
    told = await read(
        started(),
        *call(),
        interrupt(**APPROVAL),
        started("r2", input=resume({"approved": True})),
        *call(),
        result("R-1"),
        finished(run="r2"),
    )

    assert states(told) == ["succeeded"]
    assert told["invocations"][0]["inputs"]["values"] == {"q": "x"}


async def test_an_id_that_is_used_again_after_an_end_is_another_attempt() -> None:
    told = await read(started(), *call(), result("Error: boom"), *call(), result("2"), finished())

    assert states(told) == ["proposed", "succeeded"]
    assert [one["identity"]["attempt"] for one in told["invocations"]] == [1, 2]
    assert [one["inputs"]["values"] for one in told["invocations"]] == [{"q": "x"}, {"q": "x"}]


async def test_an_id_that_is_given_twice_in_one_response_is_two_calls() -> None:
    told = await read(started(), *call(), *call(), result("1"), result("1"), finished())

    assert states(told) == ["succeeded", "succeeded"]


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content", ["", "ok", '{"options": 2}', "null", "[]", "2 errors were fixed", "cancelled flights: 2", '{"error": null}']
)
async def test_an_answer_that_nothing_contradicts_is_a_success_when_the_run_is_over(content: str) -> None:
    assert states(await read(started(), *call(), result(content), finished())) == ["succeeded"]


@pytest.mark.parametrize(
    "content",
    ["Error: upstream 503", "ValueError: no", "Traceback (most recent call last):\n", '{"status": "cancelled"}', '{"error": "no room"}',
     "User denied the booking", "Tool execution was cancelled.", "The request was rejected", '{"isError": true, "content": []}'],
)  # fmt: skip  # texts in lines
async def test_an_answer_that_reads_like_none_is_doubted(content: str) -> None:
    told = await read(started(), *call(), result(content), finished())

    assert states(told) == ["proposed"]
    assert "outcome-unknown" in findings(told)


async def test_an_error_in_a_field_that_the_protocol_does_not_have_is_neither_believed_nor_overlooked() -> None:
    told = await read(started(), *call(), result("503", error="upstream"), finished())

    assert states(told) == ["proposed"]
    assert "outcome-unknown" in findings(told)


async def test_a_snapshot_says_that_an_answer_was_an_error() -> None:
    message = {"id": "m", "role": "tool", "toolCallId": "c1", "content": "503", "error": "upstream 503"}

    assert states(await read(started(), *call(), result("503"), snapshot(message), finished())) == ["failed"]


async def test_a_snapshot_tells_calls_and_answers_that_the_stream_did_not_carry() -> None:
    calls = {"id": "m1", "role": "assistant", "toolCalls": [{"id": "c9", "function": {"name": "look", "arguments": '{"q":1}'}}]}
    told = await read(started(), snapshot(calls, {"id": "m2", "role": "tool", "toolCallId": "c9", "content": "2"}), finished())

    assert [(one["tool"], one["state"]) for one in told["invocations"]] == [("look", "succeeded")]


async def test_an_answer_is_not_believed_where_the_stream_is_cut_before_its_run_has_ended() -> None:
    told = await read(started(), *call(), result("ok"))

    assert states(told) == ["proposed"]
    assert "outcome-unknown" in findings(told)


async def test_a_late_answer_on_a_cancelled_run_still_counts() -> None:
    assert states(await read(started(), *call(), finished({"type": "cancelled"}), result("late"))) == ["succeeded"]


async def test_two_different_answers_to_one_call_are_two_ends() -> None:
    told = await read(started(), *call(), result("1"), result("2"), finished())

    assert states(told) == ["succeeded"]
    assert "conflicting-outcomes" in findings(told)


async def test_an_answer_without_a_start_names_its_call() -> None:
    told = await read(started(), result("1"), finished())

    assert states(told) == ["succeeded"]
    assert told["invocations"][0]["correlation"][0]["providerCallId"] == "c1"


async def test_an_application_answers_its_own_calls_in_the_input_of_the_next_run() -> None:
    answer = {"messages": [{"id": "m", "role": "tool", "toolCallId": "c1", "content": "done"}]}

    told = await read(started(), *call(), finished({"type": "success", "pendingToolCallIds": ["c1"]}), started("r2", input=answer))

    assert states(told) == ["succeeded"]


# ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "end",
    [finished(), finished({"type": "cancelled"}), finished({"type": "success", "pendingToolCallIds": ["c1"]}),
     {"type": "RUN_ERROR", "message": "500"}, {"type": "RUN_ERROR", "message": "stopped", "code": "abort"}],
)  # fmt: skip  # ends in lines
async def test_the_end_of_a_run_is_no_end_of_a_call(end: Event) -> None:
    told = await read(started(), *call(), end)

    assert states(told) == ["proposed"]
    assert "waiter-gone" in findings(told)


async def test_a_run_that_fails_after_a_result_leaves_the_result() -> None:
    told = await read(started(), *call(), result("R-1"), {"type": "RUN_ERROR", "message": "500"})

    assert states(told) == ["succeeded"]
    assert any("what they did stands" in one["why"] for one in told["unmapped"])


async def test_a_run_inside_a_call_shows_that_the_call_has_started() -> None:
    told = await read(started(), *call(), {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "parentToolCallId": "c1"})

    assert states(told) == ["running"]


async def test_an_outcome_that_is_not_known_ends_the_run_and_says_nothing() -> None:
    told = await read(started(), *call(), finished({"type": "imagined"}))

    assert states(told) == ["proposed"]
    assert told["unmapped"][0]["word"] == "RUN_FINISHED imagined"


# ── interrupts ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reason", "more", "expected"),
    [("tool_approval", {}, "awaiting_approval"), ("tool_call", APPROVAL, "awaiting_approval"), ("input_required", {}, "awaiting_input"),
     ("imagined", {}, "awaiting_input")],
)  # fmt: skip  # reasons in lines
async def test_an_interrupt_asks_for_an_approval_only_where_it_says_so(reason: str, more: Event, expected: str) -> None:
    assert states(await read(started(), *call(), interrupt(reason=reason, **more))) == [expected]


async def test_an_interrupt_carries_its_message_and_its_deadline() -> None:
    told = await read(started(), *call(), interrupt(message="Book LH1 for 120 EUR?", expiresAt="2099-01-01T00:00:00Z", **APPROVAL))
    shown = told["invocations"][0]["authorization"]

    assert (shown["consequenceSummary"], shown["expiresAt"]) == ("Book LH1 for 120 EUR?", "2099-01-01T00:00:00Z")


async def test_a_denial_in_the_payload_closes_the_call_whatever_the_answer_says() -> None:
    denied = started("r2", input=resume({"approved": False, "reason": "too dear"}))

    for answers in ([result("done")], []):
        told = await read(started(), *call(), interrupt(**APPROVAL), denied, *answers, finished(run="r2"))
        assert states(told) == ["cancelled"]
        assert told["invocations"][0]["closure"]["kind"] == "denied"


async def test_a_cancelled_interrupt_is_put_aside_and_not_denied() -> None:
    told = await read(started(), *call(), interrupt(**APPROVAL), started("r2", input=resume(status="cancelled")), finished(run="r2"))

    assert states(told) == ["cancelled"]
    assert told["invocations"][0]["closure"]["kind"] == "dismissed"


async def test_an_approval_is_used_once_and_later_answers_are_refused() -> None:
    granted = resume({"approved": True})
    later = [{"input": granted, "actor": "ada"}, {"input": resume(status="cancelled"), "actor": "ada"}]

    told = await read(started(), *call(), interrupt(**APPROVAL), {"input": granted, "actor": "ada"}, started("r2"), result("R-1"),
                      {"type": "RUN_ERROR", "message": "500"}, *later)  # fmt: skip  # one story

    assert states(told) == ["succeeded"]
    assert [event["verdict"] for event in told["events"][-2:]] == ["refused", "refused"]
    assert "ran-without-approval" not in findings(told)


async def test_an_answer_in_a_later_run_shows_a_second_start_and_the_same_message_again_does_not() -> None:
    granted = started("r2", input=resume({"approved": True}))
    once = [started(), *call(), interrupt(**APPROVAL), granted, result("R-1"), finished(run="r2"), started("r3")]

    again = await read(*once, {**result("R-2"), "messageId": "m2"}, finished(run="r3"))
    repeated = await read(*once, result("R-1"), finished(run="r3"))

    assert "duplicate-start" in findings(again)
    assert "duplicate-start" not in findings(repeated)


async def test_an_answer_whose_interrupt_nobody_was_seen_to_answer_may_hold_a_refusal() -> None:
    told = await read(started(), *call(), interrupt(**APPROVAL), started("r2"), result("It was not booked."), finished(run="r2"))

    assert states(told) == ["awaiting_approval"]
    assert "outcome-unknown" in findings(told)


async def test_an_answer_in_a_run_that_was_resumed_with_a_refusal_is_no_success_of_a_call_that_was_not_seen() -> None:
    refused = started(input=resume({"approved": False}))
    approved = started(input=resume({"approved": True}))

    assert states(await read(refused, result("It was not booked."), finished())) == [None]
    assert states(await read(approved, result("R-1"), finished())) == ["succeeded"]


async def test_a_question_is_answered_and_the_call_goes_on() -> None:
    told = await read(
        started(),
        *call(),
        interrupt(reason="input_required"),
        started("r2", input=resume({"seat": "7A"})),
        result("R-1"),
        finished(run="r2"),
    )

    assert states(told) == ["succeeded"]
    assert any(event["type"] == "toolcall.input.supplied" for event in told["events"])


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_an_application_says_by_its_own_convention_starts_and_queues_nothing() -> None:
    custom = {"type": "CUSTOM", "name": "lifecycle", "value": {"invocationId": "c1", "event": "queue.accepted"}}
    activity = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "progress", "content": {"toolCallId": "c1", "progress": 1}}

    assert states(await read(started(), *call(), custom, activity)) == ["proposed"]


async def test_an_unknown_event_and_one_that_names_no_call_are_reported() -> None:
    told = await read(
        started(), {"type": "TOOL_CALL_IMAGINED"}, {"type": "TOOL_CALL_RESULT", "content": "x"}, {"type": "TOOL_CALL_ARGS", "delta": "x"}
    )

    assert states(told) == []
    assert [one["row"] for one in told["unmapped"]] == [2, 3, 4]


async def test_a_stop_in_the_client_is_a_request() -> None:
    told = await read(started(), *call(), {"src": "driver", "kind": "stop", "event": {}}, result("1"), finished())

    assert findings(told) >= {"completed-despite-cancel-request"}
