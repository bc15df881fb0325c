"""Standing grants from the terminal: list, give, take back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from toolwitness.cli.answers import print_json, run, say
from toolwitness.cli.desks import desk_at, person, policy_file, with_ledger, with_policy
from toolwitness.cli.drawing import evidence
from toolwitness.cli.teaching import Taught, TaughtGroup
from toolwitness.core.errors import InvalidInput


@click.group(
    cls=TaughtGroup,
    examples=[
        "toolwitness grants list",
        "toolwitness grants add book",
        "toolwitness grants revoke grt_01…",
    ],
)
def grants() -> None:
    """List, give or take back standing grants: permission beforehand, with a scope, a limit and an end."""


@grants.command(
    "list",
    cls=Taught,
    examples=[
        "toolwitness grants list --db calls.db",
        "toolwitness grants list --json | jq '.grants[].grant'",
    ],
)
@with_policy
@with_ledger
def list_them(db: str, policy: Path | None, *, as_json: bool) -> None:
    """List every grant that stands, with its scope, its limit, its end, and how often it was used."""

    async def work() -> None:
        actor = person(policy)
        async with desk_at(db) as desk:
            found = await desk.grants(by=actor)
            if as_json:
                print_json({"grants": found})
                return
            for one in found:
                say(_line(one))
            if not found:
                say("No grant stands: whatever needs an approval is asked about each time.")

    run(work())


def _line(one: dict[str, Any]) -> str:
    """Say one grant in a line."""
    if "unreadable" in one:
        return f"{one['grant']}  covers nothing: {one['unreadable']}"
    limits = [f"{one['uses']} of {one['count']} uses" if one["count"] else f"{one['uses']} uses"]
    limits += [f"{words} {one[name]['amount']} {one[name]['currency']}" for name, words in _AMOUNTS if one[name]]
    where = "".join(f", where {name} is {json.dumps(value)}" for name, value in one["where"].items())
    place = f"in {one['task']}" if one["task"] else "in every task"
    return f"{one['grant']}  {one['tool']} {place}{where}: {', '.join(limits)}, until {one['until']}, by {one['by']}"


_AMOUNTS = (("most", "each at most"), ("amount", "together at most"))


@grants.command(
    cls=Taught,
    examples=[
        "toolwitness grants add book --seconds 3600 --count 5 --most 200 --currency EUR",
        "toolwitness grants add post --seconds 600 --count 3 --where channel=team --task task_01…",
    ],
)
@click.argument("tool")
@click.option("--seconds", type=float, required=True, help="How long it holds.")
@click.option("--count", type=int, help="How many calls it covers.")
@click.option("--most", default="", metavar="AMOUNT", help="What one call may cost.")
@click.option("--amount", default="", metavar="AMOUNT", help="What all calls may cost together.")
@click.option("--currency", default="", metavar="CURRENCY", help="In which currency.")
@click.option("--where", multiple=True, metavar="INPUT=VALUE", help="An input that must be exactly this: JSON, or plain text.")
@click.option("--task", default="", metavar="ID", help="The task in which it holds; without it, every task.")
@click.option("--reason", default="", metavar="TEXT", help="Why, in your words; kept with the grant.")
@with_policy
@with_ledger
def add(
    db: str, policy: Path | None, tool: str, seconds: float, count: int | None, most: str, amount: str, currency: str,
    where: Sequence[str], task: str, reason: str, *, as_json: bool,
) -> None:  # fmt: skip  # a signature in three lines
    """Permit calls of TOOL beforehand, within a scope, a limit and a time.

    The policy of the tool must be in the policy file. What is confirmed each time, such as what destroys, is never covered.
    """

    async def work() -> None:
        actor, file = person(policy), policy_file(policy)
        async with desk_at(db) as desk:
            desk.place.file = file
            given = await desk.grant(
                tool, by=actor, seconds=seconds, count=count, most=most, amount=amount, currency=currency, where=_where(where), task=task,
                reason=reason,
            )  # fmt: skip  # facts in lines
            if as_json:
                print_json({"grant": given.event.data["grant_id"], "recorded": evidence([given])})
                return
            say(f"recorded  {given.event.kind}  {given.event.data['grant_id']}")

    run(work())


def _where(said: Sequence[str]) -> dict[str, Any]:
    """Read ``INPUT=VALUE``: the value is JSON where it can be read as such, plain text otherwise."""
    found: dict[str, Any] = {}
    for one in said:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{one!r} names no input and value.", field="where", remedy="Write it as currency=EUR.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


@grants.command(
    cls=Taught,
    examples=[
        'toolwitness grants revoke grt_01… --reason "the trip is booked"',
    ],
)
@click.argument("grant_id", metavar="GRANT")
@click.option("--reason", default="", metavar="TEXT", help="Why, in your words; kept with it.")
@with_policy
@with_ledger
def revoke(db: str, policy: Path | None, grant_id: str, reason: str, *, as_json: bool) -> None:
    """Take a grant back; from here on it covers nothing, also what was permitted and has not been dispatched."""

    async def work() -> None:
        actor, file = person(policy), policy_file(policy)
        async with desk_at(db) as desk:
            desk.place.file = file
            taken = await desk.revoke_grant(grant_id, by=actor, reason=reason)
            if as_json:
                print_json({"grant": grant_id, "recorded": evidence([taken])})
                return
            say(f"recorded  {taken.event.kind}  {grant_id}")

    run(work())
