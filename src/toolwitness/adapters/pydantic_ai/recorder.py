"""The recorder: one object in ``Agent(..., capabilities=[Recorder(desk)])`` puts every tool call of the agent on record.

What becomes what::

    wrap_run                       the run is over              → closure.recorded for what it proposed and never made
    after_model_request            the model's calls            → invocation.proposed
    after_tool_validate            the arguments the body gets  → inputs.accepted, where validation changed them
    on_tool_validate_error         refused arguments            → inputs.rejected, collector: the model
    handle_deferred_tool_calls     an approval is demanded      → approval.requested at the desk; the run waits for the answer
    wrap_tool_execute              the body is entered and left → dispatch.claimed, execution.started, …, its real end
    on_event                       CustomEvent of a tool        → progress.reported

A tool whose policy is declared at the desk is governed: it runs only with a permit, and its approval is asked for at the desk whether the
framework demands one or not. Any other tool is observed: it runs as it always did, and the record says that no policy of ours was asked.
"""

import asyncio
import json
import re
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed, ToolRetryError
from pydantic_ai.messages import AgentStreamEvent, CustomEvent, ModelResponse, ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDefinition, ToolDenied
from pydantic_ai.toolsets.function import FunctionToolsetTool

from toolwitness.adapters.pydantic_ai.mapping import ADAPTER, TIMED_OUT
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, State
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.reading.lenient import members
from toolwitness.reading.pen import exact
from toolwitness.recording.decided import Decided
from toolwitness.recording.desk_side import DeskLike, DeskSide, Rule, Support, same_json
from toolwitness.recording.guard import Guard, Raised
from toolwitness.runtime.courier import outlast
from toolwitness.runtime.encoding import encode_value, to_json
from toolwitness.runtime.facts import Ending, EndingKind
from toolwitness.service.messages import tool_messages
from toolwitness.service.sealing import open_value
from toolwitness.service.workplace import read

Context = RunContext[Any]


def _limit(error: BaseException) -> str:
    """Give the framework's own time limit where it is what was raised."""
    timed_out = isinstance(error, ToolRetryError) and re.fullmatch(TIMED_OUT, str(error))
    return str(error).removeprefix("Timed out after ").removesuffix(".") if timed_out else ""


_RAISED: Final = Raised(
    pauses={"ApprovalRequired": "approval", "CallDeferred": "answer"},
    categories={
        "ToolRetryError": ("retry-asked", "The tool asked the model to call it again."),
        "ModelRetry": ("retry-asked", "The tool asked the model to call it again."),
        "ToolFailedError": ("tool-failed", "The tool reported a failure."),
        "ToolFailed": ("tool-failed", "The tool reported a failure."),
    },
    limit=_limit,
)
_PURPOSE: Final = 200


