"""Two declarations of one tool: the stricter answer to each question, and no guess where none is stricter."""

from typing import Any

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.policy.cost import Cost
from toolwitness.policy.merge import stricter
from toolwitness.policy.tool_policy import Inverse, RetryPolicy, ToolPolicy

READS, SHOWS, DESTROYS = Consequence.READ_ONLY, Consequence.EXTERNALLY_VISIBLE, Consequence.DESTRUCTIVE

ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "classes add up": ({"consequences": (READS,)}, {"consequences": (SHOWS,)}, {"consequences": (READS, SHOWS)}),
    "what destroys does not only read": (
        {"consequences": (READS,)},
        {"consequences": (DESTROYS,), "commitment_boundary": "sent"},
        {"consequences": (DESTROYS,), "commitment_boundary": "sent"},
    ),
    "silence is no answer": ({}, {"approval_seconds": 5, "idempotency": "keyed"}, {"approval_seconds": 5, "idempotency": "keyed"}),
    "the shorter time": ({"approval_seconds": 5}, {"approval_seconds": 4}, {"approval_seconds": 4}),
    "everything is in view": ({"scope_fields": ("a",)}, {"scope_fields": ("b", "a")}, {"scope_fields": ("a", "b")}),
    "both must accept the approver": (
        {"approvers": ("role:x", "role:y", "not:proposer")},
        {"approvers": ("role:y", "role:z")},
        {"approvers": ("role:y", "not:proposer")},
    ),
    "one names approvers and the other a reservation": (
        {"approvers": ("not:proposer",)},
        {"approvers": ("role:y",)},
        {"approvers": ("role:y", "not:proposer")},
    ),
    "approvers end a mandate": (
        {"consequences": (SHOWS,), "standing_authorization": "m"},
        {"approvers": ("role:x",)},
        {"consequences": (SHOWS,), "approvers": ("role:x",)},
    ),
    "nothing that stands covers what destroys": (
        {"consequences": (SHOWS,), "standing_authorization": "m"},
        {"consequences": (DESTROYS,), "commitment_boundary": "sent"},
        {"consequences": (SHOWS, DESTROYS), "commitment_boundary": "sent"},
    ),
    "the fewest attempts": ({"retry": RetryPolicy(attempts=3)}, {"retry": RetryPolicy(attempts=2)}, {"retry": RetryPolicy(attempts=2)}),
    "after failures that both allow": (
        {"retry": RetryPolicy(attempts=3, categories=("a", "b"))},
        {"retry": RetryPolicy(attempts=2, categories=("b",))},
        {"retry": RetryPolicy(attempts=2, categories=("b",))},
    ),
    "no failure that both allow": (
        {"retry": RetryPolicy(attempts=3, categories=("a",))},
        {"retry": RetryPolicy(attempts=2, categories=("b",))},
        {"retry": RetryPolicy(attempts=1, categories=("a",))},
    ),
    "the layer that can do less": ({"cancel_support": "task"}, {"cancel_support": "unsupported"}, {"cancel_support": "unsupported"}),
    "the more dangerous repetition": ({"idempotency": "keyed"}, {"idempotency": "not-idempotent"}, {"idempotency": "not-idempotent"}),
    "the same said twice": ({"inverse": Inverse(tool="u")}, {"inverse": Inverse(tool="u")}, {"inverse": Inverse(tool="u")}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_to_each_question_the_stricter_answer_wins_whoever_gives_it_and_once_and_for_all(name: str) -> None:
    first, second, wanted = ANSWERS[name]
    one, other, expected = (ToolPolicy(tool="t", **said) for said in (first, second, wanted))
    actual = stricter(one, other)
    assert actual == expected
    assert stricter(actual, other) == stricter(actual, one) == actual
    assert set(stricter(other, one).demands.classes) == set(actual.demands.classes)


CONTRADICTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "two boundaries": ({"commitment_boundary": "a"}, {"commitment_boundary": "b"}, "commitment_boundary"),
    "two inverses": ({"inverse": Inverse(tool="a")}, {"inverse": Inverse(tool="b")}, "inverse"),
    "two costs": (
        {"cost": Cost(amount="1", currency="EUR")},
        {"cost": Cost(amount="2", currency="EUR")},
        "cost",
    ),
    "nobody is both": ({"approvers": ("role:a",)}, {"approvers": ("role:b",)}, "approvers"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_cannot_be_ordered_is_refused_and_not_guessed(name: str) -> None:
    first, second, field = CONTRADICTIONS[name]
    with pytest.raises(InvalidInput) as refused:
        stricter(ToolPolicy(tool="t", **first), ToolPolicy(tool="t", **second))
    assert refused.value.facts["field"] == field
    assert refused.value.remedy
