"""What a report expects, key by key, against what the contract documents said; each comparison is exact, and one that cannot be made is named."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.outcome import apply_tool_result
from toolwitness.core.states import TERMINAL, Reconciliation, State
from toolwitness.ports import Recorded
from toolwitness.runtime.outcomes import outcome_of
from toolwitness.testing.reports import flags, reasons
from toolwitness.testing.reports.moments import Document, Moment
from toolwitness.testing.reports.stage import Answer, Stage, parsed
from toolwitness.testing.reports.story import texts

Fields = Mapping[str, Any]

MACHINE: Final = frozenset({"states", "checkpoints", "decisions", "dispatch", "closure", "lineage", "side_effects", "task", "blocked_by",
                            "controls", "reduce", "flags"})  # fmt: skip  # names in lines
"""Keys that a machine can read: a report with one of them unchecked has not passed."""
PROSE: Final = frozenset({"layer", "layer_note", "ruling", "display", "layout", "dom", "must_contain", "must_show", "must_not_contain",
                           "note", "notes", "transport", "digest", "clip", "copy"})  # fmt: skip  # names in lines
"""Keys of ``expected`` that only a person can read: what must be visible, and why."""


@dataclass(slots=True)
class Findings:
    """What the comparison of one report came to."""

    checked: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    """What was left unchecked because no machine can be asked to read it."""

    def compare(self, what: str, expected: object, actual: object, *, holds: bool | None = None) -> None:  # noqa: FBT001 - a result, not a mode
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


def _shown(value: object) -> str:
    if isinstance(value, frozenset | set):
        value = sorted(cast("Iterable[str]", value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _members(case: Case, key: str, value: object) -> Iterable[tuple[str, Any]]:
    """Give the members of an expected object; anything else is unchecked."""
    if isinstance(value, Mapping):
        yield from cast("Fields", value).items()
    else:
        case.findings.skip(f"{case.prefix}{key}", "it is not an object")


# ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _states(case: Case, value: object) -> None:
    for name, wanted in _members(case, "states", value):
        document = case.document(name)
        actual = str(document["state"]) if document and document["state"] else "no state"
        case.findings.compare(f"{case.prefix}states/{name}", wanted, actual, holds=actual in texts(wanted))


def _task(case: Case, value: object) -> None:
    for name, wanted in _members(case, "task", value):
        document = case.now.tasks.get(name)
        actual = str(document["task"]["state"]) if document else "no task"
        case.findings.compare(f"{case.prefix}task/{name}", wanted, actual, holds=actual in texts(wanted))


def _blocked_by(case: Case, value: object) -> None:
    for name, wanted in _members(case, "blocked_by", value):
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


# ── decisions and dispatch ──────────────────────────────────────────────────────────────────────────────────────────


def _decisions(case: Case, value: object) -> None:
    for seq, wanted in _members(case, "decisions", value):
        what = f"{case.prefix}decisions/{seq}"
        answer = case.stage.answers.get(int(seq)) if seq.isdigit() else None
        verdict, _, why = str(wanted).partition(":")
        if answer is None or answer.unclear:
            case.findings.skip(what, answer.unclear if answer else "there is no such event")
            continue
        holds = _decided_so(case, answer, verdict, why)
        if holds is None:
            case.findings.skip(what, f"no table knows {wanted!r}")
        else:
            case.findings.compare(what, wanted, decision_words(answer), holds=holds)


def _decided_so(case: Case, answer: Answer, verdict: str, why: str) -> bool | None:
    """Tell whether the desk answered as expected; ``None`` where the expectation is not understood."""
    match verdict:
        case "accepted":
            return answer.decision == "accepted"
        case "not-a-decision":
            return answer.decision == "none"
        case "rejected":
            return reasons.rejected_so(answer, why) if not why or reasons.known(reasons.REJECTED, why) else None
        case "duplicate-of":
            first = case.stage.answers.get(int(why)) if why.isdigit() else None
            refs = {str(r.event.ref) for r in first.recorded} if first else set[str]()
            return answer.decision == "refused" and first is not None and answer.act == first.act and str(answer.winner.get("ref")) in refs
        case "recorded-after-expiry":
            return answer.decision == "refused" and reasons.expired_before(answer) and _same_act(answer.act, why) and bool(answer.recorded)
        case _:
            return None


def _same_act(act: str, word: str) -> bool:
    return act == {"approved": "approve", "denied": "deny", "denial": "deny", "approval": "approve", "reject": "deny"}.get(word, word)


def decision_words(answer: Answer) -> str:
    """Say what the desk made of a decision, in a few words."""
    if answer.decision == "none":
        return "no decision"
    return "accepted" if answer.decision == "accepted" else f"refused by {answer.rule} ({answer.reason})"


def _dispatch(case: Case, value: object) -> None:
    for name, wanted in _members(case, "dispatch", value):
        what = f"{case.prefix}dispatch/{name}"
        answer = _dispatch_of(case, name)
        verdict, _, why = str(wanted).partition(":")
        if answer is None:
            case.findings.skip(what, "nothing asked for a dispatch there")
        elif verdict == "allow":
            case.findings.compare(what, wanted, _dispatch_words(answer), holds=answer.dispatch == "allow")
        elif verdict == "refuse" and (not why or reasons.known(reasons.REFUSED, why)):
            so = answer.dispatch == "refuse" and (not why or reasons.refused_so(answer, why))
            case.findings.compare(what, wanted, _dispatch_words(answer), holds=so)
        else:
            case.findings.skip(what, f"no table knows {wanted!r}")


def _dispatch_of(case: Case, name: str) -> Answer | None:
    """Give what was answered to a request for dispatch: at an event, or last about a call.

    A decision lets a call be dispatched, or does not; so does what it was refused for.
    """
    if name.isdigit():
        answer = case.stage.answers.get(int(name))
        if answer is None or answer.dispatch:
            return answer
        if answer.decision == "none":
            return None
        return Answer(dispatch="refuse", dispatch_rule=answer.rule, dispatch_reason=answer.reason or "nothing was permitted by it")
    wanted = case.id_of(name)
    about = [
        answer for answer in case.stage.answers.values()
        if answer.dispatch and any(r.event.invocation_id == wanted for r in answer.recorded)
    ]  # fmt: skip  # one comprehension
    return about[-1] if about else None


def _dispatch_words(answer: Answer) -> str:
    return answer.dispatch if answer.dispatch == "allow" else f"refused by {answer.dispatch_rule} ({answer.dispatch_reason})"


# ── what a record holds ─────────────────────────────────────────────────────────────────────────────────────────────

_CLOSURE_FIELDS: Final = frozenset({"kind", "owner", "initiator", "scope", "reason", "termination"})


def _closure(case: Case, value: object) -> None:
    for name, wanted in _members(case, "closure", value):
        document, record = case.document(name), case.now.records.get(case.id_of(name))
        for part, expected in _members(case, f"closure/{name}", wanted):
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
        (frozenset({"reconciled"}), frozenset({"as-reported"})),
    ),
    **dict.fromkeys(
        ("reconciled-not-charged", "reconciled-no-effect", "reconciled-not-executed"), (frozenset({"reconciled"}), frozenset({"no-effect"}))
    ),
})  # fmt: skip  # one line a word
"""The reports' words for what is known of effects: our words for it, and the conclusions of a reconciliation that fit."""


