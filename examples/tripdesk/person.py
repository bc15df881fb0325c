"""A scripted person, who clicks through the API with the same requests that the page sends; and a railway that reports by webhook."""

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from tripdesk.trip import Trip

PATIENCE_SECONDS: Final = 60.0
"""How long the person waits for one thing before giving up."""
RAILWAY: Final = "provider:railway"
"""The source under which the railway's webhook is registered."""
_ENDED: Final = frozenset({"succeeded", "failed", "cancelled", "expired"})


class GaveUp(Exception):
    """What the person waited for did not happen."""


class Person:
    """Somebody with a key to the API. Says each click to ``say`` before making it."""

    def __init__(self, base: str, key: str, *, say: Callable[[str], None]) -> None:
        """Work at the API at ``base`` with ``key``."""
        self._base = base.rstrip("/")
        self._key = key
        self._say = say
        self.snapshots: list[dict[str, Any]] = []
        """What the person looked at on the way: the moment in words, the time, and the document as it was then."""

    async def read(self, path: str) -> dict[str, Any]:
        """Read one document."""
        return await asyncio.to_thread(self._send, "GET", path, None)

    async def look(self, moment: str, path: str) -> dict[str, Any]:
        """Read one document and keep it as it is now."""
        document = await self.read(path)
        self.snapshots.append({"moment": moment, "at": datetime.now(UTC).isoformat().replace("+00:00", "Z"), "document": document})
        return document

    async def click(self, invocation_id: str, action: str, **body: Any) -> dict[str, Any]:
        """Press one button and give the answer.

        Raises:
            GaveUp: it was refused, which the story does not expect.
        """
        answer = await self._press(invocation_id, action, body)
        if answer.get("refused"):
            raise GaveUp(f"{action} of {invocation_id} was refused: {answer.get('detail')}")
        return answer

    async def click_in_vain(self, invocation_id: str, action: str, **body: Any) -> dict[str, Any]:
        """Press a button that must be refused, and give the problem document that the page would show.

        Raises:
            GaveUp: it was accepted.
        """
        answer = await self._press(invocation_id, action, body)
        if not answer.get("refused"):
            raise GaveUp(f"{action} of {invocation_id} was accepted, and must not be")
        return answer

    async def _press(self, invocation_id: str, action: str, body: dict[str, Any]) -> dict[str, Any]:
        self._say(f"{action.replace('_', ' ')} · {invocation_id}")
        return await asyncio.to_thread(self._send, "POST", f"/api/invocations/{invocation_id}/actions/{action}", body)

    async def report(self, event: dict[str, Any]) -> dict[str, Any]:
        """Report what a provider's own webhook said, as a registered source."""
        self._say(f"report {event['type']} · {event['subject']}")
        return await asyncio.to_thread(self._send, "POST", "/api/events", [event])

    async def until(self, invocation_id: str, *states: str) -> dict[str, Any]:
        """Wait until an invocation is in one of ``states``, and give its document.

        Raises:
            GaveUp: it took too long, or the call has ended in another way.
        """

        def there(document: dict[str, Any]) -> bool:
            if document["state"] in _ENDED.difference(states):
                raise GaveUp(f"{document['purpose']!r} was to be {' or '.join(states)}, and is {document['state']} for good")
            return document["state"] in states

        return await self.until_that(f"/api/invocations/{invocation_id}", there, f"{invocation_id} to be {' or '.join(states)}")

    async def until_that(self, path: str, holds: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Wait until what a path shows holds.

        Raises:
            GaveUp: it took too long.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            seen = await self.read(path)
            if holds(seen):
                return seen
            await asyncio.sleep(0.02)
        raise GaveUp(f"waited {PATIENCE_SECONDS:.0f} s for {what}")

    def _send(self, method: str, path: str, body: Any) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, data=sent, method=method, headers=headers)  # noqa: S310 - our own loopback server
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
                document: dict[str, Any] = json.loads(answer.read())
                return document
        except urllib.error.HTTPError as error:
            return {"refused": True, **json.loads(error.read())}


async def click_through(person: Person, trip: Trip) -> None:
    """Make the whole story happen: what a careful person would click, and two clicks that must be refused.

    Raises:
        GaveUp: something did not happen.
    """
    try:
        async with asyncio.TaskGroup() as together:
            together.create_task(_trip(person, trip))
            together.create_task(_errands(person, trip))
    except* GaveUp as several:
        raise several.exceptions[0] from None


