"""The reports' words for a no, beside the names of our rules.

A report writes ``rejected:<why>`` and ``refuse:<why>``; our rules have names of their own. A word that is not in these tables is not
checked and is reported as such: it is never taken to mean what it seems to.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolwitness.testing.reports.stage import Answer


def _table(*entries: tuple[str, str]) -> Mapping[str, frozenset[str]]:
    """Give each word with its rules; a word that stands beside several groups of rules may mean any of them."""
    found: dict[str, frozenset[str]] = {}
    for rules, words in entries:
        for word in words.split():
            found[word] = found.get(word, frozenset()) | frozenset(rules.split())
    return MappingProxyType(found)


REJECTED: Final = _table(
    ("actor", """
        no-actor anonymous unauthenticated no-identity not-authenticated no-authenticated-actor actor-missing
    """),
    ("eligible", """
        not-eligible ineligible not-authorized unauthorized wrong-user wrong-actor no-authority self-approval
        proposer-may-not-approve not-an-approver actor-not-eligible no-permission forbidden not-allowed not-permitted
    """),
    ("known-request unknown-id", """
        unknown-approval unknown-request no-such-approval other-invocation wrong-invocation wrong-approval wrong-attempt
        approval-of-other-attempt other-attempt other-request wrong-request approval-not-found not-found unknown
        no-such-request wrong-card old-attempt previous-attempt
    """),
    ("already-answered already-decided already-requested superseded terminal input-wanted not-latest", """
        already-used already-decided already-answered already-resolved already-denied already-approved lost-race race-lost
        too-late decided-by-other second-decision duplicate duplicate-decision already-consumed consumed used answered
        approval-used approval-already-used already-granted
    """),
    ("deadline-elapsed", """
        expired approval-expired already-expired deadline-passed after-deadline after-expiry late
    """),
    ("deadline-unreadable", """
        deadline-unreadable unreadable-deadline deadline-unknown unknown-deadline invalid-deadline bad-deadline
        unparseable-deadline deadline-unparseable deadline-invalid deadline-without-zone deadline-without-timezone no-timezone
        expiry-unreadable unreadable-expiry zoneless-deadline ambiguous-deadline
    """),
    ("inputs", """
        args-changed args-differ args-differ-from-shown args-differ-from-approved digest-mismatch args-digest-mismatch
        inputs-changed args-mismatch stale-args stale-digest shown-args-differ other-args wrong-digest
    """),
    ("already-answered attempt inputs known-request superseded terminal input-wanted not-latest before-dispatch", """
        stale superseded outdated stale-request stale-approval stale-response stale-card stale-tab stale-version replaced
        old-request approval-superseded no-longer-current
    """),
    ("attempt known-request", """
        stale-attempt attempt-mismatch
    """),
    ("speaker", """
        no-user-decision not-a-user-decision inferred inferred-decision not-user-decision
    """),
    ("presented", """
        not-presented never-presented not-shown prompt-not-presented unpresented
    """),
    ("contradictory", """
        contradictory contradiction conflicting conflicting-answers opposite-answers contradictory-answers ambiguous
        ambiguous-submission contradictory-submission both-answers approve-and-deny two-opposite-answers
    """),
    ("scope", """
        scope-not-shown scope-unreadable scope-not-visible not-visible nothing-shown
    """),
    ("already-answered ended terminal before-dispatch input-wanted not-failed not-closed", """
        terminal already-terminal closed already-closed already-finished already-complete already-succeeded already-cancelled
        not-pending not-open no-longer-pending not-waiting
    """),
    ("policy-version", """
        policy-changed policy-version
    """),
    ("already-answered already-claimed already-dispatched", """
        already-dispatched already-running already-started
    """),
    ("commitment-crossed", """
        committed already-committed past-commitment commitment-crossed cannot-be-called-back
    """),
    ("unsupported", """
        not-supported unsupported cannot-be-cancelled not-cancellable cancel-not-supported
    """),
    ("attempts", """
        attempts-exhausted no-attempts-left max-attempts retry-limit
    """),
    ("requester", """
        not-the-requester not-requester only-the-requester
    """),
    ("not-dispatched", """
        not-dispatched not-running
    """),
    ("earlier-outcome-unknown outcome-unknown", """
        outcome-unknown same-purpose-outcome-unknown reconcile-first reconciliation-required
    """),
)  # fmt: skip  # a table that reads as one
"""Word → the rules of ours by which a decision is refused that way."""
REFUSED: Final = _table(
    ("approval-bound approval-outdated other-inputs", """
        args-differ-from-approved args-differ args-changed args-changed-after-approval digest-mismatch args-digest-mismatch
        inputs-differ-from-approved other-args approval-for-other-args approval-covers-other-args
    """),
    ("blocked", """
        dependencies-unresolved dependency-unresolved blocked dependencies-failed dependency-failed blocked-by-dependencies
    """),
    ("earlier-outcome-unknown outcome-unknown", """
        same-purpose-outcome-unknown outcome-unknown reconcile-first reconciliation-required previous-outcome-unknown
        first-outcome-unknown
    """),
    ("already-claimed already-started one-dispatch terminal earlier-succeeded", """
        already-succeeded already-used approval-already-used already-dispatched already-running already-started
        already-claimed already-executed duplicate-dispatch duplicate second-dispatch already-queued already-accepted
        once-only decision-already-used
    """),
    ("terminal", """
        already-terminal terminal already-failed cancelled already-cancelled withdrawn closed denied expired approval-expired
        already-expired
    """),
    ("approval-missing not-permitted", """
        not-approved no-approval approval-missing approval-required approval-pending awaiting-approval needs-approval
        not-yet-approved unapproved no-decision no-valid-approval
    """),
    ("approval-of-another approval-missing not-permitted", """
        new-tool-needs-its-own-approval other-tool-needs-its-own-approval needs-its-own-approval edited-to-other-tool
    """),
    ("approval-of-another", """
        approval-of-another approval-for-other-invocation approval-for-another-call approval-not-for-this wrong-approval
        other-approval approval-for-other-attempt
    """),
    ("approval-lapsed", """
        approval-lapsed lapsed approval-too-old stale-approval
    """),
    ("approval-bound", """
        wrong-attempt attempt-mismatch policy-changed approval-for-attempt-1
    """),
    ("deadline", """
        deadline-passed queue-deadline-passed too-late
    """),
    ("inputs-unresolved", """
        inputs-unresolved input-missing missing-input inputs-missing awaiting-input invalid-args
    """),
    ("unproposed", """
        unknown-invocation not-proposed unproposed
    """),
)  # fmt: skip  # as above
"""Word → the rules of ours by which a dispatch is refused that way."""

_EXPIRY: Final = frozenset({"expired", "approval-expired", "already-expired", "deadline-passed", "after-deadline", "after-expiry", "late"})


def known(table: Mapping[str, frozenset[str]], why: str) -> bool:
    """Tell whether we have a rule for a report's word."""
    return why in table


def rejected_so(answer: Answer, why: str) -> bool:
    """Tell whether the desk refused a decision for the reason that the report names."""
    if answer.decision != "refused":
        return False
    if why in _EXPIRY and expired_before(answer):
        return True
    return answer.rule in REJECTED.get(why, frozenset())


def expired_before(answer: Answer) -> bool:
    """Tell whether a decision was refused because the time for it was over, recorded as such or not."""
    if answer.rule == "deadline-elapsed":
        return True
    over = answer.rule in {"already-answered", "already-decided", "terminal"}
    return over and (answer.winner.get("kind") in {"expired", "deadline.elapsed"} or "expired" in answer.reason)


def refused_so(answer: Answer, why: str) -> bool:
    """Tell whether a dispatch was refused for the reason that the report names."""
    return answer.dispatch == "refuse" and answer.dispatch_rule in REFUSED.get(why, frozenset())
