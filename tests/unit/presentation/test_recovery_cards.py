"""What a person reads when something changed, is in doubt, was erased, answered in the tool's place, or takes several people."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.presentation.looking import disclosure, facts_of, rows
from tests.unit.presentation.scene import Scene, at
from toolwitness.core.verdicts import Control

APPROVE = Control(action="approve", enabled=True, rule="eligible")
RECONCILE = Control(action="reconcile", enabled=True, rule="may-reconcile")
SCOPE = "one call of book_itinerary, attempt 1, with exactly these inputs"
READ = "target as read now: 12@v7; price as read now: 450.00 EUR; board: breakfast"
LOOKED = {"target": "12@v7", "price": {"amount": "450.00", "currency": "EUR", "board": "breakfast"}}
PRICE = {"what": "amount", "before": "412.50", "now": "450.00"}


def asked_again(*, rule: str = "price-changed", changed: Any = None, inputs: str = "") -> Scene:
    """Let a request be voided and asked anew."""
    scene = Scene()
    scene.proposed(0, inputs='{"room":"12"}')
    scene.asked(1, facts={"fields": []}, scope=f"{SCOPE}; {READ}", looked=LOOKED)
    if inputs:
        scene.says("inputs.edited", 2, actor="ann", inputs=scene.value(inputs), fields=["room"])
        scene.says("inputs.accepted", 2, inputs=scene.recorded[-1].event.data["inputs"], inputs_digest="sha256:00", checked_by="ours")
    scene.says("approval.invalidated", 3, approval_id="apr_1", reason="it changed", rule=rule, changed=changed)
    told = "".join(f"; changed since the last request: {one['what']} {one['before']} → {one['now']}" for one in changed or () if not inputs)
    scene.asked(4, approval_id="apr_2", facts={"fields": []}, scope=f"{SCOPE}; {READ}{told}", looked=LOOKED)
    return scene


# ── what was read, and what has changed ─────────────────────────────────────────────────────────────────────────────


def test_what_was_read_is_set_out_and_the_button_names_the_price() -> None:
    scene = Scene()
    scene.proposed(0, inputs='{"room":"12"}')
    scene.asked(1, facts={"fields": []}, scope=f"{SCOPE}; {READ}", looked=LOOKED)
    card = scene.card(controls=[APPROVE])
    facts = facts_of(card)
    assert (facts["Target, as read"], facts["Price, as read"], facts["Terms, as read"]) == ("12@v7", "€ 450.00", "board: breakfast")
    assert facts["Covers"] == SCOPE, "what has a line of its own is not repeated"
    assert card["controls"][0]["label"] == "Approve € 450.00"
    assert "Changed since it was last asked" not in facts, "nobody was asked before"


def test_old_beside_new_is_the_last_thing_before_the_buttons_and_cites_what_voided_the_request() -> None:
    scene = asked_again(changed=[PRICE])
    card = scene.card(controls=[APPROVE])
    last = card["facts"][-1]
    void = next(one.event.ref for one in scene.recorded if one.event.kind == "approval.invalidated")
    asked = scene.recorded[-1].event.ref
    assert (last["term"], last["text"], last["prominent"]) == ("Changed since it was last asked", "amount: 412.50 → 450.00", True)
    assert last["evidence"] == [void, asked]
    assert facts_of(card)["Covers"] == SCOPE


def test_edited_inputs_are_shown_old_and_new() -> None:
    card = asked_again(rule="inputs-changed", changed=["room"], inputs='{"room":"14","note":"quiet"}').card()
    assert facts_of(card)["Changed since it was last asked"] == "room: 12 → 14\nnote: (nothing) → quiet"


def test_a_request_that_is_the_same_again_claims_no_change() -> None:
    assert "Changed since it was last asked" not in facts_of(asked_again(rule="authority-revoked").card())


@pytest.mark.parametrize("changed", ["amount", [3], [{"what": "amount"}], {"what": "x", "before": "y"}])
def test_a_change_that_cannot_be_read_is_none(changed: Any) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    scene.says("approval.invalidated", 2, approval_id="apr_1", reason="it changed", rule="price-changed", changed=changed)
    scene.asked(3, approval_id="apr_2", looked={"target": 3, "price": "free"})
    assert "Changed since it was last asked" not in facts_of(scene.card())


@pytest.mark.parametrize(
    ("rule", "headline"),
    [
        ("price-changed", "What was asked has changed."), ("inputs-changed", "What was asked has changed."),
        ("authority-revoked", "The approval that was asked for no longer counts."),
        ("target-unread", "The approval that was asked for no longer counts."),
    ],
)  # fmt: skip  # cases in lines
def test_the_question_has_changed_only_where_it_has(rule: str, headline: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    scene.says("approval.invalidated", 2, approval_id="apr_1", reason="because", rule=rule)
    [found] = [finding for finding in scene.card()["findings"] if finding["code"] == "approval-invalidated"]
    assert found["headline"] == headline
    assert "because" in found["detail"]


# ── several people ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_approval_of_several_says_that_it_is_one_beside_its_button() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1, needed=3)
    scene.says("approval.granted", 2, approval_id="apr_1", actor="bob", inputs_digest="sha256:00")
    card = scene.card(controls=[APPROVE])
    assert card["controls"][0]["why"] == "one of 3 people who must agree; 2 are still missing"
    assert facts_of(card)["Who may answer"].endswith("; 3 different people must agree")
    assert any(text["text"].endswith("by bob") for text in card["meta"])
    alone = Scene()
    alone.proposed(0)
    alone.asked(1)
    assert alone.card(controls=[APPROVE])["controls"][0]["why"] is None


# ── what really happened ────────────────────────────────────────────────────────────────────────────────────────────


def in_doubt() -> Scene:
    scene = Scene()
    scene.proposed(0, consequences=["externally-visible"])
    scene.started(1)
    scene.says("execution.failed", 3, category="timeout", detail="no answer", evidence_ref="e-1")
    return scene


def test_a_failure_of_which_nobody_knows_what_it_did_says_so() -> None:
    assert facts_of(in_doubt().card())["What really happened"] == "Nobody knows what it did."


def test_where_the_tool_can_be_asked_there_is_a_button_beside_the_form_and_elsewhere_none() -> None:
    drawn = in_doubt().card(controls=[RECONCILE], provider="book")["controls"]
    assert [(c["action"], c["label"], bool(c["fields"])) for c in drawn] == [
        ("reconcile", "Reconcile", True), ("reconcile", "Ask book what happened", False),
    ]  # fmt: skip  # rows
    assert drawn[0]["binding"] != drawn[1]["binding"], "a page tells two controls of one action apart by what they are bound to"
    assert len(in_doubt().card(controls=[RECONCILE])["controls"]) == 1
    off = Control(action="reconcile", enabled=False, rule="x", reason="no")
    assert len(in_doubt().card(controls=[off], provider="book")["controls"]) == 1


def test_a_tool_that_was_asked_in_vain_leaves_the_doubt_and_says_who_asked() -> None:
    scene = in_doubt()
    scene.says("effects.reconciled", 5, conclusion="unknown", by="the reconcile function of book", asked_by="ann",
               detail="search is down", _refusal="still-unknown: search is down")  # fmt: skip  # one event
    facts = facts_of(scene.card(viewer="ann"))
    assert facts["What really happened"] == "Nobody knows what it did."
    assert facts["The tool was asked"] == "⟦2026-11-30T12:00:05.000Z⟧ by you; it does not know: search is down"


def test_what_was_found_out_is_said_in_words_with_who_says_it_and_on_what_ground() -> None:
    scene = in_doubt()
    scene.says("effects.reconciled", 5, conclusion="no-effect", by="ann", detail="no booking under this name", reference="search 9")
    said = facts_of(scene.card())["What really happened"]
    assert said == ("It did not happen: no booking under this name; reference search 9; recorded ⟦2026-11-30T12:00:05.000Z⟧ by ann")
    scene.says("effects.reconciled", 6, conclusion="half of the nights", by="ann")
    assert "half of the nights; recorded" in str(scene.card()["facts"]), "a sentence of one's own stands as it came"


# ── an answer in the tool's place ───────────────────────────────────────────────────────────────────────────────────


def test_an_answer_in_the_tools_place_is_shown_as_a_persons_and_asked_for_with_a_form() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    respond = Control(action="respond", enabled=True, rule="eligible", binding={"approvalId": "apr_1"})
    [drawn] = scene.card(controls=[respond])["controls"]
    assert (drawn["label"], [(f["name"], f["required"]) for f in drawn["fields"]]) == (
        "Answer in the tool's place", [("answer", True), ("reason", False)],
    )  # fmt: skip  # facts in lines


def closed_by(scene: Scene, answer: str) -> None:
    """Let a person answer in the tool's place as the service records it: the act, and the closure that it causes."""
    act = scene.says("input.supplied", 2, actor="ann", inputs=scene.value(answer), fields=["answer"], reason="I asked her")
    closed = {"initiator": "ann", "scope": "this invocation", "at": at(3), "reason": "I asked her", "approval_id": "apr_1"}
    scene.says("closure.recorded", 3, kind="answered-by-human", owner_name="authorization", executed=False, _caused_by=(act,), **closed)


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [('"Floor \\u00c5, \\"quiet\\""', "text", 'Floor Å, "quiet"'), ('{"floor": 3}', "json", '{"floor": 3}'), ("3", "json", "3"),
     ('"\\ud800"', "text", "\\ud800")],
)  # fmt: skip  # cases in lines
def test_an_answer_is_read_as_it_was_meant_and_names_whose_it_is(answer: str, kind: str, text: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    closed_by(scene, answer)
    card = scene.card(viewer="ann")
    shown = disclosure(card, "answer")
    assert (shown["title"], shown["kind"], shown["text"], shown["copy"]) == ("Answer in the tool's place, by you", kind, text, text)
    said = [row["text"] for row in card["timeline"]["rows"]]
    assert "Answer given in the tool's place: I asked her" in said
    assert dict(rows(card, "policy"))["answered"].startswith("answered by a person in the tool's place ⟦")


def test_an_input_that_is_called_answer_is_an_input() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("input.supplied", 1, actor="ann", inputs=scene.value('{"answer":"x"}'), fields=["answer"])
    card = scene.card()
    assert all(shown["id"] != "answer" for shown in card["disclosures"])
    assert any(row["text"].startswith("Input supplied") for row in card["timeline"]["rows"])


# ── erased ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_erased_result_says_by_whom_when_and_why_and_offers_nothing_to_copy() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    result = scene.value('"secret"')
    scene.says("execution.succeeded", 2, completed_at=at(2), result=result)
    del scene.values[result["ref"]]
    scene.says("value.erased", 3, value_ref=result["ref"], by="bob", reason="the guest asked us to.")
    shown = disclosure(scene.card(), "result")
    assert (shown["title"], shown["text"], shown["copy"]) == ("Result: erased", "", None)
    assert shown["note"] == "Erased ⟦2026-11-30T12:00:03.000Z⟧ by bob: the guest asked us to."


def test_an_erasure_that_was_refused_erased_nothing() -> None:
    scene = Scene()
    scene.proposed(0)
    ref = scene.record.inputs["ref"]
    scene.says("value.erased", 1, value_ref=ref, by="eve", reason="mine", _refusal="eraser: not hers")
    scene.values.clear()
    assert disclosure(scene.card(), "inputs")["note"] == f"Not on this card; kept in the record as value {ref}."


def test_the_answer_to_a_request_is_told_in_words() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    scene.says("approval.denied", 2, approval_id="apr_1", actor="bob", reason="too dear")
    assert dict(rows(scene.card(), "policy"))["answered"].startswith("denied ⟦")
