"""LangGraph's and LangChain's words → our evidence: the table.

Every word that a capture of these frameworks can hold stands here once: what it says (evidence kinds), by which of its fields, what it
leaves out, and, where it deliberately says nothing, why. The reader goes by these names, and the docs page is made from this file.
Measured with langgraph 1.2.24 and langchain 1.5.2; the behaviour behind each row is in their source, the doubts are in the captures.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "langgraph"
VERSION: Final = "1"

_SAID: Final = {
    "tool calls": (
        (K.PROPOSED, K.CLOSED), "an AI message's tool_calls, once per message id; closes the refused call that it corrects", "purpose",
    ),
    "invalid tool calls": (
        (K.PROPOSED, K.INPUTS_REJECTED), "an AI message's invalid_tool_calls: arguments that are no JSON object; nobody runs them", "",
    ),
    "success": ((K.GRANTED, K.SUCCEEDED), "a tool message, status success; a grant where its approval was per call", "a start"),
    "success, again": ((K.PROPOSED, K.STARTED, K.SUCCEEDED), "one more message for a call that had ended, an attempt if it failed", ""),
    "failed": ((K.GRANTED, K.STARTED, K.FAILED), "a tool message, status error; a start only of a second run", "a stable category"),
    "refused": ((K.INPUTS_REJECTED,), "the framework's own text for an unknown tool", ""),
    "not executed": ((K.CLOSED,), "texts of the call limit and of the classifier: it was not executed", ""),
    "denied": (
        (K.DENIED, K.CLOSED), "lc_source hitl_interrupt_decision, decision reject; or our recorder's own word", "who decided, and when",
    ),
    "answered": (
        (K.INPUT_SUPPLIED, K.CLOSED), "as above, decision respond; its status is success and the tool never ran", "who answered",
    ),
    "doubted": ((K.LOST,), "a result that only looks like an end: a cancellation in disguise", "what happened: somebody must find out"),
}  # fmt: skip  # one ending after the other
"""What a message can say, whatever it came with."""


def _messages(mode: str) -> tuple[Word, ...]:
    """Give the rows of one mode that carries messages."""
    return tuple(Word(f"{mode} {what}", *said) for what, said in _SAID.items())


_ASKED: Final = "an approval with a tool_call_id (per_call), one that names calls by position (batched), or a question of the body"


def _interrupts(mode: str) -> tuple[Word, ...]:
    """Give the rows of one mode that carries interrupts."""
    return (
        Word(f"{mode} interrupt approval", (K.APPROVAL_REQUESTED,), _ASKED, "a deadline, who may approve, the consequence"),
        Word(
            f"{mode} interrupt question", (K.PART_COMPLETED, K.INPUT_REQUIRED), "the body stopped to ask; it begins again at its top",
            "which call asks, where several could be meant",
        ),
    )  # fmt: skip  # facts in lines


STREAM: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    *_messages("updates"),
    *_interrupts("updates"),
    Word(
        "updates reviewed", (K.GRANTED, K.INPUTS_EDITED), "the reviewing node handed the calls on; hitl_edited_tool_calls: edits",
        "who approved",
    ),
    Word("updates other", (), "an update of a node that holds no message of a call"),
    *_messages("messages"),
    Word("messages chunk", (), "the model writes", "arguments may be cut off at any moment; nothing is proposed yet"),
    Word(
        "messages last chunk", (K.PROPOSED, K.CLOSED), "chunk_position last: the exact text of the arguments",
        "that the arguments are whole: a cut text is mended silently, and the tool gets the mended one",
    ),
    Word("messages other", (), "a message of a person or of the system"),
    *_messages("values"),
    *_interrupts("values"),
    Word("values other", (), "state that holds no message of a call"),
    *_messages("checkpoints"),
    *_interrupts("checkpoints"),
    Word("checkpoints task", (K.FAILED, K.LOST), "as tasks:result error"),
    Word("checkpoints other", (), "where the graph stands"),
    Word(
        "tasks:start", (), "a node was scheduled; for tools its id stands for the call from here on",
        "an acceptance: it comes again on resume for calls that had succeeded, and before their approval is asked for",
    ),
    *_messages("tasks:result"),
    *_interrupts("tasks:result"),
    Word("tasks:result error", (K.FAILED, K.LOST), "the task ended by an exception; by a cancellation: whether the body ended is unknown"),
    Word("tasks:result other", (), "a node ended"),
    Word(
        "tools:tool-started", (K.PROPOSED, K.CLOSED, K.STARTED), "the tool is called, with what it gets; a proposal where none came",
        "it comes before the arguments are checked: it counts once nothing refused them",
    ),
    Word("tools:tool-started approved", (K.GRANTED, K.STARTED), "a call whose own approval nobody was seen to answer", "who approved"),
    Word("tools:tool-started, again", (K.PROPOSED, K.STARTED), "a call that had failed is run again under its id: another attempt"),
    Word("tools:tool-output-delta", (K.STARTED, K.OUTPUT), "emit_output_delta", ""),
    Word("tools:tool-finished", (K.STARTED, K.SUCCEEDED, K.FAILED, K.LOST), "output.status", "a time"),
    Word("tools:tool-error", (K.STARTED, K.FAILED, K.LOST), "message", "the exception's class"),
    Word("tools:tool-error refused", (K.INPUTS_REJECTED,), "a validation error about the tool's own schema: the body was not entered"),
    Word("custom", (K.OUTPUT,), "an application's own data that names a tool_call_id"),
    Word("custom other", (), "an application's own data", "the call it belongs to, so it is nobody's progress"),
    Word("debug", (), "checkpoints and tasks in one envelope: read as those"),
)  # fmt: skip  # one word a row
"""``stream`` and ``astream``, every mode."""

STATE: Final = (
    *_messages("get_state"),
    *_interrupts("get_state"),
    Word(
        "get_state task", (K.FAILED, K.LOST), "as tasks:result error", "an end of the body: the same word stands for a thread that goes on"
    ),
    Word("get_state other", (), "where the graph stands"),
)
"""``get_state`` and ``aget_state``."""

HOOK: Final = (
    Word(
        "mw.START",
        (K.PROPOSED, K.CLOSED, K.STARTED),
        "wrap_tool_call was entered: args are the executed ones; counts once nothing refused them; a "
        "proposal where its message was not streamed",
        "",
    ),
    Word("mw.START approved", (K.GRANTED, K.STARTED), "a call whose own approval nobody was seen to answer", "who approved"),
    Word("mw.START, again", (K.PROPOSED, K.STARTED), "a call that had failed is run again under its id: another attempt"),
    Word("mw.RETURNED", (K.STARTED, K.SUCCEEDED, K.FAILED, K.LOST), "the handler returned a message, status", "an absolute time"),
    Word("mw.RETURNED refused", (K.INPUTS_REJECTED,), "the framework's own text for an unknown tool"),
    Word("mw.RAISED", (K.STARTED, K.FAILED, K.LOST), "the handler raised"),
    Word("mw.CANCELLED", (K.WAITER_RELEASED,), "the handler's await was cancelled", "whether the body ended: it may be a thread"),
    Word("mw.PAUSED", (K.PART_COMPLETED, K.INPUT_REQUIRED), "GraphInterrupt went through: the body stopped to ask"),
)
"""What a middleware saw from inside (``--format langgraph-recorder``)."""

OUTSIDE: Final = (
    Word("driver cancel", (K.CANCEL_REQUESTED,), "the consumer's task was cancelled", "which call was meant: the scope is the run"),
    Word("driver approve", (K.GRANTED,), "a decision approve, by interrupt id or position", "who decided"),
    Word("driver deny", (K.DENIED,), "a decision reject, as above", "who decided; the closure is the framework's to record"),
    Word("driver edit", (K.INPUTS_EDITED, K.GRANTED), "a decision edit, with its arguments", "who decided"),
    Word("driver answer", (K.INPUT_SUPPLIED,), "a decision respond, or the answer to the one open question", "who answered"),
    Word("driver other", (), "a new turn, a resume without an answer: no decision on a call"),
    Word("outcome ended", (K.CLOSED,), "the stream ended: a pause, or the end; refused calls that the model did not make again are closed"),
    Word("outcome raised", (K.WAITER_RELEASED,), "the run ended by an exception", "what became of any one call"),
    Word("outcome other", (), "how the driver went on"),
)  # fmt: skip  # one word a row
"""What was done to a run from outside, and how it ended. The actor is ``unrecorded``."""

SECTIONS: Final = {
    "Streams": STREAM,
    "The state of a thread": STATE,
    "Hooks inside the process": HOOK,
    "From outside: a driver, and how a run ended": OUTSIDE,
}
"""The table by surface, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

