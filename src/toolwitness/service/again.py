"""Begin again: retry, reverse, resubmit, ask for an approval again, choose another route.

Each makes a new invocation or request; no old one is touched (R9).
"""

from collections.abc import Mapping
from typing import Final

from toolwitness.core.errors import InvalidInput, NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, ClosureKind, Owner
from toolwitness.core.task import latest_attempts, root_of
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.controls import judge_action
from toolwitness.policy.looks import judge_look
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import read_policy
from toolwitness.ports import Draft
from toolwitness.service.answer import closure_draft
from toolwitness.service.looking import look_at
from toolwitness.service.propose import Proposal, proposal_draft
from toolwitness.service.submit import approval_draft, submit
from toolwitness.service.workplace import (
    Decide,
    Receipt,
    Refusal,
    Situation,
    Workplace,
    carry_out,
    carry_out_on_inputs,
    inputs_of,
    make_draft,
    read,
    require,
    said_by,
)


async def retry(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Propose the next attempt of a failed call, under current policy; the record given is the new attempt's.

    Raises:
        NotPermitted: policy permits no retry, and says why; the refusal is on record.
    """
    return await _again(place, invocation_id, Kind.RETRY_REQUESTED, "retry", actor, reason, request_id)


async def resubmit(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Propose an expired or closed call afresh, under current policy; the record given is the replacement's.

    Raises:
        NotPermitted: it has not ended that way; the refusal is on record.
    """
    return await _again(place, invocation_id, Kind.ROUTE_CHOSEN, "resubmit", actor, reason, request_id)


async def _again(place: Workplace, invocation_id: str, kind: Kind, action: str, actor: Actor, reason: str, request_id: str) -> Receipt:
    """Record the wish and the new proposal in one append, move what depends on the old attempt, and submit the new one."""
    raw, unreadable = await _inputs(place, (await read(place, invocation_id)).record)
    new_id = place.ids.new("inv")

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        extra = {"new_invocation": new_id, "reason": reason or None, "request_id": request_id or None}
        if kind is Kind.ROUTE_CHOSEN:
            extra["route"] = "resubmit"
        act = make_draft(place, record, kind, said_by(actor, **extra), owner=Owner.USER, once_key=f"again:{record.id}")
        latest = latest_attempts(situation.view.shared).get(root_of(record, situation.view.shared))
        newest = latest.id if latest else record.id
        verdict = judge_action(
            record, situation.policy, actor, action=action, now=situation.now, latest_attempt=newest, authority=situation.authority
        )  # fmt: skip  # one call
        require(verdict, act)
        if unreadable is not None:
            raise unreadable
        proposal = _next_proposal(record, raw, actor, kind, act.event.ref)
        next_one = proposal_draft(
            place, record.task_id, proposal, tenant=record.tenant, invocation_id=new_id, policy=situation.policy
        )  # fmt: skip  # one call
        return [act, next_one, *moved_dependencies(place, situation, new_id, act)]

    receipt = await carry_out(place, invocation_id, decide)
    after = await submit(place, new_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)


async def _inputs(place: Workplace, record: InvocationRecord) -> tuple[bytes, NotPermitted | None]:
    """Give the inputs to begin again with, or why they cannot be read: that is said only where policy would let anybody begin again."""
    try:
        return await inputs_of(place, record), None
    except NotPermitted as error:
        return b"", error


def _next_proposal(record: InvocationRecord, raw: bytes, actor: Actor, kind: Kind, cause: str) -> Proposal:
    """Make the proposal of the attempt that follows ``record``."""
    old = record.proposal
    is_retry = kind is Kind.RETRY_REQUESTED
    return Proposal(
        tool=record.tool, inputs=raw, source_request=f"{'retry' if is_retry else 'resubmission'} of {record.id} by {actor.id}",
        proposer=actor.id, purpose=str(old.get("purpose") or ""), provenance=old.get("provenance") or (),
        dependencies=old.get("dependencies") or (), attempt=record.attempt + 1, reverses=str(old.get("reverses") or ""),
        retry_of=record.id if is_retry else "", replaces="" if is_retry else record.id,
        role=str(old.get("role") or ""), required="yes" if old.get("required", True) else "no", caused_by=(cause,),
    )  # fmt: skip  # facts in lines


def moved_dependencies(place: Workplace, situation: Situation, new_id: str, act: Draft) -> list[Draft]:
    """Record, for every call that waits for the old attempt, that it now waits for the new one."""
    old = situation.record.id
    drafts: list[Draft] = []
    for record in situation.view.shared.values():
        declared = next((d for d in record.proposal.get("dependencies") or () if record.moved_dependencies.get(d, d) == old), None)
        if declared is not None:
            moved = {"dependency": declared, "moved_to": new_id}
            drafts.append(make_draft(place, record, Kind.DEPENDENCY_MOVED, moved, caused_by=[act.event.ref]))
    return drafts


async def reverse(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Propose the tool's named inverse as a separate invocation; the record given is the inverse's.

    It is judged by the inverse's own policy and runs in the process that hosts the inverse, whichever process asked for it.

    Raises:
        NotPermitted: the tool names no inverse, its window is over, or the inverse's policy is not known here; the refusal is on record.
    """
    before = await read(place, invocation_id)
    raw, unreadable = await _inputs(place, before.record)
    governing = await _inverse_policy(place, before)
    new_id = place.ids.new("inv")

    def decide(situation: Situation) -> list[Draft]:
        record, inverse = situation.record, situation.policy.inverse
        facts = said_by(actor, new_invocation=new_id, reason=reason or None, request_id=request_id or None)
        act = make_draft(place, record, Kind.REVERSAL_REQUESTED, facts, owner=Owner.USER, once_key=f"reverse:{record.id}")
        require(judge_action(record, situation.policy, actor, action="reverse", now=situation.now, authority=situation.authority), act)
        if inverse is None or governing is None:
            raise Refusal(_unknown_inverse(situation), act, remedy=_DECLARE_INVERSE)
        if unreadable is not None:
            raise unreadable
        stays = f" ({inverse.leaves} stays)" if inverse.leaves else ""
        proposal = Proposal(
            tool=inverse.tool, inputs=raw, source_request=f"reversal of {record.id} by {actor.id}", proposer=actor.id,
            purpose=f"Reverse: {record.proposal.get('purpose') or record.tool}{stays}", reverses=record.id, required="no",
            caused_by=(act.event.ref,),
        )  # fmt: skip  # facts in lines
        return [act, proposal_draft(place, record.task_id, proposal, tenant=record.tenant, invocation_id=new_id, policy=governing)]

    receipt = await carry_out(place, invocation_id, decide)
    after = await submit(place, new_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)


_DECLARE_INVERSE: Final = (
    "Name the inverse in the policy file of this process, or ask for the reversal where it is declared: through that process's page or API."
)


def _unknown_inverse(situation: Situation) -> PolicyVerdict:
    named = situation.policy.inverse.tool if situation.policy.inverse else ""
    reason = f"the inverse is {named}, which this process does not know, and the call does not say under which policy it stands"
    return PolicyVerdict(allowed=False, rule="inverse-unknown", reason=reason)


async def _inverse_policy(place: Workplace, situation: Situation) -> ToolPolicy | None:
    """Give the policy of the inverse: this process's own, the policy file's, else the one recorded with the call; ``None`` without any."""
    inverse = situation.policy.inverse
    if inverse is None:
        return None
    if inverse.tool in place.policies or inverse.tool in place.file.tools:
        return place.policy_for(inverse.tool)
    written = situation.record.proposal.get("inverse_policy")
    raw = await place.ledger.value(str(written.get("ref"))) if isinstance(written, Mapping) else None
    try:
        found = read_policy(raw) if raw else None
        return place.file.govern(found.tool, found) if found is not None and found.tool == inverse.tool else None
    except InvalidInput:
        return None  # it cannot be read here, or our file contradicts it


async def request_approval_again(place: Workplace, invocation_id: str, *, actor: Actor, reason: str = "", request_id: str = "") -> Receipt:
    """Ask anew after an approval was invalidated (same invocation) or has expired (a replacement, since expired is final).

    Raises:
        NotPermitted: a request is still open, or nothing needs one; the refusal is on record.
    """
    situation = await read(place, invocation_id)
    if situation.record.elapsed:
        return await resubmit(place, invocation_id, actor=actor, reason=reason, request_id=request_id)

    async def plan(before: Situation, raw: bytes) -> Decide:
        look = await look_at(place, before, raw)

        def decide(now: Situation) -> list[Draft]:
            require(judge_action(now.record, now.policy, actor, action="request_approval_again", now=now.now, authority=now.authority))
            if look.here != "yes":
                raise Refusal(_NOT_HERE)
            require(judge_look(now.policy.read_again, look))
            return [approval_draft(place, now, raw, look=look)]

        return decide

    return await carry_out_on_inputs(place, invocation_id, plan)


_NOT_HERE: Final = PolicyVerdict(
    allowed=False, rule="not-looked", reason="what it is about is read by the process that hosts the tool: ask there, on its page or API",
)  # fmt: skip  # facts in lines


async def choose_route(
    place: Workplace, invocation_id: str, *, actor: Actor, route: str, reason: str = "", request_id: str = ""
) -> Receipt:
    """Record that a person chose one of the declared alternate routes; before dispatch this withdraws the call.

    Raises:
        NotPermitted: the route is not declared, or the call has been dispatched; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        facts = said_by(actor, route=route, reason=reason or None, request_id=request_id or None)
        waiting = situation.record.open_approval
        act = make_draft(
            place, situation.record, Kind.ROUTE_CHOSEN, facts, owner=Owner.USER, once_key=f"answer:{waiting.id}" if waiting else ""
        )
        verdict = judge_action(
            situation.record, situation.policy, actor, action="choose_route", now=situation.now, route=route, authority=situation.authority
        )  # fmt: skip  # one call
        require(verdict, act)
        if situation.record.state in TERMINAL:
            return [act]  # what has ended is not closed a second time
        return [act, closure_draft(place, situation, ClosureKind.WITHDRAWN, actor, reason or f"chose: {route}", caused_by=act)]

    return await carry_out(place, invocation_id, decide)
