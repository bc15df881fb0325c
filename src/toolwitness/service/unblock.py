"""Let calls go on whose dependencies are resolved now."""

from collections.abc import Collection

from toolwitness.core.errors import NotPermitted
from toolwitness.core.states import BEFORE_DISPATCH
from toolwitness.core.task import blocked_by
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Workplace


async def unblock(place: Workplace, task_id: str, *, tools: Collection[str], host: str) -> list[str]:
    """Submit every call of the task that waited for a dependency and waits no more; give their ids.

    Only calls that our policy governs, of ``tools``, that belong to ``host`` or to nobody in particular: another process, and a foreign
    runtime, look after their own.
    """
    view = await place.ledger.task(task_id)
    if view is None:
        return []
    ready = [
        record.id
        for record in view.shared.values()
        if record.state in BEFORE_DISPATCH
        and record.permission is None
        and record.governed
        and record.tool in tools
        and record.proposal.get("host", host) == host
        and record.proposal.get("dependencies")
        and not blocked_by(record, view.task, view.shared)
    ]
    submitted: list[str] = []
    for invocation_id in ready:
        try:
            await submit(place, invocation_id)
        except NotPermitted:
            continue  # its card says why; the others go on
        submitted.append(invocation_id)
    return submitted
