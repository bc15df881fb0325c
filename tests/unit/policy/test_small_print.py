"""What the tables of policy say in their small print, written down a second time; and rules that another one usually speaks before."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.policy.worlds import ANN, NOW, POLICY, READER, record, succeeded
from toolwitness.core.states import Consequence, State
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.authorization import Authority, AuthorizationRequest
from toolwitness.policy.consequences import CONSEQUENCES
from toolwitness.policy.controls import judge_action
from toolwitness.policy.grants import Terms, judge_terms
from toolwitness.policy.tool_policy import ToolPolicy

C = Consequence
SMALL_PRINT = {
    C.READ_ONLY: ("", "", "inspect submit withdraw request_cancellation retry"),
    C.REVERSIBLE: ("effect", "", "inspect approve deny withdraw request_cancellation reverse"),
    C.EXTERNALLY_VISIBLE: (
        "recipient provider_reference", "destination payload", "inspect approve deny withdraw request_cancellation",
    ),
    C.DESTRUCTIVE: ("resource commitment", "targets commitment_boundary", "inspect approve deny withdraw request_cancellation"),
    C.PERMISSION_GATED: ("", "scope", "inspect approve deny withdraw request_cancellation"),
    C.FINANCIAL: (
        "amount currency recipient provider_reference", "amount currency recipient recurrence terms",
        "inspect approve deny withdraw request_cancellation",
    ),
}  # fmt: skip  # one class after the other
"""Per class: the evidence that a success must hold, what must be in view before approving, and the controls that it knows."""


@pytest.mark.parametrize("consequence", Consequence)
def test_each_class_needs_this_evidence_shows_this_and_knows_these_controls(consequence: Consequence) -> None:
    row = CONSEQUENCES[consequence]
    assert (" ".join(row.needs), " ".join(row.shown), " ".join(row.controls)) == SMALL_PRINT[consequence]


class LetsEverybody:
    """An authorizer of somebody else's that asks nothing."""

    def judge(self, request: AuthorizationRequest) -> PolicyVerdict:
        return PolicyVerdict(allowed=True, rule="anybody", reason=f"anybody may {request.action}")


@pytest.mark.parametrize("action", ["submit", "edit_inputs", "withdraw", "dismiss"])
def test_nobody_acts_without_being_signed_in_whatever_an_authorizer_says(action: str) -> None:
    authority = Authority(authorizer=LetsEverybody())
    allowed = judge_action(record(), POLICY, ANN, action=action, now=NOW, authority=authority)
    refused = judge_action(record(), POLICY, None, action=action, now=NOW, authority=authority)
    assert (allowed.allowed, refused.allowed, refused.rule) == (True, False, "actor")


def test_a_call_that_no_policy_of_ours_governs_is_not_ours_to_submit() -> None:
    foreign = record(proposal={"tool": "search", "proposer": "agent"})
    verdict = judge_action(foreign, READER, ANN, action="submit", now=NOW)
    assert (verdict.allowed, verdict.rule) == (False, "not-ours")


def test_an_input_that_was_asked_for_is_not_supplied_to_a_call_that_has_ended() -> None:
    asked = {"unresolved": ["seat"], "collector": "person"}
    open_one = judge_action(record(State.AWAITING_INPUT, input_request=asked), POLICY, ANN, action="supply_input", now=NOW)
    over = judge_action(succeeded(input_request=asked), POLICY, ANN, action="supply_input", now=NOW)
    assert (open_one.allowed, over.allowed, over.rule) == (True, False, "ended")


def test_what_several_people_must_approve_each_time_nobody_permits_beforehand() -> None:
    terms = Terms(tool="note", expires_at=NOW + timedelta(seconds=60), count=1)
    alone = ToolPolicy(tool="note", consequences=(C.EXTERNALLY_VISIBLE,), approvers=("role:finance",))
    assert judge_terms(terms, alone, ANN, NOW).allowed
    verdict = judge_terms(terms, replace(alone, approvals_needed=2), ANN, NOW)
    assert (verdict.allowed, verdict.rule) == (False, "several-approvers")
