"""Which raw kinds there are, and who plays each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from toolwitness.bootstrap.replay import FORMATS as READERS
from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment
from toolwitness.testing.reports.raw.hitl import KIND as HITL
from toolwitness.testing.reports.raw.hitl import as_events, play_hitl
from toolwitness.testing.reports.raw.results import play_results
from toolwitness.testing.reports.raw.streams import FORMATS, play_stream
from toolwitness.testing.reports.raw.texts import play_json, play_line
from toolwitness.testing.reports.raw.wire import Wire
from toolwitness.testing.reports.stage import Stage
from toolwitness.testing.reports.story import Story

Play = Callable[[Stage, Findings], Awaitable[tuple[list[Moment], list[Wire]]]]

KINDS: Final[Mapping[str, Play]] = MappingProxyType({
    **{kind: play_stream for kind, (format_name, _) in FORMATS.items() if format_name in READERS},
    "raw:mcp-results": play_results,
    "raw:jsonl": play_line,
    HITL: play_hitl,
    "raw:json-text": play_json,
})  # fmt: skip  # one line a kind
"""Every raw kind that can be played."""


def prepared(story: Story) -> Story:
    """Give a report as it is played; one that names nobody at all has one person who may decide where nobody else is named."""
    if story.kind == HITL:
        return as_events(story)
    if story.actors():
        return story
    return replace(story, input={**story.input, "actors": {"somebody": {"roles": ["approver"]}}})


async def play_raw(stage: Stage, findings: Findings) -> tuple[list[Moment], Sequence[Wire]]:
    """Play a raw report."""
    return await KINDS[stage.story.kind](stage, findings)