MODES: Final = {
    "values": "the state after each step",
    "updates": "what each node wrote",
    "checkpoints": "as the state of a thread",
    "tasks": "when nodes begin and end",
    "debug": "checkpoints and tasks in one envelope",
    "messages": "messages, and the model's as it writes them",
    "custom": "an application's own data",
    "tools": "what tools do; not in the framework's list of modes, but one all the same",
}
"""Every stream mode and what it carries; a test holds it against the installed framework."""
TOOL_EVENTS: Final = ("tool-started", "tool-output-delta", "tool-finished", "tool-error")
"""The events of the mode ``tools``."""
MESSAGES: Final = {
    "ai": "proposals",
    "AIMessageChunk": "what the model writes",
    "tool": "results",
    "ToolMessageChunk": "a result in parts: read when it is whole",
    "human": "a person's text",
    "HumanMessageChunk": "a person's text",
    "system": "instructions",
    "SystemMessageChunk": "instructions",
    "chat": "a text in a role of its own",
    "ChatMessageChunk": "a text in a role of its own",
    "function": "the result of a legacy function call, which has no id",
    "FunctionMessageChunk": "as above",
    "remove": "a message is taken out of the history; what happened stays",
}
"""Every type of message."""
HOOKS: Final = {
    "before_agent": "a run begins",
    "abefore_agent": "a run begins",
    "before_model": "the model is about to be asked",
    "abefore_model": "the model is about to be asked",
    "after_model": "proposals: the recorder uses it",
    "aafter_model": "proposals: the recorder uses it",
    "wrap_model_call": "around the model: nothing about calls that after_model does not have",
    "awrap_model_call": "around the model: nothing about calls that after_model does not have",
    "wrap_tool_call": "around one call: the recorder uses it",
    "awrap_tool_call": "around one call: the recorder uses it",
    "after_agent": "the run is over: the recorder uses it",
    "aafter_agent": "the run is over: the recorder uses it",
}
"""Every hook of a middleware."""
DECISIONS: Final = {"approve": "driver approve", "edit": "driver edit", "reject": "driver deny", "respond": "driver answer"}
"""Every decision of the reviewing middleware, and the row that it becomes."""
BUBBLES: Final = {
    "GraphInterrupt": "answer",
    "NodeInterrupt": "answer",
    "GraphDrained": "another run",
    "GraphBubbleUp": "another run",
    "ParentCommand": "",
}
"""What goes through a tool without being a failure: what the body waits for; nothing for ``ParentCommand``, by which it ended."""

