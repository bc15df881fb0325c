"""Reads Celery's task events, and captures of a run with its events and a timeline, and says what each is evidence of.

One event is a row, or a chunk of a plain stream. A capture document (``{"events", "timeline"}``) is read as its events and the calls of
``revoke`` and ``abort`` in it, in the order of their times. A redelivery is no retry: a second start of a task that nobody asked to be
run again stays the second start of one attempt.
"""

import ast
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolwitness.adapters.celery import mapping
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Deadline, Owner, Termination
from toolwitness.core.times import rfc3339
from toolwitness.reading import endings
from toolwitness.reading.calls import Call
from toolwitness.reading.disguises import disguised_cancel
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.reading.reader import CaptureReader

Event = Mapping[str, Any]
_LIMITS: Final = re.compile(r"(Soft)?TimeLimitExceeded")
_LOST: Final = re.compile(r"WorkerLostError|WorkerShutdown|WorkerTerminate")
_TYPE: Final = re.compile(r"^(?:[\w.]*\.)?(\w+)\(")
_REVOKED: Final = re.compile(r"\b(revoke|abort)\(")


class Reader(CaptureReader):
    """Maps the events of one capture, in order, to drafts. Kept for one capture and thrown away."""

    adapter = mapping.ADAPTER
    version = mapping.VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.calls.proposer = "client"
        self._asked_again: set[str] = set()
        self._handlers = {
            "task-sent": self._sent,
            "task-received": self._received,
            "task-started": self._started,
            "task-progress": self._progress,
            "task-succeeded": self._succeeded,
            "task-failed": self._failed,
            "task-retried": self._retried,
            "task-revoked": self._revoked,
            "task-rejected": self._rejected,
        }

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map one event that a recorder wrote as a row."""
        self.chunk({"type": kind, **members(event)})

    def chunk(self, chunk: Event) -> None:
        """Map one event, or a whole capture document."""
        if "type" not in chunk and isinstance(chunk.get("events"), list):
            for told in _in_order(chunk):
                self.chunk(told)
            return
        kind = text(chunk.get("type"))
        handler = self._handlers.get(kind)
        if handler is not None and text(chunk.get("uuid")):
            handler(kind, text(chunk["uuid"]), chunk)
        elif kind == "timeline":
            self._beside(chunk)
        elif not kind.startswith("worker-"):
            self.note(kind, "the table does not have this event" if handler is None else "it names no task")

    def driver(self, kind: str, event: Any) -> None:
        """Map what a client asked for."""
        told = members(event)
        self._beside({"fact": kind, "task_id": told.get("task_id") or told.get("uuid")})

    def outcome(self, kind: str, event: Any) -> None:
        """Leave aside how a driver went on: the events say how the task did."""

    def _beside(self, told: Event) -> None:
        if _REVOKED.search(text(told.get("fact"))):
            named = text(told.get("task_id"))
            for call in [self.calls.meant(named)] if named else [call for call in self.calls.all if not call.over]:
                self.pen.write(
                    Kind.CANCEL_REQUESTED, "revoke", call.invocation_id, attempt=call.attempt, owner=Owner.USER,
                    data={"actor": UNRECORDED, "scope": "this task", "reason": text(told.get("fact"))},
                )  # fmt: skip  # facts in lines

    # ── before it runs ──────────────────────────────────────────────────────────────────────────────────────────────

    def _sent(self, word: str, uuid: str, event: Event) -> None:
        self.calls.propose(word, uuid, text(event.get("name")), _inputs(event), time=_time(event))

    def _received(self, word: str, uuid: str, event: Event) -> None:
        known = self.calls.current(uuid)
        if known is not None and uuid in self._asked_again:
            self._asked_again.discard(uuid)
            known = self.calls.propose("task-retried again", uuid, known.tool, known.args, time=_time(event), again=known)
        elif known is None:
            known = self.calls.propose(f"{word} unsent", uuid, text(event.get("name")), _inputs(event), time=_time(event))
        self.pen.write(
            Kind.ACCEPTED, word, known.invocation_id, attempt=known.attempt, time=_time(event),
            data={"queue_ref": f"{text(event.get('hostname'))}:{uuid}", "accepted_at": _time(event) or self.pen.clock},
        )  # fmt: skip  # facts in lines

    def _started(self, word: str, uuid: str, event: Event) -> None:
        call = self.calls.meant(uuid)
        call.begun, call.over = True, False
        executor = f"{text(event.get('hostname'))} pid {event.get('pid')}"
        data = {"attempt": call.attempt, "executor": executor, "worker": text(event.get("hostname")) or None}
        self.pen.write(Kind.STARTED, word, call.invocation_id, attempt=call.attempt, data=data, time=_time(event))

    def _progress(self, word: str, uuid: str, event: Event) -> None:
        call = self.calls.meant(uuid)
        step, of = event.get("step"), event.get("of")
        percent = step * 100 // of if isinstance(step, int) and isinstance(of, int) and of > 0 else None
        self.pen.write(
            Kind.PROGRESS, word, call.invocation_id, attempt=call.attempt, time=_time(event),
            data={"order": call.steps, "percent": percent, "current": str(step), "total": str(of)},
        )  # fmt: skip  # facts in lines
        call.steps += 1

    # ── how it ends ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _succeeded(self, word: str, uuid: str, event: Event) -> None:
        call, result = self.calls.meant(uuid), _value(event.get("result"))
        why = disguised_cancel(result)
        if why:
            endings.doubt(self.calls, call, f"{word} disguised", why, time=_time(event))
        else:
            endings.succeed(self.calls, call, word, result, time=_time(event))

    def _failed(self, word: str, uuid: str, event: Event) -> None:
        call = self.calls.meant(uuid)
        said = f"{text(event.get('exception'))}\n{text(event.get('traceback'))}"
        if _LIMITS.search(said):
            if not call.over:
                endings.time_out(self.calls, call, f"{word} timed out", "the task's time limit", time=_time(event))
        elif _LOST.search(said):
            endings.doubt(self.calls, call, f"{word} lost", "the worker's process that ran it is gone", time=_time(event))
        else:
            self._fail(word, call, event)

    def _retried(self, word: str, uuid: str, event: Event) -> None:
        self._asked_again.add(uuid)
        self._fail(word, self.calls.meant(uuid), event, wants_retry=True)

    def _fail(self, word: str, call: Call, event: Event, *, wants_retry: bool = False) -> None:
        exception = text(event.get("exception"))
        named = _TYPE.match(exception)
        endings.fail(
            self.calls, call, word, named[1] if named else "tool-error", exception, detail=exception or "no exception was named",
            time=_time(event), wants_retry=wants_retry,
        )  # fmt: skip  # facts in lines

    def _revoked(self, word: str, uuid: str, event: Event) -> None:
        call = self.calls.meant(uuid)
        if event.get("expired") is True:
            self.pen.write(
                Kind.DEADLINE_ELAPSED, f"{word} expired", call.invocation_id, attempt=call.attempt, owner=Owner.RUNTIME, time=_time(event),
                data={
                    "deadline": Deadline.QUEUE_START.value, "declared_at": "the task's expires",
                    "judged_at": _time(event) or self.pen.clock,
                },
            )  # fmt: skip  # facts in lines
            return
        terminated = event.get("terminated") is True
        call.over = call.ended = True
        self.pen.write(
            Kind.CANCEL_ACKNOWLEDGED, f"{word} terminated" if terminated else word, call.invocation_id, attempt=call.attempt,
            time=_time(event),
            data={
                "termination": Termination.CONFIRMED.value, "initiator": UNRECORDED, "scope": "this task",
                "reason": "the worker killed the process that ran it" if terminated else "the worker threw it away before it began",
                "at": _time(event) or self.pen.clock, "effects": None if terminated or call.begun else "excluded",
            },
        )  # fmt: skip  # facts in lines

    def _rejected(self, word: str, uuid: str, event: Event) -> None:
        call = self.calls.meant(uuid)
        if not call.begun:
            self.note(word, "the message went back before it began; nothing ran")
            return
        reason = "its process is gone and the message went back to the queue" if event.get("requeue") else "the worker threw it away"
        self.pen.write(Kind.LOST, word, call.invocation_id, attempt=call.attempt, data={"reason": reason}, time=_time(event))


def _in_order(document: Event) -> list[Event]:
    """Give the events of a capture document, and what was called beside them, in the order of their times."""
    told: list[tuple[str, Event]] = [(_time(members(one)) or "", members(one)) for one in items(document["events"])]
    for one in map(members, items(document.get("timeline"))):
        at = text(one.get("at")).replace("+00:00", "Z")
        told.append((at, {"type": "timeline", "fact": one.get("fact"), "task_id": one.get("task_id")}))
    return [one for _, one in sorted(told, key=lambda pair: pair[0])]


def _inputs(event: Event) -> bytes:
    """Give args and kwargs as an object; what Python wrote and JSON cannot hold stays as it was written."""
    args, kwargs = _value(event.get("args")), _value(event.get("kwargs"))
    if isinstance(args, list) and not args and isinstance(kwargs, dict):
        return exact(kwargs)
    return exact({"args": args, "kwargs": kwargs})


def _value(written: Any) -> Any:
    """Read a plain Python value back; a text that is none is given as it is."""
    if not isinstance(written, str):
        return written
    try:
        value: object = ast.literal_eval(written)
        exact(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return written
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _time(event: Event) -> str | None:
    """Give the worker's own time of an event."""
    stamp = event.get("timestamp")
    if isinstance(stamp, bool) or not isinstance(stamp, int | float) or not 0 <= stamp < 253_402_300_800:
        return None
    return rfc3339(datetime.fromtimestamp(stamp, tz=UTC))
