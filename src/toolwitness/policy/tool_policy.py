"""The policy of one tool, as declared: what it does to the world, who may approve it, its limits and its ways back.

A policy is data. Its ``version`` is a digest of its content, so that an approval can be bound to exactly the policy under which
it was asked for.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.core.states import Consequence
from toolwitness.core.verdicts import Actor
from toolwitness.policy.consequences import CancelUntil, Confirm, Demands, combine
from toolwitness.policy.cost import Cost
from toolwitness.policy.looks import Reread

DEFAULT_APPROVERS: Final = ("role:approver",)
"""Who may approve where a class demands an approval and the policy names nobody."""
_APPROVER: Final = re.compile(r"^(role|user):\S.*$|^not:proposer$")
_POINTER: Final = re.compile(r"^(/([^~/]|~[01])*)*$")
_LONGEST_SECONDS: Final = 366 * 24 * 3600


class CancelSupport(StrEnum):
    """Whether the layer that runs the body can be asked to stop it."""

    TASK = "task"
    THREAD = "thread"
    UNSUPPORTED = "unsupported"
    UNDECLARED = ""


class Idempotency(StrEnum):
    """What happens when the same call is made twice."""

    UNKNOWN = "unknown"
    NOT_IDEMPOTENT = "not-idempotent"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    """It takes an idempotency key and the other side honours it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and after which failures, a call may be attempted again."""

    attempts: int = 1
    """The most attempts in all, the first one included; 1 means no retry."""
    categories: tuple[str, ...] = ()
    """Failure categories that may be retried; empty means every category."""

    if TYPE_CHECKING:

        def __init__(self, *, attempts: int = 1, categories: Sequence[str] = ()) -> None:
            """Take any sequence of words; a tuple is kept."""

    def __post_init__(self) -> None:
        """Take a list for a tuple: a policy never changes once it is declared."""
        object.__setattr__(self, "categories", tuple(self.categories))


_ONCE: Final = RetryPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """The tool that undoes this one, and what was tested about it."""

    tool: str
    window_seconds: float | None = None
    """How long after completion it can be invoked; ``None`` where the tool sets no limit."""
    scope: str = ""
    on_failure: str = ""
    """What to do when the inverse itself fails."""
    verified_by: str = ""
    """What has shown that it works: a test, a date, a provider's promise. Without it no undo is offered."""
    leaves: str = ""
    """What stays also when it succeeds (a fee, a notice that was sent), so that somebody reconciles what is undone; empty where nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """Everything policy knows about one tool. Unset means the stricter of what could be meant."""

    tool: str
    consequences: tuple[Consequence, ...] = ()
    """None at all counts as unknown: the most restrictive answers."""
    approvers: tuple[str, ...] = ()
    """``role:finance``, ``user:ann``, ``not:proposer``. Naming any means that an approval is required."""
    approvals_needed: int | None = None
    """How many different people must approve each call; ``None`` says nothing of it, and one is enough."""
    standing_authorization: str = ""
    """The recorded mandate that covers calls of this tool, so that no approval is asked for each."""
    authorization_owner: str = "tool policy"
    approval_seconds: float | None = None
    input_seconds: float | None = None
    queue_seconds: float | None = None
    result_seconds: float | None = None
    scope_fields: tuple[str, ...] = ()
    """Inputs that a person must see before approving; an approval that cannot show them is refused.

    ``currency`` shows the input of that name; ``amount=total`` shows the input ``total`` as the amount.
    """
    commitment_boundary: str = ""
    expected_effects: tuple[str, ...] = ()
    cancel_support: CancelSupport = CancelSupport.UNDECLARED
    idempotency: Idempotency = Idempotency.UNKNOWN
    retry: RetryPolicy = _ONCE
    inverse: Inverse | None = None
    recovery: tuple[str, ...] = ()
    alternate_routes: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    """JSON Pointers into the inputs whose values nobody is shown; a step ``*`` stands for any member or item."""
    redact_outputs: tuple[str, ...] = ()
    """The same, into what the tool gives back."""
    plain_names: str = ""
    """Why names that sound secret (``password``, ``token``) are not, at this tool; empty where they are."""
    cost: Cost | None = None
    """How to estimate what a call costs; counted against the budgets."""
    read_again: tuple[str, ...] = ()
    """What is read when it is asked about and again before it starts: ``target``, ``price``. What differs voids the approval."""

    if TYPE_CHECKING:

        def __init__(
            self, *, tool: str, consequences: Sequence[str] = (), approvers: Sequence[str] = (), approvals_needed: int | None = None,
            standing_authorization: str = "", authorization_owner: str = "tool policy", approval_seconds: float | None = None,
            input_seconds: float | None = None, queue_seconds: float | None = None, result_seconds: float | None = None,
            scope_fields: Sequence[str] = (), commitment_boundary: str = "", expected_effects: Sequence[str] = (),
            cancel_support: str = CancelSupport.UNDECLARED, idempotency: str = Idempotency.UNKNOWN, retry: RetryPolicy = _ONCE,
            inverse: Inverse | None = None, recovery: Sequence[str] = (), alternate_routes: Sequence[str] = (), redact: Sequence[str] = (),
            redact_outputs: Sequence[str] = (), plain_names: str = "", cost: Cost | None = None, read_again: Sequence[str] = (),
        ) -> None:  # fmt: skip  # a signature in lines of what belongs together
            """Take words and sequences as a user writes them; what is kept are classes and tuples."""

    def __post_init__(self) -> None:
        """Take lists for tuples and plain words for enums, and refuse what cannot be understood.

        Raises:
            InvalidInput: names the field and the fix; nothing half-understood is kept.
        """
        _check_types(self)
        for name in _LISTS:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        object.__setattr__(self, "consequences", _classes(self.consequences))
        for name, words in (("cancel_support", CancelSupport), ("idempotency", Idempotency)):
            object.__setattr__(self, name, _word(name, getattr(self, name), words))
        _check_texts(self)
        _check_limits(self)
        _check_sense(self)

    @property
    def demands(self) -> Demands:
        """What the classes ask together."""
        return combine(self.consequences)

    @property
    def requires_approval(self) -> bool:
        """Whether a person has to agree before this tool may run."""
        if self.standing_authorization:
            return False
        return bool(self.approvers) or self.approvals_needed is not None or self.demands.confirm.value is not Confirm.WHEN_REQUIRED

    @property
    def eligible(self) -> tuple[str, ...]:
        """Who may approve: the named approvers, or the default where none is named."""
        named = any(not entry.startswith("not:") for entry in self.approvers)
        return self.approvers if named else (*DEFAULT_APPROVERS, *self.approvers)

    @property
    def scope(self) -> tuple[tuple[str, str], ...]:
        """The scope fields as pairs: the term under which a person reads it, and the input's name."""
        pairs = (entry.partition("=") for entry in self.scope_fields)
        return tuple((term, field_name if equals else term) for term, equals, field_name in pairs)

    @property
    def version(self) -> str:
        """A digest of the whole policy: ``pol_`` and 24 hex digits. Equal content, equal version."""
        return _version_of(self)