CAPABILITIES: Final = {
    "with the recorder": Capabilities(
        proposed=yes("at once with `create_agent`; in a hand-built graph when the call is taken up"),
        approval_asked=yes("with scope, deadline and eligible approvers"),
        who_decided=partly("at the desk: yes; in the framework's own reviews the name that the resuming run gives, unchecked"),
        queued=no("a scheduled task comes again on resume for calls that had succeeded; no acceptance is claimed"),
        started=yes("at the body's first line, after its arguments were accepted"),
        executed_inputs=yes("also where a reviewer changed them"),
        progress=partly("`toolwitness.progress(…)`"),
        ended=yes("at the body's real end, a thread's included"),
        scoped_cancel=partly("an async tool, and its siblings are not touched; a thread cannot be stopped"),
        acknowledgement=partly("when the body's own task has ended; never for a thread, whose card stays running until it ends"),
        expiry=yes("approval deadlines are the desk's"),
    ),
    "from a captured stream": Capabilities(
        proposed=yes(),
        approval_asked=partly("without a scope, a deadline or approvers"),
        who_decided=no("an interrupt is answered by nobody in particular"),
        queued=no("a scheduled task comes again on resume for calls that had succeeded"),
        started=partly("in the mode `tools`; it comes before the arguments are checked, so it counts once nothing refused them"),
        executed_inputs=partly("in the mode `tools`; the model's message keeps the proposed ones"),
        progress=partly("`emit_output_delta(…)`; the stream writer does not say whose it is"),
        ended=yes(),
        scoped_cancel=no("the framework cancels whole runs"),
        acknowledgement=no("`CancelledError()` stands in the state for a thread that goes on as well"),
        expiry=no("interrupts have no deadline"),
    ),
}
"""What each way in can tell."""

UNKNOWN_TOOL: Final = r"Error: .* is not a valid tool, try one of \[.*\]\."
"""The framework's result for a tool that it does not have."""
INVOCATION: Final = "Error invoking tool "
"""How its result begins where validation failed: of the arguments, or inside the body, which looks the same."""
NOT_EXECUTED: Final = (
    r"Tool call limit exceeded\. Do not (?:call '.*' again|make additional tool calls)\.",
    r"Execution stopped before this tool call could run because another tool call in the same batch exceeded the limit\.",
    r"The tool call `.*` was blocked because it was classified as risky \(probability: [\d.]+\)\. The tool was not executed\.",
)
"""The middlewares' results for calls that were never made."""
VALIDATION: Final = r"\d+ validation errors? for {tool}\n"
"""How the error begins where the arguments did not fit the tool's own schema."""
REJECTED: Final = "User rejected the tool call for `"
"""How the reviewing middleware's message begins, where nothing but its text is left."""
CANCELLED_TASK: Final = r"^['\"]*(?:[\w.]*\.)?(?:CancelledError|NodeCancelledError|NodeTimeoutError|TimeoutError)\("
"""A task's error that stands for a cancellation, also by a time limit of the node: a thread goes on after either."""
