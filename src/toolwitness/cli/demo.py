"""The demo: the trip, live on a page; or clicked through by a script."""

import asyncio
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import click

from toolwitness.bootstrap.desk import Desk, open as open_desk
from toolwitness.cli.answers import note, print_json, run
from toolwitness.cli.desks import person
from toolwitness.cli.serve import Serving, announce, operator, serving
from toolwitness.contract.envelope import encode_recorded
from toolwitness.core.verdicts import Actor
from toolwitness.service import views
from toolwitness.service.record import Registration

_AUTOPILOT_PACE = 0.12
"""Story seconds to real ones where nobody has to read along."""


@click.command()
@click.option("--port", default=8787, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@click.option("--autopilot", is_flag=True, help="Let a scripted person click through the same API, then end.")
@click.option("--pace", type=click.FloatRange(0.02, 10), metavar="SECONDS", help="Real seconds for one second of the story: 1, or 0.12 on autopilot.")
@click.option("--db", default="", metavar="FILE", help="Keep the record in this file; without it a temporary one is used.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--json", "as_json", is_flag=True, help="With --autopilot: print the final documents and events as one JSON document.")
def demo(port: int, db: str, pace: float | None, *, autopilot: bool, no_open: bool, as_json: bool) -> None:
    """Watch an agent's calls run, fail, wait for you, be cancelled, retried and finish.

    Flights, hotels and trains are searched side by side; a booking that costs money waits for your approval. Every state can be opened down to
    the evidence that it rests on. You act as yourself, with the role finance.
    """
    if as_json and not autopilot:
        raise click.UsageError("--json prints the end of the story: use it with --autopilot.")
    story = pace or (_AUTOPILOT_PACE if autopilot else 1.0)
    if db:
        run(_play(db, port, story, autopilot=autopilot, browser=not no_open, as_json=as_json))
        return
    with tempfile.TemporaryDirectory(prefix="toolwitness-demo-") as folder:
        run(_play(str(Path(folder) / "demo.db"), port, story, autopilot=autopilot, browser=not no_open, as_json=as_json))


async def _play(db: str, port: int, pace: float, *, autopilot: bool, browser: bool, as_json: bool) -> None:
    """Serve, begin the trip, and let the person or the script click."""
    from tripdesk.trip import begin  # noqa: PLC0415 - the example is only needed here
    from tripdesk.world import World  # noqa: PLC0415 - as above

    async with open_desk(db, sweep_seconds=max(0.02, min(1.0, pace))) as desk:
        actor = operator(Actor(id=person(None).id, roles=frozenset({"finance", "approver"})))
        desk.register.add(Registration(source="provider:railway", principal=actor.id))
        async with serving(desk, actor, port=port) as at:
            if not autopilot:
                announce(at, what="the demo", as_json=False)
                if browser:
                    await asyncio.to_thread(webbrowser.open, at.url)
            trip, rest = await begin(desk, World(pace=pace))
            if autopilot:
                await _click(desk, actor, at, trip, as_json=as_json)
            else:
                await asyncio.Event().wait()
            rest.cancel()


async def _click(desk: Desk, actor: Actor, at: Serving, trip: Any, *, as_json: bool) -> None:
    """Let the scripted person click, and print what came of it."""
    from tripdesk.person import Person, click_through  # noqa: PLC0415 - the example is only needed here

    await click_through(Person(at.base, at.key, say=lambda text: note(f"  {text}")), trip)
    if not as_json:
        click.echo("The story is over: every call has ended, and the trip is complete.")
        return
    recorded = await desk.ledger.read()
    print_json({
        "tasks": await views.task_documents(desk.place, actor),
        "invocations": await views.invocation_documents(desk.place, actor),
        "events": [{**encode_recorded(r), "state": r.state, "basis": r.basis} for r in recorded],
    })  # fmt: skip  # facts in lines
