"""Standing grants from the terminal: given, listed with their use, and taken back."""

from pathlib import Path

import pytest

from tests.unit.cli.terminals import Ledger, document, me, toolwitness

TOOLS = """
[tools.post]
consequences = ["externally-visible"]
approvers = ["role:finance"]

[tools.pay]
consequences = ["financially-consequential"]
approvers = ["role:finance"]
cost = { amount_field = "total", currency = "EUR" }

[tools.wipe]
consequences = ["destructive"]
commitment_boundary = "it is gone"
"""


@pytest.fixture(autouse=True)
def policy(ledger: Ledger) -> Path:
    """Write a policy file that gives the person at the terminal the role."""
    place = ledger.folder / "toolwitness.toml"
    place.write_text(f'[actors]\n"{me()}" = ["finance"]\n{TOOLS}', encoding="utf-8")
    return place


def test_a_grant_is_given_listed_and_taken_back(ledger: Ledger) -> None:
    asked = ("grants", "add", "pay", "--seconds", "60", "--count", "2", "--most", "9.50", "--currency", "EUR", "--where", "to=bob")
    given = document(toolwitness(*asked, "--where", "n=1", "--reason", "small ones", "--json", folder=ledger.folder))
    assert given["recorded"][0]["data"]["actor"] == me()
    [listed] = document(toolwitness("grants", "list", "--json", folder=ledger.folder))["grants"]
    assert (listed["grant"], listed["where"], listed["uses"]) == (given["grant"], {"to": "bob", "n": 1}, 0)
    line = toolwitness("grants", "list", folder=ledger.folder).stdout
    assert 'pay in every task, where n is 1, where to is "bob": 0 of 2 uses, each at most 9.50 EUR, until' in line
    assert toolwitness("grants", "revoke", given["grant"], folder=ledger.folder).returncode == 0
    assert "No grant stands" in toolwitness("grants", "list", folder=ledger.folder).stdout
    assert toolwitness("grants", "revoke", given["grant"], folder=ledger.folder).returncode == 1


def test_a_grant_for_one_task_says_so(ledger: Ledger) -> None:
    said = toolwitness("grants", "add", "post", "--seconds", "60", "--count", "1", "--task", ledger.task, folder=ledger.folder)
    assert said.returncode == 0
    assert f"post in {ledger.task}: 0 of 1 uses" in toolwitness("grants", "list", folder=ledger.folder).stdout
    [listed] = document(toolwitness("grants", "list", "--json", folder=ledger.folder))["grants"]
    assert document(toolwitness("grants", "revoke", listed["grant"], "--json", folder=ledger.folder))["grant"] == listed["grant"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("wipe", "--seconds", "60", "--count", "1"), 1),
        (("post", "--seconds", "60"), 1),
        (("post", "--seconds", "nan", "--count", "1"), 2),
        (("post", "--seconds", "60", "--count", "1", "--where", "nothing"), 2),
        (("pay", "--seconds", "60", "--most", "lots", "--currency", "EUR"), 2),
        (("post", "--seconds", "60", "--count", "1", "--task", "task_gone"), 2),
    ],
)
def test_what_is_no_grant_is_refused_with_its_reason(ledger: Ledger, arguments: tuple[str, ...], code: int) -> None:
    said = toolwitness("grants", "add", *arguments, folder=ledger.folder)
    assert said.returncode == code
    assert said.stderr.startswith("toolwitness: ")


def test_who_may_not_approve_may_not_grant(ledger: Ledger, policy: Path) -> None:
    policy.write_text(TOOLS, encoding="utf-8")
    assert toolwitness("grants", "add", "post", "--seconds", "60", "--count", "1", folder=ledger.folder).returncode == 1
