"""What a standing grant covers, and that one which cannot be understood covers nothing."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.unit.policy.worlds import ANN, NOW, record
from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.policy.authorization import Authority, authority_id
from toolwitness.policy.cost import Cost, Money
from toolwitness.policy.dispatch import judge_claim, judge_dispatch
from toolwitness.policy.grants import Cover, Terms, judge_cover, judge_standing, judge_terms, read_terms, write_terms
from toolwitness.policy.tool_policy import ToolPolicy

PAY = ToolPolicy(
    tool="book",
    consequences=(Consequence.FINANCIAL,),
    approvers=("role:finance",),
    cost=Cost(amount_field="total", currency_field="currency"),
)
TEN, FIFTY = Money(Decimal(10), "EUR"), Money(Decimal(50), "EUR")
TERMS = Terms(tool="book", expires_at=NOW + timedelta(seconds=60), count=3, most=TEN, amount=FIFTY, where={"to": "bob"})
INPUTS = b'{"total":"10","currency":"EUR","to":"bob"}'


def given(terms: Terms = TERMS, policy: ToolPolicy = PAY, **changes: Any) -> dict[str, Any]:
    return write_terms(terms, policy, grant_id="grt_1") | {"actor": "ann", "roles": ["finance"]} | changes


def cover(
    grant: dict[str, Any], inputs: bytes = INPUTS, *, policy: ToolPolicy = PAY, uses: Any = (), seconds: float = 0, **how: Any
) -> str:
    found = judge_cover(
        grant, how.get("of", record()), policy, inputs, uses=uses, now=NOW + timedelta(seconds=seconds),
        authority=how.get("authority", Authority()),
    )  # fmt: skip  # facts in lines
    return found.rule


def use(amount: str) -> dict[str, Any]:
    return {"cost": {"amount": amount, "currency": "EUR"}}


def test_terms_are_read_as_they_were_written() -> None:
    assert read_terms(given()) == (TERMS, PAY.version)
    bare = Terms(tool="book", expires_at=TERMS.expires_at, count=1)
    assert read_terms(given(bare)) == (bare, PAY.version)


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_at": None},
        {"expires_at": "soon"},
        {"expires_at": "2026-05-04T12:01:00"},
        {"scope": "everything"},
        {"scope": {}},
        {"scope": {"tool": "book", "policy_version": "x", "where": 7}},
        {"scope": {"tool": "book", "policy_version": "x", "most": {"amount": "lots", "currency": "EUR"}}},
        {"limit": None},
        {"limit": {}},
        {"limit": {"count": 0}},
        {"limit": {"count": True}},
        {"limit": {"count": "3"}},
        {"limit": {"amount": "50"}},
    ],
)
def test_a_grant_that_cannot_be_understood_covers_nothing(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_terms(given(**changes))
    assert cover(given(**changes)) == "grant-unreadable"
    assert judge_standing(given(**changes), record(), PAY, now=NOW, authority=Authority())


@pytest.mark.parametrize(
    ("expected", "how"),
    [
        ("standing-grant", {}),
        ("standing-grant", {"uses": [use("10"), use("10")]}),
        ("grant-tool", {"grant": given(replace(TERMS, tool="other"))}),
        ("grant-task", {"grant": given(replace(TERMS, task="task_9"))}),
        ("standing-grant", {"grant": given(replace(TERMS, task="task_1"))}),
        ("policy-version", {"policy": replace(PAY, recovery=("refund",))}),
        ("confirmed-each-time", {"policy": ToolPolicy(tool="book")}),
        ("grant-expired", {"seconds": 60}),
        ("grant-authority", {"authority": Authority(revoked={authority_id("ann"): {}})}),
        ("grant-authority", {"grant": given(actor="", roles=None)}),
        ("grant-authority", {"grant": given(roles=[])}),
        ("grant-scope", {"inputs": b'{"total":"10","currency":"EUR","to":"eve"}'}),
        ("grant-scope", {"inputs": b'{"total":"10","currency":"EUR"}'}),
        ("grant-scope", {"inputs": b"[]"}),
        ("grant-scope", {"inputs": b'{"to":"bob","to":"eve"}'}),
        ("grant-count", {"uses": [use("1")] * 3}),
        ("grant-amount", {"inputs": b'{"total":"10.01","currency":"EUR","to":"bob"}'}),
        ("grant-amount", {"inputs": b'{"total":"10","currency":"USD","to":"bob"}'}),
        ("grant-amount", {"inputs": b'{"total":"lots","currency":"EUR","to":"bob"}'}),
        ("grant-amount", {"uses": [use("20"), use("20.01")]}),
        ("grant-amount", {"uses": [{"cost": None}]}),
        ("standing-grant", {"grant": given(replace(TERMS, count=None)), "uses": [use("1")] * 9}),
        ("standing-grant", {"grant": given(replace(TERMS, most=None, amount=None)), "uses": [use("90")]}),
    ],
)
def test_a_grant_covers_what_fits_all_of_its_terms_and_nothing_else(expected: str, how: dict[str, Any]) -> None:
    how = dict(how)
    assert cover(how.pop("grant", given()), how.pop("inputs", INPUTS), **how) == expected


def test_a_use_stands_while_its_grant_does() -> None:
    def why(grant: dict[str, Any] | None, seconds: float = 0) -> str:
        return judge_standing(grant, record(), PAY, now=NOW + timedelta(seconds=seconds), authority=Authority())

    assert why(given()) == ""
    assert why(None) == "the grant was taken back"
    assert why(given(), 60) == "the grant ended at 2026-05-04T12:01:00.000000Z"


@pytest.mark.parametrize(
    ("rule", "terms", "policy"),
    [
        ("may-grant", TERMS, PAY),
        ("grant-money", replace(TERMS, most=Money(Decimal(1), "USD")), PAY),
        ("grant-limit", replace(TERMS, count=True), PAY),
        ("grant-eligible", TERMS, replace(PAY, approvers=("role:owner",))),
        ("may-grant", replace(TERMS, most=None, amount=None), replace(PAY, consequences=(Consequence.READ_ONLY,))),
    ],
)
def test_whether_somebody_may_give_it_is_judged_by_its_terms(rule: str, terms: Terms, policy: ToolPolicy) -> None:
    assert judge_terms(terms, policy, ANN, NOW).rule == rule


@pytest.mark.parametrize(
    ("rule", "terms", "policy"),
    [
        ("confirmed-each-time", TERMS, ToolPolicy(tool="book")),
        ("grant-limit", replace(TERMS, count=None, amount=None), PAY),
        ("grant-expiry", replace(TERMS, expires_at=NOW), PAY),
        ("grant-money", replace(TERMS, most=None, amount=None), PAY),
        ("grant-money", TERMS, replace(PAY, cost=None)),
        ("grant-scope", replace(TERMS, where={"x": [1]}), PAY),
    ],
)
def test_what_is_no_grant_is_refused_by_name(rule: str, terms: Terms, policy: ToolPolicy) -> None:
    assert judge_terms(terms, policy, ANN, NOW).rule == rule


def test_a_covered_call_is_dispatched_and_claimed_by_the_grants_name() -> None:
    covered = Cover("grt_1", 1, "grant grt_1 by ann, use 1 of 3")
    made = record(permission={"rule": "standing-grant", "refused": False})
    for verdict in (judge_dispatch(made, PAY, NOW, cover=covered), judge_claim(made, PAY, NOW, cover=covered)):
        assert (verdict.allowed, verdict.rule, verdict.reason) == (True, "standing-grant", "grant grt_1 by ann, use 1 of 3")
