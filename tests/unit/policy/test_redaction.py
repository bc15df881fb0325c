"""Which parts of a value are secret, and what the copy that may be shown looks like."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.values import MARKER, Hidden
from toolwitness.policy.redaction import UNREADABLE, Rules, is_marker, markers_in, redact, scrub, scrub_text
from toolwitness.policy.secret_names import SECRET_NAMES, is_secret_name, may_be_named


def shown(raw: str | bytes, **rules: Any) -> str | None:
    """Give the copy that may be shown; ``None`` where all of it may."""
    found = redact(raw if isinstance(raw, bytes) else raw.encode(), Rules(**rules))
    return None if found is None else found.shown


def mark(by: str) -> str:
    return json.dumps({MARKER: by}, separators=(",", ":"))


DECLARED = mark("declared in the tool's policy")
REPEATED = mark("it repeats a secret of this call")


@pytest.mark.parametrize("name", [
    "password", "Password", "user_password", "passwd", "apiKey", "api-key", "API_KEY", "x-api-key", "APIKey", "token",
    "access_token", "tokens",
    "clientSecret", "private_key", "authorization", "Authorization", "card_number", "cardNumber", "cvv", "CVC2", "iban", "ssn",
    "set-cookie", "credentials", "aws_secret_access_key", "passportNumber",
])  # fmt: skip  # names in lines
def test_a_name_that_sounds_secret_is_found_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [
    "", "user", "secretary", "tokenizer", "max_token_count", "card_number_length", "keyboard", "monkey", "next_page_token", "pageToken",
    "idempotency_key", "clientToken", "passage", "compass", "author", "discard", "ibanez",
])  # fmt: skip  # as above
def test_a_name_that_only_looks_alike_is_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_no_secret_name_is_passed_over_at_first_sight(name: str) -> None:
    words = name.split(" ")
    spelled = ["_".join(words), "-".join(words).upper(), words[0] + "".join(word.title() for word in words[1:]), name]
    assert [one for one in spelled if not is_secret_name(one)] == []
    assert [one for one in spelled if not may_be_named(json.dumps({one: "x"}).encode())] == []
    assert may_be_named("".join(f"\\u{ord(letter):04X}" for letter in name).encode())


def test_a_name_that_is_spelt_with_the_sign_of_kelvin_is_found() -> None:
    assert shown('{"to\u212aen":"hunter22"}') == '{"to\u212aen":' + mark("named to\u212aen") + "}"


_DEEP: Final = "[" * 200 + "{}" + "]" * 200
_WORDS = st.sampled_from([
    "code", "zip_code", "token", "tokens", "password", "next_page_token", "note", "", "{", "[]", '{"pin": 1}', '{"pin code": 1}',
    "{'password': 'x'}", '["the token"]', '{"token": null}', '[{"a": "{\\"jwt\\": \\"abc\\"}"}]', "a code", "\ud800 code",
    "x" * 45 + " tokens", _DEEP, _DEEP.replace("{}", '{"code": 1}'), _DEEP.replace("{}", '[{"code": []}]'),
])  # fmt: skip  # words in lines
_VALUES = st.recursive(
    _WORDS | st.none() | st.booleans() | st.integers(-9, 9) | st.just(float("nan")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=12,
)
_TEXTS = st.one_of(_VALUES.map(str), _VALUES.map(json.dumps), _VALUES.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1)))
_RAWS = _TEXTS | _TEXTS.map(lambda text: f'{{"code": {text}, "code": 1, "token": {text}, "token": ""}}')


def sees_nothing(*_: Any) -> bool:
    return False


@given(_RAWS, st.sampled_from([(), ("hunter22",)]))
def test_what_a_glance_calls_plain_is_what_the_whole_reading_calls_plain(text: str, known: tuple[str, ...]) -> None:
    raw, rules = text.encode("utf-8", "surrogatepass"), Rules(known=known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolwitness.policy.redaction._Glance.is_plain", sees_nothing)
        read = redact(raw, rules)
    assert redact(raw, rules) == read


def test_everything_else_stays_as_it_was_written() -> None:
    raw = '{ "n" : 412.50,\n "big":12345678901234567890123, "password":"hunter2", "n":1e2, "u":"\\u00e9\\ud800" }'
    assert shown(raw) == raw.replace('"hunter2"', mark("named password"))


@pytest.mark.parametrize(("pointer", "expected"), [
    ("/card/number", '{"card":{"number":@,"x":1},"cards":[{"n":1},{"n":2}],"a/b":3}'),
    ("/card", '{"card":@,"cards":[{"n":1},{"n":2}],"a/b":3}'),
    ("/cards/*/n", '{"card":{"number":4111,"x":1},"cards":[{"n":@},{"n":@}],"a/b":3}'),
    ("/cards/1", '{"card":{"number":4111,"x":1},"cards":[{"n":1},@],"a/b":3}'),
    ("/card/*", '{"card":{"number":@,"x":@},"cards":[{"n":1},{"n":2}],"a/b":3}'),
    ("/*/0", '{"card":{"number":4111,"x":1},"cards":[@,{"n":2}],"a/b":3}'),
    ("/a~1b", '{"card":{"number":4111,"x":1},"cards":[{"n":1},{"n":2}],"a/b":@}'),
    ("", "@"),
    ("/nowhere", None),
])  # fmt: skip  # a table
def test_a_pointer_hides_exactly_what_it_names(pointer: str, expected: str | None) -> None:
    raw = '{"card":{"number":4111,"x":1},"cards":[{"n":1},{"n":2}],"a/b":3}'
    assert shown(raw, pointers=(pointer,)) == (expected and expected.replace("@", DECLARED))


def test_a_pointer_hides_what_a_name_does_not() -> None:
    assert shown('{"a":null,"b":true,"password":null,"token":false,"secret":"","tokens":7,"api_key":[]}') is None
    assert shown('{"a":null,"b":true}', pointers=("/a", "/b")) == f'{{"a":{DECLARED},"b":{DECLARED}}}'


def test_a_member_that_stands_twice_is_hidden_each_time() -> None:
    assert shown('{"cvv":1,"cvv":"2"}') == f'{{"cvv":{mark("named cvv")},"cvv":{mark("named cvv")}}}'


def test_whatever_repeats_a_secret_is_hidden_too_before_it_and_after_it() -> None:
    raw = '{"note":"it is hunter22!","password":"hunter22","again":"hunter22","n":4111111,"card_number":4111111,"hunter22":0}'
    expected = (
        f'{{"note":"it is [redacted]!","password":{mark("named password")},"again":{REPEATED},"n":{REPEATED},'
        f'"card_number":{mark("named card_number")},"[redacted]":0}}'
    )
    found = redact(raw.encode(), Rules())
    assert found is not None
    assert (found.shown, found.secrets) == (expected, ("hunter22", "4111111"))
    assert Hidden(at="/[redacted]", by="it repeats a secret of this call") not in found.hidden
    assert "hunter22" not in str(found.hidden)


def test_json_that_is_written_inside_a_text_is_looked_into() -> None:
    inner = json.dumps({"api_key": "sk-123456", "q": 1})
    found = redact(json.dumps({"arguments": inner, "seen": "sk-123456"}).encode(), Rules())
    assert found is not None
    assert "sk-123456" not in found.shown
    assert json.loads(json.loads(found.shown)["arguments"]) == {"api_key": {MARKER: "named api_key"}, "q": 1}


@pytest.mark.parametrize("raw", ['{"password":"hun', '{"password":"x"} and more', "[" * 300 + '{"cvv":1}' + "]" * 300])
def test_what_cannot_be_read_well_enough_is_hidden_whole(raw: str) -> None:
    assert shown(raw) == mark(UNREADABLE)


def test_a_text_is_hidden_whole_where_pointers_were_declared_and_else_only_what_it_repeats() -> None:
    assert shown("Your password was sent.") is None
    assert shown("number=4111", pointers=("/number",)) == mark(UNREADABLE)
    assert shown(b"boom \xff hunter22", known=("hunter22",)) == "boom \\xff [redacted]"


def test_a_tool_may_say_that_its_names_are_plain() -> None:
    assert shown('{"token":"the"}', names="no") is None
    assert shown('{"token":"the"}', names="no", pointers=("/token",)) == f'{{"token":{DECLARED}}}'


@pytest.mark.parametrize("secret", ['it\'s "so"\n', "p\u00e4ss wörd/?", "a\\b\\c\\d", "\u202etxt.exe"])
def test_every_usual_spelling_of_a_secret_is_found(secret: str) -> None:
    from urllib.parse import quote, quote_plus  # noqa: PLC0415 - said where it is used

    written = json.dumps(secret)
    for spelling in (secret, repr(secret), written, json.dumps(written), ascii(secret), quote(secret, safe=""), quote_plus(secret)):
        told = scrub_text(f"<{spelling}>", (secret,))
        assert "[redacted]" in told, spelling
        assert secret not in told


def test_a_short_secret_is_found_as_a_word_and_a_very_short_one_only_in_its_place() -> None:
    assert scrub_text("123 of 1234, 123.", ("123",)) == "[redacted] of 1234, [redacted]."
    assert scrub_text("12 of 12", ("12",)) == "12 of 12"
    assert shown('{"cvv":"12","n":"12"}') == f'{{"cvv":{mark("named cvv")},"n":"12"}}'


def test_the_fields_of_an_event_lose_what_repeats_a_secret_and_keep_what_rules_read() -> None:
    said = {
        "tool": "hunter22", "text": "at hunter22", "fields": [{"message": "hunter22"}], "provider_reference": "hunter22",
        "inputs": {"ref": "val_hunter22", "digest": "hunter22", "bytes": 1}, "cost": {"amount": "hunter22"}, "order": 7,
    }  # fmt: skip  # fields in lines
    expected = said | {"text": "at [redacted]", "fields": [{"message": "[redacted]"}], "provider_reference": "[redacted]"}
    assert scrub(said, ("hunter22",)) == expected


def test_a_number_that_holds_a_secret_number_hides_everything_rather_than_showing_it() -> None:
    assert shown('{"card_number":4111111,"n":41111112}') == mark(UNREADABLE)


def test_what_is_no_text_repeats_nothing() -> None:
    assert scrub({"text": 4111111, "more": [None, True]}, ("4111111",)) == {"text": 4111111, "more": [None, True]}


def test_a_marker_is_known_from_data_by_its_shape() -> None:
    assert is_marker({MARKER: "x"})
    assert not is_marker({MARKER: "x", "a": 1})
    assert sorted(markers_in({"a": [{MARKER: "x"}, 1], "b": {MARKER: "x"}})) == ["/a/0", "/b"]


# ── any value ───────────────────────────────────────────────────────────────────────────────────────────────────────

SECRETS = st.one_of(
    st.text(min_size=8, max_size=20).map(lambda text: "S3cr" + text),
    st.integers(min_value=10**9, max_value=10**19),
    st.text(alphabet="'\"\\\n\u2028é😀/%", min_size=6, max_size=12).map(lambda text: "Q7" + text),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def values_with_secrets(draw: st.DrawFn) -> tuple[Any, tuple[str, ...], list[str | int]]:
    """Draw a JSON value with secrets at pointers, under secret names, and repeated in texts and keys."""
    secrets = draw(st.lists(SECRETS, min_size=1, max_size=3))
    value: dict[str, Any] = draw(st.dictionaries(st.text(max_size=4), PLAIN, max_size=3))
    pointers: list[str] = []
    for number, secret in enumerate(secrets):
        if draw(st.booleans()):
            value[f"box{number}"] = [draw(PLAIN), {"deep": {"x": secret}}]
            place = draw(st.sampled_from(["/1/deep/x", "/*/deep", "/*/*/x", ""]))
            pointers.append(f"/box{number}{place}")
        else:
            value[f"box{number}"] = {draw(st.sampled_from(["password", "apiKey", "card-number"])): secret, "n": draw(PLAIN)}
        if draw(st.booleans()):
            value[f"echo{number}"] = draw(st.sampled_from([f"<{secret}>", secret, [secret], {str(secret): 1}, json.dumps({"in": secret})]))
    return value, tuple(pointers), secrets


@given(values_with_secrets(), st.sampled_from(["ascii", "unicode"]))
def test_no_secret_of_any_value_is_in_the_copy_that_may_be_shown(drawn: tuple[Any, tuple[str, ...], list[str | int]], spelt: str) -> None:
    value, pointers, secrets = drawn
    raw = json.dumps(value, ensure_ascii=spelt == "ascii").encode("utf-8", "surrogatepass")
    found = redact(raw, Rules(pointers=pointers))
    assert found is not None
    said = found.shown + str(found.hidden) + json.dumps(json.loads(found.shown), ensure_ascii=False)
    for secret in map(str, secrets):
        assert secret not in said
        assert json.dumps(secret)[1:-1] not in said
        assert secret in found.secrets
    again = redact(found.shown.encode("utf-8", "surrogatepass"), Rules(pointers=pointers, known=found.secrets))
    assert again is None or not any(str(secret) in again.shown for secret in secrets)


@given(PLAIN)
def test_a_value_without_secrets_is_shown_as_it_is(value: Any) -> None:
    raw = json.dumps(value, ensure_ascii=True).encode()
    assert redact(raw, Rules(names="no", known=("never-to-be-found",))) is None
