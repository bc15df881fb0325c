"""The walk: every step from every moment, breadth first, each distinct moment once, every law in each of them."""

import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.core.record import InvocationRecord
from toolwitness.testing.model.laws import LAWS, STEP_LAWS, Change, Seen
from toolwitness.testing.model.steps import Step, steps_from, take
from toolwitness.testing.model.world import ANN, Stage, World, essence

Key = tuple[Any, ...]
_MOST_KNOWN: Final = 50_000


@dataclass(slots=True, kw_only=True)
class Report:
    """What a walk saw."""

    states: int = 0
    """Distinct moments that were reached, every law looked at in each."""
    transitions: int = 0
    """Steps that were taken, those that policy refused included."""
    idle: int = 0
    """Steps that were not taken once more, since they changed nothing when all that they look at was the same."""
    depth: int = 0
    """The most steps from the beginning."""
    complete: bool = True
    """Whether everything within that depth was looked at."""
    by_state: Counter[str] = field(default_factory=Counter[str])
    """How many moments had a call in each state."""
    broken: list[str] = field(default_factory=list[str])
    """Laws that did not hold, each with the way there."""
    seconds: float = 0.0

    def __str__(self) -> str:
        """Say it in one line."""
        whole = "" if self.complete else " (cut off)"
        moves = f"{self.transitions + self.idle:,} transitions ({self.transitions:,} taken, {self.idle:,} known to change nothing)"
        return f"model: {self.states:,} distinct states, {moves}, depth {self.depth}{whole}, {self.seconds:.0f} s"


class Walk:
    """One walk from one beginning."""

    def __init__(self, stage: Stage, *, most_broken: int = 1, idle: str = "once") -> None:
        """Stop at the ``most_broken``-th law that does not hold.

        A step that changed nothing that matters is not taken again where all that it looks at is the same; with ``idle="always"`` it is.
        """
        self.stage = stage
        self.report = Report()
        self._most_broken = most_broken
        self._idle_steps = idle
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[InvocationRecord, int, int]] = {}
        self._seen: set[Key] = set()
        self._idle: set[Key] = set()

    async def run(self, start: World, *, depth: int) -> Report:
        """Walk up to ``depth`` steps from ``start``."""
        report, began = self.report, time.monotonic()
        self._reach(start, self.key(start), None)
        frontier = [start]
        with _few_collections():
            for level in range(1, depth + 1):
                report.depth = level
                following: list[World] = []
                for world in frontier:
                    found = await self._from(world)
                    if level < depth:
                        following += found
                frontier = following
        report.seconds = time.monotonic() - began
        return report

    async def _from(self, world: World) -> list[World]:
        """Take every step from one moment, and give the moments that were new."""
        if len(self.report.broken) >= self._most_broken:
            self.report.complete = False
            return []
        before, found = self.key(world), list[World]()
        for step in steps_from(world):
            situation = self._situation(world, before, step)
            if situation is not None and situation in self._idle:
                self.report.idle += 1
                continue
            after = await self.step(world, step)
            key = self.key(after)
            if key not in self._seen:
                self._reach(after, key, world)
                found.append(after)
            elif key == before and situation is not None and self._idle_steps == "once":
                self._idle.add(situation)
        return found

    async def step(self, before: World, step: Step) -> World:
        """Take one step, look at what it changed, and give the moment after it."""
        after = await take(self.stage, before, step)
        self.report.transitions += 1
        for one in before.workers:
            old, new = before.ledger.record(one), after.ledger.record(one)
            if new is not old:
                said = after.ledger.said(one)[len(before.ledger.said(one)) :]
                self._across(Change(step.name, step.about, old, new, said), after.path)
        return after

    def key(self, world: World) -> Key:
        """Give what two moments have in common that are the same for all that can come."""
        parts: list[Any] = [ANN.id in str(world.revoked)]
        for one, worker in world.workers.items():
            parts += (self._number(world, world.ledger.record(one)), worker.at, worker.ran, worker.rogue, worker.lives, one in world.calls)
        return tuple(parts)

    def _situation(self, world: World, key: Key, step: Step) -> Key | None:
        """Give all that a step about one call looks at: the call and its worker, who may decide, and how the other calls stand."""
        if not step.about:
            return None
        others = tuple(world.ledger.record(one).state for one in world.workers if one != step.about)
        place = 1 + 6 * list(world.workers).index(step.about)
        return (step.name, key[0], key[place : place + 6], others)

    def _number(self, world: World, record: InvocationRecord) -> int:
        """Give the number of what matters of a record; the same for all records that differ in nothing that matters."""
        known = self._known.get(id(record))
        if known is not None and known[0] is record and known[1] == world.ticks:
            return known[2]
        number = self._numbers.setdefault(essence(world, record), len(self._numbers))
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known[id(record)] = (record, world.ticks, number)
        return number

    def _reach(self, world: World, key: Key, before: World | None) -> None:
        """Look at every law in a moment that was not seen before; a call that is the very same as ``before`` was looked at there."""
        self._seen.add(key)
        self.report.states += 1
        for one, worker in world.workers.items():
            record = world.ledger.record(one)
            self.report.by_state[str(record.state)] += 1
            if before is not None and before.workers.get(one) is worker and before.ledger.record(one) is record:
                continue
            seen = Seen(world, record, world.ledger.said(one), worker)
            for name, law in LAWS.items():
                if wrong := law(seen):
                    self._note(f"{name}: {wrong} [{one}]", world.path)

    def _across(self, change: Change, path: Sequence[str]) -> None:
        for name, law in STEP_LAWS.items():
            if wrong := law(change):
                self._note(f"{name}: {wrong}", path)

    def _note(self, wrong: str, path: Sequence[str]) -> None:
        self.report.broken.append(f"{wrong} after {' → '.join(path)}")


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the collector look less often: nearly all that is made here stays, and to look at it again and again costs more than it frees."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
