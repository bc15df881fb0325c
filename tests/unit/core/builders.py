"""Small events for tests: whole by default, one word to change one thing."""

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Event, Kind
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import InvocationId, Origin, Owner, State, TaskId
from toolwitness.core.task import TaskRecord, judge_task
from toolwitness.core.vocabulary import KINDS

INVOCATION: Final = "inv_1"
TASK: Final = "task_1"
_numbers = count(1)


def value(name: str) -> dict[str, Any]:
    """The reference of a value that lies beside an event."""
    return {"ref": f"val_{name}", "digest": f"digest-of-{name}", "bytes": 12}


WHOLE: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({
    Kind.TASK_OPENED: {"purpose": "Book the trip the user chose"},
    Kind.PROPOSED: {"tool": "book", "inputs": value("inputs"), "source_request": "msg-1", "proposer": "model"},
    Kind.CLAIMED: {"permit": "prm_1", "attempt": 1},
    Kind.ACCEPTED: {"queue_ref": "queue/1"},
    Kind.STARTED: {"attempt": 1, "executor": "worker-1", "lease": "lease-1"},
    Kind.HEARTBEAT: {"attempt": 1, "lease": "lease-1"},
    Kind.PROGRESS: {"order": 1, "text": "half", "percent": 50},
    Kind.OUTPUT: {"order": 1, "output": value("chunk")},
    Kind.PART_COMPLETED: {"part": "outward", "open": ["return"]},
    Kind.COMMITTED: {"boundary": "provider accepted the purchase"},
    Kind.EFFECT: {"effect": "reservation made"},
    Kind.SUCCEEDED: {"completed_at": "2026-11-30T10:00:00Z", "result": value("result")},
    Kind.FAILED: {"category": "upstream-unavailable", "detail": "The hotel service did not answer.", "evidence_ref": "log-7"},
    Kind.WAITER_RELEASED: {"waiter": "caller"},
    Kind.CANCEL_ACKNOWLEDGED: {
        "termination": "confirmed", "initiator": "user:ada", "scope": "this invocation", "reason": "user-requested",
        "at": "2026-11-30T10:00:00Z",
    },
    Kind.LOST: {"reason": "the lease was lost"},
    Kind.DEADLINE_ELAPSED: {"deadline": "result", "declared_at": "2026-11-30T10:00:00Z"},
    Kind.TASK_REPORTED: {"claimed": "completed"},
    Kind.HISTORY_READ: {"history": "the messages of the run", "call": "call_1", "result": "present"},
    Kind.INPUT_REQUIRED: {"unresolved": ["seat"], "collector": "person"},
    Kind.INPUTS_ACCEPTED: {"inputs_digest": "digest-of-inputs", "checked_by": "declared types"},
    Kind.INPUTS_REJECTED: {"validation": "seat: must be a string", "collector": "person"},
    Kind.APPROVAL_REQUESTED: {
        "approval_id": "apr_1", "consequence_summary": "moves money", "authority": "role:finance",
        "authorization_owner": "booking policy", "scope": "one itinerary",
    },
    Kind.APPROVAL_INVALIDATED: {"approval_id": "apr_1", "reason": "the inputs were edited"},
    Kind.PERMITTED: {"rule": "approved", "policy_version": "1"},
    Kind.REFUSED: {"rule": "deadline", "reason": "the deadline has passed", "policy_version": "1"},
    Kind.CLOSED: {
        "kind": "withdrawn", "initiator": "user:ada", "scope": "this invocation", "reason": "changed plans", "at": "2026-11-30T10:00:00Z",
    },
    Kind.RESULT_REJECTED: {"problems": ["total: must be a string"]},
    Kind.DEPENDENCY_MOVED: {"dependency": "inv_0", "moved_to": "inv_0b"},
    Kind.DEPENDENCY_RESOLVED: {"dependency": "inv_0", "by": "ev_0"},
    Kind.GRANT_RECORDED: {"grant_id": "grt_1", "scope": "searches", "actor": "user:ada"},
    Kind.GRANT_USED: {"grant_id": "grt_1", "number": 1, "used_by": "inv_1"},
    Kind.GRANT_REVOKED: {"grant_id": "grt_1", "reason": "no longer needed"},
    Kind.RECONCILED: {"conclusion": "nothing was booked", "by": "user:ops"},
    Kind.VALUE_ERASED: {"value_ref": "val_inputs", "by": "user:ops", "reason": "retention"},
    Kind.HOLD_RELEASED: {"held_source": "worker", "up_to": 3, "reason": "source ended"},
    Kind.INPUT_SUPPLIED: {"actor": "user:ada", "inputs": value("supplied")},
    Kind.INPUTS_EDITED: {"actor": "user:ada", "inputs": value("edited")},
    Kind.GRANTED: {"actor": "user:ada", "approval_id": "apr_1"},
    Kind.DENIED: {"actor": "user:ada", "approval_id": "apr_1"},
    Kind.DISMISSED: {"actor": "user:ada"},
    Kind.WITHDRAWN: {"actor": "user:ada"},
    Kind.CANCEL_REQUESTED: {"actor": "user:ada", "scope": "this invocation"},
    Kind.RETRY_REQUESTED: {"actor": "user:ada"},
    Kind.REVERSAL_REQUESTED: {"actor": "user:ada"},
    Kind.ROUTE_CHOSEN: {"actor": "user:ada", "route": "by rail"},
    Kind.CHILD_WAIVED: {"actor": "user:ada", "child": "inv_1", "reason": "rail is not needed"},
    Kind.CARD_RENDERED: {"document_version": "3"},
})  # fmt: skip  # one kind after the other
"""For each kind, data that makes it whole and holds little more."""


