"""A tool: its function, its name, its policy, and how its inputs and results are checked."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.runtime.encoding import MARK, to_json
from toolwitness.runtime.results import InputProblem, ResultCheck, bind_inputs, check_result, read_inputs

_NOT_WRITTEN = frozenset({"nonjson", "cycle", "deep"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One function that agents may call, with the policy declared for it."""

    name: str
    fn: Callable[..., Any]
    policy: ToolPolicy
    title: str = ""

    def bind(self, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes, Sequence[InputProblem]]:
        """Bind given inputs: the arguments for the body, their exact bytes for the record, and what is missing or wrong.

        The arguments are copies, so that nothing that the caller does to its own objects later reaches a body that was approved for what
        is on record. Only an object that cannot be written (a connection, a lock) is passed on as the very object that it is.
        """
        bound = bind_inputs(self.fn, given)
        return {name: _own(value) for name, value in bound.arguments.items()}, bound.encoded, bound.problems

    def check(self, raw: bytes) -> Sequence[InputProblem]:
        """Say what is missing from or wrong with recorded inputs.

        An object that the record knows by name only is not wrong: the process that holds it can run the call. Whether this one does,
        ``check_to_run`` says.
        """
        problems = read_inputs(self.fn, raw).problems
        held = {name for name, value in _members(raw).items() if _is_more_than_written(value)} if problems else set[str]()
        return [problem for problem in problems if problem.field not in held]

    def check_to_run(self, raw: bytes) -> Sequence[InputProblem]:
        """Say what keeps this process from running the call with what can be read back from the record."""
        return read_inputs(self.fn, raw).problems

    def read_inputs(self, raw: bytes) -> Mapping[str, Any]:
        """Make the body's arguments from recorded inputs."""
        return read_inputs(self.fn, raw).arguments

    def check_result(self, value: Any) -> ResultCheck:
        """Check a returned value against the declared type, and encode it for the record."""
        return check_result(self.fn, value)


def _members(raw: bytes) -> dict[str, Any]:
    try:
        read: Any = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _own(value: Any) -> Any:
    """Copy a value that the record holds in full; give any other as it is."""
    if value is None or isinstance(value, str | int | float | bytes) or _is_more_than_written(to_json(value)):
        return value
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - a value whose own code refuses to be copied is passed on as it is
        return value


def _is_more_than_written(written: Any) -> bool:
    """Tell whether something in a written value stands there by name only."""
    if isinstance(written, list):
        return any(_is_more_than_written(item) for item in cast("list[Any]", written))
    if not isinstance(written, dict):
        return False
    members = cast("dict[str, Any]", written)
    return members.get(MARK) in _NOT_WRITTEN or any(_is_more_than_written(item) for item in members.values())
