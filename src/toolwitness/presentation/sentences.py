"""What each kind of evidence says, as one line of the rail: who did what. Every kind has its sentence, and a kind that we do not know is quoted."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.states import ClosureKind, Termination, Validation
from toolwitness.presentation.amounts import money
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import Reading, RecordedEvent, fields, place_words
from toolwitness.presentation.times import token
from toolwitness.presentation.values import items_of
from toolwitness.presentation.words import CLOSURES, collector_words, conclusion_words, counted, deadline_words, request_of

Said = Mapping[str, Any]
Sentence = Callable[[Reading, Said], str]


def sentence(reading: Reading, recorded: RecordedEvent) -> str:
    """Say in one line what an event says; what is missing from it is left out, never filled in."""
    event = recorded.event
    spoken = _SENTENCES.get(event.kind)  # type: ignore[call-overload]  # a foreign kind is simply not a key
    return spoken(reading, fields(recorded)) if spoken else f"Said “{line(event.kind)}”, which is not understood here"


def _given(reading: Reading, said: Said, name: str, before: str = "") -> str:
    """Give a field with the words before it, or nothing where it is absent."""
    value = said.get(name)
    return f"{before}{reading.plain(value)}" if value not in (None, "", [], {}) else ""


def _listed(reading: Reading, value: Any) -> str:
    return ", ".join(reading.plain(part) for part in items_of(value)) or "nothing"


def _answered(reading: Reading, said: Said) -> str:
    """Say of an answer in the tool's place that it is one; empty for any other input."""
    given = reading.answer_given
    return f"Answer given in the tool's place{_given(reading, said, 'reason', ': ')}" if given and given == said else ""


def _plural(value: Any) -> str:
    names = items_of(value)
    return counted(len(names), "field") if names else "inputs"


# ── runtime ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _proposed(reading: Reading, said: Said) -> str:
    return f"Proposed by {reading.who(said.get('proposer'))}{_given(reading, said, 'source_request', ', asked for in ')}"


def _claimed(reading: Reading, said: Said) -> str:
    return f"The permit to start was taken{_given(reading, said, 'worker', ' by ')}"


def _accepted(reading: Reading, said: Said) -> str:
    return f"Queued{_given(reading, said, 'queue_ref', ' as ')}{_given(reading, said, 'dependency_condition', ', on condition: ')}"


def _started(reading: Reading, said: Said) -> str:
    where = place_words(said)
    return f"Started{f' {where}' if where else ''}{_given(reading, said, 'lease', ', lease ')}"


def _progress(reading: Reading, said: Said) -> str:
    percent = f"{line(said['percent'])} %" if said.get("percent") is not None else ""
    counts = f"{_given(reading, said, 'current')}{_given(reading, said, 'total', ' of ')}"
    text = ", ".join(part for part in (_given(reading, said, "text"), counts, percent) if part)
    return f"Progress {line(said.get('order', ''))}: {text}" if text else f"Progress {line(said.get('order', ''))}"


def _output(reading: Reading, said: Said) -> str:
    return f"Output {line(said.get('order', ''))}{_given(reading, said, 'channel', ' on ')}"


def _part(reading: Reading, said: Said) -> str:
    still = said.get("open")
    rest = f"still open: {_listed(reading, still)}" if still else "nothing is open"
    return f"Part {_given(reading, said, 'part')} ended{_given(reading, said, 'outcome', ': ')}; {rest}"


def _effect(reading: Reading, said: Said) -> str:
    amount = f": {money(said['amount'], said.get('currency'))}" if said.get("amount") is not None else ""
    reference = _given(reading, said, "provider_reference", ", reference ") or _given(reading, said, "reference", ", reference ")
    return f"Effect: {_given(reading, said, 'effect')}{amount}{_given(reading, said, 'recipient', ', to ')}{reference}"


def _succeeded(reading: Reading, said: Said) -> str:
    return f"Succeeded{_given(reading, said, 'summary', ': ')}{_FITS.get(str(said.get('validation')), '')}"


