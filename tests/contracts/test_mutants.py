"""Wrong tables: every one that can be made from ours is noticed by the suite."""

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.contracts.kill_suite import cases_of
from tests.contracts.mutants import CORE, POLICY, all_mutants

EQUIVALENT: Mapping[str, str] = MappingProxyType({})
"""Mutants that nothing can tell from what they were made from, each with the reason."""

NOTICED = frozenset({"AssertionError", "Failed", "KeyError", "StopIteration"})
"""How a test notices: what it asserts does not hold, or what it looks for is not there."""


def test_every_mutant_of_every_table_is_killed(capsys: pytest.CaptureFixture[str]) -> None:
    suites = {room: cases_of(room) for room in (CORE, POLICY)}
    broken = [f"{case.file}: {case.name}" for suite in suites.values() for case in suite if case.fails()]
    assert broken == [], "the suite fails without any mutant"
    mutants = all_mutants()
    killers: Counter[str] = Counter()
    errors: defaultdict[str, list[str]] = defaultdict(list)
    survivors: list[str] = []
    for mutant in mutants:
        with mutant.put():
            suite = sorted(suites[mutant.room], key=lambda case: case.file != mutant.near) if mutant.near else suites[mutant.room]
            killer, error = next(((case, error) for case in suite if (error := case.fails())), (None, ""))
        if killer is None:
            survivors.append(mutant.name)
        else:
            killers[killer.file] += 1
            errors[error].append(mutant.name)
    with capsys.disabled():
        sys.stdout.write(f"\nmutants: {len(mutants):,} generated, {killers.total():,} killed, {len(EQUIVALENT)} equivalent by proof\n")
        sys.stdout.write("killed by: " + ", ".join(f"{file} {count}" for file, count in killers.most_common()) + "\n")
    assert sorted(set(survivors) - set(EQUIVALENT)) == []
    assert {error: names for error, names in errors.items() if error not in NOTICED} == {}, "these broke the program and were not noticed"
    assert sorted(set(EQUIVALENT) - set(survivors)) == [], "what is called equivalent is not"
    assert [case.name for suite in suites.values() for case in suite if case.fails()] == [], "a mutant was left in place"
