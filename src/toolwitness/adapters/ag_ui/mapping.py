"""AG-UI's words → our evidence: the table.

Measured with AG-UI 1.0 (``ag-ui-protocol``, ``@ag-ui/core`` and ``@ag-ui/client``). Each event type stands here once: what it says
(evidence kinds), by which of its fields, what it leaves out, and, where it deliberately says nothing, why.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "ag-ui"
VERSION: Final = "1"

CALLS: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("TOOL_CALL_START", (K.PROPOSED,), "the arguments as far as they came, where the run ended while they were written", "a start"),
    Word("TOOL_CALL_ARGS", (), "the model writes on; the exact text is kept"),
    Word("TOOL_CALL_END", (K.PROPOSED,), "the arguments are complete", "a start, or any end: the model has finished writing"),
    Word("TOOL_CALL_CHUNK", (K.PROPOSED,), "start, arguments and end in one word; another event ends it", "as above"),
    Word(
        "TOOL_CALL_RESULT", (K.SUCCEEDED,), "an answer that nothing contradicts until the run is over",
        "whether it is a failure: the event has no field for it",
    ),
    Word("TOOL_CALL_RESULT again", (K.STARTED,), "a later run answers a call that had ended, in another message: it was run once more"),
    Word(
        "TOOL_CALL_RESULT doubted", (K.LOST,), "an answer that reads like an error, a refusal or a cancellation, or that carries an error",
        "what happened",
    ),
    Word("TOOL_CALL_RESULT denied", (K.CLOSED,), "the answer to a call whose interrupt was seen to be denied"),
    Word("TOOL_CALL_RESULT dismissed", (K.CLOSED,), "the answer to a call whose interrupt was seen to be cancelled"),
    Word("MESSAGES_SNAPSHOT", (K.PROPOSED, K.SUCCEEDED), "calls and answers that the stream did not carry", "a start"),
    Word("MESSAGES_SNAPSHOT error", (K.FAILED,), "error of a tool message: the only failure that the protocol types", "a category"),
    Word("MESSAGES_SNAPSHOT doubted", (K.LOST,), "an answer as above, or an error that names an abort or a time-out"),
    Word("SUBAGENT_STARTED", (K.STARTED,), "parentToolCallId: a run inside the call has begun", "which attempt"),
)  # fmt: skip  # one word a row
"""What is said about calls."""

RUN: Final = (
    Word("RUN_STARTED", (), "a run begins"),
    Word(
        "RUN_STARTED input", (K.GRANTED, K.DENIED, K.INPUTS_EDITED, K.INPUT_SUPPLIED, K.DISMISSED, K.SUCCEEDED),
        "input.resume: answers to interrupts; input.messages: answers of the application to its own calls", "who answered",
    ),
    Word("RUN_STARTED input error", (K.FAILED,), "error of a tool message of the application"),
    Word("RUN_STARTED input doubted", (K.LOST,), "an answer of the application that reads like a cancellation"),
    Word("RUN_FINISHED", (K.WAITER_RELEASED,), "calls without an answer have lost their waiter", "any end, and any start"),
    Word("RUN_FINISHED interrupt", (K.APPROVAL_REQUESTED, K.INPUT_REQUIRED), "toolCallId, reason, responseSchema", "who may answer"),
    Word("RUN_FINISHED cancelled", (K.WAITER_RELEASED,), "the run was cancelled", "any call: no reason, no initiator, no acknowledgement"),
    Word("RUN_FINISHED denied", (K.CLOSED,), "the run succeeded without the call, whose interrupt was denied"),
    Word("RUN_FINISHED dismissed", (K.CLOSED,), "the run succeeded without the call, whose interrupt was cancelled"),
    Word("RUN_ERROR", (K.WAITER_RELEASED,), "the run ended by an error", "which call it was about"),
    Word("RUN_ERROR abort", (K.WAITER_RELEASED,), "code abort: a client may have made it up", "any evidence of the server"),
    Word("end", (), "the stream ends: nothing follows from that"),
)  # fmt: skip  # one word a row
"""What is said about the run."""

CLIENT: Final = (
    Word(
        "client input", (K.GRANTED, K.DENIED, K.INPUTS_EDITED, K.INPUT_SUPPLIED, K.DISMISSED, K.SUCCEEDED),
        "what a client sends to begin a run: as RUN_STARTED input", "that the agent took it",
    ),
    Word("client input error", (K.FAILED,), "error of a tool message of the application"),
    Word("client input doubted", (K.LOST,), "an answer of the application that reads like a cancellation"),
    Word("client stop", (K.CANCEL_REQUESTED,), "a person pressed stop", "that the agent heard of it"),
)  # fmt: skip  # one word a row
"""What a client did between the events (rows of a driver)."""

_NOTHING: Final = {
    "TEXT_MESSAGE_START": "text", "TEXT_MESSAGE_CONTENT": "text", "TEXT_MESSAGE_END": "text", "TEXT_MESSAGE_CHUNK": "text",
    "REASONING_START": "the model thinks", "REASONING_END": "the model thinks", "REASONING_MESSAGE_START": "the model thinks",
    "REASONING_MESSAGE_CONTENT": "the model thinks", "REASONING_MESSAGE_END": "the model thinks",
    "REASONING_MESSAGE_CHUNK": "the model thinks", "REASONING_ENCRYPTED_VALUE": "a provider's blob",
    "THINKING_START": "the model thinks", "THINKING_END": "the model thinks", "THINKING_TEXT_MESSAGE_START": "the model thinks",
    "THINKING_TEXT_MESSAGE_CONTENT": "the model thinks", "THINKING_TEXT_MESSAGE_END": "the model thinks",
    "STATE_SNAPSHOT": "state of the application", "STATE_DELTA": "state of the application",
    "ACTIVITY_SNAPSHOT": "an activity of the interface; a call that it names, it names by a convention of its own",
    "ACTIVITY_DELTA": "as above",
    "STEP_STARTED": "a step of the agent", "STEP_FINISHED": "a step of the agent",
    "SUBAGENT_FINISHED": "a run inside a call is over: the call itself may go on", "SUBAGENT_ERROR": "as above",
    "RAW": "an event of a provider, passed on",
    "CUSTOM": "an event of the application; what it says about a call is said by a convention of its own",
}  # fmt: skip  # pairs in lines
SILENT: Final = frozenset(_NOTHING)
"""Words about which there is nothing to say."""
REST: Final = tuple(Word(word, (), why) for word, why in _NOTHING.items())
"""What is not about calls."""

SECTIONS: Final = {"Calls": CALLS, "The run": RUN, "What a client does": CLIENT, "Everything else": REST}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from a stream": Capabilities(
        proposed=yes("with the exact text of the arguments"),
        approval_asked=partly("by an interrupt that names a call; with its message and its deadline, without approvers"),
        who_decided=no("an answer names nobody; approve and deny are a convention of its payload"),
        queued=no("no event says so"),
        started=partly("only by a subagent that runs inside the call"),
        executed_inputs=no("only the proposed arguments are in the stream"),
        progress=no("activities and states name calls by private conventions only"),
        ended=partly("that it was answered; only a snapshot types a failure, so an answer is believed when the run is over"),
        scoped_cancel=no("a run is cancelled as a whole"),
        acknowledgement=no("`cancelled` is about the run; a late result cannot be delivered on it"),
        expiry=no("`expiresAt` is judged by the client's clock, and no event says that it has passed"),
    ),
}  # fmt: skip  # one answer a line
"""What each way into AG-UI can tell."""
