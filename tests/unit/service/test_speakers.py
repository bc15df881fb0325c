"""Who speaks is not self-declared (R13): what a stranger may say, and what becomes of everything else it tries."""

import pytest

import toolwitness as tw
from tests.unit.service.attacks import ANN, Kind, Verdict, a_stage, in_state
from toolwitness.core.findings import Code
from toolwitness.core.states import Owner
from toolwitness.core.vocabulary import KINDS
from toolwitness.service import views
from toolwitness.service.record import OBSERVABLE, Registration

PROPOSAL = {"tool": "pay", "source_request": "run 1", "proposer": "their agent"}
INPUTS = {"inputs": b'{"amount":"1.00"}'}


@pytest.mark.parametrize(
    "name", ["toolwitness:service", "toolwitness:desk", "toolwitness:runtime", "toolwitness", " Toolwitness:local:x", "", "a\0b"]
)
def test_our_own_names_and_no_names_cannot_be_registered(name: str):
    with pytest.raises(tw.InvalidInput):
        tw.open("memory:").register.add(Registration(source=name, principal="mallory"))


def test_a_source_without_a_principal_cannot_be_registered():
    with pytest.raises(tw.InvalidInput):
        tw.open("memory:").register.add(Registration(source="acme", principal=""))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - OBSERVABLE))
async def test_no_stranger_speaks_for_a_person_or_for_policy(kind: str):
    async with a_stage() as stage:
        stage.listen_to("acme")
        _, one = await stage.asked()
        approval = await stage.approval(one)
        facts = {name.partition("|")[0]: approval.id for name in KINDS[kind].required} | {"actor": "ann", "kind": "denied"}
        for owner in Owner:
            recorded = await stage.observe(stage.said(kind, one, owner=owner, data=facts))
            assert [(r.verdict, r.reason.partition(":")[0]) for r in recorded] == [(Verdict.REFUSED, "speaker")]
        assert (await in_state(stage, one), stage.paid) == (tw.State.AWAITING_APPROVAL, [])
        assert (await stage.approval(one)).answer is None


async def test_a_stranger_cannot_let_an_approval_expire_in_the_name_of_policy():
    async with a_stage() as stage:
        stage.listen_to("acme")
        _, one = await stage.asked()
        approval = await stage.approval(one)
        for owner in (Owner.POLICY, Owner.RUNTIME):
            facts = {"deadline": "approval", "declared_at": approval.data["expires_at"], "approval_id": approval.id}
            recorded = await stage.observe(stage.said(Kind.DEADLINE_ELAPSED, one, owner=owner, data=facts))
            assert recorded[0].verdict is Verdict.REFUSED
        assert await in_state(stage, one) is tw.State.AWAITING_APPROVAL


async def test_an_unregistered_source_and_a_stolen_name_are_kept_and_not_believed():
    async with a_stage() as stage:
        stage.listen_to("acme", principal="acme")
        _, one = await stage.asked()
        started = {"attempt": 1, "executor": "theirs"}
        unknown = await stage.observe(stage.said(Kind.STARTED, one, source="nobody", data=started))
        stolen = await stage.observe(stage.said(Kind.STARTED, one, source="acme", data=started), by="mallory")
        ours = await stage.observe(stage.said(Kind.STARTED, one, source=stage.desk.runtime.source, data=started))
        assert [r.verdict for r in (*unknown, *stolen, *ours)] == [Verdict.REFUSED] * 3
        assert await in_state(stage, one) is tw.State.AWAITING_APPROVAL


async def test_a_source_says_only_what_it_is_registered_for():
    async with a_stage() as stage:
        stage.listen_to("acme", kinds=frozenset({Kind.EFFECT}))
        _, one = await stage.asked()
        refused, kept = await stage.observe(
            stage.said(Kind.STARTED, one, data={"attempt": 1, "executor": "x"}), stage.said(Kind.EFFECT, one, data={"effect": "mail sent"})
        )
        assert (refused.verdict, kept.verdict) == (Verdict.REFUSED, Verdict.NOTED)


async def test_a_permit_is_never_claimed_from_outside():
    async with a_stage() as stage:
        stage.listen_to("acme")
        call, one = await stage.asked()
        recorded = await stage.observe(stage.said(Kind.CLAIMED, one, data={"permit": "prm_x", "attempt": 1}, once_key=f"dispatch:{one}"))
        assert recorded[0].verdict is Verdict.REFUSED
        await stage.desk.approve(one, by=ANN)
        assert ((await call).kind, stage.paid) == ("ok", ["412.50"])


