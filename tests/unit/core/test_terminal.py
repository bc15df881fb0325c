"""Terminal is final: later facts are kept, stand in the headline, open reconciliation, and move nothing (R4)."""

import pytest

from tests.unit.core.builders import event, governed, in_state, path_to, proposed, record_of
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import OPENS_RECONCILIATION, Code
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Origin, Reconciliation, State
from toolwitness.core.verdicts import Verdict

ENDS = {
    "succeeded": lambda: in_state(State.SUCCEEDED),
    "failed": lambda: in_state(State.FAILED),
    "terminated": lambda: in_state(State.CANCELLED),
    "dismissed": lambda: record_of(proposed(), event(Kind.CLOSED, kind="dismissed")),
    "denied": lambda: record_of(*path_to(State.AWAITING_APPROVAL), event(Kind.DENIED), event(Kind.CLOSED, kind="denied")),
    "expired-running": lambda: in_state(State.EXPIRED),
    "expired-asking": lambda: record_of(*path_to(State.AWAITING_INPUT), event(Kind.DEADLINE_ELAPSED, deadline="input")),
}
LATE = {
    Kind.EFFECT: dict.fromkeys(ENDS, Code.LATE_EFFECT),
    Kind.COMMITTED: dict.fromkeys(ENDS, Code.LATE_EFFECT),
    Kind.STARTED: dict.fromkeys(ENDS, Code.STARTED_AFTER_END),
    Kind.SUCCEEDED: {name: Code.CONFLICTING_OUTCOMES if name in {"succeeded", "failed"} else Code.LATE_OUTCOME for name in ENDS},
    Kind.FAILED: {name: Code.CONFLICTING_OUTCOMES if name in {"succeeded", "failed"} else Code.LATE_OUTCOME for name in ENDS},
    Kind.CANCEL_ACKNOWLEDGED: dict.fromkeys(ENDS, Code.LATE_CLOSURE),
    Kind.CLOSED: dict.fromkeys(ENDS, Code.LATE_CLOSURE),
    **{
        kind: {name: Code.ACTIVITY_AFTER_END for name in ENDS if name not in {"succeeded", "failed"}}
        for kind in (Kind.ACCEPTED, Kind.HEARTBEAT, Kind.PROGRESS, Kind.OUTPUT, Kind.PART_COMPLETED)
    },
    Kind.RESULT_REJECTED: dict.fromkeys(ENDS, Code.RESULT_REJECTED),
    Kind.GRANTED: dict.fromkeys(ENDS, Code.DECISION_REFUSED),
    Kind.DENIED: dict.fromkeys(ENDS, Code.DECISION_REFUSED),
}
"""Which late kind raises which finding after which end. Kinds and ends that are not here raise none."""


def claims(record: InvocationRecord) -> tuple[object, ...]:
    """What a card says about how the attempt went and ended."""
    return (
        record.state, record.state_refs, tuple(record.moves), record.closure, record.outcome, record.elapsed, record.inputs,
        record.progress, record.lease, record.attempt,
        record.open_parts, record.started_at, record.executor, record.deadlines, record.input_request, record.permission, record.claim,
        [(a.id, a.answer) for a in record.approvals],
    )  # fmt: skip  # one claim after the other


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_evidence_leaves_the_end_as_it_is_and_raises_its_finding(kind: Kind, end: str) -> None:
    record = ENDS[end]()
    before, known, was = claims(record), set(record.findings), record.reconciliation
    late = event(kind)
    judgement = judge(record, late)
    assert judgement.verdict in {Verdict.NOTED, Verdict.REFUSED}
    assert claims(record) == before
    raised = set(record.findings) - known
    expected = LATE.get(kind, {}).get(end)
    if kind is Kind.STARTED and record.starts != [late.ref]:
        assert raised == {expected, Code.DUPLICATE_START}
    else:
        assert raised == ({expected} if expected else set())
    if raised & OPENS_RECONCILIATION:
        assert record.reconciliation is Reconciliation.REQUIRED
    elif kind is Kind.RECONCILED:
        assert record.reconciliation is Reconciliation.RECONCILED
    else:
        assert record.reconciliation is was


@pytest.mark.parametrize("end", ENDS)
def test_the_reason_for_a_late_fact_names_the_end(end: str) -> None:
    record = ENDS[end]()
    assert judge(record, event(Kind.EFFECT)).reason == f"terminal: the attempt is {record.state} and stays so"
    assert record.state in TERMINAL


def test_a_late_effect_is_kept_as_late_and_an_earlier_one_is_not() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.EFFECT), event(Kind.SUCCEEDED), event(Kind.EFFECT))
    assert [effect.late for effect in record.effects] == [False, True]
    assert record.findings[Code.LATE_EFFECT].refs == (record.effects[1].ref,)


def test_output_from_after_the_end_is_kept_and_marked() -> None:
    record = in_state(State.CANCELLED)
    judge(record, event(Kind.OUTPUT, order=7))
    assert [(chunk["order"], chunk.get("late")) for chunk in record.output_chunks] == [(7, True)]


def test_a_start_after_the_end_is_counted_and_says_nothing_about_where_the_attempt_ran() -> None:
    record = record_of(proposed(), event(Kind.CLOSED))
    late = event(Kind.STARTED)
    judge(record, late)
    assert (record.starts, record.started_at, record.executor, record.lease) == ([late.ref], "", "", "")
    assert record.still_running


