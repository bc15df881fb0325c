"""Puts the guard around a tool's own body, inside everything that the framework does before and after it.

What the framework calls a tool call begins before the arguments are checked. The body begins later: there, with the arguments that it
really gets, is where the guard stands. A body that runs in a thread stays in the framework's thread; its guard is on the desk's loop.
"""

import asyncio
import concurrent.futures
import contextvars
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.errors import GraphBubbleUp, ParentCommand

from toolwitness.adapters.langgraph.mapping import BUBBLES
from toolwitness.core.record import InvocationRecord
from toolwitness.recording.desk_side import DeskSide, Support
from toolwitness.recording.guard import GoesOn, Guard, Raised
from toolwitness.runtime.context import current_body, entered
from toolwitness.runtime.encoding import encode_value
from toolwitness.runtime.facts import Ending

RAISED: Final = Raised(
    pauses={name: opened for name, opened in BUBBLES.items() if opened},
    categories={"ToolException": ("tool-failed", "The tool reported a failure.")},
    goes_on=GoesOn.FROM_THE_TOP,
)
"""What the framework's exceptions mean."""
_BODY: Final = "_run"
_ASYNC_BODY: Final = "_arun"
"""The two methods that every tool of the framework has its body in."""
_FRAMEWORKS_OWN: Final = frozenset({"config", "run_manager", "callbacks", "runtime"})


class Instead(GraphBubbleUp):
    """Carries an ending through the framework, which hands on what is of this kind and turns every other exception into a text."""

    def __init__(self, ending: Ending) -> None:
        """Say in words what came instead of a result; a stream that listens to tools repeats them."""
        super().__init__(f"The call was cancelled: {ending.stop_reason or 'by itself'}")
        self.ending = ending


@dataclass(slots=True, kw_only=True)
class Taken:
    """A call that may run now, once."""

    record: InvocationRecord
    permit: str
    args: Mapping[str, Any]
    """The arguments to run it with."""
    compared: str
    """Whether they are the ones that stand: ``same`` or ``different``."""
    entered: list[str] = field(default_factory=list[str])
    """Not empty once the body was entered."""
    guard: "asyncio.Task[Ending] | None" = None
    """The guard of a body in a thread."""

    def guarding(self, side: DeskSide, support: Support, given: Mapping[str, Any]) -> Guard:
        """Make the guard; ``given`` are the arguments that the body gets."""
        self.entered.append(str(support))
        shown = {name: value for name, value in given.items() if name not in _FRAMEWORKS_OWN} or dict(self.args)
        return Guard(
            side, self.record, support=support, permit=self.permit, inputs=encode_value(shown), compared=self.compared, raised=RAISED
        )  # fmt: skip  # one call


def guarded(tool: BaseTool, taken: Taken, side: DeskSide, loop: asyncio.AbstractEventLoop) -> BaseTool:
    """Give a tool that is the same in everything, and whose body runs under the guard."""
    copy = tool.model_copy()
    shown = set(tool.args)

    def given(kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in kwargs.items() if name in shown}

    run, arun = getattr(copy, _BODY), getattr(copy, _ASYNC_BODY)

    @functools.wraps(run)
    def in_thread(*args: Any, **kwargs: Any) -> Any:
        if taken.entered or _has_no_sync_body(tool):
            return run(*args, **kwargs)  # an async body that calls the sync one of its own; or there is none, and the framework says so
        guard = functools.partial(taken.guarding, side, Support.THREAD, given(kwargs))
        return settled(_beside(loop, taken, guard(), functools.partial(_one_value, run, *args, **kwargs)))

    @functools.wraps(arun)
    async def in_task(*args: Any, **kwargs: Any) -> Any:
        if taken.entered:
            return await arun(*args, **kwargs)
        guard = taken.guarding(side, Support.TASK, given(kwargs))
        return settled(await guard.run(functools.partial(_one_value_later, arun, *args, **kwargs)))

    object.__setattr__(copy, _BODY, in_thread)  # a model of pydantic: it takes no attribute that it has not declared
    if _is_async(tool):
        object.__setattr__(copy, _ASYNC_BODY, in_task)
    return copy


def _is_async(tool: BaseTool) -> bool:
    """Tell whether a tool has an async body of its own; else the framework runs its sync one in a thread."""
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is not None
    return getattr(type(tool), _ASYNC_BODY) is not getattr(BaseTool, _ASYNC_BODY)


def _has_no_sync_body(tool: BaseTool) -> bool:
    return isinstance(tool, StructuredTool | Tool) and tool.func is None


def _one_value(run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a body; a command to the graph above is a way to end well."""
    try:
        return run(*args, **kwargs)
    except ParentCommand as command:
        return command


async def _one_value_later(run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return await run(*args, **kwargs)
    except ParentCommand as command:
        return command


def settled(ending: Ending) -> Any:
    """Hand the framework what the body gave, as it gave it.

    Raises:
        Instead: it was stopped, or cancelled itself: an outcome of this one call, that must not take its siblings along (R5).
    """
    if ending.termination is not None or isinstance(ending.exception, asyncio.CancelledError):
        raise Instead(ending)
    value = ending.unwrap()
    if isinstance(value, ParentCommand):
        raise value
    return value


def _beside(loop: asyncio.AbstractEventLoop, taken: Taken, guard: Guard, call: Callable[[], Any]) -> Ending:
    """Run a body in this thread, with its guard on the desk's loop."""
    go: concurrent.futures.Future[Any] = concurrent.futures.Future()
    done: concurrent.futures.Future[Any] = concurrent.futures.Future()
    over: concurrent.futures.Future[Ending] = concurrent.futures.Future()

    async def stand_in() -> Any:
        go.set_result(current_body())
        return await asyncio.wrap_future(done)

    def finish(seen: "asyncio.Task[Ending]") -> None:
        if seen.cancelled():
            over.set_exception(concurrent.futures.CancelledError())
        elif (error := seen.exception()) is not None:
            over.set_exception(error)
        else:
            over.set_result(seen.result())

    def begin() -> None:
        taken.guard = loop.create_task(guard.run(stand_in), name=f"langgraph-guard-{taken.record.id}")
        taken.guard.add_done_callback(finish)

    loop.call_soon_threadsafe(begin)
    concurrent.futures.wait({go, over}, return_when=concurrent.futures.FIRST_COMPLETED)
    if go.done():
        context = contextvars.copy_context()
        context.run(entered, go.result())  # so that progress can be reported from this thread
        try:
            value = context.run(call)
        except BaseException as error:  # noqa: BLE001 -- whatever ends a body is what is to be reported
            done.set_exception(error)
        else:
            done.set_result(value)
    return over.result()
