"""``python -m toolwitness.testing.reports DIR [--json]``.

Exit 0 when nothing is wrong, 1 when something is, 2 when the directory could not be read.
"""

import json
import sys
from pathlib import Path

import click

from toolwitness.core.errors import InvalidInput
from toolwitness.testing.reports.runner import Result, as_document, run_directory


def _told(result: Result) -> list[str]:
    verdict = "passed" if result.passed else "wrong" if result.wrong else "not passed"
    lines = [f"{result.id} ({result.kind}): {verdict}, {len(result.checked)} checked"]
    return lines + [f"  wrong      {entry}" for entry in result.wrong] + [f"  unchecked  {entry}" for entry in result.unchecked]


@click.command(name="python -m toolwitness.testing.reports")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "output", flag_value="json", help="Print one JSON document.")
def main(directory: Path, output: str | None) -> None:
    """Play every report of DIRECTORY at a desk on a ledger in memory, and compare what it expects with what is on record."""
    try:
        results = run_directory(directory)
    except InvalidInput as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    if output:
        click.echo(json.dumps(as_document(results), indent=2))
    else:
        click.echo("\n".join(line for result in results for line in _told(result)))
    sys.exit(1 if any(result.wrong for result in results) else 0)


if __name__ == "__main__":
    main()
