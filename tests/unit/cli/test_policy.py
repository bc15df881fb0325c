"""The policy file from the terminal: read whole, or explained answer by answer."""

from pathlib import Path

import pytest

from tests.unit.cli.terminals import Ledger, a_process, document, me, toolwitness

FILE = """
[actors]
"os:ann" = ["finance"]
"os:ben" = { roles = [], until = 2000-01-01T00:00:00Z }

[[budgets]]
per = "task"
amount = "10"
currency = "EUR"

[tools.book]
consequences = ["financially-consequential"]
approvers = ["role:finance"]
approval_seconds = 300
scope = ["total"]
cost = { amount_field = "total", currency = "EUR" }
idempotency = "keyed"
inverse = { tool = "cancel_booking", verified_by = "a test" }

[tools.look]
consequences = ["read-only"]

[tools.ask_first]
consequences = ["read-only"]
approvers = ["user:ann"]

[tools.mandated]
consequences = ["externally-visible"]
standing_authorization = "contract 7"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a policy file."""
    place = tmp_path / "team.toml"
    place.write_text(FILE, encoding="utf-8")
    return place


def test_a_file_that_is_understood_ends_with_0_and_says_what_it_holds(file: Path) -> None:
    said = toolwitness("policy", "check", str(file), folder=file.parent)
    assert said.returncode == 0
    assert f"{file} is understood." in said.stdout
    assert "book: financially-consequential; approved by role:finance" in said.stdout
    assert "os:ben: no role, until 2000-01-01" in said.stdout
    assert "10 EUR for each task; beyond it: refuse" in said.stdout
    found = document(toolwitness("policy", "check", str(file), "--json", folder=file.parent))
    assert found.keys() == {"file", "good", "tools", "actors", "administrators", "budgets"}
    assert found["budgets"] == [{"per": "task", "amount": "10", "currency": "EUR", "beyond": "refuse"}]


def test_a_file_that_is_not_understood_ends_with_2_and_names_the_line(file: Path) -> None:
    file.write_text("[tools.book]\napproval_second = 5\n", encoding="utf-8")
    said = toolwitness("policy", "check", str(file), "--json", folder=file.parent)
    error = document(said)["error"]
    assert (said.returncode, error["line"], error["field"]) == (2, 2, "tools.book.approval_second")
    assert "Did you mean approval_seconds" in error["remedy"]


@pytest.mark.parametrize("content", [b"\n\xff", None])
def test_a_file_that_cannot_be_read_ends_with_2(file: Path, content: bytes | None) -> None:
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    said = toolwitness("policy", "check", str(file), "--json", folder=file.parent)
    assert said.returncode == 2
    assert document(said)["error"].get("line", 2) == 2


def test_each_answer_is_explained_with_the_class_or_the_field_that_gave_it(file: Path) -> None:
    asked = ("policy", "explain", "book", "--actor", "os:ann", "--policy", str(file))
    found = document(toolwitness(*asked, "--json", folder=file.parent))
    answers = {one["question"]: (one["answer"], one["by"]) for one in found["answers"]}
    assert answers["who approves"] == ("role:finance", "approvers")
    assert answers["a repetition needs"] == ("keyed", "financially-consequential (costs money)")
    assert answers["approval"] == ("300 seconds", "approval_seconds")
    assert answers["what it costs"] == ("the input total, in EUR", "cost")
    assert found["actor"] == {"id": "os:ann", "roles": ["finance"], "tenant": ""}
    assert "an approval" in toolwitness(*asked, folder=file.parent).stdout


@pytest.mark.parametrize("actor", ["os:ann", "os:ben"])
def test_what_somebody_may_do_is_asked_of_the_rules_that_judge_the_click(file: Path, actor: str) -> None:
    found = document(toolwitness("policy", "explain", "book", "--actor", actor, "--policy", str(file), "--json", folder=file.parent))
    waiting = next(one for one in found["states"] if one["state"] == "awaiting_approval")
    approve = next(one for one in waiting["actions"] if one["action"] == "approve")
    assert (approve["allowed"], approve["rule"]) == (actor == "os:ann", "eligible")
    assert len(found["states"]) == 11


@pytest.mark.parametrize(
    ("tool", "answer", "by"),
    [
        ("look", "not asked", "read-only (reads only)"),
        ("ask_first", "before dispatch", "approvers"),
        ("mandated", "not asked: contract 7", "standing_authorization"),
        ("never_heard_of", "before commitment", "destructive (destroys something)"),
    ],
)
def test_whether_an_approval_is_asked_is_said_with_who_asks(file: Path, tool: str, answer: str, by: str) -> None:
    found = document(toolwitness("policy", "explain", tool, "--actor", "x", "--policy", str(file), "--json", folder=file.parent))
    told = next(one for one in found["answers"] if one["question"] == "an approval")
    assert (told["answer"], told["by"]) == (answer, by)


def test_with_a_ledger_the_policy_that_was_recorded_counts_too(ledger: Ledger) -> None:
    shown = document(toolwitness("show", ledger.waiting, "--json", folder=ledger.folder))
    tool = shown["tool"]["name"] if isinstance(shown["tool"], dict) else shown["tool"]
    asked = ("policy", "explain", tool, "--actor", "os:ann", "--role", "finance", "--json")
    recorded = document(toolwitness(*asked, "--db", ledger.file, folder=ledger.folder))
    alone = document(toolwitness(*asked, folder=ledger.folder))
    assert recorded["answers"][0]["by"] == "consequences"
    assert alone["answers"][0]["by"].startswith("nobody declared")
    unknown = ("policy", "explain", "nobody", "--actor", "x", "--db", ledger.file, "--json")
    assert document(toolwitness(*unknown, folder=ledger.folder))["answers"][0]["by"].startswith("nobody declared")


def test_who_asks_without_naming_anybody_asks_for_themselves(file: Path) -> None:
    found = document(toolwitness("policy", "explain", "book", "--policy", str(file), "--json", folder=file.parent))
    assert found["actor"]["id"] == me()


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_an_explanation_fits_the_terminal(file: Path, columns: str) -> None:
    asked = ("policy", "explain", "book", "--actor", "os:ann", "--policy", str(file))
    shown = a_process(*asked, folder=file.parent, environment={"COLUMNS": columns})
    assert shown.returncode == 0, shown.stderr
    assert max(len(line) for line in shown.stdout.splitlines()) <= int(columns)
