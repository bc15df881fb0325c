"""What a call draws on before it is permitted: a use of a standing grant, a charge to a budget. Each is counted once for one call.

A use or a charge for the whole tenant is counted in its register, which is another task than the call's: it is counted first and the
permission cites it. Where the process ends in between, something is counted that permitted nothing; the limit errs on the safe side.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwitness.core.errors import InvalidInput, NotPermitted, OnceKeyTaken
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Owner
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.approvals import judge_decision
from toolwitness.policy.cost import Budget, Money, Per, Spending, judge_spending, read_money
from toolwitness.policy.grants import Cover, cost_of, judge_cover, judge_standing
from toolwitness.ports import Draft, TaskView
from toolwitness.service.propose import open_register
from toolwitness.service.register import of_tenant
from toolwitness.service.workplace import SOURCE, Refusal, Situation, Workplace, inputs_of, read

_BUDGET: Final = "budget:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """What was counted for one call with these inputs."""

    cover: Cover | None = None
    inputs_digest: str = ""
    tenant: PolicyVerdict | None = None
    """What the tenant's budgets say; ``None`` where they were not asked."""

    def cover_for(self, situation: Situation) -> Cover | None:
        """Give the use of the grant, where it was counted for the inputs that stand."""
        return self.cover if self.inputs_digest == _digest(situation.record) and situation.record.approval is None else None


NOTHING: Final = Covered()
NextStep = Callable[..., Sequence[Draft]]


def _digest(record: InvocationRecord) -> str:
    return str((record.inputs or {}).get("digest") or "")


# ── before a proposal is submitted, or approved ─────────────────────────────────────────────────────────────────────


async def covered(place: Workplace, invocation_id: str, next_step: NextStep) -> Covered:
    """Count what a proposal draws on, where it would be asked about or permitted now and not before."""
    situation = await read(place, invocation_id)
    record = situation.record
    grants = {**situation.register.grants, **situation.view.task.grants}
    budgets = [budget for budget in place.file.budgets if budget.per is Per.TENANT]
    if not (grants or budgets) or (record.permission is not None and not record.permission.get("refused")):
        return NOTHING
    try:
        raw = await inputs_of(place, record)
    except NotPermitted:
        return NOTHING  # whoever goes on from here says so
    checker = place.checkers.get(record.tool)
    problems = list(checker(raw)) if checker else None
    cover = None
    if grants and _leads_to(next_step, place, situation, raw, problems, NOTHING, Kind.APPROVAL_REQUESTED):
        cover = await _use_grant(place, situation, raw)
    found = Covered(cover=cover, inputs_digest=_digest(record))
    if budgets and _leads_to(next_step, place, situation, raw, problems, found, Kind.PERMITTED):
        return Covered(cover=cover, inputs_digest=_digest(record), tenant=await _charge(place, situation, raw, budgets))
    return found


def _leads_to(
    next_step: NextStep, place: Workplace, situation: Situation, raw: bytes, problems: Any, standing: Covered, kind: Kind
) -> bool:
    """Tell whether the next step would be this one; what refuses leads to nothing."""
    try:
        return any(draft.event.kind == kind for draft in next_step(place, situation, raw, problems, standing))
    except Refusal:
        return False


async def charged(place: Workplace, invocation_id: str, *, actor: Actor, approval_id: str, inputs_digest: str) -> tuple[bytes, Covered]:
    """Give the inputs that would be approved, and what was charged for them to the tenant's budgets, where the approval would count."""
    situation = await read(place, invocation_id)
    record = situation.record
    if situation.policy.cost is None and not place.file.budgets:
        return b"", NOTHING
    try:
        raw = await inputs_of(place, record)
    except NotPermitted as error:
        shown = await place.ledger.value(str((record.inputs or {}).get("ref"))) if error.facts.get("rule") == "sealed" else None
        if shown is None:
            return b"", NOTHING
        raw = shown  # an amount that is no secret can be read from it; one that is fits no budget
    budgets = [budget for budget in place.file.budgets if budget.per is Per.TENANT]
    waiting = record.open_approval
    verdict = judge_decision(
        record, situation.policy, actor, action="approve", approval_id=approval_id or (waiting.id if waiting else ""),
        inputs_digest=inputs_digest, now=situation.now, authority=situation.authority,
    )  # fmt: skip  # facts in lines
    if not budgets or not verdict.allowed or record.claim is not None:
        return raw, NOTHING
    return raw, Covered(inputs_digest=_digest(record), tenant=await _charge(place, situation, raw, budgets, approved="yes"))


# ── standing grants ─────────────────────────────────────────────────────────────────────────────────────────────────


async def _use_grant(place: Workplace, situation: Situation, raw: bytes) -> Cover | None:
    """Count one use of the first grant that covers the call; ``None`` where none does."""
    homes = ((situation.view.task.id, situation.view.task.grants), ("", situation.register.grants))
    for task_id, grants in homes:
        for grant_id in grants:
            home = task_id or await open_register(place, situation.record.tenant)
            cover = await _count(place, situation, home, grant_id, raw)
            if cover is not None:
                return cover
    return None


async def _count(place: Workplace, situation: Situation, home: str, grant_id: str, raw: bytes) -> Cover | None:
    record, found = situation.record, list[Cover]()

    def deciding(view: TaskView) -> Sequence[Draft]:
        found.clear()
        task = of_tenant(view, record.tenant)
        grant = task.grants.get(grant_id) if task else None
        if task is None or grant is None:
            return []
        uses = task.uses.get(grant_id, ())
        before = _counted(uses, record)
        known = uses[: int(before["number"]) - 1] if before else uses
        verdict = judge_cover(
            grant, record, situation.policy, raw, uses=known, now=place.now(), authority=situation.authority
        )  # fmt: skip  # one call
        if not verdict.allowed:
            return []
        found.append(Cover(grant_id, len(known) + 1, verdict.reason))
        return [] if before else [_use(place, home, grant_id, len(uses) + 1, record, cost_of(situation.policy, raw))]

    try:
        await place.ledger.decide(home, deciding)
    except OnceKeyTaken:
        return None  # it was taken back just now
    return found[0] if found else None


