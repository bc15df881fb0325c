"""What whole evidence in an A2A capture allows a record to claim; written apart from the adapter, from the protocol's own words.

Used with the judge: an expectation that the record does not meet is a missed claim.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolwitness.testing.truth.claims import Claims, Expectation
from toolwitness.testing.truth.episodes import Row

_ENDS = {"completed": "succeeded", "failed": "failed", "canceled": "cancelled", "cancelled": "cancelled", "rejected": "cancelled"}
_ASKS = {"input-required": "input.required", "auth-required": "approval.requested"}
_CANCEL = re.compile(r"\b(cancel(l)?ed|aborted|interrupted)\b", re.IGNORECASE)


def allowed(rows: Sequence[Row]) -> Iterator[Expectation]:
    """Give every claim that the rows hold whole evidence for: a task's start, questions, pieces, cancellation and first end."""
    ended: set[str] = set()
    seen: list[str] = []
    for row in rows:
        number = int(row.get("seq") or 0)
        if row.get("src") == "driver" and "cancel" in str(row.get("kind")).lower():
            for call in [task for task in seen if task not in ended and task in (_named(row.get("event")) or task)]:
                yield Expectation(call, "cancellation requested", _told("cancellation.requested"), row=number)
        if row.get("src") != "runtime" or not isinstance(row.get("event"), Mapping):
            continue
        for call, word, body in _tasks(row["event"]):
            seen += [call] if call not in seen else []
            if word == "artifact":
                yield Expectation(call, "output", _told("output.emitted"), row=number)
                continue
            state = str(body.get("state")).removeprefix("TASK_STATE_").lower().replace("_", "-")
            doubtful = state in {"completed", "failed"} and _CANCEL.search(str(body.get("message")))
            if state in _ENDS and call not in ended and not doubtful:
                ended.add(call)
                yield Expectation(call, _ENDS[state], _is(_ENDS[state]), row=number)
            elif state == "working" and call not in ended:
                yield Expectation(call, "started", _told("execution.started"), row=number)
            elif state in _ASKS and call not in ended:
                yield Expectation(call, state, _told(_ASKS[state]), row=number)


def _tasks(event: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Give every status and artifact in an event with the task that it is about, however it is wrapped."""
    if not isinstance(event, Mapping):
        return
    call = str(event.get("taskId") or event.get("task_id") or event.get("id") or "")
    if call and isinstance(event.get("status"), Mapping):
        yield call, "status", event["status"]
    elif call and isinstance(event.get("artifact"), Mapping):
        yield call, "artifact", event["artifact"]
    else:
        for name in ("task", "statusUpdate", "artifactUpdate", "result", "update"):
            yield from _tasks(event.get(name))


def _named(event: Any) -> str:
    told = event if isinstance(event, Mapping) else {}
    return str(told.get("id") or told.get("task") or told.get("taskId") or "")


def _told(kind: str) -> Callable[[Claims], bool]:
    return lambda claims: bool(claims.told(kind))


def _is(state: str) -> Callable[[Claims], bool]:
    return lambda claims: state in claims.states
