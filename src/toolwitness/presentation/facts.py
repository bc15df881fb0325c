"""What is decided or was done, set as terms and texts: the amount, the recipient, the object, the terms, the point of no return.

While an approval is open these are the exact scope that it covers; afterwards what is recorded to have happened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.record import Approval
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, Reconciliation, State
from toolwitness.core.verdicts import Verdict
from toolwitness.policy.looks import Look, words_of
from toolwitness.presentation.amounts import money
from toolwitness.presentation.foreign import line
from toolwitness.presentation.headlines import effect_words
from toolwitness.presentation.reading import Reading, fields
from toolwitness.presentation.times import token
from toolwitness.presentation.values import Members, items_of, members, pairs_of, scalar, written
from toolwitness.presentation.words import RECONCILIATIONS, conclusion_words, joined

Fact = dict[str, Any]

TERMS: Final = MappingProxyType({
    "recipient": "To",
    "destination": "To",
    "object": "For",
    "target": "Target",
    "targets": "Targets",
    "payload": "Content",
    "recurrence": "How often",
    "terms": "Terms",
})  # fmt: skip  # in the order in which they are read
"""Names that a scope or the inputs in view use → the term that a person reads; any other name is its own term."""
AMOUNTS: Final = ("amount", "total", "total_price", "price", "sum")
"""Names under which an amount is sought, together with a currency; its term is its own name."""
_CURRENCIES: Final = ("currency", "currency_code")
_INPUTS_BESIDES: Final = 6
"""So many inputs that the policy does not name are shown beside those that it names; an approval covers them all."""
_SHORT: Final = 120
_PROMINENT: Final = frozenset({"target", "targets"})
_BINDING: Final = frozenset({"fields", "unreadable", "commitment_boundary"})
"""What the facts of an approval request say about themselves and not about the call."""


def fact(term: str, text: str, evidence: Sequence[str], *, size: str = "plain") -> Fact:
    """Make one line of the list; ``size`` is ``large`` for what a person decides on."""
    return {"term": term, "text": text, "prominent": size == "large", "evidence": list(evidence)}


def facts(reading: Reading) -> list[Fact]:
    """Give the facts that belong to what the record now asks or claims."""
    record = reading.record
    asked = record.open_approval or (record.approval if record.state is State.AWAITING_APPROVAL else None)
    shown: list[Fact] = []
    if asked is not None and reading.open:
        shown += _to_decide(reading, asked)
    if record.input_request is not None and reading.open:
        shown += _to_supply(reading, record.input_request)
    if shown:
        return shown
    if record.state in BEFORE_DISPATCH:
        return _draft(reading)
    return [*_was_asked(reading), *_point_passed(reading), *_effects(reading), *_found_out(reading)]


# ── before a decision ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What an approval request puts in view, by name."""

    named: Mapping[str, Any]
    amount_name: str = ""
    amount: str = ""
    """The amount as a person reads it; empty where none is in view."""
    currency_name: str = ""


def scope_of(reading: Reading, asked: Approval) -> Scope:
    """Collect what the request puts in view: what it states itself, then the inputs that it names, or all of them where it names none."""
    named: dict[str, Any] = {}
    for source in (asked.data.get("scope"), asked.data.get("facts")):
        if isinstance(source, Mapping):
            stated = cast("Mapping[str, Any]", source)
            named.update((name, value) for name, value in stated.items() if name not in _BINDING)
    fields = _binding(asked, "fields")
    inputs = _asked_inputs(reading, asked)
    named.update((name, inputs[name]) for name in (fields or (inputs if not named else ())) if name in inputs and name not in named)
    amount_name = next((name for name in AMOUNTS if name in named), "")
    currency_name = next((name for name in _CURRENCIES if name in named), "")
    pair = pairs_of(named[amount_name]) if amount_name else {}
    number = pair.get("amount", pair.get("value")) if pair else named.get(amount_name)
    currency = pair.get("currency") if pair else named.get(currency_name)
    if not amount_name or number is None or currency is None:
        return Scope(named=named)
    apart = "" if pair else currency_name
    return Scope(named=named, amount_name=amount_name, amount=money(number, currency), currency_name=apart)


