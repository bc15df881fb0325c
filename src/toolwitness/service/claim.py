"""Claim the dispatch permit of an invocation: once, atomically, in the ledger (R6). Whoever does not hold it runs nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolwitness.core.errors import OnceKeyTaken
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.lineage import attempt_before
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import PolicyVerdict, Verdict
from toolwitness.policy.dispatch import judge_claim
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.covering import cover_at_claim
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Situation, Workplace, make_draft, read

_GRANT_IS_VOID: Final = frozenset({"approval-bound", "approval-lapsed", "authority-revoked"})
"""Rules that say that a grant no longer covers this dispatch: the approval is invalidated, so that it can be asked for again."""


async def claim(place: Workplace, invocation_id: str, *, source: str, worker: str) -> Recorded | PolicyVerdict:
    """Claim the permit for ``worker``; give the recorded claim, or policy's verdict that there is nothing to claim.

    A verdict that refuses says who holds the permit or what closed the call. A grant that has lapsed, or was given for something else than
    what stands, or by somebody who may no more, is recorded as invalidated: else the call would look approved for ever and never start.
    Where a standing grant stands no more, the permission is taken back and an approval is asked for.
    """
    before = await read(place, invocation_id)
    refused: list[PolicyVerdict] = []

    def deciding(view: TaskView) -> Sequence[Draft]:
        record = view.records[invocation_id]
        now = replace(before, view=view, record=record, now=place.now())
        verdict = judge_claim(
            record, now.policy, now.now, earlier=attempt_before(record, view.shared), authority=now.authority, cover=cover_at_claim(now)
        )  # fmt: skip  # one call
        refused[:] = [] if verdict.allowed else [verdict]
        return [_claim(place, record, source, worker)] if verdict.allowed else _void_grant(place, now, verdict)

    try:
        recorded = await place.ledger.decide(before.view.task.id, deciding)
    except OnceKeyTaken as taken:
        return PolicyVerdict(allowed=False, rule="one-dispatch", reason=f"{taken.winner.event.kind} took the dispatch first")
    if refused and refused[0].rule == "standing-grant" and recorded:
        await submit(place, invocation_id)
    if refused:
        return refused[0]
    if recorded[0].verdict is Verdict.REFUSED:
        return PolicyVerdict(allowed=False, rule="one-dispatch", reason=recorded[0].reason)
    return recorded[0]


def _claim(place: Workplace, record: InvocationRecord, source: str, worker: str) -> Draft:
    return Draft(
        event=Event(
            kind=Kind.CLAIMED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
            attempt=record.attempt, tenant=record.tenant, time=place.stamp(), once_key=f"dispatch:{record.id}",
            data={
                "permit": place.ids.new("prm"), "attempt": record.attempt, "worker": worker,
                "inputs_digest": (record.inputs or {}).get("digest") or "",
                "approval_id": record.approval.id if record.approval else "",
            },
            caused_by=(record.permission["ref"],) if record.permission else (),
        )
    )  # fmt: skip  # facts in lines


def _void_grant(place: Workplace, situation: Situation, verdict: PolicyVerdict) -> list[Draft]:
    """Record that a grant is good no longer, where that is why the permit cannot be claimed."""
    record = situation.record
    if verdict.rule == "standing-grant":
        facts = {"rule": verdict.rule, "reason": verdict.reason, "policy_version": situation.policy.version}
        return [make_draft(place, record, Kind.REFUSED, facts)]
    if verdict.rule not in _GRANT_IS_VOID or record.approval is None or not record.granted:
        return []
    facts = {"approval_id": record.approval.id, "reason": verdict.reason, "rule": verdict.rule}
    return [make_draft(place, record, Kind.APPROVAL_INVALIDATED, facts)]
