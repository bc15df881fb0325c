"""Whether a ledger file is what was recorded: no byte of any column of any table is left unlooked at.

Everything beside the events can be computed from them, so it is, and compared row by row: keys, pointers, state rows, values. What is
there and should not be is named as well as what is missing. Read in one transaction, so that writers go on meanwhile.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from toolwitness.core.verdicts import Verdict
from toolwitness.ledger.connection import explained, open_reader
from toolwitness.ledger.rows import ref_key
from toolwitness.ledger.schema import MIGRATIONS, RECORD, statements_of
from toolwitness.ledger.verify import EVENTS, VALUES, ChainCheck, ExpectedValue, Line, check_chain, check_value
from toolwitness.ports import Problem

_INTEGRITY_LINES: Final = 20
_LINE: Final = "position, task_sequence, recorded_time, verdict, reason, state, basis, row, hash, body, reuse"
_BESIDE: Final = ("task", "previous", "invocation", "source", "event_id", "once_key")
_COLUMNS: Final = {
    "tasks": ("id", "task_id", "tenant", "version", "position"),
    "invocations": ("id", "invocation_id", "task", "tenant", "state", "version", "position"),
    "sources": ("id", "name"),
}


@dataclass(slots=True)
class _Expected:
    """What the events say the other tables hold, gathered while they are read."""

    tasks: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    invocations: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    first_named: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Invocation → where it was first named, and the key of the task in which that was."""
    values: dict[bytes, ExpectedValue] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)


def verify_file(path: Path) -> list[Problem]:
    """Recompute everything in a ledger file and name each place that is not as recorded.

    Raises:
        Tampered, Unavailable: the file cannot be read at all.
    """
    connection = open_reader(path)
    connection.text_factory = _text
    try:
        connection.execute("BEGIN")
        return list(_Verification(connection).run())
    except sqlite3.Error as error:
        raise explained(error, str(path)) from error
    finally:
        connection.close()


