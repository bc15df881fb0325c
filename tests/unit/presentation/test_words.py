"""Every word that evidence can make a person read exists, and none is louder than it may be."""

import re

import pytest

from tests.unit.presentation.scene import NOON, Scene
from toolwitness.core.findings import Code, Finding
from toolwitness.core.states import ClosureKind, Consequence, Deadline, Owner, Reconciliation, State
from toolwitness.core.vocabulary import KINDS
from toolwitness.policy.controls import PASSIVE
from toolwitness.policy.retry import Conclusion
from toolwitness.presentation import words
from toolwitness.presentation.controls import CONCLUSIONS
from toolwitness.presentation.headlines import findings
from toolwitness.presentation.reading import Reading
from toolwitness.presentation.sentences import sentence

NEVER_SAID = re.compile(r"oops|success!|went wrong!|something went wrong|please|sorry|whoops|\bdone\b|!", re.IGNORECASE)
TONES = {"live", "ok", "bad", "wait", "off"}


@pytest.mark.parametrize(
    ("table", "every"),
    [
        (words.STATES, State), (words.FINDINGS, Code), (words.CLOSURES, ClosureKind), (words.CONSEQUENCES, Consequence),
        (words.DEADLINES, Deadline), (words.OWNERS, Owner), (words.RECONCILIATIONS, Reconciliation), (CONCLUSIONS, Conclusion),
    ],
)  # fmt: skip  # a table
def test_every_member_of_the_vocabulary_has_its_words(table, every) -> None:
    expected = set(every)
    actual = set(table)
    assert actual == expected


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_label_a_tone_and_a_phrase(state: State) -> None:
    spoken = words.state_words(state)
    assert spoken.label
    assert spoken.tone in TONES
    assert spoken.phrase == spoken.phrase.lower()


def test_a_record_without_a_state_says_so() -> None:
    assert words.state_words(None).label == "No state recorded"


@pytest.mark.parametrize(
    ("state", "tone"),
    [
        ("proposed", "off"), ("cancelled", "off"), ("expired", "off"), ("awaiting_input", "wait"), ("awaiting_approval", "wait"),
        ("queued", "live"), ("running", "live"), ("streaming", "live"), ("partially_complete", "live"), ("succeeded", "ok"),
        ("failed", "bad"),
    ],
)  # fmt: skip  # a table
def test_the_tone_of_a_state_says_what_kind_of_state_it_is(state: str, tone: str) -> None:
    assert words.STATES[State(state)].tone == tone


@pytest.mark.parametrize("code", Code)
def test_every_finding_has_a_fact_and_a_consequence_as_sentences(code: Code) -> None:
    spoken = words.FINDINGS[code]
    assert spoken.headline.endswith(".")
    assert spoken.detail.endswith(".")


def every_sentence() -> list[str]:
    tables = (words.FINDINGS, words.GAPS, words.CLOSURES, words.RECONCILIATIONS, words.ACTIONS, words.DEADLINES, words.STATES, CONCLUSIONS)
    said: list[str] = []
    for table in tables:
        for entry in table.values():
            said += [entry] if isinstance(entry, str) else list(entry)
    return said


@pytest.mark.parametrize("said", every_sentence())
def test_no_word_celebrates_apologises_or_begs(said: str) -> None:
    assert NEVER_SAID.search(said) is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_evidence_has_a_sentence_even_when_nothing_came_with_it(kind: str) -> None:
    scene = Scene()
    scene.says(kind, 1)
    said = sentence(Reading(record=scene.record, events=scene.recorded, now=NOON), scene.recorded[0])
    assert said
    assert "not understood" not in said
    assert "None" not in said
    assert NEVER_SAID.search(said) is None


def test_a_kind_nobody_knows_is_quoted_and_not_interpreted() -> None:
    scene = Scene()
    scene.says("tool.rested\x1b[2J", 1)
    said = sentence(Reading(record=scene.record, events=scene.recorded, now=NOON), scene.recorded[0])
    assert said == "Said “tool.rested⟨U+001B⟩[2J”, which is not understood here"


@pytest.mark.parametrize("code", [code for code in Code if code not in words.RAIL_ONLY and code is not Code.POLICY_UNOBSERVED])
def test_every_finding_that_is_not_of_the_rail_stands_in_the_headline(code: Code) -> None:
    scene = Scene()
    reading = Reading(record=scene.record, events=[], now=NOON)
    drawn = findings(reading, [Finding(code, "because", ("ev_1",))])
    assert [strip["code"] for strip in drawn] == [code]
    assert drawn[0]["headline"]
    assert drawn[0]["detail"].endswith(".")
    assert drawn[0]["evidence"] == ["ev_1"]


def test_findings_stand_with_the_loudest_first() -> None:
    reading = Reading(record=Scene().record, events=[], now=NOON)
    mixed = [Finding(Code.DECISION_REFUSED, "x"), Finding(Code.LATE_OUTCOME, "x"), Finding(Code.DUPLICATE_START, "x")]
    assert [strip["severity"] for strip in findings(reading, mixed)] == ["violation", "warning", "note"]


def test_every_action_of_policy_is_named_and_the_passive_ones_are_what_reading_is() -> None:
    assert set(PASSIVE) == words.PASSIVE
    assert words.action_words("request_cancellation") == "Request cancellation"
    assert words.action_words("tidy_up") == "Tidy up"


def test_every_gap_is_a_finding_that_the_table_knows() -> None:
    assert set(words.GAPS) >= words.RAIL_ONLY - {Code.ORDER_REPEATED, Code.CLOCK_SKEW}


def test_an_unknown_deadline_is_a_deadline_and_no_more() -> None:
    assert words.deadline_words("lunch") == "A deadline"


@pytest.mark.parametrize(("parts", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_names_are_joined_as_a_sentence_joins_them(parts: list[str], expected: str) -> None:
    assert words.joined(parts, "or") == expected


def test_counts_say_what_they_count() -> None:
    assert (words.counted(1, "gap"), words.counted(2, "gap"), words.counted(2, "entry", "entries")) == ("1 gap", "2 gaps", "2 entries")
