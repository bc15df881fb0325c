"""The fold: events in, one record out.

``judge`` is the one door. It takes a record and one event, absorbs what the event says, moves the state if (and only if) a row of the
transition table matches, and answers with the verdict. The record after any number of events depends on the events alone: for the sequenced
events of one source neither the order nor the repetition of their arrival matters.
"""

from collections.abc import Iterable
from typing import Final

from toolwitness.core import facts
from toolwitness.core.conditions import condition_of
from toolwitness.core.evidence import KINDS, Event, Kind, may_say, missing_fields
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord, Move
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, InvocationId, State
from toolwitness.core.transitions import Basis, Condition, Row, row_for
from toolwitness.core.verdicts import Judgement, Verdict

_BYPASS: Final = {Kind.ACCEPTED: Code.ACCEPTED_WITHOUT_PERMIT, Kind.STARTED: Code.STARTED_WITHOUT_PERMIT}
_NOTED: Final = Judgement(Verdict.NOTED)


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
    if event.ref in record.seen:
        return Judgement(Verdict.DUPLICATE, "the same source has already said this")
    record.seen.add(event.ref)
    record.version += 1
    record.last_at = event.time or recorded_at or record.last_at
    if event.refusal:
        if event.kind in facts.DECISIONS:
            record.raise_finding(Code.DECISION_REFUSED, event.refusal, event.ref)
        return Judgement(Verdict.REFUSED, event.refusal)
    if not may_say(event.owner, event.kind):
        return Judgement(Verdict.REFUSED, f"speaker: {event.owner} does not own {event.kind}")
    if event.sequence is not None:
        waiting = _hold(record, event)
        if waiting is not None:
            return waiting
    judgement = _judge_now(record, event, recorded_at)
    if event.kind == Kind.HOLD_RELEASED:
        _release(record, str(event.data.get("held_source", "")), up_to=int(event.data.get("up_to") or 0), recorded_at=recorded_at)
    elif event.sequence is not None:
        _release(record, event.source, up_to=event.sequence, recorded_at=recorded_at)
    return judgement


def _hold(record: InvocationRecord, event: Event) -> Judgement | None:
    """Hold an event whose source shows a hole before it; refuse to believe a number that was already used."""
    sequence = event.sequence or 0
    expected = record.next_sequence.get(event.source, 1)
    if sequence < expected or sequence in record.held.get(event.source, ()):
        record.raise_finding(Code.SEQUENCE_REUSED, f"{event.source} used number {sequence} twice", event.ref)
        return Judgement(Verdict.NOTED, f"sequence: {event.source} has already used number {sequence}")
    if sequence > expected:
        record.held.setdefault(event.source, {})[sequence] = event
        record.raise_finding(Code.EVIDENCE_HELD, f"{event.source} has not yet said number {expected}", event.ref)
        return Judgement(Verdict.HELD, f"sequence: number {expected} of {event.source} has not arrived")
    record.next_sequence[event.source] = sequence + 1
    return None


def _release(record: InvocationRecord, source: str, *, up_to: int, recorded_at: str) -> None:
    """Judge held events of ``source``: all up to ``up_to``, then on while no hole shows."""
    held = record.held.get(source)
    if not held:
        return
    for sequence in sorted(held):
        if sequence > up_to and sequence != record.next_sequence.get(source, 1):
            break
        record.next_sequence[source] = sequence + 1
        _judge_now(record, held.pop(sequence), recorded_at)
    record.next_sequence[source] = max(record.next_sequence.get(source, 1), up_to + 1)
    if not held:
        del record.held[source]
    if not record.held:
        record.findings.pop(Code.EVIDENCE_HELD, None)


def _judge_now(record: InvocationRecord, event: Event, recorded_at: str) -> Judgement:
    """Judge an event that is next in its order."""
    if event.kind not in KINDS:
        record.raise_finding(Code.UNKNOWN_WORD, f"{event.source} said {event.kind!r}, which we do not know", event.ref)
        return Judgement(Verdict.NOTED, f"unknown: {event.kind!r} is not a kind of evidence we know; kept as it came")
    missing = missing_fields(event)
    if missing:
        record.raise_finding(Code.EVIDENCE_INCOMPLETE, f"{event.kind} without {', '.join(missing)}", event.ref)
        return Judgement(Verdict.NOTED, f"incomplete: {event.kind} lacks {', '.join(missing)}")
    at = event.time or recorded_at
    objection = facts.objection(record, event)
    if objection:
        if event.kind in facts.DECISIONS:
            record.raise_finding(Code.DECISION_REFUSED, objection, event.ref)
        return Judgement(Verdict.REFUSED if event.kind in facts.REFUSABLE else Verdict.NOTED, objection)
    record.evidence_refs.append(event.ref)
    condition = condition_of(record, event)
    row = row_for(record.state, event.kind, condition)
    if record.state in TERMINAL:
        facts.after_the_end(record, event)
    facts.absorb(record, event, at)
    if row is None:
        return Judgement(Verdict.NOTED, _why_noted(record, condition))
    _move(record, row, event, at)
    return Judgement(Verdict.MOVED, "" if row.basis is Basis.EXPECTED else f"{row.basis}: {row.name}", row)


def _why_noted(record: InvocationRecord, condition: Condition) -> str:
    """Say why a fact moved nothing."""
    if record.state in TERMINAL:
        return f"terminal: the attempt is {record.state} and stays so"
    if condition in {Condition.ALWAYS, Condition.OWNED}:
        return "noted: this fact moves no state here"
    return f"noted: {condition} moves no state here"


def _move(record: InvocationRecord, row: Row, event: Event, at: str) -> None:
    """Enter the row's next state on this event, and say what the step left out or bypassed."""
    before = record.state
    same = before is row.next
    record.state = row.next
    record.state_refs = (*record.state_refs, event.ref)[-8:] if same else (event.ref,)
    if not same:
        record.moves.append(Move(before, row.next, row.basis, row.name, event.ref, at))
    _name_gaps(record, row, event, before)
    facts.entered(record, row.next, event, at)


def _name_gaps(record: InvocationRecord, row: Row, event: Event, before: State | None) -> None:
    """Name the expected steps that this move shows to have left no evidence (R8), and policies that were bypassed (R7)."""
    if row.next in BEFORE_DISPATCH or row.next in {State.CANCELLED, State.EXPIRED}:
        return
    if before is None:
        record.raise_finding(Code.PROPOSAL_NOT_RECORDED, "the runtime was seen at work and no proposal was recorded", event.ref)
    if not record.queue_ref and not record.accepted_at:
        record.raise_finding(Code.ACCEPTANCE_NOT_RECORDED, "no acceptance was recorded; queued is not claimed", event.ref)
    if row.next is not State.QUEUED and not record.starts and event.kind != Kind.FAILED:
        record.raise_finding(Code.START_NOT_RECORDED, "no start was recorded", event.ref)
    if row.condition is Condition.UNCLAIMED and event.kind in _BYPASS:
        record.raise_finding(_BYPASS[event.kind], "no claimed dispatch permit covers this", event.ref)  # type: ignore[index]  # guarded above
    if not record.governed and row.next is not State.FAILED:
        record.raise_finding(Code.POLICY_UNOBSERVED, "no policy of ours was asked about this call", event.ref)
    waiting = record.approval
    if waiting is not None and not record.granted and row.next is not State.FAILED:
        record.raise_finding(Code.RAN_WITHOUT_APPROVAL, f"approval {waiting.id} was not granted", event.ref)
