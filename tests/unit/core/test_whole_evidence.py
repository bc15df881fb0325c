"""Evidence that is not whole, or of a wrong type, is kept, moves nothing, and is told what is wrong with it."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.builders import TASK, WHOLE, event, in_state, record_of, task_of
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.shapes import SHAPES, malformed_fields
from toolwitness.core.states import InvocationId, Origin, Owner, State, TaskId
from toolwitness.core.task import TaskRecord, judge_task
from toolwitness.core.verdicts import Verdict
from toolwitness.core.vocabulary import KINDS, missing_fields

COUNTED = {"version", "last_at", "seen", "findings"}
"""What every event changes: that it came. Everything else is what it says."""
REQUIRED = [(kind, name) for kind, spec in KINDS.items() for name in spec.required]
STATES: list[State | None] = [None, State.PROPOSED, State.AWAITING_APPROVAL, State.QUEUED, State.RUNNING, State.SUCCEEDED]


def contents(record: InvocationRecord) -> dict[str, Any]:
    return {f.name: deepcopy(getattr(record, f.name)) for f in fields(record) if f.name not in COUNTED}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in REQUIRED if not KINDS[kind].of_task])
def test_evidence_without_a_required_field_moves_nothing_and_says_which(kind: str, name: str, state: State | None) -> None:
    record = in_state(state)
    before = contents(record)
    incomplete = event(kind, without=tuple(name.split("|")))
    judgement = judge(record, incomplete)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, f"incomplete: {kind} lacks {name}")
    assert record.findings[Code.EVIDENCE_INCOMPLETE].refs == (incomplete.ref,)
    assert contents(record) == before


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in REQUIRED if KINDS[kind].of_task])
def test_evidence_about_a_task_without_a_required_field_changes_nothing_and_says_which(kind: str, name: str) -> None:
    task = task_of()
    judgement = judge_task(task, event(kind, without=(name,)))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, f"incomplete: {kind} lacks {name}")
    assert (task.purpose, task.waived, task.grants, task.evidence_refs) == ("", {}, {}, [])


@pytest.mark.parametrize(("kind", "name"), REQUIRED)
@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_an_empty_field_is_a_missing_one_save_a_list_of_what_is_left(kind: str, name: str, empty: object) -> None:
    nothing_left = name in {"open", "unresolved"} and empty == []
    emptied = event(kind, **dict.fromkeys(name.split("|"), empty))
    assert missing_fields(emptied) == (() if nothing_left else (name,))


@pytest.mark.parametrize("given", ["queue_ref", "accepted_at"])
def test_one_of_two_alternative_fields_is_enough(given: str) -> None:
    said = event(Kind.ACCEPTED, without=("queue_ref",), **{given: "2026-11-30T10:00:00Z"})
    assert missing_fields(said) == ()
    assert record_of(said).state is State.QUEUED


def test_nothing_is_missing_from_a_kind_that_we_do_not_know() -> None:
    assert missing_fields(event("run.finished")) == ()


def test_zero_and_false_are_values() -> None:
    assert missing_fields(event(Kind.OUTPUT, order=0)) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_example_of_each_kind_is_whole_and_well_formed(kind: str) -> None:
    assert missing_fields(event(kind)) == ()
    assert malformed_fields(event(kind)) == ()
    unknown = set(WHOLE[kind]) - {part for name in (*KINDS[kind].required, *KINDS[kind].optional) for part in name.split("|")}
    assert unknown == set()


@pytest.mark.parametrize("kind", SHAPES)
def test_only_fields_of_the_vocabulary_have_a_type(kind: str) -> None:
    known = {part for name in (*KINDS[kind].required, *KINDS[kind].optional) for part in name.split("|")}
    if kind not in {Kind.DISMISSED, Kind.WITHDRAWN, Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED} and "actor" not in known:
        assert set(SHAPES[kind]) <= known


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        (Kind.PROGRESS, {"percent": "50"}, "field percent is str and must be a whole number"),
        (Kind.PROGRESS, {"percent": True}, "field percent is bool and must be a whole number"),
        (Kind.OUTPUT, {"order": "1"}, "field order is str and must be a whole number"),
        (Kind.OUTPUT, {"order": 1.5}, "field order is float and must be a whole number"),
        (Kind.STARTED, {"attempt": "1"}, "field attempt is str and must be a whole number"),
        (Kind.STARTED, {"inputs": "amount=5"}, "field inputs is str and must be the reference of a value"),
        (Kind.PART_COMPLETED, {"open": "return"}, "field open is str and must be a list of texts"),
        (Kind.PART_COMPLETED, {"open": [1]}, "field open is list and must be a list of texts"),
        (Kind.HOLD_RELEASED, {"up_to": "three"}, "field up_to is str and must be a whole number"),
        (Kind.CLOSED, {"kind": ["denied"]}, "field kind is list and must be text"),
        (Kind.DEADLINE_ELAPSED, {"deadline": {"which": "result"}}, "field deadline is dict and must be text"),
        (Kind.CANCEL_REQUESTED, {"new_invocation": 7}, "field new_invocation is int 7 and must be text"),
    ],
)
def test_a_field_of_a_wrong_type_is_named_and_believed_by_nobody(kind: str, wrong: Mapping[str, Any], words: str) -> None:
    record = in_state(State.RUNNING)
    before = contents(record)
    said = event(kind, **wrong)
    judgement = judge(record, said)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, f"malformed: {words}")
    assert record.findings[Code.EVIDENCE_INCOMPLETE].refs == (said.ref,)
    assert contents(record) == before


@pytest.mark.parametrize(
    ("attribute", "wrong"), [("of_attempt", 0), ("of_attempt", "1"), ("sequence", 0), ("sequence", -3), ("sequence", True)]
)
def test_an_attempt_or_number_that_is_no_ordinal_is_named_and_nothing_waits_for_it(attribute: str, wrong: Any) -> None:
    record = in_state(State.RUNNING)
    judgement = judge(record, event(Kind.OUTPUT, order=5, **{attribute: wrong}))
    assert judgement.reason.startswith(f"malformed: field {attribute.removeprefix('of_')} is {type(wrong).__name__}")
    assert (record.state, record.held) == (State.RUNNING, {})


@pytest.mark.parametrize("data", [None, [], "text", 7])
def test_data_that_is_no_object_is_noted(data: Any) -> None:
    said = Event(kind=Kind.DEADLINE_ELAPSED, source="s", id="1", task_id=TASK, owner=Owner.RUNTIME, data=data)
    record = in_state(State.RUNNING)
    judgement = judge(record, said)
    assert judgement.reason == f"malformed: field data is {type(data).__name__}{' 7' if data == 7 else ''} and must be an object"
    assert record.state is State.RUNNING


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({part for spec in KINDS.values() for name in (*spec.required, *spec.optional) for part in name.split("|")})


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Anything that a source can say in JSON: our kinds and theirs, whole data with some of it replaced by whatever."""
    kind = draw(st.sampled_from([*KINDS, "run.finished"]))
    data = dict(draw(st.sampled_from([WHOLE.get(kind, {}), {}])))
    data |= draw(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4))
    owners = KINDS[kind].owners if kind in KINDS else tuple(Owner)
    return Event(
        kind=kind, source=draw(st.sampled_from(["a", "b"])), id=draw(st.text(max_size=3)), task_id=TASK, invocation_id="inv_1",
        owner=draw(st.sampled_from([*owners, *Owner])), data=data, sequence=draw(st.none() | st.integers(-1, 5)),
        attempt=draw(st.none() | st.integers(0, 2)), origin=draw(st.sampled_from(Origin)),
        refusal=draw(st.sampled_from(["", "", "", "rule: no"])),
        time=draw(st.sampled_from([None, "2026-11-30T10:00:00Z"])),
    )  # fmt: skip  # one field after the other


