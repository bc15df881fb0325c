"""assistant-ui's words → our evidence: the table, for its data stream (one code a line) and its transport (events with a path).

Measured with ``assistant-stream`` 0.0.36 (Python) and 0.3.57 (npm). Each word of both stands here once: what it says (evidence kinds), by
which of its fields, what it leaves out, and, where it deliberately says nothing, why.
"""

from collections.abc import Iterable
from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "assistant-ui"
VERSION: Final = "1"

_Row = tuple[tuple[str, ...], str, tuple[K, ...], str, str]


def _in_both(rows: Iterable[_Row]) -> tuple[Word, ...]:
    """Give one row for each spelling: of the data stream, and of the transport."""
    return tuple(Word(f"{name} {ending}".strip(), says, by, lacks) for names, ending, says, by, lacks in rows for name in names)


CALLS: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    *_in_both([
        (("b", "part-start"), "", (K.PROPOSED,), "the arguments as far as they came, where the stream ended while they were written",
         "a start: `timing.startedAt` is the first byte of the arguments"),
        (("c", "text-delta"), "", (K.PROPOSED,), "the arguments are a whole object, or isFinal", "a start"),
        (("9",), "", (K.PROPOSED,), "a call with its arguments in one word", "a start"),
        (("tool-call-args-text-finish",), "", (K.PROPOSED,), "the arguments are said to be complete",
         "reliability: it is also sent when a result or the end comes first"),
        (("part-finish",), "", (K.PROPOSED,), "as above", "an end: a part is finished with the stream"),
        (("a", "result"), "", (K.SUCCEEDED,), "result, isError not true", "a start; a check of the result; a later result is lost"),
        (("a", "result"), "preliminary", (K.OUTPUT,), "isPreliminary: the body is at work", "a number, a time"),
        (("a", "result"), "resumed", (K.GRANTED,), "a later message answers a call that waited for an approval", "who approved"),
        (("a", "result"), "error", (K.FAILED,), "isError", "a category"),
        (("a", "result"), "doubted", (K.LOST,),
         "a result or an error that reads like a cancellation, which the client makes up when a run is stopped", "what happened"),
        (("aui-tool-call-approval", "tool-call-approval"), "", (K.APPROVAL_REQUESTED, K.GRANTED, K.DENIED, K.CLOSED),
         "approval.id asks, approval.approved answers: false closes", "who decided, a deadline"),
        (("aui-tool-call-approval", "tool-call-approval"), "automatic", (K.PERMITTED, K.REFUSED, K.CLOSED),
         "isAutomatic: a policy's answer",
         "the policy's version"),
        (("aui-tool-call-approval", "tool-call-approval"), "withdrawn", (K.CLOSED,), "resolution cancelled, set by the host",
         "who, and why"),
        (("aui-tool-call-approval", "tool-call-approval"), "expired", (K.DEADLINE_ELAPSED,), "resolution expired, set by the host",
         "the deadline itself"),
    ]),
)  # fmt: skip  # one word a row
"""What is said about calls."""

RUN: Final = (
    *_in_both([
        (("f", "step-start"), "", (), "a step begins", ""),
        (("e", "step-finish"), "", (), "a step is over; what was being written is kept as it is", ""),
        (("d", "message-finish"), "", (K.WAITER_RELEASED,), "calls without a result have lost their waiter", "any end"),
        (("3", "error"), "", (K.WAITER_RELEASED,), "the stream reports an error, not a warning", "which call it was about"),
    ]),
    Word("end", (), "the stream ends: nothing follows from that"),
    Word("client stop", (K.CANCEL_REQUESTED,), "a person pressed stop (a row of a driver)", "that the server heard of it"),
)  # fmt: skip  # one word a row
"""What is said about the run."""

