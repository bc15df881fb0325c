"""After a restart: which bodies are gone with the process that held them.

A worker is named ``machine:pid:nonce``; the nonce begins with the time at which the process started, where the system tells it, since
numbers of processes come again (in a container nearly always). On the same machine a process that is no longer there cannot be running a
body; on another machine nothing can be said from here, unless a lease says until when it is good (``service/sweep.py``). Nothing is ever
run again by this: the outcome is recorded as unknown.
"""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import Situation, Workplace, carry_out, read

_LONGEST_NUMBER: Final = 32
"""Digits; what a stranger's lease calls a process may be anything, and is then none."""
_open_here: Final[set[str]] = set()
"""The desks of this process that are running."""


def name_of_process() -> str:
    """Make the name under which a desk of this process works."""
    started = _started(os.getpid())
    return f"{socket.gethostname()}:{os.getpid()}:{started}-{secrets.token_hex(4)}"


def know_desk(worker: str) -> None:
    """Note that a desk of this process runs under this name."""
    _open_here.add(worker)


def forget_desk(worker: str) -> None:
    """Note that it has seen every body of its own to the end."""
    _open_here.discard(worker)


def _started(pid: int) -> str:
    """Give when a process started, in the system's own count; empty where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_gone(worker: str) -> str:
    """Say why the process that ``worker`` names can no longer be running anything; empty where that cannot be said."""
    if not is_here(worker):
        return ""
    parts = worker.rsplit(":", 2)
    pid = int(parts[1])
    if pid == os.getpid():
        return "" if worker in _open_here else f"the desk that held it (in process {pid}) is closed"
    gone = f"the process that held it (pid {pid}) is gone"
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return gone
    except PermissionError:
        pass
    then, _, _ = parts[2].partition("-")
    now = _started(pid)
    return gone if then and now and then != now else ""


def is_here(worker: str) -> bool:
    """Tell whether ``worker`` names a process of this machine, of which something can be known from here."""
    return _names_worker(worker) and worker.rsplit(":", 2)[0] == socket.gethostname()


def _names_worker(worker: str) -> bool:
    """Tell whether a text is a name as ``name_of_process`` makes it."""
    parts = worker.rsplit(":", 2)
    return len(parts) == 3 and parts[1].isdecimal() and len(parts[1]) <= _LONGEST_NUMBER


Gone = Callable[[str], str]
"""Says why a worker can no longer be running anything; empty where that cannot be said."""


async def record_lost(place: Workplace, *, source: str, gone: Gone = is_gone) -> list[Recorded]:
    """Record every call as lost that was claimed, or seen to start, by a process that is gone; once across processes.

    Also one without a permit, which no policy of ours governs: a recorder saw it start, and nobody will see it end.
    """
    found: list[Recorded] = []
    for row in await place.ledger.states(states=[state for state in State if state not in TERMINAL]):
        if _why_lost((await read(place, row.invocation_id)).record, gone):
            found += (await carry_out(place, row.invocation_id, lambda situation: _lost(place, situation, source, gone))).recorded
    return found


def _why_lost(record: InvocationRecord, gone: Gone) -> str:
    """Say why nobody will ever say how this call ended; empty where somebody may, or where that is known already."""
    held = record.claim is not None or bool(record.starts)
    if not held or record.state in TERMINAL or Code.OUTCOME_UNKNOWN in record.findings or record.reconciliations:
        return ""
    return "" if _stopped_to_ask(record) else gone(holder_of(record))


def _stopped_to_ask(record: InvocationRecord) -> bool:
    """Tell whether the body stopped to ask: nothing runs until it goes on, in any process, and then under the lease that it had."""
    asked = any(part.get("outcome") == "paused" for part in record.parts)
    return asked and (record.state is State.PARTIALLY_COMPLETE or len(record.starts) == 1)


def holder_of(record: InvocationRecord) -> str:
    """Name the worker that was last seen to hold a call: by its lease where that names one, else by the claim; empty where nothing does.

    A call that stopped to ask may go on in another process than the one that claimed it.
    """
    leased = record.lease.rpartition("/")[0]
    if _names_worker(leased):
        return leased
    return str(record.claim.data.get("worker") or "") if record.claim is not None else ""


def _lost(place: Workplace, situation: Situation, source: str, gone: Gone = is_gone) -> Sequence[Draft]:
    record, reason = situation.record, _why_lost(situation.record, gone)
    if not reason:
        return []
    cause = record.claim.ref if record.claim is not None else record.starts[-1]
    facts = {"reason": reason, **({"lease": record.lease} if record.lease else {})}
    event = Event(
        kind=Kind.LOST, source=source, id=place.ids.new("evt"), task_id=record.task_id, invocation_id=record.id, owner=Owner.RUNTIME,
        attempt=record.attempt, tenant=record.tenant, time=place.stamp(), data=facts, caused_by=(cause,),
    )  # fmt: skip  # facts in lines
    return [Draft(event=event)]
