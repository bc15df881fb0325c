"""The desk that a command works at, and who works at it."""

import getpass
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from toolwitness.bootstrap.desk import Desk, open as open_desk
from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor

_F = TypeVar("_F", bound=Callable[..., Any])
_POLICY: Final = "toolwitness.toml"


def with_ledger(command: _F) -> _F:
    """Give a command ``--db`` and ``--json``."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document with stable keys.")(command)
    return click.option(
        "--db", envvar="TOOLWITNESS_DB", default="calls.db", show_default=True, metavar="FILE", help="The ledger's file, or a URL."
    )(command)


def with_policy(command: _F) -> _F:
    """Give a command ``--policy``: where the roles of the person at the terminal are written."""
    return click.option(
        "--policy", envvar="TOOLWITNESS_POLICY", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help=f"The file that gives roles to people ({_POLICY} where it is there): a table [actors] with lines like \"os:ann\" = [\"finance\"].",
    )(command)  # fmt: skip  # facts in lines


@asynccontextmanager
async def desk_at(db: str, *, missing: str = "refuse") -> AsyncIterator[Desk]:
    """Open a desk on an existing ledger, without running anything, and close it after use.

    Raises:
        InvalidInput: there is no such file, and nothing is made by mistake.
    """
    if missing == "refuse" and "://" not in db and db != "memory:" and not Path(db).is_file():
        raise InvalidInput(f"There is no ledger at {db}.", field="--db", remedy="Name the file with --db, or run `toolwitness demo` first.")
    desk = open_desk(db)
    try:
        yield desk
    finally:
        await desk.close()


def person(policy: Path | None) -> Actor:
    """Give the person at the terminal: ``os:<user>``, with the roles that the policy file gives and no others.

    Raises:
        InvalidInput: the policy file cannot be read, or what it says of this person cannot be understood.
    """
    name = f"os:{getpass.getuser()}"
    path = policy or (Path(_POLICY) if Path(_POLICY).is_file() else None)
    roles = _roles(path, name) if path else ()
    return Actor(id=name, roles=frozenset(roles), channel="cli")


def _roles(path: Path, name: str) -> tuple[str, ...]:
    """Read the roles of one person from the policy file."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"The policy file {path} cannot be read: {error}.", field="--policy", remedy="Write TOML.") from error
    actors = said.get("actors", {})
    roles = actors.get(name, []) if isinstance(actors, dict) else None
    if not isinstance(roles, list) or not all(isinstance(role, str) and role for role in roles):
        raise InvalidInput(
            f"The policy file {path} does not give {name} a list of roles.", field=f"actors.{name}", remedy=f'Write [actors] and "{name}" = ["finance"].'
        )
    return tuple(roles)
