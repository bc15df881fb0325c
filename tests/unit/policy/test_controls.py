"""What may be clicked: a button that is on is a command that would be accepted, and one that is off says why."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.policy.worlds import (
    ANN,
    BOB,
    CLAIM,
    DIGEST,
    NOW,
    PERMISSION,
    POLICY,
    READER,
    REF,
    UNDOABLE,
    answered,
    asked,
    at,
    cancel_request,
    failed,
    granted,
    record,
    running,
    stopped,
    succeeded,
    waiting,
)
from toolwitness.core.findings import Code, Finding
from toolwitness.core.record import InvocationRecord, Outcome
from toolwitness.core.states import EXECUTING, Reconciliation, State, TaskId
from toolwitness.core.task import TaskRecord
from toolwitness.core.verdicts import Actor
from toolwitness.policy.controls import PASSIVE, further_actions, judge_action, permitted_actions, task_actions
from toolwitness.policy.tool_policy import CancelSupport, ToolPolicy


def judged(made: InvocationRecord, action: str, policy: ToolPolicy = POLICY, actor: Actor | None = ANN, **given: Any):
    return judge_action(made, policy, actor, action=action, now=NOW, **given)


def offered(made: InvocationRecord, policy: ToolPolicy = POLICY, actor: Actor | None = ANN, **given: Any) -> dict[str, bool]:
    return {c.action: c.enabled for c in permitted_actions(made, policy, actor, NOW, **given)}


def why(made: InvocationRecord, action: str, policy: ToolPolicy = POLICY, **given: Any) -> tuple[str, str]:
    (control,) = (c for c in permitted_actions(made, policy, ANN, NOW, **given) if c.action == action)
    return control.rule, control.reason


# ── by state ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (record, {"review": True, "submit": True, "edit_inputs": True, "dismiss": True}),
        (
            lambda: record(State.AWAITING_INPUT, input_request={"unresolved": ["seat"], "collector": "person"}),
            {"supply_input": True, "choose_route": True, "withdraw": True, "dismiss": True},
        ),
        (
            lambda: record(State.AWAITING_INPUT, input_request={"unresolved": ["seat"], "collector": "model"}),
            {"supply_input": False, "choose_route": True, "withdraw": True, "dismiss": True},
        ),
        (waiting, {"approve": True, "deny": True, "inspect": True, "withdraw": True}),
        (granted, {"approve": False, "deny": False, "inspect": True, "withdraw": True}),
        (
            lambda: record(State.AWAITING_APPROVAL, approvals=[answered(asked(), "invalidated")]),
            {"approve": False, "deny": False, "inspect": True, "withdraw": True, "request_approval_again": True},
        ),
        (lambda: record(State.QUEUED, claim=CLAIM), {"inspect": True, "request_cancellation": True}),
        (running, {"inspect": True, "request_cancellation": True}),
        (lambda: running(State.STREAMING), {"inspect": True, "request_cancellation": True}),
        (lambda: running(State.PARTIALLY_COMPLETE), {"inspect": True, "request_cancellation": True}),
        (succeeded, {"inspect": True, "copy": True, "continue": True, "reverse": False}),
        (failed, {"inspect": True, "retry": False, "edit_inputs": False, "choose_route": True}),
        (stopped, {"inspect": True, "retry": False, "resubmit": True}),
        (lambda: record(State.CANCELLED), {"inspect": True, "resubmit": True}),
        (
            lambda: record(State.EXPIRED, elapsed="approval"),
            {"review": True, "resubmit": True, "request_approval_again": True},
        ),
        (lambda: record(State.EXPIRED, elapsed="input"), {"review": True, "resubmit": True}),
        (lambda: record(None), {}),
    ],
)
def test_each_state_offers_its_actions(made: Callable[[], InvocationRecord], expected: dict[str, bool]) -> None:
    assert offered(made()) == expected


def every_record() -> list[InvocationRecord]:
    return [
        record(), waiting(), granted(), running(), running(State.STREAMING), succeeded(), failed(), stopped(), record(State.EXPIRED),
        record(State.AWAITING_INPUT, input_request={"collector": "person"}), record(State.QUEUED, claim=CLAIM),
        running(State.EXPIRED, elapsed="result"),
    ]  # fmt: skip  # a list of cases reads better in lines


@pytest.mark.parametrize("actor", [None, Actor(id="eve", tenant="other")])
def test_who_is_nobody_here_may_only_look(actor: Actor | None) -> None:
    for made in every_record():
        assert {action for action, on in offered(made, actor=actor).items() if on} <= set(PASSIVE)


def test_every_control_that_is_off_says_why_and_agrees_with_the_command() -> None:
    for made in every_record():
        for control in permitted_actions(made, POLICY, BOB, NOW):
            verdict = judged(made, control.action, actor=BOB)
            assert control.enabled is verdict.allowed
            assert control.rule == verdict.rule
            assert control.enabled or control.reason == verdict.reason != ""


def test_an_action_nobody_knows_is_refused() -> None:
    assert judged(record(), "explode").rule == "unknown-action"


# ── approve and deny ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_click_is_bound_to_the_request_and_its_inputs() -> None:
    bindings = {c.action: dict(c.binding) for c in permitted_actions(waiting(), POLICY, ANN, NOW)}

    bound = {"approvalId": "apr_1", "inputsDigest": DIGEST}
    assert bindings == {"approve": bound, "deny": bound, "inspect": {}, "withdraw": {}}
    assert all(not c.binding for c in permitted_actions(granted(), POLICY, ANN, NOW))


def test_approved_and_not_queued_says_who_approved() -> None:
    assert why(granted(), "approve") == ("already-answered", f"already granted by ann at {at(0)}")


def test_an_ineligible_person_sees_why_it_is_not_theirs() -> None:
    controls = {c.action: c for c in permitted_actions(waiting(), POLICY, BOB, NOW)}

    assert (controls["approve"].enabled, controls["approve"].rule) == (False, "eligible")
    assert "role:finance" in controls["approve"].reason


def test_an_unreadable_deadline_blocks_approve_and_not_deny() -> None:
    made = record(State.AWAITING_APPROVAL, approvals=[asked(expires_at="2026-05-04T13:00:00")])

    assert offered(made)["approve"] is False
    assert offered(made)["deny"] is True


def test_without_a_request_there_is_nothing_to_approve() -> None:
    assert judged(record(), "approve").rule == "known-request"


def test_a_running_call_that_asks_offers_its_questions() -> None:
    made = running(approvals=[asked()], input_request={"collector": "person"})

    assert offered(made) == {"supply_input": True, "approve": True, "deny": True, "inspect": True, "request_cancellation": True}


# ── cancelling ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_after_the_commitment_boundary_cancel_is_off_and_says_what_is_left() -> None:
    made = running(commitment=Outcome({"boundary": "the provider accepted"}, REF, at(-1)))

    rule, reason = why(made, "request_cancellation")
    assert rule == "commitment-crossed"
    assert reason == f"the provider accepted was passed at {at(-1)}: it cannot be called back; what is left: void, refund"

    _, bare = why(made, "request_cancellation", replace(POLICY, recovery=()))
    assert bare.endswith("no way back is named for it")


def test_the_boundary_binds_only_classes_that_have_one() -> None:
    made = running(commitment=Outcome({"boundary": "x"}, REF, at(-1)))

    assert judged(made, "request_cancellation", UNDOABLE).allowed


def test_a_boundary_without_a_name_is_the_declared_one() -> None:
    made = running(commitment=Outcome({}, REF, at(-1)))

    assert POLICY.commitment_boundary in judged(made, "request_cancellation").reason


@pytest.mark.parametrize("state", sorted(EXECUTING))
def test_a_thread_can_be_asked_and_the_card_says_that_it_cannot_be_stopped(state: State) -> None:
    made = running(state, cancel_support="thread")

    assert offered(made)["request_cancellation"] is True
    rule, reason = why(made, "request_cancellation")
    assert rule == "thread"
    assert "cannot be stopped" in reason


@pytest.mark.parametrize(
    ("made", "policy", "allowed", "rule"),
    [
        (lambda: running(cancel_support=""), replace(POLICY, cancel_support=CancelSupport.UNDECLARED), True, "support-unknown"),
        (lambda: running(cancel_support=""), replace(POLICY, cancel_support=CancelSupport.UNSUPPORTED), False, "unsupported"),
        (lambda: running(cancel_support="unsupported"), POLICY, False, "unsupported"),
        (running, POLICY, True, "may-request_cancellation"),
        (lambda: running(requests=[cancel_request()]), POLICY, False, "already-requested"),
        (waiting, POLICY, False, "not-dispatched"),
        (lambda: granted(claim=CLAIM), POLICY, True, "may-request_cancellation"),
        (failed, POLICY, False, "ended"),
        (lambda: running(State.EXPIRED), POLICY, True, "may-request_cancellation"),
    ],
)
def test_when_a_cancellation_can_be_requested(
    made: Callable[[], InvocationRecord],
    policy: ToolPolicy,
    allowed: bool,  # noqa: FBT001 - a table's column
    rule: str,
) -> None:
    verdict = judged(made(), "request_cancellation", policy)

    assert (verdict.allowed, verdict.rule) == (allowed, rule)
    assert verdict.reason


def test_what_may_still_run_after_its_end_can_still_be_asked_to_stop() -> None:
    assert offered(running(State.EXPIRED, elapsed="result"))["request_cancellation"] is True


# ── closing before dispatch, editing, submitting ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", ["dismiss", "withdraw"])
@pytest.mark.parametrize(
    ("made", "rule"),
    [(record, ""), (waiting, ""), (lambda: granted(claim=CLAIM), "already-dispatched"), (running, "before-dispatch")],
)
def test_what_is_not_dispatched_can_be_closed(made: Callable[[], InvocationRecord], rule: str, action: str) -> None:
    verdict = judged(made(), action)

    assert (verdict.allowed, verdict.rule) == (not rule, rule or f"may-{action}")


@pytest.mark.parametrize(
    ("made", "given", "rule"),
    [
        (record, {}, "may-submit"),
        (record, {"blocked_by": ["inv_2"]}, "blocked"),
        (lambda: record(permission=PERMISSION), {}, "already-permitted"),
        (lambda: record(permission={**PERMISSION, "refused": True}), {}, "may-submit"),
        (waiting, {}, "state"),
    ],
)
def test_when_a_proposal_can_be_submitted(made: Callable[[], InvocationRecord], given: dict[str, Any], rule: str) -> None:
    assert judged(made(), "submit", **given).rule == rule


def test_a_blocked_proposal_shows_what_it_waits_for() -> None:
    assert why(record(), "submit", blocked_by=["inv_2", "inv_3"]) == ("blocked", "it waits for inv_2, inv_3")


@pytest.mark.parametrize(
    ("made", "rule"),
    [(record, "may-edit_inputs"), (waiting, "may-edit_inputs"), (running, "state"), (lambda: granted(claim=CLAIM), "already-dispatched")],
)
def test_inputs_are_edited_before_dispatch(made: Callable[[], InvocationRecord], rule: str) -> None:
    assert judged(made(), "edit_inputs").rule == rule


def test_input_is_supplied_where_a_person_is_asked() -> None:
    assert judged(record(), "supply_input").rule == "input-wanted"
    assert judged(record(input_request={"collector": "person"}), "supply_input").allowed


@pytest.mark.parametrize(
    ("made", "policy", "route", "rule"),
    [
        (record, POLICY, "", "may-choose_route"),
        (failed, POLICY, "pick another itinerary", "may-choose_route"),
        (record, POLICY, "swim", "route"),
        (record, READER, "", "route"),
        (running, POLICY, "", "state"),
        (lambda: granted(claim=CLAIM), POLICY, "", "already-dispatched"),
    ],
)
def test_only_declared_routes_can_be_chosen(made: Callable[[], InvocationRecord], policy: ToolPolicy, route: str, rule: str) -> None:
    assert judged(made(), "choose_route", policy, route=route).rule == rule


# ── again ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("made", "action", "policy", "given", "rule"),
    [
        (failed, "retry", READER, {}, "retry-policy"),
        (failed, "retry", READER, {"latest_attempt": "inv_1"}, "retry-policy"),
        (failed, "retry", READER, {"latest_attempt": "inv_2"}, "not-latest"),
        (lambda: failed(retried_by="inv_2"), "retry", READER, {}, "not-latest"),
        (failed, "retry", POLICY, {}, "attempts"),
        (lambda: record(State.EXPIRED), "resubmit", POLICY, {}, "resubmission"),
        (lambda: record(State.EXPIRED), "resubmit", POLICY, {"latest_attempt": "inv_2"}, "not-latest"),
        (succeeded, "reverse", UNDOABLE, {}, "verified-inverse"),
        (succeeded, "reverse", POLICY, {}, "inverse"),
        (lambda: record(State.EXPIRED, elapsed="approval"), "request_approval_again", POLICY, {}, "may-request_approval_again"),
        (
            lambda: record(State.EXPIRED, elapsed="approval", replaced_by="inv_2"),
            "request_approval_again",
            POLICY,
            {},
            "approval-gone",
        ),
        (waiting, "request_approval_again", POLICY, {}, "approval-gone"),
        (record, "request_approval_again", POLICY, {}, "approval-gone"),
    ],
)
def test_beginning_again(made: Callable[[], InvocationRecord], action: str, policy: ToolPolicy, given: dict[str, Any], rule: str) -> None:
    assert judged(made(), action, policy, **given).rule == rule


@pytest.mark.parametrize(
    "made",
    [
        lambda: failed(reconciliation=Reconciliation.UNKNOWN),
        lambda: succeeded(reconciliation=Reconciliation.REQUIRED),
        lambda: running(findings={Code.OUTCOME_UNKNOWN: Finding(Code.OUTCOME_UNKNOWN, "lease lost")}),
    ],
)
def test_reconcile_is_offered_where_effects_are_in_doubt(made: Callable[[], InvocationRecord]) -> None:
    assert offered(made())["reconcile"] is True


def test_reconcile_is_not_offered_where_nothing_is_in_doubt() -> None:
    assert "reconcile" not in offered(succeeded())
    assert judged(succeeded(), "reconcile").rule == "nothing-in-doubt"


# ── tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_ended_children_without_success_can_be_waived_and_only_once() -> None:
    task = TaskRecord(id=TaskId("task_1"), declared=("inv_unproposed",))
    children = {"a": failed(), "b": succeeded(), "c": running(), "d": stopped(), "e": record(State.EXPIRED)}
    for name, child in children.items():
        child.id = name
    task.waived = {"d": REF}

    assert [(c.action, c.binding["invocationId"], c.enabled) for c in task_actions(task, children, ANN)] == [
        ("waive_child", "a", True),
        ("waive_child", "e", True),
    ]
    (first, _) = task_actions(task, children, None)
    assert (first.enabled, first.rule) == (False, "actor")
    assert first.reason


# ── the lifecycle matrix ────────────────────────────────────────────────────────────────────────────────────────────

WORDS = {"retry_child": "retry", "recover": "resubmit", "new_invocation": "resubmit", "cancel": "request_cancellation"}
"""Words of the matrix that name an action of another record, or one of ours under another name."""
SOMEWHERE_ELSE = {State.PARTIALLY_COMPLETE: {"retry"}}
"""A failed child is retried on the child's own card."""


