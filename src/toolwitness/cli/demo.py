"""The demo: the trip, live on a page; or clicked through by a script."""

import asyncio
import tempfile
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.bootstrap.opening import open as open_desk
from toolwitness.cli.answers import json_option, note, print_json, run, say
from toolwitness.cli.desks import person, refuse_to_mix
from toolwitness.cli.drawing import evidence
from toolwitness.cli.serve import Serving, announce, operator, serving
from toolwitness.cli.teaching import Taught
from toolwitness.core.errors import ToolwitnessError
from toolwitness.core.verdicts import Actor
from toolwitness.service import views
from toolwitness.service.record import Registration
from tripdesk.person import PATIENCE_SECONDS, RAILWAY, GaveUp, Person, click_through, railway
from tripdesk.trip import Trip, begin
from tripdesk.world import World

_AUTOPILOT_PACE: Final = 0.05
"""Real seconds for one second of the story where nobody has to read along."""
_TO_TRY: Final = """
Things to try, in "Book the trip the user chose":
  cancel the train search while it streams: the searches beside it go on
  retry the hotels, which fail the first time: the summary waits for the new attempt
  approve the booking, and look at what the approval was bound to
  say that the trip can do without the trains
And in "Everything around the trip":
  approve the deposit and cancel it at once: a thread cannot be stopped, and the card says so
  cancel the seat on the night train, and wait: the railway had already taken the order
  leave the held price alone until its approval lapses, then ask again
"""


class StoryStopped(ToolwitnessError):
    """The scripted person waited for something that did not happen."""

    code = "story-stopped"


@click.command(
    cls=Taught,
    examples=[
        "toolwitness demo",
        "toolwitness demo --no-open --port 0 --db trip.db",
        "toolwitness demo --autopilot --json --port 0 | jq '.invocations[] | [.state, .purpose]'",
    ],
)
@click.option("--port", default=8787, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@click.option("--autopilot", is_flag=True, help="Let a scripted person click through the same API, then end.")
@click.option(
    "--pace", type=click.FloatRange(0.02, 10), metavar="SECONDS", help="Real seconds for one second of the story: 1, or 0.05 on autopilot."
)
@click.option("--db", default="", metavar="FILE", help="Keep the record in this new file; without it a temporary one is used.")
@click.option("--name", default="", metavar="TEXT", help="What the page calls you; without it, your account's name.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@json_option("With --autopilot: print the final documents and events as one JSON document.")
def demo(port: int, db: str, pace: float | None, name: str, *, autopilot: bool, no_open: bool, as_json: bool) -> None:
    """Watch an agent's calls run, fail, wait for you, be cancelled, retried and finish.

    Flights, hotels and trains are searched side by side; a booking that costs money waits for your approval. Every state can be
    opened down to the evidence that it rests on. You act as yourself, with the role finance.
    """
    if as_json and not autopilot:
        raise click.UsageError("--json prints the end of the story: use it with --autopilot.")
    refuse_to_mix(db or "memory:")
    pace = pace or (_AUTOPILOT_PACE if autopilot else 1.0)

    def play(at: str) -> None:
        run(_click(at, port, pace, as_json=as_json) if autopilot else _watch(at, port, pace, name, browser=not no_open))

    if db:
        play(db)
        return
    with tempfile.TemporaryDirectory(prefix="toolwitness-demo-") as folder:
        play(str(Path(folder) / "demo.db"))


@asynccontextmanager
async def _stage(db: str, port: int, pace: float, name: str = "") -> AsyncIterator[tuple[Desk, Actor, Serving]]:
    """Open a desk for the person at the terminal, and serve it."""
    async with open_desk(db, sweep_seconds=max(0.02, min(1.0, pace))) as desk:
        actor = operator(Actor(id=person(None).id, roles=frozenset({"finance"})), name=name)
        desk.register.add(Registration(source=RAILWAY, principal=actor.id))
        async with serving(desk, actor, port=port) as at:
            yield desk, actor, at


async def _watch(db: str, port: int, pace: float, name: str, *, browser: bool) -> None:
    """Serve, begin the trip, and leave the clicking to the person."""
    async with _stage(db, port, pace, name) as (desk, _, at):
        announce(at, what="the demo", as_json=False)
        note(_TO_TRY)
        if browser:
            await asyncio.to_thread(webbrowser.open, at.url)
        try:
            async with _playing(desk, at, World(pace=pace)):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            note("Closing: every call is asked to stop, and seen to its end.")
            raise


@asynccontextmanager
async def _playing(desk: Desk, at: Serving, world: World) -> AsyncIterator[Trip]:
    """Let the agent and the railway do their parts until the block is left."""
    trip, agent = await begin(desk, world)
    webhook = Person(at.base, at.key, say=lambda _: None)
    parts = [agent, asyncio.create_task(railway(webhook, trip, after_seconds=world.seconds(3)), name="railway")]
    try:
        yield trip
    finally:
        for part in parts:
            part.cancel()
        ended = await asyncio.gather(*parts, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


async def _click(db: str, port: int, pace: float, *, as_json: bool) -> None:
    """Serve, begin the trip, let the scripted person click, and print what came of it.

    Raises:
        StoryStopped: something that the person waited for did not happen.
    """
    async with _stage(db, port, pace) as (desk, actor, at):
        clicker = Person(at.base, at.key, say=lambda text: note(f"  {text}"))
        try:
            async with _playing(desk, at, World(pace=pace, patience_seconds=PATIENCE_SECONDS)) as trip:
                await click_through(clicker, trip)
        except GaveUp as gave_up:
            raise StoryStopped(f"The story stopped: {gave_up}", remedy="Run it again; on a busy machine with a larger --pace.") from gave_up
        if not as_json:
            say("The story is over: every call has ended, and the trip is complete.")
            return
        print_json({
            "tasks": await views.task_documents(desk.place, actor),
            "invocations": await views.invocation_documents(desk.place, actor),
            "events": evidence(await desk.ledger.read()),
            "snapshots": clicker.snapshots,
        })  # fmt: skip  # facts in lines
