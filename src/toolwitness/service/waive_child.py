"""Waive a required child: a person decides that the task may be complete without it."""

from collections.abc import Sequence

from toolwitness.core.errors import InvalidInput, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.core.task import is_waived, required_lineages
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.workplace import DESK, Refusal, Workplace, refused_acts, said_by


async def waive_child(place: Workplace, task_id: str, invocation_id: str, *, actor: Actor, reason: str, request_id: str = "") -> Recorded:
    """Record that ``actor`` waives this child of the task, and why.

    Raises:
        InvalidInput: no reason was given, or the task or the child is not recorded.
        NotPermitted: it is another tenant's, or the child is still open, has succeeded or was waived before; the refusal is on record.
    """
    if not reason.strip():
        raise InvalidInput("A waiver needs a reason.", field="reason", remedy="Say why the task is complete without this call.")
    if await place.ledger.task(task_id) is None:
        raise UnknownId(f"No task {task_id!r} is recorded.", field="taskId")
    refusals: list[Refusal] = []

    def deciding(view: TaskView) -> Sequence[Draft]:
        needed = required_lineages(view.task, view.shared)
        root = next((root for root, record in needed.items() if invocation_id in {root, record.id if record else ""}), None)
        if root is None:
            raise UnknownId(f"{invocation_id!r} is not a required call of this task.", field="invocationId")
        act = Draft(
            event=Event(
                kind=Kind.CHILD_WAIVED, source=DESK, id=place.ids.new("evt"), task_id=task_id, owner=Owner.USER, tenant=view.task.tenant,
                time=place.stamp(), once_key=f"waive:{task_id}:{root}",
                data=said_by(actor, child=root, reason=reason, **({"request_id": request_id} if request_id else {})),
            )
        )  # fmt: skip  # facts in lines
        verdict = _judge(view, root, actor)
        refusals[:] = [] if verdict.allowed else [Refusal(verdict, act)]
        return [act] if verdict.allowed else refused_acts(refusals[0])

    recorded = await place.ledger.decide(task_id, deciding)
    if refusals:
        raise refusals[0].as_error()
    return recorded[0]


def _judge(view: TaskView, root: str, actor: Actor) -> PolicyVerdict:
    """Say whether this actor may waive this lineage now."""
    record = required_lineages(view.task, view.shared)[root]
    if not actor.id:
        return _no("actor", "nobody is signed in: a waiver without an actor is none")
    if actor.tenant != view.task.tenant:
        return _no("actor", "this belongs to another tenant")
    if record is not None and (record.state not in TERMINAL or record.state is State.SUCCEEDED):
        return _no("waive-only-ended", f"the call is {record.state}; only one that ended without success can be waived")
    if is_waived(root, view.task, view.shared):
        return _no("waived-once", "the call has been waived already")
    return PolicyVerdict(allowed=True, rule="may-waive", reason="the call has ended without success")


def _no(rule: str, reason: str) -> PolicyVerdict:
    return PolicyVerdict(allowed=False, rule=rule, reason=reason)
