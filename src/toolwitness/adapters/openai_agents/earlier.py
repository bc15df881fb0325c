"""Finds what was recorded before: the task of a saved run, the call that a snapshot goes on with, and what became of it.

A saved state carries the provider's ids, the arguments and, where tracing is on, the trace's id. None of these is an attempt; what is on
record decides whether a call may run, never the snapshot.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from agents import RunState

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State
from toolwitness.recording.desk_side import DeskSide, same_json
from toolwitness.runtime.encoding import CannotReadBack, read_marks
from toolwitness.service.sealing import open_value

NOT_AGAIN: Final = "It was not run again."


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that a saved state has in hand."""

    call_id: str
    tool: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class Key:
    """What names a conversation."""

    named: str
    trace: str
    pending: Sequence[Pending] = ()

    async def task(self, desk: DeskSide, purpose: str) -> str:
        """Give the task; for a saved state whose conversation has no name here, the one in which its calls are."""
        known = self.named or self.trace
        one_for_all = desk.task_id("one") == desk.task_id("another")
        if one_for_all or self.named or (known and await desk.place.ledger.task(desk.task_id(known)) is not None):
            return await desk.task_for(known, purpose)
        return await self._task_of_pending(desk) or await desk.task_for(known or desk.place.ids.new("run"), purpose)

    async def _task_of_pending(self, desk: DeskSide) -> str:
        """Give the task that holds a call of the saved state; one that still waits comes before one that is over, then the latest."""
        if not self.pending:
            return ""
        found: list[tuple[bool, str]] = []
        for task_id in await desk.place.ledger.tasks():
            view = await desk.place.ledger.task(task_id)
            for record in view.records.values() if view is not None and record_tenant(view) == desk.desk.tenant else ():
                for one in self.pending:
                    if carries(record, one) and await proposed_as(desk, record, one.arguments):
                        found.append((record.state not in TERMINAL and not record.starts, task_id))  # noqa: PERF401 -- it reads better
        return next((task for waits, task in found if waits), found[0][1] if found else "")


def record_tenant(view: Any) -> str:
    """Give the tenant of a task."""
    return str(view.task.tenant)


def carries(record: InvocationRecord, pending: Pending) -> bool:
    """Tell whether a record is of this tool and carries this provider's id."""
    rows = record.proposal.get("correlation") or ()
    return record.tool == pending.tool and any(row.get("provider_call_id") == pending.call_id for row in rows)


async def proposed_as(desk: DeskSide, record: InvocationRecord, arguments: bytes) -> bool:
    """Tell whether the record was proposed with these arguments."""
    first = record.inputs_history[0] if record.inputs_history else record.inputs
    raw = await open_value(desk.place.ledger, first["ref"]) if first else None
    return same_json(raw or b"{}", arguments or b"{}")


# ── saved states ────────────────────────────────────────────────────────────────────────────────────────────────────


def trace_of(given: Any) -> str:
    """Give the id of the trace that a saved state belongs to; empty where it has none."""
    trace = getattr(given, "_trace_state", None) if isinstance(given, RunState) else None
    return str(getattr(trace, "trace_id", None) or "")


def input_of(given: Any) -> Any:
    """Give what a run was asked."""
    return getattr(given, "_original_input", "") if isinstance(given, RunState) else given


def pending(given: Any) -> tuple[Pending, ...]:
    """Give the calls that a saved state waits with."""
    return tuple(map(pending_of, given.get_interruptions())) if isinstance(given, RunState) else ()


def pending_of(item: Any) -> Pending:
    """Give the call that an interruption is about."""
    arguments = item.arguments if isinstance(item.arguments, str) else ""
    return Pending(str(item.call_id or ""), str(item.tool_name or ""), arguments.encode("utf-8", "surrogatepass"))


def rejected(state: "RunState[Any]") -> tuple[Pending, ...]:
    """Give the calls that somebody has rejected in the saved state itself, and not at the desk."""
    context: Any = getattr(state, "_context", None)
    found: list[Pending] = []
    for item in state.get_interruptions():
        status = context.get_approval_status(
            item.tool_name, item.call_id, tool_namespace=item.tool_namespace, tool_lookup_key=item.tool_lookup_key, existing_pending=item
        )
        found += [pending_of(item)] if status is False else []
    return tuple(found)


# ── what became of a call ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Settled:
    """What the framework gets for a call that is not to run: its recorded result, or words."""

    output: Any


async def settled(desk: DeskSide, record: InvocationRecord) -> Settled | None:
    """Say what became of a call that was taken up before, once that is known; ``None`` where it has not run and may."""
    if record.state is State.SUCCEEDED:
        return Settled(await _result(desk, record))
    if record.state in TERMINAL:
        return Settled(_ended(record))
    if record.state is State.PARTIALLY_COMPLETE or not (record.starts or record.claim):
        return None
    ended = await desk.ended(record.id)  # whoever holds it may be at work, here or in another process
    if ended.state in TERMINAL:
        return await settled(desk, ended)
    return Settled(
        f"The outcome of this call is not known: it was started before, and nobody saw it end. {NOT_AGAIN} "
        "Somebody has to find out what happened."
    )


async def _result(desk: DeskSide, record: InvocationRecord) -> Any:
    reference = record.outcome.data.get("result") if record.outcome is not None else None
    raw = await open_value(desk.place.ledger, str(cast("dict[str, Any]", reference)["ref"])) if isinstance(reference, dict) else None
    if raw is None:
        return f"This call has already run and succeeded. {NOT_AGAIN}"
    try:
        return read_marks(json.loads(raw))
    except (ValueError, CannotReadBack):
        return raw.decode("utf-8", "replace")


def _ended(record: InvocationRecord) -> str:
    closure, outcome = record.closure, record.outcome
    if record.state is State.FAILED:
        detail = str(outcome.data.get("detail") or outcome.data.get("category") or "") if outcome is not None else ""
        return f"This call has already run and failed. {detail} {NOT_AGAIN}".replace("  ", " ")
    over = f"{closure.kind} by {closure.initiator}: {closure.reason}" if closure is not None else str(record.state)
    return f"This call was started before, and is over: {over}. {NOT_AGAIN}" if record.starts else f"The call was not made: {over}"
