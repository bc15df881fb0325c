"""What is erased is gone from the file and its write-ahead log before anybody is told, or as soon as nobody reads from the log."""

import sqlite3
from pathlib import Path

import pytest

from toolwitness.ledger import book
from toolwitness.ledger.prepare import ERASED_SALT
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.testing.ledger_values import erasing, output, proposed, ref_of

SECRET = b'{"city":"a-place-to-forget"}'


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


async def test_it_is_gone_when_the_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    ledger = SqliteLedger(path)
    ref = ref_of((await ledger.append("task_1", [proposed(inputs=SECRET)]))[0])
    assert b"a-place-to-forget" in bytes_of(path)
    await ledger.append("task_1", [erasing(ref)])
    assert b"a-place-to-forget" not in bytes_of(path)
    await ledger.close()


async def test_while_somebody_reads_from_the_log_it_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "_FORGET_SECONDS", 0.0)
    path = tmp_path / "calls.db"
    ledger = SqliteLedger(path)
    ref = ref_of((await ledger.append("task_1", [proposed(inputs=SECRET)]))[0])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchone()
    await ledger.append("task_1", [erasing(ref)])
    assert await ledger.value(ref) is None  # for everybody who reads from here on
    assert b"a-place-to-forget" in bytes_of(path)
    reader.execute("COMMIT")
    reader.close()
    await ledger.append("task_1", [output(0), output(1)])
    await ledger.close()
    assert b"a-place-to-forget" not in bytes_of(path)


@pytest.mark.parametrize(("change", "problem"), [
    ("content = zeroblob(length(content) - 1)", "is there, and its task's events say that it was erased"),
    ("salt = zeroblob(15)", "is there, and its task's events say that it was erased"),
    ("content = x'01' || substr(content, 2)", "is there, and its task's events say that it was erased"),
])  # fmt: skip  # a table
async def test_something_else_in_the_place_of_an_erased_value_is_named(tmp_path: Path, change: str, problem: str) -> None:
    path = tmp_path / "calls.db"
    ledger = SqliteLedger(path)
    ref = ref_of((await ledger.append("task_1", [proposed(inputs=SECRET)]))[0])
    await ledger.append("task_1", [erasing(ref)])
    assert list(await ledger.verify()) == []
    await ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE stored_values SET {change}")
    connection.close()
    ledger = SqliteLedger(path)
    assert [found.what for found in await ledger.verify()] == [problem]
    await ledger.close()


async def test_zeros_that_no_event_asks_for_are_a_value_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    ledger = SqliteLedger(path)
    ref = ref_of((await ledger.append("task_1", [proposed(inputs=SECRET)]))[0])
    await ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE stored_values SET salt = ?, content = zeroblob(length(content))", (ERASED_SALT,))
    connection.close()
    ledger = SqliteLedger(path)
    assert ["is missing" in found.what for found in await ledger.verify()] == [True]
    assert await ledger.value(ref) is None
    await ledger.close()
