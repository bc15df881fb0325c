"""What one actor sees: the documents and cards of what is recorded, with what policy lets this actor do now.

A reader sees the tasks of its own tenant and no others; to everybody else they are not there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolwitness.contract.document import build_invocation_document, build_task_document
from toolwitness.core.errors import InvalidInput, UnknownId
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.task import blocked_by, latest_attempts, root_of
from toolwitness.core.verdicts import Actor, Control
from toolwitness.policy.consequences import missing_evidence
from toolwitness.policy.controls import permitted_actions, task_actions
from toolwitness.policy.retry import judge_retry
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.ports import Recorded, TaskView
from toolwitness.presentation import cards
from toolwitness.presentation.reading import needed_values
from toolwitness.service.workplace import Workplace

Document = dict[str, Any]
_WAITING = (State.AWAITING_APPROVAL, State.AWAITING_INPUT)


async def _visible(place: Workplace, task_id: str, actor: Actor) -> TaskView:
    """Read a task of the actor's tenant, with the findings that policy adds to its records.

    Raises:
        UnknownId: there is none that this actor may see.
    """
    view = await place.ledger.task(task_id)
    if view is None or view.task.tenant != actor.tenant:
        raise UnknownId(f"No task {task_id!r} is recorded.", field="taskId", remedy="List what is there with `toolwitness show`.")
    for record in view.records.values():
        lacking = missing_evidence(record) if record.state is State.SUCCEEDED else {}
        if lacking:
            demanded = ", ".join(sorted({str(c) for classes in lacking.values() for c in classes}))
            record.raise_finding(Code.EVIDENCE_MISSING, f"{demanded} asks for {', '.join(lacking)}; not recorded", *record.state_refs[:1])
    return view


async def _seen(place: Workplace, invocation_id: str, actor: Actor) -> tuple[TaskView, InvocationRecord]:
    task_id = await place.ledger.find(invocation_id)
    view = await _visible(place, task_id, actor) if task_id else None
    if view is None or invocation_id not in view.records:
        raise UnknownId(f"No invocation {invocation_id!r} is recorded.", field="invocationId", remedy="List what is there with `toolwitness show`.")
    return view, view.records[invocation_id]


async def require_visible(place: Workplace, invocation_id: str, actor: Actor) -> None:
    """Go on only if the actor may see this invocation.

    Raises:
        UnknownId: it may not, or there is none.
    """
    await _seen(place, invocation_id, actor)


async def _policies(place: Workplace, view: TaskView) -> dict[str, ToolPolicy]:
    """Give the policy of every call of a task by invocation id."""
    return {record.id: await place.policy_of(record) for record in view.records.values()}


def controls_for(place: Workplace, view: TaskView, record: InvocationRecord, policy: ToolPolicy, actor: Actor) -> tuple[Control, ...]:
    """Give every control that the moment offers ``actor`` at one invocation."""
    latest = latest_attempts(view.records).get(root_of(record, view.records), record)
    return permitted_actions(
        record, policy, actor, place.now(), latest_attempt=latest.id, blocked_by=blocked_by(record, view.task, view.records)
    )


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
    values = {} if policy.redact else await _values(place, recorded)
    controls = controls_for(place, view, record, policy, actor)
    return build_invocation_document(record, values=values, verdicts=controls, blocked=blocked_by(record, view.task, view.records))


async def task_document(place: Workplace, task_id: str, actor: Actor) -> Document:
    """Give the contract document of a task."""
    view = await _visible(place, task_id, actor)
    return build_task_document(view.task, view.records, not_retryable=_not_retryable(place, view, await _policies(place, view)))


async def task_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of every task that the actor sees, the oldest first."""
    ids = await place.ledger.tasks(tenant=actor.tenant, limit=10_000)
    return [await task_document(place, task_id, actor) for task_id in sorted(ids)]


