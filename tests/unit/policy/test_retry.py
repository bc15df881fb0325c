"""Again, undone or anew: only where nothing can happen twice unseen, and each no says why."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.policy.worlds import NOW, POLICY, READER, REF, UNDOABLE, at, failed, record, running, stopped, succeeded
from toolwitness.core.findings import Code, Finding
from toolwitness.core.record import InvocationRecord, Outcome
from toolwitness.core.states import Consequence, Reconciliation, State
from toolwitness.policy.retry import (
    Conclusion,
    body_may_run,
    expired_approval,
    judge_resubmission,
    judge_retry,
    judge_reversal,
    same_purpose,
)
from toolwitness.policy.tool_policy import Idempotency, Inverse, RetryPolicy, ToolPolicy

POSTING = ToolPolicy(tool="post", consequences=(Consequence.EXTERNALLY_VISIBLE,), retry=RetryPolicy(attempts=3))
PAYING = ToolPolicy(tool="pay", consequences=(Consequence.FINANCIAL,), retry=RetryPolicy(attempts=3))


def reconciled(conclusion: str) -> InvocationRecord:
    known = [Outcome({"conclusion": conclusion, "by": "ann"}, REF, at(0))]
    return failed(reconciliation=Reconciliation.RECONCILED, reconciliations=known)


@pytest.mark.parametrize(
    ("made", "policy"),
    [
        (failed, READER),
        (stopped, READER),
        (lambda: failed(reconciliation=Reconciliation.UNKNOWN), READER),
        (lambda: failed(attempt=2), READER),
        (lambda: failed("timeout"), replace(READER, retry=RetryPolicy(attempts=2, categories=("timeout",)))),
        (lambda: failed(reconciliation=Reconciliation.NOT_EXECUTED), PAYING),
        (lambda: failed(reconciliation=Reconciliation.UNKNOWN), replace(PAYING, idempotency=Idempotency.KEYED)),
        (lambda: failed(reconciliation=Reconciliation.UNKNOWN), replace(POSTING, idempotency=Idempotency.IDEMPOTENT)),
        (lambda: reconciled(Conclusion.NO_EFFECT), PAYING),
        (lambda: reconciled(Conclusion.REVERSED), PAYING),
    ],
)
def test_what_may_be_tried_again(made: Callable[[], InvocationRecord], policy: ToolPolicy) -> None:
    verdict = judge_retry(made(), policy, NOW)

    assert (verdict.allowed, verdict.rule) == (True, "retry-policy")
    assert f"of at most {policy.retry.attempts}" in verdict.reason


@pytest.mark.parametrize(
    ("rule", "made", "policy", "word"),
    [
        ("not-failed", succeeded, READER, "succeeded"),
        ("not-failed", record, READER, "proposed"),
        ("not-latest", lambda: failed(retried_by="inv_2"), READER, "inv_2"),
        ("not-latest", lambda: failed(replaced_by="inv_3"), READER, "inv_3"),
        ("attempts", failed, POLICY, "permits 1 attempt,"),
        ("attempts", lambda: failed(attempt=3), READER, "permits 3 attempts, and this was number 3"),
        ("category", failed, replace(READER, retry=RetryPolicy(attempts=2, categories=("timeout",))), "upstream"),
        ("category", lambda: failed(""), replace(READER, retry=RetryPolicy(attempts=2, categories=("x",))), "an unnamed failure"),
        ("category", stopped, replace(READER, retry=RetryPolicy(attempts=2, categories=("timeout",))), "cancelled"),
        ("outcome-unknown", lambda: failed(reconciliation=Reconciliation.UNKNOWN), PAYING, "reconcile first"),
        ("outcome-unknown", lambda: failed(reconciliation=Reconciliation.REQUIRED), POSTING, "reconcile first"),
        ("outcome-unknown", lambda: reconciled(Conclusion.PARTIAL), PAYING, "partial-effect"),
        ("outcome-unknown", lambda: reconciled("the moon is full"), PAYING, "the moon is full"),
        ("outcome-unknown", lambda: failed(reconciliation=Reconciliation.RECONCILED), PAYING, "had its effect"),
        (
            "outcome-unknown",
            lambda: failed(reconciliation=Reconciliation.UNKNOWN, outcome=None),
            PAYING,
            "may still be running",
        ),
    ],
)
def test_what_may_not_be_tried_again_and_why(rule: str, made: Callable[[], InvocationRecord], policy: ToolPolicy, word: str) -> None:
    verdict = judge_retry(made(), policy, NOW)

    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert word in verdict.reason


@pytest.mark.parametrize(
    ("made", "policy", "rule"),
    [
        (lambda: record(State.EXPIRED), PAYING, "resubmission"),
        (lambda: record(State.CANCELLED), PAYING, "resubmission"),
        (failed, READER, "not-closed"),
        (lambda: record(State.EXPIRED, replaced_by="inv_2"), READER, "not-latest"),
        (lambda: running(State.EXPIRED), PAYING, "outcome-unknown"),
        (lambda: running(State.EXPIRED), READER, "resubmission"),
    ],
)
def test_what_may_be_proposed_again(made: Callable[[], InvocationRecord], policy: ToolPolicy, rule: str) -> None:
    verdict = judge_resubmission(made(), policy, NOW)

    assert (verdict.allowed, verdict.rule) == (rule == "resubmission", rule)


def completed(when: Any) -> InvocationRecord:
    return succeeded(outcome=Outcome({"completed_at": when}, REF, at(0)))


@pytest.mark.parametrize(
    ("made", "policy", "seconds", "rule"),
    [
        (succeeded, UNDOABLE, 59, "verified-inverse"),
        (succeeded, replace(UNDOABLE, inverse=Inverse(tool="untag", verified_by="x")), 1e6, "verified-inverse"),
        (failed, UNDOABLE, 0, "not-succeeded"),
        (succeeded, POLICY, 0, "inverse"),
        (succeeded, replace(UNDOABLE, inverse=Inverse(tool="untag")), 0, "inverse"),
        (succeeded, replace(UNDOABLE, inverse=None, recovery=()), 0, "inverse"),
        (lambda: succeeded(reversed_by="inv_9"), UNDOABLE, 0, "already-reversed"),
        (succeeded, UNDOABLE, 60, "window"),
        (lambda: completed("yesterday"), UNDOABLE, 0, "window"),
        (lambda: succeeded(outcome=None), UNDOABLE, 0, "window"),
    ],
)
def test_undo_exists_only_as_a_verified_inverse_in_its_window(
    made: Callable[[], InvocationRecord], policy: ToolPolicy, seconds: float, rule: str
) -> None:
    verdict = judge_reversal(made(), policy, NOW + timedelta(seconds=seconds))

    assert (verdict.allowed, verdict.rule) == (rule == "verified-inverse", rule)
    assert verdict.reason


def test_where_there_is_no_undo_the_way_back_is_named() -> None:
    assert judge_reversal(succeeded(), POLICY, NOW).reason == "this tool names no inverse; instead: void, refund"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (record, False),
        (running, True),
        (lambda: running(State.EXPIRED), True),
        (failed, False),
        (stopped, False),
        (lambda: running(State.EXPIRED, findings={Code.LATE_OUTCOME: Finding(Code.LATE_OUTCOME, "late")}), False),
        (lambda: running(State.EXPIRED, reconciliations=[Outcome({}, REF, at(0))]), False),
    ],
)
def test_a_body_may_run_until_something_says_that_it_ended(made: Callable[[], InvocationRecord], expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert body_may_run(made()) is expected


def test_which_deadline_ended_it_is_remembered() -> None:
    assert expired_approval(record(State.EXPIRED, elapsed="approval"))
    assert not expired_approval(record(State.EXPIRED, elapsed="result"))
    assert not expired_approval(record(State.FAILED, elapsed="approval"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (b'{"order":"A17","idempotency_key":"k-1"}', b'{"idempotency_key":"k-2","order":"A17"}', ("idempotency_key",)),
        (b'{"order":"A17","Idempotency-Key":"k-1"}', b'{"order":"A17"}', ("Idempotency-Key",)),
        (b'{"order":"A17"}', b'{ "order": "A17" }', ()),
        (b'{"order":"A17"}', b'{"order":"A18"}', None),
        (b"[1]", b"[1]", ()),
        (b"not json", b"not json", ()),
        (b"not json", b"{}", None),
    ],
)
def test_two_calls_ask_for_the_same_when_only_their_keys_differ(one: bytes, other: bytes, expected: tuple[str, ...] | None) -> None:
    assert same_purpose(one, other) == expected
