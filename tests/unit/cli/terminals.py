"""The real command in a process of its own, and a ledger with something in it to ask about."""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from click.testing import CliRunner

import toolwitness as tw
from toolwitness.cli import main
from toolwitness.core.states import State

COMMAND = Path(sys.executable).parent / "toolwitness"
PATIENCE_SECONDS = 60
Finished: TypeAlias = subprocess.CompletedProcess[str]


def surroundings(**more: str) -> dict[str, str]:
    """Give an environment in which nothing of this machine's terminal shows, and every warning is an error."""
    left_out = {"NO_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONIOENCODING", "TOOLWITNESS_DB", "TOOLWITNESS_POLICY"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1", **more}


def a_process(*arguments: str, folder: Path, environment: Mapping[str, str] | None = None) -> Finished:
    """Run the real command in a process of its own, as a person would, and wait for its end."""
    return subprocess.run(
        [str(COMMAND), *arguments], capture_output=True, text=True, encoding="utf-8", check=False, cwd=folder, timeout=PATIENCE_SECONDS,
        env=surroundings(**(environment or {})),
    )  # fmt: skip  # facts in lines


def toolwitness(*arguments: str, folder: Path) -> Finished:
    """Run the command in this process: the same code and the same answers, many times quicker."""
    left_out = dict.fromkeys(["NO_COLOR", "COLUMNS", "TOOLWITNESS_DB", "TOOLWITNESS_POLICY"])
    with chdir(folder):
        asked = CliRunner(env=left_out).invoke(main, arguments, prog_name="toolwitness")
    if asked.exception is not None and not isinstance(asked.exception, SystemExit):
        raise asked.exception
    return subprocess.CompletedProcess(arguments, asked.exit_code, asked.stdout, asked.stderr)


def document(finished: Finished) -> dict[str, Any]:
    """Read the one JSON document on standard output."""
    lines = finished.stdout.splitlines()
    assert len(lines) == 1, f"one document on one line is promised:\n{finished.stdout}\n{finished.stderr}"
    read: dict[str, Any] = json.loads(lines[0])
    return read


def me() -> str:
    """Give the actor that the command line acts as."""
    return f"os:{pwd.getpwuid(os.getuid()).pw_name}"


def roles_for_me(folder: Path, *roles: str, name: str = "toolwitness.toml") -> Path:
    """Write a policy file that gives the person at the terminal these roles."""
    path = folder / name
    path.write_text(f'[actors]\n"{me()}" = {json.dumps(list(roles))}\n', encoding="utf-8")
    return path


@dataclass(frozen=True)
class Ledger:
    """A ledger file and the ids of what is in it."""

    folder: Path
    task: str
    succeeded: str
    failed: str
    waiting: str

    @property
    def file(self) -> str:
        """The path of the file."""
        return str(self.folder / "calls.db")


async def a_ledger(folder: Path) -> Ledger:
    """Make a ledger whose process has gone: one call has succeeded, one has failed and may be retried, one waits for finance."""
    async with tw.open(str(folder / "calls.db"), sweep_seconds=3600) as desk:

        @desk.tool(title="Search flights", consequences=[tw.READ_ONLY])
        async def search_flights(day: str) -> dict[str, Any]:
            return {"flights": [{"number": "NW 701", "day": day, "price": "412.50 €"}]}

        @desk.tool(title="Search hotels", consequences=[tw.READ_ONLY], retry_attempts=3, retry_categories=["upstream-unavailable"])
        async def search_hotels(city: str) -> str:
            raise tw.ToolFailure("upstream-unavailable", "The hotel service did not answer.", retryable="yes")

        @desk.tool(title="Reserve", consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["total"])
        async def reserve(total: str, currency: str) -> str:
            return "reserved"

        async with desk.task("Prepare the trip to Tromsø") as trip:
            found = await trip.call(search_flights, purpose="Search flights", day="2027-01-14")
            lost = await trip.call(search_hotels, purpose="Search hotels", city="Oslo")
            asking = trip.call(reserve, purpose="Reserve the flight", total="412.50", currency="EUR")
            waiting = await asking.invocation_id()
            async for _ in desk.follow():
                if (await desk.record(waiting)).state is State.AWAITING_APPROVAL:
                    break
            return Ledger(folder, trip.id, found.invocation_id, lost.invocation_id, waiting)
