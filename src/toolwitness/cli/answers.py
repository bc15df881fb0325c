"""How a command answers: one JSON document or words for a person, and the exit code that fits."""

import os
import shutil
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from toolwitness.contract.encode import encode
from toolwitness.core.errors import InvalidInput, ToolwitnessError, Unavailable, UnknownId
from toolwitness.presentation.terminal_text import Glyphs, Screen, ink_for

_T = TypeVar("_T")


def exit_code(error: ToolwitnessError) -> int:
    """Give the exit code of an error: 1 the answer is no, 2 unreadable input, 3 unavailable."""
    if isinstance(error, Unavailable):
        return 3
    return 2 if isinstance(error, InvalidInput) and not isinstance(error, UnknownId) else 1


def explain(error: ToolwitnessError) -> None:
    """Say on standard error what was wrong and what to do; as JSON on standard output too where JSON was asked for."""
    if json_wanted():
        facts = {k: v for k, v in error.facts.items() if isinstance(v, str | int | list | dict)}
        print_json({"error": {"code": error.code, "message": error.message, "remedy": error.remedy, **facts}})
    click.echo(f"toolwitness: {error.message}", err=True)
    if error.remedy:
        click.echo(f"  {error.remedy}", err=True)


def json_wanted() -> bool:
    """Tell whether the command was asked for JSON."""
    context = click.get_current_context(silent=True)
    while context is not None:
        if context.params.get("as_json"):
            return True
        context = context.parent
    return "--json" in sys.argv


def print_json(document: Any) -> None:
    """Print one JSON document on one line, exactly."""
    sys.stdout.buffer.write(encode(document) + b"\n")
    sys.stdout.flush()


def screen(*opened: str) -> Screen:
    """Give the terminal as something to draw on: its width, its colours unless NO_COLOR, its zone; ``opened`` names what is unfolded."""
    term = os.environ.get("TERM") if sys.stdout.isatty() else None
    encoding = (sys.stdout.encoding or "ascii").lower()
    return Screen(
        width=min(100, shutil.get_terminal_size((80, 24)).columns),
        ink=ink_for(os.environ.get("NO_COLOR"), term=term),
        glyphs=Glyphs.UNICODE if encoding.startswith("utf") else Glyphs.ASCII,
        zone=datetime.now().astimezone().tzinfo or UTC,
        now=datetime.now(UTC),
        opened=frozenset(opened),
    )


def note(text: str) -> None:
    """Say something on standard error, where it does not disturb a document."""
    click.echo(text, err=True)


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a command's coroutine; on Ctrl-C leave with the shell's usual code."""
    import asyncio  # noqa: PLC0415 - help and usage need no event loop

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.exit(130)
