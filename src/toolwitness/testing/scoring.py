"""The judge of a replay: what a record claims, against what the tool bodies really did.

A capture holds rows of ``truth`` that the tools wrote themselves; no adapter sees them. A *false claim* is a record that says more than the
truth allows. A *missed claim* is the opposite: the stream held whole evidence and the record does not use it. Calls without truth are
unscored and counted as such. The judge knows no framework and no adapter: what whole evidence allows is handed to it (``allowed``).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Row = Mapping[str, Any]
_STARTED: Final = frozenset({"running", "streaming", "partially_complete", "succeeded", "failed"})
_BEFORE: Final = frozenset({"denied", "dismissed", "withdrawn", "answered-by-human"})


@dataclass(slots=True)
class Episode:
    """One run of a body, as the body wrote it."""

    end: str = ""
    """``end``, ``raise``, ``pause`` (it asked for an approval or an answer) or ``cancelled``; empty where it wrote none."""
    effects: int = 0

    @property
    def open(self) -> bool:
        """Whether it wrote no end."""
        return not self.end


@dataclass(frozen=True, slots=True)
class Expectation:
    """One claim that whole evidence allows: about which call, in which words, and the test whether the record makes it."""

    call: str
    claim: str
    made: Callable[["Claims"], bool]


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
        return [str(document["state"]) for document in self.documents]

    @property
    def starts(self) -> int:
        """How many starts the record claims: attempts that it shows as executed, and duplicate starts."""
        executed = sum(1 for document in self.documents if self.executed(document))
        return executed + sum(_duplicates(document) for document in self.documents)

    def executed(self, document: Row) -> bool:
        """Tell whether the record claims that this attempt was started."""
        if document["state"] in _STARTED:
            return True
        return any(e["type"] == "toolcall.execution.started" and e["subject"] == document["identity"]["invocationId"] for e in self.events)

    def told(self, kind: str) -> list[Row]:
        """Give the events of a kind about these calls."""
        return [event for event in self.events if event["type"] == f"toolcall.{kind}"]


@dataclass(slots=True)
class Score:
    """What a replay is worth."""

    file: str
    calls: int = 0
    claims: Counter[str] = field(default_factory=Counter[str])
    """How many calls the record shows in each state."""
    allowed: int = 0
    """How many claims whole evidence allows."""
    false: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    unscored: int = 0

    def add(self, other: "Score") -> None:
        """Add another file's score to this one."""
        self.calls += other.calls
        self.claims += other.claims
        self.allowed += other.allowed
        self.false += [f"{other.file}: {one}" for one in other.false]
        self.missed += [f"{other.file}: {one}" for one in other.missed]
        self.unscored += other.unscored

    def __str__(self) -> str:
        """Give the score in one line."""
        states = " ".join(f"{state}={count}" for state, count in sorted(self.claims.items()))
        return (
            f"{self.file:<46} calls={self.calls:<3} unscored={self.unscored:<3} allowed={self.allowed:<3} "
            f"false={len(self.false)} missed={len(self.missed)}  {states}"
        )


def score(
    result: Mapping[str, Any], rows: Iterable[Row], *, allowed: Callable[[Sequence[Row]], Iterable[Expectation]], name: str = ""
) -> Score:
    """Judge the result of a replay against the rows of its capture, ``truth`` included."""
    rows = list(rows)
    told = Score(name or str(result["file"]))
    claims = claims_of(result)
    truth = episodes(rows, [(c.call, c.tool) for c in claims])
    expected = list(allowed(rows))
    told.calls = sum(len(c.documents) for c in claims)
    for claim in claims:
        told.claims.update(claim.states)
        if claim.call not in truth:
            told.unscored += len(claim.documents)
            continue
        told.false += [f"{claim.call}: {why}" for why in false_claims(claim, truth[claim.call], rows)]
        for expectation in (e for e in expected if e.call == claim.call):
            told.allowed += 1
            if not expectation.made(claim):
                told.missed.append(f"{claim.call}: {expectation.claim}")
    unknown = {e.call for e in expected} & truth.keys() - {c.call for c in claims}
    told.missed += [f"{call}: the call is not in the record" for call in sorted(unknown)]
    return told


def claims_of(result: Mapping[str, Any]) -> list[Claims]:
    """Sort the documents and events of a replay by the provider's id of the call."""
    found: dict[str, Claims] = {}
    for document in result["invocations"]:
        correlation: list[dict[str, Any]] = document.get("correlation") or [{}]
        call = str(correlation[0].get("providerCallId") or document["identity"]["invocationId"])
        mine = found.setdefault(call, Claims(call=call, tool=str(document["tool"] or ""), documents=[], events=[]))
        mine.documents.append(document)
        mine.events += [event for event in result["events"] if event["subject"] == document["identity"]["invocationId"]]
    return list(found.values())


# ── truth ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def episodes(rows: Sequence[Row], calls: Sequence[tuple[str, str]]) -> dict[str, list[Episode]]:
    """Read what the bodies wrote: the runs of each call, by the provider's id, or by tool name and order where no id was written."""
    found: dict[str, list[Episode]] = {}
    for row in rows:
        if row.get("src") != "truth":
            continue
        event: Row = row.get("event") or {}
        kind = str(row.get("kind") or "")
        tool = str(event.get("tool") or kind.removeprefix("SIDE EFFECT ").split(" ")[0])
        call = str(event.get("id") or "") or _by_order(found, calls, tool, kind)
        paused = kind == "raise" and event.get("exc") in {"ApprovalRequired", "CallDeferred"}
        _write(found.setdefault(call, []), "pause" if paused else kind)
    for call, runs in found.items():
        for run in runs:
            if run.open and run.effects and _has_result(rows, call):
                run.end = "end"  # a side effect counts as an end where a result came and nothing says otherwise
    return found