def _asked_inputs(reading: Reading, asked: Approval) -> Mapping[str, Any]:
    """Give the inputs that the request is about, which need not be the ones that stand by now."""
    text = reading.inputs(asked.inputs)
    return dict(members(text.parsed)) if text else {}


def _binding(asked: Approval, name: str) -> tuple[str, ...]:
    facts = asked.data.get("facts")
    return tuple(str(entry) for entry in items_of(cast("Mapping[str, Any]", facts).get(name))) if isinstance(facts, Mapping) else ()


def asked_amount(reading: Reading) -> str:
    """Give the amount that the latest approval request is about, as a person reads it; empty where none is in view."""
    asked = reading.record.approval
    return scope_of(reading, asked).amount or _price(asked) if asked else ""


def _to_decide(reading: Reading, asked: Approval) -> list[Fact]:
    """Set out exactly what an approval covers: nothing that it puts in view is left out."""
    refs = [asked.ref, *reading.proposal_refs]
    scope = scope_of(reading, asked)
    shown = [fact(_term(scope.amount_name), scope.amount, refs, size="large")] if scope.amount else []
    rest = [name for name in scope.named if name not in TERMS and name not in {scope.amount_name, scope.currency_name}]
    shown += [
        fact(_term(name), _listed(reading, scope.named[name]), refs, size="large" if name in _PROMINENT else "plain")
        for name in [*(name for name in TERMS if name in scope.named), *rest]
    ]
    shown += _out_of_view(reading, asked, scope)
    shown += _as_read(asked)
    if not isinstance(asked.data["scope"], Mapping):
        shown.append(fact("Covers", _covers(reading, asked), [asked.ref]))
    shown.append(fact("What it does", _consequence(reading, asked), [asked.ref]))
    shown += _point_of_no_return(reading)
    eligible = [_eligible(reading, str(name)) for name in items_of(asked.data.get("eligible")) if not str(name).startswith("not:")]
    several = f"; {asked.needed} different people must agree" if asked.needed > 1 else ""
    who = joined(eligible, "or") or reading.who(asked.data["authority"])
    shown.append(fact("Who may answer", f"{who}{several}", [asked.ref]))
    return [*shown, *_since_last_asked(reading, asked)]


# ── what was read for the request, and what has changed ─────────────────────────────────────────────────────────────


def _looked(asked: Approval) -> Look:
    """Give what was read of the target and the price when this was asked."""
    read = pairs_of(asked.data.get("looked"))
    price = {name: str(value) for name, value in pairs_of(read.get("price")).items()}
    whole = "amount" in price and "currency" in price
    return Look(target=str(read["target"]) if read.get("target") else None, price=price if whole else None)


def _price(asked: Approval) -> str:
    price = _looked(asked).price
    return money(price["amount"], price["currency"]) if price else ""


def _as_read(asked: Approval) -> Iterator[Fact]:
    """Set out what was read for this request: it is bound to that and to nothing else."""
    look = _looked(asked)
    if look.target is not None:
        yield fact("Target, as read", line(look.target), [asked.ref])
    if look.price:
        terms = [f"{line(name)}: {line(value)}" for name, value in look.price.items() if name not in {"amount", "currency"}]
        yield fact("Price, as read", _price(asked), [asked.ref], size="large")
        if terms:
            yield fact("Terms, as read", "; ".join(terms), [asked.ref])


def _voided(reading: Reading, asked: Approval) -> tuple[Approval, str] | None:
    """Give the request before this one and the evidence that voided it; ``None`` where none was."""
    place = next((number for number, one in enumerate(reading.record.approvals) if one is asked), 0)
    before = reading.record.approvals[place - 1] if place else None
    if before is None or before.answer is None or before.answer.kind != "invalidated":
        return None
    return before, before.answer.ref


def _changed(reading: Reading, asked: Approval) -> list[Mapping[str, str]]:
    """Give what the evidence that voided the request before says of what had changed: each thing with its old and new text."""
    voided = _voided(reading, asked)
    rows = items_of(fields(reading.by_ref.get(voided[1])).get("changed")) if voided else ()
    found = [pairs_of(row) for row in rows if isinstance(row, Mapping)]
    return [{name: str(row[name]) for name in _CHANGE} for row in found if all(name in row for name in _CHANGE)]


