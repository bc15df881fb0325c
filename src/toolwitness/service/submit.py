"""Submit a proposal: policy asks for what is missing, asks for an approval, permits, or lets it wait for its dependencies."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.lineage import attempt_before
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, Deadline, State
from toolwitness.core.task import blocked_by, is_resolved, latest_attempts, root_of
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.approvals import build_request
from toolwitness.policy.controls import judge_action
from toolwitness.policy.deadlines import after
from toolwitness.policy.dispatch import judge_dispatch
from toolwitness.policy.looks import Look, judge_look, words_of
from toolwitness.ports import Draft
from toolwitness.service.covering import NOTHING, Covered, charged_facts, covered, judge_money, never
from toolwitness.service.kept import marked_inputs
from toolwitness.service.looking import look_at
from toolwitness.service.workplace import (
    Decide,
    InputProblem,
    Receipt,
    Refusal,
    Situation,
    Workplace,
    carry_out,
    carry_out_on_inputs,
    make_draft,
    require,
)

_NOTHING_LEFT: Final = frozenset({"state", "already-permitted"})
"""Rules under which there is nothing to submit any more: a second click changes nothing and is no mistake."""


async def submit(place: Workplace, invocation_id: str, *, actor: Actor | None = None) -> Receipt:
    """Take a proposal as far as policy lets it go now; recorded, never assumed. Submitting twice changes nothing.

    ``actor`` is the person who submits it, where one does: then it must be theirs to submit.

    Raises:
        NotPermitted: it is not this actor's to submit, or another runtime holds the call, which is then not ours to dispatch.
    """
    standing = await covered(place, invocation_id, next_step)

    async def plan(before: Situation, raw: bytes) -> Decide:
        problems = problems_of(place, before.record.tool, raw)
        look = await _look_if_asked(place, before, raw, problems, standing)

        def decide(situation: Situation) -> list[Draft]:
            blocked = blocked_by(situation.record, situation.view.task, situation.view.shared)
            if actor is not None:
                policy, now = situation.policy, situation.now
                verdict = judge_action(
                    situation.record, policy, actor, action="submit", now=now, blocked_by=blocked, authority=situation.authority
                )
                if verdict.rule in _NOTHING_LEFT:
                    return []
                require(verdict)
            return next_step(place, situation, raw, problems, standing, look)

        return decide

    return await carry_out_on_inputs(place, invocation_id, plan)


async def _look_if_asked(
    place: Workplace, situation: Situation, raw: bytes, problems: Sequence[InputProblem] | None, standing: Covered
) -> Look | None:
    """Look at the world where the next step would ask or permit, and the policy wants it read; ``None`` where nobody has to look."""
    if not situation.policy.read_again:
        return None
    try:
        steps = next_step(place, situation, raw, problems, standing)
    except Refusal:
        return None  # whoever decides says so
    return await look_at(place, situation, raw) if any(step.event.kind in _NEED_A_LOOK for step in steps) else None


_NEED_A_LOOK: Final = frozenset({Kind.APPROVAL_REQUESTED, Kind.PERMITTED})


def next_step(
    place: Workplace, situation: Situation, raw_inputs: bytes, problems: Sequence[InputProblem] | None, standing: Covered = NOTHING,
    look: Look | None = None,
) -> list[Draft]:  # fmt: skip  # a signature in three lines
    """Decide what policy records next about a proposal; nothing where it must wait.

    ``problems`` is what the check of the inputs found; ``None`` where nobody in this process can check them. ``standing`` is what was
    counted for it against a standing grant and the tenant's budget; ``look`` what was read of its target and price, ``None`` where
    nobody looked.

    Raises:
        Refusal: no policy of ours applies to the call and nobody asked us for an approval: another runtime holds it and may run it at any
            moment.
    """
    record = situation.record
    if not record.governed and not record.approvals:
        why = "no policy of ours applies to it: the runtime that proposed it runs it"
        raise Refusal(PolicyVerdict(allowed=False, rule="not-ours", reason=why))
    permitted = record.permission is not None and not record.permission.get("refused")
    if record.state not in BEFORE_DISPATCH or record.claim is not None or permitted or _waits_for_an_answer(record, problems):
        return []
    if problems:
        return _ask_for_inputs(place, situation, problems)
    drafts = _inputs_settled(place, situation)
    drafts += _dependencies(place, situation)
    if blocked_by(record, situation.view.task, situation.view.shared):
        return drafts
    earlier = attempt_before(record, situation.view.shared)
    cover = standing.cover_for(situation)
    verdict = judge_dispatch(record, situation.policy, situation.now, earlier=earlier, cover=cover)
    if verdict.rule in _NOT_SAFE_TO_REPEAT:
        return [*drafts, *_refused(place, situation, verdict)]
    money = judge_money(place, situation, raw_inputs, standing)
    if never(money):
        return [*drafts, *_refused(place, situation, money)]
    if ((situation.policy.requires_approval and cover is None) or not money.allowed) and not record.granted:
        if record.open_approval:
            return drafts
        unseen = _unseen(place, situation, look)
        return drafts + ([approval_draft(place, situation, raw_inputs, beyond=money, look=look)] if unseen is None else unseen)
    if verdict.allowed and record.approval is None and (unseen := _unseen(place, situation, look)) is not None:
        return drafts + unseen
    kind = Kind.PERMITTED if verdict.allowed else Kind.REFUSED
    facts = permission_facts(situation, rule=verdict.rule, reason=verdict.reason) | charged_facts(situation, raw_inputs, cover)
    facts |= {"looked": look.plain} if look is not None and look.plain and record.approval is None else {}
    return [*drafts, make_draft(place, record, kind, facts)]


def _unseen(place: Workplace, situation: Situation, look: Look | None) -> list[Draft] | None:
    """Give what is recorded where the target or the price could not be read; ``None`` where it could, or nobody has to look.

    A process that does not host the tool records nothing: the one that does looks and asks.
    """
    verdict = judge_look(situation.policy.read_again, look) if look is not None else None
    if verdict is None or look is None or verdict.allowed:
        return None
    return _refused(place, situation, verdict) if look.here == "yes" else []


def problems_of(place: Workplace, tool: str, raw: bytes) -> list[InputProblem] | None:
    """Say what the check of inputs finds; ``None`` where nobody in this process can check them."""
    checker, marked = place.checkers.get(tool), marked_inputs(raw)
    if marked:
        return list(marked)  # never to be run with what only stands for a secret
    return list(checker(raw)) if checker else None


_NOT_SAFE_TO_REPEAT: Final = frozenset({"earlier-succeeded", "earlier-outcome-unknown"})
"""Rules that refuse before anybody is asked: an approval cannot make it safe to do twice what may have been done once."""


def _refused(place: Workplace, situation: Situation, verdict: PolicyVerdict) -> list[Draft]:
    """Record that the call may not be dispatched as things stand, unless that is what the record says already."""
    standing = situation.record.permission
    if standing is not None and (standing.get("rule"), standing.get("reason")) == (verdict.rule, verdict.reason):
        return []
    facts = {"rule": verdict.rule, "reason": verdict.reason, "policy_version": situation.policy.version}
    return [make_draft(place, situation.record, Kind.REFUSED, facts)]


def _waits_for_an_answer(record: InvocationRecord, problems: Sequence[InputProblem] | None) -> bool:
    """Tell whether inputs are asked for by a question that we can neither answer nor take back.

    It is somebody else's, or it is about what a person tried, which is not what stands.
    """
    asked = record.input_request
    return asked is not None and (problems is None or asked.get("collector") != "person" or bool(asked.get("raw")))


def permission_facts(situation: Situation, *, rule: str, reason: str) -> dict[str, Any]:
    """Give the fields of a dispatch permission: the rule, the policy version, and the deadlines that run from here."""
    policy = situation.policy
    return {
        "rule": rule,
        "reason": reason,
        "policy_version": policy.version,
        "approval_id": situation.record.approval.id if situation.record.approval else None,
        "inputs_digest": (situation.record.inputs or {}).get("digest"),
        "expires_at": after(situation.now, policy.queue_seconds),
        "result_expires_at": after(situation.now, policy.result_seconds),
    }


def asked_facts(situation: Situation, problems: Sequence[InputProblem], *, why: str = "no") -> dict[str, Any]:
    """Give the fields of a request for inputs; with ``why="yes"`` those of a rejection, which says what is wrong.

    A deadline that runs goes on running: to supply something wrong buys no time.
    """
    running = situation.record.deadlines.get(Deadline.INPUT)
    facts: dict[str, Any] = {
        "unresolved": [p.field for p in problems],
        "collector": "person",
        "fields": [{"name": p.field, "kind": p.kind, "message": p.message} for p in problems],
        "expires_at": running or after(situation.now, situation.policy.input_seconds),
    }
    if why == "yes":
        facts["validation"] = "; ".join(f"{p.field}: {p.message}" if p.field else p.message for p in problems)[:500]
    return facts


def _ask_for_inputs(place: Workplace, situation: Situation, problems: Sequence[InputProblem]) -> list[Draft]:
    """Ask a person for what is missing, or say what is wrong with what is there."""
    record = situation.record
    standing = record.input_request
    if standing is not None and list(standing.get("unresolved") or ()) == [p.field for p in problems]:
        return []
    if all(p.kind == "missing" for p in problems):
        return [make_draft(place, record, Kind.INPUT_REQUIRED, asked_facts(situation, problems))]
    return [make_draft(place, record, Kind.INPUTS_REJECTED, asked_facts(situation, problems, why="yes"))]


async def ask_for_inputs_again(place: Workplace, invocation_id: str, problems: Sequence[InputProblem]) -> Receipt:
    """Record that the process that would run the call has found its inputs wrong, before it claimed the permit.

    A grant of such inputs is void: what a person supplies instead is something else.
    """

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        if record.claim is not None or record.state not in BEFORE_DISPATCH or record.input_request is not None:
            return []
        drafts = [make_draft(place, record, Kind.INPUTS_REJECTED, asked_facts(situation, problems, why="yes"))]
        if record.granted and record.approval is not None:
            why = {"approval_id": record.approval.id, "reason": "the inputs do not fit the tool", "rule": "inputs-rejected"}
            drafts.insert(0, make_draft(place, record, Kind.APPROVAL_INVALIDATED, why))
        return drafts

    return await carry_out(place, invocation_id, decide)


async def refuse_dispatch(place: Workplace, invocation_id: str, *, rule: str, reason: str) -> Receipt:
    """Record that a permitted call will not be dispatched as things stand, and why; nothing where it was dispatched or has ended.

    It can be submitted again.
    """

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        over = record.claim is not None or record.state not in BEFORE_DISPATCH
        if over or record.permission is None or record.permission.get("refused"):
            return []
        return [make_draft(place, record, Kind.REFUSED, {"rule": rule, "reason": reason, "policy_version": situation.policy.version})]

    return await carry_out(place, invocation_id, decide)


def _inputs_settled(place: Workplace, situation: Situation) -> list[Draft]:
    """Record that nothing required is unresolved any more, where something was."""
    record = situation.record
    if record.state is not State.AWAITING_INPUT:
        return []
    facts = {"inputs_digest": (record.inputs or {}).get("digest"), "checked_by": "declared types"}
    return [make_draft(place, record, Kind.INPUTS_ACCEPTED, facts)]


def _dependencies(place: Workplace, situation: Situation) -> list[Draft]:
    """Record each dependency that is resolved now and was not recorded as such, with what resolved it."""
    record, view = situation.record, situation.view
    latest = latest_attempts(view.shared) if record.proposal.get("dependencies") else {}
    drafts: list[Draft] = []
    for dependency in record.proposal.get("dependencies") or ():
        known = view.shared.get(dependency)
        root = root_of(known, view.shared) if known else dependency
        current = latest.get(root)
        if dependency in record.resolved_dependencies or not is_resolved(current, view.task, root=root, records=view.shared):
            continue
        by = str(view.task.waived.get(dependency) or (current.state_refs[0] if current and current.state_refs else "waiver"))
        drafts.append(make_draft(place, record, Kind.DEPENDENCY_RESOLVED, {"dependency": dependency, "by": by}, caused_by=[by]))
    return drafts


def approval_draft(
    place: Workplace, situation: Situation, raw_inputs: bytes, *, caused_by: Sequence[str] = (), beyond: PolicyVerdict | None = None,
    look: Look | None = None, changed: Sequence[Mapping[str, str]] = (),
) -> Draft:  # fmt: skip  # a signature in four lines
    """Make an approval request bound to the exact inputs, scope, attempt, policy version and deadline.

    ``beyond`` is the verdict of a budget that it goes beyond: then that is why somebody is asked, and the sum is in the scope. ``look`` is
    what was read of the target and the price: it is bound too, and in the scope together with what ``changed`` since the last request.
    """
    approval_id = place.ids.new("apr")
    facts = build_request(situation.record, situation.policy, approval_id=approval_id, inputs=raw_inputs, now=situation.now)
    if beyond is not None and not beyond.allowed:
        facts |= {"rule": beyond.rule, "scope": f"{facts['scope']}; {beyond.reason}"}
    if look is not None and look.plain:
        facts |= {"looked": look.plain, "scope": f"{facts['scope']}; {words_of(look, changed)}"}
    return make_draft(place, situation.record, Kind.APPROVAL_REQUESTED, facts, caused_by=caused_by)


__all__ = [
    "approval_draft", "ask_for_inputs_again", "asked_facts", "next_step", "permission_facts", "refuse_dispatch", "submit",
]  # fmt: skip  # names in lines
