"""The desk that a command works at, and who works at it."""

import getpass
import os
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from toolwitness.bootstrap.desk import Desk, ledger_path
from toolwitness.bootstrap.desk import open as open_desk
from toolwitness.cli.answers import json_option
from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor

_F = TypeVar("_F", bound=Callable[..., Any])
_POLICY: Final = "toolwitness.toml"
_EXAMPLE: Final = 'a table [actors] with lines like "os:ann" = ["finance"]'


def with_ledger(command: _F) -> _F:
    """Give a command ``--db`` and ``--json``."""
    return click.option(
        "--db", envvar="TOOLWITNESS_DB", default="calls.db", show_default=True, metavar="FILE", help="The ledger's file, or sqlite:///path."
    )(json_option()(command))


def with_policy(command: _F) -> _F:
    """Give a command ``--policy``: where the roles of the person at the terminal are written."""
    return click.option(
        "--policy", envvar="TOOLWITNESS_POLICY", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help=f"The file that gives roles to people ({_POLICY} where it is there): {_EXAMPLE}.",
    )(command)  # fmt: skip  # facts in lines


@asynccontextmanager
async def desk_at(db: str) -> AsyncIterator[Desk]:
    """Open a desk on a ledger that is there, without running anything, and close it after use.

    Raises:
        InvalidInput: there is no such file, and none is made by mistake.
    """
    path = ledger_path(db)
    if path is None or not path.is_file() or path.stat().st_size == 0:
        what = "keeps nothing between two commands" if path is None else "is empty" if path.is_file() else "is not there"
        raise InvalidInput(
            f"The ledger {db} {what}.", field="db", remedy="Name a ledger's file with --db, or make one: `toolwitness demo --db trip.db`."
        )
    desk = open_desk(db)
    try:
        yield desk
    finally:
        await desk.close()


def refuse_to_mix(db: str) -> None:
    """Go on only where a story may be written: roles for a demo's person must not reach anybody's real calls.

    Raises:
        InvalidInput: the file holds something.
    """
    path = ledger_path(db)
    if path is not None and path.exists():
        raise InvalidInput(
            f"{db} is there already, and the demo writes its story into a file of its own.", field="db", remedy="Name a new file."
        )


def login() -> str:
    """Give the account that runs this process, as the system knows it and not as a variable claims."""
    try:
        import pwd  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def person(policy: Path | None) -> Actor:
    """Give the person at the terminal: ``os:<user>``, with the roles that the policy file gives and no others.

    Raises:
        InvalidInput: the policy file cannot be read, or names something that cannot be understood.
    """
    name = f"os:{login()}"
    path = policy or (Path(_POLICY) if Path(_POLICY).is_file() else None)
    return Actor(id=name, roles=frozenset(_roles(path).get(name, ()) if path else ()), channel="cli")


def _roles(path: Path) -> dict[str, list[str]]:
    """Read who has which roles."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, "policy", f"cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(path, "policy", f"is no TOML: {error}") from error
    if unknown := sorted(said.keys() - {"actors"}):
        raise _unreadable(path, unknown[0], f"holds {unknown[0]!r}, which says nothing here")
    actors = said.get("actors", {})
    if not isinstance(actors, dict):
        raise _unreadable(path, "actors", f"gives actors as {type(actors).__name__} and not as a table")
    for name, roles in actors.items():
        if not isinstance(roles, list) or not all(isinstance(role, str) and role for role in roles):
            raise _unreadable(path, f"actors.{name}", f"does not give {name} a list of roles")
    return actors


def _unreadable(path: Path, field: str, why: str) -> InvalidInput:
    return InvalidInput(f"The policy file {path} {why}.", field=field, remedy=f"Write {_EXAMPLE}.")
