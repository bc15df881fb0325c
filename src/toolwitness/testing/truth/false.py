"""The table of false claims: each line of it is a rule that names what a record says beyond the truth.

| the record says | it is false when the truth |
|---|---|
| running, streaming or any later executed state | has no start of that call |
| queued | cannot be: only recorded acceptance counts, and only some runtimes have it |
| succeeded | has no end of that call, or it ended by raising, or by a result that says failed or cancelled |
| failed | has an end that returned well, or shows it never started and nothing refused its inputs |
| cancelled, effects none | has a side effect or an end of that call, before or after |
| cancelled after dispatch | has no termination of that body; a protocol's terminal status is believed while reconciliation is open |
| n starts (attempts + ``duplicate-start`` findings) | has another number of starts |
| approved or denied by X | has no such decision |
| these inputs were executed | wrote other inputs |
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.testing.truth.claims import STARTED, Claims, Verdict, duplicates, occurrence
from toolwitness.testing.truth.decisions import Decision, aliases
from toolwitness.testing.truth.episodes import Episode, Row, Truth

_BEFORE: Final = frozenset({"denied", "dismissed", "withdrawn", "answered-by-human"})
_NOTHING_DONE: Final = frozenset({"not-executed", "none-expected"})
_OPEN: Final = frozenset({"unknown", "required"})
_ACCEPTANCE: Final = re.compile(r"TASK_STATE_SUBMITTED|'status': 'working'|'task-received'|'submitted'|task-received", re.IGNORECASE)
_TERMINATED: Final = re.compile(
    r"TASK_STATE_CANCELED|'(?:status|state)': '(?:cancell?ed|rejected)'|TASK_STATE_REJECTED|task-revoked|'REVOKED'"
)
_REFUSED: Final = re.compile(
    r"'args_valid': False|validation_error|unknown_tool|unavailable_tool|tool-input-error|'(invalid|dynamic_invalid)': True"
    r"|-32602|-32601|not a valid tool|validation error|Invalid (input|arguments)|invalid JSON|Unrecognized|InvalidToolInput|NoSuchTool"
    r"|TASK_STATE_REJECTED|ModelBehaviorError|not found|Input validation|extra_forbidden|json_invalid|Unknown tool",
    re.IGNORECASE,
)
_DISGUISED: Final = frozenset({"cancelled", "canceled", "aborted", "failed", "error", "denied", "rejected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the rules look at: the rows of the capture, what the bodies wrote, who decided, which inputs the record says were executed."""

    rows: Sequence[Row]
    truth: Truth
    decisions: Sequence[Decision] = ()
    executed: dict[str, Any] = field(default_factory=dict[str, Any])
    """The inputs that the record says were executed, by invocation."""


def false_claims(claims: Claims, runs: Sequence[Episode], case: Case) -> list[Verdict]:
    """Name every claim about one provider id that says more than the truth allows."""
    found = _starts_claimed(claims, runs)
    for document, own in shared_out(claims, runs):
        found += [verdict for rule in _RULES for verdict in rule(claims, document, own, case)]
    return found


def shared_out(claims: Claims, runs: Sequence[Episode]) -> Iterator[tuple[Row, Sequence[Episode]]]:
    """Give each document the runs that are its own: as many as it claims, in order; the last has what is left.

    A body that paused goes on in the next run.
    """
    remaining = list(runs)
    for place, document in enumerate(claims.documents):
        later = len(claims.documents) - place - 1
        takes = 1 + duplicates(document) if claims.executed(document) else int(len(remaining) > later)
        while takes and takes < len(remaining) and remaining[takes - 1].end == "pause":
            takes += 1
        takes = takes if later or not takes else max(takes, len(remaining))
        own, remaining = remaining[:takes], remaining[takes:]
        yield document, own


def unscored_aspects(claims: Claims, runs: Sequence[Episode], truth: Truth) -> list[tuple[Row, str]]:
    """Name what cannot be judged of a call that has truth, and why."""
    found: list[tuple[Row, str]] = []
    for document, own in shared_out(claims, runs):
        if any(run.unmatched for run in own):
            found.append((document, "its end: rows of truth name no call, and more than one call was open"))
        elif document["state"] == "succeeded" and _silent(own, truth):
            found.append((document, "its end: this tool writes its starts and never its ends"))
        if any(run.end == "pause" for run in own):
            found.append((document, "how often it was entered: a body that stops to ask is entered again, and that is the same start"))
    return found


