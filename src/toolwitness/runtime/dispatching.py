"""One permitted call in this process, from the claim of its permit to the recorded end of its body.

Nothing runs without the claim, nothing runs twice, and nothing that a body did is lost while this process lives: what the ledger could not
take is said again until it can. A caller is never left waiting for that: it is told that the outcome could not be recorded.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from toolwitness.core.errors import NotPermitted, Unavailable
from toolwitness.core.evidence import Kind
from toolwitness.core.lineage import idempotency_key
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import BEFORE_DISPATCH
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.runtime.body import Body, StopReply, executor_of
from toolwitness.runtime.recovery import is_gone
from toolwitness.runtime.reporting import Reporter
from toolwitness.runtime.tools import Tool
from toolwitness.service.claim import claim
from toolwitness.service.submit import ask_for_inputs_again, refuse_dispatch
from toolwitness.service.workplace import Workplace, inputs_of, read

_log: Final = logging.getLogger("toolwitness.runtime")
_LONGEST_PAUSE_SECONDS: Final = 2.0
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Inside:
    """The call whose body this code runs in."""

    task_id: str
    invocation_id: str


_inside: Final[ContextVar[Inside | None]] = ContextVar("toolwitness_inside", default=None)


def running_inside() -> Inside | None:
    """Give the call whose body this code runs in; ``None`` outside a body that a desk runs."""
    return _inside.get()


class Slots:
    """How many bodies may run at once."""

    def __init__(self, count: int) -> None:
        """Let ``count`` run."""
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def one(self, stop: asyncio.Event) -> AsyncGenerator[None]:
        """Wait for a slot and hold it; a stop ends the waiting, since what will not start needs no slot."""
        taking, stopping = asyncio.ensure_future(self._free.acquire()), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            taking.cancel()
            stopping.cancel()
            await asyncio.gather(taking, stopping, return_exceptions=True)
            if not taking.cancelled():
                self._free.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What every dispatch of one runtime shares."""

    place: Workplace
    host: str
    source: str
    tools: Mapping[str, Tool]
    slots: Slots | None
    patience_seconds: float
    """How long a ledger that cannot be written is waited for before the caller is told."""
    closing: asyncio.Event
    is_nested: Callable[[str], bool]
    """Tells whether a body that runs here made the call."""
    keep_value: Callable[[str, Any], None]
    give_up: Callable[[str, str], None]
    """Tells who waits for a call why its end may never be on record."""

    async def patiently(self, act: Callable[[], Awaitable[Given]]) -> Given:
        """Do something with the ledger, again and again while it is unavailable, for as long as patience lasts.

        Raises:
            Unavailable: it still is.
        """
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self.patience_seconds, 0.05
        while True:
            try:
                return await act()
            except Unavailable:
                if loop.time() + pause > until or self.closing.is_set():
                    raise
            await self.pause(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def sooner_or_later(self, act: Callable[[], Awaitable[object]], *, what: str) -> None:
        """Do something with the ledger once it is available again; if this process closes before, say in the log what was not recorded."""
        pause = 0.05
        while True:
            try:
                await act()
            except Unavailable as error:
                if self.closing.is_set():
                    _log.error("toolwitness could not record %s before it closed: %s", what, error)
                    return
            else:
                return
            await self.pause(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the closing of this process."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.closing.wait()


class Dispatch:
    """One permitted call in this process."""

    def __init__(self, house: House, invocation_id: str, *, held: Mapping[str, Any] | None) -> None:
        """Take the call; ``held`` are the caller's own arguments, where the caller is here."""
        self._house = house
        self._id = invocation_id
        self._held = held
        self._arguments: Mapping[str, Any] = {}
        self._body: Body | None = None
        self._reporter: Reporter | None = None
        self._stop = asyncio.Event()
        self._stopped_by = ""
        self._stop_reason = ""

    @property
    def performs(self) -> bool:
        """Whether the permit was claimed here."""
        return self._reporter is not None

    def request_stop(self, reason: str, *, by: str) -> StopReply:
        """Ask the body, if one runs, to stop; one that does not run yet will not start. Never an acknowledgement."""
        self._stopped_by = self._stopped_by or by
        self._stop_reason = self._stop_reason or reason
        self._stop.set()
        if self._reporter is not None:
            self._reporter.stopped_by = self._stopped_by
        return StopReply.WILL_NOT_START if self._body is None else self._body.request_stop(reason)

    async def run(self) -> None:
        """See the call through, if it is ours to run."""
        house = self._house
        try:
            record, tool, key = await house.patiently(self._look)
            if tool is None or self._stop.is_set():
                return
            if not await self._ready(record, tool):
                return
            self._body = Body(
                self._call(tool), executor=executor_of(tool.fn), lease=f"{house.host}/{self._id[-8:]}", now=house.place.now,
                idempotency_key=key,
            )  # fmt: skip  # facts in lines
            claimed = await house.patiently(self._claim)
        except Unavailable as error:
            why = f"the ledger could not be used when the call was to start, and nothing was started: {error.message}"
            await self._not_dispatched("ledger-unavailable", why)
            return
        except NotPermitted as error:
            await self._not_dispatched(str(error.facts["rule"]), error.message)
            return
        if not isinstance(claimed, PolicyVerdict):
            await self._perform(record, tool, permit=claimed.event.ref, digest=claimed.event.data["inputs_digest"])

    async def _claim(self) -> Any:
        return await claim(self._house.place, self._id, source=self._house.source, worker=self._house.host)

    async def _look(self) -> tuple[InvocationRecord, Tool | None, str]:
        """Read the call with the key of its lineage; the tool comes with it only where the call is this process's to run."""
        house = self._house
        situation = await read(house.place, self._id)
        record, key = situation.record, idempotency_key(situation.record, situation.view.shared)
        tool = house.tools.get(record.tool)
        permitted = record.permission is not None and not record.permission.get("refused")
        if tool is None or not record.governed or not permitted or record.state not in BEFORE_DISPATCH:
            return record, None, key
        holder = str(record.proposal.get("host") or house.host)
        if holder == house.host:
            return record, tool, key
        if gone := is_gone(holder):
            why = f"{gone}, and nobody else may run what it held; propose the call afresh"
            await refuse_dispatch(house.place, self._id, rule="host-gone", reason=why)
        return record, None, key

    async def _ready(self, record: InvocationRecord, tool: Tool) -> bool:
        """Take the arguments: the caller's own objects where they are what stands, else what can be read back from the record."""
        if self._held is not None and len(record.inputs_history) == 1:
            self._arguments = self._held
            return True
        raw = await inputs_of(self._house.place, record)
        if problems := tool.check_to_run(raw):
            await ask_for_inputs_again(self._house.place, self._id, problems)
            return False
        self._arguments = tool.read_inputs(raw)
        return True

    def _call(self, tool: Tool) -> Callable[[], object]:
        """Bind the arguments as late as the first line of the body."""
        return lambda: tool.fn(**self._arguments)

    async def _perform(self, record: InvocationRecord, tool: Tool, *, permit: str, digest: str) -> None:
        """Accept, run, and record the end; whatever goes wrong on the way is said."""
        house, body = self._house, self._body
        assert body is not None  # noqa: S101 - made before the claim
        reporter = self._reporter = Reporter(
            house.place, record, tool, source=house.source, worker=house.host, permit=permit, patience_seconds=house.patience_seconds,
            keep_value=lambda value: house.keep_value(self._id, value),
        )  # fmt: skip  # facts in lines
        reporter.stopped_by = self._stopped_by
        try:
            if digest != (record.inputs or {}).get("digest"):  # they changed between the look and the claim
                record = (await house.patiently(lambda: read(house.place, self._id))).record
                if not await self._ready(record, tool):
                    await reporter.never_started("The tool was never started: the inputs that stand do not fit it.")
                    return
            await reporter.accepted(queue_ref=f"{house.host}#{self._id[-8:]}")
            await self._heed_earlier_request()
            await self._run_body(record, body, reporter)
        except SystemExit:
            pass  # on record as the failure that it is; a tool does not end the process that runs it
        except Unavailable as error:
            await self._never_started(reporter, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the claim is ours and the caller waits
            _log.exception("toolwitness lost sight of %s", self._id)
            await self._lost(reporter, error)
        await self._say_the_rest(reporter)

    async def _heed_earlier_request(self) -> None:
        """Pass on what was asked before there was a body to ask."""
        record = (await self._house.patiently(lambda: read(self._house.place, self._id))).record
        asked = record.open_cancellation
        if asked is not None:
            self.request_stop(asked.reason or f"requested by {asked.actor}", by=asked.actor)
        elif self._stop.is_set() and self._body is not None:
            self._body.request_stop(self._stop_reason)

    async def _run_body(self, record: InvocationRecord, body: Body, reporter: Reporter) -> None:
        _inside.set(Inside(record.task_id, record.id))
        # A call that a running body makes runs in that body's slot: it would wait for itself otherwise.
        if self._house.slots is None or self._house.is_nested(self._id):
            await body.run(reporter)
            return
        async with self._house.slots.one(self._stop):
            await body.run(reporter)

    async def _never_started(self, reporter: Reporter, error: Unavailable) -> None:
        """Say that the ledger could not be used before the body began: a body's own facts never raise here."""
        with suppress(Unavailable):
            await reporter.never_started(f"The tool was never started: {error.message}")

    async def _lost(self, reporter: Reporter, error: Exception) -> None:
        why = f"this process lost sight of it: {type(error).__name__}"
        with suppress(Unavailable):
            await reporter.lost(why)
        self._house.give_up(self._id, why)

    async def _say_the_rest(self, reporter: Reporter) -> None:
        """Record what the ledger could not take when it happened, and tell the caller meanwhile."""
        if not reporter.unsaid:
            return
        kinds = ", ".join(reporter.unsaid)
        self._house.give_up(self._id, f"what happened could not be recorded, since the ledger cannot be written: {kinds}")
        await self._house.sooner_or_later(reporter.say_unsaid, what=f"{kinds} of {self._id}")

    async def _not_dispatched(self, rule: str, why: str) -> None:
        """Tell the caller that nothing was started, and record as much as soon as the ledger can be written."""
        self._house.give_up(self._id, why)

        async def refuse() -> None:
            await refuse_dispatch(self._house.place, self._id, rule=rule, reason=why)

        await self._house.sooner_or_later(refuse, what=f"{Kind.REFUSED} of {self._id}")
