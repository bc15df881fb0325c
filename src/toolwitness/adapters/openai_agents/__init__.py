"""OpenAI Agents: a reader for captured streams, and a recorder to run an agent under.

``Recorder`` needs the framework (``toolwitness[openai-agents]``); everything else here does without it.
"""

from typing import TYPE_CHECKING, Any

from toolwitness.adapters.openai_agents.mapping import TABLE
from toolwitness.adapters.openai_agents.reader import HookReader, Reader

if TYPE_CHECKING:
    from toolwitness.adapters.openai_agents.recorder import Recorder

__all__ = ["TABLE", "HookReader", "Reader", "Recorder"]


def __getattr__(name: str) -> Any:
    """Import the recorder, and with it the framework, when it is first asked for."""
    if name == "Recorder":
        from toolwitness.adapters.openai_agents.recorder import Recorder  # noqa: PLC0415 -- replaying a capture must not need the framework

        return Recorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
