"""Replay a recorded stream of a framework, and see what it really evidenced."""

from pathlib import Path

import click

from toolwitness.bootstrap.replay import FORMATS, replay_file
from toolwitness.cli.answers import json_option, note, print_json, run, say
from toolwitness.cli.teaching import Taught


@click.command(
    cls=Taught,
    examples=[
        "toolwitness replay run.jsonl --format pydantic-ai --json | jq '.invocations[].state'",
    ],
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "format_name",
    required=True,
    metavar="NAME",
    type=click.Choice(sorted(FORMATS)),
    help=f"What wrote the recording: {', '.join(sorted(FORMATS))}.",
)
@json_option()
def replay(file: Path, format_name: str, *, as_json: bool) -> None:
    """Replay a framework's recorded stream and show what it really evidenced.

    FILE is a capture, read by the reader of its framework: JSON lines, or a stream as it was sent (``.sse``, ``.data.txt``).
    The judge's rows (``truth``) are never shown to the reader. A word that the reader does not map is listed with the reason, not guessed.
    """
    found = run(replay_file(file, format_name))
    if as_json:
        print_json(found)
        return
    for invocation in found["invocations"]:
        said = ", ".join(finding["code"] for finding in invocation["findings"]) or "no finding"
        say(f"{invocation['state'] or '(no state)':<20}{invocation['tool'] or '?':<20}attempt {invocation['identity']['attempt']}  {said}")
    moved = sum(event["verdict"] == "moved" for event in found["events"])
    counts = f"{len(found['invocations'])} calls · {len(found['events'])} events, {moved} moved a state"
    say(f"{counts} · {len(found['unmapped'])} words not mapped")
    for word in found["unmapped"]:
        note(f"  row {word['row']}: {word['word']}: {word['why']}")
