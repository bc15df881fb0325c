"""The ledger beside raw SQLite and beside LangGraph's SQLite checkpointer, in one run, at the same durability.

Every contender writes to a new file on the same file system, in WAL mode with ``synchronous=FULL``, and every operation is durable when
it counts. An operation of ours is one recorded event of a call: judged, folded, hashed into its task's chain, written with its values
and its state row, and acknowledged to its caller. Of raw SQLite it is one ``INSERT`` and ``COMMIT`` of as many bytes; of LangGraph one
step: ``put`` and ``put_writes`` of a state that holds one event. Our figures with many callers share commits; those of raw SQLite do
not, and neither do LangGraph's; what raw SQLite does with 64 rows a commit stands beside them. Before the clock starts, everybody has
filled a write-ahead log once, so that nobody's grows: a flush of a file that grows costs several times as much.

The ratios depend on the disk: where a flush takes 60 µs they show Python at work, where it takes 3 ms they show the disk. So the processor
time of each operation is given too.
"""

import argparse
import asyncio
import cProfile
import io
import json
import pstats
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.harness import ROUNDS, Contender, Goal, measure, ratios, restart, stop, summary, table, timed, verdicts
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.ledger.book import Book
from toolwitness.ledger.prepare import fresh_salts, prepare_all
from toolwitness.ledger.sqlite import SqliteLedger
from toolwitness.ledger.transaction import Append
from toolwitness.ports import Draft

CALLERS: Final = (1, 16, 64)
_WARM_UP_ROWS: Final = 6_000
"""Rows, many a commit, that take the write-ahead log past the thousand pages after which SQLite begins it anew."""
_WARM_UP_EVENTS: Final = 3_000
_WARM_UP_CALLERS: Final = 60
_WARM_UP_STEPS: Final = 150
_VALUE: Final = b'{"destination":"Bergen","nights":3,"note":"' + b"n" * 150 + b'"}'
_PROFILED: Final = 6_144
_LINES: Final = 16

GOALS: Final = (
    Goal("ours-1", "raw", 0.85, "1 caller beside raw SQLite, one commit an event"),
    Goal("ours-64", "raw", 8, "64 callers beside raw SQLite, one commit an event"),
    Goal("ours-1", "langgraph-async-1", 4, "1 caller beside LangGraph's async saver with 1 caller"),
    Goal("ours-16", "langgraph-async-16", 25, "16 callers beside LangGraph's async saver with 16 callers"),
    Goal("ours-64", "langgraph-async-64", 60, "64 callers beside LangGraph's async saver with 64 callers"),
)


def life_of_a_call(task_id: str, invocation_id: str) -> Iterator[Draft]:
    """Give the six events of a governed call from proposal to success; the first and the last carry a value."""
    proposal = {"tool": "search_hotels", "source_request": "msg_01J", "proposer": "model", "policy_version": "2", "purpose": "find a hotel"}
    permit = {"permit": f"prm_{task_id}", "attempt": 1}
    facts: list[tuple[Kind, dict[str, Any], dict[str, bytes], str]] = [
        (Kind.PROPOSED, proposal, {"inputs": _VALUE}, ""),
        (Kind.CLAIMED, {**permit, "worker": "host:4711"}, {}, f"dispatch:{invocation_id}"),
        (Kind.ACCEPTED, {"queue_ref": "host:4711#1", "permit": f"prm_{task_id}"}, {}, ""),
        (Kind.STARTED, {**permit, "executor": "host:4711", "lease": "host:4711/1"}, {}, ""),
        (Kind.PROGRESS, {"order": 1, "text": "asked three providers, two have answered"}, {}, ""),
        (Kind.SUCCEEDED, {"completed_at": "2026-01-01T12:00:00.000000Z", "validation": "accepted"}, {"result": _VALUE}, ""),
    ]
    for number, (kind, data, values, once_key) in enumerate(facts):
        event = Event(
            kind=kind, source="toolwitness:local:bench", id=f"evt_{invocation_id}_{number}", task_id=task_id, invocation_id=invocation_id,
            owner=Owner.RUNTIME, attempt=1, data=data, time="2026-01-01T12:00:00.000000Z", once_key=once_key,
        )  # fmt: skip  # one field after the other
        yield Draft(event=event, values=values)


def bytes_of_an_event() -> int:
    """Give how many bytes of events and values our six events hold on average: what raw SQLite writes too."""
    drafts = list(life_of_a_call("task_1000_000000000001", "inv_1000_000000000001"))
    prepared = [one for draft in drafts for one in prepare_all(draft.event.task_id, [draft], salts=fresh_salts())]
    return sum(len(one.body) + sum(len(value.content) for value in one.values) for one in prepared) // len(prepared)


