"""Record what is now known about the effects of an attempt, as a person or the tool's own provider says; the attempt is never rewritten."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from toolwitness.core.errors import InvalidInput, NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.lineage import idempotency_key
from toolwitness.core.record import InvocationRecord
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import judge_action
from toolwitness.policy.provider import CONCLUSIONS, Attempt, Happened, Said
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, inputs_of, make_draft, read, require


async def reconcile(
    place: Workplace, invocation_id: str, *, actor: Actor, conclusion: str = "", detail: str = "", reference: str = ""
) -> Receipt:
    """Record a conclusion, by whom and on what reference; without one, ask the tool what the other side says.

    ``conclusion`` is a word of ``Happened`` (``happened``, ``did-not-happen``, ``partly``) or of ``Conclusion``, or a sentence, which then
    never makes a repetition safe.

    Raises:
        NotPermitted: nothing needs reconciliation, or this process cannot ask the tool.
        InvalidInput: a reference or a detail is given without a conclusion, or the conclusion is that nobody knows.
    """
    if not conclusion.strip():
        if conclusion or detail or reference:
            raise InvalidInput(
                "The conclusion is empty.",
                field="conclusion",
                remedy="Say what the provider's side shows, or leave all out to ask the tool.",
            )
        return await ask_the_tool(place, invocation_id, actor=actor)
    said = conclusion.strip()
    if said == Happened.UNKNOWN:
        raise InvalidInput("That nobody knows concludes nothing.", field="conclusion", remedy="Reconcile it once it is known.")
    concluded = str(CONCLUSIONS[Happened(said)]) if said in tuple(Happened) else conclusion

    def decide(situation: Situation) -> list[Draft]:
        _require_in_doubt(situation, actor)
        facts = {"conclusion": concluded, "by": actor.id, "detail": detail or None, "reference": reference or None}
        return [make_draft(place, situation.record, Kind.RECONCILED, facts)]

    return await carry_out(place, invocation_id, decide)


async def ask_the_tool(place: Workplace, invocation_id: str, *, actor: Actor) -> Receipt:
    """Ask the tool's ``reconcile`` function, outside the ledger's turn, and record what it said.

    Where it does not know, or breaks, the answer is on record as refused with the reason, and every finding stays.

    Raises:
        NotPermitted: nothing needs reconciliation, or this process does not host the tool, or the tool has no such function.
    """
    situation = await read(place, invocation_id)
    verdict = judge_action(
        situation.record, situation.policy, actor, action="reconcile", now=situation.now, authority=situation.authority
    )  # fmt: skip  # one call
    if not verdict.allowed:
        raise NotPermitted(verdict.reason, rule=verdict.rule)
    record = situation.record
    provider = place.providers.get(record.tool)
    if provider is None:
        hosted = record.tool in place.checkers
        why = f"{record.tool} declares no reconcile function" if hosted else f"this process does not host {record.tool or 'the tool'}"
        raise NotPermitted(
            f"{why}, so nobody here can ask the other side.", rule="cannot-ask",
            remedy="Say what the other side shows (happened, did-not-happen, partly) with its reference, or ask where the tool is hosted.",
        )  # fmt: skip  # message first, facts after
    raw = await inputs_of(place, record)
    said = await provider(_attempt(situation, raw), raw)

    def decide(now: Situation) -> list[Draft]:
        _require_in_doubt(now, actor)
        return [_answer(place, now.record, actor, said)]

    return await carry_out(place, invocation_id, decide)


def _require_in_doubt(now: Situation, actor: Actor) -> None:
    require(judge_action(now.record, now.policy, actor, action="reconcile", now=now.now, authority=now.authority))


def _answer(place: Workplace, record: InvocationRecord, actor: Actor, said: Said) -> Draft:
    """Make the record of what the other side said; that it does not know is kept and believed to settle nothing."""
    conclusion = CONCLUSIONS.get(said.happened)
    facts = {
        "conclusion": str(conclusion or said.happened), "by": f"the reconcile function of {record.tool}", "asked_by": actor.id,
        "detail": said.detail or None, "reference": said.reference or None,
    }  # fmt: skip  # facts in lines
    draft = make_draft(place, record, Kind.RECONCILED, facts)
    if conclusion is not None:
        return draft
    why = said.detail or "the other side does not know"
    return replace(draft, event=replace(draft.event, refusal=f"still-unknown: {why}"))


def _attempt(situation: Situation, raw: bytes) -> Attempt:
    record = situation.record
    held = [record.outcome.data] if record.outcome else []
    held += [record.commitment.data] if record.commitment else []
    held += [effect.data for effect in record.effects]
    named = (str(one.get(name) or "") for one in held for name in ("provider_reference", "reference"))
    recorded = str(record.claim.data.get("idempotency_key") or "") if record.claim else ""
    return Attempt(
        invocation_id=record.id, task_id=record.task_id, tool=record.tool, attempt=record.attempt, inputs=_members(raw),
        idempotency_key=recorded or idempotency_key(record, situation.view.shared),
        references=tuple(dict.fromkeys(name for name in named if name)), started_at=record.started_at,
    )  # fmt: skip  # facts in lines


def _members(raw: bytes) -> Mapping[str, Any]:
    try:
        read: object = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
