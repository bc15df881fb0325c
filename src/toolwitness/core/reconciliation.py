"""What is known about the effects of an attempt in the outside world; silence is never taken for absence."""

from typing import Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Consequence, Reconciliation, State

_HARMLESS: Final = frozenset({Consequence.READ_ONLY, Consequence.PERMISSION_GATED})


def settle(record: InvocationRecord) -> None:
    """Keep what is known about effects in step with what was seen and with the findings of an attempt that has ended."""
    if record.reconciliation is Reconciliation.NOT_EXECUTED and record.seen_at_work:
        record.reconciliation = Reconciliation.UNKNOWN
    if record.state in TERMINAL and record.needs_reconciliation:
        record.reconciliation = Reconciliation.REQUIRED


def only_reads(record: InvocationRecord) -> bool:
    """Tell whether the call is declared to read and to do nothing else."""
    return Consequence.READ_ONLY in record.consequences and _HARMLESS.issuperset(record.consequences)


def effects_known(record: InvocationRecord, state: State, event: Event) -> Reconciliation:
    """Say what is known about effects on entering ``state``.

    ``not-executed`` needs evidence that nothing was handed over, or that the executor excludes effects; that no start is recorded
    proves nothing.
    """
    if record.needs_reconciliation:
        return Reconciliation.REQUIRED if state in TERMINAL else Reconciliation.UNKNOWN
    worked = record.seen_at_work
    excluded = event.data.get("effects") == "excluded" and not record.effects and record.commitment is None
    if not worked and state not in TERMINAL:
        return record.reconciliation
    closed_here = event.kind in {Kind.CLOSED, Kind.DEADLINE_ELAPSED} and not record.handed_over
    if not worked and (closed_here or excluded):
        return Reconciliation.NOT_EXECUTED
    if excluded or (only_reads(record) and not record.effects):
        return Reconciliation.NONE_EXPECTED
    return Reconciliation.AS_REPORTED if state is State.SUCCEEDED else Reconciliation.UNKNOWN