async def _trip(person: Person, trip: Trip) -> None:
    """Cancel the trains, retry the hotels, approve the booking (and try it twice), and go without the trains."""
    calls, task = trip.calls, f"/api/tasks/{trip.task}"
    await person.until(calls["rail"], "streaming")
    await person.until(calls["hotel"], "failed")
    await person.look("the hotels have failed, the trains still stream", task)
    await person.click(calls["rail"], "request_cancellation", reason="the flight is good enough")
    await person.until(calls["rail"], "cancelled")
    await person.until(calls["flight"], "succeeded")
    await person.look("only the hotels keep the summary waiting", task)
    await person.look("the first attempt at the hotels, before it is retried", f"/api/invocations/{calls['hotel']}")
    again = await person.click(calls["hotel"], "retry", reason="try once more")
    calls["hotel_2"] = again["document"]["identity"]["invocationId"]
    await person.until(calls["hotel_2"], "succeeded")
    await person.until(calls["summary"], "succeeded")
    seen = await person.until_that(task, lambda d: _booking(d) is not None, "the booking to be proposed")
    calls["booking"] = str(_booking(seen))
    asked = await person.until(calls["booking"], "awaiting_approval")
    bound = {"approvalId": asked["authorization"]["approvalId"], "inputsDigest": asked["authorization"]["inputsDigest"]}
    await person.click(calls["booking"], "approve", **bound)
    await person.click_in_vain(calls["booking"], "approve", **bound)
    await person.until(calls["booking"], "succeeded")
    await person.look("only the cancelled trains are left", task)
    await person.click(calls["rail"], "waive_child", reason="the trains are not needed any more")
    await person.until_that(task, lambda d: d["task"]["state"] == "succeeded", "the trip to be complete")
    await person.look("a person has said that the trip can do without the trains", task)


def _booking(task: dict[str, Any]) -> str | None:
    """Find the booking in a task document."""
    return next((call["invocationId"] for call in task["invocations"] if call["tool"] == "book_itinerary"), None)


async def _errands(person: Person, trip: Trip) -> None:
    """Deny, withdraw, dismiss, supply an input, be too late twice, and ask again for an approval that has lapsed."""
    calls = trip.calls
    await person.until(calls["mail"], "awaiting_approval")
    await person.click(calls["mail"], "deny", reason="not to the whole office")
    await person.until(calls["share"], "awaiting_approval")
    await person.click(calls["share"], "withdraw", reason="asked by mistake")
    await person.click(calls["insurance"], "dismiss", reason="no insurance wanted")
    await person.until(calls["seat"], "awaiting_input")
    await person.click(calls["seat"], "supply_input", fields={"seat": "14C"})
    await person.until(calls["seat"], "succeeded")
    await _too_late(person, trip)
    await person.until(calls["hold"], "expired")
    await person.click_in_vain(calls["hold"], "approve")
    calls["hold_2"] = await _hold_again(person, calls["hold"])
    await person.until(calls["hold_2"], "succeeded")
    await person.until(calls["papers"], "succeeded")


async def _hold_again(person: Person, expired: str) -> str:
    """Ask again for the approval that lapsed, and approve it before it lapses too; on a very busy machine that takes more than one try."""
    for _ in range(20):
        replaced = await person.click(expired, "request_approval_again")
        expired = replaced["document"]["identity"]["invocationId"]
        try:
            await person.click(expired, "approve")
        except GaveUp:
            await person.until(expired, "expired")
        else:
            return expired
    raise GaveUp("the held price lapsed twenty times before it could be approved")


async def _too_late(person: Person, trip: Trip) -> None:
    """Stop a thread that cannot be stopped, and a task whose provider had already taken the order."""
    calls = trip.calls
    await person.until(calls["deposit"], "awaiting_approval")
    await person.click(calls["deposit"], "approve")
    await person.until(calls["deposit"], "running")
    await person.click(calls["deposit"], "request_cancellation", reason="too soon to pay")
    await person.until(calls["train"], "running", "streaming")
    await person.click(calls["train"], "request_cancellation", reason="the flight is booked")
    await person.until(calls["train"], "cancelled")
    held = "the railway to say that it has held the seat"
    await person.until_that(f"/api/invocations/{calls['train']}", lambda d: bool(d["sideEffects"]["observed"]), held)
    await person.until(calls["deposit"], "succeeded")
    await person.click(calls["train"], "reconcile", fields={"conclusion": "the seat was held and released again", "reference": "NT-341-77"})


async def railway(webhook: Person, trip: Trip, *, after_seconds: float) -> None:
    """Be the railway: it had taken the order before the call was cancelled, and its webhook says so a little later."""
    outcome = await trip.night_train
    if outcome.kind == "cancelled":
        await asyncio.sleep(after_seconds)
        await webhook.report({
            "specversion": "1.0", "id": "railway-77", "source": RAILWAY, "type": "toolcall.effect.observed", "owner": "runtime",
            "subject": trip.calls["train"], "taskid": trip.errands,
            "data": {"effect": "seat held", "reference": "NT-341-77", "resource": "night train NT 341"},
        })  # fmt: skip  # facts in lines
