"""Anthropic's Messages wire → our evidence: the table.

The wire carries what a model proposes and what the application sends back; what happens in between is not on it. The exceptions are the
tools that the provider itself runs: their results stand in the model's own message. Measured with anthropic 2.14; every word of the SDK's
own types stands here once, or in the lists of words that say nothing about a call.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly
from toolwitness.reading.words import Word

ADAPTER: Final = "anthropic-api"
VERSION: Final = "1"

CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
"""Blocks that are calls: the application's, the provider's, and those on an MCP server that the provider asks."""
SERVER_RESULTS: Final = frozenset({
    "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result", "tool_search_tool_result", "advisor_tool_result", "mcp_tool_result",
})  # fmt: skip  # a set reads better in lines
"""Blocks in which the provider gives the result of a tool that it ran."""
SILENT_BLOCKS: Final = {
    "text": "text", "thinking": "the model thinks", "redacted_thinking": "the model thinks", "container_upload": "a file",
    "compaction": "a shortened history", "fallback": "another model goes on", "mcp_tool_listing": "which tools the model may call",
    "image": "content", "document": "content", "search_result": "content",
}  # fmt: skip  # pairs in lines
"""Blocks that say nothing about a call, and why."""
SILENT_DELTAS: Final = {
    "text_delta": "text", "citations_delta": "text", "thinking_delta": "the model thinks", "signature_delta": "the model thinks",
    "compaction_delta": "a shortened history",
}  # fmt: skip  # pairs in lines
"""Deltas that say nothing about a call, and why."""
STOPPED: Final = {
    "tool_use": "", "end_turn": "", "stop_sequence": "", "pause_turn": "", "refusal": "", "compaction": "",
    "max_tokens": "the message was cut at its length: the last input may be incomplete",
    "model_context_window_exceeded": "the message was cut at the model's window: the last input may be incomplete",
}  # fmt: skip  # pairs in lines
"""Why a message ended, and what that leaves doubtful."""

STREAM: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("message_start", (), "a message begins"),
    Word("content_block_start", (), "the model begins a block", "the input of a call: it follows"),
    Word("content_block_delta", (), "input_json_delta: the model writes the input"),
    Word("content_block_stop", (K.PROPOSED,), "a tool_use, server_tool_use or mcp_tool_use block is complete", "a start"),
    Word("content_block_start cut", (K.PROPOSED,), "the stream was cut when the input was one whole object", "that the block was done"),
    Word(
        "server result",
        (K.SUCCEEDED, K.FAILED),
        "a block with the result of a tool that the provider ran: its error code or is_error",
        "a start",
    ),
    Word("server result doubted", (K.LOST,), "it reads like a cancellation or a time-out"),
    Word("message_delta", (), "stop_reason"),
    Word("message_stop", (), "the message is over"),
    Word("ping", (), "the connection is kept open"),
    Word("error", (), "the stream failed, and no call"),
)
"""The stream of a message."""

MESSAGES: Final = (
    Word("assistant", (K.PROPOSED,), "a call in a whole message", "a start"),
    Word("tool_result", (K.SUCCEEDED,), "what the application sends back, by tool_use_id and order", "a start"),
    Word("tool_result is_error", (K.FAILED,), "is_error", "a category; whether it was cancelled: there is no word for that"),
    Word("tool_result doubted", (K.LOST,), "a result or an error that reads like a cancellation, or a result that says that it failed"),
    Word("tool_result is_error doubted", (K.LOST,), "as above"),
    Word("message", (), "what the user said"),
)
"""Whole messages, and results that are sent back."""

SECTIONS: Final = {"The stream of a message": STREAM, "Whole messages, and what is sent back": MESSAGES}
"""The table by surface, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from the wire": Capabilities(
        proposed=partly("when a block is complete; a call that a cut stream was still writing is reported, not proposed"),
        approval_asked=no("the wire has no word for it"),
        who_decided=no("the wire has no word for it"),
        queued=no("nothing on the wire is an acceptance"),
        started=no("nothing on the wire is a start"),
        executed_inputs=no("only the proposed inputs"),
        progress=no("the wire has none"),
        ended=partly("what the application sends back, by is_error and where it does not read like a cancellation; what the provider ran"),
        scoped_cancel=no("the wire has no cancel of a call"),
        acknowledgement=no("a cancellation can only be sent back as text or as an error"),
        expiry=no("the wire has none"),
    ),
}
"""What the wire can tell."""
