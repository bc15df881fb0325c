"""Our record in MCP: the ``_meta`` of a tool's result holds the call's document and card, for a client that knows the key.

The key has the form that the protocol asks of ``_meta``: a prefix, a slash, a name. A client that does not know it passes over it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from mcp_types import CallToolResult

from toolwitness.core.verdicts import Actor
from toolwitness.emitting.moves import KEY, DeskLike, Move, Moves


class Emitting(Protocol):
    """A recorder at a server whose results can carry the record."""

    def tell(self, told: "Emitter") -> None:
        """Let ``told`` complete every result from now on."""
        ...


def with_record(result: CallToolResult, move: Move) -> CallToolResult:
    """Give the result with the record in its ``_meta``; what was there stays."""
    before: Mapping[str, Any] = result.meta or {}
    return result.model_copy(update={"meta": {**before, KEY: move.payload()}})


class Emitter:
    """Completes results for one reader: what this actor may not see is not there, and the controls are this actor's."""

    def __init__(self, desk: DeskLike, *, actor: Actor) -> None:
        """Take who reads; behind a stdio server that is the one person at its client."""
        self._desk = desk
        self._actor = actor

    def on(self, recorder: Emitting) -> None:
        """Complete every result of the server that ``recorder`` stands at."""
        recorder.tell(self)

    async def complete(self, result: CallToolResult, task_id: str, invocation_id: str) -> CallToolResult:
        """Give the result of a call with its record as it stands now; unchanged where this reader may not see it."""
        found = await Moves(self._desk, task_id, actor=self._actor).one(invocation_id)
        return result if found is None else with_record(result, found)
