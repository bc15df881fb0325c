"""TripDesk's tools: ordinary functions, each declared with what it does to the world."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tripdesk.world import World, itineraries

import toolwitness as tw


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
    searches = _searches(desk, world)
    return Tools(**searches, **_money(desk, world), **_errands(desk, world))


def _searches(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(title="Search flights", consequences=[tw.READ_ONLY])
    async def search_flights(origin: str, destination: str, day: str) -> dict[str, Any]:
        tw.progress("asked three carriers", percent=30)
        await asyncio.sleep(world.seconds(1.2))
        tw.progress("two of three answered", percent=80)
        await asyncio.sleep(world.seconds(0.6))
        return itineraries()

    @desk.tool(
        title="Search hotels", consequences=[tw.READ_ONLY], retry_attempts=3, retry_categories=["upstream-unavailable"],
        alternate_routes=["continue without a hotel"],
    )  # fmt: skip  # facts in lines
    async def search_hotels(city: str, nights: int) -> dict[str, Any]:
        await asyncio.sleep(world.seconds(0.9))
        if not world.hotels_are_up():
            raise tw.ToolFailure("upstream-unavailable", "The hotel service did not answer.", retryable="yes")
        return {"hotels": [{"name": "Grand Hôtel d’Oslo", "night": "141.00", "currency": "EUR"}, {"name": "فندق الشمال", "night": "118.00", "currency": "EUR"}]}

    @desk.tool(title="Search trains", consequences=[tw.READ_ONLY])
    async def search_rail(origin: str, destination: str) -> AsyncIterator[str]:
        for number in range(1, 121):
            await asyncio.sleep(world.seconds(0.35))
            tw.progress(f"{number} of about 120 connections read", percent=number * 100 // 120)
            yield f"{origin} → {destination}, {6 + number % 16:02d}:{number * 7 % 60:02d}, {1 + number % 4} changes"

    @desk.tool(title="Summarise the routes", consequences=[tw.READ_ONLY])
    async def write_summary(style: str) -> str:
        await asyncio.sleep(world.seconds(0.8))
        return "Two flights and two hotels fit. The train search was stopped; no claim is made about trains."

    return {"search_flights": search_flights, "search_hotels": search_hotels, "search_rail": search_rail, "write_summary": write_summary}


def _money(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(
        title="Reserve itinerary", consequences=[tw.EXTERNALLY_VISIBLE, tw.PERMISSION_GATED, tw.FINANCIAL], approvers=["role:finance"],
        approval_seconds=world.seconds(300), scope=["itinerary_id", "total", "currency", "recipient", "terms"],
        commitment_boundary="When the provider accepts the purchase. After that only a change or a dispute.",
        expected_effects=["provider reservation", "payment of the total"],
        recovery=["ask the provider for a void within 30 minutes", "dispute the charge"],
        alternate_routes=["return to itinerary selection", "continue without booking"],
    )  # fmt: skip  # facts in lines
    async def book_itinerary(itinerary_id: str, total: Decimal, currency: str, recipient: str, terms: str) -> Booking:
        await asyncio.sleep(world.seconds(0.6))
        tw.crossed_commitment("the provider accepted the purchase request")
        charge = world.charge(str(total), currency, recipient)
        tw.effect_observed(
            "payment", reference=charge["reference"], amount=charge["amount"], currency=currency, recipient=recipient,
            provider_reference=charge["reference"],
        )  # fmt: skip  # facts in lines
        return Booking(charge["reference"], itinerary_id, charge["amount"], currency, recipient)

    @desk.tool(
        title="Hold the price", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=world.seconds(12),
        expected_effects=["a held price"],
    )  # fmt: skip  # facts in lines
    async def hold_price(itinerary_id: str, minutes: int) -> str:
        await asyncio.sleep(world.seconds(0.4))
        tw.effect_observed("price held", reference=f"hold-{itinerary_id}")
        return f"held for {minutes} minutes"

    @desk.tool(
        title="Charge the deposit", consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["amount", "currency", "recipient"],
        commitment_boundary="When the provider has the charge.", expected_effects=["a charge"],
    )  # fmt: skip  # facts in lines
    def charge_deposit(amount: str, currency: str, recipient: str) -> dict[str, str]:
        charge = world.charge_slowly(amount, currency, recipient)
        tw.effect_observed("charge", reference=charge["reference"], provider_reference=charge["reference"], amount=amount, currency=currency, recipient=recipient)
        return charge

    return {"book_itinerary": book_itinerary, "hold_price": hold_price, "charge_deposit": charge_deposit}


def _errands(desk: tw.Desk, world: World) -> dict[str, Any]:
    @desk.tool(title="Choose a seat", consequences=[tw.READ_ONLY], input_seconds=world.seconds(600))
    async def choose_seat(flight: str, seat: str) -> str:
        await asyncio.sleep(world.seconds(0.3))
        return f"{seat} on {flight} is free"

    @desk.tool(title="Mail the itinerary", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], scope=["to"])
    async def mail_itinerary(to: str, subject: str) -> str:
        return f"mailed {subject} to {to}"

    @desk.tool(title="Share the calendar", consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], scope=["with_whom"])
    async def share_calendar(with_whom: str) -> str:
        return f"shared with {with_whom}"

    @desk.tool(title="Offer travel insurance", consequences=[tw.READ_ONLY])
    async def offer_insurance(itinerary_id: str) -> str:
        return "offered"

    @desk.tool(title="Hold a train seat", consequences=[tw.EXTERNALLY_VISIBLE], standing_authorization="travel mandate 12", expected_effects=["a held seat"])
    async def hold_seat(train: str) -> str:
        tw.progress("asked the railway")
        await asyncio.sleep(world.seconds(60))
        return "held"

    @desk.tool(title="Pack the documents", consequences=[tw.READ_ONLY])
    async def pack_documents(names: list[str]) -> dict[str, Any]:
        left = list(names)
        while left:
            await asyncio.sleep(world.seconds(0.5))
            tw.part_completed(left[0], open=left[1:])
            left.pop(0)
        return {"packed": names}

    return {
        "choose_seat": choose_seat, "mail_itinerary": mail_itinerary, "share_calendar": share_calendar, "offer_insurance": offer_insurance,
        "hold_seat": hold_seat, "pack_documents": pack_documents,
    }  # fmt: skip  # facts in lines
