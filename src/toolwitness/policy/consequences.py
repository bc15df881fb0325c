"""The six consequence classes as one table: what each class asks of authority, confirmation, control, undo and evidence.

Sentences are for people; the enums beside them are what the rules read. A tool has any number of classes, and to each question
the strictest answer wins (``combine``), which also says which class demanded it. A class describes an effect: it neither
grants nor removes authority. Source: the two consequence matrices of the seed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Consequence

T = TypeVar("T")


class Confirm(IntEnum):
    """When a person has to agree; a higher one is stricter."""

    WHEN_REQUIRED = 0
    """Only where the tool's policy asks for it."""
    BEFORE_DISPATCH = 1
    """Before anything is handed to an executor, unless a recorded standing authorization covers it."""
    BEFORE_COMMITMENT = 2
    """Immediately before the commitment, on the target as it is then; nothing standing covers it."""


class CancelUntil(IntEnum):
    """How long a cancellation may be promised to matter; a higher one is stricter."""

    END = 0
    """Until the body has ended."""
    COMMITMENT = 1
    """Until the commitment boundary; after it only recovery is offered."""
    DECLARED_COMMITMENT = 2
    """As before, and the boundary must be named before anybody approves."""


class Undo(IntEnum):
    """What an undo needs to exist; a higher one is stricter."""

    NOT_APPLICABLE = 0
    NAMED_INVERSE = 1
    """A named and tested inverse, with its window, scope and failure behaviour."""
    REAL_WITHDRAWAL = 2
    """Only what the external system really offers as a withdrawal."""
    PROVIDER_ROUTE = 3
    """Only the provider's own void or refund, where it applies."""
    RESTORATION = 4
    """Only a real restoration path; otherwise say that there is none."""


class Repeat(IntEnum):
    """What a second attempt needs; a higher one is stricter."""

    WITHIN_POLICY = 0
    OUTCOME_KNOWN = 1
    """The first outcome is known, or the tool is idempotent."""
    KEYED = 2
    """The tool carries an idempotency key, or it is on record that the first attempt had no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsequenceRow:
    """Everything that one class asks."""

    consequence: Consequence
    label: str
    authorization_source: str
    confirmation_timing: str
    confirm: Confirm
    allowed_controls: str
    controls: tuple[str, ...]
    cancellation_behaviour: str
    cancel_until: CancelUntil
    undo_requirement: str
    undo: Undo
    recovery_route: str
    durable_evidence: str
    needs: tuple[str, ...]
    """Fields that the recorded effects of a success must hold together."""
    shown: tuple[str, ...]
    """What a person must have in view before approving."""
    repeat: Repeat
    grant_seconds: int | None
    """How long a grant is good for before the start; ``None`` where only the policy's deadlines count."""
    caveat: str


