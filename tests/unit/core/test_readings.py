"""Our readings of the lifecycle where it leaves room (ADR 0005), each by its name."""

import pytest

from tests.unit.core.builders import event, governed, in_state, path_to, proposed, record_of, value
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import judge
from toolwitness.core.states import BEFORE_DISPATCH, EXECUTING, Origin, Owner, Reconciliation, State
from toolwitness.core.transitions import Basis
from toolwitness.core.verdicts import Verdict

OPEN = [state for state in State if state in BEFORE_DISPATCH | EXECUTING or state is State.QUEUED]
RUNS = [State.RUNNING, State.STREAMING, State.PARTIALLY_COMPLETE]
APPROVED = (governed(), event(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T11:00:00Z"), event(Kind.GRANTED))

# ── expired after dispatch ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", RUNS)
def test_expired_after_dispatch_on_a_recorded_result_deadline_requires_reconciliation(state: State) -> None:
    record = in_state(state)
    judgement = judge(record, event(Kind.DEADLINE_ELAPSED, deadline="result"))
    assert judgement.row is not None
    assert judgement.row.basis is Basis.OURS
    assert (record.state, record.elapsed, record.reconciliation) == (State.EXPIRED, "result", Reconciliation.REQUIRED)
    assert Code.RESULT_DEADLINE_PASSED in record.findings
    assert record.closure is None


@pytest.mark.parametrize("state", RUNS)
@pytest.mark.parametrize("which", ["input", "approval", "queue_start"])
def test_no_other_deadline_expires_a_call_after_dispatch(state: State, which: str) -> None:
    record = in_state(state)
    judge(record, event(Kind.DEADLINE_ELAPSED, deadline=which))
    assert record.state is state


def test_a_streaming_call_of_which_no_start_was_recorded_may_go_on_after_its_deadline_too() -> None:
    record = record_of(proposed(), event(Kind.OUTPUT), event(Kind.DEADLINE_ELAPSED))
    assert Code.RESULT_DEADLINE_PASSED in record.findings
    assert record.reconciliation is Reconciliation.REQUIRED


@pytest.mark.parametrize(
    ("events", "which", "expected"),
    [
        ((proposed(),), "result", State.EXPIRED),
        ((proposed(),), "queue_start", State.EXPIRED),
        ((proposed(),), "input", State.PROPOSED),
        ((proposed(), event(Kind.INPUT_REQUIRED)), "input", State.EXPIRED),
        ((proposed(), event(Kind.INPUT_REQUIRED), event(Kind.INPUTS_ACCEPTED)), "input", State.PROPOSED),
        (path_to(State.AWAITING_APPROVAL), "approval", State.EXPIRED),
        (path_to(State.AWAITING_APPROVAL), "queue_start", State.AWAITING_APPROVAL),
        (APPROVED, "approval", State.AWAITING_APPROVAL),
        (APPROVED, "queue_start", State.EXPIRED),
        ((*APPROVED, event(Kind.APPROVAL_INVALIDATED)), "queue_start", State.AWAITING_APPROVAL),
        ((*APPROVED, event(Kind.CLAIMED)), "queue_start", State.AWAITING_APPROVAL),
        ((*APPROVED, event(Kind.CLAIMED)), "result", State.EXPIRED),
        ((*path_to(State.AWAITING_APPROVAL), event(Kind.INPUT_REQUIRED)), "approval", State.AWAITING_INPUT),
        ((*path_to(State.QUEUED), event(Kind.STARTED, attempt=2)), "queue_start", State.QUEUED),
        (path_to(State.QUEUED), "queue_start", State.EXPIRED),
        (path_to(State.QUEUED), "result", State.EXPIRED),
        (path_to(State.QUEUED), "approval", State.QUEUED),
        (path_to(State.QUEUED), "budget", State.QUEUED),
    ],
)
def test_a_deadline_expires_the_phase_that_it_belongs_to(events: tuple[Event, ...], which: str, expected: State) -> None:
    assert record_of(*events, event(Kind.DEADLINE_ELAPSED, deadline=which)).state is expected


def test_a_deadline_that_names_another_approval_leaves_the_open_one_alone() -> None:
    record = record_of(*path_to(State.AWAITING_APPROVAL))
    judge(record, event(Kind.DEADLINE_ELAPSED, deadline="approval", approval_id="apr_0"))
    assert record.state is State.AWAITING_APPROVAL
    assert record.open_approval is not None
    judge(record, event(Kind.DEADLINE_ELAPSED, deadline="approval", approval_id="apr_1"))
    assert record.state is State.EXPIRED


def test_the_runtime_may_say_that_its_own_deadline_passed_although_the_permit_is_claimed() -> None:
    elapsed = event(Kind.DEADLINE_ELAPSED, deadline="queue_start", owner=Owner.RUNTIME)
    assert record_of(*APPROVED, event(Kind.CLAIMED), elapsed).state is State.EXPIRED


@pytest.mark.parametrize("which", ["input", "approval"])
def test_the_deadlines_of_input_and_approval_are_not_the_runtimes_to_judge(which: str) -> None:
    record = in_state(State.AWAITING_APPROVAL if which == "approval" else State.AWAITING_INPUT)
    judgement = judge(record, event(Kind.DEADLINE_ELAPSED, deadline=which, owner=Owner.RUNTIME))
    assert (judgement.verdict, judgement.reason) == (Verdict.REFUSED, f"speaker: runtime does not own the {which} deadline")


# ── between approved and queued ─────────────────────────────────────────────────────────────────────────────────────


def test_approved_is_not_queued() -> None:
    record = record_of(*APPROVED)
    assert record.state is State.AWAITING_APPROVAL
    assert Code.APPROVED_NOT_QUEUED in record.findings
    assert (record.open_approval, record.deadlines) == (None, {})


@pytest.mark.parametrize(
    "kind", [Kind.ACCEPTED, Kind.STARTED, Kind.HEARTBEAT, Kind.OUTPUT, Kind.PROGRESS, Kind.PART_COMPLETED, Kind.SUCCEEDED]
)
def test_approved_not_queued_ends_with_the_first_sign_of_dispatch(kind: Kind) -> None:
    assert Code.APPROVED_NOT_QUEUED not in record_of(*APPROVED, event(Kind.CLAIMED), event(kind)).findings


def test_the_queue_start_deadline_runs_from_the_permission() -> None:
    record = record_of(*APPROVED, event(Kind.PERMITTED, expires_at="2026-11-30T11:30:00Z"))
    assert record.deadlines == {"queue_start": "2026-11-30T11:30:00Z"}
    judge(record, event(Kind.CLAIMED))
    judge(record, event(Kind.STARTED))
    assert record.deadlines == {}


@pytest.mark.parametrize("kind", ["denied", "dismissed", "withdrawn", "answered-by-human"])
def test_a_closure_after_the_claim_cancels_nothing(kind: str) -> None:
    record = record_of(*APPROVED, event(Kind.CLAIMED))
    judgement = judge(record, event(Kind.CLOSED, kind=kind))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, "noted: already_dispatched moves no state here")
    assert (record.state, record.closure) == (State.AWAITING_APPROVAL, None)
    assert Code.LATE_CLOSURE in record.findings
    assert record.granted


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
def test_a_closure_before_dispatch_does_not_cancel_what_was_dispatched(state: State) -> None:
    record = record_of(*path_to(state), event(Kind.CLOSED))
    assert (record.state, record.closure) == (state, None)
    assert Code.LATE_CLOSURE in record.findings


def test_a_withdrawal_after_the_claim_becomes_a_cancellation_request() -> None:
    record = record_of(*APPROVED, event(Kind.CLAIMED), event(Kind.WITHDRAWN, reason="changed plans"))
    assert record.open_cancellation is not None
    assert (record.open_cancellation.actor, record.open_cancellation.reason) == ("user:ada", "changed plans")
    assert record.state is State.AWAITING_APPROVAL


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
def test_a_withdrawal_of_what_was_dispatched_without_a_claim_is_a_cancellation_request_too(state: State) -> None:
    assert [request.kind for request in record_of(*path_to(state), event(Kind.WITHDRAWN)).requests] == ["cancellation"]


def test_a_withdrawal_after_a_claimed_call_has_ended_requests_nothing() -> None:
    record = record_of(*APPROVED, event(Kind.CLAIMED), event(Kind.STARTED), event(Kind.SUCCEEDED), event(Kind.WITHDRAWN))
    assert record.requests == []


@pytest.mark.parametrize("state", [State.PROPOSED, State.SUCCEEDED])
def test_a_withdrawal_before_dispatch_or_after_the_end_requests_no_cancellation(state: State) -> None:
    assert record_of(*path_to(state), event(Kind.WITHDRAWN)).requests == []


def test_an_invalidated_approval_keeps_it_awaiting_until_it_is_asked_for_anew() -> None:
    record = record_of(*APPROVED, event(Kind.APPROVAL_INVALIDATED, reason="the price changed"))
    assert (record.state, record.open_approval, record.granted) == (State.AWAITING_APPROVAL, None, False)
    assert record.findings[Code.APPROVAL_INVALIDATED].detail == "the price changed"
    assert Code.APPROVED_NOT_QUEUED not in record.findings
    again = judge(record, event(Kind.APPROVAL_REQUESTED, approval_id="apr_2"))
    assert again.row is not None
    assert again.row.name == "awaiting_approval-approval-requested"
    assert Code.APPROVAL_INVALIDATED not in record.findings
    assert record.open_approval is not None


def test_an_open_question_can_be_invalidated_too() -> None:
    record = record_of(*APPROVED[:2], event(Kind.APPROVAL_INVALIDATED))
    assert (record.state, record.open_approval, record.deadlines) == (State.AWAITING_APPROVAL, None, {})


def test_new_inputs_bring_an_awaited_approval_back_to_proposed() -> None:
    record = record_of(*path_to(State.AWAITING_APPROVAL), event(Kind.INPUTS_ACCEPTED, inputs=value("edited")))
    assert record.state is State.PROPOSED
    assert record.moves[-1].basis is Basis.OURS
    assert [inputs["ref"] for inputs in record.inputs_history] == ["val_inputs", "val_edited"]


# ── an acknowledgement has a strength ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
@pytest.mark.parametrize("termination", ["unwound", "confirmed"])
def test_an_acknowledged_termination_cancels_and_leaves_effects_unknown(state: State, termination: str) -> None:
    asked = event(Kind.CANCEL_REQUESTED)
    record = record_of(*path_to(state), asked, event(Kind.CANCEL_ACKNOWLEDGED, termination=termination))
    assert record.closure is not None
    assert (record.state, record.closure.kind, record.closure.termination) == (State.CANCELLED, "execution-terminated", termination)
    assert (record.closure.request_ref, record.reconciliation) == (asked.ref, Reconciliation.UNKNOWN)
    assert record.open_cancellation is None


@pytest.mark.parametrize(("support", "termination"), [("thread", "unwound"), ("task", "perhaps"), ("", "stopping")])
def test_a_termination_that_nobody_can_know_is_doubted_and_cancels_nothing(support: str, termination: str) -> None:
    running = record_of(proposed(), event(Kind.ACCEPTED), event(Kind.STARTED, cancel_support=support), event(Kind.CANCEL_REQUESTED))
    doubted = event(Kind.CANCEL_ACKNOWLEDGED, termination=termination)
    assert judge(running, doubted).verdict is Verdict.NOTED
    assert (running.state, running.closure) == (State.RUNNING, None)
    assert running.findings[Code.ACKNOWLEDGEMENT_DOUBTED].refs == (doubted.ref,)
    assert running.open_cancellation is not None


def test_the_executor_of_a_thread_may_confirm_that_it_ended() -> None:
    record = record_of(proposed(), event(Kind.STARTED, cancel_support="thread"), event(Kind.CANCEL_ACKNOWLEDGED, termination="confirmed"))
    assert record.state is State.CANCELLED


@pytest.mark.parametrize("origin", [Origin.CLIENT, Origin.SYNTHESIZED])
@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("kind", [Kind.CLOSED, Kind.CANCEL_ACKNOWLEDGED])
def test_a_closure_that_a_client_made_or_that_was_synthesized_never_cancels(origin: Origin, state: State, kind: Kind) -> None:
    record = in_state(state)
    waiting = record.open_approval
    assert judge(record, event(kind, origin=origin)).verdict is Verdict.NOTED
    assert (record.state, record.closure, record.ends) == (state, None, [])
    assert record.open_approval is waiting


@pytest.mark.parametrize("kind", ["execution-terminated", "expired", "lost"])
def test_a_closure_of_another_kind_than_policys_own_closes_nothing(kind: str) -> None:
    record = record_of(proposed(), event(Kind.CLOSED, kind=kind))
    assert (record.state, record.closure) == (State.PROPOSED, None)
    assert (Code.UNKNOWN_WORD in record.findings) == (kind == "lost")


def test_an_executor_that_ends_a_claimed_call_before_it_is_accepted_cancels_it() -> None:
    record = record_of(*APPROVED, event(Kind.CLAIMED), event(Kind.CANCEL_REQUESTED), event(Kind.CANCEL_ACKNOWLEDGED, effects="excluded"))
    assert (record.state, record.moves[-1].basis) == (State.CANCELLED, Basis.GAP)
    assert record.reconciliation is Reconciliation.NOT_EXECUTED
    assert Code.ACCEPTANCE_NOT_RECORDED in record.findings


def test_the_request_that_counts_is_the_one_that_stood_when_it_was_acknowledged() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.CANCEL_ACKNOWLEDGED), event(Kind.CANCEL_REQUESTED))
    assert record.closure is not None
    assert record.closure.request_ref == ""


