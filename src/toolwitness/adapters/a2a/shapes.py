"""Knows A2A's objects by their shape, in both spellings of the wire: names in camelCase or snake_case, with a ``kind`` or without one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.adapters.a2a import mapping
from toolwitness.reading.lenient import items, members, text

Object = Mapping[str, Any]
_WRAPS: Final = {
    "task": "task", "message": "message", "statusUpdate": "status", "status_update": "status", "artifactUpdate": "artifact",
    "artifact_update": "artifact", "update": "", "event": "",
}  # fmt: skip  # pairs in lines
_KINDS: Final = {"task": "task", "message": "message", "status-update": "status", "artifact-update": "artifact"}
_ENUM: Final = "TASK_STATE_"


@dataclass(frozen=True, slots=True)
class Seen:
    """One object of the protocol: a ``task``, a ``status`` update, an ``artifact`` update or a ``message``."""

    kind: str
    body: Object

    @property
    def task_id(self) -> str:
        """The task that it is about; empty where it names none."""
        return named(self.body, "id") if self.kind == "task" else named(self.body, "taskId")

    @property
    def status(self) -> Object:
        """Its status; empty where it has none."""
        return members(self.body.get("status"))


def named(body: Object, name: str) -> str:
    """Give a text member by its camelCase name, also where it is written in snake_case."""
    return text(body.get(name)) or text(body.get(re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)))


def objects(event: Any) -> Iterator[Seen]:
    """Give the protocol's objects in a row, a chunk or a result, wrapped or bare; what has no known shape gives none."""
    body = members(event)
    kind = _KINDS.get(text(body.get("kind")), "")
    if kind:
        yield Seen(kind, body)
    elif isinstance(body.get("tasks"), list):
        for task in items(body["tasks"]):
            yield from objects(task)
    elif "status" in body and named(body, "taskId"):
        yield Seen("status", body)
    elif "artifact" in body and named(body, "taskId"):
        yield Seen("artifact", body)
    elif isinstance(body.get("status"), Mapping) and text(body.get("id")):
        yield Seen("task", body)
    elif named(body, "messageId"):
        yield Seen("message", body)
    else:
        for name, wrapped in _WRAPS.items():
            if isinstance(body.get(name), Mapping):
                inner = members(body[name])
                yield from [Seen(wrapped, inner)] if wrapped and not inner.get("kind") else objects(inner)


def state_of(status: Object) -> tuple[str, str]:
    """Give a status's state in the table's spelling, and what is odd about how it was written, if anything is."""
    said = text(status.get("state"))
    plain = said.removeprefix(_ENUM).lower().replace("_", "-") if said.startswith(_ENUM) else said
    if plain in mapping.SPELLINGS:
        return mapping.SPELLINGS[plain], f"{said!r} is no version's spelling; read as {mapping.SPELLINGS[plain]!r}"
    return plain, ""


def words_of(message: Any) -> str:
    """Give a message's text; empty where it has none or has other parts beside it."""
    parts = [members(part) for part in items(members(message).get("parts"))]
    return text(parts[0].get("text")) if len(parts) == 1 else ""


def from_user(message: Object) -> bool:
    """Tell whether the user speaks."""
    return text(message.get("role")).removeprefix("ROLE_").lower() == "user"
