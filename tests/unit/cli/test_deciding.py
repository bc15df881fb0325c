"""Decisions from the terminal: once, as the account that runs the command, with the roles of the policy file; and from another process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.terminals import Ledger, a_process, document, me, roles_for_me, surroundings, toolwitness

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture(autouse=True)
def finance(ledger: Ledger) -> None:
    """Give the person at the terminal the role that the waiting call asks for."""
    roles_for_me(ledger.folder, "finance")


def test_an_approval_is_recorded_as_the_person_at_the_terminal_with_the_policys_permission(ledger: Ledger) -> None:
    answer = document(toolwitness("approve", ledger.waiting, "--reason", "within budget", "--json", folder=ledger.folder))
    granted, permitted = answer["recorded"]
    assert answer.keys() == {"recorded", "document"}
    assert (granted["type"], permitted["type"]) == ("toolcall.approval.granted", "toolcall.dispatch.permitted")
    expected = {"actor": me(), "roles": ["finance"], "channel": "cli", "reason": "within budget"}
    assert {name: granted["data"][name] for name in expected} == expected
    assert permitted["causedby"] == granted["ref"]
    assert answer["document"]["authorization"]["state"] == "granted"


def test_an_approval_is_shown_to_a_person_with_the_card_as_it_is_now(ledger: Ledger) -> None:
    said = toolwitness("approve", ledger.waiting, folder=ledger.folder)
    assert said.returncode == 0
    assert [line.split()[1] for line in said.stdout.splitlines() if line.startswith("recorded")] == [
        "approval.granted",
        "dispatch.permitted",
    ]
    assert "Reserve the flight" in said.stdout


def test_a_second_approval_is_refused_with_1_and_is_on_record(ledger: Ledger) -> None:
    assert toolwitness("approve", ledger.waiting, folder=ledger.folder).returncode == 0
    again = toolwitness("approve", ledger.waiting, "--json", folder=ledger.folder)
    error = document(again)["error"]
    assert again.returncode == 1
    assert error.keys() >= {"code", "message", "remedy", "rule"}
    assert (error["code"], error["rule"]) == ("not-permitted", "already-answered")
    assert f"already granted by {me()}" in error["message"]
    events = document(toolwitness("show", ledger.waiting, "--json", folder=ledger.folder))["events"]
    assert [event["verdict"] for event in events if event["type"] == "toolcall.approval.granted"] == ["noted", "refused"]


@pytest.mark.parametrize("option", ["--approval", "--digest"])
def test_an_approval_of_something_else_than_what_waits_is_refused(ledger: Ledger, option: str) -> None:
    asked = toolwitness("approve", ledger.waiting, option, "something-else", folder=ledger.folder)
    assert asked.returncode == 1
    assert "toolwitness: " in asked.stderr


def test_an_approval_bound_to_what_was_shown_is_accepted(ledger: Ledger) -> None:
    (shown,) = document(toolwitness("inbox", "--json", folder=ledger.folder))["approvals"]
    asked = shown["authorization"]
    bound = ["--approval", asked["approvalId"], "--digest", asked["inputsDigest"]]
    assert toolwitness("approve", ledger.waiting, *bound, folder=ledger.folder).returncode == 0


def test_somebody_without_the_role_is_refused_and_the_refused_act_is_on_record(ledger: Ledger) -> None:
    nobody = roles_for_me(ledger.folder, name="nobody.toml")
    asked = toolwitness("approve", ledger.waiting, "--policy", str(nobody), folder=ledger.folder)
    assert asked.returncode == 1
    shown = document(toolwitness("show", ledger.waiting, "--json", folder=ledger.folder))
    assert shown["state"] == "awaiting_approval"
    assert shown["events"][-1]["verdict"] == "refused"
    assert shown["events"][-1]["data"]["roles"] == []


def test_a_name_in_a_variable_does_not_make_somebody_else_of_the_person_at_the_terminal(ledger: Ledger) -> None:
    claimed = {"LOGNAME": "ann", "USER": "ann", "USERNAME": "ann"}
    answer = document(a_process("deny", ledger.waiting, "--json", folder=ledger.folder, environment=claimed))
    assert answer["recorded"][0]["data"]["actor"] == me()


def test_a_denial_closes_the_call_as_denied_and_not_as_an_error(ledger: Ledger) -> None:
    answer = document(toolwitness("deny", ledger.waiting, "--reason", "too dear", "--json", folder=ledger.folder))
    assert [event["type"] for event in answer["recorded"]] == ["toolcall.approval.denied", "toolcall.closure.recorded"]
    closure = answer["document"]["closure"]
    assert (answer["document"]["state"], closure["kind"], closure["initiator"], closure["reason"]) == (
        "cancelled",
        "denied",
        me(),
        "too dear",
    )
    assert answer["document"]["errors"]["safeCategory"] is None


def test_a_retry_proposes_a_new_attempt_and_leaves_the_failed_one_alone(ledger: Ledger) -> None:
    before = document(toolwitness("show", ledger.failed, "--json", folder=ledger.folder))
    answer = document(toolwitness("retry", ledger.failed, "--reason", "it is back", "--json", folder=ledger.folder))["document"]
    after = document(toolwitness("show", ledger.failed, "--json", folder=ledger.folder))
    assert (answer["identity"]["attempt"], answer["identity"]["retryOf"]) == (2, ledger.failed)
    assert after["retriedBy"] == answer["identity"]["invocationId"]
    untouched = ["state", "stateEvidenceRefs", "inputs", "runtimeObservations", "errors", "closure", "output", "timestamps"]
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


def test_a_retry_from_a_process_that_never_declared_the_tool_is_governed_by_the_policy_that_was_declared(ledger: Ledger) -> None:
    before = document(toolwitness("show", ledger.failed, "--json", folder=ledger.folder))
    answer = document(toolwitness("retry", ledger.failed, "--json", folder=ledger.folder))
    assert answer["document"]["consequence"] == before["consequence"]
    assert [event["type"] for event in answer["recorded"]][-1] == "toolcall.dispatch.permitted"


def test_what_has_ended_is_not_cancelled_and_what_succeeded_is_not_retried(ledger: Ledger) -> None:
    for command in ("cancel", "retry"):
        asked = toolwitness(command, ledger.succeeded, folder=ledger.folder)
        assert (asked.returncode, asked.stdout) == (1, "")
        assert asked.stderr.startswith("toolwitness: ")


@pytest.mark.parametrize("command", ["approve", "deny", "cancel", "retry"])
def test_a_call_that_nobody_recorded_is_answered_with_1(ledger: Ledger, command: str) -> None:
    asked = toolwitness(command, "inv_unknown", "--json", folder=ledger.folder)
    assert (asked.returncode, document(asked)["error"]["code"]) == (1, "unknown-id")


def test_a_call_that_waits_in_one_process_is_approved_from_another_and_runs_in_the_first(tmp_path: Path) -> None:
    roles_for_me(tmp_path, "finance")
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=surroundings()
    ) as program:  # fmt: skip  # facts in lines
        assert program.stdout is not None
        waiting = json.loads(program.stdout.readline())["waiting"]
        answer = document(a_process("approve", waiting, "--json", folder=tmp_path))
        told = json.loads(program.stdout.readline())
        assert program.wait(timeout=60) == 0
    assert answer["document"]["authorization"]["requiredDecision"], "the policy has come with the proposal"
    assert told == {"kind": "ok", "value": "paid 412.50 EUR", "ran": 1}
    after = document(toolwitness("show", waiting, "--json", folder=tmp_path))
    assert (after["state"], [effect["effect"] for effect in after["sideEffects"]["observed"]]) == ("succeeded", ["payment"])


def test_a_call_that_runs_in_one_process_is_cancelled_from_another(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), "slow"], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=surroundings()
    ) as program:  # fmt: skip  # facts in lines
        assert program.stdout is not None
        running = json.loads(program.stdout.readline())["waiting"]
        answer = document(a_process("cancel", running, "--reason", "enough", "--json", folder=tmp_path))
        told = json.loads(program.stdout.readline())
        assert program.wait(timeout=60) == 0
    assert [event["type"] for event in answer["recorded"]] == ["toolcall.cancellation.requested"]
    assert told == {"kind": "cancelled", "value": None, "ran": 1}
    closure = document(toolwitness("show", running, "--json", folder=tmp_path))["closure"]
    assert (closure["initiator"], closure["reason"]) == (me(), "enough")
