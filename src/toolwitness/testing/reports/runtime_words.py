"""What proposers, schedulers, executors, orchestrators, providers and hosts say in a report, in our words.

Each function plays one event type. A field that a report leaves out is left out; nothing is put in its place that would be evidence.
"""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, Consequence, State, Termination
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.tool_policy import RetryPolicy, ToolPolicy
from toolwitness.ports import Recorded
from toolwitness.service.propose import Proposal, propose_in
from toolwitness.testing.reports.stage import Answer, Stage, parsed, same_inputs
from toolwitness.testing.reports.story import Step, Story, actor_of, text, texts, written

Word = Callable[[Stage, Step], Awaitable[Answer]]

_ATTEMPTS: Final = 3
"""How often the tools of the reports may be tried, as far as their consequences allow it: no report declares a limit."""
_CANCELLATIONS: Final = frozenset({"CancelledError", "Cancelled", "CancelledException", "TaskCancelledError", "AbortError"})
_QUESTIONS: Final = frozenset({"GraphInterrupt", "NodeInterrupt", "Interrupt", "ApprovalRequired", "CallDeferred"})
"""Exceptions by which a body leaves in order to ask a person; they are no failure."""


# ── proposing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def policy_for(story: Story, name: str, tool: str, step: Step) -> ToolPolicy:
    """Give the policy of a call's tool: the classes that the report declares.

    Where it declares none, an approval that it asks for says that the call needs permission, and a call without one can be reversed.
    """
    declared = texts(step.fields.get("consequence")) or texts(story.first(name, field="consequence"))
    classes = tuple(c for c in Consequence if c in declared)
    if Consequence.DESTRUCTIVE in classes:
        classes = tuple(c for c in classes if c is not Consequence.READ_ONLY)
    if not classes:
        asked = any(s.type == "approval.requested" and s.invocation == name for s in story.steps)
        classes = () if declared else (Consequence.PERMISSION_GATED if asked else Consequence.REVERSIBLE,)
    boundary = "as the owner of the tool names it" if Consequence.DESTRUCTIVE in classes else ""
    return ToolPolicy(tool=tool, consequences=classes, commitment_boundary=boundary, retry=RetryPolicy(attempts=_ATTEMPTS))


def policy_of_tool(story: Story, tool: str) -> ToolPolicy:
    """Give the policy of a tool that a report declares by name, or that one of its calls shows; one that it never names is unknown."""
    declared = story.input.get("policy")
    by_tool = cast("Mapping[str, Any]", declared) if isinstance(declared, Mapping) else {}
    known: Any = by_tool.get(tool)
    said = cast("Mapping[str, Any]", known) if isinstance(known, Mapping) else {}
    shown = next((texts(step.fields.get("consequence")) for step in story.steps if step.fields.get("tool") == tool), [])
    named = texts(said.get("consequence")) or shown
    classes = tuple(c for c in Consequence if c in named)
    approvers = tuple(who if who.startswith(("role:", "user:", "not:")) else f"user:{who}" for who in texts(said.get("eligible")))
    boundary = "as the owner of the tool names it" if Consequence.DESTRUCTIVE in classes else ""
    return ToolPolicy(tool=tool, consequences=classes, approvers=approvers, commitment_boundary=boundary)


async def proposed(stage: Stage, step: Step) -> Answer:
    """A proposer asks for a call."""
    return await propose_call(stage, step, stage.key(step))


