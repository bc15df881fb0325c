"""What people and their clients do in a report, as commands of the desk. What is no command decides nothing."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, Owner
from toolwitness.core.verdicts import Actor
from toolwitness.policy.approvals import CLIENT
from toolwitness.testing.reports.runtime_words import Word, nothing, policy_of_tool
from toolwitness.testing.reports.stage import Answer, Stage, parsed, same_inputs
from toolwitness.testing.reports.story import Step, text

ACTS: Final[Mapping[str, str]] = MappingProxyType({
    "approve": "approve", "approved": "approve", "accept": "approve", "allow": "approve", "confirm": "approve", "yes": "approve",
    "deny": "deny", "denied": "deny", "reject": "deny", "rejected": "deny", "refuse": "deny", "no": "deny",
    "withdraw": "withdraw", "dismiss": "dismiss", "cancel": "cancel", "stop": "cancel", "request_cancellation": "cancel",
    "retry": "retry", "resubmit": "resubmit", "retry-as-new-invocation": "retry", "undo": "reverse", "reverse": "reverse",
    "request_approval_again": "ask-again", "request-approval-again": "ask-again", "submit": "submit", "edit": "edit",
    "reconcile": "reconcile", "reconciled": "reconcile",
    "respond": "respond", "reply": "respond", "answer": "respond",
})  # fmt: skip  # words in groups
"""Kinds of decisions and names of controls, and what they do at our desk."""
_LOOKING: Final = frozenset({"inspect", "review", "copy", "continue", "open", "expand", "view", "details", "scroll"})


async def decision(stage: Stage, step: Step) -> Answer:
    """Somebody, or a client in somebody's name, decides."""
    kind = text(step.fields.get("kind")) or text(step.fields.get("control"))
    if kind in _LOOKING:
        return Answer()
    if kind not in ACTS:
        return Answer(unclear=f"a decision of the unknown kind {kind!r}")
    return await act(stage, step, ACTS[kind])


async def act(stage: Stage, step: Step, what: str) -> Answer:
    """Carry one decision to every call that it is about."""
    named = text(step.fields.get("approval"))
    covered = stage.approvals.get(named) or {stage.id_of(stage.key(step)): named}
    if step.invocation and stage.id_of(stage.key(step)) not in covered:
        covered = {stage.id_of(stage.key(step)): named}  # it names an approval of another call: the desk is asked exactly that
    answers = [await _one(stage, step, what, target, approval) for target, approval in covered.items()]
    refused = next((answer for answer in answers if answer.decision == "refused"), None)
    whole = refused or answers[0]
    whole.recorded = tuple(one for answer in answers for one in answer.recorded)
    return whole


async def _one(stage: Stage, step: Step, what: str, target: str, approval: str) -> Answer:
    """Carry one decision to one call."""
    desk, by = stage.desk, _speaker(stage, step)
    reason, request_id = text(step.fields.get("reason")), text(step.fields.get("request_id"))
    if await stage.record(target) is None:
        return Answer(decision="refused", act=what, rule="unknown-id", reason=f"nothing is recorded under {target!r}")
    binding = {name: value for name, value in (("approval_id", approval), ("reason", reason), ("request_id", request_id)) if value}
    match what:
        case "approve":
            digest = await _digest_in_view(stage, step, target)
            return await stage.decide(what, desk.approve(target, by=by, **binding, **({"inputs_digest": digest} if digest else {})))
        case "deny":
            return await stage.decide(what, desk.deny(target, by=by, **binding))
        case "withdraw" | "dismiss":
            close = desk.withdraw if what == "withdraw" else desk.dismiss
            return await stage.decide(what, close(target, by=by, reason=reason))
        case "cancel":
            return await _cancel(stage, step, target, by)
        case "resubmit" | "retry":
            again = desk.resubmit if what == "resubmit" else desk.retry
            return await _again(stage, target, stage.decide(what, again(target, by=by, reason=reason)))
        case "reverse":
            return await stage.decide(what, desk.reverse(target, by=by, reason=reason))
        case "ask-again":
            return await _again(stage, target, stage.decide(what, desk.request_approval_again(target, by=by)))
        case "edit" | "reconcile":
            return await (_edit if what == "edit" else _reconcile)(stage, step, target, by)
        case "respond":
            said = next((step.fields[name] for name in ("message", "response", "answer", "text", "value") if name in step.fields), "")
            return await stage.decide(what, desk.respond(target, said, by=by, reason=reason, approval_id=approval))
        case _:
            return await stage.decide(what, desk.submit(target))


_HAPPENED: Final[Mapping[str, str]] = MappingProxyType({
    **dict.fromkeys(("happened", "charged", "executed", "applied", "sent", "done", "effect", "yes"), "happened"),
    **dict.fromkeys(("did-not-happen", "not-charged", "not-executed", "not-applied", "not-sent", "no-effect", "none"), "did-not-happen"),
    **dict.fromkeys(("partly", "partial", "partial-effect", "partially"), "partly"),
})  # fmt: skip  # one line an answer
"""The reports' words for what a reconciliation found."""


