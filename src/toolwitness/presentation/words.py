"""The one place for the words that a person reads: states, kinds, findings, controls, closures, deadlines, gaps.

Plain, short, present tense; who does what and when. No word is stronger than the evidence that it stands for. Sentences with facts in them are
built in ``claims``, ``headlines`` and ``sentences`` from the words here.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from toolwitness.core.findings import Code
from toolwitness.core.states import ClosureKind, Deadline, Owner, Reconciliation, State
from toolwitness.policy.consequences import CONSEQUENCES as DEMANDS
from toolwitness.policy.retry import Conclusion
from toolwitness.presentation.foreign import line


class StateWords(NamedTuple):
    """How a state is named and toned; the glyph has the state's own name."""

    label: str
    tone: str
    phrase: str
    """The state inside a sentence: ``the record stays <phrase>``."""


STATES: Final = MappingProxyType({
    State.PROPOSED: StateWords("Proposed", "off", "proposed"),
    State.AWAITING_INPUT: StateWords("Awaiting input", "wait", "awaiting input"),
    State.AWAITING_APPROVAL: StateWords("Awaiting approval", "wait", "awaiting approval"),
    State.QUEUED: StateWords("Queued", "live", "queued"),
    State.RUNNING: StateWords("Running", "live", "running"),
    State.STREAMING: StateWords("Streaming", "live", "running"),
    State.PARTIALLY_COMPLETE: StateWords("Partially complete", "live", "partially complete"),
    State.SUCCEEDED: StateWords("Succeeded", "ok", "succeeded"),
    State.FAILED: StateWords("Failed", "bad", "failed"),
    State.CANCELLED: StateWords("Cancelled", "off", "cancelled"),
    State.EXPIRED: StateWords("Expired", "off", "expired"),
})  # fmt: skip  # one line a state
NO_STATE: Final = StateWords("No state recorded", "off", "without a recorded state")


def state_words(state: State | None) -> StateWords:
    """Give the words of a state, or say that none is recorded."""
    return STATES[state] if state is not None else NO_STATE


ROLES: Final = MappingProxyType({"caller": "its caller", "policy": "policy", "runtime": "the runtime", "model": "the model"})
"""Who acts where it is no person; a person's id is shown as it is."""

OWNERS: Final = MappingProxyType({
    Owner.RUNTIME: "runtime",
    Owner.POLICY: "policy",
    Owner.USER: "person",
    Owner.PRESENTATION: "presentation",
})  # fmt: skip  # one line an owner

EXECUTORS: Final = MappingProxyType({"task": "", "thread": "in a thread"})
"""Kinds of executor that say how a body runs and not where; that it can be stopped needs no word."""

CLOSURES: Final = MappingProxyType({
    ClosureKind.DENIED: "denied",
    ClosureKind.DISMISSED: "dismissed",
    ClosureKind.WITHDRAWN: "withdrawn",
    ClosureKind.ANSWERED_BY_HUMAN: "answered by a person in the tool's place",
    ClosureKind.TERMINATED: "stopped",
    ClosureKind.EXPIRED: "expired",
})  # fmt: skip  # one line a kind

CONSEQUENCES: Final = MappingProxyType({consequence: row.label for consequence, row in DEMANDS.items()})
"""What a call can affect, in the words that policy's own table has for it."""

RECONCILIATIONS: Final = MappingProxyType({
    Reconciliation.NOT_EXECUTED: "Nothing is recorded to have run.",
    Reconciliation.NONE_EXPECTED: "No effect is expected of this tool.",
    Reconciliation.AS_REPORTED: "As the tool reported; nobody else has checked.",
    Reconciliation.UNKNOWN: "Nobody knows what it did.",
    Reconciliation.REQUIRED: "Somebody must find out what really happened.",
    Reconciliation.RECONCILED: "Somebody found out what really happened and recorded it.",
})  # fmt: skip  # one line a value

CONCLUSIONS: Final = MappingProxyType({
    Conclusion.NO_EFFECT: "It did not happen",
    Conclusion.HAPPENED: "It happened",
    Conclusion.PARTIAL: "Part of it happened",
    Conclusion.AS_REPORTED: "It happened as reported",
    Conclusion.REVERSED: "It happened and was undone",
})  # fmt: skip  # one line a conclusion
"""What somebody found out about the effects of an attempt, in the order in which it is offered."""


def conclusion_words(said: object) -> str:
    """Say what was concluded; a sentence of whoever concluded it stands as it came."""
    known = next((words for conclusion, words in CONCLUSIONS.items() if conclusion == said), None)
    return known or line(said)


DEADLINES: Final = MappingProxyType({
    Deadline.INPUT: "The request for input",
    Deadline.APPROVAL: "The request for approval",
    Deadline.QUEUE_START: "The permission to start",
    Deadline.RESULT: "The time for a result",
})  # fmt: skip  # one line a deadline


