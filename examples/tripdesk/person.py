"""A scripted person: reads the API and clicks through it, with the same requests that the page sends."""

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from tripdesk.trip import Trip

_PATIENCE_SECONDS = 60.0


class GaveUp(Exception):
    """What the person waited for did not happen."""


class Person:
    """Somebody with a key to the API. Says each click to ``say`` before making it."""

    def __init__(self, base: str, key: str, *, say: Callable[[str], None]) -> None:
        self._base = base.rstrip("/")
        self._key = key
        self._say = say

    async def read(self, path: str) -> dict[str, Any]:
        """Read one document."""
        return await asyncio.to_thread(self._send, "GET", path, None)

    async def click(self, invocation_id: str, action: str, **body: Any) -> dict[str, Any]:
        """Press one button; a refusal comes back as the problem document that the page would show."""
        self._say(f"{action.replace('_', ' ')} · {invocation_id}")
        return await asyncio.to_thread(self._send, "POST", f"/api/invocations/{invocation_id}/actions/{action}", body)

    async def report(self, event: dict[str, Any]) -> dict[str, Any]:
        """Report what a provider's own webhook said, as a registered source."""
        self._say(f"report {event['type']} · {event['subject']}")
        return await asyncio.to_thread(self._send, "POST", "/api/events", [event])

    async def until(self, invocation_id: str, *states: str) -> dict[str, Any]:
        """Wait until an invocation is in one of ``states``, and give its document."""
        return await self.until_that(f"/api/invocations/{invocation_id}", lambda d: d["state"] in states, f"{invocation_id} in {states}")

    async def until_that(self, path: str, holds: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Wait until what a path shows holds."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            seen = await self.read(path)
            if holds(seen):
                return seen
            await asyncio.sleep(0.02)
        raise GaveUp(f"waited {_PATIENCE_SECONDS:.0f} s for {what}")

    def _send(self, method: str, path: str, body: Any) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, data=data, method=method, headers=headers)  # noqa: S310 - our own loopback server
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return {"refused": True, **json.loads(error.read())}


async def click_through(person: Person, trip: Trip) -> None:
    """Make the whole story happen: what a careful person would click, and two clicks that must be refused."""
    await asyncio.gather(_trip(person, trip), _errands(person, trip))


async def _trip(person: Person, trip: Trip) -> None:
    calls = trip.calls
    await person.until(calls["rail"], "streaming")
    await person.until(calls["hotel"], "failed")
    await person.click(calls["rail"], "request_cancellation", reason="the flight is good enough")
    again = await person.click(calls["hotel"], "retry", reason="try once more")
    calls["hotel_2"] = again["document"]["identity"]["invocationId"]
    await person.until(calls["rail"], "cancelled")
    await person.until(calls["flight"], "succeeded")
    await person.until(calls["hotel_2"], "succeeded")
    await person.until(calls["summary"], "succeeded")
    while "booking" not in calls:
        await asyncio.sleep(0.02)
    asked = await person.until(calls["booking"], "awaiting_approval")
    bound = {"approvalId": asked["authorization"]["approvalId"], "inputsDigest": asked["authorization"]["inputsDigest"]}
    await person.click(calls["booking"], "approve", **bound)
    await person.click(calls["booking"], "approve", **bound)
    await person.until(calls["booking"], "succeeded")
    await person.click(calls["rail"], "waive_child", reason="the trains are not needed any more")
    await person.until_that(f"/api/tasks/{trip.task}", lambda d: d["task"]["state"] == "succeeded", "the trip complete")


async def _errands(person: Person, trip: Trip) -> None:
    calls = trip.calls
    await person.until(calls["mail"], "awaiting_approval")
    await person.click(calls["mail"], "deny", reason="not to the whole office")
    await person.until(calls["share"], "awaiting_approval")
    await person.click(calls["share"], "withdraw", reason="asked by mistake")
    await person.click(calls["insurance"], "dismiss", reason="no insurance wanted")
    await person.until(calls["seat"], "awaiting_input")
    await person.click(calls["seat"], "supply_input", fields={"seat": "14C"})
    await person.until(calls["seat"], "succeeded")
    await _late(person, trip)
    await person.until(calls["hold"], "expired")
    await person.click(calls["hold"], "approve")
    replaced = await person.click(calls["hold"], "request_approval_again")
    calls["hold_2"] = replaced["document"]["identity"]["invocationId"]
    await person.until(calls["hold_2"], "awaiting_approval")
    await person.click(calls["hold_2"], "approve")
    await person.until(calls["hold_2"], "succeeded")
    await person.until(calls["papers"], "succeeded")


async def _late(person: Person, trip: Trip) -> None:
    """Stop a thread that cannot be stopped, and a task whose provider had already taken the order."""
    calls = trip.calls
    await person.until(calls["deposit"], "awaiting_approval")
    await person.click(calls["deposit"], "approve")
    await person.until(calls["deposit"], "running")
    await person.click(calls["deposit"], "request_cancellation", reason="too soon to pay")
    await person.until(calls["train"], "running", "streaming")
    await person.click(calls["train"], "request_cancellation", reason="the flight is booked")
    await person.until(calls["train"], "cancelled")
    await person.report(railway_webhook(trip))
    await person.until(calls["deposit"], "succeeded")
    await person.click(calls["train"], "reconcile", fields={"conclusion": "the seat was held and released again", "reference": "NT-341-77"})


def railway_webhook(trip: Trip) -> dict[str, Any]:
    """Give what the railway's webhook reports after the call was cancelled: the seat is held all the same."""
    return {
        "specversion": "1.0", "id": "railway-77", "source": "provider:railway", "type": "toolcall.effect.observed",
        "subject": trip.calls["train"], "taskid": trip.errands, "owner": "runtime",
        "data": {"effect": "seat held", "reference": "NT-341-77", "resource": "night train NT 341"},
    }  # fmt: skip  # facts in lines
