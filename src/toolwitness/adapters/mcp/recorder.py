"""The recorder: one line at the server, ``Recorder(desk).serve(server)``, or one at the client, ``Recorder(desk).watch(client)``.

At the server it sees the bodies: real starts, real ends, executed arguments. At the client it sees what the server says, and no more.
"""

from typing import Any

from mcp import Client, ClientSession
from mcp.server.mcpserver import MCPServer

from toolwitness.adapters.mcp.calling import Watched
from toolwitness.adapters.mcp.emitter import Emitter
from toolwitness.adapters.mcp.mapping import ADAPTER
from toolwitness.adapters.mcp.serving import Serving
from toolwitness.recording.desk_side import DeskLike, DeskSide


class Recorder:
    """Puts the tool calls of an MCP server, or of a client, on record at a desk, and asks the desk for approvals."""

    def __init__(self, desk: DeskLike, *, task_id: str = "") -> None:
        """Record at ``desk``; ``task_id`` names an open task for all calls, else each connection gets its own."""
        self._desk = DeskSide(desk, ADAPTER, task_id=task_id)
        self._emitter: list[Emitter] = []

    @property
    def in_hand(self) -> int:
        """How many calls are kept in memory: those that are not over."""
        return self._desk.in_hand

    def serve(self, server: MCPServer[Any]) -> MCPServer[Any]:
        """Put every tool body of ``server`` under the guard, and give the same server back.

        A tool whose policy is declared at the desk runs only with a permit; any other is observed.
        """
        Serving(self._desk, server, emitter=self._emitter).install()
        return server

    def tell(self, told: Emitter) -> None:
        """Let ``told`` put the record into every result of the servers that this recorder stands at (``Emitter(…).on(recorder)``)."""
        self._emitter[:] = [told]

    def watch(self, client: Client | ClientSession) -> Watched:
        """Give a client, or a session, with its tool calls on record.

        Watch a client before it is entered, so that questions of the server are seen, too.

        Each call is governed, since its body is a stranger's: a tool that nobody declared at the desk waits for an approval each time. A
        declared policy lets it go as far as it says; what the tool's own hints say can only make that stricter.
        """
        return Watched(self._desk, client)
