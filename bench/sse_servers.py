"""The servers that ``bench.sse`` compares, each in a process of its own: ``python -m bench.sse_servers NAME``.

A server prints its port, and then answers lines on its standard input: ``fire N GAP BYTES`` sends N events to everybody who is connected,
one every GAP seconds, and answers when the last is on its way; ``cpu`` answers the seconds of processor time used so far.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

import uvicorn
from starlette.types import Receive, Scope, Send

Fire = Callable[[int, int], Awaitable[None]]
"""Sends event number so-and-so with so many bytes of padding."""

HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-store\r\n"
    b"x-accel-buffering: no\r\ntransfer-encoding: chunked\r\n\r\n"
)
OPENING: Final = b": ready\n\n"


def payload(number: int, padding: int) -> dict[str, Any]:
    """Give the document of one event; ``sentns`` is when it was sent."""
    return {"n": number, "sentns": time.monotonic_ns(), "text": "x" * padding}


def chunked(body: bytes) -> bytes:
    """Frame a body as one chunk."""
    return b"%x\r\n%b\r\n" % (len(body), body)


def listen() -> socket.socket:
    """Take a free port of this machine."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    listener.settimeout(0)
    return listener


# ── the limit ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Bare(asyncio.Protocol):
    """Answers any request with an endless stream; no server could do less."""

    everybody: Final[set[asyncio.Transport]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the connection."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        """Open the stream when the request is there."""
        if b"\r\n\r\n" in data:
            self.transport.write(HEAD + chunked(OPENING))
            self.everybody.add(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.everybody.discard(self.transport)


async def bare(listener: socket.socket) -> Fire:
    """Serve with a bare asyncio protocol."""
    await asyncio.get_running_loop().create_server(Bare, sock=listener)

    async def fire(number: int, padding: int) -> None:
        body = f"event: card\ndata: {json.dumps(payload(number, padding), separators=(',', ':'))}\n\nid: p{number}.0a1b2c3d\n\n".encode()
        chunk = chunked(body)
        for transport in Bare.everybody:
            transport.write(chunk)

    return fire


# ── ours ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def serve(app: Any, listener: socket.socket) -> None:
    """Serve an ASGI app with uvicorn, in the loop and with the parser that are installed."""
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", backlog=2048)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])


async def ours(listener: socket.socket, *, whole: str = "") -> Fire:
    """Serve the live stream of toolwitness; ``whole`` draws real cards, otherwise one fixed document is sent."""
    import toolwitness as tw  # noqa: PLC0415 - the other servers do without
    from toolwitness.core.evidence import Event, Kind  # noqa: PLC0415 - as above
    from toolwitness.core.states import Owner  # noqa: PLC0415 - as above
    from toolwitness.ports import Draft  # noqa: PLC0415 - as above

    desk = tw.open("memory:")
    ann = tw.Actor(id="ann")
    app: Any = desk.asgi(authenticate=lambda _: ann)
    said = {"source": "bench", "task_id": "task_b", "owner": Owner.RUNTIME}
    opened = Event(kind=Kind.TASK_OPENED, id="open", data={"purpose": "Measure"}, **said)
    await desk.ledger.append("task_b", [Draft(event=opened)])
    now: list[tuple[int, int]] = [(0, 0)]

    class Fixed:
        async def draw(self, *_: object, **__: object) -> Sequence[tuple[str, str, Any]]:
            return [("card", "task_b", payload(*now[0]))]

        async def newly_waiting(self, _batch: object) -> dict[str, int]:
            return {}

        async def waiting_count(self, _actor: object) -> int:
            return 0

    if not whole:
        app.live._drawing = Fixed()  # noqa: SLF001 - what is measured is the way out, with a document of the same size for everybody
    await serve(app, listener)

    async def fire(number: int, padding: int) -> None:
        now[0] = (number, padding)
        text = json.dumps(payload(number, padding)) if whole else "one more"
        told = {"order": number, "text": text}
        event = Event(kind=Kind.PROGRESS, id=f"e{number}", invocation_id="inv_b", data=told, **said)
        await desk.ledger.append("task_b", [Draft(event=event)])

    return fire


async def ours_whole(listener: socket.socket) -> Fire:
    """Serve the live stream with everything that belongs to it: the event is recorded, folded, drawn as a card, and sent."""
    return await ours(listener, whole="yes")


# ── the usual package ───────────────────────────────────────────────────────────────────────────────────────────────


async def sse_starlette(listener: socket.socket) -> Fire:
    """Serve with sse-starlette on the same server: a queue for each subscriber, as its documentation shows."""
    from sse_starlette.sse import EventSourceResponse  # type: ignore[import-not-found]  # noqa: PLC0415 - it need not be installed

    queues: set[asyncio.Queue[tuple[int, str]]] = set()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        queue: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        queues.add(queue)

        async def events() -> Any:
            yield {"comment": "ready"}
            while True:
                number, text = await queue.get()
                yield {"event": "card", "data": text, "id": f"p{number}.0a1b2c3d"}

        await EventSourceResponse(events())(scope, receive, send)

    await serve(app, listener)

    async def fire(number: int, padding: int) -> None:
        text = json.dumps(payload(number, padding), separators=(",", ":"))
        for queue in queues:
            queue.put_nowait((number, text))

    return fire


SERVERS: Final[dict[str, Callable[[socket.socket], Awaitable[Fire]]]] = {
    "bare": bare,
    "ours": ours,
    "ours-whole": ours_whole,
    "sse-starlette": sse_starlette,
}


async def _obey(fire: Fire) -> None:
    """Answer the lines on the standard input, one after the other."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    number = 0
    while line := (await reader.readline()).split():
        if line[0] == b"fire":
            for _ in range(int(line[1])):
                number += 1
                await fire(number, int(line[3]))
                await asyncio.sleep(float(line[2]))
        used = os.times()
        print(json.dumps({"cpu": used.user + used.system}), flush=True)


async def _run(name: str) -> None:
    listener = listen()
    fire = await SERVERS[name](listener)
    print(json.dumps({"port": listener.getsockname()[1], "loop": type(asyncio.get_running_loop()).__module__}), flush=True)
    await _obey(fire)


def main() -> None:
    """Serve until the standard input ends, in uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - it need not be installed

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(_run(sys.argv[1]))


if __name__ == "__main__":
    main()
