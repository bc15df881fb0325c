"""What the events of a task say about the task itself: its purpose, its children, waivers and standing grants."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.shapes import malformed_fields
from toolwitness.core.states import EvidenceRef, TaskId
from toolwitness.core.verdicts import Judgement, Verdict
from toolwitness.core.vocabulary import KINDS, missing_fields, speaker_objection


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
    optional: tuple[str, ...] = ()
    """Children that it named as ones the task can do without."""
    opened_at: str = ""
    last_at: str = ""
    version: int = 0
    waived: dict[str, EvidenceRef] = field(default_factory=dict[str, EvidenceRef])
    waivers: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    reported: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    """What runtimes have said the task amounts to: claims, which move nothing."""
    grants: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Standing grants that nobody has taken back, by id."""
    uses: dict[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict[str, tuple[Mapping[str, Any], ...]])
    """What each grant was used for, in order; kept when it is taken back."""
    revoked: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What was taken back and not given again, by id: grants, and authority that somebody held."""
    evidence_refs: list[EvidenceRef] = field(default_factory=list[EvidenceRef])
    seen: set[EvidenceRef] = field(default_factory=set[EvidenceRef])


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
        task.optional = tuple(data.get("optional_children") or ())
        task.opened_at = at
    elif event.kind == Kind.CHILD_WAIVED:
        task.waived[data["child"]] = event.ref
        task.waivers.append({**data, "ref": event.ref, "at": at})
    elif event.kind == Kind.TASK_REPORTED:
        task.reported.append({**data, "source": event.source, "ref": event.ref, "at": at})
    elif event.kind == Kind.GRANT_RECORDED:
        task.grants[data["grant_id"]] = {**data, "ref": event.ref, "at": at}
        task.revoked.pop(data["grant_id"], None)
    elif event.kind == Kind.GRANT_USED:
        used = task.uses.get(data["grant_id"], ())
        task.uses[data["grant_id"]] = (*used, {**data, "ref": event.ref, "at": at})
    elif event.kind == Kind.GRANT_REVOKED:
        task.grants.pop(data["grant_id"], None)
        task.revoked[data["grant_id"]] = {**data, "ref": event.ref, "at": at}
