"""What a model is told of a call: whatever happened is in it, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import ToolResultBlockParam
from langchain_core.messages import ToolMessage, convert_to_messages
from openai.types.chat import ChatCompletionToolMessageParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ToolReturnPart

from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.presentation.reading import Reading
from toolwitness.presentation.turn_formats import FORMATS, MARKS, Closing, Told
from toolwitness.presentation.turns import closings, slots_of


def call(invocation_id: str = "inv_1", provider_id: str = "call_1", *, values: dict[str, bytes] | None = None, **proposal: Any) -> Scene:
    """A call that the model made, with the provider's id."""
    scene = Scene(invocation_id, values=values)
    rows = [{"source": "provider", "provider_call_id": provider_id}] if provider_id else []
    scene.proposed(0, **{"consequences": ["externally-visible"], "correlation": rows, **proposal})
    return scene


def closed(*scenes: Scene, only: list[str] | None = None, redact: tuple[str, ...] = (), **more: Any) -> list[Closing]:
    """What the model is told of the calls of one task."""
    readings = {s.record.id: Reading(record=s.record, events=s.recorded, now=NOON, values=s.values, redact=redact) for s in scenes}
    return closings(readings, now=NOON, only=only, **more)


def text(*scenes: Scene, **more: Any) -> str:
    [closing] = closed(*scenes, **more)
    return closing.text


def succeeded(result: str = '{"n":9223372036854775807123,"x":1.10}') -> Scene:
    scene = call()
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result=scene.value(result))
    return scene


def failed(scene: Scene | None = None, **more: Any) -> Scene:
    scene = scene or call()
    scene.started(1)
    scene.says(
        "execution.failed", 3, category="upstream-unavailable", detail="the hotel service did not answer", evidence_ref="raised:HTTPError",
        exception=scene.value('{"text":"503 for user hunter2"}'), **more,
    )  # fmt: skip  # facts in lines
    return scene


def inputs_refused() -> Scene:
    scene = call()
    fields = [{"name": "seat", "kind": "missing", "message": "a seat is needed"}]
    scene.says("inputs.rejected", 2, unresolved=["seat"], collector="model", validation="seat: missing", fields=fields)
    return scene


def closure(kind: str, **more: Any) -> Callable[[], Scene]:
    def made() -> Scene:
        scene = call()
        said = {"kind": kind, "initiator": "ann", "scope": "this invocation", "reason": "too expensive", "at": at(30), **more}
        if kind == "denied":
            scene.asked(20)
            scene.says("approval.denied", 30, actor="ann", approval_id="apr_1", reason="too expensive")
            said["approval_id"] = "apr_1"
        if kind == "answered-by-human":
            scene.says("input.required", 10, unresolved=["answer"], collector="person")
            scene.says("input.supplied", 29, actor="ann", inputs=scene.value('{"seat":"12A"}'))
        scene.says("closure.recorded", 30, **said)
        return scene

    return made


def cancelled(*, late: str = "") -> Scene:
    scene = call()
    scene.started(1, executor="worker w-1")
    for order, chunk in enumerate(['"first "', '"second"']):
        scene.says("output.emitted", 2 + order, order=order, output=scene.value(chunk))
    scene.says("cancellation.requested", 11, actor="ann", scope="this invocation")
    scene.says(
        "cancellation.acknowledged",
        12,
        termination="confirmed",
        initiator="ann",
        scope="this invocation",
        reason="no longer needed",
        at=at(12),
    )
    if late:
        scene.says("effect.observed", 12.2, effect=late, amount="50.00", currency="EUR", provider_reference="ch_81", recipient="Hotel Sol")
    return scene


def expired() -> Scene:
    scene = call()
    scene.asked(20)
    scene.says("deadline.elapsed", 381, deadline="approval", declared_at=at(380), approval_id="apr_1", judged_at=at(381))
    return scene


def unknown() -> Scene:
    scene = call()
    scene.started(1)
    scene.says("output.emitted", 2, order=0, output=scene.value('"half"'))
    scene.says("execution.lost", 9, reason="the worker has not spoken since its lease ran out", lease="8c1")
    return scene


def found_out() -> Scene:
    scene = unknown()
    scene.says("effects.reconciled", 50, conclusion="effect stands", by="ann", reference="ch_81", detail="the bank shows one payment")
    return scene


def running() -> Scene:
    scene = call()
    scene.started(1)
    scene.says("progress.reported", 2, order=1, text="41 of about 120 connections read", percent=34)
    scene.says("part.completed", 3, part="photos", open=["mail"], outcome="copied 12 files")
    return scene