@pytest.mark.parametrize("support", ["thread", "unsupported"])
@pytest.mark.parametrize("first", [Kind.STARTED, Kind.CANCEL_REQUESTED])
def test_a_body_that_cannot_be_stopped_is_named_whichever_came_first(support: str, first: Kind) -> None:
    asked, started = event(Kind.CANCEL_REQUESTED), event(Kind.STARTED, cancel_support=support)
    pair = (started, asked) if first is Kind.STARTED else (asked, started)
    record = record_of(proposed(), event(Kind.ACCEPTED), *pair)
    assert record.findings[Code.CANNOT_BE_STOPPED].refs == (asked.ref,)
    assert record.state is State.RUNNING


def test_an_aborted_body_whose_cancellation_nobody_requested_has_failed() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.FAILED, category="aborted", detail="The tool cancelled itself."))
    assert (record.state, record.closure) == (State.FAILED, None)
    assert record.outcome is not None
    assert record.outcome.data["category"] == "aborted"


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
def test_success_while_a_cancellation_request_is_unacknowledged_is_success_and_says_so(state: State) -> None:
    record = record_of(*path_to(state), event(Kind.CANCEL_REQUESTED), event(Kind.SUCCEEDED))
    assert record.state is State.SUCCEEDED
    assert Code.COMPLETED_DESPITE_CANCEL in record.findings


