"""Claim the dispatch permit of an invocation: once, atomically, in the ledger (R6). Whoever does not hold it runs nothing."""

from toolwitness.core.errors import Conflict, OnceKeyTaken
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import PolicyVerdict, Verdict
from toolwitness.policy.dispatch import judge_claim
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import Workplace, read


async def claim(place: Workplace, invocation_id: str, *, source: str, worker: str) -> Recorded | PolicyVerdict:
    """Claim the permit for ``worker``; give the recorded claim, or policy's verdict that there is nothing to claim.

    A verdict that refuses says who holds the permit or what closed the call.
    """
    while True:
        situation = await read(place, invocation_id)
        record = situation.record
        verdict = judge_claim(record, situation.policy, situation.now)
        if not verdict.allowed:
            return verdict
        event = Event(
            kind=Kind.CLAIMED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
            attempt=record.attempt, tenant=record.tenant, time=place.stamp(), once_key=f"dispatch:{record.id}",
            data={
                "permit": place.ids.new("prm"), "attempt": record.attempt, "worker": worker,
                "inputs_digest": (record.inputs or {}).get("digest") or "",
                "approval_id": record.approval.id if record.approval else "",
            },
            caused_by=(record.permission["ref"],) if record.permission else (),
        )  # fmt: skip  # facts in lines
        try:
            recorded = (await place.ledger.append(record.task_id, [Draft(event=event)], expected_sequence=situation.view.sequence))[0]
        except OnceKeyTaken as taken:
            return PolicyVerdict(allowed=False, rule="one-dispatch", reason=f"{taken.winner.event.kind} took the dispatch first")
        except Conflict:
            continue
        if recorded.verdict is Verdict.REFUSED:
            return PolicyVerdict(allowed=False, rule="one-dispatch", reason=recorded.reason)
        return recorded