def deadline_words(name: object) -> str:
    """Name what a deadline was set for; one that we do not know is a deadline and no more."""
    known = next((deadline for deadline in Deadline if deadline == name), None)
    return DEADLINES[known] if known else "A deadline"


class FindingWords(NamedTuple):
    """The bold fact and its plain consequence."""

    headline: str
    detail: str


FINDINGS: Final = MappingProxyType({
    Code.STARTED_WITHOUT_PERMIT: FindingWords("It started without a permit.", "Policy did not let it start; it runs or ran all the same."),
    Code.ACCEPTED_WITHOUT_PERMIT: FindingWords("It was queued without a permit.", "Policy did not let it be handed on; something did."),
    Code.RAN_WITHOUT_APPROVAL: FindingWords("It ran without the approval that was asked for.", "No approval is recorded. An answer now undoes nothing."),
    Code.POLICY_UNOBSERVED: FindingWords("No policy of ours was asked.", "This runtime is only read here; whatever rules it has are its own."),
    Code.DUPLICATE_START: FindingWords("The same attempt started twice.", "Nobody decided a second start. What it did twice must be reconciled."),
    Code.STARTED_AFTER_END: FindingWords("It started after its end.", "The record keeps its end; what the start did must be reconciled."),
    Code.LATE_EFFECT: FindingWords("Something happened after its end.", "The record keeps its end; what happened must be reconciled."),
    Code.LATE_OUTCOME: FindingWords("A result arrived after its end.", "The record keeps its end; what the result stands for must be reconciled."),
    Code.CONFLICTING_OUTCOMES: FindingWords("Two ends are recorded that cannot both be true.", "The first one stands; which one is right must be reconciled."),
    Code.LATE_CLOSURE: FindingWords("An end was recorded too late to count.", "The call had already gone on or ended; that stands."),
    Code.ACTIVITY_AFTER_END: FindingWords("It was seen at work after its end.", "The record keeps its end; it may still run, and what it does must be reconciled."),
    Code.OUTCOME_UNKNOWN: FindingWords("Nobody knows how it ended.", "Contact was lost. It may have finished, failed, or still run."),
    Code.WAITER_GONE: FindingWords("Nobody waits for it any more.", "That proves nothing about the tool: it may still run."),
    Code.COMPLETED_DESPITE_CANCEL: FindingWords("It succeeded although its cancellation was requested.", "The request did not stop it; what it did stands."),
    Code.EFFECT_AFTER_CANCEL: FindingWords("Something happened after its cancellation was requested.", "A request stops nothing by itself; what happened stands."),
    Code.CANCEL_UNACKNOWLEDGED: FindingWords("Nobody has confirmed the cancellation.", "It is taken to run until its executor says otherwise."),
    Code.CANNOT_BE_STOPPED: FindingWords("It cannot be stopped.", "What it does is still recorded."),
    Code.ACKNOWLEDGEMENT_DOUBTED: FindingWords("A report that it stopped is not believed.", "Its source cannot have seen that; the state stays as it was."),
    Code.APPROVED_NOT_QUEUED: FindingWords("Approved, and not yet queued.", "Nothing has accepted the call yet."),
    Code.APPROVAL_INVALIDATED: FindingWords("What was asked has changed.", "A decision on the old question no longer counts; it must be asked again."),
    Code.WAITING_FOR_PERSON: FindingWords("It waits for a person.", "The call goes on meanwhile, as far as anybody knows."),
    Code.EXECUTED_INPUTS_DIFFER: FindingWords("It ran with other inputs than the ones shown here.", "Both are under Inputs. A decision on the shown ones does not cover it."),
    Code.ACCEPTANCE_NOT_RECORDED: FindingWords("No acceptance is recorded.", "Whether and when it was queued is not known."),
    Code.START_NOT_RECORDED: FindingWords("No start is recorded.", "When and where it began is not known."),
    Code.PROPOSAL_NOT_RECORDED: FindingWords("No proposal is recorded.", "Who asked for it, and with which inputs, is not known."),
    Code.PROGRESS_REGRESSED: FindingWords("Its progress went backwards.", "The furthest point is shown."),
    Code.ORDER_REPEATED: FindingWords("A part of its output came twice or late.", "What came first is shown; both are in the record."),
    Code.EVIDENCE_INCOMPLETE: FindingWords("A report was not complete.", "It is kept and moves nothing."),
    Code.EVIDENCE_MISSING: FindingWords("Evidence that this kind of call needs is missing.", "The result alone does not show what happened outside."),
    Code.EVIDENCE_HELD: FindingWords("A report waits for an earlier one.", "Its source has left out a number; what follows is judged when that arrives."),
    Code.SEQUENCE_REUSED: FindingWords("A source used one number twice.", "Only what came first under it counts."),
    Code.UNKNOWN_WORD: FindingWords("The runtime said something that is not understood here.", "It is kept as it came and counts neither as success nor as failure."),
    Code.DECISION_REFUSED: FindingWords("A decision was refused.", "It changed nothing."),
    Code.RESULT_REJECTED: FindingWords("Its result does not fit the declared type.", "The tool ended; what it did must be reconciled."),
    Code.RESULT_DEADLINE_PASSED: FindingWords("The time for its result passed while it ran.", "It may still run; what it did must be reconciled."),
    Code.RECONCILIATION_REQUIRED: FindingWords("Somebody must find out what really happened.", "Until then, what it did outside is not known."),
    Code.LEASE_UNKNOWN: FindingWords("Somebody speaks for it who never held it.", "What came under another lease is kept and moves nothing."),
    Code.INFERRED_END_REFUSED: FindingWords("A report that it had ended is not believed.", "It was concluded from silence, while its executor still had time to speak."),
    Code.CLOCK_SKEW: FindingWords("The clocks of its sources disagree.", "What came later carries an earlier time; no wait between the two is known."),
    Code.RETRY_UNLINKED: FindingWords("It was proposed as new, and is another attempt.", "An earlier call with the same inputs may have had its effect; policy links the two."),
    Code.IDEMPOTENCY_KEY_CHANGED: FindingWords("It carries another idempotency key than the attempt before it.", "The other side would take it for a new request and could do it twice."),
    Code.REVERSAL_UNSETTLED: FindingWords("Its undoing was asked for, and how much is undone is not settled.", "What it did stands on record until the undoing has ended whole or somebody reconciles it."),
    Code.CALL_LEFT_OPEN: FindingWords("The runtime's history leaves this call open.", "It has ended; a history without its result is refused or misread at the next turn."),
    Code.RESULT_NOT_IN_HISTORY: FindingWords("The runtime's history has lost its result.", "The result is here; the model that reads that history does not know it."),
})  # fmt: skip  # one line a finding
"""Every code: the bold fact and what follows from it."""