def event(
    kind: str, /, *, source: str = "", sequence: int | None = None, owner: Owner | None = None, origin: Origin = Origin.SERVER,
    invocation: str = INVOCATION, time: str | None = None, event_id: str = "", refusal: str = "", of_attempt: int | None = None,
    without: tuple[str, ...] = (), **changes: Any,
) -> Event:  # fmt: skip  # a signature in four lines
    """A whole event of ``kind``, with the fields in ``without`` left out of its data and ``changes`` made to it."""
    spec = KINDS.get(kind)
    speaker = owner or (spec.owners[0] if spec else Owner.RUNTIME)
    data = {name: part for name, part in WHOLE.get(kind, {}).items() if name not in without} | changes
    return Event(
        kind=kind, source=source or f"test:{speaker}", id=event_id or f"e{next(_numbers)}", task_id=TASK, owner=speaker,
        invocation_id=None if spec and spec.of_task else invocation, data=data, sequence=sequence, origin=origin, time=time,
        refusal=refusal, attempt=of_attempt,
    )  # fmt: skip  # one field after the other


def proposed(**changes: Any) -> Event:
    """A proposal in a runtime that we only read: no policy of ours applies."""
    return event(Kind.PROPOSED, **changes)


def governed(**changes: Any) -> Event:
    """A proposal to which a policy of ours applies."""
    return event(Kind.PROPOSED, **{"policy_version": "1", **changes})


def record_of(*events: Event, invocation: str = INVOCATION) -> InvocationRecord:
    """The record that these events amount to, in this order of arrival."""
    record = InvocationRecord(InvocationId(invocation))
    for one in events:
        judge(record, one)
    return record


def task_of(*events: Event) -> TaskRecord:
    """The task that these events amount to."""
    task = TaskRecord(TaskId(TASK))
    for one in events:
        judge_task(task, one)
    return task


def path_to(state: State | None) -> tuple[Event, ...]:
    """Events that lead, as the matrix expects, into ``state``."""
    opening = (proposed(),)
    queued = (*opening, event(Kind.ACCEPTED))
    running = (*queued, event(Kind.STARTED))
    paths: dict[State | None, tuple[Event, ...]] = {
        None: (),
        State.PROPOSED: opening,
        State.AWAITING_INPUT: (*opening, event(Kind.INPUT_REQUIRED)),
        State.AWAITING_APPROVAL: (*opening, event(Kind.APPROVAL_REQUESTED)),
        State.QUEUED: queued,
        State.RUNNING: running,
        State.STREAMING: (*running, event(Kind.OUTPUT, order=0)),
        State.PARTIALLY_COMPLETE: (*running, event(Kind.PART_COMPLETED)),
        State.SUCCEEDED: (*running, event(Kind.SUCCEEDED)),
        State.FAILED: (*running, event(Kind.FAILED)),
        State.CANCELLED: (*running, event(Kind.CANCEL_REQUESTED), event(Kind.CANCEL_ACKNOWLEDGED)),
        State.EXPIRED: (*running, event(Kind.DEADLINE_ELAPSED)),
    }
    return paths[state]


def in_state(state: State | None) -> InvocationRecord:
    """A record in ``state``, reached as the matrix expects, under no policy of ours."""
    record = record_of(*path_to(state))
    assert record.state is state
    return record