def _write(runs: list[Episode], kind: str) -> None:
    if kind == "start":
        runs.append(Episode())
        return
    if not runs or (kind.startswith("SIDE EFFECT") and (not runs[-1].open or runs[-1].effects)):
        runs.append(Episode())
    if kind.startswith("SIDE EFFECT"):
        runs[-1].effects += 1
    elif kind in {"end", "raise", "pause", "cancelled_in_body"}:
        runs[-1].end = "cancelled" if kind == "cancelled_in_body" else kind


def _by_order(found: Mapping[str, list[Episode]], calls: Sequence[tuple[str, str]], tool: str, kind: str) -> str:
    """Give the call of this tool that truth without an id means: the first not yet started for a start, else the first still open."""
    named = [call for call, its_tool in calls if its_tool == tool]
    if kind == "start":
        return next((call for call in named if call not in found), named[-1] if named else tool)
    return next((call for call in named if call not in found or any(run.open for run in found[call])), named[-1] if named else tool)


def _has_result(rows: Sequence[Row], call: str) -> bool:
    return any(
        row.get("src") == "runtime" and call in str(row.get("event")) and str(row.get("kind")) in _RESULTS
        for row in rows
    )  # fmt: skip  # one condition


_RESULTS: Final = frozenset({"FunctionToolResultEvent", "hook.RETURNED", "agui:TOOL_CALL_RESULT", "vercel:tool-output-available"})


# ── false claims ────────────────────────────────────────────────────────────────────────────────────────────────────


def false_claims(claims: Claims, runs: Sequence[Episode], rows: Sequence[Row]) -> list[str]:
    """Name every claim about one provider id that says more than the truth allows."""
    found = _starts_claimed(claims, runs)
    remaining = list(runs)
    for place, document in enumerate(claims.documents):
        later = len(claims.documents) - place - 1
        takes = 1 + _duplicates(document) if claims.executed(document) else int(len(remaining) > later)
        while takes and takes < len(remaining) and remaining[takes - 1].end == "pause":
            takes += 1  # a body that paused is the same attempt when it goes on
        own, remaining = remaining[:takes], remaining[takes:]
        found += _false_state(claims, document, own, rows)
    return found + _false_decisions(claims, rows)


def _duplicates(document: Row) -> int:
    return sum(len(finding["evidenceRefs"]) for finding in document["findings"] if finding["code"] == "duplicate-start")


def _starts_claimed(claims: Claims, runs: Sequence[Episode]) -> list[str]:
    claimed = claims.starts
    silent = sum(1 for document in claims.documents if not claims.executed(document))
    if claimed and not claimed <= len(runs) <= claimed + silent:
        return [f"{claimed} starts claimed, {len(runs)} true"]
    return []


def _false_state(claims: Claims, document: Row, own: Sequence[Episode], rows: Sequence[Row]) -> list[str]:
    """Name what the state says beyond the truth about the runs that are this attempt's own."""
    state, before = str(document["state"]), document["closure"]["kind"] in _BEFORE
    well, open_ended = any(run.end == "end" for run in own), all(run.open for run in own)
    touched = any(run.effects or run.end == "end" for run in own)
    none_said = document["sideEffects"]["reconciliationState"] in {"not-executed", "none-expected"}
    lies: dict[str, bool] = {
        "queued, which nothing in this framework shows": state == "queued",
        f"{state}, and its body never started": state in _STARTED - {"failed"} and not own,
        "succeeded, and its body did not end well": state == "succeeded" and bool(own) and not well,
        "failed, and its body ended well": state == "failed" and well and all(run.end == "end" for run in own),
        "failed, and it never ran though its inputs were not refused": state == "failed" and not own and not _refused(rows, claims.call),
        "cancelled with no effects, and its body had an effect or an end": state == "cancelled" and before and none_said and touched,
        "cancelled after dispatch, and its body was not seen to end": state == "cancelled" and not before and open_ended,
        "expired in execution, and its body never started": state == "expired" and claims.executed(document) and not own,
        "nothing executed, and its body ran": none_said and state in {"cancelled", "expired", "failed"} and bool(own),
    }
    return [why for why, holds in lies.items() if holds]


def _refused(rows: Sequence[Row], call: str) -> bool:
    """Tell whether the runtime refused the inputs of this call."""
    marks = ("'args_valid': False", "validation_error", "unknown_tool", "unavailable_tool")
    return any(
        row.get("src") == "runtime" and call in str(row.get("event"))
        and (row.get("kind") == "vercel:tool-input-error" or any(mark in str(row.get("event")) for mark in marks))
        for row in rows
    )  # fmt: skip  # one condition


def _false_decisions(claims: Claims, rows: Sequence[Row]) -> list[str]:
    """Name approvals and denials that nobody made."""
    found: list[str] = []
    outside = " ".join(f"{row.get('kind')} {row.get('event')}" for row in rows if row.get("src") == "driver").lower()
    seen = (str(row.get("event")) for row in rows if row.get("src") == "runtime")
    inside = " ".join(event for event in seen if claims.call in event).lower()
    marks = ("'approved': true", f"'{claims.call.lower()}': true", "tool-approved")
    granted = any(word in outside for word in ("approv", "true")) or any(mark in inside for mark in marks)
    denied = any(word in outside for word in ("den", "false")) or "denied" in inside
    for document in claims.documents:
        answer = document["authorization"]["state"]
        if (answer == "granted" and not granted) or (answer == "denied" and not denied):
            found.append(f"{answer} by {document['authorization']['decidedBy']}, and nobody decided so")
    return found
