"""The reports' flags, beside the findings and recorded facts of ours that they stand for.

A flag is a word, with a call, an event, an approval or another name before or after it: ``i1#1:approved-not-queued``, ``late-event:4``. The
word is looked up here and nowhere else. One that is not in the table is unchecked. ``standing`` facts must hold at the moment that is asked
about; ``raised`` ones must have been found by then, since a finding that evidence has closed again stays on record.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.states import TERMINAL, ClosureKind, State
from toolwitness.core.times import parse_rfc3339
from toolwitness.core.verdicts import Verdict
from toolwitness.ports import Recorded
from toolwitness.testing.reports.moments import Document, Moment
from toolwitness.testing.reports.reasons import REJECTED, expired_before
from toolwitness.testing.reports.stage import Answer, Stage

_CALL: Final = re.compile(r"^[^:\s]+#\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One flag at one moment, with everything that may answer it."""

    stage: Stage
    moments: Sequence[Moment]
    """From the beginning up to the moment that is asked about."""
    recorded: Sequence[Recorded]
    """What was recorded by then."""
    calls: tuple[str, ...]
    """Our ids of the calls that it may be about: the one that it names, else all."""
    about: str
    """What it names besides its word: a task, an approval, a provider's call id; empty where nothing."""
    seq: int | None
    """The event that it names."""

    @property
    def now(self) -> Moment:
        """The moment that is asked about."""
        return self.moments[-1]

    def documents(self, moment: Moment) -> Iterable[Document]:
        """Give the documents of the calls that it may be about."""
        return (moment.documents[call] for call in self.calls if call in moment.documents)

    def events(self, *kinds: Kind) -> list[Recorded]:
        """Give the recorded events of these calls, of these kinds, and only those of the named event of the report where it names one."""
        mine = None if self.seq is None else {r.event.ref for r in self.answer.recorded}
        return [
            r for r in self.recorded
            if r.event.kind in kinds and r.event.invocation_id in self.calls and (mine is None or r.event.ref in mine)
        ]  # fmt: skip  # one comprehension

    @property
    def answer(self) -> Answer:
        """What the desk made of the event that it names."""
        return self.stage.answers.get(self.seq or 0, Answer())

    @property
    def answers(self) -> list[Answer]:
        """What the desk made of the event that it names; of every event where it names none."""
        return list(self.stage.answers.values()) if self.seq is None else [self.answer]


Fact = Callable[[Asked], bool]


def _has(document: Document, codes: Sequence[Code], refs: set[str] | None) -> bool:
    return any(
        found["code"] in codes and (refs is None or refs & set(found["evidenceRefs"])) for found in document["findings"]
    )  # fmt: skip  # one condition


def _refs(asked: Asked) -> set[str] | None:
    return None if asked.seq is None else {str(r.event.ref) for r in asked.answer.recorded}


def standing(*codes: Code) -> Fact:
    """Make the fact that one of these findings stands now."""
    return lambda asked: any(_has(document, codes, _refs(asked)) for document in asked.documents(asked.now))


def raised(*codes: Code) -> Fact:
    """Make the fact that one of these findings stands now or stood before."""
    return lambda asked: any(_has(d, codes, _refs(asked)) for moment in asked.moments for d in asked.documents(moment))


def recorded(*kinds: Kind) -> Fact:
    """Make the fact that such an event is on record and was not refused."""
    return lambda asked: any(r.verdict is not Verdict.REFUSED for r in asked.events(*kinds))


# ── facts that no single finding says ───────────────────────────────────────────────────────────────────────────────


def _cancel_requested(asked: Asked) -> bool:
    return any(request["kind"] == "cancellation" for d in asked.documents(asked.now) for request in d["requests"])


def _unacknowledged(asked: Asked) -> bool:
    return _cancel_requested(asked) and any(d["closure"]["acknowledgementRef"] is None for d in asked.documents(asked.now))


def _cancelled_by_no_person(asked: Asked) -> bool:
    records = (asked.now.records[call] for call in asked.calls if call in asked.now.records)
    closures = [record.closure for record in records if record.closure is not None]
    return any(closure.termination is not None and not closure.request_ref for closure in closures)


