"""Reports that are a stream: each item goes to the reader of its wire as it stands, and what a reader cannot see is said here."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.raw.wire import Wire
from toolwitness.testing.reports.stage import Answer, Stage
from toolwitness.testing.reports.story import Step

Item = Mapping[str, Any]
Rows = Callable[[Item], Sequence[Item]]


def as_it_stands(item: Item) -> Sequence[Item]:
    """Give an item that its reader reads as it is."""
    return (item,)


def unwrapped(item: Item) -> Sequence[Item]:
    """Give what an item wraps, or the item itself where it says its own type, role or code."""
    if any(name in item for name in ("type", "role", "code")):
        return (item,)
    return (next((item[name] for name in _WRAPPERS if isinstance(item.get(name), Mapping)), item),)


_WRAPPERS: Final = ("chunk", "event", "message", "msg", "data", "item", "part")


def graph(item: Item) -> Sequence[Item]:
    """Give a chunk of a graph's stream, or one message of its thread, as the row that a recorder of the stream would write."""
    if "src" in item or "kind" in item:
        return ({"src": "runtime", **item},)
    if "resume" in item or "command" in item:
        return ({"src": "driver", "kind": "Command(resume)", "event": item.get("command", item)},)
    chunk = next((item[name] for name in ("chunk", "event", "data", "update") if isinstance(item.get(name), Mapping)), item)
    mode = str(item.get("mode") or item.get("stream_mode") or "")
    if mode == "tools" or (not mode and str(chunk.get("event", "")).startswith("tool-")):
        return ({"src": "runtime", "kind": f"tools:{chunk.get('event')}", "event": chunk},)
    if chunk.get("type") in ("ai", "tool", "human", "system", "AIMessage", "ToolMessage"):
        node = "tools" if chunk["type"] in ("tool", "ToolMessage") else "model"
        return ({"src": "runtime", "kind": "updates", "event": {node: {"messages": [chunk]}}},)
    return ({"src": "runtime", "kind": mode or "updates", "event": chunk},)


def mcp(item: Item) -> Sequence[Item]:
    """Give a JSON-RPC message as the row that a recorder at the client would write."""
    message = item.get("msg", item)
    to_server = str(item.get("dir", "")).startswith("client") or ("method" in message and "dir" not in item)
    answer = "error" if "error" in message else "result"
    word = f"{'c2s' if to_server else 's2c'}:{message.get('method') or answer}"
    return ({"src": "runtime", "kind": word, "event": message},)


FORMATS: Final[Mapping[str, tuple[str, Rows]]] = MappingProxyType({
    "raw:mcp-jsonrpc": ("mcp", mcp),
    "raw:ag-ui": ("ag-ui", unwrapped),
    "raw:ai-sdk-ui-stream": ("ai-sdk", unwrapped),
    "raw:ai-sdk-ui-messages": ("ai-sdk-messages", unwrapped),
    "raw:a2a-0.3": ("a2a", as_it_stands),
    "raw:a2a-1.0": ("a2a", as_it_stands),
    "raw:openai-chat": ("openai-chat", unwrapped),
    "raw:openai-responses": ("openai-responses", unwrapped),
    "raw:anthropic": ("anthropic", unwrapped),
    "raw:assistant-ui": ("assistant-ui", unwrapped),
    "raw:assistant-ui-messages": ("assistant-ui-messages", unwrapped),
    "raw:langgraph": ("langgraph", graph),
    "raw:openai-agents": ("openai-agents", as_it_stands),
    "raw:pydantic-ai": ("pydantic-ai", as_it_stands),
    "raw:celery-events": ("celery", unwrapped),
})  # fmt: skip  # one line a kind
"""Kinds of reports that are streams: the format whose reader reads them, and how an item becomes its rows."""


async def play_stream(stage: Stage, findings: Findings) -> tuple[list[Moment], list[Wire]]:
    """Feed every item in order, and look after each."""
    format_name, rows = FORMATS[stage.story.kind]
    wire = Wire.of(stage, format_name)
    steps = steps_of(stage)
    moments = [await look(stage, 0)]
    for step in steps:
        stage.set_time(step)
        stage.answers[step.seq] = await _dispatched(stage, step, await _played(wire, step, rows, findings))
        moments.append(await look(stage, step.number))
    await _beside(stage, len(steps) + 1)
    await wire.close(len(steps) + 1)
    moments[-1] = await look(stage, len(steps))
    return moments, [wire]


