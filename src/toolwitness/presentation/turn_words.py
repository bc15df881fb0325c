"""What a model is told of one call: the sentences, each no stronger than its evidence, and the exact texts that stand beside them.

A model that is told less makes the call again; one that is told more builds on what never happened. Texts of exceptions are never told.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from toolwitness.core.evidence import Kind
from toolwitness.core.findings import OPENS_RECONCILIATION, Code
from toolwitness.core.record import Closure, Effect
from toolwitness.core.states import NO_REASON, TERMINAL, ClosureKind, Owner, Reconciliation, State, Termination
from toolwitness.core.values import Redacted
from toolwitness.core.verdicts import Verdict
from toolwitness.presentation.foreign import line
from toolwitness.presentation.headlines import effect_words, findings
from toolwitness.presentation.reading import Reading, fields, value_ref
from toolwitness.presentation.times import TOKEN, token
from toolwitness.presentation.turn_formats import Told
from toolwitness.presentation.values import Number, items_of, members, pairs_of, read, written
from toolwitness.presentation.words import collector_words, counted, deadline_words, joined, request_of

_CLOSED: Final = MappingProxyType({
    ClosureKind.DENIED: Told.DENIED,
    ClosureKind.DISMISSED: Told.DISMISSED,
    ClosureKind.WITHDRAWN: Told.WITHDRAWN,
    ClosureKind.ANSWERED_BY_HUMAN: Told.ANSWERED,
    ClosureKind.TERMINATED: Told.CANCELLED,
    ClosureKind.EXPIRED: Told.EXPIRED,
})  # fmt: skip  # one line a kind
_BY_STATE: Final = MappingProxyType({
    State.SUCCEEDED: Told.SUCCEEDED,
    State.FAILED: Told.FAILED,
    State.EXPIRED: Told.EXPIRED,
    State.QUEUED: Told.QUEUED,
    State.RUNNING: Told.RUNNING,
    State.STREAMING: Told.RUNNING,
    State.PARTIALLY_COMPLETE: Told.RUNNING,
    State.PROPOSED: Told.PROPOSED,
})  # fmt: skip  # one line a state
_CHUNKS: Final = 256
_DETAIL: Final = 4_000


def told_of(reading: Reading) -> Told:
    """Tell which of the things that a model can be told is so."""
    record = reading.record
    if record.state is State.CANCELLED:
        return _CLOSED[record.closure.kind] if record.closure is not None else Told.CANCELLED
    if record.state is not None and record.state in TERMINAL:
        return _BY_STATE[record.state]
    if Code.OUTCOME_UNKNOWN in record.findings:
        return Told.UNKNOWN
    if _found_out(reading):
        return Told.FOUND_OUT
    if record.state is State.AWAITING_APPROVAL:
        return Told.APPROVED if record.granted else Told.AWAITING_APPROVAL
    if record.state is State.AWAITING_INPUT:
        return Told.INPUTS_REFUSED if (record.input_request or {}).get("collector") == "model" else Told.AWAITING_INPUT
    return Told.UNRECORDED if record.state is None else _BY_STATE[record.state]


_OF_CONTACT: Final = frozenset({Kind.LOST, Kind.STARTED, Kind.HEARTBEAT, Kind.PROGRESS, Kind.OUTPUT, Kind.PART_COMPLETED})


def _found_out(reading: Reading) -> bool:
    """Tell whether contact was lost, has not come back, and somebody has found out since what the call did."""
    told = [r.event.kind for r in reading.events if r.event.kind in _OF_CONTACT | {Kind.RECONCILED} and r.verdict is not Verdict.REFUSED]
    contact = [place for place, kind in enumerate(told) if kind in _OF_CONTACT]
    return bool(contact) and told[contact[-1]] == Kind.LOST and Kind.RECONCILED in told[contact[-1] :]


def plain_times(sentence: str) -> str:
    """Write the times in a sentence of ours as RFC 3339: a model has no clock of its own to set them by."""
    return TOKEN.sub(lambda match: match[1], sentence)


# ── what has become of it ───────────────────────────────────────────────────────────────────────────────────────────


def lead(reading: Reading) -> str:
    """Say in a sentence or two what has become of the call, by whom and why."""
    return _LEADS[told_of(reading)](reading)


def _succeeded(reading: Reading) -> str:
    outcome = reading.record.outcome
    return f"It succeeded at {token(str(outcome.data['completed_at']))}." if outcome else "It succeeded."


def _failed(reading: Reading) -> str:
    outcome = reading.record.outcome
    if outcome is None:
        return "It failed."
    said = reading.plain(outcome.data["detail"], cut_at=_DETAIL)
    return f"It failed ({line(outcome.data['category'])}): {_ended(said)}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _refused(reading: Reading) -> str:
    asked = reading.record.input_request or {}
    rows = [row for row in map(pairs_of, items_of(asked.get("fields"))) if row.get("name")]
    wrong = [f"{line(row['name'])}: {line(row.get('message') or 'not accepted')}" for row in rows]
    missing = [line(name) for name in items_of(asked.get("unresolved"))]
    why = "; ".join(wrong) or (f"unresolved: {', '.join(missing)}" if missing else reading.plain(asked.get("validation") or NO_REASON))
    problems = reading.plain(asked["problems"], cut_at=_DETAIL) if asked.get("problems") and reading.value(asked["problems"]) else ""
    whole = " ".join(_ended(part) for part in (why, problems) if part)
    return f"Its inputs were refused and it did not run: {whole} Make the call anew with other inputs."


def _closed_by(verb: str, rest: str = "") -> Callable[[Reading], str]:
    """Make the sentence of a closure: who closed it when and why, and what that is not."""

    def sentence(reading: Reading) -> str:
        closure = cast("Closure", reading.record.closure)  # what is told here was told apart by it
        reason = "" if closure.reason in {"", NO_REASON} else f" Reason: {_ended(line(closure.reason))}"
        return f"It was {verb} by {reading.who(closure.initiator)} at {token(closure.at)}.{reason or ' No reason was given.'}{rest}"

    return sentence


def _cancelled(reading: Reading) -> str:
    closure = reading.record.closure
    if closure is None:
        return "It was cancelled."
    who = reading.who(closure.initiator)
    by = request_of(who) if closure.request_ref else f"by {who}"
    how = "its executor confirms that it ended" if closure.termination is Termination.CONFIRMED else "its body was seen to end"
    reason = "" if closure.reason in {"", NO_REASON} else f" Reason: {_ended(line(closure.reason))}"
    return f"It was cancelled at {token(closure.at)} {by}; {how}.{reason}"


def _expired(reading: Reading) -> str:
    passed = reading.by_ref.get(next(iter(reading.record.state_refs), ""))
    name = deadline_words(reading.record.elapsed)
    if passed is None:
        return f"It expired: {name[0].lower()}{name[1:]} lapsed."
    clock = "the server's clock" if passed.event.owner is Owner.POLICY else "the runtime's clock"
    return f"It expired: {name[0].lower()}{name[1:]} lapsed at {token(str(fields(passed).get('declared_at') or ''))}, by {clock}."


def _running(reading: Reading) -> str:
    since = f"started at {token(reading.record.started_at)}" if reading.record.started_at else "seen at work"
    return f"It is still running: {since}, and no end is recorded. {NOT_AGAIN}"


def _approved(reading: Reading) -> str:
    answer = reading.record.approval.answer if reading.record.approval else None
    by = f" by {reading.who(answer.actor)} at {token(answer.at)}" if answer else ""
    return f"It was approved{by}, and nothing has accepted it yet. {NOT_AGAIN}"


def _awaiting_approval(reading: Reading) -> str:
    asked = reading.record.approval
    whose = reading.plain(asked.data.get("authority")) if asked and asked.data.get("authority") else "a person"
    return f"It waits for an approval ({whose}) and has not been handed on. {NOT_AGAIN}"


def _awaiting_input(reading: Reading) -> str:
    asked = reading.record.input_request or {}
    missing = [line(name) for name in items_of(asked.get("unresolved"))]
    what = f" for {joined(missing, 'and')}" if missing else " for input"
    whom = collector_words(line(asked.get("collector") or "person"))
    return f"It waits{what}, which {whom} supplies, and has not been handed on. {NOT_AGAIN}"


NOT_AGAIN: Final = "Do not make this call again: it is not over, and it could be done twice."
UNRECORDED: Final = "Nothing is recorded of this call: whether it ran is not known here. Take it neither for done nor for not done."
_LEADS: Final[Mapping[Told, Callable[[Reading], str]]] = MappingProxyType({
    Told.SUCCEEDED: _succeeded,
    Told.FAILED: _failed,
    Told.INPUTS_REFUSED: _refused,
    Told.DENIED: _closed_by("denied", " This is a decision and no malfunction."),
    Told.DISMISSED: _closed_by("dismissed"),
    Told.WITHDRAWN: _closed_by("withdrawn"),
    Told.ANSWERED: _closed_by("answered in the tool's place", " The tool itself did not run."),
    Told.CANCELLED: _cancelled,
    Told.EXPIRED: _expired,
    Told.UNKNOWN: lambda reading: "How it ended is not known. Do not make this call again before that is known: it could be done twice.",
    Told.FOUND_OUT: lambda reading: "Its end was not seen; what it did was found out afterwards.",
    Told.RUNNING: _running,
    Told.QUEUED: lambda reading: f"It is accepted and has not been seen to start. {NOT_AGAIN}",
    Told.APPROVED: _approved,
    Told.AWAITING_APPROVAL: _awaiting_approval,
    Told.AWAITING_INPUT: _awaiting_input,
    Told.PROPOSED: lambda reading: f"It is proposed and has not been handed on. {NOT_AGAIN}",
    Told.UNRECORDED: lambda reading: UNRECORDED,
})  # fmt: skip  # one line a thing that can be told

# ── what is known of the world ──────────────────────────────────────────────────────────────────────────────────────

_WORLD: Final = MappingProxyType({
    Reconciliation.NOT_EXECUTED: "It did not run.",
    Reconciliation.NONE_EXPECTED: "No effect of it is expected.",
    Reconciliation.AS_REPORTED: "",
    Reconciliation.UNKNOWN: "Its outcome in the world is unknown: it may have had its effect.",
    Reconciliation.REQUIRED: "Its outcome in the world is unknown until somebody has found it out: it may have had its effect.",
    Reconciliation.RECONCILED: "",
})  # fmt: skip  # one line a value
_TOLD_FINDINGS: Final = OPENS_RECONCILIATION | {
    Code.STARTED_WITHOUT_PERMIT, Code.RAN_WITHOUT_APPROVAL, Code.COMPLETED_DESPITE_CANCEL, Code.EFFECT_AFTER_CANCEL,
    Code.CANCEL_UNACKNOWLEDGED, Code.CANNOT_BE_STOPPED, Code.WAITER_GONE, Code.RETRY_UNLINKED, Code.IDEMPOTENCY_KEY_CHANGED,
}  # fmt: skip  # names in lines
"""What a model must know besides: whatever bears on what was done, and on whether it can be done again."""


def world(reading: Reading) -> Iterator[str]:
    """Say what is known of the call's effects, those after its end included, and what people have found out."""
    record, told = reading.record, told_of(reading)
    said = {Code.CANCEL_UNACKNOWLEDGED} if record.open_cancellation is not None else frozenset[Code]()
    for strip in findings(reading):
        if strip["code"] in _TOLD_FINDINGS - said:
            yield f"{strip['headline']} {strip['detail']}"
    yield from (_effect(reading, effect) for effect in record.effects if effect.late or told is not Told.SUCCEEDED)
    if record.commitment is not None and told is not Told.SUCCEEDED:
        yield f"It passed its point of no return at {token(record.commitment.at)}: {_ended(line(record.commitment.data['boundary']))}"
    if record.state in TERMINAL and told not in {Told.SUCCEEDED, Told.ANSWERED} and (known := _WORLD[record.reconciliation]):
        yield known.replace("it may have had its effect", "more than this may have happened") if record.effects else known
    for settled in record.reconciliations:
        detail = f": {reading.plain(settled.data['detail'])}" if settled.data.get("detail") else ""
        reference = f" (reference {line(settled.data['reference'])})" if settled.data.get("reference") else ""
        who = reading.who(settled.data["by"])
        yield _ended(f"{who} found out at {token(settled.at)}: {line(settled.data['conclusion'])}{reference}{detail}")


