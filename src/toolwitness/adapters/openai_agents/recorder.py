"""The recorder: ``recorder.run(agent, input)`` in the place of ``Runner.run`` puts every function call of the run on record.

What becomes what::

    on_llm_end                     the model's calls                  → invocation.proposed
    the tool's own check           refused arguments                  → inputs.rejected, collector: the model
                                   what the body gets                 → inputs.accepted, where defaults made others of the proposed ones
    needs_approval, or a policy    the call is about to be made       → approval.requested at the desk; the call waits for the answer
    the body                       is entered and left                → dispatch.claimed, execution.started, …, its real end
    the run                        is over                            → closure.recorded for what it proposed and never made

The framework hands out four points, each partial: its hooks see no exception, its error formatter no time-out, its trace no denial, its
stream no start. Here there is one: the body itself.
"""

import asyncio
import dataclasses
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from agents import Agent, RunConfig, Runner, RunResult, RunResultStreaming, RunState, TResponseInputItem, gen_trace_id, get_current_trace

from toolwitness.adapters.openai_agents import earlier
from toolwitness.adapters.openai_agents.mapping import ADAPTER
from toolwitness.adapters.openai_agents.recorded_run import RecordedRun, Waiting
from toolwitness.adapters.openai_agents.watching import recording, watch_agent
from toolwitness.core.errors import InvalidInput
from toolwitness.recording.desk_side import DeskLike, DeskSide
from toolwitness.runtime.courier import outlast

Given = str | list[TResponseInputItem] | RunState[Any]
_PURPOSE: Final = 200


class Recorder:
    """Puts the function calls of agents on record at a desk, asks the desk for approvals, and stops one call alone when asked to."""

    def __init__(self, desk: DeskLike, *, task_id: str = "", waiting: str = Waiting.IN_PLACE) -> None:
        """Record at ``desk``; ``task_id`` names an open task for all calls, else each conversation gets its own.

        Raises:
            InvalidInput: ``waiting`` is neither ``in place`` nor ``interrupt``.
        """
        if waiting not in set(Waiting):
            raise InvalidInput(f"There is no way of waiting called {waiting!r}.", field="waiting", remedy=f"Use {' or '.join(Waiting)}.")
        self.desk = DeskSide(desk, ADAPTER, task_id=task_id)
        self.waiting = Waiting(waiting)
        self._doing: set[asyncio.Future[None]] = set()

    def watch(self, agent: Agent[Any]) -> Agent[Any]:
        """Watch an agent, and give it back: its tools, those of its MCP servers, and the agents that it hands over to or uses as tools.

        ``run`` does it by itself. Outside a recorded run a watched agent is what it was.
        """
        watch_agent(agent)
        return agent

    # ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self, agent: Agent[Any], input: Given, *, conversation: str = "", **options: Any) -> RunResult:  # noqa: A002 -- the framework's name
        """Run an agent as ``Runner.run`` does, on record; ``options`` are its own.

        The calls of one conversation are one task. It is named by ``conversation``, else by the session, the ``conversation_id``, the saved
        state, or the run alone.
        """
        run, options = await self._begin(agent, input, conversation, options)
        paused = False
        try:
            with _within(run):
                result = await Runner.run(agent, input, **options)
            paused = bool(result.interruptions)
            return result
        finally:
            await outlast(asyncio.ensure_future(run.over(paused)))

    def run_streamed(self, agent: Agent[Any], input: Given, *, conversation: str = "", **options: Any) -> RunResultStreaming:  # noqa: A002 -- the framework's name
        """Run an agent as ``Runner.run_streamed`` does, on record; ``options`` are its own."""
        watch_agent(agent)
        options = _traced(input, options)
        run = RecordedRun(self.desk, self.waiting, self._key(input, conversation, options), _purpose(input))
        if isinstance(input, RunState):
            self._aside(run.take_back(earlier.rejected(input)))
        with _within(run):
            result = Runner.run_streamed(agent, input, **options)
        loop = result.run_loop_task
        if loop is not None:
            loop.add_done_callback(lambda _: self._aside(run.over(bool(result.interruptions))))
        return result

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside a streamed run, whose consumer does not wait for it."""
        doing = asyncio.ensure_future(work)
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _begin(
        self, agent: Agent[Any], given: Given, conversation: str, options: dict[str, Any]
    ) -> tuple[RecordedRun, dict[str, Any]]:
        watch_agent(agent)
        options = _traced(given, options)
        run = RecordedRun(self.desk, self.waiting, self._key(given, conversation, options), _purpose(given))
        if isinstance(given, RunState):
            await run.take_back(earlier.rejected(given))
        return run, options

    def _key(self, given: Given, conversation: str, options: dict[str, Any]) -> earlier.Key:
        session, config = options.get("session"), options.get("run_config")
        named = conversation or getattr(session, "session_id", "") or options.get("conversation_id") or ""
        trace = earlier.trace_of(given) or getattr(config, "trace_id", "") or ""
        return earlier.Key(str(named), trace, earlier.pending(given))

    # ── interruptions ───────────────────────────────────────────────────────────────────────────────────────────────

    async def resolve(self, state: RunState[Any], *, conversation: str = "", session: Any = None) -> RunState[Any]:
        """Wait until every interruption of a saved state is answered at the desk, and put the answers into it.

        A grant stands for its one call, whatever the state says: an answer that the framework would remember for later calls is never
        written, and a call that it lets through is checked at the desk all the same.
        """
        interruptions = state.get_interruptions()
        for item in interruptions:
            watch_agent(cast("Any", item.agent))
        key = self._key(state, conversation, {"session": session})
        run = RecordedRun(self.desk, self.waiting, key, _purpose(state))
        answers = await asyncio.gather(*(run.answer(item) for item in interruptions))
        for item, why_not in zip(interruptions, answers, strict=True):
            if why_not:
                state.reject(item, rejection_message=why_not)
            else:
                state.approve(item)
        return state


@contextmanager
def _within(run: RecordedRun) -> Iterator[None]:
    """Make what is begun here part of the recorded run."""
    token = recording.set(run)
    try:
        yield
    finally:
        recording.reset(token)


def _traced(given: Given, options: dict[str, Any]) -> dict[str, Any]:
    """Give the run a trace id of its own, by which a saved state is found again; an application's own is left alone."""
    config = options.get("run_config")
    current = get_current_trace()
    if isinstance(given, RunState) or isinstance(config, dict):
        return options
    config = config or RunConfig()
    if not config.trace_id:
        config = dataclasses.replace(config, trace_id=current.trace_id if current is not None else gen_trace_id())
    return {**options, "run_config": config}


def _purpose(given: Given) -> str:
    """Give what the run is for: the last thing that the user said."""
    items: Any = earlier.input_of(given)
    if isinstance(items, list):
        said = [item.get("content") for item in items if isinstance(item, dict) and item.get("role") == "user"]
        items = said[-1] if said else ""
    return items.strip()[:_PURPOSE] if isinstance(items, str) and items.strip() else "An agent run"
