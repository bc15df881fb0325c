"""Which call a provider's id means: ids are theirs, occurrences are ours (design rule R9).

Providers give one id to two calls of one message, give it again in a later turn, or give none. Every call that is
opened is an occurrence of its own, numbered in order of opening, so that replaying the same stream gives the same
occurrences.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One call: the ``number``-th that carried this provider id in this run."""

    run_id: str
    provider_call_id: str
    """Empty where the provider gave none; the number is then the call's position among the nameless."""
    number: int

    @property
    def key(self) -> str:
        """A text that is this occurrence's alone within its run."""
        return f"{self.provider_call_id}#{self.number}"


@dataclass(slots=True)
class _Calls:
    occurrences: list[Occurrence] = field(default_factory=list[Occurrence])
    open: list[Occurrence] = field(default_factory=list[Occurrence])


class Correlator:
    """Turns provider ids into occurrences, within runs."""

    def __init__(self) -> None:
        """Begin with no calls."""
        self._calls: dict[tuple[str, str], _Calls] = {}

    def open(self, run_id: str, provider_call_id: str | None) -> Occurrence:
        """Begin a call: always a new occurrence, whatever its id was used for before."""
        calls = self._calls.setdefault((run_id, provider_call_id or ""), _Calls())
        number = len(calls.occurrences) + 1
        occurrence = Occurrence(run_id=run_id, provider_call_id=provider_call_id or "", number=number)
        calls.occurrences.append(occurrence)
        calls.open.append(occurrence)
        return occurrence

    def latest(self, run_id: str, provider_call_id: str | None) -> Occurrence | None:
        """Give the call that last carried this id, open or not."""
        calls = self._calls.get((run_id, provider_call_id or ""))
        return calls.occurrences[-1] if calls else None

    def open_calls(self, run_id: str, provider_call_id: str | None) -> tuple[Occurrence, ...]:
        """Give the calls with this id that were not closed, oldest first; more than one is ambiguous."""
        calls = self._calls.get((run_id, provider_call_id or ""))
        return tuple(calls.open) if calls else ()

    def answering(self, run_id: str, provider_call_id: str | None) -> Occurrence | None:
        """Give the call that a result with this id answers: the oldest open one, else the latest, else ``None``.

        Results of one message come in the order of its calls in every runtime that was recorded; where ``open_calls``
        gives more than one, that order is all there is to go by.
        """
        waiting = self.open_calls(run_id, provider_call_id)
        return waiting[0] if waiting else self.latest(run_id, provider_call_id)

    def close(self, occurrence: Occurrence) -> None:
        """End a call; closing it again changes nothing."""
        calls = self._calls.get((occurrence.run_id, occurrence.provider_call_id))
        if calls and occurrence in calls.open:
            calls.open.remove(occurrence)
