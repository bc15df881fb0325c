"""One recorded run: what its model proposes, which calls may be made, and what each body really did."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Final

from agents import Agent, Handoff, ModelBehaviorError, RunContextWrapper
from agents.tool_context import ToolContext

from toolwitness.adapters.openai_agents import earlier
from toolwitness.adapters.openai_agents.bodies import Parts, Prepared, limit_of
from toolwitness.adapters.openai_agents.watching import Need, tools_of
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import State
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.recording.desk_side import DeskSide, Rule, same_json
from toolwitness.recording.guard import Guard, Raised
from toolwitness.runtime.encoding import encode_value
from toolwitness.runtime.facts import Ending, EndingKind
from toolwitness.service.workplace import read

_RAISED: Final = Raised(
    pauses={"Paused": "approval"},
    categories={
        "NotWell": ("tool-failed", "The tool's server marked its result as an error."),
        "MCPToolCancellationError": ("aborted", "The call on the MCP server was cancelled, and nobody here had asked for it."),
    },
    limit=limit_of,
)


_inside: Final[dict[str, asyncio.Event]] = {}
"""The observed calls that are in hand in this process, each with what is set when it no longer is."""


class Waiting(StrEnum):
    """How a run waits for a person."""

    IN_PLACE = "in place"
    """The call waits where it is, its siblings go on, and the process waits with it."""
    INTERRUPT = "interrupt"
    """The run ends with the framework's own interruptions; ``resolve`` answers them from the desk, and the saved state goes on anywhere."""


class Refused(Exception):
    """The call will not be made; the words are for the model."""


