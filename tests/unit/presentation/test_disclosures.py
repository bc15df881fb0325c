"""What is known to be wrong stands in the headline, and everything else is one step away, exactly."""

from typing import Any

import pytest

from tests.unit.presentation.looking import disclosure, ended, facts_of, finding, rows
from tests.unit.presentation.scenarios import COSTLY
from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.core.findings import Code, Finding
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.presentation.cards import invocation_card


def test_several_late_effects_are_counted() -> None:
    scene = ended()
    scene.says("effect.observed", 3, effect="mail sent", at="yesterday")
    scene.says("effect.observed", 4, effect="mail sent again")
    strip = finding(scene.card(), "late-effect")
    assert strip["headline"] == "Mail sent, reported after it failed. And 1 more."
    assert strip["detail"] == "The record stays failed; what happened must be reconciled."


def test_a_boundary_crossed_after_the_end_is_named() -> None:
    scene = ended()
    scene.says("commitment.crossed", 3, boundary="sent")
    assert finding(scene.card(), "late-effect")["headline"] == "A point of no return was passed after its end."


@pytest.mark.parametrize(
    ("kind", "facts", "expected"),
    [
        ("execution.succeeded", {"completed_at": at(9), "result": "x"}, "A success was recorded 3.0 s after it was denied."),
        ("execution.failed", {"category": "c", "detail": "d", "evidence_ref": "e"}, "A failure was recorded 3.0 s after it was denied."),
    ],
)
def test_an_outcome_after_a_denial_is_told_with_its_delay(kind: str, facts: dict[str, str], expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("closure.recorded", 1, kind="denied", initiator="ann", scope="s", reason="r", at=at(1))
    scene.says(kind, 4, **facts)
    assert finding(scene.card(), "late-outcome")["headline"] == expected


def test_an_outcome_after_an_expiry_that_carries_an_earlier_time_claims_no_delay() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59))
    scene.says("execution.succeeded", 30, completed_at=at(30), result="x")
    assert finding(scene.card(), "late-outcome")["headline"] == "A success was recorded after it expired."


def test_a_finding_without_its_evidence_keeps_to_the_general_words() -> None:
    card = Scene().card(policy_findings=[Finding(Code.LATE_OUTCOME, "x", ("ev_gone",)), Finding(Code.APPROVED_NOT_QUEUED, "x")])
    assert finding(card, "late-outcome")["headline"] == "A result arrived after its end."
    assert finding(card, "approved-not-queued")["headline"] == "Approved, and not yet queued."


def test_an_effect_with_an_unreadable_time_after_a_request_claims_no_delay() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    scene.says("effect.observed", 3, effect="mail sent", at="soon")
    assert finding(scene.card(), "effect-after-cancel-request")["headline"] == "Mail sent, reported after its cancellation was requested."


def test_a_thread_is_named_where_no_request_says_it_already() -> None:
    record = InvocationRecord("inv_1", state=State.RUNNING, state_refs=("ev_x",), cancel_support="thread")
    card = invocation_card(record, events=[], now=NOON, policy_findings=[Finding(Code.CANNOT_BE_STOPPED, "x")])
    assert finding(card, "cannot-be-stopped")["headline"] == "It runs in a thread and cannot be stopped."


def test_evidence_that_policy_misses_is_a_finding_with_its_reason() -> None:
    missing = Finding(Code.EVIDENCE_MISSING, "financially-consequential asks for recipient; not recorded!", ("ev_x",))
    strip = finding(Scene().card(policy_findings=[missing]), "evidence-missing")
    assert strip["detail"].endswith("Recorded reason: financially-consequential asks for recipient; not recorded!")


def test_a_result_kept_elsewhere_is_named_and_not_claimed() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result_ref="s3://bucket/x")
    shown = disclosure(scene.card(), "result")
    assert (shown["text"], shown["complete"]) == ("The result is kept by the runtime as s3://bucket/x.", False)


def test_a_result_whose_bytes_are_gone_says_so() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    result = scene.value("1")
    scene.says("execution.succeeded", 2, completed_at=at(2), result=result)
    del scene.values[result["ref"]]
    assert disclosure(scene.card(), "result")["note"] == f"Not on this card; kept in the record as value {result['ref']}."


