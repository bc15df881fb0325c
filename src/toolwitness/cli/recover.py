"""Recovery from the terminal: undo a call, and say what really happened to one."""

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.cli.decide import decision, where_it_runs
from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor
from toolwitness.policy.provider import Happened
from toolwitness.service.workplace import Receipt


@decision(
    "reverse",
    examples=[
        'toolwitness reverse inv_01… --reason "the trip is off"',
        "toolwitness reverse inv_01… --policy team.toml",
    ],
    then=where_it_runs,
    under="file",
)
async def reverse(desk: Desk, actor: Actor, invocation_id: str, *, reason: str) -> Receipt:
    """Undo the succeeded invocation ID with the inverse that its tool names.

    The inverse is a call of its own: it has its own id, its own approval where its policy asks for one, and it runs in the process that
    hosts it. Without a named and tested inverse, or after its window, this is refused, and the reason says what is left. What the inverse
    leaves open has to be reconciled.
    """
    return await desk.reverse(invocation_id, by=actor, reason=reason)


def _said(happened: bool, did_not_happen: bool, partly: bool) -> str:  # noqa: FBT001 - three flags of one command line
    """Give the one answer that was chosen; empty where none was.

    Raises:
        InvalidInput: two were.
    """
    chosen = [str(word) for word, given in zip(Happened, (happened, did_not_happen, partly), strict=False) if given]
    if len(chosen) > 1:
        raise InvalidInput(
            f"--{chosen[0]} and --{chosen[1]} cannot both be true.", field="conclusion", remedy="Give the one that the other side shows."
        )
    return chosen[0] if chosen else ""


@decision(
    "reconcile",
    click.option("--happened", is_flag=True, help="The other side shows that it happened."),
    click.option("--did-not-happen", is_flag=True, help="The other side shows that nothing happened; only this makes it safe to repeat."),
    click.option("--partly", is_flag=True, help="Part of it happened; say which in --reason."),
    click.option("--reference", default="", metavar="REF", help="Where the other side shows it: its own number, a URL."),
    examples=[
        'toolwitness reconcile inv_01… --happened --reference pay_8812 --reason "seen in the bank\'s list"',
        'toolwitness reconcile inv_01… --did-not-happen --reason "no booking under this name"',
        "toolwitness reconcile inv_01…",
    ],
)
async def reconcile(
    desk: Desk, actor: Actor, invocation_id: str, *, happened: bool, did_not_happen: bool, partly: bool, reference: str, reason: str
) -> Receipt:
    """Record what really happened to invocation ID.

    The attempt stays as it is; what you say is kept beside it, with your name, and closes what was in doubt. Without an answer of yours the
    tool's own reconcile function is asked, which only the process that hosts the tool can do: its page, its API or its Python.
    """
    conclusion = _said(happened, did_not_happen, partly)
    return await desk.reconcile(invocation_id, conclusion, by=actor, detail=reason, reference=reference)
