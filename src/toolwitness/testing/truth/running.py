"""Judges a whole directory of captures: each file is replayed through its reader and scored, or skipped with its reason."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolwitness.bootstrap.replay import FORMATS, replay_file
from toolwitness.core.errors import ToolwitnessError
from toolwitness.testing.truth.alone import alone
from toolwitness.testing.truth.capture import Rows, rows_of
from toolwitness.testing.truth.claims import Expectation, Verdict
from toolwitness.testing.truth.layout import Capture, Skipped, captures_in
from toolwitness.testing.truth.score import Allowed, Score, score


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one capture came to: our record's score, and beside it the score of what the framework alone claims."""

    capture: Capture
    score: Score
    alone: Score | None = None
    unmapped: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unreplayed: str = ""
    """Why nothing was replayed, where only the framework's own word could be judged."""

    def as_document(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {
            "file": self.capture.file,
            "framework": self.capture.framework,
            "format": self.capture.format_name,
            "calls": self.score.calls,
            "claims": dict(sorted(self.score.claims.items())),
            "allowed": self.score.allowed,
            "false": [verdict.as_document() for verdict in self.score.false],
            "missed": [verdict.as_document() for verdict in self.score.missed],
            "unscored": [verdict.as_document() for verdict in self.score.undecided],
            "alone_calls": self.alone.calls if self.alone else None,
            "alone_claims": dict(sorted(self.alone.claims.items())) if self.alone else None,
            "alone_false": [verdict.as_document() for verdict in self.alone.false] if self.alone else None,
            "unmapped": self.unmapped,
        }


async def judge(directory: Path, *, framework: str = "", pattern: str = "") -> AsyncIterator[Judged | Skipped]:
    """Judge every capture below a directory, in order; ``framework`` and ``pattern`` (of the path below it) narrow it."""
    for one in captures_in(directory):
        if pattern and not fnmatch(one.file, f"*{pattern}*"):
            continue
        if isinstance(one, Skipped):
            if not framework:
                yield one
        elif not framework or framework in {one.framework, one.format_name}:
            yield await judge_capture(one, directory)


async def judge_capture(capture: Capture, directory: Path) -> Judged | Skipped:
    """Replay one capture and judge what its record claims; skipped, with the reason, where no reader reads it or its reader breaks."""
    if not capture.replayed:
        why = "no stream was recorded: what the page showed is judged alone"
        told = Score(capture.file)
        return Judged(capture=capture, score=told, alone=_alone(capture, told), unreplayed=why)
    if capture.format_name not in FORMATS:
        return Skipped(capture.file, f"no reader yet for {capture.format_name or capture.framework}")
    executed: dict[str, str] = {}
    try:
        result = await replay_file(capture.path, capture.format_name, relative_to=directory, executed=executed)
    except (ToolwitnessError, OSError, ValueError) as error:
        return Skipped(capture.file, f"it cannot be read: {error}")
    except Exception as error:  # noqa: BLE001 - whatever a reader breaks on is told, and the other files are judged
        return Skipped(capture.file, f"its reader broke: {type(error).__name__}: {error}")
    rows = rows_of(capture)
    expected, broken = _expected(capture, rows)
    told = score(result, rows, allowed=lambda _: expected, name=capture.file, executed=executed)
    told.undecided += broken
    return Judged(capture=capture, score=told, alone=_alone(capture, told), unmapped=result["unmapped"])


def _expected(capture: Capture, rows: Rows) -> tuple[list[Expectation], list[Verdict]]:
    """Work out what whole evidence allows, as far as the rows can be read; where they break it, that is told."""
    found: list[Expectation] = []
    try:
        found.extend(allowed_for(capture)(rows))
    except Exception as error:  # noqa: BLE001 - rows are a stranger's: whatever in them breaks, the claims are judged all the same
        why = f"what whole evidence allows could be worked out in part only: {type(error).__name__}: {error}"
        return found, [Verdict(call="", said="missed claims", reason=why)]
    return found, []


def _alone(capture: Capture, told: Score) -> Score | None:
    """Judge the framework alone; where its own words cannot be read, that is told."""
    try:
        return alone(capture)
    except Exception as error:  # noqa: BLE001 - as above
        why = f"what the framework alone shows could not be worked out: {type(error).__name__}: {error}"
        told.undecided.append(Verdict(call="", said="the framework alone", reason=why))
        return None


def allowed_for(capture: Capture) -> Allowed:
    """Give what whole evidence allows in this capture, from the module that is written for its format, its reader or its framework."""
    room = FORMATS[capture.format_name].partition(":")[0].rpartition(".")[2]
    for name in (capture.format_name.removesuffix("-recorder"), room, capture.framework):
        module = f"toolwitness.testing.allowed.{name.replace('-', '_')}"
        if find_spec(module) is not None:
            allowed: Callable[..., Any] = import_module(module).allowed
            return allowed
    return lambda _rows: ()