async def propose_call(stage: Stage, step: Step, key: str) -> Answer:
    """Propose a call under the policy of its tool; a call without a tool's name is nobody's to govern and is noted as it came."""
    fields, name, raw = step.fields, key.rpartition("#")[0], written(_arguments(step))
    tool = fields.get("tool")
    if tool == "":
        data = {"tool": "", "source_request": f"event {step.seq}", "proposer": step.source}
        return Answer(recorded=await stage.observe(step, Kind.PROPOSED, data, key=key, values={"inputs": raw}))
    task = stage.story.input.get("task")
    said = cast("Mapping[str, Any]", task if isinstance(task, Mapping) else {})
    earlier = text(fields.get("retry_of")) or text(fields.get("retryOf")) or ("" if fields.get("replaces") else _attempt_before(stage, key))
    parent = text(fields.get("parent"))
    proposal = Proposal(
        tool=text(tool) or f"the tool of {name}", inputs=raw, source_request=f"event {step.seq}", proposer=step.source,
        requested_by=text(fields.get("requested_by")), attempt=int(key.rpartition("#")[2]),
        dependencies=[_id_of_call(stage, other) for other in texts(fields.get("dependencies"))],
        retry_of=_id_of_call(stage, earlier) if earlier else "",
        replaces=_id_of_call(stage, text(fields.get("replaces"))) if fields.get("replaces") else "",
        reverses=_id_of_call(stage, text(fields.get("reverses"))) if fields.get("reverses") else "",
        parent=_id_of_call(stage, parent) if any(s.invocation == parent for s in stage.story.steps) else "",
        required="no" if name in texts(said.get("optionalChildren")) else "yes",
        role="synthesis" if name == said.get("synthesisInvocationId") else "",
        correlation=[{"source": "report", "provider_call_id": fields["provider_call_id"]}] if fields.get("provider_call_id") else (),
    )  # fmt: skip  # facts in lines
    policy = policy_for(stage.story, name, proposal.tool, step)
    recorded = await propose_in(stage.application, stage.task_of(key), proposal, invocation_id=stage.id_of(key), policy=policy)
    return Answer(recorded=tuple(recorded))


def _arguments(step: Step) -> Any:
    for name in ("args", "args_text", "arguments", "inputs"):
        if name in step.fields:
            return step.fields[name]
    return {}


def _attempt_before(stage: Stage, key: str) -> str:
    """Give the latest earlier attempt under the same name."""
    name, _, attempt = key.rpartition("#")
    return next((f"{name}#{n}" for n in range(int(attempt) - 1, 0, -1) if f"{name}#{n}" in stage.names), "")


def _id_of_call(stage: Stage, name: str) -> str:
    """Give our id of a call that is named with or without its attempt."""
    if "#" in name:
        return stage.id_of(name)
    known = [key for key in stage.names if key.rpartition("#")[0] == name]
    return stage.id_of(known[-1] if known else f"{name}#1")


# ── dispatching ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def dispatch_requested(stage: Stage, step: Step) -> Answer:
    """An orchestrator asks whether it may hand the call to an executor."""
    key = stage.key(step)
    record = await stage.record(stage.id_of(key))
    if record is None or not record.proposal:
        return stage.refused(PolicyVerdict(allowed=False, rule="unproposed", reason="nothing was proposed that could be dispatched"))
    named = text(step.fields.get("approval")) or text(step.fields.get("claims_approval"))
    before = await stage.ledger.head()
    answer = await stage.desk.request_dispatch(
        record.id, source=f"report:{step.source}", worker=text(step.fields.get("worker")) or step.source,
        approval_id=stage.approvals.get(named, {}).get(record.id, named),
        inputs=await _inputs_named(stage, step, record.id),
    )  # fmt: skip  # facts in lines
    made = stage.refused(answer) if isinstance(answer, PolicyVerdict) else Answer(dispatch="allow")
    made.recorded = await stage.since(before)
    return made


async def _inputs_named(stage: Stage, step: Step, invocation_id: str) -> bytes | None:
    """Give the inputs with which the call would run; ``None`` where the report does not say. Equal ones come back as they stand."""
    record = await stage.record(invocation_id)
    standing = await stage.standing(record) if record else b"{}"
    digest, given = step.fields.get("args_digest"), step.fields.get("args")
    if digest is None and given is None:
        return None
    meant = given if given is not None else stage.inputs.get(text(digest), {"unknown inputs": str(digest)})
    return standing if same_inputs(meant, parsed(standing)) else written(meant)


