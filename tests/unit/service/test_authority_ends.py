"""Authority that ends while a request is pending, or before what it approved has started, voids it; a broken authorizer does not."""

from typing import Any

import pytest

import toolwitness as tw
from tests.unit.bootstrap.desks import kinds, until_state
from toolwitness.core.evidence import Kind
from toolwitness.policy.authorization import RolesAndTenants
from toolwitness.policy.files import PolicyFile, read_policy_file
from toolwitness.testing.clock import FakeClock

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))


def file(actors: str) -> PolicyFile:
    return read_policy_file(f"[actors]\n{actors}\n")


async def asked(desk: tw.Desk, approvers: list[str], **policy: Any) -> str:
    """Propose a call that a process elsewhere would run, and give its id when its approval is asked for."""

    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=approvers, **policy)
    async def post(text: str) -> str:
        return text

    async with desk.task("Post") as task:
        one = await task.call(post, text="x").invocation_id()
        await until_state(desk, one, tw.State.AWAITING_APPROVAL)
        return one


def now_says(desk: tw.Desk, told: PolicyFile) -> None:
    """Let another policy file hold, as after a restart."""
    desk.place.file = told
    desk.place.authorizer = RolesAndTenants(told)


async def void(desk: tw.Desk, one: str) -> list[tuple[str, str]]:
    """Sweep, and give each invalidation with its rule and reason."""
    await desk.sweep()
    await desk.sweep()
    recorded = await desk.ledger.read(invocation_id=one)
    return [(str(r.event.data["rule"]), str(r.event.data["reason"])) for r in recorded if r.event.kind == Kind.APPROVAL_INVALIDATED]


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ('ann = { roles = ["finance"], until = 2026-01-01T00:00:00Z }', "authority-expired"),
    ],
)
async def test_a_request_that_only_somebody_could_answer_whose_authority_is_over_is_void_once(told: str, rule: str):
    async with tw.open("memory:", clock=FakeClock(), sweep_seconds=3600) as desk:
        one = await asked(desk, ["user:ann"])
        assert await void(desk, one) == []
        now_says(desk, file(told))
        [(found, reason)] = await void(desk, one)
        assert (found, "ann" in reason) == (rule, True)
        with pytest.raises(tw.NotPermitted):
            await desk.approve(one, by=ANN)


async def test_a_request_that_somebody_else_may_still_answer_waits_on():
    async with tw.open("memory:", clock=FakeClock(), sweep_seconds=3600) as desk:
        one = await asked(desk, ["user:ann", "role:finance"])
        now_says(desk, file('ann = { roles = ["finance"], until = 2026-01-01T00:00:00Z }'))
        assert await void(desk, one) == []
        await desk.approve(one, by=tw.Actor(id="bob", roles=frozenset({"finance"})))


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("ann = []", "authority-narrowed"),
        ('ann = { roles = ["finance"], until = 2026-01-01T00:00:00Z }', "authority-expired"),
    ],
)
async def test_an_approval_that_has_not_been_used_is_void_when_whoever_gave_it_could_give_it_no_more(told: str, rule: str):
    async with tw.open("memory:", clock=FakeClock(), sweep_seconds=3600, patience_seconds=0.1) as desk:
        one = await asked(desk, ["role:finance"])
        desk.runtime.tools.pop("post")  # nobody is there to run it
        await desk.approve(one, by=ANN)
        assert await void(desk, one) == []
        now_says(desk, file(told))
        [(found, _)] = await void(desk, one)
        record = await desk.record(one)
        assert (found, record.granted, record.permission) == (rule, False, None)
        assert Kind.CLAIMED not in await kinds(desk, one)


async def test_who_agreed_first_and_may_no_more_leaves_the_request_void():
    async with tw.open("memory:", clock=FakeClock(), sweep_seconds=3600) as desk:
        one = await asked(desk, ["role:finance"], approvals_needed=2)
        await desk.approve(one, by=ANN)
        assert await void(desk, one) == []
        now_says(desk, file("ann = []"))
        assert [rule for rule, _ in await void(desk, one)] == ["authority-narrowed"]


async def test_an_authorizer_that_breaks_voids_nothing():
    class Broken:
        def judge(self, request: object) -> object:
            raise OSError("the directory is not there")

    async with tw.open("memory:", clock=FakeClock(), sweep_seconds=3600) as desk:
        one = await asked(desk, ["user:ann"])
        desk.place.authorizer = Broken()  # type: ignore[assignment]  # that is what is tried
        assert await void(desk, one) == []
        with pytest.raises(tw.NotPermitted) as no:
            await desk.approve(one, by=ANN)
        assert no.value.facts["rule"] == "authorizer"