@lru_cache(maxsize=1_024)
def _version_of(policy: ToolPolicy) -> str:
    """Digest a policy once: it never changes, and every question that is asked of it names its version."""
    content = json.dumps(_plain(policy), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "pol_" + sha256(content.encode()).hexdigest()[:24]


def unknown_tool(tool: str) -> ToolPolicy:
    """Give the most restrictive policy, for a tool that nobody has declared, or of which not even the name is recorded."""
    return ToolPolicy(tool=tool if tool.strip() else "(not recorded)")


def objection_to(actor: Actor, eligible: Iterable[str], *, proposer: str) -> str:
    """Say why ``actor`` is not among ``eligible``; empty when it is."""
    entries = tuple(eligible)
    if "not:proposer" in entries and proposer and actor.id == proposer:
        return f"{actor.id} proposed this call, and whoever proposes may not approve"
    held = {f"user:{actor.id}", *(f"role:{role}" for role in actor.roles)}
    if held.isdisjoint(entries):
        wanted = ", ".join(entry for entry in entries if not entry.startswith("not:")) or "nobody"
        return f"{actor.id} is none of those who may decide this: {wanted}"
    return ""


def _wrong(field_name: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"The policy's {field_name} {what}.", field=field_name, remedy=remedy)


_LISTS: Final = (
    "approvers", "scope_fields", "expected_effects", "recovery", "alternate_routes", "redact", "redact_outputs", "read_again",
)  # fmt: skip  # names in lines


_POINTERS: Final = frozenset({"redact", "redact_outputs"})
"""Fields of JSON Pointers, where an empty one names the whole value."""


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, f"is a {type(value).__name__}", "Give a list of texts.")
    entries: list[str] = []
    for entry in value:  # pyright: ignore[reportUnknownVariableType] - the caller's; each is looked at
        if not isinstance(entry, str) or not (entry.strip() or (entry == "" and name in _POINTERS)):
            raise _wrong(name, f"holds {entry!r}", "Give texts that are not empty.")
        entries.append(entry)
    return tuple(entries)


def _classes(value: object) -> tuple[Consequence, ...]:
    named = _texts("consequences", value)
    unknown = [name for name in named if name not in tuple(Consequence)]
    if unknown:
        raise _wrong("consequences", f"names {unknown[0]!r}", f"Use {', '.join(Consequence)}.")
    return tuple(dict.fromkeys(Consequence(name) for name in named))


