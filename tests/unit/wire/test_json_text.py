"""Foreign JSON is read as far as it goes, and every doubt about it has a name and a place."""

import json
import math
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.errors import InvalidInput
from toolwitness.wire.json_text import ProblemCode, loads_strict, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
P = ProblemCode


@pytest.mark.parametrize(
    ("text", "value", "problems"),
    [
        ("", None, [(P.EMPTY, "", 0)]),
        ("  \n", None, [(P.EMPTY, "", 3)]),
        ('{"orig', {}, [(P.TRUNCATED, "", 6)]),
        ('{"a": 1, "b": "x', {"a": 1}, [(P.TRUNCATED, "/b", 16)]),
        ('{"a": {"b": [1, 2', {"a": {"b": [1]}}, [(P.TRUNCATED, "/a/b/1", 17)]),
        ('{"n": 12', {}, [(P.TRUNCATED, "/n", 8)]),
        ('{"n": 12 ', {"n": 12}, [(P.TRUNCATED, "", 9)]),
        ('{"n": -', {}, [(P.TRUNCATED, "/n", 7)]),
        ('{"n": 1.', {}, [(P.TRUNCATED, "/n", 8)]),
        ('{"t": tr', {}, [(P.TRUNCATED, "/t", 8)]),
        ('{"t":', {}, [(P.TRUNCATED, "/t", 5)]),
        ('{"t"', {}, [(P.TRUNCATED, "", 4)]),
        ('{"a": 1,', {"a": 1}, [(P.TRUNCATED, "", 8)]),
        ('["\\', [], [(P.TRUNCATED, "/0", 3)]),
        ('["\\u00', [], [(P.TRUNCATED, "/0", 6)]),
        ('["\\ud83d', [], [(P.TRUNCATED, "/0", 8)]),
        ('["\\ud83d\\u', [], [(P.TRUNCATED, "/0", 10)]),
        ("{'a': 1}", {}, [(P.SYNTAX, "", 1)]),
        ('{"a" 1}', {}, [(P.SYNTAX, "/a", 5)]),
        ('{"a": 1 "b": 2}', {"a": 1}, [(P.SYNTAX, "", 8)]),
        ('{"a": 1,}', {"a": 1}, [(P.SYNTAX, "", 8)]),
        ("[1, 2,]", [1, 2], [(P.SYNTAX, "/2", 6)]),
        ("[1 2]", [1], [(P.SYNTAX, "", 3)]),
        ("[01]", [], [(P.SYNTAX, "/0", 1)]),
        ("[1.2.3]", [], [(P.SYNTAX, "/0", 1)]),
        ('["\\x"]', [], [(P.SYNTAX, "/0", 2)]),
        ("[None]", [], [(P.SYNTAX, "/0", 1)]),
        ("nonsense", None, [(P.SYNTAX, "", 0)]),
        ('{"a":1}{"a":2}', {"a": 1}, [(P.SEVERAL_VALUES, "", 7)]),
        ('{"a":1}\n{"a":2}\n{"a":3}', {"a": 1}, [(P.SEVERAL_VALUES, "", 8)]),
        ('{"a":1} and so', {"a": 1}, [(P.TRAILING_TEXT, "", 8)]),
        ('{"a":1}}', {"a": 1}, [(P.TRAILING_TEXT, "", 7)]),
        ('{"a":1}{"a":', {"a": 1}, [(P.TRAILING_TEXT, "", 7)]),
        ('{"a":1,"a":2}', {"a": 2}, [(P.DUPLICATE_KEY, "/a", 7)]),
        ('{"x":{"a":1,"\\u0061":2}}', {"x": {"a": 2}}, [(P.DUPLICATE_KEY, "/x/a", 12)]),
        ("[1, Infinity, -Infinity]", [1, math.inf, -math.inf], [(P.NOT_FINITE, "/1", 4), (P.NOT_FINITE, "/2", 14)]),
        ('{"n":1e999}', {"n": math.inf}, [(P.INEXACT_NUMBER, "/n", 5)]),
        ('{"n":0.1000000000000000055}', {"n": 0.1}, [(P.INEXACT_NUMBER, "/n", 5)]),
        ('["a\tb"]', ["a\tb"], [(P.CONTROL_CHARACTER, "/0", 3)]),
        ('["\\ud800"]', ["\ud800"], [(P.LONE_SURROGATE, "/0", None)]),
        ('{"\\udfff":1}', {"\udfff": 1}, [(P.LONE_SURROGATE, "/\\udfff", None)]),
    ],
)
def test_every_doubt_is_named_with_its_place(text: str, value: Any, problems: list[tuple[ProblemCode, str, int]]) -> None:
    parsed = parse(text)
    assert parsed.value == value
    assert [(problem.code, problem.path, problem.offset) for problem in parsed.problems] == problems
    assert parsed.exact_text == text
    assert not parsed.is_exact