async def _reconcile(stage: Stage, step: Step, target: str, by: Actor) -> Answer:
    """Say what the other side shows; a word that no table has concludes nothing."""
    named = (text(step.fields.get(name)) for name in ("conclusion", "outcome", "result", "value", "status"))
    said = next((word.removeprefix("reconciled-") for word in named if word), "")
    if said not in _HAPPENED:
        return Answer(unclear=f"a reconciliation that found {said!r}")
    reference = text(step.fields.get("ref")) or text(step.fields.get("reference"))
    return await stage.decide("reconcile", stage.desk.reconcile(target, _HAPPENED[said], by=by, reference=reference))


async def _edit(stage: Stage, step: Step, target: str, by: Actor) -> Answer:
    """Change the inputs of a call. An edit into another tool makes another call, which from then on goes under the report's name."""
    action = step.fields.get("edited_action")
    said = cast("Mapping[str, Any]", action) if isinstance(action, Mapping) else step.fields
    given, record = said.get("args", said.get("arguments")), await stage.record(target)
    tool = text(said.get("tool")) or text(said.get("name"))
    if record is None or not isinstance(given, Mapping):
        return Answer(unclear=f"an edit to {tool or 'no inputs'}")
    fields = cast("Mapping[str, Any]", given)
    if not tool or tool == record.tool:
        return await stage.decide("edit", stage.desk.edit_inputs(target, fields, by=by))
    stage.desk.declare_policy(policy_of_tool(stage.story, tool))
    answer = await stage.decide("edit", stage.desk.edit_inputs(target, fields, by=by, tool=tool))
    made = [r.event.invocation_id for r in answer.recorded if r.event.kind == Kind.PROPOSED and r.event.invocation_id]
    if made:
        stage.names[stage.named(target)] = str(made[0])
    return answer


def _speaker(stage: Stage, step: Step) -> Actor:
    """Give who acts. What a client sends for a person comes through a channel of that name, unless it names a person who decided."""
    actor = stage.actor(step.fields.get("actor"))
    answers_for = step.source == "client" and (step.type == "elicitation.answer" or not actor.id)
    channel = CLIENT if answers_for else "http" if step.source == "client" else step.source
    return Actor(id=actor.id, roles=actor.roles, name=actor.name, channel=channel)


async def _digest_in_view(stage: Stage, step: Step, target: str) -> str:
    """Give our digest of the inputs that the person had in view, where the report says which; a foreign one where they are others."""
    digest = text(step.fields.get("args_digest"))
    record = await stage.record(target)
    if not digest or record is None:
        return ""
    asked = next((a for a in record.approvals if a.id == text(step.fields.get("approval"))), record.approval)
    bound = asked.inputs if asked and asked.inputs else record.inputs
    raw = (await stage.ledger.value(str(bound["ref"])) if bound else None) or b"{}"
    if digest in stage.inputs and same_inputs(stage.inputs[digest], parsed(raw)):
        return str((bound or {}).get("digest") or "")
    return digest


async def _again(stage: Stage, target: str, deciding: Any) -> Answer:
    """Name the attempt that a decision has made as the report will: one more under the same name."""
    answer: Answer = await deciding
    made = [r.event.invocation_id for r in answer.recorded if r.event.kind == Kind.PROPOSED and r.event.invocation_id]
    if made:
        name, _, attempt = stage.named(target).rpartition("#")
        stage.names[f"{name}#{int(attempt) + 1}"] = str(made[0])
    return answer


async def _cancel(stage: Stage, step: Step, target: str, by: Actor) -> Answer:
    """Ask that a call be stopped; before it is dispatched that is a withdrawal."""
    record, reason = await stage.record(target), text(step.fields.get("reason"))
    if record is not None and record.state in BEFORE_DISPATCH and record.claim is None and not record.starts:
        return await stage.decide("withdraw", stage.desk.withdraw(target, by=by, reason=reason))
    scope = text(step.fields.get("scope")) or "this invocation"
    return await stage.decide("cancel", stage.desk.request_cancellation(target, by=by, reason=reason, scope=scope))


