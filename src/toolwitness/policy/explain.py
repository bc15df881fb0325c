"""What a policy answers to each question, which class or rule gave the answer, and what somebody may do in each state.

The answers are asked of the rules themselves, on an example call in each state; nothing here decides anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from toolwitness.core.record import Answer, Approval, Claim, Closure, InvocationRecord, Outcome
from toolwitness.core.states import EXECUTING, ClosureKind, Consequence, Deadline, EvidenceRef, Reconciliation, State
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor, Control
from toolwitness.policy.approvals import build_request
from toolwitness.policy.consequences import CONSEQUENCES, Confirm
from toolwitness.policy.controls import PASSIVE, permitted_actions
from toolwitness.policy.tool_policy import DEFAULT_APPROVERS, Idempotency, ToolPolicy

_REF: Final = EvidenceRef("ev_example")
_DIGEST: Final = "sha256:example"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The answer to one question, and who gave it."""

    question: str
    answer: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What somebody may do to an example call in one state."""

    state: State
    controls: tuple[Control, ...]


def explain_answers(policy: ToolPolicy) -> tuple[Explained, ...]:
    """Give the policy's answer to each question, with the class or the field that gave it."""
    return tuple(_answers(policy))


def _answers(policy: ToolPolicy) -> Iterator[Explained]:
    demands = policy.demands
    unknown = "nobody declared what it does; the worst is assumed"
    said = ", ".join(policy.consequences)
    yield Explained(question="classes", answer=", ".join(demands.classes), by="consequences" if said else unknown)
    yield _approval(policy)
    if policy.requires_approval:
        named = policy.eligible != (*DEFAULT_APPROVERS, *policy.approvers)
        yield Explained(question="who approves", answer=", ".join(policy.eligible), by="approvers" if named else "the default")
    if (policy.approvals_needed or 1) > 1:
        yield Explained(question="how many approve", answer=f"{policy.approvals_needed} different people", by="approvals_needed")
    if demands.grant_seconds.value is not None:
        lapse = f"{demands.grant_seconds.value} seconds"
        yield Explained(question="an approval is good for", answer=lapse, by=_classes(demands.grant_seconds.demanded_by))
    standing = demands.confirm.value is not Confirm.BEFORE_COMMITMENT
    may = "may be recorded, with a scope, a limit and an expiry" if standing else "never: it is confirmed each time"
    alone = not standing or (policy.approvals_needed or 1) == 1
    yield Explained(
        question="a standing grant", answer=may if alone else "never: nobody permits alone what takes several",
        by=_classes(demands.confirm.demanded_by) if alone else "approvals_needed",
    )  # fmt: skip  # one answer
    for what, seconds in _limits(policy):
        yield Explained(question=what, answer=f"{seconds:g} seconds", by=f"{what.replace(' ', '_')}_seconds")
    for question, answer in (
        ("cancellation matters until", demands.cancel_until), ("an undo needs", demands.undo), ("a repetition needs", demands.repeat)
    ):  # fmt: skip  # questions in a line
        yield Explained(question=question, answer=_words(answer.value.name), by=_classes(answer.demanded_by))
    for what, needs in (("in view before approving", demands.shown), ("evidence of a success", demands.needs)):
        for name, by in needs.items():
            yield Explained(question=what, answer=_words(name), by=_classes(by))
    if policy.cost is not None:
        amount = policy.cost.amount or f"the input {policy.cost.amount_field}"
        currency = policy.cost.currency or f"the input {policy.cost.currency_field}"
        yield Explained(question="what it costs", answer=f"{amount}, in {currency}", by="cost")
    yield from _redacted(policy)
    yield from _again(policy)


def _again(policy: ToolPolicy) -> Iterator[Explained]:
    """Say what is looked at once more, what a repetition does, and what undoes it."""
    if policy.read_again:
        yield Explained(question="read again before the start", answer=" and ".join(policy.read_again), by="read_again")
    if policy.idempotency is not Idempotency.UNKNOWN:
        yield Explained(question="made twice", answer=policy.idempotency, by="idempotency")
    if policy.inverse is not None:
        yield Explained(question="its inverse", answer=policy.inverse.tool, by="inverse")
        if policy.inverse.leaves:
            yield Explained(question="an undo leaves", answer=policy.inverse.leaves, by="inverse")


