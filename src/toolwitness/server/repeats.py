"""A click that a flaky network sends twice is one click: the same request id gets the first answer, and nothing is recorded twice.

What this process answered lately is remembered. What it does not remember, another process may have answered: the recorded acts say so.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from toolwitness.core.errors import InvalidInput, NotPermitted
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor, Verdict
from toolwitness.ports import Recorded
from toolwitness.service.workplace import LOOK_AGAIN, Receipt, Workplace, read

_REMEMBERED: Final = 1024
_ACTS: Final[dict[str, tuple[Kind, ...]]] = {
    "approve": (Kind.GRANTED,),
    "deny": (Kind.DENIED,),
    "respond": (Kind.INPUT_SUPPLIED,),
    "dismiss": (Kind.DISMISSED,),
    "withdraw": (Kind.WITHDRAWN, Kind.CANCEL_REQUESTED),
    "supply_input": (Kind.INPUT_SUPPLIED,),
    "edit_inputs": (Kind.INPUTS_EDITED,),
    "choose_route": (Kind.ROUTE_CHOSEN,),
    "request_cancellation": (Kind.CANCEL_REQUESTED,),
    "retry": (Kind.RETRY_REQUESTED,),
    "reverse": (Kind.REVERSAL_REQUESTED,),
    "resubmit": (Kind.ROUTE_CHOSEN,),
    "request_approval_again": (Kind.ROUTE_CHOSEN,),
    "waive_child": (Kind.CHILD_WAIVED,),
}
"""The act that each action records; an action that is not here leaves no request id on record."""


class Repeats:
    """The answers given lately, by who asked for what under which id."""

    def __init__(self, place: Workplace) -> None:
        """Remember nothing yet."""
        self._place = place
        self._answers: OrderedDict[tuple[str, ...], asyncio.Task[Receipt]] = OrderedDict()

    async def once(
        self, actor: Actor, invocation_id: str, action: str, request_id: str, perform: Callable[[], Awaitable[Receipt]]
    ) -> Receipt:
        """Carry out an action unless it was carried out before under this request id; an action without one is always carried out.

        Raises:
            ToolwitnessError: as ``perform`` does, or did the first time.
        """
        if not request_id:
            return await perform()
        key = (actor.tenant, actor.id, invocation_id, action, request_id)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = asyncio.create_task(self._first(actor, invocation_id, action, request_id, perform))
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        try:
            return await asyncio.shield(answer)
        except (NotPermitted, InvalidInput):
            raise
        except BaseException:
            if answer.done():  # nobody knows what came of it: the next attempt is a real one
                self._answers.pop(key, None)
            raise

    async def _first(
        self, actor: Actor, invocation_id: str, action: str, request_id: str, perform: Callable[[], Awaitable[Receipt]]
    ) -> Receipt:
        known = await self._recorded(actor, invocation_id, action, request_id)
        return known if known is not None else await perform()

    async def _recorded(self, actor: Actor, invocation_id: str, action: str, request_id: str) -> Receipt | None:
        """Give the answer to the act that is on record under this id.

        Raises:
            NotPermitted: the act is on record as refused.
        """
        kinds = _ACTS.get(action, ())
        events = await self._events(invocation_id, action) if kinds else ()
        act = next((one for one in events if one.event.kind in kinds and _is_from(one, actor, request_id)), None)
        if act is None:
            return None
        if act.verdict is Verdict.REFUSED:
            rule, _, reason = act.reason.partition(": ")
            raise NotPermitted(reason or rule, rule=rule, remedy=LOOK_AGAIN)
        target = str(act.event.data.get("new_invocation") or invocation_id)
        caused = [one for one in events if act.event.ref in one.event.caused_by]
        return Receipt(recorded=(act, *caused), record=(await read(self._place, target)).record)

    async def _events(self, invocation_id: str, action: str) -> Iterable[Recorded]:
        """Read where the act would stand: a waiver is an act about the task."""
        if action != "waive_child":
            return await self._place.ledger.read(invocation_id=invocation_id)
        task_id = await self._place.ledger.find(invocation_id)
        return [one for one in await self._place.ledger.read(task_id=task_id) if one.event.invocation_id is None] if task_id else ()


def _is_from(one: Recorded, actor: Actor, request_id: str) -> bool:
    said: Any = one.event.data
    return one.event.owner is Owner.USER and said.get("request_id") == request_id and said.get("actor") == actor.id
