"""What a page shows of each call: its tool and the last word on it, in the states that the judge knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(slots=True, kw_only=True)
class Shown:
    """One call as a page shows it."""

    call: str
    tool: str = ""
    state: str = "proposed"
    """``denied`` beside the states of the lifecycle."""
    word: str = ""
    """The framework's own word."""
    row: int = 0
    result: Any = None


@dataclass(slots=True, kw_only=True)
class Board:
    """Every call that a page shows, in the order of their appearance."""

    calls: dict[str, Shown] = field(default_factory=dict[str, Shown])

    def say(self, call: str, state: str, word: str, *, row: int = 0, tool: str = "", result: Any = None) -> None:
        """Let the page show a call in a state from now on; nothing where no call is named."""
        if not call:
            return
        shown = self.calls.setdefault(call, Shown(call=call))
        shown.state, shown.word, shown.row, shown.result = state, word, row, result
        shown.tool = tool or shown.tool


_CLOSURE: Final[Mapping[str, str]] = {"denied": "denied", "cancelled": "execution-terminated"}


def documents(board: Board) -> list[dict[str, Any]]:
    """Give what a page shows as documents that the judge reads: no finding, nothing said of effects."""
    return [_document(shown) for shown in board.calls.values()]


def _document(shown: Shown) -> dict[str, Any]:
    denied = shown.state == "denied"
    return {
        "identity": {"invocationId": None, "attempt": 1},
        "tool": shown.tool,
        "state": "cancelled" if denied else shown.state,
        "findings": [],
        "correlation": [{"providerCallId": shown.call, "occurrence": 1}],
        "closure": {"kind": _CLOSURE.get(shown.state)},
        "sideEffects": {"reconciliationState": "unknown"},
        "authorization": {"state": "denied" if denied else "unobserved", "decidedBy": None},
        "output": {"result": shown.result},
        "shown": {"word": shown.word, "row": shown.row},
    }
