"""The desk: declare tools, open tasks, decide, follow. It knows every room and decides nothing itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from toolwitness.bootstrap.policy_file import load_policy
from toolwitness.bootstrap.recovering import RecoveringDesk
from toolwitness.bootstrap.sealed import seal
from toolwitness.bootstrap.task import TaskHandle
from toolwitness.core.errors import InvalidInput, UnknownId
from toolwitness.core.record import InvocationRecord
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.policy.authorization import Authorizer, RolesAndTenants
from toolwitness.policy.cost import Cost
from toolwitness.policy.files import PolicyFile, roles_of
from toolwitness.policy.looks import Reread
from toolwitness.policy.tool_policy import CancelSupport, Inverse, RetryPolicy, ToolPolicy
from toolwitness.ports import Clock, Draft, Ids, Ledger, Problem, Recorded
from toolwitness.runtime.body import executor_of
from toolwitness.runtime.dispatching import running_inside
from toolwitness.runtime.encoding import to_json
from toolwitness.runtime.local import LocalRuntime
from toolwitness.runtime.recovery import name_of_process
from toolwitness.runtime.tools import Tool, require_readers
from toolwitness.service import (
    answer,
    cancel,
    close,
    dispatch,
    exchange,
    inputs,
    propose,
    record,
    submit,
    sweep,
    waive_child,
)
from toolwitness.service.messages import tool_messages
from toolwitness.service.workplace import Receipt, Workplace, read

if TYPE_CHECKING:
    from toolwitness.server.app import Authenticate

Function = TypeVar("Function", bound=Callable[..., Any])


class Desk(RecoveringDesk):
    """One desk in one process. Several processes may open desks on one ledger."""

    def __init__(
        self, ledger: Ledger, *, clock: Clock, ids: Ids, tenant: str = "", concurrency: int | None = None, sweep_seconds: float = 1.0,
        patience_seconds: float = 5.0, policy: Path | str | PolicyFile = "", authorizer: Authorizer | None = None,
    ) -> None:  # fmt: skip  # a signature in three lines
        """Put the rooms together around a ledger.

        ``tenant`` marks what this desk opens; ``concurrency`` limits how many bodies run at once; ``sweep_seconds`` is how often deadlines
        are looked at; ``patience_seconds`` is how long a ledger that cannot be written is waited for before callers are told;
        ``policy`` is a policy file, whose answers and those at each tool count together, the stricter ones;
        ``authorizer`` says who may decide, in the place of roles and tenants.

        Raises:
            InvalidInput: the policy file, or a key in ``TOOLWITNESS_SEAL_KEY``, cannot be read or understood.
        """
        file = policy if isinstance(policy, PolicyFile) else load_policy(policy) if policy else PolicyFile()
        self.place = Workplace(ledger=ledger, clock=clock, ids=ids, file=file, authorizer=authorizer or RolesAndTenants(file))
        seal(self.place)
        self.host = name_of_process()
        self.tenant = tenant
        self.register = record.Register()
        self._options = {"concurrency": concurrency, "sweep_seconds": sweep_seconds, "patience_seconds": patience_seconds}
        self._tools: dict[str, Tool] = {}
        self._runtime: LocalRuntime | None = None
        self._starting = asyncio.Lock()

    # ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self, function: None = None, /, *, name: str = "", title: str = "", consequences: Sequence[str] = (),
        approvers: Sequence[str] = (), approvals_needed: int | None = None, standing_authorization: str = "",
        approval_seconds: float | None = None, input_seconds: float | None = None, queue_seconds: float | None = None,
        result_seconds: float | None = None,
        scope: Sequence[str] = (), commitment_boundary: str = "", expected_effects: Sequence[str] = (), idempotency: str = "unknown",
        retry_attempts: int = 1, retry_categories: Sequence[str] = (), inverse: Inverse | None = None, recovery: Sequence[str] = (),
        alternate_routes: Sequence[str] = (), cost: Cost | Mapping[str, str] | None = None, target: Callable[..., Any] | None = None,
        quote: Callable[..., Any] | None = None, reconcile: Callable[..., Any] | None = None,
        redact: Sequence[str] = (), redact_outputs: Sequence[str] = (), plain_names: str = "",
    ) -> Callable[[Function], Function]: ...  # fmt: skip  # a signature in lines of what belongs together

    def tool(
        self, function: Callable[..., Any] | None = None, /, *, name: str = "", title: str = "", consequences: Sequence[str] = (),
        approvers: Sequence[str] = (), approvals_needed: int | None = None, standing_authorization: str = "",
        approval_seconds: float | None = None, input_seconds: float | None = None, queue_seconds: float | None = None,
        result_seconds: float | None = None,
        scope: Sequence[str] = (), commitment_boundary: str = "", expected_effects: Sequence[str] = (), idempotency: str = "unknown",
        retry_attempts: int = 1, retry_categories: Sequence[str] = (), inverse: Inverse | None = None, recovery: Sequence[str] = (),
        alternate_routes: Sequence[str] = (), cost: Cost | Mapping[str, str] | None = None, target: Callable[..., Any] | None = None,
        quote: Callable[..., Any] | None = None, reconcile: Callable[..., Any] | None = None,
        redact: Sequence[str] = (), redact_outputs: Sequence[str] = (), plain_names: str = "",
    ) -> Any:  # fmt: skip  # as above
        """Declare a tool: ``@desk.tool`` or ``@desk.tool(consequences=[…], approvers=["role:finance"], approval_seconds=300)``.

        The function is given back unchanged. A tool without consequence classes counts as unknown and gets the most restrictive answers.
        ``cost`` says what a call costs (``{"amount_field": "total", "currency_field": "currency"}``). ``target`` reads what the call would
        change and ``quote`` what it would cost (each gets the inputs that it names), when an approval is asked for and again before the
        start; what differs voids the approval. ``reconcile`` asks the other side what really happened to an attempt.
        ``redact`` and ``redact_outputs`` are JSON Pointers to what nobody is shown (``/card/number``, ``/guests/*/passport``);
        ``plain_names`` says why names that sound secret are not.

        Raises:
            InvalidInput: names the part of the policy that cannot be understood.
        """

        def declare(fn: Function) -> Function:
            chosen = name or getattr(fn, "__name__", "")
            policy = ToolPolicy(
                tool=chosen, consequences=tuple(consequences), approvers=tuple(approvers),
                approvals_needed=approvals_needed, standing_authorization=standing_authorization,
                approval_seconds=approval_seconds, input_seconds=input_seconds,
                queue_seconds=queue_seconds, result_seconds=result_seconds, scope_fields=tuple(scope),
                commitment_boundary=commitment_boundary, expected_effects=tuple(expected_effects),
                cancel_support=CancelSupport(str(executor_of(fn))), idempotency=idempotency,
                retry=RetryPolicy(attempts=retry_attempts, categories=tuple(retry_categories)), inverse=inverse,
                recovery=tuple(recovery), alternate_routes=tuple(alternate_routes), redact=tuple(redact),
                redact_outputs=tuple(redact_outputs), plain_names=plain_names, cost=Cost(**cost) if isinstance(cost, Mapping) else cost,
                read_again=tuple(word for word, reader in ((Reread.TARGET, target), (Reread.PRICE, quote)) if reader is not None),
            )  # fmt: skip  # facts in lines
            self._declare(Tool(name=chosen, fn=fn, policy=policy, title=title, target=target, quote=quote, reconcile=reconcile))
            return fn

        return declare if function is None else declare(function)

    def _declare(self, tool: Tool) -> None:
        tool = replace(tool, policy=self.place.file.govern(tool.name, tool.policy))
        require_readers(tool)
        self._tools[tool.name] = tool
        self.place.lookers[tool.name] = tool.look
        if tool.reconcile is not None:
            self.place.providers[tool.name] = tool.ask
        self.place.policies[tool.name] = tool.policy
        self.place.checkers[tool.name] = tool.check

    def declare_policy(self, policy: ToolPolicy) -> None:
        """Declare the policy of a tool whose body another runtime holds (a framework, an adapter)."""
        self.place.policies[policy.tool] = self.place.file.govern(policy.tool, policy)

    def tool_named(self, tool: Callable[..., Any] | str) -> Tool:
        """Find a declared tool by its function or name.

        Raises:
            InvalidInput: it is not declared at this desk.
        """
        by_function = (declared for declared in self._tools.values() if declared.fn is tool)
        found = self._tools.get(tool) if isinstance(tool, str) else next(by_function, None)
        if found is None:
            named = tool if isinstance(tool, str) else getattr(tool, "__name__", repr(tool))
            raise InvalidInput(f"{named!r} is not declared at this desk.", field="tool", remedy="Decorate it with @desk.tool first.")
        return found

    # ── life ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> Ledger:
        """The ledger under this desk."""
        return self.place.ledger

    @property
    def runtime(self) -> LocalRuntime:
        """The runtime of this process.

        Raises:
            InvalidInput: the desk was not started; ``async with desk`` or ``async with desk.task(…)`` does it.
        """
        if self._runtime is None:
            raise InvalidInput(
                "The desk has not been started.", field="desk", remedy="Use `async with desk:` or `async with desk.task(…)`."
            )
        return self._runtime

    async def start(self) -> "Desk":
        """Begin to run permitted calls and to look at deadlines; starting twice changes nothing."""
        async with self._starting:
            if self._runtime is None:
                runtime = LocalRuntime(self.place, host=self.host, **self._options)  # type: ignore[arg-type]  # named above
                runtime.tools = self._tools
                try:
                    await runtime.start()
                except BaseException:
                    await runtime.close()
                    raise
                self._runtime = runtime
        return self

    async def close(self) -> None:
        """Ask every body to stop, see each to its end, answer whoever still waits, and close the ledger."""
        try:
            if self._runtime is not None:
                await self._runtime.close()
        finally:
            self._runtime = None
            await self.ledger.close()

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    @asynccontextmanager
    async def task(self, purpose: str, *, required_children: Sequence[str] = ()) -> AsyncIterator[TaskHandle]:
        """Open a task for the calls that serve one purpose.

        Raises:
            InvalidInput: the purpose is empty.
        """
        await self.start()
        inside = running_inside()
        task_id = await propose.open_task(
            self.place, purpose, required_children=required_children, tenant=self.tenant, parent_task=inside.task_id if inside else ""
        )  # fmt: skip  # one call
        yield TaskHandle(self, task_id)

    async def reopen(self, task_id: str) -> TaskHandle:
        """Give a handle on a task that is already recorded.

        Raises:
            UnknownId: nothing is recorded under this id.
        """
        await self.start()
        if await self.ledger.task(task_id) is None:
            raise UnknownId(f"No task {task_id!r} is recorded.", field="taskId")
        return TaskHandle(self, task_id)

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, invocation_id: str) -> Receipt:
        """Take a proposal as far as policy lets it go now."""
        return await submit.submit(self.place, invocation_id)

    async def approve(self, invocation_id: str, *, by: Actor | str, **binding: str) -> Receipt:
        """Approve the request that waits; ``binding`` may hold ``approval_id``, ``inputs_digest``, ``reason``, ``request_id``.

        Raises:
            NotPermitted: with the rule and the reason; the refused act is on record.
        """
        return await answer.approve(self.place, invocation_id, actor=self._actor(by), **binding)

    async def deny(self, invocation_id: str, *, by: Actor | str, **binding: str) -> Receipt:
        """Deny the request that waits. Raises as ``approve`` does."""
        return await answer.deny(self.place, invocation_id, actor=self._actor(by), **binding)

    async def dismiss(self, invocation_id: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Dismiss a proposal before dispatch. Raises as ``approve`` does."""
        return await close.dismiss(self.place, invocation_id, actor=self._actor(by), reason=reason)

    async def withdraw(self, invocation_id: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Withdraw a request; after dispatch this requests a cancellation. Raises as ``approve`` does."""
        return await close.withdraw(self.place, invocation_id, actor=self._actor(by), reason=reason)

    async def answer(self, invocation_id: str, answers: Sequence[str], *, by: Actor | str, **binding: str) -> Receipt:
        """Take all answers of one submission (``approve``, ``deny``) to one request; two opposite ones decide nothing.

        Raises as ``approve`` does.
        """
        return await answer.answer_together(self.place, invocation_id, actor=self._actor(by), answers=answers, **binding)

    async def request_cancellation(
        self, invocation_id: str, *, by: Actor | str, reason: str = "", scope: str = "this invocation"
    ) -> Receipt:
        """Request the cancellation of this call alone; it is cancelled when its executor says so. Raises as ``approve`` does.

        ``scope`` says of what it is a part, where somebody stops more than this call.
        """
        return await cancel.request_cancellation(self.place, invocation_id, actor=self._actor(by), reason=reason, scope=scope)

    async def supply_input(self, invocation_id: str, fields: Mapping[str, Any], *, by: Actor | str) -> Receipt:
        """Supply inputs that were asked for. Raises as ``approve`` does."""
        return await inputs.supply_input(self.place, invocation_id, actor=self._actor(by), fields=_as_json(fields))

    async def edit_inputs(self, invocation_id: str, fields: Mapping[str, Any], *, by: Actor | str, tool: str = "") -> Receipt:
        """Change inputs before dispatch; an approval of the old ones is invalidated. Raises as ``approve`` does.

        Where ``tool`` is another one, ``fields`` are all of its inputs: the call is withdrawn and the new one proposed under its policy.
        """
        return await exchange.edit_call(self.place, invocation_id, actor=self._actor(by), fields=_as_json(fields), tool=tool)

    async def waive(self, task_id: str, invocation_id: str, *, by: Actor | str, reason: str) -> Recorded:
        """Waive a required call of a task. Raises as ``approve`` does."""
        return await waive_child.waive_child(self.place, task_id, invocation_id, actor=self._actor(by), reason=reason)

    async def request_dispatch(
        self, invocation_id: str, *, source: str, worker: str, approval_id: str = "", inputs: bytes | None = None
    ) -> Recorded | PolicyVerdict:
        """Claim the one permit of a call for a runtime that is not ours; policy's verdict where there is none to give, which is on record.

        ``inputs`` are those with which the body would run: others than the ones that stand are not dispatched and are asked about anew.
        """
        return await dispatch.request_dispatch(
            self.place, invocation_id, source=source, worker=worker, approval_id=approval_id, inputs=inputs
        )

    async def sweep(self) -> Sequence[Recorded]:
        """Look at the deadlines now, instead of waiting for the sweeper."""
        return await sweep.sweep(self.place)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def record(self, invocation_id: str) -> InvocationRecord:
        """Read the record of one call.

        Raises:
            UnknownId: nothing is recorded under this id.
        """
        return (await read(self.place, invocation_id)).record

    async def tool_messages(
        self, task: TaskHandle | str, format: str = "openai", *, only: Sequence[str] | None = None  # noqa: A002 - the word for it
    ) -> list[dict[str, Any]]:  # fmt: skip  # a signature in three lines
        """Close every call of a task truthfully for the model's next turn: what each came to, or how it stands, as its provider takes it.

        ``format`` is ``openai`` (Chat Completions), ``openai-responses``, ``anthropic``, ``pydantic-ai`` or ``langchain``; the answer is a
        list of plain messages in that SDK's wire shape. ``only`` names the calls of one turn, by the provider's ids or ours: each of them
        is answered, in this order, even one of which nothing is recorded. Without it: all with a provider's id, or all where none has one.

        Raises:
            InvalidInput: there is no such format.
            UnknownId: nothing is recorded under the task's id, or under one of ours in ``only``.
        """
        return await tool_messages(self.place, task if isinstance(task, str) else task.id, form=format, only=only)

    async def observe(self, drafts: Sequence[Draft], *, by: Actor | str) -> Sequence[Recorded]:
        """Record observations of a registered source; what its source may not say is kept as refused."""
        return await record.record_observations(self.place, self.register, drafts, actor=self._actor(by))

    def follow(self, *, after: int = 0) -> AsyncIterator[Sequence[Recorded]]:
        """Yield what is recorded, by any process, for ever."""
        return self.ledger.follow(after=after)

    async def verify(self) -> Sequence[Problem]:
        """Recompute everything from the events and name every place that does not agree; empty when all is good."""
        return await self.ledger.verify()

    def asgi(self, *, authenticate: "Authenticate | None" = None, secret: str = "") -> Callable[..., Awaitable[None]]:
        """Give an ASGI app with the API, the live stream and the console page, to mount or to serve on its own.

        ``authenticate`` takes the request (Starlette's) and gives an ``Actor`` or ``None``, async or not. Without it nothing is readable.
        ``secret`` makes the token with which our page proves that a change comes from it; several worker processes behind one address need
        the same one, and pages that outlive a restart too.
        """
        from toolwitness.server.app import create_app  # noqa: PLC0415 - only those who serve pay for it

        return create_app(self.place, self.register, authenticate=authenticate, secret=secret.encode(), start=self.start)

    def _actor(self, by: Actor | str) -> Actor:
        """Take an actor, or the bare id of one of this desk's tenant, who holds the roles that the policy file gives."""
        if isinstance(by, Actor):
            return by
        return Actor(id=by, roles=roles_of(self.place.file, by, self.place.now()), tenant=self.tenant)


def _as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give inputs that a program wrote as the JSON that stands for them on record: a Decimal as its text, a date as ISO 8601."""
    return {name: to_json(value) for name, value in fields.items()}
