"""``verify`` names every change: of any byte and of any type, of any column of any table, and every row that is gone or too many."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ledger.stories import fill
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Verdict
from toolwitness.ledger.prepare import digest_of
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.ledger.verify import ExpectedValue, check_value
from toolwitness.ledger.verify_file import verify_file
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ledger_contract import proposed, said

TABLES = ("events", "invocations", "sources", "stored_values", "tasks")


def open_raw(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def changes(value: Any) -> Iterator[Any]:
    """Other values of a column: another byte at each end and in the middle, longer, shorter, nothing, and the same in another type."""
    if isinstance(value, int):
        yield from (value + 1, value - 1, -value - 7, value + 0.5, f"x{value}", str(value).encode(), None)
    elif isinstance(value, str):
        raw = value.encode()
        yield from (value + "x", value[:-1] if value else "y", raw, None, 17, f"{value}\0")
        for place in {0, len(raw) // 2, len(raw) - 1} if raw else ():
            changed = bytearray(raw)
            changed[place] ^= 1
            yield changed.decode("utf-8", "replace")
    elif isinstance(value, bytes):
        yield from (value + b"x", value[:-1], b"", None, value.decode("latin-1"), 17)
        for place in {0, len(value) // 2, len(value) - 1} if value else ():
            changed = bytearray(value)
            changed[place] ^= 1
            yield bytes(changed)
    else:
        yield from ("x", 1, b"x", "")


def some_rows(connection: sqlite3.Connection, table: str, column: str) -> list[tuple[int, Any]]:
    """Give the first, the last and every third row between, and those that differ in type from their neighbours."""
    rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    return [row for place, row in enumerate(rows) if place % 3 == 0 or row is rows[-1] or type(row[1]) is not type(rows[place - 1][1])]


def same(stored: Any, before: Any) -> bool:
    return type(stored) is type(before) and stored == before


async def test_an_untouched_file_is_good(filled: Path) -> None:
    assert verify_file(filled) == []


async def test_the_story_fills_every_column(filled: Path) -> None:
    with closing(open_raw(filled)) as connection:
        empty = [
            f"{table}.{column}"
            for table in TABLES
            for column in columns(connection, table)
            if not connection.execute(
                f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN ('', x'', 0)"
            ).fetchone()[0]
        ]
    assert empty == []


@pytest.mark.parametrize("table", TABLES)
async def test_every_change_of_every_column_is_named(filled: Path, table: str) -> None:
    overlooked: list[str] = []
    tried = 0
    with closing(open_raw(filled)) as connection:
        for column in columns(connection, table):
            for rowid, value in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                for changed in changes(value):
                    connection.execute("BEGIN IMMEDIATE")
                    try:
                        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, rowid))
                    except sqlite3.Error:  # the column's own constraint refuses it
                        connection.execute("ROLLBACK")
                        continue
                    key = changed if column in {"id", "position"} and table != "stored_values" and column == key_of(table) else rowid
                    (stored,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (key,)).fetchone()
                    if same(stored, value):
                        connection.execute("ROLLBACK")
                        continue
                    connection.execute("COMMIT")
                    tried += 1
                    problems = verify_file(filled)
                    if not any(table in problem.place for problem in problems):
                        overlooked.append(f"{table} row {rowid} {column}: {value!r} -> {changed!r} ({problems})")
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, key))
    assert tried > 20
    assert overlooked == []
    assert verify_file(filled) == []


def key_of(table: str) -> str:
    return "position" if table == "events" else "id"


@pytest.mark.parametrize("table", TABLES)
async def test_every_row_that_is_deleted_is_named(filled: Path, table: str) -> None:
    overlooked: list[str] = []
    with closing(open_raw(filled)) as connection:
        rows = connection.execute(f"SELECT rowid, * FROM {table}").fetchall()
        for row in rows:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", row[:1])
            problems = verify_file(filled)
            if not any(table in problem.place for problem in problems):
                overlooked.append(f"{table} {row[0]}: {problems}")
            connection.execute(
                f"INSERT INTO {table} ({', '.join(['rowid', *columns(connection, table)])}) VALUES ({', '.join('?' * len(row))})", row
            )
    assert rows
    assert overlooked == []


@pytest.mark.parametrize("length", [1, 2, 5])
async def test_a_tail_that_is_deleted_is_named(filled: Path, length: int) -> None:
    with closing(open_raw(filled)) as connection:
        connection.execute("DELETE FROM events WHERE position > (SELECT max(position) FROM events) - ?", (length,))
    assert any(p.place.startswith(("invocations", "tasks", "sources")) for p in verify_file(filled))


async def test_two_events_that_change_places_are_named(filled: Path) -> None:
    with closing(open_raw(filled)) as connection:
        connection.executescript(
            "UPDATE events SET position = -3 WHERE position = 3; UPDATE events SET position = 3 WHERE position = 4;"
            "UPDATE events SET position = 4 WHERE position = -3"
        )
    assert {"events 3", "events 4"} <= {" ".join(p.place.split()[:2]) for p in verify_file(filled)}


EXTRA = {
    "tasks": "INSERT INTO tasks VALUES (999, 'task_9', '', 0, 0)",
    "invocations": "INSERT INTO invocations VALUES (999, 'inv_9', 1, '', 'running', 1, 1)",
    "sources": "INSERT INTO sources VALUES (999, 'nobody')",
    "stored_values": "INSERT INTO stored_values VALUES (x'00112233445566778899aabbccddeeff', 2, 'more', x'00', x'01')",
    "schema": "CREATE TRIGGER quiet AFTER INSERT ON events BEGIN DELETE FROM events; END",
}


@pytest.mark.parametrize("where", EXTRA)
async def test_what_no_event_calls_for_is_named(filled: Path, where: str) -> None:
    with closing(open_raw(filled)) as connection:
        connection.execute(EXTRA[where])
    assert [p.place.split()[0] for p in verify_file(filled)] == [where]


async def test_an_event_that_was_slipped_in_is_named(filled: Path) -> None:
    with closing(open_raw(filled)) as connection:
        connection.execute("UPDATE events SET position = 999, task_sequence = 8 WHERE position = 8")
    assert {"events 8", "events 999"} <= {" ".join(p.place.split()[:2]) for p in verify_file(filled)}


@pytest.mark.parametrize("column", ["verdict", "reason", "state", "basis", "row", "task_sequence"])
async def test_the_column_that_was_changed_is_named_where_the_rest_proves_it(filled: Path, column: str) -> None:
    other = 77 if column == "task_sequence" else "failed" if column == "state" else "noted" if column == "verdict" else "made up"
    with closing(open_raw(filled)) as connection:
        connection.execute(f"UPDATE events SET {column} = ? WHERE position = 2", (other,))
    assert f"events 2 {column}" in {p.place for p in verify_file(filled)}


async def test_an_index_that_does_not_match_its_table_is_named(filled: Path) -> None:
    with closing(open_raw(filled)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'source, event_id, reuse', 'event_id, source, reuse') WHERE name = 'events_by_id'"
        )
    assert any(p.place in {"file", "schema index events_by_id"} for p in verify_file(filled))


async def test_an_erased_value_is_good_once_an_event_says_so(filled: Path, clock: FakeClock) -> None:
    ledger = SqliteLedger(filled, now=clock.now)
    ref = (await ledger.read(after=1, limit=1))[0].event.data["inputs"]["ref"]
    with closing(open_raw(filled)) as connection:
        connection.execute("DELETE FROM stored_values WHERE ref = ?", (bytes.fromhex(ref[4:]),))
    before = [p.place for p in await ledger.verify()]
    erased = said(
        Kind.VALUE_ERASED,
        "erase",
        source="toolwitness:service",
        owner=Owner.POLICY,
        data={"value_ref": ref, "by": "ann", "reason": "asked to"},
    )
    assert (await ledger.append("task_1", [erased]))[0].verdict is not Verdict.REFUSED
    after = await ledger.verify()
    again = await ledger.append("task_1", [proposed()])
    await ledger.close()
    assert (before, list(after), [r.verdict for r in again]) == ([f"stored_values {ref}"], [], [Verdict.DUPLICATE])


async def test_nobody_but_policy_can_say_that_a_value_was_erased(filled: Path, clock: FakeClock) -> None:
    ledger = SqliteLedger(filled, now=clock.now)
    ref = (await ledger.read(after=1, limit=1))[0].event.data["inputs"]["ref"]
    with closing(open_raw(filled)) as connection:
        connection.execute("DELETE FROM stored_values WHERE ref = ?", (bytes.fromhex(ref[4:]),))
    await ledger.append("task_1", [said(Kind.VALUE_ERASED, "erase", data={"value_ref": ref, "by": "x", "reason": "y"})])
    problems = await ledger.verify()
    await ledger.close()
    assert [p.place for p in problems] == [f"stored_values {ref}"]


async def test_a_file_that_grows_is_verified_at_one_moment(filled: Path, clock: FakeClock) -> None:
    ledger = SqliteLedger(filled, now=clock.now)
    await fill(ledger, clock)
    assert list(await ledger.verify()) == []
    await ledger.close()


def damage(path: Path, change: Callable[[bytearray], None]) -> None:
    raw = bytearray(path.read_bytes())
    change(raw)
    path.write_bytes(raw)


@pytest.mark.parametrize("text", [b"task_1", b"inv_1", b"toolwitness:desk", b'"city":"Bergen"', b"no need"])
async def test_a_byte_changed_on_disk_is_named(filled: Path, text: bytes) -> None:
    def change(raw: bytearray) -> None:
        place = raw.find(text)
        assert place > 0
        raw[place] ^= 2

    damage(filled, change)
    assert verify_file(filled) != []


@pytest.mark.parametrize("salt", [b"\x01" * 15, b"\x01" * 15 + b"\x00\x00"])
def test_a_salt_that_lost_or_gained_a_zero_is_named_although_its_digest_is_the_same(salt: bytes) -> None:
    recorded = b"\x01" * 15 + b"\x00"
    expected = ExpectedValue("val_1", 1, "inputs", digest_of(recorded, b"{}"), 2)
    assert digest_of(salt, b"{}") == expected.digest
    actual = [problem.place for problem in check_value(expected, (salt, b"{}"))]
    assert (check_value(expected, (recorded, b"{}")), actual) == ([], ["stored_values val_1 salt"])
