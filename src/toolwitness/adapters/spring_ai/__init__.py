"""Spring AI: an application's own log of its chat responses, tool responses and observations, read as evidence. Nothing of it was run."""

from toolwitness.adapters.spring_ai.mapping import ADAPTER, CAPABILITIES, SECTIONS, TABLE, VERSION
from toolwitness.adapters.spring_ai.reader import Reader

__all__ = ["ADAPTER", "CAPABILITIES", "SECTIONS", "TABLE", "VERSION", "Reader"]
