"""Supply missing inputs, or edit the ones that stand.

Edited inputs are new bound inputs: an approval of the old ones does not cover them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolwitness.contract import slices
from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, Owner
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.controls import judge_action
from toolwitness.policy.looks import judge_look
from toolwitness.ports import Draft
from toolwitness.service.kept import kept
from toolwitness.service.looking import look_at
from toolwitness.service.sealing import open_value
from toolwitness.service.submit import approval_draft, asked_facts, submit
from toolwitness.service.workplace import (
    Decide,
    InputProblem,
    Receipt,
    Situation,
    Workplace,
    carry_out_on_inputs,
    dispatched,
    inputs_of,
    make_draft,
    require,
    said_by,
)


async def supply_input(
    place: Workplace, invocation_id: str, *, actor: Actor, fields: Mapping[str, Any], reason: str = "", request_id: str = ""
) -> Receipt:
    """Add ``fields`` to the inputs and submit the result; what is still missing or wrong is asked for again, and the rest is kept.

    Raises:
        NotPermitted: nothing is asked for, or it has ended; the refusal is on record.
        InvalidInput: no field was given, or one is not JSON.
    """
    return await _replace(place, invocation_id, Kind.INPUT_SUPPLIED, "supply_input", actor, fields, reason, request_id)


async def edit_inputs(
    place: Workplace, invocation_id: str, *, actor: Actor, fields: Mapping[str, Any], reason: str = "", request_id: str = ""
) -> Receipt:
    """Change inputs before dispatch; a pending or given approval of the old inputs is invalidated and asked for anew.

    What stands in the place of a redacted value, and is left there, keeps that value.

    Raises:
        NotPermitted: it has been dispatched or has ended; the refusal is on record.
        InvalidInput: no field was given, or one is not JSON.
    """
    return await _replace(place, invocation_id, Kind.INPUTS_EDITED, "edit_inputs", actor, fields, reason, request_id)


async def _replace(
    place: Workplace, invocation_id: str, kind: Kind, action: str, actor: Actor, fields: Mapping[str, Any], reason: str, request_id: str
) -> Receipt:
    """Record the act with the whole resulting inputs, what the check of them says, and let policy go on from there."""
    written(fields)  # what cannot be written is refused before anything is read

    def plan(before: Situation, tried: bytes) -> Decide:
        given = written(kept(fields, b"{}" if dispatched(before.record) else tried))
        facts = said_by(actor, fields=sorted(given), reason=reason or None, request_id=request_id or None)
        raw = merge(b"{}" if dispatched(before.record) else tried, given)
        checker = place.checkers.get(before.record.tool)
        problems = list(checker(raw)) if checker else []

        def decide(situation: Situation) -> list[Draft]:
            record = situation.record
            act = make_draft(place, record, kind, facts, owner=Owner.USER, values={"inputs": raw})
            require(judge_action(record, situation.policy, actor, action=action, now=situation.now, authority=situation.authority), act)
            if dispatched(record):
                answered = {"checked_by": "whoever asked for it in the middle of the run", "inputs_digest": "as supplied"}
                return [act, make_draft(place, record, Kind.INPUTS_ACCEPTED, answered, caused_by=[act.event.ref])]
            checked_by = "declared types" if checker else "nobody yet: the process that runs it checks it before it starts"
            return [act, *_void(place, record, act, sorted(given)), *_taken(place, situation, act, raw, problems, checked_by)]

        return decide

    receipt = await carry_out_on_inputs(place, invocation_id, plan, inputs=_last_tried)
    if receipt.record.input_request is not None or not receipt.record.governed:
        return receipt  # it waits for the rest; or another runtime has asked, and goes on with what was supplied
    after = await submit(place, invocation_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)


async def _last_tried(place: Workplace, record: InvocationRecord) -> bytes:
    """Give the inputs that a person last tried: the rejected ones, else those that stand. What was right in them is not asked for twice."""
    rejected = (record.input_request or {}).get("raw")
    tried = await open_value(place.ledger, str(rejected["ref"])) if rejected else None
    return await inputs_of(place, record) if tried is None else tried


async def rewrite_inputs(place: Workplace, invocation_id: str, *, by: str, inputs: bytes) -> Receipt:
    """Put other inputs in the place of those that stand, because a rule of policy (``by``) says so, before dispatch.

    Whoever approved the old inputs did not approve these: an approval that was asked for, or given, no longer counts, and is asked anew.

    Raises:
        NotPermitted: the call has been dispatched or has ended; nothing is recorded.
    """

    def plan(_before: Situation, _standing: bytes) -> Decide:
        def decide(situation: Situation) -> list[Draft]:
            record = situation.record
            require(_still_open(record))
            asked = record.approval is not None
            facts = {"checked_by": by, "inputs_digest": "as recorded with the inputs"}
            accepted = make_draft(place, record, Kind.INPUTS_ACCEPTED, facts, values={"inputs": inputs})
            return [*_void(place, record, accepted, [by], why=f"{by} changed the inputs"), accepted] if asked else [accepted]

        return decide

    receipt = await carry_out_on_inputs(place, invocation_id, plan)
    if receipt.record.approval is None:
        return receipt
    after = await ask_anew(place, invocation_id)
    return Receipt(recorded=(*receipt.recorded, *after.recorded), record=after.record)


async def ask_anew(place: Workplace, invocation_id: str) -> Receipt:
    """Ask for an approval of the inputs that stand now, where the last one was voided; nothing where one is open or granted."""

    async def plan(before: Situation, standing: bytes) -> Decide:
        look = await look_at(place, before, standing)

        def decide(situation: Situation) -> list[Draft]:
            record = situation.record
            over = record.state not in BEFORE_DISPATCH or record.open_approval is not None or record.granted
            unseen = not judge_look(situation.policy.read_again, look).allowed
            return [] if over or unseen else [approval_draft(place, situation, standing, look=look)]

        return decide

    return await carry_out_on_inputs(place, invocation_id, plan)


def _still_open(record: InvocationRecord) -> PolicyVerdict:
    dispatched_already = record.claim is not None or record.state not in BEFORE_DISPATCH
    reason = f"it is {record.state} and its permit was claimed" if record.claim is not None else f"it is {record.state}"
    return PolicyVerdict(allowed=not dispatched_already, rule="before-dispatch", reason=reason)


def _void(
    place: Workplace, record: InvocationRecord, act: Draft, changed: Sequence[str], *, why: str = "the inputs were edited"
) -> list[Draft]:
    """Invalidate an approval that was asked for, or given, for the inputs as they were."""
    if record.approval is None or not (record.open_approval is not None or record.granted):
        return []
    facts = {"approval_id": record.approval.id, "reason": why, "rule": "inputs-changed", "changed": list(changed)}
    key = f"answer:{record.approval.id}" if record.open_approval else ""
    return [make_draft(place, record, Kind.APPROVAL_INVALIDATED, facts, caused_by=[act.event.ref], once_key=key)]


def _taken(
    place: Workplace, situation: Situation, act: Draft, raw: bytes, problems: Sequence[InputProblem], checked_by: str
) -> list[Draft]:
    """Say what the check made of the new inputs: accepted, accepted as far as they go, or rejected as a whole with the text kept."""
    record, cause = situation.record, [act.event.ref]
    if any(problem.kind != "missing" for problem in problems):
        wrong = asked_facts(situation, problems, why="yes")
        return [make_draft(place, record, Kind.INPUTS_REJECTED, wrong, caused_by=cause, values={"raw": raw})]
    facts = {"checked_by": checked_by, "inputs_digest": "as recorded with the inputs"}
    if not problems:
        return [make_draft(place, record, Kind.INPUTS_ACCEPTED, facts, caused_by=cause, values={"inputs": raw})]
    partly = {**facts, "unresolved": [problem.field for problem in problems]}
    return [
        make_draft(place, record, Kind.INPUTS_ACCEPTED, partly, caused_by=cause, values={"inputs": raw}),
        make_draft(place, record, Kind.INPUT_REQUIRED, asked_facts(situation, problems), caused_by=cause),
    ]


def written(fields: Mapping[str, Any]) -> dict[str, str]:
    """Write each given input as JSON text.

    Raises:
        InvalidInput: none was given, or one has no JSON form; the field is named.
    """
    if not fields:
        raise InvalidInput("No input was given.", field="fields", remedy='Send the inputs by name, for example {"seat": "14C"}.')
    texts: dict[str, str] = {}
    for name, value in fields.items():
        try:
            texts[name] = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            remedy = "Give text, a whole number, true, false, null, or lists and objects of them."
            raise InvalidInput(f"The input {name!r} has no JSON form: {error}.", field=name, remedy=remedy) from None
    return texts


def merge(standing: bytes, given: Mapping[str, str]) -> bytes:
    """Put ``given`` (JSON texts by name) into an object; every other member stays exactly as it is written.

    Inputs that are not one JSON object, or that name a member twice, have no members to keep: then what is given is all there is.
    """
    members = {**_members(standing), **given}
    return ("{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}").encode()


def _members(raw: bytes) -> dict[str, str]:
    """Give the members of a JSON object as they are written."""
    try:
        text = raw.decode("utf-8-sig")
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except ValueError:
        return {}
    if not isinstance(pairs, _Pairs) or len(dict(pairs)) != len(pairs):
        return {}
    return {name: text[begin:end] for name, (begin, end) in slices.members(text, slices.start(text)).items()}


class _Pairs(list[tuple[str, Any]]):
    """The members of one JSON object, repeated names included."""
