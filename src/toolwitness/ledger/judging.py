"""What becomes of the drafts of one append: written once, for every ledger.

First everything that can stop an append is looked at (repetition, expected sequence, once-keys); only then is anything judged. So a
conflict leaves nothing to undo, and fails that append alone although it shares a transaction with others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from toolwitness.core.errors import Conflict, OnceKeyTaken
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.making import maker
from toolwitness.core.values import same_value
from toolwitness.core.verdicts import Judgement, Verdict
from toolwitness.ledger.chain import link
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.prepare import Prepared, Value, encode, refused
from toolwitness.ports import Recorded

ID_REUSED: Final = "id-reused"
OTHER_TASK: Final = "other-task"
MALFORMED: Final = "malformed"
_new_recorded: Final = maker(Recorded)


@dataclass(slots=True)
class Entry:
    """One new line of the record, with what is written beside it; never changed once it is made."""

    recorded: Recorded
    body: bytes
    values: tuple[Value, ...]
    subject: str | None
    """The invocation that it was judged as evidence for; ``None`` for the task itself."""
    reuse: int
    """How many events with the same source and id stand before it."""
    hash: bytes
    previous: int
    """Where the event before it in its task stands; 0 for the first."""
    task_key: int
    """Where the first event of its task stands."""
    subject_key: int | None
    """Where the first event of the invocation stands."""
    version: int
    """How many events were judged about its subject, this one included."""

    @property
    def takes(self) -> str:
        """The once-key that it takes; a refused event takes none."""
        return "" if self.recorded.verdict is Verdict.REFUSED else self.recorded.event.once_key


def erased_by(recorded: Recorded) -> str | None:
    """Give the reference of the value that an event says is erased, where it is believed: the ledger forgets it in the same step."""
    if recorded.event.kind != Kind.VALUE_ERASED or recorded.verdict is Verdict.REFUSED:
        return None
    return str(recorded.event.data.get("value_ref"))


class Known(Protocol):
    """What judging must know of the rest of the ledger, events of the running transaction included."""

    def earlier(self, source: str, event_id: str) -> Sequence[Recorded]:
        """Give the events that this source recorded under this id, in order."""
        ...

    def taker(self, once_key: str) -> Recorded | None:
        """Give the event that took a once-key."""
        ...

    def home(self, invocation_id: str) -> str | None:
        """Give the task that an invocation belongs to."""
        ...

    def value(self, ref: str) -> bytes | None:
        """Give the bytes of a value."""
        ...

    def refold(self, task_id: str) -> Folded:
        """Fold a task anew from its recorded events, those of the running transaction included."""
        ...


@dataclass(slots=True)
class Judged:
    """What one append comes to: its new entries, and the answer to its caller in the order of the drafts."""

    folded: Folded
    entries: list[Entry]
    answers: list[Recorded]
    duplicates: int


def judge_append(
    folded: Folded, prepared: Sequence[Prepared], *, known: Known, expected_sequence: int | None, position: int, recorded_time: str
) -> Judged:
    """Judge one append; ``position`` is the last one taken.

    Raises:
        Conflict: the task has moved on since ``expected_sequence``; nothing has changed.
        OnceKeyTaken: a once-key is taken; nothing has changed.
    """
    event = prepared[0].event if len(prepared) == 1 else None
    if event is not None and not known.earlier(event.source, event.id):
        _require_unmoved(folded, expected_sequence)
        if event.once_key and not event.refusal:
            _require_free(event, known)
        judged = Judged(folded, [], [], 0)
        entry = _enter(judged, prepared[0], 0, known, position + 1, recorded_time)
        judged.entries.append(entry)
        judged.answers.append(entry.recorded)
        return judged  # what nearly every append comes to: one event, and a new one
    plans = _recognize(prepared, known)
    new = [plan for plan in plans if isinstance(plan, _New)]
    if not new:
        answers = [plan for plan in plans if isinstance(plan, Recorded)]
        return Judged(folded, [], answers, len(answers))
    _require_unmoved(folded, expected_sequence)
    for plan in new:
        event = plan.prepared.event
        if event.once_key and not event.refusal:
            _require_free(event, known)
    judged = Judged(folded, [], [], 0)
    for plan in plans:
        if isinstance(plan, _New):
            entry = _enter(judged, plan.prepared, plan.reuse, known, position + len(judged.entries) + 1, recorded_time)
            judged.entries.append(entry)
            judged.answers.append(entry.recorded)
        else:
            judged.answers.append(plan if isinstance(plan, Recorded) else _again(judged.answers[plan]))
            judged.duplicates += 1
    return judged


@dataclass(slots=True)
class _New:
    """A draft that will be appended."""

    prepared: Prepared
    reuse: int = 0


def _recognize(prepared: Sequence[Prepared], known: Known) -> list[_New | Recorded | int]:
    """Tell new drafts from repetitions: of something recorded (its answer), or of an earlier draft of these (its place)."""
    plans: list[_New | Recorded | int] = []
    for one in prepared:
        event = one.event
        before = known.earlier(event.source, event.id)
        siblings = _siblings(plans, event) if plans else ()
        if not before and not siblings:
            plans.append(_New(one))
            continue
        said = next((r for r in before if same_content(one, r.event, known)), None)
        twin = next((place for place, plan in siblings if _same_draft(one, plan.prepared)), None)
        if said is not None:
            plans.append(_again(said))
        elif twin is not None:
            plans.append(twin)
        else:
            first = before[0].position if before else "this append"
            reason = f"{ID_REUSED}: {event.source} said something else under this id before (position {first})"
            reuse = len(before) + len(siblings)
            plans.append(_New(refused(one, reason, reuse=reuse), reuse))
    return plans


def _siblings(plans: Sequence[_New | Recorded | int], event: Event) -> list[tuple[int, _New]]:
    """Give the new drafts of this append that have the same source and id, each with its place."""
    return [
        (place, plan)
        for place, plan in enumerate(plans)
        if isinstance(plan, _New) and (plan.prepared.event.source, plan.prepared.event.id) == (event.source, event.id)
    ]


def _again(first: Recorded) -> Recorded:
    """Give the answer to a repetition: as first recorded, with the verdict ``duplicate``."""
    if first.verdict is Verdict.DUPLICATE:
        return first
    return replace(first, verdict=Verdict.DUPLICATE, reason=f"duplicate: already recorded at position {first.position}")


def same_content(one: Prepared, recorded: Event, known: Known) -> bool:
    """Tell whether a draft says what is recorded: its fields, and its values byte by byte.

    An erased value cannot be compared any more; then its length has to do.
    """
    members = dict(one.event.data)
    for value in one.values:
        there = recorded.data.get(value.name)
        if not isinstance(there, dict) or there.get("media") != members[value.name].get("media"):
            return False
        content = known.value(str(there.get("ref")))
        if content is None and there.get("bytes") != len(value.content):
            return False
        if content is not None and not same_value(content, value.content, there.get("media")):
            return False
        members[value.name] = there
    raw_ref = recorded.raw_ref if any(value.name == "raw" for value in one.values) else one.event.raw_ref
    said = replace(one.event, data=members, raw_ref=raw_ref, refusal="")
    return encode(said) == encode(replace(recorded, refusal=""))


def _same_draft(one: Prepared, other: Prepared) -> bool:
    """Tell whether two drafts of one append say the same."""
    if [(v.name, v.content) for v in one.values] != [(v.name, v.content) for v in other.values]:
        return False
    aside = {value.name for value in one.values}
    first, second = ({**p.event.data, **{name: {"media": p.event.data[name].get("media")} for name in aside}} for p in (one, other))
    return encode(replace(one.event, data=first, raw_ref="", refusal="")) == encode(
        replace(other.event, data=second, raw_ref="", refusal="")
    )


def _require_unmoved(folded: Folded, expected_sequence: int | None) -> None:
    if expected_sequence is not None and expected_sequence != folded.sequence:
        raise Conflict(
            f"Task {folded.task.id} stands at {folded.sequence} and was read at {expected_sequence}.",
            remedy="Read it again and decide anew.", task=folded.task.id, expected=expected_sequence, actual=folded.sequence,
        )  # fmt: skip  # message first, facts after


def _require_free(event: Event, known: Known) -> None:
    winner = known.taker(event.once_key)
    if winner is not None:
        raise OnceKeyTaken(
            f"{event.once_key} was taken by {winner.event.kind} at {winner.recorded_time}.", winner=winner,
            remedy="Read the task again; the decision stands.", once_key=event.once_key, position=winner.position,
        )  # fmt: skip  # message first, facts after


def _enter(judged: Judged, prepared: Prepared, reuse: int, known: Known, position: int, recorded_time: str) -> Entry:
    """Judge one new event and link it to its task's chain."""
    subject = prepared.event.invocation_id
    if subject is not None and subject not in judged.folded.records:
        home = known.home(subject)
        if home is not None and home != judged.folded.task.id:
            prepared = prepared if prepared.event.refusal else refused(prepared, f"{OTHER_TASK}: the invocation belongs to task {home}")
            subject = None
    prepared, judgement = _judge(judged, prepared, subject, known, recorded_time)
    if reuse:
        judgement = Judgement(Verdict.REFUSED, prepared.event.refusal)
    folded, row = judged.folded, judgement.row
    record, previous = None if subject is None else folded.records[subject], folded.position
    state, version = (record.state, record.version) if record is not None else (None, folded.task.version)
    basis, name = (row.basis._value_, row.name) if row is not None else ("", "")
    word = None if state is None else state._value_
    head = link(
        folded.head, prepared.body, position=position, task_sequence=folded.sequence + 1, recorded_time=recorded_time,
        verdict=judgement.verdict._value_, reason=judgement.reason, state=word, basis=basis, row=name,
    )  # fmt: skip  # as in the form
    folded.advance(subject, position, head)
    recorded = _new_recorded(
        event=prepared.event, position=position, task_sequence=folded.sequence, recorded_time=recorded_time, verdict=judgement.verdict,
        reason=judgement.reason, hash=head.hex(), state=state, basis=basis, row=name,
    )  # fmt: skip  # one field after the other
    return Entry(
        recorded, prepared.body, prepared.values, subject, reuse, head, previous, folded.key,
        None if subject is None else folded.keys[subject], version,
    )  # fmt: skip  # as above


def _judge(judged: Judged, prepared: Prepared, subject: str | None, known: Known, recorded_time: str) -> tuple[Prepared, Judgement]:
    """Judge an event; one that the fold cannot digest is kept as refused, since a ledger never refuses an observation (R2)."""
    try:
        return prepared, judged.folded.judge(prepared.event, subject, recorded_time)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        whole = known.refold(judged.folded.task.id)
        for entry in judged.entries:
            replay(whole, entry.recorded, entry.subject)
        judged.folded = whole
        marked = refused(prepared, f"{MALFORMED}: {prepared.event.kind} cannot be read ({type(error).__name__}: {error})")
        return marked, whole.judge(marked.event, subject, recorded_time)


def replay(folded: Folded, recorded: Recorded, subject: str | None) -> None:
    """Fold an event that is already recorded, in the order of the record."""
    folded.judge(recorded.event, subject, recorded.recorded_time)
    folded.advance(subject, recorded.position, bytes.fromhex(recorded.hash))
