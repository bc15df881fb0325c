"""OpenAI Agents' words → our evidence: the table.

Every word that a capture of this framework can hold stands here once: what it says (evidence kinds), by which of its fields, what it leaves
out, and, where it deliberately says nothing, why. The reader's handlers go by these names, and the docs page is made from this file.
Measured with openai-agents 0.24; the behaviour behind each row is in the framework's source.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "openai-agents"
VERSION: Final = "1"

DEFAULT_ERROR: Final = "An error occurred while running the tool. Please try again."
"""What the framework gives the model for an exception, and for refused arguments, and for a body that cancelled itself."""
REJECTION: Final = "Tool execution was not approved."
TIMED_OUT: Final = r"Tool '.*' timed out after (\S+) seconds\."
REFUSED: Final = r"Invalid JSON input for tool "
"""How the framework's own exception begins when it refuses arguments."""
ENTERED_SECONDS: Final = 0.05
"""How long after ``on_tool_start`` a call that has not come back is past the check of its arguments, which takes no waiting."""

_ENDINGS: Final = {
    "success": (
        (K.GRANTED, K.STARTED, K.SUCCEEDED),
        "nothing says otherwise: no error in the trace, no formatter, none of its own texts",
        "",
    ),
    "failed": (
        (K.GRANTED, K.STARTED, K.FAILED),
        "the trace, the formatter, or the framework's own error text",
        "a stable category of its own",
    ),
    "refused": ((K.INPUTS_REJECTED,), "Invalid JSON input for tool …", "why: the model is given the default error text"),
    "timed out": (
        (K.GRANTED, K.STARTED, K.DEADLINE_ELAPSED),
        "its own text: Tool '…' timed out after N seconds.",
        "whether the body ended",
    ),
    "denied": (
        (K.GRANTED, K.DENIED, K.CLOSED),
        "its own text, a denial that was seen, or the trace: manually rejected by user",
        "who, and when",
    ),
    "doubted": (
        (K.GRANTED, K.STARTED, K.LOST),
        "the trace says Tool execution cancelled, or the text reads like a cancellation or an error",
        "what became of it",
    ),
}
"""How a result can be read, whatever word it came with."""


def _results(word: str, *endings: str) -> tuple[Word, ...]:
    return tuple(Word(f"{word} {ending}", *_ENDINGS[ending]) for ending in endings)


def _item(name: str, why: str) -> Word:
    return Word(f"run_item_stream_event:{name}", (), why)


STREAM: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("agent_updated_stream_event", (), "an agent begins, or is handed over to"),
    Word("raw_response_event:response.output_item.done", (K.PROPOSED, K.CLOSED), "item.type function_call: the model has finished writing",
         "a start, or any end: status completed is of the arguments"),
    Word("raw_response_event:…", (), "the model's own stream; the format openai-responses reads it"),
    Word("run_item_stream_event:tool_called", (K.PROPOSED, K.CLOSED), "a call that the model's own stream did not show",
         "a start: it precedes approvals"),
    Word("run_item_stream_event:tool_called hosted", (K.PROPOSED, K.SUCCEEDED, K.FAILED), "an mcp_call that the provider ran: status",
         "a start"),
    *_results("run_item_stream_event:tool_output", *_ENDINGS),
    Word("run_item_stream_event:mcp_approval_requested", (K.PROPOSED, K.APPROVAL_REQUESTED), "the provider asks before it runs an MCP call",
         "a deadline"),
    Word("run_item_stream_event:mcp_approval_response", (K.GRANTED, K.DENIED, K.CLOSED), "approve", "who"),
    _item("message_output_created", "text"), _item("reasoning_item_created", "the model thinks"),
    _item("handoff_requested", "the model hands over: another agent goes on, no tool runs"),
    Word("run_item_stream_event:handoff_occured", (K.SUCCEEDED,), "the handoff has happened; the model asks for it as for a tool"),
    _item("tool_search_called", "the model looks for tools"), _item("tool_search_output_created", "as above"),
    _item("mcp_list_tools", "which tools the model may call"),
    Word("interruptions", (K.PROPOSED, K.APPROVAL_REQUESTED), "result.interruptions, read after the stream has ended",
         "a deadline, the consequence"),
    Word("RunState.to_json", (K.PROPOSED, K.APPROVAL_REQUESTED), "current_step: next_step_interruption", "as above"),
    Word("RunState.approvals_after", (K.GRANTED, K.DENIED), "the calls that it lists", "who, and when; a sticky approval names no call"),
    Word("session.get_items", (K.PROPOSED, K.CLOSED), "function_call items that no other word has shown"),
    *_results("session.get_items", *_ENDINGS),
)  # fmt: skip  # one word a row
"""``run_streamed(…).stream_events()``, and what its result shows afterwards."""

INSIDE: Final = (
    Word("hook.on_tool_start", (K.PROPOSED, K.CLOSED, K.GRANTED), "the call is about to be made; after an interruption it was granted",
         "a start: it fires before the arguments are checked"),
    Word("hook.on_tool_start entered", (K.STARTED,), "the call has not come back after 0.05 s: refused arguments come back at once",
         "the moment; a slow error formatter of the application would look the same"),
    Word("hook.on_tool_end", (), "a text: it fires also for what raised and timed out; the trace or tool_output says which"),
    *_results("hook.on_tool_end", *_ENDINGS),
    Word("tool_error_formatter tool_exception", (K.STARTED, K.FAILED), "error: what the body raised",
         "not asked where a tool has its own formatter"),
    Word("tool_error_formatter refused", (K.INPUTS_REJECTED,), "error: ModelBehaviorError, Invalid JSON input for tool …"),
    Word("tool_error_formatter approval_rejected", (K.DENIED, K.CLOSED), "kind", "who, and when"),
    Word("trace.span_start", (), "a span opens also for a call that only waits for an approval"),
    Word("trace.span_end", (), "neither output nor error: a call that waits and one that was cancelled look the same"),
    *_results("trace.span_end", *_ENDINGS),
)  # fmt: skip  # one word a row
"""Hooks, the error formatter and the trace: each partial. A span carries no call id: it is known by its tool and its input."""

