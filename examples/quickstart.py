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


async def main() -> None:
    """Propose the call, let Ann approve it, and use the result."""
    async with desk, desk.task("Book the trip the user chose") as trip:
        call = trip.call(book, itinerary_id="it-7", total=Decimal("412.50"), currency="EUR")

        # In your application this is a click on the card. Who Ann is and what she may do is for your `authenticate=` to say.
        ann = tw.Actor(id="ann", roles=frozenset({"finance"}))
        invocation = await call.invocation_id()
        await desk.approve(invocation, by=ann, reason="within budget")

        outcome = await call
        if outcome.commit:
            print(f"{outcome.kind}: {outcome.value}")
        else:
            print(f"{outcome.which}: {outcome.why}")


if __name__ == "__main__":
    asyncio.run(main())
