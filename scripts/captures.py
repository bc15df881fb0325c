"""Records every scenario anew with the packages that are installed, judges old and new, and says what changed. ``make captures`` runs it.

Each ``tests/captures/record_<framework>.py`` has a directory ``TARGET`` that it writes to and a ``main`` that records all scenarios
where none is named; here ``TARGET`` is another directory. The tree is not touched.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from toolwitness.testing.truth.layout import Skipped
from toolwitness.testing.truth.running import Judged, judge

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "spec" / "captures"
SCRIPTS = ROOT / "tests" / "captures"


def _load(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{script.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module
    spec.loader.exec_module(module)
    return module


def record(script: Path, below: Path) -> None:
    """Run one script, with ``below`` in the place of ``spec/captures``."""
    module = _load(script)
    target = below / Path(module.TARGET).resolve().relative_to(CAPTURES)  # also CAPTURES itself, for a script of several
    target.mkdir(parents=True, exist_ok=True)
    module.TARGET = target
    wanted = [one for one in inspect.signature(module.main).parameters.values() if one.default is inspect.Parameter.empty]
    done: Any = module.main(*([] for _ in wanted))  # no names: every scenario
    if asyncio.iscoroutine(done):
        asyncio.run(done)


def words(path: Path) -> Counter[str]:
    """Count what each row of a recording is called."""
    found: Counter[str] = Counter()
    for line in path.read_bytes().split(b"\n"):  # a text may hold what splitlines takes for a line's end
        try:
            row: Any = json.loads(line) if line.strip() else None
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("src") != "truth":
            found[str(row.get("kind") or row.get("type") or row.get("src") or "")] += 1
    return found


def versions(directory: Path) -> dict[str, str]:
    """Give the versions that the recordings' headers name."""
    found: dict[str, str] = {}
    for path in sorted(directory.rglob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            header: Any = json.loads(lines.readline() or "null")
        named = header.get("versions") if isinstance(header, dict) else None
        found.update(named if isinstance(named, dict) else {})
    return found


async def judged(directory: Path) -> dict[str, Judged]:
    """Judge every recording below a directory."""
    return {one.capture.file: one async for one in judge(directory) if not isinstance(one, Skipped)}


def compared(old: Path, new: Path, before: dict[str, Judged], after: dict[str, Judged]) -> Iterator[str]:
    """Say what is different, file by file; nothing where nothing is."""
    for file in sorted(after):
        if not (old / file).exists():
            yield f"{file}: new"
            continue
        said = list(_words_changed(words(old / file), words(new / file)))
        said += list(_verdicts_changed(before.get(file), after[file]))
        yield from (f"{file}: {one}" for one in said)


def _words_changed(old: Counter[str], new: Counter[str]) -> Iterator[str]:
    for word in sorted({*old, *new}):
        if old[word] != new[word]:
            change = "a new word" if not old[word] else "a word that is gone" if not new[word] else "another count"
            yield f"{change}: {word} {old[word]} -> {new[word]}"


def _verdicts_changed(old: Judged | None, new: Judged) -> Iterator[str]:
    yield from (f"FALSE CLAIM: {verdict}" for verdict in new.score.false)
    yield from (f"not mapped: {word['word']}: {word['why']}" for word in new.unmapped if old is None or word["word"] not in _unmapped(old))
    if old is not None and old.score.claims != new.score.claims:
        yield f"other states: {dict(sorted(old.score.claims.items()))} -> {dict(sorted(new.score.claims.items()))}"
    if old is not None and len(old.score.missed) != len(new.score.missed):
        yield f"other missed claims: {len(old.score.missed)} -> {len(new.score.missed)}"


def _unmapped(judged: Judged) -> set[str]:
    return {word["word"] for word in judged.unmapped}


def main() -> int:
    """Record, judge, compare; 1 where a new recording makes a false claim or a script failed."""
    scripts = sorted(SCRIPTS.glob("record_*.py"))
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        new = Path(directory)
        for script in scripts:
            print(f"recording {script.stem.removeprefix('record_')}", flush=True)
            done = subprocess.run([sys.executable, "-m", "scripts.captures", "--record", str(script), str(new)], cwd=ROOT, check=False)
            failed += [script.name] if done.returncode else []
        recorded = {path.relative_to(new).parts[0] for path in new.rglob("*.jsonl")}
        for framework in sorted(recorded):
            then, now = versions(CAPTURES / framework), versions(new / framework)
            said = [f"{name} {then.get(name, '?')} -> {now[name]}" for name in sorted(now)]
            print(f"\n{framework}: {', '.join(said) or 'its recordings name no version'}")
        before, after = asyncio.run(judged(CAPTURES)), asyncio.run(judged(new))
        changes = list(compared(CAPTURES, new, before, after))
        print("\n" + ("\n".join(changes) or "Nothing changed."))
        lies = sum(len(one.score.false) for one in after.values())
        print(
            f"\n{len(after)} recordings, {len(changes)} changes, {lies} false claims" + (f"; failed: {', '.join(failed)}" if failed else "")
        )
    return 1 if lies or failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(Path(sys.argv[2]), Path(sys.argv[3]))
        sys.exit(0)
    sys.exit(main())
