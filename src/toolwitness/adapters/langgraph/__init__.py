"""LangChain and LangGraph: a reader for captured streams, thread state and hooks."""

from toolwitness.adapters.langgraph.mapping import TABLE
from toolwitness.adapters.langgraph.reader import HookReader, Reader

__all__ = ["TABLE", "HookReader", "Reader"]