class RecordedRun:
    """What the watched tools ask while a run goes on."""

    def __init__(self, desk: DeskSide, waiting: Waiting, key: earlier.Key, purpose: str) -> None:
        """Begin."""
        self.desk = desk
        self.waiting = waiting
        self.id = desk.place.ids.new("run")
        self._key = key
        self._purpose = purpose
        self._task_id = ""
        self._now: dict[str, str] = {}
        """By the provider's id: the call of the latest response that carries it."""
        self._proposed: list[str] = []
        self._ask_again: dict[str, list[str]] = {}
        """By tool: the calls that ended so that the model may make them again."""
        self._needs: dict[str, bool] = {}
        """By call: whether the tool itself demands an approval; its rule is asked once."""

    # ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _task(self) -> str:
        if not self._task_id:
            self._task_id = await self._key.task(self.desk, self._purpose)
        return self._task_id

    async def proposed(self, agent: Agent[Any], context: Any, response: Any) -> None:
        """Record every function call that the model proposes."""
        tools = tools_of(agent)
        handoffs = {h.tool_name if isinstance(h, Handoff) else Handoff.default_tool_name(h) for h in agent.handoffs}
        for item in response.output:
            if getattr(item, "type", "") != "function_call" or item.name in handoffs:
                continue
            raw = (item.arguments or "").encode("utf-8", "surrogatepass")
            parts = tools.get(item.name)
            needed = parts is not None and await self._needed(parts, context, item.call_id, item.arguments or "")
            invocation_id = await self._propose(item.call_id, item.name, raw, "yes" if needed else "no")
            self._needs[invocation_id] = needed
            if parts is None:
                await self.desk.reject_inputs(await self._record(invocation_id), f"the agent has no function tool called {item.name!r}")

    async def _propose(self, call_id: str, tool: str, raw: bytes, needed: str) -> str:
        governed = needed == "yes" or tool in self.desk.place.policies
        invocation_id = await self.desk.propose(
            await self._task(), call_id, tool, raw, run_id=self.id, follows=await self._predecessor(tool, raw),
            rule=Rule.GOVERNED if governed else Rule.OBSERVED,
        )  # fmt: skip  # facts in lines
        self._now[call_id] = invocation_id
        self._proposed.append(invocation_id)
        return invocation_id

    async def _predecessor(self, tool: str, raw: bytes) -> InvocationRecord | None:
        """Give the one call that this one makes again: a refused one of the tool, or a failed one with the same inputs."""
        asked = [await self._record(invocation_id) for invocation_id in self._ask_again.get(tool, ())]
        meant = [r for r in asked if r.state is State.AWAITING_INPUT or await earlier.proposed_as(self.desk, r, raw)]
        if len(meant) != 1:
            return None
        self._ask_again[tool].remove(meant[0].id)
        return meant[0]

    async def _record(self, invocation_id: str) -> InvocationRecord:
        return (await read(self.desk.place, invocation_id)).record

    async def _current(self, pending: earlier.Pending, needed: Callable[[], Awaitable[bool]]) -> InvocationRecord:
        """Give the call that this is: of this run's latest response, else the one that a snapshot goes on with, else a new one."""
        known = self._now.get(pending.call_id)
        if known is None:
            view = await self.desk.place.ledger.task(await self._task())
            carrying = [r for r in view.records.values() if earlier.carries(r, pending)] if view else []
            same = [r.id for r in carrying if await earlier.proposed_as(self.desk, r, pending.arguments)]
            known = same[-1] if same else ""
        if not known:
            need = await needed()
            known = await self._propose(pending.call_id, pending.tool, pending.arguments, "yes" if need else "no")
            self._needs[known] = need
        self._now[pending.call_id] = known
        return await self._record(known)

    # ── approval rules ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _needed(self, parts: Parts, context: Any, call_id: str, arguments: str) -> bool:
        """Ask the tool's own rule, as the framework would."""
        rule = parts.tool.needs_approval
        if isinstance(rule, bool):
            return rule
        try:
            from agents.util._approvals import evaluate_function_tool_approval as evaluate  # noqa: PLC0415  # private: it may move
        except ImportError:
            return True
        return (await evaluate(parts.tool, context, arguments, call_id)).outcome == "require_approval"

    def rule(self, parts: Parts) -> Need:
        """Give the rule that the framework shall see: none where the call itself waits for the desk."""
        own = parts.tool.needs_approval
        if self.waiting is Waiting.IN_PLACE or (own is False and parts.tool.name not in self.desk.place.policies):
            return False

        async def asks(context: RunContextWrapper[Any], parameters: dict[str, Any], call_id: str) -> bool:
            raw = encode_value(parameters).decode()
            pending = earlier.Pending(call_id, parts.tool.name, raw.encode())
            record = await self._current(pending, lambda: self._needed(parts, context, call_id, raw))
            if record.state in {State.PROPOSED, State.AWAITING_INPUT, State.AWAITING_APPROVAL}:
                await self._ask(record)
                record = await self._record(record.id)
            return record.open_approval is not None

        return asks

    async def _ask(self, record: InvocationRecord) -> None:
        """Ask at the desk: policy asks where it demands an approval, a standing grant may cover it; else the tool's own demand is asked."""
        demands = self.desk.place.policy_for(record.tool).requires_approval
        if demands or not self._needs.get(record.id, record.governed and record.tool not in self.desk.place.policies):
            await self.desk.ask(record.id)
        else:
            await self.desk.ask_approval(record.id)

    async def answer(self, item: Any) -> str:
        """Wait for the desk's answer to an interruption; empty for yes, else why not."""

        async def always() -> bool:
            return True

        record = await self._current(earlier.pending_of(item), always)
        self._needs.setdefault(record.id, True)
        if (record.starts or record.claim) and await earlier.settled(self.desk, record) is not None:
            return ""  # the call itself says what became of it
        await self._ask(record)
        decided = await self.desk.decision(record.id)
        if decided.permitted != "yes":
            await self.desk.end_paused(record.id, decided.why)
        return "" if decided.permitted == "yes" else f"The call was not made: {decided.why}"

    async def take_back(self, rejected: Sequence[earlier.Pending]) -> None:
        """Close what somebody rejected in the saved state itself, so that a later approval runs nothing."""
        for pending in rejected:
            view = await self.desk.place.ledger.task(await self._task())
            for record in view.records.values() if view else ():
                if earlier.carries(record, pending) and await earlier.proposed_as(self.desk, record, pending.arguments):
                    await self.desk.withdraw(record.id, "rejected in the saved state, not at the desk")

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def invoke(self, parts: Parts, context: ToolContext[Any], raw: str) -> Any:
        """Make a call if it may be made, with a permit where a policy of ours applies, and hand the framework what came of it."""
        pending = earlier.Pending(context.tool_call_id, parts.tool.name, raw.encode("utf-8", "surrogatepass"))
        record = await self._current(pending, lambda: self._needed(parts, context, context.tool_call_id, raw))
        while record.id in _inside:  # two resumptions of one snapshot in this process
            await _inside[record.id].wait()
        found = await earlier.settled(self.desk, await self._record(record.id))
        if found is not None:
            return found.output
        over = asyncio.Event()
        if not record.governed:  # a governed call has a permit, and whoever waits for a person keeps nobody from being told no
            _inside[record.id] = over
        try:
            return await self._make(parts, context, raw, record)
        finally:
            over.set()
            if _inside.get(record.id) is over:
                del _inside[record.id]

    async def _make(self, parts: Parts, context: ToolContext[Any], raw: str, record: InvocationRecord) -> Any:
        """Make a call that has not run: check its inputs, get its permit, run its body."""
        try:
            prepared = await self._accepted(parts, context, record)
            permit = ""
            if record.governed and record.state is not State.PARTIALLY_COMPLETE:
                permit, prepared = await self._permitted(parts, context, record, prepared)
        except Refused as refused:
            return str(refused)
        except ModelBehaviorError as error:
            return await parts.answer(context, raw, error)
        return await self._run(parts, context, record.id, permit, prepared)

    async def _accepted(self, parts: Parts, context: ToolContext[Any], record: InvocationRecord) -> Prepared:
        """Check the inputs that stand.

        Raises:
            ModelBehaviorError: the framework refuses them; that is on record.
        """
        standing = (await self.desk.standing(record)).decode("utf-8", "surrogatepass")
        if record.inputs_history[1:]:
            context.tool_arguments = standing
        try:
            prepared = parts.prepare(context, standing)
        except ModelBehaviorError as error:
            await self.desk.reject_inputs(record, "openai-agents: the arguments did not validate", encode_value(str(error)))
            self._ask_again.setdefault(record.tool, []).append(record.id)
            raise
        await self.desk.accept_inputs(record, prepared.inputs)
        return prepared

    async def _permitted(
        self, parts: Parts, context: ToolContext[Any], record: InvocationRecord, prepared: Prepared
    ) -> tuple[str, Prepared]:
        """Wait for the desk, check what a person put in place of the inputs, and claim the permit.

        Raises:
            Refused: the call may not be made.
        """
        await self._ask(record)
        decided = await self.desk.decision(record.id)
        if decided.permitted != "yes":
            raise Refused(f"The call was not made: {decided.why}")
        if not same_json(decided.inputs, prepared.inputs):
            context.tool_arguments = decided.inputs.decode("utf-8", "surrogatepass")
            prepared = parts.prepare(context, context.tool_arguments)
        claimed = await self.desk.claim(record.id)
        if isinstance(claimed, PolicyVerdict):
            again = await earlier.settled(self.desk, await self._record(record.id))
            raise Refused(str(again.output) if again is not None else f"The call was not made: {claimed.reason}")
        return claimed, prepared

    async def _run(self, parts: Parts, context: ToolContext[Any], invocation_id: str, permit: str, prepared: Prepared) -> Any:
        """Run the body to its real end; a stopped call is an outcome, not an error (R5), and touches no sibling."""
        record = await self._record(invocation_id)
        same = "same" if same_json(await self.desk.standing(record), prepared.inputs) else "different"
        guard = Guard(
            self.desk, record, support=parts.support, permit=permit, inputs=prepared.inputs, compared=same, raised=_RAISED
        )  # fmt: skip  # one call
        ending = await guard.run(prepared.body)
        if ending.kind is EndingKind.RETURNED:
            return ending.value
        if ending.termination is not None:
            return f"The call was cancelled: {ending.stop_reason or 'no reason was given'}."
        if ending.kind is EndingKind.RAISED and type(ending.exception).__name__ != "Paused":
            self._ask_again.setdefault(record.tool, []).append(record.id)
        return await parts.answer(context, context.tool_arguments, _error(ending))

    async def over(self, paused: bool) -> None:  # noqa: FBT001 -- the framework's own fact
        """Close, once the run is over, what it proposed and nobody will make any more; what a paused run waits for stays open."""
        proposed, self._proposed = self._proposed, []
        if not paused:
            await self.desk.leave(proposed, "the run that proposed it is over")


def _error(ending: Ending) -> BaseException:
    """Give the error for the framework: a tool that cancelled itself must not take its siblings with it."""
    if ending.kind is EndingKind.SELF_CANCELLED:
        return RuntimeError("The tool cancelled itself; nobody had asked for it.")
    return ending.exception or RuntimeError("The tool did not start.")
