"""A policy as bytes means the same as the policy."""

import pytest

from tests.unit.policy.worlds import POLICY, READER, UNDOABLE
from toolwitness.core.errors import InvalidInput
from toolwitness.policy.cost import Cost
from toolwitness.policy.tool_policy import RetryPolicy, ToolPolicy, unknown_tool
from toolwitness.policy.written import read_policy, write_policy


@pytest.mark.parametrize(
    "policy",
    [
        POLICY,
        READER,
        UNDOABLE,
        unknown_tool("x"),
        ToolPolicy(tool="t", cost=Cost(amount_field="total", currency="EUR")),
        ToolPolicy(tool="t", retry=RetryPolicy(attempts=2, categories=("timeout",))),
    ],
)
def test_what_is_written_is_read_back_as_the_same_policy(policy: ToolPolicy) -> None:
    again = read_policy(write_policy(policy))

    assert again == policy
    assert again.version == policy.version


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{}", b'{"tool":"t","colour":"red"}', b'{"tool":"t","retry":{}}', b'{"tool":"t","inverse":{"name":"x"}}', b'{"tool":""}'],
)
def test_what_is_not_a_policy_is_refused_whole(raw: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_policy(raw)
