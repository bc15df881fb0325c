"""Whether the inputs that a body gets are the ones that stand: compared as JSON values, and never as what Python takes for equal."""

import pytest

from toolwitness.recording.desk_side import same_json


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1,"b":[true]}', b'{ "b": [true], "a": 1 }'),
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":12.50}', b'{"a":12.5}'),
        (b'{"a":1e400}', b'{ "a":1e400}'),
        (b'"\\ud800"', b'"\\uD800"'),
        (b"{", b"{"),
    ],
)
def test_what_says_the_same_is_the_same(one: bytes, other: bytes):
    assert same_json(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":true}', b'{"a":1}'),
        (b'{"a":[0]}', b'{"a":[false]}'),
        (b'{"a":{"b":1.0}}', b'{"a":{"b":true}}'),
        (b'{"a":1e400}', b'{"a":1e500}'),
        (b'{"a":null}', b"{}"),
        (b'{"a":"1"}', b'{"a":1}'),
        (b"{", b"{}"),
        (b"[" * 100_000, b"[" * 99_999),
    ],
)
def test_what_says_something_else_is_not(one: bytes, other: bytes):
    assert not same_json(one, other)
