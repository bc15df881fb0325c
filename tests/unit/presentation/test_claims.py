"""Every claim on a card rests on evidence that the card holds, whatever a source has sent."""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.presentation.scenarios import SCENARIOS, trip
from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.core.findings import Code
from toolwitness.core.states import ClosureKind, Origin, Owner
from toolwitness.core.vocabulary import KINDS
from toolwitness.presentation.cards import task_card
from toolwitness.presentation.foreign import disarmed
from toolwitness.presentation.reading import OUTPUT_VALUES, needed_values
from toolwitness.presentation.terminal import draw_card
from toolwitness.presentation.terminal_text import ALL, Screen

CITING = ("meta", "findings", "requests", "facts", "lineage", "blocked")


def claims_of(card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in CITING:
        yield from card[part]
    for part in ("deadline", "progress"):
        if card[part]:
            yield card[part]


def on_the_rail(card: dict[str, Any]) -> set[str]:
    return {ref for row in card["timeline"]["rows"] for ref in row["refs"]}


def texts(value: Any, *, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, name=key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, name=name)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_claim_cites_evidence_that_is_on_the_rail(name: str) -> None:
    card = SCENARIOS[name]()
    for claim in claims_of(card):
        assert claim["evidence"], claim
        assert set(claim["evidence"]) <= on_the_rail(card), claim


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_claim_is_made_without_words(name: str) -> None:
    for claim in claims_of(SCENARIOS[name]()):
        assert claim.get("text") or claim.get("headline")


def test_the_cards_of_a_task_cite_their_own_evidence() -> None:
    task = trip()
    drawn = task_card(task.task, task.records, events=task.events, values=task.values, now=NOON)
    for card in drawn["cards"]:
        for claim in claims_of(card):
            assert set(claim["evidence"]) <= on_the_rail(card), (card["id"], claim)


def test_a_time_is_never_written_as_a_clock_time_in_a_sentence_of_ours() -> None:
    for scenario in SCENARIOS.values():
        card = scenario()
        for key, text in texts({part: card[part] for part in (*CITING, "deadline", "timeline")}):
            if key == "text":
                assert "2026-" not in text.replace("⟦2026-", "").replace("U+27E6⟩2026-", "")


FOREIGN = st.one_of(
    st.text(st.characters(), max_size=20), st.integers(), st.none(), st.booleans(), st.just("2026-11-30T12:00:00Z"),
    st.just({"ref": "val_x", "digest": "d", "bytes": 1}), st.lists(st.text(st.characters(), max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.one_of(st.text(max_size=5), st.integers()), max_size=2),
)  # fmt: skip  # alternatives in lines


@st.composite
def said(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    kind = draw(st.sampled_from([*KINDS, "tool.rested"]))
    spec = KINDS.get(kind)
    names = [*(name for part in spec.required for name in part.split("|")), *spec.optional] if spec else ["anything"]
    data = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, FOREIGN)))
    envelope = {
        "_owner": draw(st.sampled_from(Owner)), "_origin": draw(st.sampled_from(Origin)),
        "_sequence": draw(st.sampled_from([None, None, 1, 2, 7])),
        "_refusal": draw(st.sampled_from(["", "", "rule: no"])), "_time": draw(st.sampled_from([None, at(3), "noon"])),
    }  # fmt: skip  # facts in lines
    return kind, data, envelope


WELL = [
    ("invocation.proposed", {"tool": "t", "inputs": {"ref": "val_x", "digest": "d", "bytes": 1}, "source_request": "m", "proposer": "p"}),
    ("approval.requested", {"approval_id": "a", "consequence_summary": "c", "authority": "b", "authorization_owner": "o", "scope": "s"}),
    ("approval.granted", {"approval_id": "a", "actor": "u"}),
    ("dispatch.claimed", {"permit": "p", "attempt": 1}),
    ("execution.started", {"attempt": 1, "executor": "e"}),
    ("progress.reported", {"order": 1, "percent": 5}),
    ("output.emitted", {"order": 2, "output": {"ref": "val_x", "digest": "d", "bytes": 1}}),
    ("effect.observed", {"effect": "e", "amount": "1", "currency": "EUR"}),
    ("execution.succeeded", {"completed_at": "x", "result": "r"}),
    ("execution.failed", {"category": "c", "detail": "d", "evidence_ref": "e"}),
    ("cancellation.acknowledged", {"termination": "confirmed", "initiator": "u", "scope": "s", "reason": "r", "at": "x"}),
    ("closure.recorded", {"kind": "answered-by-human", "initiator": "unrecorded", "scope": "s", "reason": "r", "at": "x"}),
    ("deadline.elapsed", {"deadline": "result", "declared_at": "x"}),
]


