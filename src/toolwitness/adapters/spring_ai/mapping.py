"""Spring AI's words → our evidence: the table.

Written from Spring AI's documentation and public source (2.0, with what older and newer revisions do otherwise); it was not run. Spring AI
has no stream of events of its own: an application logs what its advisors, its observation handler and its Flux are given. So the table is
conservative: what the documentation does not promise becomes nothing.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "spring-ai"
VERSION: Final = "1"

TOOL: Final = "spring.ai.tool"
"""The name of the observation that Spring AI makes around a tool's code."""
SILENT_OBSERVATIONS: Final = ("event", "scopeOpened", "scopeClosed", "scopeReset")
"""What a Micrometer handler is told beside start, error and stop."""

MESSAGES: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its tool calls are the calls of one task"),
    Word("chat.response", (K.PROPOSED,), "results[].output.toolCalls: id, name, arguments", "that anybody will run it"),
    Word("chat.response again", (), "the same open call, seen once more by another advisor"),
    Word(
        "tool.response", (K.SUCCEEDED,), "responses[].responseData is JSON, as the default converter writes a result",
        "an error flag: none exists, and an exception whose message is JSON looks like a result",
    ),
    Word(
        "tool.response doubted", (K.LOST,), "responseData is no JSON, as an exception's message comes, or reads like an error",
        "whether the tool failed or a converter of the application's own wrote a plain text",
    ),
    Word("tool.response unassigned", (), "its id belongs to several calls, to none, or to one that has its answer"),
)  # fmt: skip  # one word a row
"""What an advisor sees: the model's answers, and what is sent back to it."""

OBSERVATIONS: Final = (
    Word("spring.ai.tool start", (K.STARTED,), "toolCallId, else the tool's name where one call of it is open", "an attempt, a thread"),
    Word("spring.ai.tool stop", (K.SUCCEEDED,), "toolCallResult is JSON; nothing was thrown", "an exception that was made into a text"),
    Word("spring.ai.tool stop doubted", (K.LOST,), "toolCallResult is no JSON, or reads like an error"),
    Word("spring.ai.tool stop bare", (), "without toolCallResult it does not say how the call ended; the tool response may"),
    Word("spring.ai.tool error", (K.FAILED,), "an exception that no processor made into a text", "effects that came before"),
    Word("spring.ai.tool error doubted", (K.LOST,), "the exception names a cancellation, an interruption or a time-out"),
    Word("spring.ai.tool unassigned", (), "it names no call, and several could be meant, or none"),
    *(Word(f"spring.ai.tool {word}", (), "about the observation, not about the call") for word in SILENT_OBSERVATIONS),
    Word("observation", (), "spring.ai.chat.client, spring.ai.advisor, gen_ai.client.operation and others: not about a tool's code"),
)  # fmt: skip  # one word a row
"""What a Micrometer handler is told."""

FLUX: Final = (
    Word("flux cancel", (K.WAITER_RELEASED,), "the subscriber is gone", "that a tool was told: it goes on in its thread"),
    Word("flux", (), "next, complete, error: a stream that goes on or ends says nothing about calls"),
)
"""What the application's stream is told."""

SECTIONS: Final = {"Messages": MESSAGES, "Observations": OBSERVATIONS, "The stream": FLUX}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from an application's log": Capabilities(
        proposed=yes("where an advisor logs chat responses; tool calls are filtered out of the Flux"),
        approval_asked=no("Spring AI asks nobody"),
        who_decided=no("there is no decision"),
        queued=no("tools are called in the thread that has them; nothing accepts them first"),
        started=partly("the observation names its call in newer versions only; else where one call of the tool is open"),
        executed_inputs=partly("where the log holds the observation's toolCallArguments"),
        progress=no("a tool is called and returns"),
        ended=partly("there is no error flag: JSON is believed, any other text is doubted"),
        scoped_cancel=no("a log cannot act"),
        acknowledgement=no("cancelling a Flux tells no tool"),
        expiry=no("there is no deadline for a call"),
    ),
}
"""What each way in can tell."""
