"""What a call costs, as its policy estimates it, and whether that fits the budgets. What cannot be understood never fits.

Amounts are decimal text on the way in and on record; they are added exactly. Currencies are never converted into one another.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import StrEnum
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.verdicts import PolicyVerdict

_AMOUNT: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_CURRENCY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in one currency, never below zero."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        """Write it as ``412.50 EUR``."""
        return f"{self.amount:f} {self.currency}"

    @property
    def plain(self) -> dict[str, str]:
        """Give it as it stands on record."""
        return {"amount": f"{self.amount:f}", "currency": self.currency}


def read_money(amount: object, currency: object) -> Money:
    """Read an amount (decimal text, or a number) in a currency.

    Raises:
        InvalidInput: it is no plain decimal of at most 18 digits before and 9 after the point, below zero, or names no currency.
    """
    text = amount if isinstance(amount, str) else repr(amount) if isinstance(amount, int | float) and not isinstance(amount, bool) else ""
    if not _AMOUNT.fullmatch(text):
        raise InvalidInput(
            f"The amount is {amount!r}.", field="amount", remedy='Write a plain decimal that is not below zero, such as "412.50".'
        )
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise InvalidInput(f"The currency is {currency!r}.", field="currency", remedy='Name it, for example "EUR".')
    return Money(Decimal(text), currency)


def total(costs: Iterable[Money], currency: str) -> Money:
    """Add up what is in ``currency``, exactly."""
    with localcontext() as exact:
        exact.prec = 60
        return Money(sum((cost.amount for cost in costs if cost.currency == currency), Decimal(0)), currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How to estimate what one call costs: a fixed amount, or the input that holds it."""

    amount: str = ""
    """The same for every call: decimal text."""
    amount_field: str = ""
    """The input that holds the amount."""
    currency: str = ""
    currency_field: str = ""
    """The input that holds the currency."""

    def __post_init__(self) -> None:
        """Refuse an estimate that says nothing or says it twice.

        Raises:
            InvalidInput: names the field and the fix.
        """
        for one, other in (("amount", "amount_field"), ("currency", "currency_field")):
            said = [name for name in (one, other) if getattr(self, name) != ""]
            if len(said) != 1 or not isinstance(getattr(self, said[0]), str):
                what = "says nothing of" if not said else "says twice, or not as text,"
                raise InvalidInput(f"The policy's cost {what} the {one}.", field=f"cost.{one}", remedy=f"Give {one} or {other}, as text.")
        if self.amount or self.currency:
            read_money(self.amount or "0", self.currency or "EUR")

    def of(self, inputs: bytes) -> Money:
        """Estimate what a call with these inputs costs.

        Raises:
            InvalidInput: the inputs cannot be read, or do not say it; the message names the input.
        """
        read: object = loads_strict(inputs)
        held: Mapping[str, Any] = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
        for name in (self.amount_field, self.currency_field):
            if name and name not in held:
                raise InvalidInput(f"There is no input {name!r} to read the cost from.", field=name, remedy="Supply it.")
        amount: object = held[self.amount_field] if self.amount_field else self.amount
        currency: object = held[self.currency_field] if self.currency_field else self.currency
        return read_money(amount, currency)


class Per(StrEnum):
    """What a budget is for."""

    TASK = "task"
    TENANT = "tenant"


class Beyond(StrEnum):
    """What happens to a call that goes beyond a budget."""

    REFUSE = "refuse"
    """It is not permitted, whoever approves it."""
    ASK = "ask"
    """Somebody has to approve it, whatever else its policy says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much all calls of a task, or of a tenant, may cost together."""

    per: Per
    limit: Money
    beyond: Beyond = Beyond.REFUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one call would add to what is permitted already."""

    cost: Money | None = None
    """``None`` where the tool's policy estimates none."""
    unreadable: str = ""
    """Why the cost cannot be understood; empty where it can."""
    permitted: Mapping[Per, Sequence[Money]]
    """The recorded costs of what has been permitted, by what they count for."""


def judge_spending(spending: Spending, budgets: Sequence[Budget]) -> PolicyVerdict:
    """Judge whether a call fits every budget; the sum that speaks against it is named.

    The facts of a refusal say ``beyond``: ``refuse``, or ``ask`` where an approval is enough. A cost in a currency for which nobody has
    declared a budget, where budgets are declared, is not understood.
    """
    if spending.unreadable:
        return _refused("cost-unreadable", f"what it costs cannot be understood: {spending.unreadable}", Beyond.REFUSE)
    cost = spending.cost
    if cost is None or not budgets:
        return PolicyVerdict(allowed=True, rule="no-budget", reason="no budget applies")
    fitting = [budget for budget in budgets if budget.limit.currency == cost.currency]
    if not fitting:
        return _refused("budget-currency", f"it costs {cost}, and no budget is declared in {cost.currency}", Beyond.REFUSE)
    for budget in sorted(fitting, key=lambda budget: budget.beyond is Beyond.ASK):  # what nobody can approve is said first
        permitted = total(spending.permitted.get(budget.per, ()), cost.currency)
        if total((permitted, cost), cost.currency).amount > budget.limit.amount:
            words = f"it costs {cost}, {permitted} are permitted already, and the {budget.per}'s budget is {budget.limit}"
            return _refused("budget", words, budget.beyond)
    return PolicyVerdict(allowed=True, rule="within-budget", reason=f"it costs {cost}, which fits", facts={"cost": cost.plain})


def _refused(rule: str, reason: str, beyond: Beyond) -> PolicyVerdict:
    return PolicyVerdict(allowed=False, rule=rule, reason=reason, facts={"beyond": str(beyond)})
