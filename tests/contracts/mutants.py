"""Mutants of everything that decides by table: each is one wrong entry, put in place for as long as a ``with`` lasts.

They are made from the tables themselves: every row with every other next state, every condition dropped and every reader of one replaced,
every rule of policy inverted and every one dropped, every answer of a consequence class weakened, every speaker added, every required field
forgotten, every action offered or withheld. A table that grows makes more of them.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

import toolwitness.policy
from toolwitness.core import conditions, decisions, findings, invocation, transitions, vocabulary
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner, State
from toolwitness.core.transitions import ROWS, TABLE, Condition, Row, row_for
from toolwitness.core.verdicts import Judgement
from toolwitness.core.vocabulary import KINDS
from toolwitness.policy import consequences, controls
from toolwitness.policy.rules import Rule

CORE = "core"
POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong entry."""

    name: str
    room: str
    put: Callable[[], Any]
    """Puts it in place; a context manager."""
    near: str = ""
    """The file of tests that is asked first."""


@contextmanager
def standing_in(old: object, new: object) -> Iterator[None]:
    """Let ``new`` stand wherever a module holds ``old``."""
    places = [
        (module, name)
        for title, module in list(sys.modules.items()) if title.startswith(("toolwitness.", "tests."))
        for name, value in list(vars(module).items()) if value is old
    ]  # fmt: skip  # one comprehension
    assert places, f"nobody holds {old!r:.80}"
    for module, name in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, old)


@contextmanager
def entry(table: dict[Any, Any], key: Any, value: Any) -> Iterator[None]:
    """Let a dictionary hold ``value`` under ``key``; ``...`` for nothing at all."""
    before = table[key]
    if value is ...:
        del table[key]
    else:
        table[key] = value
    try:
        yield
    finally:
        table[key] = before


@contextmanager
def part(of: object, name: str, value: object) -> Iterator[None]:
    """Let an object, frozen or not, hold another part."""
    before = getattr(of, name)
    object.__setattr__(of, name, value)
    try:
        yield
    finally:
        object.__setattr__(of, name, before)


# ── the transition table ────────────────────────────────────────────────────────────────────────────────────────────


def rows_that_lead_elsewhere() -> Iterator[Mutant]:
    for row in ROWS:
        for target in State:
            if target is not row.next:
                yield Mutant(f"row {row.name} leads to {target}", CORE, lambda row=row, target=target: _row_instead(row, target))


@contextmanager
def _row_instead(row: Row, target: State) -> Iterator[None]:
    other = replace(row, next=target)
    rows = tuple(other if one is row else one for one in ROWS)
    moved: dict[str, Judgement] = invocation._MOVED
    with ExitStack() as stack:
        stack.enter_context(standing_in(ROWS, rows))
        stack.enter_context(standing_in(TABLE, MappingProxyType({(r.state, r.kind, r.condition): r for r in rows})))
        stack.enter_context(entry(moved, row.name, replace(moved[row.name], row=other)))
        yield


def rows_without_their_condition() -> Iterator[Mutant]:
    """Rows that match whatever holds. One that depends on nothing has no condition to drop."""
    for row in ROWS:
        if row.condition is not Condition.ALWAYS:
            yield Mutant(f"row {row.name} without {row.condition}", CORE, lambda row=row: standing_in(row_for, _matching_always(row)))


def _matching_always(row: Row) -> Callable[[State | None, str, Condition], Row | None]:
    """Find rows as ever, and this one whatever holds."""
    ever = row_for  # the name itself will stand for what is made here
    return lambda state, kind, condition: row if (state, kind) == (row.state, row.kind) else ever(state, kind, condition)


def conditions_that_are_not_read() -> Iterator[Mutant]:
    """Readers that always find the same: every condition that a row of their kind knows, and none."""
    for kind in conditions._READERS:
        for found in dict.fromkeys((Condition.ALWAYS, *(row.condition for row in ROWS if row.kind == kind))):
            readers = MappingProxyType({**conditions._READERS, kind: lambda _record, _event, found=found: found})
            mutant = f"the condition of {kind} is always {found}"
            yield Mutant(mutant, CORE, lambda readers=readers: standing_in(conditions._READERS, readers))


# ── evidence and decisions ──────────────────────────────────────────────────────────────────────────────────────────


def speakers_who_may_say_more() -> Iterator[Mutant]:
    for kind, spec in KINDS.items():
        for owner in Owner:
            if owner not in spec.owners:
                wider = replace(spec, owners=(*spec.owners, owner))
                yield Mutant(f"{owner} may say {kind}", CORE, lambda kind=kind, wider=wider: entry(KINDS, kind, wider))  # type: ignore[arg-type]  # a dictionary behind its Final


def evidence_that_is_whole_with_less() -> Iterator[Mutant]:
    for kind, spec in KINDS.items():
        for name in spec.required:
            less = tuple(one for one in spec.required if one != name)
            yield Mutant(
                f"{kind} is whole without {name}", CORE, lambda kind=kind, less=less: _whole_with(kind, less), "test_whole_evidence"
            )


