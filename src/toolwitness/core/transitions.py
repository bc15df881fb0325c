"""THE table: which evidence moves which state where.

Rule 1: every move of every state is a row of ``TABLE``; nothing outside this file decides where a state goes.
Rule 2: exactly one row, or none, matches a (state, evidence, condition). None means that the fact is kept (``noted``) and moves nothing.

Conditions are a closed enum. ``core/conditions.py`` reads the one that holds from the record and the event; it never chooses a state.
The basis of a row says how the move relates to the lifecycle matrix:

- ``expected``: the matrix has it;
- ``gap``: true, but a step that the matrix expects left no evidence (R8);
- ``violation``: true, but a policy of ours was bypassed, or an approval that was asked for was never given (R7);
- ``ours``: a row that the matrix lacks (ADR 0005 argues each; a test lists them by name).
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolwitness.core.evidence import Kind
from toolwitness.core.states import State


class Condition(StrEnum):
    """Everything besides state and kind that a row may depend on."""

    ALWAYS = "always"
    FIRST = "first"
    REPEATED = "repeated"
    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    CLAIMED = "permit_claimed"
    UNCLAIMED = "permit_unclaimed"
    UNOBSERVED = "policy_unobserved"
    UNANSWERED = "approval_unanswered"
    LIVE_LEASE = "live_lease"
    BARE = "bare"
    WORK_OPEN = "work_open"
    WORK_CLOSED = "work_closed"
    RESULT_ACCEPTED = "result_accepted"
    RESULT_REJECTED = "result_rejected"
    PHASE_DEADLINE = "phase_deadline"
    OTHER_DEADLINE = "other_deadline"
    RESULT_DEADLINE = "result_deadline"
    OWNED = "owned_here"
    DISPATCHED = "already_dispatched"
    OTHER_ATTEMPT = "other_attempt"
    ANSWERED_BY_HUMAN = "answered_by_human"
    CLIENT_MADE = "client_made"


class Basis(StrEnum):
    """How a row relates to the lifecycle matrix."""

    EXPECTED = "expected"
    GAP = "gap"
    VIOLATION = "violation"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    state: State | None
    kind: Kind
    condition: Condition
    next: State
    basis: Basis
    name: str
    """Stable name, used by findings, docs and tests."""


_S, _K, _C, _B = State, Kind, Condition, Basis
_START_CONDITIONS: Final = (_C.CLAIMED, _C.UNCLAIMED, _C.UNOBSERVED, _C.UNANSWERED)


def _pre_dispatch_rows() -> list[Row]:
    """Rows that stay before dispatch, or close there."""
    rows = [Row(None, _K.PROPOSED, _C.FIRST, _S.PROPOSED, _B.EXPECTED, "proposal")]
    for state in (_S.PROPOSED, _S.AWAITING_INPUT, _S.AWAITING_APPROVAL):
        s = state.value
        if state is not _S.PROPOSED:
            to_proposed = _B.EXPECTED if state is _S.AWAITING_INPUT else _B.OURS
            rows.append(Row(state, _K.INPUTS_ACCEPTED, _C.RESOLVED, _S.PROPOSED, to_proposed, f"{s}-inputs-accepted"))
        to_input = _B.EXPECTED if state is _S.PROPOSED else _B.OURS
        to_approval = _B.OURS if state is _S.AWAITING_APPROVAL else _B.EXPECTED
        rows += [
            Row(state, _K.INPUT_REQUIRED, _C.ALWAYS, _S.AWAITING_INPUT, to_input, f"{s}-input-required"),
            Row(state, _K.INPUTS_REJECTED, _C.ALWAYS, _S.AWAITING_INPUT, to_input, f"{s}-inputs-rejected"),
            Row(state, _K.APPROVAL_REQUESTED, _C.ALWAYS, _S.AWAITING_APPROVAL, to_approval, f"{s}-approval-requested"),
            Row(state, _K.CLOSED, _C.OWNED, _S.CANCELLED, _B.EXPECTED, f"{s}-closed"),
            Row(state, _K.CLOSED, _C.ANSWERED_BY_HUMAN, _S.CANCELLED, _B.OURS, f"{s}-answered-by-human"),
            Row(state, _K.DEADLINE_ELAPSED, _C.PHASE_DEADLINE, _S.EXPIRED, _B.EXPECTED, f"{s}-expired"),
        ]
    asked = ((_K.INPUT_REQUIRED, _S.AWAITING_INPUT), (_K.INPUTS_REJECTED, _S.AWAITING_INPUT), (_K.APPROVAL_REQUESTED, _S.AWAITING_APPROVAL))
    return rows + [Row(None, kind, _C.ALWAYS, target, _B.OURS, f"unproposed-{kind.value.replace('.', '-')}") for kind, target in asked]


def _dispatch_rows() -> list[Row]:
    """Rows that leave the states before dispatch (or no state at all) because a runtime was seen at work."""
    rows: list[Row] = []
    for state in (None, _S.PROPOSED, _S.AWAITING_INPUT, _S.AWAITING_APPROVAL):
        s = state.value if state else "unproposed"
        for condition in _START_CONDITIONS:
            bypassed = condition in {_C.UNCLAIMED, _C.UNANSWERED}
            accepted = _B.VIOLATION if bypassed else _B.EXPECTED if state else _B.GAP
            started = _B.VIOLATION if bypassed else _B.GAP
            rows.append(Row(state, _K.ACCEPTED, condition, _S.QUEUED, accepted, f"{s}-accepted-{condition}"))
            rows.append(Row(state, _K.STARTED, condition, _S.RUNNING, started, f"{s}-started-{condition}"))
        rows += [
            Row(state, _K.HEARTBEAT, _C.LIVE_LEASE, _S.RUNNING, _B.GAP, f"{s}-heartbeat"),
            Row(state, _K.OUTPUT, _C.ALWAYS, _S.STREAMING, _B.GAP, f"{s}-output"),
            Row(state, _K.PROGRESS, _C.ALWAYS, _S.STREAMING, _B.GAP, f"{s}-progress"),
            Row(state, _K.PART_COMPLETED, _C.WORK_OPEN, _S.PARTIALLY_COMPLETE, _B.GAP, f"{s}-part-completed"),
            Row(state, _K.SUCCEEDED, _C.RESULT_ACCEPTED, _S.SUCCEEDED, _B.GAP, f"{s}-succeeded"),
            Row(state, _K.FAILED, _C.ALWAYS, _S.FAILED, _B.GAP, f"{s}-failed"),
            Row(state, _K.CANCEL_ACKNOWLEDGED, _C.OWNED, _S.CANCELLED, _B.GAP, f"{s}-terminated"),
        ]
    return rows


def _queued_rows() -> list[Row]:
    """Rows out of queued: a scheduler has accepted the call and nothing has been seen to start."""
    q = _S.QUEUED
    rows = [
        Row(
            q,
            _K.STARTED,
            condition,
            _S.RUNNING,
            _B.EXPECTED if condition in {_C.CLAIMED, _C.UNOBSERVED} else _B.VIOLATION,
            f"queued-started-{condition}",
        )
        for condition in _START_CONDITIONS
    ]
    return [
        *rows,
        Row(q, _K.HEARTBEAT, _C.LIVE_LEASE, _S.RUNNING, _B.EXPECTED, "queued-heartbeat"),
        Row(q, _K.FAILED, _C.ALWAYS, _S.FAILED, _B.EXPECTED, "queued-failed"),
        Row(q, _K.CANCEL_ACKNOWLEDGED, _C.OWNED, _S.CANCELLED, _B.EXPECTED, "queued-cancelled"),
        Row(q, _K.DEADLINE_ELAPSED, _C.PHASE_DEADLINE, _S.EXPIRED, _B.EXPECTED, "queued-expired"),
        Row(q, _K.DEADLINE_ELAPSED, _C.RESULT_DEADLINE, _S.EXPIRED, _B.EXPECTED, "queued-result-expired"),
        Row(q, _K.SUCCEEDED, _C.RESULT_ACCEPTED, _S.SUCCEEDED, _B.GAP, "queued-succeeded"),
        Row(q, _K.OUTPUT, _C.ALWAYS, _S.STREAMING, _B.GAP, "queued-output"),
        Row(q, _K.PROGRESS, _C.ALWAYS, _S.STREAMING, _B.GAP, "queued-progress"),
        Row(q, _K.PART_COMPLETED, _C.WORK_OPEN, _S.PARTIALLY_COMPLETE, _B.GAP, "queued-part-completed"),
    ]


def _executing_rows() -> list[Row]:
    """Rows out of running, streaming and partially complete."""
    rows: list[Row] = []
    for state in (_S.RUNNING, _S.STREAMING, _S.PARTIALLY_COMPLETE):
        s = state.value
        another_part = _B.OURS if state is _S.PARTIALLY_COMPLETE else _B.EXPECTED
        rows += [
            Row(state, _K.OUTPUT, _C.ALWAYS, _S.STREAMING, _B.EXPECTED, f"{s}-output"),
            Row(state, _K.PROGRESS, _C.ALWAYS, _S.STREAMING, _B.EXPECTED, f"{s}-progress"),
            Row(state, _K.PART_COMPLETED, _C.WORK_OPEN, _S.PARTIALLY_COMPLETE, another_part, f"{s}-part-completed"),
            Row(state, _K.SUCCEEDED, _C.RESULT_ACCEPTED, _S.SUCCEEDED, _B.EXPECTED, f"{s}-succeeded"),
            Row(state, _K.FAILED, _C.ALWAYS, _S.FAILED, _B.EXPECTED, f"{s}-failed"),
            Row(state, _K.CANCEL_ACKNOWLEDGED, _C.OWNED, _S.CANCELLED, _B.EXPECTED, f"{s}-cancelled"),
            Row(state, _K.DEADLINE_ELAPSED, _C.RESULT_DEADLINE, _S.EXPIRED, _B.OURS, f"{s}-result-expired"),
        ]
    rows.append(Row(_S.PARTIALLY_COMPLETE, _K.HEARTBEAT, _C.LIVE_LEASE, _S.RUNNING, _B.EXPECTED, "partially_complete-heartbeat"))
    return rows


ROWS: Final[tuple[Row, ...]] = tuple(_pre_dispatch_rows() + _dispatch_rows() + _queued_rows() + _executing_rows())
"""Every row, in lifecycle order."""

TABLE: Final = MappingProxyType({(row.state, row.kind, row.condition): row for row in ROWS})
"""The rows by what they match; building it twice from one key would lose a row, so a test compares the lengths."""


def row_for(state: State | None, kind: str, condition: Condition) -> Row | None:
    """Give the one row that matches, or ``None`` where the fact moves nothing."""
    return TABLE.get((state, kind, condition))  # type: ignore[call-overload, no-any-return]  # a foreign kind is simply not a key