def queued() -> Scene:
    scene = call()
    scene.says("dispatch.permitted", 1, rule="no-approval-needed", policy_version="pol_1")
    scene.says("dispatch.claimed", 2, permit="prm_1", attempt=1)
    scene.says("dispatch.accepted", 3, queue_ref="local:1")
    return scene


def asked() -> Scene:
    scene = call()
    scene.asked(20)
    return scene


def approved() -> Scene:
    scene = asked()
    scene.says("approval.granted", 30, actor="ann", approval_id="apr_1", inputs_digest="sha256:00")
    return scene


def awaiting_input() -> Scene:
    scene = call()
    scene.says("input.required", 2, unresolved=["seat", "bags"], collector="person")
    return scene


NOT_AGAIN = "Do not make this call again"
SAID: dict[Told, tuple[Callable[[], Scene], list[str]]] = {
    Told.SUCCEEDED: (succeeded, ['{"n":9223372036854775807123,"x":1.10}']),
    Told.FAILED: (
        failed, ["failed (upstream-unavailable): the hotel service did not answer.", "Its outcome in the world is unknown"],
    ),
    Told.INPUTS_REFUSED: (inputs_refused, ["seat: a seat is needed.", "did not run", "Make the call anew"]),
    Told.DENIED: (
        closure("denied"),
        ["This call was denied by ann at 2026-11-30T12:00:30.000Z. Reason: too expensive.", "no malfunction", "It did not run."],
    ),
    Told.DISMISSED: (closure("dismissed"), ["dismissed by ann", "Reason: too expensive.", "It did not run."]),
    Told.WITHDRAWN: (closure("withdrawn"), ["withdrawn by ann", "Reason: too expensive.", "It did not run."]),
    Told.ANSWERED: (
        closure("answered-by-human"), ["answered in the tool's place by ann", "did not run.", 'The answer:\n\n{"seat":"12A"}'],
    ),
    Told.CANCELLED: (
        cancelled,
        [
            "cancelled at 2026-11-30T12:00:12.000Z at the request of ann; its executor confirms that it ended. Reason: no longer needed.",
            "It gave 2 parts of output and no result; the output is partial.\n\nfirst second",
            "Its outcome in the world is unknown",
        ],
    ),
    Told.EXPIRED: (
        expired, ["the request for approval lapsed at 2026-11-30T12:06:20.000Z, by the server's clock.", "It did not run."],
    ),
    Told.UNKNOWN: (unknown, ["How it ended is not known.", NOT_AGAIN, "the worker has not spoken since its lease ran out", "\n\nhalf"]),
    Told.FOUND_OUT: (
        found_out, ["ann found out at 2026-11-30T12:00:50.000Z: effect stands (reference ch_81): the bank shows one payment."],
    ),
    Told.RUNNING: (
        running,
        ["still running: started at 2026-11-30T12:00:01.000Z", NOT_AGAIN, "photos (copied 12 files). Still open: mail.", "41 of about 120"],
    ),
    Told.QUEUED: (queued, ["accepted and has not been seen to start", NOT_AGAIN]),
    Told.APPROVED: (approved, ["approved by ann", "nothing has accepted it yet", NOT_AGAIN]),
    Told.AWAITING_APPROVAL: (asked, ["waits for an approval (role:finance)", NOT_AGAIN]),
    Told.AWAITING_INPUT: (awaiting_input, ["waits for seat and bags, which a person supplies", NOT_AGAIN]),
    Told.PROPOSED: (call, ["proposed and has not been handed on", NOT_AGAIN]),
    Told.UNRECORDED: (lambda: Scene("inv_1"), ["Nothing is recorded of this call"]),
}  # fmt: skip  # a table


def test_every_thing_that_can_be_told_has_its_marks_and_its_story_here() -> None:
    assert set(SAID) == set(MARKS) == set(Told)


@pytest.mark.parametrize("told", Told)
def test_a_call_is_told_as_what_it_is(told: Told) -> None:
    scene, expected = SAID[told]
    [closing] = closed(scene())
    assert closing.told is told
    assert [phrase for phrase in expected if phrase not in closing.text] == [], closing.text
    assert "⟦" not in closing.text


def strict(typed: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(typed))


