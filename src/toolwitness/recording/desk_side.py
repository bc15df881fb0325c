"""The desk's side of a recorded agent: proposals, approvals, permits, bodies. It knows our rooms and not one word of the framework.

A call is found again by the conversation and the provider's id, also from another process: the task's id follows from the conversation's,
and the proposal carries the provider's id. A body runs under the guard that the local runtime uses too: one call of a parallel batch can be
stopped alone, and its real end is what is recorded.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from math import isfinite
from typing import Any, Protocol, cast

from toolwitness.core.errors import Conflict
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, ClosureKind, Owner, State, Termination
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.ports import Draft
from toolwitness.reading.pen import stable
from toolwitness.recording.decided import Decided, decided_of
from toolwitness.recording.news import News, Stoppable
from toolwitness.runtime.recovery import holder_of, is_gone, is_here
from toolwitness.service.claim import claim
from toolwitness.service.looking import look_at
from toolwitness.service.propose import Proposal, governed_by, open_task, proposal_draft
from toolwitness.service.sealing import open_value
from toolwitness.service.submit import approval_draft, submit
from toolwitness.service.workplace import Situation, Workplace, carry_out, make_draft, read


class DeskLike(Protocol):
    """What a recorder needs of a desk."""

    place: Workplace
    host: str
    tenant: str

    async def start(self) -> Any:
        """Begin to look at deadlines."""
        ...


class Rule(StrEnum):
    """Whether a policy of ours applies to a call."""

    GOVERNED = "governed"
    """Its policy is declared at the desk, or the framework itself demands an approval of it: it runs with a permit only."""
    OBSERVED = "observed"
    """Nobody declared anything: it runs as it always did, and the record says that no policy of ours was asked."""


class Support(StrEnum):
    """Whether a body can be stopped, and whether its end can be seen."""

    TASK = "task"
    """An async function: its own task is seen to end."""
    THREAD = "thread"
    """A sync function: nothing stops its thread, whose end is seen all the same."""
    UNSUPPORTED = "unsupported"
    """It runs elsewhere (an MCP server): only our wait can be ended, which proves nothing."""


class DeskSide:
    """Everything that a recorder does at the desk."""

    def __init__(self, desk: DeskLike, framework: str, *, task_id: str = "") -> None:
        """Work at ``desk`` for ``framework``; ``task_id`` puts all calls into one open task, else each conversation gets its own."""
        self.desk = desk
        self.framework = framework
        self.place = desk.place
        self._task_id = task_id
        self._ids: dict[tuple[str, str], str] = {}
        self._orders: dict[str, int] = {}
        self._news = News(desk.place, f"{framework}-follow")

    @property
    def in_hand(self) -> int:
        """How many calls are kept in memory: those that are not over."""
        return len(self._ids)

    @property
    def source(self) -> str:
        """The source of what the framework is seen to do."""
        return f"{self.framework}:{self.desk.host}"

    # ── finding and proposing ───────────────────────────────────────────────────────────────────────────────────────

    def task_id(self, conversation: str) -> str:
        """Give the id of the task of a conversation, open or not."""
        return self._task_id or f"task_{stable(self.desk.tenant, conversation)}"

    async def task_for(self, conversation: str, purpose: str) -> str:
        """Give the task of a conversation; open it where it is not open yet."""
        await self.desk.start()
        task_id = self.task_id(conversation)
        if self._task_id:
            return task_id
        if await self.place.ledger.task(task_id) is None:
            with suppress(Conflict):
                await open_task(self.place, purpose, tenant=self.desk.tenant, opened_by=self.framework, task_id=task_id)
        return task_id

    async def find(self, task_id: str, provider_id: str) -> InvocationRecord | None:
        """Give the latest call that carries this provider's id in the task."""
        known = self._ids.get((task_id, provider_id))
        if known is not None:
            return (await read(self.place, known)).record
        view = await self.place.ledger.task(task_id)
        carrying = [name for name, r in view.shared.items() if _carries(r, provider_id)] if view else []
        return view.records[carrying[-1]] if view and carrying else None

    async def propose(
        self,
        task_id: str,
        provider_id: str,
        tool: str,
        inputs: bytes,
        *,
        run_id: str,
        follows: InvocationRecord | None = None,
        rule: Rule,
        proposer: str = "model",
    ) -> str:
        """Record a proposal and give its id; ``follows`` is the call that the model was asked to make again.

        ``proposer`` is who is seen to ask: a protocol shows its client, and not what made it ask.
        """
        corrects = follows is not None and follows.state is State.AWAITING_INPUT
        view = await self.place.ledger.task(task_id)
        occurrence = 1 + (sum(_carries(r, provider_id) for r in view.shared.values()) if view else 0)  # looked at, and not copied
        proposal = Proposal(
            tool=tool,
            inputs=inputs,
            source_request=f"run {run_id}",
            proposer=proposer,
            host=f"{self.framework} at {self.desk.host}",  # no other runtime of this process may take it up
            correlation=[{"source": self.framework, "run_id": run_id, "provider_call_id": provider_id, "occurrence": occurrence}],
            attempt=1 if follows is None else follows.attempt + (0 if corrects else 1),
            retry_of=follows.id if follows is not None and not corrects else "",
            replaces=follows.id if follows is not None and corrects else "",
        )
        invocation_id = self.place.ids.new("inv")
        draft = proposal_draft(self.place, task_id, proposal, tenant=self.desk.tenant, invocation_id=invocation_id)
        drafts = [draft if rule is Rule.GOVERNED else _ungoverned(self.place, draft)]
        if follows is not None and corrects:
            drafts.append(self._withdrawal(follows, "replaced by a corrected call", replaced_by=invocation_id))
        await self.place.ledger.append(task_id, drafts)
        self._ids[task_id, provider_id] = invocation_id
        return invocation_id

    async def records(self, task_id: str) -> Sequence[InvocationRecord]:
        """Give every call of the task, oldest first."""
        view = await self.place.ledger.task(task_id)
        return tuple(view.records.values()) if view else ()

    def _event(
        self, kind: Kind, task_id: str, invocation_id: str, data: Mapping[str, Any], *, attempt: int = 1, owner: Owner = Owner.RUNTIME
    ) -> Event:
        return Event(
            kind=kind, source=self.source, id=self.place.ids.new("evt"), task_id=task_id, invocation_id=invocation_id, owner=owner,
            attempt=attempt, tenant=self.desk.tenant, time=self.place.stamp(), data=data,
        )  # fmt: skip  # facts in lines

    async def _say(
        self, record: InvocationRecord, kind: Kind, data: Mapping[str, Any], *, values: Mapping[str, bytes] | None = None
    ) -> None:
        """Record what the framework was seen to do with a call."""
        draft = Draft(event=self._event(kind, record.task_id, record.id, data, attempt=record.attempt), values=values or {})
        await self.place.ledger.append(record.task_id, [draft])

    async def tell(
        self, invocation_id: str, kind: Kind, data: Mapping[str, Any], *, values: Mapping[str, bytes] | None = None
    ) -> None:  # fmt: skip  # a signature in two lines
        """Record what was seen of a call that no guard holds: what runs elsewhere is known by what it answers."""
        await self._say((await read(self.place, invocation_id)).record, kind, data, values=values)

    def _withdrawal(self, record: InvocationRecord, reason: str, *, replaced_by: str = "") -> Draft:
        facts = {
            "kind": str(ClosureKind.WITHDRAWN), "initiator": "proposer", "scope": "this invocation", "reason": reason,
            "at": self.place.stamp(), "replaced_by": replaced_by or None, "owner_name": self.framework,
        }  # fmt: skip  # facts in lines
        return make_draft(self.place, record, Kind.CLOSED, facts, once_key=f"dispatch:{record.id}")

    # ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def accept_inputs(self, record: InvocationRecord, inputs: bytes) -> None:
        """Record the inputs that the body will get, where validation made others of the proposed ones."""
        if same_json(await self.standing(record), inputs):
            return
        facts = {"inputs_digest": "as recorded with the inputs", "checked_by": self.framework}
        draft = make_draft(self.place, record, Kind.INPUTS_ACCEPTED, facts, values={"inputs": inputs})
        await self.place.ledger.append(record.task_id, [draft])

    async def reject_inputs(self, record: InvocationRecord, why: str, problems: bytes | None = None) -> None:
        """Record that the framework did not accept the inputs and asks the model."""
        facts: dict[str, Any] = {"validation": why, "collector": "model", "unresolved": []}
        values = {"problems": problems} if problems is not None else {}
        await self.place.ledger.append(record.task_id, [make_draft(self.place, record, Kind.INPUTS_REJECTED, facts, values=values)])

    async def ask_input(self, record: InvocationRecord, kind: str) -> None:
        """Record that the call waits for an answer from outside: a person's (``question``) or another executor's (``external``)."""
        if record.state in TERMINAL or record.input_request is not None:
            return
        question = kind == "question"
        facts = {"unresolved": ["answer" if question else "result"], "collector": "person" if question else "external executor"}
        await self.place.ledger.append(record.task_id, [make_draft(self.place, record, Kind.INPUT_REQUIRED, facts)])

    async def answered(self, invocation_id: str) -> None:
        """Record that what the call had asked for was given to it, by whomever: it asks no more."""
        record = (await read(self.place, invocation_id)).record
        if record.input_request is not None:
            facts = {"inputs_digest": "the answer went to the tool and not to the desk", "checked_by": self.framework}
            await self.place.ledger.append(record.task_id, [make_draft(self.place, record, Kind.INPUTS_ACCEPTED, facts)])

    async def leave(self, proposed: Sequence[str], reason: str) -> None:
        """Close what was proposed, or sent back to the model, and will not be made any more; what a person was asked for stays open."""
        for invocation_id in proposed:
            record = (await read(self.place, invocation_id)).record
            asked = record.input_request or {}
            if record.state is State.PROPOSED or (record.state is State.AWAITING_INPUT and asked.get("collector") == "model"):
                await self.withdraw(invocation_id, reason)
            self._forget(record)

    def _forget(self, record: InvocationRecord) -> None:
        """Keep nothing in memory of a run that is over: what is on record is found there."""
        self._orders.pop(record.id, None)
        for key in [key for key, known in self._ids.items() if known == record.id]:
            del self._ids[key]

    async def standing(self, record: InvocationRecord) -> bytes:
        """Give the exact bytes of the inputs that stand."""
        return (await open_value(self.place.ledger, record.inputs["ref"]) if record.inputs else None) or b"{}"

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def ask(self, invocation_id: str) -> None:
        """Take a governed call as far as policy lets it go now."""
        await submit(self.place, invocation_id)

    async def ask_approval(self, invocation_id: str) -> None:
        """Ask for the approval that the framework demands, whatever policy would ask; asking twice asks once."""
        before = await read(self.place, invocation_id)
        raw = await self.standing(before.record)
        look = await look_at(self.place, before, raw)

        def decide(situation: Situation) -> list[Draft]:
            record = situation.record
            asked = record.approval is not None or record.permission is not None or record.state in TERMINAL
            return [] if asked else [approval_draft(self.place, situation, raw, look=look)]

        await carry_out(self.place, invocation_id, decide)

    async def decision(self, invocation_id: str) -> Decided:
        """Wait until the call is permitted or closed, by whomever, and say which.

        Raises:
            asyncio.CancelledError: the run's own; the request is withdrawn, so that a late approval runs nothing.
        """
        try:
            async with self._news.following():
                while True:
                    self._news.forget()
                    record = (await read(self.place, invocation_id)).record
                    decided = decided_of(record)
                    if decided is not None:
                        return Decided(decided.permitted, decided.why, await self.standing(record))
                    await self._news.wait()
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(self.withdraw(invocation_id, "the run that asked for it was cancelled")))
            raise

    async def is_decided(self, invocation_id: str) -> bool:
        """Tell whether the call is permitted or closed by now, without waiting."""
        return decided_of((await read(self.place, invocation_id)).record) is not None

    async def withdraw(self, invocation_id: str, reason: str) -> None:
        """Close a call that waits, in the name of its proposer; nothing where somebody has answered first."""
        record = (await read(self.place, invocation_id)).record
        if record.state in TERMINAL or record.claim is not None or record.starts:
            return
        with suppress(Conflict):
            await self.place.ledger.append(record.task_id, [self._withdrawal(record, reason)])

    async def end_paused(self, invocation_id: str, why: str) -> None:
        """Record that a body which had stopped to ask, and was told no, will not go on: it has ended, and that is known."""
        record = (await read(self.place, invocation_id)).record
        if record.state is not State.PARTIALLY_COMPLETE:
            return
        answer = record.approval.answer if record.approval is not None else None
        facts = {
            "termination": str(Termination.CONFIRMED),
            "initiator": answer.actor if answer is not None else self.framework,
            "scope": "this invocation",
            "reason": why,
            "at": self.place.stamp(),
        }
        await self._say(record, Kind.CANCEL_ACKNOWLEDGED, facts)

    async def ended(self, invocation_id: str) -> InvocationRecord:
        """Wait until a call that was dispatched has ended, and give its record; at once where nobody will ever say how.

        Whoever holds it may be this process or another of this machine. If that one is gone, the call is recorded as lost; if it is on
        another machine, nothing is known of it here, and nothing is waited for.
        """
        async with self._news.following():
            while True:
                self._news.forget()
                record = (await read(self.place, invocation_id)).record
                held_by = holder_of(record)
                if record.state in TERMINAL or Code.OUTCOME_UNKNOWN in record.findings or not is_here(held_by):
                    return record
                if why := is_gone(held_by):
                    await self.lose(record, why)
                    return (await read(self.place, invocation_id)).record
                await self._news.wait(_LOOK_AGAIN)  # a process that is killed makes no news

    async def lose(self, record: InvocationRecord, reason: str) -> None:
        """Record that nobody will see how a call ended that was seen to start, because whoever held it is gone."""
        await self._say(record, Kind.LOST, {"reason": reason, **({"lease": record.lease} if record.lease else {})})

    async def claim(self, invocation_id: str) -> str | PolicyVerdict:
        """Claim the permit of a governed call, and give the claim's reference, or policy's no."""
        claimed = await claim(self.place, invocation_id, source=f"{self.source}:permits", worker=self.desk.host)
        return claimed if isinstance(claimed, PolicyVerdict) else str(claimed.event.ref)

    # ── bodies ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def holding(self, invocation_id: str, body: Stoppable) -> AsyncGenerator[None]:
        """Pass cancellation requests for this call, and for no other, on to its body."""
        async with self._news.holding(invocation_id, body):
            yield

    async def progress(self, task_id: str, provider_id: str, text: bytes, counts: Mapping[str, int]) -> None:
        """Record progress that a tool emitted through the framework."""
        record = await self.find(task_id, provider_id)
        if record is None:
            return
        order = self._orders[record.id] = max(self._orders.get(record.id, 0), record.progress_order) + 1
        await self._say(record, Kind.PROGRESS, {"order": order, **counts}, values={"text": text})