_FITS: Final = MappingProxyType({
    Validation.PASSED.value: "; the result fits its declared type",
    Validation.ACCEPTED.value: "; the runtime says that the result passed its check",
    Validation.UNDECLARED.value: "; no type is declared for the result",
    Validation.REJECTED.value: "; the result does not fit its declared type",
})  # fmt: skip  # one line a check


def _failed(reading: Reading, said: Said) -> str:
    return f"Failed: {_given(reading, said, 'detail')}{_given(reading, said, 'category', ' — ')}"


def _acknowledged(reading: Reading, said: Said) -> str:
    termination = said.get("termination")
    if termination == Termination.UNWOUND:
        how = "Stopped: its own task was seen to end"
    elif termination == Termination.CONFIRMED:
        how = "Stopped: its executor says that it has ended"
    else:
        how = f"Reported as stopped{_given(reading, said, 'termination', ', termination ')}"
    return f"{how}, {request_of(reading.who(said.get('initiator')))}"


def _elapsed(_reading: Reading, said: Said) -> str:
    return f"{deadline_words(said.get('deadline'))} lapsed: {token(str(said.get('declared_at') or ''))} has passed"


# ── policy ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(reading: Reading, said: Said) -> str:
    until = f", until {token(str(said['expires_at']))}" if said.get("expires_at") else ""
    return f"Approval asked for{_given(reading, said, 'authorization_owner', ' by ')}{until}{_given(reading, said, 'rule', ', by rule ')}"


def _closed(reading: Reading, said: Said) -> str:
    word = next((words for kind, words in CLOSURES.items() if kind == said.get("kind")), line(said.get("kind") or "of no recorded kind"))
    closed = "Answered by a person in the tool's place" if said.get("kind") == ClosureKind.ANSWERED_BY_HUMAN else f"Closed: {word}"
    return f"{closed} by {reading.who(said.get('initiator'))}{_given(reading, said, 'reason', ': ')}"


def _rejected_inputs(reading: Reading, said: Said) -> str:
    return (
        f"Inputs refused: {_listed(reading, said.get('validation'))}; {collector_words(_given(reading, said, 'collector'))} corrects them"
    )


def _moved(reading: Reading, said: Said) -> str:
    return f"It now waits for {reading.label(said.get('moved_to'))} in place of {reading.label(said.get('dependency'))}"


def _reconciled(reading: Reading, said: Said) -> str:
    concluded = conclusion_words(said.get("conclusion") or "")
    return f"Reconciled by {reading.who(said.get('by'))}: {concluded}{_given(reading, said, 'reference', ', reference ')}"


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _decided(words: str) -> Sentence:
    """Make the sentence of a person's act, with the reason where one was given."""

    def spoken(reading: Reading, said: Said) -> str:
        return f"{words}{_given(reading, said, 'reason', ': ')}"

    return spoken


def _cancel_requested(reading: Reading, said: Said) -> str:
    return f"Cancellation requested{_given(reading, said, 'scope', ', scope: ')}{_given(reading, said, 'reason', ': ')}"


def _again(words: str) -> Sentence:
    """Make the sentence of a request that a new call answers."""

    def spoken(reading: Reading, said: Said) -> str:
        new = f": {reading.label(said['new_invocation'])}" if said.get("new_invocation") else ""
        return f"{words}{_given(reading, said, 'route', ', ')}{new}{_given(reading, said, 'reason', ', reason: ')}"

    return spoken


