"""What was done to a run from outside, and how it ended: rows of a driver and its outcomes.

A driver writes in its own words. They are read narrowly: what is not clearly a cancellation or a decision on a call that can be named is
left to the framework's own words, which show a grant when the call is made and a denial when it is closed. The actor is unrecorded.
"""

import re
from typing import Any, Final

from toolwitness.adapters.openai_agents import mapping
from toolwitness.adapters.openai_agents.story import Story
from toolwitness.adapters.openai_agents.words import history
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED

_CANCEL: Final = re.compile(r"(^|[.\s])cancel\b", re.IGNORECASE)
_GRANT: Final = re.compile(r"\bapprov(e|es|ed|al)\b", re.IGNORECASE)
_DENY: Final = re.compile(r"\b(reject|den(y|ies|ied))(s|ed)?\b", re.IGNORECASE)
_NO_ACT: Final = re.compile(
    r"\b(pending|no decision|without|while|before|await\w*|waits?|asks?|expir\w*|abandon\w*|pre-decision)\b", re.IGNORECASE
)


def driver(story: Story, kind: str, event: Any) -> str:
    """Record what a driver did; give why it says nothing about a call, where it does not."""
    said, told = re.sub(r"\(.*?\)", " ", kind), members(event)
    if _CANCEL.search(said) and not re.search(r"\b(resum|after the cancel|history|new (run|turn))", said, re.IGNORECASE):
        if "after_turn" in kind or told.get("mode") == "after_turn":
            return "the run stops after this turn: no call is asked to stop"
        story.settle()
        story.calls.request_cancellation("driver cancel", text(told.get("scope")) or "run")
        story.cancelled = True
        return ""
    denies, grants = bool(_DENY.search(said)), bool(_GRANT.search(said))
    if denies == grants or (_NO_ACT.search(said) and not re.search(r"\bREPLAY\b", said)):
        return "no decision on a call"
    named = text(told.get("call_id")) or text(told.get("id"))
    call = _meant(story, named)
    if call is None:
        return "a decision that names no call while several could be meant; the framework's own words will show it"
    if grants:
        story.calls.grant("driver approve", call, UNRECORDED)
    else:
        story.calls.deny("driver deny", call, UNRECORDED)
    return ""


def _meant(story: Story, provider_id: str) -> Call | None:
    """Give the call that a decision is about: the one it names, the one that waits, or the one whose decision is made again."""
    if provider_id:
        return story.calls.current(provider_id)
    waiting = story.calls.awaiting_approval() or [call for call in story.calls.all if call.approval_id]
    return waiting[0] if len(waiting) == 1 else None


# ── outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(story: Story, kind: str, event: Any) -> None:
    """Record how a run ended, and results that only its items hold."""
    told = members(event)
    if kind == "raised" or text(told.get("exc")):
        _raised(story, text(told.get("exc")), text(told.get("str")), told.get("run_data_items"))
    elif kind.startswith("stream ended") or "new_items" in told:
        word = "outcome ended"
        history(story, word, told.get("new_items"))
        if told.get("final_output") is not None:
            _leave(story, word)
        story.end_run(word, "the run was cancelled" if story.cancelled else "")
    else:
        story.end_run("outcome ended", "the run was cancelled" if story.cancelled else "")


def _leave(story: Story, word: str) -> None:
    """Close the refused calls that the model did not make again before its final answer."""
    for call in story.calls.all:
        if call.refused and not call.followed and not call.over and call.run == story.calls.run:
            story.calls.withdraw(word, call, "the model gave its final answer instead")


def _raised(story: Story, name: str, said: str, listed: Any) -> None:
    word = "outcome raised"
    history(story, word, items(listed))
    if limit := re.match(mapping.TIMED_OUT, said):
        tool = re.match(r"Tool '(.*)' timed out", said, re.DOTALL)
        call = _one(story, tool.group(1) if tool else "")
        if call is not None:
            story.time_out(call, f"{word} timed out", limit.group(1))
    elif named := re.match(r"Error running tool ([^:]+): (.*)", said, re.DOTALL):
        call = _one(story, named.group(1))
        if call is not None:
            story.fail(call, f"{word} failed", named.group(2))
    elif named := re.match(rf"{mapping.REFUSED}([^:]+)", said) or re.match(r"Tool (.+) not found in agent ", said, re.DOTALL):
        call = _one(story, named.group(1))
        if call is not None:
            story.refuse(call, f"{word} refused", said)
    cancelled = story.cancelled or name.rsplit(".", 1)[-1] == "CancelledError"
    story.end_run(word, "the run was cancelled" if cancelled else "the run ended by an exception")


def _one(story: Story, tool: str) -> Call | None:
    """Give the one call of a tool that the run has in hand; none where several could be meant."""
    meant = [call for call in story.calls.live() if call.tool == tool and not call.told]
    return meant[0] if len(meant) == 1 else None
