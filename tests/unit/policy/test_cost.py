"""What a call costs, and whether it fits: exactly, and never by a guess."""

from decimal import Decimal
from typing import Any

import pytest

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.cost import Beyond, Budget, Cost, Money, Per, Spending, judge_spending, read_money, total
from toolwitness.policy.tool_policy import ToolPolicy

EUR_100 = Money(Decimal(100), "EUR")


def euros(amount: str) -> Money:
    return Money(Decimal(amount), "EUR")


@pytest.mark.parametrize(("amount", "expected"), [("412.50", "412.50"), (7, "7"), (0.1, "0.1"), ("0", "0")])
def test_a_plain_decimal_is_read_exactly(amount: object, expected: str) -> None:
    assert read_money(amount, "EUR").plain == {"amount": expected, "currency": "EUR"}


@pytest.mark.parametrize("amount", ["", "-1", -1, "1e3", 1e30, "NaN", float("nan"), " 1", True, None, [], "9" * 19, "0.0000000001"])
def test_an_amount_that_is_not_a_plain_decimal_is_refused(amount: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_money(amount, "EUR")
    assert refused.value.facts["field"] == "amount"


@pytest.mark.parametrize("currency", ["", None, 7, "E R", "€", "X" * 17])
def test_a_currency_that_is_not_named_is_refused(currency: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_money("1", currency)
    assert refused.value.facts["field"] == "currency"


def test_amounts_are_added_without_rounding_and_currencies_are_kept_apart() -> None:
    big, small = Money(Decimal(999999999999999999), "EUR"), euros("0.000000001")
    assert str(total([big, small, Money(Decimal(5), "USD")], "EUR")) == "999999999999999999.000000001 EUR"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, "cost.amount"),
        ({"amount": "1"}, "cost.currency"),
        ({"amount": "1", "amount_field": "total", "currency": "EUR"}, "cost.amount"),
        ({"amount": 1, "currency": "EUR"}, "cost.amount"),
        ({"amount": "one", "currency": "EUR"}, "amount"),
        ({"amount_field": "total", "currency": "€"}, "currency"),
    ],
)
def test_an_estimate_that_says_nothing_or_says_it_twice_is_refused(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Cost(**fields)
    assert refused.value.facts["field"] == wrong


def test_a_cost_is_fixed_or_read_from_the_inputs() -> None:
    inputs = b'{"total":"412.50","currency":"USD"}'
    assert Cost(amount="2", currency="EUR").of(b"{}") == euros("2")
    assert Cost(amount_field="total", currency_field="currency").of(inputs) == Money(Decimal("412.50"), "USD")


@pytest.mark.parametrize("inputs", [b"", b"[]", b"{}", b'{"total":"1","total":"2"}', b'{"total":null}', b'{"total":"lots"}'])
def test_a_cost_that_the_inputs_do_not_say_is_an_error_and_not_zero(inputs: bytes) -> None:
    with pytest.raises(InvalidInput):
        Cost(amount_field="total", currency="EUR").of(inputs)


def test_an_estimate_changes_the_version_of_a_policy_and_its_absence_does_not() -> None:
    priced = ToolPolicy(tool="t", cost=Cost(amount="1", currency="EUR"))
    assert priced.version != ToolPolicy(tool="t").version
    assert ToolPolicy(tool="t", cost=Cost(amount="2", currency="EUR")).version != priced.version
    assert ToolPolicy(tool="t").version == "pol_8a39b40fd524560367546ca1", "as it was before there were estimates"


def spending(cost: Money | None = EUR_100, *, task: str = "0", tenant: str = "0", unreadable: str = "") -> Spending:
    return Spending(cost=cost, permitted={Per.TASK: [euros(task)], Per.TENANT: [euros(tenant)]}, unreadable=unreadable)


def test_a_call_without_a_cost_and_a_house_without_budgets_ask_nothing() -> None:
    budget = Budget(per=Per.TASK, limit=euros("1"))
    assert judge_spending(spending(None), [budget]).rule == "no-budget"
    assert judge_spending(spending(), []).rule == "no-budget"


def test_exactly_the_budget_fits_and_one_cent_more_does_not() -> None:
    budget = Budget(per=Per.TASK, limit=euros("150"))
    assert judge_spending(spending(task="50"), [budget]).allowed
    verdict = judge_spending(spending(task="50.01"), [budget])
    assert (verdict.allowed, verdict.rule, verdict.facts["beyond"]) == (False, "budget", "refuse")
    assert verdict.reason == "it costs 100 EUR, 50.01 EUR are permitted already, and the task's budget is 150 EUR"


def test_what_nobody_can_approve_is_named_before_what_somebody_can() -> None:
    ask = Budget(per=Per.TASK, limit=euros("1"), beyond=Beyond.ASK)
    never = Budget(per=Per.TENANT, limit=euros("2"))
    assert judge_spending(spending(), [ask]).facts["beyond"] == "ask"
    assert judge_spending(spending(), [ask, never]).facts["beyond"] == "refuse"


def test_a_currency_without_a_budget_and_a_cost_that_cannot_be_read_never_fit() -> None:
    budget = Budget(per=Per.TASK, limit=euros("1000"), beyond=Beyond.ASK)
    foreign = judge_spending(spending(Money(Decimal(1), "USD")), [budget])
    assert (foreign.rule, foreign.facts["beyond"]) == ("budget-currency", "refuse")
    assert judge_spending(spending(None, unreadable="no input 'total'"), []).rule == "cost-unreadable"
