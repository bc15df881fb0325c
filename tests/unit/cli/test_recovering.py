"""Recovery and authority from the terminal: what they say, what they record, and what a wrong line is answered with."""

from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.cli.terminals import Ledger, document, me, roles_for_me, toolwitness
from toolwitness.core.states import State

ADMIN = '[authority]\nadministrators = ["role:admin"]\n'


@pytest.fixture(autouse=True)
def roles(ledger: Ledger) -> Path:
    """Give the person at the terminal both roles."""
    place = roles_for_me(ledger.folder, "finance", "admin")
    place.write_text(place.read_text(encoding="utf-8") + ADMIN, encoding="utf-8")
    return place


@pytest.fixture
async def calls(ledger: Ledger) -> dict[str, str]:
    """Add a call that can be undone, one whose inverse nobody declared, and one of which nobody knows what it did."""
    async with tw.open(ledger.file, sweep_seconds=3600) as desk:

        @desk.tool(consequences=[tw.READ_ONLY])
        async def untag(name: str) -> str:
            return name

        @desk.tool(consequences=[tw.REVERSIBLE], inverse=tw.Inverse(tool="untag", verified_by="a test"))
        async def tag(name: str) -> str:
            return name

        @desk.tool(consequences=[tw.REVERSIBLE], inverse=tw.Inverse(tool="unpin", verified_by="a test"))
        async def pin(name: str) -> str:
            return name

        @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="the mandate")
        async def post(name: str) -> str:
            raise TimeoutError("no answer")

        async with desk.task("Tag things") as task:
            made = {fn.__name__: (await task.call(fn, name="x")).invocation_id for fn in (tag, pin, post)}
        for one in made.values():
            assert (await desk.record(one)).state in {State.SUCCEEDED, State.FAILED}
        return made


def test_reversing_proposes_the_inverse_and_says_where_it_runs(ledger: Ledger, calls: dict[str, str]) -> None:
    said = toolwitness("reverse", calls["tag"], "--reason", "wrong name", folder=ledger.folder)
    assert said.returncode == 0, said.stderr
    assert "recorded  reversal.requested" in said.stdout
    assert "It runs in the process that hosts untag, and not here: it is permitted, and that process takes it up." in said.stdout
    again = toolwitness("reverse", calls["tag"], "--json", folder=ledger.folder)
    assert (again.returncode, document(again)["error"]["rule"]) == (1, "already-reversed")


def test_an_inverse_that_nobody_declared_is_named_in_the_policy_file(ledger: Ledger, calls: dict[str, str], roles: Path) -> None:
    said = toolwitness("reverse", calls["pin"], folder=ledger.folder)
    assert said.returncode == 1
    assert "the inverse is unpin, which this process does not know" in said.stderr
    assert "policy file" in said.stderr
    roles.write_text(
        roles.read_text(encoding="utf-8") + '[tools.unpin]\nconsequences = ["reversible"]\napprovers = ["role:finance"]\n', encoding="utf-8"
    )
    said = toolwitness("reverse", calls["pin"], folder=ledger.folder)
    assert said.returncode == 0, said.stderr
    assert "once it is approved:  toolwitness approve inv_" in said.stdout


@pytest.mark.parametrize(
    ("command", "which", "rule"),
    [("reverse", "failed", "not-succeeded"), ("reverse", "succeeded", "inverse"), ("reconcile", "succeeded", "nothing-in-doubt")],
)
def test_what_cannot_be_done_now_says_why(ledger: Ledger, command: str, which: str, rule: str) -> None:
    asked = toolwitness(command, getattr(ledger, which), "--json", folder=ledger.folder)
    assert (asked.returncode, document(asked)["error"]["rule"]) == (1, rule)


@pytest.mark.parametrize("command", ["reverse", "reconcile"])
def test_an_id_of_nothing_leads_on(ledger: Ledger, command: str) -> None:
    asked = toolwitness(command, "inv_gone", folder=ledger.folder)
    assert asked.returncode == 1
    assert "No invocation 'inv_gone' is recorded." in asked.stderr
    assert "toolwitness show" in asked.stderr


