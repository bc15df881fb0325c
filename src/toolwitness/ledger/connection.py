"""Connections to a ledger file, and what SQLite's answers mean to a caller."""

import random
import sqlite3
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from toolwitness.core.errors import InvalidInput, Tampered, ToolwitnessError, Unavailable
from toolwitness.ledger.schema import migrate

Synchronous = str
"""``full``: acknowledged means on disk. ``normal``: survives a crash of the process, not of the machine."""

Given = TypeVar("Given")

_MODES: Final = {"full": "FULL", "normal": "NORMAL"}
_CACHE_KIB: Final = 16_384
_CHECKPOINT_PAGES: Final = 4_000
"""The write-ahead log is folded back beside the writer; beyond this many pages the writer does it itself. A small log is soon written over
instead of growing, and that is what makes a flush cheap."""
_SHORTEST, _LONGEST = 0.000_5, 0.02
_READER_SECONDS: Final = 5.0
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


def open_writer(path: Path, *, synchronous: Synchronous, now: Callable[[], datetime], busy_seconds: float) -> sqlite3.Connection:
    """Open (and make or migrate) a ledger file for writing.

    Raises:
        InvalidInput: the path cannot be a ledger: a directory, no database, somebody else's database.
        NewerFormat: a newer version wrote it.
        Unavailable: locked or not accessible.
    """
    if synchronous not in _MODES:
        raise InvalidInput(f"synchronous is {synchronous!r}.", field="synchronous", remedy='Give "full" or "normal".')
    if path.is_dir() or not path.parent.is_dir():
        what = "is a directory" if path.is_dir() else "is in no directory that exists"
        raise InvalidInput(f"{path} {what}.", field="url", remedy="Name a file in a directory that is there.")
    connection = None
    try:
        connection = opened = patiently(lambda: _connect(path), seconds=busy_seconds, what=str(path))  # a file may be made just now
        patiently(lambda: _prepare(opened, path, synchronous, now), seconds=busy_seconds, what=str(path))
    except sqlite3.Error as error:
        _close(connection)
        raise explained(error, str(path)) from error
    except ToolwitnessError:
        _close(connection)
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a second connection to a file that ``open_writer`` has made; it cannot write."""
    try:
        connection = _connect(path, busy_seconds=_READER_SECONDS)
        connection.execute("PRAGMA query_only = 1")
    except sqlite3.Error as error:
        raise explained(error, str(path)) from error
    return connection


def checkpoint(path: Path) -> None:
    """Fold the write-ahead log back into the file as far as nobody is in the way; a failure costs nothing and is tried again later."""
    try:
        connection = _connect(path)
    except sqlite3.Error:
        return
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    except sqlite3.Error:
        return
    finally:
        connection.close()


def patiently(step: Callable[[], Given], *, seconds: float, what: str, between: Callable[[], Any] = lambda: None) -> Given:
    """Run ``step`` until the file is free, at most ``seconds`` long, with ``between`` run before every further try.

    The pauses are random and grow, so that several writers neither starve one another nor move in step.

    Raises:
        Unavailable: another process kept the file locked.
    """
    end = time.monotonic() + seconds
    pause = _SHORTEST
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            if time.monotonic() >= end:
                raise Unavailable(
                    f"{what} was locked by another process for {seconds:g} s.", remedy="Nothing was written; try again."
                ) from error
        between()
        time.sleep(random.uniform(_SHORTEST, pause))  # noqa: S311 - a pause is no secret
        pause = min(pause * 1.5, _LONGEST)


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether somebody else held the file."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BUSY


def explained(error: sqlite3.Error, what: str) -> ToolwitnessError:
    """Give SQLite's error as one of ours: whose fault it is and what to do."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return InvalidInput(f"{what} is not a SQLite database.", field="url", remedy="Name a ledger file, or one that is not there yet.")
    if code == sqlite3.SQLITE_CORRUPT or "decode" in str(error):
        return Tampered(f"{what} is damaged: {error}.", remedy="Run `toolwitness verify` on a copy.", place=what)
    if code == sqlite3.SQLITE_FULL:
        return Unavailable(f"There is no room left to write {what}.", remedy="Nothing was written; make room and try again.")
    if code in _BUSY:
        return Unavailable(f"{what} is locked by another process.", remedy="Nothing was written; try again.")
    return Unavailable(f"{what} cannot be used: {error}.", remedy="Nothing was written; look at the file, its directory and the disk.")


def _connect(path: Path, *, busy_seconds: float = 0) -> sqlite3.Connection:
    """Connect; the very first statement reads the file already, and waits ``busy_seconds`` for whoever has it."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256)
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
    except UnicodeDecodeError as error:  # the complaint about a damaged schema quotes it
        connection.close()
        raise Tampered(f"{path} is damaged: its tables cannot be read.", remedy="Go back to a copy.", place=str(path)) from error
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, synchronous: Synchronous, now: Callable[[], datetime]) -> None:
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    migrate(connection, name=str(path), now=now)
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute(f"PRAGMA synchronous = {_MODES[synchronous]}")
    connection.execute("PRAGMA secure_delete = ON").fetchone()
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()