async def queue_accepted(stage: Stage, step: Step) -> Answer:
    """A scheduler has taken the call into its queue."""
    key = stage.key(step)
    await stage.take_up(step, key)
    accepted = {"queue_ref": text(step.fields.get("queue_ref")) or None, "accepted_at": stage.said_at(step)}
    return Answer(recorded=await stage.observe(step, Kind.ACCEPTED, accepted, key=key))


# ── executing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _lease(stage: Stage, step: Step) -> dict[str, Any]:
    """Give the lease under which an executor speaks, and until when it is good, where the report's policy says for how long."""
    policy = stage.story.input.get("policy")
    seconds = cast("Mapping[str, Any]", policy).get("lease_seconds") if isinstance(policy, Mapping) else None
    lease = text(step.fields.get("lease"))
    until = stage.at(seconds) if lease and isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
    return {"lease": lease or None, "expires_at": until}


async def started(stage: Stage, step: Step) -> Answer:
    """An executor began to run the body."""
    key, worker = stage.key(step), text(step.fields.get("worker"))
    await stage.take_up(step, key)
    if worker:
        stage.workers.setdefault(worker, []).append(stage.id_of(key))
    data = {"attempt": await _attempt(stage, key), "executor": worker or step.source, "worker": worker or None, **_lease(stage, step)}
    return Answer(recorded=await stage.observe(step, Kind.STARTED, data, key=key))


async def _attempt(stage: Stage, key: str) -> int:
    """Give the attempt as our record counts it: policy may have recognised a new proposal as a further attempt."""
    record = await stage.record(stage.id_of(key))
    return record.attempt if record is not None and record.proposal else int(key.rpartition("#")[2])


async def heartbeat(stage: Stage, step: Step) -> Answer:
    """An executor says that it is alive."""
    key = stage.key(step)
    data = {"attempt": await _attempt(stage, key), **_lease(stage, step)}
    return Answer(recorded=await stage.observe(step, Kind.HEARTBEAT, data, key=key))


def _order(stage: Stage, step: Step, key: str) -> int:
    """Give the place of a report in its stream: the one that it names, else its number at its host, else that of its arrival."""
    for name in ("order", "index", "chunk", "host_seq", "n"):
        if isinstance(step.fields.get(name), int):
            return int(step.fields[name])
    stage.orders[key] = stage.orders.get(key, -1) + 1
    return stage.orders[key]


async def progress(stage: Stage, step: Step) -> Answer:
    """An executor says how far it is."""
    key, fields = stage.key(step), step.fields
    current, total = fields.get("value", fields.get("current")), fields.get("total")
    percent = fields.get("percent")
    if isinstance(current, int) and isinstance(total, int) and total > 0:
        percent = current * 100 // total
    data = {
        "order": _order(stage, step, key), "percent": percent if isinstance(percent, int) else None,
        "text": text(fields.get("text")) or None,
        "current": str(current) if current is not None else None, "total": str(total) if total is not None else None,
    }  # fmt: skip  # facts in lines
    return Answer(recorded=await stage.observe(step, Kind.PROGRESS, data, key=key))


async def output(stage: Stage, step: Step) -> Answer:
    """An executor gave a piece of its output."""
    key = stage.key(step)
    piece = next((step.fields[name] for name in ("text", "output", "delta", "data", "value") if name in step.fields), "")
    values = {"output": written(piece)}
    return Answer(recorded=await stage.observe(step, Kind.OUTPUT, {"order": _order(stage, step, key)}, key=key, values=values))


async def part_completed(stage: Stage, step: Step) -> Answer:
    """An executor ended one part of its work, and says what is still open."""
    data = {"part": text(step.fields.get("part")) or "a part", "open": texts(step.fields.get("open"))}
    return Answer(recorded=await stage.observe(step, Kind.PART_COMPLETED, data))