def _counted(uses: Sequence[Mapping[str, Any]], record: InvocationRecord) -> Mapping[str, Any] | None:
    """Give the use that was counted for this call with these inputs, where one was."""
    digest = _digest(record)
    return next((use for use in uses if use.get("used_by") == record.id and use.get("inputs_digest") == digest), None)


def _use(place: Workplace, home: str, grant_id: str, number: int, record: InvocationRecord, cost: Money | None) -> Draft:
    facts = {
        "grant_id": grant_id, "number": number, "used_by": record.id, "inputs_digest": _digest(record), "cost": cost.plain if cost else None
    }  # fmt: skip  # facts in lines
    event = Event(
        kind=Kind.GRANT_USED, source=SOURCE, id=place.ids.new("evt"), task_id=home, owner=Owner.POLICY, tenant=record.tenant,
        time=place.stamp(), data={k: v for k, v in facts.items() if v is not None}, once_key=use_key(grant_id, number, record.tenant),
    )  # fmt: skip  # facts in lines
    return Draft(event=event)


def use_key(grant_id: str, number: int, tenant: str) -> str:
    """Give the once-key of a use; taking the grant back takes the key of the next one."""
    return f"grant:{grant_id}:{number}" if not grant_id.startswith(_BUDGET) else f"grant:{tenant}/{grant_id}:{number}"


def cover_at_claim(situation: Situation) -> Cover | None:
    """Give the use under which a call was permitted, with what speaks against it now; ``None`` where no grant was used."""
    permission = situation.record.permission or {}
    grant_id = str(permission.get("grant_id") or "")
    if not grant_id:
        return None
    grant = situation.view.task.grants.get(grant_id) or situation.register.grants.get(grant_id)
    why = judge_standing(grant, situation.record, situation.policy, now=situation.now, authority=situation.authority)
    return Cover(grant_id, int(permission.get("grant_use") or 0), str(permission.get("reason") or ""), why)


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _charge(place: Workplace, situation: Situation, raw: bytes, budgets: Sequence[Budget], *, approved: str = "no") -> PolicyVerdict:
    """Charge the tenant's budgets for a call that fits them, or that somebody approves beyond them; give what they say."""
    record = situation.record
    spending, said = _spending(situation, raw, {}), list[PolicyVerdict]()
    if spending.cost is None:
        return judge_spending(spending, budgets)
    charge, cost = f"{_BUDGET}{spending.cost.currency}", spending.cost

    def deciding(view: TaskView) -> Sequence[Draft]:
        task = of_tenant(view, record.tenant)
        uses = task.uses.get(charge, ()) if task else ()
        before = _counted(uses, record)
        permitted = [_money(use["cost"]) for use in uses if use is not before]
        said[:] = [judge_spending(Spending(cost=cost, permitted={Per.TENANT: permitted}), budgets)]
        fits = said[0].allowed or (approved == "yes" and not never(said[0]))
        return [_use(place, home, charge, len(uses) + 1, record, cost)] if fits and not before else []

    home = await open_register(place, record.tenant)
    await place.ledger.decide(home, deciding)
    return said[0]


def judge_money(place: Workplace, situation: Situation, raw: bytes, standing: Covered) -> PolicyVerdict:
    """Judge whether what a call costs is understood and fits the task's budgets, and say what the tenant's budgets have said."""
    budgets = [budget for budget in place.file.budgets if budget.per is Per.TASK]
    task = judge_spending(_spending(situation, raw, situation.view.shared), budgets)
    if task.allowed and standing.tenant is not None and standing.inputs_digest == _digest(situation.record):
        return standing.tenant
    return task if never(task) or standing.tenant is None or not never(standing.tenant) else standing.tenant


def never(money: PolicyVerdict) -> bool:
    """Tell whether nobody can approve it."""
    return not money.allowed and money.facts.get("beyond") == "refuse"


def charged_facts(situation: Situation, raw: bytes, cover: Cover | None) -> dict[str, Any]:
    """Give the fields of a permission that say what it cost and what it draws on."""
    cost = _spending(situation, raw, {}).cost
    facts: dict[str, Any] = {"cost": cost.plain if cost else None}
    return facts | ({"grant_id": cover.grant_id, "grant_use": cover.number} if cover is not None else {})


def _spending(situation: Situation, raw: bytes, records: Mapping[str, InvocationRecord]) -> Spending:
    others = [record for record in records.values() if record.id != situation.record.id]
    permitted = {Per.TASK: [_money(record.permission["cost"]) for record in others if _counts(record) and record.permission]}
    try:
        return Spending(cost=cost_of(situation.policy, raw), permitted=permitted)
    except InvalidInput as error:
        return Spending(permitted=permitted, unreadable=error.message)


def _counts(record: InvocationRecord) -> bool:
    """Tell whether what a call was permitted to cost counts: not where it ended without ever having been dispatched."""
    permission = record.permission or {}
    over = record.state in TERMINAL and record.claim is None and not record.starts
    return bool(permission.get("cost")) and not permission.get("refused") and not over


def _money(plain: Mapping[str, Any]) -> Money:
    return read_money(plain.get("amount"), plain.get("currency"))


__all__ = [
    "NOTHING", "Covered", "charged", "charged_facts", "cover_at_claim", "covered", "judge_money", "never", "use_key",
]  # fmt: skip  # names in lines