_EFFECT_FIELDS: Final = ("recipient", "resource", "reference", "provider_reference")


def _effect(reading: Reading, effect: Effect) -> str:
    said = effect.data
    known = [f"{name.replace('_', ' ')} {line(said[name])}" for name in _EFFECT_FIELDS if said.get(name)]
    when = f"at {token(str(said.get('at') or effect.at))}{', after the end of the call' if effect.late else ''}"
    return f"Recorded effect: {', '.join([effect_words(reading, effect), when, *known])}."


def asked_of_it(reading: Reading) -> Iterator[str]:
    """Say what people have asked for and nothing has confirmed, and which inputs took the place of the proposed ones."""
    record, asked = reading.record, reading.record.open_cancellation
    if asked is not None:
        yield f"Its cancellation was requested by {reading.who(asked.actor)} at {token(asked.at)}; nothing has confirmed it."
    if record.permission is not None and record.permission.get("refused") and record.state not in TERMINAL:
        yield f"Policy does not let it start: {_ended(reading.own(str(record.permission.get('reason'))))}"
    changed = record.executed_inputs if Code.EXECUTED_INPUTS_DIFFER in record.findings else None
    editor = next((r.event.data.get("actor") for kind in (Kind.INPUTS_EDITED, Kind.INPUT_SUPPLIED) if (r := reading.last(kind))), None)
    if changed is None and editor is not None and told_of(reading) is not Told.ANSWERED:
        changed = record.executed_inputs or record.inputs
    text = reading.inputs(changed) if changed is not None else None
    if text is not None:
        by = f", as {reading.who(editor)} changed them" if editor is not None else ""
        yield f"Its inputs are not the proposed ones{by}: {line(text.text, cut_at=_DETAIL)}"


