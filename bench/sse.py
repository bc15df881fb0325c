"""The live stream beside a bare asyncio writer: processor time for each message, with a thousand subscribers.

Each server runs in a process of its own, and so do the subscribers (one epoll loop). What counts is the processor time that the server's
process used between the first event and the last delivery, divided by the messages delivered; the time that others use of the machine is
not in it. All servers send as many bytes: *the way out* sends one fixed document as every card goes (ledger → follower → shared log →
uvicorn); *whole* also records, folds and draws a real card for each event, and is compared with a bare writer of as many bytes. A ratio is
made inside its round. Events that come together are drawn as one card, so that of ours fewer may arrive without a loss. Where
``sse-starlette`` is installed, it is measured too.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from bench.harness import ROUNDS, spread

SUBSCRIBERS: Final = 1000
EVENTS: Final = 20
_GAP_SECONDS: Final = 0.1
_PADDING: Final = 420
"""Makes a message of about 500 bytes."""
_PATIENCE_SECONDS: Final = 60.0
_TITLES: Final = {
    "bare": "bare asyncio writer", "ours": "toolwitness, the way out", "ours-whole": "toolwitness, whole: record, fold, draw",
    "bare-large": "bare asyncio writer, as many bytes", "sse-starlette": "sse-starlette",
}  # fmt: skip  # a table
GOAL: Final = 1.6


@dataclass(slots=True)
class Round:
    """One server in one round."""

    cpu_microseconds: float
    """Processor time of the server for one message."""
    latency_ms: dict[str, float]
    memory_kib: float
    """Memory of the server for one subscriber, shared pages counted in parts."""
    arrived: int
    bytes_each: float


@dataclass(slots=True)
class Contender:
    """One server, and what was measured of it."""

    name: str
    rounds: list[Round] = field(default_factory=list)


def _ask(process: "subprocess.Popen[str]", line: str = "") -> dict[str, Any]:
    """Say a line to a process, and read its answer."""
    into, out = _pipes(process)
    if line:
        into.write(f"{line}\n")
        into.flush()
    answer: dict[str, Any] = json.loads(out.readline() or "{}")
    return answer


def _pipes(process: "subprocess.Popen[str]") -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    return process.stdin, process.stdout


def _start(module: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _memory(process: "subprocess.Popen[str]") -> float:
    """Give the memory of a process in KiB, shared pages counted in parts; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return float(next((line.split()[1] for line in lines if line.startswith("Pss:")), 0))


def once(name: str, *, subscribers: int, events: int, padding: int) -> Round:
    """Measure one server once."""
    server = _start("bench.sse_servers", name.removesuffix("-large"))
    try:
        port = _ask(server)["port"]
        time.sleep(0.2)
        before = _memory(server)
        readers = _start("bench.sse_readers", port, subscribers, events + 2, _PATIENCE_SECONDS)
        try:
            _ask(readers)
            each = (_memory(server) - before) / subscribers
            _ask(server, f"fire 2 {_GAP_SECONDS} {padding}")  # the first events find nothing warm
            time.sleep(0.3)
            used = _ask(server, "cpu")["cpu"]
            _ask(server, f"fire {events} {_GAP_SECONDS} {padding}")
            got = _ask(readers)
            used = _ask(server, "cpu")["cpu"] - used
        finally:
            readers.communicate("\n", timeout=10)
    finally:
        server.communicate(timeout=10)
    wanted = subscribers * (events + 2)
    messages = max(got["arrived"] - 2 * subscribers, 1)
    return Round(
        cpu_microseconds=used / messages * 1e6, latency_ms=got["latency_ms"], memory_kib=each,
        arrived=round(got["arrived"] / wanted * 100), bytes_each=got["bytes"] / max(got["arrived"], 1),
    )  # fmt: skip  # facts in lines


