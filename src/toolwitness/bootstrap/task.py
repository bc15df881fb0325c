"""A task as its caller sees it, and the calls made in it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from toolwitness.bootstrap.provenance import split
from toolwitness.core.errors import InvalidInput, Unavailable
from toolwitness.core.task import SYNTHESIS
from toolwitness.runtime.courier import keep, outlast
from toolwitness.runtime.dispatching import running_inside
from toolwitness.runtime.outcomes import CallOutcome
from toolwitness.runtime.tools import Tool
from toolwitness.service.propose import Proposal, propose
from toolwitness.service.submit import submit

if TYPE_CHECKING:
    from toolwitness.bootstrap.desk import Desk

_OURS: Final = frozenset({"purpose", "depends_on", "required", "source_request", "proposer", "inputs", "provider_call_id"})
"""What ``call`` takes for itself; an input of the same name goes into ``inputs``, or nobody could tell which is meant."""


class Call:
    """One call: await it for its outcome, or keep it to name it as a dependency. It begins when it is made, not when it is awaited."""

    def __init__(
        self, proposed: "asyncio.Future[str]", ended: "asyncio.Task[CallOutcome]", release: Callable[[str], Awaitable[None]]
    ) -> None:
        """Take the futures of the invocation id and of the outcome, and what is done when nobody waits any more."""
        self._proposed = proposed
        self._ended = ended
        self._release = release
        self._waiting = 0

    async def invocation_id(self) -> str:
        """Wait until the proposal is recorded and give its id."""
        return await asyncio.shield(self._proposed)

    def __await__(self) -> Generator[Any, None, CallOutcome]:
        """Wait for the outcome; never raises for how the call ended.

        Raises:
            InvalidInput: the tool is not declared at this desk; nothing was recorded.
            asyncio.CancelledError: the caller's own, untouched. When the last one who waits is cancelled, the body is asked to stop and its
                end is awaited (a thread holds nobody), and a call that was not dispatched is withdrawn.
        """
        return self._wait().__await__()

    async def _wait(self) -> CallOutcome:
        self._waiting += 1
        try:
            return await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            if self._waiting == 1 and not self._ended.done():
                await outlast(keep(asyncio.ensure_future(self._let_go())))
            raise
        finally:
            self._waiting -= 1

    async def _let_go(self) -> None:
        """Take back what the caller no longer waits for, once it is known what that is."""
        await outlast(self._proposed)
        if not self._proposed.cancelled() and self._proposed.exception() is None:
            await self._release(self._proposed.result())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """A call as it was made: what was passed at that moment, whatever the caller does to its objects later."""

    proposal: Proposal
    arguments: Mapping[str, Any] | None
    """For the body; ``None`` where they do not fit the tool as they are."""


class TaskHandle:
    """An open task: make calls in it. Leaving its block neither ends nor cancels anything; the state is computed from the calls."""

    def __init__(self, desk: "Desk", task_id: str) -> None:
        """Refer to a recorded task."""
        self._desk = desk
        self.id = task_id

    def call(
        self, tool: Callable[..., Any] | str, *, purpose: str = "", depends_on: Sequence[Call | CallOutcome | str] = (),
        required: str = "yes", source_request: str = "", proposer: str = "application", inputs: Mapping[str, Any] | None = None,
        provider_call_id: str = "", **more_inputs: Any,
    ) -> Call:  # fmt: skip  # a signature in four lines
        """Propose a call of ``tool`` with its inputs, submit it, and give a ``Call`` to await.

        Inputs are given by keyword, or in ``inputs`` where a parameter of the tool is called as one of ours. They may carry provenance
        (``from_result``, ``from_user``); without it they read ``unrecorded``. ``depends_on`` names calls that must be resolved first; until
        then it stays proposed. ``required="no"`` lets the task be complete without it. A call made inside the body of another call of this
        task points to it as its parent. ``provider_call_id`` is the id that the model's provider gave the call; its
        result goes back under it (``desk.tool_messages``).
        """
        facts: dict[str, Any] = {"purpose": purpose, "required": required, "source_request": source_request, "proposer": proposer}
        if provider_call_id:
            facts["correlation"] = ({"source": "provider", "provider_call_id": provider_call_id},)
        return self._begin(tool, inputs or {}, more_inputs, depends_on, facts)

    def synthesis(
        self, tool: Callable[..., Any] | str, *, purpose: str = "", depends_on: Sequence[Call | CallOutcome | str] = (),
        source_request: str = "", proposer: str = "application", inputs: Mapping[str, Any] | None = None, **more_inputs: Any,
    ) -> Call:  # fmt: skip  # a signature in three lines
        """Propose the call that sums the task up; otherwise as ``call``. The first one proposed is the task's synthesis and stays it."""
        facts = {"purpose": purpose, "role": SYNTHESIS, "source_request": source_request, "proposer": proposer}
        return self._begin(tool, inputs or {}, more_inputs, depends_on, facts)

    def _begin(
        self, tool: Callable[..., Any] | str, inputs: Mapping[str, Any], more_inputs: Mapping[str, Any],
        depends_on: Sequence[Call | CallOutcome | str], facts: dict[str, Any],
    ) -> Call:  # fmt: skip  # a signature in four lines
        """Begin to carry a call through; its proposal and its end can be waited for."""
        inside = running_inside()
        facts["source_request"] = facts["source_request"] or f"task {self.id}"
        made = Proposal(
            tool="",
            inputs=b"{}",
            host=self._desk.host,
            parent=inside.invocation_id if inside and inside.task_id == self.id else "",
            **facts,
        )
        try:
            _require_unmistakable(self._desk.tool_named(tool), inputs)
            bound: _Bound | InvalidInput = self._bind(made, tool, {**inputs, **more_inputs})
        except InvalidInput as error:
            bound = error  # whoever awaits the call gets it
        proposed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        ended = asyncio.create_task(self._carry(bound, depends_on, proposed), name=f"toolwitness-caller-{self.id}")
        return Call(proposed, ended, self._release)

    def _bind(self, made: Proposal, tool: Callable[..., Any] | str, inputs: Mapping[str, Any]) -> _Bound:
        declared = self._desk.tool_named(tool)
        values, provenance = split(inputs)
        arguments, encoded, problems = declared.bind(values)
        proposal = replace(made, tool=declared.name, inputs=encoded, provenance=provenance)
        return _Bound(proposal=proposal, arguments=None if problems else arguments)

    async def _release(self, invocation_id: str) -> None:
        await self._desk.runtime.release(invocation_id)

    async def _carry(
        self, bound: _Bound | InvalidInput, depends_on: Sequence[Call | CallOutcome | str], proposed: "asyncio.Future[str]"
    ) -> CallOutcome:
        """Propose, submit, and wait for the outcome."""
        desk = self._desk
        try:
            if isinstance(bound, InvalidInput):
                raise bound
            dependencies = [await _id_of(dependency) for dependency in depends_on]
            invocation_id = await propose(desk.place, self.id, replace(bound.proposal, dependencies=dependencies))
        except BaseException as error:
            if not proposed.done():
                never = InvalidInput("The call was never proposed.", field="call")
                proposed.set_exception(error if isinstance(error, Exception) else never)
                proposed.exception()
            raise
        runtime = desk.runtime
        runtime.expect(invocation_id, bound.arguments)
        proposed.set_result(invocation_id)
        try:
            await submit(desk.place, invocation_id)
        except BaseException as error:
            # A desk that closed in the middle of this has told whoever waits how things stood.
            if not (isinstance(error, Unavailable) and runtime.is_answered(invocation_id)):
                runtime.forget(invocation_id)
                raise
        return await runtime.outcome(invocation_id)


async def _id_of(dependency: Call | CallOutcome | str) -> str:
    """Give the invocation id of whatever names a call."""
    if isinstance(dependency, Call):
        return await dependency.invocation_id()
    return dependency.invocation_id if isinstance(dependency, CallOutcome) else dependency


def _require_unmistakable(tool: Tool, inputs: Mapping[str, Any]) -> None:
    """Go on only where no word of the call can be mistaken for an input of the tool.

    Raises:
        InvalidInput: the tool has a parameter that is called as one of ours, and it was not given in ``inputs``.
    """
    mistakable = sorted(_OURS & inspect.signature(tool.fn).parameters.keys() - inputs.keys())
    if mistakable:
        raise InvalidInput(
            f"{tool.name!r} has a parameter {mistakable[0]!r}, which is also a word of task.call.", field=mistakable[0],
            remedy=f'Give it in inputs={{"{mistakable[0]}": …}}.',
        )  # fmt: skip  # message first, facts after
