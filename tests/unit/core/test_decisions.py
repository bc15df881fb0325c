"""One decision, one dispatch: what a grant covers, and every way in which a permit cannot be claimed (R6, R7)."""

import pytest

from tests.unit.core.builders import event, governed, path_to, proposed, record_of, value
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner, Reconciliation, State
from toolwitness.core.verdicts import Verdict

ASKED = (governed(), event(Kind.APPROVAL_REQUESTED, expires_at="2026-11-30T11:00:00Z"))
GRANTED = (*ASKED, event(Kind.GRANTED))
CLAIMED = (*GRANTED, event(Kind.CLAIMED))


def refused(record: InvocationRecord, said: Event) -> str:
    judgement = judge(record, said)
    assert judgement.verdict is Verdict.REFUSED
    return judgement.reason


def test_an_approved_call_is_claimed_once() -> None:
    record = record_of(*GRANTED)
    assert judge(record, event(Kind.CLAIMED)).verdict is Verdict.NOTED
    assert record.claim is not None
    assert refused(record, event(Kind.CLAIMED, permit="prm_2")) == "already-claimed: permit prm_1 was claimed at an unrecorded time"
    assert record.claim.permit == "prm_1"


def test_a_call_that_needs_no_approval_is_claimed_without_one() -> None:
    assert record_of(governed(), event(Kind.PERMITTED), event(Kind.CLAIMED)).claim is not None


EDITED = {"inputs": value("edited"), "inputs_digest": "digest-of-edited"}


@pytest.mark.parametrize(
    ("events", "changes", "reason"),
    [
        ((), {}, "unproposed: nothing was proposed that could be dispatched"),
        (ASKED, {}, "not-granted: approval apr_1 has not been granted"),
        ((*ASKED, event(Kind.DENIED)), {}, "not-granted: approval apr_1 has not been granted"),
        ((*GRANTED, event(Kind.APPROVAL_INVALIDATED)), {}, "not-granted: approval apr_1 has not been granted"),
        ((*GRANTED, event(Kind.APPROVAL_REQUESTED, approval_id="apr_2")), {}, "not-granted: approval apr_2 has not been granted"),
        ((*ASKED, event(Kind.DEADLINE_ELAPSED, deadline="approval")), {}, "terminal: the attempt is already expired"),
        ((governed(), event(Kind.CLOSED)), {}, "terminal: the attempt is already cancelled"),
        ((governed(), event(Kind.INPUT_REQUIRED)), {}, "inputs-unresolved: required input is still missing"),
        (
            (governed(), event(Kind.INPUT_REQUIRED), *ASKED[1:], event(Kind.GRANTED)),
            {},
            "inputs-unresolved: required input is still missing",
        ),
        ((governed(), event(Kind.REFUSED)), {}, "not-permitted: the deadline has passed"),
        ((governed(), event(Kind.STARTED)), {}, "already-started: this attempt was seen to start; a second body would run"),
        ((governed(), event(Kind.OUTPUT)), {}, "already-started: this attempt was seen to start; a second body would run"),
        (GRANTED, {"attempt": 2}, "other-attempt: this is attempt 1 and the permit is for attempt 2"),
        ((*GRANTED, event(Kind.INPUTS_ACCEPTED, **EDITED)), {}, "other-inputs: the inputs have changed since approval apr_1 was asked for"),
        (GRANTED, {"inputs_digest": "digest-of-other"}, "other-inputs: the permit names inputs that are not the ones that stand"),
    ],
)
def test_a_permit_cannot_be_claimed(events: tuple[Event, ...], changes: dict[str, object], reason: str) -> None:
    record = record_of(*events)
    before = record.claim
    assert refused(record, event(Kind.CLAIMED, **changes)) == reason
    assert record.claim is before


def test_a_permit_that_names_the_inputs_that_stand_is_claimed() -> None:
    assert record_of(*GRANTED, event(Kind.CLAIMED, inputs_digest="digest-of-inputs")).claim is not None


@pytest.mark.parametrize(
    ("bound", "shown"), [(None, None), (None, "digest-of-inputs"), ("digest-of-inputs", None), ("digest-of-inputs", "digest-of-inputs")]
)
def test_a_grant_that_contradicts_nothing_counts(bound: str | None, shown: str | None) -> None:
    record = record_of(governed(), event(Kind.APPROVAL_REQUESTED, inputs_digest=bound), event(Kind.GRANTED, inputs_digest=shown))
    assert record.granted
    assert record.approvals[0].answer is not None
    assert record.approvals[0].answer.reason == ""


