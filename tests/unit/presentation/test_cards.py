"""What a card says in the situations between the main ones: the exact words, and what is not said."""

from typing import Any

import pytest

from tests.unit.presentation.scenarios import BOOKING, COSTLY
from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.core.findings import Code, Finding
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.verdicts import Control
from toolwitness.presentation.cards import invocation_card


def disclosure(card: dict[str, Any], name: str) -> dict[str, Any]:
    return next(d for d in card["disclosures"] if d["id"] == name)


def rows(card: dict[str, Any], name: str) -> list[tuple[str, str]]:
    return [(row["term"], row["text"]) for row in disclosure(card, name)["rows"]]


def said(card: dict[str, Any], part: str) -> list[str]:
    return [entry["text"] for entry in card[part]]


def finding(card: dict[str, Any], code: str) -> dict[str, Any]:
    return next(f for f in card["findings"] if f["code"] == code)


@pytest.mark.parametrize("state", [*State, None])
def test_a_record_of_which_only_the_state_is_known_is_drawn_and_claims_nothing_more(state: State | None) -> None:
    record = InvocationRecord("inv_bare", state=state, state_refs=("ev_gone",))
    card = invocation_card(record, events=[], now=NOON)
    assert card["state"] == (state or "")
    assert card["glyph"] == (state or "unknown")
    assert said(card, "facts") == []
    assert card["requests"] == card["findings"] == card["lineage"] == card["blocked"] == []
    assert card["timeline"] == {"title": "Evidence (nothing recorded)", "rows": []}


# ── meta ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_queued_call_says_since_when_and_as_what() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 2, queue_ref="local:7", accepted_at=at(1.5))
    assert said(scene.card(), "meta") == ["queued ⟦2026-11-30T12:00:01.500Z⟧ as local:7"]


def test_a_queued_call_without_a_reference_claims_none() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 2, accepted_at=at(1.5))
    assert said(scene.card(), "meta") == ["queued ⟦2026-11-30T12:00:01.500Z⟧"]


def test_a_clock_may_run_only_while_the_body_is_believed_to_run() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    assert scene.card()["meta"][0]["since"] == "2026-11-30T12:00:01.000Z"
    scene.says("execution.lost", 9, reason="lease ran out")
    assert "since" not in scene.card()["meta"][0]


def test_a_lease_shows_that_somebody_holds_the_call_and_not_that_it_started() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("execution.heartbeat", 2, attempt=1, lease="l9")
    card = scene.card()
    assert (card["state"], said(card, "meta")) == ("running", ["held under lease l9"])


def test_the_model_that_is_asked_for_input_is_named() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("input.required", 1, unresolved=["seat"], collector="model", prompt="Which seat?")
    card = scene.card()
    assert said(card, "meta") == ["asked ⟦2026-11-30T12:00:01.000Z⟧; the model supplies the input"]
    facts = [(f["term"], f["text"], f["prominent"]) for f in card["facts"]]
    assert facts == [("What is asked", "Which seat?", True), ("Still needed", "seat", False)]


def test_nothing_named_as_open_is_said_so() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("part.completed", 2, part="a", open=["b"])
    scene.says("part.completed", 3, part="b", open=[])
    assert said(scene.card(), "meta")[1] == "2 parts complete; still open: nothing named"


def test_a_success_before_its_start_has_no_duration() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(5)
    scene.says("execution.succeeded", 6, completed_at=at(4), result="x")
    assert said(scene.card(), "meta") == ["succeeded ⟦2026-11-30T12:00:04.000Z⟧"]


def test_a_termination_that_nobody_requested_is_not_called_a_request() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, executor="task", cancel_support="task")
    scene.says("cancellation.acknowledged", 2, termination="unwound", initiator="caller", scope="s", reason="waiter left", at=at(2))
    assert said(scene.card(), "meta")[0] == "stopped ⟦2026-11-30T12:00:02.000Z⟧ by its caller, seen to end by its executor"


