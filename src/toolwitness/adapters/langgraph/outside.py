"""What was done to a run from outside, and how it ended: rows of a driver and its outcomes.

A driver writes in its own words. They are read narrowly: what is not clearly a cancellation, or a decision on a call that can be named,
is left to the framework's own events, which show a grant when the reviewing node hands the call on. The actor is unrecorded.
"""

import re
from typing import Any, Final

from toolwitness.adapters.langgraph import mapping
from toolwitness.adapters.langgraph.book import Book
from toolwitness.adapters.langgraph.interrupts import Interrupts
from toolwitness.adapters.langgraph.messages import Event
from toolwitness.reading import endings
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED

_CANCEL: Final = re.compile(r"(^|[.\s_])cancel(led)?(\(\))?($|[\s(])", re.IGNORECASE)
_NEW_RUN: Final = re.compile(r"\b(resum\w*|new|turn|replay\w*|again)\b", re.IGNORECASE)
_DENY: Final = re.compile(r"^\W*(reject|deny)\w*\W*$", re.IGNORECASE)
_GRANT: Final = re.compile(r"^\W*approve\w*\W*$", re.IGNORECASE)
_AGAIN: Final = re.compile(r"\b(replay|again|second|twice|double)\b", re.IGNORECASE)
_AMBIGUOUS: Final = "a decision that names no call while several could be meant; the framework's own events will show it"


class Outside:
    """Reads the rows of a driver and of outcomes."""

    def __init__(self, book: Book, interrupts: Interrupts) -> None:
        """Begin with nothing done."""
        self.book = book
        self.calls = book.calls
        self.interrupts = interrupts
        self._last: Any = None
        """The latest answer, which a driver may give once more without saying it."""

    def driver(self, kind: str, event: Any) -> str:
        """Record what a driver did; give why it says nothing about a call, where it does not."""
        told = members(event)
        if _CANCEL.search(kind) and not _NEW_RUN.search(kind):
            self.calls.request_cancellation("driver cancel", text(told.get("scope")) or "run")
            return ""
        answer = told.get("resume")
        if answer is None and _AGAIN.search(kind) and "checkpoint" not in kind:
            answer = self._last
        if answer is not None:
            self._last = answer
            return self._answer(answer)
        if _DENY.match(kind) or _GRANT.match(kind):
            return self._answer({"type": "reject" if _DENY.match(kind) else "approve"})
        return ""

    def _answer(self, answer: Any) -> str:
        """Record an answer: by interrupt, by position, or the only one that can be meant."""
        by_interrupt = {key: one for key, one in members(answer).items() if key in self.interrupts.asked}
        if by_interrupt:
            whys = [self._decide(self.interrupts.asked[key].calls, one) for key, one in by_interrupt.items()]
            return next((why for why in whys if why), "")
        reviews, questions = self.interrupts.open_reviews(), self.interrupts.open_questions()
        shown = members(answer)
        if items(shown.get("decisions")) or shown.get("type") in mapping.DECISIONS:
            if not reviews:
                return "a decision while no approval was asked for: nothing waits for it"
            return self._decide(reviews[0].calls, answer) if len(reviews) == 1 else _AMBIGUOUS
        if len(questions) == 1:
            return self._decide(questions[0].calls, answer)
        return _AMBIGUOUS if questions else "an answer while nothing was asked: nothing waits for it"

    def _decide(self, calls: list[Call], answer: Any) -> str:
        shown = members(answer)
        decisions = items(shown.get("decisions")) or ([answer] if calls else [])
        if not calls or len(decisions) != len(calls):
            return "as many decisions as calls are needed: the framework refuses this answer" if calls else _AMBIGUOUS
        for call, decision in zip(calls, decisions, strict=True):
            self._one(call, decision)
        return ""

    def _one(self, call: Call, decision: Any) -> None:
        told = members(decision)
        kind = told.get("type")
        if not call.approval_id:
            call.answer = "given"
            self.calls.supply("driver answer", call, UNRECORDED, decision)
            call.settled_outside = False  # the body goes on with it
        elif kind == "approve":
            self.calls.grant("driver approve", call, UNRECORDED)
        elif kind == "edit":
            self._edit(call, members(told.get("edited_action")))
        elif kind == "reject":
            self.book.trace(call).denial = self.calls.deny("driver deny", call, UNRECORDED)
        elif kind == "respond":
            call.answer = "given"
            self.calls.supply("driver answer", call, UNRECORDED, told.get("message"))

    def _edit(self, call: Call, action: Event) -> None:
        if call.awaits_approval:
            self.book.edit("driver edit", call, action.get("args"))
        self.calls.grant("driver edit", call, UNRECORDED)

    # ── outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, kind: str, event: Any) -> None:
        """Record how a run ended."""
        error = text(members(event).get("__exc__"))
        if kind.endswith("raised") or error:
            cancelled = error.rsplit(".", 1)[-1] == "CancelledError"
            endings.end_run(self.calls, "outcome raised", "the run was cancelled" if cancelled else "the run ended by an exception")
        elif kind in {"stream ended", "returned", "invoke returned"}:
            if not self.calls.awaiting_approval() and self.calls.running:
                endings.leave_refused(self.calls, "outcome ended")
            endings.end_run(self.calls, "outcome ended")
