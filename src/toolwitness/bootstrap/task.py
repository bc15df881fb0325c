"""A task as its caller sees it, and the calls made in it."""

import asyncio
import inspect
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolwitness.bootstrap.provenance import split
from toolwitness.core.errors import InvalidInput
from toolwitness.core.task import SYNTHESIS
from toolwitness.runtime.outcomes import CallOutcome
from toolwitness.runtime.tools import Tool
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

if TYPE_CHECKING:
    from toolwitness.bootstrap.desk import Desk

_OURS: Final = frozenset({"purpose", "depends_on", "required", "source_request", "proposer", "inputs"})
"""What ``call`` takes for itself; an input of the same name goes into ``inputs``, or nobody could tell which is meant."""


class Call:
    """One call: await it for its outcome, or keep it to name it as a dependency. It begins when it is made, not when it is awaited."""

    def __init__(self, proposed: "asyncio.Future[str]", ended: "asyncio.Task[CallOutcome]") -> None:
        """Take the futures of the invocation id and of the outcome."""
        self._proposed = proposed
        self._ended = ended

    async def invocation_id(self) -> str:
        """Wait until the proposal is recorded and give its id."""
        return await asyncio.shield(self._proposed)

    def __await__(self) -> Generator[Any, None, CallOutcome]:
        """Wait for the outcome; never raises for how the call ended.

        Raises:
            InvalidInput: the tool is not declared at this desk; nothing was recorded.
            asyncio.CancelledError: the caller's own, untouched; the body was asked to stop.
        """
        return self._ended.__await__()


class TaskHandle:
    """An open task: make calls in it. Leaving its block neither ends nor cancels anything; the state is computed from the calls."""

    def __init__(self, desk: "Desk", task_id: str) -> None:
        """Refer to a recorded task."""
        self._desk = desk
        self.id = task_id

    def call(
        self, tool: Callable[..., Any] | str, *, purpose: str = "", depends_on: Sequence[Call | CallOutcome | str] = (),
        required: str = "yes", source_request: str = "", proposer: str = "application", inputs: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> Call:  # fmt: skip  # a signature in four lines
        """Propose a call of ``tool`` with its inputs, submit it, and give a ``Call`` to await.

        Inputs are given by keyword, or in ``inputs`` where the tool's own parameters are called as one of ours. They may carry provenance
        (``from_result``, ``from_user``); without it they read ``unrecorded``. ``depends_on`` names calls that must be resolved first; until
        then it stays proposed. ``required="no"`` lets the task be complete without it.
        """
        facts = {"purpose": purpose, "required": required, "source_request": source_request, "proposer": proposer}
        return self._begin(tool, {**(inputs or {}), **more_inputs}, depends_on, facts, in_mapping=frozenset(inputs or ()))

    def synthesis(
        self, tool: Callable[..., Any] | str, *, purpose: str = "", depends_on: Sequence[Call | CallOutcome | str] = (),
        source_request: str = "", proposer: str = "application", inputs: Mapping[str, Any] | None = None, **more_inputs: Any,
    ) -> Call:  # fmt: skip  # a signature in three lines
        """Propose the call that sums the task up; otherwise as ``call``. The first one proposed is the task's synthesis and stays it."""
        facts = {"purpose": purpose, "role": SYNTHESIS, "source_request": source_request, "proposer": proposer}
        return self._begin(tool, {**(inputs or {}), **more_inputs}, depends_on, facts, in_mapping=frozenset(inputs or ()))

    def _begin(
        self, tool: Callable[..., Any] | str, inputs: dict[str, Any], depends_on: Sequence[Call | CallOutcome | str],
        facts: dict[str, str], *, in_mapping: Collection[str],
    ) -> Call:  # fmt: skip  # a signature in four lines
        """Begin to carry a call through; its proposal and its end can be waited for."""
        proposed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        facts["source_request"] = facts["source_request"] or f"task {self.id}"
        ended = asyncio.create_task(
            self._carry(tool, inputs, depends_on, facts, proposed, in_mapping=in_mapping), name=f"toolwitness-caller-{self.id}"
        )
        return Call(proposed, ended)

    async def _carry(
        self, tool: Callable[..., Any] | str, inputs: dict[str, Any], depends_on: Sequence[Call | CallOutcome | str], facts: dict[str, str],
        proposed: "asyncio.Future[str]", *, in_mapping: Collection[str],
    ) -> CallOutcome:  # fmt: skip  # a signature in three lines
        """Propose, submit, and wait for the outcome."""
        desk = self._desk
        try:
            declared = desk.tool_named(tool)
            _require_unmistakable(declared, in_mapping)
            values, provenance = split(inputs)
            arguments, encoded, problems = declared.bind(values)
            dependencies = [await _id_of(dependency) for dependency in depends_on]
            proposal = Proposal(
                tool=declared.name, inputs=encoded, provenance=provenance, dependencies=dependencies, host=desk.host, **facts
            )
            invocation_id = await propose(desk.place, self.id, proposal)
        except BaseException as error:
            if not proposed.done():
                proposed.set_exception(
                    error if isinstance(error, Exception) else InvalidInput("The call was never proposed.", field="call")
                )
                proposed.exception()
            raise
        if not problems:
            desk.runtime.hold(invocation_id, arguments)
        proposed.set_result(invocation_id)
        await submit(desk.place, invocation_id)
        return await desk.runtime.outcome(invocation_id)


async def _id_of(dependency: Call | CallOutcome | str) -> str:
    """Give the invocation id of whatever names a call."""
    if isinstance(dependency, Call):
        return await dependency.invocation_id()
    return dependency.invocation_id if isinstance(dependency, CallOutcome) else dependency


def _require_unmistakable(tool: Tool, in_mapping: Collection[str]) -> None:
    """Go on only where no word of the call can be mistaken for an input of the tool.

    Raises:
        InvalidInput: the tool has a parameter that is called as one of ours, and it was not given in ``inputs``.
    """
    mistakable = sorted(_OURS & inspect.signature(tool.fn).parameters.keys() - set(in_mapping))
    if mistakable:
        named = ", ".join(mistakable)
        raise InvalidInput(
            f"{tool.name!r} has a parameter {named}, which is also a word of task.call.", field=mistakable[0],
            remedy=f'Give it in inputs={{"{mistakable[0]}": …}}.',
        )  # fmt: skip  # message first, facts after
