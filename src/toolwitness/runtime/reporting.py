"""Turns what the guard of a body saw into events, in order, and appends them.

The mapping is this file: one method a fact. A cancellation is acknowledged only by an ending that says so (``Ending.termination``); an
ending by cancellation that nobody requested is a failure with category ``aborted``.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from toolwitness.core.errors import Unavailable
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord, Request
from toolwitness.core.states import NO_REASON, Owner, Termination
from toolwitness.core.times import rfc3339
from toolwitness.ports import Draft
from toolwitness.runtime.facts import (
    CommitmentCrossed,
    EffectObserved,
    Ended,
    Ending,
    EndingKind,
    Executor,
    Fact,
    Heartbeat,
    OutputEmitted,
    PartCompleted,
    ProgressReported,
    Started,
    WaiterReleased,
)
from toolwitness.runtime.results import encode_value
from toolwitness.runtime.tools import Tool
from toolwitness.service.workplace import SOURCE, Workplace, read

_log: Final = logging.getLogger("toolwitness.runtime")
_DETAIL: Final = 300
_MAX_INTEGER: Final = 2**53 - 1
_LONGEST_PAUSE_SECONDS: Final = 1.0


class ToolFailure(Exception):
    """Raised by a tool to fail with a stable category and words that a person may read.

    Whatever else a tool raises is recorded as ``tool-error`` with its type; its text is kept as evidence and not shown, since nobody knows
    what it holds.
    """

    def __init__(self, category: str, detail: str, *, retryable: str = "") -> None:
        """Take a short category such as ``upstream-unavailable`` and one plain sentence; ``retryable`` is ``yes``, ``no`` or unknown."""
        super().__init__(detail)
        self.category = category
        self.detail = detail
        self.retryable = retryable


class Reporter:
    """The observer of one body: every fact becomes an event of one numbered source.

    A fact that the ledger cannot take now is kept and said before the next one, in order and under its own number; only one that could
    never be recorded is dropped, and its number goes to the next. So no fact ever waits behind one that will not come.
    """

    def __init__(
        self, place: Workplace, record: InvocationRecord, tool: Tool, *, source: str, worker: str, permit: str,
        keep_value: Callable[[Any], None], patience_seconds: float = 5.0,
    ) -> None:  # fmt: skip  # a signature in three lines
        """Report about ``record`` under ``permit``; ``keep_value`` gets the very object that the tool returned.

        ``patience_seconds`` is how long a fact waits for a ledger that cannot be written before its sender is told.
        """
        self._place = place
        self._record = record
        self._tool = tool
        self._source = source
        self._worker = worker
        self._permit = permit
        self._keep_value = keep_value
        self._patience_seconds = patience_seconds
        self._sequence = 0
        self._unsaid: deque[Draft] = deque()
        self._saying = asyncio.Lock()
        self._cut_off = False
        self.stopped_by = "caller"
        """Who asked the body to stop, where no person's request is on record."""

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The kinds of the facts that happened and that the ledger has not taken yet."""
        return tuple(str(draft.event.kind) for draft in self._unsaid)

    async def say_unsaid(self) -> None:
        """Record what is kept, in order.

        Raises:
            Unavailable: the ledger still cannot be written; what is left is kept.
            InvalidInput: a fact can never be recorded as it is; it is dropped.
        """
        async with self._saying:
            while self._unsaid:
                draft = self._unsaid[0]
                numbered = draft.event.owner is Owner.RUNTIME
                event = replace(draft.event, sequence=self._sequence + 1) if numbered else draft.event
                try:
                    await self._place.ledger.append(self._record.task_id, [replace(draft, event=event)])
                except (Unavailable, asyncio.CancelledError):
                    raise  # said again later under the same id, it is recorded once
                except BaseException:
                    self._unsaid.popleft()
                    raise
                self._unsaid.popleft()
                self._sequence += numbered
                self._cut_off = False

    async def never_started(self, detail: str) -> None:
        """Record that the call has failed before any of the body ran."""
        facts = {"category": "not-started", "detail": words(detail), "evidence_ref": self._permit, "effects": "excluded"}
        await self._append(Kind.FAILED, facts, at=self._place.stamp())

    async def lost(self, reason: str) -> None:
        """Record that nobody will see how this ended."""
        await self._append(Kind.LOST, {"reason": reason, "lease": f"{self._worker}/{self._record.id[-8:]}"}, at=self._place.stamp())

    async def accepted(self, *, queue_ref: str) -> None:
        """Record that this process has taken the call into its queue."""
        at = self._place.stamp()
        await self._append(Kind.ACCEPTED, {"queue_ref": queue_ref, "accepted_at": at}, at=at)

    async def __call__(self, fact: Fact) -> None:
        """Record one fact of the guard."""
        at = rfc3339(fact.at)
        match fact:
            case Started():
                support = "task" if fact.executor is Executor.TASK else "thread"
                facts = {"attempt": self._record.attempt, "executor": str(fact.executor), "lease": fact.lease, "worker": self._worker,
                         "permit": self._permit, "started_at": at, "cancel_support": support}  # fmt: skip  # facts in lines
                await self._start(facts, at)
            case OutputEmitted():
                await self._append(Kind.OUTPUT, {"order": fact.order}, at=at, values={"output": encode_value(fact.value)})
            case ProgressReported():
                facts = {"order": fact.order, "text": words(fact.text)}
                await self._append(Kind.PROGRESS, facts if fact.percent is None else {**facts, "percent": fact.percent}, at=at)
            case PartCompleted():
                await self._append(Kind.PART_COMPLETED, {"part": words(fact.part), "open": [words(part) for part in fact.open]}, at=at)
            case CommitmentCrossed():
                await self._append(Kind.COMMITTED, {"boundary": words(fact.description)}, at=at)
            case EffectObserved():
                extra = {words(name): _plain(value) for name, value in fact.fields.items()}
                reference = {"reference": words(fact.reference)} if fact.reference else {}
                await self._append(Kind.EFFECT, {**extra, "effect": words(fact.description), "at": at, **reference}, at=at)
            case Heartbeat():
                await self._append(Kind.HEARTBEAT, {"attempt": self._record.attempt, "lease": fact.lease}, at=at)
            case WaiterReleased():
                await self._append(Kind.WAITER_RELEASED, {"waiter": "caller", "body": str(fact.body)}, at=at)
            case Ended():
                await self._end(fact.ending, at)

    async def _start(self, facts: Mapping[str, Any], at: str) -> None:
        """Record the start, or leave no trace of it: a body whose start cannot be recorded does not run."""
        try:
            await self._append(Kind.STARTED, facts, at=at)
        except BaseException:
            kept = [draft for draft in self._unsaid if draft.event.kind != Kind.STARTED]
            self._unsaid = deque(kept)
            raise

    async def _end(self, ending: Ending, at: str) -> None:
        """Record the end; where it cannot be told as it was, at least that it is not known."""
        try:
            await self._ended(ending, at)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - the body has ended, whatever is wrong with how
            _log.exception("the end of %s could not be told", self._record.id)
            await self.lost(f"the body has ended ({ending.kind}), and how could not be recorded: {type(error).__name__}")

    async def _ended(self, ending: Ending, at: str) -> None:
        """Record how the body really ended."""
        termination = ending.termination
        if termination is not None:
            await self._acknowledge(termination, ending, at)
        elif ending.kind is EndingKind.RETURNED:
            await self._returned(ending, at)
        else:
            await self._failed(ending, at)

    async def _acknowledge(self, termination: Termination, ending: Ending, at: str) -> None:
        request = await self._request()
        facts = {
            "termination": str(termination),
            "initiator": request.actor if request else self.stopped_by,
            "scope": request.scope if request and request.scope else "this invocation",
            "reason": words((request.reason if request else ending.stop_reason) or NO_REASON),
            "at": at,
            "request_ref": request.ref if request else "",
            "effects": "excluded" if ending.kind is EndingKind.NEVER_STARTED else "",
        }
        cause = (request.ref,) if request else ()
        await self._append(Kind.CANCEL_ACKNOWLEDGED, {k: v for k, v in facts.items() if v}, at=at, caused_by=cause)

    async def _request(self) -> Request | None:
        """Read the request that this end acknowledges; where it cannot be read, the end is told without it."""
        try:
            return (await read(self._place, self._record.id)).record.open_cancellation
        except Unavailable:
            return None

    async def _returned(self, ending: Ending, at: str) -> None:
        check = self._tool.check_result(ending.value)
        if check.kind == "rejected":
            problems = [words(problem) for problem in check.problems][:20] or ["it does not fit the declared type"]
            ref = await self._append(
                Kind.RESULT_REJECTED, {"problems": problems, "declared": check.declared}, at=at, owner=Owner.POLICY,
                values={"result": check.encoded},
            )  # fmt: skip  # facts in lines
            facts = {"category": "invalid-result", "detail": "The tool ended, and what it returned does not fit its declared type.",
                     "evidence_ref": ref, "retryable": "no"}  # fmt: skip  # facts in lines
            await self._append(Kind.FAILED, facts, at=at, caused_by=(ref,))
            return
        self._keep_value(ending.value)
        facts = {"completed_at": at, "validation": str(check.kind)}
        await self._append(Kind.SUCCEEDED, facts, at=at, values={"result": check.encoded}, media=check.media_type)

    async def _failed(self, ending: Ending, at: str) -> None:
        error = ending.exception
        facts: dict[str, Any] = {"category": ending.category or "tool-error", "evidence_ref": f"raised:{type(error).__name__}"}
        if isinstance(error, ToolFailure):
            facts |= {"category": words(error.category) or "tool-error"}
            facts |= {"detail": words(error.detail) or f"The tool failed: {facts['category']}."}
            facts |= {"retryable": words(error.retryable)} if error.retryable else {}
        elif ending.kind is EndingKind.SELF_CANCELLED:
            facts["detail"] = "The tool cancelled itself; nobody had asked for it."
        elif ending.kind is EndingKind.NEVER_STARTED:
            facts |= {"detail": "The tool was never started.", "effects": "excluded"}
        else:
            facts["detail"] = f"The tool raised {type(error).__name__}."
        raised = json.dumps({"type": type(error).__name__, "text": _text_of(error)}, ensure_ascii=True).encode()
        await self._append(Kind.FAILED, facts, at=at, values={"exception": raised} if error else None)

    async def _append(
        self, kind: Kind, data: Mapping[str, Any], *, at: str, values: Mapping[str, bytes] | None = None, owner: Owner = Owner.RUNTIME,
        caused_by: tuple[str, ...] = (), media: str = "",
    ) -> str:  # fmt: skip  # a signature in three lines
        """Append one event of this source after all that are kept, and give its reference.

        Raises:
            Unavailable: the ledger could not be written for longer than patience lasts; the fact is kept.
            InvalidInput: it can never be recorded as it is; it is dropped.
        """
        event = Event(
            kind=kind, source=self._source if owner is Owner.RUNTIME else SOURCE, id=self._place.ids.new("evt"),
            task_id=self._record.task_id, invocation_id=self._record.id, owner=owner, attempt=self._record.attempt,
            tenant=self._record.tenant, time=at, data=data, caused_by=caused_by,
        )  # fmt: skip  # facts in lines
        self._unsaid.append(Draft(event=event, values=values or {}, media_types={"result": media} if media else {}))
        loop = asyncio.get_running_loop()
        # Once patience has run out, further facts do not wait for the same ledger all over again.
        until, pause = loop.time() + (0 if self._cut_off else self._patience_seconds), 0.05
        while True:
            try:
                await self.say_unsaid()
            except Unavailable:
                if loop.time() + pause > until:
                    self._cut_off = True
                    raise
            else:
                return str(event.ref)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def words(text: object) -> str:
    """Give a tool's own words as text that an event can hold: of a bounded length, and without half characters."""
    said = text if isinstance(text, str) else str(text)
    return said[:_DETAIL].encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: object) -> object:
    """Give a field of an effect as an event can hold it; what is no text becomes the text of it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -_MAX_INTEGER <= value <= _MAX_INTEGER:
        return value
    return words(value)


def _text_of(error: BaseException | None) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - an exception whose own text raises is still what the tool raised
        return f"<its text raised {type(broken).__name__}>"