@given(st.lists(events(), max_size=25), st.sampled_from(STATES))
def test_nothing_that_a_source_can_say_makes_the_fold_raise_or_move_without_a_row(said: list[Event], state: State | None) -> None:
    record = in_state(state)
    for one in said:
        before = record.state
        held = bool(record.held)
        judgement = judge(record, one)
        assert judgement.verdict in Verdict
        if judgement.row is None and not held:
            assert record.state is before
        if judgement.verdict is not Verdict.MOVED:
            assert judgement.reason
    assert record.moves[-1].target is record.state if record.moves else record.state is None


@given(st.lists(events(), max_size=25))
def test_nothing_that_a_source_can_say_makes_the_fold_of_a_task_raise(said: list[Event]) -> None:
    task = TaskRecord(TaskId(TASK))
    for one in said:
        assert judge_task(task, one).verdict in {Verdict.NOTED, Verdict.REFUSED, Verdict.DUPLICATE}
    assert all(isinstance(child, str) for child in (*task.declared, *task.waived, *task.grants))


@given(st.lists(events(), max_size=25))
def test_a_state_is_never_entered_by_an_event_that_is_not_evidence_of_it(said: list[Event]) -> None:
    record = InvocationRecord(InvocationId("inv_1"))
    for one in said:
        judge(record, one)
    assert {move.ref for move in record.moves} <= set(record.evidence_refs)
    assert set(record.state_refs) <= set(record.evidence_refs)
    assert len(set(record.evidence_refs)) == len(record.evidence_refs)
