"""What a record claims: the documents and events of a replay, sorted by the call that they are about."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.core.evidence import evidence_ref
from toolwitness.testing.truth.episodes import Row

STARTED: Final = frozenset({"running", "streaming", "partially_complete", "succeeded", "failed"})
"""States that say that a body was started."""


@dataclass(slots=True, kw_only=True)
class Claims:
    """Everything that the record says about the calls that carried one provider id."""

    call: str
    tool: str
    documents: list[Row]
    events: list[Row]

    @property
    def states(self) -> list[str]:
        """The state of each call, oldest first."""
        return [str(document["state"] or "no state") for document in self.documents]

    @property
    def starts(self) -> int:
        """How many starts the record claims: attempts that it shows as executed, and duplicate starts."""
        executed = sum(1 for document in self.documents if self.executed(document))
        return executed + sum(duplicates(document) for document in self.documents)

    def executed(self, document: Row) -> bool:
        """Tell whether the record claims that this attempt was started."""
        if document["state"] in STARTED:
            return True
        return any(event["type"] == "toolcall.execution.started" for event in self.about(document))

    def about(self, document: Row) -> list[Row]:
        """Give the events about one of the calls."""
        return [event for event in self.events if event["subject"] == document["identity"]["invocationId"]]

    def told(self, kind: str) -> list[Row]:
        """Give the events of a kind about these calls."""
        return [event for event in self.events if event["type"] == f"toolcall.{kind}"]

    def rows(self, document: Row, *kinds: str) -> list[int]:
        """Give the rows of the capture that said the events of these kinds, or the document's state where no kind is named."""
        if "shown" in document:
            return [row for row in (document["shown"]["row"],) if row]
        if kinds:
            said = [event for event in self.about(document) if event["type"].removeprefix("toolcall.") in kinds]
        else:
            refs = [str(ref) for ref in document.get("stateEvidenceRefs") or ()]
            said = [event for event in self.about(document) if str(evidence_ref(event["source"], event["id"])) in refs]
        return sorted({event["row"] for event in said if isinstance(event.get("row"), int)})


@dataclass(frozen=True, slots=True)
class Expectation:
    """One claim that whole evidence allows: about which call, in which words, and the test whether the record makes it."""

    call: str
    claim: str
    made: Callable[[Claims], bool]
    row: int = 0
    """The row of the capture that holds the evidence, where one does."""
    why: str = ""
    """Why the record may be known to lack it; empty where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One claim that was judged: false, missed, or not to be judged."""

    call: str
    said: str
    true: str = ""
    invocation: str | None = None
    occurrence: int = 1
    said_rows: tuple[int, ...] = ()
    true_rows: tuple[int, ...] = ()
    reason: str = ""

    def as_document(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {
            "invocationId": self.invocation,
            "providerCallId": self.call,
            "occurrence": self.occurrence,
            "said": self.said,
            "true": self.true,
            "rows": {"said": list(self.said_rows), "true": list(self.true_rows)},
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """Give it in one sentence."""
        return f"{self.call}: {self.said}; {self.true}" if self.true else f"{self.call}: {self.said}"


def duplicates(document: Row) -> int:
    """Count the starts beyond the first that the document's findings own up to."""
    return sum(len(finding["evidenceRefs"]) for finding in document["findings"] if finding["code"] == "duplicate-start")


def occurrence(document: Row) -> int:
    """Give which call with its provider id a document is about."""
    first: Row = (document.get("correlation") or [{}])[0]
    return int(first.get("occurrence") or 1)


def claims_of(result: Mapping[str, Any], rows: Sequence[Row] = ()) -> list[Claims]:
    """Sort the documents and events of a replay by the provider's id of the call.

    A call that the record never saw proposed carries none: then it is the one id that the rows it cites name, where they name one.
    """
    found: dict[str, Claims] = {}
    for document in result["invocations"]:
        correlation: list[dict[str, Any]] = document.get("correlation") or [{}]
        own = document["identity"]["invocationId"]
        call = str(correlation[0].get("providerCallId") or _named_in(rows, result["events"], own) or own)
        mine = found.setdefault(call, Claims(call=call, tool=str(document["tool"] or ""), documents=[], events=[]))
        mine.documents.append(document)
        mine.events += [event for event in result["events"] if event["subject"] == document["identity"]["invocationId"]]
    return list(found.values())


def _named_in(rows: Sequence[Row], events: Sequence[Row], invocation: str) -> str:
    cited = {event["row"] for event in events if event["subject"] == invocation}
    said = [str(row.get("event")) for row in rows if row.get("src") == "runtime" and row.get("seq") in cited]
    named = {name for text in said for name in _CALL_ID.findall(text)}
    return named.pop() if len(named) == 1 else ""


_CALL_ID: Final = re.compile(r"'(?:toolCallId|tool_call_id|call_id|tool_use_id)': '([^']+)'")


def states(claims: Sequence[Claims]) -> Counter[str]:
    """Count the states that a record shows."""
    return Counter(state for one in claims for state in one.states)
