"""What goes into a body and what comes out: checked against the declaration, written exactly, never coerced in silence."""

import functools
import json
import math
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, field_validator

from toolwitness.runtime.encoding import MARK, CannotReadBack, encode_value, is_marked, read_marks
from toolwitness.runtime.results import CheckKind, bind_inputs, check_result, read_inputs


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Booking:
    reference: str
    total: Decimal
    legs: list[str] = field(default_factory=list)


class Fare(BaseModel):
    amount: Decimal
    secret: SecretStr = SecretStr("4111")


class Stubborn:
    def __repr__(self) -> str:
        raise RuntimeError


class Opaque:
    def __repr__(self) -> str:
        return "<a socket>"


def decoded(value: object) -> Any:
    return json.loads(encode_value(value))


# ── encoding ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ({"a": [1, "x", None]}, {"a": [1, "x", None]}),
        ((1, 2), [1, 2]),
        (Decimal("412.50"), "412.50"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Booking("r", Decimal("1.10"), ["a"]), {"reference": "r", "total": "1.10", "legs": ["a"]}),
        (
            Fare(amount=Decimal("2.0")),
            {"amount": "2.0", "secret": {MARK: "nonjson", "type": "pydantic.types.SecretStr", "repr": "SecretStr('**********')"}},
        ),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (timedelta(seconds=1, microseconds=5), "1.000005"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (b"\x00\xff", {MARK: "bytes", "base64": "AP8="}),
        (bytearray(b"a"), {MARK: "bytes", "base64": "YQ=="}),
        (math.nan, {MARK: "number", "text": "NaN"}),
        ([math.inf, -math.inf], [{MARK: "number", "text": "Infinity"}, {MARK: "number", "text": "-Infinity"}]),
        ({1: "a"}, {MARK: "map", "items": [[1, "a"]]}),
        ({"b", "a"}, {MARK: "set", "items": ["a", "b"]}),
        (Opaque(), {MARK: "nonjson", "type": f"{Opaque.__module__}.Opaque", "repr": "<a socket>"}),
        ({MARK: "bytes"}, {MARK: "literal", "value": {MARK: "bytes"}}),
        (1234567890123456789012345, 1234567890123456789012345),
        ("half \ud800 a pair", "half \ud800 a pair"),
    ],
)
def test_every_value_is_written_on_purpose(value: object, expected: object) -> None:
    assert decoded(value) == expected


def test_the_class_of_a_dataclass_is_not_an_instance() -> None:
    assert decoded(Booking)[MARK] == "nonjson"


def test_a_value_whose_own_code_fails_was_still_there() -> None:
    class Broken(dict[str, int]):
        def items(self):
            raise ValueError

    assert decoded(Stubborn())["repr"] == "<its repr raised RuntimeError>"
    assert decoded(Broken(a=1))[MARK] == "nonjson"


def test_a_long_repr_says_how_much_it_leaves_out() -> None:
    class Long:
        def __repr__(self) -> str:
            return "x" * 5000

    assert decoded(Long())["repr"].endswith("… (5000 characters in all)")


def test_a_value_inside_itself_and_a_bottomless_one_end() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]

    assert decoded(loop) == {"again": {MARK: "cycle"}}
    assert f'{{"{MARK}":"deep"}}'.encode() in encode_value(deep)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_plain_json_goes_through_unchanged(value: object) -> None:
    expected = value
    actual = decoded(value)
    assert actual == expected
    assert read_marks(actual) == expected


marked_values = st.recursive(
    st.binary() | st.sampled_from([math.inf, -math.inf]) | st.dictionaries(st.integers(), st.text()) | st.sets(st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([MARK, "a"]), inner),
    max_leaves=10,
)


@given(marked_values)
def test_marks_are_read_back_as_what_they_stood_for(value: object) -> None:
    assert read_marks(decoded(value)) == value


def test_what_is_known_by_its_repr_cannot_be_read_back() -> None:
    with pytest.raises(CannotReadBack, match="<a socket>"):
        read_marks(decoded([Opaque()]))
    with pytest.raises(CannotReadBack, match="deep"):
        read_marks({MARK: "deep"})


def test_a_set_of_pairs_is_read_back_with_tuples_for_lists() -> None:
    assert read_marks(decoded({("a", 1)})) == {("a", 1)}


def test_marks_are_seen_anywhere_in_a_value() -> None:
    assert [is_marked(value) for value in ({"a": [{MARK: "x"}]}, {"a": [1]}, "text")] == [True, False, False]


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def returns(annotation: Any):
    def tool(): ...

    tool.__annotations__["return"] = annotation
    return tool


