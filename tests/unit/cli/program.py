"""A program as a user would write it: it makes one call, says its id, waits for its outcome, and says that too."""

import asyncio
import json
import sys

import toolwitness as tw
from toolwitness.core.states import State


def say(**facts: object) -> None:
    """Say one line to whoever started the program."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Pay, once somebody has approved; or wait for ever, until somebody cancels."""
    ran = 0
    async with tw.open("calls.db") as desk:

        @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["total", "currency", "recipient"])
        async def pay(total: str, currency: str, recipient: str) -> str:
            nonlocal ran
            ran += 1
            tw.effect_observed("payment", reference="NWP-1", amount=total, currency=currency, recipient=recipient)
            return f"paid {total} {currency}"

        @desk.tool(consequences=[tw.READ_ONLY])
        async def wait_for_ever() -> str:
            nonlocal ran
            ran += 1
            await asyncio.Event().wait()
            return "never"

        async with desk.task("Pay for the trip") as trip:
            slow = "slow" in sys.argv
            call = trip.call(wait_for_ever) if slow else trip.call(pay, total="412.50", currency="EUR", recipient="Nordwind Travel")
            wanted = State.RUNNING if slow else State.AWAITING_APPROVAL
            invocation_id = await call.invocation_id()
            async for _ in desk.follow():
                if (await desk.record(invocation_id)).state is wanted:
                    break
            say(waiting=invocation_id)
            outcome = await call
            say(kind=outcome.kind, value=outcome.value, ran=ran)


asyncio.run(main())