def _side_effects(case: Case, value: object) -> None:
    for name, wanted in _members(case, "side_effects", value):
        document, record = case.document(name), case.now.records.get(case.id_of(name))
        effects: Fields = document["sideEffects"] if document else {}
        for part, expected in _members(case, f"side_effects/{name}", wanted):
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
    for name, wanted in _members(case, "lineage", value):
        document = case.document(name)
        identity: Fields = document["identity"] if document else {}
        for part, expected in _members(case, f"lineage/{name}", wanted):
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
    for name, wanted in _members(case, "result_of_record", value):
        document = case.document(name)
        actual = document["output"].get("result") if document else None
        case.findings.compare(f"{case.prefix}result_of_record/{name}", wanted, actual)


def _inputs(case: Case, value: object) -> None:
    for name, wanted in _members(case, "inputs", value):
        document = case.document(name)
        actual = document["inputs"].get("values") if document else None
        case.findings.compare(f"{case.prefix}inputs/{name}", wanted, actual)


# ── controls and the inbox ──────────────────────────────────────────────────────────────────────────────────────────

CONTROLS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    **{name: frozenset({name}) for name in (
        "approve", "deny", "withdraw", "dismiss", "retry", "resubmit", "reverse", "reconcile", "submit", "supply_input", "edit_inputs",
        "choose_route", "request_cancellation", "request_approval_again", "inspect", "review", "copy", "continue",
    )},
    "retry-as-new-invocation": frozenset({"retry", "resubmit"}), "new-invocation": frozenset({"retry", "resubmit"}),
    "request-cancellation": frozenset({"request_cancellation"}), "cancel": frozenset({"request_cancellation"}),
    "request-approval-again": frozenset({"request_approval_again", "resubmit"}), "undo": frozenset({"reverse"}),
    "edit-inputs": frozenset({"edit_inputs"}), "edit": frozenset({"edit_inputs"}), "supply-input": frozenset({"supply_input"}),
    "choose-route": frozenset({"choose_route"}), "inspect": frozenset({"inspect", "review"}),
})  # fmt: skip  # names in groups
"""The reports' names of controls, beside ours."""


