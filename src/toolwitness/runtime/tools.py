"""A tool: its function, its name, its policy, and how its inputs and results are checked."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.looks import Look, Reread
from toolwitness.policy.provider import Attempt, Happened, Said
from toolwitness.policy.tool_policy import ToolPolicy
from toolwitness.runtime.asking import ask, look
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
    target: Callable[..., Any] | None = None
    """Reads the present fingerprint of what the call would change."""
    quote: Callable[..., Any] | None = None
    """Reads what the call would cost now."""
    reconcile: Callable[..., Any] | None = None
    """Asks the other side what really happened to an attempt."""

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

    async def look(self, raw: bytes) -> Look:
        """Read the target and the price that a call with these recorded inputs has now; what cannot be read is said so."""
        if self.target is None and self.quote is None:
            return Look()
        read = read_inputs(self.fn, raw)
        if read.problems:
            why = f"the inputs cannot be read back here: {'; '.join(f'{p.field}: {p.message}' for p in read.problems)}"
            return Look(failures=dict.fromkeys(map(str, Reread), why))
        return await look(read.arguments, target=self.target, quote=self.quote)

    async def ask(self, attempt: Attempt, raw: bytes) -> Said:
        """Ask the other side what really happened to an attempt with these recorded inputs; a tool that cannot ask says so."""
        if self.reconcile is None:
            return Said(happened=Happened.UNKNOWN, detail=f"{self.name} declares no reconcile function")
        read = read_inputs(self.fn, raw)
        return await ask(self.reconcile, attempt if read.problems else replace(attempt, inputs=read.arguments))

    def check_result(self, value: Any) -> ResultCheck:
        """Check a returned value against the declared type, and encode it for the record."""
        return check_result(self.fn, value)


def require_readers(tool: Tool) -> None:
    """Go on only where the tool has a function for everything that its policy wants to be read again.

    Raises:
        InvalidInput: the policy file asks for what no function of the tool reads.
    """
    for name, word, function in ((Reread.TARGET, "target", tool.target), (Reread.PRICE, "quote", tool.quote)):
        if name in tool.policy.read_again and function is None:
            raise InvalidInput(
                f"The policy of {tool.name!r} wants its {name} to be read again, and no function of the tool reads it.", field="read_again",
                remedy=f"Declare it with @desk.tool(..., {word}=...), or take {str(name)!r} out of read_again in the policy file.",
            )  # fmt: skip  # message first, facts after


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