def test_a_plain_result_is_shown_as_it_is() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result="two flights")
    assert disclosure(scene.card(), "result")["text"] == "two flights"


def test_a_success_without_a_result_field_shows_none() -> None:
    record = InvocationRecord("inv_1", state=State.SUCCEEDED, state_refs=("ev_x",))
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.succeeded", 2, completed_at=at(2), result="x")
    record.outcome = type(scene.record.outcome)({"completed_at": at(2)}, "ev_x", at(2))
    assert [d["id"] for d in invocation_card(record, events=[], now=NOON)["disclosures"]] == ["ids"]


def test_a_result_that_does_not_fit_is_kept_and_shown() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("result.rejected", 2, problems=["total: not a number"], result=scene.value('{"total":"x"}'))
    scene.says("execution.failed", 3, category="invalid-result", detail="it does not fit", evidence_ref="e")
    assert disclosure(scene.card(), "result-rejected")["text"] == '{"total":"x"}'


@pytest.mark.parametrize(("retryable", "expected"), [(True, "yes"), (False, "no"), ("no", "no")])
def test_a_failure_says_what_the_tool_says_of_itself(retryable: object, expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.failed", 2, category="c", detail="d", evidence_ref="e", retryable=retryable, effects="excluded")
    assert rows(scene.card(), "error") == [
        ("category", "c"), ("detail", "d"), ("evidence", "e"), ("retryable", f"{expected}, says the tool"), ("effects", "excluded"),
    ]  # fmt: skip  # one list


def test_a_failure_that_says_nothing_more_has_no_more_rows() -> None:
    assert rows(ended().card(), "error") == [("category", "c"), ("detail", "d"), ("evidence", "e")]


def test_a_summary_kept_as_a_value_is_read_whatever_it_is() -> None:
    for raw, expected in (("not json", "not json"), ('"two flights"', "two flights"), ('{"n":1}', '{"n": 1}')):
        scene = Scene()
        scene.proposed(0)
        scene.started(1)
        scene.says("execution.succeeded", 2, completed_at=at(2), result="x", summary=scene.value(raw))
        assert disclosure(scene.card(), "result")["title"] == f"Result ({expected})"
    scene.values.clear()
    assert "kept in the record" in disclosure(scene.card(), "result")["title"]


def test_inputs_refused_without_a_list_of_what_is_missing_say_why() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("inputs.rejected", 1, validation=["too long", "too old"], collector="person")
    assert facts_of(scene.card()) == {"Refused because": "too long, too old"}


def test_an_approval_that_put_nothing_in_view_has_nothing_to_repeat() -> None:
    scene = Scene()
    scene.proposed(0, inputs="{}")
    scene.asked(1, facts=None)
    scene.says("deadline.elapsed", 400, deadline="approval", declared_at=at(380), approval_id="apr_1")
    assert scene.card()["facts"] == []


def test_inputs_that_changed_are_all_there() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"a":1}')
    scene.says("inputs.accepted", 1, inputs_digest="d", checked_by="types", inputs=scene.value('{"a":2}'))
    scene.says("execution.started", 2, attempt=1, executor="e", inputs=scene.value('{"a":3}'))
    card = scene.card()
    texts = [disclosure(card, name)["text"] for name in ("inputs-exact", "inputs-executed", "inputs-1")]
    assert texts == ['{"a":2}', '{"a":3}', '{"a":1}']
    scene.values.clear()
    assert disclosure(scene.card(), "inputs-executed")["complete"] is False


def test_a_name_that_stands_twice_in_the_inputs_is_shown_twice() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"a":1,"a":2}')
    assert rows(scene.card(), "inputs") == [("a", "1 · unrecorded"), ("a", "2 · unrecorded")]


def test_provenance_is_what_was_declared_and_no_more() -> None:
    provenance = [
        "nonsense", {"field": "a", "source": "user", "actor": "ann"}, {"field": "b", "source": "user"},
        {"field": "c", "source": "unrecorded"},
        {"field": "d", "source": "account-record"}, {"field": "e"},
    ]  # fmt: skip  # one list
    scene = Scene()
    scene.proposed(0, inputs='{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}', provenance=provenance)
    texts = [text.split(" · ")[1] for _, text in rows(scene.card(viewer="ann"), "inputs")]
    assert texts == ["from you", "from a person", "unrecorded", "from account record", "unrecorded", "unrecorded"]


