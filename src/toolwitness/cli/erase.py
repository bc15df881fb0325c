"""Have values forgotten from the terminal."""

from pathlib import Path

import click

from toolwitness.cli.answers import print_json, run, say
from toolwitness.cli.desks import desk_at, person, policy_file, with_ledger, with_policy
from toolwitness.cli.drawing import evidence, screen
from toolwitness.cli.teaching import Taught
from toolwitness.presentation.terminal import draw_card
from toolwitness.service import views


@click.command(
    "erase",
    cls=Taught,
    examples=[
        'toolwitness erase inv_01… --reason "the guest asked us to forget the passport"',
        'toolwitness erase inv_01… --inputs --reason "kept long enough" --policy team.toml',
        'toolwitness erase val_3f… --reason "a key was pasted into it"',
    ],
)
@click.argument("what", metavar="ID")
@click.option("--inputs", "which", flag_value="inputs", help="Only what went in.")
@click.option("--outputs", "which", flag_value="outputs", help="Only what came out: results, output, error texts.")
@click.option("--all", "which", flag_value="all", default="all", help="Both; so it is where nothing is said.")
@click.option("--reason", required=True, metavar="TEXT", help="Why, in your words; it stays on record.")
@with_policy
@with_ledger
def erase(db: str, policy: Path | None, what: str, which: str | None, reason: str, *, as_json: bool) -> None:
    """Have the values of an invocation, or one value by its reference, forgotten for good.

    Bytes, shown copy and salt are gone; who erased them, when and why stays on record, and the record still verifies. It takes a role that
    the policy file lets erase ([authority] erasers; role:eraser and role:admin where it names none). What an open call still needs is
    not erased.
    """

    async def work() -> None:
        actor = person(policy)
        async with desk_at(db) as desk:
            desk.place.file = policy_file(policy)
            receipt = await desk.erase(what, by=actor, reason=reason, which=which or "all")
            if as_json:
                document = await views.document(desk.place, receipt.record.id, actor)
                print_json({"recorded": evidence(receipt.recorded), "document": document})
                return
            for recorded in receipt.recorded:
                say(f"erased  {recorded.event.data['value_ref']}  {recorded.event.ref}")
            say(draw_card(await views.card(desk.place, receipt.record.id, actor), screen()))

    run(work())
