"""What each kind of evidence adds to a record, apart from moving its state.

``absorb`` dispatches on the kind; one small function a kind. Nothing here names a next state: that is the table's alone. What arrives
after the end is added only where it cannot be mistaken for part of the attempt (R4).
"""

from bisect import insort
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core import authority, decisions, endings, leases, ordering, requests
from toolwitness.core.entries import Effect, Outcome
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline, State

Absorber = Callable[[InvocationRecord, Event, str], None]

DECISIONS: Final = frozenset({
    Kind.GRANTED, Kind.DENIED, Kind.DISMISSED, Kind.WITHDRAWN, Kind.CANCEL_REQUESTED, Kind.RETRY_REQUESTED, Kind.REVERSAL_REQUESTED,
    Kind.ROUTE_CHOSEN, Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED,
})  # fmt: skip  # a set reads better in lines
"""Kinds that are a person's decision: a refused one is a finding."""

REFUSABLE: Final = DECISIONS | {Kind.CLAIMED}
"""Kinds that are refused, not merely noted, when they cannot count."""

objection = decisions.objection
after_the_end = endings.after_the_end
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


def _accepted(record: InvocationRecord, event: Event, at: str) -> None:
    record.queue_ref = record.queue_ref or str(event.data.get("queue_ref") or "")
    record.accepted_at = record.accepted_at or str(event.data.get("accepted_at") or at)
    record.findings.pop(Code.ACCEPTANCE_NOT_RECORDED, None)


def _started(record: InvocationRecord, event: Event, at: str) -> None:
    attempt = event.data["attempt"]
    if not record.proposal and not record.starts:
        record.attempt = attempt
    if attempt != record.attempt:
        record.raise_finding(Code.DUPLICATE_START, f"a start of attempt {attempt} was recorded here", event.ref)
    elif record.starts:
        record.raise_finding(Code.DUPLICATE_START, "the same attempt was seen to start again", event.ref)
    record.starts.append(event.ref)
    leases.hold(record, event)
    if attempt != record.attempt or record.state in TERMINAL:
        return
    record.started_at = record.started_at or str(event.data.get("started_at") or at)
    record.executor = str(event.data.get("executor") or record.executor)
    record.lease = str(event.data.get("lease") or record.lease)
    record.cancel_support = str(event.data.get("cancel_support") or record.cancel_support)
    _compare_inputs(record, event)
    record.deadlines.pop(Deadline.QUEUE_START, None)
    record.findings.pop(Code.START_NOT_RECORDED, None)
    requests.name_unstoppable(record)


def _compare_inputs(record: InvocationRecord, event: Event) -> None:
    """Say when the body was started with other inputs than the ones that stand.

    Digests are salted, so two recordings of equal bytes look different here: whoever records a start with inputs of its own compares
    the bytes and says so in ``inputs_compared`` (``same`` or ``different``). Where nobody says, another recording counts as different.
    """
    ran = event.data.get("inputs")
    if not ran:
        return
    record.executed_inputs = ran
    if record.inputs is None or event.data.get("inputs_compared") == "same":
        return
    if event.data.get("inputs_compared") == "different" or ran.get("ref") != record.inputs.get("ref"):
        record.raise_finding(Code.EXECUTED_INPUTS_DIFFER, "the body was started with other inputs than the ones that stand", event.ref)


def _heartbeat(record: InvocationRecord, event: Event, at: str) -> None:
    known = bool(record.proposal or record.starts or record.lease)
    if record.state in TERMINAL or (known and event.data["attempt"] != record.attempt):
        return
    record.attempt = event.data["attempt"]
    record.lease = record.lease or event.data["lease"]
    leases.hold(record, event)
    if event.data["lease"] == record.lease:
        record.findings.pop(Code.OUTCOME_UNKNOWN, None)
        record.findings.pop(Code.START_NOT_RECORDED, None)


def _progress(record: InvocationRecord, event: Event, at: str) -> None:
    if record.state in TERMINAL:
        return
    order, percent = event.data["order"], event.data.get("percent")
    best = (record.progress or {}).get("percent")
    if order <= record.progress_order or (percent is not None and best is not None and percent < best):
        record.raise_finding(Code.PROGRESS_REGRESSED, "progress moved backwards; the furthest point is kept", event.ref)
        return
    record.progress_order = order
    record.progress = {**event.data, "percent": best if percent is None else percent, "at": at, "ref": event.ref}


def _output(record: InvocationRecord, event: Event, at: str) -> None:
    """Keep a chunk in the order of its number; a number that was already used adds nothing to the output."""
    order = event.data["order"]
    chunk = {**event.data, "ref": event.ref, "at": at, **({"late": True} if record.state in TERMINAL else {})}
    if order > record.output_order:
        record.output_order = order
        record.output_chunks.append(chunk)
    elif any(known["order"] == order for known in reversed(record.output_chunks)):
        record.raise_finding(Code.ORDER_REPEATED, f"output number {order} came again", event.ref)
    else:
        insort(record.output_chunks, chunk, key=lambda known: known["order"])
        record.raise_finding(Code.ORDER_REPEATED, f"output number {order} came late and stands in its place", event.ref)


def _part(record: InvocationRecord, event: Event, at: str) -> None:
    record.parts.append({**event.data, "ref": event.ref, "at": at})
    if record.state not in TERMINAL:
        record.open_parts = tuple(event.data["open"])


def _committed(record: InvocationRecord, event: Event, at: str) -> None:
    record.commitment = record.commitment or Outcome(event.data, event.ref, at, event.source)


def _effect(record: InvocationRecord, event: Event, at: str) -> None:
    record.effects.append(Effect(event.data, event.ref, at, late=record.state in TERMINAL))
    if record.open_cancellation is not None and record.state not in TERMINAL:
        record.raise_finding(Code.EFFECT_AFTER_CANCEL, "an effect landed after the cancellation had been requested", event.ref)


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
    Kind.ACCEPTED: _accepted,
    Kind.STARTED: _started,
    Kind.HEARTBEAT: _heartbeat,
    Kind.PROGRESS: _progress,
    Kind.OUTPUT: _output,
    Kind.PART_COMPLETED: _part,
    Kind.COMMITTED: _committed,
    Kind.EFFECT: _effect,
    Kind.DEPENDENCY_MOVED: _moved_dependency,
    Kind.DEPENDENCY_RESOLVED: _resolved_dependency,
    Kind.HOLD_RELEASED: _hold_released,
    Kind.HISTORY_READ: _history,
    Kind.CARD_RENDERED: _rendered,
    **requests.ABSORBERS,
    **authority.ABSORBERS,
    **endings.ABSORBERS,
})  # fmt: skip  # one line a kind
