"""What a card is made from: a record, its recorded events, the bytes of its values, the names of what it points at, and who reads it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol, cast

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Severity
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, ClosureKind, State
from toolwitness.core.verdicts import Verdict
from toolwitness.presentation.foreign import line
from toolwitness.presentation.times import token, tokens_in
from toolwitness.presentation.values import Text, members, read, redacted, scalar
from toolwitness.presentation.words import EXECUTORS, ROLES

UNNAMED: Final = frozenset({"", "unrecorded", "unknown"})
"""What stands where nobody recorded who it was."""
_VALUE_PREFIX: Final = "val_"
_OUR_ID: Final = re.compile(r"(?<!\w)inv_\w+")
OUTPUT_VALUES: Final = 256
"""How many of the latest chunks of output a card reads."""


class RecordedEvent(Protocol):
    """An event as a ledger keeps it: what this room reads of it."""

    @property
    def event(self) -> Event:
        """What the source said."""
        ...

    @property
    def task_sequence(self) -> int:
        """Its place in the task's chain."""
        ...

    @property
    def recorded_time(self) -> str:
        """When the ledger recorded it."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What became of it on arrival."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...

    @property
    def basis(self) -> str:
        """How the move relates to the written lifecycle; empty where nothing moved."""
        ...

    @property
    def row(self) -> str:
        """The row of the transition table that moved the state."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One record with everything that a card about it may cite."""

    record: InvocationRecord
    events: Sequence[RecordedEvent]
    now: datetime
    """The authority's time (R10); the browser's clock decides nothing."""
    viewer: str = ""
    values: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    redact: Sequence[str] = ()
    """JSON Pointers into the inputs whose values no card shows."""
    inverse: str = ""
    """The tool that undoes this one, where policy names a verified one."""
    provider: str = ""
    """The tool, where it can be asked here what really happened."""

    @cached_property
    def by_ref(self) -> Mapping[str, RecordedEvent]:
        """The events by the reference under which they are cited."""
        return {recorded.event.ref: recorded for recorded in self.events}

    @cached_property
    def proposal_refs(self) -> Sequence[str]:
        """The reference of the proposal that counts, or nothing where none was recorded."""
        if not self.record.proposal:
            return []
        return [r.event.ref for r in self.events if r.event.kind == Kind.PROPOSED and r.event.data == self.record.proposal][:1]

    @property
    def open(self) -> bool:
        """Whether the attempt has not ended."""
        return self.record.state not in TERMINAL

    @property
    def executing(self) -> bool:
        """Whether evidence says that a body has started and has not been seen to end."""
        return self.record.state in EXECUTING

    @property
    def past_dispatch(self) -> bool:
        """Whether an executor has the call."""
        return self.record.state is State.QUEUED or self.executing

    def refs(self, kind: str) -> Sequence[str]:
        """The references of the recorded events of one kind that were believed."""
        return [r.event.ref for r in self.events if r.event.kind == kind and r.verdict is not Verdict.REFUSED]

    def last(self, kind: str) -> RecordedEvent | None:
        """The last recorded event of one kind that was believed."""
        return next((r for r in reversed(self.events) if r.event.kind == kind and r.verdict is not Verdict.REFUSED), None)

    def at(self, recorded: RecordedEvent) -> str:
        """When it happened by its source, or when it was recorded where the source gave no time."""
        return recorded.event.time or recorded.recorded_time

    def who(self, actor: object) -> str:
        """Name an actor: ``you``, the name that is known, or the id as it came."""
        name = str(actor or "")
        if name in UNNAMED:
            return "somebody unrecorded"
        if self.viewer and name == self.viewer:
            return "you"
        return line(self.links.get(name) or ROLES.get(name) or name)

    def label(self, invocation_id: object) -> str:
        """Name another invocation: its label, or its id where none is known."""
        name = str(invocation_id or "")
        return line(self.links.get(name) or name or "an unrecorded call")

    def value(self, said: object) -> Text | None:
        """Read the value that ``said`` refers to; ``None`` where it is no reference or its bytes are not here."""
        ref = value_ref(said)
        raw = self.values.get(ref) if ref else None
        return None if raw is None else read(raw, ref=ref)

    @cached_property
    def answer_given(self) -> Mapping[str, Any]:
        """The fields of the act by which a person answered in the tool's place; none where nobody did."""
        closure = self.record.closure
        closed = self.by_ref.get(closure.ref) if closure is not None and closure.kind is ClosureKind.ANSWERED_BY_HUMAN else None
        acts = [self.by_ref[ref] for ref in closed.event.caused_by if ref in self.by_ref] if closed is not None else []
        return next((fields(act) for act in acts if act.event.kind == Kind.INPUT_SUPPLIED), dict[str, Any]())

    @cached_property
    def held_refs(self) -> frozenset[str]:
        """The references of the events that still wait for an earlier one of their source."""
        return frozenset(event.ref for waiting in self.record.held.values() for event in waiting.values())

    @cached_property
    def violation_refs(self) -> frozenset[str]:
        """The references of the events that show a violation."""
        return frozenset(ref for f in self.record.findings.values() if f.severity is Severity.VIOLATION for ref in f.refs)

    def own(self, sentence: str) -> str:
        """Make a sentence of ours from another room ready for a person: times as tokens, other calls by their names."""
        named = tokens_in(line(_spelled(sentence)))
        if self.viewer:
            named = re.sub(rf"\bby {re.escape(line(self.viewer))}(?!\w)", "by you", named)
        if "inv_" in named:
            named = _OUR_ID.sub(lambda match: self.label(match[0]) if match[0] in self.links else match[0], named)
        for target in self._foreign_links:
            if target in named:
                named = re.sub(rf"(?<!\w){re.escape(target)}(?!\w)", lambda match: self.label(match[0]), named)
        return named

    @cached_property
    def _foreign_links(self) -> Sequence[str]:
        """The ids among the links that are not of our own making; each may be spelled in any way."""
        return _foreign_among(tuple(self.links))

    def inputs(self, said: object) -> Text | None:
        """Read inputs, without what policy redacts."""
        text = self.value(said)
        return None if text is None else redacted(text, self.redact)

    @cached_property
    def standing_inputs(self) -> Mapping[str, Any]:
        """The inputs that stand, by name; empty where they cannot be read."""
        text = self.inputs(self.record.inputs)
        return dict(members(text.parsed)) if text else {}

    def plain(self, said: object, *, cut_at: int = 300) -> str:
        """Write a field of an event in one line, looking up the value where the field refers to one."""
        if not value_ref(said):
            return scalar(said, cut_at=cut_at)
        text = self.value(said)
        if text is None:
            return self.absent(said)
        return scalar(text.parsed, cut_at=cut_at) if text.is_json else line(text.text, cut_at=cut_at)

    def erased(self, said: object) -> RecordedEvent | None:
        """Give the event that says that a value was erased; ``None`` where nobody erased it."""
        ref = value_ref(said)
        gone = (one for one in self.events if one.event.kind == Kind.VALUE_ERASED and one.verdict is not Verdict.REFUSED)
        return next((one for one in gone if ref and fields(one).get("value_ref") == ref), None)

    def absent(self, said: object) -> str:
        """Say of a value whose bytes are not here what the record knows about it."""
        ref, gone = value_ref(said), self.erased(said)
        if gone is not None:
            who, when = self.who(fields(gone).get("by")), token(self.at(gone))
            return f"erased {when} by {who}: {line(fields(gone).get('reason') or 'no reason was given')}"
        return f"not on this card; kept in the record as value {line(ref)}"


