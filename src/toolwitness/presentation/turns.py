"""The tool calls of a model's turn, each closed truthfully: one message for each call that the provider knows, and none left open.

A provider refuses a history in which a call has no result, and a model repeats what it does not see. So every call is answered: with its
result, with how it ended, or with how it stands. Attempts that people made of one call answer it together, the latest first; a call that
the model itself made again is a call of its own.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.lineage import Records, attempt_before
from toolwitness.core.record import InvocationRecord
from toolwitness.presentation import turn_words as words
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import Reading
from toolwitness.presentation.times import iso, stamp
from toolwitness.presentation.turn_formats import Closing, Told
from toolwitness.presentation.values import items_of, pairs_of
from toolwitness.presentation.words import joined

NO_TOOL: Final = "unrecorded"
"""The name of a tool that nobody recorded, spelled so that every provider takes it."""
Readings = Mapping[str, Reading]
"""What is known of each call of the task, by invocation id, in order of proposal."""
Blocked = Mapping[str, Sequence[str]]
_NOTHING: Final[Blocked] = MappingProxyType({})


@dataclass(slots=True, kw_only=True)
class Slot:
    """One call as its provider knows it, and the attempts that were made of it."""

    provider_id: str
    """Empty where no provider's id was recorded."""
    occurrence: int
    attempts: list[InvocationRecord] = field(default_factory=list[InvocationRecord])

    @property
    def call_id(self) -> str:
        """The id that the result carries: the provider's, else ours."""
        return self.provider_id or self.attempts[0].id

    @property
    def latest(self) -> InvocationRecord:
        """The attempt that stands for the call."""
        return self.attempts[-1]

    @property
    def inner(self) -> bool:
        """Whether no model made it as a call of its own: a tool's body did, or it undoes another."""
        first = self.attempts[0].proposal
        return not self.provider_id and bool(first.get("parent") or first.get("reverses"))


def _correlation(record: InvocationRecord) -> tuple[str, Any]:
    """Give the provider's id of a call and the how-manyeth with that id it is; nothing where neither was recorded."""
    for row in map(pairs_of, items_of(record.correlation)):
        if row.get("provider_call_id"):
            return str(row["provider_call_id"]), row.get("occurrence")
    return "", None


def slots_of(records: Records) -> list[Slot]:
    """Sort the invocations of a task into the calls that they are attempts of, in order of proposal.

    An attempt belongs to the call of the one before it, unless it carries an id by which the provider knows it as another call.
    """
    slots: list[Slot] = []
    of: dict[str, Slot] = {}
    for record in records.values():
        provider_id, occurrence = _correlation(record)
        before = attempt_before(record, records)
        slot = of.get(before.id) if before is not None else None
        same = slot is not None and (not provider_id or (occurrence and (provider_id, occurrence) == _correlation(slot.attempts[0])))
        if slot is None or not same:
            known = sum(1 for earlier in slots if provider_id and earlier.provider_id == provider_id)
            slot = Slot(provider_id=provider_id, occurrence=occurrence if isinstance(occurrence, int) else known + 1)
            slots.append(slot)
        slot.attempts.append(record)
        of[record.id] = slot
    return slots


def chosen(slots: Sequence[Slot], only: Sequence[str] | None) -> list[tuple[str, Slot | None]]:
    """Give the calls that are to be answered, with the id that each is answered under, in the order of ``only``.

    Without it: every call that carries a provider's id; where none does, every call that is not part of another. An id that is named once
    and recorded more often is its latest occurrence; named as often as recorded, they answer in their order. ``None`` stands for a call of
    which nothing is recorded: it is answered too.
    """
    if only is None:
        provided = [slot for slot in slots if slot.provider_id]
        return [(slot.call_id, slot) for slot in provided or slots if not slot.inner]
    by_invocation = {record.id: slot for slot in slots for record in slot.attempts}
    waiting: dict[str, list[Slot]] = {}
    for name in set(only):
        carrying = sorted((slot for slot in slots if slot.provider_id == name), key=lambda slot: slot.occurrence)
        waiting[name] = carrying[-only.count(name) :]
    return [(by_invocation[name].call_id, by_invocation[name]) if name in by_invocation else _next(name, waiting[name]) for name in only]


def _next(name: str, waiting: list[Slot]) -> tuple[str, Slot | None]:
    return name, waiting.pop(0) if waiting else None


def closings(readings: Readings, *, now: datetime, only: Sequence[str] | None = None, blocked: Blocked = _NOTHING) -> list[Closing]:
    """Say of every chosen call what has become of it; ``blocked`` names what each call waits for."""
    records = {name: reading.record for name, reading in readings.items()}
    slots = slots_of(records)
    of = {record.id: slot for slot in slots for record in slot.attempts}
    akin = _akin(records)
    hidden = frozenset[str]().union(*(words.hidden_texts(reading) for reading in readings.values()))
    return [
        _closing(call_id, slot, list(_besides(slot, of, readings, akin, blocked)), readings[slot.latest.id], hidden)
        if slot is not None
        else _unrecorded(call_id, now)
        for call_id, slot in chosen(slots, only)
    ]