# ── exact texts ─────────────────────────────────────────────────────────────────────────────────────────────────────


def exact_text(reading: Reading, said: object) -> str:
    """Give a recorded value as it was written, to the last digit; what cannot be read is said in words."""
    if not value_ref(said):
        return written(said)
    raw = reading.values.get(value_ref(said))
    if raw is not None:
        return raw.decode("utf-8", "backslashreplace")
    absent = reading.absent(said)
    gone = absent.startswith("erased")
    return f"(The recorded value was {plain_times(absent)}.)" if gone else "(The recorded value cannot be read here.)"


def result_text(reading: Reading) -> str:
    """Give the result of a success exactly, or say where it is."""
    outcome = reading.record.outcome
    said: Mapping[str, Any] = outcome.data if outcome is not None else {}
    if said.get("result") is None:
        return f"(It succeeded; its runtime keeps the result as {line(said.get('result_ref') or 'an unnamed value')}.)"
    text = exact_text(reading, said["result"])
    return text if text.strip() else "(It succeeded; its result is an empty text.)"


def answer_text(reading: Reading) -> str:
    """Give exactly what a person answered in the tool's place; an empty text where no answer is recorded."""
    supplied = reading.last(Kind.INPUT_SUPPLIED)
    return exact_text(reading, fields(supplied)["inputs"]) if fields(supplied).get("inputs") is not None else ""


