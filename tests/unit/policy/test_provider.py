"""What the other side said: four words and no others, and only a clear one concludes anything."""

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.provider import CONCLUSIONS, Happened, Said, read_answer
from toolwitness.policy.retry import Conclusion


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("happened", Said(happened=Happened.HAPPENED)),
        (Happened.PARTLY, Said(happened=Happened.PARTLY)),
        (("did-not-happen", "query 7"), Said(happened=Happened.DID_NOT_HAPPEN, reference="query 7")),
        (["unknown", None], Said(happened=Happened.UNKNOWN)),
        (
            {"happened": "partly", "reference": "pay_1", "detail": "one of two nights"},
            Said(happened=Happened.PARTLY, reference="pay_1", detail="one of two nights"),
        ),
        (Said(happened=Happened.HAPPENED, reference="r"), Said(happened=Happened.HAPPENED, reference="r")),
        ({"happened": "happened", "reference": "x" * 900}, Said(happened=Happened.HAPPENED, reference="x" * 500)),
    ],
)
def test_an_answer_is_a_word_with_what_shows_it(given: object, expected: Said) -> None:
    assert read_answer(given) == expected


@pytest.mark.parametrize(
    "given", [None, True, False, 1, "", "yes", "Happened", (), ("happened",), {}, {"happened": "no"}, {"happened": ["happened"]}]
)
def test_what_is_none_of_the_words_is_no_answer(given: object) -> None:
    with pytest.raises(InvalidInput) as wrong:
        read_answer(given)
    assert "happened, did-not-happen, partly, unknown" in wrong.value.remedy


def test_an_answer_that_holds_more_than_an_answer_is_none() -> None:
    with pytest.raises(InvalidInput) as wrong:
        read_answer({"happened": "happened", "refrence": "pay_1"})
    assert wrong.value.facts["field"] == "refrence"


def test_unknown_concludes_nothing_and_only_nothing_happened_makes_it_safe_to_repeat() -> None:
    assert set(CONCLUSIONS) == set(Happened) - {Happened.UNKNOWN}
    assert [word for word, conclusion in CONCLUSIONS.items() if conclusion is Conclusion.NO_EFFECT] == [Happened.DID_NOT_HAPPEN]
