"""Nothing hides in foreign text, nothing acts, and nothing is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.presentation.foreign import CUT_AT, boundary, disarmed, isolate, line, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pay \u202e001 €", "pay ⟨U+202E⟩001 €"),
        ("\x1b]0;title\x07\x1b[2Jgone", "⟨U+001B⟩]0;title⟨U+0007⟩⟨U+001B⟩[2Jgone"),
        ("a\u200bb\ufeffc\u00add", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩d"),
        ("\U000e0041\U000e0042", "⟨U+E0041⟩⟨U+E0042⟩"),
        ("half \ud83d of a pair", "half ⟨U+D83D⟩ of a pair"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("⟦2026-11-30T12:00:00Z⟧", "⟨U+27E6⟩2026-11-30T12:00:00Z⟧"),
        ("pa\u200dypal", "pa⟨U+200D⟩ypal"),
        ("\u200d", "⟨U+200D⟩"),
        ("carriage\rreturn", "carriage⟨U+000D⟩return"),
        ("line\r\nbreak", "line\nbreak"),
        ("tab\tand\nbreak stay", "tab\tand\nbreak stay"),
    ],
)
def test_what_would_hide_or_act_is_shown_in_its_place(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize("text", ["👩\u200d👩\u200d👧 family", "نمی\u200cخواهم", "क्\u200dष", "é e\u0301", "日本語", "❤️", "אבג"])
def test_honest_scripts_and_emoji_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


@given(st.text(st.characters()))
def test_no_control_or_format_character_survives_except_honest_joiners(text: str) -> None:
    shown = visible(text)
    bad = {c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} and c not in "\n\t"}
    assert bad == set()
    assert not {"\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f"} & set(shown)


@given(st.text(st.characters()))
def test_showing_twice_changes_nothing_more(text: str) -> None:
    assert visible(visible(text)) == visible(text)


def test_a_line_is_one_line_and_says_what_it_cut() -> None:
    assert line("a\nb\tc") == "a↵b⇥c"
    assert line("x" * (CUT_AT + 7)) == "x" * CUT_AT + "… (7 more characters)"


def test_right_to_left_text_reorders_no_neighbour() -> None:
    assert isolate("plain é") == "plain é"
    assert isolate("שלום 100") == "\u2068שלום 100\u2069"
    assert line("שלום") == "\u2068שלום\u2069"


def test_our_own_isolates_and_times_are_left_alone_when_a_card_is_drawn() -> None:
    assert disarmed("by \u2068שלום\u2069 ⟦2026-11-30T12:00:00Z⟧\x1b") == "by \u2068שלום\u2069 ⟦2026-11-30T12:00:00Z⟧⟨U+001B⟩"


@pytest.mark.parametrize("at", range(1, 40))
def test_a_cut_never_parts_what_a_reader_sees_as_one_sign(at: int) -> None:
    signs = [
        "a",
        "b",
        "\U0001f469\u200d\U0001f4bb",
        "\U0001f525",
        "e\u0301",
        "\U0001f1e9\U0001f1ea",
        "\U0001f1eb\U0001f1f7",
        "\U0001f44d\U0001f3fd",
        "\u270b\ufe0f",
        "z",
    ]
    text = "".join(signs)
    whole = {sum(len(sign) for sign in signs[:count]) for count in range(len(signs) + 1)}

    end = boundary(text, at)

    assert end in whole or end == at > len(text)
    assert end <= at
    assert at >= len(text) or line(text, cut_at=at) == visible(text[:end]) + f"… ({len(visible(text)) - end} more characters)"
