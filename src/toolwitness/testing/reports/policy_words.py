"""What policy says in a report, made by our own policy: requests, expiries and rewritten inputs."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.errors import NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, Owner
from toolwitness.policy.approvals import build_request
from toolwitness.policy.deadlines import after
from toolwitness.ports import Recorded
from toolwitness.service.inputs import rewrite_inputs
from toolwitness.service.workplace import Situation, make_draft
from toolwitness.testing.reports.runtime_words import Word, propose_call
from toolwitness.testing.reports.stage import Answer, Stage, parsed, same_inputs
from toolwitness.testing.reports.story import Step, digest_of, eligible_of, text, texts, written


async def approval_requested(stage: Stage, step: Step) -> Answer:
    """Policy asks for an approval, in the report's own terms: by whom, until when, of what."""
    key = stage.key(step)
    if await stage.record(stage.id_of(key)) is None and "tool" in step.fields:
        await propose_call(stage, step, key)
    covered = [key, *(f"{name}#1" for name in texts(step.fields.get("covers")) if _is_call(stage, name) and f"{name}#1" != key)]
    approval = text(step.fields.get("approval")) or f"approval of event {step.seq}"
    taken = {ours for covering in stage.approvals.values() for ours in covering.values()}
    recorded: list[Recorded] = []
    requests: dict[str, str] = {}
    for one in covered:
        ours = approval if approval not in taken | set(requests.values()) else f"{approval}/{one}"
        requests[stage.id_of(one)] = ours
        recorded += await _ask(stage, step, one, ours)
    stage.approvals[approval] = requests
    return Answer(recorded=tuple(recorded))


def _more_than_one(step: Step) -> int:
    """Give how many people must approve, where the report asks for more than one."""
    authority = step.fields.get("authority")
    said = cast("Mapping[str, Any]", authority) if isinstance(authority, Mapping) else {}
    counts = (said.get(name) for name in ("quorum", "required", "approvals", "min_approvals", "count"))
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count > 1), 0)


def _is_call(stage: Stage, name: str) -> bool:
    return any(step.invocation == name for step in stage.story.steps)


async def _ask(stage: Stage, step: Step, key: str, approval: str) -> tuple[Recorded, ...]:
    """Append one request, bound by our policy and limited as the report says."""
    await _adopt(stage, step, key)
    situation = await _situation(stage, key)
    raw = await stage.standing(situation.record)
    _remember(stage, step, raw)
    facts = build_request(situation.record, situation.policy, approval_id=approval, inputs=raw, now=stage.clock.now())
    eligible = [entry if entry.startswith(("role:", "user:", "not:")) else f"user:{entry}" for entry in eligible_of(step)]
    limits: dict[str, Any] = {"eligible": eligible, "authority": ", ".join(eligible)} if eligible else {}
    limits["needed"] = _more_than_one(step) or None
    draft = make_draft(stage.place, situation.record, Kind.APPROVAL_REQUESTED, {**facts, **limits, "expires_at": _deadline(stage, step)})
    return await stage.append([draft], situation.record.task_id)


async def _adopt(stage: Stage, step: Step, key: str) -> None:
    """Let the inputs stand that policy asks about, where it shows others than the proposed ones: the question is about these."""
    shown, record = step.fields.get("shown_args"), await stage.record(stage.id_of(key))
    if record is None or not record.inputs or not isinstance(shown, Mapping) or record.state not in BEFORE_DISPATCH or record.claim:
        return
    if not same_inputs(shown, parsed(await stage.standing(record))):
        meant = written(dict(cast("Mapping[str, Any]", shown)))
        await rewrite_inputs(stage.place, record.id, by="the question that policy asks", inputs=meant)


def _deadline(stage: Stage, step: Step) -> str | None:
    """Give the deadline as the report's authority wrote it, understood or not."""
    seconds, written_as = step.fields.get("deadline_seconds"), step.fields.get("expires_at")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        return after(stage.clock.now(), seconds)
    if written_as is None:
        return None
    return written_as if isinstance(written_as, str) else json.dumps(written_as)


def _remember(stage: Stage, step: Step, raw: bytes) -> None:
    """Keep which inputs the report means by a digest."""
    shown = step.fields.get("shown_args")
    meant = shown if shown is not None else json.loads(raw) if raw.startswith(b"{") else {}
    stage.inputs[digest_of(meant)] = meant
    if step.fields.get("shown_digest"):
        stage.inputs[text(step.fields["shown_digest"])] = meant


async def _situation(stage: Stage, key: str) -> Situation:
    """Read a call; one that nobody proposed has an empty record in its task."""
    invocation_id, task_id = stage.id_of(key), stage.task_of(key)
    record = await stage.record(invocation_id) or InvocationRecord(invocation_id, task_id)
    view = await stage.ledger.task(record.task_id or task_id)
    if view is None:  # pragma: no cover - every task is opened before the first event
        raise LookupError(task_id)
    record.task_id = record.task_id or task_id
    return Situation(view=view, record=record, policy=await stage.place.policy_of(record), now=stage.clock.now())


async def approval_expired(stage: Stage, step: Step) -> Answer:
    """Policy's clock has passed a deadline: our sweeper looks, and records what it finds by its own clock."""
    return Answer(recorded=tuple(await stage.desk.sweep()))


async def args_rewritten(stage: Stage, step: Step) -> Answer:
    """A rule of policy puts other inputs in the place of those that stand."""
    key, given = stage.key(step), step.fields.get("args")
    stage.inputs[digest_of(given)] = given
    if step.fields.get("digest"):
        stage.inputs[text(step.fields["digest"])] = given
    by = text(step.fields.get("by")) or "a rule of policy"
    try:
        receipt = await rewrite_inputs(stage.place, stage.id_of(key), by=by, inputs=written(given))
    except NotPermitted:
        return Answer()  # it has been dispatched with the inputs that stood: nothing changes them any more
    return Answer(recorded=receipt.recorded)


async def input_requested(stage: Stage, step: Step) -> Answer:
    """Somebody needs inputs that are not there; policy asks a person for them."""
    key, fields = stage.key(step), texts(step.fields.get("fields"))
    if await stage.record(stage.id_of(key)) is None and "tool" in step.fields:
        await propose_call(stage, step, key)
    situation = await _situation(stage, key)
    stage.questions[text(step.fields.get("request")) or key] = stage.id_of(key)
    facts = {
        "unresolved": fields, "collector": "person",
        "fields": [{"name": name, "kind": "missing", "message": "is asked for"} for name in fields],
        "prompt": text(step.fields.get("message")) or None, "expires_at": _deadline(stage, step),
    }  # fmt: skip  # facts in lines
    draft = make_draft(stage.place, situation.record, Kind.INPUT_REQUIRED, facts, owner=Owner.POLICY)
    return Answer(recorded=await stage.append([draft], situation.record.task_id))


WORDS: Final[Mapping[str, Word]] = MappingProxyType({
    "approval.requested": approval_requested,
    "approval.expired": approval_expired,
    "args.rewritten": args_rewritten,
    "input.requested": input_requested,
})  # fmt: skip  # one line a word
