"""The boards of a house: what each actor is shown, from a reading of each task that is kept and brought up to date.

A reader sees the tasks of its own tenant and no others; to everybody else they are not there.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from toolwitness.core.errors import InvalidInput, UnknownId
from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, State
from toolwitness.core.verdicts import Actor, Verdict
from toolwitness.ports import Recorded
from toolwitness.presentation import cards
from toolwitness.service.board import Board
from toolwitness.service.workplace import Workplace

Document = dict[str, Any]

_MOST_EVENTS: Final = 200_000
_MOST_BOARDS: Final = 256
_MAY_WAIT: Final = (State.AWAITING_APPROVAL, State.AWAITING_INPUT, State.QUEUED, *EXECUTING)
"""The states in which a call may ask a person for something; in the first two it nearly always does."""
_OF_WAITING: Final = frozenset({
    Kind.INPUT_REQUIRED, Kind.INPUTS_ACCEPTED, Kind.INPUTS_REJECTED, Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED, Kind.APPROVAL_REQUESTED,
    Kind.APPROVAL_INVALIDATED, Kind.GRANTED, Kind.DENIED, Kind.DISMISSED, Kind.WITHDRAWN, Kind.CLOSED, Kind.DEADLINE_ELAPSED,
    Kind.ROUTE_CHOSEN,
})  # fmt: skip  # names
"""Kinds with which a call begins or ends to wait for a person."""


def no_invocation(invocation_id: str) -> UnknownId:
    """Make the error for an invocation that is not there, or not for this reader."""
    return UnknownId(
        f"No invocation {invocation_id!r} is recorded.", field="invocationId", remedy="List what is there with `toolwitness show`."
    )


def no_task(task_id: str) -> UnknownId:
    """Make the error for a task that is not there, or not for this reader."""
    return UnknownId(f"No task {task_id!r} is recorded.", field="taskId", remedy="List what is there with `toolwitness show`.")


class Boards:
    """The boards of the tasks that were looked at lately."""

    def __init__(self, place: Workplace) -> None:
        """Begin with none."""
        self._place = place
        self._boards: OrderedDict[str, Board] = OrderedDict()
        self._waiting: dict[str, str] | None = None
        """Invocation id → tenant, of every call that asks a person for something; ``None`` before it was first counted."""

    @asynccontextmanager
    async def board(self, task_id: str, actor: Actor) -> AsyncIterator[Board]:
        """Give the board of a task as it is now, for as long as the block lasts.

        Raises:
            UnknownId: there is none that this actor may see.
        """
        kept = self._boards.setdefault(task_id, Board(self._place, task_id))
        self._boards.move_to_end(task_id)
        try:
            async with kept.lock:
                await kept.refresh()
                if kept.tenant != actor.tenant:
                    raise no_task(task_id)
                yield kept
        except UnknownId:
            if not kept.sequence:
                self._boards.pop(task_id, None)
            raise
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Keep no more than fits, the board in use always."""
        weight = sum(board.weight for board in self._boards.values())
        while len(self._boards) > 1 and (weight > _MOST_EVENTS or len(self._boards) > _MOST_BOARDS):
            weight -= self._boards.popitem(last=False)[1].weight

    # ── one thing ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def card(self, invocation_id: str, actor: Actor) -> Document:
        """Give the card of one invocation.

        Raises:
            UnknownId: there is none that this actor may see.
        """
        task_id = await self._place.ledger.find(invocation_id)
        try:
            if task_id is not None:
                async with self.board(task_id, actor) as board:
                    if invocation_id in board.records:
                        return await board.card(invocation_id, actor)
        except UnknownId:
            pass
        raise no_invocation(invocation_id)

    async def task_card(self, task_id: str, actor: Actor) -> Document:
        """Give the card of a task with the cards of its calls.

        Raises:
            UnknownId: there is none that this actor may see.
        """
        async with self.board(task_id, actor) as board:
            return await board.whole(actor)

    async def inbox(self, actor: Actor) -> Document:
        """Give what waits for a person, what this actor may answer first."""
        drawn: list[Document] = []
        for task_id, names in (await self.who_waits(actor.tenant)).items():
            with suppress(UnknownId):  # a call of this tenant that somebody put into a task of another
                async with self.board(task_id, actor) as board:
                    drawn += [await board.card(name, actor) for name in names if name in board.records]
        return cards.inbox(drawn)

    async def waiting_count(self, actor: Actor) -> int:
        """Count what waits for a person in the actor's tenant."""
        return sum(len(names) for names in (await self.who_waits(actor.tenant)).values())

    async def who_waits(self, tenant: str | None) -> dict[str, list[str]]:
        """Name the calls of a tenant, or of all, that wait for a person by task, in order of their first event."""
        may: dict[str, list[str]] = {}
        for row in await self._place.ledger.states(states=_MAY_WAIT):
            if tenant is None or row.tenant == tenant:
                may.setdefault(row.task_id, []).append(row.invocation_id)
        found: dict[str, list[str]] = {}
        for task_id, names in may.items():
            view = await self._place.ledger.task(task_id)
            waiting = [name for name in names if view is not None and name in view.records and view.records[name].waits_for_person]
            found |= {task_id: waiting} if waiting else {}
        return found

    async def page(self, view: str, subject: str, actor: Actor) -> tuple[str, Document]:
        """Give the title and the data of one view of the console; the list of tasks is read elsewhere.

        Raises:
            UnknownId: the subject is not there for this actor.
            InvalidInput: there is no such view.
        """
        if view == "inbox":
            return "Inbox", await self.inbox(actor)
        if view not in {"task", "invocation"}:
            raise InvalidInput(f"There is no view {view!r}.", field="view")
        drawn = await (self.task_card if view == "task" else self.card)(subject, actor)
        return str(drawn["title"]), drawn

    # ── what changes ────────────────────────────────────────────────────────────────────────────────────────────────

    async def draw(
        self, actor: Actor, batch: Sequence[Recorded], *, drawn: MutableMapping[str, int] | None = None
    ) -> list[tuple[str, str, Document]]:
        """Draw what a batch of events changed, as the actor sees it now: (event name, task id, document).

        What is drawn may show more than the batch: all that is recorded by then. ``drawn`` keeps for a reader up to which event of each
        task that was, so that the next batch draws only what is newer.
        """
        seen = {} if drawn is None else drawn
        since: dict[str, int] = {}
        for one in batch:
            if one.task_sequence > seen.get(one.event.task_id, 0):
                since.setdefault(one.event.task_id, one.task_sequence)
        found: list[tuple[str, str, Document]] = []
        for task_id, first in since.items():
            with suppress(UnknownId):  # an event that speaks of a task of another tenant shows nothing of it
                async with self.board(task_id, actor) as board:
                    found += [(name, task_id, document) for name, document in await board.changes(actor, first)]
                    seen[task_id] = board.sequence
        return found

    async def newly_waiting(self, batch: Sequence[Recorded]) -> Mapping[str, int]:
        """Count by tenant what waits for a person, for the tenants where this batch may have changed it."""
        if self._waiting is None:
            self._waiting = {}
            for task_id, names in (await self.who_waits(None)).items():
                view = await self._place.ledger.task(task_id)
                self._waiting |= {name: view.records[name].tenant for name in names if view is not None}
        concerned: dict[str, set[str]] = {}
        tenants: set[str] = set()
        for one in batch:
            name, of_waiting = one.event.invocation_id, one.event.kind in _OF_WAITING and one.verdict is not Verdict.REFUSED
            if name and (of_waiting or one.verdict is Verdict.MOVED):
                concerned.setdefault(one.event.task_id, set()).add(name)
            if of_waiting:
                tenants.add(one.event.tenant)  # even where the count is what it was: it need not be the same calls
        for task_id, names in concerned.items():
            view = await self._place.ledger.task(task_id)
            for name in names:
                record = view.records.get(name) if view is not None else None
                if record is not None and self._note_waiting(record):
                    tenants.add(record.tenant)
        counted = list(self._waiting.values())
        return {tenant: counted.count(tenant) for tenant in tenants}

    def _note_waiting(self, record: InvocationRecord) -> bool:
        """Note whether a call waits for a person; tells whether it does or did."""
        waiting = self._waiting if self._waiting is not None else {}
        did = waiting.pop(record.id, None) is not None
        if record.waits_for_person:
            waiting[record.id] = record.tenant
        return did or record.waits_for_person