async def succeeded(stage: Stage, step: Step) -> Answer:
    """An executor ended with a result."""
    data = {"completed_at": stage.said_at(step), "lease": text(step.fields.get("lease")) or None}
    result = step.fields.get("result")
    raw = written(result) if not isinstance(result, str) else written([result])[1:-1]
    return Answer(recorded=await stage.observe(step, Kind.SUCCEEDED, data, values={"result": raw}))


async def failed(stage: Stage, step: Step) -> Answer:
    """A failure: the executor's own, or one that somebody else infers from what it does not hear any more."""
    fields = step.fields
    data = {
        "category": text(fields.get("category")) or "unnamed", "detail": text(fields.get("message")) or "no message",
        "evidence_ref": f"event {step.seq}", "effects": "unknown" if fields.get("outcome") == "unknown" else None,
        "lease": text(fields.get("lease")) or None,
        "inferred_by": step.source if step.source not in {"executor", "provider"} else None,
    }  # fmt: skip  # facts in lines
    return Answer(recorded=await stage.observe(step, Kind.FAILED, data))


async def raised(stage: Stage, step: Step) -> Answer:
    """A body ended by an exception: stopped as somebody had asked, leaving with a question, or failed."""
    said = step.fields.get("exception")
    exception = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {"type": text(said)}
    kind = text(exception.get("type")).rpartition(".")[2]
    if kind in _QUESTIONS:
        return Answer()
    key = stage.key(step)
    record = await stage.record(stage.id_of(key))
    request = record.open_cancellation if record else None
    if kind in _CANCELLATIONS and request is not None:
        data = {
            "termination": Termination.UNWOUND, "initiator": request.actor, "scope": request.scope or "this invocation",
            "reason": request.reason or f"{kind} left the body after its cancellation had been requested", "at": stage.place.stamp(),
            "request_ref": request.ref,
        }  # fmt: skip  # facts in lines
        return Answer(recorded=await stage.observe(step, Kind.CANCEL_ACKNOWLEDGED, data, key=key))
    failure = {
        "category": "aborted" if kind in _CANCELLATIONS else "tool-error", "evidence_ref": f"event {step.seq}",
        "detail": f"The body ended by {kind or 'an exception'}.",
    }  # fmt: skip  # facts in lines
    values = {"exception": written(dict(exception))}
    return Answer(recorded=await stage.observe(step, Kind.FAILED, failure, key=key, values=values))


async def cancel_acknowledged(stage: Stage, step: Step) -> Answer:
    """Whoever holds the call, or all calls of a run, says that it has been stopped."""
    if stage.key(step):
        return Answer(recorded=await _stopped(stage, step, stage.key(step)))
    task = text(step.fields.get("scope")).partition(":")[2] or text(step.fields.get("parent"))
    view = await stage.ledger.task(task) if task else None
    held = [record for record in view.records.values() if record.state is State.QUEUED or record.still_running] if view else []
    recorded = [one for record in held for one in await _stopped(stage, step, stage.named(record.id))]
    return Answer(recorded=tuple(recorded), unclear="" if held else "nothing that it could be about is running")


async def _stopped(stage: Stage, step: Step, key: str) -> tuple[Recorded, ...]:
    fields = step.fields
    record = await stage.record(stage.id_of(key))
    request = record.open_cancellation if record else None
    data = {
        "termination": Termination.CONFIRMED, "scope": text(fields.get("scope")) or (request.scope if request else "") or "this invocation",
        "initiator": actor_of(fields.get("initiator"))[0] or (request.actor if request else "unknown"), "at": stage.place.stamp(),
        "reason": text(fields.get("reason")) or (request.reason if request else "") or "no reason was given",
        "effects": "excluded" if fields.get("started") is False else None,
    }  # fmt: skip  # facts in lines
    return await stage.observe(step, Kind.CANCEL_ACKNOWLEDGED, data, key=key)


# ── what is said about calls from outside them ──────────────────────────────────────────────────────────────────────


