"""The AI SDK: readers for its UI message stream (versions 6 and 7) and for the messages that an application has stored."""

from toolwitness.adapters.ai_sdk.mapping import TABLE
from toolwitness.adapters.ai_sdk.messages import MessagesReader, read_messages
from toolwitness.adapters.ai_sdk.reader import Reader

__all__ = ["TABLE", "MessagesReader", "Reader", "read_messages"]
