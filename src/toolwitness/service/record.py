"""Record what others observed.

Who speaks is not self-declared (R13): a source says only what it is registered for, by its own principal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner, State
from toolwitness.core.verdicts import Actor, Verdict
from toolwitness.core.vocabulary import KINDS
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.board import tenant_of
from toolwitness.service.settle import settle_effects
from toolwitness.service.workplace import Workplace
from toolwitness.wire.spelling import spelt_out

OBSERVABLE: frozenset[str] = frozenset(kind for kind, spec in KINDS.items() if set(spec.owners) & {Owner.RUNTIME, Owner.PRESENTATION})
"""Kinds that may come in from outside: runtime facts and render receipts. Decisions and policy never do."""


_OWN_NAMES: Final = "toolwitness"
"""What the names of our own sources begin with, up to the colon."""
_SPEAKERS: Final = frozenset({Owner.RUNTIME, Owner.PRESENTATION})
_OURS: frozenset[str] = frozenset({"policy", "policy_version", "host"})
"""Fields of a proposal that make a call ours to govern and to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One source: the principal that may speak for it, and the kinds that it may say."""

    source: str
    principal: str
    kinds: frozenset[str] = OBSERVABLE


@dataclass(slots=True)
class Register:
    """The sources that are known to speak, by name."""

    sources: dict[str, Registration] = field(default_factory=dict[str, Registration])

    def add(self, registration: Registration) -> None:
        """Register a source; registering it again replaces what it may say.

        Raises:
            InvalidInput: it has no name or no principal, or its name is one of ours, under which nobody else speaks.
        """
        name = registration.source
        if not name.strip() or not registration.principal or "\0" in name:
            remedy = "Give a name and a principal, without NUL."
            raise InvalidInput(f"The source {name!r} cannot be registered.", field="source", remedy=remedy)
        if name.strip().lower().partition(":")[0] == _OWN_NAMES:
            remedy = "Choose a name that does not begin with it."
            raise InvalidInput(f"The source {name!r} is one of toolwitness's own.", field="source", remedy=remedy)
        self.sources[name] = registration

    def objection(self, draft: Draft, actor: Actor) -> str:
        """Say why this source may not say this through this principal; empty when it may."""
        event = draft.event
        known = self.sources.get(event.source)
        if event.kind not in OBSERVABLE and event.kind in KINDS:
            return f"speaker: {event.kind} is not an observation; it arises from a command or from policy only"
        if known is None:
            return f"speaker: source {event.source!r} is not registered"
        if known.principal != actor.id:
            return f"speaker: {actor.id!r} may not speak for source {event.source!r}"
        if event.kind in KINDS and event.kind not in known.kinds:
            return f"speaker: source {event.source!r} is not registered for {event.kind}"
        if event.owner not in _SPEAKERS:
            return f"speaker: an observation is not made in the name of the {event.owner}"
        if event.raw_ref or any(_cites_a_value(value) for value in event.data.values()):
            return "speaker: an observation cites no value but those that it brings along"
        said = event.data.keys() | draft.values.keys()
        if event.kind == Kind.PROPOSED and (claimed := sorted(_OURS & said)):
            return f"speaker: a proposal from outside cannot say {', '.join(claimed)}; only our own proposals are governed by our policy"
        if event.kind == Kind.CLAIMED:
            return "speaker: a permit is claimed through the dispatch command only"
        return ""


def _cites_a_value(value: Any) -> bool:
    """Tell whether something in an event's data refers to a value of somebody's."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        ref = members.get("ref")
        return (isinstance(ref, str) and ref.startswith("val_")) or any(_cites_a_value(member) for member in members.values())
    if isinstance(value, list | tuple):
        return any(_cites_a_value(item) for item in cast("Sequence[Any]", value))
    return False


async def record_observations(place: Workplace, register: Register, drafts: Sequence[Draft], *, actor: Actor) -> list[Recorded]:
    """Append observations as they came, each with its verdict; one that its source may not make is kept as refused.

    An effect that answers what a failed attempt left open is recorded as having settled it.

    The tenant is the actor's, whatever the event says. A text that no UTF-8 carries is spelt out, so that nothing is refused for it.
    Drafts may belong to several tasks; order within a task is kept.
    """
    by_task: dict[str, list[Draft]] = {}
    for draft in drafts:
        objection = register.objection(draft, actor)
        event = replace(draft.event, tenant=actor.tenant, once_key="", refusal=spelt_out(objection), data=spelt_out(draft.event.data))
        by_task.setdefault(event.task_id, []).append(replace(draft, event=event))
    recorded: list[Recorded] = []
    for task_id, batch in by_task.items():
        recorded += await place.ledger.decide(task_id, partial(_where_it_belongs, batch, actor.tenant))
    for one in recorded:
        if one.event.kind == Kind.EFFECT and one.event.invocation_id and one.verdict is Verdict.NOTED and one.state is State.FAILED:
            await settle_effects(place, one.event.invocation_id)
    return recorded


def _where_it_belongs(batch: Sequence[Draft], tenant: str, view: TaskView) -> Sequence[Draft]:
    """Give the batch as it is for a task that is new or its tenant's own, and what may be kept of it for another's."""
    owner = tenant_of(view.task, view.records) if view.sequence else tenant
    return batch if owner == tenant else [_of_a_stranger(draft, owner) for draft in batch]


def _of_a_stranger(draft: Draft, tenant: str) -> Draft:
    """Keep of an event from another tenant that it came, and nothing that its sender put into it: the task is not theirs to write in."""
    event = draft.event
    why = event.refusal or "speaker: this task belongs to another tenant"
    return Draft(event=replace(event, tenant=tenant, data={}, caused_by=(), raw_ref="", adapter="", refusal=why))
