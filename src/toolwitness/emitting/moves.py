"""The calls of a task as one reader may see them: each as it stands, and again whenever it moves."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from toolwitness.core.errors import UnknownId
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State
from toolwitness.core.verdicts import Actor
from toolwitness.emitting.numbers import for_scripts
from toolwitness.service import views
from toolwitness.service.boards import Boards
from toolwitness.service.sealing import as_shown
from toolwitness.service.workplace import Workplace, read
from toolwitness.wire.json_text import parse

KEY: Final = "tool-call-ui/1"
"""The name under which a record travels in other people's streams: the name of its contract."""


class DeskLike(Protocol):
    """What an emitter needs of a desk."""

    @property
    def place(self) -> Workplace:
        """Where its record is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One call as it stands now."""

    record: InvocationRecord
    document: Mapping[str, Any]
    """The contract document."""
    card: Mapping[str, Any]
    """The card document, which ``<tool-call-card>`` draws."""
    inputs: Any = None
    """The inputs that stand, as this reader may see them."""
    result: Any = None
    """The result of a success, as this reader may see it."""

    @property
    def provider_call_id(self) -> str:
        """The id under which the model knows the call; our own where it has none."""
        for row in self.record.proposal.get("correlation") or ():
            if row.get("provider_call_id"):
                return str(row["provider_call_id"])
        return self.record.id

    def payload(self) -> dict[str, Any]:
        """Give what travels: the call's id, the version of its record, its document and its card, with numbers that survive a script."""
        told = {"invocationId": self.record.id, "version": self.record.version, "document": self.document, "card": self.card}
        whole: dict[str, Any] = for_scripts(told)
        return whole


class Moves:
    """Follows the calls of one task for one reader."""

    def __init__(self, desk: DeskLike, task_id: str, *, actor: Actor) -> None:
        """Take the task and who reads: what this actor may not see is not there, and the controls are this actor's."""
        self._place = desk.place
        self._task_id = task_id
        self._actor = actor
        self._boards = Boards(desk.place)
        self._seen: dict[str, int] = {}

    async def standing(self) -> Sequence[Move]:
        """Give every call of the task as it stands, in order of proposal; none while the task is not there, or not this reader's."""
        view = await self._place.ledger.task(self._task_id)
        return [] if view is None else [await self._move(invocation_id) for invocation_id in view.records]

    async def one(self, invocation_id: str) -> Move | None:
        """Give one call of the task as it stands; none where it is not there, or not this reader's."""
        view = await self._place.ledger.task(self._task_id)
        if view is None or invocation_id not in view.records:
            return None
        with suppress(UnknownId):
            return await self._move(invocation_id)
        return None

    async def follow(self, *, after: int | None = None) -> AsyncIterator[Move]:
        """Give every call as it stands, then each again when it has moved, for ever.

        ``after`` is a ledger position: what has not moved since is left out, so that a reader who comes back gets what was missed.

        Raises:
            UnknownId: the task belongs to a tenant that this reader is not of.
        """
        position = await self._place.ledger.head()
        if after is None:
            for move in await self.standing():
                yield self._sent(move)
        else:
            for invocation_id in await self._moved_after(after):
                yield self._sent(await self._move(invocation_id))
        async for batch in self._place.ledger.follow(after=position):
            ours = [recorded.event.invocation_id for recorded in batch if recorded.event.task_id == self._task_id]
            for invocation_id in dict.fromkeys(name for name in ours if name):
                move = await self._move(invocation_id)
                if self._seen.get(invocation_id) != move.record.version:
                    yield self._sent(move)

    async def settled(self) -> None:
        """Wait until every call of the task has ended; a task without calls is settled."""
        position = await self._place.ledger.head()
        if await self._all_ended():
            return
        async for batch in self._place.ledger.follow(after=position):
            if any(recorded.event.task_id == self._task_id for recorded in batch) and await self._all_ended():
                return

    async def _all_ended(self) -> bool:
        view = await self._place.ledger.task(self._task_id)
        return view is None or all(record.state in TERMINAL for record in view.shared.values())

    async def _moved_after(self, position: int) -> list[str]:
        recorded = await self._place.ledger.read(after=position, task_id=self._task_id)
        return list(dict.fromkeys(one.event.invocation_id for one in recorded if one.event.invocation_id))

    def _sent(self, move: Move) -> Move:
        self._seen[move.record.id] = move.record.version
        return move

    async def _move(self, invocation_id: str) -> Move:
        # The record first: what moves while the rest is read is then given once more, and never taken for given.
        record = (await read(self._place, invocation_id)).record
        document = await views.document(self._place, invocation_id, self._actor)
        card = await self._boards.card(invocation_id, self._actor)
        ended = record.outcome.data.get("result") if record.state is State.SUCCEEDED and record.outcome is not None else None
        return Move(
            record=record, document=document, card=card, inputs=await self._shown(record, record.inputs),
            result=await self._shown(record, ended),
        )  # fmt: skip  # facts in lines

    async def _shown(self, record: InvocationRecord, said: object) -> Any:
        """Give a value as it may be shown; a text that is no JSON as the text that it is."""
        ref = said.get("ref") if isinstance(said, Mapping) else None
        raw = await self._place.ledger.value(str(ref)) if ref else None
        if raw is None:
            return None
        shown = as_shown(raw, await self._place.policy_of(record))
        parsed = parse(shown)
        return parsed.value if parsed.is_whole else shown.decode("utf-8", "replace")
