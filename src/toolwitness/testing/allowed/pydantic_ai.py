"""What whole evidence in a Pydantic AI capture allows a record to claim; written apart from the adapter, from the framework's own words.

Used with ``scoring``: an expectation that the record does not meet is a missed claim.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.scoring import Claims, Expectation, Row

_SILENT = ("The tool call was interrupted", "Tool execution was interrupted", "Tool not executed", "Output tool not used")


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the runtime's and the driver's rows hold whole evidence for."""
    ends: dict[str, list[str]] = {}
    waiting: set[str] = set()
    for row in rows:
        if row.get("src") != "runtime" or not isinstance(row.get("event"), Mapping):
            continue
        kind, event = str(row.get("kind")), row["event"]
        call, end = _result(kind, event, rows)
        if end:
            ends.setdefault(call, []).append(end)
            waiting.discard(call)
        yield from _told(kind, event)
        waiting |= _asked(kind, event)
    for call, said in ends.items():
        runs = [end for end in said if end in {"succeeded", "failed", "timed out"}]
        for number, end in enumerate(dict.fromkeys(said)):
            if number == 0 or end != "denied":
                yield Expectation(call, end, _ended(end))
        if len(runs) > 1:
            yield Expectation(call, f"{len(runs)} starts", _counts(len(runs)))
    for call in waiting - ends.keys():
        yield Expectation(call, "awaiting approval", lambda claims: "awaiting_approval" in claims.states)
    yield from _cancelled(rows, ends, waiting)


def _told(kind: str, event: Row) -> Iterator[Expectation]:
    if kind == "hook.START":
        yield Expectation(str(event.get("id")), "started", lambda claims: claims.starts > 0)
        yield Expectation(
            str(event.get("id")), "executed inputs", lambda claims: any("inputs" in e["data"] for e in claims.told("execution.started"))
        )
    if event.get("event_kind") == "custom" and event.get("tool_call_id"):
        yield Expectation(str(event["tool_call_id"]), "progress", lambda claims: bool(claims.told("progress.reported")))
    for call in _asked(kind, event):
        yield Expectation(call, "approval requested", lambda claims: bool(claims.told("approval.requested")))


def _asked(kind: str, event: Row) -> set[str]:
    if kind == "DeferredToolRequestsEvent":
        return {str(part["tool_call_id"]) for part in event["requests"]["approvals"]}
    if kind == "vercel:tool-approval-request":
        return {str(event["toolCallId"])}
    if kind == "agui:RUN_FINISHED" and isinstance(event.get("outcome"), Mapping):
        return {str(interrupt["toolCallId"]) for interrupt in event["outcome"].get("interrupts") or ()}
    return set()


def _result(kind: str, event: Row, rows: Sequence[Row]) -> tuple[str, str]:
    """Read one row as the end of a call, in the strongest words that it carries."""
    if kind == "FunctionToolResultEvent":
        part = event["part"]
        retry: Row = part.get("retry") or {}
        return str(part["tool_call_id"]), _end(str(part.get("outcome")), part.get("content"), retry.get("cause"))
    if kind == "vercel:tool-output-available":
        return str(event["toolCallId"]), _end("success", event.get("output"))
    if kind == "vercel:tool-output-error":
        return str(event["toolCallId"]), _end("failed", event.get("errorText"))
    if kind == "vercel:tool-output-denied":
        return str(event["toolCallId"]), "denied"
    if kind == "vercel:tool-input-error":
        return str(event["toolCallId"]), "refused"
    if kind == "agui:TOOL_CALL_RESULT":
        mark = next((r["event"]["encryptedValue"] for r in rows if r.get("kind") == "agui:REASONING_ENCRYPTED_VALUE"
                     and r["event"].get("entityId") == event.get("messageId")), "")  # fmt: skip  # one look-up
        said = re.search(r'"outcome": ?"(\w+)"', str(mark))
        cause = re.search(r'"cause": ?"(\w+)"', str(mark))
        return str(event["toolCallId"]), _end(said.group(1) if said else "success", event.get("content"), cause.group(1) if cause else None)
    return "", ""


def _end(outcome: str, content: Any, cause: str | None = None) -> str:
    text = str(content)
    if outcome == "interrupted" or text.startswith(_SILENT):
        return ""
    if cause in {"unknown_tool", "unavailable_tool", "validation_error"}:
        return "refused"
    if re.fullmatch(r"Timed out after \S+ seconds\.", text):
        return "timed out"
    return {"success": "succeeded", "failed": "failed", "retried": "failed", "denied": "denied"}.get(outcome, "")


def _ended(end: str) -> Callable[[Claims], bool]:
    states = {
        "succeeded": {"succeeded"}, "failed": {"failed"}, "timed out": {"expired", "failed"}, "denied": {"cancelled"},
        "refused": {"awaiting_input", "cancelled", "failed"},
    }  # fmt: skip  # pairs in lines

    def made(claims: Claims) -> bool:
        if end == "denied" and claims.told("closure.recorded"):
            return True
        if end == "succeeded" and claims.told("execution.succeeded"):
            return True  # after a recorded end it moves nothing, and is on record
        return any(state in states[end] for state in claims.states)

    return made


def _counts(starts: int) -> Callable[[Claims], bool]:
    return lambda claims: claims.starts == starts


def _cancelled(rows: Sequence[Row], ends: Mapping[str, list[str]], waiting: set[str]) -> Iterator[Expectation]:
    """Expect a request on every call that was open when somebody cancelled from outside."""
    for place, row in enumerate(rows):
        if row.get("src") != "driver" or not re.search(r"\.cancel\b", str(row.get("kind"))):
            continue
        before = [r for r in rows[:place] if r.get("src") == "runtime"]
        begun = {c for r in before for c in [_taken_up(str(r.get("kind")), r.get("event"))] if c}
        told = [_result(str(r.get("kind")), r["event"], rows) for r in before if isinstance(r.get("event"), Mapping)]
        ended = {call for call, end in told if end}
        for call in begun - ended - waiting:
            yield Expectation(call, "cancellation requested", lambda claims: bool(claims.told("cancellation.requested")))


def _taken_up(kind: str, event: Any) -> str:
    if kind == "FunctionToolCallEvent":
        return str(event["part"]["tool_call_id"]) if event.get("args_valid") else ""
    return str(event["toolCallId"]) if kind in {"agui:TOOL_CALL_END", "vercel:tool-input-available"} else ""
