"""MCP: a reader for captured JSON-RPC. Inside this package ``mcp`` is always the SDK."""

from toolwitness.adapters.mcp.mapping import TABLE
from toolwitness.adapters.mcp.reader import Reader

__all__ = ["TABLE", "Reader"]
