"""What the MCP reader makes of single exchanges: late answers, ids that come again, results of any type, ends in disguise, tasks."""

import json
from typing import Any

import pytest

from toolwitness.adapters.mcp import Reader
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Message = dict[str, Any]


def c2s(body: Message) -> Message:
    return {"dir": "client->server", "msg": {"jsonrpc": "2.0", **body}}


def s2c(body: Message) -> Message:
    return {"dir": "server->client", "msg": {"jsonrpc": "2.0", **body}}


def call(key: Any, tool: str = "slow", **params: Any) -> Message:
    return c2s({"id": key, "method": "tools/call", "params": {"name": tool, "arguments": {}, **params}})


def answer(key: Any, result: Any) -> Message:
    return s2c({"id": key, "result": result})


def error(key: Any, code: int, message: str) -> Message:
    return s2c({"id": key, "error": {"code": code, "message": message}})


def cancel(key: Any, reason: str = "user stop") -> Message:
    return c2s({"method": "notifications/cancelled", "params": {"requestId": key, "reason": reason}})


def text(said: str, **more: Any) -> Message:
    return {"content": [{"type": "text", "text": said}], **more}


async def played(*rows: Any) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    lines = [json.dumps(row).encode() for row in rows]
    try:
        return await replay(lines, reader=Reader("capture:test"), ledger=ledger, clock=clock, file="test", format_name="mcp")
    finally:
        await ledger.close()


async def states(*rows: Any) -> list[str]:
    return [document["state"] for document in (await played(*rows))["invocations"]]


async def one(*rows: Any) -> dict[str, Any]:
    (document,) = (await played(*rows))["invocations"]
    return dict(document)


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


# ── after a cancellation was sent ───────────────────────────────────────────────────────────────────────────────────


async def test_the_one_error_with_which_older_sdks_acknowledge_is_believed_and_its_effects_stay_open() -> None:
    document = await one(call(99), cancel(99), error(99, 0, "Request cancelled"))

    assert document["state"] == "cancelled"
    assert document["sideEffects"]["reconciliationState"] == "unknown"


@pytest.mark.parametrize(
    "said", [(0, "Request cancelled."), (-32800, "Request cancelled"), (0, "request cancelled"), (-32603, "Operation was aborted")]
)
async def test_every_other_error_that_reads_like_a_cancellation_is_doubted(said: tuple[int, str]) -> None:
    document = await one(call(1), cancel(1), error(1, *said))

    assert document["state"] == "proposed"
    assert "outcome-unknown" in codes(document)


async def test_the_same_error_without_a_cancellation_acknowledges_nothing() -> None:
    document = await one(call(1), error(1, 0, "Request cancelled"))

    assert document["state"] == "proposed"
    assert "outcome-unknown" in codes(document)


async def test_silence_is_never_an_acknowledgement_and_shows_no_start() -> None:
    document = await one(call(1), cancel(1))

    assert document["state"] == "proposed"
    assert document["closure"]["kind"] is None
    assert "waiter-gone" in codes(document)
    assert document["sideEffects"]["reconciliationState"] == "unknown"


async def test_a_late_failure_stays_a_failure_and_a_late_success_says_that_it_was_to_be_cancelled() -> None:
    failed = await one(call(1), cancel(1), error(1, -32603, "backend unavailable"))
    succeeded = await one(call(1), cancel(1), answer(1, text("finished")))

    assert (failed["state"], succeeded["state"]) == ("failed", "succeeded")
    assert "completed-despite-cancel-request" in codes(succeeded)


async def test_a_time_out_of_the_client_is_a_lost_waiter_and_nobody_s_request() -> None:
    result = await played(call(1), cancel(1, "timed out after 0.5s"))

    assert [event["type"] for event in result["events"][2:]] == ["toolcall.waiter.released"]


@pytest.mark.parametrize("code", [-32000, -32001])
async def test_errors_about_the_connection_or_the_wait_say_nothing_about_the_work(code: int) -> None:
    document = await one(call(1), error(1, code, "it went wrong"))

    assert document["state"] == "proposed"
    assert "outcome-unknown" in codes(document)


# ── ids ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_id_that_comes_again_is_another_call() -> None:
    assert await states(call(1), answer(1, text("a")), call(1), answer(1, text("b", isError=True))) == ["succeeded", "failed"]


async def test_two_open_requests_with_one_id_are_two_calls_whose_answers_cannot_be_told_apart() -> None:
    result = await played(call(1), call(1), answer(1, text("a")))

    assert [document["state"] for document in result["invocations"]] == ["proposed", "proposed"]
    assert "cannot be known" in result["unmapped"][0]["why"]


