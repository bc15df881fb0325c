"""What the desk answered: to decisions, to requests for dispatch, and in the controls and inboxes that people see."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

from toolwitness.core.states import TERMINAL
from toolwitness.testing.reports import reasons
from toolwitness.testing.reports.case import Case, Check, Fields, members
from toolwitness.testing.reports.moments import Moment
from toolwitness.testing.reports.stage import Answer
from toolwitness.testing.reports.story import texts

# ── decisions and dispatch ──────────────────────────────────────────────────────────────────────────────────────────


def _decisions(case: Case, value: object) -> None:
    for seq, wanted in members(case, "decisions", value):
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
            case.findings.compare(what, wanted, _decision_words(answer), holds=holds)


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
            return _repeats(answer, case.stage.answers.get(int(why))) if why.isdigit() else None
        case "recorded-after-expiry":
            return answer.decision == "refused" and reasons.expired_before(answer) and _same_act(answer.act, why) and bool(answer.recorded)
        case _:
            return None


_ONCE: Final = frozenset({"already-requested", "not-latest", "already-reversed"})
"""Rules that refuse because the very same thing was asked for before; they name no winner, since nobody competed."""


def _repeats(answer: Answer, first: Answer | None) -> bool:
    """Tell whether a decision was refused because an earlier one, of the same kind and about the same call, had been accepted."""
    if answer.decision != "refused" or first is None or first.decision != "accepted" or answer.act != first.act:
        return False
    if str(answer.winner.get("ref")) in {str(r.event.ref) for r in first.recorded}:
        return True
    calls = [{r.event.invocation_id for r in one.recorded} for one in (answer, first)]
    return answer.rule in _ONCE and bool(calls[0] & calls[1])


def _same_act(act: str, word: str) -> bool:
    return act == {"approved": "approve", "denied": "deny", "denial": "deny", "approval": "approve", "reject": "deny"}.get(word, word)


def _decision_words(answer: Answer) -> str:
    """Say what the desk made of a decision, in a few words."""
    if answer.decision == "none":
        return "no decision"
    return "accepted" if answer.decision == "accepted" else f"refused by {answer.rule} ({answer.reason})"


def _dispatch(case: Case, value: object) -> None:
    for name, wanted in members(case, "dispatch", value):
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
    for name, wanted in members(case, "controls", value):
        for part, expected in members(case, f"controls/{name}", wanted):
            what = f"{case.prefix}controls/{name}/{part}"
            if part == "for":
                for who, listed in members(case, f"controls/{name}/for", expected):
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
            found = sorted(
                approval for approval, covered in case.stage.approvals.items()
                if any(i in mine and _open_under(case, i, ours) for i, ours in covered.items())
            )  # fmt: skip  # one comprehension
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


CHECKS: Final[Mapping[str, Check]] = MappingProxyType({
    "decisions": _decisions,
    "dispatch": _dispatch,
    "controls": _controls,
    "inbox": _inbox,
    "pending_in_root_view": _inbox,
    "inbox_count_equals_rows": _inbox_count,
})  # fmt: skip  # one line a key
