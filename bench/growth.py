"""What a task that grows costs: an append to it, a reading of it, and the list of states, with 10 and with 1,000 calls in one task.

An append must cost the same however many calls its task has. Measured is processor time, which others on the machine disturb less than
the clock; appends are made one at a time, each right after a reading of the task, as a command makes them.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.harness import ROUNDS, spread
from bench.ledger import life_of_a_call
from toolwitness.ledger.sqlite import SqliteLedger

SIZES: Final = (10, 1_000)
MOST: Final = 1.2
"""How much more an append may cost in the large task."""
_CALLS: Final = 40
_TASK: Final = "task_that_grows"


async def _grow(ledger: SqliteLedger, first: int, calls: int) -> None:
    """Record the lives of so many calls, a hundred at a time."""

    async def live(number: int) -> None:
        for draft in life_of_a_call(_TASK, f"inv_{number:09d}"):
            await ledger.append(_TASK, [draft])

    for start in range(first, first + calls, 100):
        await asyncio.gather(*(live(number) for number in range(start, min(start + 100, first + calls))))


async def _costs(ledger: SqliteLedger, first: int) -> dict[str, float]:
    """Give the microseconds of processor time of each operation, medians."""
    appends: list[float] = []
    readings: list[float] = []
    for number in range(first, first + _CALLS):
        for draft in life_of_a_call(_TASK, f"inv_{number:09d}"):
            begun = time.process_time()
            await ledger.task(_TASK)
            read = time.process_time()
            await ledger.append(_TASK, [draft])
            appends.append(time.process_time() - read)
            readings.append(read - begun)
    listings: list[float] = []
    for _ in range(_CALLS):
        begun = time.process_time()
        await ledger.states()
        listings.append(time.process_time() - begun)
    costs = {"append": appends, "task": readings, "states": listings}
    return {name: statistics.median(values) * 1e6 for name, values in costs.items()}


async def _measure(place: Path) -> dict[int, dict[str, float]]:
    ledger, there = SqliteLedger(place / "calls.db"), 0
    found: dict[int, dict[str, float]] = {}
    for size in SIZES:
        await _grow(ledger, there, size - there)
        found[size] = await _costs(ledger, size)
        there = size + _CALLS
    await ledger.close()
    return found


def run(*, rounds: int, directory: Path | None = None) -> dict[str, Any]:
    """Measure on a new file in each round, and give the report."""
    small, large = SIZES
    reached: list[dict[int, dict[str, float]]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="toolwitness-bench-", dir=directory) as place:
            reached.append(asyncio.run(_measure(Path(place))))
    ratio = spread([one[large]["append"] / one[small]["append"] for one in reached])
    return {
        "bench": "growth", "rounds": rounds, "sizes": SIZES, "most": MOST, "ratio": ratio, "met": ratio["median"] <= MOST,
        "cpu_microseconds": {name: {size: spread([one[size][name] for one in reached]) for size in SIZES} for name in reached[0][small]},
    }  # fmt: skip  # one field after the other


def show(report: dict[str, Any]) -> str:
    """Give the report as text."""
    lines = [f"{'CPU µs':10}" + "".join(f"{f'{size:,} calls in the task':>32}" for size in SIZES)]
    for name, costs in report["cpu_microseconds"].items():
        figures = (f"{c['median']:,.1f} ({c['least']:,.1f}–{c['most']:,.1f})" for c in costs.values())
        lines.append(f"{name:10}" + "".join(f"{figure:>32}" for figure in figures))
    ratio = report["ratio"]
    lines.append(
        f"\n{'met    ' if report['met'] else 'MISSED '} an append to {SIZES[1]:,} calls beside one to {SIZES[0]}: {ratio['median']:.2f}× "
        f"({ratio['least']:.2f}–{ratio['most']:.2f}), wanted ≤ {MOST}×"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; a goal that is missed is reported and is no error."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--directory", type=Path, default=None, help="where to write")
    parser.add_argument("--json", action="store_true")
    options, _ = parser.parse_known_args(arguments)  # what else ``python -m bench`` passes on is for the others
    report = run(rounds=options.rounds, directory=options.directory)
    print(json.dumps(report) if options.json else show(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
