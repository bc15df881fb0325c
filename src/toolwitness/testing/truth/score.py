"""The score of one capture: false claims, missed claims, and what cannot be judged, each with its rows and its reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwitness.testing.truth import rows as row_words
from toolwitness.testing.truth import streams as stream_words
from toolwitness.testing.truth.claims import Claims, Expectation, Verdict, claims_of, occurrence, states
from toolwitness.testing.truth.decisions import decisions
from toolwitness.testing.truth.episodes import Book, Row, Truth, settle
from toolwitness.testing.truth.false import Case, decided_falsely, false_claims, unscored_aspects

Allowed = Callable[[Sequence[Row]], Iterable[Expectation]]


@dataclass(slots=True)
class Score:
    """What a replay is worth."""

    file: str
    calls: int = 0
    claims: Counter[str] = field(default_factory=Counter[str])
    """How many calls the record shows in each state."""
    allowed: int = 0
    """How many claims whole evidence allows."""
    false: list[Verdict] = field(default_factory=list[Verdict])
    missed: list[Verdict] = field(default_factory=list[Verdict])
    undecided: list[Verdict] = field(default_factory=list[Verdict])
    """What cannot be judged, with its reason."""
    unscored: int = 0
    """How many calls have no truth."""

    def add(self, other: "Score") -> None:
        """Add another file's score to this one."""
        self.calls += other.calls
        self.claims += other.claims
        self.allowed += other.allowed
        self.false += other.false
        self.missed += other.missed
        self.undecided += other.undecided
        self.unscored += other.unscored

    def __str__(self) -> str:
        """Give the score in one line."""
        shown = " ".join(f"{state}={count}" for state, count in sorted(self.claims.items()))
        return (
            f"{self.file:<46} calls={self.calls:<3} unscored={self.unscored:<3} allowed={self.allowed:<3} "
            f"false={len(self.false)} missed={len(self.missed)}  {shown}"
        )


def score(
    result: Mapping[str, Any], rows: Iterable[Row], *, allowed: Allowed, name: str = "", executed: Mapping[str, Any] | None = None
) -> Score:
    """Judge the result of a replay against the rows of its capture, ``truth`` included.

    ``executed`` holds the inputs that the record says were executed, by invocation.
    """
    rows = _numbered(rows)
    told = Score(name or str(result["file"]))
    claims = claims_of(result, rows)
    truth = truth_of(rows, [(one.call, one.tool) for one in claims])
    made = decisions(rows, [one.call for one in claims])
    case = Case(rows=rows, truth=truth, decisions=made, executed=dict(executed or {}))
    expected = list(allowed(rows))
    told.calls, told.claims = sum(len(one.documents) for one in claims), states(claims)
    for claim in claims:
        told.false += decided_falsely(claim, case)
        runs = truth.of(claim.call, claim.tool)
        if runs is None:
            told.unscored += len(claim.documents)
            told.undecided += [_undecided(claim, document, "no row of truth tells of this call") for document in claim.documents]
            continue
        told.false += false_claims(claim, runs, case)
        told.undecided += [_undecided(claim, document, why) for document, why in unscored_aspects(claim, runs, truth)]
        for expectation in (one for one in expected if one.call == claim.call):
            told.allowed += 1
            if not expectation.made(claim):
                told.missed.append(_missed(claim, expectation))
    told.missed += [_absent(one) for one in _of_nobody(expected, claims)]
    told.allowed += len(_of_nobody(expected, claims))
    told.undecided += [
        Verdict(call="", said=mark.word, true_rows=(mark.row,), reason="a word of truth that the judge does not know")
        for mark in truth.unread
    ]
    return told


def truth_of(rows: Sequence[Row], calls: Sequence[tuple[str, str]]) -> Truth:
    """Read what the bodies of a capture wrote; ``calls`` are those of the record, by (id, tool), for truth that names no call."""
    streams = any(row.get("kind") == "chunk" for row in rows) or any("ev" in _event(row) for row in rows if row.get("src") == "truth")
    words = stream_words.marks(rows) if streams else row_words.marks(rows)
    truth = Book(calls).read(words, watched=streams and stream_words.watches(rows))
    return truth if streams else settle(truth, rows, results=row_words.is_result, shown=row_words.shows_result, asked=row_words.asks)


def episodes(rows: Sequence[Row], calls: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Give the runs of each call, by its provider's id."""
    return truth_of(_numbered(rows), calls).runs


def _numbered(rows: Iterable[Row]) -> list[Row]:
    return [row if isinstance(row.get("seq"), int) else {**row, "seq": number} for number, row in enumerate(rows, start=1)]


def _event(row: Row) -> Row:
    event = row.get("event")
    return event if isinstance(event, dict) else {}


def _undecided(claims: Claims, document: Row, why: str) -> Verdict:
    return Verdict(
        call=claims.call, invocation=document["identity"]["invocationId"], occurrence=occurrence(document), said=str(document["state"]),
        said_rows=tuple(claims.rows(document)), reason=why,
    )  # fmt: skip  # one verdict


def _missed(claims: Claims, expected: Expectation) -> Verdict:
    document = claims.documents[-1]
    return Verdict(
        call=claims.call, invocation=document["identity"]["invocationId"], occurrence=occurrence(document), said=", ".join(claims.states),
        true=expected.claim, said_rows=tuple(claims.rows(document)), true_rows=(expected.row,) * bool(expected.row),
        reason=expected.why or "the recording holds whole evidence for it and the record does not use it",
    )  # fmt: skip  # one verdict


def _of_nobody(expected: Sequence[Expectation], claims: Sequence[Claims]) -> list[Expectation]:
    known = {one.call for one in claims}
    first = {one.call: one for one in reversed(expected) if one.call not in known}
    return [first[call] for call in sorted(first)]


def _absent(expected: Expectation) -> Verdict:
    return Verdict(
        call=expected.call, said="the call is not in the record", true=expected.claim, true_rows=(expected.row,) * bool(expected.row),
        reason=expected.why or "the recording tells of a call that the record does not have",
    )  # fmt: skip  # one verdict
