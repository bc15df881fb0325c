"""MCP's words → our evidence: the table.

Every JSON-RPC method, notification, kind of result and task status of both wire generations (2025-11-25 and 2026-07-28) stands here once:
what it says, by what, what it leaves out, and, where it deliberately says nothing, why. ``c2s:`` goes from client to server, ``s2c:`` back.
Measured with mcp 2.3.0, fastmcp-tasks 4.1.4 and the reference server; the behaviour behind each row is in the captures.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "mcp"
VERSION: Final = "1"

_NO_START: Final = "a start: validation, an approval at the server or a queue may come before the body"

CALLS: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("c2s:tools/call", (K.PROPOSED,), "a request: always a call of its own, also where its id was used before", _NO_START),
    Word(
        "c2s:tools/call continued", (K.INPUT_SUPPLIED, K.INPUTS_ACCEPTED),
        "requestState that an input_required result gave out: the same call, a new id; nobody is asked now",
        "who answered; that the body is entered a second time, and does again what comes before its question",
    ),
    Word(
        "s2c:notifications/progress", (K.PROGRESS,), "the progressToken of an open call: only a body reports progress",
        "a start before the first of them",
    ),
    Word(
        "c2s:notifications/cancelled", (K.CANCEL_REQUESTED, K.WAITER_RELEASED), "requestId of a call",
        "an acknowledgement: the SDK answers nothing, and a server may finish the work all the same",
    ),
    Word(
        "c2s:notifications/cancelled timed out", (K.WAITER_RELEASED,), "its reason is the SDK's: timed out after N s",
        "a request of a person: the client's own limit has passed",
    ),
)  # fmt: skip  # one word a row
"""What a call is made of."""

_ANSWERS: Final = {
    "complete": ((K.SUCCEEDED,), "a result whose isError is not true", "a start; whose words its content is"),
    "isError": (
        (K.FAILED,), "isError true; the category is read from the SDKs' own texts",
        "whether the body raised, the arguments did not validate, or there is no such tool, where the text is no SDK's",
    ),
    "disguised": ((K.LOST,), "content, structuredContent or an error text that reads like a cancellation", "any end that can be believed"),
    "unreadable": ((K.LOST,), "a resultType that the table does not have, or an isError that is no boolean", "any end that can be read"),
    "invalid": ((K.FAILED,), "the tool's listed outputSchema demands a structuredContent that is not there", "that the body failed"),
    "input_required": ((K.INPUT_REQUIRED,), "resultType input_required", "a start; whether anybody will answer: a round may be abandoned"),
    "task": ((K.ACCEPTED,), "resultType task, or a task with a taskId: the server took it on", "a start, whatever its status says"),
}  # fmt: skip  # one answer after the other
"""How an answer to ``tools/call`` can be read, whatever message it came in."""


def _answers(word: str, *names: str) -> tuple[Word, ...]:
    """Give the rows of one message for answers."""
    return tuple(Word(f"{word} {name}", *_ANSWERS[name]) for name in names)


ANSWERS: Final = (
    *_answers("s2c:result", *_ANSWERS),
    Word("s2c:error", (K.FAILED,), "a JSON-RPC error; its code is the category", "that the body was entered"),
    Word(
        "s2c:error cancelled", (K.CANCEL_ACKNOWLEDGED,),
        "code 0, «Request cancelled», to a request whose cancellation was sent: SDK lines before 2 acknowledge so",
        "whether the work had an effect before",
    ),
    Word("s2c:error disguised", (K.LOST,), "any other error whose text reads like a cancellation", "any end that can be believed"),
    Word("s2c:error lost", (K.LOST,), "the codes for a time-out or a closed connection", "what became of the body"),
    Word("s2c:error url elicitation", (K.INPUT_REQUIRED,), "code -32042: somebody must go somewhere first", "a link to the next call"),
    Word("s2c:result", (), "the answer to a request that is no call"),
)  # fmt: skip  # one word a row
"""What ``tools/call`` is answered with."""

INPUTS: Final = (
    Word(
        "s2c:elicitation/create", (K.INPUT_REQUIRED,), "its related task, or the only call that is open",
        "a link to its call: with several open ones it is nobody's",
    ),
    Word(
        "c2s:result elicitation", (K.INPUT_SUPPLIED, K.INPUTS_ACCEPTED),
        "the answer to that question, declined ones too: nobody is asked now", "who answered",
    ),
    Word("c2s:error elicitation", (), "the client could not ask: the server decides what that means"),
    Word("s2c:notifications/cancelled", (), "the server takes a question of its own back", "anything about the call"),
    Word("s2c:notifications/elicitation/complete", (), "a person is done elsewhere; the call is made again"),
    Word("c2s:result", (), "the answer to a question that is no elicitation"),
    Word("c2s:error", (), "a refusal of a question that is no elicitation"),
    Word("s2c:sampling/createMessage", (), "the server asks for a model's words, not a person's"),
    Word("s2c:roots/list", (), "which folders there are"),
)  # fmt: skip  # one word a row
"""What a person is asked on the way."""

TASKS: Final = (
    Word("task working", (), "scheduled, queued and running alike", "a start"),
    Word("task input_required", (K.INPUT_REQUIRED,), "status input_required", "what is asked, where the question comes elsewhere"),
    Word("task completed", (), "itself nothing: whether the tool failed is in its result, which follows or was never fetched"),
    *_answers("task result", "complete", "isError", "disguised", "unreadable", "invalid"),
    Word("task failed", (K.FAILED,), "status failed"),
    Word("task failed disguised", (K.LOST,), "status failed with a message that reads like a cancellation"),
    Word(
        "task cancelled", (K.CANCEL_ACKNOWLEDGED,), "status cancelled: the protocol's own end, believed as confirmed",
        "that the work stopped: both measured servers flip the status while a thread goes on to pay",
    ),
    Word("task …", (), "a status that the table does not have"),
    Word("c2s:tasks/cancel", (K.CANCEL_REQUESTED,), "taskId of a call", "an acknowledgement: the status is one"),
    Word("c2s:tasks/update", (K.INPUT_SUPPLIED, K.INPUTS_ACCEPTED), "inputResponses to a task", "who answered"),
    Word("c2s:tasks/get", (), "a look; the answer may say something"),
    Word("c2s:tasks/result", (), "a look; the answer may be the result"),
    Word("c2s:tasks/list", (), "a look"),
    Word("s2c:notifications/tasks/status", (), "itself nothing: its status is read as one of the rows above"),
    Word("s2c:notifications/tasks", (), "as above, in the tasks extension"),
)  # fmt: skip  # one word a row
"""Tasks: core in 2025-11-25, an extension in 2026-07-28."""

SILENT: Final = (
    Word("c2s:initialize", (), "a connection begins: what an earlier one left unanswered stays so"),
    Word("c2s:server/discover", (), "what the server can do"),
    Word("c2s:notifications/initialized", (), "the handshake is over"),
    Word("c2s:notifications/roots/list_changed", (), "folders"),
    Word("c2s:notifications/progress", (), "the client's progress on a request of the server"),
    Word("c2s:notifications/tasks/status", (), "a task that the client runs for the server"),
    Word("c2s:tools/list", (), "which tools there are; their outputSchema is kept, their annotations are hints and no policy"),
    Word("c2s:ping", (), "whether somebody is there"),
    Word("s2c:ping", (), "whether somebody is there"),
    Word("s2c:tasks/get", (), "the server looks at a task that the client runs for it"),
    Word("s2c:tasks/result", (), "as above"),
    Word("s2c:tasks/list", (), "as above"),
    Word("s2c:tasks/cancel", (), "as above"),
    Word("c2s:completion/complete", (), "completion of an argument that a person types"),
    Word("c2s:logging/setLevel", (), "logging"),
    Word("c2s:prompts/get", (), "a prompt"),
    Word("c2s:prompts/list", (), "prompts"),
    Word("c2s:resources/list", (), "resources"),
    Word("c2s:resources/read", (), "a resource is read; that is no tool call"),
    Word("c2s:resources/subscribe", (), "resources"),
    Word("c2s:resources/templates/list", (), "resources"),
    Word("c2s:resources/unsubscribe", (), "resources"),
    Word("c2s:subscriptions/listen", (), "a stream of notifications"),
    Word("s2c:notifications/message", (), "logging: whose it is cannot be known"),
    Word("s2c:notifications/prompts/list_changed", (), "prompts"),
    Word("s2c:notifications/resources/list_changed", (), "resources"),
    Word("s2c:notifications/resources/updated", (), "resources"),
    Word("s2c:notifications/subscriptions/acknowledged", (), "a stream of notifications"),
    Word("s2c:notifications/tools/list_changed", (), "tools"),
)  # fmt: skip  # one word a row
"""What is not about a call."""

OUTSIDE: Final = (
    Word("driver", (), "what a driver does goes over the wire, and is read there"),
    Word("outcome", (), "how the SDK's call ended: the wire has said more"),
)  # fmt: skip  # one word a row
"""What was done from outside."""

SECTIONS: Final = {
    "Calls": CALLS,
    "Answers": ANSWERS,
    "Questions on the way": INPUTS,
    "Tasks": TASKS,
    "Everything else on the wire": SILENT,
    "From outside": OUTSIDE,
}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "at the server": Capabilities(
        proposed=yes("when the request arrives"),
        approval_asked=yes("with scope, deadline and eligible approvers, before the body"),
        who_decided=yes(),
        queued=no("the SDK has no queue, and none is claimed"),
        started=yes("at the body's first line, after validation"),
        executed_inputs=yes("as validated, also where an approval changed them"),
        progress=yes("`ctx.report_progress(…)` and `toolwitness.progress(…)`"),
        ended=yes("at the body's real end, a thread's included"),
        scoped_cancel=partly("an async tool, and its siblings are not touched; a thread cannot be stopped"),
        acknowledgement=partly("when the body's own task has ended; never for a thread, whose card stays running until it ends"),
        expiry=yes("approval deadlines are the desk's"),
    ),
    "at the client": Capabilities(
        proposed=yes("before the request leaves"),
        approval_asked=yes("with scope, deadline and eligible approvers, before the request leaves"),
        who_decided=yes(),
        queued=no("a plain call is never accepted, only answered; the SDK runs no tasks"),
        started=partly("with the first progress; while a plain request is out, only its dispatch is known"),
        executed_inputs=partly("the arguments that were sent; what the server made of them is not seen"),
        progress=yes("for servers that report it"),
        ended=yes("as the server answers"),
        scoped_cancel=partly("`notifications/cancelled` for one request and no other; the server may ignore it"),
        acknowledgement=no("a cancelled request is never answered: its outcome is unknown"),
        expiry=yes("approval deadlines are the desk's; the SDK's own time-out is a lost waiter, no end"),
    ),
    "from captured JSON-RPC": Capabilities(
        proposed=yes(),
        approval_asked=no("the protocol has no approval; an elicitation is a question"),
        who_decided=no("answers carry no name"),
        queued=partly("a task's acceptance, with its taskId"),
        started=partly("with the first progress; status working covers queued tasks too"),
        executed_inputs=no("the arguments that were sent are not those that ran"),
        progress=yes("for calls with a progressToken"),
        ended=yes("without the start"),
        scoped_cancel=no("a capture cannot act"),
        acknowledgement=partly("a task's status cancelled, and one exact error of older SDKs; silence never"),
        expiry=no("neither wire has a word for it; a ttl is the server's to change"),
    ),
}
"""What each way in can tell."""

CANCELLED_ERROR: Final = (0, "Request cancelled")
"""The one error, code and text, with which SDK lines before 2 answer a request whose cancellation was sent."""
LOST_CODES: Final = {-32000: "the connection was closed", -32001: "the request timed out"}
"""Errors that tell of the waiter and not of the work."""
URL_ELICITATION: Final = -32042
INVALID_PARAMS: Final = -32602
TIMED_OUT: Final = r"^timed out after [0-9.]+ ?s"
"""The reason that the Python SDK gives when its own limit passed; a caller's cancellation differs in this text only."""
TASK_EXTENSION: Final = "io.modelcontextprotocol/related-task"
"""The member of ``_meta`` that links a message to a task."""
PREFIX: Final = r"^(Error executing tool \S+: |MCP error -\d+: )"
"""What the SDKs put before a tool's own words."""
TEXTS: Final = (
    ("invalid-input", r"^(MCP error -32602: )?Input validation error|^Error executing tool \S+: \d+ validation errors? for"),
    ("unknown-tool", r"^MCP error -32602: Tool .* not found|^Unknown tool: "),
    ("refused", r"^MCP error -3260[01]: "),
)  # fmt: skip  # pairs in lines
"""The SDKs' own texts in results with isError true, and the category that each means; any other text is the tool's."""
