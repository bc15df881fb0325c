"""What the record's own fields cannot hold is spelt out; everything else stays as it is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.wire.canonical import MAX_INTEGER, canonical
from toolwitness.wire.spelling import spelt_out


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("half \ud83d a pair", "half \\ud83d a pair"),
        ({"\udc00": ["\ud800", 1]}, {"\\udc00": ["\\ud800", 1]}),
        (2**70, str(2**70)),
        (-(2**53), str(-(2**53))),
        (MAX_INTEGER, MAX_INTEGER),
        (True, True),
        ("Zürich ✈", "Zürich ✈"),
    ],
)
def test_what_has_no_canonical_form_is_spelt_out_and_the_rest_is_kept(fact: Any, expected: Any) -> None:
    assert spelt_out(fact) == expected


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=3),
)


@given(PLAIN)
def test_whatever_a_stranger_wrote_has_a_canonical_form_once_it_is_spelt_out(fact: Any) -> None:
    assert canonical(spelt_out(fact))