def test_an_effect_after_the_end_is_a_late_one_whatever_was_requested() -> None:
    record = record_of(*path_to(State.EXPIRED), event(Kind.CANCEL_REQUESTED), event(Kind.EFFECT))
    assert Code.LATE_EFFECT in record.findings
    assert Code.EFFECT_AFTER_CANCEL not in record.findings


@pytest.mark.parametrize("silence", [Kind.LOST, Kind.DEADLINE_ELAPSED])
def test_a_request_that_nobody_may_be_left_to_acknowledge_is_named_until_somebody_does(silence: Kind) -> None:
    asked, silent = event(Kind.CANCEL_REQUESTED), event(silence)
    record = record_of(*path_to(State.RUNNING), asked, silent)
    assert record.findings[Code.CANCEL_UNACKNOWLEDGED].refs == (asked.ref, silent.ref)
    judge(record, event(Kind.CANCEL_ACKNOWLEDGED))
    assert Code.CANCEL_UNACKNOWLEDGED not in record.findings


@pytest.mark.parametrize("silence", [Kind.LOST, Kind.DEADLINE_ELAPSED])
def test_silence_where_nobody_asked_for_a_cancellation_is_not_named(silence: Kind) -> None:
    assert Code.CANCEL_UNACKNOWLEDGED not in record_of(*path_to(State.RUNNING), event(silence)).findings


@pytest.mark.parametrize("kind", [Kind.SUCCEEDED, Kind.FAILED])
def test_an_end_answers_a_cancellation_request_too(kind: Kind) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.CANCEL_REQUESTED), event(Kind.LOST), event(kind))
    assert Code.CANCEL_UNACKNOWLEDGED not in record.findings


def test_a_failure_after_a_cancellation_request_is_a_failure_and_no_completion() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.CANCEL_REQUESTED), event(Kind.FAILED))
    assert (record.state, Code.COMPLETED_DESPITE_CANCEL in record.findings) == (State.FAILED, False)


def test_an_effect_after_the_cancellation_was_requested_is_named() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.EFFECT), event(Kind.CANCEL_REQUESTED), event(Kind.EFFECT))
    assert record.findings[Code.EFFECT_AFTER_CANCEL].refs == (record.effects[1].ref,)


# ── outcome unknown ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", OPEN)
def test_a_lost_execution_keeps_the_last_evidenced_state(state: State) -> None:
    lost = event(Kind.LOST)
    record = record_of(*path_to(state), lost)
    assert (record.state, record.reconciliation) == (state, Reconciliation.UNKNOWN)
    assert record.findings[Code.OUTCOME_UNKNOWN].refs == (lost.ref,)
    assert record.needs_reconciliation


@pytest.mark.parametrize("kind", [Kind.STARTED, Kind.HEARTBEAT, Kind.PROGRESS, Kind.OUTPUT, Kind.PART_COMPLETED])
def test_a_lost_execution_that_gives_a_sign_of_life_is_found_again(kind: Kind) -> None:
    assert Code.OUTCOME_UNKNOWN not in record_of(*path_to(State.QUEUED), event(Kind.LOST), event(kind)).findings


