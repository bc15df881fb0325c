"""What whole evidence in an OpenAI Agents capture allows a record to claim; written apart from the adapter, from the framework's own words.

Used with the judge: an expectation that the record does not meet is a missed claim. A result is whole evidence only where nothing in the
capture speaks against it: neither its own text, nor the formatter, nor the error of its span.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_FAILED = "An error occurred while running the tool. Please try again."
_LATE = re.compile(r"Tool '.*' timed out after \S+ seconds\.", re.DOTALL)
_STOPPED = re.compile(
    r"^\W*(?:AbortError|CancelledError|cancel+ed\b|aborted\b|the (?:tool|call|run) was (?:cancel|abort)|\{.*(?:cancel+ed|aborted))",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"^\W*(?:\w*(?:Error|Exception)\s*[:(]|(?:error|failed|failure)\s*:|Traceback)|\{.*['\"](?:error|isError|success|ok)['\"]",
    re.IGNORECASE,
)


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the runtime's and the driver's rows hold whole evidence for."""
    runtime = [row for row in rows if row.get("src") == "runtime"]
    ends = list(_ends(runtime))
    for call, end, row in ends:
        yield Expectation(call, end, _shows(end), row)
    yield from _proposals(runtime)
    yield from _approvals(runtime, {call for call, _, _ in ends})
    yield from _runs(runtime)
    yield from _cancelled(rows, runtime)


def _event(row: Row) -> Mapping[str, Any]:
    event = row.get("event")
    return event if isinstance(event, Mapping) else {}


def _seq(row: Row) -> int:
    seq = row.get("seq")
    return seq if isinstance(seq, int) else 0


def _kind(row: Row) -> str:
    return str(row.get("kind")).removeprefix("run_item_stream_event:")


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ends(rows: Sequence[Row]) -> Iterator[tuple[str, str, int]]:
    """Read how each call ended, from what the framework handed out, once for each call and ending."""
    against, lasted = _against(rows), _lasted(rows)
    seen: set[tuple[str, str]] = set()
    for row in rows:
        call, content = _result(row)
        if not call:
            continue
        end = against.get(call) or _read(content)
        if content == _FAILED and end == "failed" and call not in lasted:
            continue  # refused arguments have the same text, and come back at once
        if end and (call, end) not in seen:
            seen.add((call, end))
            yield call, end, _seq(row)


def _lasted(rows: Sequence[Row]) -> set[str]:
    """Give the calls that the formatter was asked about, and those that came back long after the check of their arguments."""
    asked = {str(_event(r).get("call_id")) for r in rows if _kind(r) == "tool_error_formatter"}
    began = {str(_event(r).get("call_id")): r.get("t") for r in rows if _kind(r) == "hook.on_tool_start"}
    for row in rows:
        call, now = str(_event(row).get("call_id")), row.get("t")
        then = began.get(call)
        if _kind(row) == "hook.on_tool_end" and isinstance(now, float) and isinstance(then, float) and now - then > 0.05:
            asked.add(call)
    return asked


def _result(row: Row) -> tuple[str, Any]:
    event, kind = _event(row), _kind(row)
    if kind == "tool_output":
        return str(event.get("call_id") or ""), event.get("output")
    if kind == "wrap.RETURNED":
        return str(event.get("id") or ""), str(event.get("out")).strip("'\"")
    return "", None


def _read(content: Any) -> str:
    if isinstance(content, Mapping):
        content = json.dumps(content)
    said = content if isinstance(content, str) else ""
    if _LATE.fullmatch(said):
        return "timed out"
    if said == _FAILED:
        return "failed"
    if said == "Tool execution was not approved.":
        return "denied"
    return "" if _STOPPED.match(said) or _REPORTS.match(said) else "succeeded"


