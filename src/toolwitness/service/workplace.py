"""What every command works with, and the one way in which a command reads, decides and writes.

A command reads a task, lets a pure function decide, and appends with the sequence that it read. If somebody wrote in between, it reads and
decides again; it never writes on what it did not see.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Protocol

from toolwitness.core.errors import Conflict, InvalidInput, NotPermitted, OnceKeyTaken, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool
from toolwitness.policy.written import read_policy
from toolwitness.ports import Clock, Draft, Ids, Ledger, Recorded, TaskView
from toolwitness.core.times import rfc3339

SOURCE: Final = "toolwitness:service"
"""The source of what policy says."""
DESK: Final = "toolwitness:desk"
"""The source of what authenticated people decide; the actor is in the data."""
_TRIES: Final = 50


class InputProblem(Protocol):
    """One thing that is missing or wrong with inputs."""

    @property
    def field(self) -> str:
        """The input's name."""
        ...

    @property
    def kind(self) -> str:
        """``missing``, ``type`` or ``unexpected``."""
        ...

    @property
    def message(self) -> str:
        """What is wrong and what fits."""
        ...


@dataclass(slots=True, kw_only=True)
class Workplace:
    """A ledger, a clock, ids, the policies by tool name, and what checks inputs."""

    ledger: Ledger
    clock: Clock
    ids: Ids
    policies: dict[str, ToolPolicy] = field(default_factory=dict)
    checkers: dict[str, Callable[[bytes], Sequence["InputProblem"]]] = field(default_factory=dict)
    """Per tool: what is missing from or wrong with these input bytes."""
    _recorded: dict[str, ToolPolicy] = field(default_factory=dict)
    """Policies read back from proposals, by version."""

    def policy_for(self, tool: str) -> ToolPolicy:
        """Give the declared policy of a tool, or the most restrictive one for a tool nobody declared."""
        return self.policies.get(tool) or unknown_tool(tool)

    async def policy_of(self, record: InvocationRecord) -> ToolPolicy:
        """Give the policy that governs a recorded call: this process's own declaration, else the one that was recorded with the proposal.

        A process that never declared the tool (the command line, another service) judges by what the proposing process declared. What cannot
        be read counts as unknown and gets the most restrictive answers.
        """
        declared = self.policies.get(record.tool)
        written = record.proposal.get("policy")
        if declared is not None or not isinstance(written, Mapping):
            return declared or unknown_tool(record.tool)
        version = str(record.proposal.get("policy_version"))
        if version not in self._recorded:
            raw = await self.ledger.value(str(written.get("ref")))
            try:
                self._recorded[version] = read_policy(raw or b"")
            except InvalidInput:
                return unknown_tool(record.tool)
        return self._recorded[version]

    def now(self) -> datetime:
        """Give the policy's clock (R10)."""
        return self.clock.now()

    def stamp(self) -> str:
        """Give the policy's time as RFC 3339."""
        return rfc3339(self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One invocation in its task, as read before deciding."""

    view: TaskView
    record: InvocationRecord
    policy: ToolPolicy
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a command recorded, and the record as it stands after it."""

    recorded: tuple[Recorded, ...]
    record: InvocationRecord


def make_draft(
    place: Workplace, record: InvocationRecord, kind: Kind, data: Mapping[str, Any], *,
    owner: Owner = Owner.POLICY, caused_by: Sequence[str] = (), once_key: str = "", values: Mapping[str, bytes] | None = None,
) -> Draft:  # fmt: skip  # a signature in three lines
    """Make an event about ``record`` in the name of policy, or of a person where ``owner`` says so."""
    return Draft(
        event=Event(
            kind=kind, source=DESK if owner is Owner.USER else SOURCE, id=place.ids.new("evt"), task_id=record.task_id,
            invocation_id=record.id, owner=owner, attempt=record.attempt, tenant=record.tenant, time=place.stamp(),
            data={k: v for k, v in data.items() if v is not None}, caused_by=tuple(caused_by), once_key=once_key,
        ),
        values=values or {},
    )  # fmt: skip  # as above


def said_by(actor: Actor, **facts: Any) -> dict[str, Any]:
    """Give the data of a person's act: who, in which roles, through which channel, and the facts of the act."""
    return {"actor": actor.id, "roles": sorted(actor.roles), "channel": actor.channel or "python", **facts}


async def read(place: Workplace, invocation_id: str) -> Situation:
    """Read one invocation with its task.

    Raises:
        UnknownId: nothing is recorded under this id.
    """
    task_id = await place.ledger.find(invocation_id)
    view = await place.ledger.task(task_id) if task_id else None
    record = view.records.get(invocation_id) if view else None
    if view is None or record is None:
        raise UnknownId(f"No invocation {invocation_id!r} is recorded.", field="invocationId", remedy="List what is there with `toolwitness show`.")
    return Situation(view=view, record=record, policy=await place.policy_of(record), now=place.now())


Decide = Callable[[Situation], Sequence[Draft]]


async def carry_out(place: Workplace, invocation_id: str, decide: Decide) -> Receipt:
    """Read, decide and append until nobody has written in between; give what was recorded.

    ``decide`` may raise ``Refusal`` with the draft of the refused act: the act is recorded as refused and ``NotPermitted`` is raised.

    Raises:
        NotPermitted: policy says no; the refusal is on record.
        UnknownId: nothing is recorded under this id.
        Conflict: others kept writing for longer than a command may wait.
    """
    for _ in range(_TRIES):
        situation = await read(place, invocation_id)
        try:
            drafts = decide(situation)
        except Refusal as refusal:
            await _record_refusal(place, situation, refusal)
            raise NotPermitted(
                refusal.verdict.reason, rule=refusal.verdict.rule, remedy=refusal.remedy, **dict(refusal.verdict.facts)
            ) from None
        if not drafts:
            return Receipt(recorded=(), record=situation.record)
        try:
            recorded = await place.ledger.append(situation.view.task.id, drafts, expected_sequence=situation.view.sequence)
        except OnceKeyTaken:
            continue  # the winner is on record now: decide again, and say who won
        except Conflict:
            continue
        return Receipt(recorded=tuple(recorded), record=(await read(place, invocation_id)).record)
    raise Conflict("Others kept writing to this task.", remedy="Try again.", invocationId=invocation_id)


class Refusal(Exception):
    """Policy's no to a person's act; carries the act so that it is recorded with the reason."""

    def __init__(self, verdict: PolicyVerdict, act: Draft | None = None, *, remedy: str = "") -> None:
        """Keep the verdict and, where a person acted, the act."""
        super().__init__(verdict.reason)
        self.verdict = verdict
        self.act = act
        self.remedy = remedy


async def _record_refusal(place: Workplace, situation: Situation, refusal: Refusal) -> None:
    """Record the refused act, believed by nobody and taking no once-key."""
    if refusal.act is None:
        return
    reason = f"{refusal.verdict.rule}: {refusal.verdict.reason}"
    event = replace(refusal.act.event, refusal=reason, once_key="")
    await place.ledger.append(situation.view.task.id, [Draft(event=event, values=refusal.act.values)])


def require(verdict: PolicyVerdict, act: Draft | None = None, *, remedy: str = "") -> None:
    """Go on only if policy allows.

    Raises:
        Refusal: it does not.
    """
    if not verdict.allowed:
        raise Refusal(verdict, act, remedy=remedy)
