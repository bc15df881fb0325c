"""Pydantic AI's words → our evidence: the table.

Every word that a capture of this framework can hold stands here once: what it says (evidence kinds), by which of its fields, what it
leaves out, and, where it deliberately says nothing, why. The reader's handlers go by these names, and the docs page is made from this file.
Measured with pydantic-ai 2.68; the behaviour behind each row is in the framework's source, the doubts are in the captures.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "pydantic-ai"
VERSION: Final = "1"


_ENDINGS: Final = {
    "success": (
        (K.SUCCEEDED,), "outcome success, unless its content is one of the framework's own texts", "a start; a check of the result",
    ),
    "success, again": ((K.STARTED, K.SUCCEEDED), "a second result after the call was taken up a second time", ""),
    "not executed": ((K.CLOSED,), "the framework's own text, with outcome success: a final result was already processed", ""),
    "answered": (
        (K.INPUT_SUPPLIED, K.CLOSED), "the call was not run and a person was asked: the answer is the result", "who answered",
    ),
    "supplied": ((K.SUCCEEDED,), "the call was not run and another executor was asked: its result came from outside", "who ran it"),
    "failed": (
        (K.STARTED, K.FAILED), "outcome failed or retried, retry.cause; a start only of a second run", "a stable category of its own",
    ),
    "refused": ((K.INPUTS_REJECTED,), "args_valid false before it, or cause unknown_tool or unavailable_tool", ""),
    "timed out": (
        (K.STARTED, K.DEADLINE_ELAPSED), "the framework's own text: Timed out after N seconds.",
        "whether the body ended: a thread runs on and its effect may land later",
    ),
    "denied": (
        (K.DENIED, K.CLOSED), "outcome denied; the denial itself only where an approval was seen to be asked for", "who decided, and when",
    ),
    "interrupted": (
        (K.WAITER_RELEASED,), "the framework's own text or outcome for a call of a run that is over", "anything about the body",
    ),
}  # fmt: skip  # one ending after the other
"""How a result can be read, whatever word it came with."""
_ALL: Final = tuple(_ENDINGS)


def _results(word: str, *endings: str) -> tuple[Word, ...]:
    """Give the rows of one word for results."""
    return tuple(Word(f"{word} {ending}", *_ENDINGS[ending]) for ending in endings)


NATIVE: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("PartStartEvent", (), "the model begins to write a part", "arguments may be cut off at any moment; nothing is proposed yet"),
    Word("PartDeltaEvent", (), "the model writes on", "as above"),
    Word("PartEndEvent", (K.PROPOSED, K.CLOSED), "a tool call; closes the refused call that it corrects", "purpose, consequence, owner"),
    Word("PartEndEvent other", (), "text, thinking, files, compaction: no tool call"),
    Word(
        "FunctionToolCallEvent", (K.PROPOSED,), "a call whose part was not streamed",
        "a start: it precedes approvals, and every call of a batch before the first has run",
    ),
    Word(
        "FunctionToolCallEvent args_valid=false", (K.INPUTS_REJECTED,), "args_valid",
        "why: the result says it; the model is asked again, not a person",
    ),
    Word(
        "FunctionToolCallEvent resumed", (K.GRANTED,), "args_valid true for a call that waited for an approval nobody was seen to give",
        "who approved, and when; the arguments shown are the proposed ones even where others were approved",
    ),
    Word("OutputToolCallEvent", (K.PROPOSED,), "the model hands in its final answer through a tool", "a start"),
    Word(
        "DeferredToolRequestsEvent approvals", (K.APPROVAL_REQUESTED,), "requests.approvals",
        "a deadline, who may approve, the consequence",
    ),
    Word("DeferredToolRequestsEvent calls", (K.INPUT_REQUIRED,), "requests.calls and their kind: question or external", "a schema"),
    Word(
        "DeferredToolResultsEvent", (K.GRANTED, K.DENIED, K.INPUTS_EDITED, K.INPUT_SUPPLIED),
        "results.approvals, override_args, answered_by", "given only where a handler answers inside the run",
    ),
    *_results("FunctionToolResultEvent", *_ALL),
    *_results("OutputToolResultEvent", "success", "success, again", "not executed", "refused", "failed"),
    Word("CustomEvent", (K.PROGRESS,), "any event that a tool emitted: stamped with tool_call_id", "a start before the first of them"),
    Word(
        "AgentRunResultEvent", (K.APPROVAL_REQUESTED, K.INPUT_REQUIRED, K.CLOSED),
        "a deferred output not yet seen; refused calls left unreplaced",
    ),
    Word("FinalResultEvent", (), "the model's final answer begins"),
    Word("EnqueuedMessagesEvent", (), "a message for the model"),
    Word("ToolAvailabilityDeltaEvent", (), "which tools the model may call"),
    Word("CapabilityLoadDeltaEvent", (), "which capabilities are loaded"),
    Word("ModelSettingsDeltaEvent", (), "model settings"),
    Word("Realtime…", (), "speech sessions: turns and transcripts, no tool calls"),
)  # fmt: skip  # one word a row
"""``run_stream_events``, ``event_stream_handler`` and ``Agent.iter``: the framework's own events."""

