"""The ledger's news, for recorders that wait: one follower while anybody waits, and requests to cancel, each for its own body."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from toolwitness.core.evidence import Kind
from toolwitness.service.workplace import Workplace


class Stoppable(Protocol):
    """Whatever a cancellation request can be passed on to: a guarded body, or a request that is out."""

    def request_stop(self, reason: str) -> object:
        """Ask it, and nothing else, to stop."""
        ...


class News:
    """Follows the ledger while anybody waits for it."""

    def __init__(self, place: Workplace, name: str) -> None:
        """Follow the ledger of ``place``; ``name`` is the follower's among the tasks of the loop."""
        self._place = place
        self._name = name
        self._bodies: dict[str, Stoppable] = {}
        self._arrived = asyncio.Event()
        self._follower: asyncio.Task[None] | None = None
        self._followed = 0

    def forget(self) -> None:
        """Count only what comes from now on as news; to be called before looking, so that nothing between is missed."""
        self._arrived.clear()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for news, at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), seconds)

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        """Follow the ledger while this lasts."""
        self._followed += 1
        if self._follower is None:
            after = await self._place.ledger.head()
            self._follower = asyncio.create_task(self._follow(after), name=self._name)
        try:
            yield
        finally:
            self._followed -= 1
            follower = self._follower
            if self._followed == 0 and follower:
                follower.cancel()
                self._follower = None

    @asynccontextmanager
    async def holding(self, invocation_id: str, body: Stoppable) -> AsyncGenerator[None]:
        """Pass cancellation requests for this call, and for no other, on to its body."""
        self._bodies[invocation_id] = body
        try:
            async with self.following():
                yield
        finally:
            del self._bodies[invocation_id]

    async def _follow(self, after: int) -> None:
        async for batch in self._place.ledger.follow(after=after):
            for recorded in batch:
                event = recorded.event
                body = self._bodies.get(event.invocation_id or "")
                if body is not None and event.kind == Kind.CANCEL_REQUESTED and not event.refusal:
                    body.request_stop(str(event.data.get("reason") or f"requested by {event.data.get('actor')}"))
            self._arrived.set()
