"""What each adapter declares that its reader can tell is held against what its mapping table can say, for every adapter there is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module

import pytest

from toolwitness.adapters import FRAMEWORKS
from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, Tells, no, yes
from toolwitness.reading.words import Word

EVIDENCE = {
    "proposed": {K.PROPOSED},
    "approval asked": {K.APPROVAL_REQUESTED},
    "queued": {K.ACCEPTED},
    "started": {K.STARTED, K.PROGRESS, K.OUTPUT, K.HEARTBEAT},
    "progress": {K.PROGRESS, K.OUTPUT},
    "ended": {K.SUCCEEDED, K.FAILED},
    "acknowledgement": {K.CANCEL_ACKNOWLEDGED},
    "expiry": {K.DEADLINE_ELAPSED},
}
"""The evidence that answers each question; a body that emits output, or progress, has started. The other questions are not about kinds."""
BESIDE = {"who decided", "executed inputs", "scoped cancel"}
"""Asked of what an event carries, or of whether anybody can act: no kind of evidence answers them."""


def readings() -> Iterator[tuple[str, str]]:
    """Every way of reading what somebody else wrote down; recorders write no row of the table."""
    for framework in FRAMEWORKS:
        for way in import_module(f"toolwitness.adapters.{framework}.mapping").CAPABILITIES:
            if way.startswith("from "):
                yield framework, way


def contradictions(declared: Capabilities, table: Sequence[Word]) -> list[str]:
    """Say where the declaration denies what a row of the table says, or promises what none does."""
    found: list[str] = []
    for question, answer in declared.rows():
        if question in BESIDE:
            continue
        rows = [word.word for word in table if EVIDENCE[question] & set(word.says)]
        if answer.tells is Tells.NO and rows:
            found.append(f"{question}: no, but these rows say it: {', '.join(rows)}")
        if answer.tells is not Tells.NO and not rows:
            found.append(f"{question}: {answer.tells}, but no row says it")
    return found


@pytest.mark.parametrize(("framework", "way"), list(readings()))
def test_a_reader_declares_just_what_its_table_can_say(framework: str, way: str) -> None:
    mapping = import_module(f"toolwitness.adapters.{framework}.mapping")

    assert contradictions(mapping.CAPABILITIES[way], mapping.TABLE) == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_adapter_declares_a_reading_and_none_of_them_can_act(framework: str) -> None:
    ways = import_module(f"toolwitness.adapters.{framework}.mapping").CAPABILITIES
    read = [declared for way, declared in ways.items() if way.startswith("from ")]

    assert read
    assert {declared.scoped_cancel.tells for declared in read} == {Tells.NO}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_cannot_be_told_or_only_under_a_condition_has_its_reason(framework: str) -> None:
    ways = import_module(f"toolwitness.adapters.{framework}.mapping").CAPABILITIES

    answers = [(way, *row) for way, declared in ways.items() for row in declared.rows()]

    bare = [(way, question) for way, question, answer in answers if answer.tells is not Tells.YES and not answer.why]
    assert bare == []


def test_a_declaration_that_is_too_modest_or_too_proud_is_found() -> None:
    mapping = import_module("toolwitness.adapters.celery.mapping")
    declared: Capabilities = mapping.CAPABILITIES["from captured events"]

    modest = contradictions(replace(declared, queued=no("it is said")), mapping.TABLE)
    proud = contradictions(replace(declared, approval_asked=yes()), mapping.TABLE)

    assert modest == ["queued: no, but these rows say it: task-received"]
    assert proud == ["approval asked: yes, but no row says it"]
