"""What a framework alone claims: the last word that a page built straight on it shows of each call, and how it is judged.

Where the package keeps a page's state, that state is read (``pages``); where it has none, its own last word on each call (``runtimes``).
Each derivation is a table of words, documented in docs/truth.md. The same judge scores it by the same table.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from toolwitness.testing.truth.alone import pages, runtimes
from toolwitness.testing.truth.alone.shown import Board, documents
from toolwitness.testing.truth.capture import Rows, rows_of
from toolwitness.testing.truth.claims import Verdict
from toolwitness.testing.truth.layout import Capture
from toolwitness.testing.truth.score import Score, score

Derivation = Callable[[Capture, Rows], Board]

DERIVATIONS: Final[Mapping[str, Derivation]] = {
    "ai-sdk": pages.ai_sdk,
    "ag-ui": pages.ag_ui,
    "assistant-ui": pages.assistant_ui,
    "copilotkit": pages.copilotkit,
    "pydantic-ai": runtimes.pydantic_ai,
    "langgraph": runtimes.langgraph,
    "openai-agents": runtimes.openai_agents,
    "provider-wire": runtimes.provider_wire,
    "mcp": runtimes.mcp,
    "a2a": runtimes.a2a,
    "celery": runtimes.celery,
}
"""Every framework whose own word is derived, and how."""


def alone(capture: Capture) -> Score | None:
    """Judge what the framework alone claims about the calls of a capture; ``None`` where nothing is derived for it."""
    derive = DERIVATIONS.get(capture.framework)
    if derive is None:
        return None
    rows = rows_of(capture)
    board = derive(capture, rows)
    told = score({"file": capture.file, "invocations": documents(board), "events": []}, rows, allowed=_nothing, name=capture.file)
    told.false = [_in_its_words(verdict, board) for verdict in told.false]
    return told


def _in_its_words(verdict: Verdict, board: Board) -> Verdict:
    """Add the framework's own word to what it is accused of."""
    shown = board.calls.get(verdict.call)
    return replace(verdict, said=f"{verdict.said} ({shown.word})") if shown else verdict


def _nothing(_rows: object) -> tuple[()]:
    return ()
