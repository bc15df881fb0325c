"""The recorder: one line at the server, ``Recorder(desk).serve(executor)``, or one at the client, ``Recorder(desk).watch(client)``.

At the server it sees the executor's code begin and end; at the client it reads what the agent says, and believes it as far as that goes.
"""

from a2a.client import Client
from a2a.server.agent_execution import AgentExecutor

from toolwitness.adapters.a2a.calling import Watched
from toolwitness.adapters.a2a.mapping import ADAPTER
from toolwitness.adapters.a2a.serving import Recorded
from toolwitness.recording.desk_side import DeskLike, DeskSide


class Recorder:
    """Puts the tasks of an A2A agent, or of a client, on record at a desk."""

    def __init__(self, desk: DeskLike, *, task_id: str = "") -> None:
        """Record at ``desk``; ``task_id`` names an open task for all of an agent's work, else each context gets its own."""
        self._desk = DeskSide(desk, ADAPTER, task_id=task_id)

    def serve(self, executor: AgentExecutor, *, agent: str = "agent") -> Recorded:
        """Give an executor to put in the place of ``executor``; a policy declared for ``agent`` at the desk governs its tasks."""
        return Recorded(self._desk, executor, agent=agent)

    def watch(self, client: Client) -> Watched:
        """Give ``client`` with what agents tell it on record."""
        return Watched(self._desk, client)
