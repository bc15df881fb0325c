"""The appends that share one commit: each judged on its own, all written in a few statements.

Runs inside ``BEGIN IMMEDIATE``, so nobody else writes meanwhile. Nothing is written before every append of the batch is judged; an
append that loses a race is answered and leaves no trace.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from toolwitness.core.errors import ToolwitnessError
from toolwitness.ledger.cache import Cache
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.judging import Entry, erased_by, judge_append, replay
from toolwitness.ledger.prepare import ERASED_SALT, Prepared
from toolwitness.ledger.rows import (
    Row,
    event_row,
    events_under,
    forget,
    homes_of,
    insert,
    load,
    recorded_tasks,
    ref_key,
    takers_of,
    value_rows,
)
from toolwitness.ports import Recorded, TaskView


@dataclass(slots=True, eq=False)
class Append:
    """One caller's append, and what becomes of it."""

    task_id: str
    prepared: Sequence[Prepared]
    expected_sequence: int | None = None
    answers: Sequence[Recorded] = ()
    error: BaseException | None = None
    duplicates: int = 0
    deciding: Callable[[TaskView], Sequence[Prepared]] | None = None
    """Makes what is appended of the task as it stands when its turn comes; ``prepared`` is what it made."""
    waiter: Any = None
    """Whom to answer; the writer's affair."""