HOOK: Final = (
    Word("hook.before_tool_validate", (), "the arguments as they will be validated", "the executed arguments: hook.START has them"),
    Word("hook.after_tool_validate", (), "validation passed", "a start"),
    Word("hook.on_tool_validate_error", (), "validation failed; FunctionToolCallEvent says so too"),
    Word("hook.START", (K.STARTED,), "wrap_tool_execute was entered: args are the executed ones", "whether the body is a task or a thread"),
    Word("hook.START approved", (K.GRANTED, K.STARTED), "approved=true and nobody was seen to approve", "who approved"),
    Word("hook.RETURNED", (K.SUCCEEDED,), "the handler returned", "an absolute time"),
    Word("hook.RAISED", (K.FAILED,), "the handler raised", "whether it was a time-out: only its text says so"),
    Word("hook.RAISED timed out", (K.DEADLINE_ELAPSED,), "the framework's own text: Timed out after N seconds.", "whether the body ended"),
    Word("hook.RAISED a pause", (K.PART_COMPLETED,), "ApprovalRequired or CallDeferred: the request itself follows"),
    Word("hook.CANCELLED", (K.WAITER_RELEASED,), "the handler's await was cancelled", "whether the body ended: it may be a thread"),
)
"""What a capability saw from inside (``--format pydantic-ai-recorder``)."""

AGUI: Final = (
    Word("agui:TOOL_CALL_START", (), "the model begins a call"),
    Word("agui:TOOL_CALL_ARGS", (), "the model writes arguments"),
    Word("agui:TOOL_CALL_END", (K.PROPOSED, K.CLOSED), "the arguments are complete", "a start, or any end: the model has finished writing"),
    Word("agui:TOOL_CALL_RESULT", (), "itself nothing: the outcome may follow in the next row", "the outcome, in streams before 0.1.11"),
    *_results("agui:TOOL_CALL_RESULT", "success", "success, again", "not executed", "answered", "supplied"),
    *_results("agui:TOOL_CALL_RESULT marked", "failed", "refused", "timed out", "denied", "interrupted"),
    Word("agui:REASONING_ENCRYPTED_VALUE", (), "the outcome of the result before it"),
    Word("agui:RUN_FINISHED interrupt", (K.APPROVAL_REQUESTED,), "outcome.interrupts", "a deadline: expiresAt is never set"),
    Word("agui:RUN_FINISHED pending", (K.INPUT_REQUIRED,), "outcome.pendingToolCallIds"),
    Word("agui:RUN_FINISHED", (K.CLOSED,), "the run ended; refused calls that the model did not make again are closed"),
    Word(
        "agui:RUN_ERROR", (K.WAITER_RELEASED,), "the run ended by an error", "which call raised it: all open ones are marked failed alike",
    ),
    Word("agui:RUN_STARTED", (), "a run begins"),
    Word("agui:CUSTOM", (), "an event of the application", "the call it belongs to, so it is nobody's progress"),
    Word("agui:TEXT_MESSAGE_START", (), "text"),
    Word("agui:TEXT_MESSAGE_CONTENT", (), "text"),
    Word("agui:TEXT_MESSAGE_END", (), "text"),
    Word("agui:TEXT_MESSAGE_CHUNK", (), "text"),
    Word("agui:RAW", (), "an event of a provider, passed on"),
    Word("agui:ACTIVITY_DELTA", (), "activities of the interface"),
    Word("agui:SUBAGENT_STARTED", (), "a run inside a tool: its calls are its own stream's"),
    Word("agui:SUBAGENT_FINISHED", (), "as above"),
    Word("agui:SUBAGENT_ERROR", (), "as above"),
    Word("agui:ACTIVITY_SNAPSHOT", (), "activities of the interface"),
    Word("agui:REASONING_START", (), "the model thinks"),
    Word("agui:REASONING_END", (), "the model thinks"),
    Word("agui:REASONING_MESSAGE_START", (), "the model thinks"),
    Word("agui:REASONING_MESSAGE_CONTENT", (), "the model thinks"),
    Word("agui:REASONING_MESSAGE_END", (), "the model thinks"),
    Word("agui:REASONING_MESSAGE_CHUNK", (), "the model thinks"),
    Word("agui:THINKING_START", (), "the model thinks"),
    Word("agui:THINKING_END", (), "the model thinks"),
    Word("agui:THINKING_TEXT_MESSAGE_START", (), "the model thinks"),
    Word("agui:THINKING_TEXT_MESSAGE_CONTENT", (), "the model thinks"),
    Word("agui:THINKING_TEXT_MESSAGE_END", (), "the model thinks"),
    Word("agui:STATE_SNAPSHOT", (), "state of the application"),
    Word("agui:STATE_DELTA", (), "state of the application"),
    Word("agui:MESSAGES_SNAPSHOT", (), "messages that were already seen"),
    Word("agui:STEP_STARTED", (), "a step of the graph"),
    Word("agui:STEP_FINISHED", (), "a step of the graph"),
)  # fmt: skip  # one word a row
"""The framework's AG-UI stream."""