class Recorder(AbstractCapability[Any]):
    """Puts the tool calls of an agent on record at a desk, asks the desk for approvals, and stops one call alone when asked to."""

    def __init__(self, desk: DeskLike, *, task_id: str = "") -> None:
        """Record at ``desk``; ``task_id`` names an open task for all calls, else each conversation gets its own."""
        self._desk = DeskSide(desk, ADAPTER, task_id=task_id)
        self._asked_again: dict[tuple[str, str], list[str]] = {}
        """By run and tool: the calls that the model was asked to make again."""
        self._proposed: dict[str, list[str]] = {}
        """By run: what it proposed."""
        self._taken: dict[tuple[str, str], str] = {}
        """By run and provider's id: the call that this run has in hand, however it stands by now."""

    def task_id(self, conversation: str) -> str:
        """Give the id of the task that holds the calls of a conversation: what an emitter, or a page, follows."""
        return self._desk.task_id(conversation)

    # ── a run ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def wrap_run(self, ctx: Context, *, handler: Any) -> Any:
        """Close, once the run is over, the calls that it proposed and that nobody will make any more."""
        try:
            return await handler()
        finally:
            run_id = ctx.run_id or ""
            for key in [key for key in self._asked_again if key[0] == run_id]:
                del self._asked_again[key]
            for key in [key for key in self._taken if key[0] == run_id]:
                del self._taken[key]
            proposed = self._proposed.pop(run_id, [])
            await outlast(asyncio.ensure_future(self._desk.leave(proposed, "the run that proposed it is over")))

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def after_model_request(self, ctx: Context, *, request_context: Any, response: ModelResponse) -> ModelResponse:
        """Record every call that the model proposes."""
        for part in response.parts:
            if isinstance(part, ToolCallPart) and _kind(ctx, part.tool_name) != "output":
                await self._propose(ctx, part)
        return response

    async def _propose(self, ctx: Context, call: ToolCallPart, *, again: InvocationRecord | None = None) -> InvocationRecord:
        task_id = await self._task(ctx)
        follows = again or await self._predecessor(ctx, call.tool_name)
        kind = _kind(ctx, call.tool_name)
        governed = call.tool_name in self._desk.place.policies or kind == "unapproved"
        invocation_id = await self._desk.propose(
            task_id, call.tool_call_id, call.tool_name, exact({} if call.args is None else call.args), run_id=ctx.run_id or "",
            follows=follows, rule=Rule.GOVERNED if governed else Rule.OBSERVED,
        )  # fmt: skip  # facts in lines
        self._proposed.setdefault(ctx.run_id or "", []).append(invocation_id)
        self._taken[ctx.run_id or "", call.tool_call_id] = invocation_id
        if kind == "unknown":
            record = await self._record(invocation_id)
            await self._desk.reject_inputs(record, f"no tool is called {call.tool_name!r}")
            self._ask_again(ctx, call.tool_name, invocation_id)
        return await self._record(invocation_id)

    async def _task(self, ctx: Context) -> str:
        prompt = ctx.prompt if isinstance(ctx.prompt, str) else ""
        return await self._desk.task_for(ctx.conversation_id or ctx.run_id or "", prompt.strip()[:_PURPOSE] or "An agent run")

    async def _record(self, invocation_id: str) -> InvocationRecord:
        return (await read(self._desk.place, invocation_id)).record

    async def _predecessor(self, ctx: Context, tool: str) -> InvocationRecord | None:
        """Give the one call of this tool that the model was asked to make again; none where several could be meant."""
        asked = self._asked_again.pop((ctx.run_id or "", tool), [])
        return await self._record(asked[0]) if len(asked) == 1 else None

    def _ask_again(self, ctx: Context, tool: str, invocation_id: str) -> None:
        self._asked_again.setdefault((ctx.run_id or "", tool), []).append(invocation_id)

    async def _current(self, ctx: Context, call: ToolCallPart) -> InvocationRecord:
        """Give the call that this run has in hand; where it has ended before this run took it up, this is another one that points back.

        One that was seen to start and not to end is waited for, and asked for anew only where a person decides on it: its body may have
        made its effect.
        """
        key = (ctx.run_id or "", call.tool_call_id)
        if (taken := self._taken.get(key)) is not None:
            return await self._record(taken)
        record = await self._desk.find(await self._task(ctx), call.tool_call_id)
        if record is None:
            return await self._propose(ctx, call)
        if record.state in TERMINAL:
            return await self._propose(ctx, call, again=record)
        if record.starts and record.state is not State.PARTIALLY_COMPLETE:
            record = await self._desk.ended(record.id)
            if record.state not in TERMINAL and record.governed:
                return await self._propose(ctx, call, again=record)
        self._taken[key] = record.id
        return record

    # ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def after_tool_validate(self, ctx: Context, *, call: ToolCallPart, tool_def: ToolDefinition, args: Any) -> Any:
        """Record the arguments that the body will get, and ask at once for the approval that somebody demands."""
        record = await self._current(ctx, call)
        if _is_over(record):
            return args
        await self._desk.accept_inputs(record, encode_value(args))
        policy = self._desk.place.policies.get(call.tool_name)
        if policy is not None and policy.requires_approval and not ctx.tool_call_approved:
            await self._desk.ask_approval(record.id)  # now, and not when its turn to run has come: nobody should wait to be asked
        return args

    async def on_tool_validate_error(self, ctx: Context, *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Any) -> Any:
        """Record that the arguments were refused; the framework asks the model again."""
        record = await self._current(ctx, call)
        details = error.errors(include_url=False, include_context=False) if hasattr(error, "errors") else str(error)
        await self._desk.reject_inputs(record, "pydantic-ai: the arguments did not validate", encode_value(details))
        self._ask_again(ctx, call.tool_name, record.id)
        raise error

    # ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def handle_deferred_tool_calls(self, ctx: Context, *, requests: DeferredToolRequests) -> DeferredToolResults | None:
        """Ask the desk for every approval, all at once, and wait for the answers. Questions and external calls are the application's."""
        for call in requests.calls:
            await self._desk.ask_input(await self._current(ctx, call), requests.kind(call.tool_call_id))
        if not requests.approvals:
            return None
        records = [await self._current(ctx, call) for call in requests.approvals]
        for record in records:
            await self._desk.ask_approval(record.id)
        before = [await self._desk.standing(record) for record in records]
        decided = await asyncio.gather(*(self._desk.decision(record.id) for record in records))
        for record, one in zip(records, decided, strict=True):
            if one.permitted != "yes":
                await self._desk.end_paused(record.id, one.why)
        answers: dict[str, Any] = {
            call.tool_call_id: _answer(one, was) for call, one, was in zip(requests.approvals, decided, before, strict=True)
        }
        named = {call.tool_call_id: await self._answered_by(record) for call, record in zip(requests.approvals, records, strict=True)}
        return DeferredToolResults(approvals=answers, answered_by={key: name for key, name in named.items() if name})

    async def _answered_by(self, record: InvocationRecord) -> str:
        approval = (await self._record(record.id)).approval
        return approval.answer.actor if approval is not None and approval.answer is not None else ""

    # ── execution ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def wrap_tool_execute(self, ctx: Context, *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, handler: Any) -> Any:
        """Run the body under the guard, with a permit where a policy of ours applies."""
        record = await self._current(ctx, call)
        if _is_over(record) and record.starts:
            return await self._as_it_stands(record)
        permit = ""
        if record.governed:
            claimed = await self._permit(ctx, record, encode_value(args))
            if isinstance(claimed, ToolDenied):
                return claimed
            permit, record = claimed, await self._record(record.id)
        support = _support(ctx, call.tool_name)
        standing = await self._desk.standing(record)
        if record.governed and not same_json(standing, encode_value(args)):  # somebody edited them while the call waited
            args = _tool_of(ctx, call.tool_name).args_validator.validate_json(standing)
        inputs = encode_value(args)
        same = "same" if same_json(standing, inputs) else "different"
        guard = Guard(self._desk, record, support=support, permit=permit, inputs=inputs, compared=same, raised=_RAISED)
        ending = await guard.run(lambda: handler(args))
        return self._result(ctx, call, record, ending)

    async def _permit(self, ctx: Context, record: InvocationRecord, given: bytes) -> str | ToolDenied:
        """Claim the permit; ask and wait first where nothing was decided yet. A call that paused for its approval goes on with it."""
        if record.state is State.PARTIALLY_COMPLETE:
            return ""
        if record.state not in TERMINAL:
            await self._desk.ask(record.id)
        decided = await self._desk.decision(record.id)
        if decided.permitted != "yes":
            return ToolDenied(decided.why)
        if why := _objection(ctx, record.tool, decided.inputs, given):
            await self._desk.withdraw(record.id, why)
            return ToolDenied(why)
        claimed = await self._desk.claim(record.id)
        return ToolDenied(claimed.reason) if isinstance(claimed, PolicyVerdict) else claimed

    async def _as_it_stands(self, record: InvocationRecord) -> Any:
        """Give the model what is on record of a call that an earlier run made: its result, or that it is not known, and no second run."""
        if record.state is State.SUCCEEDED and record.outcome is not None and record.outcome.data.get("result"):
            raw = await open_value(self._desk.place.ledger, record.outcome.data["result"]["ref"])
            if raw is not None:
                return json.loads(raw)
        told, *_ = await tool_messages(self._desk.place, record.task_id, form="langchain", only=[record.id])
        return ToolDenied(str(told["content"]))

    def _result(self, ctx: Context, call: ToolCallPart, record: InvocationRecord, ending: Ending) -> Any:
        """Hand the framework what the body gave. A stopped call is an outcome, not an error (R5), and touches no sibling."""
        if ending.kind is EndingKind.RETURNED:
            return ending.value
        if ending.termination is not None:
            return ToolDenied(f"The call was cancelled: {ending.stop_reason or 'no reason was given'}.")
        if ending.kind is EndingKind.SELF_CANCELLED:
            raise ToolFailed("The tool cancelled itself; nobody had asked for it.")
        if isinstance(ending.exception, ToolRetryError):
            self._ask_again(ctx, call.tool_name, record.id)
        return ending.unwrap()

    # ── progress ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_on_event(self) -> bool:
        """Ask for no streaming: an agent that is run without it stays so, and its tools report progress with ``toolwitness.progress``."""
        return False

    def listens_to(self, event: AgentStreamEvent) -> bool:
        """Listen to what tools emit, where the run is streamed anyway."""
        return isinstance(event, CustomEvent) and event.tool_call_id is not None

    async def on_event(self, ctx: Context, *, event: AgentStreamEvent) -> None:
        """Record the progress that a tool emitted."""
        if not isinstance(event, CustomEvent) or event.tool_call_id is None:
            return
        payload = {name: value for name, value in members(to_json(event)).items() if name not in _STAMPS}
        counts = {to: payload[name] for name, to in _COUNTS.items() if type(payload.get(name)) is int}
        await self._desk.progress(await self._task(ctx), event.tool_call_id, encode_value(payload), counts)


