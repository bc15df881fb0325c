"""A task: what its children amount to together, and what waits for what.

The state of a task is computed from the latest attempt of each required lineage and from nothing else. It is never succeeded while a required
child is unresolved, failed, cancelled or expired without a recorded ``child.waived``. Source: design §4.4 and the seed's section on identity.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import KINDS, Event, Kind, missing_fields, speaker_objection
from toolwitness.core.record import InvocationRecord
from toolwitness.core.shapes import malformed_fields
from toolwitness.core.states import EXECUTING, TERMINAL, EvidenceRef, State, TaskId
from toolwitness.core.verdicts import Judgement, Verdict

Records = Mapping[str, InvocationRecord]

_NO_RECORDS: Final[Records] = MappingProxyType({})


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
    refusal = event.refusal or speaker_objection(event)
    if refusal:
        return Judgement(Verdict.REFUSED, refusal)
    malformed = malformed_fields(event)
    if malformed:
        return Judgement(Verdict.NOTED, f"malformed: {'; '.join(malformed)}")
    spec = KINDS.get(event.kind)
    if spec is None or not spec.of_task:
        return Judgement(Verdict.NOTED, f"unknown: {str(event.kind)!r} is not a fact about a task; kept as it came")
    missing = missing_fields(event)
    if missing:
        return Judgement(Verdict.NOTED, f"incomplete: {event.kind} lacks {', '.join(missing)}")
    task.evidence_refs.append(event.ref)
    _absorb(task, event, event.time or recorded_at)
    return Judgement(Verdict.NOTED)


def _absorb(task: TaskRecord, event: Event, at: str) -> None:
    """Add what a whole event says to the task."""
    data = event.data
    if event.kind == Kind.TASK_OPENED and not task.purpose:
        task.tenant, task.purpose = event.tenant, data["purpose"]
        task.parent_task, task.synthesis = data.get("parent_task") or "", data.get("synthesis") or ""
        task.declared = tuple(data.get("required_children") or ())
        task.opened_at = at
    elif event.kind == Kind.CHILD_WAIVED:
        task.waived[data["child"]] = event.ref
        task.waivers.append({**data, "ref": event.ref, "at": at})
    elif event.kind == Kind.GRANT_RECORDED:
        task.grants[data["grant_id"]] = data
    elif event.kind == Kind.GRANT_REVOKED:
        task.grants.pop(data["grant_id"], None)


def _lineage(record: InvocationRecord, records: Records) -> tuple[str, ...]:
    """Give the ids from ``record`` back to the first attempt of its lineage."""
    chain, current = [record.id], record
    while earlier := str(current.proposal.get("retry_of") or current.proposal.get("replaces") or ""):
        if earlier in chain:
            return (*chain, min(chain))  # a circle, which only a mistaken source can draw; all in it agree on one root
        chain.append(earlier)
        if earlier not in records:
            break
        current = records[earlier]
    return tuple(chain)


def root_of(record: InvocationRecord, records: Records) -> str:
    """Give the first attempt of the lineage that ``record`` belongs to."""
    return _lineage(record, records)[-1]


def latest_attempts(records: Records) -> dict[str, InvocationRecord]:
    """Give the latest attempt of each lineage by the id of its first attempt, in order of proposal.

    The latest is the one furthest from the first: a replacement counts its attempts anew, so the number alone does not tell.
    """
    latest: dict[str, tuple[int, InvocationRecord]] = {}
    for record in records.values():
        chain = _lineage(record, records)
        rank = (len(chain), record.attempt)
        known = latest.get(chain[-1])
        if known is None or rank >= (known[0], known[1].attempt):
            latest[chain[-1]] = (len(chain), record)
    return {root: record for root, (_, record) in latest.items()}


def is_waived(root: str, task: TaskRecord, records: Records) -> bool:
    """Tell whether a person waived this lineage, by whichever of its attempts they named it."""
    return root in task.waived or any(child in records and root_of(records[child], records) == root for child in task.waived)


def is_resolved(record: InvocationRecord | None, task: TaskRecord, *, root: str, records: Records = _NO_RECORDS) -> bool:
    """Tell whether what depends on this lineage may go on: success, an acknowledged cancellation that a person requested, or a waiver."""
    if is_waived(root, task, records) or (record is not None and record.id in task.waived):
        return True
    if record is None:
        return False
    if record.state is State.SUCCEEDED:
        return True
    closure = record.closure if record.state is State.CANCELLED else None
    return closure is not None and closure.termination is not None and bool(closure.request_ref)


def blocked_by(record: InvocationRecord, task: TaskRecord, records: Records) -> tuple[str, ...]:
    """Name the invocations (latest attempts) that ``record`` still waits for; empty when it may go on or is past waiting."""
    if record.state in TERMINAL or record.state is State.QUEUED or record.state in EXECUTING:
        return ()
    dependencies = record.proposal.get("dependencies") or ()
    latest = latest_attempts(records) if dependencies else {}
    waiting: list[str] = []
    for declared in dependencies:
        dependency = _moved(record, declared)
        if declared in record.resolved_dependencies or dependency in record.resolved_dependencies:
            continue
        known = records.get(dependency)
        root = root_of(known, records) if known else dependency
        current = latest.get(root)
        if not is_resolved(current, task, root=root, records=records):
            waiting.append(current.id if current else dependency)
    return tuple(dict.fromkeys(waiting))


def _moved(record: InvocationRecord, dependency: str) -> str:
    """Follow a dependency to where policy has moved it."""
    seen: set[str] = set()
    while dependency in record.moved_dependencies and dependency not in seen:
        seen.add(dependency)
        dependency = record.moved_dependencies[dependency]
    return dependency


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


_ACTIVE_ORDER: Final = (State.STREAMING, State.RUNNING, State.PARTIALLY_COMPLETE, State.QUEUED, State.AWAITING_APPROVAL, State.AWAITING_INPUT)


def required_lineages(task: TaskRecord, records: Records) -> dict[str, InvocationRecord | None]:
    """Give every lineage that the task needs, with its latest attempt.

    Needed are the children and the synthesis that the task named when it was opened, proposed or not, and whatever was proposed since, unless
    its proposal says that the task can do without it, or it undoes something.
    """
    latest = latest_attempts(records)
    named = (*task.declared, *((task.synthesis,) if task.synthesis else ()))
    roots = (root_of(records[child], records) if child in records else child for child in named)
    needed: dict[str, InvocationRecord | None] = {root: latest.get(root) for root in roots}
    for root, record in latest.items():
        first = records[root] if root in records else record
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
