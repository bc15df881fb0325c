"""After a restart: which bodies are gone with the process that held them.

A worker is named ``machine:pid:nonce``. On the same machine a process that is no longer there cannot be running a body; on another machine
nothing can be said from here, and nothing is. Nobody is ever run again by this: the outcome is recorded as unknown.
"""

import os
import socket

from toolwitness.core.errors import Conflict
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import Workplace, read


def is_gone(worker: str) -> str:
    """Say why the process that ``worker`` names can no longer be running anything; empty where that cannot be said."""
    parts = worker.rsplit(":", 2)
    if len(parts) != 3 or parts[0] != socket.gethostname() or not parts[1].isdigit():
        return ""
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return f"the process that held it (pid {parts[1]}) is gone"
    except PermissionError:
        return ""
    return ""


async def record_lost(place: Workplace, *, source: str) -> list[Recorded]:
    """Record every claimed or executing call as lost whose process is gone; once across processes."""
    found: list[Recorded] = []
    for row in await place.ledger.states(states=[state for state in State if state not in TERMINAL]):
        situation = await read(place, row.invocation_id)
        record = situation.record
        reason = is_gone(str(record.claim.data.get("worker") or "")) if record.claim else ""
        if not reason or Code.OUTCOME_UNKNOWN in record.findings:
            continue
        try:
            found += await place.ledger.append(record.task_id, [_lost(place, record, reason, source)], expected_sequence=situation.view.sequence)
        except Conflict:
            continue  # somebody else looked at the same time
    return found


def _lost(place: Workplace, record: InvocationRecord, reason: str, source: str) -> Draft:
    claim = record.claim
    facts = {"reason": reason, **({"lease": record.lease} if record.lease else {})}
    event = Event(
        kind=Kind.LOST, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
        attempt=record.attempt, tenant=record.tenant, time=place.stamp(), data=facts, caused_by=(claim.ref,) if claim else (),
        once_key=f"lost:{record.id}:{claim.permit if claim else ''}",
    )  # fmt: skip  # facts in lines
    return Draft(event=event)