def raw_sqlite(rows_a_commit: int) -> Any:
    """Make the contender that inserts rows, so many a commit; more than one shows what sharing commits is worth by itself."""

    def run(place: Path, seconds: float) -> int:
        connection = sqlite3.connect(place / "raw.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE events (position INTEGER PRIMARY KEY, task TEXT, body BLOB)")
        rows = [("task_1000_000000000001", b"e" * bytes_of_an_event())] * rows_a_commit

        def insert() -> None:
            connection.execute("BEGIN IMMEDIATE")
            if rows_a_commit == 1:
                connection.execute("INSERT INTO events (task, body) VALUES (?, ?)", rows[0])
            else:
                connection.executemany("INSERT INTO events (task, body) VALUES (?, ?)", rows)
            connection.execute("COMMIT")

        for _ in range(2):
            with connection:
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO events (task, body) VALUES (?, ?)", rows[:1] * _WARM_UP_ROWS)
        count = timed(insert, seconds, warm_up=10)
        connection.close()
        return count * rows_a_commit

    return run


def ours(callers: int) -> Any:
    """Make the contender that appends with so many callers at once, each waiting for its acknowledgement."""

    async def run(place: Path, seconds: float) -> tuple[int, list[float]]:
        ledger = SqliteLedger(place / "calls.db")
        end = float("inf")
        latencies: list[float] = []
        calls = 0

        async def caller(number: int, most: int) -> None:
            nonlocal calls
            while most > 0 and time.perf_counter() < end:
                calls += 1
                task_id = f"task_{number:04d}_{calls:012d}"
                for draft in life_of_a_call(task_id, f"inv_{task_id}"):
                    begun = time.perf_counter()
                    await ledger.append(task_id, [draft])
                    latencies.append((time.perf_counter() - begun) * 1_000)
                    most -= 1

        await asyncio.gather(*(caller(number, _WARM_UP_EVENTS // _WARM_UP_CALLERS) for number in range(_WARM_UP_CALLERS)))
        latencies.clear()
        restart()
        end = time.perf_counter() + seconds
        await asyncio.gather(*(caller(number, sys.maxsize) for number in range(callers)))
        stop()
        await ledger.close()
        return len(latencies), latencies

    return lambda place, seconds: asyncio.run(run(place, seconds))


def _step(number: int, event: str) -> tuple[Any, Any, Any]:
    """Give the configuration, checkpoint and metadata of one step of a small LangGraph state."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"event": event}
    checkpoint["channel_versions"] = {"event": number}
    return {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"source": "loop", "step": number, "parents": {}}


def langgraph(place: Path, seconds: float) -> int:
    """Record steps with LangGraph's synchronous saver, as it ships."""
    event, number = "e" * bytes_of_an_event(), 0
    with SqliteSaver.from_conn_string(str(place / "langgraph.db")) as saver:
        saver.setup()

        def step() -> None:
            nonlocal number
            number += 1
            config, checkpoint, metadata = _step(number, event)
            stored = saver.put(config, checkpoint, metadata, {"event": number})
            saver.put_writes(stored, [("event", event)], task_id=f"task-{number}")

        return timed(step, seconds, warm_up=_WARM_UP_STEPS)


def langgraph_async(callers: int) -> Any:
    """Make the contender that records steps with LangGraph's asynchronous saver, as it ships, on as many threads as callers."""

    async def run(place: Path, seconds: float) -> tuple[int, list[float]]:
        event, latencies, end, numbers = "e" * bytes_of_an_event(), list[float](), float("inf"), iter(range(1, sys.maxsize))

        async def caller(saver: Any, thread: int, most: int) -> None:
            while most > 0 and time.perf_counter() < end:
                most -= 1
                number, begun = next(numbers), time.perf_counter()
                config, checkpoint, metadata = _step(number, event)
                config["configurable"]["thread_id"] = f"thread-{thread}"
                stored = await saver.aput(config, checkpoint, metadata, {"event": number})
                await saver.aput_writes(stored, [("event", event)], task_id=f"task-{number}")
                latencies.append((time.perf_counter() - begun) * 1_000)

        async with AsyncSqliteSaver.from_conn_string(str(place / "langgraph.db")) as saver:
            await saver.setup()
            await asyncio.gather(*(caller(saver, number, -(-_WARM_UP_STEPS // callers)) for number in range(callers)))
            latencies.clear()
            restart()
            end = time.perf_counter() + seconds
            await asyncio.gather(*(caller(saver, number, sys.maxsize) for number in range(callers)))
            stop()
        return len(latencies), latencies

    return lambda place, seconds: asyncio.run(run(place, seconds))


def contenders() -> list[Contender]:
    """Give everything that is measured, in the order in which each round runs it."""
    return [
        Contender("raw", "raw SQLite, a commit an event", raw_sqlite(1)),
        Contender("raw-grouped", "raw SQLite, 64 rows a commit", raw_sqlite(64)),
        *(Contender(f"ours-{n}", f"toolwitness, {n} caller{'s' if n > 1 else ''}", ours(n)) for n in CALLERS),
        Contender("langgraph", "LangGraph SqliteSaver", langgraph),
        *(Contender(f"langgraph-async-{n}", f"LangGraph AsyncSqliteSaver, {n}", langgraph_async(n)) for n in CALLERS),
    ]


def where_the_time_goes(place: Path) -> dict[str, Any]:
    """Profile our own work for batches of 64 without an event loop: processor time an event, and the functions that take it."""
    book = Book(place / "profile.db", synchronous="full", now=lambda: datetime.now(UTC), busy_seconds=10)
    salts = fresh_salts()
    lives = [list(life_of_a_call(f"task_{n:06d}", f"inv_{n:06d}")) for n in range(_PROFILED // 6)]
    drafts = [life[step] for start in range(0, len(lives), 64) for step in range(6) for life in lives[start : start + 64]]
    half = len(drafts) // 2
    begun = time.thread_time()
    appends = [Append(draft.event.task_id, prepare_all(draft.event.task_id, [draft], salts=salts)) for draft in drafts]
    prepared = time.thread_time()
    _write(book, appends[:half])
    written = time.thread_time()
    profile = cProfile.Profile()
    profile.runcall(_write, book, appends[half:])
    book.close()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(_LINES)
    lines = [line.replace(str(Path.cwd()) + "/", "") for line in text.getvalue().splitlines() if line.strip()]
    start = next(place for place, line in enumerate(lines) if "ncalls" in line)
    return {
        "prepare_microseconds": round((prepared - begun) / len(drafts) * 1e6, 1),
        "judge_and_write_microseconds": round((written - prepared) / half * 1e6, 1),
        "functions": lines[start : start + _LINES + 1],
    }


def _write(book: Book, appends: Sequence[Append]) -> None:
    for start in range(0, len(appends), 64):
        book.write(appends[start : start + 64], meanwhile=lambda: None)


def run(*, rounds: int, seconds: float, directory: Path | None = None, say: Any = lambda text: None) -> dict[str, Any]:
    """Measure everything and give the report."""
    every = contenders()
    with tempfile.TemporaryDirectory(prefix="toolwitness-bench-", dir=directory) as place:
        measure(every, Path(place), seconds=seconds, rounds=rounds, say=say)
        reached = [ratios({c.name: c for c in every}, goal) for goal in GOALS]
        report: dict[str, Any] = {
            "bench": "ledger", "rounds": rounds, "bytes_of_an_event": bytes_of_an_event(), "goals": reached,
            "contenders": [summary(c) for c in every],
        }  # fmt: skip  # one field after the other
        if not all(goal["met"] for goal in reached):  # the disk may set the pace, or our own work: both are said
            report["why"] = where_the_time_goes(Path(place))
            raw = next(c for c in report["contenders"] if c["name"] == "raw")["per_second"]["median"]
            ours_alone = report["why"]["prepare_microseconds"] + report["why"]["judge_and_write_microseconds"]
            report["why"] |= {"raw_commit_microseconds": round(1e6 / raw, 1), "ceiling": round(1e6 / ours_alone / raw, 2)}
            cpu = {c["name"]: c["cpu_microseconds"] for c in report["contenders"]}
            report["why"]["cpu_of_langgraph"] = {n: round(cpu[f"langgraph-async-{n}"] / cpu[f"ours-{n}"], 1) for n in CALLERS}
    return report


def show(report: dict[str, Any]) -> str:
    """Give the report as text."""
    parts = [table(report["contenders"]), verdicts(report["goals"])]
    busiest = max(c["others"] for c in report["contenders"])
    if busiest > 0.2:
        parts.append(f"Others kept up to {busiest} processors busy meanwhile; ratios inside a round suffer less than single figures.")
    if "why" in report:
        why = report["why"]
        parts.append(
            f"Raw SQLite commits in {why['raw_commit_microseconds']} µs here. Our own work on an event sets the ceiling: "
            f"with a disk that takes no time at all it would be {why['ceiling']}× raw SQLite, however many callers share a commit.\n"
            f"Processor time of an operation of LangGraph's async saver, as a multiple of ours: "
            f"{', '.join(f'{ratio}× with {n}' for n, ratio in why['cpu_of_langgraph'].items())} callers.\n"
            f"Processor time an event in batches of 64: {why['prepare_microseconds']} µs to prepare it, "
            f"{why['judge_and_write_microseconds']} µs to judge, hash and write it. Where that goes (profiled, and so slower):\n"
            + "\n".join(why["functions"])
        )
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; a goal that is missed is reported and is no error."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ledger", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=0.6, help="how long each contender runs in each round")
    parser.add_argument("--directory", type=Path, default=None, help="where to write; the file system is what is measured")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = run(
        rounds=options.rounds,
        seconds=options.seconds,
        directory=options.directory,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(json.dumps(report) if options.json else show(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
