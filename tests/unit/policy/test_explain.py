"""The explanation is what the rules say, for every tool and in every state."""

from typing import Any

import pytest

from tests.unit.policy.worlds import ANN, NOW, POLICY, READER, UNDOABLE
from toolwitness.core.states import State
from toolwitness.policy.cost import Cost
from toolwitness.policy.explain import explain_answers, explain_states
from toolwitness.policy.tool_policy import ToolPolicy, unknown_tool


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
