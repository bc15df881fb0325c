"""A task: what its children amount to together, and what waits for what.

The state of a task is computed from the latest attempt of each required lineage and from nothing else. It is never succeeded while a required
child is unresolved, failed, cancelled or expired without a recorded ``child.waived``. Source: design §4.4 and the seed's section on identity.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.core.evidence import KINDS, Event, Kind, may_say, missing_fields
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, EvidenceRef, State, TaskId
from toolwitness.core.verdicts import Judgement, Verdict

Records = Mapping[str, InvocationRecord]


@dataclass(slots=True)
class TaskRecord:
    """What the events of a task say about the task itself."""

    id: TaskId
    tenant: str = ""
    purpose: str = ""
    parent_task: str = ""
    synthesis: str = ""
    declared: tuple[str, ...] = ()
    """Required children that ``task.opened`` named beforehand."""
    opened_at: str = ""
    last_at: str = ""
    version: int = 0
    waived: dict[str, EvidenceRef] = field(default_factory=dict)
    waivers: list[Mapping[str, Any]] = field(default_factory=list)
    grants: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    evidence_refs: list[EvidenceRef] = field(default_factory=list)
    seen: set[EvidenceRef] = field(default_factory=set)


def judge_task(task: TaskRecord, event: Event, *, recorded_at: str = "") -> Judgement:
    """Judge one event about the task itself; the sibling of ``invocation.judge``."""
    if event.ref in task.seen:
        return Judgement(Verdict.DUPLICATE, "the same source has already said this")
    task.seen.add(event.ref)
    task.version += 1
    task.last_at = event.time or recorded_at or task.last_at
    if event.refusal:
        return Judgement(Verdict.REFUSED, event.refusal)
    if not may_say(event.owner, event.kind):
        return Judgement(Verdict.REFUSED, f"speaker: {event.owner} does not own {event.kind}")
    spec = KINDS.get(event.kind)
    if spec is None or not spec.of_task:
        return Judgement(Verdict.NOTED, f"unknown: {event.kind!r} is not a fact about a task; kept as it came")
    missing = missing_fields(event)
    if missing:
        return Judgement(Verdict.NOTED, f"incomplete: {event.kind} lacks {', '.join(missing)}")
    task.evidence_refs.append(event.ref)
    data = event.data
    if event.kind == Kind.TASK_OPENED and not task.purpose:
        task.tenant, task.purpose = event.tenant, str(data["purpose"])
        task.parent_task, task.synthesis = str(data.get("parent_task") or ""), str(data.get("synthesis") or "")
        task.declared = tuple(data.get("required_children") or ())
        task.opened_at = event.time or recorded_at
    elif event.kind == Kind.CHILD_WAIVED:
        task.waived[str(data["child"])] = event.ref
        task.waivers.append({**data, "ref": event.ref, "at": event.time or recorded_at})
    elif event.kind == Kind.GRANT_RECORDED:
        task.grants[str(data["grant_id"])] = data
    elif event.kind == Kind.GRANT_REVOKED:
        task.grants.pop(str(data["grant_id"]), None)
    return Judgement(Verdict.NOTED)


def root_of(record: InvocationRecord, records: Records) -> str:
    """Give the first attempt of the lineage that ``record`` belongs to."""
    current, seen = record, {record.id}
    while earlier := str(current.proposal.get("retry_of") or current.proposal.get("replaces") or ""):
        if earlier in seen or earlier not in records:
            return earlier if earlier not in seen else current.id
        seen.add(earlier)
        current = records[earlier]
    return current.id


def latest_attempts(records: Records) -> dict[str, InvocationRecord]:
    """Give the latest attempt of each lineage by the id of its first attempt, in order of proposal."""
    latest: dict[str, InvocationRecord] = {}
    for record in records.values():
        root = root_of(record, records)
        if root not in latest or record.attempt >= latest[root].attempt:
            latest[root] = record
    return latest


def is_resolved(record: InvocationRecord | None, task: TaskRecord, *, root: str) -> bool:
    """Tell whether what depends on this lineage may go on: success, a cancellation that a person requested, or a waiver."""
    if root in task.waived or (record is not None and record.id in task.waived):
        return True
    if record is None:
        return False
    if record.state is State.SUCCEEDED:
        return True
    return record.state is State.CANCELLED and record.closure is not None and record.closure.termination is not None and (
        record.open_cancellation is not None
    )  # fmt: skip  # one condition in one place


def blocked_by(record: InvocationRecord, task: TaskRecord, records: Records) -> tuple[str, ...]:
    """Name the invocations (latest attempts) that ``record`` still waits for; empty when it may go on or is past waiting."""
    if record.state in TERMINAL or record.state is State.QUEUED or record.state in EXECUTING:
        return ()
    latest = latest_attempts(records)
    waiting: list[str] = []
    for dependency in record.proposal.get("dependencies") or ():
        known = records.get(dependency)
        root = root_of(known, records) if known else dependency
        current = latest.get(root)
        if not is_resolved(current, task, root=root):
            waiting.append(current.id if current else dependency)
    return tuple(waiting)


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
    stopping: tuple[str, ...]
    """A cancellation is requested and not acknowledged."""


_ACTIVE_ORDER: Final = (State.STREAMING, State.RUNNING, State.PARTIALLY_COMPLETE, State.QUEUED, State.AWAITING_APPROVAL, State.AWAITING_INPUT)


def required_lineages(task: TaskRecord, records: Records) -> dict[str, InvocationRecord | None]:
    """Give every lineage that the task needs, with its latest attempt; the synthesis is one of them once it is proposed."""
    latest = latest_attempts(records)
    needed: dict[str, InvocationRecord | None] = {child: latest.get(child) for child in task.declared}
    for root, record in latest.items():
        first = records[root] if root in records else record
        if first.proposal.get("required", True) and not first.proposal.get("reverses"):
            needed[root] = record
    return needed


def summarize(task: TaskRecord, records: Records, *, not_retryable: Collection[str] = ()) -> TaskSummary:
    """Compute the state of a task; ``not_retryable`` names failed attempts for which policy permits no retry."""
    needed = required_lineages(task, records)
    ids = {root: record.id if record else root for root, record in needed.items()}
    complete = [r for r, record in needed.items() if r in task.waived or ids[r] in task.waived or (record and record.state is State.SUCCEEDED)]
    current = [record for record in needed.values() if record is not None]
    return TaskSummary(
        state=_state(needed, complete, set(not_retryable)),
        required=tuple(ids.values()),
        complete=tuple(ids[r] for r in complete),
        unresolved=tuple(ids[r] for r in needed if r not in complete),
        waiting_for_person=tuple(
            record.id for record in current
            if record.state not in TERMINAL and (record.open_approval is not None or record.state is State.AWAITING_INPUT)
        ),
        stopping=tuple(record.id for record in current if record.state not in TERMINAL and record.open_cancellation is not None),
    )  # fmt: skip  # comprehensions in one line each


def _state(needed: Mapping[str, InvocationRecord | None], complete: list[str], not_retryable: set[str]) -> State:
    """Give the state that the required lineages amount to."""
    if not needed:
        return State.PROPOSED
    if len(complete) == len(needed):
        return State.SUCCEEDED
    states = [record.state for record in needed.values() if record is not None and record.state is not None]
    active = [state for state in states if state not in TERMINAL]
    if complete or (active and len(active) < len(states)):
        return State.PARTIALLY_COMPLETE
    if active or not states:
        return next((state for state in _ACTIVE_ORDER if state in active), State.PROPOSED)
    kinds = set(states)
    if kinds == {State.CANCELLED} or kinds == {State.EXPIRED}:
        return states[0]
    failed = [r for r in needed.values() if r is not None and r.state is State.FAILED]
    if failed and all(r.id in not_retryable for r in failed):
        return State.FAILED
    return State.PARTIALLY_COMPLETE
