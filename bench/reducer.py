"""The outcome reducer in Python beside its twin in V8 (``web/src/outcome.ts``), over the same cases, one after the other in each round.

*mixed* takes one of each answer in turn (ok, cancelled, error, unknown, not an object) over a state of three keys; *fifty keys*
merges two keys into a state of fifty. V8 is far faster with small objects and slower with large ones; both figures are given.
Node.js and the elements' build tools must be there (``make web``); without them only Python is measured, and that is said.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.harness import ROUNDS, spread
from toolwitness.core.outcome import apply_tool_result

WEB: Final = Path(__file__).resolve().parents[1] / "web"
SMALL: Final = {"status": "idle", "items": [], "selected": None}
LARGE: Final = {f"key{number:02d}": {"n": number} for number in range(50)}
MIXED: Final[list[Any]] = [
    {"status": "ok", "payload": {"items": [1, 2], "selected": 1}},
    {"status": "cancelled", "reason": "user"},
    {"status": "error", "error": {"code": "upstream"}},
    {"status": "later"},
    None,
]
MERGE: Final[list[Any]] = [{"status": "ok", "payload": {"key07": 1, "new": 2}}]
CASES: Final[dict[str, tuple[Any, list[Any]]]] = {"mixed": (SMALL, MIXED), "fifty keys": (LARGE, MERGE)}

_DRIVER: Final = """
import { applyToolResult } from "./outcome.mjs";
const cases = JSON.parse(process.argv[2]), seconds = Number(process.argv[3]), out = {};
let kept = 0;
for (const [name, [state, results]] of Object.entries(cases)) {
  const step = () => { for (const result of results) kept += applyToolResult(state, result).commit ? 1 : 0; };
  const warm = performance.now() + 200; while (performance.now() < warm) step();
  let count = 0; const begun = performance.now(), end = begun + seconds * 1000; let now = begun;
  while (now < end) { for (let i = 0; i < 200; i++) step(); count += 200 * results.length; now = performance.now(); }
  out[name] = count / (now - begun) * 1000;
}
console.log(JSON.stringify({ ...out, kept: kept > 0 }));
"""


def in_python(state: Any, results: Sequence[Any], seconds: float) -> float:
    """Give how many results a second Python reduces."""

    def step() -> None:
        for result in results:
            apply_tool_result(state, result)

    timer = timeit.Timer(step)
    number = max(timer.autorange()[0], 1)
    took = timer.timeit(number)
    number = max(int(number * seconds / took), 1)
    return number * len(results) / timer.timeit(number)


def v8(place: Path) -> Callable[[float], dict[str, float]] | None:
    """Build the twin, and give what measures it; ``None`` where Node.js or the build tools are missing."""
    node, esbuild = shutil.which("node"), WEB / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        return None
    source = str(WEB / "src" / "outcome.ts")
    subprocess.run(
        [str(esbuild), source, "--format=esm", "--target=es2022", f"--outfile={place / 'outcome.mjs'}", "--log-level=error"], check=True
    )
    (place / "driver.mjs").write_text(_DRIVER, encoding="utf-8")

    def run(seconds: float) -> dict[str, float]:
        command = [node, str(place / "driver.mjs"), json.dumps(CASES), str(seconds)]
        found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return found

    return run


def run(*, rounds: int, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure both, case by case."""
    python: dict[str, list[float]] = {name: [] for name in CASES}
    twin: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory(prefix="toolwitness-bench-") as folder:
        measure = v8(Path(folder))
        for number in range(rounds):
            for name, (state, results) in CASES.items():
                python[name].append(in_python(state, results, seconds))
            if measure is not None:
                found = measure(seconds)
                for name in CASES:
                    twin[name].append(found[name])
            say(f"round {number + 1} of {rounds}: Python {python['mixed'][-1] / 1e6:.2f} M results a second, mixed")
    cases = [{"case": name, "python_per_second": spread(python[name])} | _beside(python[name], twin[name]) for name in CASES]
    return {"cases": cases, "v8": "measured" if measure is not None else "not measured: Node.js or web/node_modules is missing"}


def _beside(python: Sequence[float], twin: Sequence[float]) -> dict[str, Any]:
    if not twin:
        return {}
    return {"v8_per_second": spread(twin), "ratio": spread([ours / theirs for ours, theirs in zip(python, twin, strict=True)])}


def show(report: dict[str, Any]) -> str:
    """Give the report as text."""
    lines = [f"{'':14}{'Python, M/s':>22}{'V8, M/s':>22}{'Python ÷ V8':>22}"]
    for case in report["cases"]:
        columns = [_millions(case["python_per_second"])]
        if "ratio" in case:
            ratio = case["ratio"]
            columns += [_millions(case["v8_per_second"]), f"{ratio['median']:.2f}× ({ratio['least']:.2f}–{ratio['most']:.2f})"]
        lines.append(f"{case['case']:14}" + "".join(f"{column:>22}" for column in columns))
    if report["v8"] != "measured":
        lines.append(f"V8 {report['v8']}.")
    return "\n".join(lines)


def _millions(figures: dict[str, float]) -> str:
    return f"{figures['median'] / 1e6:.2f} ({figures['least'] / 1e6:.2f}–{figures['most'] / 1e6:.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.reducer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = run(rounds=options.rounds, seconds=options.seconds, say=lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps(report) if options.json else show(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