_CHANGE: Final = ("what", "before", "now")
_ABSENT: Final = "(nothing)"


def _since_last_asked(reading: Reading, asked: Approval) -> Iterator[Fact]:
    """Set old beside new, last of all and so next to the buttons: whoever answered before has answered something else."""
    voided = _voided(reading, asked)
    if voided is None:
        return
    changes = [f"{line(one['what'])}: {line(one['before'])} → {line(one['now'])}" for one in _changed(reading, asked)]
    old, new = _asked_inputs(reading, voided[0]), _asked_inputs(reading, asked)
    for name in dict.fromkeys((*old, *new)):
        before, now = (scalar(inputs[name], cut_at=_SHORT) if name in inputs else _ABSENT for inputs in (old, new))
        if written(old.get(name)) != written(new.get(name)) or (name in old) != (name in new):
            changes.append(f"{line(name)}: {before} → {now}")
    if changes:
        yield fact("Changed since it was last asked", "\n".join(changes), [voided[1], asked.ref], size="large")


def _covers(reading: Reading, asked: Approval) -> str:
    """Say what the approval is bound to; the list of what is in view is left out where it repeats the lines above."""
    said = str(asked.data["scope"]).removesuffix(f"; {words_of(_looked(asked), _changed(reading, asked))}")
    return _listed(reading, said).removesuffix(f"; in view: {', '.join(_binding(asked, 'fields'))}")


def _consequence(reading: Reading, asked: Approval) -> str:
    """Say what the call does to the world; the boundary that policy repeats there has a line of its own."""
    repeated = f"; cannot be called back after: {reading.record.proposal.get('commitment_boundary')}"
    return line(str(asked.data["consequence_summary"]).removesuffix(repeated))


def _term(name: str) -> str:
    words = line(name.replace("_", " "))
    return TERMS.get(name) or words[:1].upper() + words[1:]


def _out_of_view(reading: Reading, asked: Approval, scope: Scope) -> Iterator[Fact]:
    """Show the inputs that nobody named too, and say what a person does not see here, and why."""
    missing = [name for name in _binding(asked, "unreadable") if name not in scope.named]
    if missing:
        yield fact("Cannot be shown", f"{', '.join(line(name) for name in missing)}: the inputs do not hold it", [asked.ref])
    if asked.inputs is not None and reading.inputs(asked.inputs) is None:
        yield fact("Inputs", reading.absent(asked.inputs), reading.proposal_refs)
    rest = [(name, value) for name, value in _asked_inputs(reading, asked).items() if name not in scope.named]
    for name, value in rest[:_INPUTS_BESIDES]:
        yield fact(_term(name), scalar(value, cut_at=_SHORT), [asked.ref, *reading.proposal_refs])
    if len(rest) > _INPUTS_BESIDES:
        names = ", ".join(line(name) for name, _ in rest[_INPUTS_BESIDES:])
        yield fact("More inputs", f"{names}; their values are under Inputs", reading.proposal_refs)


def _listed(reading: Reading, said: Any) -> str:
    return ", ".join(reading.plain(entry) for entry in items_of(said))


def _eligible(reading: Reading, name: str) -> str:
    kind, _, rest = name.partition(":")
    return f"anyone with the role {line(rest)}" if kind == "role" else reading.who(rest if kind == "user" else name)


def _point_of_no_return(reading: Reading) -> Iterator[Fact]:
    """Say from where on it cannot be taken back, and what is left after that."""
    proposal = reading.record.proposal
    boundary = proposal.get("commitment_boundary")
    if not boundary:
        return
    recovery = proposal.get("recovery")
    after = cast("Mapping[str, Any]", recovery).get("after_commitment") if isinstance(recovery, Mapping) else recovery
    rest = f". After that: {_listed(reading, after)}" if after else ""
    where = line(boundary).removesuffix(".") if rest else line(boundary)
    yield fact("Point of no return", f"{where}{rest}", reading.proposal_refs)


