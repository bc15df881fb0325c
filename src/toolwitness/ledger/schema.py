"""The tables of a ledger file, and how a file comes to have them.

Surrogate keys are the position of the first event that names the thing (a task, an invocation, a source), so they ascend, need no
counter, and can be recomputed from the events like everything else. An event points to the one before it in its task (``previous``):
reading a task walks that chain by row id, and appending touches no index of tasks.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from toolwitness.core.errors import InvalidInput, NewerFormat
from toolwitness.core.times import rfc3339

APPLICATION_ID: Final = 0x7477_4C31
"""``twL1``: marks a SQLite file as a ledger of ours."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the format: what it is called and the statements that make it."""

    number: int
    name: str
    statements: tuple[str, ...]


_FIRST: Final = Migration(1, "events, the rows beside them, and values", (
    """CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,          -- position of the task's first event
    task_id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,            -- of that event
    version INTEGER NOT NULL,        -- how many events about the task itself were judged
    position INTEGER NOT NULL        -- of the last of them, 0 when there is none
)""",
    """CREATE TABLE invocations (
    id INTEGER PRIMARY KEY,          -- position of the invocation's first event
    invocation_id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,           -- tasks.id
    tenant TEXT NOT NULL,            -- of the first event
    state TEXT,
    version INTEGER NOT NULL,        -- how many events were judged
    position INTEGER NOT NULL        -- of the last of them
)""",
    "CREATE INDEX invocations_by_task ON invocations (task)",
    """CREATE TABLE sources (
    id INTEGER PRIMARY KEY,          -- position of the source's first event
    name TEXT NOT NULL UNIQUE
)""",
    """CREATE TABLE events (
    position INTEGER PRIMARY KEY,    -- from 1, without holes
    task INTEGER NOT NULL,           -- tasks.id
    task_sequence INTEGER NOT NULL,  -- from 1 in each task, without holes
    previous INTEGER NOT NULL,       -- position of the event before it in its task, 0 for the first
    invocation INTEGER,              -- invocations.id of what it is evidence for; null for the task itself
    source INTEGER NOT NULL,         -- sources.id
    event_id TEXT NOT NULL,
    reuse INTEGER NOT NULL,          -- how many events of this source and id stand before it
    once_key TEXT,                   -- the once-key that it took
    recorded_time TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    state TEXT,
    basis TEXT NOT NULL,
    row TEXT NOT NULL,
    hash BLOB NOT NULL,
    body BLOB NOT NULL               -- RFC 8785 JSON of the event
)""",
    "CREATE UNIQUE INDEX events_by_id ON events (source, event_id, reuse)",
    "CREATE UNIQUE INDEX events_by_once_key ON events (once_key) WHERE once_key IS NOT NULL",
    """CREATE TABLE stored_values (
    ref BLOB NOT NULL UNIQUE,        -- the 16 bytes of its reference
    position INTEGER NOT NULL,       -- of the event that it stands beside
    name TEXT NOT NULL,
    salt BLOB NOT NULL,
    content BLOB NOT NULL
)""",
))  # fmt: skip  # a table in one piece
MIGRATIONS: Final = (_FIRST,)
"""Every step in order. A step that was released is never changed."""

RECORD: Final = """CREATE TABLE migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_time TEXT NOT NULL,
    applied_by TEXT NOT NULL
)"""
"""The table in which the steps are recorded."""


def migrate(connection: sqlite3.Connection, *, name: str, now: Callable[[], datetime]) -> None:
    """Bring a file to today's format; each step is recorded in the transaction that makes it. ``name`` is what messages call the file.

    Raises:
        NewerFormat: the file was written by a newer version; nothing was changed.
        InvalidInput: the file holds somebody else's tables; nothing was changed.
        sqlite3.Error: as the database says.
    """
    if _format_at_one_moment(connection, name) == MIGRATIONS[-1].number:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        there = _format_of(connection, name)
        if there == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(RECORD)
        for step in MIGRATIONS[there:]:
            for statement in step.statements:
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?, ?)", (step.number, step.name, rfc3339(now()), our_version()))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def our_version() -> str:
    """Give the name and version of the package that writes."""
    try:
        return f"toolwitness {version('toolwitness')}"
    except PackageNotFoundError:
        return "toolwitness from source"


def statements_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Give what a file's tables, indexes, triggers and views are made of, by kind and name."""
    rows = connection.execute("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master").fetchall()
    return dict(rows)


def _format_at_one_moment(connection: sqlite3.Connection, name: str) -> int:
    """Read the format in one transaction: a file that another process makes meanwhile is seen empty or whole, never as somebody else's."""
    connection.execute("BEGIN")
    try:
        return _format_of(connection, name)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _format_of(connection: sqlite3.Connection, name: str) -> int:
    """Give the number of the last migration of a file; 0 for an empty one."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner != APPLICATION_ID:
        if tables or owner:
            raise InvalidInput(
                f"{name} is a SQLite database of another application.", field="url", remedy="Name a file of its own; an absent one is made."
            )
        return 0
    (number,) = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    if number > MIGRATIONS[-1].number:
        (writer,) = connection.execute("SELECT applied_by FROM migrations WHERE number = ?", (number,)).fetchone()
        raise NewerFormat(
            f"{name} has format {number}, written by {writer}; this version reads up to {MIGRATIONS[-1].number}.",
            remedy="Update toolwitness. The file was not touched.", format=number,
        )  # fmt: skip  # message first, facts after
    return int(number)
