"""What a report expects, key by key, against what the contract documents said.

Each comparison is exact, and one that cannot be made is named.
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.outcome import apply_tool_result
from toolwitness.core.states import Reconciliation, State
from toolwitness.runtime.outcomes import outcome_of
from toolwitness.testing.reports import answers, flags
from toolwitness.testing.reports.case import Case, Check, Fields, members
from toolwitness.testing.reports.story import texts

MACHINE: Final = frozenset({"states", "checkpoints", "decisions", "dispatch", "closure", "lineage", "side_effects", "task", "blocked_by",
                            "controls", "reduce", "flags"})  # fmt: skip  # names in lines
"""Keys that a machine can read: a report with one of them unchecked has not passed."""
PROSE: Final = frozenset({"layer", "layer_note", "ruling", "display", "layout", "dom", "must_contain", "must_show", "must_not_contain",
                           "note", "notes", "transport", "digest", "clip", "copy"})  # fmt: skip  # names in lines
"""Keys of ``expected`` that only a person can read: what must be visible, and why."""


def judge(case: Case, expected: Fields) -> None:
    """Check every key of ``expected``; one that is neither prose nor known is named as unchecked."""
    for key, value in expected.items():
        if key in PROSE:
            continue
        check = CHECKS.get(key)
        if check is None:
            case.findings.left.append(f"{case.prefix}{key}: no check knows this key")
        else:
            check(case, value)


# ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _states(case: Case, value: object) -> None:
    for name, wanted in members(case, "states", value):
        document = case.document(name)
        actual = str(document["state"]) if document and document["state"] else "no state"
        case.findings.compare(f"{case.prefix}states/{name}", wanted, actual, holds=actual in texts(wanted))


def _task(case: Case, value: object) -> None:
    for name, wanted in members(case, "task", value):
        document = case.now.tasks.get(name)
        actual = str(document["task"]["state"]) if document else "no task"
        case.findings.compare(f"{case.prefix}task/{name}", wanted, actual, holds=actual in texts(wanted))


def _blocked_by(case: Case, value: object) -> None:
    for name, wanted in members(case, "blocked_by", value):
        document = case.document(name)
        actual = [case.label(other) for other in document["blockedBy"]] if document else None
        wanted_names = [w.partition("#")[0] for w in texts(wanted)]
        same = actual is not None and sorted(wanted_names) == sorted(actual)
        case.findings.compare(f"{case.prefix}blocked_by/{name}", wanted, actual, holds=same)


def _checkpoints(case: Case, value: object) -> None:
    for checkpoint in cast("list[Fields]", value if isinstance(value, list) else []):
        after = checkpoint.get("after")
        if not isinstance(after, int) or not 0 <= after < len(case.moments):
            case.findings.skip(f"{case.prefix}checkpoints", f"there is no moment after event {after!r}")
            continue
        moments = case.moments[: after + 1]
        there = Case(
            stage=case.stage, moments=moments, findings=case.findings, prefix=f"after {after}/",
            recorded=[r for r in case.recorded if r.position <= moments[-1].position],
        )  # fmt: skip  # facts in lines
        judge(there, {key: part for key, part in checkpoint.items() if key != "after"})


# ── what a record holds ─────────────────────────────────────────────────────────────────────────────────────────────

_CLOSURE_FIELDS: Final = frozenset({"kind", "owner", "initiator", "scope", "reason", "termination"})


def _closure(case: Case, value: object) -> None:
    for name, wanted in members(case, "closure", value):
        document, record = case.document(name), case.now.records.get(case.id_of(name))
        for part, expected in members(case, f"closure/{name}", wanted):
            what = f"{case.prefix}closure/{name}/{part}"
            if part in _CLOSURE_FIELDS:
                actual = document["closure"][part] if document else None
                case.findings.compare(what, expected, actual, holds=actual in (expected if isinstance(expected, list) else [expected]))
            elif part in {"never_started", "executed"}:
                started = record is not None and bool(record.starts)
                worked = record is not None and record.seen_at_work
                case.findings.compare(what, expected, not started if part == "never_started" else worked)
            else:
                case.findings.skip(what, "a closure has no such field")


_RECONCILIATION: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = MappingProxyType({
    **{state.value: (frozenset({state.value}), frozenset[str]()) for state in Reconciliation},
    "none": (frozenset({"not-executed", "none-expected"}), frozenset[str]()),
    "not-required": (frozenset({"not-executed", "none-expected", "as-reported", "reconciled"}), frozenset[str]()),
    "not-needed": (frozenset({"not-executed", "none-expected", "as-reported", "reconciled"}), frozenset[str]()),
    "complete": (frozenset({"as-reported", "reconciled"}), frozenset[str]()),
    **dict.fromkeys(
        ("reconciled-charged", "reconciled-effect", "reconciled-applied", "reconciled-sent", "reconciled-done", "reconciled-executed"),
        (frozenset({"reconciled"}), frozenset({"as-reported", "happened"})),
    ),
    **dict.fromkeys(
        ("reconciled-not-charged", "reconciled-no-effect", "reconciled-not-executed"), (frozenset({"reconciled"}), frozenset({"no-effect"}))
    ),
})  # fmt: skip  # one line a word
"""The reports' words for what is known of effects: our words for it, and the conclusions of a reconciliation that fit."""


