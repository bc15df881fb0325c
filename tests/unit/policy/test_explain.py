"""The explanation is what the rules say, for every tool and in every state."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.policy.worlds import ANN, NOW, POLICY, READER, UNDOABLE
from toolwitness.core.states import Consequence, State
from toolwitness.policy.cost import Cost
from toolwitness.policy.explain import explain_answers, explain_states
from toolwitness.policy.tool_policy import Inverse, ToolPolicy, unknown_tool


@pytest.mark.parametrize("policy", [POLICY, READER, UNDOABLE, unknown_tool("x")], ids=lambda one: one.tool)
def test_every_state_is_explained_and_no_answer_is_without_its_giver(policy: ToolPolicy) -> None:
    assert [one.state for one in explain_states(policy, ANN, NOW)] == list(State)
    assert all(one.by and one.answer for one in explain_answers(policy))


def test_an_approval_is_offered_to_who_may_give_it() -> None:
    def approve(policy: ToolPolicy) -> tuple[bool, str]:
        waiting = next(one for one in explain_states(policy, ANN, NOW) if one.state is State.AWAITING_APPROVAL)
        control = next(one for one in waiting.controls if one.action == "approve")
        return control.enabled, control.rule

    assert approve(POLICY) == (True, "eligible")
    assert approve(unknown_tool("x")) == (False, "eligible")


@pytest.mark.parametrize(
    ("fields", "question", "answer"),
    [
        ({"cost": Cost(amount="2", currency_field="unit")}, "what it costs", "2, in the input unit"),
        ({"idempotency": "keyed"}, "made twice", "keyed"),
        ({"result_seconds": 1.5}, "result", "1.5 seconds"),
        ({}, "an approval is good for", "60 seconds"),
        ({}, "a standing grant", "never: it is confirmed each time"),
        ({}, "who approves", "role:approver"),
        ({"consequences": ["read-only"], "approvers": ["user:a"]}, "an approval", "before dispatch"),
        ({"consequences": ["externally-visible"], "standing_authorization": "m"}, "an approval", "not asked: m"),
    ],
)
def test_each_answer_is_worded_for_a_person(fields: dict[str, Any], question: str, answer: str) -> None:
    told = {one.question: one.answer for one in explain_answers(ToolPolicy(tool="t", **fields))}
    assert told[question] == answer


def test_several_approvers_a_second_reading_and_what_an_undo_leaves_are_answers_of_their_own() -> None:
    inverse = Inverse(tool="cancel", verified_by="a test", leaves="the fee")
    policy = ToolPolicy(
        tool="tag", consequences=(Consequence.REVERSIBLE,), approvals_needed=2, read_again=("target", "price"), inverse=inverse
    )
    answers = {one.question: (one.answer, one.by) for one in explain_answers(policy)}

    assert answers["an approval"] == ("before dispatch", "approvals_needed")
    assert answers["how many approve"] == ("2 different people", "approvals_needed")
    assert answers["a standing grant"] == ("never: nobody permits alone what takes several", "approvals_needed")
    assert answers["read again before the start"] == ("target and price", "read_again")
    assert answers["an undo leaves"] == ("the fee", "inverse")
    one = {one.question: one.answer for one in explain_answers(replace(policy, approvals_needed=1, read_again=(), inverse=None))}
    assert one["an approval"] == "before dispatch"
    assert {"how many approve", "read again before the start", "an undo leaves"}.isdisjoint(one)