@pytest.mark.parametrize("told", Told)
def test_what_is_told_is_what_each_sdk_takes(told: Told) -> None:
    [closing] = told_closings = closed(SAID[told][0]())
    marks = MARKS[told]

    [chat] = FORMATS["openai"](told_closings)
    assert strict(ChatCompletionToolMessageParam).validate_python(chat) == chat

    [item] = FORMATS["openai-responses"](told_closings)
    assert strict(FunctionCallOutput).validate_python(item) == item

    [message] = FORMATS["anthropic"](told_closings)
    [block] = message["content"]
    assert (message["role"], strict(ToolResultBlockParam).validate_python(block)) == ("user", block)
    assert block.get("is_error") is (True if marks.is_error == "yes" else None)

    [request] = ModelMessagesTypeAdapter.validate_python(FORMATS["pydantic-ai"](told_closings))
    assert isinstance(request, ModelRequest)
    [part] = request.parts
    assert isinstance(part, ToolReturnPart)
    assert (part.outcome, part.content, part.tool_call_id) == (marks.outcome, closing.text, closing.call_id)

    for taken in (convert_to_messages(FORMATS["langchain"](told_closings)), [ToolMessage(**FORMATS["langchain"](told_closings)[0])]):
        assert isinstance(taken[0], ToolMessage)
        assert (taken[0].status, taken[0].content, taken[0].tool_call_id) == (marks.status, closing.text, closing.call_id)


def test_only_a_breakage_is_marked_as_one_and_only_an_answer_as_a_success() -> None:
    assert {told for told, marks in MARKS.items() if marks.is_error == "yes"} == {Told.FAILED, Told.INPUTS_REFUSED}
    for name in ("outcome", "status"):
        assert {told for told, marks in MARKS.items() if getattr(marks, name) == "success"} == {Told.SUCCEEDED, Told.ANSWERED}
    assert {told for told, marks in MARKS.items() if marks.outcome == "denied"} == {Told.DENIED}


def test_without_calls_there_is_no_message_at_all() -> None:
    assert [shape([]) for shape in FORMATS.values()] == [[]] * len(FORMATS)


@pytest.mark.parametrize("result", ['{"a": 0.1000000000000000055 }', "null", '"\\ud83d"', "not JSON", "[1,2]"])
def test_a_result_is_told_byte_for_byte(result: str) -> None:
    assert text(succeeded(result)) == result


def test_a_result_that_is_empty_kept_elsewhere_or_erased_is_said_to_be() -> None:
    assert text(succeeded("")) == "(It succeeded; its result is an empty text.)"
    elsewhere = call()
    elsewhere.says("execution.succeeded", 2, completed_at=at(2), result_ref="s3://x")
    assert "keeps the result as s3://x" in text(elsewhere)
    erased = succeeded()
    ref = erased.record.outcome.data["result"]["ref"]
    del erased.values[ref]
    assert text(erased) == "(The recorded value cannot be read here.)"
    erased.says("value.erased", 9, value_ref=ref, by="ann", reason="asked to")
    assert text(erased) == "(The recorded value was erased 2026-11-30T12:00:09.000Z by ann: asked to.)"


def test_the_text_of_an_exception_is_never_told() -> None:
    assert "hunter2" not in text(failed())


def test_an_effect_after_the_end_is_told_with_its_reference_and_the_state_stays() -> None:
    [closing] = closed(cancelled(late="Deposit charged"))
    assert closing.told is Told.CANCELLED
    assert "Recorded effect: Deposit charged: € 50.00, at 2026-11-30T12:00:12.200Z, after the end of the call" in closing.text
    assert "provider reference ch_81" in closing.text
    assert "The record stays cancelled" in closing.text
    assert "Its outcome in the world is unknown until somebody has found it out" in closing.text


def test_a_result_that_needs_more_said_keeps_its_text_and_gets_the_rest_in_brackets() -> None:
    scene = call()
    scene.started(1)
    scene.says("cancellation.requested", 2, actor="ann", scope="this invocation")
    scene.says("execution.succeeded", 3, completed_at=at(3), result=scene.value('{"ok":true}'))
    told = text(scene)
    assert told.startswith('{"ok":true}\n\n[It succeeded although its cancellation was requested.')
    assert told.endswith("]")


def test_a_request_to_cancel_that_nobody_confirmed_is_told_as_a_request() -> None:
    scene = running()
    scene.says("cancellation.requested", 5, actor="ann", scope="this invocation")
    told = text(scene)
    assert "Its cancellation was requested by ann at 2026-11-30T12:00:05.000Z; nothing has confirmed it." in told
    assert told.startswith("This call is still running")


def test_a_call_that_was_reconciled_and_then_seen_at_work_is_running() -> None:
    scene = found_out()
    scene.says("progress.reported", 60, order=2, text="going on", lease="8c1")
    [closing] = closed(scene)
    assert closing.told is Told.RUNNING
    assert "effect stands" in closing.text


