"""Forgetting from the terminal: with a role of the policy file, once, and the record still verifies."""

import json
from typing import Any

from tests.unit.cli.terminals import Ledger, document, me, roles_for_me, toolwitness


def erased(ledger: Ledger, *arguments: str) -> Any:
    return toolwitness("erase", *arguments, folder=ledger.folder)


def test_values_are_forgotten_and_the_card_and_the_record_say_so(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "eraser")
    answer = document(erased(ledger, ledger.succeeded, "--reason", "asked to", "--json"))
    assert answer.keys() == {"recorded", "document"}
    assert {event["type"] for event in answer["recorded"]} == {"toolcall.value.erased"}
    assert {(event["data"]["by"], event["data"]["reason"]) for event in answer["recorded"]} == {(me(), "asked to")}
    assert len(answer["recorded"]) == 2
    shown = toolwitness("show", ledger.succeeded, folder=ledger.folder)
    assert "by you: asked to" in shown.stdout
    verified = toolwitness("verify", folder=ledger.folder)
    assert (verified.returncode, "good" in verified.stdout.lower()) == (0, True)


def test_a_person_sees_which_values_went(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "eraser")
    said = erased(ledger, ledger.succeeded, "--inputs", "--reason", "asked to")
    assert said.returncode == 0
    lines = [line.split()[1] for line in said.stdout.splitlines() if line.startswith("erased  val_")]
    assert len(lines) == 1
    one = erased(ledger, lines[0], "--reason", "again", "--json")
    assert (one.returncode, document(one)["error"]["rule"]) == (1, "already-erased")


def test_without_the_role_it_is_refused_with_the_rule(ledger: Ledger) -> None:
    refused = erased(ledger, ledger.succeeded, "--reason", "asked to", "--json")
    assert (refused.returncode, document(refused)["error"]["rule"]) == (1, "eraser")


def test_the_policy_file_says_who_may(ledger: Ledger) -> None:
    (ledger.folder / "toolwitness.toml").write_text(f'[authority]\nerasers = ["user:{me()}"]\n', encoding="utf-8")
    assert erased(ledger, ledger.succeeded, "--outputs", "--reason", "asked to").returncode == 0


def test_what_waits_is_not_erased_and_a_reason_is_asked_for(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "eraser")
    waits = erased(ledger, ledger.waiting, "--reason", "asked to", "--json")
    assert (waits.returncode, document(waits)["error"]["rule"]) == (1, "still-needed")
    assert erased(ledger, ledger.succeeded).returncode == 2
    assert json.loads(erased(ledger, "inv_none", "--reason", "x", "--json").stdout)["error"]["code"] == "unknown-id"