def _approval(policy: ToolPolicy) -> Explained:
    demanded = policy.demands.confirm
    if policy.standing_authorization:
        return Explained(question="an approval", answer=f"not asked: {policy.standing_authorization}", by="standing_authorization")
    if demanded.value is not Confirm.WHEN_REQUIRED:
        return Explained(question="an approval", answer=_words(demanded.value.name), by=_classes(demanded.demanded_by))
    if policy.approvers or policy.approvals_needed is not None:
        return Explained(question="an approval", answer="before dispatch", by="approvers" if policy.approvers else "approvals_needed")
    return Explained(question="an approval", answer="not asked", by=_classes(demanded.demanded_by))


def _redacted(policy: ToolPolicy) -> Iterator[Explained]:
    """Say what nobody is shown: by pointer, and by name."""
    for question, pointers, by in (
        ("redacted of its inputs", policy.redact, "redact"), ("redacted of its outputs", policy.redact_outputs, "redact_outputs")
    ):  # fmt: skip  # questions in a line
        if pointers:
            yield Explained(question=question, answer=", ".join(pointer or "all of them" for pointer in pointers), by=by)
    named = f"nothing: {policy.plain_names}" if policy.plain_names else "every part whose name sounds secret (password, token, cvv, …)"
    yield Explained(question="redacted by name", answer=named, by="plain_names" if policy.plain_names else "the default")


def _limits(policy: ToolPolicy) -> list[tuple[str, float]]:
    limits = {
        "approval": policy.approval_seconds,
        "input": policy.input_seconds,
        "queue": policy.queue_seconds,
        "result": policy.result_seconds,
    }
    return [(name, seconds) for name, seconds in limits.items() if seconds is not None]


def _classes(by: Sequence[Consequence]) -> str:
    return ", ".join(f"{c} ({CONSEQUENCES[c].label})" for c in by)


def _words(name: str) -> str:
    return name.replace("_", " ").lower()


def explain_states(policy: ToolPolicy, actor: Actor, now: datetime) -> tuple[Offered, ...]:
    """Say what ``actor`` may do to an example call of the tool in each state, and why not where not."""
    made: list[Offered] = []
    for state in State:
        controls = permitted_actions(_example(policy, state, actor.tenant, now), policy, actor, now)
        made.append(Offered(state=state, controls=tuple(control for control in controls if control.action not in PASSIVE)))
    return tuple(made)


def _example(policy: ToolPolicy, state: State, tenant: str, now: datetime) -> InvocationRecord:
    """Make a call in a state as it usually gets there: its inputs stand, and it was approved where that is asked."""
    at = rfc3339(now)
    record = InvocationRecord(id="inv_example", task_id="task_example", tenant=tenant, state=state)
    record.proposal = {"tool": policy.tool, "proposer": "agent", "policy_version": policy.version, "required": True}
    record.inputs = {"ref": "val_example", "digest": _DIGEST, "bytes": 2}
    record.cancel_support = str(policy.cancel_support)
    if state is State.AWAITING_INPUT:
        record.input_request = {"unresolved": ["an input"], "collector": "person"}
    if state is State.AWAITING_APPROVAL or (state is State.EXPIRED and policy.requires_approval):
        _ask(record, policy, now)
    if state in EXECUTING or state in {State.QUEUED, State.SUCCEEDED, State.FAILED}:
        record.claim = Claim("prm_example", _REF, at, {})
    if state in EXECUTING or state in {State.SUCCEEDED, State.FAILED}:
        record.starts = [_REF]
    _end(record, at)
    return record


def _ask(record: InvocationRecord, policy: ToolPolicy, now: datetime) -> None:
    shown = "{" + ",".join(f'"{name}":"x"' for _, name in policy.scope) + "}" if policy.scope else '{"target":"x"}'
    data = build_request(record, policy, approval_id="apr_example", inputs=shown.encode(), now=now)
    record.approvals = [Approval("apr_example", data, _REF, rfc3339(now), inputs=record.inputs)]
    if record.state is State.EXPIRED:
        record.approvals[0].answer = Answer("expired", "policy", _REF, rfc3339(now))
        record.elapsed = Deadline.APPROVAL


def _end(record: InvocationRecord, at: str) -> None:
    match record.state:
        case State.SUCCEEDED:
            record.outcome = Outcome({"completed_at": at}, _REF, at)
            record.reconciliation = Reconciliation.AS_REPORTED
        case State.FAILED:
            record.outcome = Outcome({"category": "upstream"}, _REF, at)
            record.reconciliation = Reconciliation.NONE_EXPECTED
        case State.CANCELLED:
            record.closure = Closure(ClosureKind.WITHDRAWN, "policy", "agent", "this", "withdrawn", at, _REF)
        case _:
            pass
