"""The AI SDK's UI message stream: what each chunk is evidence for, and what it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

CAPTURES = Path(__file__).parents[3] / "spec" / "captures" / "aisdk"
Chunk = dict[str, Any]

START: Chunk = {"type": "start", "messageId": "m"}
STEP: Chunk = {"type": "start-step"}
FINISH: Chunk = {"type": "finish", "finishReason": "stop"}


def available(call: str = "c1", given: Any = None, tool: str = "book") -> Chunk:
    return {"type": "tool-input-available", "toolCallId": call, "toolName": tool, "input": {"q": "x"} if given is None else given}


def begun(call: str = "c1", tool: str = "book") -> Chunk:
    return {"type": "tool-input-start", "toolCallId": call, "toolName": tool}


def output(value: Any, call: str = "c1", **more: Any) -> Chunk:
    return {"type": "tool-output-available", "toolCallId": call, "output": value, **more}


def error(text: str, call: str = "c1") -> Chunk:
    return {"type": "tool-output-error", "toolCallId": call, "errorText": text}


def asked(call: str = "c1", approval: str = "a1", **more: Any) -> Chunk:
    return {"type": "tool-approval-request", "toolCallId": call, "approvalId": approval, **more}


async def read(*chunks: Chunk) -> dict[str, Any]:
    clock = RecordingClock()
    lines = [json.dumps(chunk).encode() for chunk in chunks]
    reader = reader_for("ai-sdk", "capture:a.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="a.jsonl", format_name="ai-sdk")


def states(result: dict[str, Any]) -> list[str | None]:
    return [one["state"] for one in result["invocations"]]


def findings(result: dict[str, Any], place: int = 0) -> set[str]:
    return {finding["code"] for finding in result["invocations"][place]["findings"]}


def kinds(result: dict[str, Any]) -> list[str]:
    return [event["type"].removeprefix("toolcall.") for event in result["events"][1:]]


# ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_input_that_is_there_is_proposed_and_neither_queued_nor_running() -> None:
    result = await read(START, STEP, begun(), available())

    assert states(result) == ["proposed"]
    assert kinds(result) == ["invocation.proposed"]


async def test_the_exact_text_of_the_arguments_is_kept_where_it_says_the_same_as_the_input() -> None:
    text = '{"id":9007199254740993}'
    chunks = [begun(), {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": text}, available(given={"id": 9007199254740993})]

    result = await read(START, STEP, *chunks)

    assert result["invocations"][0]["inputs"]["values"] == {"id": 9007199254740993}


async def test_a_character_that_two_pieces_tore_apart_is_made_whole_again() -> None:
    halves = [{"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": half} for half in ('{"q":"\ud83d', '\ude00"}')]

    result = await read(START, STEP, begun(), *halves, {"type": "abort"})

    assert result["invocations"][0]["inputs"]["values"] == {"q": "\U0001f600"}


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "empty"), ('{"q":"a', "cut"), ("[1]", "not-an-object"), ('{"a":1}{"a":2}', "several-values"), ('{"a":1,"a":2}', "duplicate-key")],
)
async def test_arguments_that_are_no_whole_object_are_kept_and_named(text: str, why: str) -> None:
    delta = {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": text}

    result = await read(START, STEP, begun(), delta, {"type": "abort"})

    assert states(result) == ["proposed"]
    assert [why in one["why"] for one in result["unmapped"]] == [True]


@pytest.mark.parametrize("given", [None, [], "text", 7])
async def test_an_input_of_any_type_is_proposed(given: Any) -> None:
    chunk = {**available(), "input": given}

    assert states(await read(START, STEP, chunk)) == ["proposed"]


async def test_an_input_that_is_declared_to_be_a_text_is_no_doubtful_object() -> None:
    result = await read(START, STEP, {**begun(), "inputEncoding": "text"}, available(given="SELECT 1"), output(1))

    assert states(result) == ["succeeded"]
    assert result["unmapped"] == []


async def test_a_refused_input_is_one_refused_call_though_version_6_says_it_twice() -> None:
    refused = {"type": "tool-input-error", "toolCallId": "c1", "toolName": "book", "input": {}, "errorText": "An error occurred."}

    result = await read(START, STEP, refused, error("An error occurred."))

    assert states(result) == ["awaiting_input"]
    assert kinds(result) == ["invocation.proposed", "inputs.rejected"]


async def test_a_corrected_call_closes_the_refused_one_and_takes_its_place() -> None:
    refused = {"type": "tool-input-error", "toolCallId": "c1", "toolName": "book", "input": {}, "errorText": "no"}

    result = await read(START, STEP, refused, {"type": "finish-step"}, STEP, available("c2"), output(1, "c2"), FINISH)

    assert states(result) == ["cancelled", "succeeded"]
    assert result["invocations"][0]["closure"]["kind"] == "withdrawn"


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, {"error": None}, "2 cancelled flights", {"cancelled": False}, "x" * 9000])
async def test_a_result_of_any_type_is_a_success(value: Any) -> None:
    assert states(await read(START, STEP, available(), output(value))) == ["succeeded"]


@pytest.mark.parametrize(
    "value",
    [
        {"status": "cancelled"}, {"status": "canceled"}, {"state": "failed"}, {"isError": True}, {"cancelled": True}, {"error": "no room"},
        "AbortError: This operation was aborted", "Tool execution was cancelled.", '{"status": "cancelled"}', {"success": False},
    ],
)  # fmt: skip  # values in lines
async def test_a_result_that_owns_up_to_being_none_is_doubted(value: Any) -> None:
    result = await read(START, STEP, available(), output(value))

    assert states(result) == ["proposed"]
    assert "outcome-unknown" in findings(result)


@pytest.mark.parametrize(
    "text",
    ["AbortError: This operation was aborted", "This operation was aborted", "CancelledError", "TimeoutError: The operation was aborted",
     "The operation was aborted due to timeout", "Request was cancelled by the user"],
)  # fmt: skip  # texts in lines
async def test_an_error_that_reads_like_an_abort_is_neither_a_failure_nor_a_cancellation(text: str) -> None:
    result = await read(START, STEP, available(), error(text))

    assert states(result) == ["proposed"]
    assert "outcome-unknown" in findings(result)


async def test_an_error_is_a_failure_and_one_that_the_server_hides_leaves_the_effects_open() -> None:
    told = await read(START, STEP, available(), error("upstream 503"))
    hidden = await read(START, STEP, available(), error("An error occurred."))

    assert (states(told), states(hidden)) == (["failed"], ["failed"])
    assert "reconciliation-required" not in findings(told)
    assert "reconciliation-required" in findings(hidden)


async def test_preliminary_output_shows_a_body_at_work_and_no_end() -> None:
    result = await read(START, STEP, available(), output({"rows": 1}, preliminary=True), output({"rows": 2}, preliminary=True))

    assert states(result) == ["streaming"]
    assert kinds(result) == ["invocation.proposed", "output.emitted", "output.emitted"]


async def test_an_abort_says_that_a_waiter_is_gone_and_a_late_result_still_counts() -> None:
    aborted = [START, STEP, available(), {"type": "abort", "reason": "user"}]

    before, after = await read(*aborted), await read(*aborted, output("late"))

    assert states(before) == ["proposed"]
    assert "waiter-gone" in findings(before)
    assert states(after) == ["succeeded"]


async def test_a_stream_that_ends_says_nothing_about_its_calls() -> None:
    result = await read(START, STEP, available())

    assert findings(result) == set()


async def test_a_result_of_a_call_that_was_not_proposed_here_names_it_and_says_what_is_missing() -> None:
    result = await read(START, output({"ref": 1}))

    assert states(result) == ["succeeded"]
    assert "proposal-not-recorded" in findings(result)
    assert result["invocations"][0]["correlation"][0]["providerCallId"] == "c1"


async def test_a_step_that_is_reset_leaves_its_calls_as_they_were() -> None:
    result = await read(START, STEP, available(), {"type": "reset-step"}, available(), output(1))

    assert states(result) == ["proposed", "succeeded"]
    assert "waiter-gone" in findings(result)


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_approval_request_waits_for_a_person() -> None:
    assert states(await read(START, STEP, available(), asked(), FINISH)) == ["awaiting_approval"]


async def test_a_clients_answer_is_a_decision_that_moves_nothing() -> None:
    granted = {"ui": "respond", "approval": "a1", "approved": True, "actor": "ada"}

    result = await read(START, STEP, available(), asked(), granted)

    assert states(result) == ["awaiting_approval"]
    assert findings(result) == {"approved-not-queued"}
    assert result["invocations"][0]["authorization"]["decidedBy"] == "ada"


async def test_a_second_answer_is_refused_with_who_answered_first() -> None:
    answers = [
        {"ui": "respond", "approval": "a1", "approved": approved, "actor": actor} for approved, actor in ((True, "ada"), (False, "bob"))
    ]

    result = await read(START, STEP, available(), asked(), *answers)

    assert [(event["verdict"], event["reason"].split(" at ")[0]) for event in result["events"][-1:]] == [
        ("refused", "already-answered: granted by ada")
    ]


async def test_a_denial_that_comes_as_an_error_is_a_denial() -> None:
    denied = {"ui": "respond", "approval": "a1", "approved": False, "reason": "too dear", "actor": "ada"}

    result = await read(START, STEP, available(), asked(), denied, error("The call was refused"))
    closure = result["invocations"][0]["closure"]

    assert states(result) == ["cancelled"]
    assert (closure["kind"], closure["initiator"], closure["reason"]) == ("denied", "ada", "too dear")
    assert any("a denial is reported as an error" in one["why"] for one in result["unmapped"])


async def test_an_error_while_an_approval_is_unanswered_is_doubted() -> None:
    result = await read(START, STEP, available(), asked(), error("refused"))

    assert states(result) == ["awaiting_approval"]
    assert "outcome-unknown" in findings(result)


async def test_a_denial_without_a_request_is_reported_and_not_believed() -> None:
    result = await read(START, STEP, available(), {"type": "tool-output-denied", "toolCallId": "c1"})

    assert states(result) == ["proposed"]
    assert len(result["unmapped"]) == 1


async def test_a_later_run_that_takes_the_call_up_shows_that_it_was_approved() -> None:
    result = await read(START, STEP, available(), asked(), FINISH, START, output("R-1"))

    assert states(result) == ["succeeded"]
    assert "ran-without-approval" not in findings(result)
    assert result["invocations"][0]["authorization"]["decidedBy"] == "unrecorded"


async def test_an_approval_that_is_sent_again_shows_a_second_start() -> None:
    once = [START, STEP, available(), asked(), FINISH, START, output("R-1"), FINISH]

    again = await read(*once, START, output("R-1"))

    assert states(again) == ["succeeded"]
    assert findings(again) >= {"duplicate-start"}


async def test_a_result_while_the_approval_is_unanswered_is_a_bypass() -> None:
    result = await read(START, STEP, available(), asked(), output(1))

    assert states(result) == ["succeeded"]
    assert "ran-without-approval" in findings(result)


@pytest.mark.parametrize(
    ("approved", "kind", "state"), [(True, "dispatch.permitted", "succeeded"), (False, "dispatch.refused", "cancelled")]
)
async def test_an_automatic_approval_is_a_policys_decision_and_asks_nobody(approved: bool, kind: str, state: str) -> None:  # noqa: FBT001 -- a parameter of the test
    answer = {"type": "tool-approval-response", "approvalId": "a1", "approved": approved, "reason": "P-7"}
    end = output(1) if approved else {"type": "tool-output-denied", "toolCallId": "c1"}

    result = await read(START, STEP, available(), asked(isAutomatic=True), answer, end)

    assert kind in kinds(result)
    assert "approval.requested" not in kinds(result)
    assert states(result) == [state]


# ── what the package's reducer does wrong ───────────────────────────────────────────────────────────────────────────

RIGHT: dict[str, list[tuple[str, set[str]]]] = {
    "output after error": [("failed", {"conflicting-outcomes"})],
    "error after output": [("succeeded", {"conflicting-outcomes"})],
    "prelim after final": [("succeeded", set())],
    "input-available after output (regression)": [("succeeded", set())],
    "duplicate output": [("succeeded", {"conflicting-outcomes"})],
    "denied after output": [("succeeded", set())],
    "denied without approval": [("proposed", set())],
    "approval request after output": [("succeeded", set())],
    "output while approval pending (never answered)": [("succeeded", {"ran-without-approval"})],
    "output after abort": [("succeeded", set())],
    "abort leaves part": [("proposed", {"waiter-gone"})],
    "output for unknown call": [("succeeded", {"proposal-not-recorded"})],
    "output before input": [("succeeded", set())],
    "same id reused in a new step (retry)": [("failed", set()), ("succeeded", set())],
    "same id reused in same step (retry)": [("failed", set()), ("succeeded", set())],
    "finish without output": [("proposed", {"waiter-gone"})],
    "error chunk leaves part": [("proposed", {"waiter-gone"})],
}
"""What the record must say of each list of chunks that the package's reducer was given, and what must stand in its headline."""


