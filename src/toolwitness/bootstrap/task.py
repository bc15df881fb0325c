"""A task as its caller sees it, and the calls made in it."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from toolwitness.bootstrap.provenance import split
from toolwitness.core.errors import InvalidInput
from toolwitness.runtime.outcomes import CallOutcome
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

if TYPE_CHECKING:
    from toolwitness.bootstrap.desk import Desk


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
        required: str = "yes", source_request: str = "", proposer: str = "application", **inputs: Any,
    ) -> Call:  # fmt: skip  # a signature in three lines
        """Propose a call of ``tool`` with ``inputs``, submit it, and give a ``Call`` to await.

        ``depends_on`` names calls that must be resolved first; until then it stays proposed. ``required="no"`` lets the task be complete
        without it. Inputs may carry provenance (``from_result``, ``from_user``); without it they read ``unrecorded``.
        """
        proposed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        facts = {"purpose": purpose, "required": required, "source_request": source_request or f"task {self.id}", "proposer": proposer}
        ended = asyncio.create_task(self._carry(tool, inputs, depends_on, facts, proposed), name=f"toolwitness-caller-{self.id}")
        return Call(proposed, ended)

    async def _carry(
        self, tool: Callable[..., Any] | str, inputs: dict[str, Any], depends_on: Sequence[Call | CallOutcome | str], facts: dict[str, str],
        proposed: "asyncio.Future[str]",
    ) -> CallOutcome:  # fmt: skip  # a signature in three lines
        """Propose, submit, and wait for the outcome."""
        desk = self._desk
        try:
            declared = desk.tool_named(tool)
            values, provenance = split(inputs)
            arguments, encoded, problems = declared.bind(values)
            dependencies = [await _id_of(dependency) for dependency in depends_on]
            proposal = Proposal(
                tool=declared.name, inputs=encoded, provenance=provenance, dependencies=dependencies, host=desk.host, **facts
            )
            invocation_id = await propose(desk.place, self.id, proposal)
        except BaseException as error:
            if not proposed.done():
                proposed.set_exception(error if isinstance(error, Exception) else InvalidInput("The call was never proposed.", field="call"))
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
