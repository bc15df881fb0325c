"""OpenAI's own wires, without a framework: the Responses API, Chat Completions, and lists of chat messages."""

from toolwitness.adapters.openai_api.chat import ChatReader, MessagesReader
from toolwitness.adapters.openai_api.mapping import TABLE
from toolwitness.adapters.openai_api.messages import read_messages
from toolwitness.adapters.openai_api.responses import ResponsesReader

__all__ = ["TABLE", "ChatReader", "MessagesReader", "ResponsesReader", "read_messages"]
