"""Anthropic's own wire, without a framework: the stream of a message, whole messages, and the results that are sent back."""

from toolwitness.adapters.anthropic_api.mapping import TABLE
from toolwitness.adapters.anthropic_api.reader import Reader

__all__ = ["TABLE", "Reader"]