def _controls(case: Case, value: object) -> None:
    for name, wanted in _members(case, "controls", value):
        for part, expected in _members(case, f"controls/{name}", wanted):
            what = f"{case.prefix}controls/{name}/{part}"
            if part == "for":
                for who, listed in _members(case, f"controls/{name}/for", expected):
                    _controls_for(case, f"{what}/{who}", name, who, texts(listed))
            elif part in {"allow", "deny"} and all(word in CONTROLS for word in texts(expected)):
                invocation_id = case.id_of(name)
                offered = frozenset().union(*(seen.get(invocation_id, frozenset()) for seen in case.now.actions.values()))
                for word in texts(expected):
                    on = bool(CONTROLS[word] & offered)
                    case.findings.compare(f"{what}/{word}", part, "on" if on else "off", holds=on is (part == "allow"))
            else:
                case.findings.skip(what, f"no table knows {expected!r}")


def _controls_for(case: Case, what: str, name: str, who: str, listed: Sequence[str]) -> None:
    """Compare all that one person may do. Where an answer is among what anybody may do, it is asked while there was one to give."""
    if not all(word in CONTROLS for word in listed):
        case.findings.skip(what, f"no table knows one of {listed!r}")
        return
    moment = _while_open(case, case.id_of(name))
    offered = moment.actions.get(who, {}).get(case.id_of(name), frozenset[str]())
    covered = frozenset[str]().union(*(CONTROLS[word] & offered for word in listed))
    missing = [word for word in listed if not CONTROLS[word] & offered]
    case.findings.compare(what, list(listed), sorted(offered), holds=not missing and covered == offered)


def _while_open(case: Case, invocation_id: str) -> Moment:
    """Give the last moment at which the call waited for an answer, else the present one: who may decide is a matter of that time."""
    for moment in reversed(case.moments):
        record = moment.records.get(invocation_id)
        if record is not None and record.open_approval is not None and record.state not in TERMINAL:
            return moment
    return case.now


def _inbox(case: Case, value: object) -> None:
    """Compare the approvals that wait in anybody's inbox, or those that wait there for each person who is named."""
    if isinstance(value, Mapping):
        for who, listed in cast("Fields", value).items():
            mine = [i for i, actions in case.now.actions.get(who, {}).items() if actions & {"approve", "deny"}]
            found = sorted(a for a, ids in case.stage.approvals.items() if any(i in mine and _open_under(case, i, o) for i, o in ids.items()))
            case.findings.compare(f"{case.prefix}inbox/{who}", sorted(texts(listed)), found)
        return
    waiting = {a: ids for a, ids in case.stage.approvals.items() if any(i in shown for i in ids for shown in case.now.inbox.values())}
    still_open = [a for a, ids in waiting.items() if any(_open_under(case, i, ours) for i, ours in ids.items())]
    wanted = texts(value)
    case.findings.compare(f"{case.prefix}inbox", wanted, still_open, holds=sorted(wanted) == sorted(still_open))


def _open_under(case: Case, invocation_id: str, approval: str) -> bool:
    record = case.now.records.get(invocation_id)
    return record is not None and record.open_approval is not None and record.open_approval.id == approval


def _inbox_count(case: Case, value: object) -> None:
    pairs = {who: (case.now.counted[who], len(case.now.inbox[who])) for who in case.now.inbox}
    agree = all(counted == rows for counted, rows in pairs.values())
    case.findings.compare(f"{case.prefix}inbox_count_equals_rows", value, pairs, holds=agree is value)


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
    members: list[Any] = list(cast("Fields", results[0]).values()) if isinstance(results[0], Mapping) else [results[0]]
    rows = cast("list[Any]", max((m for m in members if isinstance(m, list)), key=len, default=[]))
    compact = json.dumps(results[0], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    for part, expected in _members(case, "integrity", value):
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
    "states": _states,
    "checkpoints": _checkpoints,
    "decisions": _decisions,
    "dispatch": _dispatch,
    "closure": _closure,
    "lineage": _lineage,
    "side_effects": _side_effects,
    "task": _task,
    "blocked_by": _blocked_by,
    "controls": _controls,
    "inbox": _inbox,
    "pending_in_root_view": _inbox,
    "inbox_count_equals_rows": _inbox_count,
    "result_of_record": _result_of_record,
    "inputs": _inputs,
    "flags": _flags,
    "reduce": _reduce,
    "integrity": _integrity,
    "must_not_show": _must_not_show,
})  # fmt: skip  # one line a key

__all__ = ["CHECKS", "PROSE", "Case", "Findings", "decision_words", "judge", "parsed"]