def _refused_act(asked: Asked) -> bool:
    """A refused decision is on record, with its reason."""
    return any(_on_record(answer) for answer in asked.answers)


def _on_record(answer: Answer) -> bool:
    return answer.decision == "refused" and any(r.verdict is Verdict.REFUSED and r.reason for r in answer.recorded)


def _late_decision(asked: Asked) -> bool:
    return any(_on_record(answer) and expired_before(answer) for answer in asked.answers)


def _contradictory(asked: Asked) -> bool:
    return any(_on_record(answer) and answer.rule == "contradictory" for answer in asked.answers)


def _stale(asked: Asked) -> bool:
    return any(_on_record(answer) and answer.rule in REJECTED["stale"] for answer in asked.answers)


def _deadline_unreadable(asked: Asked) -> bool:
    """A request has a deadline that nobody can read as a time with a zone."""
    asked_for = [a for call in asked.calls if call in asked.now.records for a in asked.now.records[call].approvals]
    named = [a for a in asked_for if asked.about in {"", a.id}]
    return any(a.data.get("expires_at") and parse_rfc3339(a.data["expires_at"]) is None for a in named)


def _expired(asked: Asked) -> bool:
    return any(d["state"] == State.EXPIRED for d in asked.documents(asked.now))


def _dispatch_refused(asked: Asked) -> bool:
    """A dispatch was refused, and the claim that it would have made is on record with the reason."""
    kept = (r for answer in asked.answers if answer.dispatch == "refuse" for r in answer.recorded)
    return any(r.event.kind == Kind.CLAIMED and r.verdict is Verdict.REFUSED and r.event.invocation_id in asked.calls for r in kept)


def _id_reused(asked: Asked) -> bool:
    return any(r.reason.startswith("id-reused") for answer in asked.answers for r in answer.recorded)


def _used_twice(asked: Asked) -> bool:
    return any(_on_record(answer) and answer.rule in REJECTED["already-used"] for answer in asked.answers)


def _duplicate(asked: Asked) -> bool:
    twice = any(r.verdict is Verdict.DUPLICATE for r in asked.answer.recorded)
    return twice or raised(Code.ORDER_REPEATED, Code.SEQUENCE_REUSED)(asked)


def _out_of_order(asked: Asked) -> bool:
    """An event arrived after one that its source had numbered higher for the same call, or told of an earlier place than one before it."""
    mine = {r.event.ref for r in asked.answer.recorded} if asked.seq is not None else None
    highest: dict[tuple[str, str], int] = {}
    for one in asked.recorded:
        event, number = one.event, one.event.sequence
        if number is None or event.invocation_id not in asked.calls:
            continue
        key = (event.source, event.invocation_id)
        if number < highest.get(key, 0) and (mine is None or event.ref in mine):
            return True
        highest[key] = max(number, highest.get(key, 0))
    return raised(Code.ORDER_REPEATED, Code.PROGRESS_REGRESSED)(asked)


def _two_effects(asked: Asked) -> bool:
    return any(len(d["sideEffects"]["observed"]) > 1 for d in asked.documents(asked.now))


def _two_ends(asked: Asked) -> bool:
    records = (asked.now.records[call] for call in asked.calls if call in asked.now.records)
    return any(len(record.ends) > 1 for record in records)


def _client_timer(asked: Asked) -> bool:
    """A waiter's own timer is on record as such, and did not end the call."""
    gone = [r for r in asked.events(Kind.WAITER_RELEASED) if r.verdict is not Verdict.REFUSED]
    return bool(gone) and all(r.state is not State.EXPIRED for r in gone)


def _new_approval_needed(asked: Asked) -> bool:
    """A voided approval is on record, and no later one has been granted: what stands must be asked for anew, or is."""
    records = (asked.now.records[call] for call in asked.calls if call in asked.now.records)
    return any(
        any(a.answer and a.answer.kind == "invalidated" for a in record.approvals) and not record.granted and record.state not in TERMINAL
        for record in records
    )  # fmt: skip  # one condition