RAW = [b"{}", b'{"a":1}', b"\xff", b"[1]"]
Told = tuple[str, dict[str, Any], dict[str, Any]]


@settings(max_examples=150)
@given(st.lists(st.one_of(said(), st.sampled_from([(kind, data, {}) for kind, data in WELL])), max_size=8), st.sampled_from(RAW))
def test_whatever_a_source_sends_a_card_is_drawn_and_its_claims_are_covered(events: list[Told], raw: bytes) -> None:
    scene = Scene(values={"val_x": raw})
    for kind, data, envelope in events:
        scene.says(kind, 1, **{**{name: value for name, value in data.items() if not name.startswith("_")}, **envelope})
    card = scene.card(viewer="u", redact=["/a"])
    for claim in claims_of(card):
        assert set(claim["evidence"]) <= on_the_rail(card)
    assert json.loads(orjson.dumps(card)) == json.loads(json.dumps(card))
    for key, text in texts(card):
        if key not in {"copy", "value"} and text not in {d.get("text") for d in card["disclosures"]} | {(card["output"] or {}).get("text")}:
            assert disarmed(text) == text, key
    drawn = draw_card(card, Screen(width=50, opened=frozenset({ALL})))
    assert "\x1b" not in drawn
    assert "\r" not in drawn


def test_a_source_that_sends_no_object_still_has_its_line() -> None:
    scene = Scene()
    scene.proposed(1)
    scene.says("effect.observed", 2)
    object.__setattr__(scene.recorded[-1].event, "data", ["not", "an", "object"])
    assert scene.card()["timeline"]["rows"][-1]["text"].startswith("Effect: ")


def test_the_values_that_a_card_needs_are_named_and_of_output_the_latest() -> None:
    scene = Scene()
    scene.proposed(1, labels=[{"deep": scene.value("x")}])
    for order in range(OUTPUT_VALUES + 5):
        scene.says("output.emitted", 2, order=order, output=scene.value(str(order)))
    refs = needed_values(scene.recorded)
    assert len(refs) == 2 + OUTPUT_VALUES
    assert set(refs) <= set(scene.values)


@pytest.mark.parametrize("kind", [kind for kind in ClosureKind if kind not in {ClosureKind.TERMINATED, ClosureKind.EXPIRED}])
def test_each_closure_before_dispatch_is_said_as_what_it_is(kind: ClosureKind) -> None:
    scene = Scene()
    scene.proposed(1)
    scene.says("closure.recorded", 2, kind=kind.value, initiator="ann", scope="this invocation", reason="", at=at(2))
    scene.says("closure.recorded", 3, kind=kind.value, initiator="ann", scope="this invocation", reason="no need", at=at(3))
    card = scene.card()
    said_first = card["meta"][0]["text"]
    expected = "answered by a person in the tool's place" if kind is ClosureKind.ANSWERED_BY_HUMAN else kind.value
    assert (card["label"], said_first) == ("Cancelled", f"{expected} ⟦2026-11-30T12:00:03.000Z⟧ by ann")


def test_a_word_that_only_the_rail_says_is_not_repeated_in_the_headline() -> None:
    scene = Scene()
    scene.says("output.emitted", 1, order=1, output="x")
    card = scene.card()
    assert Code.START_NOT_RECORDED in scene.record.findings
    assert [finding["code"] for finding in card["findings"]] == []
    assert [row["mark"] for row in card["timeline"]["rows"]] == ["gap", "gap", "gap", "fact"]
