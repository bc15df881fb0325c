"""Measuring side by side: every round runs all contenders one after the other, and a ratio is made inside its round.

What a round shares (a slow disk, a busy neighbour) then falls out of the ratio. Reported are the median and the range over the rounds,
how many device flushes an operation took, and how much of the machine others were using meanwhile.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROUNDS: Final = 5
_QUIET: Final = 0.2
"""How much of the machine others may use when a sample begins."""
_PATIENCE_SECONDS: Final = 1.0
"""How long a sample waits for a quiet machine before it begins all the same; what others used is then in the report."""


@dataclass(slots=True)
class Sample:
    """One contender in one round."""

    operations: int
    seconds: float
    cpu_seconds: float
    flushes: float | None
    """Device flushes an operation; ``None`` where the system does not tell."""
    others: float
    """Processors that somebody else kept busy meanwhile."""
    latencies_ms: Sequence[float] = ()

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds


@dataclass(slots=True)
class Contender:
    """Something that can be measured: ``run`` does its work for about ``seconds`` and gives how many operations that were."""

    name: str
    what: str
    run: Callable[[Path, float], "int | tuple[int, Sequence[float]]"]
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio that is wanted: ``ours`` does at least ``least`` times what ``theirs`` does."""

    ours: str
    theirs: str
    least: float
    what: str


def measure(contenders: Sequence[Contender], directory: Path, *, seconds: float, rounds: int = ROUNDS, say: Callable[[str], None]) -> None:
    """Run every contender once a round, each on a fresh place in ``directory``."""
    for number in range(rounds):
        for contender in contenders:
            place = directory / f"{number}-{contender.name}"
            place.mkdir()
            contender.samples.append(_sample(contender, place, seconds))
            say(f"round {number + 1} of {rounds}: {contender.name} {contender.samples[-1].rate:,.0f}/s")


def _wait_for_quiet() -> None:
    """Wait a little for a machine that others leave alone."""
    end = time.perf_counter() + _PATIENCE_SECONDS
    while time.perf_counter() < end:
        idle, begun = _idle(), time.perf_counter()
        time.sleep(0.1)
        after, processors = _idle(), os.cpu_count() or 1
        if idle is None or after is None or 1 - (after - idle) / (time.perf_counter() - begun) / processors <= _QUIET:
            return


def _sample(contender: Contender, place: Path, seconds: float) -> Sample:
    _wait_for_quiet()
    _watch.place = place
    restart()
    answer = contender.run(place, seconds)
    operations, latencies = answer if isinstance(answer, tuple) else (answer, ())
    begun, ended = _watch.begun, _watch.ended or _take()
    took, cpu, others = ended.wall - begun.wall, ended.cpu - begun.cpu, 0.0
    if begun.idle is not None and ended.idle is not None:
        others = max((os.cpu_count() or 1) * took - (ended.idle - begun.idle) - cpu, 0) / took
    return Sample(
        operations=operations, seconds=took, cpu_seconds=cpu, others=round(others, 2), latencies_ms=latencies,
        flushes=None if begun.flushes is None or ended.flushes is None else (ended.flushes - begun.flushes) / operations,
    )  # fmt: skip  # one field after the other


def spread(values: Sequence[float]) -> dict[str, float]:
    """Give median, least and most."""
    return {"median": round(statistics.median(values), 3), "least": round(min(values), 3), "most": round(max(values), 3)}


def ratios(contenders: Mapping[str, Contender], goal: Goal) -> dict[str, Any]:
    """Give a goal with what was reached: the ratio of each round, their median and range."""
    pairs = zip(contenders[goal.ours].samples, contenders[goal.theirs].samples, strict=True)
    each = [ours.rate / theirs.rate for ours, theirs in pairs]
    reached = spread(each)
    return {
        "goal": goal.what, "ours": goal.ours, "theirs": goal.theirs, "least": goal.least, "ratio": reached,
        "rounds": [round(r, 2) for r in each], "met": reached["median"] >= goal.least,
    }  # fmt: skip  # one field after the other


def summary(contender: Contender) -> dict[str, Any]:
    """Give what was measured of one contender."""
    samples = contender.samples
    flushes = [s.flushes for s in samples if s.flushes is not None]
    latencies = sorted(latency for s in samples for latency in s.latencies_ms)
    found: dict[str, Any] = {
        "name": contender.name,
        "what": contender.what,
        "per_second": spread([s.rate for s in samples]),
        "cpu_microseconds": round(statistics.median(s.cpu_seconds / s.operations for s in samples) * 1e6, 1),
        "flushes": round(statistics.median(flushes), 3) if flushes else None,
        "others": max(s.others for s in samples),
    }
    if latencies:
        found["latency_ms"] = {"p50": round(latencies[len(latencies) // 2], 3), "p99": round(latencies[int(len(latencies) * 0.99)], 3)}
    return found


def table(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Give summaries as lines of text."""
    lines = [f"{'':34}{'per second':>26}{'CPU µs':>9}{'flushes':>9}{'p50 ms':>9}{'p99 ms':>9}"]
    for s in summaries:
        rate, latency = s["per_second"], s.get("latency_ms", {})
        figures = f"{rate['median']:,.0f} ({rate['least']:,.0f}–{rate['most']:,.0f})"
        flushes = "–" if s["flushes"] is None else f"{s['flushes']:.3f}"
        lines.append(
            f"{s['what']:34}{figures:>26}{s['cpu_microseconds']:>9}{flushes:>9}{latency.get('p50', '–'):>9}{latency.get('p99', '–'):>9}"
        )
    return "\n".join(lines)


def verdicts(goals: Sequence[Mapping[str, Any]]) -> str:
    """Give goals as lines of text, each with what was reached."""
    return "\n".join(
        f"{'met    ' if g['met'] else 'MISSED '} {g['goal']}: {g['ratio']['median']:.2f}× "
        f"({g['ratio']['least']:.2f}–{g['ratio']['most']:.2f}), "
        f"wanted ≥ {g['least']}×"
        for g in goals
    )


def timed(operation: Callable[[], Any], seconds: float, *, warm_up: int = 0) -> int:
    """Repeat an operation for about ``seconds`` and give how often."""
    for _ in range(warm_up):
        operation()
    restart()
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        operation()
        count += 1
    stop()
    return count


@dataclass(frozen=True, slots=True)
class _Gauges:
    """What the gauges of the machine showed at one moment."""

    wall: float
    cpu: float
    idle: float | None
    flushes: int | None


@dataclass(slots=True)
class _Watch:
    """The running sample: on which disk it writes, and what the gauges showed when it began and ended."""

    place: Path
    begun: _Gauges
    ended: _Gauges | None = None


def restart() -> None:
    """Start the sample here: what came before was preparation."""
    _watch.begun, _watch.ended = _take(), None


def stop() -> None:
    """End the sample here: what follows is tidying up."""
    _watch.ended = _take()


def _take() -> _Gauges:
    return _Gauges(time.perf_counter(), _own_cpu(), _idle(), _flushes(_watch.place))


_watch = _Watch(Path(), _Gauges(0.0, 0.0, None, None))


def _own_cpu() -> float:
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def _idle() -> float | None:
    """Give the seconds that all processors together have been idle or waited for a disk."""
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    except OSError:
        return None
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def _flushes(place: Path) -> int | None:
    """Give how many flushes the device under ``place`` has completed since the start of the system."""
    try:
        device = place.stat().st_dev
        for line in Path("/proc/diskstats").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if (int(fields[0]), int(fields[1])) == (os.major(device), os.minor(device)) and len(fields) > 18:
                return int(fields[18])
    except OSError:
        return None
    return None
