"""The AI SDK's words → our evidence: the table.

Measured with ``ai`` 6.0.326 and 7.0.173. Each chunk type of both versions stands here once: what it says (evidence kinds), by which of its
fields, what it leaves out, and, where it deliberately says nothing, why.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "ai-sdk"
VERSION: Final = "1"

CALLS: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word(
        "tool-input-start", (K.PROPOSED,), "the arguments as far as they came, where the model was stopped while it wrote",
        "a whole input",
    ),
    Word("tool-input-delta", (), "the model writes on; the exact text is kept"),
    Word(
        "tool-input-available", (K.PROPOSED, K.CLOSED), "input; closes the refused call that it corrects",
        "any dispatch: a call that waits its turn, and one that never runs, look the same",
    ),
    Word("tool-input-error", (K.PROPOSED, K.INPUTS_REJECTED, K.CLOSED), "input and errorText: never dispatched", "a stable code"),
    Word("tool-approval-request", (K.APPROVAL_REQUESTED,), "toolCallId", "what it would do, who may approve, a deadline"),
    Word("tool-approval-request automatic", (), "isAutomatic: a policy answers, nobody is asked"),
    Word("tool-approval-response", (K.GRANTED, K.DENIED), "the answer to an approval that asked a person", "who decided"),
    Word("tool-approval-response automatic", (K.PERMITTED, K.REFUSED), "approved and reason: a policy's decision", "the policy's version"),
    Word("tool-output-available preliminary", (K.OUTPUT,), "preliminary: the body is at work, so it has started", "a number, a time"),
    Word("tool-output-available", (K.SUCCEEDED,), "output", "a start; a check of the result; a time"),
    Word("tool-output-available resumed", (K.GRANTED,), "a later run answers a call that waited for an approval", "who approved, and when"),
    Word("tool-output-available again", (K.STARTED,), "a later run answers a call that had ended: it was run once more"),
    Word("tool-output-available doubted", (K.LOST,), "an output that says of itself that it was cancelled, or failed", "what happened"),
    Word("tool-output-error", (K.FAILED,), "errorText; version 6 hides it, and then the effects are open too", "a category"),
    Word("tool-output-error again", (K.STARTED,), "as above"),
    Word("tool-output-error refused", (), "version 6 says a refused input once more as an output error: one refused call"),
    Word("tool-output-error denied", (K.CLOSED,), "an error for a call whose approval was seen to be denied"),
    Word(
        "tool-output-error doubted", (K.LOST,), "an errorText of an abort or a time-out, or an error before the approval is answered",
        "whether the body ended",
    ),
    Word("tool-output-denied", (K.DENIED, K.CLOSED), "a call whose approval was asked for in this capture", "who denied it, and why"),
    Word("tool-output-denied unmatched", (), "no approval was seen to be asked for: reported, not believed"),
)  # fmt: skip  # one word a row
"""What is said about calls."""

RUN: Final = (
    Word("start", (), "a message begins; in a resumed run the results of approved calls follow at once"),
    Word("start-step", (), "a step begins: an id that was used before is another call from here on"),
    Word("finish-step", (), "a step is over"),
    Word(
        "reset-step", (K.WAITER_RELEASED,), "the step is made again; its calls are gone from the screen", "whether any of them had run",
    ),
    Word("finish", (K.WAITER_RELEASED, K.CLOSED), "calls without a result have lost their waiter; refused ones are closed", "any end"),
    Word("abort", (K.WAITER_RELEASED,), "the run was aborted", "whether any body heard of it: its effect may land later"),
    Word("error", (K.WAITER_RELEASED,), "the run ended by an error", "which call it was about"),
    Word("end", (), "the stream ends: nothing follows from that"),
)  # fmt: skip  # one word a row
"""What is said about the run."""

CLIENT: Final = (
    Word("client respond", (K.GRANTED, K.DENIED), "approvalId and approved: a decision that was submitted", "that the server took it"),
    Word("client stop", (K.CANCEL_REQUESTED,), "a person pressed stop", "that the server heard of it: stop() resolves before that"),
)  # fmt: skip  # one word a row
"""What a client did between the chunks (rows of a driver)."""

_NOTHING: Final = {
    "message-metadata": "metadata of the message", "text-start": "text", "text-delta": "text", "text-end": "text",
    "reasoning-start": "the model thinks", "reasoning-delta": "the model thinks", "reasoning-end": "the model thinks",
    "reasoning-file": "a file from the model's thoughts", "source-url": "a source that the model cites",
    "source-document": "a source that the model cites", "file": "a file from the model", "custom": "an event of a provider",
    "steering-message": "a message of the user during the run", "[DONE]": "the end mark of the stream",
}  # fmt: skip  # pairs in lines
SILENT: Final = frozenset(_NOTHING)
"""Words about which there is nothing to say."""
REST: Final = (
    *(Word(word, (), why) for word, why in _NOTHING.items()),
    Word("data-…", (), "an application's own part", "the call it belongs to, unless by a convention of its own"),
)
"""What is not about calls."""

MESSAGES: Final = (
    Word("part input-streaming", (K.PROPOSED,), "input or rawInput as far as it came", "a whole input"),
    Word("part input-available", (K.PROPOSED,), "input", "any dispatch: it is not running"),
    Word(
        "part pending approval", (K.APPROVAL_REQUESTED,), "metadata.pendingToolApprovals names the call",
        "part of no AI SDK: some servers keep it beside the parts",
    ),
    Word("part approval-requested", (K.PROPOSED, K.APPROVAL_REQUESTED), "approval.id", "a deadline, who may approve"),
    Word(
        "part approval-responded", (K.PROPOSED, K.APPROVAL_REQUESTED, K.GRANTED, K.DENIED), "approval.approved: a submitted answer",
        "that the server took it; who answered",
    ),
    Word(
        "part output-available", (K.PROPOSED, K.APPROVAL_REQUESTED, K.GRANTED, K.OUTPUT, K.SUCCEEDED),
        "output; with preliminary only that the body was at work", "a start; a check of the result",
    ),
    Word("part output-available doubted", (K.LOST,), "an output that says of itself that it was cancelled, or failed"),
    Word(
        "part output-error", (K.PROPOSED, K.APPROVAL_REQUESTED, K.GRANTED, K.DENIED, K.FAILED), "errorText", "a category",
    ),
    Word("part output-error refused", (K.PROPOSED, K.INPUTS_REJECTED), "rawInput without input: the input was refused"),
    Word("part output-error denied", (K.CLOSED,), "approval.approved is false"),
    Word("part output-error doubted", (K.LOST,), "an errorText that names an abort or a time-out"),
    Word(
        "part output-denied", (K.PROPOSED, K.APPROVAL_REQUESTED, K.DENIED, K.CLOSED), "approval with approved not true", "who denied it",
    ),
    Word("part copy", (), "the same call in a second message: a copy, and an older state of it"),
    Word("part other", (), "text, reasoning, sources, files, steps, data"),
)  # fmt: skip  # one word a row
"""The states of tool parts in stored messages (``--format ai-sdk-messages``)."""

SECTIONS: Final = {"Calls": CALLS, "The run": RUN, "What a client does": CLIENT, "Stored messages": MESSAGES, "Everything else": REST}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from a stream": Capabilities(
        proposed=yes("with the exact text of the arguments"),
        approval_asked=partly("without a scope, a deadline or approvers"),
        who_decided=no("a client's answer travels in a request, not in the stream; an automatic one names no policy"),
        queued=no("a call whose input is there may wait, run, or never run"),
        started=partly("only by preliminary output"),
        executed_inputs=no("only the proposed input is in the stream"),
        progress=partly("preliminary output, without a number or a time"),
        ended=partly("by a result or an error; after an abort the result never comes"),
        scoped_cancel=no("the framework aborts whole runs"),
        acknowledgement=no("`abort` says that somebody stopped waiting; the callback that knows more stays on the server"),
        expiry=no("a time-out is an error text"),
    ),
    "from stored messages": Capabilities(
        proposed=yes("of what was kept: a later attempt under the same id may have replaced an earlier one"),
        approval_asked=partly("without a scope, a deadline or approvers"),
        who_decided=partly("that a client has answered, and how; not who"),
        queued=no("there is no such state"),
        started=partly("only by preliminary output"),
        executed_inputs=no("only the proposed input is kept"),
        progress=partly("the latest preliminary output"),
        ended=partly("by the state of the part, which a later chunk may have overwritten"),
        scoped_cancel=no("there is no such state"),
        acknowledgement=no("there is no such state"),
        expiry=no("there is no such state"),
    ),
}
"""What each way into the AI SDK can tell."""
