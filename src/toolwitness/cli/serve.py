"""Serve the page and the API on this machine."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.cli.answers import note, print_json, run
from toolwitness.cli.desks import desk_at, login, person, with_ledger, with_policy
from toolwitness.cli.teaching import Taught
from toolwitness.core.errors import InvalidInput, Unavailable
from toolwitness.core.verdicts import Actor

_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers: where, with the address that opens one session, and the key for programs."""

    base: str
    url: str
    key: str


@asynccontextmanager
async def serving(desk: Desk, actor: Actor, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Serving]:
    """Serve ``desk`` on a loopback address until the block is left; port 0 takes a free one.

    Raises:
        Unavailable: the port is taken.
        InvalidInput: the host is not on this machine.
    """
    import uvicorn  # noqa: PLC0415 - only those who serve pay for it

    from toolwitness.server.access import COOKIE, LoopbackLogin, OwnHosts  # noqa: PLC0415 - as above
    from toolwitness.server.app import create_app  # noqa: PLC0415 - as above

    if host not in _LOOPBACK:
        raise InvalidInput(
            f"{host} is not a loopback address.", field="--host", remedy="Mount desk.asgi(authenticate=…) in your own app to serve others."
        )
    listener = _listen(host, port)
    at = listener.getsockname()[1]
    login = LoopbackLogin(actor, cookie=f"{COOKIE}_{at}")
    app = create_app(desk.place, desk.register, login=login)
    config = uvicorn.Config(
        OwnHosts(app, frozenset(_LOOPBACK)), log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    loop = asyncio.create_task(_serve(server, listener), name="toolwitness-serve")
    try:
        while not server.started and not loop.done():  # noqa: ASYNC110 - the server tells by a plain attribute
            await asyncio.sleep(0.01)
        if loop.done():
            loop.result()
        shown = f"[{host}]" if ":" in host else host
        base = f"http://{shown}:{at}"
        yield Serving(base=base, url=f"{base}/?token={login.token}", key=login.key)
    finally:
        server.should_exit = True
        await app.live.close()
        with contextlib.suppress(asyncio.CancelledError):
            await loop
        listener.close()


async def _serve(server: Any, listener: socket.socket) -> None:
    """Run the server without letting it take the process's signals: Ctrl-C belongs to the command."""
    server.capture_signals = contextlib.nullcontext
    await server.serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Take the port before anything else begins.

    Raises:
        Unavailable: somebody else has it.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"Port {port} on {host} is taken.", remedy="Choose another with --port, or 0 for a free one.", port=port
        ) from error
    listener.listen(128)
    return listener


def operator(actor: Actor, *, name: str = "") -> Actor:
    """Give the person at the machine as the page knows it; ``name`` is only what it shows."""
    return Actor(id=actor.id, roles=actor.roles, name=name or login(), channel="http")


@click.command(
    cls=Taught,
    examples=[
        "toolwitness serve --db calls.db",
        "toolwitness serve --port 0 --json --policy team.toml",
    ],
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address; others are served by your own app.")
@click.option("--port", default=8787, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@with_policy
@with_ledger
def serve(db: str, policy: Any, host: str, port: int, *, as_json: bool) -> None:
    """Serve the page and the API for a ledger, on this machine only.

    Prints an address with a token that opens one session, once. It runs no tool: what you approve runs in the process that
    holds the call. With --json it prints {"url","base"} as one line when it answers.
    """

    async def work() -> None:
        actor = operator(person(policy))
        async with desk_at(db) as desk:
            await desk.ledger.tasks(limit=1)  # a file that cannot be read is told of here, and not on every page
            async with serving(desk, actor, host=host, port=port) as at:
                announce(at, what=db, as_json=as_json)
                await asyncio.Event().wait()

    run(work())


def announce(at: Serving, *, what: str, as_json: bool) -> None:
    """Say where the page is."""
    if as_json:
        print_json({"url": at.url, "base": at.base})
        return
    note(f"toolwitness shows {what} at\n\n    {at.url}\n\nThe address opens one session. Ctrl-C stops.")