WRAPPED: Final = (
    Word("wrap.START", (K.PROPOSED, K.GRANTED), "on_invoke_tool was entered", "a start: the arguments are checked in there"),
    Word("wrap.START entered", (K.STARTED,), "as hook.on_tool_start; the arguments are those that it was given"),
    *_results("wrap.RETURNED", *_ENDINGS),
    *_results("wrap.RAISED", "failed", "refused", "timed out"),
    Word("wrap.CANCELLED", (K.STARTED, K.WAITER_RELEASED), "the wait was cancelled", "whether the body ended: it may be a thread"),
)  # fmt: skip  # one word a row
"""What a wrapper around ``on_invoke_tool`` saw (``--format openai-agents-recorder``)."""

OUTSIDE: Final = (
    Word("driver cancel", (K.CANCEL_REQUESTED,), "result.cancel() or Task.cancel", "which call was meant: the scope is the run"),
    Word("driver cancel after_turn", (), "the run stops after this turn: no call is asked to stop"),
    Word("driver approve", (K.GRANTED,), "RunState.approve on the call it names, or on the one that waits",
         "who; always_approve says nothing of later calls"),
    Word("driver deny", (K.DENIED,), "RunState.reject, as above", "who; the closure is the framework's to record"),
    Word("driver other", (), "a resumption, a new turn: no decision on a call"),
    Word("outcome ended", (K.WAITER_RELEASED, K.APPROVAL_REQUESTED, K.PROPOSED, K.CLOSED),
         "the run ended; after a cancellation what it had in hand has lost its waiter",
         "a pause and a cancelled run look alike but for the interruptions"),
    *_results("outcome ended", *_ENDINGS),
    Word("hook.on_tool_end unclear", (K.STARTED, K.FAILED, K.LOST),
         "the default error text of a call that came back at once; another call of the tool, of its shape or not, says more",
         "whether the body started: refused arguments have the same text"),
    Word("outcome raised", (K.WAITER_RELEASED,), "the run ended by an exception", "what became of any one call"),
    *_results("outcome raised", *_ENDINGS),
    Word("outcome other", (), "how the driver went on"),
)  # fmt: skip  # one word a row
"""What was done to a run from outside, and how it ended. The actor is ``unrecorded``."""

SECTIONS: Final = {
    "The stream, and what its result shows": STREAM,
    "Hooks, formatter and trace": INSIDE,
    "A wrapper around on_invoke_tool": WRAPPED,
    "From outside: a driver, and how a run ended": OUTSIDE,
}
"""The table by surface, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

ITEMS: Final = {
    "tool_call_item": "tool_called", "tool_call_output_item": "tool_output", "tool_approval_item": "interruptions",
    "mcp_approval_request_item": "mcp_approval_requested", "mcp_approval_response_item": "mcp_approval_response",
    "mcp_list_tools_item": "mcp_list_tools", "message_output_item": "message_output_created", "reasoning_item": "reasoning_item_created",
    "handoff_call_item": "handoff_requested", "handoff_output_item": "handoff_occured", "tool_search_call_item": "tool_search_called",
    "tool_search_output_item": "tool_search_output_created", "input_item": "", "compaction_item": "",
}  # fmt: skip  # pairs in lines
"""The kinds of run items, and the event that each comes with; empty where it is nobody's call (input, a shortened history)."""

CAPABILITIES: Final = {
    "with the recorder": Capabilities(
        proposed=yes(),
        approval_asked=yes("with scope, deadline and eligible approvers"),
        who_decided=yes(),
        queued=no("the framework has no queue, and none is claimed"),
        started=yes("at the body's first line, after the arguments were checked"),
        executed_inputs=yes("defaults filled in, and as an approval changed them"),
        progress=partly("`toolwitness.progress(…)`; the framework has no channel of its own"),
        ended=yes("at the body's real end, a thread's included"),
        scoped_cancel=partly("an async tool, and its siblings are not touched; a thread cannot be stopped; an MCP server is only left"),
        acknowledgement=partly("when the body's own task has ended; never for a thread, whose card stays running until it ends"),
        expiry=yes("approval deadlines are the desk's; a tool's own limit does not run while a person is asked"),
    ),
    "from a captured stream": Capabilities(
        proposed=yes(),
        approval_asked=partly("where the interruptions were recorded after the stream; without a scope, a deadline or approvers"),
        who_decided=no("RunState keeps no name"),
        queued=no("nothing in the stream is an acceptance"),
        started=partly("from `on_tool_start`, once the check of the arguments is past; the stream alone has none"),
        executed_inputs=partly("those of `on_tool_start`"),
        progress=no("tools have no channel for it"),
        ended=partly("`tool_output` is one word for success, error, time-out and denial; the trace tells them apart"),
        scoped_cancel=no("the framework cancels whole runs"),
        acknowledgement=no("a stream shows that a waiter is gone, not that a body has ended"),
        expiry=partly("a tool's time-out, as an expiry with reconciliation required"),
    ),
}  # fmt: skip  # facts in lines
"""What each way into the framework can tell."""
