"""What every command works with, and the one way in which a command reads, decides and writes.

A command reads what only the world can tell (policy, the bytes of inputs), and then lets a pure function decide in the ledger's own turn:
on the task as it stands at that moment, with nobody writing in between. So no command ever writes on what it did not see, and none has to
try twice.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from toolwitness.core.errors import Conflict, InvalidInput, NotPermitted, OnceKeyTaken, ToolwitnessError, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, Owner, State
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import Authority, Authorizer, RolesAndTenants
from toolwitness.policy.files import PolicyFile
from toolwitness.policy.looks import Look
from toolwitness.policy.provider import Attempt, Said
from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool
from toolwitness.policy.written import read_policy
from toolwitness.ports import Clock, Draft, Ids, Ledger, Recorded, TaskView
from toolwitness.service.register import Register, register_of
from toolwitness.service.sealing import open_value

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


Checker = Callable[[bytes], Sequence[InputProblem]]


@dataclass(slots=True, kw_only=True)
class Workplace:
    """A ledger, a clock, ids, the policies by tool name, and what checks inputs."""

    ledger: Ledger
    clock: Clock
    ids: Ids
    policies: dict[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    checkers: dict[str, Checker] = field(default_factory=dict[str, Checker])
    """Per tool: what is missing from or wrong with these input bytes."""
    lookers: dict[str, Callable[[bytes], Awaitable[Look]]] = field(default_factory=dict[str, Callable[[bytes], Awaitable[Look]]])
    """Per tool that this process hosts: what its target is and what it costs now, for these input bytes."""
    providers: dict[str, Callable[[Attempt, bytes], Awaitable[Said]]] = field(
        default_factory=dict[str, Callable[[Attempt, bytes], Awaitable[Said]]]
    )
    """Per tool that this process hosts and that can ask: what the other side says of an attempt with these input bytes."""
    hold_seconds: float = 30.0
    """How long a numbered report waits for the ones before it, until it is judged without them."""
    file: PolicyFile = field(default_factory=PolicyFile)
    """What the policy file says; the empty one says nothing."""
    authorizer: Authorizer = field(default_factory=RolesAndTenants)
    _recorded: dict[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    """Policies read back from proposals, by version."""

    def policy_for(self, tool: str) -> ToolPolicy:
        """Give the policy of a tool as declared, as the policy file says, or the most restrictive one for a tool nobody declared."""
        return self.policies.get(tool) or self.file.govern(tool)

    async def policy_of(self, record: InvocationRecord) -> ToolPolicy:
        """Give the policy that governs a recorded call: this process's own declaration, else the one that was recorded with the proposal.

        A process that never declared the tool (the command line, another service) judges by what the proposing process declared. What
        cannot be read counts as unknown and gets the most restrictive answers.
        """
        declared = self.policies.get(record.tool)
        written = record.proposal.get("policy")
        if declared is not None or not isinstance(written, Mapping):
            return declared or self.file.govern(record.tool)
        version = str(record.proposal.get("policy_version"))
        if version not in self._recorded:
            raw = await self.ledger.value(str(written.get("ref")))
            try:
                found = read_policy(raw or b"")
            except InvalidInput:
                return unknown_tool(record.tool)
            if found.version != version or found.tool != record.tool:
                return unknown_tool(record.tool)  # not the policy that the proposal says it is under
            try:
                self._recorded[version] = self.file.govern(found.tool, found)
            except InvalidInput:
                return unknown_tool(record.tool)  # our file contradicts what it was proposed under
        return self._recorded[version]

    def authority(self, register: Register) -> Authority:
        """Give the authorizer together with what was taken back."""
        return Authority(authorizer=self.authorizer, revoked=register.revoked)

    async def authority_in(self, tenant: str) -> Authority:
        """Read who may decide in a tenant now."""
        return self.authority(await register_of(self.ledger, tenant))

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
    register: Register = field(default_factory=Register)
    """What stands in the whole tenant."""
    authority: Authority = field(default_factory=Authority)
    """Who may decide, after what was taken back in this tenant."""


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


def dispatched(record: InvocationRecord) -> bool:
    """Tell whether the call has left the hands of those who decide before dispatch, with our permit or past it."""
    return record.claim is not None or bool(record.starts) or record.state is State.QUEUED or record.state in EXECUTING


async def read(place: Workplace, invocation_id: str) -> Situation:
    """Read one invocation with its task.

    Raises:
        UnknownId: nothing is recorded under this id.
    """
    task_id = await place.ledger.find(invocation_id)
    view = await place.ledger.task(task_id) if task_id else None
    record = view.records.get(invocation_id) if view else None
    if view is None or record is None:
        remedy = "List what is there with `toolwitness show`."
        raise UnknownId(f"No invocation {invocation_id!r} is recorded.", field="invocationId", remedy=remedy)
    register = await register_of(place.ledger, record.tenant)
    authority = place.authority(register)
    return Situation(
        view=view, record=record, policy=await place.policy_of(record), now=place.now(), register=register, authority=authority
    )  # fmt: skip  # facts in lines


Decide = Callable[[Situation], Sequence[Draft]]
"""A command: what stands → what is recorded. Pure and quick; it raises ``Refusal`` where policy says no."""
Plan = Callable[[Situation, bytes], Decide | Awaitable[Decide]]
"""What stands, and the bytes of its inputs → the command. Here is the place for slow or foreign code."""
ReadInputs = Callable[[Workplace, InvocationRecord], Awaitable[bytes]]


async def carry_out(place: Workplace, invocation_id: str, decide: Decide) -> Receipt:
    """Let ``decide`` decide on what stands when its turn comes, and give what was recorded.

    Where it raises ``Refusal`` with the draft of the refused act, the act is recorded as refused in the same step.

    Raises:
        NotPermitted: policy says no, or another decision took the single use; the refusal is on record.
        UnknownId: nothing is recorded under this id.
    """
    before = await read(place, invocation_id)
    refusals: list[Refusal] = []
    decided: list[Draft] = []

    def deciding(view: TaskView) -> Sequence[Draft]:
        situation = replace(before, view=view, record=view.records[invocation_id], now=place.now())
        refusals.clear()
        try:
            decided[:] = decide(situation)
        except Refusal as refusal:
            refusals.append(refusal)
            return refused_acts(refusal)
        return decided

    try:
        recorded = await place.ledger.decide(before.view.task.id, deciding)
    except OnceKeyTaken as taken:
        lost = _lost_to(taken.winner, next((d for d in decided if d.event.owner is Owner.USER), None))
        if acts := refused_acts(lost):
            await place.ledger.append(before.view.task.id, acts)
        raise lost.as_error() from None
    if refusals:
        raise refusals[0].as_error() from None
    return Receipt(recorded=tuple(recorded), record=(await read(place, invocation_id)).record)


async def carry_out_on_inputs(place: Workplace, invocation_id: str, plan: Plan, *, inputs: "ReadInputs | None" = None) -> Receipt:
    """Carry out a command that depends on the bytes of the inputs; inputs that change meanwhile are read again.

    ``inputs`` reads them where those that stand are not the ones that are wanted.

    Raises:
        NotPermitted, UnknownId: as ``carry_out``.
        Conflict: others kept changing the inputs for longer than a command may wait.
    """
    for _ in range(_TRIES):
        before = await read(place, invocation_id)
        planned = plan(before, await (inputs or inputs_of)(place, before.record))
        decide = await planned if isinstance(planned, Awaitable) else planned
        try:
            return await carry_out(place, invocation_id, partial(_on_the_same, before.record, decide))
        except _InputsChanged:
            continue
    raise Conflict("Others kept changing the inputs of this call.", remedy="Try again.", invocationId=invocation_id)


def _on_the_same(before: InvocationRecord, decide: Decide, situation: Situation) -> Sequence[Draft]:
    standing, request = situation.record.inputs, situation.record.input_request
    if standing != before.inputs or (request or {}).get("raw") != (before.input_request or {}).get("raw"):
        raise _InputsChanged("The inputs have changed since they were read.")
    return decide(situation)


async def inputs_of(place: Workplace, record: InvocationRecord) -> bytes:
    """Give the exact bytes of the inputs that stand; an empty object where none were ever recorded.

    Raises:
        NotPermitted: they were recorded and can no longer be read, or are sealed and cannot be opened here, so that nobody can say what
            would run.
    """
    raw = await open_value(place.ledger, str(record.inputs["ref"])) if record.inputs else b"{}"
    if raw is None:
        raise NotPermitted("The recorded inputs can no longer be read.", rule="inputs-unreadable", remedy="Propose the call afresh.")
    return raw


class _InputsChanged(ToolwitnessError):
    """Somebody changed the inputs after they were read."""


class Refusal(Exception):
    """Policy's no to a person's act; carries the act so that it is recorded with the reason."""

    def __init__(self, verdict: PolicyVerdict, act: Draft | None = None, *, remedy: str = "", others: Sequence[Draft] = ()) -> None:
        """Keep the verdict and, where a person acted, the act, with the others that were refused together with it."""
        super().__init__(verdict.reason)
        self.verdict = verdict
        self.act = act
        self.others = others
        self.remedy = remedy

    def as_error(self) -> NotPermitted:
        """Give the error that the caller gets."""
        return NotPermitted(self.verdict.reason, rule=self.verdict.rule, remedy=self.remedy, **dict(self.verdict.facts))


def refused_acts(refusal: Refusal) -> list[Draft]:
    """Make the record of a refused act: believed by nobody, taking no once-key."""
    if refusal.act is None:
        return []
    reason = f"{refusal.verdict.rule}: {refusal.verdict.reason}"
    acts = (refusal.act, *refusal.others)
    return [Draft(event=replace(act.event, refusal=reason, once_key=""), values=act.values) for act in acts]


def _lost_to(winner: Recorded, act: Draft | None) -> Refusal:
    """Make the refusal of an act whose single use another event had taken."""
    event = winner.event
    who = str(event.data.get("actor") or event.data.get("worker") or event.owner)
    facts = {"winner": {"kind": event.kind, "actor": who, "at": event.time or winner.recorded_time, "ref": str(event.ref)}}
    reason = f"{event.kind} by {who} came first, at {event.time or winner.recorded_time}"
    return Refusal(PolicyVerdict(allowed=False, rule="already-decided", reason=reason, facts=facts), act)


LOOK_AGAIN: Final = "Look at the card again: it shows what can still be done, and why the rest is off."


def require(verdict: PolicyVerdict, act: Draft | None = None, *, remedy: str = LOOK_AGAIN) -> None:
    """Go on only if policy allows.

    Raises:
        Refusal: it does not.
    """
    if not verdict.allowed:
        raise Refusal(verdict, act, remedy=remedy)