def partial(reading: Reading) -> tuple[list[str], str]:
    """Give what a call without a result has given all the same: sentences, and its output as text."""
    record = reading.record
    said: list[str] = []
    if record.parts:
        ended = [f"{line(part['part'])} ({reading.plain(part.get('outcome') or 'ended')})" for part in record.parts]
        left = f" Still open: {', '.join(line(part) for part in record.open_parts)}." if record.open_parts else ""
        said.append(f"Complete parts of it: {', '.join(ended)}.{left}")
    if record.progress and record.progress.get("text"):
        said.append(f"It last reported: {_ended(reading.plain(record.progress['text']))}")
    chunks = record.output_chunks[-_CHUNKS:]
    texts = [_chunk(reading, chunk.get("output")) for chunk in chunks]
    if chunks:
        whole = counted(len(record.output_chunks), "part")
        cut = f", of which the last {len(chunks)} stand here" if len(chunks) < len(record.output_chunks) else ""
        late = "; some of it came after the end" if any(chunk.get("late") for chunk in record.output_chunks) else ""
        said.append(f"It gave {whole} of output and no result{cut}{late}; the output is partial.")
    return said, "".join(texts)


def _chunk(reading: Reading, said: object) -> str:
    """Give one chunk: a JSON text as its text, so that chunks join; anything else on lines of its own."""
    if not value_ref(said):
        return said if isinstance(said, str) else f"{written(said)}\n"
    text = reading.value(said)
    if text is not None and text.is_json and type(text.parsed) is str:
        return text.parsed.encode("utf-8", "backslashreplace").decode()
    return f"{exact_text(reading, said)}\n"


