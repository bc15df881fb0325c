"""A model made three calls at once: one is read, one is denied, one still waits. Its next turn is told of all three.

Run it with ``python examples/tool_messages.py``; a test does.
"""

import asyncio
import json
from typing import Any

import toolwitness as tw

desk = tw.open("memory:")


@desk.tool(consequences=[tw.READ_ONLY])
async def search_flights(origin: str) -> dict[str, int]:
    """Look, and change nothing."""
    return {"flights": 2}


@desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
async def book(itinerary: str) -> str:
    """Buy the itinerary."""
    return f"booked {itinerary}"


asked_for: dict[str, Any] = {  # what the provider's SDK gave as the assistant's message
    "role": "assistant",
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "search_flights", "arguments": '{"origin":"LHR"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "book", "arguments": '{"itinerary":"it-7"}'}},
        {"id": "call_3", "type": "function", "function": {"name": "book", "arguments": '{"itinerary":"it-8"}'}},
    ],
}


async def main() -> None:
    """Make the calls, deny one of them, and print what the model's next turn begins with."""
    ann = tw.Actor(id="ann", roles=frozenset({"finance"}))
    async with desk, desk.task("Book the trip the user chose") as trip:
        calls = [
            trip.call(
                row["function"]["name"], inputs=json.loads(row["function"]["arguments"]), provider_call_id=row["id"], proposer="model"
            )
            for row in asked_for["tool_calls"]
        ]
        await calls[0]
        await until_it_waits(await calls[1].invocation_id())
        await desk.deny(await calls[1].invocation_id(), by=ann, reason="it-7 is over budget")

        turn = [row["id"] for row in asked_for["tool_calls"]]
        messages = [asked_for, *await desk.tool_messages(trip, "openai", only=turn)]
        for message in messages[1:]:
            print(f"{message['tool_call_id']}: {message['content']}")


async def until_it_waits(invocation_id: str) -> None:
    """Wait until an approval was asked for. In your application ann sees the card and clicks."""
    async for _ in desk.follow():
        if (await desk.record(invocation_id)).state is tw.State.AWAITING_APPROVAL:
            return


if __name__ == "__main__":
    asyncio.run(main())