def test_an_answer_by_nobody_on_record_names_nobody() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("closure.recorded", 1, kind="answered-by-human", initiator="unrecorded", scope="s", reason="phone", at=at(1))
    assert said(scene.card(), "meta")[0] == "answered by a person in the tool's place ⟦2026-11-30T12:00:01.000Z⟧"


def test_an_expiry_names_whose_clock_it_was() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59), _owner="runtime")
    card = scene.card()
    assert said(card, "meta")[0] == "the time for a result lapsed ⟦2026-11-30T12:00:59.000Z⟧, by the runtime's clock"
    assert finding(card, "result-deadline-passed")["detail"] == "It may still run; what it did must be reconciled."


def test_a_foreign_class_is_shown_as_the_word_it_is() -> None:
    scene = Scene()
    scene.proposed(0, consequences=["read-only", "levitating"])
    assert said(scene.card(), "meta")[1] == "reads only, levitating"
    assert ("levitating", "not a class that is known here") in rows(scene.card(), "policy")


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_queued_call_that_is_asked_to_stop_is_still_queued() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 1, queue_ref="q")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    request = scene.card(viewer="ann")["requests"][0]
    assert (request["text"], request["by"]) == ("Cancellation requested. Still queued until its scheduler confirms.", "you")
    assert request["at"] == "2026-11-30T12:00:02.000Z"


def test_an_approved_call_that_is_asked_to_stop_is_still_where_it_was() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    scene.says("cancellation.requested", 2, actor="unrecorded", scope="s")
    request = scene.card()["requests"][0]
    assert request["text"] == "Cancellation requested. Still awaiting approval until whoever has the call confirms."
    assert request["by"] == "somebody unrecorded"


def test_an_executor_that_cannot_stop_a_body_is_named() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, cancel_support="unsupported")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    card = scene.card()
    assert card["requests"][0]["text"] == "Cancellation requested. Its executor offers no way to stop it; what it does is still recorded."
    assert [f["code"] for f in card["findings"]] == []


def test_a_body_that_may_run_on_after_its_expiry_keeps_its_request_in_view() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59))
    expected = "Cancellation requested. The record is expired; it may still run until its executor confirms."
    assert said(scene.card(), "requests") == [expected]