def test_what_policy_does_not_let_start_is_told_with_its_reason() -> None:
    scene = call()
    scene.says("dispatch.refused", 2, rule="budget", reason="the budget of this task is spent")
    assert "Policy does not let it start: the budget of this task is spent." in text(scene)


def test_of_very_much_output_the_latest_is_told_and_how_much_there_is() -> None:
    scene = call()
    scene.started(1)
    for order in range(300):
        scene.says("output.emitted", 2 + order, order=order, output=scene.value(f'{{"line":{order}}}'))
    told = text(scene)
    assert "It gave 300 parts of output and no result, of which the last 256 stand here; the output is partial." in told
    assert told.endswith('{"line":298}\n{"line":299}\n')
    assert '{"line":43}' not in told


def test_a_point_of_no_return_that_was_passed_is_told() -> None:
    scene = running()
    scene.says("commitment.crossed", 4, boundary="the provider accepted the purchase")
    assert "It passed its point of no return at 2026-11-30T12:00:04.000Z: the provider accepted the purchase." in text(scene)


def test_inputs_that_a_person_changed_are_told_without_what_policy_hides() -> None:
    scene = call(inputs='{"total":"9","card":"4410-1111"}')
    scene.says("inputs.edited", 5, actor="ann", inputs=scene.value('{"total":"8","card":"4410-2222"}'))
    scene.says(
        "inputs.accepted", 6, inputs_digest="sha256:01", checked_by="toolwitness", inputs=scene.value('{"total":"8","card":"4410-2222"}')
    )
    scene.started(7)
    scene.says("execution.succeeded", 8, completed_at=at(8), result=scene.value('{"charged":"4410-2222","was":"4410-1111"}'))
    told = text(scene, redact=("/card",))
    assert "Its inputs are not the proposed ones, as ann changed them:" in told
    assert '"total": "8"' in told
    assert "4410" not in told
    assert told.startswith('{"charged":"(not shown, by policy)","was":"(not shown, by policy)"}')


def test_what_policy_hides_is_hidden_in_every_spelling_and_in_other_calls_too() -> None:
    values: dict[str, bytes] = {}
    one = call(values=values, inputs='{"pin":4411,"who":{"name":"Zoë \\"Z\\""}}')
    other = call("inv_2", "call_2", values=values)
    other.started(1)
    other.says("execution.succeeded", 2, completed_at=at(2), result=other.value('["Zo\\u00eb \\"Z\\"","Zoë \\"Z\\"",4411]'))
    assert closed(one, other, redact=("/pin", "/who"))[1].text.count("(not shown, by policy)") == 3


# ── which call is which ─────────────────────────────────────────────────────────────────────────────────────────────


def two_attempts() -> tuple[Scene, Scene]:
    values: dict[str, bytes] = {}
    first = failed(call(values=values))
    second = Scene("inv_2", values=values)
    second.record.attempt = 2
    second.proposed(10, retry_of="inv_1")
    first.says("retry.requested", 9, actor="ann", new_invocation="inv_2")
    second.started(11)
    second.says("execution.succeeded", 12, completed_at=at(12), result=second.value('{"ok":true}'))
    return first, second


def test_attempts_that_people_made_answer_the_one_call_with_the_latest_truth() -> None:
    [closing] = closed(*two_attempts())
    assert (closing.call_id, closing.told, closing.about["invocationId"]) == ("call_1", Told.SUCCEEDED, "inv_2")
    assert closing.text.startswith('{"ok":true}\n\n[This is attempt 2 of the call. Attempt 1: It failed (upstream-unavailable): the hotel')


def test_a_call_that_the_model_made_again_is_a_call_of_its_own() -> None:
    values: dict[str, bytes] = {}
    first, again = failed(call(values=values)), call("inv_2", "call_2", values=values, retry_of="inv_1", tool="book_elsewhere")
    one, two = closed(first, again)
    assert (one.call_id, one.told, two.call_id, two.told) == ("call_1", Told.FAILED, "call_2", Told.PROPOSED)
    assert "It was made again as call call_2 of book_elsewhere." in one.text


def test_one_id_that_a_provider_used_again_is_answered_by_its_latest_occurrence_or_each_in_its_order() -> None:
    first, second = succeeded('"one"'), call("inv_2", "call_1")
    assert [closing.text[:5] for closing in closed(first, second)] == ['"one"', "This "]
    assert text(first, second, only=["call_1"]).startswith("This call is proposed")
    assert [closing.text[:5] for closing in closed(first, second, only=["call_1", "call_1"])] == ['"one"', "This "]
    assert text(first, second, only=["inv_1"]) == '"one"'
    more = closed(first, second, only=["call_1", "call_1", "call_1"])
    assert [closing.told for closing in more] == [Told.SUCCEEDED, Told.PROPOSED, Told.UNRECORDED]


