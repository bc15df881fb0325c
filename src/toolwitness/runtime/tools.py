"""A tool: its function, its name, its policy, and how its inputs and results are checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.runtime.results import InputProblem, ResultCheck, bind_inputs, check_result, read_inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One function that agents may call, with the policy declared for it."""

    name: str
    fn: Callable[..., Any]
    policy: ToolPolicy
    title: str = ""

    def bind(self, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes, Sequence[InputProblem]]:
        """Bind given inputs: the arguments for the body, their exact bytes for the record, and what is missing or wrong."""
        bound = bind_inputs(self.fn, given)
        return bound.arguments, bound.encoded, bound.problems

    def check(self, raw: bytes) -> Sequence[InputProblem]:
        """Say what is missing from or wrong with recorded inputs."""
        return read_inputs(self.fn, raw).problems

    def read_inputs(self, raw: bytes) -> Mapping[str, Any]:
        """Make the body's arguments from recorded inputs."""
        return read_inputs(self.fn, raw).arguments

    def check_result(self, value: Any) -> ResultCheck:
        """Check a returned value against the declared type, and encode it for the record."""
        return check_result(self.fn, value)
