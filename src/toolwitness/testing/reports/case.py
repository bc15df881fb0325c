"""One played report at one moment, and what the comparison with it has come to so far."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from toolwitness.ports import Recorded
from toolwitness.testing.reports.moments import Document, Moment
from toolwitness.testing.reports.stage import Stage

Fields = Mapping[str, Any]


@dataclass(slots=True)
class Findings:
    """What the comparison of one report came to."""

    checked: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    """What was left unchecked because no machine can be asked to read it."""

    def compare(self, what: str, expected: object, actual: object, *, holds: bool | None = None) -> None:
        """Note one comparison; ``holds`` says how it came out where it is more than equality."""
        self.checked.append(what)
        if not (expected == actual if holds is None else holds):
            self.wrong.append(f"{what}: expected {_shown(expected)}, and it is {_shown(actual)}")

    def skip(self, what: str, why: str) -> None:
        """Note what could not be compared."""
        self.unchecked.append(f"{what}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One played report."""

    stage: Stage
    moments: Sequence[Moment]
    """Before the first event, and after each."""
    recorded: Sequence[Recorded]
    findings: Findings
    prefix: str = ""
    """Where in ``expected`` a key stands."""

    @property
    def now(self) -> Moment:
        """The moment that is asked about: the last of those at hand."""
        return self.moments[-1]

    def document(self, name: str) -> Document | None:
        """Give the document of a call that is named with or without its attempt."""
        return self.now.documents.get(self.id_of(name))

    def id_of(self, name: str) -> str:
        """Give our id of a call that is named with or without its attempt; the latest attempt where none is named."""
        known = [key for key in self.stage.names if key.rpartition("#")[0] == name or key == name]
        return self.stage.names[known[-1]] if known else name

    def label(self, invocation_id: str) -> str:
        """Give the report's name of a call, without its attempt."""
        return self.stage.named(invocation_id).rpartition("#")[0] or invocation_id


Check = Callable[[Case, Any], None]


def _shown(value: object) -> str:
    if isinstance(value, frozenset | set):
        value = sorted(cast("Iterable[str]", value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def members(case: Case, key: str, value: object) -> Iterable[tuple[str, Any]]:
    """Give the members of an expected object; anything else is unchecked."""
    if isinstance(value, Mapping):
        yield from cast("Fields", value).items()
    else:
        case.findings.skip(f"{case.prefix}{key}", "it is not an object")
