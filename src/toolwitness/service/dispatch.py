"""A runtime of somebody else's asks whether it may start a call; what it is told no to is on record with the reason (R6)."""

import json

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.lineage import attempt_before, blocked_by
from toolwitness.core.states import BEFORE_DISPATCH, Owner
from toolwitness.core.strict_json import loads_strict
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.dispatch import judge_dispatch
from toolwitness.ports import Draft, Recorded
from toolwitness.service.claim import claim
from toolwitness.service.inputs import rewrite_inputs
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Situation, Workplace, inputs_of, read


async def request_dispatch(
    place: Workplace, invocation_id: str, *, source: str, worker: str, approval_id: str = "", inputs: bytes | None = None
) -> Recorded | PolicyVerdict:
    """Claim the permit of a call for another runtime; give the recorded claim, or policy's verdict, which is then on record as refused.

    ``approval_id`` is the approval under which the runtime says that it acts; ``inputs`` are the ones with which the body would run. Inputs
    that differ from those that stand are not dispatched: they take their place, and what needs an approval is asked for anew.

    Raises:
        NotPermitted: another runtime's call, to which no policy of ours applies.
        UnknownId: nothing is recorded under this id.
    """
    situation = await read(place, invocation_id)
    record = situation.record
    if inputs is not None and record.state in BEFORE_DISPATCH and not _same(inputs, await inputs_of(place, record)):
        why = PolicyVerdict(allowed=False, rule="other-inputs", reason="it would run with other inputs than the ones that stand")
        refused = await _refuse(place, situation, why, source, worker, approval_id)
        await rewrite_inputs(place, invocation_id, by=source, inputs=inputs)
        return refused
    verdict = judge_dispatch(
        record, situation.policy, situation.now, earlier=attempt_before(record, situation.view.shared), approval_id=approval_id,
        blocked_by=blocked_by(record, situation.view.task, situation.view.shared) if record.state in BEFORE_DISPATCH else (),
    )  # fmt: skip  # facts in lines
    if not verdict.allowed and not _may_be_covered(situation, verdict):
        return await _refuse(place, situation, verdict, source, worker, approval_id)
    await submit(place, invocation_id)
    claimed = await claim(place, invocation_id, source=source, worker=worker)
    if isinstance(claimed, PolicyVerdict):
        return await _refuse(place, await read(place, invocation_id), claimed, source, worker, approval_id)
    return claimed


def _may_be_covered(situation: Situation, verdict: PolicyVerdict) -> bool:
    """Tell whether only an approval is missing that nobody has asked for, and a standing grant may be in its place."""
    record = situation.record
    standing = record.permission is not None or situation.view.task.grants or situation.register.grants
    return verdict.rule == "approval-missing" and record.approval is None and bool(standing)


def _same(one: bytes, other: bytes) -> bool:
    """Tell whether two inputs say the same, however their members are ordered.

    What two readers could read differently (a member that comes twice, a number that no double holds) is the same only as the same bytes.
    """
    if one == other:
        return True
    try:
        return json.dumps(loads_strict(one), sort_keys=True) == json.dumps(loads_strict(other), sort_keys=True)
    except (InvalidInput, ValueError):
        return False


async def _refuse(
    place: Workplace, situation: Situation, verdict: PolicyVerdict, source: str, worker: str, approval_id: str
) -> PolicyVerdict:
    """Record the claim that was not given: believed by nobody, taking no once-key."""
    record = situation.record
    event = Event(
        kind=Kind.CLAIMED, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
        attempt=record.attempt, tenant=record.tenant, time=place.stamp(), refusal=f"{verdict.rule}: {verdict.reason}",
        data={"permit": "none", "attempt": record.attempt, "worker": worker, "approval_id": approval_id},
    )  # fmt: skip  # facts in lines
    await place.ledger.append(record.task_id, [Draft(event=event)])
    return verdict
