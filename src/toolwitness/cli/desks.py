"""The desk that a command works at, and who works at it."""

import getpass
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from toolwitness.bootstrap.desk import Desk
from toolwitness.bootstrap.opening import ledger_path
from toolwitness.bootstrap.opening import open as open_desk
from toolwitness.bootstrap.policy_file import load_policy
from toolwitness.bootstrap.world import SystemClock
from toolwitness.cli.answers import json_option
from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor
from toolwitness.policy.files import ROLES_EXAMPLE, PolicyFile, roles_of

_F = TypeVar("_F", bound=Callable[..., Any])
_POLICY: Final = "toolwitness.toml"


def with_ledger(command: _F) -> _F:
    """Give a command ``--db`` and ``--json``."""
    return click.option(
        "--db", envvar="TOOLWITNESS_DB", default="calls.db", show_default=True, metavar="FILE", help="The ledger's file, or sqlite:///path."
    )(json_option()(command))


def with_policy(command: _F) -> _F:
    """Give a command ``--policy``: where the roles of the person at the terminal are written."""
    return click.option(
        "--policy", envvar="TOOLWITNESS_POLICY", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help=f"The file that gives roles to people ({_POLICY} where it is there): {ROLES_EXAMPLE}.",
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


def policy_file(policy: Path | None) -> PolicyFile:
    """Give what the named policy file says, or the one in this folder; the empty one where there is none.

    Raises:
        InvalidInput: it cannot be read, or names something that cannot be understood.
    """
    path = policy or (Path(_POLICY) if Path(_POLICY).is_file() else None)
    return load_policy(path) if path else PolicyFile()


def person(policy: Path | None) -> Actor:
    """Give the person at the terminal: ``os:<user>``, with the roles that the policy file gives now and no others.

    Raises:
        InvalidInput: the policy file cannot be read, or names something that cannot be understood.
    """
    name = f"os:{login()}"
    return Actor(id=name, roles=roles_of(policy_file(policy), name, SystemClock().now()), channel="cli")