def test_an_acknowledged_cancellation_is_no_longer_a_request() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, cancel_support="task")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    scene.says("cancellation.acknowledged", 3, termination="confirmed", initiator="ann", scope="s", reason="r", at=at(3))
    assert scene.card()["requests"] == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("retry.requested", "Retry requested. No new attempt is recorded yet."),
        ("reversal.requested", "Undo requested. No call that undoes it is recorded yet."),
        ("route.chosen", "Another route chosen. No call on that route is recorded yet."),
    ],
)
def test_a_request_that_no_call_answers_stays_a_request(kind: str, expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says(kind, 2, actor="ann", route="by train")
    assert said(scene.card(), "requests") == [expected]


def test_what_a_running_call_asks_a_person_is_a_request_and_the_call_runs_on() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.asked(2)
    scene.says("input.required", 3, unresolved=["seat"], collector="person", expires_at=at(90))
    card = scene.card()
    assert said(card, "requests") == [
        "Approval asked for. The call stays running meanwhile.", "Input asked for. The call stays running meanwhile.",
    ]  # fmt: skip  # one list
    assert [f["code"] for f in card["findings"]] == []
    assert card["state"] == "running"


# ── lineage and deadlines ───────────────────────────────────────────────────────────────────────────────────────────


def test_lineage_is_told_in_both_directions() -> None:
    scene = Scene()
    scene.proposed(0, retry_of="inv_0", reverses="inv_00", replaces="inv_000", dependencies=["inv_d"], parent="inv_p")
    scene.says("dependency.moved", 1, dependency="inv_d", moved_to="inv_d2")
    scene.says("dependency.resolved", 2, dependency="inv_d", by="inv_d2")
    scene.says("reversal.requested", 3, actor="ann", new_invocation="inv_r")
    scene.says("closure.recorded", 4, kind="withdrawn", initiator="planner", scope="s", reason="r", at=at(4), replaced_by="inv_n")
    card = scene.card(links={"inv_0": "Search"})
    assert said(card, "lineage") == [
        "Retries Search", "Undoes inv_00", "Replaces inv_000", "Undo requested ⟦2026-11-30T12:00:03.000Z⟧ by ann: inv_r", "Replaced: inv_n",
    ]  # fmt: skip  # one list
    assert ("depends on", "inv_d, now inv_d2: resolved") in rows(card, "lineage")
    assert ("part of", "inv_p") in rows(card, "lineage")


def test_a_successor_of_which_nothing_is_recorded_here_is_named_without_a_time() -> None:
    record = InvocationRecord("inv_1", state=State.FAILED, state_refs=("ev_x",), retried_by="inv_2")
    assert said(invocation_card(record, events=[], now=NOON), "lineage") == ["Retried: inv_2"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (60, "The request for approval lapses ⟦2026-11-30T12:06:20.000Z⟧, by the server's clock"),
        (380, "The request for approval has lapsed; the expiry is not recorded yet: ⟦2026-11-30T12:06:20.000Z⟧, by the server's clock"),
    ],
)
def test_a_deadline_names_whose_clock_and_says_when_it_is_over(seconds: int, expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    assert scene.card(seconds=seconds)["deadline"]["text"] == expected


def test_the_deadline_of_the_phase_is_the_one_in_view() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.permitted", 1, rule="r", policy_version="p", expires_at=at(60), result_expires_at=at(600))
    assert scene.card()["deadline"]["which"] == "queue_start"
    scene.says("execution.started", 2, attempt=1, executor="e")
    assert scene.card()["deadline"]["which"] == "result"


def test_a_deadline_whose_declaration_is_gone_cites_nothing() -> None:
    record = InvocationRecord("inv_1", state=State.RUNNING, state_refs=("ev_x",), deadlines={"result": at(60)})
    card = invocation_card(record, events=[], now=NOON)
    assert card["deadline"]["evidence"] == []


# ── what a person decides on ────────────────────────────────────────────────────────────────────────────────────────


def asked_card(inputs: str, **asked: Any) -> dict[str, Any]:
    scene = Scene()
    scene.proposed(0, inputs=inputs)
    scene.asked(1, **asked)
    return scene.card(controls=[Control(action="approve", enabled=True, rule="eligible")])


def facts_of(card: dict[str, Any]) -> dict[str, str]:
    return {fact["term"]: fact["text"] for fact in card["facts"]}


def test_without_named_fields_every_input_is_in_view() -> None:
    facts = facts_of(asked_card('{"path":"/a","n":1}', facts={"fields": []}))
    assert (facts["Path"], facts["N"]) == ("/a", "1")


def test_a_scope_that_is_an_object_is_set_out_and_not_repeated() -> None:
    card = asked_card("{}", scope={"amount": "7", "currency": "GBP", "targets": ["a", "b"]}, facts=None)
    facts = facts_of(card)
    assert (facts["Amount"], facts["Targets"]) == ("£ 7.00", "a, b")
    assert "Covers" not in facts
    assert card["controls"][0]["label"] == "Approve £ 7.00"


def test_an_amount_that_holds_its_own_currency_is_one_amount() -> None:
    card = asked_card('{"total":{"value":"9.5","currency":"EUR"},"currency":"USD"}', facts={"fields": ["total", "currency"]})
    assert facts_of(card)["Total"] == "€ 9.50"
    assert facts_of(card)["Currency"] == "USD"


def test_a_number_without_a_currency_is_no_amount_of_money() -> None:
    card = asked_card('{"total":5}', facts={"fields": "total"})
    assert facts_of(card)["Total"] == "5"
    assert card["controls"][0]["label"] == "Approve"


def test_an_amount_in_digits_that_floats_lose_is_exact() -> None:
    card = asked_card('{"amount":90071992547409931.07,"currency":"EUR"}', facts={"fields": ["amount", "currency"]})
    assert facts_of(card)["Amount"] == "€ 90\u202f071\u202f992\u202f547\u202f409\u202f931.07"


def test_inputs_that_are_gone_are_not_passed_over() -> None:
    scene = Scene()
    scene.proposed(0, inputs=BOOKING)
    scene.asked(1)
    ref = scene.record.inputs["ref"]
    scene.values.clear()
    assert facts_of(scene.card())["Inputs"] == f"not on this card; kept in the record as value {ref}"
    scene.says("value.erased", 2, value_ref=ref, by="ann", reason="asked to forget")
    card = scene.card(viewer="ann")
    assert facts_of(card)["Inputs"] == "erased by you: asked to forget"
    assert disclosure(card, "inputs")["text"] == "The bytes are erased by you: asked to forget."


def test_who_may_answer_falls_back_to_the_authority() -> None:
    assert facts_of(asked_card("{}", eligible=[]))["Who may answer"] == "role:finance"


def test_a_boundary_without_a_way_back_says_only_where_it_is() -> None:
    scene = Scene()
    scene.proposed(0, commitment_boundary="when it is sent", recovery={"after_commitment": []})
    scene.asked(1)
    assert facts_of(scene.card())["Point of no return"] == "when it is sent"


def test_what_policy_redacts_is_on_no_part_of_the_card() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"card":"4111","total":"5","currency":"EUR"}')
    scene.asked(1, facts={"fields": ["card", "total", "currency"]})
    edit = Control(action="edit_inputs", enabled=True, rule="may-edit_inputs")
    card = scene.card(redact=["/card"], controls=[edit])
    assert "4111" not in str(card)
    assert facts_of(card)["Card"] == "(not shown, by policy)"
    assert [field["name"] for field in card["controls"][0]["fields"]] == ["total", "currency"]
    assert disclosure(card, "inputs")["copy"] is None


