"""The register of a tenant: one task without calls that holds what stands for all of its tasks, and who may decide there now.

Its id is derived from the tenant, so that every process finds it. It holds the tenant's grants and their uses, the charges to its budgets,
and the authority that was taken from people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from toolwitness.core.task import TaskRecord
from toolwitness.ports import Ledger, TaskView

_PREFIX: Final = "task_register_"


def register_id(tenant: str) -> str:
    """Give the id of a tenant's register."""
    return _PREFIX + sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def is_register(task_id: str) -> bool:
    """Tell whether a task is a register and no work of anybody's."""
    return task_id.startswith(_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """What stands in a tenant, as read at one moment."""

    grants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    uses: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict[str, Sequence[Mapping[str, Any]]])
    revoked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def of_tenant(view: TaskView, tenant: str) -> TaskRecord | None:
    """Give the register's record where the task is really this tenant's; a task that another tenant put there says nothing."""
    return view.task if view.task.tenant == tenant else None


async def register_of(ledger: Ledger, tenant: str) -> Register:
    """Read the register of a tenant; an empty one where none was ever opened."""
    view = await ledger.task(register_id(tenant))
    task = of_tenant(view, tenant) if view is not None else None
    return Register(grants=task.grants, uses=task.uses, revoked=task.revoked) if task is not None else Register()