@pytest.mark.parametrize("key", ["answer", "dispatch"])
async def test_a_stranger_takes_no_once_key(key: str):
    async with a_stage() as stage:
        stage.listen_to("acme")
        call, one = await stage.asked()
        subject = (await stage.approval(one)).id if key == "answer" else one
        await stage.observe(stage.said(Kind.EFFECT, one, data={"effect": "x"}, once_key=f"{key}:{subject}"))
        await stage.desk.approve(one, by=ANN)
        assert (await call).kind == "ok"


@pytest.mark.parametrize("claimed", ["policy", "policy_version", "host"])
@pytest.mark.parametrize("where", ["data", "values"])
async def test_a_proposal_from_outside_cannot_claim_our_policy_or_our_process(claimed: str, where: str):
    async with a_stage() as stage:
        stage.listen_to("acme")
        free = b'{"consequences":["read-only"],"tool":"pay"}'
        data = {**PROPOSAL, **({claimed: "pol_1"} if where == "data" else {})}
        values = {**INPUTS, **({claimed: free} if where == "values" else {})}
        recorded = await stage.observe(stage.said(Kind.PROPOSED, "inv_theirs", data=data, values=values))
        assert recorded[0].verdict is Verdict.REFUSED


async def test_what_a_foreign_runtime_proposes_is_never_dispatched_by_us():
    async with a_stage(consequences=[tw.READ_ONLY], approvers=[], approval_seconds=None, commitment_boundary="") as stage:
        stage.listen_to("acme")
        await stage.observe(stage.said(Kind.PROPOSED, "inv_theirs", data={**PROPOSAL, "dependencies": ["inv_first"]}, values=INPUTS))
        await stage.observe(stage.said(Kind.PROPOSED, "inv_first", data={**PROPOSAL, "tool": "look"}, values=INPUTS))
        for attempt in (stage.desk.submit("inv_first"), stage.click("inv_first", "submit", ANN)):
            with pytest.raises(tw.NotPermitted):
                await attempt
        done = {"completed_at": "2026-01-01T12:00:00Z"}
        await stage.observe(stage.said(Kind.SUCCEEDED, "inv_first", data=done, values={"result": b"1"}))
        theirs = await stage.desk.record("inv_theirs")
        assert (theirs.state, theirs.permission, stage.paid) == (tw.State.PROPOSED, None, [])


async def test_a_stranger_cites_no_value_that_it_did_not_bring():
    """Else the card of its own call would show the inputs of somebody else's."""
    async with a_stage() as stage:
        stage.listen_to("acme")
        _, one = await stage.asked()
        secret = (await stage.desk.record(one)).inputs
        drafts = [
            stage.said(Kind.PROPOSED, "inv_a", data={**PROPOSAL, "inputs": secret}),
            stage.said(Kind.EFFECT, one, data={"effect": "x", "resource": [{"deep": secret}]}),
            stage.said(Kind.EFFECT, one, data={"effect": "x"}, raw_ref=secret["ref"]),
        ]
        recorded = await stage.observe(*drafts)
        assert [(r.verdict, r.reason.partition(":")[0]) for r in recorded] == [(Verdict.REFUSED, "speaker")] * 3


async def test_another_tenants_task_is_not_written_in_and_keeps_nothing_of_what_was_sent():
    async with a_stage() as stage:
        mallory = tw.Actor(id="mallory", tenant="elsewhere")
        stage.desk.register.add(Registration(source="evil", principal="mallory"))
        _, one = await stage.asked()
        spam = {"order": 1, "channel": "spam"}
        sent = stage.said(Kind.OUTPUT, one, source="evil", data=spam, values={"output": b'"spam"'}, adapter="spam")
        recorded = (await stage.observe(sent, by=mallory))[0]
        assert (recorded.verdict, recorded.event.tenant, recorded.event.data, recorded.event.adapter) == (Verdict.REFUSED, "", {}, "")
        assert await in_state(stage, one) is tw.State.AWAITING_APPROVAL


