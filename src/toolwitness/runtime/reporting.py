"""Turns what the guard of a body saw into events, in order, and appends them.

The mapping is this file: one method a fact. A cancellation is acknowledged only by an ending that says so (``Ending.termination``); an
ending by cancellation that nobody requested is a failure with category ``aborted``.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner, Termination
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
from toolwitness.service.workplace import Workplace, read

_DETAIL: Final = 300


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
    """The observer of one body: every fact becomes an event of one numbered source."""

    def __init__(
        self, place: Workplace, record: InvocationRecord, tool: Tool, *, source: str, worker: str, permit: str,
        keep_value: Callable[[Any], None],
    ) -> None:  # fmt: skip  # a signature in three lines
        """Report about ``record`` under ``permit``; ``keep_value`` gets the very object that the tool returned."""
        self._place = place
        self._record = record
        self._tool = tool
        self._source = source
        self._worker = worker
        self._permit = permit
        self._keep_value = keep_value
        self._sequence = 0

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
                await self._append(Kind.STARTED, facts, at=at)
            case OutputEmitted():
                await self._append(Kind.OUTPUT, {"order": fact.order}, at=at, values={"output": encode_value(fact.value)})
            case ProgressReported():
                facts = {"order": fact.order, "text": fact.text[:_DETAIL]}
                await self._append(Kind.PROGRESS, facts if fact.percent is None else {**facts, "percent": fact.percent}, at=at)
            case PartCompleted():
                await self._append(Kind.PART_COMPLETED, {"part": fact.part, "open": list(fact.open)}, at=at)
            case CommitmentCrossed():
                await self._append(Kind.COMMITTED, {"boundary": fact.description}, at=at)
            case EffectObserved():
                extra = {k: v if isinstance(v, str | int | None) else str(v) for k, v in fact.fields.items()}
                reference = {"reference": fact.reference} if fact.reference else {}
                await self._append(Kind.EFFECT, {"effect": fact.description, "at": at, **reference, **extra}, at=at)
            case Heartbeat():
                await self._append(Kind.HEARTBEAT, {"attempt": self._record.attempt, "lease": fact.lease}, at=at)
            case WaiterReleased():
                await self._append(Kind.WAITER_RELEASED, {"waiter": "caller", "body": str(fact.body)}, at=at)
            case Ended():
                await self._ended(fact.ending, at)

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
        request = (await read(self._place, self._record.id)).record.open_cancellation
        facts = {
            "termination": str(termination),
            "initiator": request.actor if request else "caller",
            "scope": request.scope if request and request.scope else "this invocation",
            "reason": (request.reason if request else "") or ending.stop_reason or "no reason was given",
            "at": at,
            "request_ref": request.ref if request else "",
            "effects": "excluded" if ending.kind is EndingKind.NEVER_STARTED else "",
        }
        cause = (request.ref,) if request else ()
        await self._append(Kind.CANCEL_ACKNOWLEDGED, {k: v for k, v in facts.items() if v}, at=at, caused_by=cause)

    async def _returned(self, ending: Ending, at: str) -> None:
        check = self._tool.check_result(ending.value)
        if check.kind == "rejected":
            problems = [str(problem)[:_DETAIL] for problem in check.problems][:20] or ["it does not fit the declared type"]
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
            facts |= {"category": error.category, "detail": error.detail[:_DETAIL]}
            facts |= {"retryable": error.retryable} if error.retryable else {}
        elif ending.kind is EndingKind.SELF_CANCELLED:
            facts["detail"] = "The tool cancelled itself; nobody had asked for it."
        elif ending.kind is EndingKind.NEVER_STARTED:
            facts |= {"detail": "The tool was never started.", "effects": "excluded"}
        else:
            facts["detail"] = f"The tool raised {type(error).__name__}."
        raised = json.dumps({"type": type(error).__name__, "text": str(error)}, ensure_ascii=True).encode()
        await self._append(Kind.FAILED, facts, at=at, values={"exception": raised} if error else None)

    async def _append(
        self, kind: Kind, data: Mapping[str, Any], *, at: str, values: Mapping[str, bytes] | None = None, owner: Owner = Owner.RUNTIME,
        caused_by: tuple[str, ...] = (), media: str = "",
    ) -> str:  # fmt: skip  # a signature in three lines
        """Append one event of this source, and give its reference."""
        numbered = owner is Owner.RUNTIME
        self._sequence += numbered
        event = Event(
            kind=kind, source=self._source if numbered else "toolwitness:service", id=self._place.ids.new("evt"),
            task_id=self._record.task_id, invocation_id=self._record.id, owner=owner, attempt=self._record.attempt,
            tenant=self._record.tenant, time=at, sequence=self._sequence if numbered else None, data=data, caused_by=caused_by,
        )  # fmt: skip  # facts in lines
        draft = Draft(event=event, values=values or {}, media_types={"result": media} if media else {})
        recorded = await self._place.ledger.append(self._record.task_id, [draft])
        return str(recorded[0].event.ref)


def waiter_gone(place: Workplace, record: InvocationRecord, *, source: str, body: str) -> Draft:
    """Make the event that somebody stopped waiting; it proves nothing about the body."""
    return Draft(
        event=Event(
            kind=Kind.WAITER_RELEASED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id,
            owner=Owner.RUNTIME, attempt=record.attempt, tenant=record.tenant, time=place.stamp(),
            data={"waiter": "caller", "reason": "the caller's own task was cancelled", "body": body},
        )
    )  # fmt: skip  # facts in lines
