"""OpenAI's wires → our evidence: the table, for the Responses API, for Chat Completions, and for lists of messages.

These wires carry what a model proposes and what the application sends back; what happens in between is not on them. The exceptions are the
tools that the provider itself runs. Every word of the SDK's own types stands here once, or in the lists of words that say nothing about a
call. Measured with openai 3.57.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly
from toolwitness.reading.words import Word

ADAPTER: Final = "openai-api"
VERSION: Final = "1"

CALLS: Final = {
    "function_call": ("name", "arguments"), "custom_tool_call": ("name", "input"), "local_shell_call": ("", "action"),
    "shell_call": ("", "action"), "apply_patch_call": ("", "operation"), "computer_call": ("", "action"),
}  # fmt: skip  # pairs in lines
"""Items that the application is asked to make: where the tool's name stands (else it is the item's type), and its inputs."""
HOSTED: Final = {
    "mcp_call": ("name", "arguments", "output"),
    "web_search_call": ("", "action", ""),
    "file_search_call": ("", "queries", "results"),
    "code_interpreter_call": ("", "code", "outputs"),
    "image_generation_call": ("", "", ""),
}
"""Items that the provider itself runs: the tool's name, its inputs, its result."""
OUTPUTS: Final = frozenset({
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output",
    "computer_call_output",
})  # fmt: skip  # a set reads better in lines
"""What the application sends back."""
SILENT_ITEMS: Final = {
    "message": "text", "reasoning": "the model thinks", "compaction": "a shortened history", "compaction_trigger": "a shortened history",
    "additional_tools": "which tools the model may call", "mcp_list_tools": "which tools the model may call",
    "tool_search_call": "the model looks for tools", "tool_search_output": "the model looks for tools",
    "program": "a program that makes calls; each call is an item of its own", "program_output": "as above",
    "configuration_update": "settings", "item_reference": "an item that was sent before",
}  # fmt: skip  # pairs in lines
"""Items that say nothing about a call, and why."""
SILENT_EVENTS: Final = {
    "response.in_progress": "the response is being made",
    "response.queued": "the response, and no call, is queued",
    "response.function_call_arguments.delta": "the model writes arguments",
    "response.function_call_arguments.done": "the arguments are complete; output_item.done has them",
    "response.custom_tool_call_input.delta": "the model writes",
    "response.custom_tool_call_input.done": "output_item.done has it",
    "response.mcp_call_arguments.delta": "the model writes arguments",
    "response.mcp_call_arguments.done": "output_item.done has them",
    "response.mcp_call.in_progress": "comes before the arguments are complete: no start",
    "response.mcp_call.completed": "output_item.done says it, with the result",
    "response.mcp_call.failed": "output_item.done says it, with the error",
    "response.mcp_list_tools.in_progress": "which tools the model may call",
    "response.mcp_list_tools.completed": "as above",
    "response.mcp_list_tools.failed": "as above",
    "response.web_search_call.in_progress": "before the call is complete: no start",
    "response.web_search_call.searching": "as above",
    "response.web_search_call.completed": "output_item.done says it",
    "response.file_search_call.in_progress": "no start",
    "response.file_search_call.searching": "as above",
    "response.file_search_call.completed": "output_item.done says it",
    "response.code_interpreter_call.in_progress": "no start",
    "response.code_interpreter_call.interpreting": "as above",
    "response.code_interpreter_call.completed": "output_item.done says it",
    "response.code_interpreter_call_code.delta": "the model writes code",
    "response.code_interpreter_call_code.done": "output_item.done has it",
    "response.image_generation_call.in_progress": "no start",
    "response.image_generation_call.generating": "as above",
    "response.image_generation_call.partial_image": "a part of an image",
    "response.image_generation_call.completed": "output_item.done says it",
    "response.shell_call_command.added": "the model writes a command",
    "response.shell_call_command.delta": "as above",
    "response.shell_call_command.done": "output_item.done has it",
    "response.shell_call_output_content.delta": "output of the provider's own shell; its item says how it ended",
    "response.shell_call_output_content.done": "as above",
    "response.compaction.compacting": "the history is being shortened",
    "response.content_part.added": "text",
    "response.content_part.done": "text",
    "response.output_text.delta": "text",
    "response.output_text.done": "text",
    "response.output_text.annotation.added": "text",
    "response.refusal.delta": "text",
    "response.refusal.done": "text",
    "response.audio.delta": "speech",
    "response.audio.done": "speech",
    "response.audio.transcript.delta": "speech",
    "response.audio.transcript.done": "speech",
    "response.reasoning_summary_part.added": "the model thinks",
    "response.reasoning_summary_part.done": "the model thinks",
    "response.reasoning_summary_text.delta": "the model thinks",
    "response.reasoning_summary_text.done": "the model thinks",
    "response.reasoning_text.delta": "the model thinks",
    "response.reasoning_text.done": "the model thinks",
}
"""Events of the Responses stream that say nothing about a call, and why."""
FINISHED: Final = {
    "tool_calls": "", "function_call": "", "stop": "",
    "length": "the response was cut at its length: the last arguments may be incomplete",
    "content_filter": "the response was cut by a filter: the last arguments may be incomplete",
}  # fmt: skip  # pairs in lines
"""Why a chat response ended, and what that leaves doubtful."""

