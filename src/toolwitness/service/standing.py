"""What stands beyond one call: give and take back standing grants, and take authority from somebody. All of it is on record."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolwitness.core.errors import InvalidInput, NotPermitted, UnknownId
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, Owner
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import AUTHORITY, authority_id
from toolwitness.policy.grants import Terms, judge_terms, read_terms, write_terms
from toolwitness.policy.tool_policy import objection_to
from toolwitness.ports import Draft, Recorded, TaskView
from toolwitness.service.covering import use_key
from toolwitness.service.propose import open_register
from toolwitness.service.register import is_register, of_tenant, register_id, register_of
from toolwitness.service.workplace import (
    SOURCE,
    Situation,
    Workplace,
    carry_out,
    make_draft,
    said_by,
)


async def grant(place: Workplace, terms: Terms, *, actor: Actor, reason: str = "") -> Recorded:
    """Give a standing grant: in its task, or in the tenant's register where it names none.

    Raises:
        NotPermitted: this actor may not approve such calls, they are confirmed each time, or the grant has no limit or no end.
        InvalidInput: the task is not recorded.
    """
    policy = place.policy_for(terms.tool)
    verdict = judge_terms(terms, policy, actor, place.now())
    authority = await place.authority_in(actor.tenant)
    if verdict.allowed:
        sample = InvocationRecord(id="", task_id=terms.task, tenant=actor.tenant)
        sample.proposal = {"tool": terms.tool}
        verdict = authority.judge(sample, policy, actor, action="grant", now=place.now(), eligible=policy.eligible)
    _require(verdict)
    home = await _home(place, terms.task, actor.tenant)
    facts = write_terms(terms, policy, grant_id=place.ids.new("grt")) | said_by(actor, reason=reason or None)
    return (await place.ledger.append(home, [_draft(place, home, Kind.GRANT_RECORDED, facts, tenant=actor.tenant)]))[0]


async def revoke_grant(place: Workplace, grant_id: str, *, actor: Actor, reason: str = "") -> Recorded:
    """Take a standing grant back; from here on it covers nothing, also what was permitted under it and has not been dispatched.

    Raises:
        NotPermitted: this actor neither gave it, nor may approve such calls, nor looks after authority here.
        UnknownId: no such grant stands.
    """
    home, found = await _find(place, grant_id, actor.tenant)
    verdict = _may_revoke(place, found, actor)
    _require(verdict)

    def deciding(view: TaskView) -> Sequence[Draft]:
        if grant_id not in view.task.grants:
            return []
        facts = {"grant_id": grant_id, "reason": reason or f"taken back by {actor.id}"} | said_by(actor)
        key = use_key(grant_id, len(view.task.uses.get(grant_id, ())) + 1, actor.tenant)
        return [_draft(place, home, Kind.GRANT_REVOKED, facts, tenant=actor.tenant, once_key=key)]

    recorded = await place.ledger.decide(home, deciding)
    if not recorded:
        raise _unknown(grant_id)
    return recorded[0]


async def grants_of(place: Workplace, actor: Actor) -> list[dict[str, Any]]:
    """List every grant that stands in the actor's tenant, with what is used of it."""
    listed: list[dict[str, Any]] = []
    homes = [register_id(actor.tenant), *await place.ledger.tasks(tenant=actor.tenant, limit=10_000)]
    for home in dict.fromkeys(homes):
        view = await place.ledger.task(home)
        task = of_tenant(view, actor.tenant) if view is not None else None
        for grant_id, found in task.grants.items() if task else ():
            listed.append(_listed(home, grant_id, found, task.uses.get(grant_id, ()) if task else ()))
    return listed


