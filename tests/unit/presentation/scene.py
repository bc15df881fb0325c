"""A call as a test tells it: each line is an event, judged by the real fold and kept as a ledger keeps it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from toolwitness.core.evidence import Event
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Origin, Owner
from toolwitness.core.task import TaskRecord, judge_task
from toolwitness.core.vocabulary import KINDS
from toolwitness.ports import Recorded
from toolwitness.presentation.cards import invocation_card

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    """Give the RFC 3339 time so many seconds after noon."""
    return (NOON + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Scene:
    """One invocation: tell it what was said, read its card."""

    def __init__(self, invocation_id: str = "inv_1", *, task_id: str = "task_1", values: dict[str, bytes] | None = None) -> None:
        self.record = InvocationRecord(invocation_id)
        self.task_id = task_id
        self.recorded: list[Recorded] = []
        self.values = values if values is not None else {}

    def value(self, raw: bytes | str) -> dict[str, Any]:
        """Keep bytes as a value and give what an event holds in their place."""
        exact = raw.encode() if isinstance(raw, str) else raw
        ref = f"val_{self.record.id}_{len(self.values)}"
        self.values[ref] = exact
        return {"ref": ref, "digest": "sha256:00", "bytes": len(exact)}

    def says(self, kind: str, seconds: float | None = None, /, **data: Any) -> str:
        """Record an event of ``kind`` at so many seconds after noon and give its reference."""
        event = Event(
            kind=kind, source=data.pop("_source", "test"), id=data.pop("_id", f"{self.record.id}-{len(self.recorded)}"),
            task_id=self.task_id, invocation_id=self.record.id, attempt=data.pop("_attempt", self.record.attempt),
            owner=data.pop("_owner", KINDS[kind].owners[0] if kind in KINDS else Owner.RUNTIME),
            time=data.pop("_time", at(seconds) if seconds is not None else None), sequence=data.pop("_sequence", None),
            refusal=data.pop("_refusal", ""), origin=data.pop("_origin", Origin.SERVER), adapter=data.pop("_adapter", ""),
            caused_by=data.pop("_caused_by", ()), data=data,
        )  # fmt: skip  # facts in lines
        recorded_at = at((seconds or 0) + 0.001)
        judged = judge(self.record, event, recorded_at=recorded_at)
        self.recorded.append(
            Recorded(
                event=event, position=len(self.recorded) + 1, task_sequence=len(self.recorded) + 1, recorded_time=recorded_at,
                verdict=judged.verdict, reason=judged.reason, hash="0" * 64, state=self.record.state,
                basis=judged.row.basis.value if judged.row else "", row=judged.row.name if judged.row else "",
            )
        )  # fmt: skip  # facts in lines
        return event.ref

    def proposed(self, seconds: float = 0, *, inputs: str = '{"q":1}', **more: Any) -> str:
        """Record a proposal with sensible facts."""
        facts: dict[str, Any] = {
            "tool": "book_itinerary", "source_request": "msg-1", "proposer": "planner", "purpose": "Reserve itinerary it-7",
            "policy_version": "pol_1", **more,
        }  # fmt: skip  # facts in lines
        return self.says("invocation.proposed", seconds, inputs=self.value(inputs), **facts)

    def asked(self, seconds: float = 20, **more: Any) -> str:
        """Record an approval request as policy makes one."""
        facts: dict[str, Any] = {
            "approval_id": "apr_1", "consequence_summary": "costs money, others will see it", "authority": "role:finance",
            "authorization_owner": "booking policy", "scope": "one call of book_itinerary, attempt 1, with exactly these inputs",
            "eligible": ["role:finance", "user:ann", "not:proposer"], "expires_at": at(380), "rule": "confirmation-required",
            "inputs_digest": "sha256:00",
            "facts": {"fields": ["total", "currency", "recipient"], "unreadable": [], "commitment_boundary": ""},
            **more,
        }  # fmt: skip  # facts in lines
        return self.says("approval.requested", seconds, **facts)

    def started(self, seconds: float = 31, **more: Any) -> str:
        """Record permit, acceptance and start as the local runtime does."""
        self.says("dispatch.permitted", seconds - 0.4, rule="no-approval-needed", policy_version="pol_1")
        self.says("dispatch.claimed", seconds - 0.3, permit="prm_1", _attempt=self.record.attempt, attempt=self.record.attempt)
        self.says("dispatch.accepted", seconds - 0.2, queue_ref="local:1")
        return self.says("execution.started", seconds, **{"attempt": self.record.attempt, "executor": "worker w-1", "lease": "8c1", **more})

    def card(self, *, seconds: float = 60, **more: Any) -> dict[str, Any]:
        """Read the card as it is so many seconds after noon."""
        return invocation_card(
            self.record, events=self.recorded, now=NOON + timedelta(seconds=seconds), values=self.values, **more
        )  # fmt: skip  # one call


class TaskScene:
    """One task with its invocations."""

    def __init__(self, purpose: str = "Book the trip you chose", **opened: Any) -> None:
        self.task = TaskRecord("task_1")
        self.scenes: dict[str, Scene] = {}
        self.values: dict[str, bytes] = {}
        self.count = 0
        if purpose:
            self.says("task.opened", 0, purpose=purpose, **opened)

    def says(self, kind: str, seconds: float, /, **data: Any) -> str:
        """Record an event about the task itself."""
        self.count += 1
        event = Event(
            kind=kind, source="test", id=f"task-{self.count}", task_id="task_1", owner=KINDS[kind].owners[0], time=at(seconds), data=data
        )
        judge_task(self.task, event, recorded_at=at(seconds))
        return event.ref

    def call(self, invocation_id: str) -> Scene:
        """Begin another invocation of the task."""
        self.scenes[invocation_id] = Scene(invocation_id, values=self.values)
        return self.scenes[invocation_id]

    @property
    def records(self) -> dict[str, InvocationRecord]:
        """The records by invocation id."""
        return {name: scene.record for name, scene in self.scenes.items()}

    @property
    def events(self) -> dict[str, list[Recorded]]:
        """The recorded events by invocation id."""
        return {name: scene.recorded for name, scene in self.scenes.items()}
