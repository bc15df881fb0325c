"""Lines of the record as rows of a SQLite file, and back; many rows in one statement.

One statement for many rows matters: Python gives up its interpreter lock around every step of a statement, and gets it back only when the
event loop's thread lets go.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from toolwitness.core.errors import Tampered
from toolwitness.core.states import State
from toolwitness.core.verdicts import Verdict
from toolwitness.ledger.folded import Folded
from toolwitness.ledger.judging import Entry, replay
from toolwitness.ledger.prepare import event_of
from toolwitness.ports import Recorded

Row = tuple[Any, ...]

EVENT_COLUMNS: Final = (
    "position", "task", "task_sequence", "previous", "invocation", "source", "event_id", "reuse", "once_key", "recorded_time", "verdict",
    "reason", "state", "basis", "row", "hash", "body",
)  # fmt: skip  # in the order of the table
_READ: Final = ", ".join(
    f"events.{c}"
    for c in ("position", "task_sequence", "recorded_time", "verdict", "reason", "state", "basis", "row", "hash", "body", "invocation")
)
_LARGEST: Final = 32
"""Rows in one statement; with 17 columns this stays below the 999 parameters that older versions of SQLite take."""
_STATES: Final = {state.value: state for state in State}
_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}

CHAIN: Final = """
WITH RECURSIVE chain(position) AS (
    SELECT max(tasks.position, coalesce((SELECT max(position) FROM invocations WHERE task = tasks.id), 0))
    FROM tasks WHERE tasks.task_id = :task
    UNION ALL
    SELECT events.previous FROM events JOIN chain ON events.position = chain.position WHERE events.previous > :after
)
"""
"""The positions of a task's events after ``:after``, the last one first."""

