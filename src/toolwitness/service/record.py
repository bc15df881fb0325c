"""Record what others observed. Who speaks is not self-declared (R13): a source says only what it is registered for, by its own principal."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolwitness.core.evidence import KINDS, Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import Workplace

OBSERVABLE: frozenset[str] = frozenset(kind for kind, spec in KINDS.items() if set(spec.owners) & {Owner.RUNTIME, Owner.PRESENTATION})
"""Kinds that may come in from outside: runtime facts and render receipts. Decisions and policy never do."""


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

    sources: dict[str, Registration] = field(default_factory=dict)

    def add(self, registration: Registration) -> None:
        """Register a source; registering it again replaces what it may say."""
        self.sources[registration.source] = registration

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
        if event.kind == Kind.PROPOSED and (claimed := sorted(_OURS & event.data.keys())):
            return f"speaker: a proposal from outside cannot say {', '.join(claimed)}; only our own proposals are governed by our policy"
        if event.kind == Kind.CLAIMED:
            return "speaker: a permit is claimed through the dispatch command only"
        return ""


async def record_observations(place: Workplace, register: Register, drafts: Sequence[Draft], *, actor: Actor) -> list[Recorded]:
    """Append observations as they came, each with its verdict; one that its source may not make is kept as refused.

    The tenant is the actor's, whatever the event says. Drafts may belong to several tasks; order within a task is kept.
    """
    by_task: dict[str, list[Draft]] = {}
    for draft in drafts:
        objection = register.objection(draft, actor)
        event = replace(draft.event, tenant=actor.tenant, once_key="", refusal=objection)
        by_task.setdefault(event.task_id, []).append(replace(draft, event=event))
    recorded: list[Recorded] = []
    for task_id, batch in by_task.items():
        view = await place.ledger.task(task_id)
        if view is not None and view.task.tenant != actor.tenant:
            why = "speaker: this task belongs to another tenant"
            batch = [replace(d, event=replace(d.event, tenant=view.task.tenant, refusal=d.event.refusal or why)) for d in batch]
        recorded += await place.ledger.append(task_id, batch)
    return recorded
