"""The documents built from folded records are documents, whatever evidence the records were made of, and say what it said."""

import json
import math
from itertools import count
from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.builders import WHOLE
from toolwitness.contract.document import build_invocation_document, build_task_document, encode
from toolwitness.contract.encode import extend, join
from toolwitness.contract.fragments import Fragments
from toolwitness.contract.parse import parse_invocation, parse_task
from toolwitness.contract.schemas import schema
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import InvocationId, State, TaskId
from toolwitness.core.task import TaskRecord, judge_task
from toolwitness.core.verdicts import Control
from toolwitness.core.vocabulary import KINDS

CONTRACT: Any = jsonschema.Draft202012Validator(schema("contract"))
TASK: Any = jsonschema.Draft202012Validator(schema("task"))
_numbers = count(1)


def said(kind: str, invocation: str | None = "inv_1", /, **data: Any) -> Event:
    spec = KINDS[kind]
    return Event(
        kind=kind,
        source="test",
        id=str(next(_numbers)),
        task_id="task_1",
        invocation_id=invocation,
        owner=spec.owners[0],
        attempt=data.pop("attempt_number", 1),
        time="2026-11-30T10:00:00Z",
        data={**WHOLE.get(kind, {}), **data},
    )


def record_of(*events: Event, invocation: str = "inv_1") -> InvocationRecord:
    record = InvocationRecord(InvocationId(invocation))
    for event in events:
        judge(record, event)
    return record


def checked(record: InvocationRecord, **arguments: Any) -> dict[str, Any]:
    """Build a document, and read it back through the schema and the model."""
    document = build_invocation_document(record, **arguments)
    encoded = encode(document)
    CONTRACT.validate(json.loads(encoded))
    assert parse_invocation(encoded).as_dict() == json.loads(encoded)
    return json.loads(encoded)


PATHS: dict[str, list[str]] = {
    "proposed": [Kind.PROPOSED],
    "awaiting_input": [Kind.PROPOSED, Kind.INPUT_REQUIRED],
    "awaiting_approval": [Kind.PROPOSED, Kind.APPROVAL_REQUESTED],
    "queued": [Kind.PROPOSED, Kind.ACCEPTED],
    "running": [Kind.PROPOSED, Kind.ACCEPTED, Kind.STARTED],
    "streaming": [Kind.PROPOSED, Kind.STARTED, Kind.OUTPUT, Kind.PROGRESS],
    "partially_complete": [Kind.PROPOSED, Kind.STARTED, Kind.PART_COMPLETED],
    "succeeded": [Kind.PROPOSED, Kind.CLAIMED, Kind.ACCEPTED, Kind.STARTED, Kind.EFFECT, Kind.SUCCEEDED],
    "failed": [Kind.PROPOSED, Kind.STARTED, Kind.FAILED],
    "cancelled": [Kind.PROPOSED, Kind.STARTED, Kind.CANCEL_REQUESTED, Kind.CANCEL_ACKNOWLEDGED],
    "expired": [Kind.PROPOSED, Kind.STARTED, Kind.DEADLINE_ELAPSED],
}


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_its_document(state: State) -> None:
    document = checked(record_of(*map(said, PATHS[state])))
    assert document["state"] == state
    assert document["stateEvidenceRefs"]
    assert set(document["stateEvidenceRefs"]) <= set(document["evidenceRefs"])


def test_a_record_without_any_evidence_has_a_document_that_claims_nothing() -> None:
    document = checked(InvocationRecord(InvocationId("inv_1")))
    assert document["state"] is None
    assert document["timestamps"] == dict.fromkeys(("proposedAt", "approvedAt", "acceptedAt", "startedAt", "completedAt"))
    assert document["authorization"]["state"] == "unobserved"


def test_a_denial_is_a_closure_with_all_its_facts() -> None:
    document = checked(
        record_of(
            said(Kind.PROPOSED),
            said(Kind.APPROVAL_REQUESTED),
            said(Kind.DENIED, reason="too dear"),
            said(Kind.CLOSED, kind="denied", owner_name="booking policy"),
        )
    )
    closure = document["closure"]
    assert closure == {
        "state": "cancelled", "owner": "booking policy", "kind": "denied", "initiator": "user:ada", "scope": "this invocation",
        "reason": "changed plans", "recordedAt": "2026-11-30T10:00:00Z",
        "acknowledgementRef": document["stateEvidenceRefs"][0], "termination": None,
    }  # fmt: skip  # one fact after the other
    assert document["authorization"]["state"] == "denied"
    assert document["sideEffects"]["reconciliationState"] == "not-executed"


