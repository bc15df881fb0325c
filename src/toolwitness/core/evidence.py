"""Events: one thing that one source said, of one kind of evidence, and the reference under which it is cited."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any

from toolwitness.core.states import EvidenceRef, Origin, Owner


class Kind(StrEnum):
    """Every kind of evidence there is. The envelope's ``type`` is ``toolcall.`` plus the kind."""

    TASK_OPENED = "task.opened"
    PROPOSED = "invocation.proposed"
    CLAIMED = "dispatch.claimed"
    ACCEPTED = "dispatch.accepted"
    STARTED = "execution.started"
    HEARTBEAT = "execution.heartbeat"
    PROGRESS = "progress.reported"
    OUTPUT = "output.emitted"
    PART_COMPLETED = "part.completed"
    COMMITTED = "commitment.crossed"
    EFFECT = "effect.observed"
    SUCCEEDED = "execution.succeeded"
    FAILED = "execution.failed"
    WAITER_RELEASED = "waiter.released"
    CANCEL_ACKNOWLEDGED = "cancellation.acknowledged"
    LOST = "execution.lost"
    DEADLINE_ELAPSED = "deadline.elapsed"
    TASK_REPORTED = "task.reported"
    HISTORY_READ = "history.read"
    INPUT_REQUIRED = "input.required"
    INPUTS_ACCEPTED = "inputs.accepted"
    INPUTS_REJECTED = "inputs.rejected"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_INVALIDATED = "approval.invalidated"
    PERMITTED = "dispatch.permitted"
    REFUSED = "dispatch.refused"
    CLOSED = "closure.recorded"
    RESULT_REJECTED = "result.rejected"
    DEPENDENCY_MOVED = "dependency.moved"
    DEPENDENCY_RESOLVED = "dependency.resolved"
    GRANT_RECORDED = "grant.recorded"
    GRANT_USED = "grant.used"
    GRANT_REVOKED = "grant.revoked"
    RECONCILED = "effects.reconciled"
    VALUE_ERASED = "value.erased"
    HOLD_RELEASED = "hold.released"
    INPUT_SUPPLIED = "input.supplied"
    INPUTS_EDITED = "inputs.edited"
    GRANTED = "approval.granted"
    DENIED = "approval.denied"
    DISMISSED = "invocation.dismissed"
    WITHDRAWN = "invocation.withdrawn"
    CANCEL_REQUESTED = "cancellation.requested"
    RETRY_REQUESTED = "retry.requested"
    REVERSAL_REQUESTED = "reversal.requested"
    ROUTE_CHOSEN = "route.chosen"
    CHILD_WAIVED = "child.waived"
    CARD_RENDERED = "card.rendered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that one source said, as it said it.

    ``data`` holds plain JSON without floats: our own fields, references and digests only (R12). A value that lies beside the
    event appears in it as ``{"ref": "val_…", "digest": "…", "bytes": n}``.
    """

    kind: str
    source: str
    id: str
    """Unique within its source: the deduplication key."""
    task_id: str
    owner: Owner
    invocation_id: str | None = None
    """The subject; ``None`` for events about the task itself."""
    attempt: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    time: str | None = None
    """The source's own time (RFC 3339), or ``None`` when it gave none."""
    sequence: int | None = None
    """The source's own order within the subject, counted from 1; ``None`` when the source does not number."""
    origin: Origin = Origin.SERVER
    caused_by: tuple[str, ...] = ()
    """Evidence references of the events that caused this one."""
    tenant: str = ""
    adapter: str = ""
    """``name@version#row`` of the mapping that made the event; empty for our own."""
    raw_ref: str = ""
    """Reference of the raw runtime event in the value table."""
    refusal: str = ""
    """Why it was refused when it came (``rule: reason``); empty when it was not. A refused event is kept and believed by nobody."""
    once_key: str = ""
    """The single use that this event takes; a second event with the same key cannot be appended."""

    @property
    def ref(self) -> EvidenceRef:
        """The reference under which this event is cited."""
        return evidence_ref(self.source, self.id)


@lru_cache(maxsize=4_096)
def evidence_ref(source: str, event_id: str) -> EvidenceRef:
    """Give the reference of the event that ``source`` named ``event_id``: ``ev_`` and 32 hex digits."""
    return EvidenceRef("ev_" + sha256(f"{source}\0{event_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32])
