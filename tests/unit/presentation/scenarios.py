"""The situations that a person meets, each told once; their cards are kept in ``golden/``."""

from collections.abc import Callable
from typing import Any

from tests.unit.presentation.scene import Scene, TaskScene, at
from toolwitness.core.verdicts import Control

BOOKING = (
    '{"itinerary_id":"it-7","total":"412.50","currency":"EUR","recipient":"Nordwind Travel, card ending 4410",'
    '"terms":"No refund after issue; change fee € 60","serial":9223372036854775807}'
)
COSTLY = {
    "consequences": ["externally-visible", "financially-consequential"],
    "commitment_boundary": "When the provider accepts the purchase",
    "recovery": ["change at a fee", "dispute"],
    "expected_effects": ["reservation", "charge"],
    "provenance": [
        {"field": "itinerary_id", "source": "result", "source_ref": "inv_flight", "pointer": "/options/0/id"},
        {"field": "total", "source": "result", "source_ref": "inv_flight", "pointer": "/options/0/total"},
        {"field": "currency", "source": "user", "source_ref": "msg-2"},
        {"field": "recipient", "source": "account-record", "source_ref": "profile-1"},
        {"field": "terms", "source": "unrecorded"},
    ],
}
LINKS = {"inv_flight": "Search flights", "inv_hotel_2": "Search hotels (attempt 2)", "inv_new": "Reserve itinerary it-7 (attempt 2)"}

Card = dict[str, Any]


def proposed_and_blocked() -> Card:
    scene = Scene()
    waits_for = ["inv_flight", "inv_hotel_2"]
    scene.proposed(1, tool="write_summary", purpose="Summarise the routes", dependencies=waits_for, inputs='{"style":"short"}')
    submit = Control(action="submit", enabled=False, rule="blocked", reason="it waits for inv_hotel_2")
    return scene.card(blocked=["inv_hotel_2"], links=LINKS, controls=[Control(action="review", enabled=True, rule="looking"), submit])


def awaiting_approval() -> Card:
    scene = Scene()
    scene.proposed(19.87, inputs=BOOKING, **COSTLY)
    scene.asked(20.102)
    binding = {"approvalId": "apr_1", "inputsDigest": "sha256:00"}
    controls = [
        Control(action="approve", enabled=True, rule="eligible", binding=binding),
        Control(action="deny", enabled=True, rule="eligible", binding=binding),
        Control(action="withdraw", enabled=True, rule="may-withdraw"),
    ]
    return scene.card(links=LINKS, viewer="ann", controls=controls)


def awaiting_input() -> Card:
    scene = Scene()
    scene.proposed(1, inputs='{"itinerary_id":"it-7"}')
    fields = [
        {"name": "seat", "kind": "missing", "message": "a seat is needed"},
        {"name": "bags", "kind": "type", "message": "a whole number fits"},
    ]
    scene.says(
        "inputs.rejected", 2, unresolved=["seat", "bags"], collector="person", validation="seat: missing; bags: not a number",
        fields=fields, expires_at=at(90),
    )  # fmt: skip  # facts in lines
    return scene.card(controls=[Control(action="supply_input", enabled=True, rule="may-supply_input")])


def approved_and_not_queued() -> Card:
    scene = Scene()
    scene.proposed(1, inputs=BOOKING, **COSTLY)
    scene.asked(20)
    scene.says("approval.granted", 30, actor="ann", approval_id="apr_1", inputs_digest="sha256:00")
    scene.says("approval.granted", 31, actor="bob", approval_id="apr_1", inputs_digest="sha256:00")
    scene.says("dispatch.permitted", 31.5, rule="approved", policy_version="pol_1", expires_at=at(91), reason="approved by ann")
    return scene.card(viewer="ann", controls=[Control(action="withdraw", enabled=True, rule="may-withdraw")])


def running_with_cancel_requested() -> Card:
    scene = Scene()
    scene.proposed(0, tool="search_rail", purpose="Search trains", consequences=["read-only"], cancel_support="task", policy_version="")
    scene.says("execution.started", 0.14, attempt=1, executor="worker w-2", lease="8c1", cancel_support="task")
    scene.says("cancellation.requested", 38.411, actor="ann", scope="this call only", reason="took too long")
    reason = "requested by ann at 2026-11-30T12:00:38.411Z; nothing has acknowledged it yet"
    cancel = Control(action="request_cancellation", enabled=False, rule="already-requested", reason=reason)
    return scene.card(viewer="ann", controls=[cancel])


