"""The samples of the seed are documents; with any fact removed they are not, and what we do not know survives."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.contract.base import Model
from toolwitness.contract.parse import parse_envelope, parse_invocation, parse_task
from toolwitness.contract.schemas import schema
from toolwitness.core.errors import InvalidInput

SPEC = Path(__file__).parents[3] / "spec"
TEXTS = {name: (SPEC / "samples" / f"{name}.json").read_text(encoding="utf-8") for name in ("invocation", "task")}
SAMPLES: dict[str, Any] = {name: json.loads(text) for name, text in TEXTS.items()}
READERS: dict[str, Any] = {"invocation": parse_invocation, "task": parse_task}
VALIDATORS: dict[str, Any] = {
    "invocation": jsonschema.Draft202012Validator(schema("contract")),
    "task": jsonschema.Draft202012Validator(schema("task")),
}
ILLUSTRATIVE = ("exampleStatus",)
"""Says of a sample that it is one; a record has none, so it is not required."""


def key_paths(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the path of every key of a document, of objects in lists too."""
    if isinstance(node, dict):
        for key, inner in cast("dict[str, Any]", node).items():
            yield (*path, key)
            yield from key_paths(inner, (*path, key))
    elif isinstance(node, list):
        for index, inner in enumerate(cast("list[Any]", node)):
            yield from key_paths(inner, (*path, index))


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


REQUIRED = [
    pytest.param(name, path, id=f"{name}:{'.'.join(map(str, path))}")
    for name, sample in SAMPLES.items()
    for path in key_paths(sample)
    if path != ILLUSTRATIVE
]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_of_the_seed_are_valid(name: str) -> None:
    VALIDATORS[name].validate(SAMPLES[name])
    assert READERS[name](TEXTS[name]).as_dict() == SAMPLES[name]


def test_the_samples_are_walked_to_every_leaf() -> None:
    assert len(REQUIRED) == 124
    assert ("inputs", "provenance", 1, "sourceRef") in list(key_paths(SAMPLES["invocation"]))


@pytest.mark.parametrize(("name", "path"), REQUIRED)
def test_a_sample_without_any_one_of_its_fields_is_refused(name: str, path: tuple[str | int, ...]) -> None:
    document = copy.deepcopy(SAMPLES[name])
    del at(document, path[:-1])[path[-1]]
    assert not VALIDATORS[name].is_valid(document), "by the published schema"
    with pytest.raises(InvalidInput) as caught:
        READERS[name](json.dumps(document))
    named = str(path[-1])
    assert named in str(caught.value), "the message names the field"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_document_that_is_no_example_needs_no_example_status(name: str) -> None:
    document = {key: value for key, value in SAMPLES[name].items() if key != "exampleStatus"}
    VALIDATORS[name].validate(document)
    assert READERS[name](json.dumps(document)).as_dict() == document


@pytest.mark.parametrize(("name", "path"), REQUIRED)
def test_unknown_fields_survive_at_every_level(name: str, path: tuple[str | int, ...]) -> None:
    document = copy.deepcopy(SAMPLES[name])
    parent = at(document, path[:-1])
    parent["x-unknown"] = {"deep": [1, {"y": None}], "big": 9007199254740993123, "text": "\u2028"}
    VALIDATORS[name].validate(document)
    assert READERS[name](json.dumps(document)).as_dict() == document


def _swapped(value: Any) -> Any:
    """Give a value of another JSON type, which no converter could take for the first."""
    if isinstance(value, bool):
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | dict):
        return "[]"
    return 7


@pytest.mark.parametrize(("name", "path"), REQUIRED)
def test_a_field_of_another_type_is_refused_and_never_converted(name: str, path: tuple[str | int, ...]) -> None:
    document = copy.deepcopy(SAMPLES[name])
    at(document, path[:-1])[path[-1]] = _swapped(at(document, path))
    if "result" in path[:-1] and path[-1] == "summary":
        return  # A summary is whatever the tool calls one.
    assert not VALIDATORS[name].is_valid(document)
    with pytest.raises(InvalidInput):
        READERS[name](json.dumps(document))


