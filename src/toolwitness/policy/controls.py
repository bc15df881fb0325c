"""What may be clicked now, and for whatever is off the reason: the same rules judge the click itself.

``judge_action`` answers for one action; ``permitted_actions`` asks it about every action that the moment offers. So a button
that is on is a command that would be accepted, and a button that is off says what the command would be refused with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, EXECUTING, TERMINAL, Reconciliation, State
from toolwitness.core.task import Records, TaskRecord, required_lineages
from toolwitness.core.verdicts import Actor, Control, PolicyVerdict
from toolwitness.policy.approvals import Decision, judge_decision, objection_to_actor, objection_to_channel
from toolwitness.policy.authorization import Authority
from toolwitness.policy.consequences import CancelUntil
from toolwitness.policy.retry import body_may_run, expired_approval, given_up, judge_resubmission, judge_retry, judge_reversal
from toolwitness.policy.rules import Rule, judge
from toolwitness.policy.tool_policy import CancelSupport, ToolPolicy

PASSIVE: Final = ("review", "inspect", "copy", "continue")
"""Actions that only look; they change nothing and are never off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Everything that a control depends on."""

    record: InvocationRecord
    policy: ToolPolicy
    actor: Actor | None
    now: datetime
    latest_attempt: str = ""
    """The id of the latest attempt of this lineage, where the caller knows its task."""
    route: str = ""
    blocked_by: tuple[str, ...] = ()
    authority: Authority = field(default_factory=Authority)


def moment_of(
    record: InvocationRecord, policy: ToolPolicy, actor: Actor | None, now: datetime, *, latest_attempt: str = "", route: str = "",
    blocked_by: Sequence[str] = (), authority: Authority | None = None,
) -> Moment:  # fmt: skip  # a signature in three lines
    """Put together everything that a control depends on; the one maker, so that a button and its click never see different moments."""
    return Moment(
        record=record, policy=policy, actor=actor, now=now, latest_attempt=latest_attempt, route=route, blocked_by=tuple(blocked_by),
        authority=authority or Authority(),
    )  # fmt: skip  # facts in lines


def judge_action(
    record: InvocationRecord,
    policy: ToolPolicy,
    actor: Actor | None,
    *,
    action: str,
    now: datetime,
    latest_attempt: str = "",
    route: str = "",
    blocked_by: Sequence[str] = (),
    authority: Authority | None = None,
) -> PolicyVerdict:
    """Judge whether ``actor`` may do ``action`` to ``record`` at ``now``; an action nobody knows is refused."""
    moment = moment_of(
        record, policy, actor, now, latest_attempt=latest_attempt, route=route, blocked_by=blocked_by, authority=authority
    )  # fmt: skip  # one call
    return _judge(moment, action)


def permitted_actions(
    record: InvocationRecord,
    policy: ToolPolicy,
    actor: Actor | None,
    now: datetime,
    *,
    latest_attempt: str = "",
    blocked_by: Sequence[str] = (),
    authority: Authority | None = None,
) -> tuple[Control, ...]:
    """Give every control that the moment offers ``actor``, on or off, each off one with its reason."""
    moment = moment_of(record, policy, actor, now, latest_attempt=latest_attempt, blocked_by=blocked_by, authority=authority)
    controls: list[Control] = []
    for action in _offered(record):
        verdict = _judge(moment, action)
        note = "" if verdict.allowed and verdict.rule not in _WORTH_SAYING else verdict.reason
        controls.append(Control(action=action, enabled=verdict.allowed, rule=verdict.rule, reason=note, binding=_binding(record, action)))
    return tuple(controls)


def further_actions(
    record: InvocationRecord, policy: ToolPolicy, actor: Actor | None, now: datetime, *, authority: Authority | None = None
) -> tuple[Control, ...]:
    """Offer what the lifecycle's table does not name: a person's answer in the tool's place, by the rules that judge that click.

    Whoever may deny the request may answer it; where nobody was asked, it is as a dismissal, and offered to whoever may do that.
    """
    asked = record.open_approval is not None
    out_of_hand = record.state not in BEFORE_DISPATCH or record.claim is not None or record.starts
    if out_of_hand or not (record.governed or record.approvals):
        return ()
    verdict = judge_action(record, policy, actor, action="deny" if asked else "dismiss", now=now, authority=authority)
    if not verdict.allowed and not asked:
        return ()
    reason = "" if verdict.allowed else verdict.reason
    return (Control(action="respond", enabled=verdict.allowed, rule=verdict.rule, reason=reason, binding=_binding(record, "deny")),)


def task_actions(task: TaskRecord, records: Records, actor: Actor | None) -> tuple[Control, ...]:
    """Offer to waive each required child that has ended without success; only a person can say that it is not needed."""
    controls: list[Control] = []
    for root, record in required_lineages(task, records).items():
        if record is None or record.state not in TERMINAL or record.state is State.SUCCEEDED:
            continue
        if root in task.waived or record.id in task.waived:
            continue
        objection = objection_to_actor(actor, record)
        binding = {"invocationId": record.id}
        rule = "actor" if objection else "child-ended"
        controls.append(Control(action="waive_child", enabled=not objection, rule=rule, reason=objection, binding=binding))
    return tuple(controls)


# ── what the moment offers ──────────────────────────────────────────────────────────────────────────────────────────

_BY_STATE: Final[Mapping[State, tuple[str, ...]]] = MappingProxyType(
    {
        State.PROPOSED: ("review", "submit", "edit_inputs", "dismiss"),
        State.AWAITING_INPUT: ("supply_input", "choose_route", "withdraw", "dismiss"),
        State.AWAITING_APPROVAL: ("approve", "deny", "inspect", "withdraw"),
        State.QUEUED: ("inspect", "request_cancellation"),
        State.RUNNING: ("inspect", "request_cancellation"),
        State.STREAMING: ("inspect", "request_cancellation"),
        State.PARTIALLY_COMPLETE: ("inspect", "request_cancellation"),
        State.SUCCEEDED: ("inspect", "copy", "continue", "reverse"),
        State.FAILED: ("inspect", "retry", "edit_inputs", "choose_route"),
        State.CANCELLED: ("inspect", "resubmit"),
        State.EXPIRED: ("review", "resubmit", "request_approval_again"),
    }
)
"""The user actions of the lifecycle matrix, in the order in which they are shown."""
_TO_FIND_OUT: Final = frozenset({Reconciliation.UNKNOWN, Reconciliation.REQUIRED})


def _offered(record: InvocationRecord) -> tuple[str, ...]:
    """Name the actions that have a place on the card now, whoever looks."""
    if record.state is None:
        return ()
    actions = list(_BY_STATE[record.state])
    in_flight = record.state is State.QUEUED or record.state in EXECUTING
    approval = record.approval
    if record.state is State.CANCELLED and record.starts:
        actions[1:1] = ["retry"]
    if record.state is State.EXPIRED and not expired_approval(record):
        actions.remove("request_approval_again")
    if record.state is State.AWAITING_APPROVAL and approval and approval.answer and approval.answer.kind == "invalidated":
        actions.append("request_approval_again")
    if in_flight and record.open_approval is not None:
        actions[:0] = ["approve", "deny"]
    if in_flight and record.input_request is not None:
        actions[:0] = ["supply_input"]
    if given_up(record):
        actions.append("retry")
    if record.state in TERMINAL and body_may_run(record):
        actions.append("request_cancellation")
    if _reconcilable(record):
        actions.append("reconcile")
    return tuple(actions)


def _reconcilable(record: InvocationRecord) -> bool:
    """Tell whether what happened is in doubt: after an end that leaves it open, after contact was lost, after an undoing."""
    ended = record.state in TERMINAL and record.reconciliation in _TO_FIND_OUT
    return record.needs_reconciliation or ended or bool(record.reversed_by)


def _binding(record: InvocationRecord, action: str) -> Mapping[str, Any]:
    approval = record.open_approval
    if action not in tuple(Decision) or approval is None:
        return {}
    return {"approvalId": approval.id, "inputsDigest": approval.data.get("inputs_digest", "")}


# ── the rules of each action ────────────────────────────────────────────────────────────────────────────────────────

_WORTH_SAYING: Final = frozenset({"thread", "support-unknown"})
"""Rules that allow with something that a person should know before clicking."""


def _judge(moment: Moment, action: str) -> PolicyVerdict:
    if action in PASSIVE:
        return PolicyVerdict(allowed=True, rule="looking", reason="it only looks")
    if action in tuple(Decision):
        approval = moment.record.open_approval or moment.record.approval
        wanted = approval.id if approval else ""
        return judge_decision(
            moment.record, moment.policy, moment.actor, action=action, approval_id=wanted, now=moment.now, authority=moment.authority
        )
    rules = _RULES.get(action)
    if rules is None:
        return PolicyVerdict(allowed=False, rule="unknown-action", reason=f"there is no action {action!r}")
    verdict = judge((_PRESENTED, _ACTOR, *rules), moment, allowed_by=f"may-{action}", reason="policy allows it")
    if verdict.allowed:
        authorized = moment.authority.judge(moment.record, moment.policy, moment.actor, action=action, now=moment.now)
        if not authorized.allowed:
            return authorized
    again = _AGAIN.get(action)
    if verdict.allowed and again is not None:
        return again(moment.record, moment.policy, moment.now)
    return _cancel_note(moment) if verdict.allowed and action == "request_cancellation" else verdict


def _cancel_note(moment: Moment) -> PolicyVerdict:
    """Allow a cancellation request, and say what it can and cannot do."""
    support = _support(moment)
    if support == CancelSupport.THREAD:
        reason = "it runs in a thread and cannot be stopped: the request is recorded, and what it does until it ends is recorded too"
        return PolicyVerdict(allowed=True, rule="thread", reason=reason)
    if not support:
        reason = "nobody has said whether it can be stopped: the request is recorded and passed on where somebody listens"
        return PolicyVerdict(allowed=True, rule="support-unknown", reason=reason)
    return PolicyVerdict(allowed=True, rule="may-request_cancellation", reason="its own task can be asked to stop")


def _support(moment: Moment) -> str:
    return moment.record.cancel_support or str(moment.policy.cancel_support)


def _before_dispatch(moment: Moment) -> str:
    record = moment.record
    if record.state not in BEFORE_DISPATCH:
        return f"it is {record.state}: only a call that has not been dispatched can be closed this way"
    return ""


def _unclaimed(moment: Moment) -> str:
    claim = moment.record.claim if moment.record.state in BEFORE_DISPATCH else None
    return f"permit {claim.permit} was claimed at {claim.at}: request its cancellation instead" if claim else ""


def _in(*states: State, why: str) -> Callable[[Moment], str]:
    return lambda moment: "" if moment.record.state in states else f"{why}, and this one is {moment.record.state}"


def _unblocked(moment: Moment) -> str:
    return f"it waits for {', '.join(moment.blocked_by)}" if moment.blocked_by else ""


def _not_yet_permitted(moment: Moment) -> str:
    permission = moment.record.permission
    refused = permission is not None and permission.get("refused")
    return "" if permission is None or refused else "it is submitted and permitted; nobody has taken it up yet"


def _not_ended(moment: Moment) -> str:
    return f"it is already {moment.record.state}" if moment.record.state in TERMINAL else ""


def _governed(moment: Moment) -> str:
    """Say whose a call is that no policy of ours was asked about; once it asks us for an approval it is ours to decide."""
    record = moment.record
    ours = record.governed or bool(record.approvals)
    return "" if ours else "no policy of ours applies to it: the runtime that proposed it runs it"


def _input_wanted(moment: Moment) -> str:
    wanted = moment.record.input_request
    if wanted is None:
        return "no input is asked for"
    collector = wanted.get("collector")
    return "" if collector == "person" else f"the {collector} is asked for it, not a person"


def _route_known(moment: Moment) -> str:
    routes = moment.policy.alternate_routes
    if not routes:
        return "this tool names no other route"
    return f"{moment.route!r} is none of its routes: {', '.join(routes)}" if moment.route and moment.route not in routes else ""


def _still_latest(moment: Moment) -> str:
    record = moment.record
    later = record.retried_by or record.replaced_by
    if not later and moment.latest_attempt not in {"", record.id}:
        later = moment.latest_attempt
    return f"a later attempt exists: {later}" if later else ""


def _dispatched(moment: Moment) -> str:
    record = moment.record
    if record.state in BEFORE_DISPATCH and record.claim is None:
        return "it has not been dispatched: deny, dismiss or withdraw it instead"
    return ""


def _may_still_run(moment: Moment) -> str:
    record = moment.record
    return f"it is {record.state} and nothing says that it still runs" if record.state in TERMINAL and not body_may_run(record) else ""


def _cancel_supported(moment: Moment) -> str:
    unsupported = _support(moment) == CancelSupport.UNSUPPORTED
    return "the layer that runs it cannot be asked to stop it" if unsupported else ""


def _uncommitted(moment: Moment) -> str:
    """After the boundary a cancel button would promise what cannot be kept; what is left is recovery."""
    crossed = moment.record.commitment
    if crossed is None or moment.policy.demands.cancel_until.value is CancelUntil.END:
        return ""
    boundary = crossed.data.get("boundary") or moment.policy.commitment_boundary
    left = ", ".join(moment.policy.recovery)
    rest = f"what is left: {left}" if left else "no way back is named for it"
    return f"{boundary} was passed at {crossed.at}: it cannot be called back; {rest}"


def _not_yet_asked(moment: Moment) -> str:
    asked = moment.record.open_cancellation
    return f"requested by {asked.actor} at {asked.at}; nothing has acknowledged it yet" if asked else ""


def _invalidated_or_expired(moment: Moment) -> str:
    record = moment.record
    if expired_approval(record):
        return _still_latest(moment)
    answer = record.approval.answer if record.approval else None
    if record.state in BEFORE_DISPATCH and answer is not None and answer.kind == "invalidated":
        return ""
    return "an approval is asked for again only after it expired or was invalidated"


def _to_reconcile(moment: Moment) -> str:
    return "" if _reconcilable(moment.record) else "nothing about its effects is in doubt"


def _asked_for_it(moment: Moment) -> str:
    """Where it is on record who asked for the call, only they take it back; an approver denies."""
    requester = str(moment.record.proposal.get("requested_by") or "")
    who = moment.actor.id if moment.actor else ""
    return f"{requester} asked for it, and only they take it back" if requester and who != requester else ""


_PRESENTED: Final[Rule[Moment]] = Rule("presented", lambda moment: objection_to_channel(moment.actor, moment.record))
_ACTOR: Final[Rule[Moment]] = Rule("actor", lambda moment: objection_to_actor(moment.actor, moment.record))
_OPEN: Final = (Rule("before-dispatch", _before_dispatch), Rule("already-dispatched", _unclaimed), Rule("requester", _asked_for_it))
_DRAFT: Final = _in(
    State.PROPOSED, State.AWAITING_INPUT, State.AWAITING_APPROVAL, why="inputs are edited before dispatch; a later attempt starts from them"
)
_PROPOSED: Final = _in(State.PROPOSED, why="only a proposal can be submitted")
_ROUTE_OPEN: Final = _in(
    State.PROPOSED,
    State.AWAITING_INPUT,
    State.AWAITING_APPROVAL,
    State.FAILED,
    why="another route is chosen before dispatch or after a failure",
)

_RULES: Final[Mapping[str, tuple[Rule[Moment], ...]]] = MappingProxyType(
    {
        "submit": (
            Rule("state", _PROPOSED),
            Rule("not-ours", _governed),
            Rule("blocked", _unblocked),
            Rule("already-permitted", _not_yet_permitted),
        ),
        "edit_inputs": (Rule("state", _DRAFT), Rule("already-dispatched", _unclaimed)),
        "supply_input": (Rule("ended", _not_ended), Rule("input-wanted", _input_wanted)),
        "dismiss": _OPEN,
        "withdraw": _OPEN,
        "choose_route": (Rule("state", _ROUTE_OPEN), Rule("already-dispatched", _unclaimed), Rule("route", _route_known)),
        "request_cancellation": (
            Rule("not-dispatched", _dispatched),
            Rule("ended", _may_still_run),
            Rule("unsupported", _cancel_supported),
            Rule("commitment-crossed", _uncommitted),
            Rule("already-requested", _not_yet_asked),
        ),
        "retry": (Rule("not-latest", _still_latest),),
        "resubmit": (Rule("not-latest", _still_latest),),
        "reverse": (),
        "request_approval_again": (Rule("approval-gone", _invalidated_or_expired),),
        "reconcile": (Rule("nothing-in-doubt", _to_reconcile),),
    }
)
"""Every action that changes something, and what can speak against it."""
_AGAIN: Final = MappingProxyType({"retry": judge_retry, "resubmit": judge_resubmission, "reverse": judge_reversal})
