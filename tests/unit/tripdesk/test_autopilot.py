"""``toolwitness demo --autopilot --json --port 0``: the whole story, told by the printed document and by nothing else."""

import hashlib
from collections.abc import Iterable
from typing import Any, TypeAlias

import pytest

from tests.unit.cli.terminals import a_process, document, me
from toolwitness.core.states import State

Told: TypeAlias = dict[str, Any]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Run the demo once, as the documentation says."""
    finished = a_process("demo", "--autopilot", "--json", "--port", "0", folder=tmp_path_factory.mktemp("demo"))
    assert finished.returncode == 0, finished.stderr
    return document(finished)


def attempts(told: Told, tool: str) -> list[Told]:
    """Give the documents of every call of a tool, in order of attempt."""
    found = [call for call in told["invocations"] if call["tool"] == tool]
    return sorted(found, key=lambda call: call["identity"]["attempt"])


def the_call(told: Told, tool: str) -> Told:
    """Give the document of the only call of a tool."""
    (call,) = attempts(told, tool)
    return call


def events_of(told: Told, call: Told) -> list[Told]:
    """Give the events about a call, in order of arrival."""
    return [event for event in told["events"] if event["subject"] == call["identity"]["invocationId"]]


def kinds(events: Iterable[Told]) -> list[str]:
    return [event["type"].removeprefix("toolcall.") for event in events]


def of_kind(events: Iterable[Told], kind: str) -> list[Told]:
    return [event for event in events if event["type"] == f"toolcall.{kind}"]


def event(told: Told, ref: str) -> Told:
    """Give the event that a reference points at."""
    (found,) = [one for one in told["events"] if one["ref"] == ref]
    return found


def the_trip(told: Told) -> Told:
    """Give the document of the trip's task."""
    (found,) = [task for task in told["tasks"] if task["task"]["purpose"] == "Book the trip the user chose"]
    return found


def seen(told: Told, moment: str) -> Told:
    """Give the document that the person looked at in a moment."""
    (found,) = [snapshot["document"] for snapshot in told["snapshots"] if snapshot["moment"] == moment]
    return found


def entry(task: Told, tool: str) -> Told:
    """Give what a task document says of the latest call of a tool."""
    return [call for call in task["invocations"] if call["tool"] == tool][-1]


def test_the_document_has_the_promised_parts(told: Told) -> None:
    assert told.keys() == {"tasks", "invocations", "events", "snapshots"}
    assert [one["position"] for one in told["events"]] == list(range(1, len(told["events"]) + 1))


def test_every_reference_is_the_digest_of_its_source_and_id_and_every_cited_one_is_in_the_list(told: Told) -> None:
    for one in told["events"]:
        assert one["ref"] == "ev_" + hashlib.sha256(f"{one['source']}\0{one['id']}".encode()).hexdigest()[:32]
    refs = {one["ref"] for one in told["events"]}
    for call in told["invocations"]:
        assert set(call["evidenceRefs"]) | set(call["stateEvidenceRefs"]) <= refs
        assert all(set(finding["evidenceRefs"]) <= refs for finding in call["findings"])


def test_the_flight_succeeded(told: Told) -> None:
    flight = the_call(told, "search_flights")
    assert flight["state"] == "succeeded"
    assert [event(told, ref)["type"] for ref in flight["stateEvidenceRefs"]] == ["toolcall.execution.succeeded"]


def test_the_first_attempt_at_the_hotels_failed_and_was_not_touched_by_its_retry(told: Told) -> None:
    first = attempts(told, "search_hotels")[0]
    before = seen(told, "the first attempt at the hotels, before it is retried")
    assert (first["identity"]["attempt"], first["state"], first["errors"]["safeCategory"]) == (1, "failed", "upstream-unavailable")
    grows = {"documentVersion", "requests", "retriedBy", "evidenceRefs", "permittedActions"}  # the wish to retry it, and nothing else
    assert {name: value for name, value in first.items() if name not in grows} == {
        name: value for name, value in before.items() if name not in grows
    }
    events = events_of(told, first)
    failure = kinds(events).index("execution.failed")
    assert [(one["owner"], one["verdict"], one["type"]) for one in events[failure + 1 :]] == [
        ("user", "noted", "toolcall.retry.requested"),
    ]  # fmt: skip  # one row


def test_the_second_attempt_points_back_and_succeeded(told: Told) -> None:
    first, second = attempts(told, "search_hotels")
    assert (second["identity"]["attempt"], second["identity"]["retryOf"]) == (2, first["identity"]["invocationId"])
    assert second["state"] == "succeeded"
    assert second["identity"]["invocationId"] != first["identity"]["invocationId"]


