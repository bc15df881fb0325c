"""Who asked what: JSON-RPC messages in either direction, and which request an answer belongs to.

An id says nothing by itself: both sides count from 1, ids are used again, and two open requests may carry the same one. So a request is
known by its direction, its id and its place; an answer belongs to a request only where one open request carries its id.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text

Way = Literal["c2s", "s2c"]
_BACK: Final[Mapping[Way, Way]] = {"c2s": "s2c", "s2c": "c2s"}
_WAYS: Final[Mapping[str, Way]] = {
    "c2s": "c2s", "s2c": "s2c", "client->server": "c2s", "server->client": "s2c", "out": "c2s", "in": "s2c", "send": "c2s", "recv": "s2c",
}  # fmt: skip  # pairs in lines
SERVER_ASKS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
"""Requests that only a server makes."""
_WORK: Final = frozenset({"tools/call", "tasks/result"})
SERVER_TELLS: Final = ("notifications/progress", "notifications/message", "notifications/tasks", "notifications/elicitation")


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message and the way it went; the way is empty where nothing tells it."""

    way: Way | Literal[""]
    body: Mapping[str, Any]

    @property
    def method(self) -> str:
        """The method of a request or notification; empty for an answer."""
        return text(self.body.get("method"))

    @property
    def params(self) -> Mapping[str, Any]:
        """Its parameters; none where they are no object."""
        return members(self.body.get("params"))

    @property
    def key(self) -> str:
        """Its id as JSON, so that 1 and "1" differ; empty where it has none (a notification)."""
        return json.dumps(self.body["id"], sort_keys=True) if self.body.get("id") is not None else ""


@dataclass(slots=True, kw_only=True)
class Request:
    """A request that was seen, and what it is about."""

    method: str
    call: Call | None = None
    task_id: str = ""


class Exchange:
    """The open requests of one capture."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: dict[tuple[Way, str], list[Request]] = {}
        self._answered: dict[tuple[Way, str], Request] = {}
        self._connected = False

    def begin(self) -> None:
        """Note that a connection begins; what an earlier one left open is never answered on it."""
        if self._connected:
            self._open.clear()
            self._answered.clear()
        self._connected = True

    def ask(self, way: Way, key: str, request: Request) -> None:
        """Note a request."""
        self._open.setdefault((way, key), []).append(request)

    def answered(self, way: Way, key: str) -> tuple[Request | None, str]:
        """Give the request that an answer going ``way`` belongs to, or why none can be named.

        A second answer to a request that was answered is that request's again.
        """
        asked = (_BACK[way], key)
        waiting = self._open.get(asked, [])
        if len(waiting) > 1:
            return None, "several open requests carry this id: whose answer it is cannot be known"
        if waiting:
            self._answered[asked] = waiting[0]
            del self._open[asked]
            return self._answered[asked], ""
        known = self._answered.get(asked)
        return known, "" if known else "no request with this id was seen"

    def asked(self, way: Way, key: str) -> Request | None:
        """Give the latest request with this id, open or answered."""
        waiting = self._open.get((way, key))
        return waiting[-1] if waiting else self._answered.get((way, key))

    def way_of(self, message: Message) -> Way | Literal[""]:
        """Tell which way a message went that does not say it: by its method, or by the open request that it answers."""
        if message.method:
            asks = message.method in SERVER_ASKS or (message.method.endswith("/list_changed") and "roots" not in message.method)
            return "s2c" if asks or message.method.startswith(SERVER_TELLS) else "c2s"
        ways: list[Way] = [way for way in ("s2c", "c2s") if self.asked(_BACK[way], message.key)]
        return ways[0] if len(ways) == 1 else ""

    def open_calls(self) -> list[Call]:
        """Give the calls whose requests, for themselves or for their task's result, are not answered."""
        return [one.call for waiting in self._open.values() for one in waiting if one.call is not None and one.method in _WORK]


def messages(kind: str, event: Any) -> Iterator[Message]:
    """Give the messages of a row or a chunk: one, a batch, or one wrapped with the way it went."""
    way: Way | Literal[""] = _WAYS.get(kind.split(":", 1)[0], "")
    if isinstance(event, list):
        for one in items(event):
            yield from messages(kind, one)
        return
    body = members(event)
    inner = body.get("msg", body.get("message"))
    if "jsonrpc" not in body and isinstance(inner, dict | list):
        said = text(body.get("dir")) or text(body.get("direction"))
        yield from messages(said if said in _WAYS else kind, inner)
        return
    yield Message(way, body)
