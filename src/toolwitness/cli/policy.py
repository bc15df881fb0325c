"""Read a policy file, and ask it: what it answers, which class or rule gave the answer, and what somebody may do."""

import textwrap
from pathlib import Path
from typing import Any

import click

from toolwitness.bootstrap.policy_file import load_policy
from toolwitness.bootstrap.world import SystemClock
from toolwitness.cli.answers import json_option, print_json, run, say
from toolwitness.cli.desks import desk_at, login, policy_file, with_policy
from toolwitness.cli.drawing import screen
from toolwitness.cli.teaching import Taught, TaughtGroup
from toolwitness.core.verdicts import Actor, Control
from toolwitness.policy.explain import Explained, Offered, explain_answers, explain_states
from toolwitness.policy.files import PolicyFile, roles_of
from toolwitness.policy.tool_policy import ToolPolicy


@click.group(
    cls=TaughtGroup,
    examples=[
        "toolwitness policy check toolwitness.toml",
        "toolwitness policy explain book",
    ],
)
def policy() -> None:
    """Check a policy file, or explain what policy says of a tool."""


@policy.command(
    cls=Taught,
    examples=[
        "toolwitness policy check toolwitness.toml",
        "toolwitness policy check team.yaml --json | jq .tools",
    ],
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option()
def check(file: Path, *, as_json: bool) -> None:
    """Read a policy file whole and say what it holds.

    Exit 0: every line of it is understood. Exit 2: something is not; the file, the line, the field, what is wrong and the fix are named.
    """
    found = load_policy(file)
    document = _contents(found)
    if as_json:
        print_json({"file": str(file), "good": True, **document})
        return
    say(f"{file} is understood.")
    for tool, facts in document["tools"].items():
        say(f"  tool    {tool}: {', '.join(facts['consequences']) or 'unknown'}; {facts['approval']} ({facts['version']})")
    for who, facts in document["actors"].items():
        say(f"  actor   {who}: {', '.join(facts['roles']) or 'no role'}" + (f", until {facts['until']}" if facts["until"] else ""))
    for budget in document["budgets"]:
        say(f"  budget  {budget['amount']} {budget['currency']} for each {budget['per']}; beyond it: {budget['beyond']}")


def _contents(found: PolicyFile) -> dict[str, Any]:
    """Give what a policy file holds as plain data."""
    governed = {tool: found.govern(tool) for tool in found.tools}
    return {
        "tools": {
            tool: {
                "consequences": [str(c) for c in one.consequences],
                "approval": f"approved by {', '.join(one.eligible)}" if one.requires_approval else "no approval",
                "version": one.version,
            }
            for tool, one in governed.items()
        },
        "actors": {who: {"roles": sorted(held.roles), "until": held.until or None} for who, held in found.actors.items()},
        "administrators": list(found.administrators),
        "budgets": [{"per": str(b.per), **b.limit.plain, "beyond": str(b.beyond)} for b in found.budgets],
    }


@policy.command(
    cls=Taught,
    examples=[
        "toolwitness policy explain book --actor os:ann --role finance",
        "toolwitness policy explain book --actor os:ann --policy team.toml --json | jq .states",
    ],
)
@click.argument("tool")
@click.option("--actor", default="", metavar="ID", help="Who would act, for example os:ann; you, where it is left out.")
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="A role that they hold, beside those of the policy file.")
@click.option("--tenant", default="", metavar="TENANT", help="Their tenant, which is also the call's.")
@with_policy
@click.option("--db", default="", metavar="FILE", help="A ledger: the policy under which the tool was last proposed counts too.")
@json_option()
def explain(
    tool: str, actor: str, roles: tuple[str, ...], tenant: str, policy: Path | None, db: str, *, as_json: bool
) -> None:  # fmt: skip  # a signature in three lines
    """Say what policy answers about a tool, and what somebody may do in each state.

    Each answer comes with the class or the rule that gave it. A tool that nobody has declared gets the most restrictive answers.
    """

    async def work() -> None:
        now = SystemClock().now()
        file = policy_file(policy)
        governing = await _recorded(db, file, tool) if db else file.govern(tool)
        name = actor or f"os:{login()}"
        who = Actor(id=name, roles=frozenset(roles) | roles_of(file, name, now), tenant=tenant, channel="cli")
        answers, states = explain_answers(governing), explain_states(governing, who, now)
        if as_json:
            print_json(_document(governing, who, answers, states))
            return
        say(_drawn(governing, who, answers, states))

    run(work())


async def _recorded(db: str, file: PolicyFile, tool: str) -> ToolPolicy:
    """Give the policy of the tool's latest recorded proposal, together with the file's answers; the file's alone where there is none."""
    async with desk_at(db) as desk:
        desk.place.file = file
        for task_id in await desk.ledger.tasks(limit=10_000):
            view = await desk.ledger.task(task_id)
            found = [record for record in view.records.values() if record.tool == tool] if view else []
            if found:
                return await desk.place.policy_of(found[-1])
    return file.govern(tool)


def _document(governing: ToolPolicy, who: Actor, answers: tuple[Explained, ...], states: tuple[Offered, ...]) -> dict[str, Any]:
    return {
        "tool": governing.tool,
        "policy_version": governing.version,
        "actor": {"id": who.id, "roles": sorted(who.roles), "tenant": who.tenant},
        "answers": [{"question": one.question, "answer": one.answer, "by": one.by} for one in answers],
        "states": [
            {
                "state": str(one.state),
                "actions": [{"action": c.action, "allowed": c.enabled, "rule": c.rule, "reason": c.reason} for c in one.controls],
            }
            for one in states
        ],
    }


def _drawn(governing: ToolPolicy, who: Actor, answers: tuple[Explained, ...], states: tuple[Offered, ...]) -> str:
    columns = screen().columns
    widths = [max(len(getattr(one, name)) for one in answers) for name in ("question", "answer")]
    lines = [f"{governing.tool}  ({governing.version})", ""]
    lines += [row for one in answers for row in _answered(one, widths, columns)]
    heading = f"What {who.id} ({', '.join(sorted(who.roles)) or 'no role'}) may do, when nothing else stands in the way:"
    lines += ["", *_hung(heading, 0, columns), ""]
    for one in states:
        lines.append(f"  {str(one.state).replace('_', ' ')}")
        lines += [row for control in one.controls for row in _hung(_line(control), 33, columns)] or ["    nothing"]
    return "\n".join(lines)


def _answered(one: Explained, widths: list[int], columns: int) -> list[str]:
    """Draw one answer as a row of the table; where the terminal is too narrow for one, with its grounds on a line below it."""
    row = f"  {one.question:<{widths[0]}}  {one.answer:<{widths[1]}}  {one.by}"
    if len(row) <= columns:
        return [row]
    below = widths[0] + 4
    grounds = f"{'':<{min(below, columns * 2 // 5)}}({one.by})"
    return [*_hung(f"  {one.question:<{widths[0]}}  {one.answer}", below, columns), *_hung(grounds, below, columns)]


def _hung(line: str, indent: int, columns: int) -> list[str]:
    """Break a line that does not fit and hang the rest below ``indent``; a narrow terminal gets less of it."""
    hang = " " * min(indent, columns * 2 // 5)
    return textwrap.wrap(line, width=columns, subsequent_indent=hang, break_on_hyphens=False)


def _line(control: Control) -> str:
    why = f": {control.reason}" if control.reason else ""
    return f"    {'yes' if control.enabled else 'no':<3}  {control.action:<22}  {control.rule}{why}"