def _side_effects(case: Case, value: object) -> None:
    for name, wanted in members(case, "side_effects", value):
        document, record = case.document(name), case.now.records.get(case.id_of(name))
        effects: Fields = document["sideEffects"] if document else {}
        for part, expected in members(case, f"side_effects/{name}", wanted):
            what = f"{case.prefix}side_effects/{name}/{part}"
            if part == "observed":
                seen = [str(e.get("providerReference") or e.get("reference") or e.get("effect")) for e in effects.get("observed", [])]
                case.findings.compare(what, expected, seen, holds=sorted(texts(expected)) == sorted(seen))
            elif part == "reconciliationState" and all(word in _RECONCILIATION for word in texts(expected)):
                concluded = str(record.reconciliations[-1].data["conclusion"]) if record and record.reconciliations else ""
                actual = str(effects.get("reconciliationState"))
                fits = (_RECONCILIATION[word] for word in texts(expected))
                holds = any(actual in states and (not ends or concluded in ends) for states, ends in fits)
                case.findings.compare(what, expected, f"{actual} ({concluded})" if concluded else actual, holds=holds)
            else:
                case.findings.skip(what, f"no table knows {expected!r}")


def _lineage(case: Case, value: object) -> None:
    for name, wanted in members(case, "lineage", value):
        document = case.document(name)
        identity: Fields = document["identity"] if document else {}
        for part, expected in members(case, f"lineage/{name}", wanted):
            what = f"{case.prefix}lineage/{name}/{part}"
            if part == "attempt":
                case.findings.compare(what, expected, identity.get("attempt"))
            elif part in {"retryOf", "replaces", "reverses", "parentId"}:
                linked = (identity if part in identity else document or {}).get(part)
                shown = None if linked is None else case.label(str(linked)) if "#" not in str(expected) else case.stage.named(str(linked))
                case.findings.compare(what, expected, shown)
            else:
                case.findings.skip(what, "a lineage has no such field")


def _result_of_record(case: Case, value: object) -> None:
    for name, wanted in members(case, "result_of_record", value):
        document = case.document(name)
        actual = document["output"].get("result") if document else None
        case.findings.compare(f"{case.prefix}result_of_record/{name}", wanted, actual)


def _reclassified(case: Case, value: object) -> None:
    for name, wanted in members(case, "reclassified", value):
        document = case.document(name)
        actual = document["consequence"]["classes"] if document else None
        case.findings.compare(f"{case.prefix}reclassified/{name}", wanted, actual)


def _inputs(case: Case, value: object) -> None:
    for name, wanted in members(case, "inputs", value):
        document = case.document(name)
        actual = document["inputs"].get("values") if document else None
        case.findings.compare(f"{case.prefix}inputs/{name}", wanted, actual)


# ── flags and the reducer ───────────────────────────────────────────────────────────────────────────────────────────


def _flags(case: Case, value: object) -> None:
    for flag in cast("list[object]", value) if isinstance(value, list) else [value]:
        found = flags.holds(str(flag), case.stage, case.moments, case.recorded)
        if found is None:
            case.findings.skip(f"{case.prefix}flags/{flag}", "no table knows this flag")
        else:
            case.findings.compare(f"{case.prefix}flags/{flag}", "on record", "on record" if found else "not on record")