@pytest.mark.parametrize("other", [{"lease": "lease-2"}, {"attempt": 2}])
def test_a_heartbeat_of_another_lease_or_attempt_finds_nothing_again(other: dict[str, object]) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.LOST), event(Kind.HEARTBEAT, **other))
    assert Code.OUTCOME_UNKNOWN in record.findings
    assert record.lease == "lease-1"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.SUCCEEDED, Reconciliation.AS_REPORTED),
        (Kind.FAILED, Reconciliation.UNKNOWN),
        (Kind.CANCEL_ACKNOWLEDGED, Reconciliation.UNKNOWN),
    ],
)
def test_an_outcome_that_turns_up_closes_that_nobody_knew(kind: Kind, expected: Reconciliation) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.LOST), event(kind))
    assert (Code.OUTCOME_UNKNOWN in record.findings, record.reconciliation) == (False, expected)


def test_a_closure_by_policy_does_not_tell_what_became_of_a_lost_execution() -> None:
    record = record_of(proposed(), event(Kind.LOST), event(Kind.CLOSED))
    assert (record.state, record.reconciliation) == (State.CANCELLED, Reconciliation.REQUIRED)
    assert Code.OUTCOME_UNKNOWN in record.findings


def test_a_waiter_that_left_proves_nothing() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.WAITER_RELEASED))
    assert record.state is State.RUNNING
    assert Code.WAITER_GONE in record.findings


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        (State.PROPOSED, "running", Reconciliation.UNKNOWN),
        (State.PROPOSED, None, Reconciliation.UNKNOWN),
        (State.PROPOSED, "not started", Reconciliation.NOT_EXECUTED),
        (State.SUCCEEDED, None, Reconciliation.AS_REPORTED),
    ],
)
def test_a_body_that_a_waiter_left_and_that_nobody_saw_start_may_be_at_work(
    before: State, body: str | None, expected: Reconciliation
) -> None:
    assert record_of(*path_to(before), event(Kind.WAITER_RELEASED, body=body)).reconciliation is expected


def test_a_waiter_that_left_takes_nothing_back_that_is_known() -> None:
    record = record_of(proposed(consequences=["read-only"]), event(Kind.STARTED), event(Kind.WAITER_RELEASED))
    assert record.reconciliation is Reconciliation.NONE_EXPECTED


# ── inputs and people ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("collector", "person"), [("person", True), ("model", False)])
def test_refused_inputs_await_input_with_the_reason_and_who_collects_it(*, collector: str, person: bool) -> None:
    record = record_of(proposed(), event(Kind.INPUTS_REJECTED, collector=collector, validation="seat: must be a string"))
    assert record.state is State.AWAITING_INPUT
    assert record.input_request is not None
    assert (record.input_request["collector"], record.input_request["validation"]) == (collector, "seat: must be a string")
    assert record.waits_for_person is person


def test_a_call_that_the_model_makes_anew_is_withdrawn_by_its_proposer_and_names_the_replacement() -> None:
    closure = event(Kind.CLOSED, kind="withdrawn", initiator="proposer", replaced_by="inv_2")
    record = record_of(proposed(), event(Kind.INPUTS_REJECTED, collector="model"), closure)
    assert record.closure is not None
    assert (record.state, record.closure.kind, record.closure.initiator) == (State.CANCELLED, "withdrawn", "proposer")
    assert (record.closure.replaced_by, record.replaced_by) == ("inv_2", "inv_2")


def test_supplied_input_is_a_request_until_policy_accepts_it() -> None:
    record = record_of(*path_to(State.AWAITING_INPUT), event(Kind.INPUT_SUPPLIED))
    assert (record.state, [request.kind for request in record.requests]) == (State.AWAITING_INPUT, ["input"])
    judge(record, event(Kind.INPUTS_ACCEPTED, inputs=value("supplied")))
    assert (record.state, record.input_request, record.inputs) == (State.PROPOSED, None, value("supplied"))


def test_input_that_is_accepted_in_part_leaves_the_rest_to_ask_for() -> None:
    record = record_of(
        proposed(), event(Kind.INPUT_REQUIRED, unresolved=["seat", "date"], expires_at="2026-11-30T11:00:00Z"),
        event(Kind.INPUTS_ACCEPTED, unresolved=["date"]),
    )  # fmt: skip  # one event after the other
    assert record.input_request is not None
    assert (record.state, record.input_request["unresolved"]) == (State.AWAITING_INPUT, ["date"])
    assert record.deadlines == {"input": "2026-11-30T11:00:00Z"}


def test_inputs_accepted_in_part_where_nothing_was_asked_for_ask_for_nothing() -> None:
    record = record_of(proposed(), event(Kind.INPUTS_ACCEPTED, unresolved=["date"]))
    assert (record.state, record.input_request) == (State.PROPOSED, None)


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
@pytest.mark.parametrize("kind", [Kind.INPUT_REQUIRED, Kind.INPUTS_REJECTED, Kind.APPROVAL_REQUESTED])
def test_a_call_that_asks_while_it_is_queued_or_runs_keeps_its_state_and_waits_for_a_person(state: State, kind: Kind) -> None:
    record = record_of(*path_to(state), event(kind))
    assert (record.state, record.waits_for_person) == (state, True)
    assert Code.WAITING_FOR_PERSON in record.findings


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (event(Kind.INPUT_REQUIRED), event(Kind.INPUTS_ACCEPTED)),
        (event(Kind.INPUT_REQUIRED), event(Kind.DEADLINE_ELAPSED, deadline="input")),
        (event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED)),
        (event(Kind.APPROVAL_REQUESTED), event(Kind.DENIED)),
        (event(Kind.APPROVAL_REQUESTED), event(Kind.DEADLINE_ELAPSED, deadline="approval")),
        (event(Kind.APPROVAL_REQUESTED), event(Kind.APPROVAL_INVALIDATED)),
    ],
)
def test_a_running_call_waits_no_more_once_it_is_answered(asked: Event, answered: Event) -> None:
    record = record_of(*path_to(State.RUNNING), asked, answered)
    assert (record.state, record.waits_for_person) == (State.RUNNING, False)
    assert Code.WAITING_FOR_PERSON not in record.findings


