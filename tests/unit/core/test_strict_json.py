"""Every way in which two readers could read one JSON text differently is refused, by name and place."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import MAX_DEPTH, loads_strict, pointer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("text", "problem", "field"),
    [
        ('{"a": {"b": 1, "b": 2}}', "duplicate-key", "/a/b"),
        ('{"a": 1, "\\u0061": 1}', "duplicate-key", "/a"),
        ('[{"x/y~": NaN}]', "not-finite", "/0/x~1y~0"),
        ("[1, Infinity]", "not-finite", "/1"),
        ("[-Infinity]", "not-finite", "/0"),
        ('{"n": 1e999}', "inexact-number", "/n"),
        ('{"n": 0.1000000000000000055}', "inexact-number", "/n"),
        ('{"n": 1e99999999999999999999999}', "inexact-number", "/n"),
        ('{"n": 1e-999}', "inexact-number", "/n"),
        ('{"n": ' + "9" * 4301 + "}", "inexact-number", "/n"),
        ('{"s": "\\ud800"}', "lone-surrogate", "/s"),
        ('{"s": "\\uDC00x"}', "lone-surrogate", "/s"),
        ('{"\\ud800": 1}', "lone-surrogate", "/\\ud800"),
        ('{"s": "\ud800"}', "lone-surrogate", "/s"),
        ("{'a': 1}", "syntax", ""),
        ('{"a": 1', "syntax", ""),
        ('{"a": 1}{"a": 2}', "syntax", ""),
        ("", "syntax", ""),
        (b'{"a": "\xff"}', "invalid-utf-8", ""),
        ("[" * 100_000, "too-deep", ""),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "too-deep", "/0/0/0"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_its_place(text: Any, problem: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        loads_strict(text)
    assert (caught.value.facts["problem"], caught.value.facts["field"]) == (problem, field)
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9223372036854775807", 9223372036854775807),
        ("[1234567890123456789012345678901234567890]", [1234567890123456789012345678901234567890]),
        ("0.1", 0.1),
        ("1.10", 1.1),
        ("1e3", 1000.0),
        ("0.30000000000000004", 0.30000000000000004),
        ("5e-324", 5e-324),
        ('"\\ud83d\\ude00"', "😀"),
        ("\ufeff{}", {}),
        (b"\xef\xbb\xbf[]", []),
        ('"\u2028\u2029\u0085"', "\u2028\u2029\u0085"),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
    ],
)
def test_what_has_one_meaning_is_read_exactly(text: bytes | str, expected: Any) -> None:
    actual = loads_strict(text)
    assert expected is None or (actual == expected and type(actual) is type(expected))


@given(JSON)
def test_what_python_writes_is_read_back_equal(value: Any) -> None:
    assert loads_strict(json.dumps(value)) == value
    assert loads_strict(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-\\udNa tr\ud800', max_size=30))
def test_any_text_is_read_or_refused_and_never_becomes_a_number_that_is_not_finite(text: str) -> None:
    try:
        value = loads_strict(text)
    except InvalidInput:
        return
    assert not isinstance(value, float) or math.isfinite(value)
    json.dumps(value, allow_nan=False)


def test_a_pointer_can_always_be_printed() -> None:
    assert pointer(("a/b", 0, "~", "\ud800")) == "/a~1b/0/~0/\\ud800"