def test_an_approval_that_was_asked_for_before_any_inputs_were_seen_can_be_granted() -> None:
    record = record_of(event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED))
    assert record.granted
    late = record_of(event(Kind.APPROVAL_REQUESTED), proposed(), event(Kind.GRANTED))
    assert late.granted


def test_a_call_of_which_only_the_acceptance_was_seen_can_be_claimed_for_whatever_inputs_it_has() -> None:
    assert record_of(event(Kind.ACCEPTED), event(Kind.CLAIMED, inputs_digest="digest-of-inputs")).claim is not None


def test_who_claimed_first_is_told_with_the_time() -> None:
    record = record_of(*GRANTED, event(Kind.CLAIMED, time="2026-11-30T10:00:00Z"))
    assert refused(record, event(Kind.CLAIMED)) == "already-claimed: permit prm_1 was claimed at 2026-11-30T10:00:00Z"


def test_a_start_of_another_attempt_closes_the_door_too_and_loosens_no_question() -> None:
    record = record_of(governed(), event(Kind.STARTED, attempt=2), event(Kind.APPROVAL_REQUESTED))
    assert refused(record, event(Kind.CLAIMED)) == "already-started: this attempt was seen to start; a second body would run"
    assert record.ungranted is record.approvals[0]


def test_accepted_by_a_scheduler_before_a_worker_claims_is_no_start() -> None:
    record = record_of(governed(), event(Kind.ACCEPTED))
    assert judge(record, event(Kind.CLAIMED)).verdict is Verdict.NOTED


@pytest.mark.parametrize("first", [Kind.GRANTED, Kind.DENIED])
@pytest.mark.parametrize("second", [Kind.GRANTED, Kind.DENIED])
def test_a_second_answer_is_refused_and_told_who_was_first(first: Kind, second: Kind) -> None:
    record = record_of(*ASKED, event(first, actor="user:ada", time="2026-11-30T10:30:00Z"))
    late = event(second, actor="user:bob")
    word = "granted" if first is Kind.GRANTED else "denied"
    assert refused(record, late) == f"already-answered: {word} by user:ada at 2026-11-30T10:30:00Z"
    assert record.findings[Code.DECISION_REFUSED].refs == (late.ref,)
    assert record.approvals[0].answer is not None
    assert record.approvals[0].answer.actor == "user:ada"


@pytest.mark.parametrize(
    ("events", "said", "reason"),
    [
        (ASKED, event(Kind.GRANTED, approval_id="apr_9"), "unknown-approval: no request apr_9 is recorded for this invocation"),
        (ASKED, event(Kind.DENIED, approval_id="apr_9"), "unknown-approval: no request apr_9 is recorded for this invocation"),
        ((*ASKED, event(Kind.LOST), event(Kind.SUCCEEDED)), event(Kind.GRANTED), "terminal: the attempt is already succeeded"),
        (
            (*ASKED, event(Kind.APPROVAL_REQUESTED, approval_id="apr_2")), event(Kind.GRANTED),
            "already-answered: superseded by policy at an unrecorded time",
        ),
        (
            (*ASKED, event(Kind.DEADLINE_ELAPSED, deadline="approval")), event(Kind.GRANTED),
            "already-answered: expired by policy at an unrecorded time",
        ),
        (
            (*ASKED, event(Kind.INPUTS_ACCEPTED, **EDITED)), event(Kind.GRANTED),
            "other-inputs: the decision was made on inputs that are not the ones asked about",
        ),
        (
            (governed(), event(Kind.APPROVAL_REQUESTED, inputs_digest="digest-of-inputs")),
            event(Kind.GRANTED, inputs_digest="digest-of-other"),
            "other-inputs: the decision was made on inputs that are not the ones asked about",
        ),
        (ASKED, event(Kind.GRANTED, owner=Owner.RUNTIME), "speaker: runtime does not own approval.granted"),
        (ASKED, event(Kind.GRANTED, refusal="eligible: user:bob is not role:finance"), "eligible: user:bob is not role:finance"),
    ],
)  # fmt: skip  # one case after the other
def test_a_decision_that_does_not_fit_is_refused_with_the_reason(events: tuple[Event, ...], said: Event, reason: str) -> None:
    record = record_of(*events)
    state = record.state
    assert refused(record, said) == reason
    assert record.findings[Code.DECISION_REFUSED].refs == (said.ref,)
    assert (record.state, record.granted, record.claim) == (state, False, None)


def test_a_denial_needs_no_look_at_the_inputs() -> None:
    record = record_of(*ASKED, event(Kind.INPUTS_ACCEPTED, **EDITED))
    assert judge(record, event(Kind.DENIED)).verdict is Verdict.NOTED


