"""The ledger in memory: the same record, chain and answers as on disk, gone with the process. For tests and for trying things out."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from toolwitness.core.errors import Unavailable
from toolwitness.core.states import State
from toolwitness.core.times import rfc3339
from toolwitness.ledger.feed import Feed
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.judging import Entry, erased_by, judge_append, replay
from toolwitness.ledger.prepare import Value, fresh_salts, prepare_all
from toolwitness.ledger.verify import Line, check_chain, check_value, line_of
from toolwitness.ports import Deciding, Draft, Listener, Problem, Recorded, StateRow, TaskView


class _Index:
    """What is recorded, by every key that is asked for (``judging.Known``)."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.tasks: dict[str, Folded] = {}
        self.homes: dict[str, str] = {}
        self.tenants: dict[str, str] = {}
        self.rows: dict[str, StateRow] = {}
        self.values: dict[str, Value] = {}
        self.value_tasks: dict[str, str] = {}
        self._by_id: dict[tuple[str, str], list[Recorded]] = {}
        self._takers: dict[str, Recorded] = {}

    def earlier(self, source: str, event_id: str) -> Sequence[Recorded]:
        """Give the events that this source recorded under this id."""
        return self._by_id.get((source, event_id), ())

    def taker(self, once_key: str) -> Recorded | None:
        """Give the event that took a once-key."""
        return self._takers.get(once_key)

    def home(self, invocation_id: str) -> str | None:
        """Give the task that an invocation belongs to."""
        return self.homes.get(invocation_id)

    def value(self, ref: str) -> bytes | None:
        """Give the bytes of a value."""
        value = self.values.get(ref)
        return value.content if value else None

    def refold(self, task_id: str) -> Folded:
        """Fold a task anew from its recorded events."""
        folded = Folded.empty(task_id)
        for entry in self.entries:
            if entry.recorded.event.task_id == task_id:
                replay(folded, entry.recorded, entry.subject)
        return folded

    def keep(self, entry: Entry) -> None:
        """Add one entry under all its keys."""
        recorded, event, subject = entry.recorded, entry.recorded.event, entry.subject
        self.entries.append(replace(entry, values=()) if entry.values else entry)  # what is erased lies nowhere else
        self._by_id.setdefault((event.source, event.id), []).append(recorded)
        self.tenants.setdefault(event.task_id, event.tenant)
        if entry.takes:
            self._takers[entry.takes] = recorded
        for value in entry.values:
            self.values[value.ref] = value
            self.value_tasks[value.ref] = event.task_id
        ref = erased_by(recorded)
        if ref is not None and self.value_tasks.get(ref) == event.task_id:
            self.values.pop(ref, None)
        if subject is not None:
            self.homes.setdefault(subject, event.task_id)
            before = self.rows.get(subject)
            self.rows[subject] = StateRow(
                invocation_id=subject, task_id=event.task_id, tenant=before.tenant if before else event.tenant, state=recorded.state,
                version=entry.version, position=recorded.position,
            )  # fmt: skip  # one field after the other


class MemoryLedger:
    """An append-only record in memory; everything else is as the ``Ledger`` port says."""

    def __init__(self, *, now: Callable[[], datetime] | None = None) -> None:
        """Record by the clock ``now``, which gives aware UTC datetimes; the system's where none is given."""
        self._now = now or (lambda: datetime.now(UTC))
        self._salts = fresh_salts()
        self._index = _Index()
        self._feed = Feed(self._read_after)
        self._closed = False
        self.duplicates = 0
        """How many repetitions were answered and not appended."""

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        """Append all drafts of one task in one atomic step; see ``Ledger.append``."""
        self._require_open()
        prepared = prepare_all(task_id, drafts, salts=self._salts)
        index = self._index
        judged = judge_append(
            index.tasks.get(task_id) or Folded.empty(task_id), prepared, known=index, expected_sequence=expected_sequence,
            position=len(index.entries), recorded_time=rfc3339(self._now()),
        )  # fmt: skip  # what is judged, and against what
        self.duplicates += judged.duplicates
        if judged.entries:
            index.tasks[task_id] = judged.folded
            for entry in judged.entries:
                index.keep(entry)
            self._feed.offer([entry.recorded for entry in judged.entries])
        return judged.answers

    async def decide(self, task_id: str, deciding: Deciding) -> Sequence[Recorded]:
        """Append what ``deciding`` makes of the task as it stands; see ``Ledger.decide``."""
        self._require_open()
        return await self.append(task_id, deciding((self._index.tasks.get(task_id) or Folded.empty(task_id)).view()))

    async def task(self, task_id: str) -> TaskView | None:
        """Read one task and all its invocations; the records are the caller's own and may be kept."""
        folded = self._index.tasks.get(task_id)
        return folded.view() if folded else None

    async def find(self, invocation_id: str) -> str | None:
        """Give the id of the task that this invocation belongs to."""
        return self._index.homes.get(invocation_id)

    async def tasks(self, *, tenant: str | None = None, limit: int = 200) -> Sequence[str]:
        """List task ids, the most recently touched first; the tenant of a task is that of its first event."""
        tasks = sorted(self._index.tasks.values(), key=lambda folded: -folded.position)
        return [f.task.id for f in tasks if tenant is None or self._index.tenants[f.task.id] == tenant][:limit]

    async def states(self, *, states: Iterable[State | None] | None = None) -> Sequence[StateRow]:
        """List the state rows of invocations, optionally only those in ``states``."""
        wanted = None if states is None else set(states)
        return [row for row in self._index.rows.values() if wanted is None or row.state in wanted]

    async def read(
        self, *, after: int = 0, task_id: str | None = None, invocation_id: str | None = None, limit: int | None = None
    ) -> Sequence[Recorded]:
        """Read recorded events in order of position, after a position."""
        lines = islice(self._index.entries, max(after, 0), None)
        found = (e.recorded for e in lines if task_id in {None, e.recorded.event.task_id} and invocation_id in {None, e.subject})
        return list(found if limit is None else islice(found, limit))

    def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """Yield batches of recorded events in order of position until the ledger is closed."""
        return self._feed.follow(after)

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each batch recorded from now on; gives what takes it away again."""
        return self._feed.add_listener(listener, after=len(self._index.entries))

    async def value(self, ref: str) -> bytes | None:
        """Give the exact bytes of a value, or ``None`` where there is none."""
        return self._index.value(ref)

    async def head(self) -> int:
        """Give the position of the last event, 0 when there is none."""
        return len(self._index.entries)

    async def verify(self) -> Sequence[Problem]:
        """Recompute every hash and value digest from the events; empty when all is good."""
        problems: list[Problem] = []
        chains: dict[str, list[Line]] = {}
        for entry in self._index.entries:
            chains.setdefault(entry.recorded.event.task_id, []).append(line_of(entry))
        for task_id, lines in chains.items():
            check = check_chain(task_id, lines, home=self._index.home)
            problems += check.problems
            for value in check.values:
                kept = self._index.values.get(value.ref)
                problems += check_value(value, None if kept is None else (kept.salt, kept.content), erased=check.erased)
        return problems

    async def close(self) -> None:
        """End every follower; later appends are refused."""
        self._closed = True
        self._feed.close()

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("The ledger is closed.", remedy="Open it again.")

    async def _read_after(self, after: int, limit: int) -> Sequence[Recorded]:
        return await self.read(after=after, limit=limit)
