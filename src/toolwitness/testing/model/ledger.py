"""A ledger that can be forked: what is appended to a fork is not in the original. It judges as every ledger here does."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.times import rfc3339
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.judging import Entry, judge_append, replay
from toolwitness.ledger.prepare import SALT_BYTES, prepare_all
from toolwitness.ports import Deciding, Draft, Recorded, StateRow, TaskView


def _same_salt() -> bytes:
    """Salt every digest alike, so that equal inputs have equal digests in every world."""
    return bytes(SALT_BYTES)


class Layers:
    """A mapping that a fork shares with what it was forked from, and adds to on its own."""

    __slots__ = ("added", "under")

    def __init__(self, under: "Layers | None" = None) -> None:
        """Begin with what ``under`` holds."""
        self.added: dict[tuple[str, ...], Any] = {}
        self.under = under

    def get(self, *key: str) -> Any:
        """Give what stands under a key, here or in what this was forked from."""
        layer: Layers | None = self
        while layer is not None:
            if key in layer.added:
                return layer.added[key]
            layer = layer.under
        return None

    def put(self, value: Any, *key: str) -> None:
        """Add something here."""
        self.added[key] = value


class Index:
    """What is recorded, by every key that judging asks for (``judging.Known``)."""

    __slots__ = ("_layers", "folded", "homes", "said")

    def __init__(self, layers: Layers | None = None) -> None:
        """Begin empty."""
        self._layers = layers or Layers()
        self.folded: dict[str, Folded] = {}
        self.said: dict[str, tuple[Recorded, ...]] = {}
        self.homes: dict[str, str] = {}

    def fork(self) -> "Index":
        """Give one of its own that holds the same."""
        own = Index(Layers(self._layers))
        own.folded = {task_id: _fork(one) for task_id, one in self.folded.items()}
        own.said, own.homes = self.said.copy(), self.homes
        return own

    def earlier(self, source: str, event_id: str) -> Sequence[Recorded]:
        """Give the events that this source recorded under this id."""
        return self._layers.get("id", source, event_id) or ()

    def taker(self, once_key: str) -> Recorded | None:
        """Give the event that took a once-key."""
        return self._layers.get("taker", once_key)

    def home(self, invocation_id: str) -> str | None:
        """Give the task that an invocation belongs to."""
        return self.homes.get(invocation_id)

    def value(self, ref: str) -> bytes | None:
        """Give the bytes of a value."""
        return self._layers.get("value", ref)

    def refold(self, task_id: str) -> Folded:
        """Fold a task anew from what is recorded of it and its calls."""
        folded = Folded.empty(task_id)
        own = (recorded for events in self.said.values() for recorded in events if recorded.event.task_id == task_id)
        for recorded in sorted(own, key=lambda one: one.position):
            replay(folded, recorded, recorded.event.invocation_id)
        return folded

    def keep(self, entry: Entry) -> None:
        """Add one entry under all its keys."""
        recorded, event, subject = entry.recorded, entry.recorded.event, entry.subject or ""
        self._layers.put((*self.earlier(event.source, event.id), recorded), "id", event.source, event.id)
        self.said[subject] = (*self.said.get(subject, ()), recorded)
        if entry.takes:
            self._layers.put(recorded, "taker", entry.takes)
        for value in entry.values:
            self._layers.put(value.content, "value", value.ref)
        if subject and subject not in self.homes:
            self.homes = {**self.homes, subject: event.task_id}


def _fork(one: Folded) -> Folded:
    return Folded(
        task=one.task, records=one.records.copy(), sequence=one.sequence, head=one.head, position=one.position, key=one.key,
        keys=one.keys.copy(), task_is_mine=False,
    )  # fmt: skip  # one field after the other


def _view(folded: Folded) -> TaskView:
    """Give a reading that stays as it is; unlike other ledgers' it copies nothing, since commands only look."""
    folded.mine.clear()
    folded.task_is_mine = False
    shared = MappingProxyType(folded.records.copy())
    return TaskView(task=folded.task, records=shared, sequence=folded.sequence, shared=shared)


class ForkingLedger:
    """The part of the ``Ledger`` port that commands use. A fork costs as much as there are events, and copies none of them."""

    __slots__ = ("drafts", "head_position", "index", "now")

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Begin empty, by the clock ``now``."""
        self.now = now
        self.index = Index()
        self.drafts: dict[str, Draft] = {}
        """The last draft about each call that was appended."""
        self.head_position = 0

    def fork(self) -> "ForkingLedger":
        """Give a ledger of its own that holds the same."""
        own = ForkingLedger(self.now)
        own.index, own.drafts, own.head_position = self.index.fork(), self.drafts.copy(), self.head_position
        return own

    def record(self, invocation_id: str) -> InvocationRecord:
        """Give the record of a call as the ledger keeps it, to be looked at and never changed."""
        return self.index.folded[self.index.homes[invocation_id]].records[invocation_id]

    def said(self, invocation_id: str) -> tuple[Recorded, ...]:
        """Give what is recorded about a call, in order."""
        return self.index.said.get(invocation_id, ())

    # ── what commands ask ───────────────────────────────────────────────────────────────────────────────────────────

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        """Append all drafts of one task in one atomic step; see ``Ledger.append``."""
        index = self.index
        judged = judge_append(
            index.folded.get(task_id) or Folded.empty(task_id), prepare_all(task_id, drafts, salts=_same_salt), known=index,
            expected_sequence=expected_sequence, position=self.head_position, recorded_time=rfc3339(self.now()),
        )  # fmt: skip  # what is judged, and against what
        if judged.entries:
            index.folded[task_id] = judged.folded
            for entry in judged.entries:
                index.keep(entry)
            self.head_position += len(judged.entries)
            self.drafts.update((draft.event.invocation_id or "", draft) for draft in drafts)
        return judged.answers

    async def decide(self, task_id: str, deciding: Deciding) -> Sequence[Recorded]:
        """Append what ``deciding`` makes of the task as it stands; see ``Ledger.decide``."""
        drafts = deciding(_view(self.index.folded.get(task_id) or Folded.empty(task_id)))
        return await self.append(task_id, drafts) if drafts else []

    async def task(self, task_id: str) -> TaskView | None:
        """Read one task and all its invocations."""
        folded = self.index.folded.get(task_id)
        return _view(folded) if folded else None

    async def find(self, invocation_id: str) -> str | None:
        """Give the id of the task that this invocation belongs to."""
        return self.index.homes.get(invocation_id)

    async def states(self, *, states: Iterable[State | None] | None = None) -> Sequence[StateRow]:
        """List the state rows of invocations, optionally only those in ``states``."""
        wanted = None if states is None else set(states)
        return [
            StateRow(
                invocation_id=one, task_id=record.task_id, tenant=record.tenant, state=record.state, version=record.version, position=0
            )
            for folded in self.index.folded.values() for one, record in folded.records.items() if wanted is None or record.state in wanted
        ]  # fmt: skip  # one comprehension

    async def value(self, ref: str) -> bytes | None:
        """Give the exact bytes of a value."""
        return self.index.value(ref)
