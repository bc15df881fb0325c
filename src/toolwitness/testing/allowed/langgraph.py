"""What whole evidence in a LangGraph capture allows a record to claim; written apart from the adapter, from the framework's own words.

Used with the judge: an expectation that the record does not meet is a missed claim.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row
from toolwitness.testing.truth.false import says_otherwise

_STOPPED = re.compile(
    r"^\W*(?:\w+Error: )?(?:AbortError|CancelledError|cancel+ed\b|aborted\b|\{.*(?:cancel+ed|aborted|interrupted))", re.IGNORECASE
)
_CANCEL = re.compile(r"(^|[.\s])cancel\b", re.IGNORECASE)
_UNKNOWN = re.compile(r"Error: .* is not a valid tool, try one of")
_NOT_MADE = re.compile(r"Tool call limit exceeded|Execution stopped before this tool call|was blocked because it was classified")


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the runtime's and the driver's rows hold whole evidence for."""
    runtime = [row for row in rows if row.get("src") == "runtime"]
    hooked = any(str(row.get("kind")).startswith("mw.") for row in runtime)
    tooled = any(str(row.get("kind")).startswith("tools") for row in runtime)
    yield from _hooks(runtime) if hooked else _tools(runtime) if tooled else _results(runtime)
    yield from _reviews(runtime)
    yield from _proposals(runtime)
    yield from _cancelled(rows)


def _seq(row: Row) -> int:
    seq = row.get("seq")
    return seq if isinstance(seq, int) else 0


def _event(row: Row) -> Mapping[str, Any]:
    event = row.get("event")
    return event if isinstance(event, Mapping) else {}


# ── what a body did ─────────────────────────────────────────────────────────────────────────────────────────────────


def _hooks(rows: Sequence[Row]) -> Iterator[Expectation]:
    starts: dict[str, int] = {}
    for row in rows:
        kind, event = str(row.get("kind")), _event(row)
        call = str(event.get("id"))
        if kind == "mw.START":
            starts[call] = starts.get(call, 0) + 1
        elif kind == "mw.RETURNED":
            error, content = event.get("status") == "error", str(event.get("content"))
            refused = error and _refused(content)
            starts[call] -= error and (refused or content.startswith("Error invoking tool"))  # which is said before the body, and inside it
            yield Expectation(call, "refused" if refused else _said(event), _ends("refused" if refused else _said(event)), _seq(row))
        elif kind == "mw.RAISED":
            yield Expectation(call, "failed", _ends("failed"), _seq(row))
    yield from _counted(starts)


def _tools(rows: Sequence[Row]) -> Iterator[Expectation]:
    starts: dict[str, int] = {}
    tools: dict[str, str] = {}
    for row in rows:
        event = _event(row)
        call, what = str(event.get("tool_call_id")), event.get("event")
        if what == "tool-started":
            starts[call] = starts.get(call, 0) + 1
            tools[call] = str(event.get("tool_name"))
        elif what == "tool-output-delta":
            yield Expectation(call, "output", lambda claims: bool(claims.told("output.emitted")), _seq(row))
        elif what == "tool-finished":
            output = event.get("output")
            said = _said(output if isinstance(output, Mapping) and "status" in output else {"status": "success", "content": output})
            yield Expectation(call, said or "nothing", _ends(said), _seq(row))
        elif what == "tool-error":
            message = str(event.get("message"))
            refused = re.match(rf"\d+ validation errors? for {re.escape(tools.get(call, ''))}\n", message)
            starts[call] = starts.get(call, 0) - bool(refused)
            said = "refused" if refused else "" if _STOPPED.match(message) else "failed"
            yield Expectation(call, said or "nothing", _ends(said), _seq(row))
    yield from _counted(starts)


def _counted(starts: Mapping[str, int]) -> Iterator[Expectation]:
    for call, count in starts.items():
        if count > 0:
            yield Expectation(call, f"{count} starts", _counts(count))
            yield Expectation(call, "executed inputs", lambda claims: any("inputs" in e["data"] for e in claims.told("execution.started")))


def _counts(starts: int) -> Callable[[Claims], bool]:
    return lambda claims: len(claims.told("execution.started")) == starts