@pytest.mark.parametrize(("inputs", "expected"), [("[1,2]", {"Inputs": "[1,2]"}), ("not json", {"Inputs": "not json"}), ("{}", {})])
def test_draft_inputs_of_any_shape_are_shown(inputs: str, expected: dict[str, str]) -> None:
    scene = Scene()
    scene.proposed(0, inputs=inputs)
    assert facts_of(scene.card()) == expected


def test_draft_inputs_that_are_gone_are_named() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.values.clear()
    assert "kept in the record" in facts_of(scene.card())["Inputs"]


def test_a_passed_point_of_no_return_and_the_provider_are_on_record() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("commitment.crossed", 2, boundary="sent", provider_reference="p-1")
    scene.says("execution.succeeded", 3, completed_at=at(3), result="x", provider_reference="p-2")
    assert facts_of(scene.card()) == {
        "Point of no return": "sent, passed ⟦2026-11-30T12:00:02.000Z⟧; provider reference p-1", "Provider reference": "p-2",
    }  # fmt: skip  # one object


# ── findings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def ended() -> Scene:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("execution.failed", 2, category="c", detail="d", evidence_ref="e")
    return scene


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


# ── disclosures ─────────────────────────────────────────────────────────────────────────────────────────────────────


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
    assert disclosure(scene.card(), "result")["note"] == f"The bytes are not on this card; kept in the record as value {result['ref']}."


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
        "no-effect ⟦2026-11-30T12:00:04.000Z⟧ by ann: looked it up, reference r-1", "reversed ⟦2026-11-30T12:00:05.000Z⟧ by ann",
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


# ── output ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── controls ────────────────────────────────────────────────────────────────────────────────────────────────────────


def control_of(action: str, *, scene: Scene | None = None, enabled: str = "yes", reason: str = "", **more: Any) -> dict[str, Any]:
    drawn = scene or Scene()
    binding = more.pop("binding", {})
    control = Control(action=action, enabled=enabled == "yes", rule="some-rule", reason=reason, binding=binding)
    return drawn.card(controls=[control], **more)["controls"][0]


