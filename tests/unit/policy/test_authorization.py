"""Who may decide: roles and tenants as plain data, authority that still stands, and no answer but a verdict."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.policy.worlds import ANN, NOW, POLICY, answered, asked, granted, record, waiting
from toolwitness.core.record import InvocationRecord
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import Authority, RolesAndTenants, authority_id, eligible_for
from toolwitness.policy.controls import judge_action
from toolwitness.policy.dispatch import judge_claim
from toolwitness.policy.files import read_policy_file

FILE = read_policy_file("[actors]\nann = { roles = ['finance'], until = 2026-05-04T12:00:10Z }\nbob = ['reader']\n")
BOB = Actor(id="bob", roles=frozenset({"finance", "reader"}))


def verdict(
    actor: Actor | None, *, eligible: tuple[str, ...] = ("role:finance",), seconds: float = 0, revoked: tuple[str, ...] = ()
) -> str:
    authority = Authority(authorizer=RolesAndTenants(FILE), revoked={name: {} for name in revoked})
    found = authority.judge(waiting(), POLICY, actor, action="approve", now=NOW + timedelta(seconds=seconds), eligible=eligible)
    assert found.allowed is (found.rule == "eligible" and found.reason.endswith("may approve"))
    return found.rule + ("" if found.allowed else "!")


@pytest.mark.parametrize(
    ("actor", "how", "expected"),
    [
        (ANN, {}, "eligible"),
        (None, {}, "actor!"),
        (Actor(id=""), {}, "actor!"),
        (Actor(id="ann", roles=ANN.roles, tenant="other"), {}, "tenant!"),
        (Actor(id="eve"), {}, "eligible!"),
        (ANN, {"seconds": 10}, "authority-expired!"),
        (ANN, {"seconds": 10, "eligible": ("user:ann",)}, "authority-expired!"),
        (ANN, {"seconds": 10, "eligible": ()}, "eligible"),
        (BOB, {}, "authority-narrowed!"),
        (BOB, {"eligible": ("role:reader",)}, "eligible"),
        (BOB, {"eligible": ("role:owner",)}, "eligible!"),
        (ANN, {"revoked": (authority_id("ann"),)}, "authority-revoked!"),
        (ANN, {"revoked": (authority_id("ann"),), "eligible": ("user:ann",)}, "authority-revoked!"),
        (ANN, {"revoked": (authority_id("ann", "finance"),)}, "authority-revoked!"),
        (ANN, {"revoked": (authority_id("ann", "finance"),), "eligible": ("user:ann",)}, "eligible"),
        (ANN, {"revoked": (authority_id("ann", "reader"), authority_id("bob"))}, "eligible"),
        (Actor(id="eve"), {"revoked": (authority_id("eve"),)}, "eligible!"),
    ],
)
def test_a_decision_needs_an_actor_of_the_tenant_with_authority_that_still_stands(
    actor: Actor | None, how: dict[str, Any], expected: str
) -> None:
    assert verdict(actor, **how) == expected


class Answering:
    """An engine that gives one answer, whatever is asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def judge(self, request: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [LookupError("away"), None, True, "yes", PolicyVerdict(allowed="yes", rule="r", reason="w")])  # type: ignore[arg-type]  # engines err
def test_whatever_is_no_verdict_refuses(answer: Any) -> None:
    found = Authority(authorizer=Answering(answer)).judge(waiting(), POLICY, ANN, action="approve", now=NOW)
    assert (found.allowed, found.rule) == (False, "authorizer")
    assert "away" not in found.reason  # what a stranger's exception says may be a secret, and the reason stays for ever


def test_the_engine_is_asked_about_every_action_that_changes_something() -> None:
    no = Authority(authorizer=Answering(PolicyVerdict(allowed=False, rule="policy7", reason="the engine says no")))
    for action in ("withdraw", "dismiss", "edit_inputs", "approve", "deny"):
        found = judge_action(waiting(), POLICY, ANN, action=action, now=NOW, authority=no)
        assert (found.allowed, found.rule, found.reason) == (False, "policy7", "the engine says no")


def test_whoever_is_bound_to_a_request_may_answer_it_else_whom_the_policy_names() -> None:
    assert eligible_for({"eligible": ["user:zoe"]}, POLICY) == ("user:zoe",)
    assert eligible_for({}, POLICY) == POLICY.eligible
    assert eligible_for({"eligible": []}, POLICY) == eligible_for({"eligible": ()}, POLICY) == POLICY.eligible


def permitted(made: InvocationRecord) -> InvocationRecord:
    made.permission = {"rule": "approved", "reason": "approved", "refused": False}
    return made


def test_the_approver_is_asked_about_again_when_the_permit_is_claimed() -> None:
    gone = Authority(revoked={authority_id("ann"): {}})
    assert judge_claim(permitted(granted()), POLICY, NOW, authority=gone).rule == "authority-revoked"
    still = Authority(authorizer=Answering(PolicyVerdict(allowed=True, rule="x", reason="y")))
    assert judge_claim(permitted(granted()), POLICY, NOW, authority=still).rule == "approved"
    assert still.judge_grant(waiting(), POLICY, NOW) is None
    assert still.judge_grant(InvocationRecord(id="x"), POLICY, NOW) is None
    assert still.judge_grant(record(approvals=[answered(asked(), "invalidated")]), POLICY, NOW) is None