_C: Final = Consequence
_ROWS: Final = (
    ConsequenceRow(
        consequence=_C.READ_ONLY,
        label="reads only",
        authorization_source="The data-access policy: user scope, tenant boundary, consent, and any rule on cost.",
        confirmation_timing="Before dispatch where access, sensitivity, cost or policy asks for it; otherwise none.",
        confirm=Confirm.WHEN_REQUIRED,
        allowed_controls="Inspect, submit; withdraw before dispatch, request cancellation after it; retry within policy.",
        controls=("inspect", "submit", "withdraw", "request_cancellation", "retry"),
        cancellation_behaviour="Whoever owns the phase acknowledges; data that already came back may have to be kept or disclosed.",
        cancel_until=CancelUntil.END,
        undo_requirement="Usually none: nothing was changed.",
        undo=Undo.NOT_APPLICABLE,
        recovery_route="Retry, change the query, use another source, or remove kept data where policy says so.",
        durable_evidence="Invocation, provenance of the query, access decision, result reference, cost and retention facts.",
        needs=(),
        shown=(),
        repeat=Repeat.WITHIN_POLICY,
        grant_seconds=None,
        caveat="Reading is not the same as harmless, free, public or permitted.",
    ),
    ConsequenceRow(
        consequence=_C.REVERSIBLE,
        label="can be reversed",
        authorization_source="A policy that names the supported inverse and who may ask for it.",
        confirmation_timing="Before the original call where required; an undo afterwards does not stand in for an approval.",
        confirm=Confirm.WHEN_REQUIRED,
        allowed_controls="Approve; withdraw before dispatch; request cancellation in execution; inspect; the verified inverse after.",
        controls=("inspect", "approve", "deny", "withdraw", "request_cancellation", "reverse"),
        cancellation_behaviour="Cancelling concerns what is unfinished; undoing what is complete is an invocation of its own.",
        cancel_until=CancelUntil.END,
        undo_requirement="Name and test the inverse, its time window, its scope, and what happens when it fails.",
        undo=Undo.NAMED_INVERSE,
        recovery_route="Invoke the inverse, reconcile a partial reversal, or escalate when the inverse fails.",
        durable_evidence="Original result, effects, eligibility for the inverse, the undo invocation, the final reconciliation.",
        needs=("effect",),
        shown=(),
        repeat=Repeat.OUTCOME_KNOWN,
        grant_seconds=None,
        caveat="An Undo button does not make an action reversible.",
    ),
    ConsequenceRow(
        consequence=_C.EXTERNALLY_VISIBLE,
        label="others will see it",
        authorization_source="The policy for publishing, messaging, shared records or systems of third parties.",
        confirmation_timing="Before the first effect that others can see, unless a recorded standing authorization covers it.",
        confirm=Confirm.BEFORE_DISPATCH,
        allowed_controls="Review destination and payload, approve, deny; withdraw before dispatch; request cancellation before commitment.",
        controls=("inspect", "approve", "deny", "withdraw", "request_cancellation"),
        cancellation_behaviour="After commitment it may be impossible; then correct, retract or follow up.",
        cancel_until=CancelUntil.COMMITMENT,
        undo_requirement="Only where the external system offers a real reversal or withdrawal.",
        undo=Undo.REAL_WITHDRAWAL,
        recovery_route="Correct, retract, send again or contact those affected, as policy says.",
        durable_evidence="Payload as reviewed, destination, approval, the provider's acknowledgement, history of corrections.",
        needs=("recipient", "provider_reference"),
        shown=("destination", "payload"),
        repeat=Repeat.OUTCOME_KNOWN,
        grant_seconds=None,
        caveat="Success here may come before delivery there, or differ from it.",
    ),
    ConsequenceRow(
        consequence=_C.DESTRUCTIVE,
        label="destroys something",
        authorization_source="Ownership of the resource, deletion policy, retention rules, and an authorized actor.",
        confirmation_timing="Immediately before the commitment, with the target and its consequence as they are then.",
        confirm=Confirm.BEFORE_COMMITMENT,
        allowed_controls="Inspect exact targets, approve, deny; withdraw before dispatch; request cancellation before the boundary.",
        controls=("inspect", "approve", "deny", "withdraw", "request_cancellation"),
        cancellation_behaviour="Nothing is promised past the irreversible boundary, and the boundary is in view before approval.",
        cancel_until=CancelUntil.DECLARED_COMMITMENT,
        undo_requirement="Only where a real restoration path exists; otherwise say that there is no undo.",
        undo=Undo.RESTORATION,
        recovery_route="Restore from an approved source, reconstruct, or escalate through the owning system.",
        durable_evidence="Exact targets, authorization, commitment event, affected resources, restoration evidence where used.",
        needs=("resource", "commitment"),
        shown=("targets", "commitment_boundary"),
        repeat=Repeat.OUTCOME_KNOWN,
        grant_seconds=60,
        caveat="A backup does not prove that a restoration will meet the need.",
    ),
    ConsequenceRow(
        consequence=_C.PERMISSION_GATED,
        label="needs permission",
        authorization_source="A named user, role, delegated grant, policy engine or other recorded authority.",
        confirmation_timing="Whenever the current grant does not cover exactly this action and scope.",
        confirm=Confirm.BEFORE_DISPATCH,
        allowed_controls="Approve or deny if eligible; inspect the scope; withdraw while it waits; request cancellation after dispatch.",
        controls=("inspect", "approve", "deny", "withdraw", "request_cancellation"),
        cancellation_behaviour="Expiry, revocation or a changed scope invalidates a pending decision and may need a new request.",
        cancel_until=CancelUntil.END,
        undo_requirement="None of its own: it depends on the effect.",
        undo=Undo.NOT_APPLICABLE,
        recovery_route="Ask for a new grant, narrow the scope, take another route, or stop.",
        durable_evidence="Requested scope, source of authority, decision, actor, time, expiry and revocation.",
        needs=(),
        shown=("scope",),
        repeat=Repeat.OUTCOME_KNOWN,
        grant_seconds=None,
        caveat="How a button looks must not suggest that this person is authorized.",
    ),
    ConsequenceRow(
        consequence=_C.FINANCIAL,
        label="costs money",
        authorization_source="A budget owner, payment mandate, spending policy, or a transaction rule already authorized.",
        confirmation_timing="Before a charge or binding commitment, unless a mandate that applies covers it explicitly.",
        confirm=Confirm.BEFORE_DISPATCH,
        allowed_controls="Inspect amount, currency, recipient, recurrence and terms; approve, deny, or withdraw before commitment.",
        controls=("inspect", "approve", "deny", "withdraw", "request_cancellation"),
        cancellation_behaviour="After commitment recovery is the provider's (void, refund, dispute, correction) and no undo.",
        cancel_until=CancelUntil.COMMITMENT,
        undo_requirement="The provider's void or refund, and only where it applies.",
        undo=Undo.PROVIDER_ROUTE,
        recovery_route="Retry with safeguards, change the payment route, void, refund, dispute, or escalate.",
        durable_evidence="Amount, currency, recipient, authorization, provider reference, state there, result of reconciliation.",
        needs=("amount", "currency", "recipient", "provider_reference"),
        shown=("amount", "currency", "recipient", "recurrence", "terms"),
        repeat=Repeat.KEYED,
        grant_seconds=None,
        caveat="A retry can charge twice unless the tool is safe to repeat and the provider's state is known.",
    ),
)
CONSEQUENCES: Final[Mapping[Consequence, ConsequenceRow]] = MappingProxyType({row.consequence: row for row in _ROWS})
"""The table, by class."""