@contextmanager
def _whole_with(kind: Kind, required: tuple[str, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(entry(KINDS, kind, replace(KINDS[kind], required=required)))  # type: ignore[arg-type]  # as above
        stack.enter_context(entry(vocabulary._REQUIRED, kind, tuple((name, tuple(name.split("|"))) for name in required)))
        yield


def decisions_that_always_count() -> Iterator[Mutant]:
    for kind in decisions._OBJECTORS:
        silent = MappingProxyType({**decisions._OBJECTORS, kind: lambda _record, _event: ""})
        yield Mutant(f"nothing objects to {kind}", CORE, lambda silent=silent: standing_in(decisions._OBJECTORS, silent))
    for kind in sorted(decisions._ONLY_WHILE_OPEN):
        fewer = decisions._ONLY_WHILE_OPEN - {kind}
        yield Mutant(f"{kind} counts after the end", CORE, lambda fewer=fewer: standing_in(decisions._ONLY_WHILE_OPEN, fewer))


def findings_that_are_no_reason_to_look() -> Iterator[Mutant]:
    for code in sorted(findings.OPENS_RECONCILIATION):
        fewer = findings.OPENS_RECONCILIATION - {code}
        yield Mutant(f"{code} opens no reconciliation", CORE, lambda fewer=fewer: standing_in(findings.OPENS_RECONCILIATION, fewer))


# ── policy ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def rules_of_policy() -> Iterator[tuple[str, Rule[Any]]]:
    """Give every rule of every module of policy, once, with a name."""
    seen: set[int] = set()
    for found in iter_modules(toolwitness.policy.__path__):
        module = import_module(f"toolwitness.policy.{found.name}")
        for name, value in list(vars(module).items()):
            groups = value.values() if isinstance(value, Mapping) else (value,)
            for group in groups:
                for rule in group if isinstance(group, tuple) else (group,):
                    if isinstance(rule, Rule) and id(rule) not in seen:
                        seen.add(id(rule))
                        yield f"{found.name}{name}.{rule.name}", rule


def rules_turned_round_or_left_out() -> Iterator[Mutant]:
    for name, rule in rules_of_policy():
        near, asks = f"test_{name.partition('_')[0]}", _inverted(rule.objection)
        yield Mutant(f"the rule {name} is inverted", POLICY, lambda rule=rule, asks=asks: part(rule, "objection", asks), near)
        yield Mutant(f"the rule {name} is left out", POLICY, lambda rule=rule: part(rule, "objection", lambda _case: ""), near)


def _inverted(asks: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda case: "" if asks(case) else "inverted"


def classes_that_ask_for_less() -> Iterator[Mutant]:
    for consequence, row in consequences.CONSEQUENCES.items():
        for question in ("confirm", "cancel_until", "undo", "repeat"):
            answer = getattr(row, question)
            for weaker in type(answer):
                if weaker < answer:
                    yield _weakened(consequence, row, question, weaker)
        if row.grant_seconds is not None:
            yield _weakened(consequence, row, "grant_seconds", None)
            yield _weakened(consequence, row, "grant_seconds", row.grant_seconds + 1)
        for question in ("needs", "shown", "controls"):
            for name in getattr(row, question):
                yield _weakened(consequence, row, question, tuple(one for one in getattr(row, question) if one != name))
    for one in consequences.UNKNOWN:
        fewer = tuple(other for other in consequences.UNKNOWN if other != one)
        yield Mutant(f"an unknown tool is not {one}", POLICY, lambda fewer=fewer: _forgetting(standing_in(consequences.UNKNOWN, fewer)))


def _weakened(consequence: str, row: object, question: str, answer: object) -> Mutant:
    return Mutant(f"{consequence}: {question} is {answer!r}", POLICY, lambda: _forgetting(part(row, question, answer)), "test_small_print")


@contextmanager
def _forgetting(mutation: AbstractContextManager[None]) -> Iterator[None]:
    """Put a mutation in place where what the table said before is remembered: forget that, then and afterwards."""
    with mutation:
        consequences._combined.cache_clear()
        yield
    consequences._combined.cache_clear()


def actions_with_fewer_rules() -> Iterator[Mutant]:
    for action, rules in controls._RULES.items():
        for rule in rules:
            fewer = MappingProxyType({**controls._RULES, action: tuple(one for one in rules if one is not rule)})
            yield Mutant(
                f"{action} without the rule {rule.name}", POLICY, lambda fewer=fewer: standing_in(controls._RULES, fewer), "test_controls"
            )
    for action in controls._AGAIN:
        fewer = MappingProxyType({name: asks for name, asks in controls._AGAIN.items() if name != action})
        yield Mutant(f"{action} is not judged again", POLICY, lambda fewer=fewer: standing_in(controls._AGAIN, fewer), "test_controls")
    for state, actions in controls._BY_STATE.items():
        for action in actions:
            fewer = MappingProxyType({**controls._BY_STATE, state: tuple(one for one in actions if one != action)})
            yield Mutant(
                f"{action} is not offered while {state}",
                POLICY,
                lambda fewer=fewer: standing_in(controls._BY_STATE, fewer),
                "test_controls",
            )
        for action in ("approve", "retry", "reverse"):
            if action not in actions:
                more = MappingProxyType({**controls._BY_STATE, state: (*actions, action)})
                yield Mutant(
                    f"{action} is offered while {state}", POLICY, lambda more=more: standing_in(controls._BY_STATE, more), "test_controls"
                )


def all_mutants() -> list[Mutant]:
    """Make every mutant there is."""
    makers = (
        rows_that_lead_elsewhere, rows_without_their_condition, conditions_that_are_not_read, speakers_who_may_say_more,
        evidence_that_is_whole_with_less, decisions_that_always_count, findings_that_are_no_reason_to_look, rules_turned_round_or_left_out,
        classes_that_ask_for_less, actions_with_fewer_rules,
    )  # fmt: skip  # names in lines
    return [mutant for make in makers for mutant in make()]


__all__ = ["CORE", "POLICY", "Mutant", "all_mutants", "transitions"]
