"""Answers that name their call by an id which other calls may carry too.

Providers give one id to several calls, across turns and inside one message. The answers to a turn are gathered until the next one begins;
then as many answers as calls are paired in their order, and where the numbers differ nothing is guessed: the answer stays without a call,
and says so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from toolwitness.reading.calls import Call, Calls
from toolwitness.reading.pen import Place

Take = Callable[[Call], str]
"""Records an answer on its call; gives why it says nothing, where it does not."""
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Unassigned:
    """An answer that belongs to no call for sure, or that says nothing: its row, its word, and why."""

    row: int
    word: str
    why: str


@dataclass(slots=True)
class _Answer:
    place: Place
    word: str
    take: Take
    shown: str


@dataclass(slots=True)
class Pairing:
    """The answers of the present turn, by the id that they name."""

    calls: Calls
    waiting: dict[str, list[_Answer]] = field(default_factory=dict[str, list[_Answer]])

    def give(self, word: str, provider_id: str, take: Take, shown: str) -> None:
        """Keep an answer until its turn is over; ``shown`` is what a reader of the report sees of it."""
        answer = _Answer(self.calls.pen.place, word, take, shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…")
        self.waiting.setdefault(provider_id, []).append(answer)

    def settle(self) -> list[Unassigned]:
        """Pair what was kept, and give what could not be."""
        told: list[Unassigned] = []
        here = self.calls.pen.place
        for provider_id, answers in self.waiting.items():
            told += self._pair(provider_id, answers)
        self.waiting.clear()
        self.calls.pen.place = here
        return told

    def _pair(self, provider_id: str, answers: list[_Answer]) -> list[Unassigned]:
        known = self.calls.known(provider_id)
        latest = [call for call in known if call.step == known[-1].step] if known else []
        asked = [call for call in latest if not call.over] or [call for call in known if not call.over]
        if not known:
            asked = [self.calls.meant(provider_id)]
        elif not asked:
            asked = [known[-1]]  # a further answer: what takes it knows that the call has one already
        if len(asked) > 1 and len(asked) != len(answers):
            why = (
                f"ambiguous-result-pairing:{provider_id}: {len(asked)} open calls carry this id, and {len(answers)} of them have an answer"
            )
            return [Unassigned(one.place.seq, one.word, f"{why}; unassigned-result:{one.shown}") for one in answers]
        paired = list(zip(asked, answers, strict=False))
        told = [self._take(call, one) for call, one in paired]
        told += [self._take(asked[-1], one) for one in answers[len(paired) :]]
        return [one for one in told if one.why]

    def _take(self, call: Call, answer: _Answer) -> Unassigned:
        self.calls.pen.place = answer.place
        self.calls.turn_to_tools()
        why = f"unassigned-result:{answer.shown}: the call has an answer already" if call.over else answer.take(call)
        return Unassigned(answer.place.seq, answer.word, why)