_NOTHING: Final = {
    "0": "text", "g": "the model thinks", "2": "data of the application", "8": "annotations", "h": "a source that the model cites",
    "i": "a thought that is not shown", "j": "a provider's signature", "k": "a file from the model",
    "aui-state": "state of the application; a call that it names, it names by a convention of its own",
    "aui-text-delta": "text", "aui-reasoning-delta": "the model thinks", "aui-data": "data of the application",
    "aui-reasoning-part-start": "the model thinks", "annotations": "annotations", "data": "data of the application",
    "update-state": "state of the application; a call that it names, it names by a convention of its own",
    "[DONE]": "the end mark of the stream",
}  # fmt: skip  # pairs in lines
SILENT: Final = frozenset(_NOTHING)
"""Words about which there is nothing to say."""
PARTS: Final = frozenset({"text", "reasoning", "source", "file", "data"})
"""Parts that are no calls."""
REST: Final = (
    *(Word(word, (), why) for word, why in _NOTHING.items()),
    Word("part-start other", (), f"{', '.join(sorted(PARTS))}: no call"),
)
"""What is not about calls."""

MESSAGES: Final = (
    Word("part", (K.PROPOSED,), "argsText or args", "any dispatch: its status is the message's"),
    Word("part interrupt", (K.INPUT_REQUIRED,), "interrupt of type human, and no result", "a deadline"),
    Word(
        "part approval", (K.APPROVAL_REQUESTED, K.GRANTED, K.DENIED, K.CLOSED), "approval.id asks, approval.approved answers: false closes",
        "who decided, a deadline",
    ),
    Word("part approval automatic", (K.PERMITTED, K.REFUSED, K.CLOSED), "isAutomatic: a policy's answer", "the policy's version"),
    Word("part approval withdrawn", (K.CLOSED,), "resolution cancelled, set by the host", "who, and why"),
    Word("part approval expired", (K.DEADLINE_ELAPSED,), "resolution expired, set by the host", "the deadline itself"),
    Word("part result", (K.SUCCEEDED,), "result, isError not true", "a start; a later result may have replaced an earlier one"),
    Word("part result preliminary", (K.OUTPUT,), "isPreliminary: the body was at work"),
    Word("part result error", (K.FAILED,), "isError", "a category"),
    Word("part result doubted", (K.LOST,), "a result or an error that reads like a cancellation, which the client makes up"),
    Word("part copy", (), "the same call in a second message: a copy, and an older state of it"),
)  # fmt: skip  # one word a row
"""Tool parts of stored messages (``--format assistant-ui-messages``)."""

SECTIONS: Final = {"Calls": CALLS, "The run": RUN, "Stored messages": MESSAGES, "Everything else": REST}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from a stream": Capabilities(
        proposed=yes("with the exact text of the arguments"),
        approval_asked=partly("where the server is the npm package; the Python package has no word for it"),
        who_decided=no("that it was approved or denied, not by whom"),
        queued=no("`responseDeliveryStatus` queued is an answer that the client has not sent yet"),
        started=partly("only by preliminary output"),
        executed_inputs=no("only the proposed arguments are in the stream"),
        progress=partly("preliminary output, where the server is the npm package"),
        ended=partly("by a result; a second result is lost on the way, and a result after a disconnect never comes"),
        scoped_cancel=no("the client stops whole runs"),
        acknowledgement=no("`Tool execution was cancelled.` is made up by the client one millisecond after the click"),
        expiry=partly("where the host sets `resolution: expired` on an approval"),
    ),
    "from stored messages": Capabilities(
        proposed=yes("of what was kept"),
        approval_asked=partly("without a scope, a deadline or approvers"),
        who_decided=no("that it was approved or denied, not by whom"),
        queued=no("there is no such state"),
        started=partly("only by a preliminary result"),
        executed_inputs=no("only the proposed arguments are kept"),
        progress=partly("the latest preliminary result"),
        ended=partly("by a result, which a later one may have replaced"),
        scoped_cancel=no("a cancelled message marks every part without a result"),
        acknowledgement=no("`incomplete: cancelled` is the message's"),
        expiry=partly("where the host sets `resolution: expired` on an approval"),
    ),
}
"""What each way into assistant-ui can tell."""