def _results(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Read the ends that only messages tell: each message once."""
    seen: set[str] = set()
    for row in rows:
        if str(row.get("kind")).split(":")[0] not in {"updates", "messages", "values", "tasks"}:
            continue
        for message in _messages(row.get("event")):
            key = str(message.get("id") or message.get("tool_call_id"))
            if message.get("type") != "tool" or key in seen or _decided(message):
                continue
            seen.add(key)
            said = _said(message)
            yield Expectation(str(message.get("tool_call_id")), said or "nothing", _ends(said), _seq(row))


def _said(message: Mapping[str, Any]) -> str:
    """Read a result in the strongest words that it carries; empty where it carries none that can be believed."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content)
    if _STOPPED.match(text) or _otherwise(text):
        return ""
    if message.get("status") == "error":
        return "refused" if _UNKNOWN.match(text) else "not made" if _NOT_MADE.search(text) else "failed"
    return "succeeded"


def _otherwise(text: str) -> bool:
    try:
        return says_otherwise(json.loads(text))
    except ValueError:
        return False


def _refused(text: str) -> bool:
    return bool(_UNKNOWN.match(text))


def _ends(end: str) -> Callable[[Claims], bool]:
    states = {
        "succeeded": {"succeeded"}, "failed": {"failed"}, "denied": {"cancelled"}, "answered": {"cancelled"}, "not made": {"cancelled"},
        "refused": {"awaiting_input", "cancelled", "failed"},
    }  # fmt: skip  # pairs in lines
    told = {"succeeded": "execution.succeeded", "failed": "execution.failed", "denied": "closure.recorded", "refused": "inputs.rejected"}

    def made(claims: Claims) -> bool:
        if not end:
            return bool(claims.told("execution.lost"))
        said = end in told and bool(claims.told(told[end]))  # after a recorded end it moves nothing, and is on record
        return said or any(state in states[end] for state in claims.states)

    return made


# ── who was asked, and what was proposed ────────────────────────────────────────────────────────────────────────────


def _messages(value: Any, depth: int = 4) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if value.get("type") in {"ai", "tool"} and "content" in value:
            yield value
        else:
            for inner in value.values() if depth else ():
                yield from _messages(inner, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for inner in value:
            yield from _messages(inner, depth - 1)


def _decided(message: Mapping[str, Any]) -> str:
    marks = message.get("additional_kwargs") or {}
    return str((marks.get("lc_data") or {}).get("decision", "")) if marks.get("lc_source") == "hitl_interrupt_decision" else ""


def _reviews(rows: Sequence[Row]) -> Iterator[Expectation]:
    for row in rows:
        for message in _messages(row.get("event")):
            if decision := _decided(message):
                end = "denied" if decision == "reject" else "answered"
                yield Expectation(str(message.get("tool_call_id")), end, _ends(end), _seq(row))
        for interrupt in _event(row).get("__interrupt__") or ():
            value = interrupt.get("value") if isinstance(interrupt, Mapping) else None
            if isinstance(value, Mapping) and value.get("type") == "tool_approval":
                yield Expectation(
                    str(value.get("tool_call_id")), "approval requested", lambda claims: bool(claims.told("approval.requested")), _seq(row)
                )


def _proposals(rows: Sequence[Row]) -> Iterator[Expectation]:
    told: set[str] = set()
    for row in rows:
        if row.get("kind") != "updates":
            continue
        for message in _messages(row.get("event")):
            for call in message.get("tool_calls") or ():
                if isinstance(call, Mapping) and str(call.get("id")) not in told:
                    told.add(str(call.get("id")))
                    yield Expectation(str(call.get("id")), "proposed", lambda claims: bool(claims.told("invocation.proposed")), _seq(row))


def _cancelled(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Expect a request on every call that was at work when somebody cancelled from outside."""
    for place, row in enumerate(rows):
        if row.get("src") != "driver" or not _CANCEL.search(str(row.get("kind"))):
            continue
        at_work: dict[str, None] = {}
        for before in rows[:place]:
            event, kind = _event(before), str(before.get("kind"))
            if before.get("src") == "runtime" and (event.get("event") == "tool-started" or kind == "mw.START"):
                at_work[str(event.get("tool_call_id") or event.get("id"))] = None
            elif event.get("event") in {"tool-finished", "tool-error"} or kind in {"mw.RETURNED", "mw.RAISED", "mw.PAUSED(interrupt)"}:
                at_work.pop(str(event.get("tool_call_id") or event.get("id")), None)
        for call in at_work:
            yield Expectation(call, "cancellation requested", lambda claims: bool(claims.told("cancellation.requested")), _seq(row))
