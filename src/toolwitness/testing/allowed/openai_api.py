"""What whole evidence on OpenAI's wires allows a record to claim; written apart from the adapter, from the wire's own words.

Used with the judge: an expectation that the record does not meet is a missed claim. A call is proposed when the provider has finished it;
what comes back is a success only where nothing in it reads like an error or a cancellation. Ids that several calls carry are left out:
which answer is whose is a matter of order.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_SUSPECT = re.compile(r"cancel|abort|interrupt|error|exception|fail|timed? ?out|traceback", re.IGNORECASE)
_ENDS = {"completed": "succeeded", "failed": "failed"}


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the provider's and the application's rows hold whole evidence for."""
    made = Counter(call for row in rows for call in _made(row))
    back = Counter(call for row in rows for call, _ in _back(row))
    for row in rows:
        seq = row.get("seq") if isinstance(row.get("seq"), int) else 0
        for call in _made(row):
            yield Expectation(call, "proposed", lambda claims: bool(claims.told("invocation.proposed")), int(seq or 0))
        for call, content in _back(row):
            if made[call] == back[call] == 1 and not _SUSPECT.search(content):
                yield Expectation(call, "succeeded", _shows("succeeded"), int(seq or 0))
        yield from _hosted(_event(row), int(seq or 0))


def _event(row: Row) -> Mapping[str, Any]:
    event = row.get("event", row)
    return event if isinstance(event, Mapping) and row.get("src") != "truth" else {}


def _made(row: Row) -> Iterator[str]:
    """Give the calls that a row shows as complete."""
    event = _event(row)
    item = event.get("item")
    if event.get("type") == "response.output_item.done" and isinstance(item, Mapping):
        if item.get("type") in {"function_call", "custom_tool_call"}:
            yield str(item.get("call_id"))
        elif item.get("type") == "mcp_approval_request":
            yield str(item.get("id"))
    if event.get("role") == "assistant":
        yield from (str(call.get("id")) for call in event.get("tool_calls") or ())


def _back(row: Row) -> Iterator[tuple[str, str]]:
    """Give the answers of a row, as text."""
    event = _event(row)
    if event.get("type") == "function_call_output" and event.get("status") in {None, "completed"}:
        yield str(event.get("call_id")), json.dumps(event.get("output"))
    elif event.get("role") == "tool":
        yield str(event.get("tool_call_id")), json.dumps(event.get("content"))


def _hosted(event: Mapping[str, Any], seq: int) -> Iterator[Expectation]:
    item = event.get("item")
    if event.get("type") == "response.output_item.done" and isinstance(item, Mapping):
        end = "failed" if item.get("error") else _ENDS.get(str(item.get("status")), "")
        if item.get("type") == "mcp_call" and end and not (end == "succeeded" and _SUSPECT.search(json.dumps(item.get("output")))):
            yield Expectation(str(item.get("approval_request_id") or item.get("id")), end, _shows(end), seq)
        if item.get("type") == "mcp_approval_request":
            yield Expectation(str(item.get("id")), "approval requested", lambda claims: bool(claims.told("approval.requested")), seq)
    if event.get("type") == "mcp_approval_response":
        kind = "approval.granted" if event.get("approve") else "approval.denied"
        yield Expectation(str(event.get("approval_request_id")), kind, lambda claims: bool(claims.told(kind)), seq)


def _shows(state: str) -> Callable[[Claims], bool]:
    return lambda claims: state in claims.states
