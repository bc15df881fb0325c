"""Look: what is recorded, and whether it verifies."""

from pathlib import Path

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.cli.answers import print_json, run, say
from toolwitness.cli.desks import desk_at, person, with_ledger, with_policy
from toolwitness.cli.drawing import evidence, screen
from toolwitness.cli.teaching import Taught
from toolwitness.core.verdicts import Actor
from toolwitness.presentation.terminal import draw_card, draw_rows, draw_task
from toolwitness.presentation.terminal_text import EVIDENCE
from toolwitness.service import views


@click.command(
    cls=Taught,
    examples=[
        "toolwitness show --db calls.db",
        "toolwitness show inv_01… --json | jq .closure",
    ],
)
@click.argument("subject", metavar="[ID]", required=False)
@with_policy
@with_ledger
def show(db: str, policy: Path | None, subject: str | None, *, as_json: bool) -> None:
    """Show a task or an invocation as its card, or list the tasks.

    Without ID the tasks are listed, the most recently touched first. With --json a task or invocation comes as its contract
    document, with the recorded events beside it.
    """

    async def work() -> None:
        actor = person(policy)
        async with desk_at(db) as desk:
            if subject is None:
                await _list(desk, actor, as_json=as_json)
            elif await desk.ledger.task(subject) is not None:
                await _task(desk, actor, subject, as_json=as_json)
            else:
                await _invocation(desk, actor, subject, as_json=as_json)

    run(work())


async def _list(desk: Desk, actor: Actor, *, as_json: bool) -> None:
    rows = await views.task_rows(desk.place, actor)
    if as_json:
        print_json({"tasks": rows})
        return
    say(draw_rows(rows, screen()))


async def _task(desk: Desk, actor: Actor, task_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({**await views.task_document(desk.place, task_id, actor), "events": evidence(await desk.ledger.read(task_id=task_id))})
        return
    say(draw_task(await views.task_card(desk.place, task_id, actor), screen()))


async def _invocation(desk: Desk, actor: Actor, invocation_id: str, *, as_json: bool) -> None:
    if as_json:
        recorded = await views.events(desk.place, invocation_id, actor)
        print_json({**await views.document(desk.place, invocation_id, actor), "events": evidence(recorded)})
        return
    say(draw_card(await views.card(desk.place, invocation_id, actor), screen(EVIDENCE)))


@click.command(
    cls=Taught,
    examples=[
        "toolwitness verify --db calls.db",
        "toolwitness verify --json | jq .verdict",
    ],
)
@with_ledger
def verify(db: str, *, as_json: bool) -> None:
    """Recompute the whole record from its events and say whether it agrees.

    Exit 0: good. Exit 1: not good, with every place that does not agree.

    A ledger proves what was recorded, not that a tool told the truth. That a whole task, or the end of a task together with its
    head, was removed cannot be seen without a signed checkpoint kept elsewhere.
    """

    async def work() -> list[dict[str, str]]:
        async with desk_at(db) as desk:
            return [{"place": problem.place, "what": problem.what} for problem in await desk.verify()]

    problems = run(work())
    if as_json:
        print_json({"db": db, "verdict": "tampered" if problems else "good", "problems": problems})
    elif problems:
        for problem in problems:
            say(f"{problem['place']}: {problem['what']}")
        say(f"not good: {len(problems)} {'place does' if len(problems) == 1 else 'places do'} not agree")
    else:
        say("good: every event, value, record and key agrees")
    if problems:
        raise SystemExit(1)