def test_every_user_action_of_the_matrix_has_its_place_in_its_state() -> None:
    rows = list(csv.DictReader(Path("spec/matrix.csv").read_text(encoding="utf-8").splitlines()))
    wanted: dict[State, set[str]] = {}
    for row in rows:
        words = {entry.split()[0] for entry in row["user_actions"].split(",")}
        wanted.setdefault(State(row["state"]), set()).update(WORDS.get(word, word) for word in words)
    kinds = {made.state: set(offered(made)) for made in every_record()}
    kinds[State.PARTIALLY_COMPLETE] = set(offered(running(State.PARTIALLY_COMPLETE)))
    kinds[State.EXPIRED] = set(offered(record(State.EXPIRED, elapsed="approval")))

    missing = {state: words - kinds[state] - SOMEWHERE_ELSE.get(state, set()) for state, words in wanted.items()}
    assert {state: words for state, words in missing.items() if words} == {}


# ── who asked for it, and who was asked ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", ["withdraw", "dismiss"])
def test_where_it_is_on_record_who_asked_for_it_only_they_take_it_back(action: str) -> None:
    asked_for = waiting(proposal={"tool": "book", "requested_by": "bob"})

    assert judged(asked_for, action, actor=BOB).allowed
    assert judged(asked_for, action, actor=ANN).rule == "requester"
    assert judged(waiting(), action, actor=ANN).allowed


