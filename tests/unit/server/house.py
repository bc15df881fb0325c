"""A house on the web: a desk, and its app behind a real server on a free port of this machine."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from starlette.requests import Request

import toolwitness as tw
from toolwitness.server.app import App
from toolwitness.server.live import Live

PEOPLE = {
    "ann": tw.Actor(id="ann", roles=frozenset({"finance"}), name="Ann Arbor"),
    "bob": tw.Actor(id="bob", roles=frozenset({"finance"})),
    "eve": tw.Actor(id="eve"),
    "olga": tw.Actor(id="olga", roles=frozenset({"finance"}), tenant="other"),
}
"""Who may come in, by the header ``X-Person``; olga belongs to another tenant."""


def by_header(request: Request) -> tw.Actor | None:
    """Know a person by the header ``X-Person``, which stands for a session of the user's own app."""
    return PEOPLE.get(request.headers.get("x-person", ""))


@asynccontextmanager
async def serve(app: Any, *, port: int = 0, live: Live | None = None) -> AsyncIterator[str]:
    """Serve an ASGI app until the block is left; gives its address. ``live`` holds streams that end with it."""
    listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # What ``Server.shutdown`` does, without its tenths of a second.
        for listening in server.servers:
            listening.close()
        if live is not None:
            await live.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await until(lambda: not server.server_state.connections and not server.server_state.tasks)


async def until(holds: Callable[[], Any], *, patience_seconds: float = 20.0) -> Any:
    """Wait until something holds that others bring about; the condition may be async."""
    async with asyncio.timeout(patience_seconds):
        while True:
            found = holds()
            found = await found if isinstance(found, Awaitable) else found
            if found:
                return found
            await asyncio.sleep(0.005)


@dataclass
class House:
    """A desk whose app is served, and clients of it by the name of the person."""

    desk: tw.Desk
    app: App
    base: str
    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)

    def bare(self, **headers: str) -> httpx.AsyncClient:
        """Give a client that says nothing of itself but ``headers``."""
        name = json.dumps(headers, sort_keys=True)
        if name not in self.clients:
            self.clients[name] = httpx.AsyncClient(base_url=self.base, headers=headers, timeout=30)
        return self.clients[name]

    async def of(self, person: str) -> httpx.AsyncClient:
        """Give the client of a person, with the token that the page would have given."""
        async with self.arriving:
            if person not in self.clients:
                client = self.clients[person] = httpx.AsyncClient(base_url=self.base, headers={"X-Person": person}, timeout=30)
                client.headers["X-Toolwitness-CSRF"] = (await client.get("/api/session")).json()["csrf"]
        return self.clients[person]

    async def act(self, person: str, invocation_id: str, action: str, **body: Any) -> httpx.Response:
        """Press one button."""
        return await (await self.of(person)).post(f"/api/invocations/{invocation_id}/actions/{action}", json=body)


@asynccontextmanager
async def a_house(url: str = "memory:", *, authenticate: Any = by_header, **options: Any) -> AsyncIterator[House]:
    """Open a desk, serve its app, and close all of it after use."""
    async with tw.open(url, **{"sweep_seconds": 3600, **options}) as desk:
        app = desk.asgi(authenticate=authenticate)
        assert isinstance(app, App)
        async with serve(app) as base:
            house = House(desk, app, base)
            try:
                yield house
            finally:
                await app.live.close()
                for client in house.clients.values():
                    await client.aclose()


@dataclass
class Booking:
    """A task with a call that waits for an approval by finance, and one that has succeeded."""

    task: str
    waiting: str
    ended: str
    calls: list[tw.Call]


async def a_booking(desk: tw.Desk) -> Booking:
    """Open a task with two calls: one waits for approval, one has ended."""

    @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], approval_seconds=3600, scope=["total"])
    async def book(total: str) -> dict[str, str]:
        tw.effect_observed("payment", reference="P-1", amount=total, currency="EUR", recipient="NW", provider_reference="P-1")
        return {"reference": "NW-1"}

    @desk.tool(consequences=[tw.READ_ONLY])
    async def search(city: str) -> dict[str, Any]:
        return {"city": city, "id": 9007199254740993123}

    async with desk.task("Book the trip") as trip:
        waiting = trip.call(book, total="412.50", purpose="Reserve it-7")
        ended = trip.call(search, city="Oslo", purpose="Search hotels")
        await ended
        waiting_id = await waiting.invocation_id()
        await until(lambda: _in_state(desk, waiting_id, tw.State.AWAITING_APPROVAL))
        return Booking(trip.id, waiting_id, await ended.invocation_id(), [waiting, ended])


async def _in_state(desk: tw.Desk, invocation_id: str, *states: tw.State) -> bool:
    return (await desk.record(invocation_id)).state in states


async def until_state(desk: tw.Desk, invocation_id: str, *states: tw.State) -> None:
    """Wait until an invocation is in one of ``states``."""
    await until(lambda: _in_state(desk, invocation_id, *states))


def event(kind: str, subject: str, task: str, **more: Any) -> dict[str, Any]:
    """Make the envelope of an observation."""
    fields = {"specversion": "1.0", "id": "e-1", "source": "provider:x", "type": f"toolcall.{kind}", "subject": subject, "taskid": task}
    return {**fields, "data": {}, **more}