# ── what policy hides ───────────────────────────────────────────────────────────────────────────────────────────────


def hidden_texts(reading: Reading) -> frozenset[str]:
    """Give the scalars that policy redacts from the call's inputs, in every spelling in which a text could repeat them."""
    record = reading.record
    supplied = [fields(r).get("inputs") for r in reading.events if r.event.kind in {Kind.INPUT_SUPPLIED, Kind.INPUTS_EDITED}]
    found: set[str] = set()
    for said in (*record.inputs_history, record.inputs, record.executed_inputs, *supplied):
        raw = reading.values.get(value_ref(said))
        if raw is None or isinstance(raw, Redacted):
            continue  # it came out of its seal without its secrets, and so did whatever repeats them
        parsed = read(raw).parsed
        for pointer in reading.redact:
            steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
            found.update(spelling for value in _at(parsed, steps) for spelling in _spellings(value))
    return frozenset(found)


def _at(parsed: Any, steps: Sequence[str]) -> Iterator[str]:
    """Find the scalars at and under the end of the steps."""
    listed = cast("list[Any]", parsed) if isinstance(parsed, list) else []
    for name, inner in (*members(parsed), *((str(place), inner) for place, inner in enumerate(listed))):
        if not steps or name == steps[0]:
            yield from _at(inner, steps[1:])
    if not steps and isinstance(parsed, str):
        yield parsed


_SHORTEST_TEXT: Final = 3
_SHORTEST_NUMBER: Final = 4


def _spellings(value: str) -> Iterator[str]:
    """Spell a text as it is, as JSON writes it, and as JSON in ASCII writes it; a shorter one would hide half of every text."""
    if len(value) >= (_SHORTEST_NUMBER if isinstance(value, Number) else _SHORTEST_TEXT):
        yield from (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1])


def masked(text: str, hidden: frozenset[str]) -> str:
    """Give ``text`` with every hidden one replaced by what says so, the longest first."""
    if not hidden:
        return text
    pattern = "|".join(re.escape(word) for word in sorted(hidden, key=len, reverse=True))
    return re.sub(pattern, "(not shown, by policy)", text)
