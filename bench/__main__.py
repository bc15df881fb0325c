"""Runs every measurement there is, one after the other: ``python -m bench``, or some of them: ``python -m bench ledger``."""

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

NOT_MEASUREMENTS = frozenset({"__main__", "harness", "sse_readers", "sse_servers"})


def measurements() -> list[str]:
    """Name the modules of this package that have a ``main``."""
    return sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name not in NOT_MEASUREMENTS)


def main() -> int:
    """Run what was asked for; what follows the names is passed on to each of them."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*measurements(), []], help="which ones; all where none is named")
    given = sys.argv[1:]
    named = next((place for place, one in enumerate(given) if one.startswith("-") and one not in {"-h", "--help"}), len(given))
    options, rest = parser.parse_args(given[:named]), given[named:]
    worst = 0
    for name in options.names or measurements():
        print(f"── {name} ──", file=sys.stderr)
        worst = max(worst, int(importlib.import_module(f"bench.{name}").main(rest) or 0))
    return worst


if __name__ == "__main__":
    sys.exit(main())
