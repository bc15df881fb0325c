"""A2A: a reader for captured task events, and a recorder for either side of a conversation between agents.

``Recorder`` needs the SDK (``toolwitness[a2a]``); everything else here does without it. Inside this package ``a2a`` is always the SDK.
"""

from typing import TYPE_CHECKING, Any

from toolwitness.adapters.a2a.mapping import TABLE
from toolwitness.adapters.a2a.reader import Reader

if TYPE_CHECKING:
    from toolwitness.adapters.a2a.recorder import Recorder

__all__ = ["TABLE", "Reader", "Recorder"]


def __getattr__(name: str) -> Any:
    """Import the recorder, and with it the SDK, when it is first asked for."""
    if name == "Recorder":
        from toolwitness.adapters.a2a.recorder import Recorder  # noqa: PLC0415 -- replaying a capture must not need the SDK

        return Recorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
