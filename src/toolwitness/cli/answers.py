"""How a command answers: one JSON document or words for a person, and the exit code that fits."""

import codecs
import io
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final, TypeVar

import click

from toolwitness.contract.encode import encode
from toolwitness.core.errors import InvalidInput, ToolwitnessError, Unavailable, UnknownId

_T = TypeVar("_T")
_JSON: Final = "toolwitness.json"
_PLAINLY: Final = "toolwitness.plainly"
_SIGNS: Final = MappingProxyType({
    "·": "-", "–": "-", "—": "-", "−": "-", "…": "...", "’": "'", "‘": "'", "“": '"', "”": '"', "→": "->", "↳": "->", "×": "x", "≠": "!=",
    "€": "EUR",
})  # fmt: skip  # a table reads better than one a line


def exit_code(error: ToolwitnessError) -> int:
    """Give the exit code of an error: 1 the answer is no, 2 unreadable input, 3 unavailable."""
    if isinstance(error, Unavailable):
        return 3
    return 2 if isinstance(error, InvalidInput) and not isinstance(error, UnknownId) else 1


def explain(error: ToolwitnessError) -> None:
    """Say on standard error what was wrong and what to do; as JSON on standard output too where JSON was asked for."""
    if click.get_current_context().find_root().meta.get(_JSON):
        facts = {k: v for k, v in error.facts.items() if isinstance(v, str | int | list | dict)}
        print_json({"error": {"code": error.code, "message": error.message, "remedy": error.remedy, **facts}})
    note(f"toolwitness: {error.message}")
    if error.remedy:
        note(f"  {error.remedy}")


def ask_for_json(context: click.Context, asked: object) -> None:
    """Remember whether this command line asks for JSON."""
    context.find_root().meta[_JSON] = bool(asked)


def tell_usage(context: click.Context, error: click.UsageError) -> None:
    """Say what is wrong with the words of a command as a document, where JSON was asked for."""
    if context.find_root().meta.get(_JSON):
        where = (error.ctx or context).command_path
        print_json({"error": {"code": "usage", "message": error.format_message(), "remedy": f"See `{where} --help`."}})


def json_option(help_text: str = "Print one JSON document with stable keys.") -> Any:
    """Give a command ``--json``; an error is then a JSON document as well."""

    def remember(context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        ask_for_json(context, value)
        return value

    return click.option("--json", "as_json", is_flag=True, callback=remember, help=help_text)


def print_json(document: Any) -> None:
    """Print one JSON document on one line, exactly, in UTF-8 whatever the terminal speaks."""
    with _while_somebody_reads():
        sys.stdout.flush()
        sys.stdout.buffer.write(encode(document) + b"\n")
        sys.stdout.flush()


def say(text: str) -> None:
    """Say something on standard output, where a command's answer belongs, in the encoding that was asked for."""
    with _while_somebody_reads():
        sys.stdout.write(f"{text}\n")  # click.echo writes UTF-8 to a terminal that says it speaks ASCII
        sys.stdout.flush()


def note(text: str) -> None:
    """Say something on standard error, where it does not disturb a document."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def prepare_streams() -> None:
    """Let what the terminal's encoding cannot say go out plainly, or as its escape: a sign that is missing must not stop a command."""
    codecs.register_error(_PLAINLY, _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAINLY)


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write the signs that we set ourselves in ASCII, and every other character as its escape, so that nothing is lost."""
    if isinstance(error, UnicodeEncodeError) and (plain := _SIGNS.get(error.object[error.start])):
        return plain, error.start + 1
    return codecs.backslashreplace_errors(error)


@contextmanager
def _while_somebody_reads() -> Iterator[None]:
    """Go on where nobody reads any more (``… | head``): the command ends with its own exit code and without a complaint."""
    try:
        yield
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # what is still to be said goes nowhere, or the interpreter complains at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a command's coroutine. Ctrl-C and a polite kill end it the same way: everything is closed, and the exit code names the signal."""
    import asyncio  # noqa: PLC0415 - help and usage need no event loop

    told: list[int] = []

    async def until_told() -> _T:
        ours = asyncio.current_task()

        def leave() -> None:
            told.append(signal.SIGTERM)
            if ours is not None:
                ours.cancel()

        with suppress(NotImplementedError, RuntimeError, ValueError):  # not on Windows, and not outside the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
        return await work

    try:
        return asyncio.run(until_told())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except asyncio.CancelledError:
        sys.exit(128 + (told[0] if told else signal.SIGINT))
