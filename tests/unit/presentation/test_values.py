"""A value on a card is what was recorded, digit for digit, or says what is missing."""

import pytest

from toolwitness.presentation.values import SHOWN_BYTES, Members, Number, members, pairs_of, read, redacted, scalar, shape, written


def test_numbers_keep_every_digit_and_nan_stays_nan() -> None:
    text = read(b'{"id":1234567890123456789,"x":1e400,"y":NaN,"z":0.10}')
    assert text.text == '{"id":1234567890123456789,"x":1e400,"y":NaN,"z":0.10}'
    assert [str(value) for _, value in members(text.parsed)] == ["1234567890123456789", "1e400", "NaN", "0.10"]


def test_a_repeated_name_is_shown_twice() -> None:
    assert members(read(b'{"a":1,"a":2}').parsed) == (("a", "1"), ("a", "2"))


def test_bytes_that_are_no_text_are_shown_one_by_one() -> None:
    text = read(b"caf\xe9")
    assert (text.text, text.is_json) == ("caf\\xe9", False)
    assert "not UTF-8" in text.note


def test_a_long_value_is_cut_between_characters_and_says_where_the_whole_is() -> None:
    text = read(b'"' + "é".encode() * SHOWN_BYTES + b'"', ref="val_9")
    assert not text.complete
    assert text.text == '"' + "é" * (SHOWN_BYTES // 2 - 1)
    assert text.note == f"The first 65536 of {2 * SHOWN_BYTES + 2} bytes. The whole is kept in the record as value val_9."


def test_a_long_value_that_is_no_text_is_cut_too() -> None:
    text = read(b"\xff" * (SHOWN_BYTES + 1))
    assert len(text.text) == SHOWN_BYTES
    assert text.note.endswith("The whole is kept in the record.")


def test_depth_is_no_way_to_break_a_card() -> None:
    assert read(b"[" * 100_000).is_json is False
    assert "… (nested deeper)" in written(read(b"[" * 60 + b"]" * 60).parsed)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Number("1.50"), "1.50"), ("text", "text"), (True, "true"), (None, "null"), (7, "7"), ({"a": ["b", 1]}, '{"a": ["b", 1]}'),
        (Members([("a", Number("01e5")), ("a", None)]), '{"a": 01e5, "a": null}'), (("x",), '["x"]'), ({1: object}, None),
    ],
)  # fmt: skip  # a table
def test_any_value_has_one_line(value: object, expected: str | None) -> None:
    actual = scalar(value)
    assert actual == expected if expected is not None else "class" in actual


def test_what_policy_redacts_is_not_in_the_text_and_is_named() -> None:
    inputs = read(b'{"card":{"number":"4111","a/b":["x","y"]},"n":1}')
    text = redacted(inputs, ["/card/number", "/card/a~1b/1", "/nowhere", "/n/0", "/card/a~1b/9"])
    assert text.text == '{"card": {"number": "(not shown, by policy)", "a/b": ["x", "(not shown, by policy)"]}, "n": 1}'
    assert text.note == "Not shown, by policy: /card/number, /card/a~1b/1."
    assert not text.complete


def test_redaction_that_finds_nothing_changes_nothing() -> None:
    text = read(b'{"n":1}')
    assert redacted(text, ["/m"]) is text
    assert redacted(text, []) is text


def test_a_name_that_stands_twice_is_redacted_each_time() -> None:
    text = redacted(read(b'{"a":{"n":1},"a":{"n":2}}'), ["/a/n"])
    assert text.text == '{"a": {"n": "(not shown, by policy)"}, "a": {"n": "(not shown, by policy)"}}'


def test_all_of_a_value_can_be_redacted() -> None:
    text = redacted(read(b'{"n":1}'), [""])
    assert (text.text, text.note) == ('"(not shown, by policy)"', "Not shown, by policy: all of it.")


def test_a_value_in_which_nothing_can_be_found_is_not_shown_where_policy_redacts() -> None:
    text = redacted(read(b"number=4111"), ["/number"])
    assert (text.text, text.complete) == ("", False)
    assert "none of it is shown" in text.note


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"options":[1,2],"fees":[],"n":1}', "options: 2, fees: 0"), (b"[1]", "1 entry"), (b"[1,2]", "2 entries"),
        (b'{"n":1}', "1 field"),
        (b'{"n":1,"m":2}', "2 fields"), (b"{}", ""), (b"7", ""), (b"not json", "8 characters"), (b"x" * 70_000, "70000 bytes"),
    ],
)  # fmt: skip  # a table
def test_a_value_says_in_a_few_words_what_it_holds(raw: bytes, expected: str) -> None:
    assert shape(read(raw)) == expected


def test_members_are_those_of_objects_only() -> None:
    assert members([1]) == ()
    assert pairs_of({"a": 1}) == {"a": 1}
    assert pairs_of("a") == {}