def test_controls_are_named_for_what_they_do() -> None:
    assert control_of("retry")["label"] == "Retry as attempt 2"
    assert control_of("reverse")["label"] == "Undo"
    assert control_of("reverse", inverse="cancel_booking")["label"] == "Undo with cancel_booking"
    assert control_of("waive_child", binding={"invocationId": "inv_9"}, links={"inv_9": "Search trains"})["label"] == "Waive Search trains"
    assert control_of("waive_child")["label"] == "Waive"


def test_a_call_that_only_reads_has_no_undo_to_be_off() -> None:
    off = [Control(action="reverse", enabled=False, rule="no-inverse", reason="this tool names no inverse")]
    for classes, expected in ((["read-only"], []), (["externally-visible"], ["Undo"])):
        scene = Scene()
        scene.proposed(0, consequences=classes)
        assert [control["label"] for control in scene.card(controls=off)["controls"]] == expected


def test_the_rule_before_a_reason_is_spelled_in_words() -> None:
    for reason, expected in (
        ("already-answered: granted by ann", "already answered: granted by ann"), ("already-answered: already granted", "already granted"),
        ("no rule here", "no rule here"),
    ):  # fmt: skip  # a table
        assert control_of("deny", enabled="no", reason=reason)["why"] == expected


def test_a_control_that_is_off_says_why_and_offers_no_form() -> None:
    off = control_of("deny", enabled="no", reason="requested by ann at 2026-11-30T12:00:00Z", viewer="ann")
    assert (off["why"], off["fields"], off["style"]) == ("requested by you at ⟦2026-11-30T12:00:00.000Z⟧", [], "plain")
    assert control_of("approve", enabled="no")["why"] == "rule some-rule does not allow it"


def test_a_control_that_is_on_may_say_what_to_know_first() -> None:
    assert control_of("request_cancellation", reason="it runs in a thread")["why"] == "it runs in a thread"
    assert control_of("request_cancellation")["why"] is None


def test_what_binds_a_decision_goes_with_it() -> None:
    assert control_of("approve", binding={"approvalId": "apr_1"})["binding"] == {"approvalId": "apr_1"}


def test_a_route_is_chosen_among_those_that_are_declared() -> None:
    scene = Scene()
    scene.proposed(0, alternate_routes=["by train", "by ship"])
    route = control_of("choose_route", scene=scene)["fields"][0]
    assert (route["kind"], route["options"], route["required"]) == ("choice", ["by train", "by ship"], True)
    assert control_of("choose_route")["fields"][0]["kind"] == "text"


def test_reconciling_asks_what_really_happened() -> None:
    conclusion = control_of("reconcile")["fields"][0]
    assert conclusion["options"][0] == {"value": "no-effect", "label": "Nothing happened"}


def test_missing_inputs_are_asked_for_one_by_one() -> None:
    scene = Scene()
    scene.proposed(0)
    bags = {"name": "bags", "type": "integer", "message": "how many"}
    about = [{"name": "seat", "label": "Seat", "options": ["14C", "15A"]}, "nonsense", bags]
    scene.says("input.required", 1, unresolved=["seat", "bags", "note"], collector="person", fields=about)
    fields = control_of("supply_input", scene=scene)["fields"]
    assert [(f["name"], f["label"], f["kind"]) for f in fields] == [
        ("seat", "Seat", "choice"), ("bags", "bags: how many", "json"), ("note", "note", "text"),
    ]  # fmt: skip  # one list
    assert control_of("supply_input")["fields"] == []


def test_inputs_are_edited_digit_for_digit() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"serial":9223372036854775807,"name":"é"}')
    fields = control_of("edit_inputs", scene=scene)["fields"]
    assert [(f["name"], f["value"]) for f in fields] == [("serial", "9223372036854775807"), ("name", '"é"')]
