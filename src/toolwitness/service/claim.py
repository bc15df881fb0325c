"""Claim the dispatch permit of an invocation: once, atomically, in the ledger (R6). Whoever does not hold it runs nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolwitness.core.errors import OnceKeyTaken
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.lineage import attempt_before, idempotency_key
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import PolicyVerdict, Verdict
from toolwitness.policy.dispatch import judge_claim
from toolwitness.policy.looks import NOT_TAKEN, Look
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.covering import cover_at_claim
from toolwitness.service.looking import look_at
from toolwitness.service.submit import approval_draft, submit
from toolwitness.service.workplace import Situation, Workplace, inputs_of, make_draft, read

_CHANGED: Final = frozenset({"target-changed", "price-changed"})
"""Rules that say that what it is about is another thing now: a fresh request shows the old and the new."""
_UNREAD: Final = frozenset({"target-unread", "price-unread"})
_GRANT_IS_VOID: Final = frozenset({"approval-bound", "approval-lapsed", "authority-revoked"}) | _CHANGED | _UNREAD
"""Rules that say that a grant no longer covers this dispatch: the approval is invalidated, so that it can be asked for again."""


async def claim(place: Workplace, invocation_id: str, *, source: str, worker: str) -> Recorded | PolicyVerdict:
    """Claim the permit for ``worker``; give the recorded claim, or policy's verdict that there is nothing to claim.

    A verdict that refuses says who holds the permit or what closed the call. A grant that has lapsed, or was given for something else than
    what stands, or by somebody who may no more, is recorded as invalidated: else the call would look approved for ever and never start.
    Where a standing grant stands no more, the permission is taken back and an approval is asked for. Where the target or the price is
    another than when it was approved, the fresh request for what is there now is recorded in the same step.
    """
    before = await read(place, invocation_id)
    raw, look = await _look(place, before)
    refused: list[PolicyVerdict] = []

    def deciding(view: TaskView) -> Sequence[Draft]:
        record = view.records[invocation_id]
        now = replace(before, view=view, record=record, now=place.now())
        verdict = judge_claim(
            record, now.policy, now.now, earlier=attempt_before(record, view.shared), authority=now.authority, cover=cover_at_claim(now),
            look=look if record.inputs == before.record.inputs else NOT_TAKEN,
        )  # fmt: skip  # one call
        refused[:] = [] if verdict.allowed else [verdict]
        if verdict.allowed:
            return [_claim(place, record, source, worker, key=idempotency_key(record, view.shared))]
        return _void_grant(place, now, verdict, raw, look)

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


async def _look(place: Workplace, situation: Situation) -> tuple[bytes, Look]:
    """Read the target and the price once more, where the policy wants it and the permit may be there to be claimed."""
    record = situation.record
    if not situation.policy.read_again or record.claim is not None or record.permission is None or record.permission.get("refused"):
        return b"", NOT_TAKEN
    raw = await inputs_of(place, record)
    return raw, await look_at(place, situation, raw)


def _claim(place: Workplace, record: InvocationRecord, source: str, worker: str, *, key: str) -> Draft:
    return Draft(
        event=Event(
            kind=Kind.CLAIMED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
            attempt=record.attempt, tenant=record.tenant, time=place.stamp(), once_key=f"dispatch:{record.id}",
            data={
                "permit": place.ids.new("prm"), "attempt": record.attempt, "worker": worker,
                "inputs_digest": (record.inputs or {}).get("digest") or "",
                "approval_id": record.approval.id if record.approval else "",
                "idempotency_key": key,
            },
            caused_by=(record.permission["ref"],) if record.permission else (),
        )
    )  # fmt: skip  # facts in lines


def _void_grant(place: Workplace, situation: Situation, verdict: PolicyVerdict, raw: bytes, look: Look) -> list[Draft]:
    """Record that a grant is good no longer, where that is why the permit cannot be claimed, and ask anew where something has changed."""
    record = situation.record
    unasked = record.approval is None and verdict.rule in _CHANGED | _UNREAD
    if verdict.rule == "standing-grant" or unasked:
        facts = {"rule": verdict.rule, "reason": verdict.reason, "policy_version": situation.policy.version}
        return [make_draft(place, record, Kind.REFUSED, facts)]
    if verdict.rule not in _GRANT_IS_VOID or record.approval is None or not record.granted:
        return []
    changed = list(verdict.facts.get("changed") or ())
    why = {"approval_id": record.approval.id, "reason": verdict.reason, "rule": verdict.rule, "changed": changed or None}
    voided = make_draft(place, record, Kind.APPROVAL_INVALIDATED, why)
    if verdict.rule not in _CHANGED:
        return [voided]
    return [voided, approval_draft(place, situation, raw, caused_by=[voided.event.ref], look=look, changed=changed)]
