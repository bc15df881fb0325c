"""Several processes that open the same new file at the same moment: each waits for the others, and one makes the file."""

import sqlite3
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toolwitness.core.errors import Unavailable
from toolwitness.ledger import connection as opening
from toolwitness.ledger.schema import APPLICATION_ID, migrate

_OPENS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from toolwitness.ledger.connection import open_writer
print("ready", flush=True)
for line in sys.stdin:
    try:
        open_writer(Path(line.strip()), synchronous="full", now=lambda: datetime.now(UTC), busy_seconds=10).close()
        print("opened", flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
"""
_HOLDS = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
held.execute("COMMIT")
print("free", flush=True)
"""


def a_process(program: str, *arguments: str) -> "subprocess.Popen[str]":
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    heard(child)
    return child


def heard(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: "subprocess.Popen[str]", line: str) -> None:
    assert child.stdin is not None
    child.stdin.write(f"{line}\n")
    child.stdin.flush()


def test_processes_that_make_the_same_file_at_once_all_open_it(tmp_path: Path) -> None:
    children = [a_process(_OPENS) for _ in range(3)]
    try:
        for number in range(15):
            for child in children:
                tell(child, str(tmp_path / f"{number}.db"))
            assert [heard(child) for child in children] == ["opened"] * 3
    finally:
        for child in children:
            child.communicate()


def test_a_new_file_that_another_process_holds_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls.db"
    holder = a_process(_HOLDS, str(path))
    paused: list[float] = []

    def let_go(seconds: float) -> None:
        if not paused:
            tell(holder, "let go")
            assert heard(holder) == "free"
        paused.append(seconds)

    monkeypatch.setattr(opening.time, "sleep", let_go)
    opening.open_writer(path, synchronous="full", now=lambda: datetime.now(UTC), busy_seconds=10).close()
    holder.communicate()
    assert paused


def test_a_new_file_that_stays_held_is_unavailable_after_a_bounded_wait(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    holder = a_process(_HOLDS, str(path))
    with pytest.raises(Unavailable, match=r"locked by another process for 0\.05 s"):
        opening.open_writer(path, synchronous="full", now=lambda: datetime.now(UTC), busy_seconds=0.05)
    holder.communicate("\n")


def test_a_file_that_is_made_between_two_looks_is_not_taken_for_somebody_elses(tmp_path: Path) -> None:
    ours, other = (sqlite3.connect(tmp_path / "calls.db", timeout=0, isolation_level=None) for _ in range(2))

    def make_it(statement: str) -> None:
        if "count(*)" in statement:
            ours.set_trace_callback(None)
            with suppress(sqlite3.OperationalError):  # it waits for whoever looks
                migrate(other, name="calls.db", now=lambda: datetime.now(UTC))

    ours.set_trace_callback(make_it)
    migrate(ours, name="calls.db", now=lambda: datetime.now(UTC))
    assert ours.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    ours.close()
    other.close()