def test_an_expired_attempt_says_which_deadline_closed_it() -> None:
    closure = checked(record_of(*map(said, PATHS["expired"])))["closure"]
    assert (closure["kind"], closure["initiator"], closure["reason"]) == ("expired", "deadline", "the result deadline elapsed")
    assert closure["recordedAt"] == "2026-11-30T10:00:00Z"


def test_a_requested_cancellation_is_a_request_and_no_closure() -> None:
    document = checked(record_of(said(Kind.PROPOSED), said(Kind.STARTED), said(Kind.CANCEL_REQUESTED, reason="no longer needed")))
    assert document["state"] == "running"
    assert [request["kind"] for request in document["requests"]] == ["cancellation"]
    assert set(document["closure"].values()) == {None}


def test_an_approval_shows_what_it_is_bound_to_and_who_decided() -> None:
    asked = said(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T10:05:00Z", eligible=["role:finance"], inputs_digest="d1")
    waiting = checked(record_of(said(Kind.PROPOSED), asked))["authorization"]
    assert (waiting["state"], waiting["expiresAt"], waiting["eligible"]) == ("pending", "2026-11-30T10:05:00Z", ["role:finance"])
    granted = checked(record_of(said(Kind.PROPOSED), asked, said(Kind.GRANTED)))
    assert granted["authorization"]["state"] == "granted"
    assert granted["authorization"]["decidedBy"] == "user:ada"
    assert granted["timestamps"]["approvedAt"] == "2026-11-30T10:00:00Z"
    assert granted["state"] == "awaiting_approval", "approved is not queued"


def test_permissions_are_those_that_were_passed_in_and_are_enabled() -> None:
    record = record_of(said(Kind.PROPOSED))
    verdicts = (Control(action="dismiss", enabled=True, rule="r"), Control(action="approve", enabled=False, rule="r"))
    assert checked(record)["permittedActions"] == []
    assert checked(record, verdicts=verdicts)["permittedActions"] == ["dismiss"]


def test_values_are_embedded_exactly_and_only_where_they_are_given() -> None:
    record = record_of(said(Kind.PROPOSED), said(Kind.STARTED), said(Kind.SUCCEEDED))
    assert "values" not in checked(record)["inputs"]
    values = {"val_inputs": b'{"id": 9007199254740993123, "rate": 0.1}', "val_result": b"[1, 2"}
    document = checked(record, values=values)
    assert document["inputs"]["values"] == {"id": 9007199254740993123, "rate": 0.1}
    assert document["output"]["resultText"] == "[1, 2"
    assert document["output"]["resultProblem"] == "syntax"
    assert document["output"]["resultRef"] == "val_result"


def test_a_value_too_long_for_a_document_stays_a_reference() -> None:
    record = record_of(said(Kind.PROPOSED))
    document = checked(record, values={"val_inputs": b'"' + b"x" * 70_000 + b'"'})
    assert "values" not in document["inputs"]
    assert document["inputs"]["valuesRef"] == "val_inputs"


def test_a_text_that_lies_beside_its_event_is_shown_to_who_may_see_it() -> None:
    summary = {"ref": "val_summary", "digest": "d", "bytes": 3}
    record = record_of(said(Kind.PROPOSED), said(Kind.STARTED), said(Kind.SUCCEEDED, summary=summary))
    assert checked(record)["output"]["summary"] is None
    assert checked(record, values={"val_summary": b"caf\xe9"})["output"]["summary"] == "caf\\xe9"


def test_what_is_a_text_where_a_list_belongs_is_a_list_of_one() -> None:
    document = checked(record_of(said(Kind.PROPOSED, expected_effects="a reservation", alternate_routes="")))
    assert document["sideEffects"]["expected"] == ["a reservation"]
    assert document["alternateRoutes"] == []


def test_provenance_lineage_and_correlation_are_spelled_as_the_contract_has_them() -> None:
    proposal = said(
        Kind.PROPOSED,
        provenance=[{"field": "id", "source": "result", "source_ref": "inv_0", "pointer": "/options/0"},
                    {"field": "n", "source": "unrecorded"}],
        correlation=[{"source": "pydantic-ai", "run_id": "r1", "provider_call_id": "call_1", "occurrence": 2}],
        retry_of="inv_0", replaces="inv_9", consequences=["read-only"], recovery=["void"], attempt_number=2,
    )  # fmt: skip  # one call
    document = checked(record_of(proposal))
    assert document["inputs"]["provenance"] == [
        {"field": "id", "source": "result", "sourceRef": "inv_0", "pointer": "/options/0"},
        {"field": "n", "source": "unrecorded", "sourceRef": None},
    ]
    assert document["correlation"] == [{"source": "pydantic-ai", "runId": "r1", "providerCallId": "call_1", "occurrence": 2}]
    assert (document["identity"]["attempt"], document["identity"]["retryOf"], document["replaces"]) == (2, "inv_0", "inv_9")
    assert document["recovery"]["afterCommitment"] == ["void"]


def test_a_dependency_that_moved_is_named_by_the_attempt_that_counts_now() -> None:
    proposal = said(Kind.PROPOSED, dependencies=["inv_0", "inv_x"])
    moves = [said(Kind.DEPENDENCY_MOVED), said(Kind.DEPENDENCY_MOVED, dependency="inv_0b", moved_to="inv_0c")]
    document = checked(record_of(proposal, *moves))
    assert document["identity"]["dependencies"] == ["inv_0c", "inv_x"]
    circle = [said(Kind.DEPENDENCY_MOVED, dependency="inv_0b", moved_to="inv_0")]
    assert checked(record_of(proposal, moves[0], *circle))["identity"]["dependencies"] == ["inv_0b", "inv_x"]


def test_expected_transitions_are_those_of_the_lifecycle_and_none_after_the_end() -> None:
    document = checked(record_of(said(Kind.PROPOSED), said(Kind.ACCEPTED)))
    assert "queued -> running(on execution.started)" in document["expectedTransitions"]
    assert checked(record_of(*map(said, PATHS["failed"])))["expectedTransitions"] == []


def test_an_effect_keeps_what_was_reported_of_it() -> None:
    late = said(Kind.EFFECT, amount="412.50", currency="EUR", provider_reference="p-1")
    document = checked(record_of(*map(said, PATHS["cancelled"]), late))
    (effect,) = document["sideEffects"]["observed"]
    assert (effect["amount"], effect["providerReference"], effect["late"]) == ("412.50", "p-1", True)
    assert document["state"] == "cancelled"
    assert "late-effect" in [finding["code"] for finding in document["findings"]]


WORDS = st.text(max_size=4)
ODD = (
    st.none()
    | WORDS
    | st.integers(-5, 5)
    | st.lists(st.integers(0, 3) | WORDS, max_size=2)
    | st.dictionaries(st.sampled_from(["ref", "text", "a"]), WORDS, max_size=2)
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_strangers_say_the_document_is_valid(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(kind for kind in KINDS if not KINDS[kind].of_task)), max_size=8))
    events = [said(Kind.PROPOSED)] if data.draw(st.booleans()) else []
    for kind in kinds:
        names = st.sampled_from([*WHOLE[kind], *KINDS[kind].optional, "order"])
        odd = data.draw(st.dictionaries(names, ODD, max_size=2)) if data.draw(st.booleans()) else {}
        events.append(said(kind, **odd))
    record = InvocationRecord(InvocationId("inv_1"))
    for event in events:
        try:
            judge(record, event)
        except (AttributeError, TypeError, ValueError):
            return  # A field of another type than the fold reads: its own tests say what becomes of that.
    checked(record)