@pytest.mark.parametrize(
    ("annotation", "value", "kind"),
    [
        (int, 3, CheckKind.PASSED),
        (int, "3", CheckKind.REJECTED),
        (int, True, CheckKind.REJECTED),
        (list[int], (1,), CheckKind.REJECTED),
        (None, None, CheckKind.PASSED),
        (None, 3, CheckKind.REJECTED),
        (Any, 3, CheckKind.UNDECLARED),
        (object, 3, CheckKind.UNDECLARED),
        (Booking, Booking("r", Decimal(1)), CheckKind.PASSED),
        (Booking, {"reference": "r"}, CheckKind.REJECTED),
        (Fare, {"amount": Decimal(1)}, CheckKind.PASSED),
        (Opaque, Opaque(), CheckKind.PASSED),
        (Opaque, 3, CheckKind.REJECTED),
        (Awaitable[int], 3, CheckKind.PASSED),
        (Awaitable, 3, CheckKind.UNDECLARED),
        (AsyncIterator[int], (1, 2), CheckKind.PASSED),
        (Iterator[int], (1, "2"), CheckKind.REJECTED),
        (Iterator, (1,), CheckKind.UNDECLARED),
        (Iterator[int], [1], CheckKind.UNDECLARED),
        (Generator[int, None, str], "all", CheckKind.PASSED),
        (Generator[int, None, str], 4, CheckKind.REJECTED),
        (Generator[int, None, None], (1,), CheckKind.PASSED),
    ],
)
def test_a_result_is_judged_by_what_the_function_declares(annotation: Any, value: object, kind: CheckKind) -> None:
    actual = check_result(returns(annotation), value)

    assert actual.kind is kind
    assert actual.encoded == encode_value(value)
    assert bool(actual.problems) is (kind is CheckKind.REJECTED)


def test_a_function_that_declares_nothing_is_checked_for_nothing() -> None:
    actual = check_result(lambda: 3, 3)

    assert (actual.kind, actual.declared, actual.problems) == (CheckKind.UNDECLARED, "", ())


def test_a_misfit_names_the_place_and_never_the_value() -> None:
    actual = check_result(returns(dict[str, int]), {"card": "4111-1111"})

    assert actual.problems == ("card: Input should be a valid integer",)
    assert actual.declared == "dict[str, int]"


def test_annotations_that_cannot_be_resolved_are_said_to_be_unchecked() -> None:
    actual = check_result(returns("NoSuchType"), 3)

    assert actual.kind is CheckKind.UNDECLARED
    assert "NoSuchType" in actual.problems[0]


def test_a_type_that_pydantic_cannot_check_is_said_to_be_unchecked() -> None:
    class Old(TypedDict):
        a: int

    actual = check_result(returns(Old), {"a": 1})

    assert actual.kind in {CheckKind.UNDECLARED, CheckKind.PASSED}
    assert actual.declared