def thread_that_cannot_be_stopped() -> Card:
    scene = Scene()
    scene.proposed(0, tool="charge_deposit", purpose="Charge the deposit")
    scene.started(1, executor="thread", worker="host-1:42", cancel_support="thread")
    scene.says("cancellation.requested", 5, actor="ann", scope="this invocation")
    scene.says("effect.observed", 5.2, effect="deposit charged", amount="50.00", currency="EUR", recipient="Hotel Sol", reference="ch_81")
    return scene.card()


def streaming_with_progress() -> Card:
    scene = Scene()
    scene.proposed(0, tool="search_rail", purpose="Search trains", consequences=["read-only"])
    scene.started(1, executor="task", worker="host-1:42")
    for order in range(1, 42):
        scene.says("output.emitted", 1 + order / 10, order=order, output=scene.value(f'"connection {order}\\n"'))
    scene.says("progress.reported", 6, order=42, text="41 of about 120 connections read", percent=34)
    scene.says("progress.reported", 6.5, order=43, text="40 of about 120 connections read", percent=33)
    return scene.card()


def partially_complete() -> Card:
    scene = Scene()
    scene.proposed(0, tool="sync", purpose="Copy three folders")
    scene.started(1, executor="task")
    scene.says("part.completed", 2, part="photos", open=["mail", "notes"], outcome="copied 12 files")
    return scene.card()


def failed_and_retried() -> Card:
    scene = Scene()
    scene.proposed(0, tool="search_hotels", purpose="Search hotels in Oslo")
    scene.started(1, executor="task", worker="host-1:42")
    scene.says(
        "execution.failed", 3, category="upstream-unavailable", detail="the hotel service did not answer", evidence_ref="raised:HTTPError",
        retryable="yes", exception=scene.value('{"type":"HTTPError","text":"503"}'),
    )  # fmt: skip  # facts in lines
    scene.says("retry.requested", 8, actor="ann", new_invocation="inv_hotel_2")
    retry = Control(action="retry", enabled=False, rule="not-latest", reason="a later attempt exists: inv_hotel_2")
    return scene.card(viewer="ann", links=LINKS, controls=[retry])


def cancelled_with_a_late_effect() -> Card:
    scene = Scene()
    scene.proposed(0, tool="charge_deposit", purpose="Charge the deposit", consequences=["financially-consequential"])
    scene.started(1, executor="worker w-1", lease="l1")
    asked = scene.says("cancellation.requested", 11, actor="ann", scope="this invocation")
    scene.says(
        "cancellation.acknowledged", 12, termination="confirmed", initiator="ann", scope="this invocation", reason="no longer needed",
        at=at(12), request_ref=asked,
    )  # fmt: skip  # facts in lines
    scene.says(
        "effect.observed", 12.2, effect="Deposit charged", amount="50.00", currency="EUR", provider_reference="ch_81", recipient="Hotel Sol"
    )
    return scene.card(viewer="ann", controls=[Control(action="reconcile", enabled=True, rule="may-reconcile")])


def denied() -> Card:
    scene = Scene()
    scene.proposed(1, inputs=BOOKING, **COSTLY)
    scene.asked(20)
    scene.says("approval.denied", 30, actor="ann", approval_id="apr_1", reason="too expensive")
    closure = {"kind": "denied", "initiator": "ann", "scope": "this invocation", "reason": "too expensive", "at": at(30)}
    scene.says("closure.recorded", 30, approval_id="apr_1", **closure)
    return scene.card(viewer="bob", controls=[Control(action="resubmit", enabled=True, rule="resubmission")])


def expired_and_replaced() -> Card:
    scene = Scene()
    scene.proposed(1, inputs=BOOKING, **COSTLY)
    scene.asked(20)
    scene.says("deadline.elapsed", 380.5, deadline="approval", declared_at=at(380), approval_id="apr_1", judged_at=at(380.5))
    scene.says("approval.granted", 381, actor="ann", approval_id="apr_1", inputs_digest="sha256:00")
    scene.says("route.chosen", 400, actor="ann", route="same route", new_invocation="inv_new")
    return scene.card(seconds=401, viewer="ann", links=LINKS)


