"""Edit a call before dispatch, also into a call of another tool: that is then a new call, under the other tool's own policy (R9)."""

from collections.abc import Mapping
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.core.states import ClosureKind, Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.again import moved_dependencies
from toolwitness.service.answer import closure_draft
from toolwitness.service.inputs import edit_inputs, merge, written
from toolwitness.service.kept import kept
from toolwitness.service.propose import Proposal, proposal_draft
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, read, require, said_by


async def edit_call(
    place: Workplace, invocation_id: str, *, actor: Actor, fields: Mapping[str, Any], tool: str = "", reason: str = "", request_id: str = ""
) -> Receipt:
    """Change the inputs of a call before dispatch, or its tool, and then ``fields`` are all of its inputs.

    Where it names another tool, the call is closed as withdrawn and points to the new one (``replacedBy``), which is proposed under the
    other tool's policy and asks for whatever that asks; the record given is the new call's. No approval of the old call covers it.

    Raises:
        NotPermitted: it has been dispatched or has ended; the refusal is on record.
        InvalidInput: no field was given, or one is not JSON.
    """
    record = (await read(place, invocation_id)).record
    if not tool or tool == record.tool:
        return await edit_inputs(place, invocation_id, actor=actor, fields=fields, reason=reason, request_id=request_id)
    raw, new_id = merge(b"{}", written(kept(fields, b"{}"))), place.ids.new("inv")  # a secret goes to no other tool unseen

    def decide(situation: Situation) -> list[Draft]:
        old, waiting = situation.record, situation.record.open_approval
        why = reason or f"edited into a call of {tool}"
        facts = said_by(actor, fields=sorted(fields), reason=why, request_id=request_id or None)
        act = make_draft(
            place, old, Kind.INPUTS_EDITED, facts, owner=Owner.USER, values={"inputs": raw},
            once_key=f"answer:{waiting.id}" if waiting else "",
        )  # fmt: skip  # facts in lines
        verdict = judge_action(
            old, situation.policy, actor, action="edit_inputs", now=situation.now, authority=situation.authority
        )  # fmt: skip  # one call
        require(verdict, act)
        proposal = Proposal(
            tool=tool, inputs=raw, source_request=f"edit of {old.id} by {actor.id}", proposer=actor.id,
            requested_by=str(old.proposal.get("requested_by") or ""),
            purpose=str(old.proposal.get("purpose") or ""), dependencies=old.proposal.get("dependencies") or (), attempt=old.attempt + 1,
            replaces=old.id, role=str(old.proposal.get("role") or ""), required="yes" if old.proposal.get("required", True) else "no",
            caused_by=(act.event.ref,),
        )  # fmt: skip  # facts in lines
        closed = closure_draft(place, situation, ClosureKind.WITHDRAWN, actor, why, caused_by=act, replaced_by=new_id)
        new = proposal_draft(place, old.task_id, proposal, tenant=old.tenant, invocation_id=new_id)
        return [act, closed, new, *moved_dependencies(place, situation, new_id, act)]

    receipt = await carry_out(place, invocation_id, decide)
    after = await submit(place, new_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)