_ITEMS: Final = ("messages", "chunks", "updates", "stream", "items", "wire")


def steps_of(stage: Stage) -> Sequence[Step]:
    """Give the items of a report as steps: its events, its timeline, or whatever else it calls its list of items."""
    if stage.story.steps:
        return stage.story.steps
    lists = (stage.story.input.get(name) for name in _ITEMS)
    found = next((one for one in lists if isinstance(one, list)), [])
    return [Step(number=n, seq=n, source="", type="", fields=one) for n, one in enumerate(found, start=1) if isinstance(one, Mapping)]


async def _played(wire: Wire, step: Step, rows: Rows, findings: Findings) -> Answer:
    """Feed one item; one that breaks its reader is named, and the others go on."""
    answers: list[Answer] = []
    fields = {name: value for name, value in step.fields.items() if name != "seq"}
    try:
        for row in rows(fields):
            answers.append(await wire.feed(row, step.seq))
            answers += await _left_the_client(wire, step, row)
    except Exception as error:  # noqa: BLE001 - a report is somebody else's text: whatever in it breaks, the others are still played
        findings.skip(f"item {step.seq}", f"it could not be played: {type(error).__name__}: {error}")
    decided = next((answer for answer in answers if answer.decision != "none"), answers[0] if answers else Answer())
    decided.recorded = tuple(one for answer in answers for one in answer.recorded)
    return decided


async def _dispatched(stage: Stage, step: Step, answer: Answer) -> Answer:
    """Ask the desk for a dispatch, where the report says what an answer like this one may start: once is enough."""
    wanted = stage.story.expected.get("dispatch")
    if not isinstance(wanted, Mapping) or str(step.seq) not in wanted or answer.dispatch:
        return answer
    about = [one.event.invocation_id for one in answer.recorded if one.event.invocation_id]
    for invocation_id in about[:1]:
        before = await stage.ledger.head()
        verdict = await stage.desk.request_dispatch(invocation_id, source="report:wire", worker="wire")
        refused = stage.refused(verdict) if isinstance(verdict, PolicyVerdict) else Answer(dispatch="allow")
        answer.dispatch, answer.dispatch_rule, answer.dispatch_reason = refused.dispatch, refused.dispatch_rule, refused.dispatch_reason
        answer.recorded += await stage.since(before)
    return answer


async def _left_the_client(wire: Wire, step: Step, row: Item) -> list[Answer]:
    """Record a start for a ``tools/call`` that left: the host of such a report hands it to its server and has no other sign of one.

    Our own reader claims less (a request is no start); a report's host speaks for its executor.
    """
    message = row.get("event")
    if row.get("kind") != "c2s:tools/call" or not isinstance(message, Mapping):
        return []
    named = wire.stage.story.input.get("map")
    key = str(named.get(str(message.get("id")), "")) if isinstance(named, Mapping) else ""
    if key not in wire.stage.names:
        return []
    host = Step(number=step.number, seq=step.seq, source="host", type="tools/call", fields=step.fields)
    data = {"attempt": 1, "executor": "the server that the request went to"}
    return [Answer(recorded=await wire.stage.observe(host, Kind.STARTED, data, key=key))]


async def _beside(stage: Stage, number: int) -> None:
    """Record what a provider is said to have observed, beside the stream."""
    told = stage.story.input.get("provider_observations")
    named = stage.story.input.get("map")
    calls = [str(one) for one in named.values()] if isinstance(named, Mapping) else list(stage.names)
    for place, one in enumerate(told if isinstance(told, list) else []):
        if isinstance(one, Mapping) and calls:
            step = Step(number=number + place, seq=0, source="provider", type="effect.observed", fields=one)
            data = {"effect": str(one.get("effect") or "observed by the provider"), "provider_reference": one.get("ref")}
            await stage.observe(step, Kind.EFFECT, data, key=str(one.get("invocation") or calls[0]))
