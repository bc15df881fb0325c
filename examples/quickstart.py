"""The quickstart of the documentation: one tool that needs a person, and a person who says yes.

Run it with ``python examples/quickstart.py``; a test does.
"""

import asyncio
from dataclasses import dataclass
from decimal import Decimal

import toolwitness as tw

desk = tw.open("calls.db")


@dataclass(frozen=True)
class Booking:
    """What the provider answers; a result of another shape is refused and shown."""

    reference: str
    total: Decimal


@desk.tool(consequences=[tw.EXTERNALLY_VISIBLE, tw.FINANCIAL], approvers=["role:finance"], approval_seconds=300)
async def book(itinerary_id: str, total: Decimal, currency: str) -> Booking:
    """Buy the itinerary."""
    return Booking(reference=f"ref-{itinerary_id}-{currency}", total=total)


async def ann() -> None:
    """Say yes when asked. In your application this is a click on the card, and `authenticate=` says who clicked."""
    actor = tw.Actor(id="ann", roles=frozenset({"finance"}))
    async for batch in desk.follow():
        for event in (recorded.event for recorded in batch):
            if event.kind == "approval.requested" and event.invocation_id:
                await desk.approve(event.invocation_id, by=actor, reason="within budget")
                return


async def main() -> None:
    """Make the call, wait until it has ended, and use the result."""
    async with desk, desk.task("Book the trip the user chose") as trip:
        person = asyncio.create_task(ann())
        outcome = await trip.call(book, itinerary_id="it-7", total=Decimal("412.50"), currency="EUR")
        if outcome.commit:
            print(f"{outcome.kind}: {outcome.value}")
        else:
            print(f"{outcome.which}: {outcome.why}")
        await person


if __name__ == "__main__":
    asyncio.run(main())
