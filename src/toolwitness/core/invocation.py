"""The fold: events in, one record out.

``judge`` is the one door. It takes a record and one event, absorbs what the event says, moves the state if (and only if) a row of the
transition table matches, and answers with the verdict. The record after any number of events depends on the events alone: for the sequenced
events of one source neither the order nor the repetition of their arrival matters.
"""

from collections.abc import Iterable
from typing import Final

from toolwitness.core import facts, gaps, leases, ordering
from toolwitness.core.conditions import condition_of
from toolwitness.core.entries import Move
from toolwitness.core.evidence import Event
from toolwitness.core.findings import Code
from toolwitness.core.making import maker
from toolwitness.core.ordering import Place
from toolwitness.core.reconciliation import settle
from toolwitness.core.record import InvocationRecord
from toolwitness.core.shapes import malformed_fields
from toolwitness.core.states import TERMINAL, InvocationId
from toolwitness.core.transitions import ROWS, Basis, Condition, Row, row_for
from toolwitness.core.verdicts import Judgement, Verdict
from toolwitness.core.vocabulary import KINDS, missing_fields, speaker_objection

_new_move: Final = maker(Move)


def fold(invocation_id: str, events: Iterable[Event]) -> InvocationRecord:
    """Make the record of one invocation from its events in the order of their arrival."""
    record = InvocationRecord(InvocationId(invocation_id))
    for event in events:
        judge(record, event)
    return record


def judge(record: InvocationRecord, event: Event, *, recorded_at: str = "") -> Judgement:
    """Judge one event that has arrived, and whatever it lets go; the verdict is that of the event itself.

    ``recorded_at`` (RFC 3339) is used where the source gave no time. Never raises for what a source said: what makes no sense is noted,
    held or refused with the reason.
    """
    ref = event.ref
    if ref in record.seen:
        if event.refusal:
            return Judgement(Verdict.REFUSED, event.refusal)
        return Judgement(Verdict.DUPLICATE, "the same source has already said this")
    record.seen.add(ref)
    record.version += 1
    record.last_at = event.time or recorded_at or record.last_at
    place = Place.NEXT if event.sequence is None else ordering.place(record, event, recorded_at)
    if place is Place.HELD:
        judgement = _held(record, event)
    elif place is Place.REUSED:
        record.raise_finding(Code.SEQUENCE_REUSED, f"{event.source} used number {event.sequence} twice", ref)
        judgement = Judgement(Verdict.NOTED, f"sequence: {event.source} has already used number {event.sequence}")
    else:
        judgement = _judge_now(record, event, recorded_at)
    if record.held:
        while (free := ordering.next_free(record)) is not None:
            _judge_now(record, *free)
    if record.held or Code.EVIDENCE_HELD in record.findings:
        ordering.name_holes(record)
    return judgement


def _refusal(event: Event) -> str:
    """Say why an event is believed by nobody, whatever it says."""
    return event.refusal or speaker_objection(event)


def _held(record: InvocationRecord, event: Event) -> Judgement:
    """Answer for an event that must wait; one that is refused keeps its place in the order and is refused at once."""
    refusal = _refusal(event)
    if refusal:
        return Judgement(Verdict.REFUSED, refusal)
    return Judgement(Verdict.HELD, f"sequence: number {ordering.awaited(record, event.source)} of {event.source} has not arrived")


def _judge_now(record: InvocationRecord, event: Event, recorded_at: str) -> Judgement:
    """Judge an event that is next in its order."""
    refusal = _refusal(event)
    if refusal:
        return _refuse(record, event, Verdict.REFUSED, refusal)
    shortcoming = _shortcoming(record, event)
    if shortcoming is not None:
        return shortcoming
    objection = facts.objection(record, event)
    if objection:
        return _refuse(record, event, Verdict.REFUSED if event.kind in facts.REFUSABLE else Verdict.NOTED, objection)
    at = event.time or recorded_at
    premature = leases.premature(record, event, at)
    if premature:
        return Judgement(Verdict.REFUSED, premature)
    stranger = leases.stranger(record, event)
    record.evidence_refs.append(event.ref)
    if stranger:
        settle(record)
        return Judgement(Verdict.NOTED, stranger)
    condition = condition_of(record, event)
    row = row_for(record.state, event.kind, condition)
    if record.state in TERMINAL:
        facts.after_the_end(record, event)
    facts.absorb(record, event, at)
    if row is not None:
        _move(record, row, event, at)
    settle(record)
    if row is None:
        return Judgement(Verdict.NOTED, _why_noted(record, condition))
    return _MOVED[row.name]


_MOVED: Final = {
    row.name: Judgement(Verdict.MOVED, "" if row.basis is Basis.EXPECTED else f"{row.basis}: {row.name}", row) for row in ROWS
}  # fmt: skip  # one a row


def _refuse(record: InvocationRecord, event: Event, verdict: Verdict, reason: str) -> Judgement:
    """Keep an event that counts for nothing; a decision among them is a finding."""
    if event.kind in facts.DECISIONS:
        record.raise_finding(Code.DECISION_REFUSED, reason, event.ref)
    return Judgement(verdict, reason)


def _shortcoming(record: InvocationRecord, event: Event) -> Judgement | None:
    """Name what makes an event no evidence: a word we do not know, a field of a wrong type, a field that is not there."""
    malformed = malformed_fields(event)
    if malformed:
        record.raise_finding(Code.EVIDENCE_INCOMPLETE, f"{event.kind}: {'; '.join(malformed)}", event.ref)
        return Judgement(Verdict.NOTED, f"malformed: {'; '.join(malformed)}")
    if event.kind not in KINDS:
        record.raise_finding(Code.UNKNOWN_WORD, f"{event.source} said {event.kind!r}, which we do not know", event.ref)
        return Judgement(Verdict.NOTED, f"unknown: {event.kind!r} is not a kind of evidence we know; kept as it came")
    missing = missing_fields(event)
    if missing:
        record.raise_finding(Code.EVIDENCE_INCOMPLETE, f"{event.kind} without {', '.join(missing)}", event.ref)
        return Judgement(Verdict.NOTED, f"incomplete: {event.kind} lacks {', '.join(missing)}")
    return None


def _why_noted(record: InvocationRecord, condition: Condition) -> str:
    """Say why a fact moved nothing."""
    if record.state in TERMINAL:
        return f"terminal: the attempt is {record.state} and stays so"
    if condition in {Condition.ALWAYS, Condition.OWNED}:
        return "noted: this fact moves no state here"
    return f"noted: {condition} moves no state here"


def _move(record: InvocationRecord, row: Row, event: Event, at: str) -> None:
    """Enter the row's next state on this event, and say what the step left out or bypassed."""
    before, ref = record.state, event.ref
    same = before is row.next
    record.state = row.next
    record.state_refs = (*record.state_refs, ref)[-8:] if same else (ref,)
    if not same:
        record.moves.append(_new_move(before, row.next, row.basis, row.name, ref, at))
        gaps.name_gaps(record, row, event, before)
        gaps.name_skew(record, event)
    facts.entered(record, row.next, event, at)
