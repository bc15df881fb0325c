"""Waive a required child: a person decides that the task may be complete without it."""

from toolwitness.core.errors import Conflict, InvalidInput, NotPermitted, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import TERMINAL, Owner, State
from toolwitness.core.task import required_lineages
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Draft, Recorded
from toolwitness.service.workplace import DESK, Workplace, said_by


async def waive_child(place: Workplace, task_id: str, invocation_id: str, *, actor: Actor, reason: str, request_id: str = "") -> Recorded:
    """Record that ``actor`` waives this child of the task, and why.

    Raises:
        InvalidInput: no reason was given, or the task or the child is not recorded.
        NotPermitted: the child is still open or has succeeded, so that there is nothing to waive.
    """
    if not reason.strip():
        raise InvalidInput("A waiver needs a reason.", field="reason", remedy="Say why the task is complete without this call.")
    for _ in range(20):
        view = await place.ledger.task(task_id)
        if view is None:
            raise UnknownId(f"No task {task_id!r} is recorded.", field="taskId")
        needed = required_lineages(view.task, view.records)
        root = next((root for root, record in needed.items() if invocation_id in {root, record.id if record else ""}), None)
        if root is None:
            raise UnknownId(f"{invocation_id!r} is not a required call of this task.", field="invocationId")
        record = needed[root]
        if record is not None and (record.state not in TERMINAL or record.state is State.SUCCEEDED):
            raise NotPermitted(f"The call is {record.state}; only one that ended without success can be waived.", rule="waive-only-ended")
        event = Event(
            kind=Kind.CHILD_WAIVED, source=DESK, id=place.ids.new("evt"), task_id=task_id, owner=Owner.USER, tenant=view.task.tenant,
            time=place.stamp(), once_key=f"waive:{task_id}:{root}",
            data=said_by(actor, child=root, reason=reason, **({"request_id": request_id} if request_id else {})),
        )  # fmt: skip  # facts in lines
        if root in view.task.waived:
            raise NotPermitted("The call has been waived already.", rule="waived-once")
        try:
            return (await place.ledger.append(task_id, [Draft(event=event)], expected_sequence=view.sequence))[0]
        except Conflict:
            continue
    raise Conflict("Others kept writing to this task.", remedy="Try again.")
