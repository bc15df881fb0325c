"""``toolwitness``: the commands, their help, and what an exit code means.

Exit codes: 0 done, or the request is recorded; 1 the answer is no (refused, unknown id, tampered); 2 usage or unreadable input; 3 unavailable,
locked, or written by a newer version.
"""

import sys
from typing import Any

import click

from toolwitness.cli import decide, demo, inspect, replay, serve
from toolwitness.cli.answers import exit_code, explain
from toolwitness.core.errors import ToolwitnessError


class _House(click.Group):
    """A group whose errors speak our words and carry our exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ToolwitnessError as error:
            explain(error)
            sys.exit(exit_code(error))
        except BrokenPipeError:
            sys.exit(0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order in which a newcomer needs them."""
        return list(self.commands)


@click.group(cls=_House, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="toolwitness", prog_name="toolwitness")
def main() -> None:
    """Keep the truth about an agent's tool calls: what your users see is what happened.

    \b
    Begin with     toolwitness demo                 a live page, in seconds
    Then look      toolwitness show                 what is recorded
                   toolwitness inbox                what waits for you
    Decide         toolwitness approve ID           once, on exactly what was shown
    Prove          toolwitness verify               the record has not been changed

    Commands that read or decide take --db FILE (or TOOLWITNESS_DB; calls.db where neither is given) and --json.

    \b
    Exit codes: 0 done or recorded · 1 the answer is no · 2 usage or unreadable input · 3 unavailable or newer format
    """


main.add_command(demo.demo)
main.add_command(serve.serve)
main.add_command(inspect.show)
main.add_command(decide.inbox)
main.add_command(decide.approve)
main.add_command(decide.deny)
main.add_command(decide.cancel)
main.add_command(decide.retry)
main.add_command(inspect.verify)
main.add_command(replay.replay)
main.add_command(inspect.schema)
