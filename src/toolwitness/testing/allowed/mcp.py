"""What whole evidence in an MCP capture allows a record to claim; written apart from the adapter, from the protocol's own words.

Used with the judge: an expectation that the record does not meet is a missed claim.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_CANCEL = re.compile(r"\b(cancel(l)?ed|aborted|interrupted)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Wire:
    """What was asked and not yet answered."""

    calls: dict[str, str] = field(default_factory=dict[str, str])
    """By the id of an open request, the id under which its call was first made."""
    doubled: set[str] = field(default_factory=set[str])
    methods: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    tasks: dict[str, str] = field(default_factory=dict[str, str])
    states: dict[str, str] = field(default_factory=dict[str, str])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    ended: set[str] = field(default_factory=set[str])


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the messages hold whole evidence for."""
    wire = _Wire()
    for row in rows:
        body, kind = row.get("event"), str(row.get("kind"))
        if row.get("src") != "runtime" or not isinstance(body, Mapping):
            continue
        said = list(_client(wire, body)) if kind.startswith("c2s:") else list(_server(wire, body))
        for expectation in said:
            yield Expectation(expectation.call, expectation.claim, expectation.made, row=int(row.get("seq") or 0))


def _client(wire: _Wire, body: Mapping[str, Any]) -> Iterator[Expectation]:
    method, params = body.get("method"), _object(body.get("params"))
    key = json.dumps(body.get("id"))
    if method:
        wire.methods[key] = body
    if method == "tools/call":
        if key in wire.calls:
            wire.doubled.add(key)
        first = wire.states.pop(str(params.get("requestState")), "")
        wire.calls[key] = first or str(body.get("id"))
        token = _object(params.get("_meta")).get("progressToken")
        wire.tokens[json.dumps(token)] = wire.calls[key]
        yield Expectation(wire.calls[key], "proposed", _told("input.supplied" if first else "invocation.proposed"))
    elif method == "notifications/cancelled":
        asked = wire.calls.get(json.dumps(params.get("requestId")), "")
        person = not str(params.get("reason")).startswith("timed out")
        if asked:
            yield Expectation(asked, "cancellation sent", _told("cancellation.requested" if person else "waiter.released"))
    elif method == "tasks/cancel" and (call := wire.tasks.get(str(params.get("taskId")))) and call not in wire.ended:
        yield Expectation(call, "cancellation sent", _told("cancellation.requested"))


def _server(wire: _Wire, body: Mapping[str, Any]) -> Iterator[Expectation]:
    params, key = _object(body.get("params")), json.dumps(body.get("id"))
    if body.get("method") == "notifications/progress":
        call = wire.tokens.get(json.dumps(params.get("progressToken")))
        if call:
            yield Expectation(call, "progress", _told("progress.reported"))
    if body.get("method") == "notifications/tasks/status":
        yield from _status(wire, params)
    if body.get("method") or key not in wire.methods:
        return
    request = wire.methods[key]
    result = _object(body.get("result"))
    if request.get("method") == "tools/call":
        if key not in wire.doubled and wire.calls.get(key, "") not in wire.ended:
            yield from _answer(wire, wire.calls.pop(key, ""), body, result)
    elif str(request.get("method")).startswith("tasks/"):
        yield from _status(wire, {**result, "taskId": _object(request.get("params")).get("taskId")})
        call = wire.tasks.get(str(_object(request.get("params")).get("taskId")), "")
        if request.get("method") == "tasks/result" and "content" in result and call and call not in wire.ended:
            yield from _finished(wire, call, result)


def _answer(wire: _Wire, call: str, body: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Expectation]:
    task = _object(result.get("task")) or (result if result.get("resultType") == "task" else {})
    if not call:
        return
    if task.get("taskId"):
        wire.tasks[str(task["taskId"])] = call
        yield Expectation(call, "accepted", _told("dispatch.accepted"))
        yield from _status(wire, task)
    elif result.get("resultType") == "input_required":
        wire.states[str(result.get("requestState"))] = call
        yield Expectation(call, "input required", _told("input.required"))
    elif "error" in body:
        error = _object(body["error"])
        if error.get("code") not in {-32000, -32001, -32042} and not _CANCEL.search(str(error.get("message"))):
            wire.ended.add(call)
            yield Expectation(call, "failed", _state("failed"))
    elif result.get("resultType", "complete") == "complete" and "result" in body:
        yield from _finished(wire, call, result)


def _finished(wire: _Wire, call: str, result: Mapping[str, Any]) -> Iterator[Expectation]:
    if result.get("isError") not in {True, False, None} or _CANCEL.search(json.dumps(result)[:400]):
        return
    wire.ended.add(call)
    state = "failed" if result.get("isError") else "succeeded"
    yield Expectation(call, state, _state("failed", "succeeded") if state == "succeeded" and "outputSchema" in result else _state(state))


def _status(wire: _Wire, task: Mapping[str, Any]) -> Iterator[Expectation]:
    call, status = wire.tasks.get(str(task.get("taskId")), ""), task.get("status")
    if not call or call in wire.ended:
        return
    if status == "cancelled":
        wire.ended.add(call)
        yield Expectation(call, "cancelled", _state("cancelled"))
    elif status == "failed" and not _CANCEL.search(str(task.get("statusMessage"))):
        wire.ended.add(call)
        yield Expectation(call, "failed", _state("failed"))
    elif status == "completed" and isinstance(task.get("result"), Mapping):
        yield from _finished(wire, call, task["result"])
    elif status == "input_required":
        yield Expectation(call, "input required", _told("input.required"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _told(kind: str) -> Callable[[Claims], bool]:
    return lambda claims: bool(claims.told(kind))


def _state(*states: str) -> Callable[[Claims], bool]:
    return lambda claims: any(state in states for state in claims.states)
