"""LangChain and LangGraph: a reader for captured streams, and a recorder to run an agent or a hand-built graph under.

``Recorder`` needs the framework (``toolwitness[langgraph]``); everything else here does without it.
"""

from typing import TYPE_CHECKING, Any

from toolwitness.adapters.langgraph.mapping import TABLE
from toolwitness.adapters.langgraph.reader import HookReader, Reader

if TYPE_CHECKING:
    from toolwitness.adapters.langgraph.recorder import Recorder

__all__ = ["TABLE", "HookReader", "Reader", "Recorder"]


def __getattr__(name: str) -> Any:
    """Import the recorder, and with it the framework, when it is first asked for."""
    if name == "Recorder":
        from toolwitness.adapters.langgraph.recorder import Recorder  # noqa: PLC0415 -- replaying a capture must not need the framework

        return Recorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