async def test_a_number_and_a_text_are_two_ids_and_each_side_counts_for_itself() -> None:
    question = s2c({"id": 1, "method": "elicitation/create", "params": {"message": "?"}})
    declined = c2s({"id": 1, "result": {"action": "decline"}})

    assert await states(call(1), call("1"), answer("1", text("b", isError=True)), answer(1, text("a"))) == ["succeeded", "failed"]
    assert await states(call(1), question, declined, answer(1, text("a"))) == ["succeeded"]


async def test_an_answer_of_an_earlier_connection_answers_nothing_on_the_next() -> None:
    hello = c2s({"id": 0, "method": "initialize", "params": {}})

    assert await states(hello, call(1), hello, answer(1, text("a"))) == ["proposed"]


async def test_the_same_answer_twice_is_one_answer_and_another_one_is_a_contradiction() -> None:
    same = await one(call(1), answer(1, text("a")), answer(1, text("a")))
    other = await one(call(1), answer(1, text("a")), answer(1, text("b", isError=True)))

    assert (same["state"], other["state"]) == ("succeeded", "succeeded")
    assert "conflicting-outcomes" not in codes(same)
    assert "conflicting-outcomes" in codes(other)


async def test_a_message_that_does_not_say_its_way_is_known_by_what_it_answers() -> None:
    bare = [{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a"}}, {"jsonrpc": "2.0", "id": 7, "result": text("x")}]

    assert await states(*bare) == ["succeeded"]


async def test_a_batch_is_its_messages() -> None:
    rows = [{"src": "runtime", "kind": "c2s:batch", "event": [call(1)["msg"], call(2)["msg"]]}, answer(2, text("b"))]

    assert await states(*rows) == ["proposed", "succeeded"]


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "result",
    [
        {"content": []}, {"content": [], "structuredContent": {"result": []}, "isError": False}, text(""), text("42", isError=None),
        {"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}, text('{"mean": NaN}'),
        text("field 'team' was not given"), text("2 cancelled flights were found"), None, 7, [1], "plain",
    ],
)  # fmt: skip  # one result after the other
async def test_a_result_of_any_type_is_a_success_unless_it_says_that_it_is_none(result: Any) -> None:
    document = await one(call(1), answer(1, result))

    assert document["state"] == "succeeded"


@pytest.mark.parametrize(
    "result",
    [
        text("canceled"), text("AbortError: The operation was aborted", isError=True), text('{"status": "cancelled"}'),
        {"content": [], "structuredContent": {"status": "cancelled"}},
        {"content": [], "structuredContent": {"result": {"cancelled": True}}},
        text("Error executing tool pay: The operation was cancelled", isError=True), text("x", isError="true"), text("x", isError=1),
        text("x", resultType="postponed"),
    ],
)  # fmt: skip  # one result after the other
async def test_an_end_that_only_looks_like_one_is_doubted(result: Any) -> None:
    document = await one(call(1), answer(1, result))

    assert document["state"] == "proposed"
    assert "outcome-unknown" in codes(document)


async def test_a_result_that_is_not_of_the_listed_type_is_a_failure_of_its_own_category() -> None:
    schema = {"type": "object", "required": ["tag"], "properties": {"tag": {"type": "string"}}}
    listed = [c2s({"id": 1, "method": "tools/list"}), answer(1, {"tools": [{"name": "slow", "outputSchema": schema}]})]

    document = await one(*listed, call(2), answer(2, text("field 'team' was not given")))
    whole = await one(*listed, call(2), answer(2, text("x", structuredContent={"tag": "y"})))

    assert (document["state"], document["errors"]["safeCategory"]) == ("failed", "invalid-result")
    assert whole["state"] == "succeeded"


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("MCP error -32602: Input validation error: expected number", "invalid-input"), ("Unknown tool: nope", "unknown-tool"),
        ("Error executing tool add: 2 validation errors for addArguments", "invalid-input"),
        ("MCP error -32602: Tool x not found", "unknown-tool"),
        ("Error executing tool add", "tool-error"), ("no seats left", "tool-error"),
    ],
)  # fmt: skip  # pairs in lines
async def test_the_sdks_own_texts_tell_refused_arguments_from_failures(said: str, category: str) -> None:
    document = await one(call(1), answer(1, text(said, isError=True)))

    assert (document["state"], document["errors"]["safeCategory"]) == ("failed", category)


# ── questions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def asks(state: str = "s1") -> Message:
    return {"resultType": "input_required", "requestState": state, "inputRequests": {"confirm": {"method": "elicitation/create"}}}


