"""Judge recordings against what the tools really did: false and missed claims, ours beside the framework's own."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from toolwitness.cli.answers import json_option, print_json, run, say
from toolwitness.cli.teaching import Taught
from toolwitness.core.errors import InvalidInput
from toolwitness.testing.truth.claims import Verdict
from toolwitness.testing.truth.layout import captures_in
from toolwitness.testing.truth.running import judge
from toolwitness.testing.truth.totals import Run, Total


@click.command(
    cls=Taught,
    examples=[
        "toolwitness truth spec/captures",
        "toolwitness truth recordings --framework langgraph",
        "toolwitness truth recordings --json | jq '.files[] | select(.false != [])'",
    ],
)
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--framework", default="", help="Only what this framework (or format) recorded.")
@json_option()
def truth(directory: Path, framework: str, *, as_json: bool) -> None:
    """Judge recordings against what the tools really did.

    Every recording in DIR is replayed through the reader of its framework, and each claim of the record is compared with the
    rows that the tools wrote themselves. A false claim says more than happened; a missed claim is whole evidence that was not
    used. Beside it stands what the framework alone shows. Exit 1 where a claim is false.
    """
    told = run(_judged(directory, framework))
    if not told.judged and framework:
        raise InvalidInput(
            f"Nothing in {directory} was recorded by {framework!r}.", field="framework",
            remedy="Leave the option out to see which frameworks there are.",
        )  # fmt: skip  # one error
    if not told.judged and not told.skipped:
        raise InvalidInput(
            f"{directory} is empty: no recording, nothing judged.", field="directory",
            remedy="Lay recordings as DIR/FRAMEWORK/NAME.jsonl.",
        )  # fmt: skip  # one error
    if as_json:
        print_json(told.as_document())
    else:
        for line in _lines(told):
            say(line)
    if told.total.ours.false:
        sys.exit(1)


async def _judged(directory: Path, framework: str) -> Run:
    told, count = Run(), 0
    many = sum(1 for _ in captures_in(directory))
    async for one in judge(directory, framework=framework):
        told.add(one)
        count += 1
        _progress(f"{count} of {many} files")
    _progress("")
    return told


def _progress(text: str) -> None:
    """Say how far it is, on one line that goes away; nothing where nobody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


# ── for a person ────────────────────────────────────────────────────────────────────────────────────────────────────


def _lines(told: Run) -> Iterator[str]:
    yield from _table(told)
    alone = [(one.capture.file, verdict) for one in told.judged if one.alone for verdict in one.alone.false]
    for title, who, verdicts in (
        ("False claims of the frameworks alone", "the framework shows", alone),
        ("Missed claims", "the record says", _of(told, "missed")),
        ("False claims", "the record says", _of(told, "false")),
    ):
        yield from ("", title) if verdicts else ()
        for file, verdict in verdicts:
            yield from _sentence(file, who, verdict)
    yield from _grouped("Not scored", "calls", [(one.capture.file, v.reason) for one in told.judged for v in one.score.undecided])
    yield from _grouped("Not judged", "files", [(one.file, one.reason) for one in told.skipped])
    yield from ("", _verdict(told.total))


def _table(told: Run) -> Iterator[str]:
    yield f"{'':<15}{'':>6}{'the record':>23}{'the framework alone':>29}"
    yield f"{'framework':<15}{'files':>6}{'calls':>7}{'allowed':>9}{'false':>7}{'missed':>10}{'calls':>12}{'false':>7}"
    for total in (*told.frameworks, told.total):
        if total.name == "all":
            yield "-" * 73
        missed = f"{len(total.ours.missed)} {total.missed_percent:4.1f}%" if total.ours.allowed else "-"
        yield (
            f"{total.name:<15}{total.files:>6}{total.ours.calls:>7}{total.ours.allowed:>9}{len(total.ours.false):>7}{missed:>10}"
            f"{total.alone_calls:>12}{total.alone_false:>7}"
        )


def _of(told: Run, kind: str) -> Sequence[tuple[str, Verdict]]:
    return [(one.capture.file, verdict) for one in told.judged for verdict in getattr(one.score, kind)]


def _sentence(file: str, who: str, verdict: Verdict) -> Iterator[str]:
    call = f"call {verdict.call}" + (f", the {_ordinal(verdict.occurrence)} of that id" if verdict.occurrence > 1 else "")
    yield f"  {file}"
    said = f"{who} {verdict.said}{_rows(verdict.said_rows)}; {verdict.true}{_rows(verdict.true_rows)}"
    yield from _wrapped(f"{call}: {said}. {verdict.reason[:1].upper()}{verdict.reason[1:]}.", "    ")


def _rows(rows: Sequence[int]) -> str:
    return f" (row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))})" if rows else ""


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def _grouped(title: str, what: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """List files under the reason that they share; where they are many they are counted by directory, and ``--json`` names them."""
    reasons: dict[str, dict[str, int]] = {}
    for file, reason in pairs:
        of_reason = reasons.setdefault(_plain(reason), {})
        of_reason[file] = of_reason.get(file, 0) + 1
    if reasons:
        yield from ("", title)
    for reason, files in sorted(reasons.items(), key=lambda one: -sum(one[1].values())):
        count = sum(files.values())
        yield from _wrapped(f"{count} {what if count != 1 else what[:-1]}: {reason}", "  ")
        yield from _wrapped(", ".join(_few(files) if len(files) <= _FEW else _by_directory(files)), "    ")


_FEW = 6


def _few(files: Mapping[str, int]) -> list[str]:
    return [file if count == 1 else f"{file} ({count})" for file, count in files.items()]


def _by_directory(files: Mapping[str, int]) -> list[str]:
    counts: dict[str, int] = {}
    for file, count in files.items():
        directory = file.rpartition("/")[0] or "."
        counts[directory] = counts.get(directory, 0) + count
    return [f"{directory} ({count})" for directory, count in counts.items()]


def _plain(reason: str) -> str:
    """Give the reason without the file's own name in it, so that the same reason is one."""
    return "the same bytes, framed; judged as the .jsonl beside it" if "framed" in reason else reason


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    return textwrap.wrap(text, width=width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def _verdict(total: Total) -> str:
    false, missed = len(total.ours.false), len(total.ours.missed)
    head = "No false claim" if not false else "1 false claim" if false == 1 else f"{false} false claims"
    return (
        f"{head}; {missed} of {total.ours.allowed} allowed claims missed ({total.missed_percent:.1f} %).\n"
        f"The frameworks alone: {total.alone_false} false claims on {total.alone_calls} calls."
    )