@pytest.mark.parametrize(
    "asked",
    [
        (event(Kind.INPUT_REQUIRED, expires_at="2026-11-30T11:00:00Z"), event(Kind.INPUT_REQUIRED)),
        (event(Kind.INPUT_REQUIRED, expires_at="2026-11-30T11:00:00Z"), event(Kind.INPUTS_ACCEPTED)),
        (event(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T11:00:00Z"), event(Kind.APPROVAL_REQUESTED, approval_id="apr_2")),
        (event(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T11:00:00Z"), event(Kind.GRANTED)),
    ],
    ids=["asked anew", "supplied", "another question", "granted"],
)
@pytest.mark.parametrize("state", [State.PROPOSED, State.RUNNING])
def test_a_deadline_ends_with_the_question_that_it_belongs_to(asked: tuple[Event, Event], state: State) -> None:
    assert record_of(*path_to(state), asked[0]).deadlines != {}
    assert record_of(*path_to(state), *asked).deadlines == {}


@pytest.mark.parametrize("state", [State.QUEUED, *RUNS])
def test_what_was_asked_for_in_the_middle_of_a_run_is_not_asked_for_after_its_deadline(state: State) -> None:
    record = record_of(*path_to(state), event(Kind.INPUT_REQUIRED), event(Kind.DEADLINE_ELAPSED, deadline="input"))
    assert (record.state, record.input_request) == (state, None)


def test_what_was_asked_for_in_vain_before_dispatch_is_still_shown() -> None:
    record = record_of(*path_to(State.AWAITING_INPUT), event(Kind.DEADLINE_ELAPSED, deadline="input"))
    assert record.input_request is not None


def test_a_deadline_that_passed_in_the_middle_of_a_run_is_no_longer_shown_and_leaves_other_questions_alone() -> None:
    record = record_of(
        *path_to(State.RUNNING),
        event(Kind.INPUT_REQUIRED, expires_at="2026-11-30T11:00:00Z"),
        event(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T10:30:00Z"),
        event(Kind.DEADLINE_ELAPSED, deadline="approval"),
    )
    assert record.deadlines == {"input": "2026-11-30T11:00:00Z"}
    assert record.input_request is not None
    judge(record, event(Kind.DEADLINE_ELAPSED, deadline="input"))
    assert (record.deadlines, record.input_request) == ({}, None)


def test_an_approval_asked_for_under_a_live_lease_gates_no_start_either() -> None:
    record = record_of(*path_to(State.QUEUED), event(Kind.HEARTBEAT), event(Kind.APPROVAL_REQUESTED))
    assert (record.state, record.ungranted) == (State.RUNNING, None)


def test_one_answer_of_two_leaves_it_waiting() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.INPUT_REQUIRED), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED))
    assert Code.WAITING_FOR_PERSON in record.findings


def test_what_a_running_call_asks_of_a_model_is_not_for_a_person() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.INPUTS_REJECTED, collector="model"))
    assert Code.WAITING_FOR_PERSON not in record.findings


def test_an_approval_asked_for_in_the_middle_of_a_run_gates_what_follows_and_not_the_start() -> None:
    record = record_of(governed(), event(Kind.CLAIMED), event(Kind.STARTED), event(Kind.APPROVAL_REQUESTED), event(Kind.OUTPUT))
    assert record.state is State.STREAMING
    assert Code.RAN_WITHOUT_APPROVAL not in record.findings
    assert record.ungranted is None


def test_a_person_who_answers_in_the_tools_place_closes_it_unexecuted() -> None:
    record = record_of(*path_to(State.AWAITING_APPROVAL), event(Kind.CLOSED, kind="answered-by-human"))
    assert record.closure is not None
    assert (record.state, record.closure.kind, record.reconciliation) == (
        State.CANCELLED, "answered-by-human", Reconciliation.NOT_EXECUTED,
    )  # fmt: skip  # one claim after the other
    assert record.moves[-1].basis is Basis.OURS


# ── progress, output, starts ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("back", [{"order": 2, "percent": 40}, {"order": 1, "percent": 90}, {"order": 0, "percent": 90}])
def test_progress_that_moves_backwards_keeps_the_high_water_mark(back: dict[str, int]) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.PROGRESS, order=1, percent=60), event(Kind.PROGRESS, **back))
    assert record.progress is not None
    assert record.progress["percent"] == 60
    assert Code.PROGRESS_REGRESSED in record.findings


def test_progress_that_goes_on_is_the_furthest_point() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.PROGRESS, order=1, percent=60), event(Kind.PROGRESS, order=2, percent=60))
    assert record.progress is not None
    assert (record.progress["order"], Code.PROGRESS_REGRESSED in record.findings) == (2, False)


def test_progress_without_a_number_keeps_the_last_one_and_takes_the_words() -> None:
    record = record_of(
        *path_to(State.RUNNING), event(Kind.PROGRESS, order=1, percent=60), event(Kind.PROGRESS, order=2, percent=None, text="paying")
    )
    assert record.progress is not None
    assert (record.progress["percent"], record.progress["text"]) == (60, "paying")
    assert Code.PROGRESS_REGRESSED not in record.findings


@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.PROGRESS])
def test_a_stale_report_does_not_bring_back_streaming(kind: Kind) -> None:
    record = record_of(*path_to(State.RUNNING), event(kind, order=4), event(Kind.PART_COMPLETED))
    assert judge(record, event(kind, order=4)).reason == "noted: repeated moves no state here"
    assert record.state is State.PARTIALLY_COMPLETE


def test_output_that_comes_late_stands_in_its_place_and_a_repeated_number_adds_nothing() -> None:
    record = record_of(*path_to(State.RUNNING), *(event(Kind.OUTPUT, order=order) for order in (1, 4, 2, 4, 1)))
    assert [chunk["order"] for chunk in record.output_chunks] == [1, 2, 4]
    assert record.findings[Code.ORDER_REPEATED].count == 3


