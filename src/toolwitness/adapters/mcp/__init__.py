"""MCP: a reader for captured JSON-RPC, and a recorder for either side of a session.

``Recorder`` needs the SDK (``toolwitness[mcp]``); everything else here does without it. Inside this package ``mcp`` is always the SDK.
"""

from typing import TYPE_CHECKING, Any

from toolwitness.adapters.mcp.mapping import TABLE
from toolwitness.adapters.mcp.reader import Reader

if TYPE_CHECKING:
    from toolwitness.adapters.mcp.emitter import Emitter
    from toolwitness.adapters.mcp.recorder import Recorder

__all__ = ["TABLE", "Emitter", "Reader", "Recorder"]


def __getattr__(name: str) -> Any:
    """Import the recorder or the emitter, and with it the SDK, when it is first asked for."""
    if name == "Emitter":
        from toolwitness.adapters.mcp.emitter import Emitter  # noqa: PLC0415 -- as below

        return Emitter
    if name == "Recorder":
        from toolwitness.adapters.mcp.recorder import Recorder  # noqa: PLC0415 -- replaying a capture must not need the SDK

        return Recorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
