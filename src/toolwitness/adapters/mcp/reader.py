"""Reads captured JSON-RPC of either wire generation and says what each message is evidence of.

A row's kind names the way (``c2s:tools/call``, ``s2c:result``); a plain stream's chunk is a message, or one wrapped as
``{"dir": "client->server", "msg": {…}}``. What a driver did went over the wire and is read there. Rows of ``truth`` are the judge's.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from toolwitness.adapters.mcp import answers, mapping
from toolwitness.adapters.mcp.exchange import Exchange, Message, Request, messages
from toolwitness.adapters.mcp.tasks import Tasks
from toolwitness.core.evidence import Kind
from toolwitness.reading import endings
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED, exact
from toolwitness.reading.reader import CaptureReader

_TABLE = frozenset(word.word for word in mapping.TABLE)


class Reader(CaptureReader):
    """Maps the messages of one capture, in order, to drafts. Kept for one capture and thrown away."""

    adapter = mapping.ADAPTER
    version = mapping.VERSION

    def __init__(self, source: str) -> None:
        """Begin; ``source`` is the event source, ``capture:`` and a relative path."""
        super().__init__(source)
        self.calls.proposer = "client"
        self._exchange = Exchange()
        self._tasks = Tasks(self.calls)
        self._tokens: dict[str, Call] = {}
        self._states: dict[str, Call] = {}
        """By requestState: the call that an input_required result left waiting."""
        self._cancelled: dict[str, str] = {}
        """By call: the reason of the cancellation that was sent."""
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._last: dict[str, bytes] = {}
        """By call: the answer that was read last, to know one that is only repeated."""
        self._handlers: dict[str, Callable[[Message], str]] = {
            "c2s:tools/call": self._call,
            "c2s:notifications/cancelled": self._cancel,
            "c2s:tasks/cancel": self._cancel_task,
            "c2s:tasks/update": self._update_task,
            "c2s:result": self._client_answers,
            "s2c:notifications/progress": self._progress,
            "s2c:notifications/tasks/status": self._status,
            "s2c:notifications/tasks": self._status,
            "s2c:elicitation/create": self._elicit,
            "s2c:result": self._server_answers,
            "s2c:error": self._server_answers,
        }

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def runtime(self, kind: str, event: Any) -> None:
        """Map what went over the wire."""
        for message in messages(kind, event):
            self._message(kind, message)

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """Map one message of a plain stream."""
        self.runtime("", {name: value for name, value in chunk.items() if name != "t"})

    def driver(self, kind: str, event: Any) -> None:
        """Say nothing: what a driver does goes over the wire."""

    def outcome(self, kind: str, event: Any) -> None:
        """Say nothing: the wire has said more than the SDK's call that ended."""

    def _message(self, kind: str, message: Message) -> None:
        body = message.body
        way = message.way or self._exchange.way_of(message)
        what = message.method or ("error" if "error" in body else "result" if "result" in body else "")
        if not way or not what:
            self.note(kind or what, "no JSON-RPC message whose way is known")
            return
        word = f"{way}:{what}"
        message = Message(way, body)
        if word == "c2s:initialize":
            self._exchange.begin()
        if message.method and message.key:
            self._exchange.ask(way, message.key, self._asked(message))
        handler = self._handlers.get(word)
        if handler is not None:
            self.note(word, handler(message))
        elif word not in _TABLE:
            self.note(word, "the table does not have this word")

    def _asked(self, message: Message) -> Request:
        task_id = text(message.params.get("taskId"))
        return Request(method=message.method, task_id=task_id, call=self._tasks.call_of(task_id))

    # ── what the client says ────────────────────────────────────────────────────────────────────────────────────────

    def _call(self, message: Message) -> str:
        if not message.key:
            return "a call without an id is a notification: nobody can answer it"
        request = self._exchange.asked("c2s", message.key)
        continued = self._continues(message)
        if continued is not None:
            answer = message.params.get("inputResponses")
            self._supply("c2s:tools/call continued", continued, {} if answer is None else answer)
            call = continued
        else:
            self.calls.turn_to_tools()
            arguments = message.params.get("arguments")
            key = text(message.body["id"]) or message.key
            inputs = exact({} if arguments is None else arguments)
            call = self.calls.propose("c2s:tools/call", key, text(message.params.get("name")), inputs)
        if request is not None:
            request.call = call
        token = members(message.params.get("_meta")).get("progressToken")
        if token is not None:
            self._tokens[json.dumps(token, sort_keys=True)] = call
        return ""

    def _continues(self, message: Message) -> Call | None:
        """Give the call that this request goes on with; one that has ended, or a state used twice, is another call."""
        state = text(message.params.get("requestState"))
        call = self._states.pop(state, None) if state else None
        return call if call is not None and not call.over and call.tool == text(message.params.get("name")) else None

    def _supply(self, word: str, call: Call, answer: Any) -> None:
        """Record an answer on its way to the server: nobody is asked any more, whatever the server makes of it."""
        call.waits_for = ""
        self.pen.write(
            Kind.INPUT_SUPPLIED, word, call.invocation_id, attempt=call.attempt, data={"actor": UNRECORDED},
            values={"inputs": exact(answer)},
        )  # fmt: skip  # facts in lines
        facts = {"inputs_digest": "the answer, as it was sent", "checked_by": "nobody here: it is the server's to check"}
        self.pen.write(Kind.INPUTS_ACCEPTED, word, call.invocation_id, attempt=call.attempt, data=facts)

    def _cancel(self, message: Message) -> str:
        key, reason = Message("c2s", {"id": message.params.get("requestId")}).key, text(message.params.get("reason"))
        request = self._exchange.asked("c2s", key)
        if request is None or request.call is None or request.method != "tools/call":
            return "it names no call"
        call, timed_out = request.call, re.match(mapping.TIMED_OUT, reason)
        word = "c2s:notifications/cancelled timed out" if timed_out else "c2s:notifications/cancelled"
        if not timed_out and call.invocation_id not in self._cancelled:
            self._cancelled[call.invocation_id] = reason or "no reason was given"
            self._request_cancellation(word, call, "this request", reason)
        if not call.over:
            endings.release(self.calls, call, word, reason or "the client cancelled the request")
        return ""

    def _request_cancellation(self, word: str, call: Call, scope: str, reason: str) -> None:
        data = {"actor": UNRECORDED, "scope": scope, "reason": reason or None}
        self.pen.write(Kind.CANCEL_REQUESTED, word, call.invocation_id, attempt=call.attempt, data=data)

    def _cancel_task(self, message: Message) -> str:
        call = self._tasks.call_of(text(message.params.get("taskId")))
        if call is None:
            return "it names no task that is known"
        if not call.over:
            self._request_cancellation("c2s:tasks/cancel", call, "this task", "")
        return ""

    def _update_task(self, message: Message) -> str:
        call = self._tasks.call_of(text(message.params.get("taskId")))
        if call is None or "inputResponses" not in message.params:
            return "it answers no question that is known"
        self._supply("c2s:tasks/update", call, message.params["inputResponses"])
        return ""

    def _client_answers(self, message: Message) -> str:
        request, why = self._exchange.answered("c2s", message.key)
        if request is None or request.method != "elicitation/create":
            return why
        if request.call is not None:
            self._supply("c2s:result elicitation", request.call, message.body.get("result"))
        return ""

    # ── what the server says ────────────────────────────────────────────────────────────────────────────────────────

    def _progress(self, message: Message) -> str:
        token = message.params.get("progressToken")
        call = self._tokens.get(json.dumps(token, sort_keys=True))
        if call is None:
            return "its token belongs to no call"
        call.steps += 1
        counts = {"current": _whole(message.params.get("progress")), "total": _whole(message.params.get("total"))}
        shown = {name: value for name, value in message.params.items() if name not in {"progressToken", "_meta"}}
        self.pen.write(
            Kind.PROGRESS, "s2c:notifications/progress", call.invocation_id, attempt=call.attempt,
            data={"order": call.steps, **counts}, values={"text": exact(shown)},
        )  # fmt: skip  # facts in lines
        return ""

    def _status(self, message: Message) -> str:
        return self._tasks.read(message.params)

    def _elicit(self, message: Message) -> str:
        related = text(members(members(message.params.get("_meta")).get(mapping.TASK_EXTENSION)).get("taskId"))
        waiting = [call for call in self._exchange.open_calls() if not call.over]
        call = self._tasks.call_of(related) if related else waiting[0] if len(waiting) == 1 else None
        if call is None:
            return "a question whose call cannot be known"
        request = self._exchange.asked("s2c", message.key)
        if request is not None:
            request.call = call
        wanted = sorted(members(members(message.params.get("requestedSchema")).get("properties")))
        answers.ask_input(self.calls, call, "s2c:elicitation/create", wanted, prompt=text(message.params.get("message")))
        return ""

    def _server_answers(self, message: Message) -> str:
        request, why = self._exchange.answered("s2c", message.key)
        if request is None:
            return why
        if request.method == "tools/call" and request.call is not None:
            return self._answer(request.call, message)
        result = message.body.get("result")
        if request.method == "tools/list":
            for tool in map(members, items(members(result).get("tools"))):
                self._schemas[text(tool.get("name"))] = members(tool.get("outputSchema"))
        elif request.method == "tasks/list":
            return "; ".join(filter(None, (self._tasks.read(members(task)) for task in items(members(result).get("tasks")))))
        elif request.method.startswith("tasks/"):
            return self._task_answer(request, message)
        return ""

    def _task_answer(self, request: Request, message: Message) -> str:
        if "error" in message.body:
            return "" if request.call is not None else "about a task that is not known"
        told = members(message.body.get("result"))
        if "status" in told:
            return self._tasks.read({"taskId": request.task_id, **told}, schema=self._schema(request.call))
        if request.method == "tasks/result":
            self._tasks.take_result(request.task_id, message.body.get("result"), schema=self._schema(request.call))
        return ""

    def _schema(self, call: Call | None) -> Mapping[str, Any]:
        return self._schemas.get(call.tool, {}) if call is not None else {}

    def _answer(self, call: Call, message: Message) -> str:
        """Read the answer to a call. The same answer once more says nothing new; another one is another fact, and the record judges it."""
        body = message.body
        said = exact(body.get("error", body.get("result")))
        if call.over and self._last.get(call.invocation_id) == said:
            return "the same answer once more"
        self._last[call.invocation_id] = said
        if "error" in body:
            answers.take_error(self.calls, call, body["error"], cancelled=self._cancelled.get(call.invocation_id, ""))
            return ""
        result = members(body.get("result"))
        task = members(result.get("task")) or (result if result.get("resultType") == "task" else {})
        if task:
            return self._tasks.accept(call, task, "s2c:result task")
        if result.get("resultType") == "input_required":
            self._states[text(result.get("requestState"))] = call
            answers.ask_input(self.calls, call, "s2c:result input_required", sorted(members(result.get("inputRequests"))))
            return ""
        answers.take_result(self.calls, call, "s2c:result", body.get("result"), schema=self._schema(call))
        return ""


def _whole(value: Any) -> int | None:
    """Give a count as a whole number; the record holds no fractions, which stand in the value beside it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < _EXACT and int(value) == value else None


_EXACT = 2**53
"""Beyond it, a JSON number is no exact count."""
