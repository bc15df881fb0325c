"""The runtime's own history after a run, where a report shows it: which calls it holds a result for, and which it leaves open."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.testing.reports.stage import Stage
from toolwitness.testing.reports.story import Step, text

SNAPSHOTS: Final = ("runtime_snapshot_after", "history_after", "runtime_history", "snapshot_after")
"""Where a report keeps such a history."""


async def read_history(stage: Stage) -> int:
    """Say of each call that the history names whether it holds its result; give how many were read."""
    read = 0
    for name in SNAPSHOTS:
        messages = stage.story.input.get(name)
        if not isinstance(messages, list):
            continue
        made, answered = _calls(messages, "made"), _calls(messages, "answered")
        step = Step(number=len(stage.story.steps) + 1, seq=0, source="history", type="history", fields={})
        for call in made:
            proposal = next((other for other in stage.story.steps if other.fields.get("provider_call_id") == call), None)
            if proposal is not None and proposal.invocation:
                key = stage.key(proposal)
                data = {"history": name.replace("_", " "), "call": call, "result": "present" if call in answered else "absent"}
                await stage.observe(step, Kind.HISTORY_READ, data, key=key)
                read += 1
    return read


def _calls(messages: list[Any], which: str) -> list[str]:
    """Give the provider's ids of the calls that messages make or answer, in the message forms of the common frameworks."""
    found: list[str] = []
    for message in _parts(messages):
        if which == "answered":
            found.append(text(message.get("tool_call_id")) or text(message.get("tool_use_id")))
            continue
        found += [text(call.get("id")) for call in _listed(message.get("tool_calls"))]
        found.append(text(message.get("id")) if message.get("type") == "tool_use" else "")
    return [call for call in dict.fromkeys(found) if call]


def _parts(messages: list[Any]) -> Iterable[Mapping[str, Any]]:
    """Give every message, what it wraps and its parts of content."""
    for message in _listed(messages):
        yield message
        inner = message.get("data")
        if isinstance(inner, Mapping):
            yield cast("Mapping[str, Any]", inner)
        yield from _listed(message.get("content"))


def _listed(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