async def cancel_requested(stage: Stage, step: Step) -> Answer:
    """Somebody asks that a call, or everything that a run still does, be stopped."""
    if step.invocation:
        return await act(stage, step, "cancel")
    scope = text(step.fields.get("scope"))
    task = scope.partition(":")[2] or text(step.fields.get("parent"))
    view = await stage.ledger.task(task) if task else None
    inside = [record for record in view.records.values() if record.state not in TERMINAL] if view else []
    by = _speaker(stage, step)
    answers = [await _cancel(stage, step, record.id, by) for record in inside]
    if not answers:
        return Answer(decision="refused", act="cancel", rule="ended", reason="nothing in this scope is open")
    whole = next((answer for answer in answers if answer.decision == "refused"), answers[0])
    whole.recorded = tuple(one for answer in answers for one in answer.recorded)
    return whole


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def input_supplied(stage: Stage, step: Step) -> Answer:
    """Somebody supplies what was asked for."""
    given = next((step.fields[name] for name in ("values", "fields", "content", "input", "args") if name in step.fields), {})
    fields = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    target = stage.id_of(stage.key(step))
    if await stage.record(target) is None:
        return Answer(decision="refused", act="supply", rule="unknown-id", reason=f"nothing is recorded under {target!r}")
    return await stage.decide("supply", stage.desk.supply_input(target, fields, by=_speaker(stage, step)))


async def elicitation_answer(stage: Stage, step: Step) -> Answer:
    """A client answers a question for the person in front of it: with the inputs, with a no, or by closing it."""
    action = text(step.fields.get("action"))
    if action == "accept":
        return await input_supplied(stage, step)
    if action not in {"decline", "cancel"}:
        return Answer(unclear=f"an answer of the unknown kind {action!r}")
    return await act(stage, step, "dismiss" if action == "decline" else "withdraw")


async def input_inferred(stage: Stage, step: Step) -> Answer:
    """A runtime concludes by itself what a person would have answered: it says so, and is not the one to say it."""
    value = ACTS.get(text(step.fields.get("value")), "")
    kind = {"approve": Kind.GRANTED, "deny": Kind.DENIED}.get(value, Kind.INPUT_SUPPLIED)
    approval, reason = text(step.fields.get("approval")) or "none", text(step.fields.get("reason")) or None
    data = {"actor": step.source, "approval_id": approval, "reason": reason}
    recorded = await stage.observe(step, kind, data, key=stage.key(step), owner=Owner.RUNTIME)
    why = recorded[0].reason if recorded else ""
    return Answer(decision="refused", act=value or "supply", rule=why.partition(":")[0], reason=why, recorded=recorded)


async def rerun_values(stage: Stage, step: Step) -> Answer:
    """A page sends the values of all its controls at once: what is set among them are the answers of one submission."""
    wanted = _pressed(stage, step.fields.get("values", step.fields.get("controls")), text(step.fields.get("approval")))
    if not wanted:
        return Answer()
    by, answers = _speaker(stage, step), dict[str, list[str]]()
    for what, approval in wanted:
        for target in stage.approvals.get(approval) or {stage.id_of(stage.key(step)): ""}:
            answers.setdefault(target, []).append(what)
    results: list[Answer] = []
    for target, acts in answers.items():
        if len(set(acts)) > 1:
            results.append(await stage.decide("approve", stage.desk.answer(target, acts, by=by)))
        else:
            approval = next((targets[target] for targets in reversed(stage.approvals.values()) if target in targets), "")
            results.append(await _one(stage, step, acts[0], target, approval))
    whole = next((answer for answer in results if answer.decision == "refused"), results[0])
    whole.recorded = tuple(one for answer in results for one in answer.recorded)
    return whole


def _pressed(stage: Stage, values: object, approval: str) -> list[tuple[str, str]]:
    """Give each answer that is set, with the approval that it names; ``approve_ap1``, ``{"ap1": {"approve": true}}`` and the like."""
    found: list[tuple[str, str]] = []
    pairs: Sequence[tuple[str, Any]] = list(cast("Mapping[str, Any]", values).items()) if isinstance(values, Mapping) else []
    for name, value in pairs:
        named = next((a for a in sorted(stage.approvals, key=len, reverse=True) if a in name), approval)
        if isinstance(value, Mapping):
            found += _pressed(stage, value, named)
        elif isinstance(value, str) and value in ACTS:
            found.append((ACTS[value], named))
        elif value is True:
            words = [ACTS[word] for word in name.replace(":", "_").replace("-", "_").replace(".", "_").lower().split("_") if word in ACTS]
            found += [(words[0], named)] if words else []
    return found


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def presented(stage: Stage, step: Step) -> Answer:
    """A client says that it has shown a question: a receipt of what a person had in view. Looking at a page names no question."""
    key = stage.key(step)
    record = await stage.record(stage.id_of(key)) if key else None
    if record is None:
        return Answer()
    data = {"document_version": str(record.version), "actor": text(step.fields.get("actor")) or None}
    return Answer(recorded=await stage.observe(step, Kind.CARD_RENDERED, data, key=key, owner=Owner.PRESENTATION))


WORDS: Final[Mapping[str, Word]] = MappingProxyType({
    "decision": decision,
    "click": decision,
    "cancel.requested": cancel_requested,
    "input.supplied": input_supplied,
    "elicitation.answer": elicitation_answer,
    "input.inferred": input_inferred,
    "rerun.values": rerun_values,
    "presented": presented,
    "viewed": presented,
    "pointer": nothing,
    "message": nothing,
})  # fmt: skip  # one line a word
