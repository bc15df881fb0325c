"""What a tool's target is and what a call costs, as they were when it was asked about and as they are now: what differs voids an approval.

A look is taken by functions of the tool (``target=``, ``quote=``), outside the ledger's turn. What stands on record of it is short text: a
fingerprint and the terms of a quote. What could not be read is never taken for unchanged.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.cost import read_money

LONGEST: Final = 200
"""A fingerprint or a term with more characters stands on record as its digest."""
_MOST_TERMS: Final = 20
_PAIR: Final = 2


class Reread(StrEnum):
    """What is read again before a call starts."""

    TARGET = "target"
    PRICE = "price"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was read, what could not be read and why."""

    target: str | None = None
    price: Mapping[str, str] | None = None
    """The terms of the quote by name; ``amount`` and ``currency`` are among them."""
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    """What could not be read, with the reason."""
    here: str = "yes"
    """``no`` where this process does not know the tool, so that the process that hosts it has to look."""

    @property
    def plain(self) -> dict[str, Any]:
        """Give what was read as it stands on record."""
        read: dict[str, Any] = {str(Reread.TARGET): self.target, str(Reread.PRICE): dict(self.price) if self.price else None}
        return {name: value for name, value in read.items() if value is not None}


NOT_TAKEN: Final = Look(here="no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that differs: what, and its old and new text."""

    what: str
    before: str
    now: str

    def __str__(self) -> str:
        """Write it as ``amount 412.50 → 450.00``."""
        return f"{self.what} {self.before} → {self.now}"

    @property
    def plain(self) -> dict[str, str]:
        """Give it as it stands on record."""
        return {"what": self.what, "before": self.before, "now": self.now}


def read_target(given: object) -> str:
    """Give the text of a target's fingerprint: a version, an etag, a count, or any JSON value.

    Raises:
        InvalidInput: it is nothing, or no JSON value.
    """
    if given is None or given == "":
        raise InvalidInput("The target's fingerprint is empty.", field="target", remedy="Give a text, a number or a JSON value.")
    return _text("target", given)


def read_quote(given: object) -> dict[str, str]:
    """Give the terms of a quote: a mapping with ``amount`` and ``currency`` and whatever else was offered, or just these two.

    Raises:
        InvalidInput: it says no amount in a currency, or a term is no JSON value.
    """
    pair = list(cast("Sequence[object]", given)) if isinstance(given, list | tuple) else []
    if not isinstance(given, Mapping) and len(pair) != _PAIR:
        kind = type(cast("object", given)).__name__
        raise InvalidInput(f"The quote is a {kind}.", field="quote", remedy='Give {"amount": "412.50", "currency": "EUR"}.')
    said = cast("Mapping[object, object]", given) if not pair else {"amount": pair[0], "currency": pair[1]}
    amount = said.get("amount")
    money = read_money(f"{amount:f}" if isinstance(amount, Decimal) else amount, said.get("currency"))
    if len(said) > _MOST_TERMS:
        raise InvalidInput(f"The quote has {len(said)} terms.", field="quote", remedy=f"Give at most {_MOST_TERMS}.")
    others = {str(name): _text(str(name), value) for name, value in said.items() if name not in {"amount", "currency"}}
    return {**money.plain, **dict(sorted(others.items()))}


def _text(name: str, value: object) -> str:
    """Write a value so that equal values give equal texts; a long one as its digest."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} has no JSON form: {error}.", field=name, remedy="Give a text or a JSON value.") from None
    if len(text) <= LONGEST and text.isprintable():
        return text
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def judge_look(wanted: Sequence[str], look: Look) -> PolicyVerdict:
    """Judge whether everything that the policy wants to be read could be read; the reason says what could not."""
    for name in wanted:
        if _said(look.plain, name) is None:
            why = look.failures.get(name) or f"nothing in this process reads the {name}"
            return PolicyVerdict(allowed=False, rule=f"{name}-unread", reason=f"the {name} could not be read: {why}")
    return PolicyVerdict(allowed=True, rule="looked", reason="what has to be read could be read")


def judge_difference(wanted: Sequence[str], before: Mapping[str, Any], look: Look) -> PolicyVerdict:
    """Judge whether what is read now is what was read when the call was asked about; the facts name each ``changed`` thing."""
    if look.here != "yes":
        reason = f"nobody has read the {' and the '.join(wanted)} for this dispatch: the process that hosts the tool does"
        return PolicyVerdict(allowed=False, rule="not-looked", reason=reason)
    read = judge_look(wanted, look)
    if not read.allowed:
        return read
    for name in wanted:
        was, now = _said(before, name), _said(look.plain, name)
        if was is None or now is None:
            return PolicyVerdict(
                allowed=False, rule=f"{name}-unread", reason=f"what the {name} was when it was asked about is not on record"
            )
        changed = [
            Change(what=what, before=was.get(what, "(nothing)"), now=now.get(what, "(nothing)")) for what in dict.fromkeys((*was, *now))
        ]
        changed = [change for change in changed if change.before != change.now]
        if changed:
            words = "; ".join(str(change) for change in changed)
            reason = f"the {name} has changed since it was asked about: {words}"
            return PolicyVerdict(
                allowed=False, rule=f"{name}-changed", reason=reason, facts={"changed": [change.plain for change in changed]}
            )
    return PolicyVerdict(allowed=True, rule="unchanged", reason="what it is about is as it was when it was asked about")


def _said(plain: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
    """Give what was read under a name, as terms; ``None`` where nothing was."""
    found = plain.get(name)
    if isinstance(found, Mapping):
        return {str(term): str(value) for term, value in cast("Mapping[object, object]", found).items()} or None
    return {name: str(found)} if found is not None else None


def words_of(look: Look, changed: Sequence[Change | Mapping[str, str]] = ()) -> str:
    """Say in one line what was read, and what has changed since the request before; empty where nothing was read."""
    parts: list[str] = []
    if look.target is not None:
        parts.append(f"target as read now: {look.target}")
    if look.price:
        terms = {name: value for name, value in look.price.items() if name not in {"amount", "currency"}}
        parts.append(f"price as read now: {look.price['amount']} {look.price['currency']}")
        parts += [f"{name}: {value}" for name, value in terms.items()]
    for change in changed:
        said = change if isinstance(change, Change) else Change(**{name: str(change[name]) for name in ("what", "before", "now")})
        parts.append(f"changed since the last request: {said}")
    return "; ".join(parts)