class _Verification:
    """One pass over one file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._expected = _Expected()
        self._there = {table: connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall() for table, names in _COLUMNS.items()}  # noqa: S608 - our own names
        self._task_names = {row[0]: row[1] for row in self._there["tasks"]}
        self._task_keys = {row[1]: row[2] for row in self._there["invocations"]}
        self._keys = {row[1]: row[0] for row in self._there["invocations"]}
        self._head = 0
        self._sources = {row[1]: row[0] for row in self._there["sources"]}

    def run(self) -> Iterator[Problem]:
        """Name every problem."""
        yield from self._file()
        yield from self._order()
        for task, lines in groupby(self._lines(), key=lambda pair: pair[1]["task"]):
            yield from self._task(task, list(lines))
        yield from self._homes_as_first_named()
        yield from self._tables()
        yield from self._values()

    def _file(self) -> Iterator[Problem]:
        """Ask SQLite about its pages and indexes, and compare what the tables are made of."""
        for (said,) in self._connection.execute(f"PRAGMA integrity_check({_INTEGRITY_LINES})"):
            if said != "ok":
                yield Problem("file", str(said))
        expected = _schema_of_today()
        actual = statements_of(self._connection)
        for name in expected.keys() | actual.keys():
            if expected.get(name) != actual.get(name):
                yield Problem(
                    f"schema {name}",
                    "is missing" if name not in actual else "does not belong here" if name not in expected else "was changed",
                )

    def _order(self) -> Iterator[Problem]:
        """Look for holes between positions, and count how often an id was used."""
        before = self._head
        for (position,) in self._connection.execute("SELECT position FROM events ORDER BY position"):
            if position != before + 1:
                yield Problem(f"{EVENTS} {before + 1}", f"is missing: nothing stands between {before} and {position}")
            before = self._head = position
        query = (
            "SELECT position, reuse, (SELECT count(*) FROM events AS b WHERE b.source = a.source AND b.event_id = a.event_id "
            "AND b.position < a.position) FROM events AS a WHERE reuse <> 0"
        )
        for position, reuse, actual in self._connection.execute(query):
            if reuse != actual:
                yield Problem(f"{EVENTS} {position} reuse", f"is {reuse!r}; {actual} events of this source and id stand before it")

    def _lines(self) -> Iterator[tuple[Line, dict[str, Any]]]:
        """Give every line of the record, task by task, with the columns that stand beside it."""
        query = f"SELECT {_LINE}, {', '.join(_BESIDE)} FROM events ORDER BY task, position"  # noqa: S608 - our own names
        names = _LINE.split(", ")
        for row in self._connection.execute(query):
            yield Line(**dict(zip(names, row, strict=False))), dict(zip(_BESIDE, row[len(names) :], strict=True))

    def _task(self, task: Any, lines: list[tuple[Line, dict[str, Any]]]) -> Iterator[Problem]:
        """Check one task's chain and gather what it says of the other tables."""
        if task not in self._task_names:
            yield Problem(f"{EVENTS} {lines[0][0].position} task", f"refers to {task!r}, which no row of tasks has")
        check = self._chain(task, lines)
        yield from check.problems
        previous = 0
        for line, beside in lines:
            event, subject = check.events.get(line.position, (None, None))
            if event is not None:
                expected = {
                    "previous": previous, "source": self._sources.get(event.source), "event_id": event.id,
                    "invocation": None if subject is None else self._keys.get(subject),
                    "once_key": event.once_key if event.once_key and line.verdict != Verdict.REFUSED.value else None,
                }  # fmt: skip  # one column after the other
                for column, value in expected.items():
                    if not _same(beside[column], value):
                        yield Problem(f"{EVENTS} {line.position} {column}", f"is {beside[column]!r}; the events say {value!r}")
            previous = line.position
        self._gather(check, task, lines)

    def _chain(self, task: Any, lines: list[tuple[Line, dict[str, Any]]]) -> ChainCheck:
        """Check a chain under the name that its row gives or, where the events say otherwise and it fits better, under theirs."""

        def under(name: str) -> ChainCheck:
            return check_chain(name, (line for line, _ in lines), home=lambda i: name if self._task_keys.get(i) == task else None)

        check = under(str(self._task_names.get(task, "")))
        said = {event.task_id for event, _ in check.events.values()}
        if check.problems and len(said) == 1 and check.folded.task.id not in said:
            other = under(said.pop())
            return other if len(other.problems) < len(check.problems) else check
        return check

    def _gather(self, check: ChainCheck, key: Any, lines: list[tuple[Line, dict[str, Any]]]) -> None:
        """Note which rows this task's events call for."""
        expected, folded = self._expected, check.folded
        first: dict[str | None, tuple[int, str]] = {}
        last: dict[str | None, int] = {}
        for position, (event, subject) in check.events.items():
            first.setdefault(subject, (position, event.tenant))
            last[subject] = position
            expected.sources[event.source] = min(position, expected.sources.get(event.source, position))
            if event.invocation_id is not None:
                named = (position, key)
                expected.first_named[event.invocation_id] = min(named, expected.first_named.get(event.invocation_id, named))
        opening = check.events.get(lines[0][0].position)
        task = lines[0][0].position
        expected.tasks[task] = (task, folded.task.id, opening[0].tenant if opening else None, folded.task.version, last.get(None, 0))
        for subject, record in folded.records.items():
            begun, tenant = first[subject]
            state = None if record.state is None else record.state.value
            expected.invocations[begun] = (begun, subject, task, tenant, state, record.version, last[subject])
        for value in check.values:
            expected.values[ref_key(value.ref) or b""] = value
        expected.erased |= check.erased & {value.ref for value in check.values}

    def _homes_as_first_named(self) -> Iterator[Problem]:
        """See that every invocation is filed under the task that named it first."""
        for name, (position, task) in self._expected.first_named.items():
            if self._task_keys.get(name) != task:
                yield Problem(f"invocations {name} task", f"event {position} named it first, in task {self._task_names.get(task)}")

    def _tables(self) -> Iterator[Problem]:
        """Compare tasks, invocations and sources with what the events call for."""
        sources = {key: (key, name) for name, key in self._expected.sources.items()}
        for table, rows in (("tasks", self._expected.tasks), ("invocations", self._expected.invocations), ("sources", sources)):
            there = {row[0]: row for row in self._there[table]}
            for key in rows.keys() - there.keys():
                yield Problem(f"{table} {key}", f"is missing; the events call for {rows[key]!r}")
            for key, row in there.items():
                if key not in rows:
                    yield Problem(f"{table} {key}", "is called for by no event")
                    continue
                for column, actual, value in zip(_COLUMNS[table], row, rows[key], strict=True):
                    if not _same(actual, value):
                        yield Problem(f"{table} {key} {column}", f"is {actual!r}; the events say {value!r}")
                        if column == "position" and type(actual) is int and actual > self._head:
                            yield Problem(f"{EVENTS} {actual}", f"is missing: {table} {key} names it as its last")

    def _values(self) -> Iterator[Problem]:
        """Compare every stored value with the event that it stands beside."""
        seen: set[bytes] = set()
        for ref, position, name, salt, content in self._connection.execute("SELECT ref, position, name, salt, content FROM stored_values"):
            expected = self._expected.values.get(ref) if type(ref) is bytes else None
            place = f"{VALUES} val_{ref.hex()}" if type(ref) is bytes else f"{VALUES} {ref!r}"
            if expected is None:
                yield Problem(f"{place} ref", f"is called for by no event (position {position!r}, name {name!r})")
                continue
            seen.add(ref)
            for column, actual, value in (("position", position, expected.position), ("name", name, expected.name)):
                if not _same(actual, value):
                    yield Problem(f"{place} {column}", f"is {actual!r}; the events say {value!r}")
            yield from check_value(expected, (salt, content), erased=self._expected.erased)
        for ref, expected in self._expected.values.items():
            if ref not in seen:
                yield from check_value(expected, None, erased=self._expected.erased)


def _text(raw: bytes) -> str:
    """Read text that may not be UTF-8 any more."""
    return raw.decode("utf-8", "surrogateescape")


def _same(actual: Any, expected: Any) -> bool:
    """Tell whether a column holds this value in this type: SQLite keeps an integer as text or as a float if it is given one."""
    return type(actual) is type(expected) and actual == expected


def _schema_of_today() -> dict[str, str]:
    """Give what a file of today's format is made of."""
    with_everything = sqlite3.connect(":memory:")
    try:
        with_everything.execute(RECORD)
        for step in MIGRATIONS:
            for statement in step.statements:
                with_everything.execute(statement)
        return statements_of(with_everything)
    finally:
        with_everything.close()