_SENTENCES: Final = MappingProxyType[Kind, Sentence]({
    Kind.TASK_OPENED: lambda r, s: f"Task opened: {_given(r, s, 'purpose')}",
    Kind.PROPOSED: _proposed,
    Kind.CLAIMED: _claimed,
    Kind.ACCEPTED: _accepted,
    Kind.STARTED: _started,
    Kind.HEARTBEAT: lambda r, s: f"Still held{_given(r, s, 'lease', ' under lease ')}",
    Kind.PROGRESS: _progress,
    Kind.OUTPUT: _output,
    Kind.PART_COMPLETED: _part,
    Kind.COMMITTED: lambda r, s: f"Point of no return passed: {_given(r, s, 'boundary')}{_given(r, s, 'provider_reference', ', reference ')}",
    Kind.EFFECT: _effect,
    Kind.SUCCEEDED: _succeeded,
    Kind.FAILED: _failed,
    Kind.WAITER_RELEASED: lambda r, s: f"{_given(r, s, 'waiter')} stopped waiting{_given(r, s, 'reason', ': ')}{_given(r, s, 'body', '; body: ')}",
    Kind.CANCEL_ACKNOWLEDGED: _acknowledged,
    Kind.LOST: lambda r, s: f"Contact lost: {_given(r, s, 'reason')}",
    Kind.DEADLINE_ELAPSED: _elapsed,
    Kind.TASK_REPORTED: lambda r, s: f"The runtime says of the whole task: {_given(r, s, 'claimed')}{_given(r, s, 'reason', '; ')}",
    Kind.HISTORY_READ: lambda r, s: f"{_given(r, s, 'history')} was read: result of call {_given(r, s, 'call')} {_given(r, s, 'result')}",
    Kind.INPUT_REQUIRED: lambda r, s: f"Input asked for: {_listed(r, s.get('unresolved'))}",
    Kind.INPUTS_ACCEPTED: lambda r, s: f"Inputs accepted{_given(r, s, 'checked_by', ', checked by ')}",
    Kind.INPUTS_REJECTED: _rejected_inputs,
    Kind.APPROVAL_REQUESTED: _asked,
    Kind.APPROVAL_INVALIDATED: lambda r, s: f"The request for approval no longer counts: {_given(r, s, 'reason')}",
    Kind.PERMITTED: lambda r, s: f"Permitted to start{_given(r, s, 'rule', ' by rule ')}{_given(r, s, 'reason', ': ')}",
    Kind.REFUSED: lambda r, s: f"Not permitted to start{_given(r, s, 'rule', ' by rule ')}{_given(r, s, 'reason', ': ')}",
    Kind.CLOSED: _closed,
    Kind.RESULT_REJECTED: lambda r, s: f"The result does not fit the declared type: {_listed(r, s.get('problems'))}",
    Kind.DEPENDENCY_MOVED: _moved,
    Kind.DEPENDENCY_RESOLVED: lambda r, s: f"No longer waits for {r.label(s.get('dependency'))}",
    Kind.GRANT_RECORDED: lambda r, s: f"Standing permission given by {r.who(s.get('actor'))}{_given(r, s, 'reason', ': ')}",
    Kind.GRANT_USED: lambda r, s: f"Standing permission covers {r.label(s.get('used_by'))}",
    Kind.GRANT_REVOKED: lambda r, s: f"Standing permission taken back: {_given(r, s, 'reason')}",
    Kind.RECONCILED: _reconciled,
    Kind.VALUE_ERASED: lambda r, s: f"A value was erased by {r.who(s.get('by'))}: {_given(r, s, 'reason')}",
    Kind.HOLD_RELEASED: lambda r, s: f"Reports that waited are judged now: {_given(r, s, 'reason')}",
    Kind.INPUT_SUPPLIED: lambda r, s: _answered(r, s) or f"Input supplied: {_plural(s.get('fields'))}{_given(r, s, 'reason', ': ')}",
    Kind.INPUTS_EDITED: lambda r, s: f"Inputs edited: {_plural(s.get('fields'))}{_given(r, s, 'reason', ': ')}",
    Kind.GRANTED: _decided("Approved"),
    Kind.DENIED: _decided("Denied"),
    Kind.DISMISSED: _decided("Dismissed"),
    Kind.WITHDRAWN: _decided("Withdrawn"),
    Kind.CANCEL_REQUESTED: _cancel_requested,
    Kind.RETRY_REQUESTED: _again("Retry requested"),
    Kind.REVERSAL_REQUESTED: _again("Undo requested"),
    Kind.ROUTE_CHOSEN: _again("Another route chosen"),
    Kind.CHILD_WAIVED: lambda r, s: f"{r.label(s.get('child'))} is not needed any more: {_given(r, s, 'reason')}",
    Kind.CARD_RENDERED: lambda r, s: f"Shown in version {_given(r, s, 'document_version')}{_given(r, s, 'actor', ' to ')}",
})  # fmt: skip  # one line a kind
