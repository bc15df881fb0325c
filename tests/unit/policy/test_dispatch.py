"""The last door before a body: permitted, claimed, and each no by name."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.policy.worlds import CLAIM, DIGEST, NOW, PERMISSION, POLICY, READER, REF, answered, asked, at, granted, record, waiting
from toolwitness.core.findings import Code
from toolwitness.core.record import Approval, InvocationRecord, Outcome
from toolwitness.core.states import Consequence, Reconciliation, State
from toolwitness.policy.dispatch import judge_claim, judge_dispatch
from toolwitness.policy.grants import Cover
from toolwitness.policy.tool_policy import ToolPolicy

DELETE = ToolPolicy(tool="delete", consequences=(Consequence.DESTRUCTIVE,), commitment_boundary="the row is gone")


@pytest.mark.parametrize(
    ("made", "policy", "rule", "reason"),
    [
        (granted, POLICY, "approved", "approval apr_1 was granted by ann"),
        (record, READER, "no-confirmation-needed", "no class of this tool"),
        (record, replace(POLICY, approvers=(), standing_authorization="mandate 7"), "standing-authorization", "mandate 7"),
    ],
)
def test_what_may_be_dispatched_names_its_authority(made: Callable[[], Any], policy: ToolPolicy, rule: str, reason: str) -> None:
    verdict = judge_dispatch(made(), policy, NOW)

    assert (verdict.allowed, verdict.rule) == (True, rule)
    assert reason in verdict.reason
    assert verdict.facts == {"policy_version": policy.version}


def deletion(**changes: Any) -> InvocationRecord:
    request = asked(policy_version=DELETE.version, expires_at=...)
    return record(State.AWAITING_APPROVAL, approvals=[answered(request, **changes)])


def voided() -> Approval:
    """An approval that was asked for other inputs than the ones that stand, and counts no longer."""
    asked_before = answered(asked("apr_0"), "invalidated")
    asked_before.inputs = {"ref": "val_0", "digest": "sha256:0000"}
    return asked_before


CASES: list[tuple[str, Callable[[], InvocationRecord], ToolPolicy, float]] = [
    ("terminal", lambda: record(State.CANCELLED), READER, 0),
    ("already-claimed", lambda: granted(claim=CLAIM), POLICY, 0),
    ("already-started", lambda: record(starts=[REF]), READER, 0),
    ("approval-outdated", lambda: record(State.AWAITING_APPROVAL, approvals=[voided(), asked("apr_2")]), POLICY, 0),
    ("inputs-unresolved", lambda: record(input_request={"unresolved": ["seat"]}), READER, 0),
    ("inputs-unresolved", lambda: record(input_request={}), READER, 0),
    ("approval-missing", record, POLICY, 0),
    ("approval-missing", waiting, POLICY, 0),
    ("approval-missing", lambda: record(approvals=[answered(asked(), "invalidated")]), POLICY, 0),
    ("approval-missing", lambda: record(approvals=[asked()]), READER, 0),
    ("approval-bound", lambda: granted(inputs={"digest": "sha256:bbbb"}), POLICY, 0),
    ("approval-bound", lambda: granted(inputs=None), POLICY, 0),
    ("approval-bound", lambda: record(approvals=[answered(asked(attempt=2))]), POLICY, 0),
    ("approval-bound", granted, replace(POLICY, recovery=()), 0),
    ("approval-lapsed", deletion, DELETE, 60),
    ("approval-lapsed", lambda: deletion(when="just now"), DELETE, 0),
    ("deadline", lambda: granted(deadlines={"queue_start": at(10)}), POLICY, 10),
    ("deadline", lambda: granted(deadlines={"queue_start": "soon"}), POLICY, 0),
    ("deadline", lambda: record(deadlines={"result": at(0)}), READER, 0),
]


@pytest.mark.parametrize(("rule", "made", "policy", "seconds"), CASES)
def test_what_may_not_be_dispatched_is_refused_by_name(
    rule: str, made: Callable[[], InvocationRecord], policy: ToolPolicy, seconds: float
) -> None:
    verdict = judge_dispatch(made(), policy, NOW + timedelta(seconds=seconds))

    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert verdict.reason


def test_every_rule_has_a_case() -> None:
    from toolwitness.policy.dispatch import _RULES  # noqa: PLC0415 - the table itself is what is counted

    assert {rule.name for rule in _RULES} == {case[0] for case in CASES} | {case[0] for case in CIRCUMSTANCES}


FIRST = record(State.FAILED, id="inv_0", starts=[REF], reconciliation=Reconciliation.REQUIRED)
DONE = record(State.SUCCEEDED, id="inv_0", starts=[REF], reconciliation=Reconciliation.AS_REPORTED)
CIRCUMSTANCES: list[tuple[str, dict[str, Any]]] = [
    ("blocked", {"blocked_by": ["inv_7"]}),
    ("earlier-outcome-unknown", {"earlier": FIRST}),
    ("earlier-succeeded", {"earlier": DONE}),
    ("standing-grant", {"cover": Cover("grt_1", 1, "grant grt_1", "the grant was taken back")}),
    ("approval-of-another", {"approval_id": "apr_of_another"}),
]


@pytest.mark.parametrize(("rule", "given"), CIRCUMSTANCES)
def test_what_lies_around_a_call_can_stop_it_too(rule: str, given: dict[str, Any]) -> None:
    verdict = judge_dispatch(granted(), POLICY, NOW, **given)

    assert (verdict.allowed, verdict.rule) == (False, rule)


def test_a_repetition_goes_on_once_it_is_on_record_that_nothing_was_done() -> None:
    settled = record(State.FAILED, id="inv_0", starts=[REF], reconciliation=Reconciliation.NOT_EXECUTED)

    assert judge_dispatch(granted(), POLICY, NOW, earlier=settled).allowed
    assert judge_dispatch(granted(), POLICY, NOW, approval_id="apr_1").allowed


def test_what_has_succeeded_is_not_said_to_be_unknown() -> None:
    """Nobody has to reconcile it: to do it again is another call."""
    verdict = judge_dispatch(granted(), POLICY, NOW, earlier=DONE)

    assert verdict.reason == (
        "inv_0 has succeeded, and this would repeat it: to do it once more is a call of its own, which needs a decision of its own"
    )
    assert judge_claim(granted(permission=PERMISSION), POLICY, NOW, earlier=DONE).rule == "earlier-succeeded"


def test_a_success_that_is_in_doubt_or_was_reconciled_is_judged_by_what_is_known_of_it() -> None:
    doubted = record(State.SUCCEEDED, id="inv_0", starts=[REF, REF], reconciliation=Reconciliation.REQUIRED)
    doubted.raise_finding(Code.DUPLICATE_START, "the same attempt was seen to start again", REF)
    undone = replace(DONE, reconciliation=Reconciliation.RECONCILED, reconciliations=[Outcome({"conclusion": "reversed"}, REF, at(0))])

    assert judge_dispatch(granted(), POLICY, NOW, earlier=doubted).rule == "earlier-outcome-unknown"
    assert judge_dispatch(granted(), POLICY, NOW, earlier=undone).allowed


def test_the_permit_of_a_repetition_is_not_claimed_while_the_first_outcome_is_unknown() -> None:
    verdict = judge_claim(granted(permission=PERMISSION), POLICY, NOW, earlier=FIRST)

    assert (verdict.allowed, verdict.rule) == (False, "earlier-outcome-unknown")


def test_a_grant_for_something_destructive_is_good_for_a_minute() -> None:
    assert judge_dispatch(deletion(), DELETE, NOW + timedelta(seconds=59)).allowed
    assert not judge_dispatch(deletion(), DELETE, NOW + timedelta(seconds=60)).allowed


def test_deadlines_that_are_open_stop_nothing() -> None:
    assert judge_dispatch(granted(deadlines={"queue_start": at(10), "result": at(20)}), POLICY, NOW).allowed


def test_an_unasked_policy_that_needs_no_approval_is_not_lapsed() -> None:
    unapproved = replace(DELETE, consequences=(Consequence.READ_ONLY,))
    assert judge_dispatch(record(), unapproved, NOW).allowed


@pytest.mark.parametrize(
    ("made", "allowed", "rule"),
    [
        (lambda: granted(permission=PERMISSION), True, "approved"),
        (granted, False, "not-permitted"),
        (lambda: granted(permission={**PERMISSION, "refused": True}), False, "not-permitted"),
        (lambda: granted(permission=PERMISSION, claim=CLAIM), False, "already-claimed"),
        (lambda: granted(permission=PERMISSION, inputs={"digest": f"{DIGEST}b"}), False, "approval-bound"),
        (lambda: granted(permission=PERMISSION, deadlines={"queue_start": at(0)}), False, "deadline"),
    ],
)
def test_a_permit_is_claimed_only_on_a_permission_that_still_holds(made: Callable[[], Any], allowed: bool, rule: str) -> None:  # noqa: FBT001 - a table's column
    verdict = judge_claim(made(), POLICY, NOW)

    assert (verdict.allowed, verdict.rule) == (allowed, rule)