def run(*, rounds: int, subscribers: int, events: int, say: Any) -> dict[str, Any]:
    """Measure all servers, one after the other in each round."""
    names = ["bare", "ours", "bare-large", "ours-whole", *(["sse-starlette"] if importlib.util.find_spec("sse_starlette") else [])]
    contenders = {name: Contender(name) for name in names}
    large = _PADDING
    for number in range(rounds):
        for name, contender in contenders.items():
            padding = large if name == "bare-large" else _PADDING
            contender.rounds.append(once(name, subscribers=subscribers, events=events, padding=padding))
            last = contender.rounds[-1]
            say(f"round {number + 1} of {rounds}: {_TITLES[name]} {last.cpu_microseconds:.1f} µs a message, {last.arrived} % arrived")
            if name == "ours-whole":
                large = max(int(last.bytes_each) - 90, _PADDING)
        if number == 0:
            contenders["bare-large"].rounds[0] = once("bare-large", subscribers=subscribers, events=events, padding=large)
    goals = [
        _goal(contenders, "ours", "bare", "the way out beside a bare asyncio writer"),
        _goal(contenders, "ours-whole", "bare-large", "the whole, drawing included, beside a bare writer of as many bytes"),
    ]
    if "sse-starlette" in contenders:
        goals.append(_goal(contenders, "ours", "sse-starlette", "the way out beside sse-starlette", most=1 / 3.5))
    summaries = [_summary(c) for c in contenders.values()]
    return {"subscribers": subscribers, "events": events, "contenders": summaries, "goals": goals}


def _summary(contender: Contender) -> dict[str, Any]:
    rounds = contender.rounds
    return {
        "name": contender.name, "what": _TITLES[contender.name], "cpu_microseconds": spread([r.cpu_microseconds for r in rounds]),
        "latency_ms": {key: round(statistics.median(r.latency_ms.get(key, 0.0) for r in rounds), 1) for key in ("p50", "p99")},
        "memory_kib": spread([r.memory_kib for r in rounds]), "bytes": round(statistics.median(r.bytes_each for r in rounds)),
        "arrived_percent": min(r.arrived for r in rounds),
    }  # fmt: skip  # facts in lines


def _goal(contenders: dict[str, Contender], ours: str, theirs: str, what: str, *, most: float = GOAL) -> dict[str, Any]:
    pairs = zip(contenders[ours].rounds, contenders[theirs].rounds, strict=True)
    each = [one.cpu_microseconds / other.cpu_microseconds for one, other in pairs]
    reached = spread(each)
    return {"goal": what, "most": round(most, 2), "ratio": reached, "rounds": [round(r, 2) for r in each], "met": reached["median"] <= most}


def show(report: dict[str, Any]) -> str:
    """Give the report as text."""
    lines = [
        f"{report['subscribers']} subscribers, {report['events']} events; median (least–most) of the rounds",
        f"{'':42}{'CPU µs a message':>24}{'p50 ms':>9}{'p99 ms':>9}{'KiB each':>10}{'bytes':>8}{'arrived':>9}",
    ]
    for s in report["contenders"]:
        cpu = s["cpu_microseconds"]
        figures = f"{cpu['median']:.1f} ({cpu['least']:.1f}–{cpu['most']:.1f})"
        lines.append(
            f"{s['what']:42}{figures:>24}{s['latency_ms']['p50']:>9}{s['latency_ms']['p99']:>9}{s['memory_kib']['median']:>10.1f}{s['bytes']:>8}"
            f"{s['arrived_percent']:>8}%"
        )
    for g in report["goals"]:
        ratio = g["ratio"]
        spread_of = f"{ratio['median']:.2f}× ({ratio['least']:.2f}–{ratio['most']:.2f})"
        lines.append(f"{'met    ' if g['met'] else 'MISSED '} {g['goal']}: {spread_of}, wanted ≤ {g['most']}×")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; a goal that is missed is reported and is no error."""
    parser = argparse.ArgumentParser(prog="python -m bench.sse", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--subscribers", type=int, default=SUBSCRIBERS)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = run(
        rounds=options.rounds, subscribers=options.subscribers, events=options.events,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )  # fmt: skip  # facts in lines
    print(json.dumps(report) if options.json else show(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