# ── the rules ───────────────────────────────────────────────────────────────────────────────────────────────────────

_Rule = Callable[[Claims, Row, Sequence[Episode], Case], Iterator[Verdict]]


def _starts_claimed(claims: Claims, runs: Sequence[Episode]) -> list[Verdict]:
    claimed = claims.starts
    silent = sum(1 for document in claims.documents if not claims.executed(document))
    least = len(runs) - sum(1 for place, run in enumerate(runs) if run.end == "pause" and place < len(runs) - 1)
    if claimed and runs and not (claimed <= len(runs) and claimed + silent >= least):
        first = claims.documents[0]
        rows = [row for document in claims.documents for row in claims.rows(document, "execution.started") or claims.rows(document)]
        said, true = f"{claimed} start{'s' * (claimed > 1)}", f"{len(runs)} start{'s' * (len(runs) > 1)}"
        return [_verdict(claims, first, said, true, runs, "attempts and duplicate-start findings are counted", rows)]
    return []


def _never_started(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    state = str(document["state"])
    if own:
        return
    if state in STARTED - {"failed"}:
        yield _verdict(claims, document, state, "its body never started", own, "an executed state without a start")
    elif claims.executed(document) and state != "failed":
        rows = claims.rows(document, "execution.started")
        yield _verdict(claims, document, f"{state}, and started", "its body never started", own, "a start that was not", rows)


def _queued(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    said = [event for event in claims.about(document) if event["type"] == "toolcall.dispatch.accepted"]
    if document["state"] != "queued" and not said:
        return
    rows = [event["row"] for event in said] or claims.rows(document)
    cited = [row for row in case.rows if row.get("seq") in rows and row.get("src") == "runtime"]
    if not any(_ACCEPTANCE.search(f"{row.get('kind')} {row.get('event')}") for row in cited):
        yield _verdict(claims, document, "queued", "no runtime recorded an acceptance", own, "only recorded acceptance counts", rows)


def _succeeded(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    if document["state"] != "succeeded" or not own or any(run.unmatched for run in own):
        return
    if _silent(own, case.truth):
        return
    if not any(run.well for run in own):
        yield _verdict(claims, document, "succeeded", f"its body {own[-1]}", own, "no end that returned well")
    elif says_otherwise(_result(document)):
        yield _verdict(claims, document, "succeeded", "its result says that it was not", own, "a result that says failed or cancelled")


def _failed(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    if document["state"] != "failed" or any(run.unmatched for run in own):
        return
    if own and all(run.well for run in own):
        yield _verdict(claims, document, "failed", f"its body {own[-1]}", own, "an end that returned well")
    elif not own and not _refused(case.rows, claims.call):
        yield _verdict(
            claims, document, "failed", "its body never started, and nothing refused its inputs", own, "no failure that could be"
        )


def _cancelled_untouched(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    none_said = document["sideEffects"]["reconciliationState"] in _NOTHING_DONE
    if document["state"] not in {"cancelled", "expired"} or not none_said:
        return
    if any(run.effects or run.well for run in own):
        yield _verdict(claims, document, f"{document['state']}, no effects", f"its body {_touched(own)}", own, "an effect or an end")
    elif document["sideEffects"]["reconciliationState"] == "not-executed" and any(run.end != "pause" for run in own):
        yield _verdict(claims, document, f"{document['state']}, not executed", f"its body {own[-1]}", own, "the body ran")


def _cancelled_after(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    if document["state"] != "cancelled" or document["closure"]["kind"] in _BEFORE:
        return
    reconciliation = document["sideEffects"]["reconciliationState"]
    if not own and not claims.executed(document):
        return  # it never started and nobody says that it did
    if any(run.end in {"cancelled", "raise"} for run in own) and not any(run.effects for run in own):
        return
    if reconciliation in _OPEN and _confirmed(case.rows, claims.rows(document)):
        return
    if any(run.end in {"cancelled", "raise"} for run in own) and reconciliation in _OPEN:
        return  # it did end by it; what it had done before is left open
    true = f"its body {_touched(own)}" if own else "its body never started"
    yield _verdict(claims, document, "cancelled after dispatch", true, own, "no termination of the body was seen")


def _failed_unexecuted(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    if document["state"] == "failed" and document["sideEffects"]["reconciliationState"] == "not-executed" and own:
        yield _verdict(claims, document, "failed, not executed", f"its body {own[-1]}", own, "the body ran")


def decided_falsely(claims: Claims, case: Case) -> list[Verdict]:
    """Name approvals and denials that nobody made, and people who were not there; needs no truth of a body."""
    found: list[Verdict] = []
    everything = " ".join(f"{row.get('kind')} {row.get('event')}" for row in case.rows if row.get("src") in {"driver", "runtime"})
    for document in claims.documents:
        answer, who = document["authorization"]["state"], document["authorization"].get("decidedBy")
        denied = answer == "denied" or document["closure"]["kind"] == "denied"
        made = [one for one in case.decisions if one.call in {"", claims.call} and one.granted is not denied]
        if not (denied or answer == "granted"):
            continue
        said = f"{'denied' if denied else 'granted'} by {who}"
        rows = claims.rows(document, "approval.denied" if denied else "approval.granted")
        if not made:
            found.append(_verdict(claims, document, said, "nobody decided so", (), "no such decision", rows))
        elif who and who not in {"unrecorded", "model", "policy"} and str(who) not in everything:
            found.append(_verdict(claims, document, said, "nobody of that name decided", (), "no such decider", rows))
    return found


def _other_inputs(claims: Claims, document: Row, own: Sequence[Episode], case: Case) -> Iterator[Verdict]:
    said = case.executed.get(str(document["identity"]["invocationId"]))
    wrote = [_parsed(run.inputs) for run in own if run.inputs is not None]
    if said is not None and wrote and _parsed(said) not in wrote:
        true = f"its body was given {json.dumps(wrote[0], ensure_ascii=False)}"
        rows = claims.rows(document, "execution.started")
        yield _verdict(claims, document, f"executed with {json.dumps(said, ensure_ascii=False)}", true, own, "other inputs", rows)


_RULES: Final[tuple[_Rule, ...]] = (
    _never_started, _queued, _succeeded, _failed, _cancelled_untouched, _cancelled_after, _failed_unexecuted, _other_inputs,
)  # fmt: skip  # the table in one line


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def says_otherwise(result: Any) -> bool:
    """Tell whether a result owns up to being none: a status of failed or cancelled, an error mark, an abort as a text."""
    if isinstance(result, str):
        return bool(re.match(r"(AbortError|CancelledError)\b|Tool execution (was|is) (cancelled|aborted)", result))
    if not isinstance(result, dict):
        return False
    if result.get("isError") is True or result.get("is_error") is True:
        return True
    return any(str(result.get(name)).lower() in _DISGUISED for name in ("status", "state", "outcome"))


def _result(document: Row) -> Any:
    """Give the result of a call, or its text where it is no JSON."""
    output: Row = document.get("output") or {}
    return output.get("result", output.get("resultText"))


def _silent(own: Sequence[Episode], truth: Truth) -> bool:
    """Tell whether a result came though the body wrote no end, of a tool that writes none anywhere: nobody can judge that end."""
    told = any(run.end not in {"", "pause"} or run.tool in truth.writes_ends for run in own)
    return any(run.open and run.answered for run in own) and not told


def _touched(own: Sequence[Episode]) -> str:
    return str(next((run for run in own if run.effects), own[-1]))


def _confirmed(rows: Sequence[Row], cited: Sequence[int]) -> bool:
    """Tell whether a row that the record cites is the protocol's own terminal status."""
    return any(row.get("seq") in cited and _TERMINATED.search(f"{row.get('kind')} {row.get('event')}") for row in rows)


def _refused(rows: Sequence[Row], call: str) -> bool:
    """Tell whether the runtime refused the inputs of this call, or did not know its tool."""
    names = aliases(rows, call)
    return any(
        (row.get("src") == "outcome" or (row.get("src") == "runtime" and any(name in str(row.get("event")) for name in names)))
        and _REFUSED.search(f"{row.get('kind')} {row.get('event')}")
        for row in rows
    )


def _parsed(inputs: Any) -> Any:
    try:
        return json.loads(inputs) if isinstance(inputs, str) else inputs
    except ValueError:
        return inputs


def _verdict(
    claims: Claims, document: Row, said: str, true: str, own: Sequence[Episode], reason: str, rows: Sequence[int] | None = None
) -> Verdict:
    return Verdict(
        call=claims.call,
        invocation=document["identity"]["invocationId"],
        occurrence=occurrence(document),
        said=said,
        true=true,
        said_rows=tuple(claims.rows(document) if rows is None else sorted(set(rows))),
        true_rows=tuple(sorted({row for run in own for row in run.rows})),
        reason=reason,
    )
