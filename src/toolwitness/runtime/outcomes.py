"""What a caller gets back: an outcome, never an exception for what is not an error (R5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """How a call ended, as its record says."""

    kind: Literal["ok", "cancelled", "error"]
    """``cancelled`` for cancelled, denied, dismissed, withdrawn and expired alike; ``which`` tells them apart."""
    invocation_id: str
    which: str
    """The closure kind, ``expired``, the failure category, ``outcome_unknown``, or ``succeeded``."""
    why: str = ""
    value: Any = None
    """What the tool returned, where this process ran it; else the recorded result as JSON."""
    record: InvocationRecord

    @property
    def commit(self) -> bool:
        """Whether the result may become part of the caller's state: only ``ok`` commits."""
        return self.kind == "ok"

    def as_tool_result(self) -> Mapping[str, Any]:
        """Give the outcome in the form that ``apply_tool_result`` takes."""
        if self.kind == "ok":
            return {"status": "ok", "payload": self.value}
        if self.kind == "cancelled":
            return {"status": "cancelled", "reason": self.why or self.which}
        return {"status": "error", "error": {"category": self.which, "detail": self.why}}


def outcome_of(record: InvocationRecord, value: Any, *, why: str = "") -> CallOutcome:
    """Read the outcome from a record that has ended, or whose outcome nobody knows; ``why`` says why not, where the record does not.

    What the tool returned is given even then: it could not be recorded, and it is not to be lost with that.
    """
    if record.state is State.SUCCEEDED:
        return CallOutcome(kind="ok", invocation_id=record.id, which="succeeded", value=value, record=record)
    if record.state is State.CANCELLED:
        closure = record.closure
        which, why = (str(closure.kind), closure.reason) if closure else ("cancelled", "")
        return CallOutcome(kind="cancelled", invocation_id=record.id, which=which, why=why, record=record)
    if record.state is State.EXPIRED:
        return CallOutcome(kind="cancelled", invocation_id=record.id, which="expired", why=f"{record.elapsed} deadline", record=record)
    if record.state is State.FAILED and record.outcome is not None:
        data = record.outcome.data
        return CallOutcome(kind="error", invocation_id=record.id, which=str(data["category"]), why=str(data["detail"]), record=record)
    finding = record.findings.get(Code.OUTCOME_UNKNOWN)
    reason = why or (finding.detail if finding else "the call has not ended")
    return CallOutcome(kind="error", invocation_id=record.id, which="outcome_unknown", why=reason, value=value, record=record)
