"""The kill drill: a process that appends at full speed dies by SIGKILL, and nothing that it was told is recorded may be missing.

``python -m toolwitness.testing.kill --rounds 20 --json``. A child appends from many callers at once and logs each submission and each
acknowledgement through a pipe; the parent kills it at a random moment at least 1,000 acknowledgements in, reopens the file, and looks.
A kill shows what the ledger survives when its process dies, not what a disk survives when its power fails: that rests on
``synchronous=FULL``.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.ports import Draft

CALLERS: Final = 64
LEAST_ACKNOWLEDGED: Final = 1_000
_MOST_MORE: Final = 1_500
_SOURCE: Final = "drill:kill"
_SHARE_IN_FLIGHT: Final = 0.75


@dataclass(slots=True, kw_only=True)
class Report:
    """What a drill saw."""

    rounds: int = 0
    acknowledged: int = 0
    """Appends whose caller was answered before the kill."""
    found: int = 0
    """Of those, how many the reopened file holds."""
    missing: int = 0
    submitted: int = 0
    unacknowledged: int = 0
    """Submitted and not answered when the kill came."""
    unacknowledged_rounds: int = 0
    kept_unacknowledged: int = 0
    """Of the unanswered, how many were on record all the same; both are right."""
    verify: str = "good"
    verify_good: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, every file verified, and enough kills came in the middle of something."""
        enough = self.unacknowledged_rounds >= self.rounds * _SHARE_IN_FLIGHT
        return self.rounds > 0 and self.missing == 0 and self.verify_good == self.rounds and enough


async def append_for_ever(path: Path, log: int, *, callers: int) -> None:
    """Append from ``callers`` at once until the end of the process; ``S id`` goes to ``log`` before and ``A id`` after each append."""
    ledger = SqliteLedger(path)
    await asyncio.gather(*(_call_for_ever(ledger, log, caller) for caller in range(callers)))


async def _call_for_ever(ledger: SqliteLedger, log: int, caller: int) -> None:
    round_number = 0
    while True:
        task_id = f"task_{caller}_{round_number}"
        for draft in _life_of_a_call(task_id):
            os.write(log, f"S {draft.event.id}\n".encode())
            await ledger.append(task_id, [draft])
            os.write(log, f"A {draft.event.id}\n".encode())
        round_number += 1


def _life_of_a_call(task_id: str) -> Iterator[Draft]:
    """Give the events of one call from proposal to success; two of them carry values."""
    invocation_id = f"inv_{task_id}"
    facts: list[tuple[str, dict[str, object], dict[str, bytes], str]] = [
        (Kind.PROPOSED, {"tool": "t", "source_request": "drill", "proposer": "drill"}, {"inputs": b"x" * 200}, ""),
        (Kind.CLAIMED, {"permit": f"prm_{task_id}", "attempt": 1}, {}, f"dispatch:{invocation_id}"),
        (Kind.ACCEPTED, {"queue_ref": "q"}, {}, ""),
        (Kind.STARTED, {"attempt": 1, "executor": "drill"}, {}, ""),
        (Kind.SUCCEEDED, {"completed_at": "2026-01-01T00:00:00Z"}, {"result": b"[1,2,3]"}, ""),
    ]
    for number, (kind, data, values, once_key) in enumerate(facts):
        event = Event(
            kind=kind, source=_SOURCE, id=f"{task_id}-{number}", task_id=task_id, invocation_id=invocation_id, owner=Owner.RUNTIME,
            data=data, once_key=once_key,
        )  # fmt: skip  # facts in lines
        yield Draft(event=event, values=values)


def drill(rounds: int, *, seed: int | None = None, callers: int = CALLERS, least: int = LEAST_ACKNOWLEDGED) -> Report:
    """Kill ``rounds`` processes, each on a new file, and report what was found afterwards."""
    report, started = Report(), time.monotonic()
    chance = random.Random(seed)  # noqa: S311 - when to kill is no secret
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="toolwitness-kill-") as directory:
            path = Path(directory) / "calls.db"
            submitted, acknowledged = _run_and_kill(path, chance, callers=callers, least=least)
            there, problems = asyncio.run(_reopen(path))
        report.rounds += 1
        report.submitted += len(submitted)
        report.acknowledged += len(acknowledged)
        report.found += len(acknowledged & there)
        report.missing += len(acknowledged - there)
        in_flight = submitted - acknowledged
        report.unacknowledged += len(in_flight)
        report.unacknowledged_rounds += bool(in_flight)
        report.kept_unacknowledged += len(in_flight & there)
        report.verify_good += not problems
        if problems:
            report.verify = "; ".join(problems[:5])
    report.seconds = round(time.monotonic() - started, 1)
    return report


def _run_and_kill(path: Path, chance: random.Random, *, callers: int, least: int) -> tuple[set[str], set[str]]:
    """Let one child append until its random moment has come; give what it submitted and what it was answered."""
    command = [sys.executable, "-m", "toolwitness.testing.kill", "--child", str(path), "--callers", str(callers)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    enough = least + chance.randrange(_MOST_MORE)
    submitted: set[str] = set()
    acknowledged: set[str] = set()
    with child.stdout as log:
        for line in log:
            _note(line, submitted, acknowledged)
            if len(acknowledged) >= enough:
                time.sleep(chance.random() * 0.01)
                child.kill()
                break
        for line in log:  # what was in the pipe when it died
            _note(line, submitted, acknowledged)
    child.wait()
    return submitted, acknowledged


def _note(line: bytes, submitted: set[str], acknowledged: set[str]) -> None:
    if line.endswith(b"\n"):
        (submitted if line[:1] == b"S" else acknowledged).add(line[2:-1].decode())


async def _reopen(path: Path) -> tuple[set[str], list[str]]:
    ledger = SqliteLedger(path)
    there = {recorded.event.id for recorded in await ledger.read()}
    problems = [f"{problem.place}: {problem.what}" for problem in await ledger.verify()]
    await ledger.close()
    return there, problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill; exit code 1 where something was lost or too few kills came in the middle of an append."""
    parser = argparse.ArgumentParser(prog="python -m toolwitness.testing.kill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how many processes to kill (default 20)")
    parser.add_argument("--callers", type=int, default=CALLERS, help="how many callers append at once (default 64)")
    parser.add_argument("--seed", type=int, default=None, help="makes the moments repeatable")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        asyncio.run(append_for_ever(options.child, sys.stdout.fileno(), callers=options.callers))
        return 0
    report = drill(options.rounds, seed=options.seed, callers=options.callers)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        print(
            f"{report.rounds} kills, {report.unacknowledged_rounds} of them in the middle of an append; {report.acknowledged} "
            f"appends acknowledged, {report.found} found, {report.missing} missing; verify {report.verify} "
            f"({report.verify_good} of {report.rounds})."
        )
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