_LOOK_AGAIN = 1.0
"""Seconds after which whoever holds a call that is waited for is looked at again."""


def _carries(record: InvocationRecord, provider_id: str) -> bool:
    return any(row.get("provider_call_id") == provider_id for row in record.proposal.get("correlation") or ())


def _ungoverned(place: Workplace, draft: Draft) -> Draft:
    """Give a proposal that claims no policy of ours."""
    ours = governed_by(place.policy_for(str(draft.event.data["tool"]))).keys()
    data = {name: fact for name, fact in draft.event.data.items() if name not in ours}
    return Draft(event=replace(draft.event, data=data), values={"inputs": draft.values["inputs"]})


def same_json(one: bytes, other: bytes) -> bool:
    """Tell whether two texts hold the same JSON value: 1 is 1.0 and is not true, and a number that no double holds is only itself."""
    try:
        return one == other or _as_value(one) == _as_value(other)
    except (ValueError, RecursionError):
        return False


def _as_value(raw: bytes) -> object:
    """Read JSON so that what differs in JSON differs in Python: ``True == 1`` there, and all that is too large is infinite."""
    return _told_apart(json.loads(raw, parse_float=lambda text: float(text) if isfinite(float(text)) else ("beyond", text)))


def _told_apart(value: object) -> object:
    if isinstance(value, bool):
        return ("word", value)
    if isinstance(value, list):
        return [_told_apart(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _told_apart(item) for name, item in cast("dict[str, object]", value).items()}
    return value
