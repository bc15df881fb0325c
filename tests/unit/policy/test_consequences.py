"""The six classes: what each asks, how they combine, and what evidence a success must hold."""

import itertools
from typing import Any

import pytest

from tests.unit.policy.worlds import REF, at, record, succeeded
from toolwitness.core.record import Effect, Outcome
from toolwitness.core.states import Consequence, State
from toolwitness.policy.consequences import (
    CONSEQUENCES,
    UNKNOWN,
    CancelUntil,
    Confirm,
    Demands,
    Repeat,
    Undo,
    combine,
    missing_evidence,
    raised_by_hints,
)

C = Consequence


def test_every_class_answers_every_question() -> None:
    assert set(CONSEQUENCES) == set(Consequence)
    for consequence, row in CONSEQUENCES.items():
        assert row.consequence is consequence
        for question in (
            row.label,
            row.authorization_source,
            row.confirmation_timing,
            row.allowed_controls,
            row.cancellation_behaviour,
            row.undo_requirement,
            row.recovery_route,
            row.durable_evidence,
            row.caveat,
        ):
            assert question.strip()
        assert "inspect" in row.controls


@pytest.mark.parametrize(
    ("consequence", "confirm", "cancel", "undo", "repeat"),
    [
        (C.READ_ONLY, Confirm.WHEN_REQUIRED, CancelUntil.END, Undo.NOT_APPLICABLE, Repeat.WITHIN_POLICY),
        (C.REVERSIBLE, Confirm.WHEN_REQUIRED, CancelUntil.END, Undo.NAMED_INVERSE, Repeat.OUTCOME_KNOWN),
        (C.EXTERNALLY_VISIBLE, Confirm.BEFORE_DISPATCH, CancelUntil.COMMITMENT, Undo.REAL_WITHDRAWAL, Repeat.OUTCOME_KNOWN),
        (C.DESTRUCTIVE, Confirm.BEFORE_COMMITMENT, CancelUntil.DECLARED_COMMITMENT, Undo.RESTORATION, Repeat.OUTCOME_KNOWN),
        (C.PERMISSION_GATED, Confirm.BEFORE_DISPATCH, CancelUntil.END, Undo.NOT_APPLICABLE, Repeat.OUTCOME_KNOWN),
        (C.FINANCIAL, Confirm.BEFORE_DISPATCH, CancelUntil.COMMITMENT, Undo.PROVIDER_ROUTE, Repeat.KEYED),
    ],
)
def test_one_class_alone_gives_its_own_answers(
    consequence: Consequence, confirm: Confirm, cancel: CancelUntil, undo: Undo, repeat: Repeat
) -> None:
    demands = combine([consequence])

    actual = (demands.confirm.value, demands.cancel_until.value, demands.undo.value, demands.repeat.value)
    assert actual == (confirm, cancel, undo, repeat)
    assert demands.confirm.demanded_by == (consequence,)


def answers(demands: Demands) -> tuple[int, int, int, int]:
    return (demands.confirm.value, demands.cancel_until.value, demands.undo.value, demands.repeat.value)


def test_for_every_set_of_classes_the_strictest_answer_wins_and_says_who_demanded_it() -> None:
    for size in range(1, len(Consequence) + 1):
        for chosen in itertools.combinations(Consequence, size):
            together = combine(chosen)
            alone = [combine([c]) for c in chosen]
            expected = tuple(max(column) for column in zip(*(answers(demands) for demands in alone), strict=True))
            assert answers(together) == expected
            assert together.confirm.demanded_by == tuple(
                c for c, demands in zip(chosen, alone, strict=True) if demands.confirm.value == together.confirm.value
            )
            assert set(together.needs) == {need for demands in alone for need in demands.needs}
            assert set(together.shown) == {name for demands in alone for name in demands.shown}


def test_adding_a_class_never_makes_an_answer_milder() -> None:
    for first, second in itertools.permutations(Consequence, 2):
        assert all(a >= b for a, b in zip(answers(combine([first, second])), answers(combine([first])), strict=True))


def test_a_tool_without_classes_is_treated_as_unknown() -> None:
    demands = combine([])

    assert demands.classes == UNKNOWN
    assert demands.confirm.value is Confirm.BEFORE_COMMITMENT
    assert demands.cancel_until.value is CancelUntil.DECLARED_COMMITMENT
    assert (demands.grant_seconds.value, demands.grant_seconds.demanded_by) == (60, (C.DESTRUCTIVE,))


