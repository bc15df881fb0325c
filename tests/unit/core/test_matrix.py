"""The table of transitions against the lifecycle matrix in ``spec/matrix.csv``: entry evidence, owners, conditions, fields and edges."""

import csv
from pathlib import Path

import pytest

from tests.unit.core.builders import WHOLE
from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.core.transitions import ROWS, TABLE, Basis, Condition, Row
from toolwitness.core.vocabulary import KINDS

MATRIX = list(csv.DictReader((Path(__file__).parents[3] / "spec" / "matrix.csv").read_text(encoding="utf-8").splitlines()))

FIELDS = {
    ("invocation.proposed", "tool"): "tool",
    ("invocation.proposed", "inputs digest"): "inputs",  # the value's reference holds its digest
    ("invocation.proposed", "source request"): "source_request",
    ("invocation.proposed", "proposal owner"): "proposer",
    ("inputs.accepted", "digest of the resulting inputs"): "inputs_digest",
    ("inputs.accepted", "the layer that checked"): "checked_by",
    ("input.required", "unresolved fields"): "unresolved",
    ("input.required", "the layer responsible for collecting them"): "collector",
    ("inputs.rejected", "validation result"): "validation",
    ("inputs.rejected", "the layer responsible for collecting the correction (collector: person or model)"): "collector",
    ("approval.requested", "invocation"): "approval_id",  # the event's subject; the request itself needs a name to be answered by
    ("approval.requested", "consequence summary"): "consequence_summary",
    ("approval.requested", "authorizing party or rule"): "authority",
    ("approval.requested", "authorization owner"): "authorization_owner",
    ("approval.requested", "scope"): "scope",
    ("approval.requested", "deadline if any"): "",  # optional: expires_at
    ("dispatch.accepted", "queue reference or accepted time"): "queue_ref|accepted_at",
    ("execution.started", "attempt"): "attempt",
    ("execution.started", "executor or lease"): "executor|lease",
    ("execution.heartbeat", "attempt"): "attempt",
    ("execution.heartbeat", "lease"): "lease",
    ("output.emitted", "order number"): "order",
    ("progress.reported", "order number"): "order",
    ("part.completed", "the part or child outcome"): "part",
    ("part.completed", "what is still open"): "open",
    ("execution.succeeded", "completion time"): "completed_at",
    ("execution.succeeded", "result or result reference"): "result|result_ref",
    ("execution.failed", "stable category or code"): "category",
    ("execution.failed", "safe user-facing detail"): "detail",
    ("execution.failed", "evidence reference"): "evidence_ref",
    ("closure.recorded", "kind"): "kind",
    ("closure.recorded", "initiator"): "initiator",
    ("closure.recorded", "scope"): "scope",
    ("closure.recorded", "reason"): "reason",
    ("closure.recorded", "time"): "at",
    ("cancellation.acknowledged", "termination (unwound or confirmed)"): "termination",
    ("cancellation.acknowledged", "initiator"): "initiator",
    ("cancellation.acknowledged", "scope"): "scope",
    ("cancellation.acknowledged", "reason"): "reason",
    ("cancellation.acknowledged", "time"): "at",
    ("deadline.elapsed", "which deadline"): "deadline",
    ("deadline.elapsed", "its declared time"): "declared_at",
}
"""The matrix's words beside our field names. An empty name says why no field stands for the words."""

CONDITIONS = {
    "first record of this invocation; no dispatch record": {Condition.FIRST},
    "from awaiting_input; nothing required is unresolved": {Condition.RESOLVED},
    "before dispatch": {Condition.ALWAYS},
    "from awaiting_approval only after a recorded approval": {Condition.CLAIMED, Condition.UNOBSERVED},
    "this attempt": {Condition.CLAIMED, Condition.UNOBSERVED},
    "carries a live lease of this attempt; a bare heartbeat moves nothing": {Condition.LIVE_LEASE},
    "the invocation is open": {Condition.ALWAYS},
    "required work is unresolved": {Condition.WORK_OPEN},
    "the result passed the declared validation": {Condition.RESULT_ACCEPTED},
    "": {Condition.ALWAYS},
    "before dispatch; kind denied, dismissed or withdrawn": {Condition.OWNED},
    "after dispatch": {Condition.OWNED},
    "before required input, approval, queue start or result": {Condition.PHASE_DEADLINE, Condition.RESULT_DEADLINE},
}
"""The matrix's conditions beside ours. ``open`` and ``before dispatch`` are said by the state from which a row leads."""


