"""Which wire a raw report is written in: by its kind, where that has a player of its own, else by what its kind and format begin with."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from toolwitness.testing.reports.story import Story, text

_FAMILIES: Final = (
    ("langchain-hitl", "langchain-hitl"), ("langgraph-hitl", "langchain-hitl"), ("langchain", "langgraph"), ("langgraph", "langgraph"),
    ("mcp-result", "mcp-results"), ("mcp-calltoolresult", "mcp-results"), ("mcp", "mcp-jsonrpc"), ("json-rpc", "mcp-jsonrpc"),
    ("a2a", "a2a-1.0"), ("ag-ui", "ag-ui"), ("agui", "ag-ui"),
    ("ai-sdk-ui-message-stream", "ai-sdk-ui-stream"), ("ai-sdk-ui-messages", "ai-sdk-ui-messages"),
    ("ai-sdk-messages", "ai-sdk-ui-messages"), ("ai-sdk", "ai-sdk-ui-stream"), ("vercel", "ai-sdk-ui-stream"),
    ("openai-agents", "openai-agents"), ("openai-responses", "openai-responses"), ("openai", "openai-chat"), ("anthropic", "anthropic"),
    ("assistant-ui-messages", "assistant-ui-messages"), ("assistant-ui", "assistant-ui"), ("assistant-stream", "assistant-ui"),
    ("celery", "celery-events"), ("pydantic-ai", "pydantic-ai"),
)  # fmt: skip  # a kind or a format begins with it, and whose player plays it
_RAW: Final = "raw:"


def as_played(story: Story, kinds: Collection[str]) -> Story:
    """Give a raw report with the kind that has a player: its own, else that of its family; unchanged where nobody plays it."""
    if story.kind in kinds or not story.kind.startswith(_RAW):
        return story
    for said in (text(story.input.get("format")), story.kind.removeprefix(_RAW)):
        found = next((f"{_RAW}{player}" for begins, player in _FAMILIES if said.lower().startswith(begins)), "")
        if found in kinds:
            return replace(story, kind=found)
    return story
