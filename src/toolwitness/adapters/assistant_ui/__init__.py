"""assistant-ui: a reader for its data stream and for its transport."""

from toolwitness.adapters.assistant_ui.mapping import TABLE
from toolwitness.adapters.assistant_ui.reader import Reader

__all__ = ["TABLE", "Reader"]
