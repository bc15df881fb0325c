"""What is known of one task between two drawings: one new event costs the reading of that event and the drawing of the cards it changed.

Each card notes at which event of the task it last changed, so that whoever saw the task up to some event is told what changed since, and no
more. What depends on the reader (controls, "you") is drawn for each reader anew; what does not is kept.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolwitness.core.errors import UnknownId
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code, Severity
from toolwitness.core.lineage import blocked_by, latest_attempts, root_of
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.task import TaskSummary, summarize
from toolwitness.core.task_record import TaskRecord
from toolwitness.core.verdicts import Actor, Control
from toolwitness.policy.authorization import Authority
from toolwitness.policy.consequences import missing_evidence
from toolwitness.policy.controls import further_actions, permitted_actions, task_actions
from toolwitness.policy.retry import judge_retry
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.ports import Recorded
from toolwitness.presentation import cards
from toolwitness.presentation.reading import needed_values
from toolwitness.presentation.words import DECISIONS
from toolwitness.service.register import is_register
from toolwitness.service.workplace import Workplace

Document = dict[str, Any]
_KEPT_VALUE: Final = 64 * 1024
_KEPT_BYTES: Final = 8 * 1024 * 1024
_AT_A_TIME: Final = 16


def complete(record: InvocationRecord) -> InvocationRecord:
    """Add the findings that policy has about a record to it: evidence that a success should have and has not."""
    lacking = missing_evidence(record) if record.state is State.SUCCEEDED else {}
    if lacking:
        demanded = ", ".join(sorted({str(c) for classes in lacking.values() for c in classes}))
        record.raise_finding(Code.EVIDENCE_MISSING, f"{demanded} asks for {', '.join(lacking)}; not recorded", *record.state_refs[:1])
    return record


def tenant_of(task: TaskRecord, records: Mapping[str, InvocationRecord]) -> str:
    """Give the tenant that a task belongs to: that of its opening, or of its first call where no opening was recorded."""
    first = next(iter(records.values()), None)
    return task.tenant if task.opened_at or first is None else first.tenant


class Board:
    """One task as it was last read, and what its cards are drawn from. Whoever draws holds ``lock``."""

    def __init__(self, place: Workplace, task_id: str) -> None:
        """Know nothing yet but the task's id."""
        self.lock = asyncio.Lock()
        self.task = TaskRecord(task_id)  # type: ignore[arg-type]  # replaced by the first reading
        self.records: dict[str, InvocationRecord] = {}
        self.sequence = 0
        """The task sequence up to which everything was read."""
        self._place = place
        self._authority = Authority()
        self._task_id = task_id
        self._position = 0
        self._events: dict[str, list[Recorded]] = {}
        self._policies: dict[str, ToolPolicy] = {}
        self._values: dict[str, bytes] = {}
        self._kept = 0
        self._changed: dict[str, int] = {}
        """Invocation id → the task sequence at which its card last changed."""
        self._head_changed = 0
        self._forms: dict[str, tuple[object, ...]] = {}
        self._standings: dict[str, tuple[object, ...]] = {}
        self._places: dict[str, tuple[object, ...]] = {}
        self._latest: dict[str, InvocationRecord] = {}
        self._roots: dict[str, str] = {}
        self._blocked: dict[str, tuple[str, ...]] = {}
        self._labels: dict[str, str] = {}
        self._order: dict[str, int] = {}
        """Invocation id → depth, in the order in which the cards are shown."""
        self._dependent: list[str] = []
        """The calls that wait, or waited, for others."""
        self._loud: list[str] = []
        """The calls at which something happened that policy did not allow."""
        self._summary: TaskSummary | None = None

    @property
    def tenant(self) -> str:
        """Give the tenant that the task belongs to."""
        return tenant_of(self.task, self.records)

    @property
    def weight(self) -> int:
        """How much is kept, in events."""
        return self.sequence

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def refresh(self) -> None:
        """Read what was recorded since the last reading.

        Raises:
            UnknownId: no such task is recorded.
        """
        view = await self._place.ledger.task(self._task_id)
        if view is None:
            raise UnknownId(f"No task {self._task_id!r} is recorded.", field="taskId", remedy="List what is there with `toolwitness show`.")
        self._authority = await self._place.authority_in(tenant_of(view.task, view.records))
        if view.sequence <= self.sequence:
            return
        news = [r for r in await self._place.ledger.read(task_id=self._task_id, after=self._position) if r.task_sequence <= view.sequence]
        self.task = view.task
        fresh: dict[str, InvocationRecord] = {}
        for recorded in news:
            name = recorded.event.invocation_id or ""
            self._events.setdefault(name, []).append(recorded)
            if recorded.event.kind == Kind.VALUE_ERASED:
                self._values.clear()
            if name and name not in fresh:
                fresh[name] = complete(view.records[name])
                self._policies[name] = await self._place.policy_of(fresh[name])
            if name:
                self._changed[name] = recorded.task_sequence
        self.records.update(fresh)
        self.sequence, self._position = view.sequence, news[-1].position if news else self._position
        self._rearrange(fresh, "task" if any(r.event.invocation_id is None for r in news) else "calls")

    def _rearrange(self, fresh: Mapping[str, InvocationRecord], touched: str) -> None:
        """Work out anew what calls mean to one another, as far as those that changed can have changed it."""
        forms = {name: _form(record) for name, record in fresh.items()}
        standings = {name: _standing(record) for name, record in fresh.items()}
        if any(self._forms.get(name) != form for name, form in forms.items()):
            self._forms |= forms
            self._order_anew()
        elif touched == "calls" and all(self._standings.get(name) == standing for name, standing in standings.items()):
            return
        self._standings |= standings
        self._latest |= {root: self.records[record.id] for root, record in self._latest.items() if record.id in fresh}
        self._loud = [name for name in self._order if _is_violated(self.records[name])]
        self._summary = summarize(self.task, self.records, not_retryable=self._not_retryable())
        self._head_changed = self.sequence
        for name in self._dependent:
            blocked = blocked_by(self.records[name], self.task, self.records, latest=self._latest)
            if blocked != self._blocked.get(name, ()):
                self._blocked[name] = blocked
                self._changed[name] = self.sequence

    def _order_anew(self) -> None:
        """Name and order the calls anew; whoever stands elsewhere now, or speaks of one that is named otherwise, has changed."""
        records = self.records
        self._latest = latest_attempts(records)
        self._roots = {name: root_of(record, records) for name, record in records.items()}
        self._labels = cards.labels(records)
        self._order = {record.id: depth for record, depth in cards.display_order(records)}
        self._dependent = [name for name, record in records.items() if record.proposal.get("dependencies")]
        places: dict[str, tuple[object, ...]] = {
            name: (
                self._order[name], self._latest[self._roots[name]].id,
                *(self._labels.get(other) for other in (*_spoken_of(record), *self._blocked.get(name, ()))),
            )
            for name, record in records.items()
        }  # fmt: skip  # one comprehension
        self._changed |= {name: self.sequence for name, place in places.items() if self._places.get(name) != place}
        self._places = places

    def _not_retryable(self) -> list[str]:
        """Name the failed attempts for which policy permits no retry."""
        now = self._place.now()
        return [
            record.id
            for record in self._latest.values()
            if record.state is State.FAILED and not judge_retry(record, self._policies[record.id], now).allowed
        ]

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def changes(self, actor: Actor, since: int) -> list[tuple[str, Document]]:
        """Draw what changed at or after the event ``since`` of the task: (event name, document)."""
        changed = [name for name, at in self._changed.items() if at >= since]
        drawn = [("card", card) for card in await self._cards(changed, actor)]
        if self._head_changed >= since:
            drawn.append(("task", await self.head(actor)))
        if not is_register(self._task_id):
            drawn.append(("row", cards.task_row(self.task, self.records, summary=self._summary)))
        return drawn

    async def whole(self, actor: Actor) -> Document:
        """Draw the task and all its cards."""
        drawn = await self._cards(list(self._order), actor)
        return {**await self.head(actor), "cards": drawn}

    async def _cards(self, names: Sequence[str], actor: Actor) -> list[Document]:
        """Draw cards; between some and some, others on the loop have their turn."""
        drawn: list[Document] = []
        for number, name in enumerate(names, 1):
            drawn.append(await self.card(name, actor))
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return drawn

    async def head(self, actor: Actor) -> Document:
        """Draw what stands above the cards."""
        summary = self._summary or summarize(self.task, self.records)
        mine = [name for name in summary.waiting_for_person if _decidable(self.controls(name, actor))]
        loud = [finding for name in self._loud for finding in cards.loudest(await self.card(name, actor))]
        return cards.task_head(
            self.task, self.records, summary=summary, events=self._events.get("", ()), now=self._place.now(), links=self._labels,
            viewer=actor.id, mine=mine, loud=loud, task_controls=task_actions(self.task, self.records, actor),
        )  # fmt: skip  # facts in lines

    async def card(self, name: str, actor: Actor) -> Document:
        """Draw the card of one invocation, with its place in the task."""
        policy, events = self._policies[name], self._events[name]
        drawn = cards.invocation_card(
            self.records[name], events=events, now=self._place.now(), controls=(*self.controls(name, actor), *self._further(name, actor)),
            values=await self._read_values(events), links=self._labels, viewer=actor.id, blocked=self._blocked.get(name, ()),
            redact=policy.redact, inverse=policy.inverse.tool if policy.inverse else "",
            provider=self.records[name].tool if self.records[name].tool in self._place.providers else "",
        )  # fmt: skip  # facts in lines
        return drawn | {"depth": self._order.get(name, 0)}

    def controls(self, name: str, actor: Actor) -> tuple[Control, ...]:
        """Give every control that the moment offers ``actor`` at one invocation."""
        latest = self._latest.get(self._roots.get(name, name))
        return permitted_actions(
            self.records[name], self._policies[name], actor, self._place.now(), latest_attempt=latest.id if latest else name,
            blocked_by=self._blocked.get(name, ()), authority=self._authority,
        )  # fmt: skip  # facts in lines

    def _further(self, name: str, actor: Actor) -> tuple[Control, ...]:
        """Give the controls beside those that the lifecycle's table names."""
        return further_actions(self.records[name], self._policies[name], actor, self._place.now(), authority=self._authority)

    async def _read_values(self, events: Sequence[Recorded]) -> dict[str, bytes]:
        """Give the values that a card about these events reads; small ones are kept."""
        found: dict[str, bytes] = {}
        for recorded in events:
            if recorded.event.kind == Kind.VALUE_ERASED:
                self._values.pop(str(recorded.event.data.get("value_ref")), None)
        for ref in needed_values(events):
            value = self._values.get(ref)
            if value is None:
                value = await self._place.ledger.value(ref)
                self._keep(ref, value)
            if value is not None:
                found[ref] = value
        return found

    def _keep(self, ref: str, value: bytes | None) -> None:
        if value is None or len(value) > _KEPT_VALUE:
            return
        if self._kept > _KEPT_BYTES:
            self._values.clear()
            self._kept = 0
        self._values[ref] = value
        self._kept += len(value)


