"""Open a task; propose an invocation in it. Proposing dispatches nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.policy.written import write_policy
from toolwitness.ports import Draft
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
    host: str = ""
    """The one process that holds the call; empty where any process with the tool may run it."""
    correlation: Sequence[Mapping[str, Any]] = ()
    caused_by: Sequence[str] = ()


async def open_task(
    place: Workplace, purpose: str, *, required_children: Sequence[str] = (), tenant: str = "", opened_by: str = "", task_id: str = "",
    parent_task: str = "",
) -> str:  # fmt: skip  # a signature in three lines
    """Open a task and give its id.

    Raises:
        InvalidInput: the purpose is empty.
    """
    if not purpose.strip():
        raise InvalidInput("The purpose of a task is empty.", field="purpose", remedy="Say in one sentence what it is for.")
    task_id = task_id or place.ids.new("task")
    data = {"purpose": purpose, "required_children": list(required_children), "opened_by": opened_by, "parent_task": parent_task}
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
        values={"inputs": proposal.inputs, "policy": write_policy(policy)},
    )  # fmt: skip  # facts in lines


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
    view = await place.ledger.task(task_id)
    if view is None:
        raise InvalidInput(f"No task {task_id!r} is recorded.", field="task", remedy="Open it first.")
    draft = proposal_draft(place, task_id, proposal, tenant=view.task.tenant)
    await place.ledger.append(task_id, [draft])
    return str(draft.event.invocation_id)