def test_a_denial_is_two_events_and_the_closure_is_the_one_that_moves() -> None:
    record = record_of(*ASKED, event(Kind.DENIED, reason="too dear"))
    assert record.state is State.AWAITING_APPROVAL
    assert record.open_approval is None
    closure = event(Kind.CLOSED, kind="denied", initiator="user:ada", reason="too dear", owner_name="booking policy")
    assert judge(record, closure).verdict is Verdict.MOVED
    assert record.closure is not None
    assert (record.closure.kind, record.closure.owner, record.closure.initiator) == ("denied", "booking policy", "user:ada")
    answer = record.approvals[0].answer
    assert answer is not None
    assert (answer.kind, answer.actor, answer.reason) == ("denied", "user:ada", "too dear")
    assert record.reconciliation is Reconciliation.NOT_EXECUTED


@pytest.mark.parametrize("kind", ["denied", "dismissed", "withdrawn", "answered-by-human"])
def test_a_closure_answers_the_question_that_it_closes(kind: str) -> None:
    record = record_of(*ASKED, event(Kind.CLOSED, kind=kind, initiator="user:ada"))
    answer = record.approvals[0].answer
    assert answer is not None
    assert (answer.kind, answer.actor) == (kind, "user:ada")


def test_a_closure_leaves_an_answer_that_was_given_and_a_route_that_was_chosen() -> None:
    record = record_of(*GRANTED, event(Kind.ROUTE_CHOSEN, new_invocation="inv_2"), event(Kind.CLOSED))
    assert record.approvals[0].answer is not None
    assert record.closure is not None
    assert (record.approvals[0].answer.kind, record.replaced_by) == ("granted", "inv_2")
    assert (record.closure.owner, record.closure.replaced_by) == ("policy", "")


def test_a_newer_request_takes_the_place_of_an_open_one_and_says_so() -> None:
    newer = event(Kind.APPROVAL_REQUESTED, approval_id="apr_2", expires_at="2026-11-30T12:00:00Z")
    record = record_of(*ASKED, newer)
    assert record.open_approval is record.approvals[1]
    superseded = record.approvals[0].answer
    assert superseded is not None
    assert (superseded.kind, superseded.ref) == ("superseded", newer.ref)
    assert record.deadlines == {"approval": "2026-11-30T12:00:00Z"}
    judge(record, event(Kind.GRANTED, approval_id="apr_2"))
    assert judge(record, event(Kind.CLAIMED)).verdict is Verdict.NOTED


def test_the_same_request_again_asks_nothing_new() -> None:
    record = record_of(*GRANTED)
    judgement = judge(record, event(Kind.APPROVAL_REQUESTED))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, "repeated: approval apr_1 was already asked for")
    assert (len(record.approvals), record.granted) == (1, True)


def test_a_request_after_a_grant_takes_back_that_it_is_approved() -> None:
    record = record_of(*GRANTED, event(Kind.APPROVAL_REQUESTED, approval_id="apr_2"))
    assert not record.granted
    assert Code.APPROVED_NOT_QUEUED not in record.findings


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (ASKED[:1], "unknown-approval: no request apr_1 is recorded for this invocation"),
        ((*ASKED, event(Kind.DENIED)), "already-answered: denied by user:ada; there is no decision to invalidate"),
        (CLAIMED, "too-late: the call was dispatched under this decision"),
        ((*GRANTED, event(Kind.STARTED)), "too-late: the call was dispatched under this decision"),
    ],
)
def test_an_invalidation_that_comes_too_late_or_fits_nothing_changes_no_answer(events: tuple[Event, ...], reason: str) -> None:
    record = record_of(*events)
    before = [approval.answer for approval in record.approvals]
    judgement = judge(record, event(Kind.APPROVAL_INVALIDATED))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, reason)
    assert [approval.answer for approval in record.approvals] == before
    assert Code.APPROVAL_INVALIDATED not in record.findings


def test_an_older_question_that_is_invalidated_late_does_not_touch_the_newer_one() -> None:
    record = record_of(*GRANTED, event(Kind.APPROVAL_REQUESTED, approval_id="apr_2"), event(Kind.APPROVAL_INVALIDATED))
    assert Code.APPROVAL_INVALIDATED not in record.findings
    assert record.open_approval is record.approvals[1]