@pytest.mark.parametrize("version", ["v6", "v7"])
async def test_the_record_stays_right_where_the_packages_reducer_does_not(version: str) -> None:
    cases = json.loads((CAPTURES / version / "reducer_cases.json").read_text(encoding="utf-8"))

    actual = {name: await read(*chunks) for name, chunks in cases.items()}

    assert {name: states(result) for name, result in actual.items()} == {
        name: [state for state, _ in expected] for name, expected in RIGHT.items()
    }
    for name, expected in RIGHT.items():
        assert [codes - findings(actual[name], place) for place, (_, codes) in enumerate(expected)] == [set() for _ in expected], name


async def test_a_second_attempt_under_the_same_id_points_back_and_hides_nothing() -> None:
    result = await read(START, STEP, available(), error("boom"), {"type": "finish-step"}, STEP, begun(), available(), output("second"))

    first, second = result["invocations"]
    assert (first["state"], second["state"]) == ("failed", "succeeded")
    assert second["identity"]["attempt"] == 2
    assert second["identity"]["retryOf"] == first["identity"]["invocationId"]


async def test_an_id_that_is_given_twice_in_one_response_is_two_calls() -> None:
    result = await read(START, STEP, begun(), available(), begun(), available(), output(1), output(1))

    assert states(result) == ["succeeded", "succeeded"]


