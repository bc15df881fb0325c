"""The evidence rail: what was observed, asked, refused, held back or never recorded, in the order in which it arrived.

Runs of output, progress and heartbeats are drawn together as one row that counts them; every reference stays in the row.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import Origin, Owner
from toolwitness.core.transitions import Basis
from toolwitness.core.verdicts import Verdict
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import Reading, RecordedEvent, fields
from toolwitness.presentation.sentences import sentence
from toolwitness.presentation.times import stamp, token
from toolwitness.presentation.words import GAPS, OWNERS, counted

Row = dict[str, Any]

REQUESTS: Final = frozenset({Kind.CANCEL_REQUESTED, Kind.RETRY_REQUESTED, Kind.REVERSAL_REQUESTED})
"""What a person asks of somebody else, who may or may not do it."""
_RUNS: Final = frozenset({Kind.OUTPUT, Kind.PROGRESS, Kind.HEARTBEAT})
_LONGEST_RUN: Final = 3
"""So many alike stand as they are; more are drawn together."""
_COUNTED: Final = ("fact", "request", "gap", "violation")
_STATED: Final = ("refused", "held")


def timeline(reading: Reading) -> dict[str, Any]:
    """Give the rail with a title that says what it counts."""
    gaps = _gaps(reading)
    rows: list[Row] = [row for ref in [""] for row in gaps.pop(ref, ())]
    for run in _runs(reading):
        for recorded in run:
            rows += gaps.pop(recorded.event.ref, ())
        rows.append(_row(reading, run[0]) if len(run) == 1 else _run_row(reading, run))
    if Code.OUTCOME_UNKNOWN in reading.record.findings and reading.open:
        rows.append(_gap("No end recorded: how it ended is not known"))
    return {"title": f"Evidence ({_counts(rows)})", "rows": rows}


def _counts(rows: Sequence[Row]) -> str:
    """Count what the rail holds, events and not rows."""
    count = Counter[str]()
    for row in rows:
        count[row["mark"]] += len(row["refs"]) or 1
    said = [counted(count[mark], mark) for mark in _COUNTED if count[mark]]
    said += [f"{count[mark]} {mark}" for mark in _STATED if count[mark]]
    return ", ".join(said) or "nothing recorded"


# ── gaps ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _gap(text: str, refs: Sequence[str] = ()) -> Row:
    detail = [{"term": "shown by", "text": ref} for ref in refs]
    return {"mark": "gap", "at": None, "text": text, "owner": "", "ref": None, "refs": [], "detail": detail}


def _gaps(reading: Reading) -> dict[str, list[Row]]:
    """Give the gaps by the reference of the event before which each belongs; those of an event that is not here stand first."""
    found: dict[str, list[Row]] = {}
    for code, text in GAPS.items():
        finding = reading.record.findings.get(code)
        if finding is None:
            continue
        before = next((ref for ref in finding.refs if ref in reading.by_ref), "")
        found.setdefault(before, []).append(_gap(text, finding.refs[:1]))
    for source, waiting in reading.record.held.items():
        first = waiting[min(waiting)]
        expected = reading.record.next_sequence.get(source, 1)
        found.setdefault(first.ref if first.ref in reading.by_ref else "", []).append(
            _gap(f"Number {expected} of {line(source)} has not arrived; what follows it waits", [first.ref])
        )
    return found


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _runs(reading: Reading) -> Iterator[list[RecordedEvent]]:
    """Give the events in order of arrival, long runs of one kind and mark together."""
    run: list[RecordedEvent] = []
    for recorded in reading.events:
        if run and not _alike(reading, run[-1], recorded):
            yield from _settled(run)
            run = []
        run.append(recorded)
    yield from _settled(run)


def _settled(run: list[RecordedEvent]) -> Iterator[list[RecordedEvent]]:
    if len(run) > _LONGEST_RUN:
        yield run
    else:
        yield from ([recorded] for recorded in run)


def _alike(reading: Reading, one: RecordedEvent, other: RecordedEvent) -> bool:
    kind = one.event.kind
    return kind in _RUNS and other.event.kind == kind and _mark(reading, one) == _mark(reading, other)


def _mark(reading: Reading, recorded: RecordedEvent) -> str:
    """Choose the mark of one event."""
    event = recorded.event
    if recorded.verdict is Verdict.REFUSED:
        return "refused"
    if event.ref in reading.held_refs:
        return "held"
    if recorded.basis == Basis.VIOLATION or event.ref in reading.violation_refs:
        return "violation"
    return "request" if event.kind in REQUESTS else "fact"


def _row(reading: Reading, recorded: RecordedEvent) -> Row:
    event, mark = recorded.event, _mark(reading, recorded)
    text = sentence(reading, recorded)
    if mark == "refused":
        text = f"{text}. Refused: {reading.own(recorded.reason)}"
    elif recorded.reason.startswith("incomplete:"):
        text = f"{text}. It {line(recorded.reason.removeprefix('incomplete: ').removeprefix(event.kind).strip())} and moves nothing"
    return {
        "mark": mark,
        "at": stamp(reading.at(recorded)),
        "text": text,
        "owner": _owner(reading, recorded),
        "ref": event.ref,
        "refs": [event.ref],
        "detail": _detail(reading, recorded),
    }


def _owner(reading: Reading, recorded: RecordedEvent) -> str:
    """Say who said it: a person by name, every other owner by its layer."""
    return reading.who(fields(recorded).get("actor")) if recorded.event.owner is Owner.USER else OWNERS[recorded.event.owner]


def _run_row(reading: Reading, run: Sequence[RecordedEvent]) -> Row:
    """Draw a run of events of one kind as one row that counts them."""
    first, last = run[0], run[-1]
    row = _row(reading, last)
    orders = (fields(first).get("order"), fields(last).get("order"))
    kind = {Kind.OUTPUT: "Output", Kind.PROGRESS: "Progress"}.get(Kind(last.event.kind))
    if kind and None not in orders:
        row["text"] = f"{kind} {line(orders[0])} to {line(orders[1])} ({counted(len(run), 'report')})"
        if last.event.kind == Kind.PROGRESS:
            row["text"] += f"; the last: {sentence(reading, last)}"
    else:
        row["text"] = f"{row['text']} ({counted(len(run), 'report')})"
    row["refs"] = [recorded.event.ref for recorded in run]
    row["detail"] = [
        {"term": "first", "text": f"{token(reading.at(first))} {first.event.ref}"},
        {"term": "last", "text": f"{token(reading.at(last))} {last.event.ref}"},
        *row["detail"],
    ]
    return row


def _detail(reading: Reading, recorded: RecordedEvent) -> list[dict[str, str]]:
    """Say where the event came from and what became of it."""
    event = recorded.event
    given = (
        ("kind", line(event.kind)),
        ("source", line(event.source)),
        ("source's number", str(event.sequence) if event.sequence is not None else ""),
        ("source's time", token(event.time) if event.time else "none given"),
        ("recorded", token(recorded.recorded_time)),
        ("place in the task", str(recorded.task_sequence)),
        ("verdict", f"{recorded.verdict}: {reading.own(recorded.reason)}" if recorded.reason else str(recorded.verdict)),
        ("row", f"{recorded.row} ({recorded.basis})" if recorded.row else ""),
        ("origin", "" if event.origin == Origin.SERVER else str(event.origin)),
        ("adapter", line(event.adapter)),
        ("raw event", line(event.raw_ref)),
        ("caused by", ", ".join(line(ref) for ref in event.caused_by)),
    )
    return [{"term": term, "text": text} for term, text in given if text]