@pytest.mark.parametrize(
    "change",
    [
        event(Kind.APPROVAL_INVALIDATED),
        event(Kind.INPUTS_ACCEPTED, **EDITED),
        event(Kind.APPROVAL_REQUESTED, approval_id="apr_2"),
    ],
    ids=["approval invalidated", "inputs edited", "asked anew"],
)
def test_a_permission_ends_with_what_it_was_given_for_and_so_do_its_deadlines(change: Event) -> None:
    permitted = event(Kind.PERMITTED, expires_at="2026-11-30T11:00:00Z", result_expires_at="2026-11-30T12:00:00Z")
    record = record_of(*GRANTED, permitted)
    assert record.deadlines == {"queue_start": "2026-11-30T11:00:00Z", "result": "2026-11-30T12:00:00Z"}
    judge(record, change)
    assert (record.permission, record.deadlines) == (None, {})


def test_inputs_accepted_while_it_runs_leave_its_permission_alone() -> None:
    record = record_of(governed(), event(Kind.PERMITTED), event(Kind.CLAIMED), event(Kind.STARTED), event(Kind.INPUTS_ACCEPTED, **EDITED))
    assert record.permission is not None


def test_a_question_from_the_middle_of_a_run_that_is_invalidated_leaves_the_permission_alone() -> None:
    record = record_of(
        governed(),
        event(Kind.PERMITTED),
        event(Kind.CLAIMED),
        event(Kind.STARTED),
        event(Kind.APPROVAL_REQUESTED),
        event(Kind.APPROVAL_INVALIDATED),
    )
    assert record.permission is not None
    assert record.findings[Code.APPROVAL_INVALIDATED].count == 1


def test_policy_says_no_and_nothing_moves() -> None:
    record = record_of(governed(), event(Kind.REFUSED, rule="deadline"))
    assert record.state is State.PROPOSED
    assert record.permission is not None
    assert (record.permission["rule"], record.permission["refused"]) == ("deadline", True)


@pytest.mark.parametrize(
    ("events", "row", "basis"),
    [
        ((*CLAIMED, event(Kind.ACCEPTED)), "awaiting_approval-accepted-permit_claimed", "expected"),
        ((*CLAIMED, event(Kind.STARTED)), "awaiting_approval-started-permit_claimed", "gap"),
        ((*CLAIMED, event(Kind.ACCEPTED), event(Kind.STARTED)), "queued-started-permit_claimed", "expected"),
        ((*GRANTED, event(Kind.ACCEPTED)), "awaiting_approval-accepted-permit_unclaimed", "violation"),
        ((governed(), event(Kind.ACCEPTED), event(Kind.STARTED)), "queued-started-permit_unclaimed", "violation"),
        ((*ASKED, event(Kind.STARTED)), "awaiting_approval-started-approval_unanswered", "violation"),
        ((proposed(), event(Kind.ACCEPTED)), "proposed-accepted-policy_unobserved", "expected"),
        ((proposed(), event(Kind.ACCEPTED), event(Kind.STARTED)), "queued-started-policy_unobserved", "expected"),
    ],
)
def test_the_row_says_under_which_authority_it_was_dispatched(events: tuple[Event, ...], row: str, basis: str) -> None:
    last = record_of(*events).moves[-1]
    assert (last.row, last.basis) == (row, basis)


# ── what runs without a decision ────────────────────────────────────────────────────────────────────────────────────


def test_a_start_without_a_permit_moves_the_state_and_is_a_violation_where_a_policy_applied() -> None:
    record = record_of(governed(), event(Kind.STARTED))
    assert record.state is State.RUNNING
    assert record.findings[Code.STARTED_WITHOUT_PERMIT].severity == "violation"
    assert Code.POLICY_UNOBSERVED not in record.findings


def test_a_start_in_a_runtime_that_we_only_read_is_a_note() -> None:
    record = record_of(proposed(), event(Kind.STARTED))
    assert record.state is State.RUNNING
    assert record.findings[Code.POLICY_UNOBSERVED].severity == "note"
    assert Code.STARTED_WITHOUT_PERMIT not in record.findings


def test_an_acceptance_without_a_permit_is_a_violation_and_says_that_it_was_queued() -> None:
    record = record_of(governed(), event(Kind.ACCEPTED))
    assert record.state is State.QUEUED
    assert Code.ACCEPTED_WITHOUT_PERMIT in record.findings
    assert Code.STARTED_WITHOUT_PERMIT not in record.findings


def test_a_call_that_is_queued_without_its_approval_is_not_yet_said_to_have_run() -> None:
    record = record_of(*ASKED, event(Kind.ACCEPTED))
    assert record.state is State.QUEUED
    assert record.findings[Code.ACCEPTED_WITHOUT_PERMIT].detail == "approval apr_1 was not granted"
    assert Code.RAN_WITHOUT_APPROVAL not in record.findings
    judge(record, event(Kind.STARTED))
    assert record.findings[Code.RAN_WITHOUT_APPROVAL].detail == "approval apr_1 was not granted"