VERCEL: Final = (
    Word("vercel:tool-input-start", (), "the model begins a call"),
    Word("vercel:tool-input-delta", (), "the model writes arguments"),
    Word("vercel:tool-input-available", (K.PROPOSED, K.CLOSED), "input: complete and valid", "a start"),
    Word("vercel:tool-input-available resumed", (K.GRANTED,), "a call that waited for an approval is taken up again", "who approved"),
    Word("vercel:tool-input-error", (K.PROPOSED, K.INPUTS_REJECTED, K.CLOSED), "input and errorText"),
    Word("vercel:tool-approval-request", (K.APPROVAL_REQUESTED,), "approvalId, toolCallId", "a deadline, who may approve"),
    *_results("vercel:tool-output-available", "success", "success, again", "not executed", "answered", "supplied", "denied", "interrupted"),
    Word(
        "vercel:tool-output-available unmarked", (K.LOST,), "a text, for a call about which a handler inside was asked",
        "whether it ran: the stream for version 5 writes a denial with the word for success",
    ),
    *_results("vercel:tool-output-error", "failed", "refused", "timed out", "interrupted"),
    *_results("vercel:tool-output-denied", "denied"),
    Word("vercel:abort", (K.WAITER_RELEASED,), "the run was cancelled"),
    Word("vercel:error", (K.WAITER_RELEASED,), "the run ended by an error", "which call raised it"),
    Word("vercel:start", (), "a run begins"),
    Word("vercel:finish", (K.CLOSED,), "the run ended; refused calls that the model did not make again are closed"),
    Word("vercel:data-…", (), "an event of the application", "the call it belongs to, so it is nobody's progress"),
    Word("vercel:start-step", (), "a step of the model"),
    Word("vercel:finish-step", (), "a step of the model"),
    Word("vercel:text-start", (), "text"),
    Word("vercel:text-delta", (), "text"),
    Word("vercel:text-end", (), "text"),
    Word("vercel:reasoning-start", (), "the model thinks"),
    Word("vercel:reasoning-delta", (), "the model thinks"),
    Word("vercel:reasoning-end", (), "the model thinks"),
    Word("vercel:source-url", (), "a source that the model cites"),
    Word("vercel:source-document", (), "a source that the model cites"),
    Word("vercel:file", (), "a file from the model"),
    Word("vercel:message-metadata", (), "when the response was made"),
    Word("vercel:done", (), "the end mark of the stream"),
    Word("vercel:raw", (), "the end mark of the stream, as it is written"),
)  # fmt: skip  # one word a row
"""The framework's stream for the Vercel AI SDK."""

