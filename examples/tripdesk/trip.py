"""The trip: an agent's calls, in parallel and in turn. What the person decides happens elsewhere, on the page."""

import asyncio
from dataclasses import dataclass

import toolwitness as tw
from tripdesk.tools import Tools, declare
from tripdesk.world import World

PURPOSE = "Book the trip the user chose"
ERRANDS = "Everything around the trip"


@dataclass
class Trip:
    """The two tasks of the demo and the ids of the calls that a person has to do with."""

    task: str
    errands: str
    calls: dict[str, str]
    night_train: tw.Call
    """The seat on the night train, which somebody may cancel too late."""


async def begin(desk: tw.Desk, world: World) -> tuple[Trip, "asyncio.Task[None]"]:
    """Open the tasks, make every call that the agent makes at once, and give what a person needs to follow, with the agent that goes on."""
    tools = declare(desk, world)
    async with desk.task(PURPOSE) as trip, desk.task(ERRANDS) as errands:
        calls = _searches(trip, tools)
        flight = calls["flight"]
        calls |= _errands(errands, tools)
        ids = {name: await call.invocation_id() for name, call in calls.items()}
        return Trip(trip.id, errands.id, ids, calls["train"]), asyncio.create_task(_go_on(trip, tools, flight), name="tripdesk")


def _searches(trip: tw.TaskHandle, tools: Tools) -> dict[str, tw.Call]:
    """Search flights, hotels and trains side by side, and propose the summary that waits for all three."""
    day = tw.from_user("2027-01-14", "message-3")
    flight = trip.call(tools.search_flights, purpose="Search flights Amsterdam → Oslo", origin="AMS", destination="OSL", day=day)
    hotel = trip.call(tools.search_hotels, purpose="Search hotels in Oslo", city="Oslo", nights=4)
    rail = trip.call(tools.search_rail, purpose="Search trains Amsterdam → Oslo", origin="Amsterdam", destination="Oslo")
    summary = trip.synthesis(tools.write_summary, purpose="Summarise the routes", depends_on=[flight, hotel, rail], style="three sentences")
    return {"flight": flight, "hotel": hotel, "rail": rail, "summary": summary}


async def _go_on(trip: tw.TaskHandle, tools: Tools, flight: tw.Call) -> None:
    """Book what the flight search found, once it has; the amount comes from its result and says so."""
    found = await flight
    if not found.commit:
        return
    booking = trip.call(
        tools.book_itinerary, purpose="Reserve itinerary it-7", itinerary_id=tw.from_result(found, "/options/0/id"),
        total=tw.from_result(found, "/options/0/total"), currency=tw.from_result(found, "/options/0/currency"),
        recipient="Nordwind Travel, card ending 4410, once", terms="No refund after issue; change fee € 60",
    )  # fmt: skip  # facts in lines
    await booking.invocation_id()


def _errands(errands: tw.TaskHandle, tools: Tools) -> dict[str, tw.Call]:
    """Make the calls that show the rest of a call's life: asked for input, denied, dismissed, withdrawn, expired, late."""
    seat = errands.call(tools.choose_seat, purpose="Choose a seat on the flight", flight="NW 701")
    mail = errands.call(
        tools.mail_itinerary, purpose="Mail the itinerary to the whole office", to="everybody@example.org", subject="My trip", required="no"
    )
    share = errands.call(tools.share_calendar, purpose="Share the calendar with the airline", with_whom="Nordwind Travel", required="no")
    insurance = errands.call(tools.offer_insurance, purpose="Offer travel insurance", itinerary_id="it-7", depends_on=[seat], required="no")
    hold = errands.call(tools.hold_price, purpose="Hold the price of the cheaper flight", itinerary_id="it-9", minutes=30)
    deposit = errands.call(tools.charge_deposit, purpose="Charge the deposit", amount="50.00", currency="EUR", recipient="Nordwind Travel")
    train = errands.call(tools.hold_seat, purpose="Hold a seat on the night train", train="NT 341", required="no")
    papers = errands.call(tools.pack_documents, purpose="Pack the travel documents", names=["passport copy", "visa", "tickets"])
    return {
        "seat": seat, "mail": mail, "share": share, "insurance": insurance, "hold": hold, "deposit": deposit, "train": train,
        "papers": papers,
    }  # fmt: skip  # facts in lines
