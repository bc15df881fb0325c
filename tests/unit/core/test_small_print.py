"""What the tables say in small print, written down a second time: who owns which fact, and which facts somebody must look into."""

import pytest

from tests.unit.core.builders import event, in_state, record_of
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import OPENS_RECONCILIATION, Code
from toolwitness.core.invocation import judge
from toolwitness.core.states import Owner, Reconciliation, State
from toolwitness.core.verdicts import Verdict
from toolwitness.core.vocabulary import KINDS

SPEAKERS = {
    Owner.RUNTIME: """task.opened invocation.proposed dispatch.claimed dispatch.accepted execution.started execution.heartbeat
        progress.reported output.emitted part.completed commitment.crossed effect.observed execution.succeeded execution.failed
        waiter.released cancellation.acknowledged execution.lost deadline.elapsed task.reported history.read""",
    Owner.POLICY: """input.required inputs.accepted inputs.rejected approval.requested approval.invalidated dispatch.permitted
        dispatch.refused closure.recorded deadline.elapsed result.rejected dependency.moved dependency.resolved grant.recorded grant.used
        grant.revoked effects.reconciled value.erased hold.released""",
    Owner.USER: """input.supplied inputs.edited approval.granted approval.denied invocation.dismissed invocation.withdrawn
        cancellation.requested retry.requested reversal.requested route.chosen child.waived""",
    Owner.PRESENTATION: "card.rendered",
}
"""Who owns each fact (R13). A new kind of evidence needs its place here, and somebody who thought about it."""


@pytest.mark.parametrize("owner", Owner)
def test_each_owner_may_say_exactly_this(owner: Owner) -> None:
    assert {str(kind) for kind, spec in KINDS.items() if owner in spec.owners} == set(SPEAKERS[owner].split())


def test_a_part_that_leaves_nothing_open_moves_nothing() -> None:
    record = in_state(State.RUNNING)
    judgement = judge(record, event(Kind.PART_COMPLETED, open=[]))
    assert (judgement.verdict, record.state, record.open_parts) == (Verdict.NOTED, State.RUNNING, ())


def test_an_approval_that_is_invalidated_after_the_end_changes_nothing_that_was_answered() -> None:
    record = record_of(event(Kind.PROPOSED), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED), event(Kind.CLOSED))
    judgement = judge(record, event(Kind.APPROVAL_INVALIDATED))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, "terminal: the attempt is already cancelled")
    assert record.approvals[0].answer.kind == "granted"


LOOKED_INTO = {
    "late-effect", "late-outcome", "conflicting-outcomes", "outcome-unknown", "duplicate-start", "started-after-end",
    "result-deadline-passed", "reconciliation-required", "result-rejected", "activity-after-end", "lease-unknown",
}  # fmt: skip  # words in lines


@pytest.mark.parametrize("code", Code)
def test_after_exactly_these_findings_somebody_must_find_out_what_happened_once_the_attempt_is_over(code: Code) -> None:
    record = in_state(State.SUCCEEDED)
    record.raise_finding(code, "said by the test")
    judge(record, event(Kind.CARD_RENDERED))
    assert (record.reconciliation is Reconciliation.REQUIRED) == (str(code) in LOOKED_INTO)
    assert (code in OPENS_RECONCILIATION) == (str(code) in LOOKED_INTO)
