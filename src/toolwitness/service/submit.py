"""Submit a proposal: policy asks for what is missing, asks for an approval, permits, or lets it wait for its dependencies."""

from collections.abc import Sequence
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.core.states import BEFORE_DISPATCH, State
from toolwitness.core.task import blocked_by, is_resolved, root_of
from toolwitness.policy.approvals import build_request
from toolwitness.policy.deadlines import after
from toolwitness.policy.dispatch import judge_dispatch
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft


async def submit(place: Workplace, invocation_id: str) -> Receipt:
    """Take a proposal as far as policy lets it go now; recorded, never assumed. Submitting twice changes nothing."""
    raw = await _inputs(place, invocation_id)
    return await carry_out(place, invocation_id, lambda situation: next_step(place, situation, raw))


async def _inputs(place: Workplace, invocation_id: str) -> bytes:
    """Read the bytes of the inputs that stand."""
    task_id = await place.ledger.find(invocation_id)
    view = await place.ledger.task(task_id) if task_id else None
    record = view.records.get(invocation_id) if view else None
    if record is None or not record.inputs:
        return b"{}"
    return await place.ledger.value(record.inputs["ref"]) or b"{}"


def next_step(place: Workplace, situation: Situation, raw_inputs: bytes, *, caused_by: Sequence[str] = ()) -> list[Draft]:
    """Decide what policy records next about a proposal; nothing where it must wait."""
    record = situation.record
    if record.state not in BEFORE_DISPATCH or record.claim is not None or record.permission is not None:
        return []
    checker = place.checkers.get(record.tool)
    problems = list(checker(raw_inputs)) if checker else []
    if problems:
        return _ask_for_inputs(place, situation, problems, caused_by)
    drafts = _inputs_settled(place, situation, caused_by)
    drafts += _dependencies(place, situation)
    if blocked_by(record, situation.view.task, situation.view.records):
        return drafts
    if situation.policy.requires_approval and not record.granted:
        return drafts + ([] if record.open_approval else [approval_draft(place, situation, raw_inputs, caused_by=caused_by)])
    verdict = judge_dispatch(record, situation.policy, situation.now)
    kind = Kind.PERMITTED if verdict.allowed else Kind.REFUSED
    return [*drafts, make_draft(place, record, kind, permission_facts(situation, rule=verdict.rule, reason=verdict.reason), caused_by=caused_by)]


def permission_facts(situation: Situation, *, rule: str, reason: str) -> dict[str, Any]:
    """Give the fields of a dispatch permission: the rule, the policy version, and the deadlines that run from here."""
    policy = situation.policy
    return {
        "rule": rule,
        "reason": reason,
        "policy_version": policy.version,
        "approval_id": situation.record.approval.id if situation.record.approval else None,
        "inputs_digest": (situation.record.inputs or {}).get("digest"),
        "expires_at": after(situation.now, policy.queue_seconds),
        "result_expires_at": after(situation.now, policy.result_seconds),
    }


def _ask_for_inputs(place: Workplace, situation: Situation, problems: Sequence[Any], caused_by: Sequence[str]) -> list[Draft]:
    """Ask a person for what is missing, or say what is wrong with what is there."""
    record = situation.record
    names = [p.field for p in problems]
    standing = record.input_request
    if standing is not None and list(standing.get("unresolved") or ()) == names and not caused_by:
        return []
    missing_only = all(p.kind == "missing" for p in problems)
    facts: dict[str, Any] = {
        "unresolved": names,
        "collector": "person",
        "fields": [{"name": p.field, "kind": p.kind, "message": p.message} for p in problems],
        "expires_at": after(situation.now, situation.policy.input_seconds),
    }
    if missing_only and not caused_by:
        return [make_draft(place, record, Kind.INPUT_REQUIRED, facts)]
    facts["validation"] = "; ".join(f"{p.field}: {p.message}" for p in problems)[:500]
    return [make_draft(place, record, Kind.INPUTS_REJECTED, facts, caused_by=caused_by)]


def _inputs_settled(place: Workplace, situation: Situation, caused_by: Sequence[str]) -> list[Draft]:
    """Record that nothing required is unresolved any more, where something was."""
    record = situation.record
    if record.state is not State.AWAITING_INPUT and not caused_by:
        return []
    facts = {"inputs_digest": (record.inputs or {}).get("digest"), "checked_by": "declared types"}
    return [make_draft(place, record, Kind.INPUTS_ACCEPTED, facts, caused_by=caused_by)] if record.state is State.AWAITING_INPUT else []


def _dependencies(place: Workplace, situation: Situation) -> list[Draft]:
    """Record each dependency that is resolved now and was not recorded as such, with what resolved it."""
    record, view = situation.record, situation.view
    drafts = []
    for dependency in record.proposal.get("dependencies") or ():
        known = view.records.get(dependency)
        root = root_of(known, view.records) if known else dependency
        current = view.records.get(record.moved_dependencies.get(dependency, dependency))
        if dependency in record.resolved_dependencies or not is_resolved(current, view.task, root=root, records=view.records):
            continue
        by = str(view.task.waived.get(dependency) or (current.state_refs[0] if current and current.state_refs else "waiver"))
        drafts.append(make_draft(place, record, Kind.DEPENDENCY_RESOLVED, {"dependency": dependency, "by": by}, caused_by=[by]))
    return drafts


def approval_draft(place: Workplace, situation: Situation, raw_inputs: bytes, *, caused_by: Sequence[str] = ()) -> Draft:
    """Make an approval request bound to the exact inputs, scope, attempt, policy version and deadline."""
    approval_id = place.ids.new("apr")
    facts = build_request(situation.record, situation.policy, approval_id=approval_id, inputs=raw_inputs, now=situation.now)
    return make_draft(place, situation.record, Kind.APPROVAL_REQUESTED, facts, caused_by=caused_by)


__all__ = ["approval_draft", "next_step", "permission_facts", "submit"]
