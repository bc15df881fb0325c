"""What show, inbox, verify and schema answer, to a person and as a document with stable keys."""

import sqlite3

from tests.unit.cli.terminals import Ledger, document, roles_for_me, toolwitness

EVENT_KEYS = {
    "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "owner", "taskid", "origin", "position", "recordedtime",
    "verdict", "hash", "data", "ref", "state", "basis",
}  # fmt: skip  # names in lines


def test_show_lists_the_tasks(ledger: Ledger) -> None:
    shown = toolwitness("show", folder=ledger.folder)
    assert shown.returncode == 0
    assert "Prepare the trip to Tromsø" in shown.stdout
    assert "1 of 3 required parts complete" in shown.stdout
    assert ledger.task in shown.stdout


def test_show_lists_the_tasks_as_rows(ledger: Ledger) -> None:
    answer = document(toolwitness("show", "--json", folder=ledger.folder))
    (row,) = answer["tasks"]
    assert answer.keys() == {"tasks"}
    assert row.keys() == {"id", "title", "state", "label", "tone", "glyph", "summary", "at", "waiting"}
    assert (row["id"], row["state"], row["waiting"]) == (ledger.task, "partially_complete", 1)


def test_show_draws_a_task_with_the_cards_of_its_calls(ledger: Ledger) -> None:
    shown = toolwitness("show", ledger.task, folder=ledger.folder)
    assert shown.returncode == 0
    assert [title for title in ("Search flights", "Search hotels", "Reserve the flight") if title in shown.stdout] == [
        "Search flights", "Search hotels", "Reserve the flight",
    ]  # fmt: skip  # one list


def test_show_gives_a_task_as_its_contract_document_with_its_events(ledger: Ledger) -> None:
    answer = document(toolwitness("show", ledger.task, "--json", folder=ledger.folder))
    assert answer.keys() == {"documentVersion", "task", "invocations", "events"}
    assert answer["task"]["taskId"] == ledger.task
    assert [call["invocationId"] for call in answer["invocations"]] == [ledger.succeeded, ledger.failed, ledger.waiting]
    assert all(event.keys() >= EVENT_KEYS - {"time"} for event in answer["events"])
    assert [event["position"] for event in answer["events"]] == list(range(1, len(answer["events"]) + 1))


def test_show_draws_a_call_with_its_evidence_unfolded(ledger: Ledger) -> None:
    shown = toolwitness("show", ledger.failed, folder=ledger.folder)
    assert shown.returncode == 0
    assert "Failed" in shown.stdout
    assert "The hotel service did not answer." in shown.stdout
    assert "Evidence" in shown.stdout


def test_show_gives_a_call_as_its_contract_document_and_every_reference_of_it_is_an_event_beside_it(ledger: Ledger) -> None:
    answer = document(toolwitness("show", ledger.failed, "--json", folder=ledger.folder))
    assert answer["contractVersion"] == "tool-call-ui/1"
    assert (answer["state"], answer["errors"]["safeCategory"]) == ("failed", "upstream-unavailable")
    beside = {event["ref"] for event in answer["events"]}
    assert set(answer["evidenceRefs"]) | set(answer["stateEvidenceRefs"]) <= beside


def test_what_is_not_recorded_is_answered_with_1(ledger: Ledger) -> None:
    asked = toolwitness("show", "inv_unknown", "--json", folder=ledger.folder)
    error = document(asked)["error"]
    assert asked.returncode == 1
    assert error["code"] == "unknown-id"
    assert error["message"] == "No invocation 'inv_unknown' is recorded."
    assert "toolwitness show" in error["remedy"]
    assert asked.stderr.startswith("toolwitness: No invocation 'inv_unknown'")


def test_the_inbox_says_what_waits_and_how_to_answer(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "finance")
    shown = toolwitness("inbox", folder=ledger.folder)
    assert shown.returncode == 0
    assert "1 call waits for a decision, 1 for yours" in shown.stdout
    assert "Reserve the flight" in shown.stdout
    assert f"toolwitness approve {ledger.waiting}" in shown.stdout


def test_the_inbox_of_somebody_without_the_role_says_that_it_waits_for_another(ledger: Ledger) -> None:
    shown = toolwitness("inbox", folder=ledger.folder)
    assert "1 call waits for a decision, 0 for yours" in shown.stdout


def test_the_inbox_gives_documents_with_what_this_person_may_do(ledger: Ledger) -> None:
    mine = document(
        toolwitness("inbox", "--json", "--policy", str(roles_for_me(ledger.folder, "finance", name="p.toml")), folder=ledger.folder)
    )
    theirs = document(toolwitness("inbox", "--json", folder=ledger.folder))
    assert mine.keys() == theirs.keys() == {"approvals"}
    assert [call["identity"]["invocationId"] for call in mine["approvals"]] == [ledger.waiting]
    assert {"approve", "deny"} <= set(mine["approvals"][0]["permittedActions"])
    assert not {"approve", "deny"} & set(theirs["approvals"][0]["permittedActions"])


def test_verify_says_good(ledger: Ledger) -> None:
    said = toolwitness("verify", folder=ledger.folder)
    assert (said.returncode, said.stdout) == (0, "good: every event, value, record and key agrees\n")
    answer = document(toolwitness("verify", "--json", folder=ledger.folder))
    assert answer == {"db": "calls.db", "verdict": "good", "problems": []}


def test_verify_names_the_place_of_what_was_changed_and_ends_with_1(ledger: Ledger) -> None:
    with sqlite3.connect(ledger.file) as connection:
        connection.execute("UPDATE events SET reason = 'nothing to see' WHERE position = 3")
    connection.close()
    said = toolwitness("verify", folder=ledger.folder)
    answer = document(toolwitness("verify", "--json", folder=ledger.folder))
    assert said.returncode == 1
    assert said.stdout.splitlines()[-1] == "not good: 1 place does not agree"
    assert answer["verdict"] == "tampered"
    assert [problem.keys() for problem in answer["problems"]] == [{"place", "what"}]
    assert "3" in answer["problems"][0]["place"]
