"""What a person decides on is in view, whole and harmless, and each control says what it does."""

from typing import Any

import pytest

from tests.unit.presentation.looking import disclosure, facts_of
from tests.unit.presentation.scenarios import BOOKING
from tests.unit.presentation.scene import Scene, at
from toolwitness.core.verdicts import Control


def asked_card(inputs: str, **asked: Any) -> dict[str, Any]:
    scene = Scene()
    scene.proposed(0, inputs=inputs)
    scene.asked(1, **asked)
    return scene.card(controls=[Control(action="approve", enabled=True, rule="eligible")])


def test_without_named_fields_every_input_is_in_view() -> None:
    facts = facts_of(asked_card('{"path":"/a","n":1}', facts={"fields": []}))
    assert (facts["Path"], facts["N"]) == ("/a", "1")


def test_an_approval_covers_inputs_that_nobody_named_and_so_they_are_in_view() -> None:
    inputs = '{"to":"a@b.c","subject":"Trip","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"body":"' + "x" * 200 + '"}'
    facts = facts_of(asked_card(inputs, facts={"fields": ["to"]}, scope="one call; in view: to"))
    assert (facts["Subject"], facts["A"], facts["Covers"]) == ("Trip", "1", "one call")
    assert facts["More inputs"] == "f, body; their values are under Inputs"
    assert facts_of(asked_card(inputs, facts={"fields": ["to"]}, scope="one call; in view: me"))["Covers"] == "one call; in view: me"


def test_a_long_input_beside_is_cut_and_says_so() -> None:
    facts = facts_of(asked_card('{"to":"a","body":"' + "x" * 200 + '"}', facts={"fields": ["to"]}))
    assert facts["Body"] == "x" * 120 + "… (80 more characters)"


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
    assert facts_of(card)["Inputs"] == "erased ⟦2026-11-30T12:00:02.000Z⟧ by you: asked to forget"
    gone = disclosure(card, "inputs")
    assert gone["title"] == "Inputs and where they came from: erased"
    assert (gone["text"], gone["note"]) == ("", "Erased ⟦2026-11-30T12:00:02.000Z⟧ by you: asked to forget.")


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
    assert conclusion["options"][0] == {"value": "no-effect", "label": "It did not happen"}
    assert "as-reported" not in [option["value"] for option in conclusion["options"]], "nothing was reported that could have happened"
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("effect.observed", 2, effect="mail sent")
    assert "as-reported" in [option["value"] for option in control_of("reconcile", scene=scene)["fields"][0]["options"]]


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
