"""What other people's runtimes say, in our words: recorders, readers and emitters, one framework a room.

Each is a stranger to the next. Each opens with its mapping table as data, and its page in the docs is made from that table.
``toolwitness.adapters.<framework>`` is imported when it is first named, and the framework itself only where its recorder is.
"""

from importlib import import_module
from types import ModuleType
from typing import Final

FRAMEWORKS: Final = (
    "pydantic_ai",
    "mcp",
    "a2a",
    "langgraph",
    "ai_sdk",
    "ag_ui",
    "assistant_ui",
    "openai_agents",
    "openai_api",
    "anthropic_api",
    "celery",
    "spring_ai",
)
"""Every framework that there is an adapter for."""


def __getattr__(name: str) -> ModuleType:
    """Import an adapter when it is first named."""
    if name not in FRAMEWORKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
