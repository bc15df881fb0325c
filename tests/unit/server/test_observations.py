"""Observations over HTTP: a source says what it may, through its own principal; everything is kept, and nothing is changed on the way."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import toolwitness as tw
from tests.unit.server.house import House, a_booking, a_house, event
from tests.unit.server.test_reading import problem_of
from toolwitness.core.evidence import Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Verdict
from toolwitness.core.vocabulary import KINDS
from toolwitness.service.record import Registration


def _register(house: House, *, principal: str = "bob", **more: Any) -> None:
    house.desk.register.add(Registration(source="provider:x", principal=principal, **more))


async def _send(house: House, person: str, *events: dict[str, Any], to: str = "/api/events") -> httpx.Response:
    return await (await house.of(person)).post(to, json=list(events))


async def test_a_registered_source_speaks_through_its_own_principal():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house)
        said = event("effect.observed", booking.ended, booking.task, data={"effect": "seat held", "reference": "R-1"})
        [answer] = (await _send(house, "bob", said)).json()["events"]
        assert (answer["id"], answer["source"], answer["verdict"]) == ("e-1", "provider:x", "noted")
        effects = (await house.desk.record(booking.ended)).effects
        assert [effect.data["effect"] for effect in effects] == ["seat held"]
        [again] = (await _send(house, "bob", said)).json()["events"]
        assert (again["verdict"], again["ref"]) == ("duplicate", answer["ref"])
        assert len((await house.desk.record(booking.ended)).effects) == 1


@pytest.mark.parametrize(
    ("person", "kinds", "why"),
    [
        ("ann", None, "'ann' may not speak for source 'provider:x'"),
        ("bob", frozenset({Kind.PROGRESS}), "source 'provider:x' is not registered for effect.observed"),
    ],
)
async def test_what_a_source_may_not_say_is_kept_as_refused(person: str, kinds: Any, why: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house, **({"kinds": kinds} if kinds else {}))
        [answer] = (await _send(house, person, event("effect.observed", booking.ended, booking.task, data={"effect": "x"}))).json()[
            "events"
        ]
        assert (answer["verdict"], answer["reason"]) == ("refused", f"speaker: {why}")
        kept = (await house.desk.ledger.read(invocation_id=booking.ended))[-1]
        assert (kept.event.ref, kept.verdict) == (answer["ref"], Verdict.REFUSED)


async def test_a_source_that_nobody_registered_is_kept_and_believed_by_nobody():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        started = event("execution.started", booking.waiting, booking.task, attempt=1, data={"attempt": 1, "executor": "x"})
        [answer] = (await _send(house, "ann", started)).json()["events"]
        assert (answer["verdict"], answer["reason"]) == ("refused", "speaker: source 'provider:x' is not registered")
        assert (await house.desk.record(booking.waiting)).state is tw.State.AWAITING_APPROVAL


FORGED = [*sorted(kind for kind, spec in KINDS.items() if not {Owner.RUNTIME, Owner.PRESENTATION} & set(spec.owners)), str(Kind.CLAIMED)]


async def test_decisions_and_policy_never_come_from_outside_whoever_says_them():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house, kinds=frozenset(KINDS))
        request = (await house.desk.record(booking.waiting)).open_approval
        assert request is not None
        data = {"actor": "ann", "approval_id": request.id, "rule": "x", "policy_version": "x", "permit": "prm_x", "attempt": 1}
        for owner in (None, "user", "policy", "runtime"):
            for kind in FORGED:
                said = event(kind, booking.waiting, booking.task, id=f"{owner}-{kind}", data=data) | ({"owner": owner} if owner else {})
                [answer] = (await _send(house, "bob", said)).json()["events"]
                assert answer["verdict"] == "refused", (owner, kind)
        record = await house.desk.record(booking.waiting)
        assert (record.state, record.permission, record.claim) == (tw.State.AWAITING_APPROVAL, None, None)


async def test_a_source_cannot_take_the_name_of_the_house():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        for source in ("toolwitness:desk", "toolwitness:service"):
            said = event(
                "approval.granted", booking.waiting, booking.task, source=source, owner="user", data={"actor": "ann", "approval_id": "x"}
            )
            [answer] = (await _send(house, "ann", said)).json()["events"]
            assert answer["verdict"] == "refused"


async def test_the_tenant_is_the_actors_whatever_the_event_says():
    async with a_house() as house:
        house.desk.register.add(Registration(source="provider:x", principal="olga"))
        opened = event("task.opened", "task_theirs", "task_theirs", tenant="", data={"purpose": "Theirs"})
        called = event(
            "execution.started", "inv_theirs", "task_theirs", id="e-2", tenant="", attempt=1, data={"attempt": 1, "executor": "x"}
        )
        assert [e["verdict"] for e in (await _send(house, "olga", opened, called)).json()["events"]] != ["refused", "refused"]
        assert (await (await house.of("ann")).get("/api/tasks/task_theirs")).status_code == 404
        assert (await (await house.of("olga")).get("/api/tasks/task_theirs")).status_code == 200
        assert [row["id"] for row in (await (await house.of("olga")).get("/api/tasks")).json()["tasks"]] == ["task_theirs"]


async def test_a_task_whose_opening_nobody_recorded_belongs_to_whoever_spoke_first():
    async with a_house() as house:
        house.desk.register.add(Registration(source="provider:x", principal="olga"))
        for number in (1, 2):
            said = event("progress.reported", "inv_o", "task_o", id=f"e-{number}", data={"order": number})
            [answer] = (await _send(house, "olga", said)).json()["events"]
            assert answer["verdict"] != "refused", answer
        assert (await (await house.of("ann")).get("/api/tasks/task_o")).status_code == 404
        assert (await (await house.of("ann")).get("/api/tasks")).json() == {"tasks": []}
        assert (await (await house.of("olga")).get("/api/invocations/inv_o?view=card")).status_code == 200


async def test_whoever_speaks_first_of_a_task_of_anothers_spoils_nobodys_list():
    async with a_house() as house:
        for person in ("olga", "ann"):
            house.desk.register.add(Registration(source=f"provider:{person}", principal=person))
        early = event("progress.reported", "inv_1", "task_1", id="e-0", source="provider:olga", data={"order": 1})
        await _send(house, "olga", early)
        await _send(house, "ann", event("task.opened", "task_1", "task_1", source="provider:ann", data={"purpose": "Mine"}))
        for person in ("olga", "ann"):
            assert (await (await house.of(person)).get("/api/tasks")).status_code == 200


async def test_nothing_moves_in_a_task_of_another_tenant():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        house.desk.register.add(Registration(source="provider:x", principal="olga"))
        data = {"attempt": 1, "executor": "x"}
        [answer] = (await _send(house, "olga", event("execution.started", booking.waiting, booking.task, attempt=1, data=data))).json()[
            "events"
        ]
        assert (answer["verdict"], "tenant" in answer["reason"]) == ("refused", True)
        assert (await house.desk.record(booking.waiting)).state is tw.State.AWAITING_APPROVAL


async def test_a_call_of_another_tenant_cannot_be_drawn_into_a_task_of_ones_own():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        house.desk.register.add(Registration(source="provider:x", principal="olga"))
        opened = event("task.opened", "task_o", "task_o", data={"purpose": "Mine"})
        stolen = event("effect.observed", booking.waiting, "task_o", id="e-2", data={"effect": "seen"})
        await _send(house, "olga", opened, stolen)
        olga = await house.of("olga")
        for address in (f"/api/invocations/{booking.waiting}", "/api/tasks/task_o?view=card", "/api/tasks/task_o"):
            assert "412.50" not in (await olga.get(address)).text
        ann = (await (await house.of("ann")).get(f"/api/invocations/{booking.waiting}")).json()
        assert (ann["state"], ann["sideEffects"]["observed"]) == ("awaiting_approval", [])


# ── exactness ───────────────────────────────────────────────────────────────────────────────────────────────────────

EXACT = [
    '{"id":9007199254740993123,"n":-0}',
    '{"total":412.50,"tiny":1e-7,"same":0.10}',
    "[ 1 ,\t2 ]",
    '"caf\\u00e9 \\ud83d\\ude00 é"',
    "null",
    '{"a":{"b":[[],{}]}}',
]


@pytest.mark.parametrize("written", EXACT)
async def test_a_value_is_kept_exactly_as_it_was_written(written: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house)
        envelope = event("output.emitted", booking.ended, booking.task, data={"order": 1, "output": "HERE"})
        text = "[" + json.dumps(envelope).replace('"HERE"', written) + "]"
        answer = await (await house.of("bob")).post("/api/events", content=text.encode(), headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, answer.text
        kept = (await house.desk.ledger.read(invocation_id=booking.ended))[-1]
        said = kept.event.data.get("output")
        if written == "null":
            assert said is None
        else:
            assert await house.desk.ledger.value(said["ref"]) == written.encode()


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ('{"name":"\\ud83d"}', "/0/data/output/name"),
        ('{"total":0.1000000000000000055}', "/0/data/output/total"),
        ('{"n":NaN}', "/0/data/output/n"),
        ('{"to":"a","to":"b"}', "/0/data/output/to"),
    ],
)
async def test_a_value_that_two_readers_could_read_differently_is_named_and_nothing_is_recorded(written: str, field: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house)
        before = await house.desk.ledger.head()
        good = json.dumps(event("progress.reported", booking.ended, booking.task, id="e-0", data={"order": 1}))
        bad = json.dumps(event("output.emitted", booking.ended, booking.task, data={"order": 1, "output": "HERE"})).replace(
            '"HERE"', written
        )
        answer = await (await house.of("bob")).post("/api/events", content=f"[{bad},{good}]", headers={"Content-Type": "application/json"})
        assert (answer.status_code, problem_of(answer)["code"]) == (422, "invalid-input")
        assert answer.json()["field"] == field
        assert await house.desk.ledger.head() == before


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": ""}, "/1/id"),
        ({"id": 7}, "/1/id"),
        ({"type": "effect.observed"}, "/1/type"),
        ({"specversion": "2.0"}, "/1/specversion"),
        ({"taskid": None}, "/1/taskid"),
        ({"data": []}, "/1/data"),
        ({"sequence": "x"}, "/1/sequence"),
        ({"attempt": 0}, "/1/attempt"),
        ({"data": {"order": 1.5}}, "/1/data/order"),
        ({"data": {"inputs": 1, "other": {"ref": "val_stolen"}}}, "/1/data/other"),
    ],
)
async def test_an_event_that_is_not_one_is_named_and_nothing_of_its_batch_is_recorded(change: dict[str, Any], field: str):
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house)
        before = await house.desk.ledger.head()
        good = event("progress.reported", booking.ended, booking.task, id="e-0", data={"order": 1})
        answer = await _send(house, "bob", good, event("progress.reported", booking.ended, booking.task, data={"order": 2}) | change)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
        assert await house.desk.ledger.head() == before


async def test_one_event_will_do_and_so_will_the_types_of_cloudevents():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        _register(house)
        one = event("progress.reported", booking.ended, booking.task, data={"order": 1})
        for kind, content in (("application/cloudevents+json; charset=utf-8", one), ("application/cloudevents-batch+json", [one])):
            answer = await (await house.of("bob")).post("/api/events", content=json.dumps(content), headers={"Content-Type": kind})
            assert answer.status_code == 200, answer.text


async def test_receipts_say_what_a_person_was_shown_and_nothing_else():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        house.desk.register.add(Registration(source="provider:x", principal="ann"))
        receipt = event("card.rendered", booking.waiting, booking.task, data={"document_version": 2, "viewport": "360x640"})
        [answer] = (await _send(house, "ann", receipt, to="/api/receipts")).json()["events"]
        assert answer["verdict"] == "noted"
        other = event("progress.reported", booking.waiting, booking.task, id="e-2", data={"order": 1})
        refused = await _send(house, "ann", receipt, other, to="/api/receipts")
        assert (refused.status_code, refused.json()["field"]) == (422, "/1/type")