@lru_cache(maxsize=64)
def _foreign_among(names: tuple[str, ...]) -> tuple[str, ...]:
    """Look through the names of a task's calls once, and not once for each call."""
    return tuple(name for name in names if not _OUR_ID.fullmatch(name))


_RULE: Final = re.compile(r"([a-z]+(?:-[a-z]+)*): (.+)", re.DOTALL)


def _spelled(reason: str) -> str:
    """Write the rule before a reason in words, and leave it out where the reason begins with the same word."""
    ruled = _RULE.fullmatch(reason)
    if ruled is None:
        return reason
    rule, rest = ruled[1].replace("-", " "), ruled[2]
    return rest if rest.split(" ")[0] == rule.split(" ")[0] else f"{rule}: {rest}"


def fields(recorded: RecordedEvent | None) -> Mapping[str, Any]:
    """Give the fields of an event; none where there is no event, or where its source sent no object."""
    said: Any = recorded.event.data if recorded is not None else None
    return cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {}


def place_words(said: Mapping[str, Any]) -> str:
    """Say where and how a body was started, as far as its start says so: ``on w-1, in a thread``."""
    executor = str(said.get("executor") or "")
    how = EXECUTORS.get(executor, "")
    where = said.get("worker") or ("" if executor in EXECUTORS else executor)
    return ", ".join(part for part in (f"on {line(where)}" if where else "", how) if part)


def value_ref(said: object) -> str:
    """Give the reference of the value that a field of an event points at, or an empty string where it holds a plain value."""
    if not isinstance(said, Mapping):
        return ""
    ref = cast("Mapping[str, Any]", said).get("ref")
    return ref if isinstance(ref, str) and ref.startswith(_VALUE_PREFIX) else ""


def needed_values(events: Iterable[RecordedEvent]) -> tuple[str, ...]:
    """Name the values that a card about these events reads, so that a caller can load them; of output only the latest chunks."""
    refs: dict[str, None] = {}
    output: dict[str, None] = {}
    for recorded in events:
        found = output if recorded.event.kind == Kind.OUTPUT else refs
        found.update(dict.fromkeys(_value_refs(recorded.event.data)))
    return (*refs, *list(output)[-OUTPUT_VALUES:])


def _value_refs(said: object) -> Iterator[str]:
    """Find the value references anywhere in the fields of an event."""
    ref = value_ref(said)
    if ref:
        yield ref
    elif isinstance(said, Mapping):
        for inner in cast("Mapping[str, Any]", said).values():
            yield from _value_refs(inner)
    elif isinstance(said, list | tuple):
        for inner in cast("Sequence[Any]", said):
            yield from _value_refs(inner)