# A statement of many rows that may fail is kept ready to be undone by itself: SQLite copies every page that it touches into a temporary
# file. Ours need not be: whatever fails undoes the whole transaction.
INSERTS: Final = {
    "events": ("INSERT OR ROLLBACK INTO events VALUES ", len(EVENT_COLUMNS), ""),
    "stored_values": ("INSERT OR ROLLBACK INTO stored_values VALUES ", 5, ""),
    "sources": ("INSERT OR ROLLBACK INTO sources VALUES ", 2, ""),
    "tasks": (
        "INSERT OR ROLLBACK INTO tasks VALUES ", 5,
        " ON CONFLICT (id) DO UPDATE SET version = excluded.version, position = excluded.position",
    ),
    "invocations": (
        "INSERT OR ROLLBACK INTO invocations VALUES ", 7,
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state, version = excluded.version, position = excluded.position",
    ),
}  # fmt: skip  # one table after the other


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Write rows of ``table``, as many in one statement as go; a row of a task or an invocation replaces what moves in it."""
    if len(rows) == 1:
        connection.execute(_insertion(table, 1), rows[0])
        return
    for start, size in _portions(len(rows)):
        connection.execute(_insertion(table, size), tuple(chain.from_iterable(rows[start : start + size])))


def recorded_of(row: Row) -> Recorded:
    """Give what a row of ``select_events`` holds.

    Raises:
        Tampered: it holds no event of ours.
    """
    position, task_sequence, recorded_time, verdict, reason, state, basis, name, digest, body, _ = row
    try:
        return Recorded(
            event=event_of(body), position=position, task_sequence=task_sequence, recorded_time=recorded_time, verdict=_VERDICTS[verdict],
            reason=reason, hash=digest.hex(), state=None if state is None else _STATES[state], basis=basis, row=name,
        )  # fmt: skip  # one field after the other
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Run `toolwitness verify`: it names every place that does not agree."
        raise Tampered(f"Event {position} cannot be read: {error}.", remedy=remedy, place=f"event {position}") from error


def event_row(entry: Entry, *, task: int, previous: int, invocation: int | None, source: int) -> Row:
    """Give the row of an entry in the order of the table."""
    r = entry.recorded
    state = r.state
    return (
        r.position, task, r.task_sequence, previous, invocation, source, r.event.id, entry.reuse, entry.takes or None, r.recorded_time,
        r.verdict._value_, r.reason, None if state is None else state._value_, r.basis, r.row, entry.hash, entry.body,
    )  # fmt: skip  # in the order of the table


def value_rows(entry: Entry) -> Iterator[Row]:
    """Give the rows of the values that stand beside an entry."""
    for value in entry.values:
        yield (bytes.fromhex(value.ref[4:]), entry.recorded.position, value.name, value.salt, value.content)


def forget(connection: sqlite3.Connection, erased: Row) -> None:
    """Write zeros over a value of a task, bytes and salt, in their place.

    The row stays: to delete it would let SQLite move its neighbours, and copies of moved rows stay behind in pages where nobody can erase
    them any more. ``erased`` is the key of the value and that of the task that says so; a value of another task is left alone.
    """
    connection.execute(
        "UPDATE stored_values SET salt = zeroblob(length(salt)), content = zeroblob(length(content)) "
        "WHERE ref = ? AND (SELECT task FROM events WHERE events.position = stored_values.position) = ?",
        erased,
    )


def ref_key(ref: str) -> bytes | None:
    """Give the key under which a value is kept; ``None`` for what is no reference to a value."""
    try:
        return bytes.fromhex(ref.removeprefix("val_")) if ref.startswith("val_") else None
    except ValueError:
        return None


def events_under(connection: sqlite3.Connection, keys: Sequence[tuple[int, str]]) -> dict[tuple[int, str], list[Recorded]]:
    """Give what is recorded under each (source, id), in order; what is not recorded is not in the answer."""
    found: dict[tuple[int, str], list[Recorded]] = {}
    if len(keys) == 1:
        rows = connection.execute(f"SELECT {_READ} FROM events WHERE source = ? AND event_id = ? ORDER BY reuse", keys[0]).fetchall()  # noqa: S608 - our own
        return {keys[0]: [recorded_of(row) for row in rows]} if rows else found
    for start in range(0, len(keys), _LARGEST):
        some = keys[start : start + _LARGEST]
        for row in connection.execute(_lookup(len(some)), tuple(chain.from_iterable(some))):
            found.setdefault((row[-2], row[-1]), []).append(recorded_of(row[:-2]))
    for events in found.values():
        events.sort(key=lambda recorded: recorded.position)
    return found


def read_events(connection: sqlite3.Connection, clause: str, parameters: Any = (), *, opening: str = "") -> list[Recorded]:
    """Read recorded events by a clause of ours; values come as ``parameters``."""
    return [recorded_of(row) for row in connection.execute(f"{opening}SELECT {_READ} FROM {clause}", parameters)]  # noqa: S608 - our own clauses


def load(connection: sqlite3.Connection, task_id: str) -> Folded:
    """Fold a task from its recorded events; an empty fold where there are none."""
    folded = Folded.empty(task_id)
    if connection.execute("SELECT 1 FROM tasks WHERE task_id = ?", (task_id,)).fetchone() is None:
        return folded
    return follow_up(connection, folded, f"{CHAIN}SELECT {_READ} FROM chain JOIN events USING (position) ORDER BY events.position",  # noqa: S608 - as above
                     {"task": task_id, "after": 0})  # fmt: skip  # one call


def follow_up(connection: sqlite3.Connection, folded: Folded, query: str, parameters: Any) -> Folded:
    """Fold on with what a query gives."""
    for row in connection.execute(query, parameters):
        recorded = recorded_of(row)
        replay(folded, recorded, recorded.event.invocation_id if row[-1] is not None else None)
    return folded


def later_events(connection: sqlite3.Connection, after: int) -> Iterator[tuple[Recorded, str | None]]:
    """Give every event after a position with the invocation that it is evidence for."""
    for row in connection.execute(f"SELECT {_READ} FROM events WHERE position > ? ORDER BY position", (after,)):  # noqa: S608 - as above
        recorded = recorded_of(row)
        yield recorded, recorded.event.invocation_id if row[-1] is not None else None


def homes_of(connection: sqlite3.Connection, invocation_ids: Collection[str]) -> dict[str, str]:
    """Give the task of each invocation that is recorded."""
    return dict(
        _among(connection, "SELECT invocation_id, task_id FROM invocations JOIN tasks ON tasks.id = task", "invocation_id", invocation_ids)
    )


def takers_of(connection: sqlite3.Connection, once_keys: Collection[str]) -> dict[str, Recorded]:
    """Give the event that took each once-key that is taken."""
    return {row[-1]: recorded_of(row[:-1]) for row in _among(connection, f"SELECT {_READ}, once_key FROM events", "once_key", once_keys)}  # noqa: S608 - as above


def recorded_tasks(connection: sqlite3.Connection, task_ids: Collection[str]) -> set[str]:
    """Give those tasks of which anything is recorded."""
    return {task_id for (task_id,) in _among(connection, "SELECT task_id FROM tasks", "task_id", task_ids)}


def _among(connection: sqlite3.Connection, query: str, column: str, wanted: Collection[str]) -> Iterator[Row]:
    """Give the rows of a query of ours whose ``column`` holds one of the texts."""
    texts = tuple(wanted)
    for start in range(0, len(texts), _LARGEST):
        some = texts[start : start + _LARGEST]
        yield from connection.execute(f"{query} WHERE {column} IN ({_marks(len(some))})", some)


@lru_cache(maxsize=_LARGEST)
def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _portions(count: int) -> Iterator[tuple[int, int]]:
    """Cut ``count`` rows into portions of a few fixed sizes, so that few statements are prepared."""
    start, size = 0, _LARGEST
    while start < count:
        while size > count - start:
            size //= 2
        yield start, size
        start += size


@lru_cache(maxsize=64)
def _insertion(table: str, size: int) -> str:
    opening, width, ending = INSERTS[table]
    one = "(" + ", ".join("?" * width) + ")"
    return opening + ", ".join([one] * size) + ending


@lru_cache(maxsize=_LARGEST)
def _lookup(size: int) -> str:
    wanted = ", ".join(["(?, ?)"] * size)
    return (
        f"WITH wanted(source, event_id) AS (VALUES {wanted}) SELECT {_READ}, events.source, events.event_id FROM wanted "  # noqa: S608 - as above
        "CROSS JOIN events ON events.source = wanted.source AND events.event_id = wanted.event_id"
    )