def test_an_occurrence_that_is_recorded_decides_the_order_and_what_belongs_together() -> None:
    rows = [{"source": "pydantic-ai", "provider_call_id": "c", "occurrence": number} for number in (1, 2)]
    second = call("inv_2", correlation=[rows[1]])
    first = call("inv_1", correlation=[rows[0]])
    again = call("inv_3", correlation=[rows[0]], retry_of="inv_1")
    assert [slot.occurrence for slot in slots_of({s.record.id: s.record for s in (second, first, again)})] == [2, 1]
    assert [c.about["invocationId"] for c in closed(second, first, again, only=["c", "c"])] == ["inv_3", "inv_2"]


def test_calls_without_a_providers_id_are_told_under_ours_and_parts_of_other_calls_are_not_calls_of_the_model() -> None:
    outer = call(provider_id="")
    inner, undone = call("inv_2", "", parent="inv_1", tool="charge"), call("inv_3", "", reverses="inv_1", tool="refund")
    [closing] = closed(outer, failed(inner), undone)
    assert closing.call_id == "inv_1"
    assert "It called charge itself: It failed (upstream-unavailable)" in closing.text
    assert "It was to be undone by refund: It is proposed and has not been handed on." in closing.text
    with_ids = closed(call("inv_4", "call_4"), outer)
    assert [closing.call_id for closing in with_ids] == ["call_4"]


def test_a_call_says_what_it_waits_for_and_what_took_its_place() -> None:
    waiting = text(call(), blocked={"inv_1": ("inv_0", "inv_9")})
    assert "It waits for inv_0 and inv_9." in waiting
    values: dict[str, bytes] = {}
    refused = call(values=values)
    said = {"kind": "withdrawn", "initiator": "proposer", "scope": "this invocation", "reason": "corrected", "at": at(3)}
    refused.says("closure.recorded", 3, **said, replaced_by="inv_2")
    one, _ = closed(refused, call("inv_2", "call_2", values=values, replaces="inv_1"))
    assert "It was made again as call call_2 of book_itinerary." in one.text
    assert "In its place stands inv_2, of which nothing is recorded here." in text(refused)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (failed, "This call failed."),
        (closure("dismissed"), "This call was cancelled."),
        (cancelled, "This call was cancelled."),
        (expired, "This call expired: the request for approval lapsed."),
    ],
)
def test_an_end_whose_particulars_cannot_be_read_is_told_in_bare_words(made: Callable[[], Scene], expected: str) -> None:
    scene = made()
    scene.record.outcome = scene.record.closure = None
    scene.recorded.clear()
    assert text(scene).startswith(expected)


def test_a_part_that_succeeded_is_told_beside_the_call_that_failed() -> None:
    values: dict[str, bytes] = {}
    outer = failed(call(values=values))
    inner = call("inv_2", "", values=values, parent="inv_1", tool="charge")
    inner.says("execution.succeeded", 2, completed_at=at(2), result=inner.value('"ch_1"'))
    assert "It called charge itself: It succeeded at 2026-11-30T12:00:02.000Z." in closed(outer, inner)[0].text


def test_output_that_stands_in_the_event_itself_is_told_as_it_stands() -> None:
    scene = call()
    scene.started(1)
    scene.says("output.emitted", 2, order=0, output="one ")
    scene.says("output.emitted", 3, order=1, output={"two": 2})
    assert text(scene).endswith('one {"two": 2}\n')


def test_a_result_that_stands_in_the_event_itself_is_told_as_it_stands() -> None:
    scene = call()
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result={"n": 1})
    assert text(scene) == '{"n": 1}'


def test_a_hidden_text_of_two_letters_hides_nothing_else() -> None:
    scene = call(inputs='{"country":"NO"}')
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result=scene.value('"NOTHING"'))
    assert text(scene, redact=("/country",)) == '"NOTHING"'


def test_a_row_of_correlation_without_a_providers_id_is_passed_over() -> None:
    rows = [{"source": "x", "run_id": "r1"}, {"source": "provider", "provider_call_id": "call_7"}]
    assert closed(call(correlation=rows))[0].call_id == "call_7"


def test_foreign_words_cannot_hide_in_a_sentence_of_ours() -> None:
    scene = closure("denied", reason="no\u202eyes")()
    assert "⟨U+202E⟩" in text(scene)