def _draft(reading: Reading) -> list[Fact]:
    """Show the draft inputs of a call that nobody has handed on, one line a field."""
    said = reading.record.inputs
    if said is None:
        return []
    text = reading.inputs(said)
    if text is None:
        return [fact("Inputs", reading.absent(said), reading.proposal_refs)]
    if not text.is_json or not isinstance(text.parsed, Members):
        return [fact("Inputs", line(text.text or text.note), reading.proposal_refs)]
    return [fact(_term(name), scalar(inner), reading.proposal_refs) for name, inner in text.parsed]


def _to_supply(reading: Reading, asked: Mapping[str, Any]) -> Iterator[Fact]:
    """Say what is missing or was refused, and why."""
    refs = [asked["ref"]]
    if asked.get("validation"):
        yield fact("Refused because", _listed(reading, asked["validation"]), refs)
    if asked.get("prompt"):
        yield fact("What is asked", reading.plain(asked["prompt"]), refs, size="large")
    if asked.get("unresolved"):
        yield fact("Still needed", _listed(reading, asked["unresolved"]), refs)


# ── what is recorded to have happened ───────────────────────────────────────────────────────────────────────────────


def _was_asked(reading: Reading) -> Iterator[Fact]:
    """Repeat in one line what the last approval was about: what it came to is another claim."""
    asked = reading.record.approval
    if asked is None:
        return
    scope = scope_of(reading, asked)
    said = [f"{_term(scope.amount_name)} {scope.amount}"] if scope.amount else []
    apart = {scope.amount_name, scope.currency_name}
    said += [f"{_term(name)} {_listed(reading, value)}" for name, value in scope.named.items() if name not in apart]
    if said:
        yield fact("What was asked", "; ".join(said), [asked.ref, *reading.proposal_refs])


def _point_passed(reading: Reading) -> Iterator[Fact]:
    passed = reading.record.commitment
    if passed is None:
        return
    known = passed.data.get("provider_reference")
    reference = f"; provider reference {line(known)}" if known else ""
    yield fact("Point of no return", f"{line(passed.data['boundary'])}, passed {token(passed.at)}{reference}", [passed.ref])


def _found_out(reading: Reading) -> Iterator[Fact]:
    """Say what somebody found out about what it did, or that nobody knows: a state alone does not say it."""
    record = reading.record
    for settled in record.reconciliations:
        said = settled.data
        detail = f": {reading.plain(said['detail'])}" if said.get("detail") else ""
        reference = f"; reference {line(said['reference'])}" if said.get("reference") else ""
        who = f"recorded {token(settled.at)} by {reading.who(said.get('by'))}"
        yield fact("What really happened", f"{conclusion_words(said['conclusion'])}{detail}{reference}; {who}", [settled.ref])
    if record.state in TERMINAL and record.reconciliation is Reconciliation.UNKNOWN:
        yield fact("What really happened", RECONCILIATIONS[Reconciliation.UNKNOWN], list(record.state_refs))
    if not record.reconciliations:
        yield from _asked_in_vain(reading)


def _asked_in_vain(reading: Reading) -> Iterator[Fact]:
    """Say that the tool was asked what happened and that its answer settled nothing."""
    for recorded in reading.events:
        said = fields(recorded)
        if recorded.event.kind == Kind.RECONCILED and recorded.verdict is Verdict.REFUSED and said.get("asked_by"):
            who, when = reading.who(said["asked_by"]), token(reading.at(recorded))
            why = f": {reading.plain(said['detail'])}" if said.get("detail") else ""
            yield fact("The tool was asked", f"{when} by {who}; it does not know{why}", [recorded.event.ref])


def _effects(reading: Reading) -> Iterator[Fact]:
    for effect in reading.record.effects:
        said = effect.data
        extra = [f"to {line(said['recipient'])}"] if said.get("recipient") else []
        known = said.get("provider_reference") or said.get("reference")
        extra += [f"reference {line(known)}"] if known else []
        term = "After the end" if effect.late else "What it did"
        yield fact(term, ", ".join([effect_words(reading, effect), *extra]), [effect.ref])
    outcome = reading.record.outcome
    if outcome is not None and outcome.data.get("provider_reference") and not reading.refs(Kind.EFFECT):
        yield fact("Provider reference", line(outcome.data["provider_reference"]), [outcome.ref])