def _closing(call_id: str, slot: Slot, besides: Sequence[str], reading: Reading, hidden: frozenset[str]) -> Closing:
    record = slot.latest
    about = {
        "invocationId": record.id, "taskId": record.task_id, "attempt": record.attempt, "state": str(record.state or ""),
        "closure": str(record.closure.kind) if record.closure else None, "evidenceRefs": list(record.state_refs),
    }  # fmt: skip  # facts in lines
    text = words.masked(_text(reading, besides), hidden)
    at = stamp(record.moves[-1].at) if record.moves else stamp(record.last_at)
    return Closing(
        call_id=call_id, tool=record.tool or NO_TOOL, told=words.told_of(reading), text=text, at=at or iso(reading.now), about=about
    )  # fmt: skip  # one call


def _unrecorded(call_id: str, now: datetime) -> Closing:
    return Closing(call_id=call_id, tool=NO_TOOL, told=Told.UNRECORDED, text=words.UNRECORDED, at=iso(now), about={"state": ""})


def _text(reading: Reading, besides: Sequence[str]) -> str:
    """Put together what the model reads: the exact result alone where there is nothing to add to it."""
    told = words.told_of(reading)
    known = [*words.asked_of_it(reading), *words.world(reading), *besides]
    if told is Told.SUCCEEDED:
        result = words.result_text(reading)
        return f"{result}\n\n[{words.plain_times(' '.join(known))}]" if known else result
    gave, output = ([], words.answer_text(reading)) if told is Told.ANSWERED else words.partial(reading)
    if told is Told.ANSWERED:
        gave = ["The answer:" if output else "The answer itself is not recorded."]
    lead = re.sub("^It ", "This call ", words.lead(reading))
    said = words.plain_times(" ".join([lead, *known, *gave]))
    return f"{said}\n\n{output}" if output else said


def _akin(records: Mapping[str, InvocationRecord]) -> Mapping[str, Collection[str]]:
    """Name for each call those that point at it or that it points at, in order of proposal: most calls have none."""
    found: dict[str, dict[str, int]] = {}
    place = {name: number for number, name in enumerate(records)}
    for name, record in records.items():
        for at in (record.proposal.get(way) for way in ("reverses", "parent", "retry_of", "replaces")):
            if isinstance(at, str):
                found.setdefault(at, {})[name] = place[name]
        for after in (record.retried_by, record.replaced_by):
            if after in place:
                found.setdefault(record.id, {})[after] = place[after]
    return {name: sorted(others, key=others.__getitem__) for name, others in found.items()}


def _besides(
    slot: Slot, of: Mapping[str, Slot], readings: Readings, akin: Mapping[str, Collection[str]], blocked: Blocked
) -> Iterator[str]:  # fmt: skip  # a signature in two lines
    """Say what belongs to the call beside its latest attempt: earlier ones, what undid or followed it, and calls that it made itself."""
    if len(slot.attempts) > 1:
        yield f"This is attempt {len(slot.attempts)} of the call."
    for number, earlier in enumerate(slot.attempts[:-1], start=1):
        yield f"Attempt {number}: {_brief(readings[earlier.id])}"
    for record in slot.attempts:
        for name, other in ((name, readings[name]) for name in akin.get(record.id, ())):
            proposal = other.record.proposal
            follows = name in {record.retried_by, record.replaced_by} or record.id in {proposal.get("retry_of"), proposal.get("replaces")}
            if proposal.get("reverses") == record.id:
                yield f"It was to be undone by {_named(other)}: {_brief(other)}"
            elif proposal.get("parent") == record.id and of[name].inner:
                yield f"It called {_named(other)} itself: {_brief(other)}"
            elif follows and of[name] is not slot:
                yield f"It was made again as call {line(of[name].call_id)} of {_named(other)}."
        if record.replaced_by and record.replaced_by not in readings:
            yield f"In its place stands {line(record.replaced_by)}, of which nothing is recorded here."
    waits_for = [readings[slot.latest.id].label(name) for name in blocked.get(slot.latest.id, ())]
    if waits_for:
        yield f"It waits for {joined(waits_for, 'and')}."


def _named(reading: Reading) -> str:
    return line(reading.record.tool or "a tool that is not recorded")


def _brief(reading: Reading) -> str:
    """Say in short how another attempt or call stands, and what it did."""
    return " ".join([words.lead(reading).replace(f" {words.NOT_AGAIN}", ""), *words.world(reading)])
