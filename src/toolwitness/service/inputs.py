"""Supply missing inputs, or edit the ones that stand. Edited inputs are new bound inputs: an approval of the old ones does not cover them."""

import json
from collections.abc import Mapping
from typing import Any

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, make_draft, read, require, said_by


async def supply_input(
    place: Workplace, invocation_id: str, *, actor: Actor, fields: Mapping[str, Any], reason: str = "", request_id: str = ""
) -> Receipt:
    """Add ``fields`` to the inputs and submit the result; what is still missing or wrong is asked for again.

    Raises:
        NotPermitted: nothing is asked for, or it has ended; the refusal is on record.
        InvalidInput: no field was given.
    """
    return await _replace(place, invocation_id, Kind.INPUT_SUPPLIED, "supply_input", actor, fields, reason, request_id)


async def edit_inputs(
    place: Workplace, invocation_id: str, *, actor: Actor, fields: Mapping[str, Any], reason: str = "", request_id: str = ""
) -> Receipt:
    """Change inputs before dispatch; a pending or given approval of the old inputs is invalidated and asked for anew.

    Raises:
        NotPermitted: it has been dispatched or has ended; the refusal is on record.
        InvalidInput: no field was given.
    """
    return await _replace(place, invocation_id, Kind.INPUTS_EDITED, "edit_inputs", actor, fields, reason, request_id)


async def _replace(
    place: Workplace, invocation_id: str, kind: Kind, action: str, actor: Actor, fields: Mapping[str, Any], reason: str, request_id: str
) -> Receipt:
    """Record the act with the whole resulting inputs, check them, and let policy go on from there."""
    if not fields:
        raise InvalidInput("No input was given.", field="fields", remedy="Send the inputs by name, for example {\"seat\": \"14C\"}.")
    before = (await read(place, invocation_id)).record
    old = await place.ledger.value(before.inputs["ref"]) if before.inputs else None
    merged = {**(json.loads(old) if old else {}), **fields}
    raw = json.dumps(merged, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    checker = place.checkers.get(before.tool)
    problems = list(checker(raw)) if checker else []

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        facts = said_by(actor, fields=sorted(fields), reason=reason or None, request_id=request_id or None)
        act = make_draft(place, record, kind, facts, owner=Owner.USER, values={"inputs": raw})
        require(judge_action(record, situation.policy, actor, action=action, now=situation.now), act)
        drafts = [act]
        if record.approval is not None and (record.open_approval is not None or record.granted):
            key = f"answer:{record.approval.id}" if record.open_approval else ""
            why = {"approval_id": record.approval.id, "reason": "the inputs were edited", "rule": "inputs-changed", "changed": sorted(fields)}
            drafts.append(make_draft(place, record, Kind.APPROVAL_INVALIDATED, why, caused_by=[act.event.ref], once_key=key))
        if problems:
            wrong = {
                "validation": "; ".join(f"{p.field}: {p.message}" for p in problems)[:500],
                "collector": "person",
                "unresolved": [p.field for p in problems],
                "fields": [{"name": p.field, "kind": p.kind, "message": p.message} for p in problems],
            }
            return [*drafts, make_draft(place, record, Kind.INPUTS_REJECTED, wrong, caused_by=[act.event.ref], values={"raw": raw})]
        accepted = {"checked_by": "declared types", "inputs_digest": "as recorded with the inputs"}
        return [*drafts, make_draft(place, record, Kind.INPUTS_ACCEPTED, accepted, caused_by=[act.event.ref], values={"inputs": raw})]

    receipt = await carry_out(place, invocation_id, decide)
    if problems:
        return receipt
    after = await submit(place, invocation_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)


