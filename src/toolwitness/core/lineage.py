"""Attempts that belong together, and what waits for what.

A retry or replacement points back (R9); the latest attempt stands for its lineage. A dependency is resolved by success, by an acknowledged
cancellation that a person requested, or by a waiver.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, State
from toolwitness.core.task_record import TaskRecord

Records = Mapping[str, InvocationRecord]

_NO_RECORDS: Final[Records] = MappingProxyType({})


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


def attempt_before(record: InvocationRecord, records: Records) -> InvocationRecord | None:
    """Give the attempt that ``record`` retries or replaces, where there is one on record."""
    return records.get(str(record.proposal.get("retry_of") or record.proposal.get("replaces") or ""))


def root_of(record: InvocationRecord, records: Records) -> str:
    """Give the first attempt of the lineage that ``record`` belongs to."""
    return _lineage(record, records)[-1]


def idempotency_key(record: InvocationRecord, records: Records) -> str:
    """Give the key by which the other side can tell that all attempts of one call are the same request.

    It is made of the first attempt's id and stays the same over retries and replacements, also where inputs were edited in between: a new
    key would let the effect of an attempt whose outcome is unknown happen twice. A replacement by another tool is another request.
    """
    chain, current = [record.id], record
    while earlier := str(current.proposal.get("retry_of") or current.proposal.get("replaces") or ""):
        known = records.get(earlier)
        if earlier in chain:
            return f"tw-{min(chain)}"  # a circle, which only a mistaken source can draw
        if known is None or known.tool != record.tool:
            break
        chain.append(earlier)
        current = known
    return f"tw-{chain[-1]}"


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


def blocked_by(
    record: InvocationRecord, task: TaskRecord, records: Records, *, latest: Mapping[str, InvocationRecord] | None = None
) -> tuple[str, ...]:
    """Name the invocations (latest attempts) that ``record`` still waits for; empty when it may go on or is past waiting.

    Before dispatch these are its unresolved dependencies; while its body runs, the calls that this body made and that wait for a person, or
    for one that does. ``latest`` is what ``latest_attempts(records)`` gives, for callers that ask about many records.
    """
    if record.state in EXECUTING:
        return _held_up_by(record, records, {record.id})
    if record.state in TERMINAL or record.state is State.QUEUED:
        return ()
    dependencies = record.proposal.get("dependencies") or ()
    if latest is None:
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


def _held_up_by(record: InvocationRecord, records: Records, seen: set[str]) -> tuple[str, ...]:
    """Name the calls made by a running body that have not been dispatched because they ask a person, or wait for calls that do."""
    children = [r for r in records.values() if r.proposal.get("parent") == record.id and r.id not in seen]
    seen.update(child.id for child in children)
    return tuple(
        child.id for child in children
        if child.state in _ASKING or (child.state in EXECUTING and (child.waits_for_person or _held_up_by(child, records, seen)))
    )  # fmt: skip  # one condition


_ASKING: Final = frozenset({State.AWAITING_APPROVAL, State.AWAITING_INPUT})


def _moved(record: InvocationRecord, dependency: str) -> str:
    """Follow a dependency to where policy has moved it."""
    seen: set[str] = set()
    while dependency in record.moved_dependencies and dependency not in seen:
        seen.add(dependency)
        dependency = record.moved_dependencies[dependency]
    return dependency
