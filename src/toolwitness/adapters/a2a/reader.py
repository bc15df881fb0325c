"""Reads captured A2A traffic of either version and says what each message is evidence of.

Objects are known by their shape: a task, a status or artifact update, a message; bare, in a stream response, or as the result of a
JSON-RPC request. A plain stream's chunk may hold ``update``, ``request`` or ``response``. Rows of ``truth`` are the judge's.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from toolwitness.adapters.a2a import mapping
from toolwitness.adapters.a2a.shapes import Object, Seen, from_user, named, objects
from toolwitness.adapters.a2a.states import States
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.reading.reader import CaptureReader

_TABLE: Final = frozenset(word.word for word in mapping.TABLE)
_NO_ANSWER: Final = re.compile(r"\bterminal\b|\bnew task\b", re.IGNORECASE)


class Reader(CaptureReader):
    """Maps the events of one capture, in order, to drafts. Kept for one capture and thrown away."""

    adapter = mapping.ADAPTER
    version = mapping.VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.calls.proposer = "client"
        self._states = States(self.calls)
        self._asked: dict[str, tuple[str, Object]] = {}
        """By request id: the request's method and parameters."""
        self._unseen: dict[str, str] = {}
        """By task: the word that asked to cancel it before anything of it was seen."""

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map what went to or came from an agent."""
        body = members(event)
        if text(body.get("method")):
            self._request(body, "")
        elif "jsonrpc" in body:
            self._response(kind, body)
        else:
            self._objects(kind, event)

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one chunk of a plain stream."""
        if isinstance(chunk.get("request"), Mapping):
            self._request(members(chunk["request"]), text(chunk.get("actor")))
        elif isinstance(chunk.get("response"), Mapping):
            self._response("response", members(chunk["response"]))
        else:
            self.runtime("", chunk)

    def driver(self, kind: str, event: Any) -> None:
        """Map what was asked of the agent from outside."""
        told = members(event)
        task_id = text(told.get("task")) or text(told.get("id")) or named(told, "taskId")
        if re.search(r"cancel", kind, re.IGNORECASE):
            call = self._meant(task_id, [call for call in self.calls.all if not call.over])
            if call is None and task_id:
                self._unseen[task_id] = "driver cancel"
                return
            self._cancel("driver cancel", call, UNRECORDED)
        elif re.search(r"answer|authori[sz]|token|repl(y|ies)", kind, re.IGNORECASE) and not _NO_ANSWER.search(kind):
            call = self._meant(task_id, [call for call in self.calls.all if call.waits_for and not call.over])
            if call is not None and call.waits_for and not call.over:
                self._supply("driver answer", call, told, UNRECORDED)

    def outcome(self, kind: str, event: Any) -> None:
        """Read a task that a call returned; how a stream ended says nothing about its task."""
        for seen in objects(event):
            if seen.kind == "task":
                self._read(seen)

    def _meant(self, task_id: str, candidates: list[Call]) -> Call | None:
        if task_id:
            return self.calls.current(task_id)
        return candidates[0] if len(candidates) == 1 else None

    def _objects(self, kind: str, event: Any) -> None:
        found = list(objects(event))
        for seen in found:
            self._read(seen)
        if not found:
            self.note(kind, "it has the shape of no task, update or message")

    # ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _request(self, body: Object, actor: str) -> None:
        method = text(body.get("method"))
        word, params = mapping.METHODS.get(method, method), members(body.get("params"))
        if body.get("id") is not None:
            self._asked[json.dumps(body["id"])] = (word, params)
        if word not in _TABLE:
            self.note(method, "the table does not have this request")
        elif word == "tasks/cancel":
            task_id = text(params.get("id")) or named(params, "taskId") or text(params.get("name")).removeprefix("tasks/")
            self._cancel(word, self._call(task_id) if task_id else None, actor or UNRECORDED)
        elif word == "message/send":
            message = members(params.get("message"))
            call = self.calls.current(named(message, "taskId")) if named(message, "taskId") else None
            if call is not None and call.waits_for and not call.over:
                self._supply(word, call, message, actor or UNRECORDED)

    def _response(self, kind: str, body: Object) -> None:
        method, params = self._asked.get(json.dumps(body.get("id")), ("", {}))
        if "error" in body:
            self.note(method or kind or "error", f"a refused request: {text(members(body['error']).get('message'))}")
            return
        for seen in objects(body.get("result")):
            if seen.kind in {"task", "status"} and method == "message/send":
                self._call(seen.task_id, members(params.get("message")))
            self._read(seen, asked=members(params.get("message")))

    def _cancel(self, word: str, call: Call | None, actor: str) -> None:
        if call is None:
            self.note(word, "no task, or several, could be meant")
        elif call.over:
            self.note(word, "the task has ended: there is nothing to cancel")
        else:
            data = {"actor": actor, "scope": "this A2A task"}
            self.pen.write(Kind.CANCEL_REQUESTED, word, call.invocation_id, attempt=call.attempt, data=data)

    def _supply(self, word: str, call: Call, answer: Object, actor: str) -> None:
        self.pen.write(
            Kind.INPUT_SUPPLIED, word, call.invocation_id, attempt=call.attempt, data={"actor": actor},
            values={"inputs": exact(dict(answer))},
        )  # fmt: skip  # facts in lines

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _call(self, task_id: str, message: Object | None = None) -> Call:
        """Give the call that a task is; the first sight of one shows that somebody asked for it."""
        known = self.calls.current(task_id)
        if known is not None:
            return known
        self.calls.turn_to_tools()
        call = self.calls.propose("task", task_id, "agent", exact(dict(message)) if message else b"")
        if task_id in self._unseen:
            self._cancel(self._unseen.pop(task_id), call, UNRECORDED)
        return call

    def _read(self, seen: Seen, *, asked: Object | None = None) -> None:
        if not seen.task_id:
            self._message(seen, asked) if seen.kind == "message" else self.note(seen.kind, "it names no task")
            return
        if seen.kind == "message":
            self._message(seen, asked)
            return
        first = next((members(one) for one in items(seen.body.get("history")) if from_user(members(one))), asked)
        call = self._call(seen.task_id, first)
        if seen.kind == "artifact":
            self._artifact(call, seen.body)
        elif seen.status:
            state = text(seen.status.get("state"))
            self.note(f"state {state}", self._states.read(call, seen.status, snapshot=seen.body if seen.kind == "task" else None))

    def _artifact(self, call: Call, body: Object) -> None:
        artifact = members(body.get("artifact"))
        self._output("event TaskArtifactUpdateEvent", call, artifact, named(artifact, "artifactId"))

    def _output(self, word: str, call: Call, content: Object, channel: str) -> None:
        call.steps += 1
        self.pen.write(
            Kind.OUTPUT, word, call.invocation_id, attempt=call.attempt, data={"order": call.steps, "channel": channel or None},
            values={"output": exact(dict(content))},
        )  # fmt: skip  # facts in lines

    def _message(self, seen: Seen, asked: Object | None) -> None:
        """Read a message: the user's asks, an agent's is a whole answer, or one about a task that is known."""
        if from_user(seen.body):
            self.note("event Message of the user", "what the user says is a request, and read there")
            return
        known = self.calls.current(seen.task_id) if seen.task_id else None
        if known is not None:
            self._output("event Message of a task", known, seen.body, "")
            return
        call = self._call(seen.task_id or named(seen.body, "contextId") or named(seen.body, "messageId"), asked)
        if not call.over:
            endings.succeed(self.calls, call, "event Message", dict(seen.body))
