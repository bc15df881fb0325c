"""What people ask for. A request is shown at once and is not its acknowledgement (R3)."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from toolwitness.core.entries import Request
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import EXECUTING, TERMINAL, State

Absorber = Callable[[InvocationRecord, Event, str], None]

_UNSTOPPABLE: Final = frozenset({"thread", "unsupported"})
_ANSWERED_BY: Final = MappingProxyType({"retry": "retried_by", "reversal": "reversed_by", "route": "replaced_by"})


def _request(kind: str) -> Absorber:
    """Make the absorber of a kind of request."""

    def absorber(record: InvocationRecord, event: Event, at: str) -> None:
        data = event.data
        target = str(data.get("new_invocation") or "")
        record.requests.append(
            Request(kind, data["actor"], event.ref, at, str(data.get("scope") or ""), str(data.get("reason") or ""), target)
        )
        if target and kind in _ANSWERED_BY:
            setattr(record, _ANSWERED_BY[kind], target)
        if kind == "reversal" and target:
            detail = f"its undoing was requested as {target}; what is undone is not settled"
            record.raise_finding(Code.REVERSAL_UNSETTLED, detail, event.ref)
        if kind == "cancellation":
            name_unstoppable(record)

    return absorber


def _withdrawn(record: InvocationRecord, event: Event, at: str) -> None:
    """Read a withdrawal that comes after dispatch as what it has become: a request to cancel."""
    dispatched = record.claim is not None or record.state is State.QUEUED or record.state in EXECUTING
    if dispatched and record.state not in TERMINAL:
        _request("cancellation")(record, event, at)


def name_unstoppable(record: InvocationRecord) -> None:
    """Say that a body which runs, and whose cancellation is wanted, cannot be stopped from here."""
    wanted = record.open_cancellation
    if wanted is not None and record.cancel_support in _UNSTOPPABLE and record.still_running:
        record.raise_finding(Code.CANNOT_BE_STOPPED, f"it runs as {record.cancel_support} and cannot be stopped from here", wanted.ref)


ABSORBERS: Final = MappingProxyType({
    Kind.CANCEL_REQUESTED: _request("cancellation"),
    Kind.RETRY_REQUESTED: _request("retry"),
    Kind.REVERSAL_REQUESTED: _request("reversal"),
    Kind.ROUTE_CHOSEN: _request("route"),
    Kind.INPUT_SUPPLIED: _request("input"),
    Kind.INPUTS_EDITED: _request("input"),
    Kind.WITHDRAWN: _withdrawn,
})  # fmt: skip  # one line a kind