def a_trip() -> tuple[TaskRecord, dict[str, InvocationRecord]]:
    """The task of the seed: flight succeeded, hotel failed and retried, rail cancelled, synthesis waiting for the hotel."""
    task = TaskRecord(TaskId("task_1"))
    judge_task(task, said(Kind.TASK_OPENED, None, synthesis="inv_syn", required_children=["inv_f", "inv_h", "inv_r"]))
    records = {
        "inv_f": record_of(*(said(k, "inv_f") for k in PATHS["succeeded"]), invocation="inv_f"),
        "inv_h": record_of(*(said(k, "inv_h") for k in PATHS["failed"]), invocation="inv_h"),
        "inv_h2": record_of(
            said(Kind.PROPOSED, "inv_h2", retry_of="inv_h", attempt_number=2), said(Kind.ACCEPTED, "inv_h2"), invocation="inv_h2"
        ),
        "inv_r": record_of(*(said(k, "inv_r") for k in PATHS["cancelled"]), invocation="inv_r"),
        "inv_syn": record_of(
            said(Kind.PROPOSED, "inv_syn", dependencies=["inv_f", "inv_h", "inv_r"]),
            said(Kind.DEPENDENCY_MOVED, "inv_syn", dependency="inv_h", moved_to="inv_h2"),
            invocation="inv_syn",
        ),
    }
    return task, records


