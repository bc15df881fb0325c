"""Reports of the kind ``raw:mcp-results``: each result is the answer to a call of its own, checked against the schema that was listed."""

from collections.abc import Mapping
from typing import Any

from toolwitness.testing.reports.case import Findings
from toolwitness.testing.reports.moments import Moment, look
from toolwitness.testing.reports.raw.wire import Wire
from toolwitness.testing.reports.stage import Stage


async def play_results(stage: Stage, findings: Findings) -> tuple[list[Moment], list[Wire]]:
    """List the tools with their declared schemas, then call each once and give its result."""
    wire = Wire.of(stage, "mcp")
    results, schemas = _object(stage, "results"), _object(stage, "declared_output_schema")
    moments = [await look(stage, 0)]
    tools = [{"name": _tool(name), "inputSchema": {}, **({"outputSchema": schemas[name]} if name in schemas else {})} for name in results]
    for message in _asked(1, "tools/list", {}), {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}:
        await wire.feed(_row(message), len(wire.items) + 1)
    for number, (name, result) in enumerate(results.items(), start=2):
        await wire.feed(_row(_asked(number, "tools/call", {"name": _tool(name), "arguments": {}})), len(wire.items) + 1)
        await wire.feed(_row({"jsonrpc": "2.0", "id": number, "result": result}), len(wire.items) + 1)
        await _named(stage, name, str(number))
        moments.append(await look(stage, number - 1))
    await wire.close(len(wire.items) + 1)
    moments.append(await look(stage, len(results) + 1))
    if not results:
        findings.skip("results", "the report has none")
    return moments, [wire]


async def _named(stage: Stage, name: str, wire_id: str) -> None:
    for task_id in await stage.ledger.tasks(limit=1_000):
        view = await stage.ledger.task(task_id)
        for record in view.records.values() if view else ():
            if record.correlation and str(record.correlation[0].get("provider_call_id")) == wire_id:
                stage.names = {key: known for key, known in stage.names.items() if known != record.id}
                stage.names[name] = record.id


def _tool(name: str) -> str:
    return f"tool_{name.partition('#')[0]}"


def _asked(number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}


def _row(message: Mapping[str, Any]) -> dict[str, Any]:
    word = f"c2s:{message['method']}" if "method" in message else "s2c:result"
    return {"src": "runtime", "kind": word, "event": message}


def _object(stage: Stage, name: str) -> Mapping[str, Any]:
    found = stage.story.input.get(name)
    return found if isinstance(found, Mapping) else {}
