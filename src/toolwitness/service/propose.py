"""Open a task; propose an invocation in it. Proposing dispatches nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from toolwitness.core.errors import InvalidInput, NotPermitted
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.lineage import latest_attempts
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.policy.redaction import redact
from toolwitness.policy.retry import objection_to_repeat, same_purpose
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import write_policy
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.register import of_tenant, register_id
from toolwitness.service.sealing import open_value, rules_for
from toolwitness.service.workplace import Workplace

RUNTIME: Final = "toolwitness:runtime"
"""The source of proposals that our own desk and commands make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody wants to have done, before anybody has agreed to it."""

    tool: str
    inputs: bytes
    """The exact bytes of the draft inputs: a JSON object."""
    source_request: str
    """What asked for it: a message, a run, a click."""
    proposer: str
    purpose: str = ""
    provenance: Sequence[Mapping[str, Any]] = ()
    dependencies: Sequence[str] = ()
    attempt: int = 1
    retry_of: str = ""
    reverses: str = ""
    replaces: str = ""
    role: str = ""
    """``synthesis`` where the call sums its task up."""
    required: str = "yes"
    """``yes`` where the task needs it, ``no`` where it may fail without consequence for the task."""
    parent: str = ""
    """The invocation whose body made this call; empty where no body did."""
    requested_by: str = ""
    """The person on whose behalf it is proposed, and who alone may take it back; empty where that is not known."""
    linked_by: str = ""
    """The rule by which policy, and not the proposer, recognised it as another attempt of ``retry_of``."""
    changed: Sequence[str] = ()
    """The idempotency keys in which it differs from that attempt."""
    host: str = ""
    """The one process that holds the call; empty where any process with the tool may run it."""
    correlation: Sequence[Mapping[str, Any]] = ()
    caused_by: Sequence[str] = ()


async def open_task(
    place: Workplace, purpose: str, *, required_children: Sequence[str] = (), tenant: str = "", opened_by: str = "", task_id: str = "",
    parent_task: str = "", optional_children: Sequence[str] = (),
) -> str:  # fmt: skip  # a signature in three lines
    """Open a task and give its id.

    Raises:
        InvalidInput: the purpose is empty.
    """
    if not purpose.strip():
        raise InvalidInput("The purpose of a task is empty.", field="purpose", remedy="Say in one sentence what it is for.")
    task_id = task_id or place.ids.new("task")
    data = {
        "purpose": purpose, "required_children": list(required_children), "optional_children": list(optional_children),
        "opened_by": opened_by, "parent_task": parent_task,
    }  # fmt: skip  # facts in lines
    event = Event(
        kind=Kind.TASK_OPENED, source=RUNTIME, id=place.ids.new("evt"), task_id=task_id, owner=Owner.RUNTIME, tenant=tenant,
        time=place.stamp(), data={k: v for k, v in data.items() if v},
    )  # fmt: skip  # facts in lines
    await place.ledger.append(task_id, [Draft(event=event)])
    return task_id


def proposal_draft(
    place: Workplace, task_id: str, proposal: Proposal, *, tenant: str = "", invocation_id: str = "", policy: ToolPolicy | None = None
) -> Draft:
    """Make the proposal event, with the policy that governs it and the inputs as a value.

    ``policy`` is given where this process need not know the tool: a next attempt is governed as the one before it is now.
    """
    policy = policy or place.policy_for(proposal.tool)
    given = {
        "provenance": [dict(row) for row in proposal.provenance],
        "dependencies": list(proposal.dependencies),
        "retry_of": proposal.retry_of,
        "reverses": proposal.reverses,
        "replaces": proposal.replaces,
        "parent": proposal.parent,
        "host": proposal.host,
        "correlation": [dict(row) for row in proposal.correlation],
        "purpose": proposal.purpose,
        "role": proposal.role,
        "requested_by": proposal.requested_by,
        "linked_by": proposal.linked_by,
        "changed": list(proposal.changed),
    }
    return Draft(
        event=Event(
            kind=Kind.PROPOSED, source=RUNTIME, id=place.ids.new("evt"), task_id=task_id,
            invocation_id=invocation_id or place.ids.new("inv"), owner=Owner.RUNTIME, attempt=proposal.attempt, tenant=tenant,
            time=place.stamp(), caused_by=tuple(proposal.caused_by),
            data={
                "tool": proposal.tool, "source_request": proposal.source_request, "proposer": proposal.proposer,
                "required": proposal.required != "no", **{k: v for k, v in given.items() if v}, **governed_by(policy),
            },
        ),
        values={"inputs": proposal.inputs, "policy": write_policy(policy), **_inverse_policy(place, policy)},
    )  # fmt: skip  # facts in lines


def _inverse_policy(place: Workplace, policy: ToolPolicy) -> dict[str, bytes]:
    """Keep the inverse's policy with the call, so that a process that declared neither can have it undone under the right one."""
    inverse = place.policies.get(policy.inverse.tool) if policy.inverse else None
    return {"inverse_policy": write_policy(inverse)} if inverse is not None else {}