def test_a_second_start_of_the_attempt_that_nobody_decided_is_named_and_opens_reconciliation() -> None:
    second = event(Kind.STARTED, executor="worker-2", lease="lease-2")
    record = record_of(*path_to(State.RUNNING), second)
    assert record.state is State.RUNNING
    assert record.findings[Code.DUPLICATE_START].refs == (second.ref,)
    judge(record, event(Kind.SUCCEEDED))
    assert record.reconciliation is Reconciliation.REQUIRED


@pytest.mark.parametrize("state", [State.PROPOSED, State.QUEUED])
def test_a_start_of_another_attempt_is_not_this_ones(state: State) -> None:
    record = in_state(state)
    other = event(Kind.STARTED, attempt=2)
    assert judge(record, other).reason == "noted: other_attempt moves no state here"
    assert (record.state, record.started_at, record.lease) == (state, "", "")
    assert record.findings[Code.DUPLICATE_START].refs == (other.ref,)


def test_the_attempt_of_a_call_that_was_never_proposed_is_the_one_that_started() -> None:
    record = record_of(event(Kind.STARTED, attempt=3), event(Kind.PART_COMPLETED))
    assert [move.target for move in record.moves] == [State.RUNNING, State.PARTIALLY_COMPLETE]
    assert (record.attempt, judge(record, event(Kind.HEARTBEAT, attempt=3)).verdict) == (3, Verdict.MOVED)
    heard = record_of(event(Kind.HEARTBEAT, attempt=2))
    assert (heard.attempt, heard.state) == (2, State.RUNNING)
    judge(heard, event(Kind.PROPOSED, of_attempt=2))
    assert heard.attempt == 2


@pytest.mark.parametrize(
    "known",
    [event(Kind.PROPOSED), event(Kind.STARTED), event(Kind.HEARTBEAT), event(Kind.STARTED, without=("lease",))],
    ids=["proposed", "started", "heard of", "started without a lease"],
)
def test_a_call_of_which_the_attempt_is_known_takes_no_start_and_no_heartbeat_of_another(known: Event) -> None:
    record = record_of(known)
    before = (record.state, record.attempt, record.lease)
    assert judge(record, event(Kind.HEARTBEAT, attempt=2)).reason == "noted: bare moves no state here"
    assert (record.state, record.attempt, record.lease) == before
    if known.kind != Kind.HEARTBEAT:
        assert judge(record, event(Kind.STARTED, attempt=2)).reason == "noted: other_attempt moves no state here"


def test_a_heartbeat_without_the_lease_of_this_attempt_moves_nothing() -> None:
    for other in ({"lease": "lease-2"}, {"attempt": 2}):
        record = record_of(*path_to(State.RUNNING), event(Kind.PART_COMPLETED))
        assert judge(record, event(Kind.HEARTBEAT, **other)).reason == "noted: bare moves no state here"
        assert record.state is State.PARTIALLY_COMPLETE


# ── what ran is not what was shown ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("started", "differs"),
    [
        ({}, False),
        ({"inputs": value("inputs")}, False),
        ({"inputs": value("other"), "inputs_compared": "same"}, False),
        ({"inputs": value("other"), "inputs_compared": "different"}, True),
        ({"inputs": value("other")}, True),
    ],
)
def test_other_inputs_than_the_ones_that_stand_are_named(*, started: dict[str, object], differs: bool) -> None:
    record = record_of(proposed(), event(Kind.STARTED, **started))
    assert (Code.EXECUTED_INPUTS_DIFFER in record.findings) is differs
    assert record.executed_inputs == started.get("inputs")


def test_inputs_of_a_call_that_was_never_proposed_differ_from_nothing() -> None:
    record = record_of(event(Kind.STARTED, inputs=value("other")))
    assert Code.EXECUTED_INPUTS_DIFFER not in record.findings


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("word", [None, "passed", "accepted", "undeclared"])
def test_a_result_that_passed_or_had_nothing_to_pass_is_success(word: str | None) -> None:
    assert record_of(*path_to(State.RUNNING), event(Kind.SUCCEEDED, validation=word)).state is State.SUCCEEDED


@pytest.mark.parametrize("word", ["rejected", "looks fine"])
def test_a_result_that_was_rejected_or_of_which_nobody_knows_is_no_success_and_leaves_no_outcome(word: str) -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.SUCCEEDED, validation=word))
    assert (record.state, record.outcome) == (State.RUNNING, None)
    assert (Code.RESULT_REJECTED in record.findings) == (word == "rejected")


def test_the_first_rejection_of_a_result_is_the_one_that_is_cited() -> None:
    first = event(Kind.RESULT_REJECTED)
    assert record_of(*path_to(State.RUNNING), first, event(Kind.RESULT_REJECTED)).result_rejected == first.ref


def test_a_result_that_policy_rejected_is_no_success_whatever_the_runtime_says() -> None:
    rejected = event(Kind.RESULT_REJECTED)
    record = record_of(*path_to(State.RUNNING), rejected, event(Kind.SUCCEEDED))
    assert (record.state, record.result_rejected) == (State.RUNNING, rejected.ref)
    failed = event(Kind.FAILED, category="invalid-result")
    judge(record, failed)
    assert record.outcome is not None
    assert (record.state, record.outcome.ref) == (State.FAILED, failed.ref)
    assert record.reconciliation is Reconciliation.REQUIRED


# ── gaps and unknown words ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_runtime_that_never_says_accepted_shows_that_gap_and_is_not_queued() -> None:
    record = record_of(proposed(), event(Kind.STARTED))
    assert [move.target for move in record.moves] == [State.PROPOSED, State.RUNNING]
    assert record.moves[-1].basis is Basis.GAP
    assert record.findings[Code.ACCEPTANCE_NOT_RECORDED].detail == "no acceptance was recorded; queued is not claimed"


@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.PROGRESS, Kind.PART_COMPLETED, Kind.SUCCEEDED])
def test_work_of_which_no_start_was_recorded_shows_that_gap(kind: Kind) -> None:
    record = record_of(*path_to(State.QUEUED), event(kind))
    assert Code.START_NOT_RECORDED in record.findings
    assert Code.ACCEPTANCE_NOT_RECORDED not in record.findings