def _against(rows: Sequence[Row]) -> dict[str, str]:
    """Read what speaks against a result: the formatter and the error of a span, whose call is that of its tool and input."""
    inputs: dict[tuple[str, str], list[str]] = {}
    found: dict[str, str] = {}
    for row in rows:
        event, kind = _event(row), _kind(row)
        if kind == "hook.on_tool_start":
            inputs.setdefault((str(event.get("tool")), str(event.get("args"))), []).append(str(event.get("call_id")))
        elif kind == "tool_error_formatter":
            refused = "Invalid JSON input for tool" in str(event.get("error"))
            said = "denied" if event.get("kind") == "approval_rejected" else "refused" if refused else "failed"
            found[str(event.get("call_id"))] = said
        elif kind == "trace.span_end" and isinstance(event.get("error"), Mapping):
            data = event.get("data") or {}
            calls = inputs.get((str(data.get("name")), str(data.get("input"))), [])
            why = str((event["error"].get("data") or {}).get("error"))
            if why.endswith("manually rejected by user."):
                found[why.removeprefix("Tool execution for ").partition(" was manually")[0]] = "denied"
            elif len(set(calls)) == 1:
                found.setdefault(calls[0], "unknown" if event["error"].get("message") == "Tool execution cancelled" else "failed")
    return found


def _shows(end: str) -> Callable[[Claims], bool]:
    states = {
        "succeeded": {"succeeded"}, "failed": {"failed"}, "timed out": {"expired", "failed"}, "denied": {"cancelled"},
        "refused": {"awaiting_input", "cancelled", "failed"},
    }  # fmt: skip  # pairs in lines

    def made(claims: Claims) -> bool:
        if end == "unknown":
            return bool(claims.told("execution.lost")) or "failed" in claims.states
        if end == "succeeded" and claims.told("execution.succeeded"):
            return True
        return any(state in states[end] for state in claims.states)

    return made


# ── the rest ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _proposals(rows: Sequence[Row]) -> Iterator[Expectation]:
    for row in rows:
        item = _event(row).get("raw_item")
        if _kind(row) == "tool_called" and isinstance(item, Mapping) and item.get("type") == "function_call":
            yield Expectation(str(item.get("call_id")), "proposed", lambda claims: bool(claims.told("invocation.proposed")), _seq(row))


def _approvals(rows: Sequence[Row], ended: set[str]) -> Iterator[Expectation]:
    for row in rows:
        listed = row.get("event")
        for one in listed if _kind(row) == "interruptions" and isinstance(listed, list) else ():
            call = str(one.get("call_id") if isinstance(one, Mapping) else one)
            yield Expectation(call, "approval requested", lambda claims: bool(claims.told("approval.requested")), _seq(row))
            started = any(_kind(r) in {"hook.on_tool_start", "wrap.START"} and call in str(r.get("event")) for r in rows)
            if call not in ended and not started:
                yield Expectation(
                    call, "awaiting approval", lambda claims: {"awaiting_approval", "cancelled"} & set(claims.states) != set(), _seq(row)
                )


def _runs(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Expect as many starts as results came for a call, where it was made more than once."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        if _kind(row) == "tool_output":
            counts.setdefault(str(_event(row).get("call_id")), []).append(_seq(row))
    for call, seqs in counts.items():
        if len(seqs) > 1:
            yield Expectation(call, f"{len(seqs)} starts", _counts(len(seqs)), seqs[-1])


def _counts(starts: int) -> Callable[[Claims], bool]:
    return lambda claims: claims.starts == starts


def _cancelled(rows: Sequence[Row], runtime: Sequence[Row]) -> Iterator[Expectation]:
    """Expect a request and a start of every call that was in hand when somebody cancelled, and that had not come back by then."""
    for place, row in enumerate(rows):
        kind = str(row.get("kind"))
        if row.get("src") != "driver" or not re.search(r"\.cancel\b", kind) or "after_turn" in f"{kind} {row.get('event')}":
            continue
        before = [one for one in rows[:place] if one.get("src") == "runtime"]
        entered = {str(_event(r).get("call_id")): r for r in before if _kind(r) == "hook.on_tool_start"}
        left = {str(_event(r).get("call_id")) for r in before if _kind(r) == "hook.on_tool_end"}
        for call, started in entered.items():
            if call in left:
                continue
            yield Expectation(call, "cancellation requested", lambda claims: bool(claims.told("cancellation.requested")), _seq(row))
            now, then = row.get("t"), started.get("t")
            if isinstance(now, float) and isinstance(then, float) and now - then > 0.1:
                yield Expectation(call, "started", lambda claims: claims.starts > 0, _seq(started))
