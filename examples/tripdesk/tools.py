"""TripDesk's tools: ordinary functions, each declared with what it does to the world."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import toolwitness as tw
from tripdesk.world import World, hotels, itineraries


@dataclass
class Booking:
    """What the booking provider confirms."""

    reference: str
    itinerary_id: str
    amount: str
    currency: str
    recipient: str


@dataclass
class Tools:
    """The declared tools, by the names that the trip uses."""

    search_flights: Any
    search_hotels: Any
    search_rail: Any
    write_summary: Any
    book_itinerary: Any
    choose_seat: Any
    mail_itinerary: Any
    share_calendar: Any
    offer_insurance: Any
    hold_price: Any
    charge_deposit: Any
    hold_seat: Any
    pack_documents: Any


def declare(desk: tw.Desk, world: World) -> Tools:
    """Declare every tool at the desk."""
    return Tools(**_searches(desk, world), **_money(desk, world), **_errands(desk, world))


def _searches(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(title="Search flights", consequences=[tw.READ_ONLY])
    async def search_flights(origin: str, destination: str, day: str) -> dict[str, Any]:
        for percent, said in ((10, "asked three carriers"), (40, "one of three answered"), (80, "two of three answered")):
            tw.progress(said, percent=percent)
            await asyncio.sleep(world.seconds(2))
        return itineraries()

    @desk.tool(
        title="Search hotels", consequences=[tw.READ_ONLY], retry_attempts=3, retry_categories=["upstream-unavailable"],
        alternate_routes=["continue without a hotel"],
    )  # fmt: skip  # facts in lines
    async def search_hotels(city: str, nights: int) -> dict[str, Any]:
        await asyncio.sleep(world.seconds(4))
        if not world.hotels_are_up():
            raise tw.ToolFailure("upstream-unavailable", "The hotel service did not answer.", retryable="yes")
        return hotels()

    @desk.tool(title="Search trains", consequences=[tw.READ_ONLY])
    async def search_rail(origin: str, destination: str) -> AsyncIterator[str]:
        try:
            for number in range(1, 121):
                await asyncio.sleep(world.seconds(0.5))
                tw.progress(f"{number} of about 120 connections read", percent=number * 100 // 120)
                yield f"{origin} → {destination}, {6 + number % 16:02d}:{number * 7 % 60:02d}, {1 + number % 4} changes"
            await asyncio.sleep(world.patience_seconds)
        except asyncio.CancelledError:
            world.trains_were_stopped = True
            raise

    @desk.tool(title="Summarise the routes", consequences=[tw.READ_ONLY])
    async def write_summary(style: str) -> str:
        await asyncio.sleep(world.seconds(2))
        return f"Two flights and two hotels fit. {world.about_trains()}"

    return {"search_flights": search_flights, "search_hotels": search_hotels, "search_rail": search_rail, "write_summary": write_summary}


def _money(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(
        title="Reserve itinerary", consequences=[tw.EXTERNALLY_VISIBLE, tw.PERMISSION_GATED, tw.FINANCIAL], approvers=["role:finance"],
        approval_seconds=world.no_less_than_patience(300), scope=["itinerary_id", "total", "currency", "recipient", "terms"],
        commitment_boundary="the provider accepts the purchase request", expected_effects=["provider reservation", "payment of the total"],
        recovery=["ask the provider for a void within 30 minutes", "dispute the charge"],
        alternate_routes=["return to itinerary selection", "continue without booking"],
    )  # fmt: skip  # facts in lines
    async def book_itinerary(itinerary_id: str, total: Decimal, currency: str, recipient: str, terms: str) -> Booking:
        await asyncio.sleep(world.seconds(2))
        tw.crossed_commitment("the provider accepted the purchase request")
        charge = world.charge(str(total), currency, recipient)
        tw.effect_observed("payment", reference=charge["reference"], amount=charge["amount"], currency=currency, recipient=recipient)
        return Booking(charge["reference"], itinerary_id, charge["amount"], currency, recipient)

    @desk.tool(
        title="Hold the price", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=world.seconds(45),
        expected_effects=["a held price"],
    )  # fmt: skip  # facts in lines
    async def hold_price(itinerary_id: str, minutes: int) -> str:
        await asyncio.sleep(world.seconds(1))
        tw.effect_observed("price held", reference=f"hold-{itinerary_id}", recipient="Nordwind Travel")
        return f"held for {minutes} minutes"

    @desk.tool(
        title="Charge the deposit", consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["amount", "currency", "recipient"],
        commitment_boundary="the provider has the charge", expected_effects=["a charge"], recovery=["ask the provider for a refund"],
    )  # fmt: skip  # facts in lines
    def charge_deposit(amount: str, currency: str, recipient: str) -> dict[str, str]:
        charge = world.charge_slowly(amount, currency, recipient, asked_to_stop=tw.stop_requested)
        tw.effect_observed("charge", reference=charge["reference"], amount=amount, currency=currency, recipient=recipient)
        return charge

    return {"book_itinerary": book_itinerary, "hold_price": hold_price, "charge_deposit": charge_deposit}


def _errands(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(title="Choose a seat", consequences=[tw.READ_ONLY], input_seconds=world.no_less_than_patience(600))
    async def choose_seat(flight: str, seat: str) -> str:
        await asyncio.sleep(world.seconds(1))
        return f"{seat} on {flight} is free"

    @desk.tool(title="Mail the itinerary", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], scope=["to"])
    async def mail_itinerary(to: str, subject: str) -> str:
        tw.effect_observed("mail sent", reference=f"mail-{to}", recipient=to)
        return f"mailed {subject} to {to}"

    @desk.tool(title="Share the calendar", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], scope=["with_whom"])
    async def share_calendar(with_whom: str) -> str:
        tw.effect_observed("calendar shared", reference=f"share-{with_whom}", recipient=with_whom)
        return f"shared with {with_whom}"

    @desk.tool(title="Offer travel insurance", consequences=[tw.READ_ONLY])
    async def offer_insurance(itinerary_id: str) -> str:
        await asyncio.sleep(world.seconds(1))
        return f"insurance for {itinerary_id} would cost EUR 19.00"

    @desk.tool(
        title="Hold a train seat", consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="travel mandate 12",
        expected_effects=["a held seat"],
    )  # fmt: skip  # facts in lines
    async def hold_seat(train: str) -> str:
        tw.progress("asked the railway, which answers slowly")
        await asyncio.sleep(world.no_less_than_patience(60))
        tw.effect_observed("seat held", reference="NT-341-77", recipient="the railway", resource=f"night train {train}")
        return "held"

    @desk.tool(title="Pack the documents", consequences=[tw.READ_ONLY])
    async def pack_documents(names: list[str]) -> dict[str, Any]:
        left = list(names)
        while left:
            await asyncio.sleep(world.seconds(4))
            tw.part_completed(left[0], open=left[1:])
            left.pop(0)
        return {"packed": names}

    return {
        "choose_seat": choose_seat, "mail_itinerary": mail_itinerary, "share_calendar": share_calendar, "offer_insurance": offer_insurance,
        "hold_seat": hold_seat, "pack_documents": pack_documents,
    }  # fmt: skip  # facts in lines
