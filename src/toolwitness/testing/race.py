"""The race drill: several processes approve the same request at the same moment, and its body runs once.

``python -m toolwitness.testing.race --processes 2 --rounds 200 --json``. Every process has a desk of its own on one SQLite file and
could run the call: they race for the decision and then for the dispatch. How often bodies ran is counted from the lines that they
wrote, with ``O_APPEND``, into a file that no desk knows.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from toolwitness.bootstrap.opening import open as open_a_desk
from toolwitness.core.errors import NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import Actor, Verdict
from toolwitness.service.propose import Proposal, open_task, propose
from toolwitness.service.submit import submit

MOST_PROCESSES: Final = 8
_ROLE: Final = "role:racer"
_TOOL: Final = "press"
_AHEAD_SECONDS: Final = 0.004
"""How far ahead the common moment lies when it is announced."""
_BODY_SECONDS: Final = 30.0


@dataclass(slots=True, kw_only=True)
class Report:
    """What a race saw."""

    processes: int
    rounds: int
    accepted: int = 0
    refused: int = 0
    bodies: int = 0
    """Lines that the bodies wrote."""
    doubles: int = 0
    """Calls whose body ran more than once."""
    grants_recorded: int = 0
    refusals_recorded: int = 0
    claims_recorded: int = 0
    answers: dict[str, int]
    """How often each rule was given as the reason for a refusal."""
    winners: dict[str, int]
    """How often each process was the one that was accepted."""
    verify: str = "good"
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether every request was decided once, dispatched once and run once, and every other answer is on record as refused."""
        others = self.rounds * (self.processes - 1)
        once = (self.accepted, self.bodies, self.grants_recorded, self.claims_recorded)
        return (
            once == (self.rounds,) * 4
            and (self.refused, self.refusals_recorded) == (others, others)
            and self.verify == "good"
            and not self.doubles
        )


def open_desk(path: Path, lines: Path) -> Any:
    """Open a desk on the file with the one tool of the race: its body writes a line and nothing else."""
    desk = open_a_desk(str(path))

    @desk.tool(name=_TOOL, consequences=["externally-visible", "permission-gated"], approvers=[_ROLE], approval_seconds=600)
    async def press(button: str) -> str:
        handle = os.open(lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, f"{button} {os.getpid()}\n".encode())
        finally:
            os.close(handle)
        return button

    return desk


async def racer(path: Path, lines: Path, name: str) -> None:
    """Answer each line ``<invocation id> <moment>`` from standard input: approve at that moment, and say what came of it."""
    loop = asyncio.get_running_loop()
    actor = Actor(id=name, roles=frozenset({_ROLE.removeprefix("role:")}))
    async with open_desk(path, lines) as desk:
        _say("ready")
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            invocation_id, moment = line.split()
            while time.monotonic() < float(moment):
                pass  # a sleep would wake up late, and not both alike
            try:
                await desk.approve(invocation_id, by=actor)
                _say("accepted")
            except NotPermitted as refusal:
                _say(f"refused {refusal.facts.get('rule')}")


def _say(text: str) -> None:
    print(text, flush=True)


