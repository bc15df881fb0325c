"""The vocabulary as data: who may say each kind of evidence, and what each must hold to count.

Evidence that is not whole is kept and moves nothing; what is missing is named (R8). The required fields are those of ``spec/matrix.csv``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Deadline, Owner


@dataclass(frozen=True, slots=True)
class KindSpec:
    """Who may say a kind and which fields make it whole."""

    owners: tuple[Owner, ...]
    required: tuple[str, ...] = ()
    """Fields that must be present and not null or empty; ``a|b`` means one of the two."""
    optional: tuple[str, ...] = ()
    of_task: str = ""
    """``task`` where the subject is the task and not an invocation."""


_RT, _PO, _US, _PR = (Owner.RUNTIME,), (Owner.POLICY,), (Owner.USER,), (Owner.PRESENTATION,)

KINDS: Final[Mapping[str, KindSpec]] = {
    Kind.TASK_OPENED: KindSpec(
        _RT, ("purpose",), ("required_children", "optional_children", "synthesis", "parent_task", "opened_by"), of_task="task"
    ),
    Kind.PROPOSED: KindSpec(
        _RT,
        ("tool", "inputs", "source_request", "proposer"),
        (
            "purpose",
            "role",
            "provenance",
            "consequences",
            "policy_version",
            "policy",
            "commitment_boundary",
            "expected_effects",
            "required",
            "parent",
            "dependencies",
            "retry_of",
            "reverses",
            "replaces",
            "correlation",
            "cancel_support",
            "recovery",
            "alternate_routes",
            "result_schema",
            "inputs_schema",
            "labels",
            "host",
            "reverses_window",
            "requested_by",
            "linked_by",
            "changed",
            "inverse_policy",
        ),
    ),
    Kind.CLAIMED: KindSpec(_RT, ("permit", "attempt"), ("inputs_digest", "approval_id", "worker", "idempotency_key")),
    Kind.ACCEPTED: KindSpec(_RT, ("queue_ref|accepted_at",), ("permit", "dependency_condition")),
    Kind.STARTED: KindSpec(
        _RT, ("attempt", "executor|lease"), ("permit", "worker", "inputs", "inputs_compared", "cancel_support", "started_at", "expires_at")
    ),
    Kind.HEARTBEAT: KindSpec(_RT, ("attempt", "lease"), ("expires_at",)),
    Kind.PROGRESS: KindSpec(_RT, ("order",), ("text", "percent", "current", "total", "lease")),
    Kind.OUTPUT: KindSpec(_RT, ("order",), ("output", "channel", "lease")),
    Kind.PART_COMPLETED: KindSpec(_RT, ("part", "open"), ("outcome",)),
    Kind.COMMITTED: KindSpec(_RT, ("boundary",), ("provider_reference",)),
    Kind.EFFECT: KindSpec(_RT, ("effect",), ("reference", "at", "amount", "currency", "recipient", "provider_reference", "resource")),
    Kind.SUCCEEDED: KindSpec(
        _RT, ("completed_at", "result|result_ref"), ("validation", "summary", "provider_reference", "executed", "lease")
    ),
    Kind.FAILED: KindSpec(_RT, ("category", "detail", "evidence_ref"), ("exception", "retryable", "effects", "lease", "inferred_by")),
    Kind.WAITER_RELEASED: KindSpec(_RT, ("waiter",), ("reason", "body")),
    Kind.CANCEL_ACKNOWLEDGED: KindSpec(_RT, ("termination", "initiator", "scope", "reason", "at"), ("effects", "request_ref")),
    Kind.LOST: KindSpec(_RT, ("reason",), ("lease", "last_seen_at")),
    Kind.DEADLINE_ELAPSED: KindSpec((Owner.POLICY, Owner.RUNTIME), ("deadline", "declared_at"), ("approval_id", "judged_at")),
    Kind.TASK_REPORTED: KindSpec(_RT, ("claimed",), ("reason",), of_task="task"),
    Kind.HISTORY_READ: KindSpec(_RT, ("history", "call", "result")),
    Kind.INPUT_REQUIRED: KindSpec(_PO, ("unresolved", "collector"), ("prompt", "fields", "expires_at")),
    Kind.INPUTS_ACCEPTED: KindSpec(_PO, ("inputs_digest", "checked_by"), ("inputs", "unresolved")),
    Kind.INPUTS_REJECTED: KindSpec(_PO, ("validation", "collector"), ("raw", "unresolved", "fields", "expires_at")),
    Kind.APPROVAL_REQUESTED: KindSpec(
        _PO,
        ("approval_id", "consequence_summary", "authority", "authorization_owner", "scope"),
        ("expires_at", "eligible", "inputs_digest", "attempt", "policy_version", "facts", "rule", "looked", "needed"),
    ),
    Kind.APPROVAL_INVALIDATED: KindSpec(_PO, ("approval_id", "reason"), ("rule", "changed")),
    Kind.PERMITTED: KindSpec(
        _PO,
        ("rule", "policy_version"),
        ("reason", "approval_id", "inputs_digest", "expires_at", "result_expires_at", "grant_id", "grant_use", "cost", "looked"),
    ),
    Kind.REFUSED: KindSpec(_PO, ("rule", "reason"), ("policy_version",)),
    Kind.CLOSED: KindSpec(_PO, ("kind", "initiator", "scope", "reason", "at"), ("approval_id", "replaced_by", "executed", "owner_name")),
    Kind.RESULT_REJECTED: KindSpec(_PO, ("problems",), ("result", "declared")),
    Kind.DEPENDENCY_MOVED: KindSpec(_PO, ("dependency", "moved_to")),
    Kind.DEPENDENCY_RESOLVED: KindSpec(_PO, ("dependency", "by")),
    Kind.GRANT_RECORDED: KindSpec(
        _PO, ("grant_id", "scope", "actor"), ("expires_at", "limit", "roles", "channel", "reason"), of_task="task"
    ),
    Kind.GRANT_USED: KindSpec(_PO, ("grant_id", "number", "used_by"), ("inputs_digest", "cost"), of_task="task"),
    Kind.GRANT_REVOKED: KindSpec(_PO, ("grant_id", "reason"), ("actor", "roles", "channel", "scope"), of_task="task"),
    Kind.RECONCILED: KindSpec(_PO, ("conclusion", "by"), ("detail", "reference", "asked_by")),
    Kind.VALUE_ERASED: KindSpec(_PO, ("value_ref", "by", "reason")),
    Kind.HOLD_RELEASED: KindSpec(_PO, ("held_source", "up_to", "reason")),
    Kind.INPUT_SUPPLIED: KindSpec(_US, ("actor", "inputs"), ("reason", "fields")),
    Kind.INPUTS_EDITED: KindSpec(_US, ("actor", "inputs"), ("reason", "fields")),
    Kind.GRANTED: KindSpec(_US, ("actor", "approval_id"), ("inputs_digest", "reason", "request_id", "channel", "tool", "roles")),
    Kind.DENIED: KindSpec(_US, ("actor", "approval_id"), ("reason", "request_id", "channel", "tool", "roles")),
    Kind.DISMISSED: KindSpec(_US, ("actor",), ("reason", "channel", "request_id", "roles")),
    Kind.WITHDRAWN: KindSpec(_US, ("actor",), ("reason", "channel", "request_id", "roles")),
    Kind.CANCEL_REQUESTED: KindSpec(_US, ("actor", "scope"), ("reason", "channel", "request_id", "roles")),
    Kind.RETRY_REQUESTED: KindSpec(_US, ("actor",), ("reason", "new_invocation", "request_id", "roles", "channel")),
    Kind.REVERSAL_REQUESTED: KindSpec(_US, ("actor",), ("reason", "new_invocation", "request_id", "roles", "channel")),
    Kind.ROUTE_CHOSEN: KindSpec(_US, ("actor", "route"), ("reason", "new_invocation", "request_id", "roles", "channel")),
    Kind.CHILD_WAIVED: KindSpec(_US, ("actor", "child", "reason"), ("request_id", "roles", "channel"), of_task="task"),
    Kind.CARD_RENDERED: KindSpec(_PR, ("document_version",), ("actor", "digest", "viewport", "truncated")),
}
"""The vocabulary as data: kind → who may say it and what makes it whole."""


_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {}, ())


def missing_fields(event: Event) -> tuple[str, ...]:
    """Name the required fields that ``event`` lacks; empty when its evidence is whole. Its data is an object.

    An empty list is a whole answer for ``open`` and ``unresolved`` (nothing is left), and only there.
    """
    data = event.data
    missing: list[str] = []
    for name, alternatives in _REQUIRED.get(event.kind, ()):
        for alternative in alternatives:
            value = data.get(alternative)
            if value not in _EMPTY or (value == [] and alternative in _WHOLE_WHEN_EMPTY):
                break
        else:
            missing.append(name)
    return tuple(missing)


_WHOLE_WHEN_EMPTY: Final = frozenset({"open", "unresolved"})
_REQUIRED: Final = {kind: tuple((name, tuple(name.split("|"))) for name in spec.required) for kind, spec in KINDS.items()}
"""Each kind's required fields with their alternatives."""


_POLICY_DEADLINES: Final = frozenset({Deadline.INPUT, Deadline.APPROVAL})


def speaker_objection(event: Event) -> str:
    """Say why this owner may not say this; empty when it may (R13). The deadlines of input and approval are policy's alone."""
    if not may_say(event.owner, event.kind):
        return f"speaker: {event.owner} does not own {event.kind}"
    if event.kind != Kind.DEADLINE_ELAPSED or not isinstance(event.data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # sources err
        return ""
    which = event.data.get("deadline")
    if event.owner is Owner.RUNTIME and isinstance(which, str) and which in _POLICY_DEADLINES:
        return f"speaker: {event.owner} does not own the {which} deadline"
    return ""


def may_say(owner: Owner, kind: str) -> bool:
    """Tell whether ``owner`` owns facts of this kind. A kind that we do not know is anybody's to say."""
    spec = KINDS.get(kind)
    return spec is None or owner in spec.owners