def test_while_a_body_is_still_running_its_cancellation_can_be_open_whatever_the_state_says() -> None:
    record = in_state(State.EXPIRED)
    assert record.still_running
    judge(record, event(Kind.CANCEL_REQUESTED))
    assert record.open_cancellation is not None
    judge(record, event(Kind.CANCEL_ACKNOWLEDGED))
    assert not record.still_running
    assert record.open_cancellation is None
    assert record.state is State.EXPIRED


@pytest.mark.parametrize("kind", [Kind.SUCCEEDED, Kind.FAILED])
def test_a_body_that_reported_its_end_runs_no_more_and_one_that_reports_it_late_neither(kind: Kind) -> None:
    assert not record_of(*path_to(State.RUNNING), event(kind)).still_running
    expired = in_state(State.EXPIRED)
    judge(expired, event(kind))
    assert not expired.still_running


@pytest.mark.parametrize("kind", [Kind.SUCCEEDED, Kind.FAILED])
def test_the_same_end_from_another_source_is_no_conflict_and_from_the_same_source_is_one(kind: Kind) -> None:
    record = record_of(*path_to(State.RUNNING), event(kind))
    judge(record, event(kind, source="wire"))
    assert Code.CONFLICTING_OUTCOMES not in record.findings
    assert not record.needs_reconciliation
    judge(record, event(kind))
    assert Code.CONFLICTING_OUTCOMES in record.findings


def test_a_rejected_success_after_a_success_is_a_conflict() -> None:
    record = in_state(State.SUCCEEDED)
    judge(record, event(Kind.SUCCEEDED, source="wire", validation="rejected"))
    assert {Code.CONFLICTING_OUTCOMES, Code.RESULT_REJECTED} <= set(record.findings)


@pytest.mark.parametrize("kind", [Kind.SUCCEEDED, Kind.FAILED])
def test_the_first_of_two_ends_that_contradict_each_other_stands(kind: Kind) -> None:
    other = Kind.FAILED if kind is Kind.SUCCEEDED else Kind.SUCCEEDED
    first = event(kind)
    record = record_of(*path_to(State.RUNNING), first, event(other, source="wire"))
    assert record.outcome is not None
    assert record.outcome.ref == first.ref
    assert record.reconciliation is Reconciliation.REQUIRED


def test_reconciliation_closes_what_opened_it_and_a_later_surprise_opens_it_again() -> None:
    record = in_state(State.CANCELLED)
    judge(record, event(Kind.EFFECT))
    judge(record, event(Kind.RECONCILED, conclusion="the booking was voided"))
    assert (record.reconciliation, record.needs_reconciliation) == (Reconciliation.RECONCILED, False)
    assert [r.data["conclusion"] for r in record.reconciliations] == ["the booking was voided"]
    judge(record, event(Kind.EFFECT))
    assert (record.reconciliation, record.needs_reconciliation) == (Reconciliation.REQUIRED, True)


def test_a_second_closure_says_that_it_came_after_the_end() -> None:
    record = record_of(proposed(), event(Kind.CLOSED, kind="withdrawn"), event(Kind.CLOSED, kind="dismissed"))
    assert record.closure is not None
    assert record.closure.kind == "withdrawn"
    assert record.findings[Code.LATE_CLOSURE].detail == "a closure was recorded after the end (cancelled)"


def test_an_end_takes_back_the_findings_that_were_true_only_until_then() -> None:
    record = record_of(
        governed(), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED), event(Kind.CLAIMED), event(Kind.STARTED, cancel_support="thread"),
        event(Kind.INPUT_REQUIRED), event(Kind.WAITER_RELEASED), event(Kind.CANCEL_REQUESTED), event(Kind.LOST),
    )  # fmt: skip  # one event after the other
    passing = {Code.WAITING_FOR_PERSON, Code.WAITER_GONE, Code.CANNOT_BE_STOPPED, Code.OUTCOME_UNKNOWN}
    assert passing <= set(record.findings)
    judge(record, event(Kind.SUCCEEDED))
    assert set(record.findings) == {Code.ACCEPTANCE_NOT_RECORDED, Code.COMPLETED_DESPITE_CANCEL}
    assert record.deadlines == {}


def test_no_deadline_runs_on_after_the_end() -> None:
    permitted = event(Kind.PERMITTED, result_expires_at="2026-11-30T12:00:00Z")
    running = record_of(governed(), permitted, event(Kind.CLAIMED), event(Kind.STARTED))
    assert running.deadlines == {"result": "2026-11-30T12:00:00Z"}
    judge(running, event(Kind.FAILED))
    assert running.deadlines == {}


def test_nothing_is_asked_of_a_person_after_the_end() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.APPROVAL_REQUESTED), event(Kind.INPUT_REQUIRED))
    assert record.waits_for_person
    judge(record, event(Kind.SUCCEEDED))
    assert not record.waits_for_person
    assert record.open_approval is None


def test_a_closure_that_a_client_made_up_after_the_end_does_not_end_a_body() -> None:
    record = in_state(State.EXPIRED)
    judge(record, event(Kind.CANCEL_ACKNOWLEDGED, origin=Origin.CLIENT))
    assert record.still_running