def test_a_misspelt_class_is_refused() -> None:
    with pytest.raises(ValueError, match="readonly"):
        combine(["readonly"])


def test_a_grant_lapses_only_where_a_class_says_so() -> None:
    assert combine([C.FINANCIAL]).grant_seconds.value is None
    assert combine([C.FINANCIAL, C.DESTRUCTIVE]).grant_seconds.value == 60


# ── evidence ────────────────────────────────────────────────────────────────────────────────────────────────────────


def effect(**data: Any) -> Effect:
    return Effect({"effect": "charged", **data}, REF, at(0), late=False)


def bought(*effects: Effect, outcome: dict[str, Any] | None = None):
    made = succeeded(effects=list(effects), outcome=Outcome(outcome or {}, REF, at(0)))
    made.proposal = {**made.proposal, "consequences": ["financially-consequential", "externally-visible"]}
    return made


def test_a_purchase_without_amount_currency_recipient_and_reference_lacks_evidence() -> None:
    missing = missing_evidence(bought())

    assert set(missing) == {"amount", "currency", "recipient", "provider_reference"}
    assert missing["recipient"] == (C.EXTERNALLY_VISIBLE, C.FINANCIAL)


def test_what_an_effect_the_outcome_or_the_commitment_holds_is_not_missing() -> None:
    made = bought(effect(amount="412.50", currency="EUR"), effect(recipient="Rail Ltd"), outcome={"provider_reference": "ch_1"})
    assert missing_evidence(made) == {}

    referenced = bought(effect(amount="412.50", currency="EUR", recipient="Rail Ltd", reference="ch_1"))
    assert missing_evidence(referenced) == {}

    empty = bought(effect(amount="412.50", currency="", recipient=None, reference="ch_1"))
    assert set(missing_evidence(empty)) == {"currency", "recipient"}


def test_a_deletion_needs_its_commitment_and_the_resource() -> None:
    made = succeeded()
    made.proposal = {**made.proposal, "consequences": ["destructive"]}
    assert set(missing_evidence(made)) == {"resource", "commitment"}

    made.effects = [effect(resource="/a")]
    made.commitment = Outcome({"boundary": "deleted"}, REF, at(0))
    assert missing_evidence(made) == {}


def test_a_reversible_call_needs_an_effect_on_record() -> None:
    made = succeeded()
    made.proposal = {**made.proposal, "consequences": ["reversible"]}
    assert set(missing_evidence(made)) == {"effect"}


def test_a_foreign_class_demands_nothing_here() -> None:
    made = record(State.SUCCEEDED)
    made.proposal = {"consequences": ["world-ending"]}
    assert missing_evidence(made) == {}


# ── hints ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("classes", "hints", "expected"),
    [
        ((), {"readOnlyHint": True}, UNKNOWN),
        ((C.READ_ONLY,), {"readOnlyHint": True, "destructiveHint": True, "openWorldHint": True}, (C.READ_ONLY,)),
        ((C.READ_ONLY,), {"readOnlyHint": None}, (C.READ_ONLY,)),
        ((C.READ_ONLY,), {"readOnlyHint": False}, (C.EXTERNALLY_VISIBLE, C.DESTRUCTIVE)),
        ((C.READ_ONLY,), {"readOnlyHint": False, "destructiveHint": False}, (C.EXTERNALLY_VISIBLE,)),
        ((C.READ_ONLY,), {"destructiveHint": True}, (C.DESTRUCTIVE,)),
        ((C.REVERSIBLE,), {"openWorldHint": True}, (C.REVERSIBLE, C.EXTERNALLY_VISIBLE)),
        ((C.FINANCIAL,), {"destructiveHint": False, "openWorldHint": False}, (C.FINANCIAL,)),
    ],
)
def test_hints_may_only_raise(classes: tuple[Consequence, ...], hints: dict[str, object], expected: tuple[Consequence, ...]) -> None:
    assert set(raised_by_hints(classes, hints)) == set(expected)


@pytest.mark.parametrize("destructive", [True, False, None])
@pytest.mark.parametrize("world", [True, False, None])
@pytest.mark.parametrize("reads", [True, False, None])
def test_no_hint_makes_any_answer_milder(reads: object, world: object, destructive: object) -> None:
    hints = {"readOnlyHint": reads, "openWorldHint": world, "destructiveHint": destructive}
    for size in range(len(Consequence) + 1):
        for classes in itertools.combinations(Consequence, size):
            raised = answers(combine(raised_by_hints(classes, hints)))
            assert all(a >= b for a, b in zip(raised, answers(combine(classes)), strict=True))
