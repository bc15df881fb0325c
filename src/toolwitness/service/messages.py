"""What a model is told at its next turn: every call of a task as it stands on record, in the shape that its provider takes."""

from collections.abc import Sequence
from typing import Any, Final

from toolwitness.core.errors import InvalidInput
from toolwitness.core.lineage import blocked_by, latest_attempts
from toolwitness.ports import Recorded, TaskView
from toolwitness.presentation.cards import labels
from toolwitness.presentation.reading import Reading, needed_values
from toolwitness.presentation.turn_formats import FORMATS
from toolwitness.presentation.turns import closings
from toolwitness.service.boards import no_invocation, no_task
from toolwitness.service.workplace import Workplace

OUR_ID: Final = "inv_"


async def tool_messages(place: Workplace, task_id: str, *, form: str, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Give the messages that close the calls of a task, or those that ``only`` names, in the shape named ``form``.

    Raises:
        InvalidInput: there is no such format, or ``only`` is a text and not a list of ids.
        UnknownId: no such task is recorded, or ``only`` names an invocation of ours that is not.
    """
    if form not in FORMATS:
        raise InvalidInput(f"No tool messages are written as {form!r}.", field="format", remedy=f"Use {', '.join(FORMATS)}.")
    if isinstance(only, str):
        raise InvalidInput("The calls to close are given as one text.", field="only", remedy=f"Give a list of ids: only=[{only!r}].")
    view = await place.ledger.task(task_id)
    if view is None:
        raise no_task(task_id)
    for name in only or ():
        if name.startswith(OUR_ID) and name not in view.records:
            raise no_invocation(name)
    latest = latest_attempts(view.records)
    blocked = {name: blocked_by(record, view.task, view.records, latest=latest) for name, record in view.records.items()}
    return FORMATS[form](closings(await _readings(place, view), now=place.now(), only=only, blocked=blocked))


async def _readings(place: Workplace, view: TaskView) -> dict[str, Reading]:
    """Read every call of the task, as the view has it."""
    events: dict[str, list[Recorded]] = {name: [] for name in view.records}
    for recorded in await place.ledger.read(task_id=view.task.id):
        if recorded.event.invocation_id in events and recorded.task_sequence <= view.sequence:
            events[recorded.event.invocation_id].append(recorded)
    links, now = labels(view.records), place.now()
    found: dict[str, Reading] = {}
    for name, record in view.records.items():
        read = {ref: await place.ledger.value(ref) for ref in needed_values(events[name])}
        values = {ref: raw for ref, raw in read.items() if raw is not None}
        redact = (await place.policy_of(record)).redact
        found[name] = Reading(record=record, events=events[name], now=now, values=values, links=links, redact=redact)
    return found
