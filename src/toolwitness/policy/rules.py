"""Rules in a row: the first that objects refuses, and a rule that cannot be evaluated objects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from toolwitness.core.verdicts import PolicyVerdict

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Rule(Generic[Case]):
    """One reason to refuse, under a stable name."""

    name: str
    objection: Callable[[Case], str]
    """Says why not; the empty string where the rule has nothing against it."""


def judge(
    rules: Sequence[Rule[Case]],
    case: Case,
    *,
    allowed_by: str,
    reason: str,
    facts: Mapping[str, Any] | None = None,
) -> PolicyVerdict:
    """Ask the rules in their order; refuse with the first objection, else allow as ``allowed_by``.

    Nothing is allowed because a rule broke: a rule that raises refuses under its own name (fails closed).
    """
    for rule in rules:
        try:
            objection = rule.objection(case)
        except Exception as error:  # noqa: BLE001 - whatever breaks a rule, the answer is no
            broken = f"the rule {rule.name!r} could not be evaluated ({type(error).__name__}: {error}), so the answer is no"
            return PolicyVerdict(allowed=False, rule=rule.name, reason=broken, facts=facts or {})
        if objection:
            return PolicyVerdict(allowed=False, rule=rule.name, reason=objection, facts=facts or {})
    return PolicyVerdict(allowed=True, rule=allowed_by, reason=reason, facts=facts or {})
