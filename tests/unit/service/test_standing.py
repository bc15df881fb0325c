"""Standing grants, budgets and authority: counted on record, never exceeded, and gone when they are taken back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import ANN, EVE, a_desk, kinds
from toolwitness.core.evidence import Kind
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.policy.files import read_policy_file
from toolwitness.service import views
from toolwitness.service.claim import claim
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.register import register_id
from toolwitness.service.submit import submit

FILE = read_policy_file(
    """
[actors]
"ann" = ["finance"]
"cho" = ["admin"]

[tools.pay]
consequences = ["financially-consequential"]
approvers = ["role:finance"]
cost = { amount_field = "total", currency = "EUR" }

[tools.wipe]
consequences = ["destructive"]
commitment_boundary = "it is gone"

[tools.post]
consequences = ["externally-visible"]
approvers = ["role:finance"]

[tools.look]
consequences = ["read-only"]
cost = { amount_field = "total", currency = "EUR" }
"""
)
BUDGETS = """
[[budgets]]
per = "{per}"
amount = "100"
currency = "EUR"
beyond = "{beyond}"
"""


async def proposed(desk: tw.Desk, tool: str, inputs: str = '{"total":"40"}', *, task: str = "") -> tuple[str, str]:
    """Propose a call and submit it; give the task's and the call's id."""
    from toolwitness.service.propose import open_task  # noqa: PLC0415 - the desk's own way needs bodies

    task_id = task or await open_task(desk.place, "A purpose", tenant=desk.tenant)
    made = Proposal(tool=tool, inputs=inputs.encode(), source_request="test", proposer="agent")
    invocation_id = await propose(desk.place, task_id, made)
    await submit(desk.place, invocation_id)
    return task_id, invocation_id


async def permission(desk: tw.Desk, invocation_id: str) -> dict[str, Any]:
    return dict((await desk.record(invocation_id)).permission or {})


async def test_a_call_that_a_grant_covers_is_permitted_and_cites_the_use() -> None:
    async with a_desk(policy=FILE) as desk:
        given = await desk.grant("pay", by="ann", seconds=60, count=2, most="50", currency="EUR")
        grant_id = given.event.data["grant_id"]
        _, call = await proposed(desk, "pay")
        found = await permission(desk, call)
        assert (found["rule"], found["grant_id"], found["grant_use"]) == ("standing-grant", grant_id, 1)
        assert found["cost"] == {"amount": "40", "currency": "EUR"}
        assert f"grant {grant_id} by ann, use 1 of 2" in found["reason"]
        assert Kind.APPROVAL_REQUESTED not in await kinds(desk, call)
        assert not isinstance(await claim(desk.place, call, source="test", worker="w"), PolicyVerdict)


@pytest.mark.parametrize(
    ("terms", "inputs"),
    [
        ({"most": "39.99"}, '{"total":"40"}'),
        ({"amount": "39", "count": None}, '{"total":"40"}'),
        ({"most": "50", "where": {"to": "bob"}}, '{"total":"40","to":"eve"}'),
        ({"most": "50", "where": {"n": 1}}, '{"total":"40","n":true}'),
        ({"most": "50", "where": {"to": None}}, '{"total":"40"}'),
        ({"most": "50"}, '{"total":"lots"}'),
        ({"most": "50"}, '{"total":"40","total":"1"}'),
    ],
)
async def test_what_a_grant_does_not_cover_or_cannot_be_read_is_asked_about(terms: dict[str, Any], inputs: str) -> None:
    async with a_desk(policy=FILE) as desk:
        await desk.grant("pay", by="ann", seconds=60, **{"count": 5, "currency": "EUR", **terms})
        _, call = await proposed(desk, "pay", inputs)
        assert "dispatch.permitted" not in await kinds(desk, call)


async def test_a_grant_in_a_task_holds_there_and_nowhere_else() -> None:
    async with a_desk(policy=FILE) as desk:
        task, _ = await proposed(desk, "look")
        await desk.grant("post", by="ann", seconds=60, count=9, task=task)
        _, inside = await proposed(desk, "post", "{}", task=task)
        _, outside = await proposed(desk, "post", "{}")
        assert (await permission(desk, inside))["rule"] == "standing-grant"
        assert await permission(desk, outside) == {}


async def test_a_limit_is_never_exceeded_however_many_ask_at_once(tmp_path: Path) -> None:
    url = str(tmp_path / "calls.db")
    async with a_desk(url, policy=FILE) as one, a_desk(url, policy=FILE) as other:
        await one.grant("post", by="ann", seconds=60, count=3)
        calls = await asyncio.gather(*(proposed(desk, "post", "{}") for desk in (one, other) * 4))
        rules = [(await permission(one, call)).get("rule") for _, call in calls]
        assert rules.count("standing-grant") == 3
        assert rules.count(None) == 5
        assert [grant["uses"] for grant in await one.grants(by="ann")] == [3]
        assert await one.verify() == []


async def test_submitting_twice_counts_one_use() -> None:
    async with a_desk(policy=FILE) as desk:
        await desk.grant("post", by="ann", seconds=60, count=2)
        _, call = await proposed(desk, "post", "{}")
        await submit(desk.place, call)
        assert [grant["uses"] for grant in await desk.grants(by="ann")] == [1]


async def test_a_grant_that_is_taken_back_covers_nothing_also_what_was_permitted_and_not_dispatched() -> None:
    async with a_desk(policy=FILE) as desk:
        grant_id = (await desk.grant("post", by="ann", seconds=60, count=2)).event.data["grant_id"]
        _, call = await proposed(desk, "post", "{}")
        await desk.revoke_grant(grant_id, by="ann", reason="enough")
        claimed = await claim(desk.place, call, source="test", worker="w")
        assert isinstance(claimed, PolicyVerdict)
        assert (claimed.rule, claimed.reason) == ("standing-grant", "the grant was taken back")
        assert (await kinds(desk, call))[-2:] == ["dispatch.refused", "approval.requested"]
        with pytest.raises(tw.InvalidInput):
            await desk.revoke_grant(grant_id, by="ann")


@pytest.mark.parametrize(
    ("tool", "terms", "rule"),
    [
        ("wipe", {"count": 1}, "confirmed-each-time"),
        ("nobody_knows", {"count": 1}, "confirmed-each-time"),
        ("post", {}, "grant-limit"),
        ("post", {"count": 0}, "grant-limit"),
        ("post", {"count": 1, "seconds": -1}, "grant-expiry"),
        ("pay", {"count": 1}, "grant-money"),
        ("post", {"count": 1, "most": "5", "currency": "EUR"}, "grant-money"),
        ("post", {"count": 1, "where": {"x": 1.5}}, "grant-scope"),
    ],
)
async def test_a_grant_without_scope_limit_or_end_or_for_what_is_confirmed_each_time_is_refused(
    tool: str, terms: dict[str, Any], rule: str
) -> None:
    async with a_desk(policy=FILE) as desk:
        with pytest.raises(tw.NotPermitted) as refused:
            await desk.grant(tool, by="ann", **{"seconds": 60, **terms})
        assert refused.value.facts["rule"] == rule


async def test_only_who_may_approve_may_grant_and_only_they_or_an_administrator_take_it_back() -> None:
    async with a_desk(policy=FILE) as desk:
        with pytest.raises(tw.NotPermitted):
            await desk.grant("post", by=EVE, seconds=60, count=1)
        grant_id = (await desk.grant("post", by="ann", seconds=60, count=1)).event.data["grant_id"]
        with pytest.raises(tw.NotPermitted):
            await desk.revoke_grant(grant_id, by=EVE)
        await desk.revoke_grant(grant_id, by="cho")


async def test_another_tenants_grant_covers_nothing_and_its_register_cannot_be_taken() -> None:
    async with a_desk(policy=FILE, tenant="a") as desk:
        ann = tw.Actor(id="ann", roles=frozenset({"finance"}), tenant="b")
        await desk.grant("post", by=ann, seconds=60, count=9)
        _, call = await proposed(desk, "post", "{}")
        assert await permission(desk, call) == {}
        from toolwitness.service.propose import open_task  # noqa: PLC0415 - as above

        await open_task(desk.place, "Not yours", tenant="thief", task_id=register_id("c"))
        with pytest.raises(tw.NotPermitted):
            await desk.grant("post", by=tw.Actor(id="ann", roles=frozenset({"finance"}), tenant="c"), seconds=60, count=9)


# ── authority ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_authority_that_is_taken_invalidates_what_rests_on_it_and_refuses_the_next_answer() -> None:
    async with a_desk(policy=FILE) as desk:
        _, granted = await proposed(desk, "post", "{}")
        _, waiting = await proposed(desk, "post", "{}")
        await desk.approve(granted, by="ann")
        recorded = await desk.revoke_authority("ann", by="cho", role="finance", reason="left the team")
        assert [one.event.kind for one in recorded] == ["grant.revoked", "approval.invalidated"]
        assert recorded[1].event.data["rule"] == "authority-revoked"
        assert isinstance(await claim(desk.place, granted, source="test", worker="w"), PolicyVerdict)
        with pytest.raises(tw.NotPermitted) as refused:
            await desk.approve(waiting, by="ann")
        assert refused.value.facts["rule"] == "authority-revoked"
        await desk.restore_authority("ann", by="cho", role="finance")
        await desk.approve(waiting, by="ann")


async def test_authority_that_ended_between_approval_and_claim_voids_the_approval() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "post", "{}")
        await desk.approve(call, by=ANN)
        desk.place.authorizer = tw.open("memory:", policy=read_policy_file('[actors]\n"ann" = ["reader"]')).place.authorizer
        claimed = await claim(desk.place, call, source="test", worker="w")
        assert isinstance(claimed, PolicyVerdict)
        assert (claimed.rule, "does not give ann finance" in claimed.reason) == ("authority-revoked", True)
        assert (await desk.record(call)).permission is None


async def test_an_authorizer_of_another_kind_is_asked_with_plain_data_and_one_that_breaks_refuses() -> None:
    asked: list[Any] = []

    class Engine:
        def judge(self, request: Any) -> PolicyVerdict:
            asked.append(request)
            if request.action == "deny":
                raise LookupError("the engine is away")
            return PolicyVerdict(allowed=request.principal["id"] == "eve", rule="policy0", reason="as the engine says")

    async with a_desk(policy=FILE, authorizer=Engine()) as desk:
        _, call = await proposed(desk, "post", "{}")
        for answer, who, rule in ((desk.approve, "ann", "policy0"), (desk.deny, "eve", "authorizer")):
            with pytest.raises(tw.NotPermitted) as refused:
                await answer(call, by=who)
            assert refused.value.facts["rule"] == rule
        await desk.approve(call, by="eve")
        assert asked[-1].resource["tool"] == "post"
        assert asked[-1].context["eligible"] == ["role:finance"]


async def test_only_an_administrator_takes_authority_from_somebody_else() -> None:
    async with a_desk(policy=FILE) as desk:
        for who in ("ann", ""):
            with pytest.raises(tw.NotPermitted):
                await desk.revoke_authority("bob", by=who)
        await desk.revoke_authority("ann", by="ann")
        with pytest.raises(tw.NotPermitted):
            await desk.restore_authority("ann", by="ann")


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def budget(per: str, beyond: str) -> Any:
    from toolwitness.policy.files import PolicyFile  # noqa: PLC0415 - only to copy it

    budgets = read_policy_file(BUDGETS.format(per=per, beyond=beyond)).budgets
    return PolicyFile(**{name: getattr(FILE, name) for name in PolicyFile.__slots__} | {"budgets": budgets})


@pytest.mark.parametrize("per", ["task", "tenant"])
async def test_what_goes_beyond_a_budget_is_refused_with_the_sum_that_speaks_against_it(per: str) -> None:
    async with a_desk(policy=budget(per, "refuse")) as desk:
        task, first = await proposed(desk, "look", '{"total":"60"}')
        _, beyond = await proposed(desk, "look", '{"total":"40.01"}', task=task if per == "task" else "")
        _, fits = await proposed(desk, "look", '{"total":"40"}', task=task if per == "task" else "")
        assert [(await permission(desk, call))["refused"] for call in (first, beyond, fits)] == [False, True, False]
        found = await permission(desk, beyond)
        assert found["rule"] == "budget"
        assert found["reason"] == f"it costs 40.01 EUR, 60 EUR are permitted already, and the {per}'s budget is 100 EUR"


@pytest.mark.parametrize("per", ["task", "tenant"])
async def test_what_goes_beyond_a_budget_that_asks_needs_an_approval_and_gets_it(per: str) -> None:
    async with a_desk(policy=budget(per, "ask")) as desk:
        _, call = await proposed(desk, "look", '{"total":"101"}')
        waiting = (await desk.record(call)).open_approval
        assert waiting is not None
        assert waiting.data["rule"] == "budget"
        assert "it costs 101 EUR, 0 EUR are permitted already" in waiting.data["scope"]
        await desk.approve(call, by=tw.Actor(id="zoe", roles=frozenset({"approver"})))
        assert (await permission(desk, call))["cost"]["amount"] == "101"
        assert not isinstance(await claim(desk.place, call, source="test", worker="w"), PolicyVerdict)


async def test_an_approval_does_not_lift_a_budget_that_nobody_may_exceed() -> None:
    async with a_desk(policy=budget("tenant", "refuse")) as desk:
        _, first = await proposed(desk, "pay", '{"total":"80"}')
        _, second = await proposed(desk, "pay", '{"total":"80"}')
        await desk.approve(first, by="ann")
        await desk.approve(second, by="ann")
        assert not (await permission(desk, first))["refused"]
        assert (await permission(desk, second))["rule"] == "budget"
        assert isinstance(await claim(desk.place, second, source="test", worker="w"), PolicyVerdict)


async def test_a_tenants_budget_is_never_exceeded_however_many_ask_at_once() -> None:
    async with a_desk(policy=budget("tenant", "refuse")) as desk:
        calls = await asyncio.gather(*(proposed(desk, "look", '{"total":"30"}') for _ in range(6)))
        refused = [(await permission(desk, call))["refused"] for _, call in calls]
        assert refused.count(False) == 3


async def test_a_cost_that_cannot_be_understood_is_never_permitted() -> None:
    async with a_desk(policy=budget("task", "ask")) as desk:
        for inputs in ("{}", '{"total":"lots"}', '{"total":null}', '{"total":"1","total":"1"}'):
            _, call = await proposed(desk, "look", inputs)
            assert (await permission(desk, call))["rule"] == "cost-unreadable"


# ── several answers at once ─────────────────────────────────────────────────────────────────────────────────────────


async def test_each_call_of_a_submission_is_decided_by_itself() -> None:
    async with a_desk(policy=FILE) as desk:
        calls = [(await proposed(desk, "post", "{}"))[1] for _ in range(3)]
        await desk.deny(calls[2], by="ann")
        answers = [{"invocation_id": call, "answer": "approve"} for call in calls]
        results = await desk.decide([*answers, answers[0], {"invocation_id": "inv_gone", "answer": "deny"}], by="ann")
        assert [one.receipt is not None for one in results] == [True, True, False, True, False]
        assert [getattr(one.error, "code", None) for one in results] == [None, None, "not-permitted", None, "unknown-id"]
        assert (await kinds(desk, calls[0])).count("approval.granted") == 1


async def test_two_opposite_answers_to_one_request_decide_nothing_and_are_both_on_record_as_refused() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "post", "{}")
        approval = (await desk.record(call)).approval
        assert approval is not None
        yes, no = {"invocation_id": call, "answer": "approve"}, {"invocation_id": call, "answer": "deny", "approval_id": approval.id}
        results = await desk.decide([yes, no], by="ann")
        assert [one.error.facts["rule"] for one in results if one.error] == ["contradictory", "contradictory"]
        assert (await desk.record(call)).open_approval is not None
        assert (await kinds(desk, call))[-2:] == ["approval.granted", "approval.denied"]
        await desk.approve(call, by="ann")


@pytest.mark.parametrize("answers", [[], [{"invocation_id": "x"}], [{"invocation_id": "x", "answer": "deny", "more": "y"}]])
async def test_a_submission_that_cannot_be_read_decides_nothing(answers: list[dict[str, str]]) -> None:
    async with a_desk(policy=FILE) as desk:
        with pytest.raises(tw.InvalidInput):
            await desk.decide(answers, by="ann")


async def test_an_answer_that_is_neither_yes_nor_no_is_no_decision() -> None:
    async with a_desk(policy=FILE) as desk:
        _, call = await proposed(desk, "post", "{}")
        results = await desk.decide([{"invocation_id": call, "answer": "always"}], by="ann")
        assert results[0].error is not None
        assert (await desk.record(call)).open_approval is not None


async def test_a_register_is_no_task_that_anybody_is_shown_among_their_own() -> None:
    async with a_desk(policy=FILE) as desk:
        await desk.grant("post", by="ann", seconds=60, count=1)
        assert await desk.ledger.task(register_id("")) is not None
        assert await views.task_rows(desk.place, ANN) == await views.task_documents(desk.place, ANN) == []
        assert await desk.verify() == []