async def test_a_task_that_nobody_opened_is_its_first_speakers_and_no_other_tenants():
    async with a_stage() as stage:
        acme, other = tw.Actor(id="acme", tenant="north"), tw.Actor(id="evil", tenant="south")
        stage.listen_to("acme")
        stage.listen_to("evil", principal="evil")
        first = stage.said(Kind.PROPOSED, "inv_n", task="task_n", data=PROPOSAL, values=INPUTS)
        second = stage.said(Kind.STARTED, "inv_n", task="task_n", data={"attempt": 1, "executor": "theirs"})
        assert [r.verdict for r in (*await stage.observe(first, by=acme), *await stage.observe(second, by=acme))] == [Verdict.MOVED] * 2
        ended = stage.said(Kind.FAILED, "inv_n", source="evil", task="task_n", data={"category": "x", "detail": "x", "evidence_ref": "x"})
        assert (await stage.observe(ended, by=other))[0].verdict is Verdict.REFUSED
        assert (await views.document(stage.desk.place, "inv_n", acme))["state"] == "running"
        with pytest.raises(tw.InvalidInput):
            await views.document(stage.desk.place, "inv_n", other)


async def test_numbers_with_a_hole_are_held_until_it_fills_and_repetitions_are_counted():
    async with a_stage() as stage:
        stage.listen_to("acme")
        one = "inv_theirs"
        proposed = stage.said(Kind.PROPOSED, one, data=PROPOSAL, values=INPUTS, sequence=1, id="1")
        started = stage.said(Kind.STARTED, one, data={"attempt": 1, "executor": "x"}, sequence=2, id="2")
        ended = stage.said(Kind.SUCCEEDED, one, data={"completed_at": "2026-01-01T12:00:00Z"}, values={"result": b"1"}, sequence=3, id="3")
        verdicts = [r.verdict for r in await stage.observe(proposed, ended, ended, started)]
        assert verdicts == [Verdict.MOVED, Verdict.HELD, Verdict.DUPLICATE, Verdict.MOVED]
        assert await in_state(stage, one) is tw.State.SUCCEEDED


async def test_what_waits_for_a_report_that_does_not_come_is_judged_when_policys_wait_is_over():
    async with a_stage() as stage:
        stage.listen_to("acme")
        one = "inv_theirs"
        started = stage.said(Kind.STARTED, one, data={"attempt": 1, "executor": "x"}, sequence=3, id="3")
        assert [r.verdict for r in await stage.observe(started)] == [Verdict.HELD]
        stage.clock.advance(stage.desk.place.hold_seconds - 0.001)
        assert await stage.desk.sweep() == []
        stage.clock.advance(0.001)
        released = await stage.desk.sweep()
        assert [(str(r.event.kind), r.event.data["up_to"]) for r in released] == [(Kind.HOLD_RELEASED, 3)]
        assert "number 1 of acme has not come within 30 seconds" in released[0].event.data["reason"]
        record = await stage.desk.record(one)
        assert (record.state, record.held) == (tw.State.RUNNING, {})
        late = stage.said(Kind.PROPOSED, one, data=PROPOSAL, values=INPUTS, sequence=1, id="1")
        assert (await stage.observe(late))[0].verdict is not Verdict.HELD
        assert (await stage.desk.record(one)).tool == "pay"
        assert await stage.desk.sweep() == []


async def test_a_start_that_no_policy_of_ours_was_asked_about_is_true_and_says_so():
    async with a_stage() as stage:
        stage.listen_to("acme")
        call, one = await stage.asked()
        await stage.observe(stage.said(Kind.STARTED, one, data={"attempt": 1, "executor": "theirs"}))
        record = await stage.desk.record(one)
        assert (record.state, Code.RAN_WITHOUT_APPROVAL in record.findings) == (tw.State.RUNNING, True)
        await stage.desk.approve(one, by=ANN)
        assert stage.paid == [], "an approval that comes after somebody else's start must not start a second body"
        await stage.observe(
            stage.said(Kind.SUCCEEDED, one, data={"completed_at": "2026-01-01T12:00:00Z"}, values={"result": b'{"paid":1}'})
        )
        outcome = await call
        assert (outcome.kind, outcome.value) == ("ok", {"paid": 1})


async def test_an_observation_is_not_refused_for_a_text_that_no_utf8_carries():
    async with a_stage() as stage:
        stage.listen_to("acme")
        _, one = await stage.asked()
        said = stage.said(Kind.EFFECT, one, data={"effect": "mail to \ud83d sent", "reference": "\udc00"})
        (recorded,) = await stage.observe(said)
        assert (recorded.verdict, recorded.event.data["effect"]) == (Verdict.NOTED, "mail to \\ud83d sent")
