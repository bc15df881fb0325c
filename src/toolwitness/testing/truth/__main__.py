"""``python -m toolwitness.testing.truth DIR``: the judge for those who write readers, one line a file, every verdict with its rows."""

import argparse
import asyncio
import sys
from pathlib import Path

from toolwitness.testing.truth.layout import Skipped
from toolwitness.testing.truth.running import judge
from toolwitness.testing.truth.score import Score


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


async def _run(directory: Path, *, framework: str, pattern: str, verbose: bool) -> int:
    totals: dict[str, Score] = {}
    skipped: list[Skipped] = []
    async for one in judge(directory, framework=framework, pattern=pattern):
        if isinstance(one, Skipped):
            skipped.append(one)
            continue
        told = one.score
        if one.unreplayed:
            skipped.append(Skipped(told.file, one.unreplayed))
            continue
        totals.setdefault(one.capture.framework, Score(f"= {one.capture.framework}")).add(told)
        _say(str(told))
        for kind, verdicts in (("FALSE ", told.false), ("missed", told.missed), ("unscored", told.undecided if verbose else [])):
            for verdict in verdicts:
                _say(f"    {kind} {verdict}  [{verdict.reason}; said in row {verdict.said_rows}, true in row {verdict.true_rows}]")
        for word in one.unmapped if verbose else []:
            _say(f"    unmapped row {word['row']}: {word['word']}: {word['why']}")
    for one in skipped if verbose else [one for one in skipped if "framed" not in one.reason]:
        _say(f"skipped {one.file}: {one.reason}")
    total = Score("= all")
    for told in totals.values():
        _say(str(told))
        total.add(told)
    _say(f"{total}\nmissed {100 * len(total.missed) / (total.allowed or 1):.1f} % of {total.allowed} allowed claims")
    return 1 if total.false else 0


def main() -> int:
    """Judge the directory that the command line names; 1 where a claim is false."""
    parser = argparse.ArgumentParser(prog="python -m toolwitness.testing.truth", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--framework", default="", help="only captures of this framework or format")
    parser.add_argument("--file", default="", help="only files whose path matches this pattern")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what is unscored and what is not mapped, too")
    chosen = parser.parse_args()
    return asyncio.run(_run(chosen.directory, framework=chosen.framework, pattern=chosen.file, verbose=chosen.verbose))


if __name__ == "__main__":
    sys.exit(main())
