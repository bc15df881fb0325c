"""What a run of the judge came to: every file, every framework, all of it, as one document with stable keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwitness.testing.truth.layout import Skipped
from toolwitness.testing.truth.running import Judged
from toolwitness.testing.truth.score import Score


@dataclass(slots=True, kw_only=True)
class Total:
    """The sum over some files."""

    name: str
    files: int = 0
    ours: Score = field(default_factory=lambda: Score(""))
    alone_calls: int = 0
    alone_false: int = 0

    @property
    def missed_percent(self) -> float:
        """How many in a hundred of the claims that whole evidence allows are missed."""
        return round(100 * len(self.ours.missed) / self.ours.allowed, 2) if self.ours.allowed else 0.0

    def add(self, judged: Judged) -> None:
        """Add one file."""
        self.files += not judged.unreplayed
        self.ours.add(judged.score)
        if judged.alone is not None:
            self.alone_calls += judged.alone.calls
            self.alone_false += len(judged.alone.false)

    def as_document(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {
            "name": self.name,
            "files": self.files,
            "calls": self.ours.calls,
            "claims": dict(sorted(self.ours.claims.items())),
            "allowed": self.ours.allowed,
            "false": len(self.ours.false),
            "missed": len(self.ours.missed),
            "missed_percent": self.missed_percent,
            "unscored": self.ours.unscored,
            "alone_calls": self.alone_calls,
            "alone_false": self.alone_false,
        }


@dataclass(slots=True)
class Run:
    """Everything that one run of the judge came to."""

    judged: list[Judged] = field(default_factory=list[Judged])
    skipped: list[Skipped] = field(default_factory=list[Skipped])

    def add(self, one: Judged | Skipped) -> None:
        """Add a file."""
        if isinstance(one, Skipped):
            self.skipped.append(one)
            return
        self.judged.append(one)
        if one.unreplayed:
            self.skipped.append(Skipped(one.capture.file, one.unreplayed))

    @property
    def frameworks(self) -> Sequence[Total]:
        """The sum of each framework, by name."""
        sums: dict[str, Total] = {}
        for one in self.judged:
            sums.setdefault(one.capture.framework, Total(name=one.capture.framework)).add(one)
        return [sums[name] for name in sorted(sums)]

    @property
    def total(self) -> Total:
        """The sum of all."""
        return _sum("all", self.judged)

    def as_document(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {
            "files": [one.as_document() for one in self.judged],
            "skipped": [{"file": one.file, "reason": one.reason} for one in self.skipped],
            "frameworks": [total.as_document() for total in self.frameworks],
            "total": self.total.as_document(),
        }


def _sum(name: str, judged: Iterable[Judged]) -> Total:
    total = Total(name=name)
    for one in judged:
        total.add(one)
    return total
