"""What a card says about the state in the situations between the main ones: the exact words, and what is not said."""

import pytest

from tests.unit.presentation.looking import finding, rows, said
from tests.unit.presentation.scene import NOON, Scene, at
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.presentation.cards import invocation_card


@pytest.mark.parametrize("state", [*State, None])
def test_a_record_of_which_only_the_state_is_known_is_drawn_and_claims_nothing_more(state: State | None) -> None:
    record = InvocationRecord("inv_bare", state=state, state_refs=("ev_gone",))
    card = invocation_card(record, events=[], now=NOON)
    assert card["state"] == (state or "")
    assert card["glyph"] == (state or "unknown")
    assert said(card, "facts") == []
    assert card["requests"] == card["findings"] == card["lineage"] == card["blocked"] == []
    assert card["timeline"] == {"title": "Evidence (nothing recorded)", "rows": []}


def test_a_queued_call_says_since_when_and_as_what() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 2, queue_ref="local:7", accepted_at=at(1.5))
    assert said(scene.card(), "meta") == ["queued ⟦2026-11-30T12:00:01.500Z⟧ as local:7"]


def test_a_queued_call_without_a_reference_claims_none() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 2, accepted_at=at(1.5))
    assert said(scene.card(), "meta") == ["queued ⟦2026-11-30T12:00:01.500Z⟧"]


def test_a_clock_may_run_only_while_the_body_is_believed_to_run() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    assert scene.card()["meta"][0]["since"] == "2026-11-30T12:00:01.000Z"
    scene.says("execution.lost", 9, reason="lease ran out")
    assert "since" not in scene.card()["meta"][0]


def test_a_lease_shows_that_somebody_holds_the_call_and_not_that_it_started() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("execution.heartbeat", 2, attempt=1, lease="l9")
    card = scene.card()
    assert (card["state"], said(card, "meta")) == ("running", ["held under lease l9"])


def test_the_model_that_is_asked_for_input_is_named() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("input.required", 1, unresolved=["seat"], collector="model", prompt="Which seat?")
    card = scene.card()
    assert said(card, "meta") == ["asked ⟦2026-11-30T12:00:01.000Z⟧; the model supplies the input"]
    facts = [(f["term"], f["text"], f["prominent"]) for f in card["facts"]]
    assert facts == [("What is asked", "Which seat?", True), ("Still needed", "seat", False)]


def test_nothing_named_as_open_is_said_so() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("part.completed", 2, part="a", open=["b"])
    scene.says("part.completed", 3, part="b", open=[])
    assert said(scene.card(), "meta")[1] == "2 parts complete; still open: nothing named"


def test_a_success_before_its_start_has_no_duration() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(5)
    scene.says("execution.succeeded", 6, completed_at=at(4), result="x")
    assert said(scene.card(), "meta") == ["succeeded ⟦2026-11-30T12:00:04.000Z⟧"]


def test_a_termination_that_nobody_requested_is_not_called_a_request() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, executor="task", cancel_support="task")
    scene.says("cancellation.acknowledged", 2, termination="unwound", initiator="caller", scope="s", reason="waiter left", at=at(2))
    assert said(scene.card(), "meta")[0] == "stopped ⟦2026-11-30T12:00:02.000Z⟧ by its caller, seen to end by its executor"


def test_an_answer_by_nobody_on_record_names_nobody() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("closure.recorded", 1, kind="answered-by-human", initiator="unrecorded", scope="s", reason="phone", at=at(1))
    assert said(scene.card(), "meta")[0] == "answered by a person in the tool's place ⟦2026-11-30T12:00:01.000Z⟧"


def test_an_expiry_names_whose_clock_it_was() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59), _owner="runtime")
    card = scene.card()
    assert said(card, "meta")[0] == "the time for a result lapsed ⟦2026-11-30T12:00:59.000Z⟧, by the runtime's clock"
    assert finding(card, "result-deadline-passed")["detail"] == "It may still run; what it did must be reconciled."


def test_a_foreign_class_is_shown_as_the_word_it_is() -> None:
    scene = Scene()
    scene.proposed(0, consequences=["read-only", "levitating"])
    assert said(scene.card(), "meta")[1] == "reads only, levitating"
    assert ("levitating", "not a class that is known here") in rows(scene.card(), "policy")


def test_a_queued_call_that_is_asked_to_stop_is_still_queued() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.accepted", 1, queue_ref="q")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    request = scene.card(viewer="ann")["requests"][0]
    assert (request["text"], request["by"]) == ("Cancellation requested. Still queued until its scheduler confirms.", "you")
    assert request["at"] == "2026-11-30T12:00:02.000Z"


def test_an_approved_call_that_is_asked_to_stop_is_still_where_it_was() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    scene.says("cancellation.requested", 2, actor="unrecorded", scope="s")
    request = scene.card()["requests"][0]
    assert request["text"] == "Cancellation requested. Still awaiting approval until whoever has the call confirms."
    assert request["by"] == "somebody unrecorded"