UNKNOWN: Final = (Consequence.EXTERNALLY_VISIBLE, Consequence.DESTRUCTIVE, Consequence.PERMISSION_GATED)
"""What is assumed of a tool nobody has described: to every question the strictest answer (money is never assumed, but asked)."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The strictest answer to one question, and the classes that demanded it."""

    value: T
    demanded_by: tuple[Consequence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What all classes of a tool ask together."""

    classes: tuple[Consequence, ...]
    confirm: Answer[Confirm]
    cancel_until: Answer[CancelUntil]
    undo: Answer[Undo]
    repeat: Answer[Repeat]
    grant_seconds: Answer[int | None]
    needs: Mapping[str, tuple[Consequence, ...]]
    """Evidence field → the classes that need it."""
    shown: Mapping[str, tuple[Consequence, ...]]
    controls: tuple[str, ...]
    """Every control that one of the classes knows; whether it is on is a matter of the moment (``policy/controls.py``)."""


def combine(classes: Iterable[Consequence | str]) -> Demands:
    """Give the strictest answer to each question; without any class the answers for an unknown tool.

    Raises:
        ValueError: a class is not one of the six; a misspelt class must not make a tool look harmless.
    """
    return _combined(tuple(dict.fromkeys(Consequence(c) for c in classes)) or UNKNOWN)


@lru_cache(maxsize=256)
def _combined(named: tuple[Consequence, ...]) -> Demands:
    """Combine once: the table never changes, and every question that is asked of a policy asks what its classes demand."""
    rows = [CONSEQUENCES[c] for c in named]
    lapses = [(row.grant_seconds, row.consequence) for row in rows if row.grant_seconds is not None]
    shortest = min((seconds for seconds, _ in lapses), default=None)
    return Demands(
        classes=named,
        confirm=_strictest(rows, lambda row: row.confirm),
        cancel_until=_strictest(rows, lambda row: row.cancel_until),
        undo=_strictest(rows, lambda row: row.undo),
        repeat=_strictest(rows, lambda row: row.repeat),
        grant_seconds=Answer(shortest, tuple(c for seconds, c in lapses if seconds == shortest)),
        needs=_gathered(rows, lambda row: row.needs),
        shown=_gathered(rows, lambda row: row.shown),
        controls=tuple(_gathered(rows, lambda row: row.controls)),
    )


_Level = TypeVar("_Level", bound=IntEnum)


def _strictest(rows: Iterable[ConsequenceRow], question: Callable[[ConsequenceRow], _Level]) -> Answer[_Level]:
    answers = [(question(row), row.consequence) for row in rows]
    value = max(answer for answer, _ in answers)
    return Answer(value, tuple(c for answer, c in answers if answer == value))


def _gathered(rows: Iterable[ConsequenceRow], names: Callable[[ConsequenceRow], tuple[str, ...]]) -> Mapping[str, tuple[Consequence, ...]]:
    found: dict[str, tuple[Consequence, ...]] = {}
    for row in rows:
        for name in names(row):
            found[name] = (*found.get(name, ()), row.consequence)
    return MappingProxyType(found)


def missing_evidence(record: InvocationRecord) -> Mapping[str, tuple[Consequence, ...]]:
    """Name the evidence that the classes of a success demand and that nothing recorded holds, with who demands it.

    An unknown class on a foreign proposal demands nothing here; it is shown as the word it is.
    """
    known = [c for c in Consequence if c in record.consequences]
    if not known:
        return MappingProxyType({})
    held: dict[str, Any] = {"commitment": record.commitment is not None, "effect": bool(record.effects)}
    for source in (record.outcome, record.commitment, *record.effects):
        held.update({k: v for k, v in (source.data.items() if source else ()) if v not in (None, "")})
    held.setdefault("provider_reference", held.get("reference"))
    return MappingProxyType({name: by for name, by in combine(known).needs.items() if not held.get(name)})


def raised_by_hints(classes: Iterable[Consequence | str], hints: Mapping[str, Any]) -> tuple[Consequence, ...]:
    """Give the classes after reading a tool's own MCP hints, which may only make them stricter.

    A hint is said by the tool about itself and is not evidence: ``readOnlyHint: true`` earns nothing.
    """
    named = tuple(dict.fromkeys(Consequence(c) for c in classes)) or UNKNOWN
    writes = hints.get("readOnlyHint") is False
    raised = set(named)
    if writes and Consequence.READ_ONLY in raised:
        raised.discard(Consequence.READ_ONLY)
        if hints.get("destructiveHint") is not False:
            raised.add(Consequence.DESTRUCTIVE)
        raised.add(Consequence.EXTERNALLY_VISIBLE)
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        raised.discard(Consequence.READ_ONLY)
        raised.add(Consequence.DESTRUCTIVE)
    if hints.get("openWorldHint") is True and Consequence.READ_ONLY not in raised:
        raised.add(Consequence.EXTERNALLY_VISIBLE)
    return tuple(c for c in Consequence if c in raised)
