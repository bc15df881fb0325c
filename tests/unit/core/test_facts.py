"""What each kind of evidence leaves on the record, field by field: the first word on a matter stands, and nothing is made up."""

import pytest

from tests.unit.core.builders import TASK, event, governed, path_to, proposed, record_of, value
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import judge
from toolwitness.core.states import Reconciliation, State

LATER = "2026-11-30T10:00:05Z"


def test_a_proposal_says_which_task_attempt_and_inputs_it_is() -> None:
    record = record_of(proposed(of_attempt=2, cancel_support="task", dependencies=["inv_0"], consequences=["destructive"]))
    assert (record.task_id, record.tenant, record.attempt, record.tool) == (TASK, "", 2, "book")
    assert (record.inputs, record.inputs_history) == (value("inputs"), [value("inputs")])
    assert (record.cancel_support, record.consequences, record.governed) == ("task", ("destructive",), False)


def test_a_proposal_that_says_little_leaves_the_rest_empty() -> None:
    record = record_of(proposed())
    assert (record.attempt, record.cancel_support, record.consequences) == (1, "", ())


def test_a_proposal_that_comes_after_the_start_keeps_what_the_start_said() -> None:
    record = record_of(event(Kind.STARTED, attempt=3, cancel_support="thread"), proposed(cancel_support="task"))
    assert (record.attempt, record.cancel_support) == (3, "thread")


def test_a_foreign_proposal_that_comes_after_the_start_leaves_that_no_policy_was_asked() -> None:
    record = record_of(event(Kind.STARTED), proposed())
    assert Code.POLICY_UNOBSERVED in record.findings
    assert Code.STARTED_WITHOUT_PERMIT not in record.findings


def test_a_proposal_of_ours_that_comes_after_a_claimed_start_finds_nothing_wrong() -> None:
    record = record_of(event(Kind.ACCEPTED), event(Kind.CLAIMED), event(Kind.STARTED), governed())
    assert not {Code.POLICY_UNOBSERVED, Code.STARTED_WITHOUT_PERMIT, Code.ACCEPTED_WITHOUT_PERMIT} & set(record.findings)


def test_the_first_acceptance_stands() -> None:
    first = event(Kind.ACCEPTED, queue_ref="q/1", accepted_at="2026-11-30T10:00:00Z")
    record = record_of(proposed(), first, event(Kind.ACCEPTED, queue_ref="q/2", accepted_at=LATER))
    assert (record.queue_ref, record.accepted_at) == ("q/1", "2026-11-30T10:00:00Z")


def test_an_acceptance_without_a_time_of_its_own_has_the_time_at_which_it_was_said() -> None:
    record = record_of(proposed(), event(Kind.ACCEPTED, time=LATER))
    assert record.accepted_at == LATER
    assert record_of(proposed(), event(Kind.ACCEPTED, without=("queue_ref",), accepted_at=LATER)).queue_ref == ""


def test_a_start_says_when_where_and_under_which_lease() -> None:
    record = record_of(proposed(), event(Kind.STARTED, started_at="2026-11-30T10:00:00Z", executor="pool-7", lease="lease-7", time=LATER))
    assert (record.started_at, record.executor, record.lease) == ("2026-11-30T10:00:00Z", "pool-7", "lease-7")


def test_a_start_without_a_time_of_its_own_has_the_time_at_which_it_was_said() -> None:
    assert record_of(proposed(), event(Kind.STARTED, time=LATER)).started_at == LATER


def test_a_second_start_does_not_change_when_it_started_and_keeps_what_it_does_not_say() -> None:
    first = event(Kind.STARTED, started_at="2026-11-30T10:00:00Z", executor="pool-7", lease="lease-7", cancel_support="thread")
    again = event(Kind.STARTED, started_at=LATER, without=("lease", "executor"), executor="pool-8")
    record = record_of(proposed(), first, again)
    assert (record.started_at, record.executor, record.lease, record.cancel_support) == (
        "2026-11-30T10:00:00Z", "pool-8", "lease-7", "thread",
    )  # fmt: skip  # one claim after the other
    judge(record, event(Kind.STARTED, without=("lease", "executor"), lease="lease-9"))
    assert (record.executor, record.lease) == ("pool-8", "lease-9")


def test_a_second_start_of_a_call_that_was_never_proposed_does_not_change_which_attempt_it_is() -> None:
    record = record_of(event(Kind.STARTED, attempt=1), event(Kind.STARTED, attempt=2))
    assert (record.attempt, record.findings[Code.DUPLICATE_START].detail) == (1, "a start of attempt 2 was recorded here")


def test_inputs_that_the_executor_calls_different_are_different_although_they_are_the_same_value() -> None:
    record = record_of(proposed(), event(Kind.STARTED, inputs=value("inputs"), inputs_compared="different"))
    assert Code.EXECUTED_INPUTS_DIFFER in record.findings


@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.PROGRESS, Kind.PART_COMPLETED])
def test_a_sign_of_life_after_the_end_does_not_say_how_a_lost_execution_ended(kind: Kind) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.LOST), event(Kind.DEADLINE_ELAPSED), event(kind))
    assert (record.state, record.reconciliation) == (State.EXPIRED, Reconciliation.REQUIRED)
    assert Code.OUTCOME_UNKNOWN in record.findings


def test_progress_keeps_what_was_said_when_and_by_which_evidence() -> None:
    said = event(Kind.PROGRESS, order=3, percent=40, text="paying", time=LATER)
    record = record_of(*path_to(State.RUNNING), said)
    assert record.progress == {"order": 3, "percent": 40, "text": "paying", "at": LATER, "ref": said.ref}
    assert record.progress_order == 3


def test_output_keeps_what_was_said_when_and_by_which_evidence() -> None:
    said = event(Kind.OUTPUT, order=3, time=LATER)
    record = record_of(*path_to(State.RUNNING), said)
    assert record.output_chunks == [{"order": 3, "output": value("chunk"), "at": LATER, "ref": said.ref}]


def test_a_part_keeps_its_outcome_and_what_is_still_open() -> None:
    said = event(Kind.PART_COMPLETED, part="outward", outcome="booked", open=["return"], time=LATER)
    record = record_of(*path_to(State.RUNNING), said)
    assert record.parts == [{"part": "outward", "outcome": "booked", "open": ["return"], "at": LATER, "ref": said.ref}]
    assert record.open_parts == ("return",)


def test_an_end_keeps_who_reported_it_and_when() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.SUCCEEDED, source="worker", time=LATER))
    assert record.outcome is not None
    assert (record.outcome.source, record.outcome.at, record.outcome.data["completed_at"]) == ("worker", LATER, "2026-11-30T10:00:00Z")


def test_each_move_keeps_when_on_what_and_by_which_row() -> None:
    accepted = event(Kind.ACCEPTED, time=LATER)
    move = record_of(proposed(), accepted).moves[-1]
    assert (move.origin, move.target, move.row, move.ref, move.at) == (
        State.PROPOSED, State.QUEUED, "proposed-accepted-policy_unobserved", accepted.ref, LATER,
    )  # fmt: skip  # one claim after the other


def test_a_record_counts_what_came_and_keeps_when_the_last_of_it_came() -> None:
    record = record_of(proposed(time="2026-11-30T10:00:00Z"), event(Kind.ACCEPTED))
    assert (record.version, record.last_at) == (2, "2026-11-30T10:00:00Z")
    judge(record, event(Kind.STARTED), recorded_at=LATER)
    assert (record.version, record.last_at, record.started_at) == (3, LATER, LATER)
