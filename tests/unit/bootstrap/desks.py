"""Desks for tests, and waiting for what is recorded instead of for time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import toolwitness as tw
from toolwitness.core.evidence import Kind
from toolwitness.ports import Recorded

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
BOB = tw.Actor(id="bob", roles=frozenset({"finance"}))
EVE = tw.Actor(id="eve")


@asynccontextmanager
async def a_desk(url: str = "memory:", **options: object) -> AsyncIterator[tw.Desk]:
    """Open, start and close a desk whose sweeper leaves deadlines to the test."""
    async with tw.open(url, **{"sweep_seconds": 3600, **options}) as desk:
        yield desk


async def until(holds: Callable[[], Awaitable[object]], *, patience_seconds: float = 10.0) -> object:
    """Wait until something holds that another task brings about."""
    async with asyncio.timeout(patience_seconds):
        while not (found := await holds()):  # noqa: ASYNC110 - what holds is read from the record, which rings no bell
            await asyncio.sleep(0)
    return found


async def until_state(desk: tw.Desk, invocation_id: str, *states: tw.State) -> None:
    """Wait until the record is in one of ``states``."""

    async def there() -> bool:
        return (await desk.record(invocation_id)).state in states

    await until(there)


async def events(desk: tw.Desk, invocation_id: str) -> list[Recorded]:
    """Give the recorded events of one call."""
    return list(await desk.ledger.read(invocation_id=invocation_id))


async def kinds(desk: tw.Desk, invocation_id: str) -> list[str]:
    """Give the kinds of the recorded events of one call, in order."""
    return [recorded.event.kind for recorded in await events(desk, invocation_id)]


__all__ = ["ANN", "BOB", "EVE", "Kind", "a_desk", "events", "kinds", "until", "until_state"]