@pytest.mark.parametrize("closing", [event(Kind.CLOSED), event(Kind.DEADLINE_ELAPSED)], ids=["closed", "expired"])
def test_an_end_before_dispatch_lacks_no_step(closing: Event) -> None:
    assert record_of(governed(), closing).findings == {}


def test_the_reason_of_a_move_names_its_row_where_the_lifecycle_does_not_expect_it() -> None:
    assert judge(in_state(State.QUEUED), event(Kind.STARTED)).reason == ""
    assert judge(in_state(State.PROPOSED), event(Kind.STARTED)).reason == "gap: proposed-started-policy_unobserved"


def test_a_live_lease_is_as_good_as_a_start() -> None:
    record = record_of(*path_to(State.QUEUED), event(Kind.HEARTBEAT), event(Kind.OUTPUT))
    assert Code.START_NOT_RECORDED not in record.findings


def test_a_gap_is_named_once_however_much_output_follows() -> None:
    record = record_of(proposed(), *(event(Kind.OUTPUT, order=order) for order in range(50)))
    assert record.findings[Code.START_NOT_RECORDED].count == 1
    assert len(record.state_refs) == 8


@pytest.mark.parametrize(
    ("late", "code"),
    [(Kind.ACCEPTED, Code.ACCEPTANCE_NOT_RECORDED), (Kind.STARTED, Code.START_NOT_RECORDED), (Kind.HEARTBEAT, Code.START_NOT_RECORDED)],
)
def test_a_step_that_is_recorded_late_closes_its_gap(late: Kind, code: Code) -> None:
    record = record_of(proposed(), event(Kind.OUTPUT))
    assert code in record.findings
    judge(record, event(late))
    assert code not in record.findings


def test_what_was_never_proposed_is_shown_as_that() -> None:
    record = record_of(event(Kind.SUCCEEDED))
    assert (record.state, record.tool) == (State.SUCCEEDED, "")
    assert {Code.PROPOSAL_NOT_RECORDED, Code.ACCEPTANCE_NOT_RECORDED, Code.START_NOT_RECORDED} <= set(record.findings)


def test_an_unknown_word_is_kept_and_is_neither_success_nor_failure() -> None:
    record = in_state(State.RUNNING)
    unknown = event("run.finished", source="vendor")
    judgement = judge(record, unknown)
    assert judgement.verdict is Verdict.NOTED
    assert judgement.reason == "unknown: 'run.finished' is not a kind of evidence we know; kept as it came"
    assert record.findings[Code.UNKNOWN_WORD].refs == (unknown.ref,)
    assert (record.state, record.outcome) == (State.RUNNING, None)


def test_a_deadline_of_an_unknown_kind_is_an_unknown_word() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.DEADLINE_ELAPSED, deadline="budget"))
    assert (record.state, Code.UNKNOWN_WORD in record.findings) == (State.RUNNING, True)


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "name"), [(Kind.RETRY_REQUESTED, "retried_by"), (Kind.REVERSAL_REQUESTED, "reversed_by"), (Kind.ROUTE_CHOSEN, "replaced_by")]
)
def test_a_request_that_is_answered_by_a_new_invocation_points_at_it(kind: Kind, name: str) -> None:
    record = record_of(*path_to(State.FAILED), event(kind, new_invocation="inv_2"))
    assert (getattr(record, name), record.requests[0].target) == ("inv_2", "inv_2")
    assert record.state is State.FAILED


@pytest.mark.parametrize("kind", [Kind.CANCEL_REQUESTED, Kind.INPUT_SUPPLIED])
def test_a_request_that_no_new_invocation_can_answer_points_nowhere(kind: Kind) -> None:
    record = record_of(*path_to(State.RUNNING), event(kind, new_invocation="inv_2"))
    assert (record.retried_by, record.reversed_by, record.replaced_by) == ("", "", "")


def test_a_request_keeps_what_was_said_and_nothing_that_was_not() -> None:
    record = record_of(
        *path_to(State.RUNNING),
        event(Kind.CANCEL_REQUESTED, scope="rail branch only", reason="user-requested", time="2026-11-30T10:00:00Z"),
        event(Kind.RETRY_REQUESTED),
    )
    asked, bare = record.requests
    assert (asked.actor, asked.at, asked.scope, asked.reason) == ("user:ada", "2026-11-30T10:00:00Z", "rail branch only", "user-requested")
    assert (bare.kind, bare.scope, bare.reason, bare.target) == ("retry", "", "", "")


def test_a_request_without_a_new_invocation_does_not_take_back_the_one_that_has_one() -> None:
    record = record_of(*path_to(State.FAILED), event(Kind.RETRY_REQUESTED, new_invocation="inv_2"), event(Kind.RETRY_REQUESTED))
    assert record.retried_by == "inv_2"


@pytest.mark.parametrize("support", ["thread", "unsupported"])
def test_what_cannot_be_stopped_is_said_when_a_body_runs_and_not_before(support: str) -> None:
    record = record_of(proposed(cancel_support=support), event(Kind.ACCEPTED), event(Kind.CANCEL_REQUESTED))
    assert Code.CANNOT_BE_STOPPED not in record.findings
    judge(record, event(Kind.STARTED))
    judge(record, event(Kind.RETRY_REQUESTED))
    assert record.findings[Code.CANNOT_BE_STOPPED].count == 1


def test_a_body_in_a_task_can_be_stopped() -> None:
    record = record_of(proposed(), event(Kind.STARTED, cancel_support="task"), event(Kind.CANCEL_REQUESTED))
    assert Code.CANNOT_BE_STOPPED not in record.findings


def test_a_body_that_runs_on_after_its_deadline_and_cannot_be_stopped_is_named() -> None:
    record = record_of(proposed(), event(Kind.STARTED, cancel_support="thread"), event(Kind.DEADLINE_ELAPSED), event(Kind.CANCEL_REQUESTED))
    assert (record.state, Code.CANNOT_BE_STOPPED in record.findings) == (State.EXPIRED, True)