async def invocation_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of every invocation that the actor sees, in order of task and proposal."""
    found: list[Document] = []
    for task_id in sorted(await place.ledger.tasks(tenant=actor.tenant, limit=10_000)):
        view = await _visible(place, task_id, actor)
        found += [await _document(place, view, record, actor) for record in view.records.values()]
    return found


async def waiting_documents(place: Workplace, actor: Actor) -> list[Document]:
    """Give the documents of what waits for a person."""
    found = []
    for row in await place.ledger.states(states=_WAITING):
        if row.tenant == actor.tenant:
            view, record = await _seen(place, row.invocation_id, actor)
            found.append(await _document(place, view, record, actor))
    return found


async def events(place: Workplace, invocation_id: str, actor: Actor) -> Sequence[Recorded]:
    """Give the recorded events of one invocation, in order of arrival."""
    await _seen(place, invocation_id, actor)
    return await place.ledger.read(invocation_id=invocation_id)


def _not_retryable(place: Workplace, view: TaskView, policies: Mapping[str, ToolPolicy]) -> list[str]:
    """Name the failed attempts for which policy permits no retry."""
    return [
        record.id
        for record in latest_attempts(view.records).values()
        if record.state is State.FAILED and not judge_retry(record, policies[record.id], place.now()).allowed
    ]


# ── cards ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def card(place: Workplace, invocation_id: str, actor: Actor) -> Document:
    """Give the card of one invocation."""
    view, record = await _seen(place, invocation_id, actor)
    return await _card(place, view, record, actor, await place.ledger.read(invocation_id=invocation_id))


async def _card(place: Workplace, view: TaskView, record: InvocationRecord, actor: Actor, recorded: Sequence[Recorded]) -> Document:
    policy = await place.policy_of(record)
    return cards.invocation_card(
        record, events=recorded, now=place.now(), controls=controls_for(place, view, record, policy, actor), values=await _values(place, recorded),
        links=cards.labels(view.records), viewer=actor.id, blocked=blocked_by(record, view.task, view.records),
        redact=policy.redact, inverse=policy.inverse.tool if policy.inverse else "",
    )  # fmt: skip  # facts in lines


async def task_card(place: Workplace, task_id: str, actor: Actor) -> Document:
    """Give the card of a task with the cards of its calls."""
    view = await _visible(place, task_id, actor)
    recorded = await place.ledger.read(task_id=task_id)
    return await _task_card(place, view, recorded, actor)


async def _task_card(place: Workplace, view: TaskView, recorded: Sequence[Recorded], actor: Actor) -> Document:
    policies = await _policies(place, view)
    by_invocation: dict[str, list[Recorded]] = {}
    for one in recorded:
        by_invocation.setdefault(one.event.invocation_id or "", []).append(one)
    return cards.task_card(
        view.task, view.records, events=by_invocation, now=place.now(), values=await _values(place, recorded), viewer=actor.id,
        controls={record.id: controls_for(place, view, record, policies[record.id], actor) for record in view.records.values()},
        redact={name: policy.redact for name, policy in policies.items()},
        inverses={name: policy.inverse.tool for name, policy in policies.items() if policy.inverse},
        not_retryable=_not_retryable(place, view, policies), task_controls=task_actions(view.task, view.records, actor),
    )  # fmt: skip  # facts in lines


async def task_rows(place: Workplace, actor: Actor) -> list[Document]:
    """Give the lines of the list of tasks, the most recently touched first."""
    rows = []
    for task_id in await place.ledger.tasks(tenant=actor.tenant):
        view = await _visible(place, task_id, actor)
        rows.append(cards.task_row(view.task, view.records, not_retryable=_not_retryable(place, view, await _policies(place, view))))
    return rows


async def inbox(place: Workplace, actor: Actor) -> Document:
    """Give what waits for a person, what this actor may answer first."""
    rows = [row for row in await place.ledger.states(states=_WAITING) if row.tenant == actor.tenant]
    return cards.inbox([await card(place, row.invocation_id, actor) for row in rows])


async def waiting_count(place: Workplace, actor: Actor) -> int:
    """Count what waits for a person in the actor's tenant."""
    return sum(row.tenant == actor.tenant for row in await place.ledger.states(states=_WAITING))


# ── pages and the live stream ───────────────────────────────────────────────────────────────────────────────────────


async def page(place: Workplace, view: str, subject: str, actor: Actor) -> tuple[str, Document]:
    """Give the title and the data of one view of the console.

    Raises:
        UnknownId: the subject is not there for this actor.
        InvalidInput: there is no such view.
    """
    if view == "tasks":
        return "Tasks", {"tasks": await task_rows(place, actor)}
    if view == "inbox":
        return "Inbox", await inbox(place, actor)
    if view not in {"task", "invocation"}:
        raise InvalidInput(f"There is no view {view!r}.", field="view")
    drawn = await (task_card if view == "task" else card)(place, subject, actor)
    return str(drawn["title"]), drawn


async def draw(place: Workplace, actor: Actor, batch: Sequence[Recorded]) -> list[tuple[str, str, Document]]:
    """Draw what a batch of events changed, as the actor sees it: (event name, task id, document), the task id empty where all are told."""
    drawn: list[tuple[str, str, Document]] = []
    for task_id in dict.fromkeys(one.event.task_id for one in batch):
        view = await _visible(place, task_id, actor)
        touched = list(dict.fromkeys(one.event.invocation_id for one in batch if one.event.task_id == task_id))
        recorded = await place.ledger.read(task_id=task_id)
        whole = await _task_card(place, view, recorded, actor)
        affected = {i for i in touched if i} | _neighbours(view, touched)
        drawn += [("card", task_id, one) for one in whole["cards"] if one["id"] in affected]
        drawn.append(("task", task_id, {name: value for name, value in whole.items() if name != "cards"}))
        drawn.append(("row", task_id, cards.task_row(view.task, view.records, not_retryable=_not_retryable(place, view, await _policies(place, view)))))
    drawn.append(("inbox", "", {"waiting": await waiting_count(place, actor)}))
    return drawn


def _neighbours(view: TaskView, touched: Sequence[str | None]) -> set[str]:
    """Name the calls whose cards speak of a touched one: those that depend on it, follow it or precede it."""
    names = {name for name in touched if name}
    near: set[str] = set()
    for record in view.records.values():
        told = record.proposal
        named = {told.get("retry_of"), told.get("replaces"), told.get("reverses"), *(told.get("dependencies") or ())}
        named |= set(record.moved_dependencies.values())
        if named & names:
            near.add(record.id)
        if record.id in names:
            near |= {name for name in named if isinstance(name, str) and name in view.records}
    return near