_STAMPS: Final = frozenset({"name", "tool_call_id", "tool_name", "event_kind"})
_COUNTS: Final = {"done": "current", "completed": "current", "current": "current", "total": "total"}


def _is_over(record: InvocationRecord) -> bool:
    """Whether nothing may be done with this call any more: it was closed, or its body was entered and did not stop to ask."""
    return record.state in TERMINAL or (bool(record.starts) and record.state is not State.PARTIALLY_COMPLETE)


def _answer(decided: Decided, before: bytes) -> ToolApproved | ToolDenied:
    """Say a decision in the framework's words, with the inputs that a person put in place of the proposed ones."""
    if decided.permitted != "yes":
        return ToolDenied(decided.why)
    if same_json(decided.inputs, before):
        return ToolApproved()
    return ToolApproved(override_args=json.loads(decided.inputs))


def _objection(ctx: Context, tool: str, edited: bytes, given: bytes) -> str:
    """Say what is wrong with inputs that a person put in place of validated ones; empty where they validate or were left alone."""
    if same_json(edited, given):
        return ""
    try:
        _tool_of(ctx, tool).args_validator.validate_json(edited)
    except ValidationError as error:
        fields = sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]})
        return f"the edited inputs do not validate: {', '.join(fields) or 'they are no object'}"
    return ""


def _tool_of(ctx: Context, name: str) -> Any:
    """Give the framework's tool as it calls it, or ``None``."""
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    return (tools or {}).get(name)


def _tool(ctx: Context, name: str) -> Any:
    """Give the framework's own tool under its wrappings, or ``None``."""
    tool = _tool_of(ctx, name)
    while (inner := getattr(tool, "source_tool", None)) is not None:
        tool = inner
    return tool


def _kind(ctx: Context, name: str) -> str:
    """Give the framework's kind of a tool; ``unknown`` where it has none of this name, empty where it cannot be asked."""
    if ctx.tool_manager is None or ctx.tool_manager.tools is None:
        return ""
    tool = ctx.tool_manager.tools.get(name)
    return tool.tool_def.kind if tool is not None else "unknown"


def _support(ctx: Context, name: str) -> Support:
    """Tell how a body runs: an async function in a task, a sync one in a thread; anything else runs elsewhere."""
    tool = _tool(ctx, name)
    if not isinstance(tool, FunctionToolsetTool):
        return Support.UNSUPPORTED
    return Support.TASK if tool.is_async else Support.THREAD
