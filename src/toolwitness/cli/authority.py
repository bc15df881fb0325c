"""Authority from the terminal: take it from somebody, give it back, list what was taken."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.cli.answers import print_json, run, say
from toolwitness.cli.desks import desk_at, person, policy_file, with_ledger, with_policy
from toolwitness.cli.drawing import evidence
from toolwitness.cli.teaching import Taught, TaughtGroup
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Recorded

Deed = Callable[[Desk, Actor], Coroutine[Any, Any, list[Recorded]]]


@click.group(
    cls=TaughtGroup,
    examples=[
        "toolwitness authority list",
        "toolwitness authority revoke ann",
        "toolwitness authority restore ann",
    ],
)
def authority() -> None:
    """Take authority from somebody, give it back, or list what was taken."""


@authority.command(
    "list",
    cls=Taught,
    examples=[
        "toolwitness authority list --db calls.db",
        "toolwitness authority list --json | jq '.revoked[].holder'",
    ],
)
@with_policy
@with_ledger
def list_them(db: str, policy: Path | None, *, as_json: bool) -> None:
    """List the authority that was taken and not given back. Who looks after authority sees all of it, anybody else their own."""

    async def work() -> None:
        actor, file = person(policy), policy_file(policy)
        async with desk_at(db) as desk:
            desk.place.file = file
            found = await desk.revoked(by=actor)
            if as_json:
                print_json({"revoked": found})
                return
            for one in found:
                what = f"the role {one['role']}" if one["role"] else "all authority"
                reason = f": {one['reason']}" if one["reason"] else ""
                say(f"{one['holder']}  {what}, taken by {one['by'] or 'policy'} at {one['at']}{reason}")
            if not found:
                say("Nobody's authority was taken.")

    run(work())


def _change(db: str, policy: Path | None, deed: Deed, *, as_json: bool) -> None:
    """Do it as the person at the terminal, and show what was recorded: the change, and the approvals that it voided."""

    async def work() -> None:
        actor, file = person(policy), policy_file(policy)
        async with desk_at(db) as desk:
            desk.place.file = file
            recorded = await deed(desk, actor)
            if as_json:
                print_json({"recorded": evidence(recorded)})
                return
            for one in recorded:
                about = f"  {one.event.invocation_id}" if one.event.invocation_id else ""
                say(f"recorded  {one.event.kind}{about}  {one.event.ref}")
            voided = [one for one in recorded if one.event.invocation_id]
            if voided:
                say(
                    f"\n{len(voided)} approval{'s' if len(voided) > 1 else ''} that rested on it {'are' if len(voided) > 1 else 'is'} void."
                )

    run(work())


_ROLE = click.option("--role", default="", metavar="ROLE", help="This role only; without it, all of their authority.")
_REASON = click.option("--reason", default="", metavar="TEXT", help="Why, in your words; kept with it.")


@authority.command(
    cls=Taught,
    examples=[
        'toolwitness authority revoke ann --reason "left the company"',
        "toolwitness authority revoke os:ben --role finance --policy team.toml",
    ],
)
@click.argument("holder", metavar="ACTOR")
@_ROLE
@_REASON
@with_policy
@with_ledger
def revoke(db: str, policy: Path | None, holder: str, role: str, reason: str, *, as_json: bool) -> None:
    """Take authority from ACTOR, from here on and in every process.

    What they approved and what has not been dispatched is void, and their next answer is refused. Only an administrator of the policy
    file does this, or ACTOR for themselves.
    """

    async def deed(desk: Desk, actor: Actor) -> list[Recorded]:
        return await desk.revoke_authority(holder, by=actor, role=role, reason=reason)

    _change(db, policy, deed, as_json=as_json)


@authority.command(
    cls=Taught,
    examples=[
        "toolwitness authority restore ann --role finance",
    ],
)
@click.argument("holder", metavar="ACTOR")
@_ROLE
@_REASON
@with_policy
@with_ledger
def restore(db: str, policy: Path | None, holder: str, role: str, reason: str, *, as_json: bool) -> None:
    """Give ACTOR back what was taken. What was voided meanwhile stays void; nobody restores their own."""

    async def deed(desk: Desk, actor: Actor) -> list[Recorded]:
        return [await desk.restore_authority(holder, by=actor, role=role, reason=reason)]

    _change(db, policy, deed, as_json=as_json)