def test_the_text_of_a_number_that_no_double_holds_is_kept() -> None:
    (problem,) = parse('{"n": 0.1000000000000000055}').problems
    assert problem.detail == "0.1000000000000000055"


def test_not_a_number_stays_what_it_was_called() -> None:
    parsed = parse("[NaN]")
    assert math.isnan(parsed.value[0])
    assert parsed.has(P.NOT_FINITE)
    assert parsed.is_whole


def test_an_integer_of_nineteen_digits_stays_exact_and_is_no_problem() -> None:
    parsed = parse('{"id": 9007199254740993123}')
    assert parsed.value == {"id": 9007199254740993123}
    assert parsed.is_exact


def test_an_integer_too_long_for_python_is_named_and_its_text_kept() -> None:
    digits = "7" * 5000
    parsed = parse(f"[{digits}]")
    assert parsed.problems[0].code == P.INEXACT_NUMBER
    assert parsed.problems[0].detail == digits


def test_bytes_that_are_no_utf8_are_named_and_none_is_lost() -> None:
    raw = b'{"a": "\xff\xfe", "b": 1}'
    parsed = parse(raw)
    assert parsed.problems[0].code == P.INVALID_UTF8
    assert parsed.problems[0].offset == 7
    assert parsed.value["b"] == 1
    assert parsed.exact_text.encode("utf-8", "surrogateescape") == raw


def test_nesting_without_end_is_named_and_read_no_further() -> None:
    parsed = parse("[" * 100_000)
    assert [problem.code for problem in parsed.problems] == [P.TOO_DEEP]


@pytest.mark.parametrize(("text", "kind"), [("[1]", "list"), ('"x"', "str"), ("null", "NoneType"), ("3", "int")])
def test_what_is_not_an_object_is_named_where_one_was_expected(text: str, kind: str) -> None:
    parsed = parse(text, expect="object")
    assert [problem.code for problem in parsed.problems] == [P.NOT_AN_OBJECT]
    assert kind in parsed.problems[0].detail
    assert parse(text).is_exact


def test_a_truncated_text_is_not_also_called_not_an_object() -> None:
    assert [problem.code for problem in parse('"{', expect="object").problems] == [P.TRUNCATED]
    assert [problem.code for problem in parse("", expect="object").problems] == [P.EMPTY]


@given(JSON)
def test_sound_json_is_read_exactly(value: Any) -> None:
    parsed = parse(json.dumps(value, ensure_ascii=False).encode("utf-8"), expect="any")
    assert parsed.is_exact
    assert parsed.value == value


@given(JSON, st.integers(0, 60))
def test_a_text_cut_anywhere_is_truncated_or_empty_and_nothing_else(value: Any, cut: int) -> None:
    text = json.dumps([value])
    cut = cut % len(text)
    parsed = parse(text[:cut])
    assert {problem.code for problem in parsed.problems} <= {P.TRUNCATED, P.EMPTY, P.LONE_SURROGATE}
    assert not parsed.is_whole


@given(JSON, st.integers(0, 60))
def test_what_is_left_of_a_cut_text_was_really_there(value: Any, cut: int) -> None:
    text = json.dumps([value])
    rest = parse(text[: cut % len(text)]).value
    assert rest is None or _is_part(rest, [value])


def _is_part(part: Any, whole: Any) -> bool:
    if type(part) is not type(whole):
        return False
    if isinstance(part, dict):
        members = cast("dict[str, Any]", part)
        return all(key in whole and _is_part(members[key], whole[key]) for key in members)
    if isinstance(part, list):
        return all(_is_part(*pair) for pair in zip(cast("list[Any]", part), whole, strict=False))
    return part == whole


@given(st.text(alphabet='{}[]",:0123456789.eE+-\\udNaInfity tr\n\t\ud800', max_size=30) | st.binary(max_size=20))
def test_whatever_comes_it_answers_and_agrees_with_the_strict_reader(text: Any) -> None:
    parsed = parse(text)
    try:
        value = loads_strict(text)
    except InvalidInput:
        assert not parsed.is_exact
    else:
        assert parsed.is_exact
        assert parsed.value == value