async def race(processes: int, rounds: int, directory: Path) -> Report:
    """Run ``rounds`` races between ``processes`` processes on a new file in ``directory``."""
    path, lines = directory / "calls.db", directory / "lines"
    report, started = Report(processes=processes, rounds=rounds, answers={}, winners={}), time.monotonic()
    desk = open_desk(path, lines)  # never started: it proposes, and runs nothing
    task_id = await open_task(desk.place, "See who presses first")
    command = [sys.executable, "-m", "toolwitness.testing.race", "--racer", str(path), "--lines", str(lines), "--name"]
    racers = [
        subprocess.Popen([*command, f"racer-{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - a drill
        for number in range(processes)
    ]
    try:
        for child in racers:
            await _answer(child.stdout)
        for number in range(rounds):
            await _one_round(desk, task_id, f"button-{number}", racers, report)
        await asyncio.to_thread(_wait_for_bodies, lines, rounds)
    finally:
        for child in racers:
            await asyncio.get_running_loop().run_in_executor(None, _end, child)
    await _count(desk, await asyncio.to_thread(_read, lines), report)
    await desk.close()
    report.seconds = round(time.monotonic() - started, 1)
    return report


async def _one_round(desk: Any, task_id: str, button: str, racers: Sequence["subprocess.Popen[str]"], report: Report) -> None:
    """Ask for one approval and let everybody give it at the same moment."""
    inputs = json.dumps({"button": button}).encode()
    proposal = Proposal(tool=_TOOL, inputs=inputs, source_request="drill", proposer="drill", purpose="to be pressed once")
    invocation_id = await propose(desk.place, task_id, proposal)
    await submit(desk.place, invocation_id)
    moment = time.monotonic() + _AHEAD_SECONDS
    for child in racers:
        assert child.stdin is not None
        child.stdin.write(f"{invocation_id} {moment}\n")
        child.stdin.flush()
    for number, answer in enumerate(await asyncio.gather(*(_answer(child.stdout) for child in racers))):
        word, _, rule = answer.partition(" ")
        if word == "accepted":
            report.accepted += 1
            report.winners[f"racer-{number}"] = report.winners.get(f"racer-{number}", 0) + 1
        report.refused += word == "refused"
        if rule:
            report.answers[rule] = report.answers.get(rule, 0) + 1


async def _answer(stream: IO[str] | None) -> str:
    assert stream is not None
    line = await asyncio.get_running_loop().run_in_executor(None, stream.readline)
    if not line:
        raise RuntimeError("a racer died; what it said stands above")
    return line.strip()


def _wait_for_bodies(lines: Path, wanted: int) -> None:
    """Wait until as many bodies have run as should, and then a little for those that should not."""
    end = time.monotonic() + _BODY_SECONDS
    while time.monotonic() < end and (not lines.exists() or lines.read_bytes().count(b"\n") < wanted):
        time.sleep(0.02)
    time.sleep(0.2)


def _read(lines: Path) -> str:
    return lines.read_text(encoding="utf-8") if lines.exists() else ""


def _end(child: "subprocess.Popen[str]") -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    child.wait(timeout=_BODY_SECONDS)
    child.stdout.close()


async def _count(desk: Any, lines: str, report: Report) -> None:
    """Count the lines, and what the record says of each call."""
    ran = Counter(line.split()[0] for line in lines.splitlines())
    report.bodies = ran.total()
    report.doubles = sum(count > 1 for count in ran.values())
    for recorded in await desk.ledger.read():
        refused = recorded.verdict is Verdict.REFUSED
        report.grants_recorded += recorded.event.kind == Kind.GRANTED and not refused
        report.refusals_recorded += recorded.event.kind == Kind.GRANTED and refused
        report.claims_recorded += recorded.event.kind == Kind.CLAIMED and not refused
    problems = await desk.verify()
    if problems:
        report.verify = "; ".join(f"{problem.place}: {problem.what}" for problem in problems[:5])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the race; exit code 1 where anything was decided, dispatched or run twice, or not at all."""
    parser = argparse.ArgumentParser(prog="python -m toolwitness.testing.race", description=__doc__)
    parser.add_argument(
        "--processes", type=int, default=2, choices=range(2, MOST_PROCESSES + 1), help="how many approve at once (default 2)"
    )
    parser.add_argument("--rounds", type=int, default=200, help="how many requests (default 200)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--racer", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--lines", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.racer is not None:
        asyncio.run(racer(options.racer, options.lines, options.name))
        return 0
    with tempfile.TemporaryDirectory(prefix="toolwitness-race-") as directory:
        report = asyncio.run(race(options.processes, options.rounds, Path(directory)))
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        print(
            f"{report.rounds} requests, {report.processes} processes: {report.accepted} accepted, {report.refused} refused, "
            f"{report.bodies} bodies ran; verify {report.verify}."
        )
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