def _listed(home: str, grant_id: str, found: Mapping[str, Any], uses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give one grant as plain data; one that cannot be read says so and covers nothing."""
    plain: dict[str, Any] = {"grant": grant_id, "by": str(found.get("actor") or ""), "at": str(found.get("at") or "")}
    plain |= {"task": "" if is_register(home) else home, "uses": len(uses)}
    try:
        terms, _ = read_terms(found)
    except InvalidInput as error:
        return plain | {"unreadable": error.message}
    return plain | {
        "tool": terms.tool, "where": dict(terms.where), "count": terms.count, "until": rfc3339(terms.expires_at),
        "most": terms.most.plain if terms.most else None, "amount": terms.amount.plain if terms.amount else None,
    }  # fmt: skip  # facts in lines


async def revoke_authority(place: Workplace, holder: str, *, actor: Actor, role: str = "", reason: str = "") -> list[Recorded]:
    """Take authority from somebody, all of it or one role, in the actor's tenant.

    What they approved and what has not been dispatched is invalidated, and so is what only they could answer. Whoever gives it back records
    it as a grant again (``restore_authority``).

    Raises:
        NotPermitted: this actor does not look after authority here, and it is not their own.
        InvalidInput: nobody is named.
    """
    if not holder.strip():
        raise InvalidInput("Nobody is named from whom authority would be taken.", field="holder", remedy="Name an actor.")
    _require(_may_administer(place, actor, holder))
    home = await open_register(place, actor.tenant)
    facts = {
        "grant_id": authority_id(holder, role), "reason": reason or f"taken back by {actor.id}", "scope": {"holder": holder, "role": role},
    } | said_by(actor)  # fmt: skip  # facts in lines
    recorded = list(await place.ledger.append(home, [_draft(place, home, Kind.GRANT_REVOKED, facts, tenant=actor.tenant)]))
    for row in await place.ledger.states(states=BEFORE_DISPATCH):
        if row.tenant == actor.tenant:
            recorded += (await carry_out(place, row.invocation_id, lambda now: _invalidated(place, now, holder, role))).recorded
    return recorded


async def restore_authority(place: Workplace, holder: str, *, actor: Actor, role: str = "", reason: str = "") -> Recorded:
    """Give back authority that was taken; what was invalidated meanwhile stays so.

    Raises:
        NotPermitted: this actor does not look after authority here; nobody restores their own.
        UnknownId: it was not taken.
    """
    _require(_may_administer(place, actor, ""))
    name = authority_id(holder, role)
    if name not in (await register_of(place.ledger, actor.tenant)).revoked:
        raise UnknownId(f"{name} was not taken back.", field="holder", remedy="Name the holder and the role as they were taken.")
    home = register_id(actor.tenant)
    facts = {"grant_id": name, "scope": {"holder": holder, "role": role}} | said_by(actor, reason=reason or None)
    return (await place.ledger.append(home, [_draft(place, home, Kind.GRANT_RECORDED, facts, tenant=actor.tenant)]))[0]


async def revoked_of(place: Workplace, actor: Actor) -> list[dict[str, Any]]:
    """List the authority that was taken in the actor's tenant and not given back: all of it for administrators, else the actor's own."""
    every = _may_administer(place, actor, "").allowed
    listed: list[dict[str, Any]] = []
    for name, found in (await register_of(place.ledger, actor.tenant)).revoked.items():
        if not name.startswith(AUTHORITY):
            continue
        holder, role = holder_of(name, found)
        if every or holder == actor.id:
            listed.append({
                "holder": holder, "role": role, "by": str(found.get("actor") or ""), "at": str(found.get("at") or ""),
                "reason": str(found.get("reason") or ""),
            })  # fmt: skip  # facts in lines
    return listed


def holder_of(name: str, found: Mapping[str, Any]) -> tuple[str, str]:
    """Give whose authority an id names, and which role of it; both may hold a colon, so what was recorded beside it counts first."""
    scope: Any = found.get("scope")
    if isinstance(scope, Mapping):
        return str(scope.get("holder") or ""), str(scope.get("role") or "")
    return name.removeprefix(AUTHORITY), ""


def _invalidated(place: Workplace, situation: Situation, holder: str, role: str) -> list[Draft]:
    """Invalidate the approval of a call that has not been dispatched, where it rests on authority that is gone."""
    record, approval = situation.record, situation.record.approval
    if approval is None or record.claim is not None:
        return []
    granted = situation.authority.judge_grant(record, situation.policy, situation.now)
    orphaned = record.open_approval is not None and _nobody_left(approval.data.get("eligible") or (), holder, role)
    if not orphaned and (granted is None or granted.allowed):
        return []
    why = granted.reason if granted is not None else f"nobody but {holder} could answer it, whose authority was taken back"
    facts = {"approval_id": approval.id, "reason": why, "rule": "authority-revoked"}
    key = f"answer:{approval.id}" if record.open_approval is not None else ""
    return [make_draft(place, record, Kind.APPROVAL_INVALIDATED, facts, once_key=key)]


def authority_gone(situation: Situation) -> bool:
    """Tell whether an approval that has not been used rests on authority that has ended since, or waits for nobody any more."""
    record = situation.record
    if record.claim is not None or record.state not in BEFORE_DISPATCH:
        return False
    return situation.authority.gone(record, situation.policy, situation.now) is not None


def void_what_is_gone(place: Workplace, situation: Situation) -> list[Draft]:
    """Invalidate such an approval, with the rule by which the authority is gone."""
    record, approval = situation.record, situation.record.approval
    gone = situation.authority.gone(record, situation.policy, situation.now) if authority_gone(situation) else None
    if gone is None or approval is None:
        return []
    facts = {"approval_id": approval.id, "reason": gone.reason, "rule": gone.rule}
    key = f"answer:{approval.id}" if record.open_approval is not None else ""
    return [make_draft(place, record, Kind.APPROVAL_INVALIDATED, facts, once_key=key)]


def _nobody_left(eligible: Sequence[Any], holder: str, role: str) -> bool:
    """Tell whether only somebody whose whole authority is gone was named."""
    named = {str(entry) for entry in eligible if not str(entry).startswith("not:")}
    return not role and named == {f"user:{holder}"}


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _require(verdict: PolicyVerdict) -> None:
    if not verdict.allowed:
        raise NotPermitted(verdict.reason, rule=verdict.rule)


def _may_administer(place: Workplace, actor: Actor, holder: str) -> PolicyVerdict:
    if not actor.id:
        return PolicyVerdict(allowed=False, rule="actor", reason="nobody is signed in: a decision without an actor is no decision")
    if holder and actor.id == holder:
        return PolicyVerdict(allowed=True, rule="own-authority", reason=f"{actor.id} gives up their own")
    why = objection_to(actor, place.file.administrators, proposer="")
    return PolicyVerdict(allowed=not why, rule="administrator", reason=why or f"{actor.id} looks after authority")


def _may_revoke(place: Workplace, found: Mapping[str, Any], actor: Actor) -> PolicyVerdict:
    """Let whoever gave a grant take it back, whoever could have given it, and whoever looks after authority."""
    administers = _may_administer(place, actor, str(found.get("actor") or ""))
    if administers.allowed or administers.rule == "actor":
        return administers
    try:
        tool = read_terms(found)[0].tool
    except InvalidInput:
        return administers
    why = objection_to(actor, place.policy_for(tool).eligible, proposer="")
    return PolicyVerdict(allowed=not why, rule="grant-eligible", reason=why or f"{actor.id} may approve calls of {tool}")


async def _home(place: Workplace, task: str, tenant: str) -> str:
    """Give the task in which a grant lives."""
    if not task:
        return await open_register(place, tenant)
    view = await place.ledger.task(task)
    if view is None or of_tenant(view, tenant) is None or is_register(task):
        raise InvalidInput(f"No task {task!r} is recorded.", field="task", remedy="Name a task, or none for the whole tenant.")
    return task


async def _find(place: Workplace, grant_id: str, tenant: str) -> tuple[str, Mapping[str, Any]]:
    for home in (register_id(tenant), *await place.ledger.tasks(tenant=tenant, limit=10_000)):
        view = await place.ledger.task(home)
        task = of_tenant(view, tenant) if view is not None else None
        if task is not None and grant_id in task.grants:
            return home, task.grants[grant_id]
    raise _unknown(grant_id)


def _unknown(grant_id: str) -> UnknownId:
    return UnknownId(f"No grant {grant_id!r} stands.", field="grant", remedy="List them with `toolwitness grants list`.")


def _draft(place: Workplace, home: str, kind: Kind, facts: Mapping[str, Any], *, tenant: str, once_key: str = "") -> Draft:
    event = Event(
        kind=kind, source=SOURCE, id=place.ids.new("evt"), task_id=home, owner=Owner.POLICY, tenant=tenant, time=place.stamp(),
        data={k: v for k, v in facts.items() if v is not None}, once_key=once_key,
    )  # fmt: skip  # facts in lines
    return Draft(event=event)
