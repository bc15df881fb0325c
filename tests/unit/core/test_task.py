"""Tasks: partial completion, lineage, waiver, dependencies, synthesis. Never succeeded while required work is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.builders import TASK, event, in_state, record_of, task_of
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.lineage import attempt_before
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner, State, TaskId
from toolwitness.core.task import TaskRecord, blocked_by, judge_task, latest_attempts, required_lineages, root_of, summarize
from toolwitness.core.verdicts import Verdict


def child(name: str, *then: Event, attempt: int = 1, **proposal: Any) -> InvocationRecord:
    """An invocation called ``inv_<name>``, proposed as said and brought further by ``then``."""
    return record_of(event(Kind.PROPOSED, of_attempt=attempt, **proposal), *then, invocation=f"inv_{name}")


def records(*children: InvocationRecord) -> dict[str, InvocationRecord]:
    return {one.id: one for one in children}


ACCEPTED, STARTED, SUCCEEDED, FAILED = (event(kind) for kind in (Kind.ACCEPTED, Kind.STARTED, Kind.SUCCEEDED, Kind.FAILED))
CANCELLED = (STARTED, event(Kind.CANCEL_REQUESTED), event(Kind.CANCEL_ACKNOWLEDGED))
WAIVED = event(Kind.CHILD_WAIVED, child="inv_rail")
OPENED = event(Kind.TASK_OPENED)

# ── the trip of the seed, as data ───────────────────────────────────────────────────────────────────────────────────

TRIP_OPENED = event(
    Kind.TASK_OPENED, purpose="Compare travel options and summarize available routes",
    required_children=["inv_flight_001", "inv_hotel_001", "inv_rail_001"], synthesis="inv_synthesis_001",
)  # fmt: skip  # one fact a line
TRIP = records(
    child("flight_001", STARTED, SUCCEEDED),
    child("hotel_001", STARTED, FAILED, event(Kind.RETRY_REQUESTED, new_invocation="inv_hotel_002")),
    child("hotel_002", ACCEPTED, attempt=2, retry_of="inv_hotel_001"),
    child("rail_001", *CANCELLED),
    child(
        "synthesis_001", event(Kind.DEPENDENCY_MOVED, dependency="inv_hotel_001", moved_to="inv_hotel_002"),
        dependencies=["inv_flight_001", "inv_hotel_001", "inv_rail_001"],
    ),
)  # fmt: skip  # one child a line


def test_the_trip_of_the_seed_is_partially_complete_and_its_synthesis_waits_for_the_hotel() -> None:
    task = task_of(TRIP_OPENED)
    summary = summarize(task, TRIP)
    assert summary.state is State.PARTIALLY_COMPLETE
    assert summary.required == ("inv_flight_001", "inv_hotel_002", "inv_rail_001", "inv_synthesis_001")
    assert summary.complete == ("inv_flight_001",)
    assert summary.unresolved == ("inv_hotel_002", "inv_rail_001", "inv_synthesis_001")
    assert blocked_by(TRIP["inv_synthesis_001"], task, TRIP) == ("inv_hotel_002",)
    assert {id_: record.state for id_, record in TRIP.items()} == {
        "inv_flight_001": State.SUCCEEDED, "inv_hotel_001": State.FAILED, "inv_hotel_002": State.QUEUED, "inv_rail_001": State.CANCELLED,
        "inv_synthesis_001": State.PROPOSED,
    }  # fmt: skip  # one child after the other


def test_the_trip_is_succeeded_only_when_the_cancelled_rail_is_waived_too() -> None:
    done = TRIP | records(
        child("hotel_002", STARTED, SUCCEEDED, attempt=2, retry_of="inv_hotel_001"),
        child("synthesis_001", STARTED, SUCCEEDED, dependencies=["inv_flight_001", "inv_hotel_001", "inv_rail_001"]),
    )
    assert summarize(task_of(TRIP_OPENED), done).state is State.PARTIALLY_COMPLETE
    waived = task_of(TRIP_OPENED, event(Kind.CHILD_WAIVED, child="inv_rail_001", actor="user:ada", reason="no rail wanted"))
    assert summarize(waived, done).state is State.SUCCEEDED
    assert [waiver["reason"] for waiver in waived.waivers] == ["no rail wanted"]


# ── states of a task ────────────────────────────────────────────────────────────────────────────────────────────────

PATHS: dict[str, tuple[Event, ...]] = {
    "proposed": (),
    "input": (event(Kind.INPUT_REQUIRED),),
    "approval": (event(Kind.APPROVAL_REQUESTED),),
    "queued": (ACCEPTED,),
    "running": (STARTED,),
    "streaming": (STARTED, event(Kind.OUTPUT)),
    "partial": (STARTED, event(Kind.PART_COMPLETED)),
    "succeeded": (STARTED, SUCCEEDED),
    "failed": (STARTED, FAILED),
    "cancelled": CANCELLED,
    "denied": (event(Kind.APPROVAL_REQUESTED), event(Kind.DENIED), event(Kind.CLOSED, kind="denied")),
    "expired": (event(Kind.DEADLINE_ELAPSED),),
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", State.PROPOSED),
        ("proposed", State.PROPOSED),
        ("proposed approval", State.AWAITING_APPROVAL),
        ("input approval", State.AWAITING_APPROVAL),
        ("input proposed", State.AWAITING_INPUT),
        ("queued approval", State.QUEUED),
        ("running queued approval", State.RUNNING),
        ("streaming running", State.STREAMING),
        ("partial queued", State.PARTIALLY_COMPLETE),
        ("succeeded", State.SUCCEEDED),
        ("succeeded succeeded", State.SUCCEEDED),
        ("succeeded running", State.PARTIALLY_COMPLETE),
        ("succeeded proposed", State.PARTIALLY_COMPLETE),
        ("succeeded failed", State.PARTIALLY_COMPLETE),
        ("succeeded cancelled", State.PARTIALLY_COMPLETE),
        ("succeeded expired", State.PARTIALLY_COMPLETE),
        ("failed running", State.PARTIALLY_COMPLETE),
        ("failed", State.PARTIALLY_COMPLETE),
        ("failed cancelled", State.PARTIALLY_COMPLETE),
        ("cancelled expired", State.PARTIALLY_COMPLETE),
        ("cancelled", State.CANCELLED),
        ("cancelled denied", State.CANCELLED),
        ("expired", State.EXPIRED),
    ],
)
def test_a_task_is_what_the_latest_attempts_of_its_required_children_amount_to(words: str, expected: State) -> None:
    children = records(*(child(f"{word}{place}", *PATHS[word]) for place, word in enumerate(words.split())))
    assert summarize(task_of(OPENED), children).state is expected


@pytest.mark.parametrize(
    ("words", "final", "expected"),
    [
        ("failed", "failed0", State.FAILED),
        ("failed succeeded", "failed0", State.FAILED),
        ("failed cancelled", "failed0", State.FAILED),
        ("failed failed", "failed0", State.PARTIALLY_COMPLETE),
        ("failed running", "failed0", State.PARTIALLY_COMPLETE),
        ("failed proposed succeeded", "failed0", State.PARTIALLY_COMPLETE),
    ],
)
def test_a_task_has_failed_when_no_child_is_active_and_no_retry_is_permitted(words: str, final: str, expected: State) -> None:
    children = records(*(child(f"{word}{place}", *PATHS[word]) for place, word in enumerate(words.split())))
    assert summarize(task_of(OPENED), children, not_retryable=[f"inv_{final}"]).state is expected


@given(st.lists(st.sampled_from(list(PATHS)), max_size=6), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_a_task_is_never_succeeded_while_a_required_child_is_not_and_not_waived(
    words: list[str], waived: set[int], final: set[int]
) -> None:
    children = [child(f"c{place}", *PATHS[word]) for place, word in enumerate(words)]
    task = task_of(OPENED, *(event(Kind.CHILD_WAIVED, child=f"inv_c{place}") for place in waived))
    summary = summarize(task, records(*children), not_retryable=[f"inv_c{place}" for place in final])
    short = [place for place, word in enumerate(words) if word != "succeeded" and place not in waived]
    assert (summary.state is State.SUCCEEDED) == (not short and bool(words))
    assert set(summary.complete) | set(summary.unresolved) == {one.id for one in children}
    assert summary.unresolved == tuple(f"inv_c{place}" for place in short)


@pytest.mark.parametrize("word", ["running", "failed", "cancelled", "denied", "expired"])
def test_a_waived_child_is_complete_whatever_became_of_it(word: str) -> None:
    children = records(child("flight", *PATHS["succeeded"]), child("rail", *PATHS[word]))
    assert summarize(task_of(OPENED), children).state is not State.SUCCEEDED
    assert summarize(task_of(OPENED, WAIVED), children).state is State.SUCCEEDED


def test_only_a_person_waives() -> None:
    children = records(child("rail", *CANCELLED))
    task = task_of(
        OPENED, event(Kind.CHILD_WAIVED, child="inv_rail", owner=Owner.POLICY), event(Kind.CHILD_WAIVED, child="inv_rail", refusal="no")
    )
    assert summarize(task, children).state is State.CANCELLED


def test_a_declared_child_that_was_never_proposed_keeps_the_task_open() -> None:
    task = task_of(event(Kind.TASK_OPENED, required_children=["inv_flight", "inv_hotel"]))
    assert summarize(task, {}).state is State.PROPOSED
    assert summarize(task, records(child("flight", *PATHS["succeeded"]))).state is State.PARTIALLY_COMPLETE
    cancelled = summarize(task, records(child("flight", *CANCELLED)))
    assert (cancelled.state, cancelled.unresolved) == (State.PARTIALLY_COMPLETE, ("inv_flight", "inv_hotel"))


def test_a_child_that_was_only_seen_at_work_is_required_too() -> None:
    unproposed = record_of(event(Kind.STARTED), invocation="inv_x")
    assert summarize(task_of(OPENED), records(unproposed)).state is State.RUNNING
    silent = record_of(event("run.ping"), invocation="inv_y")
    assert summarize(task_of(OPENED), records(silent)).state is State.PROPOSED


def test_children_that_the_task_can_do_without_and_reversals_are_not_required() -> None:
    children = records(
        child("flight", *PATHS["succeeded"]), child("weather", FAILED, required=False), child("undo", STARTED, reverses="inv_flight")
    )
    summary = summarize(task_of(OPENED), children)
    assert (summary.state, summary.required) == (State.SUCCEEDED, ("inv_flight",))


def test_a_synthesis_that_the_task_named_is_required_before_it_is_proposed() -> None:
    task = task_of(event(Kind.TASK_OPENED, synthesis="inv_summary"))
    children = records(child("flight", *PATHS["succeeded"]))
    assert summarize(task, children).state is State.PARTIALLY_COMPLETE
    assert summarize(task, children | records(child("summary", *PATHS["succeeded"]))).state is State.SUCCEEDED


def test_a_synthesis_that_nobody_named_is_required_once_it_is_proposed() -> None:
    children = records(child("flight", *PATHS["succeeded"]))
    assert summarize(task_of(OPENED), children).state is State.SUCCEEDED
    assert summarize(task_of(OPENED), children | records(child("summary", dependencies=["inv_flight"]))).state is State.PARTIALLY_COMPLETE


def test_the_summary_names_who_waits_for_a_person_and_what_is_being_stopped() -> None:
    children = records(
        child("a", event(Kind.APPROVAL_REQUESTED)),
        child("b", event(Kind.INPUT_REQUIRED), required=False),
        child("c", event(Kind.INPUTS_REJECTED, collector="model")),
        child("d", STARTED, event(Kind.INPUT_REQUIRED)),
        child("e", STARTED, event(Kind.CANCEL_REQUESTED)),
        child("f", *CANCELLED),
        child("g", event(Kind.APPROVAL_REQUESTED), event(Kind.CLOSED)),
    )
    summary = summarize(task_of(OPENED), children)
    assert summary.waiting_for_person == ("inv_a", "inv_b", "inv_d")
    assert summary.stopping == ("inv_e",)


# ── lineage ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_retry_takes_the_place_of_the_attempt_that_it_retries_and_leaves_it_as_it_was() -> None:
    first, second = child("h1", *PATHS["failed"]), child("h2", STARTED, SUCCEEDED, attempt=2, retry_of="inv_h1")
    children = records(first, second)
    assert latest_attempts(children) == {"inv_h1": second}
    assert (summarize(task_of(OPENED), children).state, first.state) == (State.SUCCEEDED, State.FAILED)


def test_a_replacement_is_the_latest_although_it_counts_its_attempts_anew() -> None:
    children = records(
        child("h1", *PATHS["failed"]),
        child("h2", event(Kind.DEADLINE_ELAPSED), attempt=2, retry_of="inv_h1"),
        child("h3", *PATHS["succeeded"], attempt=1, replaces="inv_h2"),
    )
    assert [record.id for record in latest_attempts(children).values()] == ["inv_h3"]
    assert {root_of(record, children) for record in children.values()} == {"inv_h1"}


def test_the_order_in_which_attempts_are_listed_does_not_matter() -> None:
    first, second = child("h1", *PATHS["failed"]), child("h2", attempt=2, retry_of="inv_h1")
    assert latest_attempts(records(second, first)) == latest_attempts(records(first, second)) == {"inv_h1": second}


def test_a_lineage_whose_first_attempt_was_never_seen_is_named_by_it() -> None:
    only = child("h2", attempt=2, retry_of="inv_h1")
    assert latest_attempts(records(only)) == {"inv_h1": only}
    assert list(required_lineages(task_of(OPENED), records(only))) == ["inv_h1"]


def test_attempts_that_point_at_each_other_in_a_circle_are_one_lineage() -> None:
    children = records(child("a", retry_of="inv_b"), child("b", retry_of="inv_a"), child("c", retry_of="inv_c"))
    assert {id_: root_of(record, children) for id_, record in children.items()} == {"inv_a": "inv_a", "inv_b": "inv_a", "inv_c": "inv_c"}


def test_the_attempt_before_is_the_one_that_was_retried_or_replaced() -> None:
    first, second = child("h1", *PATHS["failed"]), child("h2", event(Kind.DEADLINE_ELAPSED), attempt=2, retry_of="inv_h1")
    third, stray = child("h3", replaces="inv_h2"), child("x", retry_of="inv_gone")
    children = records(first, second, third, stray)
    assert [attempt_before(one, children) for one in children.values()] == [None, first, second, None]


def test_who_asks_about_many_calls_works_out_the_latest_attempts_once() -> None:
    children = records(child("h1", *PATHS["failed"]), child("h2", attempt=2, retry_of="inv_h1"), child("after", dependencies=["inv_h1"]))
    latest = latest_attempts(children)
    assert blocked_by(children["inv_after"], task_of(OPENED), children, latest=latest) == ("inv_h2",)


def test_a_declared_child_may_be_any_attempt_of_its_lineage() -> None:
    task = task_of(event(Kind.TASK_OPENED, required_children=["inv_h2"]))
    children = records(child("h1", *PATHS["failed"]), child("h2", *PATHS["succeeded"], attempt=2, retry_of="inv_h1"))
    assert (summarize(task, children).state, summarize(task, children).required) == (State.SUCCEEDED, ("inv_h2",))


@pytest.mark.parametrize("named", ["inv_rail", "inv_rail2", "inv_rail3"])
def test_a_waiver_covers_the_lineage_whichever_attempt_it_names(named: str) -> None:
    children = records(
        child("rail", *PATHS["failed"]),
        child("rail2", *PATHS["failed"], attempt=2, retry_of="inv_rail"),
        child("rail3", STARTED, attempt=3, retry_of="inv_rail2"),
        child("after", dependencies=["inv_rail"], required=False),
    )
    task = task_of(OPENED, event(Kind.CHILD_WAIVED, child=named))
    assert summarize(task, children).state is State.SUCCEEDED
    assert blocked_by(children["inv_after"], task, children) == ()


# ── dependencies ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("word", "blocked"),
    [
        ("proposed", True), ("running", True), ("succeeded", False), ("failed", True), ("denied", True), ("expired", True),
        ("cancelled", False),
    ],
)  # fmt: skip  # pairs in lines
def test_a_dependency_is_resolved_by_success_or_by_a_cancellation_that_a_person_requested(*, word: str, blocked: bool) -> None:
    children = records(child("rail", *PATHS[word]), child("after", dependencies=["inv_rail"]))
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == (("inv_rail",) if blocked else ())


@pytest.mark.parametrize(
    "ending",
    [
        (STARTED, event(Kind.CANCEL_ACKNOWLEDGED)),
        (STARTED, event(Kind.CANCEL_ACKNOWLEDGED), event(Kind.CANCEL_REQUESTED)),
        (event(Kind.CLOSED, kind="dismissed"),),
    ],
    ids=["nobody asked", "asked afterwards", "never ran"],
)
def test_a_cancellation_that_no_person_requested_before_it_resolves_nothing(ending: tuple[Event, ...]) -> None:
    children = records(child("rail", *ending), child("after", dependencies=["inv_rail"]))
    assert children["inv_rail"].state is State.CANCELLED
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ("inv_rail",)


def test_a_waived_dependency_blocks_nothing() -> None:
    children = records(child("rail", *PATHS["failed"]), child("after", dependencies=["inv_rail"]))
    assert blocked_by(children["inv_after"], task_of(OPENED, WAIVED), children) == ()
    assert blocked_by(children["inv_after"], task_of(OPENED, event(Kind.CHILD_WAIVED, child="inv_gone")), children) == ("inv_rail",)


def test_a_dependency_that_policy_recorded_as_resolved_blocks_nothing() -> None:
    resolved = event(Kind.DEPENDENCY_RESOLVED, dependency="inv_rail")
    children = records(child("rail", *PATHS["failed"]), child("after", resolved, dependencies=["inv_rail"]))
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ()


def test_a_retry_moves_the_dependency_to_the_new_attempt() -> None:
    children = records(
        child("h1", *PATHS["failed"]), child("h2", STARTED, attempt=2, retry_of="inv_h1"), child("after", dependencies=["inv_h1"])
    )
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ("inv_h2",)


def test_a_dependency_can_be_moved_to_another_route_altogether() -> None:
    moved = [event(Kind.DEPENDENCY_MOVED, dependency=a, moved_to=b) for a, b in (("inv_rail", "inv_bus"), ("inv_bus", "inv_boat"))]
    children = records(child("rail", *PATHS["failed"]), child("boat"), child("after", *moved, dependencies=["inv_rail"]))
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ("inv_boat",)
    done = children | records(child("boat", *PATHS["succeeded"]))
    assert blocked_by(done["inv_after"], task_of(OPENED), done) == ()


def test_dependencies_moved_in_a_circle_still_block() -> None:
    moved = [event(Kind.DEPENDENCY_MOVED, dependency=a, moved_to=b) for a, b in (("inv_a", "inv_b"), ("inv_b", "inv_a"))]
    children = records(child("a"), child("b"), child("after", *moved, dependencies=["inv_a"]))
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ("inv_a",)


def test_an_unknown_dependency_blocks_under_its_own_name_and_each_is_named_once() -> None:
    children = records(
        child("h1", *PATHS["failed"]),
        child("h2", attempt=2, retry_of="inv_h1"),
        child("after", dependencies=["inv_gone", "inv_h1", "inv_h2"]),
    )
    assert blocked_by(children["inv_after"], task_of(OPENED), children) == ("inv_gone", "inv_h2")


@pytest.mark.parametrize("word", ["queued", "running", "streaming", "partial", "succeeded", "failed", "cancelled", "expired"])
def test_a_call_that_was_accepted_or_has_ended_is_past_waiting(word: str) -> None:
    after = child("after", *PATHS[word], dependencies=["inv_gone"])
    assert blocked_by(after, task_of(OPENED), records(after)) == ()


@pytest.mark.parametrize("word", ["proposed", "input", "approval"])
def test_a_blocked_call_stays_where_it_is_and_says_what_it_waits_for(word: str) -> None:
    after = child("after", *PATHS[word], dependencies=["inv_gone"])
    assert blocked_by(after, task_of(OPENED), records(after)) == ("inv_gone",)


def test_cancelling_one_child_touches_no_sibling() -> None:
    flight, rail = child("flight", STARTED), child("rail", *CANCELLED)
    assert (flight.state, rail.state) == (State.RUNNING, State.CANCELLED)
    assert flight.requests == []


# ── events about the task itself ────────────────────────────────────────────────────────────────────────────────────


def test_a_task_is_opened_once() -> None:
    again = event(Kind.TASK_OPENED, purpose="Something else", synthesis="inv_s")
    opened = event(
        Kind.TASK_OPENED, purpose="Book the trip", parent_task="task_0", required_children=["inv_1"], time="2026-11-30T10:00:00Z"
    )
    task = task_of(opened, again)
    assert (task.purpose, task.parent_task, task.synthesis, task.declared) == ("Book the trip", "task_0", "", ("inv_1",))
    assert (task.opened_at, task.version, task.evidence_refs) == ("2026-11-30T10:00:00Z", 2, [opened.ref, again.ref])


def test_a_standing_grant_is_kept_until_it_is_revoked() -> None:
    task = task_of(event(Kind.GRANT_RECORDED))
    assert list(task.grants) == ["grt_1"]
    judge_task(task, event(Kind.GRANT_REVOKED, grant_id="grt_9"))
    judge_task(task, event(Kind.GRANT_REVOKED))
    assert task.grants == {}
    assert list(task.revoked) == ["grt_9", "grt_1"]
    judge_task(task, event(Kind.GRANT_RECORDED))
    assert list(task.revoked) == ["grt_9"]


def test_the_uses_of_a_grant_are_kept_in_their_order_after_it_is_taken_back() -> None:
    task = task_of(event(Kind.GRANT_RECORDED), event(Kind.GRANT_USED), event(Kind.GRANT_USED, number=2), event(Kind.GRANT_REVOKED))
    assert [use["number"] for use in task.uses["grt_1"]] == [1, 2]


@pytest.mark.parametrize(
    ("said", "verdict", "reason"),
    [
        (event(Kind.STARTED), Verdict.NOTED, "unknown: 'execution.started' is not a fact about a task; kept as it came"),
        (event("run.finished"), Verdict.NOTED, "unknown: 'run.finished' is not a fact about a task; kept as it came"),
        (event(Kind.TASK_OPENED, without=("purpose",)), Verdict.NOTED, "incomplete: task.opened lacks purpose"),
        (
            event(Kind.TASK_OPENED, required_children="inv_1"), Verdict.NOTED,
            "malformed: field required_children is str and must be a list of texts",
        ),
        (event(Kind.CHILD_WAIVED, owner=Owner.RUNTIME), Verdict.REFUSED, "speaker: runtime does not own child.waived"),
        (event(Kind.CHILD_WAIVED, refusal="waive: not yours"), Verdict.REFUSED, "waive: not yours"),
    ],
)  # fmt: skip  # one case after the other
def test_what_is_no_fact_about_a_task_changes_nothing_and_says_why(said: Event, verdict: Verdict, reason: str) -> None:
    task = task_of(OPENED)
    judgement = judge_task(task, said)
    assert (judgement.verdict, judgement.reason) == (verdict, reason)
    assert (task.purpose, task.declared, task.waived, task.evidence_refs) == ("Book the trip the user chose", (), {}, [OPENED.ref])


def test_the_same_event_again_is_a_duplicate() -> None:
    task = TaskRecord(TaskId(TASK))
    assert judge_task(task, OPENED, recorded_at="2026-11-30T10:00:00Z").verdict is Verdict.NOTED
    assert (task.opened_at, judge_task(task, OPENED).verdict, task.version) == ("2026-11-30T10:00:00Z", Verdict.DUPLICATE, 1)


def test_every_state_of_a_child_gives_a_task_some_state() -> None:
    for state in State:
        assert summarize(task_of(OPENED), records(in_state(state))).state in State
