"""A terminal shows the card and obeys nobody but us."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.unit.presentation.scenarios import SCENARIOS
from tests.unit.presentation.scene import NOON, Scene
from toolwitness.core.states import State
from toolwitness.core.verdicts import Control
from toolwitness.presentation.terminal import _STATES, draw_card
from toolwitness.presentation.terminal_text import (
    ALL,
    NARROWEST,
    Glyphs,
    Ink,
    Screen,
    block,
    broken,
    columns,
    ink_for,
    inked,
    local,
    paragraph,
    shown,
    wrapped,
)


def test_every_state_has_its_sign_in_both_alphabets() -> None:
    assert set(_STATES) == {state.value for state in State}
    assert all(ascii_sign.isascii() for _, ascii_sign in _STATES.values())


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("width", [40, 80, 132])
def test_no_row_is_wider_than_the_screen(name: str, width: int) -> None:
    text = draw_card(SCENARIOS[name](), Screen(width=width, opened=frozenset({ALL}), now=NOON))
    too_wide = [row for row in text.splitlines() if columns(row) > width]
    assert too_wide == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_ink_changes_no_word(name: str) -> None:
    plain = draw_card(SCENARIOS[name](), Screen(opened=frozenset({ALL})))
    coloured = draw_card(SCENARIOS[name](), Screen(opened=frozenset({ALL}), ink=Ink.ANSI))
    stripped = "\n".join(row.rstrip() for row in __import__("re").sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines())
    assert stripped.strip() == plain.strip()


@pytest.mark.parametrize("name", SCENARIOS)
def test_without_unicode_signs_the_frame_is_ascii(name: str) -> None:
    text = draw_card(SCENARIOS[name](), Screen(glyphs=Glyphs.ASCII))
    assert not set("○◇‖◔▶»◐✓✗□◌●◎▲△⊘◑▸▾") & set(text)


@pytest.mark.parametrize(
    ("no_color", "term", "expected"),
    [
        (None, "xterm-256color", Ink.ANSI), ("", "xterm", Ink.ANSI), ("1", "xterm", Ink.PLAIN), ("0", "xterm", Ink.PLAIN),
        (None, "dumb", Ink.PLAIN), (None, None, Ink.PLAIN), (None, "", Ink.PLAIN),
    ],
)  # fmt: skip  # a table
def test_ink_is_chosen_by_the_environment(no_color: str | None, term: str | None, expected: Ink) -> None:
    assert ink_for(no_color, term=term) is expected


def test_exact_values_are_shown_and_do_not_act() -> None:
    scene = Scene()
    scene.proposed(0, inputs="\x1b[2J\x1b]52;c;ZXZpbA==\x07\r\nb\tc")
    text = draw_card(scene.card(), Screen(opened=frozenset({ALL})))
    assert "\x1b" not in text
    assert "  | ⟨U+001B⟩[2J⟨U+001B⟩]52;c;ZXZpbA==⟨U+0007⟩\n  | b   c\n" in text


def test_a_time_is_the_readers_and_its_day_is_said_unless_it_is_today() -> None:
    paris = timezone(timedelta(hours=1), "CET")
    assert local("2026-11-30T23:30:00Z", Screen(zone=paris, now=datetime(2026, 12, 1, 9, tzinfo=UTC))) == "00:30:00"
    assert local("2026-11-30T23:30:00Z", Screen(zone=paris, now=NOON)) == "2026-12-01 00:30:00"
    assert local("2026-11-30T23:30:00.5Z", Screen(), timespec="milliseconds") == "2026-11-30 23:30:00.500"
    assert local("soon\x1b", Screen()) == "soon⟨U+001B⟩"
    assert local("9999-12-31T23:59:59Z", Screen(zone=paris)) == "9999-12-31T23:59:59Z"


def test_the_zone_of_the_times_is_named() -> None:
    card = Scene().card()
    assert draw_card(card, Screen(zone=timezone(timedelta(hours=1), "CET"), now=NOON)).endswith("Times are in CET.\n")


class Nameless(timezone.__base__):  # type: ignore[name-defined]  # tzinfo itself
    def utcoffset(self, dt: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str | None:
        return None

    def dst(self, dt: datetime | None) -> timedelta:
        return timedelta(0)


def test_a_zone_without_a_name_is_the_terminals() -> None:
    assert draw_card(Scene().card(), Screen(zone=Nameless())).endswith("Times are in the zone of this terminal.\n")


def test_wide_and_combining_characters_take_the_columns_they_take() -> None:
    assert (columns("abc"), columns("日本"), columns("e\u0301"), columns("\u2068a\u2069")) == (3, 4, 1, 1)
    assert list(broken("日本語", 4)) == ["日本", "語"]


def test_words_stay_whole_where_they_fit_and_break_where_they_must() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"]
    assert wrapped("a abcdefgh", 4) == ["a", "abcd", "efgh"]
    assert wrapped("", 4) == [""]


def test_foreign_text_is_set_line_by_line() -> None:
    assert block("one\n\ttwo", 80) == ["one", "    two"]


def test_a_strong_beginning_may_reach_over_a_line_break() -> None:
    rows = paragraph("one two three", Screen(width=NARROWEST, ink=Ink.ANSI), first=" " * 33, rest="", bold="one two")
    assert rows == [" " * 33 + "\x1b[1mone two\x1b[0m", "three"]


def test_no_screen_is_too_narrow_to_read() -> None:
    assert Screen(width=3).columns == NARROWEST


def test_ink_that_nobody_knows_is_no_ink() -> None:
    assert inked("x", "loud", Screen(ink=Ink.ANSI)) == "x"
    assert inked("", "bold", Screen(ink=Ink.ANSI)) == ""


def test_a_break_in_a_sentence_of_ours_is_shown() -> None:
    assert shown("a\nb", Screen()) == "a↵b"


def test_a_title_too_long_for_its_row_goes_on_under_it() -> None:
    scene = Scene()
    scene.proposed(0, purpose="Compare " + "very " * 10 + "many routes")
    first, second, *_ = draw_card(scene.card(), Screen(width=40)).splitlines()
    assert first.startswith("○ Proposed  Compare very")
    assert second.startswith("  very")


def test_a_state_too_long_for_its_row_still_stands_first() -> None:
    card = {**Scene().card(), "label": "A " + "long " * 20, "title": "x"}
    assert draw_card(card, Screen(width=40)).startswith("· A long")


def test_a_note_on_output_and_on_a_part_is_drawn() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    gone = scene.value("x")
    scene.says("output.emitted", 2, order=1, output=gone)
    del scene.values[gone["ref"]]
    text = draw_card(scene.card(), Screen())
    assert "1 earlier or unread part of 1 not on this card." in text


def test_progress_without_words_is_not_drawn() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("progress.reported", 2, order=1, current=3)
    assert "%" not in draw_card(scene.card(), Screen())
    scene.says("progress.reported", 3, order=2, text="reading")
    assert "\n  reading\n" in draw_card(scene.card(), Screen())


def test_a_request_without_a_readable_time_is_drawn_without_one() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("cancellation.requested", 2, actor="ann", scope="s", _time="soon")
    assert "Cancellation requested by ann. Still running" in draw_card(scene.card(), Screen())


def test_what_cannot_be_pressed_says_why_under_what_can() -> None:
    off = Control(action="deny", enabled=False, rule="r", reason="you are not eligible")
    text = draw_card(Scene().card(controls=[Control(action="approve", enabled=True, rule="r"), off]), Screen())
    assert "  [Approve]\n  Deny is off: you are not eligible\n" in text