def test_what_a_client_answers_for_a_person_counts_only_where_the_question_was_shown() -> None:
    answering = replace(ANN, channel="client")

    assert judged(waiting(), "withdraw", actor=answering).rule == "presented"
    assert judged(waiting(rendered=[{"ref": "ev_9"}]), "withdraw", actor=answering).allowed


# ── an answer in the tool's place ───────────────────────────────────────────────────────────────────────────────────


def answering(made: InvocationRecord, actor: Actor | None = ANN) -> list[tuple[bool, str, dict[str, Any]]]:
    return [(c.enabled, c.reason, dict(c.binding)) for c in further_actions(made, POLICY, actor, NOW) if c.action == "respond"]


def test_who_may_deny_may_answer_in_the_tools_place_and_the_click_is_bound_to_the_same_request() -> None:
    [(on, reason, binding)] = answering(waiting())
    [denying] = [c for c in permitted_actions(waiting(), POLICY, ANN, NOW) if c.action == "deny"]
    assert (on, reason, binding) == (True, "", dict(denying.binding))
    eve = Actor(id="eve")
    [(off, why_not, _)] = answering(waiting(), eve)
    [refused] = [c for c in permitted_actions(waiting(), POLICY, eve, NOW) if c.action == "deny"]
    assert (off, why_not) == (False, refused.reason)


def test_where_nobody_was_asked_only_who_may_dismiss_it_is_offered_an_answer() -> None:
    made = record()
    made.proposal = {**made.proposal, "policy_version": "1"}
    assert [on for on, _, _ in answering(made)] == [True]
    assert answering(made, None) == []


@pytest.mark.parametrize("made", [running(), succeeded(), failed(), record(State.QUEUED, claim=CLAIM), record(None)])
def test_what_has_been_dispatched_or_is_over_answers_itself(made: InvocationRecord) -> None:
    made.proposal = {**made.proposal, "policy_version": "1"}
    assert answering(made) == []


def test_a_call_that_no_policy_of_ours_was_asked_about_is_not_ours_to_answer() -> None:
    made = record()
    made.proposal = {name: value for name, value in made.proposal.items() if name != "policy_version"}
    assert answering(made) == []


def test_an_answer_is_no_word_of_the_lifecycles_table() -> None:
    assert all("respond" not in offered(made) for made in every_record())