def test_the_trains_were_cancelled_with_everything_that_a_closure_must_say(told: Told) -> None:
    rail = the_call(told, "search_rail")
    closure = rail["closure"]
    acknowledged = event(told, closure["acknowledgementRef"])
    (requested,) = of_kind(events_of(told, rail), "cancellation.requested")
    assert rail["state"] == "cancelled"
    assert (closure["state"], closure["kind"], closure["initiator"]) == ("cancelled", "execution-terminated", me())
    assert (closure["scope"], closure["reason"]) == ("this invocation", "the flight is good enough")
    assert closure["recordedAt"] == acknowledged["time"]
    assert (acknowledged["type"], acknowledged["owner"], acknowledged["subject"]) == (
        "toolcall.cancellation.acknowledged", "runtime", rail["identity"]["invocationId"],
    )  # fmt: skip  # one row
    assert acknowledged["data"]["termination"] == "unwound"
    assert acknowledged["data"]["request_ref"] == requested["ref"]
    assert requested["position"] < acknowledged["position"]
    assert requested["state"] == "streaming", "a request is not its acknowledgement"


def test_cancelling_the_trains_touched_no_sibling(told: Told) -> None:
    (requested,) = of_kind(events_of(told, the_call(told, "search_rail")), "cancellation.requested")
    siblings = [the_call(told, "search_flights"), *attempts(told, "search_hotels")]
    assert [one for call in siblings for one in of_kind(events_of(told, call), "cancellation.requested")] == []
    assert [one for one in told["events"] if requested["ref"] in (one.get("causedby") or "").split()] == of_kind(
        events_of(told, the_call(told, "search_rail")), "cancellation.acknowledged"
    )


def test_the_booking_was_approved_once_and_the_second_approval_was_refused_and_recorded(told: Told) -> None:
    booking = the_call(told, "book_itinerary")
    events = events_of(told, booking)
    accepted, refused = of_kind(events, "approval.granted")
    assert booking["state"] == "succeeded"
    assert (accepted["verdict"], refused["verdict"]) == ("noted", "refused")
    assert refused["reason"].startswith("already-answered: ")
    assert accepted["data"]["approval_id"] == refused["data"]["approval_id"] == booking["authorization"]["approvalId"]
    assert [len(of_kind(events, kind)) for kind in ("dispatch.permitted", "dispatch.claimed", "execution.started")] == [1, 1, 1]
    assert [effect["effect"] for effect in booking["sideEffects"]["observed"]] == ["payment"]
    assert [finding["code"] for finding in booking["findings"]] == ["decision-refused"]


def test_the_approval_was_bound_to_the_amount_that_the_flight_search_gave(told: Told) -> None:
    booking = the_call(told, "book_itinerary")
    origins = {row["field"]: (row["source"], row.get("sourceRef")) for row in booking["inputs"]["provenance"]}
    assert origins["total"] == ("result", the_call(told, "search_flights")["identity"]["invocationId"])
    (asked,) = of_kind(events_of(told, booking), "approval.requested")
    assert booking["authorization"]["inputsDigest"] == asked["data"]["inputs_digest"]


def test_the_summary_is_the_trips_synthesis(told: Told) -> None:
    task = the_trip(told)["task"]
    summary = the_call(told, "write_summary")["identity"]["invocationId"]
    assert task["synthesisInvocationId"] == summary
    assert summary not in task["requiredChildren"]


def test_the_summary_was_blocked_by_what_was_unresolved_until_it_was_resolved(told: Told) -> None:
    first, second = (call["identity"]["invocationId"] for call in attempts(told, "search_hotels"))
    rail = the_call(told, "search_rail")["identity"]["invocationId"]
    early = entry(seen(told, "the hotels have failed, the trains still stream"), "write_summary")
    late = entry(seen(told, "only the hotels keep the summary waiting"), "write_summary")
    after = entry(seen(told, "only the cancelled trains are left"), "write_summary")
    assert (early["state"], late["state"]) == ("proposed", "proposed")
    assert {first, rail} <= set(early["blockedBy"])
    assert late["blockedBy"] == [first], "its failure resolves nothing"
    assert after["blockedBy"] == the_call(told, "write_summary")["blockedBy"] == []
    events = events_of(told, the_call(told, "write_summary"))
    assert [(one["data"]["dependency"], one["data"]["moved_to"]) for one in of_kind(events, "dependency.moved")] == [(first, second)]


def test_the_summary_was_permitted_only_after_each_dependency_was_resolved_by_evidence_that_is_in_the_list(told: Told) -> None:
    summary = the_call(told, "write_summary")
    events = events_of(told, summary)
    (permitted,) = of_kind(events, "dispatch.permitted")
    resolved = {one["data"]["dependency"]: one for one in of_kind(events, "dependency.resolved")}
    flight, rail = the_call(told, "search_flights"), the_call(told, "search_rail")
    first, second = attempts(told, "search_hotels")
    resolved_by = {
        flight["identity"]["invocationId"]: flight["stateEvidenceRefs"][-1],
        first["identity"]["invocationId"]: second["stateEvidenceRefs"][-1],
        rail["identity"]["invocationId"]: rail["closure"]["acknowledgementRef"],
    }
    assert {dependency: one["data"]["by"] for dependency, one in resolved.items()} == resolved_by
    for one in resolved.values():
        assert event(told, one["data"]["by"])["position"] < one["position"] < permitted["position"]
    entered = [one["state"] for one in events if one["verdict"] == "moved"]
    assert entered[:3] == ["proposed", "queued", "running"]


