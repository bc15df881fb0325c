"""What is seen of a call at work: taken up, started, alive, how far it is, what it gave and what it did in the world.

What arrives after the end is added only where it cannot be mistaken for part of the attempt (R4).
"""

from bisect import insort
from types import MappingProxyType
from typing import Final

from toolwitness.core import leases, requests
from toolwitness.core.entries import Effect, Outcome
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline


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


ABSORBERS: Final = MappingProxyType({
    Kind.ACCEPTED: _accepted,
    Kind.STARTED: _started,
    Kind.HEARTBEAT: _heartbeat,
    Kind.PROGRESS: _progress,
    Kind.OUTPUT: _output,
    Kind.PART_COMPLETED: _part,
    Kind.COMMITTED: _committed,
    Kind.EFFECT: _effect,
})  # fmt: skip  # one line a kind