class Transaction:
    """One batch of appends; answers what judging asks of the ledger (``judging.Known``)."""

    def __init__(self, connection: sqlite3.Connection, cache: Cache, sources: dict[str, int], *, position: int, recorded_time: str) -> None:
        """Write after ``position``; ``sources`` maps names that are known to be recorded to their keys and is added to."""
        self._connection = connection
        self._cache = cache
        self._sources = sources
        self._recorded_time = recorded_time
        self._earlier: dict[tuple[str, str], list[Recorded]] = {}
        self._takers: dict[str, Recorded | None] = {}
        self._homes: dict[str, str | None] = {}
        self._contents: dict[str, bytes] = {}
        self._folds: dict[str, Folded] = {}
        self._source_rows: list[Row] = []
        self._erased: list[Row] = []
        self._position = position
        self.entries: list[Entry] = []

    @property
    def touched(self) -> Sequence[str]:
        """The tasks that were looked at, and so may be ahead of what is recorded if this fails."""
        return list(self._folds)

    @property
    def forgets(self) -> bool:
        """Whether values are erased with this batch."""
        return bool(self._erased)

    @property
    def recorded(self) -> list[Recorded]:
        """What is new, in order of position."""
        return [entry.recorded for entry in self.entries]

    def run(self, appends: Sequence[Append]) -> None:
        """Judge every append and write what is new; each append then holds its answers or its error."""
        self._look_up(appends)
        for append in appends:
            try:
                self._judge(append)
            except Exception as error:  # noqa: BLE001 - it is this append's alone, and its caller gets it
                append.error = error
                if append.task_id in self._folds and not _left_untouched(error):
                    self._folds[append.task_id] = self.refold(append.task_id)
        self._write()

    def publish(self) -> None:
        """Keep the new folds, now that they are on disk."""
        for task_id, folded in self._folds.items():
            if folded.sequence:
                self._cache.put(task_id, folded)

    def _look_up(self, appends: Sequence[Append]) -> None:
        """Ask once for everything that is recorded under the ids of this batch, and about the tasks and calls that are not remembered."""
        ids: dict[tuple[int, str], tuple[str, str]] = {}
        tasks: set[str] = set()
        calls: set[str] = set()
        keys: set[str] = set()
        folds, cache, sources = self._folds, self._cache, self._sources
        for append in appends:
            folded = folds.get(append.task_id) or cache.get(append.task_id)
            if folded is None:
                tasks.add(append.task_id)
            else:
                folds[append.task_id] = folded
            for prepared in append.prepared:
                event = prepared.event
                source = sources.get(event.source) or self._key_of(event.source)
                if source and (event.source, event.id) not in self._earlier:
                    ids[source, event.id] = (event.source, event.id)
                call = event.invocation_id
                if call is not None and (folded is None or call not in folded.records):
                    calls.add(call)
                if event.once_key:
                    keys.add(event.once_key)
        for key, events in events_under(self._connection, list(ids)).items():
            self._earlier[ids[key]] = events
        if tasks:
            self._meet(tasks)
        if len(calls) > 1:
            homes = homes_of(self._connection, calls)
            self._homes.update({name: homes.get(name) for name in calls - self._homes.keys()})
        if len(keys) > 1:
            takers = takers_of(self._connection, keys)
            self._takers.update({key: takers.get(key) for key in keys - self._takers.keys()})

    def _key_of(self, name: str) -> int | None:
        """Give the key of a source that is recorded, and remember it."""
        row = self._connection.execute("SELECT id FROM sources WHERE name = ?", (name,)).fetchone()
        if row is not None:
            self._sources[name] = row[0]
        return None if row is None else int(row[0])

    def _meet(self, tasks: Collection[str]) -> None:
        """Take in tasks that are not remembered: what is recorded of them, or that nothing is."""
        there = recorded_tasks(self._connection, tasks)
        for task_id in tasks:
            self._folds[task_id] = load(self._connection, task_id) if task_id in there else Folded.empty(task_id)

    def _judge(self, append: Append) -> None:
        folded = self._folds[append.task_id]
        if append.deciding is not None:
            append.prepared = append.deciding(folded.view())
            self._look_up([append])
        judged = judge_append(
            folded, append.prepared, known=self, expected_sequence=append.expected_sequence, position=self._position,
            recorded_time=self._recorded_time,
        )  # fmt: skip  # what is judged, and against what
        self._folds[append.task_id] = judged.folded
        self._position += len(judged.entries)
        append.answers, append.duplicates = judged.answers, judged.duplicates
        for entry in judged.entries:
            self._note(entry)

    def _note(self, entry: Entry) -> None:
        recorded = entry.recorded
        event = recorded.event
        self.entries.append(entry)
        before = self._earlier.get((event.source, event.id))
        if before is None:
            self._earlier[event.source, event.id] = [recorded]
        else:
            before.append(recorded)
        if event.once_key and entry.takes:
            self._takers[event.once_key] = recorded
        if entry.subject_key == recorded.position and entry.subject is not None:
            self._homes[entry.subject] = event.task_id
        for value in entry.values:
            self._contents[value.ref] = value.content
        if (ref := erased_by(recorded)) is not None:
            self._contents.pop(ref, None)
            self._erased.append((ref_key(ref), entry.task_key))
        if event.source not in self._sources:
            self._sources[event.source] = recorded.position
            self._source_rows.append((recorded.position, event.source))

    def _write(self) -> None:
        if not self.entries:
            return
        tasks: dict[int, Row] = {}
        invocations: dict[int, Row] = {}
        events: list[Row] = []
        values: list[Row] = []
        for entry in self.entries:
            r, event = entry.recorded, entry.recorded.event
            source = self._sources[event.source]
            events.append(event_row(entry, task=entry.task_key, previous=entry.previous, invocation=entry.subject_key, source=source))
            if entry.values:
                values += value_rows(entry)
            if entry.subject_key is None:
                first = tasks.get(entry.task_key)
                tenant = event.tenant if first is None else first[2]
                tasks[entry.task_key] = (entry.task_key, event.task_id, tenant, entry.version, r.position)
                continue
            if entry.task_key == r.position:
                tasks[entry.task_key] = (entry.task_key, event.task_id, event.tenant, 0, 0)
            state = None if r.state is None else r.state._value_
            first = invocations.get(entry.subject_key)
            tenant = event.tenant if first is None else first[3]
            invocations[entry.subject_key] = (entry.subject_key, entry.subject, entry.task_key, tenant, state, entry.version, r.position)
        insert(self._connection, "events", events)
        for table, rows in (
            ("sources", self._source_rows), ("tasks", list(tasks.values())), ("invocations", list(invocations.values())),
            ("stored_values", values),
        ):  # fmt: skip  # one table after the other
            if rows:
                insert(self._connection, table, rows)
        for erased in self._erased:
            forget(self._connection, erased)

    # What judging asks (``judging.Known``).

    def earlier(self, source: str, event_id: str) -> Sequence[Recorded]:
        """Give the events that this source recorded under this id, those of this batch included."""
        return self._earlier.get((source, event_id), ())

    def taker(self, once_key: str) -> Recorded | None:
        """Give the event that took a once-key."""
        if once_key not in self._takers:
            self._takers[once_key] = takers_of(self._connection, (once_key,)).get(once_key)
        return self._takers[once_key]

    def home(self, invocation_id: str) -> str | None:
        """Give the task that an invocation belongs to."""
        if invocation_id not in self._homes:
            self._homes[invocation_id] = homes_of(self._connection, (invocation_id,)).get(invocation_id)
        return self._homes[invocation_id]

    def value(self, ref: str) -> bytes | None:
        """Give the bytes of a value."""
        content = self._contents.get(ref)
        return content if content is not None else value_of(self._connection, ref)

    def refold(self, task_id: str) -> Folded:
        """Fold a task anew from what is recorded and what this batch has added so far."""
        folded = load(self._connection, task_id)
        for entry in self.entries:
            if entry.recorded.event.task_id == task_id:
                replay(folded, entry.recorded, entry.subject)
        return folded


def value_of(connection: sqlite3.Connection, ref: str) -> bytes | None:
    """Give the bytes of a value, or ``None`` where it was erased or never was."""
    key = ref_key(ref)
    row = connection.execute("SELECT content, salt FROM stored_values WHERE ref = ?", (key,)).fetchone() if key is not None else None
    return row[0] if row is not None and row[1] != ERASED_SALT else None


def _left_untouched(error: BaseException) -> bool:
    """Tell whether an append ended before anything was judged."""
    return isinstance(error, ToolwitnessError)