def _word(name: str, value: object, words: type[StrEnum]) -> StrEnum:
    if value not in tuple(words):
        raise _wrong(name, f"is {value!r}", f"Use {', '.join(word for word in words if word)}.")
    return words(value)


def _check_types(policy: ToolPolicy) -> None:
    """Refuse what is of another type altogether: a mandate that is merely true would be no mandate."""
    for name in ("tool", "standing_authorization", "authorization_owner", "commitment_boundary"):
        if not isinstance(value := getattr(policy, name), str):
            raise _wrong(name, f"is a {type(value).__name__}", "Give a text.")
    for name, kind, optional in (("retry", RetryPolicy, ()), ("inverse", Inverse, (None,)), ("cost", Cost, (None,))):
        value = getattr(policy, name)
        if value not in optional and not isinstance(value, kind):
            raise _wrong(name, f"is a {type(value).__name__}", f"Give a {kind.__name__}.")


def _check_texts(policy: ToolPolicy) -> None:
    if not policy.tool.strip():
        raise _wrong("tool", "is empty", "Give the tool's name.")
    for entry in policy.approvers:
        if not _APPROVER.match(entry):
            raise _wrong("approvers", f"holds {entry!r}", "Write role:NAME, user:ID or not:proposer.")
    for name in policy.read_again:
        if name not in tuple(Reread):
            raise _wrong("read_again", f"holds {name!r}", f"Use {' and '.join(Reread)}.")
    for name, pointers in (("redact", policy.redact), ("redact_outputs", policy.redact_outputs)):
        for pointer in pointers:
            if not _POINTER.match(pointer):
                raise _wrong(name, f"holds {pointer!r}", "Write a JSON pointer such as /card/number or /cards/*/number.")
    reason = cast("object", policy.plain_names)  # whatever the caller gave
    if not isinstance(reason, str) or reason != reason.strip():
        raise _wrong("plain_names", f"is {reason!r}", "Say in a sentence why names that sound secret are not, or leave it out.")


def _check_limits(policy: ToolPolicy) -> None:
    window = policy.inverse.window_seconds if policy.inverse else None
    limits: dict[str, Any] = {name: getattr(policy, name) for name in _SECONDS} | {"inverse.window_seconds": window}
    for name, seconds in limits.items():
        if seconds is None:
            continue
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST_SECONDS:
            raise _wrong(name, f"is {seconds!r}", "Give seconds, more than 0 and at most a year, or leave it out.")
    needed = cast("object", policy.approvals_needed)  # as below
    if needed is not None and (isinstance(needed, bool) or not isinstance(needed, int) or not 1 <= needed <= _MOST_APPROVALS):
        raise _wrong("approvals_needed", f"is {needed!r}", f"Give how many people must approve: 1 to {_MOST_APPROVALS}, or leave it out.")
    attempts = cast("object", policy.retry.attempts)  # whatever the caller gave
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise _wrong("retry.attempts", f"is {attempts!r}", "Give the most attempts in all; 1 means no retry.")


_MOST_APPROVALS: Final = 20
_SECONDS: Final = ("approval_seconds", "input_seconds", "queue_seconds", "result_seconds")


def _check_sense(policy: ToolPolicy) -> None:
    """Refuse declarations that contradict one another."""
    named, demands = set(policy.consequences), policy.demands
    if {Consequence.READ_ONLY, Consequence.DESTRUCTIVE} <= named:
        raise _wrong("consequences", "names read-only and destructive", "A call that destroys does not only read: drop one.")
    if policy.standing_authorization and demands.confirm.value is Confirm.BEFORE_COMMITMENT:
        by = ", ".join(demands.confirm.demanded_by)
        raise _wrong("standing_authorization", f"cannot cover {by}", "Such a call is confirmed each time: remove it.")
    if policy.standing_authorization and (policy.approvers or policy.approvals_needed is not None):
        raise _wrong("standing_authorization", "stands beside approvers", "Keep the mandate or the approvers, not both.")
    declared = demands.cancel_until.value is not CancelUntil.DECLARED_COMMITMENT or not named
    if not declared and not policy.commitment_boundary:
        raise _wrong("commitment_boundary", "is empty", "Say after which step a destructive call cannot be called back.")


_LATER: Final = frozenset({"approvals_needed", "cost", "read_again", "leaves", "redact_outputs", "plain_names"})


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - our own fields
    if isinstance(value, ToolPolicy | RetryPolicy | Inverse | Cost):
        plain = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        # What came later counts where it says something, so that what was recorded before keeps its version.
        return {name: said for name, said in plain.items() if name not in _LATER or said not in (None, "", [])}
    return value
