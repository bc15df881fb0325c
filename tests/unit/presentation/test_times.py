"""Times are read once, written as tokens, and never guessed."""

from datetime import UTC, datetime

import pytest

from toolwitness.presentation.times import TOKEN, between, instant, iso, span, stamp, token, tokens_in


@pytest.mark.parametrize("text", ["2026-11-30T12:00:00", "soon", "fixture-time", "", None, "0001-01-01T00:00:00+23:59"])
def test_what_is_no_time_with_a_zone_is_no_time(text: str | None) -> None:
    assert instant(text) is None
    assert stamp(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T13:00:00+01:00", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T12:00:00.123456Z", "2026-11-30T12:00:00.123456Z"),
    ],
)
def test_a_time_is_written_in_utc_and_loses_nothing(text: str, expected: str) -> None:
    assert stamp(text) == expected


def test_a_token_is_found_by_its_drawing() -> None:
    assert TOKEN.findall(f"asked {token('2026-11-30T12:00:00Z')} by policy") == ["2026-11-30T12:00:00.000Z"]


def test_what_cannot_be_read_is_quoted_and_what_is_absent_is_named() -> None:
    assert token("fixture-time") == "“fixture-time”"
    assert token("") == "at an unrecorded time"


def test_bare_times_in_our_sentences_become_tokens_and_others_stay() -> None:
    said = "granted by ann at 2026-11-30T12:00:00.5Z, id 2026-11-30T12:00:00Zx"
    assert tokens_in(said) == "granted by ann at ⟦2026-11-30T12:00:00.500Z⟧, id 2026-11-30T12:00:00Zx"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0004, "0 ms"), (0.05, "50 ms"), (0.2, "0.2 s"), (9.94, "9.9 s"), (38.9, "38 s"), (125, "2 min 05 s"), (3720, "1 h 02 min")],
)
def test_spans_are_said_in_plain_words(seconds: float, expected: str) -> None:
    assert span(seconds) == expected


def test_the_time_between_needs_both_times() -> None:
    assert between("2026-11-30T12:00:00Z", "2026-11-30T12:00:01.5Z") == 1.5
    assert between("", "2026-11-30T12:00:01Z") is None
    assert iso(datetime(2026, 11, 30, tzinfo=UTC)) == "2026-11-30T00:00:00.000Z"
