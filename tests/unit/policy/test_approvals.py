"""An approval is bound to exactly what was asked; every answer that does not fit decides nothing, by name."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.unit.policy.worlds import (
    ANN,
    BOB,
    CLAIM,
    DIGEST,
    NOW,
    POLICY,
    READER,
    REF,
    answered,
    asked,
    at,
    record,
    running,
    waiting,
)
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence, Owner, State
from toolwitness.core.verdicts import Actor
from toolwitness.core.vocabulary import missing_fields
from toolwitness.policy.approvals import Decision, build_request, consequence_summary, judge_decision
from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool

INPUTS = b'{"itinerary_id":"it-7","total":412.50,"currency":"EUR","card":"4111"}'


def judged(made: InvocationRecord, actor: Actor | None = ANN, action: str = "approve", **given: Any):
    facts = {"approval_id": "apr_1", "now": NOW, "policy": POLICY} | given
    policy = facts.pop("policy")
    return judge_decision(made, policy, actor, action=action, **facts)


# ── the request ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_request_is_bound_to_all_that_it_is_about() -> None:
    request = build_request(record(), POLICY, approval_id="apr_1", inputs=INPUTS, now=NOW)

    assert request["facts"] == {"fields": ["total", "currency"], "unreadable": []}
    assert "412.50" not in str(request)
    bound = {k: request[k] for k in ("approval_id", "inputs_digest", "attempt", "policy_version", "expires_at", "eligible")}
    assert bound == {
        "approval_id": "apr_1",
        "inputs_digest": DIGEST,
        "attempt": 1,
        "policy_version": POLICY.version,
        "expires_at": at(300),
        "eligible": ["role:finance"],
    }
    assert request["scope"] == "one call of book, attempt 1, with exactly these inputs; in view: amount, currency"
    assert request["authority"] == "role:finance"
    assert "the provider accepts the purchase" in request["consequence_summary"]
    event = Event(kind=Kind.APPROVAL_REQUESTED, source="s", id="1", task_id="t", owner=Owner.POLICY, data=request)
    assert missing_fields(event) == ()


def test_a_request_leaves_out_what_is_not_declared() -> None:
    made = record(inputs=None, proposal={})

    request = build_request(made, replace(READER, approvers=("user:ann", "not:proposer")), approval_id="apr_1", inputs=b"{}", now=NOW)

    assert {"expires_at", "inputs_digest", "facts"}.isdisjoint(request)
    assert request["authority"] == "user:ann"
    assert request["scope"] == "one call of search, attempt 1, with exactly these inputs"
    assert request["consequence_summary"] == "reads only"


def test_nobody_having_declared_a_tool_is_said() -> None:
    assert consequence_summary(unknown_tool("x")).startswith("nobody has declared what this tool does")


@pytest.mark.parametrize(
    ("inputs", "unreadable"),
    [
        (b'{"total":1e400,"currency":"EUR"}', ["total", "currency"]),
        (b'{"total":1,"total":2,"currency":"EUR"}', ["total", "currency"]),
        (b"[1]", ["total", "currency"]),
        (b"not json", ["total", "currency"]),
        (b'{"total":null,"currency":""}', ["total", "currency"]),
        (b'{"total":5}', ["currency"]),
        (b'{"total":{"amount":412},"currency":["EUR"]}', []),
        (b'{"total":12345678901234567890,"currency":false}', []),
    ],
)
def test_what_nobody_can_be_shown_is_named_as_unreadable(inputs: bytes, unreadable: list[str]) -> None:
    request = build_request(record(), POLICY, approval_id="apr_1", inputs=inputs, now=NOW)

    assert request["facts"] == {"fields": ["total", "currency"], "unreadable": unreadable}


DELETE = ToolPolicy(tool="delete", consequences=(Consequence.DESTRUCTIVE,), commitment_boundary="the rows are gone")


@pytest.mark.parametrize("inputs", [b"{}", b"null", b"not json"])
def test_a_call_that_destroys_and_names_nothing_cannot_be_shown(inputs: bytes) -> None:
    request = build_request(record(), DELETE, approval_id="a", inputs=inputs, now=NOW)

    assert request["facts"] == {"fields": [], "unreadable": ["targets"]}


@pytest.mark.parametrize(
    ("policy", "inputs"),
    [(DELETE, b'{"table":"t"}'), (replace(DELETE, expected_effects=("every session is gone",)), b"{}"), (POLICY, b"{}")],
)
def test_what_its_inputs_or_its_policy_tell_can_be_shown(policy: ToolPolicy, inputs: bytes) -> None:
    request = build_request(record(), replace(policy, scope_fields=()), approval_id="a", inputs=inputs, now=NOW)

    assert "facts" not in request


def test_a_client_that_has_shown_the_question_may_carry_a_persons_answer() -> None:
    verdict = judged(waiting(rendered=[{"ref": "ev_9"}]), actor=replace(ANN, channel="client"))

    assert verdict.allowed


def test_a_redacted_field_is_never_in_the_request() -> None:
    policy = replace(POLICY, scope_fields=("card", "note"), redact=("/card",))

    request = build_request(record(), policy, approval_id="a", inputs=b'{"card":"4111","note":"x"}', now=NOW)

    assert request["facts"]["fields"] == ["note"]
    assert "4111" not in str(request)


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", list(Decision))
def test_an_eligible_person_may_answer_what_is_asked(action: Decision) -> None:
    verdict = judged(waiting(), action=action, inputs_digest=DIGEST)

    assert (verdict.allowed, verdict.rule, dict(verdict.facts)) == (True, "eligible", {})


def test_there_are_only_two_answers() -> None:
    with pytest.raises(ValueError, match="maybe"):
        judged(waiting(), action="maybe")


def with_request(**changes: Any) -> InvocationRecord:
    return record(State.AWAITING_APPROVAL, approvals=[asked(**changes)])


BOTH = {"approve", "deny"}
ONLY_APPROVE = {"approve"}
CASES: list[tuple[str, Callable[[], InvocationRecord], dict[str, Any], set[str]]] = [
    ("presented", waiting, {"actor": replace(ANN, channel="client")}, BOTH),
    ("presented", waiting, {"actor": Actor(id="", channel="client")}, BOTH),
    ("actor", lambda: waiting(rendered=[{"ref": "ev_9"}]), {"actor": Actor(id="", channel="client")}, BOTH),
    ("actor", waiting, {"actor": None}, BOTH),
    ("actor", waiting, {"actor": Actor(id="")}, BOTH),
    ("actor", waiting, {"actor": replace(ANN, tenant="other")}, BOTH),
    ("known-request", waiting, {"approval_id": "apr_2"}, BOTH),
    ("known-request", record, {"approval_id": ""}, BOTH),
    ("already-answered", lambda: record(State.AWAITING_APPROVAL, approvals=[answered(asked())]), {}, BOTH),
    ("already-answered", lambda: record(State.CANCELLED, approvals=[answered(asked(), "denied", when="")]), {}, BOTH),
    ("terminal", lambda: record(State.EXPIRED, approvals=[asked()]), {}, BOTH),
    ("superseded", lambda: record(State.AWAITING_APPROVAL, approvals=[asked(), asked("apr_2")]), {}, BOTH),
    ("already-dispatched", lambda: waiting(claim=CLAIM), {}, BOTH),
    ("attempt", lambda: with_request(attempt=2), {}, BOTH),
    ("eligible", waiting, {"actor": BOB}, BOTH),
    ("eligible", lambda: with_request(eligible=["role:ops"]), {}, BOTH),
    ("deadline-unreadable", lambda: with_request(expires_at="soon"), {}, ONLY_APPROVE),
    ("deadline-unreadable", lambda: with_request(expires_at="2026-05-04T12:05:00"), {}, ONLY_APPROVE),
    ("deadline-elapsed", waiting, {"now": NOW + timedelta(seconds=300)}, BOTH),
    ("inputs", waiting, {"inputs_digest": "sha256:bbbb"}, ONLY_APPROVE),
    ("inputs", lambda: with_request(inputs_digest="sha256:bbbb"), {}, ONLY_APPROVE),
    ("inputs", lambda: waiting(inputs=None), {}, ONLY_APPROVE),
    ("policy-version", waiting, {"policy": replace(POLICY, recovery=())}, ONLY_APPROVE),
    ("scope", lambda: with_request(facts={"fields": ["total"], "unreadable": ["total"]}), {}, ONLY_APPROVE),
    ("scope", lambda: waiting(proposal={"tool": ""}), {}, ONLY_APPROVE),
]


@pytest.mark.parametrize("action", sorted(BOTH))
@pytest.mark.parametrize(("rule", "made", "given", "stops"), CASES)
def test_an_answer_that_does_not_fit_is_refused_by_name(
    rule: str, made: Callable[[], InvocationRecord], given: dict[str, Any], stops: set[str], action: str
) -> None:
    verdict = judged(made(), action=action, **given)

    assert verdict.allowed is (action not in stops)
    if action in stops:
        assert verdict.rule == rule
        assert verdict.reason


def unbound(proposed: str) -> InvocationRecord:
    made = with_request(inputs_digest=None)
    made.proposal = {**made.proposal, "inputs": {"digest": proposed}}
    return made


def test_a_framework_that_binds_its_question_to_no_digest_asked_about_the_inputs_that_were_proposed() -> None:
    assert judged(unbound(DIGEST)).allowed
    assert judged(unbound(DIGEST), inputs_digest=DIGEST).allowed
    assert judged(unbound("sha256:bbbb")).rule == "inputs"
    assert judged(unbound(DIGEST), inputs_digest="sha256:bbbb").rule == "inputs"


@pytest.mark.parametrize("digest", [0, False, "", [], {}])
def test_a_question_bound_to_a_digest_that_says_nothing_is_not_one_bound_to_none(digest: object) -> None:
    """It is no missing digest, in whose place the proposal's would stand."""
    made = unbound(DIGEST)
    made.approvals = [asked(inputs_digest=digest)]
    assert judged(made).rule == "inputs"
    assert judged(made, inputs_digest=DIGEST).rule == "inputs"


