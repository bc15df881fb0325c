"""Events cross the border as CloudEvents and come back as they were."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.contract.envelope import encode_event, parse_event, take_values
from toolwitness.contract.parse import parse_envelope, parse_events
from toolwitness.contract.schemas import schema
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import KINDS, Event, Kind
from toolwitness.core.states import Origin, Owner

VALIDATOR: Any = jsonschema.Draft202012Validator(schema("event"))
EVENT = Event(
    kind=Kind.STARTED,
    source="worker:1",
    id="e-7",
    task_id="task_1",
    invocation_id="inv_1",
    owner=Owner.RUNTIME,
    attempt=2,
    data={"attempt": 2, "executor": "thread"},
    time="2026-11-01T10:00:00Z",
    sequence=12,
    caused_by=("ev_a", "ev_b"),
    tenant="acme",
    adapter="pydantic-ai@1#start",
    raw_ref="val_9",
)
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs", "Zs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8)
EVENTS = st.builds(
    Event,
    kind=st.sampled_from(list(KINDS)) | WORDS,
    source=WORDS,
    id=WORDS,
    task_id=st.just("task_1"),
    invocation_id=st.none() | st.just("inv_1"),
    owner=st.sampled_from(Owner),
    attempt=st.none() | st.integers(1, 99),
    data=st.dictionaries(WORDS, st.integers() | WORDS | st.booleans() | st.none() | st.lists(WORDS, max_size=2), max_size=3),
    time=st.none() | WORDS,
    sequence=st.none() | st.integers(0, 10**18 - 1),
    origin=st.sampled_from(Origin),
    caused_by=st.lists(WORDS, max_size=3).map(tuple),
    tenant=st.just("") | WORDS,
    adapter=st.just("") | WORDS,
    raw_ref=st.just("") | WORDS,
)


def test_an_event_is_a_cloud_event_with_our_attributes() -> None:
    expected: dict[str, Any] = {
        "specversion": "1.0",
        "id": "e-7",
        "source": "worker:1",
        "type": "toolcall.execution.started",
        "subject": "inv_1",
        "time": "2026-11-01T10:00:00Z",
        "datacontenttype": "application/json",
        "owner": "runtime",
        "taskid": "task_1",
        "attempt": 2,
        "sequence": "0000000012",
        "origin": "server",
        "causedby": "ev_a ev_b",
        "tenant": "acme",
        "adapter": "pydantic-ai@1#start",
        "rawref": "val_9",
        "data": {"attempt": 2, "executor": "thread"},
    }
    assert encode_event(EVENT) == expected
    assert all(name == name.lower() and name.isalnum() for name in expected)


def test_what_the_ledger_added_stands_beside_it() -> None:
    ledger = {"position": 4, "recorded_time": "2026-11-01T10:00:01Z", "verdict": "moved", "reason": "", "hash": "a" * 64, "row": "r"}
    envelope = encode_event(EVENT, **ledger)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] -- a table of arguments
    added = {"position": 4, "recordedtime": "2026-11-01T10:00:01Z", "verdict": "moved", "hash": "a" * 64, "row": "r"}
    assert envelope == encode_event(EVENT) | added
    VALIDATOR.validate(envelope)
    assert parse_event(envelope) == EVENT, "the ledger's own word is not taken from a stranger"


def test_why_an_event_was_refused_is_its_reason() -> None:
    refused = Event(kind=Kind.GRANTED, source="s", id="1", task_id="t", owner=Owner.USER, refusal="role: not eligible")
    assert encode_event(refused)["reason"] == "role: not eligible"
    assert parse_event(encode_event(refused)).refusal == ""


@given(EVENTS)
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    envelope = encode_event(event)
    VALIDATOR.validate(envelope)
    assert parse_event(json.loads(json.dumps(envelope))) == event


def test_an_event_about_the_task_has_the_task_as_its_subject() -> None:
    event = Event(kind=Kind.TASK_OPENED, source="s", id="1", task_id="task_1", owner=Owner.RUNTIME, data={"purpose": "p"})
    assert encode_event(event)["subject"] == "task_1"
    assert parse_event(encode_event(event)).invocation_id is None


def test_an_envelope_without_owner_is_owned_by_who_owns_the_kind() -> None:
    for kind, owner in ((Kind.GRANTED, Owner.USER), (Kind.CLOSED, Owner.POLICY), ("never.heard", Owner.RUNTIME)):
        envelope = {"specversion": "1.0", "id": "1", "source": "s", "type": f"toolcall.{kind}", "subject": "i", "taskid": "t"}
        VALIDATOR.validate(envelope)
        event = parse_event(envelope)
        assert (event.owner, event.kind, event.data, event.origin) == (owner, kind, {}, Origin.SERVER)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"specversion": "0.3"}, "/specversion"),
        ({"id": ""}, "/id"),
        ({"id": 7}, "/id"),
        ({"type": "com.example.other"}, "/type"),
        ({"type": "toolcall."}, "/type"),
        ({"subject": None}, "/subject"),
        ({"sequence": 12}, "/sequence"),
        ({"sequence": "-1"}, "/sequence"),
        ({"sequence": "first"}, "/sequence"),
        ({"attempt": 0}, "/attempt"),
        ({"attempt": "2"}, "/attempt"),
        ({"owner": "nobody"}, "/owner"),
        ({"origin": "elsewhere"}, "/origin"),
        ({"data": []}, "/data"),
        ({"data": None}, "/data"),
        ({"causedby": ["ev_a"]}, "/causedby"),
        ({"hash": "abc"}, "/hash"),
        ({"data": {"progress": {"percent": 0.5}}}, "/data/progress/percent"),
    ],
)
def test_an_envelope_that_is_wrong_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_event(encode_event(EVENT) | change)
    assert caught.value.facts["field"] == field
    assert "percent" in field or not VALIDATOR.is_valid(encode_event(EVENT) | change)


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type", "subject", "taskid"])
def test_an_envelope_without_a_required_attribute_is_refused(name: str) -> None:
    envelope = {key: value for key, value in encode_event(EVENT).items() if key != name}
    assert not VALIDATOR.is_valid(envelope)
    with pytest.raises(InvalidInput, match=f"/{name}: the field is missing"):
        parse_event(envelope)


def test_unknown_attributes_survive_in_the_envelope() -> None:
    envelope = encode_event(EVENT) | {"traceparent": "00-1", "data": {"attempt": 2, "big": 9007199254740993123}}
    assert parse_envelope(json.dumps(envelope)).as_dict() == envelope


def test_a_batch_is_taken_whole_or_refused_with_the_number_of_the_event() -> None:
    good, bad = encode_event(EVENT), encode_event(EVENT) | {"id": ""}
    assert parse_events(json.dumps([good, good])) == [EVENT, EVENT]
    assert parse_events(json.dumps(good).encode()) == [EVENT]
    with pytest.raises(InvalidInput, match="Event 1 of the batch") as caught:
        parse_events(json.dumps([good, bad]))
    assert caught.value.facts["field"] == "/1/id"
    for text in ("7", "[3]", "null"):
        with pytest.raises(InvalidInput):
            parse_events(text)


def test_foreign_values_are_taken_out_of_the_fields_and_references_stay() -> None:
    reference = {"ref": "val_1", "digest": "d", "bytes": 3}
    event = Event(
        kind=Kind.PROPOSED,
        source="s",
        id="1",
        task_id="t",
        owner=Owner.RUNTIME,
        data={"tool": "book", "inputs": {"a": 1}, "raw": reference},
    )
    without, values = take_values(event, "inputs", "raw", "result")
    assert values == {"inputs": {"a": 1}}
    assert without.data == {"tool": "book", "raw": reference}