def _reduce(case: Case, value: object) -> None:
    """Compare what the reducer makes of an outcome, and that what does not commit gives back the very same state."""
    given = next((case.stage.story.input[name] for name in ("reducer_inputs", "tool_results") if name in case.stage.story.input), [])
    for entry in cast("list[Fields]", value if isinstance(value, list) else []):
        name, index = entry.get("for"), entry.get("in")
        what = f"{case.prefix}reduce/{name if name is not None else index}"
        record = case.now.records.get(case.id_of(str(name))) if name is not None else None
        if record is not None:
            document = case.now.documents[record.id]
            result: Any = outcome_of(record, document["output"].get("result")).as_tool_result()
        elif isinstance(index, int) and isinstance(given, list) and index < len(cast("list[Any]", given)):
            result = given[index]
        else:
            case.findings.skip(what, "it names neither a call on record nor a given result")
            continue
        state: dict[str, Any] = {"kept": True}
        reduced = apply_tool_result(state, result)
        for part, expected in entry.items():
            if part in {"for", "in"}:
                continue
            actual = reduced["commit"] if part == "commit" else reduced["meta"].get(part)
            wanted = cast("list[Any]", expected) if isinstance(expected, list) else [expected]
            case.findings.compare(f"{what}/{part}", expected, actual, holds=actual in wanted)
        if not reduced["commit"]:
            case.findings.compare(f"{what}/state", "the same state", "the same state" if reduced["state"] is state else "a copy")


def _integrity(case: Case, value: object) -> None:
    """Compare what is stored with what was given: how many entries, how many of them marked, and the very bytes in compact form."""
    results = [d["output"]["result"] for d in case.now.documents.values() if d["output"].get("result") is not None]
    if len(results) != 1:
        case.findings.left.append(f"{case.prefix}integrity: it does not say of which result")
        return
    inside: list[Any] = list(cast("Fields", results[0]).values()) if isinstance(results[0], Mapping) else [results[0]]
    rows = cast("list[Any]", max((part for part in inside if isinstance(part, list)), key=len, default=[]))
    compact = json.dumps(results[0], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    for part, expected in members(case, "integrity", value):
        if part == "sha256_of_compact_json":
            case.findings.compare(f"{case.prefix}integrity/{part}", expected, sha256(compact).hexdigest())
        elif part == "records":
            case.findings.compare(f"{case.prefix}integrity/{part}", expected, len(rows))
        else:
            marked = sum(1 for row in rows if isinstance(row, Mapping) and cast("Fields", row).get(part))
            case.findings.compare(f"{case.prefix}integrity/{part}", expected, marked)


_CLAIM: Final = re.compile(r"^(\w+(?:#\d+)?) (\w+)$")


def _must_not_show(case: Case, value: object) -> None:
    """Check the false claims that are no more than a state: ``i1 failed``, ``i2 denied``. The others are for people to look at."""
    for said in texts(value):
        found = _CLAIM.match(said)
        name, word = found.groups() if found else ("", "")
        document = case.document(name)
        if document is not None and word in _STATE_WORDS:
            case.findings.compare(f"{case.prefix}must_not_show/{said}", f"not {word}", document["state"], holds=document["state"] != word)
        elif document is not None and word in _CLOSURE_WORDS:
            kind = document["closure"]["kind"]
            case.findings.compare(f"{case.prefix}must_not_show/{said}", f"not {word}", kind, holds=kind != word)


_STATE_WORDS: Final = frozenset(State)
_CLOSURE_WORDS: Final = frozenset({"denied", "dismissed", "withdrawn"})

CHECKS: Final[Mapping[str, Check]] = MappingProxyType({
    **answers.CHECKS,
    "states": _states,
    "checkpoints": _checkpoints,
    "closure": _closure,
    "lineage": _lineage,
    "side_effects": _side_effects,
    "task": _task,
    "blocked_by": _blocked_by,
    "result_of_record": _result_of_record,
    "inputs": _inputs,
    "reclassified": _reclassified,
    "flags": _flags,
    "reduce": _reduce,
    "integrity": _integrity,
    "must_not_show": _must_not_show,
})  # fmt: skip  # one line a key
