"""Runs permitted calls in this process and records what really happened to each.

The runtime follows the ledger: a recorded permission starts a call, a recorded cancellation request asks its body to stop, a resolved
dependency lets a waiting call go on. So it makes no difference whether the person who decided sat in this process or in another one.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.core.errors import NotPermitted, ToolwitnessError
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH, TERMINAL, State
from toolwitness.core.verdicts import Verdict
from toolwitness.ports import Recorded
from toolwitness.runtime.body import StopReply
from toolwitness.runtime.courier import outlast
from toolwitness.runtime.dispatching import Dispatch, House, Slots, running_inside
from toolwitness.runtime.outcomes import CallOutcome, outcome_of
from toolwitness.runtime.recovery import forget_desk, know_desk, record_lost
from toolwitness.runtime.tools import Tool
from toolwitness.service.close import release_waiter
from toolwitness.service.sealing import open_value
from toolwitness.service.settle import settle_reversal
from toolwitness.service.submit import submit
from toolwitness.service.sweep import sweep
from toolwitness.service.unblock import unblock
from toolwitness.service.workplace import Workplace, read

_log: Final = logging.getLogger("toolwitness.runtime")
_DEPENDENCY_MOVES: Final = frozenset({Kind.CHILD_WAIVED, Kind.DEPENDENCY_MOVED})
_ASKS_TO_STOP: Final = frozenset({Kind.CANCEL_REQUESTED, Kind.WITHDRAWN})
_FOLLOW_AGAIN_SECONDS: Final = 0.5
_LOOK_FOR_LOST_EVERY: Final = 15
"""Sweeps between two looks for calls whose process is gone."""
_CALLER_GONE: Final = "the caller's own task was cancelled"
_CLOSING: Final = "the process is closing"


@dataclass(slots=True)
class _Awaited:
    """One call that somebody here waits for."""

    over: "asyncio.Future[tuple[InvocationRecord | None, str]]"
    """The record, where it was read when nobody could read it later, and why its end is not on it; neither where the record says all."""
    nested: str = "no"
    """``yes`` where a body that runs here made the call."""
    values: list[Any] = field(default_factory=list[Any])
    """The very object that the body returned, once it has."""


class LocalRuntime:
    """The bodies of one process: starts what is permitted, passes cancellation requests on, and sees every body to its real end."""

    def __init__(
        self, place: Workplace, *, host: str, concurrency: int | None = None, sweep_seconds: float = 1.0, patience_seconds: float = 5.0
    ) -> None:
        """Take the workplace and the name of this process; nothing runs until ``start``.

        ``concurrency`` limits how many bodies run at once; what is accepted beyond it stays queued. ``sweep_seconds`` is how often
        deadlines are looked at. ``patience_seconds`` is how long a ledger that cannot be written is waited for before callers are told.
        """
        self.place = place
        self.host = host
        self.source = f"toolwitness:local:{host}"
        self.tools: dict[str, Tool] = {}
        self._sweep_seconds = sweep_seconds
        self._held: dict[str, Mapping[str, Any]] = {}
        self._awaited: dict[str, _Awaited] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._dispatches: dict[str, Dispatch] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._reversals: set[str] = set()
        """Calls that undo another one; what their end shows is recorded on that one."""
        self._closing = asyncio.Event()
        self._closed = False
        self._slots = Slots(concurrency) if concurrency else None
        self._patience_seconds = patience_seconds

    async def start(self) -> None:
        """Follow the ledger from here on, and look at deadlines at once: some may have passed while nobody was there."""
        know_desk(self.host)
        after = await self.place.ledger.head()
        await record_lost(self.place, source=f"{self.source}:recovery")
        self._keep(asyncio.create_task(self._follow(after), name="toolwitness-follow"))
        await self._resume()
        self._keep(asyncio.create_task(self._sweep(), name="toolwitness-sweep"))

    async def close(self) -> None:
        """Stop following, ask every body to stop, and wait until each has really ended (a thread is waited for).

        Whoever still waits for a call is answered with what its record says by then.
        """
        self._closing.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for dispatch in self._dispatches.values():
            dispatch.request_stop(_CLOSING, by="process")
        await asyncio.gather(*self._calls.values(), return_exceptions=True)
        self._closed = True
        for invocation_id, awaited in tuple(self._awaited.items()):
            await self._answer_last(invocation_id, awaited)
        forget_desk(self.host)

    async def _answer_last(self, invocation_id: str, awaited: _Awaited) -> None:
        try:
            record = (await read(self.place, invocation_id)).record
        except Exception as error:  # noqa: BLE001 - closing goes on
            _log.exception("toolwitness could not read %s while closing", invocation_id)
            if not awaited.over.done():
                awaited.over.set_exception(error)
            return
        if not awaited.over.done():
            awaited.over.set_result((record, "" if record.state in TERMINAL else f"the desk closed while the call was {record.state}"))

    # ── callers ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def expect(self, invocation_id: str, arguments: Mapping[str, Any] | None) -> None:
        """Prepare for a call that is made here, before it can be dispatched.

        ``arguments`` are the objects that its caller passed, for the body to get instead of what can be read back from the record; ``None``
        where they do not fit. Called in the caller's context: a call that a running body makes runs in that body's slot.
        """
        inside = running_inside()
        nested = inside is not None and inside.invocation_id in self._dispatches
        self._awaited[invocation_id] = _Awaited(asyncio.get_running_loop().create_future(), nested="yes" if nested else "no")
        if arguments is not None:
            self._held[invocation_id] = arguments

    def forget(self, invocation_id: str) -> None:
        """Let go of what was kept for a caller that does not wait any more."""
        self._awaited.pop(invocation_id, None)
        self._held.pop(invocation_id, None)

    async def outcome(self, invocation_id: str) -> CallOutcome:
        """Wait until the record has ended or its outcome is known to be unknown; never raises for how it ended.

        Raises:
            Unavailable: the ledger could not be read; what became of the call stands on its record all the same.
        """
        awaited = self._awaited.get(invocation_id)
        if awaited is None:
            awaited = self._awaited[invocation_id] = _Awaited(asyncio.get_running_loop().create_future())
        try:
            record, why = await self._end_of(invocation_id, awaited)
            values = awaited.values or await self._recorded_result(record)
        finally:
            self.forget(invocation_id)
        return outcome_of(record, values[-1] if values else None, why=why)

    async def _end_of(self, invocation_id: str, awaited: _Awaited) -> tuple[InvocationRecord, str]:
        """Give the record at the end of a wait, and why the end is not on it."""
        if self.is_answered(invocation_id) and (answer := awaited.over.result())[0] is not None:
            return answer[0], answer[1]
        record = (await read(self.place, invocation_id)).record
        known_lost = Code.OUTCOME_UNKNOWN in record.findings and not self._performs(invocation_id)
        if record.state in TERMINAL or known_lost:
            return record, ""
        if self._closed:
            return record, f"the desk closed while the call was {record.state}"
        last, why = await awaited.over
        return last or (await self._house().patiently(lambda: read(self.place, invocation_id))).record, why

    def is_answered(self, invocation_id: str) -> bool:
        """Tell whether whoever waits for this call has an answer, for which the ledger need not be asked any more."""
        awaited = self._awaited.get(invocation_id)
        return awaited is not None and awaited.over.done()

    async def _recorded_result(self, record: InvocationRecord) -> list[Any]:
        """Read back the result of a body that ran elsewhere, as the JSON that stands on record."""
        outcome = record.outcome if record.state is State.SUCCEEDED else None
        result: Any = outcome.data.get("result") if outcome else None
        raw = await self._result_bytes(str(result["ref"])) if result else None
        return [] if raw is None else [json.loads(raw)]

    async def _result_bytes(self, ref: str) -> bytes | None:
        """Give the bytes of a result; where its seal cannot be opened here, the copy that says what is missing."""
        try:
            return await open_value(self.place.ledger, ref)
        except NotPermitted:
            return await self.place.ledger.value(ref)

    async def release(self, invocation_id: str) -> None:
        """Record that the caller that waited was cancelled, and see what it leaves behind to its end.

        A body is asked to stop and its end is awaited, unless it runs in a thread, which holds nobody; what has not been dispatched is
        withdrawn. Never raises: what goes wrong is logged, since the caller's own error must go on untouched.
        """
        left, dispatch = "not started", self._dispatches.get(invocation_id)
        if dispatch is not None:
            reply = dispatch.request_stop(_CALLER_GONE, by="caller")
            left = "cannot be stopped" if reply is StopReply.CANNOT_STOP else "asked to stop"
        try:
            await release_waiter(self.place, invocation_id, source=f"{self.source}:callers", body=left)
        except Exception:  # noqa: BLE001 - the caller's own error goes on untouched
            _log.exception("toolwitness could not record that nobody waits for %s any more", invocation_id)
        dispatch = self._dispatches.get(invocation_id)
        if dispatch is not None and left != "cannot be stopped":  # it may have begun while that was recorded
            left = str(dispatch.request_stop(_CALLER_GONE, by="caller"))
        call = self._calls.get(invocation_id)
        if call is not None and left not in {"cannot be stopped", str(StopReply.CANNOT_STOP)}:
            await outlast(call)

    # ── following the ledger ────────────────────────────────────────────────────────────────────────────────────────

    async def _resume(self) -> None:
        """Take up what was permitted, or became unblocked, while nobody was there, as far as it belongs to no process in particular."""
        rows = await self.place.ledger.states(states=BEFORE_DISPATCH)
        for row in rows:
            record = (await read(self.place, row.invocation_id)).record
            if record.proposal.get("reverses"):
                self._reversals.add(record.id)
            if record.permission is not None:
                self._take(row.invocation_id)
            else:
                self._look_at(record.id, record.tool)
        for task_id in dict.fromkeys(row.task_id for row in rows):
            await unblock(self.place, task_id, tools=self.tools, host=self.host)

    async def _follow(self, after: int) -> None:
        """Act on everything that is recorded from here on, each event once, whatever goes wrong with one of them or with following."""
        while not self._closing.is_set():
            try:
                async for batch in self.place.ledger.follow(after=after):
                    for recorded in batch:
                        await self._notice(recorded)
                        after = recorded.position
            except Exception:  # noqa: BLE001 - whatever ends the following, it begins again
                _log.exception("toolwitness could not follow the ledger beyond %s; it tries again", after)
            await self._house().pause(_FOLLOW_AGAIN_SECONDS)

    async def _notice(self, recorded: Recorded) -> None:
        """Act on one recorded event, whoever recorded it; never raises."""
        if recorded.verdict is Verdict.REFUSED:
            return
        try:
            await self._act_on(recorded)
        except Exception:  # noqa: BLE001 - one event that cannot be acted on must not stop the others
            _log.exception("toolwitness could not act on event %s of %s", recorded.event.kind, recorded.event.invocation_id)

    async def _act_on(self, recorded: Recorded) -> None:
        event, subject = recorded.event, recorded.event.invocation_id
        if subject:
            if event.kind == Kind.PERMITTED:
                self._take(subject)
            elif event.kind == Kind.PROPOSED:
                if event.data.get("reverses"):
                    self._reversals.add(subject)
                if event.data.get("host") != self.host:
                    self._look_at(subject, str(event.data.get("tool") or ""))
            elif event.kind == Kind.INPUTS_ACCEPTED and any(tool.policy.read_again for tool in self.tools.values()):
                self._look_at(subject, (await read(self.place, subject)).record.tool)
            elif event.kind in _ASKS_TO_STOP and subject in self._dispatches:
                await self._pass_on(subject)
            if recorded.state in TERMINAL or (event.kind == Kind.LOST and not self._performs(subject)):
                self._settle(subject, "")
        if subject in self._reversals and recorded.state in TERMINAL:
            await settle_reversal(self.place, subject)
            self._reversals.discard(subject)
        if recorded.state in TERMINAL or event.kind in _DEPENDENCY_MOVES:
            await unblock(self.place, event.task_id, tools=self.tools, host=self.host)

    def _look_at(self, invocation_id: str, tool: str) -> None:
        """Submit a call of a tool of ours that was proposed or changed elsewhere: only here its target and price can be read.

        Aside, since the tool's own function may take its time and the following must not wait for it.
        """
        known = self.tools.get(tool)
        if known is not None and known.policy.read_again:
            self._keep(asyncio.create_task(self._submit_ours(invocation_id), name=f"toolwitness-look-{invocation_id}"))

    async def _submit_ours(self, invocation_id: str) -> None:
        try:
            record = (await read(self.place, invocation_id)).record
            if record.state in BEFORE_DISPATCH and record.proposal.get("host", self.host) == self.host:
                await submit(self.place, invocation_id)
        except ToolwitnessError as error:
            _log.info("toolwitness did not submit %s: %s", invocation_id, error)

    async def _pass_on(self, invocation_id: str) -> None:
        """Ask a body to stop if a request to cancel it really stands."""
        asked = (await read(self.place, invocation_id)).record.open_cancellation
        dispatch = self._dispatches.get(invocation_id)
        if asked is not None and dispatch is not None:
            dispatch.request_stop(asked.reason or f"requested by {asked.actor}", by=asked.actor)

    def _settle(self, invocation_id: str, why: str) -> None:
        """Let whoever waits for a call go on; ``why`` says why its record may not tell how it ended."""
        awaited = self._awaited.get(invocation_id)
        if awaited is not None and not awaited.over.done():
            awaited.over.set_result((None, why))

    def _keep_value(self, invocation_id: str, value: Any) -> None:
        if (awaited := self._awaited.get(invocation_id)) is not None:
            awaited.values.append(value)

    # ── dispatching ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, invocation_id: str) -> None:
        """Begin a permitted call, once."""
        if self._closing.is_set():
            return
        if invocation_id in self._calls:
            self._again.add(invocation_id)  # what it is about to find out may be older than this permission
            return
        dispatch = self._dispatches[invocation_id] = Dispatch(self._house(), invocation_id, held=self._held.get(invocation_id))
        call = self._calls[invocation_id] = asyncio.create_task(dispatch.run(), name=f"toolwitness-call-{invocation_id}")
        call.add_done_callback(lambda task: self._over(invocation_id, task))

    def _house(self) -> House:
        return House(
            place=self.place, host=self.host, source=self.source, tools=self.tools, slots=self._slots, closing=self._closing,
            patience_seconds=self._patience_seconds, is_nested=self._is_nested, keep_value=self._keep_value, give_up=self._settle,
        )  # fmt: skip  # facts in lines

    def _performs(self, invocation_id: str) -> bool:
        """Tell whether this process holds the permit of a call, so that nobody else can know what becomes of it."""
        dispatch = self._dispatches.get(invocation_id)
        return dispatch is not None and dispatch.performs

    def _is_nested(self, invocation_id: str) -> bool:
        awaited = self._awaited.get(invocation_id)
        return awaited is not None and awaited.nested == "yes"

    def _over(self, invocation_id: str, task: asyncio.Task[None]) -> None:
        performed = self._performs(invocation_id)
        self._calls.pop(invocation_id, None)
        self._dispatches.pop(invocation_id, None)
        if performed:
            self._settle(invocation_id, "")  # all that will ever be said of it here has been said
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("toolwitness lost sight of %s: %r", invocation_id, error)
            if not performed:
                self._settle(invocation_id, f"this process lost sight of it: {type(error).__name__}")
        if invocation_id in self._again:
            self._again.discard(invocation_id)
            self._take(invocation_id)

    async def _sweep(self) -> None:
        """Look at deadlines again and again, and now and then for calls whose process is gone."""
        rounds = 0
        while True:
            try:
                await sweep(self.place)
                rounds += 1
                if rounds % _LOOK_FOR_LOST_EVERY == 0:
                    await record_lost(self.place, source=f"{self.source}:recovery")
            except Exception:  # noqa: BLE001 - the next look may go better
                _log.exception("toolwitness could not look at deadlines; it tries again in %s s", self._sweep_seconds)
            await asyncio.sleep(self._sweep_seconds)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
