"""Tools that several scripts share: a payment that a thread holds on to, and three bookings of which one is slow."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from toolwitness.core.states import TERMINAL, State
from toolwitness.testing.prove.stage import ANA, Seen, Stage

Booking = Callable[[], Awaitable[str]]
BOOKINGS: Final = ("flight", "hotel", "rail")


@dataclass(slots=True)
class Payment:
    """A payment that waits in its thread until the script lets it go."""

    stage: Stage
    entered: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def tool(self) -> Callable[[int], str]:
        """Give the tool."""

        def pay(total: int) -> str:
            """Pay."""
            self.entered.set()
            self.let_go.wait(5)
            self.stage.effects.append(f"paid {total}")
            return f"paid {total}"

        return pay

    async def landed(self, told: str) -> Seen:
        """Let it go, wait until it has landed, and say what was told until then and, where there is a desk, what its card says after."""
        if self.stage.desk is not None:
            told = await self.stage.card((await self.stage.records())[0])
        self.let_go.set()
        await self.stage.until(lambda: self.stage.effects)
        if self.stage.desk is not None:
            told += f" … then: {await self.stage.card(await self.stage.record(lambda record: record.state in TERMINAL))}"
        return Seen(told=told, happened=self.stage.paid, holds=bool(self.stage.effects) == told.endswith("Succeeded"))


@dataclass(slots=True)
class Trip:
    """Three bookings at once: flight and hotel end when the slow train does."""

    stage: Stage
    begun: list[str] = field(default_factory=list[str])
    slow_is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def tools(self) -> tuple[Booking, Booking, Booking]:
        """Give the three tools, in the order of ``BOOKINGS``."""

        async def rail() -> str:
            """Ride."""
            self.begun.append("rail")
            try:
                await asyncio.sleep(30)
            finally:
                self.slow_is_over.set()
            return "never"

        return self._quick("flight"), self._quick("hotel"), rail

    def _quick(self, name: str) -> Booking:
        async def book() -> str:
            """Book."""
            self.begun.append(name)
            await self.slow_is_over.wait()
            self.stage.effects.append(f"{name} booked")
            return f"{name} booked"

        book.__name__ = name
        return book

    async def stop_the_slow_one(self, stop_the_run: Callable[[], object]) -> None:
        """Wait until all have begun; stop the train alone where there is a desk, and else the run: there is nothing smaller to stop."""
        await self.stage.until(lambda: len(self.begun) == len(BOOKINGS))
        if self.stage.desk is None:
            stop_the_run()
            return
        slow = await self.stage.record(lambda record: record.tool == "rail" and record.state is State.RUNNING)
        await self.stage.desk.request_cancellation(slow.id, by=ANA, reason="too slow")

    async def ended(self, run: Awaitable[object]) -> Seen:
        """Wait for the run, and say what became of the three."""
        (ended,) = await asyncio.gather(run, return_exceptions=True)
        if self.stage.desk is None:
            told = "the whole run is cancelled" if isinstance(ended, BaseException) else "done"
        else:
            told = ", ".join(f"{record.tool} {record.state}" for record in await self.stage.records())
        return Seen(told=told, happened=self.stage.paid, holds=sorted(self.stage.effects) == ["flight booked", "hotel booked"])
