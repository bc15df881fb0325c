"""Who speaks for a running attempt, what silence proves, what a runtime claims of the whole, and whose clock it was."""

from tests.unit.core.builders import event, proposed, record_of, task_of
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import judge
from toolwitness.core.lineage import blocked_by
from toolwitness.core.states import Reconciliation, State
from toolwitness.core.task import contradicted, summarize
from toolwitness.core.verdicts import Verdict

STARTED = {"lease": "l1", "expires_at": "2026-11-30T10:00:30Z"}
INFERRED = {"inferred_by": "sweeper", "category": "worker-lost"}


def running(*more, **changes):
    return record_of(proposed(**changes), event(Kind.ACCEPTED), event(Kind.STARTED, **STARTED), *more)


def test_an_end_inferred_while_the_lease_is_good_is_refused_and_named():
    record = running()
    judgement = judge(record, event(Kind.FAILED, time="2026-11-30T10:00:29Z", **INFERRED))
    assert judgement.verdict is Verdict.REFUSED
    assert record.state is State.RUNNING
    assert Code.INFERRED_END_REFUSED in record.findings


def test_an_end_inferred_after_the_lease_has_run_out_is_believed_and_leaves_open_what_it_did():
    record = running()
    judge(record, event(Kind.FAILED, time="2026-11-30T10:00:30Z", **INFERRED))
    assert record.state is State.FAILED
    assert record.reconciliation is Reconciliation.REQUIRED


def test_a_heartbeat_moves_the_end_of_the_lease_and_one_without_an_end_takes_it_away():
    record = running(event(Kind.HEARTBEAT, lease="l1", expires_at="2026-11-30T10:01:00Z"))
    assert judge(record, event(Kind.FAILED, time="2026-11-30T10:00:59Z", **INFERRED)).verdict is Verdict.REFUSED
    judge(record, event(Kind.HEARTBEAT, lease="l1"))
    judge(record, event(Kind.FAILED, time="2026-11-30T10:00:59Z", **INFERRED))
    assert record.state is State.FAILED


def test_a_failure_that_the_executor_reports_itself_needs_no_lease_to_run_out():
    record = running(event(Kind.FAILED, time="2026-11-30T10:00:10Z", lease="l1"))
    assert record.state is State.FAILED
    assert record.reconciliation is Reconciliation.UNKNOWN


def test_a_result_under_a_lease_that_the_attempt_never_had_moves_nothing_and_is_named():
    record = running()
    judgement = judge(record, event(Kind.SUCCEEDED, lease="l0"))
    assert (judgement.verdict, record.state) == (Verdict.NOTED, State.RUNNING)
    assert Code.LEASE_UNKNOWN in record.findings


def test_the_lease_of_a_second_start_is_a_known_one():
    record = running(event(Kind.STARTED, lease="l2"), event(Kind.SUCCEEDED, lease="l2"))
    assert record.state is State.SUCCEEDED
    assert Code.LEASE_UNKNOWN not in record.findings


def test_a_failure_with_an_unknown_outcome_is_to_be_reconciled_unless_the_call_only_reads():
    actual = {
        classes: running(event(Kind.FAILED, effects="unknown"), consequences=[classes]).reconciliation
        for classes in ("reversible", "read-only")
    }
    assert actual == {"reversible": Reconciliation.REQUIRED, "read-only": Reconciliation.NONE_EXPECTED}


def test_what_came_next_with_an_earlier_time_of_another_source_is_clock_skew_and_one_source_never_skews_against_itself():
    first = event(Kind.ACCEPTED, source="a", time="2026-11-30T10:00:04Z")
    skewed = record_of(proposed(), first, event(Kind.STARTED, source="b", time="2026-11-30T10:00:00Z"))
    same = record_of(proposed(), first, event(Kind.STARTED, source="a", time="2026-11-30T10:00:00Z"))
    assert Code.CLOCK_SKEW in skewed.findings
    assert Code.CLOCK_SKEW not in same.findings


def test_a_running_call_waits_for_the_call_that_its_own_call_asks_a_person_about():
    records = {
        "a": record_of(proposed(), event(Kind.STARTED), invocation="a"),
        "b": record_of(proposed(parent="a"), event(Kind.STARTED), invocation="b"),
        "c": record_of(proposed(parent="b"), event(Kind.APPROVAL_REQUESTED), invocation="c"),
        "d": record_of(proposed(parent="b"), event(Kind.STARTED), invocation="d"),
    }
    task = task_of(event(Kind.TASK_OPENED))
    assert {name: blocked_by(record, task, records) for name, record in records.items()} == {"a": ("b",), "b": ("c",), "c": (), "d": ()}


def test_a_question_about_a_call_that_nobody_proposed_awaits_its_answer_and_says_what_is_missing():
    asked = record_of(event(Kind.APPROVAL_REQUESTED))
    wanted = record_of(event(Kind.INPUT_REQUIRED))
    assert (asked.state, wanted.state) == (State.AWAITING_APPROVAL, State.AWAITING_INPUT)
    assert Code.PROPOSAL_NOT_RECORDED in asked.findings
    assert Code.PROPOSAL_NOT_RECORDED in wanted.findings


def test_a_claim_of_success_that_the_calls_do_not_bear_out_is_contradicted_and_unknown_words_claim_nothing():
    records = {"a": record_of(proposed(), event(Kind.FAILED), invocation="a")}
    actual = {}
    for word in ("completed", "failed", "wrapped up"):
        task = task_of(event(Kind.TASK_OPENED), event(Kind.TASK_REPORTED, claimed=word))
        actual[word] = contradicted(task, summarize(task, records)) is not None
    assert actual == {"completed": True, "failed": True, "wrapped up": False}
    assert summarize(task, records).state is State.PARTIALLY_COMPLETE


def test_a_child_that_the_task_can_do_without_may_fail_unproposed():
    records = {
        "a": record_of(event(Kind.STARTED), event(Kind.SUCCEEDED), invocation="a"),
        "b": record_of(event(Kind.STARTED), event(Kind.FAILED), invocation="b"),
    }
    task = task_of(event(Kind.TASK_OPENED, required_children=["a"], optional_children=["b"]))
    assert summarize(task, records).state is State.SUCCEEDED


def test_a_history_without_the_result_of_an_ended_call_is_named_and_one_of_an_open_call_is_not():
    gone = event(Kind.HISTORY_READ, result="absent")
    done = running(event(Kind.SUCCEEDED), gone)
    assert {Code.CALL_LEFT_OPEN, Code.RESULT_NOT_IN_HISTORY} <= set(done.findings)
    assert Code.CALL_LEFT_OPEN in running(event(Kind.FAILED), gone).findings
    assert Code.CALL_LEFT_OPEN not in running(gone).findings


def test_a_call_that_policy_recognised_as_another_attempt_says_so_and_names_the_changed_key():
    record = record_of(proposed(retry_of="inv_0", linked_by="same-purpose", changed=["idempotency_key"]))
    assert {Code.RETRY_UNLINKED, Code.IDEMPOTENCY_KEY_CHANGED} <= set(record.findings)
    assert Code.IDEMPOTENCY_KEY_CHANGED not in record_of(proposed(retry_of="inv_0", linked_by="same-purpose")).findings


def test_receipts_of_what_was_shown_are_kept():
    record = record_of(proposed(), event(Kind.CARD_RENDERED, actor="ada"))
    assert [receipt["actor"] for receipt in record.rendered] == ["ada"]
