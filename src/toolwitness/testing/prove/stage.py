"""A stage: where a script runs, with a desk or without one, and what its tools really did."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.bootstrap.desk import Desk
from toolwitness.core.record import InvocationRecord
from toolwitness.core.verdicts import Actor
from toolwitness.service import views

ANA: Final = Actor(id="ana", roles=frozenset({"approver", "finance"}))
BEN: Final = Actor(id="ben", roles=frozenset({"approver", "finance"}))
_PATIENCE: Final = 10.0
"""Seconds after which a script that waits for something is told that it will not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one half of a scene came to."""

    told: str
    """What a person who watches was told."""
    happened: str
    """What the tools really did."""
    holds: bool
    """Whether the two agree; computed by the same line for both halves."""


@dataclass(slots=True)
class Stage:
    """One run of one script."""

    desk: Desk | None = None
    """Where toolwitness records; ``None`` under the framework alone."""
    effects: list[str] = field(default_factory=list[str])
    """What the tools really did, in order, written by the tools themselves."""

    @property
    def paid(self) -> str:
        """What happened, in words that a table can hold."""
        return counted(self.effects)

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until the world says so.

        Raises:
            TimeoutError: it never does.
        """
        async with asyncio.timeout(_PATIENCE):
            while not (found := holds()):  # noqa: ASYNC110 -- a framework sets no event of ours; what it did is looked at
                await asyncio.sleep(0.005)
            return found

    async def records(self) -> list[InvocationRecord]:
        """Give every call on record, in order of proposal; none where there is no desk."""
        if self.desk is None:
            return []
        found: list[InvocationRecord] = []
        for task_id in reversed(await self.desk.ledger.tasks()):
            view = await self.desk.ledger.task(task_id)
            found += view.records.values() if view is not None else ()
        return found

    async def record(self, holds: Callable[[InvocationRecord], Any]) -> InvocationRecord:
        """Wait for a call on record of which ``holds`` is true.

        Raises:
            TimeoutError: there never is one.
        """
        async with asyncio.timeout(_PATIENCE):
            while True:
                for record in await self.records():
                    if holds(record):
                        return record
                await asyncio.sleep(0.005)

    async def waiting(self, tool: str = "") -> InvocationRecord:
        """Wait until a call (of ``tool``) asks for an approval at the desk."""
        return await self.record(lambda record: record.open_approval is not None and tool in {"", record.tool})

    async def card(self, record: InvocationRecord) -> str:
        """Give what the card says at its top: the state, and the first headline where it has one."""
        if self.desk is None:
            return ""
        shown = await views.card(self.desk.place, record.id, ANA)
        headlines = [strip["headline"] for strip in shown["findings"]]
        return "; ".join([shown["label"], *(headline.rstrip(".") for headline in headlines[:1])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One script, and what it asks."""

    title: str
    """What is done, in the words of somebody who has been bitten by it."""
    script: Callable[[Stage], Awaitable[Seen]]
    source: str = ""
    """Where the framework's behaviour was reported or measured, for those who want to look."""


def counted(effects: Sequence[str]) -> str:
    """Count equal effects: ``paid 120 twice``."""
    if not effects:
        return "nothing ran"
    times = {1: "once", 2: "twice"}
    told = [f"{effect} {times.get(effects.count(effect), f'{effects.count(effect)} times')}" for effect in dict.fromkeys(effects)]
    return ", ".join(told)
