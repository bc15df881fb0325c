"""One task as folded so far, kept in memory between appends, and views of it that callers may keep.

A view costs the same however many invocations a task has: it takes the records as they are, and whoever goes on folding works on copies
from then on (copy on write). The caller in turn gets its own copy of each record that it looks at.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Event
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import InvocationId, State, TaskId
from toolwitness.core.task import TaskRecord, judge_task
from toolwitness.core.verdicts import Judgement
from toolwitness.ledger.chain import genesis
from toolwitness.ports import TaskView

_PARTS_OF_RECORD: Final = attrgetter(*(f.name for f in fields(InvocationRecord)))
_PARTS_OF_TASK: Final = attrgetter(*(f.name for f in fields(TaskRecord)))
"""Everything that a record holds, in the order in which its constructor takes it: many times quicker than field by field."""
_CONTAINERS: Final = frozenset({list, dict, set})


@dataclass(slots=True)
class Folded:
    """The fold of one task: its record, its invocations, and where its chain stands."""

    task: TaskRecord
    records: dict[str, InvocationRecord] = field(default_factory=dict)
    sequence: int = 0
    head: bytes = b""
    position: int = 0
    """Where the task's last event stands in the ledger."""
    key: int = 0
    """Where its first event stands."""
    keys: dict[str, int] = field(default_factory=dict)
    """Where the first event of each invocation stands."""
    mine: set[str] = field(default_factory=set)
    """Invocations whose records no view holds; the others are copied before they change."""
    task_is_mine: bool = True

    @classmethod
    def empty(cls, task_id: str) -> "Folded":
        """Give the fold of a task of which nothing is recorded."""
        return cls(task=TaskRecord(TaskId(task_id)), head=genesis(task_id))

    def judge(self, event: Event, subject: str | None, recorded_at: str) -> Judgement:
        """Judge one event about ``subject``, an invocation, or about the task itself where that is ``None``.

        A task belongs to the tenant of its first event, opened or not.
        """
        if not self.sequence and event.tenant:
            self.task.tenant = event.tenant
        if subject is None:
            if not self.task_is_mine:
                self.task, self.task_is_mine = copy_task(self.task), True
            return judge_task(self.task, event, recorded_at=recorded_at)
        record = self.records.get(subject)
        if record is None:
            record = InvocationRecord(InvocationId(subject), task_id=self.task.id, tenant=event.tenant)
            self.records[subject] = record
            self.mine.add(subject)
        elif subject not in self.mine:
            record = self.records[subject] = copy_record(record)
            self.mine.add(subject)
        return judge(record, event, recorded_at=recorded_at)

    def advance(self, subject: str | None, position: int, head: bytes) -> None:
        """Note that the event just judged stands at ``position`` and ends the chain with ``head``."""
        self.sequence += 1
        self.position, self.head = position, head
        self.key = self.key or position
        if subject is not None and subject not in self.keys:
            self.keys[subject] = position

    def state_of(self, subject: str | None) -> State | None:
        """Give the state of an invocation; ``None`` for the task itself and for one that is in no state yet."""
        return self.records[subject].state if subject is not None else None

    def view(self) -> TaskView:
        """Give a reading that stays as it is whatever is recorded later."""
        self.mine.clear()
        shared = dict(self.records)
        return TaskView(
            task=copy_task(self.task), records=Records(shared), sequence=self.sequence, shared=MappingProxyType(shared)
        )  # fmt: skip  # one reading in two forms


class Records(Mapping[str, InvocationRecord]):
    """The records of a view; each is copied when it is first looked at, and is the caller's from then on."""

    __slots__ = ("_copied", "_shared")

    def __init__(self, shared: dict[str, InvocationRecord]) -> None:
        self._shared = shared
        self._copied: dict[str, InvocationRecord] = {}

    def __getitem__(self, key: str) -> InvocationRecord:
        own = self._copied.get(key)
        if own is None:
            own = self._copied[key] = copy_record(self._shared[key])
        return own

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)

    def __repr__(self) -> str:
        return f"Records({', '.join(f'{key}: {record.state}' for key, record in self._shared.items())})"


def copy_record(record: InvocationRecord) -> InvocationRecord:
    """Give a record that shares nothing that the fold changes; events and their data are never changed and are shared."""
    own = InvocationRecord(*_copied(_PARTS_OF_RECORD(record)))
    own.approvals = [copy(approval) for approval in record.approvals]
    own.held = {source: dict(events) for source, events in record.held.items()}
    return own


def copy_task(task: TaskRecord) -> TaskRecord:
    """Give a task record that shares nothing that the fold changes."""
    return TaskRecord(*_copied(_PARTS_OF_TASK(task)))


def _copied(parts: Iterable[Any]) -> list[Any]:
    return [part.copy() if type(part) in _CONTAINERS else part for part in parts]
