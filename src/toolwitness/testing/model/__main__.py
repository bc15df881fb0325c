"""``python -m toolwitness.testing.model``: walk every order of steps up to a depth, and say which rule does not hold, and the way there."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from toolwitness.testing.model.search import Report, Walk
from toolwitness.testing.model.world import Stage


async def check(depth: int) -> Report:
    """Walk from two calls of one task, up to ``depth`` steps."""
    stage = Stage()
    return await Walk(stage).run(await stage.two_siblings(), depth=depth)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the walk; exit code 1 where a law did not hold."""
    parser = argparse.ArgumentParser(prog="python -m toolwitness.testing.model", description=__doc__)
    parser.add_argument("--depth", type=int, default=5, help="the most steps from the beginning (default 5; 7 takes some minutes)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    report = asyncio.run(check(options.depth))
    sys.stdout.write(
        (json.dumps({**asdict(report), "by_state": dict(report.by_state)}) if options.json else "\n".join([str(report), *report.broken]))
        + "\n"
    )
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
