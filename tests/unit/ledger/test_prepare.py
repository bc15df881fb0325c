"""What is recorded of a draft: plain JSON in canonical bytes, nothing shared with the caller, values aside."""

import json
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Origin, Owner
from toolwitness.ledger.chain import genesis, link
from toolwitness.ledger.prepare import canonical_bytes, digest_of, encode, event_of, fresh_salts, prepare, value_ref
from toolwitness.ports import Draft
from toolwitness.testing.ledger_contract import output, proposed, said

SALTS = fresh_salts()
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, PLAIN, max_size=5))
def test_the_bytes_are_those_of_rfc_8785(members: dict[str, Any]) -> None:
    assert canonical_bytes(members) == rfc8785.dumps(members)


@given(st.dictionaries(TEXT, PLAIN, max_size=4), TEXT.filter(bool), st.none() | st.integers(0, 9), st.lists(TEXT, max_size=2))
def test_an_event_survives_its_bytes(data: dict[str, Any], name: str, number: int | None, causes: list[str]) -> None:
    event = Event(
        kind=name, source=name, id=name, task_id=name, owner=Owner.POLICY, data=data, time=name, attempt=number, sequence=number,
        origin=Origin.SYNTHESIZED if number else Origin.SERVER, caused_by=tuple(causes), tenant=name, adapter=name,
        refusal=name, once_key=name,
    )  # fmt: skip  # one field after the other
    prepared = prepare(Draft(event=event), salts=SALTS)
    assert prepared.event == event
    assert event_of(prepared.body) == event
    assert encode(event_of(prepared.body)) == prepared.body


def test_what_is_at_its_default_is_left_out_of_the_bytes() -> None:
    event = Event(kind="k", source="s", id="i", task_id="t", owner=Owner.USER)
    assert json.loads(encode(event)) == {"id": "i", "kind": "k", "owner": "user", "source": "s", "task_id": "t"}


def test_what_the_caller_still_holds_is_not_shared() -> None:
    given_data: dict[str, Any] = {"facts": [{"a": [1]}]}
    prepared = prepare(said("kind", "id", data=given_data), salts=SALTS)
    given_data["facts"][0]["a"].append(2)
    given_data["more"] = True
    assert prepared.event.data == {"facts": [{"a": [1]}]}


def test_subclasses_and_tuples_become_plain() -> None:
    class Word(StrEnum):
        YES = "yes"

    data = MappingProxyType({"word": Word.YES, Word.YES: (1, Word.YES), "nested": MappingProxyType({"a": ()})})
    event = prepare(said(Kind.PROGRESS, "id", data=data), salts=SALTS).event
    assert event.data == {"word": "yes", "yes": [1, "yes"], "nested": {"a": []}}
    assert [type(part) for part in (event.kind, event.data["word"], *event.data, event.data["yes"][1])] == [str] * 6


@pytest.mark.parametrize("amount", [1.0, float("nan"), 2**53, b"x", {1, 2}, object()])
def test_what_has_no_canonical_form_is_invalid_by_name(amount: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        prepare(said("kind", "id", data={"facts": [{"amount": amount}]}), salts=SALTS)
    assert caught.value.facts["field"] == "/data/facts/0/amount"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"attempt": True}, "/attempt"), ({"attempt": "1"}, "/attempt"), ({"sequence": 1.0}, "/sequence"),
        ({"caused_by": ("a", 1)}, "/caused_by/1"),
        ({"tenant": None}, "/tenant"), ({"about": ""}, "/invocation_id"), ({"owner": "nobody"}, "/owner"),
        ({"origin": "elsewhere"}, "/origin"),
        ({"task": ""}, "/task_id"), ({"source": "\ud800"}, "/source"), ({"time": "\udfff"}, "/time"),
    ],
)  # fmt: skip  # a few cases a line
def test_a_field_of_the_wrong_type_is_invalid_by_name(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        prepare(said("kind", "id", **fields), salts=SALTS)
    assert caught.value.facts["field"] == place


def test_an_owner_and_an_origin_in_words_are_taken() -> None:
    event = prepare(said("kind", "id", owner="user", origin="client"), salts=SALTS).event  # type: ignore[arg-type]  # what a caller without types sends
    assert (event.owner, event.origin) == (Owner.USER, Origin.CLIENT)


def test_too_deep_a_structure_is_invalid() -> None:
    deep: Any = 0
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidInput):
        prepare(said("kind", "id", data={"deep": deep}), salts=SALTS)


def test_a_value_stands_in_the_data_by_reference_salted_digest_and_length() -> None:
    prepared = prepare(proposed(inputs=b"abc"), salts=lambda: b"s" * 16)
    value = prepared.values[0]
    assert (value.name, value.content, value.salt, value.ref) == (
        "inputs",
        b"abc",
        b"s" * 16,
        value_ref("contract:runtime", "proposed", "inputs"),
    )
    assert prepared.event.data["inputs"] == {"ref": value.ref, "digest": digest_of(b"s" * 16, b"abc"), "bytes": 3}


def test_the_raw_event_is_cited_and_digested() -> None:
    prepared = prepare(Draft(event=output(0).event, values={"raw": b"{}"}), salts=SALTS)
    assert prepared.event.raw_ref == prepared.event.data["raw"]["ref"]


@pytest.mark.parametrize("values", [{"order": b"0"}, {"text": "not bytes"}, {"text": bytearray(b"changes")}])
def test_a_value_that_is_no_bytes_or_stands_in_the_data_too_is_invalid(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        prepare(Draft(event=output(0).event, values=values), salts=SALTS)


def test_salts_are_fresh() -> None:
    salts = fresh_salts(reserve=4)
    drawn = [salts() for _ in range(50)]
    assert len(set(drawn)) == 50
    assert {len(salt) for salt in drawn} == {16}


def test_the_hashed_form_is_canonical_json_of_everything() -> None:
    """Anyone with SHA-256 and RFC 8785 can check a chain."""
    event = prepare(said("kind", "i\u0007d", data={"text": 'a "b" \u2028 ü'}), salts=SALTS)
    columns: dict[str, Any] = {
        "position": 7, "task_sequence": 3, "recorded_time": "2026-01-01T00:00:00.000000Z", "verdict": "noted",
        "reason": 'said "no"\n', "state": None,
        "basis": "", "row": "",
    }  # fmt: skip  # one column after the other
    hashed = rfc8785.dumps({**columns, "event": json.loads(event.body)})
    assert link(genesis("task_1"), event.body, **columns) == sha256(genesis("task_1") + hashed).digest()
    moved = {**columns, "verdict": "moved", "state": "running", "basis": "gap", "row": "proposed-started"}
    assert link(b"", event.body, **moved) == sha256(rfc8785.dumps({**moved, "event": json.loads(event.body)})).digest()
