"""Judges a whole directory of captures: each file is replayed through its reader and scored, or skipped with its reason."""

from collections.abc import AsyncIterator, Callable
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolwitness.bootstrap.replay import FORMATS, replay_file
from toolwitness.core.errors import ToolwitnessError
from toolwitness.testing.truth.capture import rows_of
from toolwitness.testing.truth.layout import Capture, Skipped, captures_in
from toolwitness.testing.truth.score import Allowed, Score, score

Judged = tuple[Capture, Score, dict[str, Any]]


async def judge(directory: Path, *, framework: str = "", pattern: str = "") -> AsyncIterator[Judged | Skipped]:
    """Judge every capture below a directory, in order; ``framework`` and ``pattern`` (of the path below it) narrow it."""
    for one in captures_in(directory):
        if pattern and not fnmatch(one.file, f"*{pattern}*"):
            continue
        if isinstance(one, Skipped):
            if not framework:
                yield one
            continue
        if framework and framework not in {one.framework, one.format_name}:
            continue
        yield await judge_capture(one, directory)


async def judge_capture(capture: Capture, directory: Path) -> Judged | Skipped:
    """Replay one capture and judge what its record claims; skipped, with the reason, where no reader reads it."""
    if not capture.replayed:
        return Skipped(capture.file, "no stream was recorded: only what the tools and the page said")
    if capture.format_name not in FORMATS:
        return Skipped(capture.file, f"no reader yet for {capture.format_name or capture.framework}")
    try:
        result = await replay_file(capture.path, capture.format_name, relative_to=directory)
        return capture, score(result, rows_of(capture), allowed=allowed_for(capture), name=capture.file), result
    except (ToolwitnessError, OSError, ValueError) as error:
        return Skipped(capture.file, f"it cannot be read: {error}")


def allowed_for(capture: Capture) -> Allowed:
    """Give what whole evidence allows in this capture, from the module that is written for its format or its framework."""
    for name in (capture.format_name.removesuffix("-recorder"), capture.framework):
        module = f"toolwitness.testing.allowed.{name.replace('-', '_')}"
        if find_spec(module) is not None:
            allowed: Callable[..., Any] = import_module(module).allowed
            return allowed
    return lambda _rows: ()
