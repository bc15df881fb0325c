"""Every order of what people, clocks, workers and deaths can do with two calls, on the real commands, judging and fold.

R1 to R9 are asserted in every moment that is reached, and across every step; see ``toolwitness.testing.model``.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from tests.contracts.mutants import standing_in
from toolwitness.core import decisions
from toolwitness.core.states import State
from toolwitness.core.transitions import ROWS, TABLE, Condition
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy import deadlines, dispatch
from toolwitness.testing.model import __main__ as command
from toolwitness.testing.model.search import Report, Walk
from toolwitness.testing.model.steps import go, steps_from, take
from toolwitness.testing.model.world import Stage, World

DEPTH = 7


def said(capsys: pytest.CaptureFixture[str], line: object) -> None:
    """Let a line be read although the tests are quiet."""
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")


async def walked(depth: int, *, idle: str = "once", before: tuple[str, ...] = ()) -> Report:
    stage = Stage()
    start = await stage.two_siblings()
    start = await go(stage, start, *(f"{name} {start.calls[0]}" for name in before))
    return await Walk(stage, idle=idle).run(start, depth=depth)


async def test_in_every_order_of_steps_the_rules_hold_in_every_moment(capsys: pytest.CaptureFixture[str]):
    report = await walked(DEPTH)
    said(capsys, report)
    said(capsys, ", ".join(f"{state} {count:,}" for state, count in report.by_state.most_common()))
    assert report.broken == []
    assert (report.complete, report.depth) == (True, DEPTH)
    assert report.states >= 100_000
    assert set(report.by_state) == {str(state) for state in State} - {"partially_complete"}


async def test_of_an_attempt_and_its_retry_the_rules_hold_in_every_order(capsys: pytest.CaptureFixture[str]):
    report = await walked(5, before=("approve", "claim", "start", "fail", "retry"))
    said(capsys, report)
    assert report.broken == []
    assert report.states > 1_000


async def test_a_step_that_changes_nothing_may_be_left_out_where_all_that_it_looks_at_is_the_same():
    once, always = await walked(4), await walked(4, idle="always")
    assert (once.states, once.by_state) == (always.states, always.by_state)
    assert once.transitions + once.idle == always.transitions
    assert once.idle > 0


async def test_two_moments_that_count_as_one_have_the_same_future():
    """The essence of a record leaves out nothing that any step depends on: else the walk would stop where it must not."""
    stage = Stage()
    walk, frontier = Walk(stage), [await stage.two_siblings()]
    reached: dict[Any, list[World]] = {}
    for _ in range(3):
        frontier = [await take(stage, world, step) for world in frontier for step in steps_from(world)]
        for world in frontier:
            reached.setdefault(walk.key(world), []).append(world)
        frontier = [worlds[0] for worlds in reached.values() if len(worlds[0].path) == len(frontier[0].path)]
    pairs = [(worlds[0], worlds[-1]) for worlds in reached.values() if len(worlds) > 1]
    assert len(pairs) > 100
    for one, other in pairs:
        futures = [
            [(str(step), walk.key(await take(stage, world, step))) for step in steps_from(world)] for world in (one, other)
        ]  # fmt: skip  # one comprehension
        assert futures[0] == futures[1], f"{one.path} and {other.path}"


async def test_a_step_that_cannot_happen_is_not_taken():
    stage = Stage()
    world = await stage.two_siblings()
    with pytest.raises(LookupError, match="finish"):
        await go(stage, world, f"finish {world.calls[0]}")


# ── the laws can fail ───────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def whoever_asks_gets_a_permit() -> Iterator[None]:
    yes = PolicyVerdict(allowed=True, rule="yes", reason="whoever asks")
    with standing_in(decisions._OBJECTORS, MappingProxyType({})), standing_in(dispatch.judge_claim, lambda *_, **__: yes):
        yield


def row_instead(kind: str, target: State) -> Any:
    rows: Mapping[Any, Any] = {key: replace(row, next=target) if row.kind == kind else row for key, row in TABLE.items()}
    return standing_in(TABLE, MappingProxyType(rows))


@contextmanager
def terminal_moves() -> Iterator[None]:
    started = next(row for row in ROWS if row.name == "queued-started-permit_claimed")
    more = {(State.CANCELLED, started.kind, condition): started for condition in Condition}
    with standing_in(TABLE, MappingProxyType({**TABLE, **more})):
        yield


@contextmanager
def deadlines_pass_early() -> Iterator[None]:
    with standing_in(deadlines.standing, lambda declared, _now: deadlines.Standing.ELAPSED if declared else deadlines.Standing.NONE):
        yield


BROKEN = {
    "R3": lambda: row_instead("execution.started", State.QUEUED),
    "R4": terminal_moves,
    "R6": whoever_asks_gets_a_permit,
    "R10": deadlines_pass_early,
}


@pytest.mark.parametrize("rule", BROKEN)
async def test_a_house_that_breaks_a_rule_is_found_out(rule: str):
    with BROKEN[rule]():
        stage = Stage()
        report = await Walk(stage, most_broken=200).run(await stage.two_siblings(), depth=4)
    assert [wrong for wrong in report.broken if wrong.startswith(rule)] != []
    assert " after " in report.broken[0]


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_says_what_it_walked(capsys: pytest.CaptureFixture[str]):
    assert command.main(["--depth", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["depth"], report["broken"]) == (1, [])
    assert command.main(["--depth", "1"]) == 0
    assert capsys.readouterr().out.startswith(f"model: {report['states']} distinct states")


def test_the_command_fails_where_a_rule_does_not_hold(capsys: pytest.CaptureFixture[str]):
    with terminal_moves():
        assert command.main(["--depth", "3"]) == 1
    assert "R4" in capsys.readouterr().out
