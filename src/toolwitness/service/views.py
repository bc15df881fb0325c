"""What one actor sees: the documents and cards of what is recorded, with what policy lets this actor do now.

A reader sees the tasks of its own tenant and no others; to everybody else they are not there.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from toolwitness.contract.document import build_invocation_document, build_task_document
from toolwitness.core.errors import UnknownId
from toolwitness.core.lineage import blocked_by, latest_attempts, root_of
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.verdicts import Actor, Control
from toolwitness.policy.authorization import Authority
from toolwitness.policy.controls import permitted_actions
from toolwitness.policy.retry import judge_retry
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.ports import Recorded, TaskView
from toolwitness.presentation import cards
from toolwitness.presentation.reading import needed_values
from toolwitness.service.board import complete, tenant_of
from toolwitness.service.boards import Boards, no_invocation, no_task
from toolwitness.service.register import is_register
from toolwitness.service.sealing import as_shown
from toolwitness.service.workplace import Workplace

Document = dict[str, Any]


async def _visible(place: Workplace, task_id: str, actor: Actor) -> TaskView:
    """Read a task of the actor's tenant.

    Raises:
        UnknownId: there is none that this actor may see.
    """
    view = await place.ledger.task(task_id)
    if view is None or tenant_of(view.task, view.records) != actor.tenant:
        raise no_task(task_id)
    return view


async def _visible_tasks(place: Workplace, actor: Actor, *, limit: int) -> list[TaskView]:
    """Read the tasks of the actor's tenant, the most recently touched first.

    A task that one tenant was the first to speak of and another has opened belongs to the second, and is in neither's way.
    """
    ids = await place.ledger.tasks(tenant=actor.tenant, limit=limit)
    views = [await place.ledger.task(task_id) for task_id in ids if not is_register(task_id)]
    return [view for view in views if view is not None and tenant_of(view.task, view.records) == actor.tenant]


async def _seen(place: Workplace, invocation_id: str, actor: Actor) -> tuple[TaskView, InvocationRecord]:
    """Read an invocation of the actor's tenant; one of another is not told from one that is not there."""
    task_id = await place.ledger.find(invocation_id)
    try:
        view = await _visible(place, task_id, actor) if task_id else None
    except UnknownId:
        view = None
    if view is None or invocation_id not in view.records:
        raise no_invocation(invocation_id)
    return view, complete(view.records[invocation_id])


async def require_visible(place: Workplace, invocation_id: str, actor: Actor) -> None:
    """Go on only if the actor may see this invocation.

    Raises:
        UnknownId: it may not, or there is none.
    """
    await _seen(place, invocation_id, actor)


def controls_for(
    place: Workplace, view: TaskView, record: InvocationRecord, policy: ToolPolicy, actor: Actor, *, authority: Authority | None = None
) -> tuple[Control, ...]:
    """Give every control that the moment offers ``actor`` at one invocation."""
    latest = latest_attempts(view.shared)
    newest = latest.get(root_of(record, view.shared), record)
    blocked = blocked_by(record, view.task, view.shared, latest=latest)
    return permitted_actions(record, policy, actor, place.now(), latest_attempt=newest.id, blocked_by=blocked, authority=authority)


async def _values(place: Workplace, events: Iterable[Recorded]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for ref in needed_values(events):
        value = await place.ledger.value(ref)
        if value is not None:
            found[ref] = value
    return found


# ── documents ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def document(place: Workplace, invocation_id: str, actor: Actor) -> Document:
    """Give the contract document of one invocation, with what this actor may do."""
    view, record = await _seen(place, invocation_id, actor)
    return await _document(place, view, record, actor)


async def _document(place: Workplace, view: TaskView, record: InvocationRecord, actor: Actor) -> Document:
    policy = await place.policy_of(record)
    recorded = await place.ledger.read(invocation_id=record.id)
    values = await _values(place, recorded)
    if (standing := str((record.inputs or {}).get("ref"))) in values:
        values[standing] = as_shown(values[standing], policy)
    controls = controls_for(place, view, record, policy, actor, authority=await place.authority_in(record.tenant))
    return build_invocation_document(record, values=values, verdicts=controls, blocked=blocked_by(record, view.task, view.shared))


async def task_document(place: Workplace, task_id: str, actor: Actor) -> Document:
    """Give the contract document of a task."""
    view = await _visible(place, task_id, actor)
    for record in view.records.values():
        complete(record)
    return build_task_document(view.task, view.records, not_retryable=await _not_retryable(place, view))


async def task_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of every task that the actor sees, the oldest first."""
    views = await _visible_tasks(place, actor, limit=10_000)
    return [await task_document(place, task_id, actor) for task_id in sorted(view.task.id for view in views)]


async def invocation_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of every invocation that the actor sees, in order of task and proposal."""
    found: list[Document] = []
    for view in sorted(await _visible_tasks(place, actor, limit=10_000), key=lambda view: view.task.id):
        found += [await _document(place, view, complete(record), actor) for record in view.records.values()]
    return found


async def waiting_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of what waits for a person."""
    found: list[Document] = []
    for names in (await Boards(place).who_waits(actor.tenant)).values():
        for name in names:
            with suppress(UnknownId):  # a call of this tenant in a task of another hides none of the others
                found.append(await _document(place, *await _seen(place, name, actor), actor))
    return found


async def events(place: Workplace, invocation_id: str, actor: Actor) -> Sequence[Recorded]:
    """Give the recorded events of one invocation, in order of arrival."""
    await _seen(place, invocation_id, actor)
    return await place.ledger.read(invocation_id=invocation_id)


async def _not_retryable(place: Workplace, view: TaskView) -> list[str]:
    """Name the failed attempts for which policy permits no retry."""
    failed = [record for record in latest_attempts(view.records).values() if record.state is State.FAILED]
    return [record.id for record in failed if not judge_retry(record, await place.policy_of(record), place.now()).allowed]


async def task_rows(place: Workplace, actor: Actor) -> list[Document]:
    """Give the lines of the list of tasks, the most recently touched first."""
    views = await _visible_tasks(place, actor, limit=200)
    return [cards.task_row(view.task, view.records, not_retryable=await _not_retryable(place, view)) for view in views]


# ── cards, for those who look once ──────────────────────────────────────────────────────────────────────────────────


async def card(place: Workplace, invocation_id: str, actor: Actor) -> Document:
    """Give the card of one invocation."""
    return await Boards(place).card(invocation_id, actor)


async def task_card(place: Workplace, task_id: str, actor: Actor) -> Document:
    """Give the card of a task with the cards of its calls."""
    return await Boards(place).task_card(task_id, actor)


async def inbox(place: Workplace, actor: Actor) -> Document:
    """Give what waits for a person, what this actor may answer first."""
    return await Boards(place).inbox(actor)
