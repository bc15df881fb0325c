"""Values beside evidence: which are one, though they were sealed by different keys."""

import json

import pytest

from toolwitness.core.values import SEALED_MEDIA, same_value, value_ref


def envelope(**said: object) -> bytes:
    return json.dumps({"by": "key_1", "box": "a", "shown": "s", "hidden": [{"at": "/p", "by": "x"}]} | said).encode()


@pytest.mark.parametrize(("other", "media", "expected"), [
    (envelope(), SEALED_MEDIA, True),
    (envelope(), "application/json", True),
    (envelope(by="key_2", box="b"), SEALED_MEDIA, True),
    (envelope(by="key_2", box="b"), "application/json", False),
    (envelope(by="key_2", shown="t"), SEALED_MEDIA, False),
    (envelope(by="key_2", hidden=[]), SEALED_MEDIA, False),
    (envelope(box="b"), SEALED_MEDIA, False),
    (b"[]", SEALED_MEDIA, False),
    (b"{}", SEALED_MEDIA, False),
    (b"no json", SEALED_MEDIA, False),
])  # fmt: skip  # a table
def test_two_values_are_one_where_they_say_the_same(other: bytes, media: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    assert same_value(envelope(), other, media) is expected


def test_a_reference_names_source_event_and_name_and_counts_reuse() -> None:
    named = (("s", "e", "n"), ("s", "e", "m"), ("s", "f", "n"), ("t", "e", "n"))
    refs = {*(value_ref(*one) for one in named), value_ref("s", "e", "n", reuse=1)}
    assert len(refs) == 5
    assert {len(ref) for ref in refs} == {36}