def test_reconciled_effects_say_what_was_found_by_whom() -> None:
    scene = ended()
    scene.says("effect.observed", 3, effect="mail sent")
    scene.says("effects.reconciled", 4, conclusion="no-effect", by="ann", detail="looked it up", reference="r-1")
    scene.says("effects.reconciled", 5, conclusion="reversed", by="ann")
    card = scene.card()
    assert [text for term, text in rows(card, "effects") if term == "reconciled"] == [
        "It did not happen, recorded ⟦2026-11-30T12:00:04.000Z⟧ by ann: looked it up, reference r-1",
        "It happened and was undone, recorded ⟦2026-11-30T12:00:05.000Z⟧ by ann",
    ]  # fmt: skip  # one list
    assert card["findings"] == []


def test_policy_answers_are_told_with_rule_and_reason() -> None:
    scene = Scene()
    scene.proposed(0, **COSTLY)
    scene.asked(1, rule=None)
    scene.says("approval.denied", 2, actor="ann", approval_id="apr_1", reason="no")
    card = scene.card()
    assert ("answered", "denied ⟦2026-11-30T12:00:02.000Z⟧ by ann: no") in rows(card, "policy")
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.refused", 1, rule="budget", reason="spent")
    assert rows(scene.card(), "policy") == [("not permitted", "by rule budget: spent")]


def test_raw_ids_are_one_step_away() -> None:
    scene = Scene()
    scene.proposed(0, correlation=[{"providerCallId": "call_1"}])
    assert ("correlation", '{"providerCallId": "call_1"}') in rows(scene.card(), "ids")


def test_output_joins_texts_sets_other_values_on_lines_and_says_what_is_missing() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    gone = scene.value('"gone"')
    given = [scene.value('"a"'), scene.value('"b"'), scene.value('{"n": 1}'), scene.value("raw"), "plain", {"k": 1}, gone, None]
    for order, chunk in enumerate(given, start=1):
        scene.says("output.emitted", 2, order=order, output=chunk)
    del scene.values[gone["ref"]]
    output = scene.card()["output"]
    assert output["text"] == 'ab{"n": 1}\nraw\nplain{"k": 1}\n'
    assert (output["chunks"], output["complete"], output["note"]) == (8, False, "1 earlier or unread part of 8 not on this card.")


def test_very_long_output_shows_its_end() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("output.emitted", 2, order=1, output="x" * 70_000 + "end")
    scene.says("execution.failed", 3, category="c", detail="d", evidence_ref="e")
    shown = disclosure(scene.card(), "output")
    assert shown["text"].endswith("end")
    assert (len(shown["text"]), shown["note"]) == (65_536, "The last 65536 of 70003 characters.")
    assert scene.card()["output"] is None


def test_whole_output_can_be_copied() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("output.emitted", 2, order=1, output="all")
    scene.says("execution.succeeded", 3, completed_at=at(3), result="x")
    assert disclosure(scene.card(), "output")["copy"] == "all"


def test_output_from_after_the_end_is_said_to_be() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59))
    scene.says("output.emitted", 61, order=1, output="late words")
    assert disclosure(scene.card(), "output")["note"] == "Some of it came after the end."


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"text": "halfway", "percent": 50}, ("halfway", 50)), ({"current": 3, "total": 9}, ("3 of 9", None)), ({"percent": 7}, ("7 %", 7)),
        ({"current": 3}, ("", None)),
    ],
)  # fmt: skip  # a table
def test_progress_is_what_the_tool_said(facts: dict[str, Any], expected: tuple[str, int | None]) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("progress.reported", 2, order=1, **facts)
    progress = scene.card()["progress"]
    assert (progress["text"], progress["percent"]) == expected


def test_progress_is_over_when_the_attempt_is() -> None:
    scene = ended()
    assert scene.card()["progress"] is None
