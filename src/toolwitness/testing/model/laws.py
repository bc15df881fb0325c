"""R1 to R9 as predicates, written from the rules and not from the code that keeps them.

``LAWS`` hold in every moment, for every call; ``STEP_LAWS`` hold across every step. A law gives what is wrong, or an empty text. Laws look
at three things: the record, the events under it, and what the workers really did, which the record may not know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from toolwitness.core.record import InvocationRecord
from toolwitness.ports import Recorded
from toolwitness.testing.model.world import Work, Worker, World


@dataclass(frozen=True, slots=True)
class Seen:
    """One call at one moment, from all three sides."""

    world: World
    record: InvocationRecord
    said: tuple[Recorded, ...]
    worker: Worker

    def count(self, kind: str) -> int:
        """Count the events of a kind that were not refused."""
        return sum(one.event.kind == kind and one.verdict != "refused" for one in self.said)

    def first(self, kind: str) -> Recorded | None:
        """Give the first event of a kind that was not refused."""
        return next((one for one in self.said if one.event.kind == kind and one.verdict != "refused"), None)


Law = Callable[[Seen], str]

_TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "expired"})
_WORKING: Final = frozenset({"running", "streaming", "partially_complete"})
_ENTERED_BY: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "proposed": frozenset({"invocation.proposed", "inputs.accepted"}),
    "awaiting_input": frozenset({"input.required", "inputs.rejected"}),
    "awaiting_approval": frozenset({"approval.requested"}),
    "queued": frozenset({"dispatch.accepted"}),
    "running": frozenset({"execution.started", "execution.heartbeat"}),
    "streaming": frozenset({"output.emitted", "progress.reported"}),
    "partially_complete": frozenset({"part.completed"}),
    "succeeded": frozenset({"execution.succeeded"}),
    "failed": frozenset({"execution.failed"}),
    "cancelled": frozenset({"closure.recorded", "cancellation.acknowledged"}),
    "expired": frozenset({"deadline.elapsed"}),
})  # fmt: skip  # one line a state
"""The entry evidence of the lifecycle matrix."""


def state_stands_on_evidence(seen: Seen) -> str:
    """R1: the state is that of the last event that moved, it is cited, and it is evidence of the kind that the matrix names."""
    record = seen.record
    moved = [one for one in seen.said if one.verdict == "moved"]
    if not moved or record.state is None:
        return "" if not moved and record.state is None else "a state without an event that moved it"
    last = moved[-1]
    if last.event.ref not in record.state_refs or last.state != record.state:
        return f"{record.state} does not cite {last.event.kind}, which moved last and led to {last.state}"
    return "" if last.event.kind in _ENTERED_BY[record.state] else f"{record.state} was entered by {last.event.kind}"


def observations_are_kept(seen: Seen) -> str:
    """R2: everything that was said has a verdict, and what moved nothing says why."""
    for one in seen.said:
        if one.verdict not in {"moved", "noted", "held", "refused"}:
            return f"{one.event.kind} was kept as {one.verdict}"
        if one.verdict in {"held", "refused"} and not one.reason:
            return f"{one.event.kind} was {one.verdict} without a reason"
    return ""


def a_request_is_no_acknowledgement(seen: Seen) -> str:
    """R3: cancelled only by a closure before dispatch, or by its executor after it; queued only by an acceptance."""
    record = seen.record
    if record.state == "cancelled":
        claimed, closed, ended = seen.first("dispatch.claimed"), seen.first("closure.recorded"), seen.first("cancellation.acknowledged")
        if ended is None and (closed is None or (claimed is not None and claimed.position < closed.position)):
            return "cancelled, and neither closed before its dispatch nor acknowledged by its executor"
    if record.state == "queued" and not seen.count("dispatch.accepted"):
        return "queued, and nobody has accepted it"
    return (
        "" if record.open_cancellation is None or seen.count("cancellation.requested") else "a cancellation is shown that nobody asked for"
    )


def late_facts_are_findings(seen: Seen) -> str:
    """R4: what was seen to start after the end is a finding that opens reconciliation; one who was asked to find out may have closed it."""
    ended = next((one.position for one in seen.said if one.state in _TERMINAL), None)
    if ended is None:
        return ""
    late = any(one.event.kind == "execution.started" and one.verdict != "refused" and one.position > ended for one in seen.said)
    if late and ("started-after-end" not in seen.record.findings or seen.record.reconciliation != "required"):
        return f"it started after it was {seen.record.state}, and no finding says so"
    return ""


_ENDS: Final[Mapping[str, str]] = MappingProxyType({
    "denied": "approval.denied", "dismissed": "invocation.dismissed", "withdrawn": "invocation.withdrawn",
    "execution-terminated": "cancellation.acknowledged",
})  # fmt: skip  # facts in lines


def ends_are_different_records(seen: Seen) -> str:
    """R5: denied, withdrawn, terminated and expired are ends of their own, each after its own act, and none of them is a result."""
    record = seen.record
    closure = record.closure
    if (record.state == "cancelled") != (closure is not None):
        return f"{record.state} with the closure {closure and closure.kind}"
    if closure is not None and not seen.count(_ENDS.get(closure.kind, "no such act")):
        return f"closed as {closure.kind}, and nobody did that"
    if (record.state == "expired") != bool(record.elapsed):
        return f"{record.state} with the elapsed deadline {record.elapsed!r}"
    if (record.state in {"succeeded", "failed"}) != (record.outcome is not None):
        return f"{record.state} with the outcome {record.outcome}"
    return ""


def one_decision_one_dispatch(seen: Seen) -> str:
    """R6: bodies run ≤ permits claimed ≤ 1; the permit is covered by one grant, of exactly what ran."""
    claims = seen.count("dispatch.claimed")
    if not len(seen.worker.ran) <= claims <= 1:
        return f"{len(seen.worker.ran)} bodies ran on {claims} permits"
    answers = [str(one.event.data["approval_id"]) for one in seen.said if one.event.kind in _ANSWERS and one.verdict != "refused"]
    if len(set(answers)) < len(answers):
        return f"one question has two answers: {answers}"
    claimed = seen.first("dispatch.claimed")
    return "" if claimed is None else _covered(seen, claimed)


_ANSWERS: Final = frozenset({"approval.granted", "approval.denied"})


def _covered(seen: Seen, claimed: Recorded) -> str:
    """Say what is wrong with the grant on which a permit was claimed."""
    named = claimed.event.data["approval_id"]
    about = {one.event.kind: one for one in seen.said if one.event.data.get("approval_id") == named and one.verdict != "refused"}
    asked, granted = about.get("approval.requested"), about.get("approval.granted")
    if asked is None or granted is None or not asked.position < granted.position < claimed.position:
        return f"a permit was claimed on {named}, which nobody had granted"
    voided = about.get("approval.invalidated")
    if voided is not None and voided.position < claimed.position:
        return f"a permit was claimed on {named}, which was void"
    digests = {asked.event.data["inputs_digest"], claimed.event.data["inputs_digest"], (seen.record.inputs or {}).get("digest")}
    if len(digests) > 1:
        return "the inputs that were asked about, claimed and stand are not the same"
    if any(ran != seen.world.amount(seen.record.inputs) for ran in seen.worker.ran):
        return f"{seen.worker.ran} ran, and what was approved is {seen.world.amount(seen.record.inputs)}"
    return ""


def a_bypass_is_shown(seen: Seen) -> str:
    """R7: who runs without having asked is shown as running, and as a violation."""
    rogue = next((one for one in seen.said if one.event.source == "model:rogue"), None)
    if rogue is None:
        return ""
    before = [one for one in seen.said if one.position < rogue.position]
    if any(one.state in _TERMINAL for one in before):
        return ""  # that is R4's
    if not any(one.event.kind == "dispatch.claimed" and one.verdict != "refused" for one in before):
        codes = {"started-without-permit", "ran-without-approval"}
        if rogue.state not in _WORKING or codes.isdisjoint(seen.record.findings):
            return f"a body runs that nobody permitted, and it is {rogue.state} with {sorted(seen.record.findings)}"
    return ""


def missing_evidence_is_named(seen: Seen) -> str:
    """R8: what ran and was never seen to be accepted says so; what was lost stays as it was seen last, and says that nobody knows."""
    record = seen.record
    unaccepted = record.state in {*_WORKING, "succeeded"} and not seen.count("dispatch.accepted")
    if unaccepted and "acceptance-not-recorded" not in record.findings:
        return f"{record.state} without an acceptance, and nothing says so"
    lost = [one for one in seen.said if one.event.kind == "execution.lost" and one.verdict != "refused"]
    if lost and record.state not in _TERMINAL and seen.said[-1] is lost[-1] and "outcome-unknown" not in record.findings:
        return "it was lost, and its outcome does not count as unknown"
    if any(one.verdict == "moved" for one in lost):
        return "a loss moved the state"
    return ""


def attempts_are_immutable(seen: Seen) -> str:
    """R9: the attempt is that of its proposal; a second start is a finding; a next attempt points back and leaves the old one."""
    record = seen.record
    proposed = seen.first("invocation.proposed")
    if proposed is None or record.attempt != proposed.event.attempt or record.proposal != proposed.event.data:
        return "the proposal is not what was proposed"
    if seen.count("execution.started") > 1 and not {"duplicate-start", "started-after-end"} & set(record.findings):
        return "it was seen to start twice, and no finding says so"
    if record.retried_by:
        later = seen.world.ledger.record(record.retried_by)
        if later.proposal.get("retry_of") != record.id or later.attempt != record.attempt + 1 or record.state != "failed":
            return f"attempt {later.attempt} does not point back to {record.state} attempt {record.attempt}"
    return ""


def a_death_leaves_no_second_body(seen: Seen) -> str:
    """R6, R8: whose worker has died ends only by what other evidence says, and never by a second body of ours."""
    return "a second process runs it" if seen.worker.at is not Work.DEAD and seen.worker.lives > 1 else ""


LAWS: Final[Mapping[str, Law]] = MappingProxyType({
    "R1": state_stands_on_evidence,
    "R2": observations_are_kept,
    "R3": a_request_is_no_acknowledgement,
    "R4": late_facts_are_findings,
    "R5": ends_are_different_records,
    "R6": one_decision_one_dispatch,
    "R7": a_bypass_is_shown,
    "R8": missing_evidence_is_named,
    "R9": attempts_are_immutable,
    "R6 after a death": a_death_leaves_no_second_body,
})  # fmt: skip  # one line a rule


# ── across a step ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Change:
    """One call before and after a step."""

    step: str
    about: str
    before: InvocationRecord
    after: InvocationRecord
    new: tuple[Recorded, ...]
    """What the step recorded about this call."""


def nothing_is_lost(change: Change) -> str:
    """R2: a step adds to what is on record, and a repetition adds nothing."""
    if change.step == "say again" and change.new:
        return "what was said twice is on record twice"
    return "" if change.after.version >= change.before.version else "a record became shorter"


def a_wish_moves_nothing(change: Change) -> str:
    """R3: to ask for a cancellation, to approve, to crash or to let time pass by itself moves no state."""
    if change.step in _WISHES and change.after.state is not change.before.state:
        return f"{change.step} moved {change.before.state} to {change.after.state}"
    return ""


_WISHES: Final = frozenset({"cancel request", "approve", "second approver", "crash", "tick", "claim", "revoke", "retry"})


def terminal_is_final(change: Change) -> str:
    """R4: what has ended stays as it ended."""
    if change.before.state in _TERMINAL and change.after.state is not change.before.state:
        return f"{change.before.state} became {change.after.state}"
    return ""


def no_sibling_is_touched(change: Change) -> str:
    """R4, R9: what is done to one call changes no other."""
    touched = change.after is not change.before and change.about and change.about != change.after.id
    return f"{change.step} of {change.about} changed {change.after.id}" if touched and change.new else ""


def time_is_the_authority_s(change: Change) -> str:
    """R10: no deadline is recorded before it has passed, and nobody is allowed anything at or after it."""
    for one in change.new:
        if one.verdict == "refused":
            continue
        if one.event.kind == "deadline.elapsed" and one.event.data["judged_at"] < one.event.data["declared_at"]:
            return f"{one.event.data['deadline']} elapsed at {one.event.data['judged_at']}, before {one.event.data['declared_at']}"
        if one.event.kind == "approval.granted":
            asked = next(a for a in change.before.approvals if a.id == one.event.data["approval_id"])
            until = asked.data.get("expires_at")
            if until is not None and str(one.event.time) >= until:
                return f"granted at {one.event.time}, and the time to answer ended at {until}"
        if one.event.kind == "dispatch.claimed" and any(str(one.event.time) >= at for at in change.before.deadlines.values()):
            return f"claimed at {one.event.time}, after one of {dict(change.before.deadlines)}"
    return ""


STEP_LAWS: Final[Mapping[str, Callable[[Change], str]]] = MappingProxyType({
    "R2": nothing_is_lost,
    "R3": a_wish_moves_nothing,
    "R4": terminal_is_final,
    "siblings": no_sibling_is_touched,
    "R10": time_is_the_authority_s,
})  # fmt: skip  # one line a rule
