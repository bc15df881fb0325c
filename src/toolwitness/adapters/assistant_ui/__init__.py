"""assistant-ui: a reader for its data stream and for its transport, and one for the messages that an application has stored."""

from toolwitness.adapters.assistant_ui.mapping import TABLE
from toolwitness.adapters.assistant_ui.messages import MessagesReader
from toolwitness.adapters.assistant_ui.reader import Reader

__all__ = ["TABLE", "MessagesReader", "Reader"]