async def test_one_call_goes_on_under_a_new_id() -> None:
    again = call(2, requestState="s1", inputResponses={"confirm": {"action": "accept"}})

    assert await states(call(1), answer(1, asks())) == ["awaiting_input"]
    assert await states(call(1), answer(1, asks()), again, answer(2, text("booked", resultType="complete"))) == ["succeeded"]


async def test_a_state_that_is_used_twice_is_another_call() -> None:
    again = {"requestState": "s1", "inputResponses": {"confirm": {"action": "accept"}}}
    rows = [call(1), answer(1, asks()), call(2, **again), answer(2, text("booked")), call(3, **again), answer(3, text("booked"))]

    assert await states(*rows) == ["succeeded", "succeeded"]


async def test_a_question_belongs_to_the_only_open_call_or_to_nobody() -> None:
    question = s2c({"id": 5, "method": "elicitation/create", "params": {"message": "Sure?"}})

    assert await states(call(1), question) == ["awaiting_input"]
    assert await states(call(1), call(2), question) == ["proposed", "proposed"]


async def test_an_answered_question_asks_no_more_and_a_task_asks_where_its_result_is_waited_for() -> None:
    question = s2c({"id": 5, "method": "elicitation/create", "params": {"message": "Sure?"}})
    answered = c2s({"id": 5, "result": {"action": "accept", "content": {}}})
    fetch = c2s({"id": 2, "method": "tasks/result", "params": {"taskId": "t"}})
    task = [call(1), accepted(), status("input_required"), fetch, question]

    assert await states(call(1), question, answered) == ["proposed"]
    assert "waiting-for-person" in codes(await one(*task))
    assert "waiting-for-person" not in codes(await one(*task, answered))


async def test_a_page_that_must_be_visited_first_is_a_question_and_no_failure() -> None:
    assert await states(call(1), error(1, -32042, "please sign in")) == ["awaiting_input"]


# ── progress and tasks ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_progress_is_the_first_sign_of_a_start_and_goes_on_after_a_cancellation_was_sent() -> None:
    tick = s2c({"method": "notifications/progress", "params": {"progressToken": "p", "progress": 0.5, "total": 1}})
    stray = s2c({"method": "notifications/progress", "params": {"progressToken": "q", "progress": 1}})

    assert await states(call(1, _meta={"progressToken": "p"}), tick, cancel(1), tick) == ["streaming"]
    assert await states(call(1, _meta={"progressToken": "p"}), stray) == ["proposed"]


async def test_a_token_that_is_a_number_and_one_that_is_a_text_are_two() -> None:
    tick = s2c({"method": "notifications/progress", "params": {"progressToken": "1", "progress": 1}})

    assert await states(call(1, _meta={"progressToken": 1}), call(2, _meta={"progressToken": "1"}), tick) == ["proposed", "streaming"]


def accepted(key: Any = 1, task: str = "t") -> Message:
    return answer(key, {"resultType": "task", "taskId": task, "status": "working"})


def status(word: str, task: str = "t", **more: Any) -> Message:
    return s2c({"method": "notifications/tasks/status", "params": {"taskId": task, "status": word, **more}})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([status("working")], "queued"),
        ([status("completed")], "queued"),
        ([status("completed", result=text("ready"))], "succeeded"),
        ([status("completed", result=text("it broke", isError=True))], "failed"),
        ([status("failed", statusMessage="quota")], "failed"),
        ([status("failed", statusMessage="The task was cancelled")], "queued"),
        ([status("cancelled")], "cancelled"),
        ([status("resting")], "queued"),
        ([status("completed", result=text("ready")), status("cancelled")], "succeeded"),
        ([status("cancelled"), status("working")], "cancelled"),
    ],
)  # fmt: skip  # one story a line
async def test_a_task_is_queued_until_its_own_end_is_told(rows: list[Message], expected: str) -> None:
    assert await states(call(1), accepted(), *rows) == [expected]


async def test_a_status_may_overtake_the_acceptance_and_a_legacy_result_is_fetched() -> None:
    fetched = [c2s({"id": 2, "method": "tasks/result", "params": {"taskId": "t"}}), answer(2, text("ready"))]
    legacy = answer(1, {"task": {"taskId": "t", "status": "working"}})

    assert await states(call(1), status("cancelled"), accepted()) == ["cancelled"]
    assert await states(call(1), legacy, status("completed"), *fetched) == ["succeeded"]


async def test_a_refused_cancellation_of_a_task_says_nothing_about_it() -> None:
    rows = [c2s({"id": 2, "method": "tasks/cancel", "params": {"taskId": "t"}}), error(2, -32602, "Cannot cancel task in terminal status")]
    document = await one(call(1), accepted(), *rows)

    assert document["state"] == "queued"
    assert len(document["requests"]) == 1
