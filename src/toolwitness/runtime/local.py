"""Runs permitted calls in this process and records what really happened to each.

The runtime follows the ledger: a recorded permission starts a call, a recorded cancellation request asks its body to stop, a resolved
dependency lets a waiting call go on. So it makes no difference whether the person who decided sat in this process or in another one.
"""

import asyncio
import logging
from typing import Any, Final

from toolwitness.core.evidence import Kind
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL
from toolwitness.core.verdicts import PolicyVerdict, Verdict
from toolwitness.ports import Recorded
from toolwitness.runtime.body import Body, StopReply
from toolwitness.runtime.outcomes import CallOutcome, outcome_of
from toolwitness.runtime.recovery import record_lost
from toolwitness.runtime.reporting import Reporter, waiter_gone
from toolwitness.runtime.tools import Tool
from toolwitness.service.claim import claim
from toolwitness.service.sweep import sweep
from toolwitness.service.unblock import unblock
from toolwitness.service.workplace import Workplace, read

_log: Final = logging.getLogger("toolwitness.runtime")
_DEPENDENCY_MOVES: Final = frozenset({Kind.CHILD_WAIVED, Kind.DEPENDENCY_MOVED})


class LocalRuntime:
    """The bodies of one process: starts what is permitted, passes cancellation requests on, and sees every body to its real end."""

    def __init__(self, place: Workplace, *, host: str, concurrency: int | None = None, sweep_seconds: float = 1.0) -> None:
        """Take the workplace and the name of this process; nothing runs until ``start``.

        ``concurrency`` limits how many bodies run at once; what is accepted beyond it stays queued. ``sweep_seconds`` is how often
        deadlines are looked at.
        """
        self.place = place
        self.host = host
        self.source = f"toolwitness:local:{host}"
        self.tools: dict[str, Tool] = {}
        self._slots = asyncio.Semaphore(concurrency) if concurrency else None
        self._sweep_seconds = sweep_seconds
        self._bodies: dict[str, Body] = {}
        self._arguments: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        self._ends: dict[str, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._calls: dict[str, asyncio.Task[Any]] = {}
        self._queued = 0

    async def start(self) -> None:
        """Follow the ledger from here on, and look at deadlines at once: some may have passed while nobody was there."""
        after = await self.place.ledger.head()
        await record_lost(self.place, source=f"{self.source}:recovery")
        self._keep(asyncio.create_task(self._follow(after), name="toolwitness-follow"))
        await self._resume()
        self._keep(asyncio.create_task(self._sweep(), name="toolwitness-sweep"))

    async def close(self) -> None:
        """Stop following, ask every body to stop, and wait until each has really ended (a thread is waited for)."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for body in self._bodies.values():
            body.request_stop("the process is closing")
        await asyncio.gather(*self._calls.values(), return_exceptions=True)

    def hold(self, invocation_id: str, arguments: Any) -> None:
        """Keep the very objects that a caller passed, for the body to get instead of what can be read back from the record."""
        self._arguments[invocation_id] = arguments

    async def outcome(self, invocation_id: str) -> CallOutcome:
        """Wait until the record has ended or its outcome is known to be unknown; never raises for how it ended.

        Raises:
            asyncio.CancelledError: the caller's own; the body is asked to stop, its end is awaited, and the error goes on untouched.
        """
        end = self._ends.setdefault(invocation_id, asyncio.get_running_loop().create_future())
        record = (await read(self.place, invocation_id)).record
        if record.state not in TERMINAL:
            try:
                await asyncio.shield(end)
            except asyncio.CancelledError:
                await self._release_waiter(invocation_id)
                raise
            record = (await read(self.place, invocation_id)).record
        self._ends.pop(invocation_id, None)
        value = self._values.pop(invocation_id, None)
        return outcome_of(record, value)

    async def _release_waiter(self, invocation_id: str) -> None:
        """Record that nobody waits any more, ask the body to stop, and wait for the real end of one that can be stopped."""
        body, call = self._bodies.get(invocation_id), self._calls.get(invocation_id)
        left = "not started"
        if body is not None:
            reply = body.request_stop("the caller's own task was cancelled")
            left = "cannot be stopped" if reply is StopReply.CANNOT_STOP else "asked to stop"
        record = (await read(self.place, invocation_id)).record
        await self.place.ledger.append(record.task_id, [waiter_gone(self.place, record, source=f"{self.source}:callers", body=left)])
        if call is not None and left == "asked to stop":
            await asyncio.wait({call})

    async def _resume(self) -> None:
        """Take up what was permitted, or became unblocked, while nobody was there, as far as it belongs to no process in particular."""
        rows = await self.place.ledger.states(states=BEFORE_DISPATCH)
        for row in rows:
            record = (await read(self.place, row.invocation_id)).record
            if record.permission is not None and not record.permission.get("refused"):
                await self._take(row.invocation_id)
        for task_id in dict.fromkeys(row.task_id for row in rows):
            await unblock(self.place, task_id, tools=self.tools, host=self.host)

    # ── following the ledger ────────────────────────────────────────────────────────────────────────────────────────

    async def _follow(self, after: int) -> None:
        async for batch in self.place.ledger.follow(after=after):
            for recorded in batch:
                if recorded.verdict is Verdict.REFUSED:
                    continue
                try:
                    await self._notice(recorded)
                except Exception:
                    _log.exception("toolwitness could not act on event %s of %s", recorded.event.kind, recorded.event.invocation_id)

    async def _notice(self, recorded: Recorded) -> None:
        """Act on one recorded event, whoever recorded it."""
        event = recorded.event
        subject = event.invocation_id
        if event.kind == Kind.PERMITTED and subject:
            await self._take(subject)
        elif event.kind == Kind.CANCEL_REQUESTED and subject in self._bodies:
            self._bodies[subject].request_stop(str(event.data.get("reason") or f"requested by {event.data['actor']}"))
        if subject and (recorded.state in TERMINAL or event.kind == Kind.LOST) and (end := self._ends.get(subject)) and not end.done():
            end.set_result(None)
        if recorded.state in TERMINAL or event.kind in _DEPENDENCY_MOVES:
            await unblock(self.place, event.task_id, tools=self.tools, host=self.host)

    async def _take(self, invocation_id: str) -> None:
        """Begin a permitted call if its tool is ours and it is not another process's."""
        record = (await read(self.place, invocation_id)).record
        tool = self.tools.get(record.tool)
        if tool is None or record.proposal.get("host", self.host) != self.host or invocation_id in self._calls:
            return
        call = asyncio.create_task(self._perform(record, tool), name=f"toolwitness-call-{invocation_id}")
        self._calls[invocation_id] = call
        call.add_done_callback(lambda task: self._over(invocation_id, task))

    def _over(self, invocation_id: str, task: asyncio.Task[Any]) -> None:
        self._calls.pop(invocation_id, None)
        self._bodies.pop(invocation_id, None)
        self._arguments.pop(invocation_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("toolwitness lost sight of %s: %r", invocation_id, error)

    async def _sweep(self) -> None:
        while True:
            try:
                await sweep(self.place)
            except Exception:
                _log.exception("toolwitness could not look at deadlines; it tries again in %s s", self._sweep_seconds)
            await asyncio.sleep(self._sweep_seconds)

    # ── one call ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _perform(self, record: InvocationRecord, tool: Tool) -> None:
        """Claim, accept, run, and record the end of one call."""
        claimed = await claim(self.place, record.id, source=self.source, worker=self.host)
        if isinstance(claimed, PolicyVerdict):
            return
        record = (await read(self.place, record.id)).record
        arguments = self._arguments.get(record.id) if len(record.inputs_history) == 1 else None
        if arguments is None:  # the inputs were supplied, edited or proposed elsewhere: what is on record is what counts
            raw = await self.place.ledger.value(record.inputs["ref"]) if record.inputs else b"{}"
            arguments = tool.read_inputs(raw or b"{}")
        reporter = Reporter(
            self.place, record, tool, source=self.source, worker=self.host, permit=claimed.event.ref,
            keep_value=lambda value: self._values.__setitem__(record.id, value),
        )  # fmt: skip  # facts in lines
        body = Body(tool.fn, kwargs=arguments, lease=f"{self.host}/{record.id[-8:]}", now=self.place.now)
        self._bodies[record.id] = body
        self._queued += 1
        await reporter.accepted(queue_ref=f"{self.host}#{self._queued}")
        record_now = (await read(self.place, record.id)).record
        if record_now.open_cancellation is not None:
            body.request_stop(record_now.open_cancellation.reason or f"requested by {record_now.open_cancellation.actor}")
        if self._slots is None:
            await body.run(reporter)
            return
        async with self._slots:
            await body.run(reporter)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

