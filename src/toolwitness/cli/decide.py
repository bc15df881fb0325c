"""The inbox, and decisions from the terminal: approve, deny, cancel, retry."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.cli.answers import print_json, run, say
from toolwitness.cli.desks import desk_at, person, policy_file, with_ledger, with_policy
from toolwitness.cli.drawing import evidence, screen
from toolwitness.cli.teaching import Taught
from toolwitness.core.verdicts import Actor
from toolwitness.presentation.terminal import draw_card, draw_inbox
from toolwitness.service import views
from toolwitness.service.workplace import Receipt

Option = Callable[[Any], Any]
"""What adds an option or an argument to a command."""


Deed = Callable[..., Coroutine[Any, Any, Receipt]]
"""What a person does: takes the desk, the person, the invocation and what was chosen, and gives what was recorded."""


@click.command(
    cls=Taught,
    examples=[
        "toolwitness inbox --db calls.db",
        "toolwitness inbox --json | jq -r '.approvals[].identity.invocationId'",
    ],
)
@with_policy
@with_ledger
def inbox(db: str, policy: Path | None, *, as_json: bool) -> None:
    """Show what waits for a decision, yours first.

    Each card shows what is asked, the exact scope, who may answer, and until when by whose clock.
    """

    async def work() -> None:
        actor = person(policy)
        async with desk_at(db) as desk:
            if as_json:
                print_json({"approvals": await views.waiting_documents(desk.place, actor)})
                return
            found = await views.inbox(desk.place, actor)
            say(draw_inbox(found, screen()))
            for card in found["items"][:1]:
                say(f"\nAnswer one with, for example:  toolwitness approve {card['id']} --db {db}")

    run(work())


def decision(
    name: str, *options: Option, examples: Sequence[str], then: Callable[[Receipt], Sequence[str]] = lambda _: (), under: str = "record"
) -> Callable[[Deed], click.Command]:
    """Make a command of a deed: it is done as the person at the terminal, and what was recorded is shown. Its docstring is the help.

    ``then`` says what comes next, in lines for a person. ``under="file"`` lets the tools of the policy file count, where the command may
    propose a call of a tool of which nothing is recorded.
    """

    def make(deed: Deed) -> click.Command:
        def command(db: str, policy: Path | None, invocation_id: str, *, as_json: bool, **chosen: str) -> None:
            async def as_chosen(desk: Desk, actor: Actor) -> Receipt:
                if under == "file":
                    desk.place.file = policy_file(policy)
                return await deed(desk, actor, invocation_id, **chosen)

            run(_carry_out(db, policy, as_chosen, then, as_json=as_json))

        reason = click.option("--reason", default="", metavar="TEXT", help="Why, in your words; kept with the decision.")
        for option in reversed([click.argument("invocation_id", metavar="ID"), *options, reason, with_policy, with_ledger]):
            command = option(command)
        return click.command(name, cls=Taught, examples=examples, help=inspect.getdoc(deed))(command)

    return make


async def _carry_out(
    db: str,
    policy: Path | None,
    deed: Callable[[Desk, Actor], Awaitable[Receipt]],
    then: Callable[[Receipt], Sequence[str]],
    *,
    as_json: bool,
) -> None:
    actor = person(policy)
    async with desk_at(db) as desk:
        receipt = await deed(desk, actor)
        document = await views.document(desk.place, receipt.record.id, actor)
        if as_json:
            print_json({"recorded": evidence(receipt.recorded), "document": document})
            return
        for recorded in receipt.recorded:
            say(f"recorded  {recorded.event.kind}  {recorded.event.ref}")
        say(draw_card(await views.card(desk.place, receipt.record.id, actor), screen()))
        for line in then(receipt):
            say(line)


def where_it_runs(receipt: Receipt) -> list[str]:
    """Say of a call that was proposed here what it waits for, and where it will run: never in this process."""
    record = receipt.record
    hosted = f"It runs in the process that hosts {record.tool}, and not here"
    if record.open_approval is not None:
        return [f"\n{hosted}, once it is approved:  toolwitness approve {record.id}"]
    if record.input_request is not None:
        wanted = ", ".join(map(str, record.input_request.get("unresolved") or ())) or "other inputs"
        return [f"\nIt waits for inputs ({wanted}): supply them on the page (toolwitness serve), then policy goes on from there."]
    if record.permission is not None and record.permission.get("refused"):
        return [f"\nIt may not be dispatched as things stand: {record.permission.get('reason')}"]
    if record.permission is not None:
        return [f"\n{hosted}: it is permitted, and that process takes it up."]
    return [f"\n{hosted}: that process takes it from here."]


@decision(
    "approve",
    click.option(
        "--approval", "approval_id", default="", metavar="ID", help="The request you were shown; without it, the one that waits now.",
    ),
    click.option(
        "--digest", "inputs_digest", default="", metavar="HEX",
        help="The digest of the inputs you were shown; other inputs are then not approved.",
    ),
    examples=[
        'toolwitness approve inv_01… --reason "within budget"',
        "toolwitness approve inv_01… --policy team.toml --digest sha256:…",
    ],
)  # fmt: skip  # facts in lines
async def approve(desk: Desk, actor: Actor, invocation_id: str, **binding: str) -> Receipt:
    """Approve the request that waits at invocation ID.

    It is used once. You act as os:<user> with the roles that the policy file gives you. The call itself runs in the process that holds it.
    """
    return await desk.approve(invocation_id, by=actor, **binding)


@decision("deny", examples=['toolwitness deny inv_01… --reason "not to the whole office"'])
async def deny(desk: Desk, actor: Actor, invocation_id: str, *, reason: str) -> Receipt:
    """Deny the request that waits at invocation ID.

    A denial is an outcome and not an error: whoever made the call is told, and nothing runs.
    """
    return await desk.deny(invocation_id, by=actor, reason=reason)


@decision("cancel", examples=['toolwitness cancel inv_01… --reason "the flight is good enough"'])
async def cancel(desk: Desk, actor: Actor, invocation_id: str, *, reason: str) -> Receipt:
    """Request the cancellation of invocation ID alone.

    A request is not its acknowledgement: the call is cancelled when its executor says that it has ended, and not before. Calls beside
    it go on.
    """
    return await desk.request_cancellation(invocation_id, by=actor, reason=reason)


@decision("retry", examples=['toolwitness retry inv_01… --reason "the hotel service is back"'], then=where_it_runs)
async def retry(desk: Desk, actor: Actor, invocation_id: str, *, reason: str) -> Receipt:
    """Propose the next attempt of the failed invocation ID.

    The new attempt has an id of its own and points back; the failed one stays as it is. Policy is asked anew, with the same idempotency
    key. Where nobody knows what the failed one did, and the tool is not safe to repeat, it is refused: reconcile it first.
    """
    return await desk.retry(invocation_id, by=actor, reason=reason)