async def effect_observed(stage: Stage, step: Step) -> Answer:
    """A provider says what really happened; where only that was open, it is settled."""
    fields, key = step.fields, stage.key(step)
    extra = {n: str(fields[n]) for n in ("amount", "currency", "recipient", "resource") if fields.get(n) is not None}
    data = {"effect": text(fields.get("effect")) or f"observed by the {step.source}", "provider_reference": text(fields.get("ref")) or None}
    recorded = await stage.observe(step, Kind.EFFECT, {**data, **extra}, key=key)
    return Answer(recorded=recorded)


async def task_claimed(stage: Stage, step: Step) -> Answer:
    """An orchestrator says what a run or a batch amounts to."""
    said = text(step.fields.get("status")) or text(step.fields.get("reason")) or text(step.fields.get("outcome"))
    claimed = {"run.paused": "paused", "run.ended": said or "ended"}.get(step.type, said or "unknown")
    task = text(step.fields.get("parent")) or text(step.fields.get("task")) or (stage.task_of(stage.key(step)) if stage.key(step) else "")
    task = task if await stage.ledger.task(task) else stage.task_of("")
    return Answer(recorded=await stage.observe(step, Kind.TASK_REPORTED, {"claimed": claimed, "reason": said or None}, task=task))


async def waiter_lost(stage: Stage, step: Step) -> Answer:
    """Whoever was to go on with the call cannot: that somebody stopped waiting proves nothing about the call."""
    key = stage.key(step)
    record = await stage.record(stage.id_of(key))
    if record is None:
        return Answer()
    reason = text(step.fields.get("message")) or f"{step.type} after {step.fields.get('seconds', '?')} s"
    working = record.state not in TERMINAL and record.seen_at_work
    if step.type == "recovery.error" and working:
        return Answer(recorded=await stage.observe(step, Kind.LOST, {"reason": f"recovery failed: {reason}"}, key=key))
    body = None if working or record.state is State.QUEUED else "not started"
    gone = {"waiter": step.source, "reason": reason, "body": body}
    return Answer(recorded=await stage.observe(step, Kind.WAITER_RELEASED, gone, key=key))


async def process_exited(stage: Stage, step: Step) -> Answer:
    """A worker's process is gone: nobody knows how what it ran has ended."""
    worker = text(step.fields.get("worker"))
    recorded: list[Recorded] = []
    for invocation_id in [stage.id_of(stage.key(step))] if step.invocation else stage.workers.get(worker, []):
        record = await stage.record(invocation_id)
        if record is not None and record.state not in TERMINAL:
            data = {"reason": f"the process of {worker or 'its worker'} has ended", "lease": record.lease or None}
            recorded += await stage.observe(step, Kind.LOST, data, key=stage.named(invocation_id))
    return Answer(recorded=tuple(recorded))


async def server_restarted(stage: Stage, step: Step) -> Answer:
    """The server that people decide at was restarted: another desk on the same ledger takes over."""
    stage.restart()
    return Answer()


async def nothing(stage: Stage, step: Step) -> Answer:
    """An event that says nothing about any call, and decides nothing."""
    return Answer()


WORDS: Final[Mapping[str, Word]] = MappingProxyType({
    "proposed": proposed,
    "dispatch.requested": dispatch_requested,
    "queue.accepted": queue_accepted,
    "started": started,
    "heartbeat": heartbeat,
    "progress": progress,
    "output": output,
    "part.completed": part_completed,
    "succeeded": succeeded,
    "failed": failed,
    "raised": raised,
    "cancel.acknowledged": cancel_acknowledged,
    "effect.observed": effect_observed,
    "batch.status": task_claimed,
    "run.paused": task_claimed,
    "run.ended": task_claimed,
    "recovery.error": waiter_lost,
    "resume.error": waiter_lost,
    "wait.timeout": waiter_lost,
    "process.exited": process_exited,
    "server.restarted": server_restarted,
    "trace": nothing,
})  # fmt: skip  # one line a word
