"""``toolwitness``: the commands, their help, and what an exit code means.

The meaning of an exit code is the table ``EXIT_CODES``, which the help prints.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

import click

from toolwitness.cli.answers import ask_for_json, exit_code, explain, prepare_streams, tell_usage
from toolwitness.cli.teaching import write_lines
from toolwitness.core.errors import ToolwitnessError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a command lives, and the first sentence of its help, which the overview shows without importing it."""

    module: str
    says: str


COMMANDS: Final = MappingProxyType({
    "demo": Place(module="demo", says="Watch an agent's calls run, fail, wait for you, be cancelled, retried and finish."),
    "serve": Place(module="serve", says="Serve the page and the API for a ledger, on this machine only."),
    "show": Place(module="inspect", says="Show a task or an invocation as its card, or list the tasks."),
    "inbox": Place(module="decide", says="Show what waits for a decision, yours first."),
    "approve": Place(module="decide", says="Approve the request that waits at invocation ID."),
    "deny": Place(module="decide", says="Deny the request that waits at invocation ID."),
    "cancel": Place(module="decide", says="Request the cancellation of invocation ID alone."),
    "retry": Place(module="decide", says="Propose the next attempt of the failed invocation ID."),
    "reverse": Place(module="recover", says="Undo the succeeded invocation ID with the inverse that its tool names."),
    "reconcile": Place(module="recover", says="Record what really happened to invocation ID."),
    "authority": Place(module="authority", says="Take authority from somebody, give it back, or list what was taken."),
    "grants": Place(
        module="grants", says="List, give or take back standing grants: permission beforehand, with a scope, a limit and an end."
    ),
    "policy": Place(module="policy", says="Check a policy file, or explain what policy says of a tool."),
    "erase": Place(module="erase", says="Have the values of an invocation, or one value by its reference, forgotten for good."),
    "verify": Place(module="inspect", says="Recompute the whole record from its events and say whether it agrees."),
    "prove": Place(module="prove", says="Run one script under a framework alone and with toolwitness, and compare told with happened."),
    "replay": Place(module="replay", says="Replay a framework's recorded stream and show what it really evidenced."),
    "truth": Place(module="truth", says="Judge recordings against what the tools really did."),
    "schema": Place(module="schema", says="Print the JSON Schema of what we publish."),
})  # fmt: skip  # a table reads better than one a line
"""Every command in the order in which a newcomer needs them. Its module is imported when it is asked for: help and usage are quick."""


BEGIN: Final = (
    "toolwitness demo                 a live page, in seconds",
    "toolwitness show                 what is recorded",
    "toolwitness inbox                what waits for you",
    "toolwitness approve ID           once, on exactly what was shown",
    "toolwitness verify               the record has not been changed",
)
EXIT_CODES: Final = (
    "0  done, or the request is recorded",
    "1  the answer is no: refused, unknown id, tampered",
    "2  wrong usage, or input that cannot be read",
    "3  unavailable, locked, or written by a newer version",
)


class House(click.Group):
    """The group of all commands: its errors speak our words and carry our exit codes."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; what a terminal cannot show is written as its escape and never stops a command."""
        prepare_streams()
        return super().main(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note first whether JSON is asked for: what is then wrong with the words is told as a document too."""
        ask_for_json(ctx, "--json" in args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; an error of ours becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            tell_usage(ctx, error)
            raise
        except ToolwitnessError as error:
            explain(error)
            sys.exit(exit_code(error))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that is asked for."""
        place = COMMANDS.get(cmd_name)
        return cast("click.Command", getattr(import_module(f"toolwitness.cli.{place.module}"), cmd_name)) if place else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.says) for name, place in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to begin, and what an exit code means."""
        write_lines(formatter, "Begin with", BEGIN)
        write_lines(formatter, "Exit codes", EXIT_CODES)


@click.group(cls=House, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="toolwitness", prog_name="toolwitness")
def main() -> None:
    """Keep the truth about an agent's tool calls: what your users see is what happened.

    Commands that read or decide take --db FILE (or TOOLWITNESS_DB; calls.db where neither is given). With --json a command
    answers with one JSON document, and so does its error.
    """