RESPONSES: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its calls are one task"),
    Word("response.created", (), "a response begins"),
    Word("response.output_item.added", (), "the model begins a call", "its arguments; a stream that is cut here has proposed nothing"),
    Word(
        "response.output_item.added cut",
        (K.PROPOSED,),
        "the stream was cut when the arguments were one whole object",
        "that the item was done",
    ),
    Word(
        "response.output_item.done call",
        (K.PROPOSED,),
        "an item that the application is asked to make: call_id, name, arguments",
        "a start, or any end: status completed is of the arguments",
    ),
    Word(
        "response.output_item.done hosted",
        (K.PROPOSED, K.GRANTED, K.SUCCEEDED, K.FAILED),
        "an item that the provider runs: status, error, output",
        "a start",
    ),
    Word(
        "response.output_item.done hosted doubted", (K.LOST,), "status incomplete, or a result that reads like a cancellation or an error"
    ),
    Word(
        "response.output_item.done mcp_approval_request",
        (K.PROPOSED, K.APPROVAL_REQUESTED),
        "the provider asks before it runs an MCP call",
        "a deadline, who may approve",
    ),
    Word("response.completed", (), "the response is over; items that no event has shown are read from its output"),
    Word("response.incomplete", (), "as above; what was being written stays unproposed"),
    Word("response.failed", (), "as above: the response failed, and no call"),
    Word("error", (), "the stream failed, and no call"),
    Word(
        "output",
        (K.SUCCEEDED,),
        "an item that the application sends back, by call_id",
        "a start; whether it is a result, an error or a notice",
    ),
    Word("output failed", (K.FAILED,), "its status says failed"),
    Word("output doubted", (K.LOST,), "its status is incomplete, or it reads like a cancellation or an error"),
    Word("mcp_approval_response", (K.GRANTED, K.DENIED, K.CLOSED), "approve, reason", "who, and when"),
)
"""The Responses API: its stream, and the items that are sent back (``--format openai-responses``)."""

CHAT: Final = (
    Word(
        "chat.completion.chunk",
        (K.PROPOSED,),
        "finish_reason: the calls of this choice are complete; the id comes with a call's first piece alone",
        "a start",
    ),
    Word("chat.completion.chunk cut", (K.PROPOSED,), "the stream was cut when the arguments were one whole object", "a finish_reason"),
    Word("chat.completion", (K.PROPOSED,), "message.tool_calls of a response that was not streamed", "a start"),
    Word("assistant", (K.PROPOSED,), "tool_calls of a message in a list", "a start"),
    Word(
        "tool",
        (K.SUCCEEDED,),
        "a message of the role tool, by tool_call_id and order",
        "a start; whether it is a result, an error or a notice",
    ),
    Word("tool doubted", (K.LOST,), "it reads like a cancellation or an error"),
    Word("message", (), "system, developer, user: no call"),
)
"""Chat Completions: its stream (``--format openai-chat``) and lists of messages (``--format openai-chat-messages``)."""

SECTIONS: Final = {"The Responses API": RESPONSES, "Chat Completions, streamed and as messages": CHAT}
"""The table by surface, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

_WIRE: Final = Capabilities(
    proposed=partly(
        "when the provider says that the arguments are complete; a call that a cut stream was still writing is reported, not proposed"
    ),
    approval_asked=partly("for MCP calls that the provider runs; nobody else asks on this wire"),
    who_decided=no("an answer carries no name"),
    queued=no("status queued is of the response"),
    started=no("nothing on the wire is a start"),
    executed_inputs=no("only the proposed inputs"),
    progress=no("the wire has none"),
    ended=partly(
        "what the application sends back, where it does not read like a cancellation or an error; what the provider ran, by its status"
    ),
    scoped_cancel=no("the wire has no cancel of a call"),
    acknowledgement=no("a cancellation can only be sent back as text"),
    expiry=no("the wire has none"),
)
CAPABILITIES: Final = {"from the wire": _WIRE}
"""What the wire can tell."""
