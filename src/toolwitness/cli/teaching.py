"""Help that teaches: a command shows how it is used, line by line, exactly as one would type it."""

from collections.abc import Sequence
from typing import Any

import click


class Taught(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        """Take the lines to show besides what every command takes."""
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        write_lines(formatter, "Examples", self.examples)


class TaughtGroup(Taught, click.Group):
    """A group of commands whose help lists them and ends with examples."""


def write_lines(formatter: click.HelpFormatter, heading: str, lines: Sequence[str]) -> None:
    """Write a section whose lines are kept as they are."""
    if lines:
        with formatter.section(heading):
            for line in lines:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
