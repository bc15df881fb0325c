"""The client's side: what an agent tells a client is read as it comes, by the same table as a capture."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from a2a.client import Client
from a2a.types.a2a_pb2 import CancelTaskRequest, GetTaskRequest, SendMessageRequest, StreamResponse, Task
from google.protobuf.json_format import MessageToDict

from toolwitness.adapters.a2a.reader import Reader
from toolwitness.recording.desk_side import DeskSide


class Watched:
    """A client whose tasks are on record; everything else is the client's own."""

    def __init__(self, desk: DeskSide, client: Client) -> None:
        """Watch ``client``; what one client asks for is one task at the desk."""
        self._desk = desk
        self._client = client
        self._reader = Reader(f"a2a client:{desk.desk.host}:{uuid4().hex}")
        self._rows = 0

    def __getattr__(self, name: str) -> Any:
        """Pass everything else through."""
        return getattr(self._client, name)

    async def send_message(self, request: SendMessageRequest, **more: Any) -> AsyncIterator[StreamResponse]:
        """Do what ``Client.send_message`` does, on record."""
        await self._read("runtime", "request", {"method": "SendMessage", "params": MessageToDict(request)})
        async for response in self._client.send_message(request, **more):
            await self._read("runtime", "response", MessageToDict(response))
            yield response

    async def get_task(self, request: GetTaskRequest, **more: Any) -> Task:
        """Do what ``Client.get_task`` does, on record."""
        task = await self._client.get_task(request, **more)
        await self._read("runtime", "get_task", MessageToDict(task))
        return task

    async def cancel_task(self, request: CancelTaskRequest, **more: Any) -> Task:
        """Do what ``Client.cancel_task`` does, on record: the request at once, and the end only as the agent says it."""
        await self._read("runtime", "request", {"method": "CancelTask", "params": MessageToDict(request)})
        task = await self._client.cancel_task(request, **more)
        await self._read("runtime", "cancel_task", MessageToDict(task))
        return task

    async def _read(self, source: str, kind: str, event: Mapping[str, Any]) -> None:
        """Read one message and record what it says, as of now."""
        await self._desk.desk.start()
        self._rows += 1
        drafts = self._reader.feed({"seq": self._rows, "src": source, "kind": kind, "event": event})
        stamped = [
            replace(draft, event=replace(draft.event, tenant=self._desk.desk.tenant, time=draft.event.time or self._desk.place.stamp()))
            for draft in drafts
        ]
        for draft in stamped:
            await self._desk.place.ledger.append(draft.event.task_id, [draft])