def test_the_task_of_the_seed_has_the_document_of_the_seed() -> None:
    document = build_task_document(*a_trip())
    encoded = encode(document)
    TASK.validate(json.loads(encoded))
    assert parse_task(encoded).as_dict() == json.loads(encoded)
    task = document["task"]
    assert (task["state"], task["requiredChildren"], task["synthesisInvocationId"]) == (
        "partially_complete", ["inv_f", "inv_h", "inv_r"], "inv_syn",
    )  # fmt: skip  # two rows to compare
    entries = {entry["invocationId"]: entry for entry in document["invocations"]}
    assert entries["inv_h"]["result"]["errorCategory"] == "upstream-unavailable"
    assert (entries["inv_h2"]["retryOf"], entries["inv_h2"]["queueRef"], entries["inv_h2"]["result"]) == ("inv_h", "queue/1", None)
    assert entries["inv_r"]["result"]["reason"] == "user-requested"
    assert entries["inv_syn"]["blockedBy"] == ["inv_h2"]
    assert entries["inv_syn"]["dependencies"] == ["inv_f", "inv_h2", "inv_r"]


@pytest.mark.parametrize("state", list(State))
def test_a_task_lists_attempts_in_every_state(state: State) -> None:
    records = {"inv_1": record_of(*map(said, PATHS[state])), "inv_2": InvocationRecord(InvocationId("inv_2"))}
    encoded = encode(build_task_document(TaskRecord(TaskId("task_1")), records))
    TASK.validate(json.loads(encoded))
    assert [entry.state for entry in parse_task(encoded).invocations] == [state, None]


def test_waivers_are_listed_with_who_and_why() -> None:
    task, records = a_trip()
    judge_task(task, said(Kind.CHILD_WAIVED, None, child="inv_r"))
    (waiver,) = build_task_document(task, records)["task"]["waivers"]
    assert (waiver["invocationId"], waiver["actor"], waiver["reason"]) == ("inv_r", "user:ada", "rail is not needed")


@pytest.mark.parametrize("value", [2**70, -(2**63) - 1, 9999999999999999999, "\ud800", {"\ud800": 1}, [1.5, None]])
def test_encoding_changes_no_value(value: Any) -> None:
    assert json.loads(encode({"a": value})) == {"a": value}


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"deep": [None, {"x": math.nan}]}])
def test_a_number_that_is_not_finite_is_an_error_and_never_null(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"a": value})


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(TypeError):
        encode({"a": object()})


def test_fields_can_be_added_to_an_encoded_object() -> None:
    assert json.loads(extend(b'{"a":1}', {"b": [2]})) == {"a": 1, "b": [2]}
    assert extend(b"{}", {"b": 2}) == b'{"b":2}'
    assert extend(b'{"a":1}', {}) == b'{"a":1}'
    assert join([b"1", b"2"]) == b"[1,2]"
    assert join([]) == b"[]"


def test_a_fragment_and_the_readers_actions_are_the_document() -> None:
    record = record_of(said(Kind.PROPOSED))
    fragment = Fragments().invocation(record)
    assert "permittedActions" not in orjson.loads(fragment)
    actual = orjson.loads(extend(fragment, {"permittedActions": ["dismiss"]}))
    assert actual == orjson.loads(encode(build_invocation_document(record))) | {"permittedActions": ["dismiss"]}


def test_only_what_changed_is_encoded_anew() -> None:
    task, records = a_trip()
    fragments = Fragments()
    first = fragments.task(task, records)
    assert orjson.loads(first) == orjson.loads(encode(build_task_document(task, records)))
    made = fragments.made
    assert fragments.task(task, records) == first
    assert fragments.made == made
    for kind in (Kind.STARTED, Kind.SUCCEEDED):
        judge(records["inv_h2"], said(kind, "inv_h2"))
    second = fragments.task(task, records)
    assert orjson.loads(second) == orjson.loads(encode(build_task_document(task, records)))
    assert fragments.made == made + 2, "the retry, and the synthesis, which no longer waits for it"


def test_no_more_fragments_are_kept_than_asked_for() -> None:
    fragments = Fragments(keep=1)
    first, second = (InvocationRecord(InvocationId(name)) for name in ("inv_1", "inv_2"))
    for record in (first, second, second, first):
        fragments.entry(record)
    assert fragments.made == 3
