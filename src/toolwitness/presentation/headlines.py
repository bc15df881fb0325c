"""Findings as headlines: the bold fact and what follows from it, with the facts of this record in them and the evidence under them."""

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.findings import Code, Finding, Severity
from toolwitness.core.record import Effect
from toolwitness.core.states import State
from toolwitness.presentation.amounts import money
from toolwitness.presentation.foreign import line
from toolwitness.presentation.reading import Reading, fields
from toolwitness.presentation.times import between, span, token
from toolwitness.presentation.words import FINDINGS, RAIL_ONLY, FindingWords, state_words

_LOUDEST_FIRST: Final = (Severity.VIOLATION, Severity.WARNING, Severity.NOTE)
Words = Callable[[Reading, Finding], FindingWords]


def findings(reading: Reading, others: Iterable[Finding] = (), *, strips: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Give the headline strips, the loudest first; ``strips`` names the requests that already say their finding on this card."""
    said = {_SAID_BY[kind] for kind in strips if kind in _SAID_BY}
    quiet = RAIL_ONLY | said | {Code.POLICY_UNOBSERVED}
    standing = [*reading.record.findings.values(), *others]
    return [
        _strip(reading, finding)
        for severity in _LOUDEST_FIRST
        for finding in standing
        if finding.severity is severity and finding.code not in quiet
    ]


_SAID_BY: Final = MappingProxyType({
    "cancellation": Code.CANNOT_BE_STOPPED,
    "approval": Code.WAITING_FOR_PERSON,
    "input": Code.WAITING_FOR_PERSON,
})  # fmt: skip  # one line a kind of request


def _strip(reading: Reading, finding: Finding) -> dict[str, Any]:
    words = _WITH_FACTS.get(finding.code, _plain)(reading, finding)
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "headline": words.headline,
        "detail": words.detail,
        "evidence": list(finding.refs),
    }


def _plain(_reading: Reading, finding: Finding) -> FindingWords:
    return FINDINGS[finding.code]


def _with_reason(reading: Reading, finding: Finding) -> FindingWords:
    """Add the record's own reason to the consequence."""
    words = FINDINGS[finding.code]
    return words._replace(detail=f"{words.detail} Recorded reason: {_sentence(reading.own(finding.detail))}")


_CHANGED: Final = frozenset({"", "target-changed", "price-changed", "inputs-changed"})
"""Rules by which a request is void because what it was about is not the same any more; any other takes away who may answer."""


def _invalidated(reading: Reading, finding: Finding) -> FindingWords:
    """Say that the question has changed only where it has."""
    words = _with_reason(reading, finding)
    rules = [str(fields(reading.by_ref.get(ref)).get("rule") or "") for ref in finding.refs[-1:]]
    if not rules or rules[0] in _CHANGED:
        return words
    return words._replace(
        headline="The approval that was asked for no longer counts.", detail=words.detail.replace("the old question", "it")
    )


def _sentence(shown: str) -> str:
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."


def _stays(reading: Reading) -> str:
    return f"The record stays {state_words(reading.record.state).phrase}"


def _ended(reading: Reading) -> tuple[str, str]:
    """Say how the attempt ended, inside a sentence, and when."""
    record = reading.record
    if record.closure is not None:
        return ("it stopped" if record.closure.termination else f"it was {record.closure.kind.value}"), record.closure.at
    ended = record.moves[-1].at if record.moves else ""
    return ("it expired" if record.state is State.EXPIRED else f"it {state_words(record.state).phrase}"), ended


def effect_words(reading: Reading, effect: Effect) -> str:
    """Name an effect in the words of whoever reported it, with its amount."""
    said = effect.data
    text = reading.plain(said["effect"])
    return f"{text}: {money(said['amount'], said.get('currency'))}" if said.get("amount") is not None else text


def _begun(words: str) -> str:
    """Begin a sentence."""
    return words[:1].upper() + words[1:]


def _late_effect(reading: Reading, finding: Finding) -> FindingWords:
    """Name what happened after the end, and how long after."""
    late = [effect for effect in reading.record.effects if effect.ref in finding.refs]
    if not late:
        return FindingWords("A point of no return was passed after its end.", f"{_stays(reading)}; what happened must be reconciled.")
    how, ended = _ended(reading)
    first = late[0]
    after = between(ended, str(first.data.get("at") or first.at))
    when = f"{span(after)} after {how}" if after is not None and after >= 0 else f"reported after {how}"
    more = f" And {len(late) - 1} more." if len(late) > 1 else ""
    amount = any(effect.data.get("amount") is not None for effect in late)
    what = "what happened to the money" if amount else "what happened"
    return FindingWords(f"{_begun(effect_words(reading, first))}, {when}.{more}", f"{_stays(reading)}; {what} must be reconciled.")


def _effect_after_request(reading: Reading, finding: Finding) -> FindingWords:
    """Name what happened although it had been asked to stop, and how long after."""
    words, asked = FINDINGS[finding.code], reading.record.cancellation
    landed = next((effect for effect in reading.record.effects if effect.ref in finding.refs), None)
    if landed is None or asked is None:
        return words
    after = between(asked.at, str(landed.data.get("at") or landed.at))
    when = f"{span(after)} after" if after is not None and after >= 0 else "reported after"
    return words._replace(headline=f"{_begun(effect_words(reading, landed))}, {when} its cancellation was requested.")


def _late_outcome(reading: Reading, finding: Finding) -> FindingWords:
    arrived = reading.by_ref.get(finding.refs[0]) if finding.refs else None
    if arrived is None:
        return FINDINGS[finding.code]
    what = "A success" if arrived.event.kind == "execution.succeeded" else "A failure"
    how, ended = _ended(reading)
    after = between(ended, reading.at(arrived))
    when = f"{span(after)} after" if after is not None and after >= 0 else "after"
    return FindingWords(f"{what} was recorded {when} {how}.", f"{_stays(reading)}; what that stands for must be reconciled.")


def _approved(reading: Reading, finding: Finding) -> FindingWords:
    words, asked = FINDINGS[finding.code], reading.record.approval
    if asked is None or asked.answer is None:
        return words
    return words._replace(headline=f"Approved {token(asked.answer.at)} by {reading.who(asked.answer.actor)}, and not yet queued.")


def _unstoppable(reading: Reading, finding: Finding) -> FindingWords:
    words = FINDINGS[finding.code]
    if reading.record.cancel_support != "thread":
        return words
    return words._replace(headline="It runs in a thread and cannot be stopped.")


def _not_understood(reading: Reading, finding: Finding) -> FindingWords:
    said = [reading.by_ref[ref].event.kind for ref in finding.refs if ref in reading.by_ref]
    words = FINDINGS[finding.code]
    quoted = ", ".join(f"“{line(kind)}”" for kind in dict.fromkeys(said))
    return words._replace(headline=f"The runtime said {quoted}, which is not understood here.") if quoted else words


_WITH_FACTS: Final = MappingProxyType[Code, Words]({
    Code.LATE_EFFECT: _late_effect,
    Code.LATE_OUTCOME: _late_outcome,
    Code.EFFECT_AFTER_CANCEL: _effect_after_request,
    Code.CONFLICTING_OUTCOMES: _with_reason,
    Code.APPROVED_NOT_QUEUED: _approved,
    Code.CANNOT_BE_STOPPED: _unstoppable,
    Code.UNKNOWN_WORD: _not_understood,
    Code.OUTCOME_UNKNOWN: _with_reason,
    Code.APPROVAL_INVALIDATED: _invalidated,
    Code.DECISION_REFUSED: _with_reason,
    Code.ACKNOWLEDGEMENT_DOUBTED: _with_reason,
    Code.EVIDENCE_INCOMPLETE: _with_reason,
    Code.EVIDENCE_MISSING: _with_reason,
    Code.EVIDENCE_HELD: _with_reason,
    Code.SEQUENCE_REUSED: _with_reason,
    Code.RECONCILIATION_REQUIRED: _with_reason,
    Code.LEASE_UNKNOWN: _with_reason,
    Code.INFERRED_END_REFUSED: _with_reason,
    Code.IDEMPOTENCY_KEY_CHANGED: _with_reason,
})  # fmt: skip  # one line a code
