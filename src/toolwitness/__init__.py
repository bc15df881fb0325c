"""What your users see is what happened: a truthful record of an agent's tool calls.

Every public name is here and is imported when it is first used, so that ``import toolwitness`` is quick and needs no extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolwitness.bootstrap.desk import Desk
    from toolwitness.bootstrap.opening import open  # noqa: A004 - toolwitness.open reads as what it does
    from toolwitness.bootstrap.provenance import from_result, from_user
    from toolwitness.bootstrap.task import Call, TaskHandle
    from toolwitness.core.errors import InvalidInput, NotPermitted, ToolwitnessError
    from toolwitness.core.outcome import apply_tool_result
    from toolwitness.core.result_gate import ToolResultGate
    from toolwitness.core.states import State
    from toolwitness.core.verdicts import Actor
    from toolwitness.policy.tool_policy import Inverse
    from toolwitness.runtime.body import StopHonoured, crossed_commitment, effect_observed, emit, part_completed, progress, stop_requested
    from toolwitness.runtime.outcomes import CallOutcome
    from toolwitness.runtime.reporting import ToolFailure

__version__: Final = "0.1.0"

READ_ONLY: Final = "read-only"
REVERSIBLE: Final = "reversible"
EXTERNALLY_VISIBLE: Final = "externally-visible"
DESTRUCTIVE: Final = "destructive"
PERMISSION_GATED: Final = "permission-gated"
FINANCIAL: Final = "financially-consequential"

_WHERE: Final = {
    "Actor": "core.verdicts",
    "Call": "bootstrap.task",
    "CallOutcome": "runtime.outcomes",
    "Desk": "bootstrap.desk",
    "InvalidInput": "core.errors",
    "Inverse": "policy.tool_policy",
    "NotPermitted": "core.errors",
    "State": "core.states",
    "StopHonoured": "runtime.body",
    "TaskHandle": "bootstrap.task",
    "ToolFailure": "runtime.reporting",
    "ToolResultGate": "core.result_gate",
    "ToolwitnessError": "core.errors",
    "apply_tool_result": "core.outcome",
    "crossed_commitment": "runtime.body",
    "effect_observed": "runtime.body",
    "emit": "runtime.body",
    "from_result": "bootstrap.provenance",
    "from_user": "bootstrap.provenance",
    "open": "bootstrap.opening",
    "part_completed": "runtime.body",
    "progress": "runtime.body",
    "stop_requested": "runtime.body",
}

__all__ = [
    "DESTRUCTIVE",
    "EXTERNALLY_VISIBLE",
    "FINANCIAL",
    "PERMISSION_GATED",
    "READ_ONLY",
    "REVERSIBLE",
    "Actor",
    "Call",
    "CallOutcome",
    "Desk",
    "InvalidInput",
    "Inverse",
    "NotPermitted",
    "State",
    "StopHonoured",
    "TaskHandle",
    "ToolFailure",
    "ToolResultGate",
    "ToolwitnessError",
    "__version__",
    "apply_tool_result",
    "crossed_commitment",
    "effect_observed",
    "emit",
    "from_result",
    "from_user",
    "open",
    "part_completed",
    "progress",
    "stop_requested",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its room when it is first asked for."""
    if name == "adapters":
        return import_module(f"{__name__}.adapters")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