def test_the_events_enter_all_eleven_states(told: Told) -> None:
    entered = {one["state"] for one in told["events"] if one["verdict"] == "moved"}
    assert entered == {state.value for state in State}
    assert len(entered) == 11


def test_all_three_closures_before_dispatch_are_recorded_and_nothing_of_them_ran(told: Told) -> None:
    closed = {
        call["closure"]["kind"]: call for call in told["invocations"] if call["closure"]["kind"] in {"denied", "dismissed", "withdrawn"}
    }
    assert {kind: call["tool"] for kind, call in closed.items()} == {
        "denied": "mail_itinerary", "dismissed": "offer_insurance", "withdrawn": "share_calendar",
    }  # fmt: skip  # one row
    for kind, call in closed.items():
        events = events_of(told, call)
        (closure,) = of_kind(events, "closure.recorded")
        assert (call["state"], closure["verdict"], closure["data"]["kind"], call["closure"]["initiator"]) == (
            "cancelled",
            "moved",
            kind,
            me(),
        )
        assert not {"dispatch.claimed", "dispatch.accepted", "execution.started"} & set(kinds(events))
        assert call["errors"]["safeCategory"] is None


def test_an_effect_landed_after_its_cancellation_had_been_requested_in_a_thread_that_cannot_be_stopped(told: Told) -> None:
    deposit = the_call(told, "charge_deposit")
    events = events_of(told, deposit)
    (requested,), (effect,) = of_kind(events, "cancellation.requested"), of_kind(events, "effect.observed")
    assert requested["position"] < effect["position"]
    assert (deposit["state"], of_kind(events, "execution.started")[0]["data"]["executor"]) == ("succeeded", "thread")
    assert of_kind(events, "cancellation.acknowledged") == []
    assert {"effect-after-cancel-request", "completed-despite-cancel-request"} <= {finding["code"] for finding in deposit["findings"]}


def test_an_effect_was_reported_after_a_call_was_cancelled_and_a_person_said_what_became_of_it(told: Told) -> None:
    train = the_call(told, "hold_seat")
    events = events_of(told, train)
    (acknowledged,), (effect,) = of_kind(events, "cancellation.acknowledged"), of_kind(events, "effect.observed")
    assert (train["state"], effect["source"]) == ("cancelled", "provider:railway")
    assert acknowledged["position"] < effect["position"]
    assert effect["verdict"] == "noted", "terminal is final"
    (settled,) = of_kind(events, "effects.reconciled")
    assert settled["position"] > effect["position"]


def test_an_input_was_asked_for_and_supplied(told: Told) -> None:
    seat = the_call(told, "choose_seat")
    path = [one["state"] for one in events_of(told, seat) if one["verdict"] == "moved"]
    assert path[0] == "proposed"
    assert path[1] == "awaiting_input"
    assert path[-1] == "succeeded"
    assert {"input.required", "input.supplied", "inputs.accepted"} <= set(kinds(events_of(told, seat)))


def test_an_approval_expired_could_not_be_used_and_was_replaced(told: Told) -> None:
    expired = attempts(told, "hold_price")[0]
    replacement = attempts(told, "hold_price")[-1]
    refused = of_kind(events_of(told, expired), "approval.granted")
    (elapsed,) = of_kind(events_of(told, expired), "deadline.elapsed")
    assert (expired["state"], elapsed["owner"], elapsed["data"]["deadline"]) == ("expired", "policy", "approval")
    assert [one["verdict"] for one in refused] == ["refused"] * len(refused) != []
    assert replacement["replaces"] is not None
    assert (replacement["state"], attempts(told, "hold_price")[1]["replaces"]) == ("succeeded", expired["identity"]["invocationId"])


def test_the_trip_is_partially_complete_until_a_person_says_that_it_can_do_without_the_trains(told: Told) -> None:
    rail = the_call(told, "search_rail")["identity"]["invocationId"]
    left = seen(told, "only the cancelled trains are left")["task"]
    final = the_trip(told)["task"]
    assert (left["state"], left["unresolvedChildren"], left["waivers"]) == ("partially_complete", [rail], [])
    assert seen(told, "a person has said that the trip can do without the trains")["task"]["state"] == "succeeded"
    assert (final["state"], final["unresolvedChildren"]) == ("succeeded", [])
    (waiver,) = final["waivers"]
    waived = event(told, waiver["evidenceRef"])
    assert (waiver["invocationId"], waiver["actor"]) == (rail, me())
    assert (waived["type"], waived["owner"]) == ("toolcall.child.waived", "user")
    assert of_kind(events_of(told, the_call(told, "book_itinerary")), "execution.succeeded")[0]["position"] < waived["position"]


def test_nothing_is_left_open_and_no_evidence_is_missing_that_a_consequence_demands(told: Told) -> None:
    ended = {"succeeded", "failed", "cancelled", "expired"}
    assert {call["state"] for call in told["invocations"]} == ended
    assert {task["task"]["state"] for task in told["tasks"]} == {"succeeded"}
    assert [finding for call in told["invocations"] for finding in call["findings"] if finding["severity"] == "violation"] == []
    assert [call["tool"] for call in told["invocations"] for finding in call["findings"] if finding["code"] == "evidence-missing"] == []
