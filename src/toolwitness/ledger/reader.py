"""Reading a ledger file beside its writer: a thread and a connection of its own, so that long readings hold up nobody."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from toolwitness.core.making import maker
from toolwitness.core.states import State
from toolwitness.ledger.connection import explained, open_reader
from toolwitness.ledger.rows import CHAIN, read_events
from toolwitness.ports import Recorded, StateRow

Given = TypeVar("Given")
_new_row: Final = maker(StateRow)
_STATES: Final = {state.value: state for state in State}


class Reader:
    """One reading thread over one file that is already there."""

    def __init__(self, path: Path) -> None:
        """Read the ledger at ``path``; nothing is opened before the first reading."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def run(self, reading: Callable[[sqlite3.Connection], Given]) -> Given:
        """Carry out one reading on the thread.

        Raises:
            Unavailable, Tampered: as SQLite says.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="toolwitness-reader")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, reading)

    def _read(self, reading: Callable[[sqlite3.Connection], Given]) -> Given:
        try:
            connection = self._connection = self._connection or open_reader(self._path)
            return reading(connection)
        except sqlite3.Error as error:
            raise explained(error, str(self._path)) from error

    async def stop(self) -> None:
        """Finish what is being read and close the connection."""
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=True)
            self._thread = None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def select_events(
    connection: sqlite3.Connection, *, after: int, task_id: str | None, invocation_id: str | None, limit: int | None
) -> Sequence[Recorded]:
    """Read recorded events after a position, of everything, of one task or of one invocation."""
    parameters: dict[str, Any] = {"after": max(after, 0), "limit": -1 if limit is None else max(limit, 0)}
    ending = "ORDER BY events.position LIMIT :limit"
    if task_id is None and invocation_id is None:
        return read_events(connection, f"events WHERE events.position > :after {ending}", parameters)
    of_invocation = "TRUE"
    if invocation_id is not None:
        row = connection.execute(
            "SELECT task_id, invocations.id FROM invocations JOIN tasks ON tasks.id = task WHERE invocation_id = ?", (invocation_id,)
        ).fetchone()
        if row is None or task_id not in {None, row[0]}:
            return []
        task_id, parameters["invocation"] = row
        of_invocation = "events.invocation = :invocation"
    parameters["task"] = task_id
    clause = f"chain JOIN events USING (position) WHERE events.position > :after AND {of_invocation} {ending}"
    return read_events(connection, clause, parameters, opening=CHAIN)


def select_states(connection: sqlite3.Connection, states: Iterable[State | None] | None) -> Sequence[StateRow]:
    """List state rows, the invocations that are longest known first."""
    named = set[State | None]() if states is None else set(states)
    wanted = [state.value for state in named if state is not None]
    stateless = " OR state IS NULL" if None in named else ""
    clause = "" if states is None else f"WHERE state IN ({', '.join('?' * len(wanted))}){stateless}"
    rows = connection.execute(
        "SELECT invocation_id, task_id, invocations.tenant, state, invocations.version, invocations.position "  # noqa: S608 - our own clause
        f"FROM invocations JOIN tasks ON tasks.id = task {clause} ORDER BY invocations.id",
        wanted,
    )
    return [
        _new_row(
            invocation_id=name,
            task_id=task,
            tenant=tenant,
            state=None if state is None else _STATES[state],
            version=version,
            position=position,
        )
        for name, task, tenant, state, version, position in rows
    ]


def select_tasks(connection: sqlite3.Connection, *, tenant: str | None, limit: int) -> Sequence[str]:
    """List task ids, the most recently touched first."""
    rows = connection.execute(
        "SELECT task_id FROM tasks LEFT JOIN (SELECT task, max(position) AS touched FROM invocations GROUP BY task) ON task = tasks.id "
        "WHERE :tenant IS NULL OR tenant = :tenant ORDER BY max(position, coalesce(touched, 0)) DESC LIMIT :limit",
        {"tenant": tenant, "limit": limit},
    )
    return [task_id for (task_id,) in rows]