def _approval_used_elsewhere(asked: Asked) -> bool:
    """A dispatch that named an approval of another call, already used there, is on record as refused."""
    owners = [record for record in asked.now.records.values() for a in record.approvals if a.id == asked.about and a.answer]
    claimed = [r for r in asked.recorded if r.event.kind == Kind.CLAIMED and r.verdict is Verdict.REFUSED]
    return any(
        r.event.data.get("approval_id") == asked.about and owner.claim is not None and (r.event.invocation_id != owner.id or owner.starts)
        for r in claimed for owner in owners
    )  # fmt: skip  # one condition


def _contradicted(asked: Asked) -> bool:
    cards = [card for task, card in asked.now.cards.items() if asked.about in {"", task}]
    return any(found["code"] == "runtime-claim-contradicted" for card in cards for found in card["findings"])


def _correlated(asked: Asked, document: Document) -> bool:
    return any(row["providerCallId"] == asked.about for row in document["correlation"])


def _call_left_open(asked: Asked) -> bool:
    found = (d for moment in asked.moments for d in asked.documents(moment) if not asked.about or _correlated(asked, d))
    return any(_has(document, (Code.CALL_LEFT_OPEN,), None) for document in found)


def _run_ended_open(asked: Asked) -> bool:
    ended = any(r.event.kind == Kind.TASK_REPORTED and r.event.data.get("claimed") != "paused" for r in asked.recorded)
    open_calls = (d for d in asked.documents(asked.now) if d["state"] not in TERMINAL and (not asked.about or _correlated(asked, d)))
    return ended and any(True for _ in open_calls)


def _run_failed_after_success(asked: Asked) -> bool:
    failed = any(r.event.kind == Kind.TASK_REPORTED and r.event.data.get("claimed") in {"failed", "error"} for r in asked.recorded)
    return failed and any(d["state"] == State.SUCCEEDED for d in asked.documents(asked.now))


def _to_reconcile(asked: Asked) -> bool:
    return any(d["sideEffects"]["reconciliationState"] == "required" for d in asked.documents(asked.now))


def _cancel_too_late(asked: Asked) -> bool:
    acts = [r for r in asked.events(Kind.CANCEL_REQUESTED) if r.verdict is Verdict.REFUSED]
    return bool(acts) and any(d["state"] in TERMINAL for d in asked.documents(asked.now))


_LATE: Final = (
    Code.LATE_OUTCOME, Code.CONFLICTING_OUTCOMES, Code.LATE_EFFECT, Code.ACTIVITY_AFTER_END, Code.STARTED_AFTER_END, Code.LATE_CLOSURE,
)  # fmt: skip  # one group


def _late(asked: Asked) -> bool:
    """Something was said about a call after its end: as a finding or, where it contradicts nothing, as a fact that moved nothing."""
    return raised(*_LATE)(asked) or any(
        r.reason.startswith("terminal") and r.event.invocation_id in asked.calls for r in asked.answer.recorded
    )


def _answered_by_human(asked: Asked) -> bool:
    """A person answered in the tool's place, and no body ran."""
    records = (asked.now.records[call] for call in asked.calls if call in asked.now.records)
    return any(r.closure is not None and r.closure.kind == ClosureKind.ANSWERED_BY_HUMAN and not r.starts for r in records)


def _edited_to_other_tool(asked: Asked) -> bool:
    """A call took the place of one of another tool, which was closed before it could run."""
    records = asked.now.records
    pairs = [(records[call], records.get(str(records[call].proposal.get("replaces") or ""))) for call in asked.calls if call in records]
    return any(before is not None and before.tool != new.tool and not before.starts for new, before in pairs)


def _flags(*entries: tuple[str, Fact]) -> Mapping[str, Fact]:
    return MappingProxyType({word: fact for words, fact in entries for word in words.split()})