async def test_an_input_that_comes_again_without_a_beginning_is_the_same_call() -> None:
    result = await read(START, STEP, begun(), available(), available(), output(1), available())

    assert states(result) == ["succeeded"]
    assert len(result["unmapped"]) == 2


async def test_an_id_that_is_used_again_after_a_success_is_another_call() -> None:
    result = await read(START, STEP, available(), output(1), {"type": "finish-step"}, STEP, available(given={"q": "y"}), output(2))

    assert states(result) == ["succeeded", "succeeded"]
    assert [one["identity"]["attempt"] for one in result["invocations"]] == [1, 1]


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_unknown_word_is_reported_and_says_nothing() -> None:
    result = await read(
        START, {"type": "tool-output-imagined", "toolCallId": "c1"}, {"type": "data-progress", "data": {"toolCallId": "c1"}}
    )

    assert states(result) == []
    assert [(one["row"], one["word"]) for one in result["unmapped"]] == [(2, "tool-output-imagined")]


@pytest.mark.parametrize("chunk", [{}, {"type": None}, {"type": "tool-output-available"}, {"type": "tool-input-start", "toolCallId": 7}])
async def test_a_chunk_that_makes_no_sense_is_reported(chunk: Chunk) -> None:
    result = await read(START, chunk)

    assert states(result) == []
    assert len(result["unmapped"]) == 1


async def test_keys_that_are_not_known_change_nothing() -> None:
    plain = await read(START, STEP, available(), output(1))
    more = await read(START, STEP, {**available(), "future": {"a": 1}}, {**output(1), "seq": "x", "status": "cancelled"})

    assert states(more) == states(plain)
    assert kinds(more) == kinds(plain)


async def test_half_a_surrogate_pair_is_kept() -> None:
    result = await read(START, STEP, available(given={"q": "\ud83d"}), output("\ud83d"))

    assert states(result) == ["succeeded"]


async def test_a_stop_in_the_client_is_a_request() -> None:
    result = await read(START, STEP, available(), {"src": "driver", "kind": "stop", "event": {}}, output(1))

    assert states(result) == ["succeeded"]
    assert findings(result) >= {"completed-despite-cancel-request"}