OUTSIDE: Final = (
    Word(
        "driver cancel",
        (K.CANCEL_REQUESTED,),
        "a token or a task was cancelled from outside",
        "which call was meant: the scope is the run",
    ),
    Word("driver approve", (K.GRANTED,), "a decision on the one approval that waits, or on the one it names", "who decided"),
    Word("driver deny", (K.DENIED,), "as above", "who decided; the closure is the framework's to record"),
    Word("driver edit", (K.INPUTS_EDITED,), "override_args in the decision"),
    Word("driver other", (), "a new run, a question handed to a handler: no decision on a call"),
    Word("outcome returned", (), "the run ended; results in its message history that the stream did not carry are read as results"),
    *_results("outcome returned", *_ALL),
    Word("outcome raised", (K.WAITER_RELEASED,), "the run ended by an exception", "what became of any one call"),
    Word("outcome raised max retries", (K.FAILED,), "the framework's own text names the one open call's tool"),
    Word("outcome raised duplicate ids", (K.REFUSED,), "the framework's own text names the ids"),
    Word("outcome other", (), "how the driver went on"),
)
"""What was done to a run from outside, and how it ended. The actor is ``unrecorded``."""

SECTIONS: Final = {
    "The framework's own events": NATIVE,
    "Hooks inside the process": HOOK,
    "AG-UI": AGUI,
    "Vercel AI SDK": VERCEL,
    "From outside: a driver, and how a run ended": OUTSIDE,
}
"""The table by surface, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "with the recorder": Capabilities(
        proposed=yes(),
        approval_asked=yes("with scope, deadline and eligible approvers"),
        who_decided=yes(),
        queued=no("the framework has no queue, and none is claimed"),
        started=yes("at the body's first line"),
        executed_inputs=yes("also where an approval changed them"),
        progress=partly("`toolwitness.progress(…)` always; `ctx.emit(…)` where the run is streamed"),
        ended=yes("at the body's real end, a thread's included"),
        scoped_cancel=partly(
            "an async tool, and its siblings are not touched; a thread cannot be stopped; on an MCP server no cancel is offered"
        ),
        acknowledgement=partly("when the body's own task has ended; never for a thread, whose card stays running until it ends"),
        expiry=yes("approval deadlines are the desk's"),
    ),
    "from a captured stream": Capabilities(
        proposed=yes(),
        approval_asked=partly("without a scope, a deadline or approvers"),
        who_decided=partly("only where a handler answered inside the run"),
        queued=no("nothing in the stream is an acceptance"),
        started=partly(
            "a second run's, by its own end, and where a tool's time limit passed; the call event comes before approvals and is no start"
        ),
        executed_inputs=no("an edited approval still shows the proposed arguments"),
        progress=partly("`ctx.emit(…)` in the framework's own events; its UI streams do not say whose it is"),
        ended=yes("without the start"),
        scoped_cancel=no("the framework cancels whole runs"),
        acknowledgement=no("a stream shows that a waiter is gone, not that a body has ended"),
        expiry=partly("a tool's time-out, as an expiry with reconciliation required"),
    ),
}
"""What each way in can tell."""

INTERRUPTED: Final = "The tool call was interrupted before a result was produced."
"""The framework's result for a call of a cancelled run; the UI streams write it with the word for success."""
BROKEN_OFF: Final = "Tool execution was interrupted by an error."
"""The UI streams' result for every call that was open when the run raised, whichever call it was that raised."""
DENIED_BY_DEFAULT: Final = "The tool call was denied."
"""The framework's result for a denial without a reason."""
NOT_EXECUTED: Final = (
    "Tool not executed - a final result was already processed.",
    "Output tool not used - a final result was already processed.",
)
"""The framework's results, outcome ``success``, for calls that it never made."""
OUTPUT_FAILED: Final = (
    "Output tool not used - output function execution failed.",
    "Output tool not used - output failed validation.",
)
"""The framework's results, outcome ``success``, for final answers that were not taken."""
TIMED_OUT: Final = r"Timed out after [0-9.eE+-]+ seconds\."
"""The framework's feedback for a call that outlasted its ``timeout``; the outcome is an ordinary ``retried``."""
MAX_RETRIES: Final = r"^Tool '([^']*)' exceeded max retries count of -?\d+"
"""How a run ends whose tool has asked for one retry too many."""
DUPLICATE_IDS: Final = r"duplicate `tool_call_id`s: \[(.*)\]"
"""How a run ends whose model used one id twice in a response."""
