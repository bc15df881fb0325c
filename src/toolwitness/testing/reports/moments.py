"""What the contract documents said after each event of a report; kept, because a report also asks about the middle."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.core.record import InvocationRecord
from toolwitness.core.verdicts import Actor
from toolwitness.ports import TaskView
from toolwitness.service import views
from toolwitness.testing.reports.stage import Stage

NOBODY: Final = Actor(id="a reader")
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Everything that a consumer could read at one moment."""

    number: int
    """After how many events."""
    documents: Mapping[str, Document]
    """Our invocation id → its contract document."""
    records: Mapping[str, InvocationRecord]
    tasks: Mapping[str, Document]
    cards: Mapping[str, Document] = field(default_factory=dict[str, Document])
    """Task → its card, as anybody may read it."""
    actions: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict[str, Mapping[str, frozenset[str]]])
    """Viewer → invocation id → what this viewer may do."""
    inbox: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Viewer → the calls in the inbox, in order."""
    counted: Mapping[str, int] = field(default_factory=dict[str, int])
    """Viewer → the number that stands at the inbox."""
    position: int = 0
    """The last event of the ledger."""


async def look(stage: Stage, number: int) -> Moment:
    """Read everything now."""
    place = stage.place
    documents: dict[str, Document] = {}
    records: dict[str, InvocationRecord] = {}
    tasks: dict[str, Document] = {}
    cards: dict[str, Document] = {}
    actions: dict[str, dict[str, frozenset[str]]] = {name: {} for name in stage.viewers()}
    for task_id in await place.ledger.tasks(limit=1_000):
        view = await place.ledger.task(task_id)
        if view is None:
            continue
        tasks[task_id] = await views.task_document(place, task_id, NOBODY)
        cards[task_id] = await views.task_card(place, task_id, NOBODY)
        records.update(view.records)
        await _read_calls(stage, view, documents, actions)
    waiting = {name: await views.inbox(place, actor) for name, actor in stage.viewers().items()}
    return Moment(
        number=number, documents=documents, records=records, tasks=tasks, cards=cards, actions=actions, position=await place.ledger.head(),
        inbox={name: tuple(str(item["id"]) for item in shown["items"]) for name, shown in waiting.items()},
        counted={name: await _count(stage, actor) for name, actor in stage.viewers().items()},
    )  # fmt: skip  # facts in lines


async def _read_calls(stage: Stage, view: TaskView, documents: dict[str, Document], actions: dict[str, dict[str, frozenset[str]]]) -> None:
    for invocation_id in view.records:
        documents[invocation_id] = await views.document(stage.place, invocation_id, NOBODY)
        for name, actor in stage.viewers().items():
            seen = await views.document(stage.place, invocation_id, actor)
            actions[name][invocation_id] = frozenset(seen["permittedActions"])


async def _count(stage: Stage, actor: Actor) -> int:
    """Count as the page does that shows a number beside the word inbox."""
    return len(await views.waiting_documents(stage.place, actor))