FLAGS: Final = _flags(
    ("approved-not-queued approved-not-dispatched approved-waiting-for-scheduler", standing(Code.APPROVED_NOT_QUEUED)),
    ("approval-invalidated approval-voided", recorded(Kind.APPROVAL_INVALIDATED)),
    ("new-approval-required approval-required-again", _new_approval_needed),
    ("approval-already-used decision-already-used", _approval_used_elsewhere),
    ("cancel-requested cancellation-requested", _cancel_requested),
    ("no-acknowledgement cancel-unacknowledged cancel-not-acknowledged no-cancel-acknowledgement", _unacknowledged),
    ("completed-after-cancel-request completed-despite-cancel-request succeeded-after-cancel-request",
     raised(Code.COMPLETED_DESPITE_CANCEL)),
    ("cancelled-without-user-request cancelled-not-by-user", _cancelled_by_no_person),
    ("cancel-refused-already-complete cancel-too-late cancel-after-terminal", _cancel_too_late),
    ("late-result-after-terminal late-result late-outcome result-after-terminal late-success late-failure result-after-cancel",
     raised(Code.LATE_OUTCOME, Code.CONFLICTING_OUTCOMES)),
    ("late-event event-after-terminal late-update", _late),
    ("late-effect effect-after-terminal effect-after-cancel", raised(Code.LATE_EFFECT, Code.EFFECT_AFTER_CANCEL)),
    ("effect-after-cancel-request", raised(Code.EFFECT_AFTER_CANCEL)),
    ("late-progress progress-after-terminal activity-after-end heartbeat-after-terminal output-after-terminal", _late),
    ("execution-after-cancel started-after-cancel start-after-cancel started-after-terminal start-after-terminal started-after-expiry",
     raised(Code.STARTED_AFTER_END, Code.ACTIVITY_AFTER_END)),
    ("contradictory-terminal conflicting-terminal conflicting-outcomes second-terminal contradicting-terminal",
     raised(Code.CONFLICTING_OUTCOMES, Code.LATE_OUTCOME)),
    ("duplicate-terminal", _two_ends),
    ("duplicate-start second-start double-start restarted-without-retry", raised(Code.DUPLICATE_START)),
    ("duplicate-effect double-effect second-effect two-effects", _two_effects),
    ("duplicate-event event-duplicate repeated-event duplicate-ignored", _duplicate),
    ("out-of-order-event out-of-order event-out-of-order", _out_of_order),
    ("progress-regressed progress-backwards progress-went-backwards", raised(Code.PROGRESS_REGRESSED)),
    ("gap-in-sequence missing-event sequence-gap event-held", raised(Code.EVIDENCE_HELD)),
    ("clock-skew clocks-disagree", raised(Code.CLOCK_SKEW)),
    ("no-start-evidence start-not-recorded missing-start", raised(Code.START_NOT_RECORDED)),
    ("no-acceptance-evidence acceptance-not-recorded missing-acceptance", raised(Code.ACCEPTANCE_NOT_RECORDED)),
    ("no-proposal-evidence proposal-not-recorded", raised(Code.PROPOSAL_NOT_RECORDED)),
    ("started-without-approval ran-without-approval executed-without-approval",
     raised(Code.RAN_WITHOUT_APPROVAL, Code.STARTED_WITHOUT_PERMIT)),
    ("started-without-permit dispatched-without-permit", raised(Code.STARTED_WITHOUT_PERMIT, Code.ACCEPTED_WITHOUT_PERMIT)),
    ("executed-args-differ executed-inputs-differ ran-with-other-args", raised(Code.EXECUTED_INPUTS_DIFFER)),
    ("liveness-lost worker-lost outcome-unknown not-known-to-be-alive", raised(Code.OUTCOME_UNKNOWN)),
    ("event-from-unknown-lease unknown-lease stale-lease", raised(Code.LEASE_UNKNOWN)),
    ("terminal-refused-lease-still-live lease-still-live sweep-refused", raised(Code.INFERRED_END_REFUSED)),
    ("resume-failed waiter-gone no-waiter", raised(Code.WAITER_GONE)),
    ("recovery-failed", raised(Code.OUTCOME_UNKNOWN, Code.WAITER_GONE)),
    ("waiting-for-person input-requested-while-running approval-requested-while-running", raised(Code.WAITING_FOR_PERSON)),
    ("client-timer-is-not-expiry client-timeout-is-not-expiry wait-timeout-is-not-expiry", _client_timer),
    ("rejected-decision-recorded synthetic-answer-refused inferred-decision-refused decision-refused decision-rejected", _refused_act),
    ("contradictory-submission contradictory-answers contradictory-answers-refused contradictory-decision", _contradictory),
    ("conflicting-answers opposite-answers opposite-answers-decide-nothing", _contradictory),
    ("stale-decision stale-answer stale-answer-refused stale-response stale-response-refused stale-decision-refused", _stale),
    ("duplicate-decision second-decision repeated-decision decision-repeated duplicate-click double-click", _used_twice),
    ("duplicate-answer lost-race decision-lost-race race-lost", _used_twice),
    ("dispatch-refused duplicate-dispatch duplicate-dispatch-refused second-dispatch-refused", _dispatch_refused),
    ("deadline-unreadable unreadable-deadline deadline-without-zone deadline-without-timezone expiry-unreadable unparseable-deadline",
     _deadline_unreadable),
    ("approval-expired expired", _expired),
    ("event-id-reused id-reused", _id_reused),
    ("decision-after-expiry late-decision recorded-after-expiry approval-after-expiry denial-after-expiry", _late_decision),
    ("approve-after-expiry deny-after-expiry late-approval late-denial late-answer", _late_decision),
    ("retry-without-lineage retry-unlinked unlinked-retry", raised(Code.RETRY_UNLINKED)),
    ("human-answer-used-as-result answered-by-human human-answer-in-place-of-tool", _answered_by_human),
    ("edited-to-other-tool tool-changed-by-edit", _edited_to_other_tool),
    ("idempotency-key-changed", raised(Code.IDEMPOTENCY_KEY_CHANGED)),
    ("reconciliation-required", _to_reconcile),
    ("evidence-missing evidence-incomplete", raised(Code.EVIDENCE_MISSING, Code.EVIDENCE_INCOMPLETE)),
    ("result-invalid invalid-result result-rejected", raised(Code.RESULT_REJECTED)),
    ("status-unknown unknown-word unknown-event", raised(Code.UNKNOWN_WORD)),
    ("cannot-be-stopped not-cancellable", raised(Code.CANNOT_BE_STOPPED)),
    ("runtime-claim-contradicted claim-contradicted", _contradicted),
    ("provider-call-without-result call-without-result", _call_left_open),
    ("result-missing-from-runtime-snapshot", raised(Code.RESULT_NOT_IN_HISTORY)),
    ("run-finished-with-open-call run-ended-with-open-call", _run_ended_open),
    ("run-failed-after-tool-succeeded", _run_failed_after_success),
)  # fmt: skip  # one line a fact
"""Every flag that we know, by its word."""


def parts_of(flag: str) -> tuple[str, str, str, int | None]:
    """Take a flag apart: its word, the call that it names, the event, and whatever else; the word is empty where we know none."""
    word = call = about = ""
    seq: int | None = None
    for part in flag.split(":"):
        if not word and part in FLAGS:
            word = part
        elif _CALL.match(part):
            call = part
        elif part.isdigit():
            seq = int(part)
        else:
            about = part
    return word, call, about, seq


def holds(flag: str, stage: Stage, moments: Sequence[Moment], events: Sequence[Recorded]) -> bool | None:
    """Tell whether a flag holds at the last of these moments; ``None`` where its word is not in the table."""
    word, call, about, seq = parts_of(flag)
    if not word:
        return None
    named = call or next((key for key in reversed(list(stage.names)) if about and key.rpartition("#")[0] == about), "")
    calls: tuple[Any, ...] = (stage.names.get(named, named),) if named else tuple(moments[-1].records)
    asked = Asked(stage=stage, moments=moments, recorded=events, calls=calls, about="" if named and not call else about, seq=seq)
    return FLAGS[word](asked)