@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.PROGRESS, Kind.PART_COMPLETED, Kind.SUCCEEDED, Kind.HEARTBEAT])
def test_work_without_a_recorded_start_is_a_bypassed_policy_all_the_same(kind: Kind) -> None:
    assert Code.STARTED_WITHOUT_PERMIT in record_of(governed(), event(kind)).findings
    assert Code.RAN_WITHOUT_APPROVAL in record_of(*ASKED, event(kind)).findings


@pytest.mark.parametrize("kind", [Kind.FAILED, Kind.CANCEL_ACKNOWLEDGED])
def test_an_end_that_needs_no_body_bypasses_nothing(kind: Kind) -> None:
    record = record_of(*ASKED, event(kind))
    assert not {Code.STARTED_WITHOUT_PERMIT, Code.RAN_WITHOUT_APPROVAL, Code.POLICY_UNOBSERVED} & set(record.findings)
    assert Code.ACCEPTANCE_NOT_RECORDED in record.findings


def test_a_proposal_of_ours_that_comes_after_the_start_takes_back_that_no_policy_applied() -> None:
    record = record_of(event(Kind.STARTED))
    assert {Code.POLICY_UNOBSERVED, Code.PROPOSAL_NOT_RECORDED} <= set(record.findings)
    judge(record, governed())
    assert not {Code.POLICY_UNOBSERVED, Code.PROPOSAL_NOT_RECORDED} & set(record.findings)
    assert Code.STARTED_WITHOUT_PERMIT in record.findings
    assert record.tool == "book"


def test_a_proposal_of_ours_that_comes_after_the_acceptance_says_that_it_was_queued_without_a_permit() -> None:
    record = record_of(event(Kind.ACCEPTED), governed())
    assert Code.ACCEPTED_WITHOUT_PERMIT in record.findings


# ── replays of runtimes that only tell us ───────────────────────────────────────────────────────────────────────────


def test_an_approval_in_a_foreign_runtime_is_shown_as_it_went() -> None:
    record = record_of(
        proposed(), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED, actor="unrecorded"), event(Kind.STARTED), event(Kind.SUCCEEDED)
    )
    assert [move.target for move in record.moves] == [State.PROPOSED, State.AWAITING_APPROVAL, State.RUNNING, State.SUCCEEDED]
    assert set(record.findings) == {Code.POLICY_UNOBSERVED, Code.ACCEPTANCE_NOT_RECORDED}
    assert record.granted


def test_a_foreign_runtime_that_never_tells_the_answer_ran_without_a_recorded_approval() -> None:
    record = record_of(proposed(), event(Kind.APPROVAL_REQUESTED), event(Kind.STARTED))
    assert record.state is State.RUNNING
    assert {Code.RAN_WITHOUT_APPROVAL, Code.POLICY_UNOBSERVED} <= set(record.findings)
    judge(record, event(Kind.GRANTED, actor="unrecorded"))
    assert record.granted
    assert Code.RAN_WITHOUT_APPROVAL in record.findings


def test_a_foreign_denial_is_cancelled_and_not_executed() -> None:
    record = record_of(
        *path_to(State.AWAITING_APPROVAL), event(Kind.DENIED, actor="unrecorded"), event(Kind.CLOSED, kind="denied", initiator="unrecorded")
    )
    assert (record.state, record.reconciliation) == (State.CANCELLED, Reconciliation.NOT_EXECUTED)


def test_an_approval_used_twice_is_a_second_start_that_nobody_decided() -> None:
    record = record_of(*CLAIMED, event(Kind.STARTED), event(Kind.STARTED, executor="worker-2", lease="lease-2"))
    assert record.findings[Code.DUPLICATE_START].count == 1
    assert len(record.starts) == 2
    assert record.needs_reconciliation


def test_an_approval_that_was_asked_for_before_its_proposal_came_is_about_what_was_proposed() -> None:
    record = record_of(event(Kind.APPROVAL_REQUESTED), governed(), event(Kind.GRANTED))
    assert judge(record, event(Kind.CLAIMED)).verdict is Verdict.NOTED
    assert record.approvals[0].inputs == record.inputs


def test_an_approval_that_was_asked_for_when_there_were_no_inputs_does_not_cover_those_that_came() -> None:
    record = record_of(event(Kind.APPROVAL_REQUESTED), event(Kind.INPUTS_ACCEPTED, inputs=value("other")))
    judgement = judge(record, event(Kind.GRANTED))
    assert (judgement.verdict, judgement.reason.partition(":")[0]) == (Verdict.REFUSED, "other-inputs")