def test_an_executor_that_cannot_stop_a_body_is_named() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, cancel_support="unsupported")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    card = scene.card()
    assert card["requests"][0]["text"] == "Cancellation requested. Its executor offers no way to stop it; what it does is still recorded."
    assert [f["code"] for f in card["findings"]] == []


def test_a_body_that_may_run_on_after_its_expiry_keeps_its_request_in_view() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    scene.says("deadline.elapsed", 60, deadline="result", declared_at=at(59))
    expected = "Cancellation requested. The record is expired; it may still run until its executor confirms."
    assert said(scene.card(), "requests") == [expected]


def test_an_acknowledged_cancellation_is_no_longer_a_request() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1, cancel_support="task")
    scene.says("cancellation.requested", 2, actor="ann", scope="s")
    scene.says("cancellation.acknowledged", 3, termination="confirmed", initiator="ann", scope="s", reason="r", at=at(3))
    assert scene.card()["requests"] == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("retry.requested", "Retry requested. No new attempt is recorded yet."),
        ("reversal.requested", "Undo requested. No call that undoes it is recorded yet."),
        ("route.chosen", "Another route chosen. No call on that route is recorded yet."),
    ],
)
def test_a_request_that_no_call_answers_stays_a_request(kind: str, expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says(kind, 2, actor="ann", route="by train")
    assert said(scene.card(), "requests") == [expected]


def test_what_a_running_call_asks_a_person_is_a_request_and_the_call_runs_on() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.started(1)
    scene.asked(2)
    scene.says("input.required", 3, unresolved=["seat"], collector="person", expires_at=at(90))
    card = scene.card()
    assert said(card, "requests") == [
        "Approval asked for. The call stays running meanwhile.", "Input asked for. The call stays running meanwhile.",
    ]  # fmt: skip  # one list
    assert [f["code"] for f in card["findings"]] == []
    assert card["state"] == "running"


def test_lineage_is_told_in_both_directions() -> None:
    scene = Scene()
    scene.proposed(0, retry_of="inv_0", reverses="inv_00", replaces="inv_000", dependencies=["inv_d"], parent="inv_p")
    scene.says("dependency.moved", 1, dependency="inv_d", moved_to="inv_d2")
    scene.says("dependency.resolved", 2, dependency="inv_d", by="inv_d2")
    scene.says("reversal.requested", 3, actor="ann", new_invocation="inv_r")
    scene.says("closure.recorded", 4, kind="withdrawn", initiator="planner", scope="s", reason="r", at=at(4), replaced_by="inv_n")
    card = scene.card(links={"inv_0": "Search"})
    assert said(card, "lineage") == [
        "Retries Search", "Is to undo inv_00", "Replaces inv_000",
        "Undo requested ⟦2026-11-30T12:00:03.000Z⟧ by ann: inv_r", "Replaced: inv_n",
    ]  # fmt: skip  # one list
    assert ("depends on", "inv_d, now inv_d2: resolved") in rows(card, "lineage")
    assert ("part of", "inv_p") in rows(card, "lineage")


def test_a_successor_of_which_nothing_is_recorded_here_is_named_without_a_time() -> None:
    record = InvocationRecord("inv_1", state=State.FAILED, state_refs=("ev_x",), retried_by="inv_2")
    assert said(invocation_card(record, events=[], now=NOON), "lineage") == ["Retried: inv_2"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (60, "The request for approval lapses ⟦2026-11-30T12:06:20.000Z⟧, by the server's clock"),
        (380, "The request for approval has lapsed; the expiry is not recorded yet: ⟦2026-11-30T12:06:20.000Z⟧, by the server's clock"),
    ],
)
def test_a_deadline_names_whose_clock_and_says_when_it_is_over(seconds: int, expected: str) -> None:
    scene = Scene()
    scene.proposed(0)
    scene.asked(1)
    assert scene.card(seconds=seconds)["deadline"]["text"] == expected


def test_the_deadline_of_the_phase_is_the_one_in_view() -> None:
    scene = Scene()
    scene.proposed(0)
    scene.says("dispatch.permitted", 1, rule="r", policy_version="p", expires_at=at(60), result_expires_at=at(600))
    assert scene.card()["deadline"]["which"] == "queue_start"
    scene.says("execution.started", 2, attempt=1, executor="e")
    assert scene.card()["deadline"]["which"] == "result"


def test_a_deadline_whose_declaration_is_gone_cites_nothing() -> None:
    record = InvocationRecord("inv_1", state=State.RUNNING, state_refs=("ev_x",), deadlines={"result": at(60)})
    card = invocation_card(record, events=[], now=NOON)
    assert card["deadline"]["evidence"] == []