def test_a_validator_that_breaks_is_a_misfit_and_the_result_is_kept() -> None:
    class Fragile(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            raise RuntimeError(value)

    actual = check_result(returns(Fragile), {"a": 1})

    assert (actual.kind, actual.problems) == (CheckKind.REJECTED, ("its validator raised RuntimeError",))
    assert actual.encoded == b'{"a":1}'


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def book(itinerary_id: str, total: Decimal, *, seats: tuple[int, ...] = (), currency: str = "EUR") -> str:
    return f"{itinerary_id}{total}{seats}{currency}"


def test_values_that_fit_are_passed_on_as_the_very_objects() -> None:
    total = Decimal("412.50")

    bound = bind_inputs(book, {"itinerary_id": "it-7", "total": total})

    assert bound.problems == ()
    assert bound.arguments["total"] is total
    assert bound.encoded == b'{"itinerary_id":"it-7","total":"412.50"}'


def test_json_values_are_read_as_the_declared_types_and_recorded_as_read() -> None:
    bound = bind_inputs(book, {"itinerary_id": "it-7", "total": "412.50", "seats": [1, 2]})

    assert bound.problems == ()
    assert dict(bound.arguments) == {"itinerary_id": "it-7", "total": Decimal("412.50"), "seats": (1, 2)}
    assert bound.encoded == b'{"itinerary_id":"it-7","total":"412.50","seats":[1,2]}'


def test_recorded_inputs_make_the_same_arguments_again() -> None:
    first = bind_inputs(book, {"itinerary_id": "it-7", "total": Decimal("412.50"), "seats": (1,)})

    again = read_inputs(book, first.encoded)

    assert again.arguments == first.arguments
    assert (again.encoded, again.problems) == (first.encoded, ())


def test_each_problem_names_its_field() -> None:
    bound = bind_inputs(book, {"itinerary_id": 7, "seet": 1})

    assert [(p.field, p.kind) for p in bound.problems] == [("itinerary_id", "type"), ("seet", "unexpected"), ("total", "missing")]
    assert str(bound.problems[1]) == "seet: is not an input of this tool; it has: itinerary_id, total, seats, currency"
    assert str(bound.problems[2]) == "total: is required; give a decimal.Decimal"


def test_what_does_not_fit_is_recorded_as_it_came() -> None:
    bound = bind_inputs(book, {"itinerary_id": 7, "total": Opaque()})

    assert bound.arguments["itinerary_id"] == 7
    assert json.loads(bound.encoded)["total"]["repr"] == "<a socket>"
    assert [p.kind for p in bound.problems] == ["type", "type"]


@pytest.mark.parametrize("raw", [b"{", b'{"a":1,"a":2}', b"[]", b"\xff"])
def test_inputs_that_cannot_be_read_in_one_way_are_one_problem(raw: bytes) -> None:
    bound = read_inputs(book, raw)

    assert (bound.arguments, bound.encoded) == ({}, raw)
    assert [(p.field, p.kind) for p in bound.problems] == [("", "type")]
    assert str(bound.problems[0])


def test_wrong_types_in_recorded_inputs_are_named() -> None:
    bound = read_inputs(book, b'{"itinerary_id":true,"total":"many","currency":null}')

    assert [(p.field, p.kind) for p in bound.problems] == [("itinerary_id", "type"), ("total", "type"), ("currency", "type")]


def upload(content: bytes, tags: set[str], factor: float, opaque: Any = None) -> None: ...


def test_marked_values_come_back_as_what_they_were() -> None:
    given_values = {"content": b"\x00", "tags": {"a"}, "factor": math.inf}

    first = bind_inputs(upload, given_values)
    again = read_inputs(upload, first.encoded)

    assert (first.problems, again.problems) == ((), ())
    assert again.arguments == given_values


def test_an_input_known_by_its_repr_only_is_a_problem_when_it_is_read_back() -> None:
    first = bind_inputs(upload, {"content": b"", "tags": set(), "factor": 1.0, "opaque": Opaque()})

    again = read_inputs(upload, first.encoded)

    assert first.problems == ()
    assert [(p.field, p.kind) for p in again.problems] == [("opaque", "type")]
    assert "<a socket>" in again.problems[0].message


def test_a_function_with_open_keywords_takes_more_of_their_type() -> None:
    def tool(name: str, **labels: int) -> None: ...

    assert bind_inputs(tool, {"name": "a", "x": 1}).problems == ()
    assert [p.field for p in bind_inputs(tool, {"name": "a", "x": "1"}).problems] == ["x"]

    def untyped(**anything): ...

    assert bind_inputs(untyped, {"x": Opaque()}).problems == ()


def test_a_positional_only_parameter_cannot_be_an_input() -> None:
    def tool(a: int, /) -> None: ...

    (problem,) = bind_inputs(tool, {"a": 1}).problems

    assert (problem.field, problem.kind) == ("a", "type")
    assert "slash" in problem.message


def test_partials_methods_and_callable_objects_are_read_like_functions() -> None:
    class Tool:
        __hash__ = None  # type: ignore[assignment]  # a callable that cannot be a key of a cache

        def __call__(self, a: int) -> int:
            return a

        def method(self, a: int) -> int:
            return a

    for fn in (functools.partial(book, "it-7"), Tool(), functools.partial(functools.partial(book, "it-7"))):
        assert bind_inputs(fn, {}).problems != ()
    assert bind_inputs(Tool(), {"a": "x"}).problems[0].field == "a"
    assert check_result(Tool(), "x").kind is CheckKind.REJECTED
    assert check_result(Tool().__call__, 1).kind is CheckKind.PASSED


def test_a_callable_without_a_signature_is_not_checked() -> None:
    bound = bind_inputs(dict.update, {"a": 1})

    assert check_result(type("Hidden", (), {"__signature__": 3, "__call__": lambda _self: 1})(), 1).kind is CheckKind.UNDECLARED
    assert bound.encoded == b'{"a":1}'


def test_a_validator_that_breaks_is_a_problem_of_its_input() -> None:
    class Fragile(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            raise RuntimeError(value)

    def tool(fragile: Fragile) -> None: ...

    tool.__annotations__["fragile"] = Fragile
    for bound in (bind_inputs(tool, {"fragile": {"a": 1}}), read_inputs(tool, b'{"fragile":{"a":1}}')):
        assert [(p.field, p.message) for p in bound.problems] == [("fragile", "its validator raised RuntimeError")]


def test_unresolvable_annotations_let_inputs_through_unchecked() -> None:
    def tool(a): ...

    tool.__annotations__["a"] = "NoSuchType"
    assert bind_inputs(tool, {"a": 1}).problems == ()
