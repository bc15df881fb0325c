"""A task: what its children amount to together.

The state of a task is computed from the latest attempt of each required lineage and from nothing else. It is never succeeded while a
required child is unresolved, failed, cancelled or expired without a recorded ``child.waived``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.lineage import Records, blocked_by, is_resolved, is_waived, latest_attempts, root_of
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State
from toolwitness.core.task_record import TaskRecord, judge_task

__all__ = [
    "Records", "TaskRecord", "TaskSummary", "blocked_by", "contradicted", "is_resolved", "is_waived", "judge_task", "latest_attempts",
    "required_lineages", "root_of", "summarize", "synthesis_of",
]  # fmt: skip  # names in lines


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """What the children of a task amount to at one moment."""

    state: State
    required: tuple[str, ...]
    """The latest attempt of every required lineage."""
    complete: tuple[str, ...]
    """Required and succeeded, or waived."""
    unresolved: tuple[str, ...]
    waiting_for_person: tuple[str, ...]
    """Invocations of the task, required or not, that ask a person for something."""
    stopping: tuple[str, ...]
    """A cancellation is requested and not acknowledged."""


_ACTIVE_ORDER: Final = (
    State.STREAMING, State.RUNNING, State.PARTIALLY_COMPLETE, State.QUEUED, State.AWAITING_APPROVAL, State.AWAITING_INPUT,
)  # fmt: skip  # an order reads better in one line


SYNTHESIS: Final = "synthesis"
"""The role of the call that sums its task up."""


def synthesis_of(task: TaskRecord, records: Records) -> str:
    """Name the first attempt of the call that sums the task up; empty where there is none.

    It is the one that the task named when it was opened, else the first that was proposed in this role: a later proposal replaces neither.
    """
    claimed = (root_of(record, records) for record in records.values() if record.proposal.get("role") == SYNTHESIS)
    return task.synthesis or next(claimed, "")


def required_lineages(task: TaskRecord, records: Records) -> dict[str, InvocationRecord | None]:
    """Give every lineage that the task needs, with its latest attempt.

    Needed are the children and the synthesis that the task named when it was opened, proposed or not, and whatever was proposed since,
    unless its proposal says that the task can do without it, or it undoes something.
    """
    latest = latest_attempts(records)
    named = (*task.declared, *((task.synthesis,) if task.synthesis else ()))
    roots = (root_of(records[child], records) if child in records else child for child in named)
    needed: dict[str, InvocationRecord | None] = {root: latest.get(root) for root in roots}
    for root, record in latest.items():
        first = records.get(root, record)
        if root in task.optional and root not in task.declared:
            continue
        if first.proposal.get("required", True) and not first.proposal.get("reverses"):
            needed[root] = record
    return needed


def summarize(task: TaskRecord, records: Records, *, not_retryable: Collection[str] = ()) -> TaskSummary:
    """Compute the state of a task; ``not_retryable`` names failed attempts for which policy permits no retry."""
    needed = required_lineages(task, records)
    ids = {root: record.id if record else root for root, record in needed.items()}
    complete = [
        root for root, record in needed.items()
        if (record is not None and record.state is State.SUCCEEDED) or is_waived(root, task, records)
    ]  # fmt: skip  # one comprehension
    current = [record for record in latest_attempts(records).values() if record.state not in TERMINAL]
    return TaskSummary(
        state=_state(needed, complete, not_retryable),
        required=tuple(ids.values()),
        complete=tuple(ids[root] for root in complete),
        unresolved=tuple(ids[root] for root in needed if root not in complete),
        waiting_for_person=tuple(record.id for record in current if record.waits_for_person),
        stopping=tuple(record.id for record in current if record.open_cancellation is not None),
    )


_CLAIMS: Final = MappingProxyType({
    **dict.fromkeys(("completed", "complete", "succeeded", "success", "ok", "finished", "done"), State.SUCCEEDED),
    **dict.fromkeys(("failed", "failure", "error"), State.FAILED),
})  # fmt: skip  # one line a state


def contradicted(task: TaskRecord, summary: TaskSummary) -> Mapping[str, Any] | None:
    """Give the last thing that a runtime claimed of the task, where it claimed an end that the calls do not bear out.

    A claim is no evidence for any call: the state stays what the calls amount to. Words that we do not know claim nothing (R11).
    """
    last = task.reported[-1] if task.reported else None
    claimed = _CLAIMS.get(str(last["claimed"]).lower()) if last else None
    return last if claimed is not None and claimed is not summary.state else None


def _state(needed: Mapping[str, InvocationRecord | None], complete: Collection[str], not_retryable: Collection[str]) -> State:
    """Give the state that the required lineages amount to."""
    if len(complete) == len(needed):
        return State.SUCCEEDED if needed else State.PROPOSED
    unresolved = [record for root, record in needed.items() if root not in complete]
    known = [record for record in unresolved if record is not None and record.state is not None]
    ended = [record for record in known if record.state in TERMINAL]
    if len(ended) < len(unresolved):
        if complete or ended:
            return State.PARTIALLY_COMPLETE
        return next((state for state in _ACTIVE_ORDER if any(record.state is state for record in known)), State.PROPOSED)
    failed = [record for record in ended if record.state is State.FAILED]
    if failed and all(record.id in not_retryable for record in failed):
        return State.FAILED
    kinds = {record.state for record in ended}
    if not complete and kinds in ({State.CANCELLED}, {State.EXPIRED}):
        return ended[0].state or State.PROPOSED
    return State.PARTIALLY_COMPLETE