def test_reconciling_records_what_a_person_saw_and_by_whom(ledger: Ledger, calls: dict[str, str]) -> None:
    answer = document(
        toolwitness("reconcile", calls["post"], "--happened", "--reference", "post_7", "--reason", "seen", "--json", folder=ledger.folder)
    )
    [recorded] = answer["recorded"]
    expected: dict[str, Any] = {"conclusion": "happened", "by": me(), "reference": "post_7", "detail": "seen"}
    assert {name: recorded["data"][name] for name in expected} == expected
    assert answer["document"]["sideEffects"]["reconciliationState"] == "reconciled"
    assert answer["document"]["state"] == "failed"
    shown = toolwitness("show", calls["post"], folder=ledger.folder).stdout
    assert "post_7" in shown


def test_two_answers_that_contradict_each_other_and_half_an_answer_are_wrong_usage(ledger: Ledger, calls: dict[str, str]) -> None:
    both = toolwitness("reconcile", calls["post"], "--happened", "--partly", folder=ledger.folder)
    assert (both.returncode, "--happened and --partly cannot both be true" in both.stderr) == (2, True)
    half = toolwitness("reconcile", calls["post"], "--reference", "post_7", folder=ledger.folder)
    assert half.returncode == 2
    asked = toolwitness("reconcile", calls["post"], folder=ledger.folder)
    assert (asked.returncode, "does not host post" in asked.stderr) == (1, True)


def test_authority_is_taken_listed_and_given_back(ledger: Ledger) -> None:
    assert "Nobody's authority was taken." in toolwitness("authority", "list", folder=ledger.folder).stdout
    taken = toolwitness("authority", "revoke", "ann", "--role", "finance", "--reason", "left the team", folder=ledger.folder)
    assert taken.returncode == 0, taken.stderr
    assert "recorded  grant.revoked" in taken.stdout
    line = toolwitness("authority", "list", folder=ledger.folder).stdout
    assert f"ann  the role finance, taken by {me()} at " in line
    assert ": left the team" in line
    [listed] = document(toolwitness("authority", "list", "--json", folder=ledger.folder))["revoked"]
    assert listed.keys() == {"holder", "role", "by", "at", "reason"}
    given = toolwitness("authority", "restore", "ann", "--role", "finance", "--json", folder=ledger.folder)
    assert document(given).keys() == {"recorded"}
    assert document(toolwitness("authority", "list", "--json", folder=ledger.folder))["revoked"] == []


def test_what_rests_on_ones_own_authority_is_void_when_it_is_taken(ledger: Ledger) -> None:
    assert toolwitness("approve", ledger.waiting, folder=ledger.folder).returncode == 0
    taken = toolwitness("authority", "revoke", me(), folder=ledger.folder)
    assert taken.returncode == 0, taken.stderr
    assert f"approval.invalidated  {ledger.waiting}" in taken.stdout
    assert "1 approval that rested on it is void." in taken.stdout


def test_who_does_not_look_after_authority_takes_only_their_own(ledger: Ledger, roles: Path) -> None:
    roles.write_text(ADMIN, encoding="utf-8")
    assert toolwitness("authority", "revoke", "ann", folder=ledger.folder).returncode == 1
    assert toolwitness("authority", "revoke", me(), folder=ledger.folder).returncode == 0
    assert toolwitness("authority", "restore", me(), folder=ledger.folder).returncode == 1
    [own] = document(toolwitness("authority", "list", "--json", folder=ledger.folder))["revoked"]
    assert (own["holder"], own["role"]) == (me(), "")


def test_what_was_not_taken_cannot_be_given_back(ledger: Ledger) -> None:
    said = toolwitness("authority", "restore", "ann", folder=ledger.folder)
    assert said.returncode == 1
    assert "was not taken back" in said.stderr