def edges(basis: Basis) -> set[tuple[State | None, State]]:
    return {(row.state, row.next) for row in ROWS if row.basis is basis}


def matrix_edges() -> set[tuple[State | None, State]]:
    leading = {(State(line["state"]), State(target)) for line in MATRIX for target in line["next_states"].split() if target != "terminal"}
    return leading | {(None, State.PROPOSED)}


def test_no_two_rows_match_the_same_thing() -> None:
    assert len(ROWS) == len(TABLE)


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_every_state_of_the_matrix_is_ours_and_every_one_of_ours_is_in_the_matrix() -> None:
    expected = {line["state"] for line in MATRIX}
    actual = {state.value for state in State}
    assert actual == expected


@pytest.mark.parametrize("line", MATRIX, ids=lambda line: f"{line['state']} by {line['entry_evidence']}")
def test_the_entry_evidence_of_the_matrix_is_how_a_state_is_entered(line: dict[str, str]) -> None:
    expected = CONDITIONS[line["condition"]]
    actual = {
        row.condition for row in ROWS
        if row.next == line["state"] and row.kind == line["entry_evidence"] and row.basis is Basis.EXPECTED
    }  # fmt: skip  # one comprehension
    assert actual == expected


@pytest.mark.parametrize("line", MATRIX, ids=lambda line: f"{line['state']} by {line['entry_evidence']}")
def test_the_owner_of_the_matrix_is_who_may_say_it(line: dict[str, str]) -> None:
    expected = {Owner(word) for word in line["entry_owner"].split(" or ")}
    actual = set(KINDS[line["entry_evidence"]].owners)
    assert actual == expected


@pytest.mark.parametrize("line", MATRIX, ids=lambda line: f"{line['state']} by {line['entry_evidence']}")
def test_the_required_fields_of_the_matrix_are_what_makes_evidence_whole(line: dict[str, str]) -> None:
    kind = line["entry_evidence"]
    expected = {FIELDS[kind, words] for words in line["required_fields"].split(",")} - {""}
    actual = set(KINDS[kind].required)
    assert actual == expected


def test_a_state_is_entered_as_expected_only_by_the_evidence_of_the_matrix() -> None:
    expected = {(line["entry_evidence"], line["state"]) for line in MATRIX}
    actual = {(row.kind.value, row.next.value) for row in ROWS if row.basis is Basis.EXPECTED}
    assert actual == expected


def test_every_row_leads_to_the_state_that_the_matrix_lets_its_evidence_enter_whatever_its_basis() -> None:
    entered = {(line["entry_evidence"], line["state"]) for line in MATRIX}
    assert [row.name for row in ROWS if (row.kind.value, row.next.value) not in entered] == []


def test_every_edge_of_the_matrix_is_an_expected_row_and_every_expected_row_an_edge_of_the_matrix() -> None:
    assert edges(Basis.EXPECTED) == matrix_edges()


def test_terminal_states_of_the_matrix_have_no_row_that_leaves_them() -> None:
    expected = {State(line["state"]) for line in MATRIX if line["next_states"] == "terminal"}
    assert expected == TERMINAL
    assert [row.name for row in ROWS if row.state in TERMINAL] == []


def test_the_vocabulary_and_the_whole_examples_name_the_same_kinds() -> None:
    assert set(KINDS) == {kind.value for kind in Kind}
    assert set(WHOLE) == set(KINDS)


def named(basis: Basis) -> list[Row]:
    return [row for row in ROWS if row.basis is basis]


def test_rows_that_the_matrix_lacks_are_these() -> None:
    assert sorted(row.name for row in named(Basis.OURS)) == [
        "awaiting_approval-answered-by-human",
        "awaiting_approval-approval-requested",
        "awaiting_approval-input-required",
        "awaiting_approval-inputs-accepted",
        "awaiting_approval-inputs-rejected",
        "awaiting_input-answered-by-human",
        "awaiting_input-input-required",
        "awaiting_input-inputs-rejected",
        "partially_complete-part-completed",
        "partially_complete-result-expired",
        "proposed-answered-by-human",
        "running-result-expired",
        "streaming-result-expired",
        "unproposed-approval-requested",
        "unproposed-input-required",
        "unproposed-inputs-rejected",
    ]
