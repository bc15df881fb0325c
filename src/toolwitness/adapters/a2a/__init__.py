"""A2A: a reader for captured task events. Inside this package ``a2a`` is always the SDK."""

from toolwitness.adapters.a2a.mapping import TABLE
from toolwitness.adapters.a2a.reader import Reader

__all__ = ["TABLE", "Reader"]
