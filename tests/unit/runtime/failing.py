"""A ledger that can be made to fail, by the kind of what is written, and desks on it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import toolwitness as tw
from toolwitness.bootstrap.world import TimeOrderedIds
from toolwitness.core.errors import Unavailable
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ports import Deciding, Draft, Recorded, TaskView
from toolwitness.testing.clock import FakeClock

EVERYTHING = "*"


class FailingLedger(MemoryLedger):
    """A ledger in memory whose disk is full whenever a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()
        """Kinds that cannot be written; ``*`` for everything."""
        self.unreadable = False
        self.follows: list[int] = []
        self.stop_following_after: int | None = None

    def _try(self, drafts: Sequence[Draft]) -> None:
        if EVERYTHING in self.broken or any(draft.event.kind in self.broken for draft in drafts):
            raise Unavailable("The disk is full.")

    async def append(self, task_id: str, drafts: Sequence[Draft], *, expected_sequence: int | None = None) -> Sequence[Recorded]:
        self._try(drafts)
        return await super().append(task_id, drafts, expected_sequence=expected_sequence)

    async def decide(self, task_id: str, deciding: Deciding) -> Sequence[Recorded]:
        self._try(())
        return await super().decide(task_id, deciding)

    async def task(self, task_id: str) -> TaskView | None:
        if self.unreadable:
            raise Unavailable("The disk is gone.")
        return await super().task(task_id)

    async def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        self.follows.append(after)
        async for batch in super().follow(after=after):
            yield batch
            if self.stop_following_after is not None and batch[-1].position >= self.stop_following_after:
                self.stop_following_after = None
                raise Unavailable("The disk was gone for a moment.")


@asynccontextmanager
async def a_failing_desk(**options: Any) -> AsyncIterator[tuple[tw.Desk, FailingLedger]]:
    """Open a desk on a ledger that can be made to fail; it has no patience unless a test gives it some."""
    ledger = FailingLedger()
    chosen = {"sweep_seconds": 3600, "patience_seconds": 0, **options}
    async with tw.Desk(ledger, clock=FakeClock(), ids=TimeOrderedIds(), **chosen) as desk:
        yield desk, ledger
