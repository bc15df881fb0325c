"""Interrupts: who is asked about which call. Only the reviewing middleware's per-call form says it; the rest is matched, or left alone."""

from dataclasses import dataclass, field
from typing import Any

from toolwitness.adapters.langgraph.book import Book
from toolwitness.adapters.langgraph.messages import Event, messages_in, proposed_in
from toolwitness.reading.calls import Call
from toolwitness.reading.lenient import items, members, text
from toolwitness.reading.pen import UNRECORDED


@dataclass(slots=True, kw_only=True)
class Asked:
    """One interrupt, and the calls that it is about, in the order in which they are to be answered."""

    id: str
    calls: list[Call] = field(default_factory=list[Call])
    question: bool = False
    """Whether a body asks; else it is a review."""
    row: int = 0
    run: int = 0


class Interrupts:
    """Every interrupt of one capture."""

    def __init__(self, book: Book) -> None:
        """Begin with none."""
        self.book = book
        self.asked: dict[str, Asked] = {}

    def take(self, word: str, raw: Any, *, task: list[Call] | None = None, fresh: bool = True) -> None:
        """Record what interrupts ask for. ``task``: the calls of the task that stopped. ``fresh``: it asks now, and does not only show."""
        for interrupt in map(members, items(raw)):
            self._one(word, text(interrupt.get("id")), interrupt.get("value"), task or [], fresh=fresh)

    def _one(self, word: str, key: str, value: Any, task: list[Call], *, fresh: bool) -> None:
        calls = self.book.calls
        asked = self.asked.get(key)
        if asked is None:
            asked = self.asked[key] = Asked(id=key, row=self.book.pen.place.seq, run=calls.run)
        elif not fresh and asked.calls:
            return
        again = asked.calls and asked.run < calls.run
        asked.run = calls.run
        shown = members(value)
        if shown.get("type") == "tool_approval":
            asked.calls = [calls.meant(text(shown.get("tool_call_id")), text(shown.get("name")))]
            self.book.trace(asked.calls[0]).per_call = True
        elif items(shown.get("action_requests")):
            asked.calls = asked.calls or self._matched([members(one) for one in items(shown["action_requests"])])
        else:
            self._question(word, asked, task)
            return
        for call in asked.calls:
            if again and not call.awaits_approval and not call.over:
                continue  # answered in between; the interrupt is only shown again
            calls.turn_to_tools()
            calls.ask_approval(f"{word} interrupt approval", call)

    def _matched(self, requests: list[Event]) -> list[Call]:
        """Find the calls that a review names by tool and arguments only: the latest that are open, in order."""
        found: list[Call] = []
        for request in requests:
            opened = [c for c in self.book.calls.all if c.tool == request.get("name") and not c.over and not c.refused and c not in found]
            same = [c for c in opened if self.book.args(c) == request.get("args")]
            if choice := same or opened:
                newest = max(call.step for call in choice)
                found.append(next(call for call in choice if call.step == newest))
        return found

    def _question(self, word: str, asked: Asked, task: list[Call]) -> None:
        """Give a question to the one call that can have asked it; leave it open where several could be meant."""
        asked.question = True
        if asked.calls:
            return
        at_work = [call for call in self.book.calls.all if call.begun and not call.over]
        able = [call for call in task if not call.over] or at_work
        if len(able) == 1:
            asked.calls = able
            self.book.pause(f"{word} interrupt question", able[0])

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def open_reviews(self) -> list[Asked]:
        """Give the reviews that nobody was seen to answer, else the latest one."""
        reviews = [one for one in self.asked.values() if one.calls and not one.question]
        return [one for one in reviews if any(call.awaits_approval for call in one.calls)] or reviews[-1:]

    def open_questions(self) -> list[Asked]:
        """Give the questions that nobody was seen to answer."""
        return [one for one in self.asked.values() if one.question and one.calls and one.calls[0].answer != "given"]

    def reviewed(self, word: str, update: Any) -> None:
        """Record what the reviewing node shows by handing calls on: whatever it did not answer itself was approved."""
        shown = members(update)
        if "hitl_edited_tool_calls" not in shown:
            return
        edited = members(shown.get("hitl_edited_tool_calls"))
        told = list(messages_in(shown))
        answered = {text(message.get("tool_call_id")) for message in told if message.get("type") == "tool"}
        for message in told:
            for one in proposed_in(message) if message.get("type") == "ai" else ():
                call = self.book.calls.current(one.id)
                if call is None or one.id in answered or not call.awaits_approval:
                    continue
                if one.id in edited:
                    self.book.edit(f"{word} reviewed", call, members(edited[one.id]).get("args"))
                self.book.calls.grant(f"{word} reviewed", call, UNRECORDED)

    def unattributed(self) -> list[Asked]:
        """Give the interrupts whose call was never known."""
        return [one for one in self.asked.values() if not one.calls]