GAPS: Final = MappingProxyType({
    Code.PROPOSAL_NOT_RECORDED: "No proposal recorded: the first that is known of it is what follows",
    Code.RAN_WITHOUT_APPROVAL: "No approval recorded, although one was asked for",
    Code.STARTED_WITHOUT_PERMIT: "No claimed permit recorded",
    Code.ACCEPTED_WITHOUT_PERMIT: "No claimed permit recorded",
    Code.ACCEPTANCE_NOT_RECORDED: "No acceptance recorded: whether and when it was queued is not known",
    Code.START_NOT_RECORDED: "No start recorded: when and where it began is not known",
})  # fmt: skip  # in the order of the lifecycle
"""Steps that left no evidence, in the order in which they would have come; each is named before the event that shows it."""

RAIL_ONLY: Final = frozenset(
    {Code.PROPOSAL_NOT_RECORDED, Code.ACCEPTANCE_NOT_RECORDED, Code.START_NOT_RECORDED, Code.ORDER_REPEATED, Code.CLOCK_SKEW}
)
"""Notes that the evidence rail says where they belong; in every headline they would drown what matters."""

ACTIONS: Final = MappingProxyType({
    "approve": "Approve",
    "deny": "Deny",
    "dismiss": "Dismiss",
    "withdraw": "Withdraw",
    "submit": "Submit",
    "supply_input": "Supply input",
    "edit_inputs": "Edit inputs",
    "choose_route": "Choose another route",
    "request_cancellation": "Request cancellation",
    "retry": "Retry",
    "reverse": "Undo",
    "resubmit": "Resubmit",
    "request_approval_again": "Ask for approval again",
    "reconcile": "Reconcile",
    "respond": "Answer in the tool's place",
    "waive_child": "Waive",
})  # fmt: skip  # one line an action
PASSIVE: Final = frozenset({"inspect", "copy", "continue", "review"})
"""Actions that reading the card already is."""
FORWARD: Final = frozenset({"approve", "submit", "supply_input"})
"""Actions that let the call go on; they are set as such."""
DECISIONS: Final = frozenset({"approve", "deny", "supply_input", "submit"})
"""Actions by which a person answers something that waits for an answer."""
EMPTY_INBOX: Final = "Nothing waits for a decision."


def request_of(who: str) -> str:
    """Say at whose request something was done."""
    return "at your request" if who == "you" else f"at the request of {who}"


def collector_words(collector: str) -> str:
    """Name who collects an input."""
    return "a person" if collector == "person" else f"the {collector}"


def counted(count: int, one: str, many: str = "") -> str:
    """Say how many of what: ``1 gap``, ``2 gaps``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def joined(parts: list[str], word: str) -> str:
    """Join names into a sentence: ``a, b or c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}" if parts else ""


def action_words(action: str) -> str:
    """Name an action; one that we do not know is named by its own word."""
    return ACTIONS.get(action) or action.replace("_", " ").capitalize()
