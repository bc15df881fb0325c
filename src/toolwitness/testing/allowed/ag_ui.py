"""What whole evidence in an AG-UI stream allows a record to claim; written apart from the adapter, from the protocol's own event types.

An answer allows a success only where nothing in the stream contradicts it: the event has no field for a failure, so a text that reads like
one is not counted, nor is an answer in a run that resumed an interrupt which the stream does not hold.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_NO_SUCCESS = re.compile(r"error|exception|fail|cancel|abort|den(y|ied)|reject|declin|refus|interrupt|stopped|unavailable", re.IGNORECASE)


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the events hold whole evidence for."""
    events = [
        (int(row.get("seq") or 0), row["event"]) for row in rows if row.get("src") == "runtime" and isinstance(row.get("event"), Mapping)
    ]
    failed = {str(message.get("toolCallId")) for _, event in events for message in _messages(event) if message.get("error")}
    blurred = {str(one.get("toolCallId")) for _, event in events for one in _interrupts(event)} | failed
    resumed = any(_member(event.get("input"), "resume") for _, event in events)
    answers = [str(event.get("toolCallId")) for _, event in events if event.get("type") == "TOOL_CALL_RESULT"]
    proposed = {str(event.get("toolCallId")) for _, event in events if event.get("type") == "TOOL_CALL_START"}
    for number, event in events:
        call = str(event.get("toolCallId") or "")
        if event.get("type") == "TOOL_CALL_END":
            yield Expectation(call, "proposed", lambda claims: bool(claims.told("invocation.proposed")), number)
        elif _is_plain(event) and answers.count(call) == 1 and call not in blurred and (call in proposed or not resumed):
            yield Expectation(call, "succeeded", lambda claims: bool(claims.told("execution.succeeded")), number)
        for message in _messages(event):
            if message.get("error") and not re.search(r"abort|cancel|time", str(message["error"]), re.IGNORECASE):
                yield Expectation(str(message.get("toolCallId")), "failed", _in_state("failed"), number)
        for interrupt in _interrupts(event):
            if interrupt.get("toolCallId"):
                yield Expectation(str(interrupt["toolCallId"]), "asked", _asked, number)


def _is_plain(event: Row) -> bool:
    """Tell whether an event is an answer that reads like nothing but a result."""
    return event.get("type") == "TOOL_CALL_RESULT" and not event.get("error") and not _NO_SUCCESS.search(str(event.get("content")))


def _asked(claims: Claims) -> bool:
    return bool(claims.told("approval.requested") or claims.told("input.required"))


def _in_state(state: str) -> Callable[[Claims], bool]:
    return lambda claims: state in claims.states


def _messages(event: Row) -> Iterator[Row]:
    given: Any = event.get("messages") if event.get("type") == "MESSAGES_SNAPSHOT" else None
    for message in given if isinstance(given, list) else ():
        if isinstance(message, Mapping) and message.get("role") == "tool":
            yield message


def _interrupts(event: Row) -> Iterator[Row]:
    given = _member(event.get("outcome"), "interrupts")
    for interrupt in given if isinstance(given, list) else ():
        if isinstance(interrupt, Mapping):
            yield interrupt


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
