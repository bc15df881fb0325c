"""What a command says when something is in its way: a policy file, a ledger file, or a port."""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.unit.cli.terminals import Ledger, document, me, roles_for_me, toolwitness
from toolwitness.ledger.sqlite import SqliteLedger

READING = [["show"], ["inbox"], ["verify"], ["show", "inv_1"], ["approve", "inv_1"], ["retry", "inv_1"]]


@pytest.mark.parametrize("arguments", [*READING, ["serve", "--port", "0"]], ids=" ".join)
def test_a_ledger_that_is_not_there_is_named_and_not_made(tmp_path: Path, arguments: list[str]) -> None:
    asked = toolwitness(*arguments, "--db", "gone.db", "--json", folder=tmp_path)
    error = document(asked)["error"]
    assert asked.returncode == 2
    assert (error["code"], error["field"], error["message"]) == ("invalid-input", "db", "The ledger gone.db is not there.")
    assert asked.stderr.startswith("toolwitness: The ledger gone.db is not there.\n  Name a ledger's file with --db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_not_taken_for_a_ledger_and_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "calls.db").touch()
    asked = toolwitness("show", folder=tmp_path)
    assert (asked.returncode, asked.stderr.splitlines()[0]) == (2, "toolwitness: The ledger calls.db is empty.")
    assert (tmp_path / "calls.db").stat().st_size == 0


@pytest.mark.parametrize("address", ["memory:", "postgresql://nowhere/calls"])
def test_an_address_that_no_command_can_look_at_is_refused(tmp_path: Path, address: str) -> None:
    assert toolwitness("show", "--db", address, folder=tmp_path).returncode == 2


def test_the_ledger_may_be_named_by_a_variable_or_an_address(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Path(shutil.move(ledger.file, ledger.folder / "other.db"))
    assert toolwitness("show", folder=ledger.folder).returncode == 2
    assert toolwitness("show", "--db", f"sqlite:///{other.name}", folder=ledger.folder).returncode == 0
    assert toolwitness("show", "--db", f"sqlite:///{other}", folder=ledger.folder.parent).returncode == 0


@pytest.mark.parametrize("arguments", [*READING, ["serve", "--port", "0"]], ids=" ".join)
def test_what_is_no_database_ends_with_2(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "calls.db").write_text("Dear diary, today I called a tool.\n" * 100, encoding="utf-8")
    asked = toolwitness(*arguments, folder=tmp_path)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "calls.db is not a SQLite database" in asked.stderr


def test_somebody_elses_database_ends_with_2_and_is_not_touched(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "calls.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = (tmp_path / "calls.db").read_bytes()
    asked = toolwitness("show", folder=tmp_path)
    assert asked.returncode == 2
    assert "of another application" in asked.stderr
    assert (tmp_path / "calls.db").read_bytes() == before


def test_a_newer_format_ends_with_3_and_is_not_touched(ledger: Ledger) -> None:
    with sqlite3.connect(ledger.file) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'from the future', '2031-01-01T00:00:00Z', 'toolwitness 9.0')")
    connection.close()
    asked = toolwitness("show", "--json", folder=ledger.folder)
    error = document(asked)["error"]
    assert (asked.returncode, error["code"], error["format"]) == (3, "newer-format", 99)
    assert "written by toolwitness 9.0" in error["message"]


def test_a_ledger_that_is_locked_ends_with_3(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    roles_for_me(ledger.folder, "finance")
    monkeypatch.setitem(SqliteLedger.__init__.__kwdefaults__, "busy_seconds", 0.2)
    connection = sqlite3.connect(ledger.file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        asked = toolwitness("approve", ledger.waiting, "--json", folder=ledger.folder)
    finally:
        connection.execute("ROLLBACK")
        connection.close()
    error = document(asked)["error"]
    assert (asked.returncode, error["code"]) == (3, "unavailable")
    assert "locked by another process" in error["message"]
    assert toolwitness("approve", ledger.waiting, folder=ledger.folder).returncode == 0, "nothing was written in between"


BROKEN = {
    "no TOML": ("actors = [", "policy", "it is no TOML"),
    "another table": ('[actor]\n"os:ann" = ["finance"]', "actor", "says nothing here"),
    "no table": ('actors = ["os:ann"]', "actors", "is a list and not a table"),
    "a role that is no list": ('[actors]\n"os:ann" = "finance"', "actors.os:ann", "does not give os:ann a list of roles"),
    "a role that is no text": ('[actors]\n"os:ann" = ["finance", 7]', "actors.os:ann", "does not give os:ann a list of roles"),
    "an empty role": ('[actors]\n"os:ann" = [""]', "actors.os:ann", "does not give os:ann a list of roles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_policy_file_that_cannot_be_understood_ends_with_2_and_names_the_field(ledger: Ledger, name: str) -> None:
    text, field, why = BROKEN[name]
    (ledger.folder / "toolwitness.toml").write_text(text, encoding="utf-8")
    for arguments in (["approve", ledger.waiting], ["inbox"], ["show"], ["serve", "--port", "0"]):
        asked = toolwitness(*arguments, "--json", folder=ledger.folder)
        error = document(asked)["error"]
        assert (asked.returncode, error["field"]) == (2, field)
        assert why in error["message"]
        assert error["message"].startswith("toolwitness.toml, line ")
        assert error["remedy"]


def test_a_policy_file_that_is_not_there_ends_with_2(ledger: Ledger) -> None:
    asked = toolwitness("inbox", "--policy", "gone.toml", folder=ledger.folder)
    assert (asked.returncode, "cannot be read: No such file" in asked.stderr) == (2, True)


def test_the_policy_file_may_be_named_by_an_option_and_gives_each_person_only_their_own_roles(ledger: Ledger) -> None:
    team = ledger.folder / "team.toml"
    team.write_text(f'[actors]\n"os:somebody-else" = ["finance"]\n"{me()}" = ["reader"]\n', encoding="utf-8")
    asked = toolwitness("approve", ledger.waiting, "--policy", str(team), folder=ledger.folder)
    assert asked.returncode == 1
    shown = document(toolwitness("show", ledger.waiting, "--json", folder=ledger.folder))
    assert shown["events"][-1]["data"]["roles"] == ["reader"]


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_answered_with_words_whatever_is_damaged_in_it(ledger: Ledger, seed: int) -> None:
    good = Path(ledger.file).read_bytes()
    chance = random.Random(seed)  # noqa: S311 - the damage is to be the same every time
    asked = (["show"], ["show", ledger.task], ["show", ledger.waiting, "--json"], ["inbox"], ["verify"], ["deny", ledger.waiting])
    for _ in range(6):
        for left in ledger.folder.glob("calls.db*"):
            left.unlink()
        Path(ledger.file).write_bytes(damaged(good, chance))
        for arguments in asked:
            answered = toolwitness(*arguments, folder=ledger.folder)
            assert answered.returncode in {0, 1, 2, 3}
            assert answered.returncode == 0 or answered.stdout or answered.stderr


def damaged(good: bytes, chance: random.Random) -> bytes:
    """Change some bytes of a file, or cut it."""
    changed = bytearray(good)
    for _ in range(chance.choice([1, 5, 200])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.choice([len(changed), len(changed), chance.randrange(1, len(changed))])])