def test_every_rule_has_a_case() -> None:
    from toolwitness.policy.approvals import _RULES  # noqa: PLC0415 - the table itself is what is counted

    assert {rule.name for rule in _RULES} == {case[0] for case in CASES}


def test_who_comes_late_is_told_who_won_and_when() -> None:
    verdict = judged(record(State.AWAITING_APPROVAL, approvals=[answered(asked(), "denied")]))

    assert verdict.reason == f"already denied by ann at {at(0)}"
    assert verdict.facts["winner"] == {"kind": "denied", "actor": "ann", "at": at(0), "ref": REF}


def test_the_last_moment_is_in_time_and_the_deadline_itself_is_not() -> None:
    just_before: datetime = NOW + timedelta(seconds=299, microseconds=999_999)

    assert judged(waiting(), now=just_before).allowed
    assert not judged(waiting(), now=NOW + timedelta(seconds=300)).allowed


def test_a_clock_without_a_zone_is_a_broken_rule_and_refuses() -> None:
    verdict = judged(waiting(), now=NOW.replace(tzinfo=None))

    assert (verdict.allowed, verdict.rule) == (False, "authorizer")
    assert "could not be found out" in verdict.reason


def test_facts_that_cannot_be_understood_refuse() -> None:
    verdict = judged(with_request(facts="everything"))

    assert (verdict.allowed, verdict.rule) == (False, "scope")


def test_a_request_that_is_bound_to_less_falls_back_to_the_policy() -> None:
    loose = with_request(attempt=..., eligible=..., expires_at=..., policy_version=..., facts=...)

    assert judged(loose).allowed
    assert judged(loose, BOB).rule == "eligible"


def test_a_question_asked_while_the_call_runs_can_be_answered() -> None:
    assert judged(running(approvals=[asked()])).allowed
