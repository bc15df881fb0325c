"""A2A's words → our evidence: the table.

Every task state and every kind of event of both wires (0.3 JSON: ``working``; 1.0 protobuf JSON: ``TASK_STATE_WORKING``) stands here once:
what it says, by what, what it leaves out, and, where it deliberately says nothing, why. A call is an A2A task.
Measured with a2a-sdk 1.3.0; the behaviour behind each row is in the captures.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "a2a"
VERSION: Final = "1"

STATES: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its A2A tasks are the calls of one task"),
    Word("task", (K.PROPOSED,), "the first sight of a task's id; its inputs are the user's message, where it is there", "who asked for it"),
    Word("state submitted", (), "the executor itself says it, after its code has begun, and without a time", "that anything was queued"),
    Word("state working", (K.STARTED,), "the agent is at work", "whether its body is a task or a thread"),
    Word(
        "state working again", (K.INPUTS_ACCEPTED, K.APPROVAL_INVALIDATED, K.HEARTBEAT),
        "after a question: the same attempt goes on; what was asked is not asked any more", "who answered or authorised",
    ),
    Word("state input-required", (K.INPUT_REQUIRED,), "the agent asks; its message is the question", "a deadline: none exists on the wire"),
    Word(
        "state auth-required", (K.APPROVAL_REQUESTED,), "the agent asks to be authorised",
        "a decision: the answer is an ordinary message, so a grant is never claimed",
    ),
    Word("state completed", (K.SUCCEEDED,), "the agent says so", "a check of what it made"),
    Word("state completed disguised", (K.LOST,), "completed with a message that reads like a cancellation", "any end that can be believed"),
    Word("state failed", (K.FAILED,), "the agent says so", "a category"),
    Word("state failed disguised", (K.LOST,), "failed with a message that reads like a cancellation", "any end that can be believed"),
    Word("state rejected", (K.CANCEL_ACKNOWLEDGED,), "the agent will not do it", "that its code did nothing before it said so"),
    Word(
        "state canceled", (K.CANCEL_ACKNOWLEDGED,), "the protocol's own end, believed as confirmed",
        "that the work stopped: a thread goes on to pay, and a replica writes it before the worker sees it",
    ),
    Word("state unspecified", (), "no state"),
    Word("state unknown", (), "the protocol's own word for not knowing"),
    Word("state …", (), "a state that the table does not have, such as canceling"),
)  # fmt: skip  # one word a row
"""States, whatever message they come in: 0.3 writes ``canceled``, 1.0 ``TASK_STATE_CANCELED``, and peers err."""

EVENTS: Final = (
    Word("event Task", (), "a snapshot: its state is read as one of the rows above, once"),
    Word("event TaskStatusUpdateEvent", (), "as above; an update after the end is late and revives nothing"),
    Word("event TaskArtifactUpdateEvent", (K.OUTPUT,), "a piece of an artifact: the agent is at work", "a start before it"),
    Word("event Message", (K.SUCCEEDED,), "an agent's whole answer that is no task", "a start"),
    Word("event Message of a task", (K.OUTPUT,), "a message of an agent about a task that is known", "an end"),
    Word("event Message of the user", (), "what the user says is a request, and read there"),
)  # fmt: skip  # one word a row
"""Kinds of events, and of the results of requests."""

REQUESTS: Final = (
    Word("message/send", (K.PROPOSED, K.INPUT_SUPPLIED), "a message to the agent; to a task that waits, its answer", "a start"),
    Word("tasks/cancel", (K.CANCEL_REQUESTED,), "the id of a task", "an acknowledgement: a state is one, and this may be answered without"),
    Word("tasks/get", (), "a look; the answer's state is read"),
    Word("tasks/list", (), "a look; the answers' states are read"),
    Word("tasks/resubscribe", (), "a look; what it streams is read"),
    Word("tasks/pushNotificationConfig/set", (), "where notifications go"),
    Word("tasks/pushNotificationConfig/get", (), "where notifications go"),
    Word("tasks/pushNotificationConfig/list", (), "where notifications go"),
    Word("tasks/pushNotificationConfig/delete", (), "where notifications go"),
    Word("agent/getAuthenticatedExtendedCard", (), "what the agent can do"),
    Word("error", (), "a refusal of a request: of the task it says nothing, a refused cancellation included"),
)  # fmt: skip  # one word a row
"""JSON-RPC requests; 1.0 names them ``SendMessage``, ``CancelTask``, … and means the same."""

OUTSIDE: Final = (
    Word("driver cancel", (K.CANCEL_REQUESTED,), "somebody asked the agent to cancel the task it names, or the only open one", "who"),
    Word("driver answer", (K.INPUT_SUPPLIED,), "somebody answered the task it names, or the only one that waits", "who, and what"),
    Word("driver other", (), "no request about a task"),
    Word("outcome", (), "a stream that ends or breaks says nothing about its task; tasks/get does"),
)  # fmt: skip  # one word a row
"""What was done from outside. The actor is ``unrecorded``."""

SECTIONS: Final = {"Task states": STATES, "Events": EVENTS, "Requests": REQUESTS, "From outside": OUTSIDE}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

METHODS: Final = {
    "SendMessage": "message/send", "SendStreamingMessage": "message/send", "message/stream": "message/send", "GetTask": "tasks/get",
    "ListTasks": "tasks/list", "CancelTask": "tasks/cancel", "SubscribeToTask": "tasks/resubscribe",
    "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
    "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
    "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
    "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
    "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
}  # fmt: skip  # pairs in lines
"""1.0's names of requests, and the table's."""
SPELLINGS: Final = {"cancelled": "canceled"}
"""Spellings that no version has and that peers send."""

CAPABILITIES: Final = {
    "at the server": Capabilities(
        proposed=yes("when the executor is called"),
        approval_asked=yes("with scope, deadline and eligible approvers, before the executor's code"),
        who_decided=yes(),
        queued=no("submitted is said by the executor itself, after its code has begun"),
        started=yes("at the executor's first line"),
        executed_inputs=yes("the message that the executor was given"),
        progress=yes("artifacts, as they are sent"),
        ended=yes("at the executor's real end, with the state that it declared"),
        scoped_cancel=yes("one task; its executor's task is stopped, what it started elsewhere is not"),
        acknowledgement=partly("when the executor's own task has ended, or the agent says canceled; a thread of its own is not seen"),
        expiry=yes("approval deadlines are the desk's"),
    ),
    "at the client": Capabilities(
        proposed=yes("when the message leaves"),
        approval_asked=partly("only what the agent asks: auth-required, without a deadline"),
        who_decided=no("answers are ordinary messages"),
        queued=no("submitted is no acceptance of a scheduler"),
        started=yes("with the state working"),
        executed_inputs=no("the message that was sent is not what the agent made of it"),
        progress=yes("artifacts, piece by piece"),
        ended=yes("as the agent declares it"),
        scoped_cancel=no("a reader asks for nothing; cancel the task with the client"),
        acknowledgement=partly("the state canceled, with reconciliation open"),
        expiry=no("the protocol has none"),
    ),
    "from captured events": Capabilities(
        proposed=partly("the first sight of a task; its message where the snapshot or the request carries it"),
        approval_asked=partly("auth-required, without a scope, a deadline or approvers"),
        who_decided=no("answers are ordinary messages"),
        queued=no("submitted is no acceptance of a scheduler"),
        started=yes("with the state working"),
        executed_inputs=no("the message that was sent is not what the agent made of it"),
        progress=yes("artifacts, piece by piece"),
        ended=yes("as the agent declares it"),
        scoped_cancel=no("a capture cannot act"),
        acknowledgement=partly("the state canceled, with reconciliation open"),
        expiry=no("the protocol has none"),
    ),
}
"""What each way in can tell."""
