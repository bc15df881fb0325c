"""Leases: who may speak for a running attempt, and for how long silence proves nothing.

An executor that holds a lease speaks under it. What comes under a lease that this attempt never had is kept and moves nothing, and an end
that somebody else infers from silence is not believed while the lease is good.
"""

from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL
from toolwitness.core.times import parse_rfc3339

_UNDER_LEASE: Final = frozenset({Kind.PROGRESS, Kind.OUTPUT, Kind.SUCCEEDED, Kind.FAILED})


def hold(record: InvocationRecord, event: Event) -> None:
    """Keep the lease that a start or a heartbeat of this attempt names, and until when it is good."""
    lease = str(event.data.get("lease") or "")
    if not lease:
        return
    if event.kind == Kind.STARTED and lease not in record.leases:
        record.leases = (*record.leases, lease)
    if not record.leases:
        record.leases = (lease,)
    if lease in record.leases:
        record.lease_expires_at = str(event.data.get("expires_at") or "")


def stranger(record: InvocationRecord, event: Event) -> str:
    """Say that an event comes under a lease that this attempt never had, and raise the finding; empty where it does not."""
    lease = str(event.data.get("lease") or "")
    if not lease or not record.leases or lease in record.leases or event.kind not in _UNDER_LEASE:
        return ""
    said = f"{event.kind} came under lease {lease}, which this attempt never had"
    record.raise_finding(Code.LEASE_UNKNOWN, said, event.ref)
    return f"lease-unknown: {said}"


def premature(record: InvocationRecord, event: Event, at: str) -> str:
    """Say why an end that somebody infers is not believed, and raise the finding; empty where the lease has run out or none is known."""
    by = event.data.get("inferred_by")
    if not by or event.kind != Kind.FAILED or record.state in TERMINAL:
        return ""
    now, until = parse_rfc3339(at), parse_rfc3339(record.lease_expires_at)
    if now is None or until is None or now >= until:
        return ""
    said = f"{by} concludes that it failed, and its lease is good until {record.lease_expires_at}"
    record.raise_finding(Code.INFERRED_END_REFUSED, said, event.ref)
    return f"lease-live: {said}"
