"""Play reports and say what came of them."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.errors import InvalidInput
from toolwitness.testing.reports import people_words, policy_words, runtime_words
from toolwitness.testing.reports.case import Case, Findings
from toolwitness.testing.reports.fragments import play_fragments
from toolwitness.testing.reports.history import read_history
from toolwitness.testing.reports.judging import PROSE, judge
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.raw import KINDS, as_played, play_raw, prepared
from toolwitness.testing.reports.raw.judging import judge_raw
from toolwitness.testing.reports.runtime_words import Word
from toolwitness.testing.reports.stage import Answer, Stage
from toolwitness.testing.reports.story import Step, read_story

EVENTS: Final = frozenset({"abstract-events", "ui-actions"})
FRAGMENTS: Final = frozenset({"contract"})
WORDS: Final[Mapping[str, Word]] = MappingProxyType({**runtime_words.WORDS, **policy_words.WORDS, **people_words.WORDS})
"""Every event type that can be played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one report."""

    id: str
    kind: str
    passed: bool
    """Whether nothing is wrong and everything that a machine can read was checked."""
    wrong: list[str] = field(default_factory=list[str])
    checked: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])


async def run_report(report: object) -> Result:
    """Play one report at a desk of its own, and compare.

    Raises:
        InvalidInput: it is no report.
    """
    told = read_story(report)
    story = as_played(told, KINDS)
    if story.kind not in EVENTS | FRAGMENTS | frozenset(KINDS):
        keys = sorted(set(story.expected) - PROSE)
        return Result(id=told.id, kind=told.kind, passed=False, unchecked=["unsupported", *keys])
    stage = Stage(prepared(story) if story.kind in KINDS else story)
    findings = Findings()
    if story.kind in KINDS:
        moments, wires = await play_raw(stage, findings)
        judge_raw(Case(stage=stage, moments=moments, recorded=await stage.ledger.read(), findings=findings), story.expected, wires)
    else:
        moments = await _play(stage, findings) if story.kind in EVENTS else await play_fragments(stage, findings)
        judge(Case(stage=stage, moments=moments, recorded=await stage.ledger.read(), findings=findings), story.expected)
    for problem in await stage.desk.verify():
        findings.wrong.append(f"the ledger does not verify: {problem.place}: {problem.what}")
    await stage.ledger.close()
    passed = not findings.wrong and not findings.unchecked and bool(findings.checked)
    return Result(
        id=told.id, kind=told.kind, passed=passed, wrong=findings.wrong, checked=findings.checked,
        unchecked=[*findings.unchecked, *findings.left],
    )  # fmt: skip  # facts in lines


async def _play(stage: Stage, findings: Findings) -> list[Moment]:
    """Play the events in their order, and look after each of them."""
    await stage.open_tasks()
    moments = [await look(stage, 0)]
    for step in stage.story.steps:
        stage.set_time(step)
        word = WORDS.get(step.type)
        answer = await _played(stage, step, word) if word else Answer(unclear=f"nobody here knows the event type {step.type!r}")
        if answer.unclear:
            findings.skip(f"event {step.seq}", answer.unclear)
        stage.answers[step.seq] = answer
        moments.append(await look(stage, step.number))
    if await read_history(stage):
        moments[-1] = await look(stage, len(stage.story.steps))
    return moments


async def _played(stage: Stage, step: Step, word: Word) -> Answer:
    """Play one event; one that cannot be read is named and the others go on."""
    try:
        return await word(stage, step)
    except Exception as error:  # noqa: BLE001 - a report is somebody else's text: whatever in it breaks a word, the others are still played
        return Answer(unclear=f"{step.type} could not be played: {type(error).__name__}: {error}")


def read_directory(directory: Path) -> list[tuple[Path, object]]:
    """Read every report (``*.json``) of a directory, in the order of their names.

    Raises:
        InvalidInput: there is none, or one of them cannot be read; the file is named.
    """
    found: list[tuple[Path, object]] = []
    for file in sorted(directory.glob("*.json")):
        try:
            found.append((file, json.loads(file.read_bytes())))
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{file} cannot be read: {error}.", field="file", remedy="Give JSON.") from error
    if not found:
        raise InvalidInput(f"{directory} holds no report.", field="directory", remedy="Give a directory of report files (*.json).")
    return found


async def run_reports(reports: Iterable[tuple[Path, object]]) -> list[Result]:
    """Play reports, each at a desk of its own.

    Raises:
        InvalidInput: one of them is no report; its file is named.
    """
    results: list[Result] = []
    for file, report in reports:
        try:
            results.append(await run_report(report))
        except InvalidInput as error:
            raise InvalidInput(f"{file}: {error.message}", field="file") from error
    return results


def as_document(results: list[Result]) -> dict[str, Any]:
    """Give the results as one JSON document."""
    return {"reports": [asdict(result) for result in results]}


def run_directory(directory: Path) -> list[Result]:
    """Play every report of a directory, from outside any event loop.

    Raises:
        InvalidInput: there is none, or one of them cannot be read.
    """
    return asyncio.run(run_reports(read_directory(directory)))
