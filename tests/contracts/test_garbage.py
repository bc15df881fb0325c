"""A permission, a scope or a deadline that cannot be understood never allows.

Every field that policy reads is replaced by whatever JSON can hold, in a situation in which the answer is yes. It stays yes only where what
stands there now is understood, and each test says in its own words what understanding would be.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.policy.worlds import ANN, NOW, PERMISSION, POLICY, REF, asked, at, granted, record, waiting
from toolwitness.core.errors import InvalidInput
from toolwitness.core.record import Answer, InvocationRecord
from toolwitness.core.states import Consequence
from toolwitness.core.strict_json import loads_strict
from toolwitness.policy.approvals import judge_decision
from toolwitness.policy.authorization import Authority
from toolwitness.policy.controls import judge_action
from toolwitness.policy.cost import Cost, Money, read_money
from toolwitness.policy.deadlines import due
from toolwitness.policy.dispatch import judge_claim
from toolwitness.policy.grants import Terms, cost_of, judge_cover, write_terms
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import read_policy, write_policy

TEXT = st.text(max_size=12) | st.sampled_from(
    ["", " ", "0", "null", "true", "soon", "2026-05-04", "2026-05-04T12:01:00", "9999-12-31T23:59:59Z", "2026-05-04T12:01:00Z", "ann",
     "finance", "role:finance", "user:ann", POLICY.version, "sha256:aaaa", "book", "apr_1"]
)  # fmt: skip  # words in lines
PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | TEXT
GARBAGE = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6)
"""Whatever JSON can hold, and more often what looks nearly right."""


def is_open(value: object) -> bool:
    """Whether this is a time with a zone that has not come yet; nothing at all is no deadline."""
    if value in (None, ""):
        return True
    try:
        then = datetime.fromisoformat(str(value).strip()) if isinstance(value, str) else None
    except ValueError:
        return False
    return then is not None and then.tzinfo is not None and then > NOW


def names_finance(value: object) -> bool:
    """Whether this is a list that names the actor; nothing at all leaves it to the policy."""
    return value is None or value == [] or (isinstance(value, list) and ("role:finance" in value or "user:ann" in value))


def shows_everything(value: object) -> bool:
    """Whether these are facts, and no field of them is said to be unreadable."""
    return value is None or (
        isinstance(value, dict) and value.get("unreadable") in (None, []) and not isinstance(value.get("unreadable"), bool)
    )


def is_one(value: object) -> bool:
    return value is None or (type(value) is int and value == 1)


def permitted(**changes: Any) -> InvocationRecord:
    """A call whose permit could be claimed now."""
    one = granted(permission=PERMISSION, **changes)
    one.approvals[0].answer = Answer("granted", "ann", REF, at(0), roles=("finance",))
    return one


ASKED: Mapping[str, Callable[[object], bool]] = {
    "expires_at": is_open,
    "attempt": is_one,
    "policy_version": lambda value: value is None or value == POLICY.version,
    "eligible": names_finance,
    "inputs_digest": lambda value: value == "sha256:aaaa",
    "facts": shows_everything,
}
"""The fields of a request that an answer is bound to, and when each is understood and says yes."""


@pytest.mark.parametrize("name", ASKED)
@given(value=GARBAGE)
@example(value=False)
@example(value=0)
@example(value=True)
@example(value={})
@example(value=[])
@example(value={"unreadable": 0})
@example(value={"unreadable": "total"})
@example(value={"role:finance": 1})
@example(value="role:finance")
def test_a_request_with_a_field_that_cannot_be_understood_is_not_approved(name: str, value: Any):
    situation = record(waiting().state, approvals=[asked(**{name: value})])
    verdict = judge_decision(situation, POLICY, ANN, action="approve", approval_id="apr_1", now=NOW)
    assert not verdict.allowed or ASKED[name](value), verdict


@pytest.mark.parametrize("name", [name for name in ASKED if name != "facts"])
@given(value=GARBAGE)
@example(value=False)
@example(value=True)
@example(value=0)
def test_a_permit_is_not_claimed_on_a_request_with_a_field_that_cannot_be_understood(name: str, value: Any):
    situation = permitted()
    situation.approvals[0].data = {**situation.approvals[0].data, name: value}
    verdict = judge_claim(situation, POLICY, NOW, authority=Authority())
    understood = name == "expires_at" or ASKED[name](value)  # the time to answer is over once it is answered
    assert not verdict.allowed or understood, verdict


@pytest.mark.parametrize("name", ["queue_start", "result"])
@given(value=GARBAGE)
@example(value=False)
@example(value=0)
@example(value=[])
def test_a_permit_is_not_claimed_under_a_deadline_that_cannot_be_understood(name: str, value: Any):
    verdict = judge_claim(permitted(deadlines={name: value}), POLICY, NOW, authority=Authority())
    assert not verdict.allowed or is_open(value), verdict


@given(value=GARBAGE, name=st.sampled_from(["approval", "input", "queue_start", "result"]))
def test_a_deadline_that_cannot_be_understood_ends_nothing_by_itself(value: Any, name: str):
    found = due(record(waiting().state, approvals=[asked()], deadlines={name: value}), NOW)
    assert not found or (isinstance(value, str) and not is_open(value))


@given(value=GARBAGE)
@example(value=None)
@example(value="")
def test_a_grant_for_a_destructive_call_is_not_good_where_its_time_cannot_be_understood(value: Any):
    policy = ToolPolicy(tool="book", consequences=(Consequence.DESTRUCTIVE,), approvers=("role:finance",), commitment_boundary="it is gone")
    situation = permitted()
    approval = situation.approvals[0]
    approval.data = {**approval.data, "policy_version": policy.version}
    approval.answer = Answer("granted", "ann", REF, value, roles=("finance",))
    verdict = judge_claim(situation, policy, NOW, authority=Authority())
    fresh = isinstance(value, str) and value not in {"", " "} and _within_a_minute(value)
    assert not verdict.allowed or fresh, verdict


def _within_a_minute(text: str) -> bool:
    try:
        then = datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return then.tzinfo is not None and then + timedelta(seconds=60) > NOW


@given(roles=st.lists(TEXT, max_size=3), actor=TEXT)
def test_a_permit_is_not_claimed_where_nobody_who_may_has_granted_it(roles: list[str], actor: str):
    situation = granted(permission=PERMISSION)
    situation.approvals[0].answer = Answer("granted", actor, REF, at(0), roles=tuple(roles))
    verdict = judge_claim(situation, POLICY, NOW, authority=Authority())
    assert verdict.allowed == bool("finance" in roles and actor)


# ── standing grants ─────────────────────────────────────────────────────────────────────────────────────────────────

COST = Cost(amount_field="total", currency_field="currency")
PAY = ToolPolicy(tool="book", consequences=(Consequence.FINANCIAL,), approvers=("role:finance",), cost=COST)
TERMS = Terms(
    tool="book", expires_at=NOW + timedelta(seconds=60), count=3, most=read_money("10", "EUR"), amount=read_money("50", "EUR"),
    where={"to": "bob"}, task="task_1",
)  # fmt: skip  # facts in lines
INPUTS = b'{"total":"10","currency":"EUR","to":"bob"}'
BOUNDS = {
    ("expires_at",): lambda value: isinstance(value, str) and bool(value) and is_open(value),
    ("scope",): lambda _value: False,
    ("scope", "tool"): lambda value: value == "book",
    ("scope", "policy_version"): lambda value: value == PAY.version,
    ("scope", "task"): lambda value: value is None or value in ("", "task_1"),
    ("scope", "where"): lambda value: isinstance(value, dict) and value in ({}, {"to": "bob"}),
    ("scope", "most"): lambda value: value is None or _covers_ten(value),
    ("limit",): lambda _value: False,
    ("limit", "count"): lambda value: value is None or (type(value) is int and value > 0),
    ("limit", "amount"): lambda value: value is None or _covers_ten(value),
    ("actor",): lambda value: isinstance(value, str) and bool(value),
    ("roles",): lambda value: isinstance(value, list) and "finance" in value,
}  # fmt: skip  # one bound a line
"""What a grant is bound by, and when each is understood and covers the call."""


def _covers_ten(value: object) -> bool:
    try:
        money = read_money(value["amount"], value["currency"])  # type: ignore[index]  # what is no mapping is not understood
    except (InvalidInput, TypeError, KeyError, ValueError):
        return False
    return money.currency == "EUR" and money.amount >= 10


@pytest.mark.parametrize("path", BOUNDS, ids="/".join)
@given(value=GARBAGE)
@example(value=0)
@example(value=False)
@example(value="")
@example(value=[])
@example(value={})
@example(value=[["to", "bob"]])
def test_a_standing_grant_with_a_bound_that_cannot_be_understood_covers_nothing(path: tuple[str, ...], value: Any):
    grant = write_terms(TERMS, PAY, grant_id="grt_1") | {"actor": "ann", "roles": ["finance"]}
    assert covers(grant), "the situation is one in which the answer is yes"
    *above, last = path
    inner: dict[str, Any] = grant
    for name in above:
        inner[name] = dict(inner[name])
        inner = inner[name]
    inner[last] = value
    assert not covers(grant) or BOUNDS[path](value)


def covers(grant: dict[str, Any]) -> bool:
    return judge_cover(grant, record(), PAY, INPUTS, uses=(), now=NOW, authority=Authority()).allowed


@given(total=GARBAGE, currency=GARBAGE)
@example(total=True, currency="EUR")
@example(total="1e3", currency="EUR")
@example(total="-1", currency="EUR")
def test_a_cost_is_understood_or_it_is_named_as_what_cannot_be(total: Any, currency: Any):
    inputs = json.dumps({"total": total, "currency": currency, "to": "bob"}).encode()
    try:
        cost = cost_of(PAY, inputs)
    except (InvalidInput, ValueError):
        return
    assert isinstance(cost, Money)
    assert cost.amount >= 0
    assert isinstance(total, str | int) and not isinstance(total, bool) and isinstance(currency, str)


# ── declared and recorded policies ──────────────────────────────────────────────────────────────────────────────────

DECLARED = [field.name for field in fields(ToolPolicy) if field.name != "tool"]


@pytest.mark.parametrize("name", DECLARED)
@given(value=GARBAGE)
def test_a_declared_policy_is_understood_or_named_as_what_cannot_be(name: str, value: Any):
    try:
        policy = ToolPolicy(**{"tool": "t", name: value})
    except InvalidInput:
        return
    assert policy.version.startswith("pol_")
    assert policy.requires_approval in (True, False)


@pytest.mark.parametrize("name", sorted(loads_strict(write_policy(PAY))))  # type: ignore[arg-type]  # the object that a policy is written as
@given(value=GARBAGE)
def test_a_recorded_policy_is_understood_or_counts_as_none(name: str, value: Any):
    members = loads_strict(write_policy(PAY))
    assert isinstance(members, dict)
    try:
        policy = read_policy(json.dumps(members | {name: value}).encode())
    except InvalidInput:
        return
    assert policy.version == PAY.version or members[name] != value or json.dumps(members[name]) != json.dumps(value)


@given(raw=st.binary(max_size=40) | GARBAGE.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_policy_is_not_read_as_one(raw: bytes):
    with pytest.raises(InvalidInput):
        read_policy(raw)


# ── what a call itself says ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "action", ["submit", "edit_inputs", "withdraw", "dismiss", "request_cancellation", "retry", "resubmit", "reconcile"]
)
@pytest.mark.parametrize("name", ["tool", "policy_version", "proposer", "requested_by", "consequences"])
@given(value=GARBAGE)
def test_whatever_a_proposal_says_a_judgement_of_it_has_a_rule_and_a_reason(action: str, name: str, value: Any):
    situation = record(proposal={**record().proposal, name: value})
    verdict = judge_action(situation, POLICY, ANN, action=action, now=NOW)
    assert verdict.rule
    assert verdict.reason or verdict.allowed


@given(value=GARBAGE)
def test_a_call_that_names_who_asked_for_it_is_taken_back_by_nobody_else(value: Any):
    situation = record(proposal={**record().proposal, "requested_by": value})
    verdict = judge_action(situation, POLICY, ANN, action="withdraw", now=NOW)
    assert not verdict.allowed or value in (None, "", "ann") or not value


def test_the_situations_are_ones_in_which_the_answer_is_yes():
    assert judge_decision(waiting(), POLICY, ANN, action="approve", approval_id="apr_1", now=NOW).allowed
    assert judge_claim(permitted(), POLICY, NOW, authority=Authority()).allowed
