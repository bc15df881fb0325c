"""The same card, drawn in a terminal: the same words in the same order, and nothing that the card does not say."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.states import State
from toolwitness.presentation.terminal_text import (
    EVIDENCE,
    Glyphs,
    Screen,
    block,
    columns,
    inked,
    local,
    page,
    paragraph,
    shown,
    wrapped,
)
from toolwitness.presentation.words import counted

Document = Mapping[str, Any]

_STATES: Final = MappingProxyType({
    State.PROPOSED.value: ("○", "( )"),
    State.AWAITING_INPUT.value: ("◇", "[?]"),
    State.AWAITING_APPROVAL.value: ("‖", "[|]"),
    State.QUEUED.value: ("◔", "[.]"),
    State.RUNNING.value: ("▶", "[>]"),
    State.STREAMING.value: ("»", "[=]"),
    State.PARTIALLY_COMPLETE.value: ("◐", "[/]"),
    State.SUCCEEDED.value: ("✓", "[+]"),
    State.FAILED.value: ("✗", "[x]"),
    State.CANCELLED.value: ("□", "[-]"),
    State.EXPIRED.value: ("◌", "[~]"),
})  # fmt: skip  # one line a state
_NO_STATE: Final = ("·", "[ ]")
_MARKS: Final = MappingProxyType({
    "fact": ("●", "*", ""),
    "gap": ("◌", "-", "quiet"),
    "request": ("◎", "?", "wait"),
    "violation": ("▲", "!", "violation"),
    "refused": ("⊘", "x", "bad"),
    "held": ("◑", "~", "quiet"),
})  # fmt: skip  # one line a mark
_STRIPS: Final = MappingProxyType({"violation": ("▲", "!"), "warning": ("△", "!"), "note": ("·", "-"), "request": ("◎", "?")})
_MARGIN: Final = "  "
_TERM_COLUMNS: Final = 20
_READABLE: Final = 28
"""Columns that a text needs beside its term; with fewer it stands under it."""
_INDENT: Final = 2


def draw_card(card: Document, screen: Screen) -> str:
    """Draw one card; the last line names the zone of its times."""
    return page([*_card(card, screen), "", *_zone(screen)])


def draw_task(card: Document, screen: Screen) -> str:
    """Draw a task: what its parts add up to, then their cards, parts under what they are part of."""
    lines = _heading(card, screen)
    lines += paragraph(shown(card["subtitle"], screen), screen, ink="quiet")
    lines += paragraph(shown(card["summary"], screen), screen, ink=card["tone"])
    lines += _findings(card, screen)
    lines += _controls(card, screen)
    for part in card["cards"]:
        depth = _INDENT * int(part.get("depth", 0))
        narrower = _narrowed(screen, depth)
        lines += ["", *(" " * depth + row if row else row for row in _card(part, narrower))]
    return page([*lines, "", *_zone(screen)])


def draw_rows(rows: Sequence[Document], screen: Screen) -> str:
    """Draw a list of tasks, one task in two lines."""
    lines: list[str] = []
    for row in rows:
        touched = f" · {local(str(row['at']), screen)}" if row["at"] else ""
        lines += [*_heading(row, screen), *paragraph(f"{shown(row['summary'], screen)}{touched} · {row['id']}", screen, ink="quiet"), ""]
    return page(lines or ["No task is recorded yet."])


def draw_inbox(inbox: Document, screen: Screen) -> str:
    """Draw what waits for a decision, or say that nothing does."""
    if not inbox["items"]:
        return page([shown(inbox["empty"], screen)])
    lines = paragraph(shown(inbox["title"], screen), screen, first="", rest="", bold=shown(inbox["title"], screen))
    for card in inbox["items"]:
        lines += ["", *_card(card, screen)]
    return page([*lines, "", *_zone(screen)])


def _narrowed(screen: Screen, by: int) -> Screen:
    return Screen(
        width=screen.columns - by, ink=screen.ink, glyphs=screen.glyphs, zone=screen.zone, now=screen.now, opened=screen.opened
    )  # fmt: skip  # one screen


def _zone(screen: Screen) -> list[str]:
    """Name the zone in which times are written."""
    name = screen.now.astimezone(screen.zone).tzname() if screen.now else screen.zone.tzname(None)
    return [inked(f"Times are in {name or 'the zone of this terminal'}.", "quiet", screen)]


def _sign(signs: tuple[str, ...], screen: Screen) -> str:
    return signs[1] if screen.glyphs is Glyphs.ASCII else signs[0]


# ── the card, top to bottom ─────────────────────────────────────────────────────────────────────────────────────────


def _card(card: Document, screen: Screen) -> list[str]:
    return [
        *_heading(card, screen),
        *_meta(card, screen),
        *_pointers(card["lineage"], "↳ ", screen),
        *_requests(card, screen),
        *_findings(card, screen),
        *_facts(card["facts"], screen),
        *_progress(card, screen),
        *_pointers(card["blocked"], "", screen),
        *_controls(card, screen),
        *_deadline(card, screen),
        *_output(card, screen),
        *_disclosures(card, screen),
        *_timeline(card["timeline"], screen),
    ]


def _heading(card: Document, screen: Screen) -> list[str]:
    """Set the state in sign and word, then what it is for."""
    sign = _sign(_STATES.get(card["glyph"], _NO_STATE), screen)
    label, title = shown(card["label"], screen), shown(card["title"], screen)
    head = f"{sign} {label}"
    lines = wrapped(f"{head}  {title}", screen.columns)
    first, *rest = lines
    if not first.startswith(head):
        return [inked(row, "bold", screen) for row in lines]
    first = inked(head, card["tone"], screen) + inked(first.removeprefix(head), "bold", screen)
    return [first, *(_MARGIN + inked(row, "bold", screen) for row in rest)]


def _meta(card: Document, screen: Screen) -> list[str]:
    said = [shown(part["text"], screen) for part in card["meta"]]
    parts = [shown(card["tool"], screen), f"attempt {card['attempt']}", *said, shown(card["id"], screen)]
    return paragraph(" · ".join(part for part in parts if part), screen, ink="quiet")


def _pointers(pointers: Sequence[Document], before: str, screen: Screen) -> list[str]:
    lines: list[str] = []
    for pointer in pointers:
        target = f" [{shown(pointer['target'], screen)}]"
        lines += paragraph(f"{before}{shown(pointer['text'], screen)}{target}", screen, ink="quiet")
    return lines


def _requests(card: Document, screen: Screen) -> list[str]:
    lines: list[str] = []
    for request in card["requests"]:
        lead, _, rest = str(request["text"]).partition(". ")
        when = f" {local(request['at'], screen)}" if request["at"] else ""
        lead = shown(lead, screen)
        text = f"{lead}{when} by {shown(request['by'], screen)}. {shown(rest, screen)}"
        sign = f"{_MARGIN}{_sign(_STRIPS['request'], screen)} "
        lines += paragraph(text, screen, first=sign, rest=" " * columns(sign), ink="wait", bold=lead)
    return lines


def _findings(card: Document, screen: Screen) -> list[str]:
    lines: list[str] = []
    for finding in card["findings"]:
        headline = shown(finding["headline"], screen)
        sign = f"{_MARGIN}{_sign(_STRIPS.get(finding['severity'], _STRIPS['note']), screen)} "
        text = f"{headline} {shown(finding['detail'], screen)}"
        lines += paragraph(text, screen, first=sign, rest=" " * columns(sign), ink=finding["severity"], bold=headline)
    return lines


def _terms(rows: Sequence[tuple[str, str, str]], screen: Screen, *, margin: str = _MARGIN) -> list[str]:
    """Set terms and texts in two columns, or one under the other where the screen is too narrow for that."""
    width = min(_TERM_COLUMNS, max((columns(term) for term, _, _ in rows), default=0))
    room = screen.columns - columns(margin) - width - _INDENT
    stacked = room < _READABLE
    if stacked:
        width, room = 0, screen.columns - columns(margin) - _INDENT
    lines: list[str] = []
    for term, text, ink in rows:
        beside = not stacked and columns(term) <= width
        lines += [] if beside else [margin + inked(term, "quiet", screen)]
        for number, row in enumerate(wrapped(text, room)):
            left = term if number == 0 and beside else ""
            lines.append(margin + inked(left, "quiet", screen) + " " * (width - columns(left) + _INDENT) + inked(row, ink, screen))
    return lines


def _facts(facts: Sequence[Document], screen: Screen) -> list[str]:
    rows = [(shown(f["term"], screen), shown(f["text"], screen), "bold" if f["prominent"] else "") for f in facts]
    return ["", *_terms(rows, screen)] if rows else []


def _progress(card: Document, screen: Screen) -> list[str]:
    said = card["progress"]
    if not said or not said["text"]:
        return []
    percent = f" ({said['percent']} %)" if said["percent"] is not None else ""
    return paragraph(f"{shown(said['text'], screen)}{percent}", screen)


def _controls(card: Document, screen: Screen) -> list[str]:
    """Set what can be done in brackets, and under it what cannot and why."""
    buttons = [f"[{shown(control['label'], screen)}]" for control in card["controls"] if control["enabled"]]
    lines = paragraph("  ".join(buttons), screen, bold="  ".join(buttons)) if buttons else []
    for control in card["controls"]:
        if control["enabled"] and control["why"]:
            lines += paragraph(f"{shown(control['label'], screen)}: {shown(control['why'], screen)}", screen, ink="quiet")
    for control in card["controls"]:
        if not control["enabled"]:
            lines += paragraph(f"{shown(control['label'], screen)} is off: {shown(control['why'], screen)}", screen, ink="quiet")
    return ["", *lines] if lines else []


def _deadline(card: Document, screen: Screen) -> list[str]:
    return paragraph(shown(card["deadline"]["text"], screen), screen, ink="wait") if card["deadline"] else []


# ── one step away ───────────────────────────────────────────────────────────────────────────────────────────────────


def _output(card: Document, screen: Screen) -> list[str]:
    said = card["output"]
    if not said:
        return []
    note = paragraph(shown(said["note"], screen), screen, ink="quiet") if said.get("note") else []
    return ["", *paragraph(f"Output ({counted(said['chunks'], 'part')})", screen, ink="quiet"), *_quoted(said["text"], screen), *note]


def _quoted(text: str, screen: Screen) -> list[str]:
    """Set foreign text behind a bar, exactly and harmlessly."""
    bar = f"{_MARGIN}| "
    return [inked(bar, "quiet", screen) + row for row in block(text.removesuffix("\n"), screen.columns - len(bar))]


def _disclosures(card: Document, screen: Screen) -> list[str]:
    lines: list[str] = [""]
    for disclosure in card["disclosures"]:
        opened = screen.is_open(disclosure["id"])
        lines += _fold(shown(disclosure["title"], screen), screen, opened=opened)
        if opened:
            lines += [*_content(disclosure, screen), ""]
    return lines


def _fold(title: str, screen: Screen, *, opened: object) -> list[str]:
    sign = _sign(("▾", "v") if opened else ("▸", ">"), screen)
    return paragraph(f"{sign} {title}", screen, ink="quiet")


def _content(disclosure: Document, screen: Screen) -> list[str]:
    note = paragraph(shown(disclosure["note"], screen), screen, ink="quiet") if disclosure.get("note") else []
    if disclosure["kind"] == "rows":
        rows = [(shown(row["term"], screen), shown(row["text"], screen), "") for row in disclosure["rows"]]
        return [*_terms(rows, screen, margin="    "), *note]
    return [*(_quoted(disclosure["text"], screen) if disclosure["text"] or not note else []), *note]


def _timeline(timeline: Document, screen: Screen) -> list[str]:
    opened = screen.is_open(EVIDENCE)
    lines = _fold(shown(timeline["title"], screen), screen, opened=opened)
    if opened:
        times = [local(row["at"], screen, timespec="milliseconds") if row["at"] else "" for row in timeline["rows"]]
        width = max((len(time) for time in times), default=0)
        for row, time in zip(timeline["rows"], times, strict=True):
            lines += _evidence(row, time.ljust(width), screen)
    return lines


def _evidence(row: Document, time: str, screen: Screen) -> list[str]:
    """Set one line of the rail: when, what, and by whom."""
    unicode, ascii_sign, ink = _MARKS.get(row["mark"], _MARKS["fact"])
    margin = f"    {time} {_sign((unicode, ascii_sign), screen)} "
    owner = f" ({shown(row['owner'], screen)})" if row["owner"] else ""
    return paragraph(f"{shown(row['text'], screen)}{owner}", screen, first=margin, rest=" " * columns(margin), ink=ink)
