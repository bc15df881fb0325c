"""The table walked whole: every state, every kind, every condition; and what its rows are called when the matrix does not know them."""

from itertools import product

import pytest

from tests.unit.core.builders import event, in_state, path_to, record_of
from toolwitness.core.conditions import condition_of
from toolwitness.core.evidence import Kind
from toolwitness.core.invocation import judge
from toolwitness.core.states import BEFORE_DISPATCH, EXECUTING, TERMINAL, Owner, State
from toolwitness.core.transitions import ROWS, Basis, Condition, Row, row_for
from toolwitness.core.verdicts import Verdict
from toolwitness.core.vocabulary import KINDS

STATES: tuple[State | None, ...] = (None, *State)
OPENING = {None, *BEFORE_DISPATCH}
"""States before anything was handed to an executor, and no state at all."""


def test_one_row_or_none_matches_each_state_kind_and_condition() -> None:
    matched = 0
    for state, kind, condition in product(STATES, Kind, Condition):
        rows = [row for row in ROWS if (row.state, row.kind, row.condition) == (state, kind, condition)]
        assert len(rows) <= 1
        assert row_for(state, kind, condition) is (rows[0] if rows else None)
        matched += len(rows)
    assert matched == len(ROWS)


def test_a_foreign_kind_matches_no_row() -> None:
    assert [row_for(state, "run.finished", Condition.ALWAYS) for state in STATES] == [None] * len(STATES)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", Kind)
def test_each_kind_in_each_state_has_a_condition_and_moves_as_its_row_says_or_not_at_all(state: State | None, kind: Kind) -> None:
    record = in_state(state)
    said = event(kind)
    condition = condition_of(record, said)
    assert isinstance(condition, Condition)
    row = row_for(state, kind, condition)
    judgement = judge(record, said)
    if judgement.row is None:
        assert judgement.verdict in {Verdict.NOTED, Verdict.REFUSED}
        assert judgement.reason or kind == Kind.TASK_OPENED
        assert record.state is state
    else:
        assert judgement.row is row
        assert record.state is row.next
        assert said.ref in record.state_refs


def test_an_event_without_a_row_is_noted_with_a_reason() -> None:
    judgement = judge(in_state(State.PROPOSED), event(Kind.EFFECT))
    assert (judgement.verdict, judgement.row) == (Verdict.NOTED, None)
    assert judgement.reason == "noted: this fact moves no state here"


def rows_of(basis: Basis) -> list[Row]:
    return [row for row in ROWS if row.basis is basis]


def test_a_gap_is_a_runtime_fact_that_skips_a_step_the_matrix_expects() -> None:
    for row in rows_of(Basis.GAP):
        assert row.state in OPENING | {State.QUEUED}, row.name
        assert row.next not in BEFORE_DISPATCH | {State.EXPIRED}, row.name
        assert row.kind not in {Kind.CLOSED, Kind.DEADLINE_ELAPSED}, row.name


def test_a_violation_is_an_acceptance_or_a_start_without_permit_or_approval() -> None:
    bypassing = {Condition.UNCLAIMED, Condition.UNANSWERED}
    for row in rows_of(Basis.VIOLATION):
        assert (row.kind, row.next) in {(Kind.ACCEPTED, State.QUEUED), (Kind.STARTED, State.RUNNING)}, row.name
        assert row.condition in bypassing, row.name
    assert {row.name for row in ROWS if row.condition in bypassing} == {row.name for row in rows_of(Basis.VIOLATION)}


def test_gap_rows_are_these() -> None:
    expected = {
        *(f"unproposed-accepted-{condition}" for condition in ("permit_claimed", "policy_unobserved")),
        *(
            f"{state}-started-{condition}"
            for state in ("unproposed", "proposed", "awaiting_input", "awaiting_approval")
            for condition in ("permit_claimed", "policy_unobserved")
        ),
        *(
            f"{state}-{step}"
            for state in ("unproposed", "proposed", "awaiting_input", "awaiting_approval")
            for step in ("heartbeat", "output", "progress", "part-completed", "succeeded", "failed", "terminated")
        ),
        *(f"queued-{step}" for step in ("succeeded", "output", "progress", "part-completed")),
    }
    assert {row.name for row in rows_of(Basis.GAP)} == expected


def test_nothing_starts_and_nothing_is_closed_by_two_different_owners() -> None:
    for row in ROWS:
        if row.next is State.CANCELLED:
            expected = Kind.CANCEL_ACKNOWLEDGED if row.state not in BEFORE_DISPATCH else row.kind
            assert row.kind is expected, row.name
        if row.next in EXECUTING | {State.SUCCEEDED}:
            assert row.kind not in {Kind.CLAIMED, Kind.GRANTED, Kind.PERMITTED}, row.name


def test_no_request_decision_or_click_is_in_the_table() -> None:
    assert {row.name for row in ROWS if KINDS[row.kind].owners in {(Owner.USER,), (Owner.PRESENTATION,)}} == set()


@pytest.mark.parametrize("state", [state for state in STATES if state not in TERMINAL])
def test_the_record_says_by_which_row_each_state_was_entered(state: State | None) -> None:
    record = record_of(*path_to(state))
    assert [move.target for move in record.moves][-1:] == ([state] if state else [])
    assert all(move.basis is Basis.EXPECTED for move in record.moves)