@given(st.data())
def test_the_models_and_the_published_schemas_agree(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    document = copy.deepcopy(SAMPLES[name])
    for path in data.draw(st.lists(st.sampled_from([p for p in key_paths(document) if len(p) > 1]), max_size=2, unique=True)):
        try:
            at(document, path[:-1])[path[-1]] = data.draw(st.sampled_from([None, "x", 1, 0, [], {}, True, "queued", ["a"]]))
        except (TypeError, KeyError, IndexError):
            continue
    try:
        READERS[name](json.dumps(document))
    except InvalidInput:
        assert not VALIDATORS[name].is_valid(document)
    else:
        assert VALIDATORS[name].is_valid(document)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ('"attempt": 1,|"attempt": NaN,', "/identity/attempt"),
        ('"attempt": 1,|"attempt": 1e999,', "/identity/attempt"),
        ('"attempt": 1,|"attempt": 1, "attempt": 1,', "/identity/attempt"),
        ('"purpose": "|"purpose": "\\ud800', "/purpose"),
        ('"attempt": 1,|"attempt": "1",', "/identity/attempt"),
        ('"attempt": 1,|"attempt": 0,', "/identity/attempt"),
        ('"attempt": 1,|"attempt": 1.0,', "/identity/attempt"),
        ('"undoGuaranteed": false|"undoGuaranteed": 0', "/recovery/undoGuaranteed"),
        ('"observed": []|"observed": [3]', "/sideEffects/observed/0"),
        ('"tool-call-ui/1"|"tool-call-ui/2"', "/contractVersion"),
        ('"retryOf": null|"retryOf": 5', "/identity/retryOf"),
    ],
)
def test_a_refusal_names_the_field_and_what_stood_there(change: str, field: str) -> None:
    old, new = change.split("|")
    assert TEXTS["invocation"].count(old) == 1
    with pytest.raises(InvalidInput) as caught:
        parse_invocation(TEXTS["invocation"].replace(old, new))
    assert caught.value.facts["field"] == field
    assert field in str(caught.value)
    assert caught.value.remedy


def test_a_refusal_says_what_was_expected_and_what_came() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_invocation(TEXTS["invocation"].replace('"attempt": 1,', '"attempt": "1",'))
    expected = (
        "The document is refused: /identity/attempt: an integer was expected, not a string ('1'). "
        "Correct it and send the whole document again."
    )
    assert str(caught.value) == expected


def test_all_problems_are_in_the_facts_and_the_first_three_in_the_message() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_invocation("{}")
    assert len(caught.value.facts["problems"]) == 18
    assert "(and 15 more)" in str(caught.value)


def test_a_cancelled_document_needs_its_closure_whole() -> None:
    document = {**copy.deepcopy(SAMPLES["invocation"]), "state": "cancelled"}
    closure = document["closure"]
    assert not VALIDATORS["invocation"].is_valid(document)
    with pytest.raises(InvalidInput, match="cancelled attempt needs its closure"):
        parse_invocation(json.dumps(document))
    closure["state"] = "cancelled"
    with pytest.raises(InvalidInput, match="needs owner, kind, initiator, scope, reason, recordedAt"):
        parse_invocation(json.dumps(document))
    assert not VALIDATORS["invocation"].is_valid(document)
    closure.update(owner="authorization", kind="denied", initiator="a", scope="this", reason="no", recordedAt="t")
    VALIDATORS["invocation"].validate(document)
    parse_invocation(json.dumps(document))


@pytest.mark.parametrize(
    ("entry", "lacks"),
    [
        ({"state": "queued", "queueRef": None}, "queueRef or acceptedAt"),
        ({"state": "succeeded", "result": None}, "result.summary"),
        ({"state": "failed", "result": {"errorCategory": None}}, "result.errorCategory"),
        ({"state": "cancelled", "result": {"scope": "all"}}, "result.reason"),
        ({"state": "proposed", "dependencies": ["a"]}, "blockedBy"),
    ],
)
def test_an_entry_that_claims_more_than_it_shows_is_refused(entry: dict[str, Any], lacks: str) -> None:
    document = copy.deepcopy(SAMPLES["task"])
    whole: dict[str, Any] = {
        "invocationId": "i",
        "parentId": None,
        "dependencies": [],
        "attempt": 1,
        "retryOf": None,
        "result": None,
        "evidenceRefs": [],
    }
    document["invocations"] = [whole | entry]
    assert not VALIDATORS["task"].is_valid(document)
    with pytest.raises(InvalidInput, match=lacks):
        parse_task(json.dumps(document))


def test_an_accepted_time_is_as_good_as_a_queue_reference() -> None:
    document = copy.deepcopy(SAMPLES["task"])
    queued = document["invocations"][2]
    del queued["queueRef"]
    queued["acceptedAt"] = "2026-11-01T10:00:00Z"
    VALIDATORS["task"].validate(document)
    assert parse_task(json.dumps(document)).invocations[2].accepted_at == "2026-11-01T10:00:00Z"


def test_integers_keep_every_digit_through_a_round_trip() -> None:
    digits = "1234567890123456789012345678901234567890"
    text = TEXTS["invocation"].replace('"observed": []', f'"observed": [{{"amount": {digits}}}]')
    assert parse_invocation(text).as_dict()["sideEffects"]["observed"][0]["amount"] == int(digits)


def test_documents_are_read_from_bytes_too_and_cannot_be_changed() -> None:
    document = parse_invocation(TEXTS["invocation"].encode())
    assert document.identity.retry_of is None
    assert isinstance(document, Model)
    with pytest.raises(ValueError, match="frozen"):
        document.purpose = "other"  # type: ignore[misc] # pyright: ignore[reportAttributeAccessIssue] -- what is tested


@pytest.mark.parametrize("reader", [parse_invocation, parse_task, parse_envelope])
@pytest.mark.parametrize("text", ["", "[]", "null", '"x"', "{", "7"])
def test_what_is_no_object_is_refused(reader: Any, text: str) -> None:
    with pytest.raises(InvalidInput):
        reader(text)
