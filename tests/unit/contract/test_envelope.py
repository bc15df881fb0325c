"""Events cross the border as CloudEvents and come back as they were."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.contract import slices
from toolwitness.contract.envelope import decode_event, encode_event, encode_recorded, parse_event
from toolwitness.contract.parse import parse_envelope, parse_events
from toolwitness.contract.schemas import schema
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Origin, Owner
from toolwitness.core.verdicts import Verdict
from toolwitness.core.vocabulary import KINDS
from toolwitness.ports import Recorded

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
    assert decode_event(envelope) == EVENT, "the ledger's own word is not taken from a stranger"


def test_why_an_event_was_refused_is_its_reason() -> None:
    refused = Event(kind=Kind.GRANTED, source="s", id="1", task_id="t", owner=Owner.USER, refusal="role: not eligible")
    assert encode_event(refused)["reason"] == "role: not eligible"
    assert decode_event(encode_event(refused)).refusal == ""


@given(EVENTS)
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    envelope = encode_event(event)
    VALIDATOR.validate(envelope)
    assert decode_event(json.loads(json.dumps(envelope))) == event


def test_an_event_about_the_task_has_the_task_as_its_subject() -> None:
    event = Event(kind=Kind.TASK_OPENED, source="s", id="1", task_id="task_1", owner=Owner.RUNTIME, data={"purpose": "p"})
    assert encode_event(event)["subject"] == "task_1"
    assert decode_event(encode_event(event)).invocation_id is None


def test_an_envelope_without_owner_is_owned_by_who_owns_the_kind() -> None:
    for kind, owner in ((Kind.GRANTED, Owner.USER), (Kind.CLOSED, Owner.POLICY), ("never.heard", Owner.RUNTIME)):
        envelope = {"specversion": "1.0", "id": "1", "source": "s", "type": f"toolcall.{kind}", "subject": "i", "taskid": "t"}
        VALIDATOR.validate(envelope)
        event = decode_event(envelope)
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
        decode_event(encode_event(EVENT) | change)
    assert caught.value.facts["field"] == field
    assert "percent" in field or not VALIDATOR.is_valid(encode_event(EVENT) | change)


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type", "subject", "taskid"])
def test_an_envelope_without_a_required_attribute_is_refused(name: str) -> None:
    envelope = {key: value for key, value in encode_event(EVENT).items() if key != name}
    assert not VALIDATOR.is_valid(envelope)
    with pytest.raises(InvalidInput, match=f"/{name}: the field is missing"):
        decode_event(envelope)


def test_unknown_attributes_survive_in_the_envelope() -> None:
    envelope = encode_event(EVENT) | {"traceparent": "00-1", "data": {"attempt": 2, "big": 9007199254740993123}}
    assert parse_envelope(json.dumps(envelope)).as_dict() == envelope


STRANGE = {name: value for name, value in encode_event(EVENT).items() if name != "rawref"}
"""An envelope as a stranger may send it."""


def test_a_batch_is_taken_whole_or_refused_with_the_number_of_the_event() -> None:
    bad = STRANGE | {"id": ""}
    expected = replace(EVENT, raw_ref="")
    assert [parsed.event for parsed in parse_events(json.dumps([STRANGE, STRANGE]))] == [expected, expected]
    assert parse_events(json.dumps(STRANGE).encode())[0].event == expected
    with pytest.raises(InvalidInput, match="/1/id") as caught:
        parse_events(json.dumps([STRANGE, bad]))
    assert caught.value.facts["field"] == "/1/id"
    for text in ("7", "[3]", "null"):
        with pytest.raises(InvalidInput):
            parse_events(text)


def test_foreign_values_are_parted_from_the_fields_and_keep_every_digit() -> None:
    envelope = STRANGE | {"data": {"tool": "book", "inputs": {"id": 2**70, "rate": 0.5}, "result": None, "raw": "{'a'"}}
    parsed = parse_event(envelope)
    assert parsed.event.data == {"tool": "book", "result": None}
    assert {name: json.loads(value) for name, value in parsed.values.items()} == {
        "inputs": {"id": 2**70, "rate": 0.5},
        "raw": "{'a'",
    }


SPACED = """ [ {"data" : { "result":null,"inputs": {"total": 412.50,  "n":1E3, "s": "\\u00e9é"} , "output" :[1 ,2]}, %s } ,
  {"data":{}, %s}, {%s}]\n"""


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_values_in_a_batch_are_kept_exactly_as_they_were_written(mark: str) -> None:
    rest = json.dumps({name: value for name, value in STRANGE.items() if name != "data"})[1:-1]
    batch = mark + SPACED % (rest, rest, rest)
    first, *others = parse_events(batch.encode())
    assert first.values == {"inputs": '{"total": 412.50,  "n":1E3, "s": "\\u00e9é"}'.encode(), "output": b"[1 ,2]"}
    assert first.event.data == {"result": None}
    assert [parsed.values for parsed in others] == [{}, {}]
    assert parse_events('{"data":{"raw": 1.0},%s}' % rest)[0].values == {"raw": b"1.0"}  # noqa: UP031 -- braces abound
    assert parse_events("[]") == []


@given(
    st.dictionaries(WORDS, st.recursive(st.none() | st.integers() | WORDS, lambda x: st.lists(x) | st.dictionaries(WORDS, x)), max_size=4)
)
def test_every_value_is_found_where_it_stands(document: dict[str, Any]) -> None:
    for text in (json.dumps(document), json.dumps(document, indent=2, ensure_ascii=False)):
        found = slices.members(text, slices.start(text))
        assert {key: json.loads(text[begin:end]) for key, (begin, end) in found.items()} == document
    items = json.dumps(list(document.values()))
    assert [json.loads(items[begin:end]) for begin, end in slices.items(items, 0)] == list(document.values())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rawref": "val_1"}, "[0]/rawref"),
        ({"data": {"detail": {"ref": "val_1", "digest": "d", "bytes": 1}}}, "[0]/data/detail"),
        ({"data": {"deep": [{"x": {"ref": "val_1"}}]}}, "[0]/data/deep/0/x"),
        ({"data": {"percent": 0.5}}, "[0]/data/percent"),
        ({"id": ""}, "[0]/id"),
    ],
)
def test_a_stranger_refers_to_none_of_our_values(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_event(STRANGE | change, where="[0]")
    assert caught.value.facts["field"] == field


def test_a_reference_given_as_a_value_is_a_value_and_no_reference() -> None:
    parsed = parse_event(STRANGE | {"data": {"inputs": {"ref": "val_1"}}})
    assert parsed.values == {"inputs": b'{"ref":"val_1"}'}
    assert "inputs" not in parsed.event.data


def test_a_recorded_event_has_the_envelope_of_its_event_and_what_was_added() -> None:
    recorded = Recorded(
        event=EVENT,
        position=3,
        task_sequence=2,
        recorded_time="2026-11-01T10:00:02Z",
        verdict=Verdict.MOVED,
        reason="gap: x",
        hash="b" * 64,
        row="x",
    )
    actual = encode_recorded(recorded)
    expected = {"position": 3, "recordedtime": "2026-11-01T10:00:02Z", "verdict": "moved", "reason": "gap: x", "hash": "b" * 64, "row": "x"}
    assert actual == encode_event(EVENT) | expected
    VALIDATOR.validate(actual)
