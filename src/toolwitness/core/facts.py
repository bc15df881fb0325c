"""What each kind of evidence adds to a record, apart from moving its state.

``absorb`` dispatches on the kind; one small function a kind. Nothing here names a next state: that is the table's alone. What arrives
after the end is added only where it cannot be mistaken for part of the attempt (R4).
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core import aftermath, authority, decisions, endings, ordering, requests, work
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State

Absorber = Callable[[InvocationRecord, Event, str], None]

DECISIONS: Final = frozenset({
    Kind.GRANTED, Kind.DENIED, Kind.DISMISSED, Kind.WITHDRAWN, Kind.CANCEL_REQUESTED, Kind.RETRY_REQUESTED, Kind.REVERSAL_REQUESTED,
    Kind.ROUTE_CHOSEN, Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED,
})  # fmt: skip  # a set reads better in lines
"""Kinds that are a person's decision: a refused one is a finding."""

REFUSABLE: Final = DECISIONS | {Kind.CLAIMED}
"""Kinds that are refused, not merely noted, when they cannot count."""

objection = decisions.objection
after_the_end = aftermath.after_the_end
entered = endings.entered


def absorb(record: InvocationRecord, event: Event, at: str) -> None:
    """Add what ``event`` says to the record."""
    if not record.correlation and event.data.get("correlation"):
        record.correlation = event.data["correlation"]
    absorber = _ABSORBERS.get(event.kind)  # type: ignore[call-overload]  # a kind without an absorber adds nothing but itself
    if absorber:
        absorber(record, event, at)
    if event.kind in _SIGNS_OF_LIFE and record.state not in TERMINAL:
        record.findings.pop(Code.OUTCOME_UNKNOWN, None)


_SIGNS_OF_LIFE: Final = frozenset({Kind.STARTED, Kind.PROGRESS, Kind.OUTPUT, Kind.PART_COMPLETED})
"""Who was lost and says this is found again. A heartbeat counts too, if it is that of the lease."""


def _proposed(record: InvocationRecord, event: Event, at: str) -> None:
    """Keep the first proposal; one that comes after its runtime closes what was said for want of it."""
    if record.proposal:
        return
    record.proposal = event.data
    record.correlation = event.data.get("correlation") or record.correlation
    record.task_id, record.tenant = event.task_id, event.tenant
    record.attempt = event.attempt or record.attempt
    record.inputs = event.data["inputs"]
    record.inputs_history.append(event.data["inputs"])
    for approval in record.approvals:
        approval.inputs = approval.inputs or record.inputs  # who asked before the proposal came asked about what was proposed
    record.cancel_support = record.cancel_support or str(event.data.get("cancel_support") or "")
    record.findings.pop(Code.PROPOSAL_NOT_RECORDED, None)
    _name_twin(record, event)
    if record.governed and record.findings.pop(Code.POLICY_UNOBSERVED, None) and record.claim is None:
        code = Code.STARTED_WITHOUT_PERMIT if record.seen_at_work else Code.ACCEPTED_WITHOUT_PERMIT
        record.raise_finding(code, "no claimed dispatch permit covers this", event.ref)


def _name_twin(record: InvocationRecord, event: Event) -> None:
    """Say that policy, and not the proposer, recognised the call as another attempt at what an earlier one may have done."""
    if event.data.get("linked_by"):
        earlier = event.data.get("retry_of")
        record.raise_finding(Code.RETRY_UNLINKED, f"proposed as a new call; {event.data['linked_by']} links it to {earlier}", event.ref)
        if event.data.get("changed"):
            named = ", ".join(event.data["changed"])
            record.raise_finding(Code.IDEMPOTENCY_KEY_CHANGED, f"{named} differs from that of {earlier}", event.ref)


def _moved_dependency(record: InvocationRecord, event: Event, at: str) -> None:
    record.moved_dependencies[event.data["dependency"]] = event.data["moved_to"]


def _resolved_dependency(record: InvocationRecord, event: Event, at: str) -> None:
    record.resolved_dependencies[event.data["dependency"]] = event.data["by"]


def _history(record: InvocationRecord, event: Event, at: str) -> None:
    """Name what a runtime's own history has lost: a call that it leaves open, and a result that it does not hold."""
    if record.state not in TERMINAL or event.data["result"] != "absent":
        return
    where = f"{event.data['history']} holds no result for call {event.data['call']}"
    record.raise_finding(Code.CALL_LEFT_OPEN, f"{where}, which has ended ({record.state})", event.ref)
    if record.state is State.SUCCEEDED:
        record.raise_finding(Code.RESULT_NOT_IN_HISTORY, f"{where}, and it succeeded", event.ref)


def _rendered(record: InvocationRecord, event: Event, at: str) -> None:
    record.rendered.append({**event.data, "at": at, "ref": event.ref})


def _hold_released(record: InvocationRecord, event: Event, at: str) -> None:
    ordering.release(record, event.data["held_source"], event.data["up_to"])


_ABSORBERS: Final = MappingProxyType({
    Kind.PROPOSED: _proposed,
    Kind.DEPENDENCY_MOVED: _moved_dependency,
    Kind.DEPENDENCY_RESOLVED: _resolved_dependency,
    Kind.HOLD_RELEASED: _hold_released,
    Kind.HISTORY_READ: _history,
    Kind.CARD_RENDERED: _rendered,
    **work.ABSORBERS,
    **requests.ABSORBERS,
    **authority.ABSORBERS,
    **endings.ABSORBERS,
})  # fmt: skip  # one line a kind