def _form(record: InvocationRecord) -> tuple[object, ...]:
    """Give of a record what names and orders it among the others."""
    pointers = (record.retried_by, record.replaced_by, record.reversed_by, *record.moved_dependencies.items())
    return (record.attempt, bool(record.proposal), *pointers)


def _standing(record: InvocationRecord) -> tuple[object, ...]:
    """Give of a record what others, and the task as a whole, depend on."""
    asked = record.open_approval
    return (
        record.state, record.waits_for_person, asked.id if asked else "", record.open_cancellation is not None,
        tuple(record.resolved_dependencies),
        tuple((f.code, f.detail, f.count) for f in record.findings.values() if f.severity is Severity.VIOLATION),
    )  # fmt: skip  # facts in lines


def _spoken_of(record: InvocationRecord) -> Sequence[str]:
    """Name the calls whose names stand on a record's card."""
    told = record.proposal
    named = (told.get("retry_of"), told.get("replaces"), told.get("reverses"), told.get("parent"))
    pointed = (record.retried_by, record.replaced_by, record.reversed_by, *record.moved_dependencies.values())
    dependencies = told.get("dependencies")
    listed = dependencies if isinstance(dependencies, list | tuple) else ()
    return [name for name in (*named, *pointed, *listed) if isinstance(name, str) and name]


def _decidable(controls: Sequence[Control]) -> bool:
    return any(control.enabled and control.action in DECISIONS for control in controls)


def _is_violated(record: InvocationRecord) -> bool:
    return any(finding.severity is Severity.VIOLATION for finding in record.findings.values())