def test_a_cancellation_request_moves_nothing_and_stays_open_until_it_is_acknowledged() -> None:
    record = record_of(*path_to(State.RUNNING), event(Kind.CANCEL_REQUESTED))
    assert record.state is State.RUNNING
    assert record.open_cancellation is record.cancellation is record.requests[0]


# ── effects ─────────────────────────────────────────────────────────────────────────────────────────────────────────

READ_ONLY = {"consequences": ["read-only", "permission-gated"]}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((proposed(),), Reconciliation.NOT_EXECUTED),
        ((proposed(), event(Kind.CLOSED)), Reconciliation.NOT_EXECUTED),
        ((proposed(), event(Kind.DEADLINE_ELAPSED, deadline="result")), Reconciliation.NOT_EXECUTED),
        ((proposed(), event(Kind.SUCCEEDED)), Reconciliation.AS_REPORTED),
        ((*path_to(State.RUNNING), event(Kind.STARTED), event(Kind.OUTPUT)), Reconciliation.UNKNOWN),
        ((proposed(), event(Kind.EFFECT), event(Kind.CLOSED)), Reconciliation.UNKNOWN),
        (path_to(State.QUEUED), Reconciliation.NOT_EXECUTED),
        (path_to(State.RUNNING), Reconciliation.UNKNOWN),
        (path_to(State.SUCCEEDED), Reconciliation.AS_REPORTED),
        (path_to(State.FAILED), Reconciliation.UNKNOWN),
        ((proposed(), event(Kind.FAILED)), Reconciliation.UNKNOWN),
        ((proposed(), event(Kind.FAILED, effects="excluded")), Reconciliation.NOT_EXECUTED),
        ((*path_to(State.RUNNING), event(Kind.FAILED, effects="excluded")), Reconciliation.NONE_EXPECTED),
        ((*path_to(State.RUNNING), event(Kind.EFFECT), event(Kind.FAILED, effects="excluded")), Reconciliation.UNKNOWN),
        ((*path_to(State.RUNNING), event(Kind.COMMITTED), event(Kind.FAILED, effects="excluded")), Reconciliation.UNKNOWN),
        ((proposed(), event(Kind.OUTPUT), event(Kind.CANCEL_ACKNOWLEDGED)), Reconciliation.UNKNOWN),
        ((*path_to(State.QUEUED), event(Kind.CANCEL_ACKNOWLEDGED)), Reconciliation.UNKNOWN),
        ((*path_to(State.QUEUED), event(Kind.CANCEL_ACKNOWLEDGED, effects="excluded")), Reconciliation.NOT_EXECUTED),
        ((*path_to(State.RUNNING), event(Kind.CANCEL_ACKNOWLEDGED, effects="excluded")), Reconciliation.NONE_EXPECTED),
        ((*path_to(State.QUEUED), event(Kind.DEADLINE_ELAPSED, deadline="queue_start")), Reconciliation.UNKNOWN),
        ((*APPROVED, event(Kind.CLAIMED), event(Kind.DEADLINE_ELAPSED)), Reconciliation.REQUIRED),
        ((*APPROVED, event(Kind.DEADLINE_ELAPSED, deadline="queue_start")), Reconciliation.NOT_EXECUTED),
        ((proposed(**READ_ONLY), event(Kind.STARTED)), Reconciliation.NONE_EXPECTED),
        ((proposed(**READ_ONLY), event(Kind.STARTED), event(Kind.SUCCEEDED)), Reconciliation.NONE_EXPECTED),
        ((proposed(**READ_ONLY), event(Kind.STARTED), event(Kind.EFFECT), event(Kind.SUCCEEDED)), Reconciliation.AS_REPORTED),
        ((proposed(**READ_ONLY), event(Kind.STARTED), event(Kind.CANCEL_ACKNOWLEDGED)), Reconciliation.NONE_EXPECTED),
        ((proposed(consequences=["permission-gated"]), event(Kind.STARTED), event(Kind.CANCEL_ACKNOWLEDGED)), Reconciliation.UNKNOWN),
        ((proposed(consequences=["read-only", "destructive"]), event(Kind.STARTED), event(Kind.FAILED)), Reconciliation.UNKNOWN),
    ],
)  # fmt: skip  # one case a line
def test_what_is_known_about_effects_is_never_more_than_the_evidence_allows(events: tuple[Event, ...], expected: Reconciliation) -> None:
    assert record_of(*events).reconciliation is expected


def test_the_commitment_boundary_is_crossed_once() -> None:
    first = event(Kind.COMMITTED)
    record = record_of(*path_to(State.RUNNING), first, event(Kind.COMMITTED, boundary="again"))
    assert record.commitment is not None
    assert record.commitment.ref == first.ref


def test_a_part_that_completes_all_work_leaves_the_state_and_says_that_nothing_is_open() -> None:
    record = record_of(*path_to(State.PARTIALLY_COMPLETE), event(Kind.PART_COMPLETED, part="return", open=[]))
    assert (record.state, record.open_parts, len(record.parts)) == (State.PARTIALLY_COMPLETE, (), 2)


def test_dependencies_that_policy_moved_or_resolved_are_kept() -> None:
    record = record_of(proposed(dependencies=["inv_0"]), event(Kind.DEPENDENCY_MOVED), event(Kind.DEPENDENCY_RESOLVED))
    assert (record.moved_dependencies, record.resolved_dependencies) == ({"inv_0": "inv_0b"}, {"inv_0": "ev_0"})


def test_the_first_proposal_stands() -> None:
    record = record_of(proposed(tool="book"), proposed(tool="burn"))
    assert record.tool == "book"
    assert judge(record, proposed()).reason == "noted: repeated moves no state here"


def test_a_finding_cites_some_evidence_and_counts_all_of_it() -> None:
    record = record_of(*path_to(State.RUNNING), *(event("run.ping") for _ in range(40)))
    finding = record.findings[Code.UNKNOWN_WORD]
    assert (len(finding.refs), finding.count) == (24, 40)