def governed_by(policy: ToolPolicy) -> dict[str, Any]:
    """Give the fields of a proposal that the tool's policy declares."""
    declared = {
        "consequences": [str(c) for c in policy.consequences],
        "policy_version": policy.version,
        "commitment_boundary": policy.commitment_boundary,
        "expected_effects": list(policy.expected_effects),
        "cancel_support": str(policy.cancel_support),
        "recovery": list(policy.recovery),
        "alternate_routes": list(policy.alternate_routes),
    }
    return {k: v for k, v in declared.items() if v}


async def propose(place: Workplace, task_id: str, proposal: Proposal) -> str:
    """Record a proposal and give its invocation id.

    Raises:
        InvalidInput: the task was never opened.
    """
    return str((await propose_in(place, task_id, proposal))[0].event.invocation_id)


async def propose_in(
    place: Workplace, task_id: str, proposal: Proposal, *, invocation_id: str = "", policy: ToolPolicy | None = None
) -> Sequence[Recorded]:
    """Record a proposal in a task that is on record. ``policy`` governs it where this process need not know the tool.

    A call that asks for what an earlier one may already have done is recorded as another attempt at it, whatever its proposer says: else a
    model that proposes the same payment anew would make it twice.

    Raises:
        InvalidInput: the task was never opened.
    """
    view = await place.ledger.task(task_id)
    if view is None:
        raise InvalidInput(f"No task {task_id!r} is recorded.", field="task", remedy="Open it first.")
    governing = policy or place.policy_for(proposal.tool)
    linked = await _linked(place, view, proposal, governing)
    draft = proposal_draft(place, task_id, linked, tenant=view.task.tenant, invocation_id=invocation_id, policy=governing)
    return await place.ledger.append(task_id, [draft])


async def _linked(place: Workplace, view: TaskView, proposal: Proposal, policy: ToolPolicy) -> Proposal:
    """Give the proposal as what it is: another attempt, where an earlier one of the same purpose may have had its effect."""
    if proposal.retry_of or proposal.replaces or proposal.reverses:
        return proposal
    if not any(_is_doubtful(record, proposal.tool) for record in view.shared.values()):
        return proposal  # as nearly always; to follow every lineage costs more than to look at every record
    for record in reversed(latest_attempts(view.shared).values()):
        if not _is_doubtful(record, proposal.tool) or not record.inputs or not objection_to_repeat(record, policy):
            continue
        changed = await _same_purpose(place, record, proposal, policy)
        if changed is not None:
            return replace(proposal, retry_of=record.id, attempt=record.attempt + 1, linked_by="same-purpose", changed=changed)
    return proposal


async def _same_purpose(place: Workplace, record: InvocationRecord, proposal: Proposal, policy: ToolPolicy) -> tuple[str, ...] | None:
    """Compare the inputs of a call with those of a proposal; where they are sealed and cannot be opened here, what may be shown of both."""
    ref, asked = str((record.inputs or {})["ref"]), proposal.inputs
    try:
        inputs = await open_value(place.ledger, ref)
    except NotPermitted:
        inputs = await place.ledger.value(ref)
        shown = redact(asked, rules_for(policy, Kind.PROPOSED, "inputs"))
        asked = shown.shown.encode() if shown else asked
    return same_purpose(inputs, asked) if inputs is not None else None


def _is_doubtful(record: InvocationRecord, tool: str) -> bool:
    """Tell whether a call of this tool has not succeeded, so far as anybody knows, and may have had its effect all the same."""
    return (record.state in _WITHOUT_SUCCESS or Code.OUTCOME_UNKNOWN in record.findings) and record.tool == tool


_WITHOUT_SUCCESS: Final = TERMINAL - {State.SUCCEEDED}


async def open_register(place: Workplace, tenant: str) -> str:
    """Give the id of the tenant's register, opening it where it is not there yet.

    Raises:
        NotPermitted: a task of another tenant's stands in its place.
    """
    task_id = register_id(tenant)
    view = await place.ledger.task(task_id)
    if view is None or not view.task.purpose:
        await open_task(place, "What stands for every task of this tenant", tenant=tenant, task_id=task_id)
        view = await place.ledger.task(task_id)
    if view is None or of_tenant(view, tenant) is None:
        raise NotPermitted("Another tenant's task stands in the register's place.", rule="register", remedy="Ask whoever runs the ledger.")
    return task_id
