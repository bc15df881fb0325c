"""A person answers in the tool's place: the call is closed before dispatch, and what they said is theirs and never the tool's."""

from toolwitness.core.evidence import Kind
from toolwitness.core.states import TERMINAL, ClosureKind, Owner
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.approvals import judge_decision
from toolwitness.policy.controls import judge_action
from toolwitness.ports import Draft
from toolwitness.service.workplace import Receipt, Situation, Workplace, carry_out, dispatched, make_draft, require, said_by


async def respond(
    place: Workplace, invocation_id: str, *, actor: Actor, answer: bytes, approval_id: str = "", reason: str = "", request_id: str = ""
) -> Receipt:
    """Close a call with an answer of a person's; ``answer`` is its exact JSON.

    Where an approval waits, it is theirs to give who may answer that; else it is as a dismissal. The tool does not run.

    Raises:
        NotPermitted: not theirs to answer, already answered, dispatched or over; the refusal is on record.
    """

    def decide(situation: Situation) -> list[Draft]:
        record = situation.record
        waiting = record.open_approval
        about = waiting or (record.approval if record.state in TERMINAL else None)
        wanted = approval_id or (about.id if about else "")
        facts = said_by(
            actor, fields=["answer"], reason=reason or None, request_id=request_id or None, approval_id=wanted or None,
        )  # fmt: skip  # facts in lines
        act = make_draft(
            place, record, Kind.INPUT_SUPPLIED, facts, owner=Owner.USER, values={"inputs": answer},
            once_key=f"answer:{waiting.id}" if waiting else "",
        )  # fmt: skip  # facts in lines
        require(_judge(situation, actor, wanted), act)
        closed = {
            "kind": str(ClosureKind.ANSWERED_BY_HUMAN), "initiator": actor.id, "scope": "this invocation", "at": place.stamp(),
            "reason": reason or f"answered in the tool's place by {actor.id}", "approval_id": wanted or None, "executed": False,
            "owner_name": "authorization" if wanted else "proposal",
        }  # fmt: skip  # facts in lines
        closure = make_draft(place, record, Kind.CLOSED, closed, caused_by=[act.event.ref], once_key=f"dispatch:{record.id}")
        return [act, closure]

    return await carry_out(place, invocation_id, decide)


def _judge(situation: Situation, actor: Actor, wanted: str) -> PolicyVerdict:
    record, now = situation.record, situation.now
    if dispatched(record):
        return PolicyVerdict(
            allowed=False, rule="already-dispatched", reason=f"it is {record.state}: what has been dispatched answers itself"
        )
    if wanted:
        return judge_decision(
            record, situation.policy, actor, action="deny", approval_id=wanted, now=now, authority=situation.authority
        )  # fmt: skip  # one call
    return judge_action(record, situation.policy, actor, action="dismiss", now=now, authority=situation.authority)