def succeeded_with_a_long_result() -> Card:
    scene = Scene()
    scene.proposed(0, tool="search_flights", purpose="Search flights AMS → OSL", consequences=["read-only"])
    scene.started(1, executor="task", worker="host-1:42")
    legs = ",".join(f'{{"leg":{n},"fee":"14.00"}}' for n in range(4000))
    result = scene.value(f'{{"serial":9223372036854775807,"legs":[{legs}]}}')
    scene.says("execution.succeeded", 3.1, completed_at=at(3.1), result=result, validation="passed", summary="2 options")
    return scene.card()


def outcome_unknown() -> Card:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, executor="worker w-1", lease="l1")
    scene.says("execution.lost", 40, reason="the lease l1 ran out", lease="l1")
    return scene.card(controls=[Control(action="reconcile", enabled=True, rule="may-reconcile")])


def ran_without_a_permit() -> Card:
    scene = Scene()
    scene.proposed(0, inputs=BOOKING, **COSTLY)
    scene.asked(1)
    scene.says("execution.started", 2, attempt=1, executor="rogue")
    scene.says("execution.started", 3, attempt=1, executor="rogue")
    return scene.card()


def seen_at_work_only() -> Card:
    scene = Scene("inv_seen")
    scene.says("output.emitted", 1, order=1, output="first words ", _sequence=1)
    scene.says("output.emitted", 2, order=3, output="third words", _sequence=3)
    scene.says("tool.rested", 3, mood="calm")
    return scene.card()


def a_spoofed_approval() -> Card:
    scene = Scene()
    memo = "\\u001b[2J\\u2066שלום\\u2069 ⟦2026-01-01T00:00:00Z⟧"
    inputs = f'{{"total":"100","currency":"EUR","recipient":"Alice\\u202e001 ecilA","memo":"{memo}"}}'
    scene.proposed(1, purpose="Pay\x1b[31m Bob\u202e", inputs=inputs, tool="pay\u200b")
    facts = {"fields": ["total", "currency", "recipient", "memo"], "unreadable": ["terms"]}
    scene.asked(2, facts=facts, expires_at="fixture-time")
    return scene.card(controls=[Control(action="approve", enabled=True, rule="eligible")])


SCENARIOS: dict[str, Callable[[], Card]] = {
    scenario.__name__: scenario
    for scenario in (
        proposed_and_blocked, awaiting_approval, awaiting_input, approved_and_not_queued, running_with_cancel_requested,
        thread_that_cannot_be_stopped, streaming_with_progress, partially_complete, failed_and_retried, cancelled_with_a_late_effect,
        denied, expired_and_replaced, succeeded_with_a_long_result, outcome_unknown, ran_without_a_permit, seen_at_work_only,
        a_spoofed_approval,
    )
}  # fmt: skip  # names in lines


def trip() -> TaskScene:
    """Tell the trip: a booking that waits, a search that succeeded, one that failed and is tried again, one that is asked to stop."""
    task = TaskScene()
    flight = task.call("inv_flight")
    flight.proposed(1, tool="search_flights", purpose="Search flights")
    flight.started(2, executor="task")
    flight.says("execution.succeeded", 4, completed_at=at(4), result=flight.value('{"options":[]}'), validation="passed")
    hotel = task.call("inv_hotel")
    hotel.proposed(1, tool="search_hotels", purpose="Search hotels")
    hotel.started(2, executor="task")
    hotel.says("execution.failed", 3, category="upstream-unavailable", detail="no answer", evidence_ref="raised:HTTPError")
    hotel.says("retry.requested", 8, actor="ann", new_invocation="inv_hotel_2")
    rail = task.call("inv_rail")
    rail.proposed(1, tool="search_rail", purpose="Search trains")
    rail.started(2, executor="task")
    rail.says("cancellation.requested", 9, actor="ann", scope="this invocation")
    booking = task.call("inv_book")
    booking.proposed(5, inputs=BOOKING, **COSTLY)
    booking.asked(6)
    again = task.call("inv_hotel_2")
    again.record.attempt = 2
    again.proposed(8, tool="search_hotels", purpose="Search hotels", retry_of="inv_hotel")
    part = task.call("inv_part")
    part.proposed(10, tool="search_page", purpose="Read page 2", parent="inv_rail", required=False)
    summary = task.call("inv_summary")
    summary.proposed(11, tool="write_summary", purpose="Summarise the routes", dependencies=["inv_hotel", "inv_rail"])
    return task
