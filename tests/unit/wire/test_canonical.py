"""The canonical bytes are those of RFC 8785, and what has none is refused by name."""

import json
from enum import StrEnum
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.errors import InvalidInput
from toolwitness.wire.canonical import MAX_INTEGER, canonical

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6)
FIELDS = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=15,
)


@given(FIELDS)
def test_the_bytes_are_those_of_an_independent_implementation(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text(alphabet="aé\ue000\uffff\U00010000\U0001f600", max_size=3), st.integers(0, 9)))
def test_keys_are_ordered_by_utf16_units(value: dict[str, int]) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_an_astral_key_stands_before_a_private_one() -> None:
    assert canonical({"\ue000": 1, "\U0001f600": 2}) == '{"😀":2,"\ue000":1}'.encode()
    assert canonical({"a": [{"\ue000": 1, "\U0001f600": 2}]}) == '{"a":[{"😀":2,"\ue000":1}]}'.encode()


@given(FIELDS)
def test_the_bytes_read_back_are_the_value_and_give_the_same_bytes(value: Any) -> None:
    again = json.loads(canonical(value))
    assert again == value
    assert canonical(again) == canonical(value)


class _Word(StrEnum):
    YES = "yes"


def test_words_of_ours_and_tuples_are_texts_and_lists() -> None:
    assert canonical({"word": _Word.YES, "refs": ("a", "b")}) == b'{"refs":["a","b"],"word":"yes"}'


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"amount": 1.5}, "/amount"),
        ({"a": [0, 2.0]}, "/a/1"),
        ({"a": {"b/c": float("nan")}}, "/a/b~1c"),
        (MAX_INTEGER + 1, ""),
        ([-MAX_INTEGER - 1], "/0"),
        ({"s": "\ud800"}, "/s"),
        ({"\udc00": 1}, "/\\udc00"),
        ({"a": {1: 2}}, "/a"),
        ({"a": b"x"}, "/a"),
        ({"a": {1, 2}}, "/a"),
        ({"z": [1.5], "a": 1}, "/z/0"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_name(value: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        canonical(value)
    assert caught.value.facts["field"] == field
    assert caught.value.remedy


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="levels"):
        canonical(loop)
