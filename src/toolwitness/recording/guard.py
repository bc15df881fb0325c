"""Runs one body of the framework under the guard that every body gets, and records what it was seen to do.

Three kinds of body. An async function runs in a task of its own: it can be stopped alone, and is cancelled only when that task has ended. A
sync function runs in a thread: a request cannot stop it, the run may go away, and the record stays open until the thread ends. Whatever
runs elsewhere can only be left: then the outcome is unknown.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.core.lineage import idempotency_key
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Deadline, State
from toolwitness.core.times import rfc3339
from toolwitness.recording.desk_side import DeskSide, Support
from toolwitness.runtime.body import Body, UnrecordedStart, WaiterGone
from toolwitness.runtime.facts import Ended, Ending, EndingKind, Executor, Fact, Started
from toolwitness.runtime.reporting import Reporter
from toolwitness.runtime.tools import Tool
from toolwitness.service.workplace import read


def _no_limit(error: BaseException) -> str:
    return ""


class GoesOn(StrEnum):
    """Where a body goes on that had stopped to ask."""

    WHERE_IT_STOPPED = "where it stopped"
    FROM_THE_TOP = "from the top"
    """It is entered a second time, and whatever it did before it asked is done again: that is a second start, and is shown as one."""


@dataclass(frozen=True, slots=True)
class Raised:
    """What the exceptions of a framework mean, by the names of their classes."""

    pauses: Mapping[str, str] = field(default_factory=dict[str, str])
    """Not an end: the body stopped to ask for an ``approval`` or an ``answer``."""
    goes_on: GoesOn = GoesOn.WHERE_IT_STOPPED
    categories: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """A failure of the framework's own: its category and a sentence. ``retry-asked`` means that the model is asked to call again."""
    limit: Callable[[BaseException], str] = _no_limit
    """Gives the framework's own time limit in words (``2 seconds``) where passing it is what was raised, else nothing."""


class _Voice(Reporter):
    """The reporter of every body, which can also say what only the framework's bodies do."""

    async def say(self, kind: Kind, data: Mapping[str, Any], *, at: str, values: Mapping[str, bytes] | None = None) -> None:
        """Record one more fact of this source, in order."""
        await self._append(kind, data, at=at, values=values)


class Guard:
    """One body, guarded, and its reporter."""

    def __init__(
        self, desk: DeskSide, record: InvocationRecord, *, support: Support, permit: str, inputs: bytes, compared: str, raised: Raised
    ) -> None:  # fmt: skip  # a signature in two lines
        """Take the call, how its body runs, its permit (empty where none is needed), the body's exact inputs, and what raising means."""
        self._desk = desk
        self._record = record
        self._support = support
        self._started = {"permit": permit} if permit else {}
        self._inputs = inputs
        self._compared = compared
        self._raised = raised
        tool = Tool(name=record.tool, fn=_unchecked, policy=desk.place.policy_for(record.tool))
        entry = f":{len(record.parts)}" if record.parts else ""  # each entry into the body numbers its facts from 1
        self._reporter = _Voice(
            desk.place, record, tool, source=f"{desk.source}{entry}", worker=desk.desk.host, permit=permit, keep_value=lambda value: None
        )

    async def run(self, call: Callable[[], Awaitable[Any]]) -> Ending:
        """Run the body to its real end.

        Raises:
            asyncio.CancelledError: the run's own. A body in a task has ended by then; one in a thread goes on, and its end is recorded
                when it comes.
        """
        in_thread = self._support is Support.THREAD
        situation = await read(self._desk.place, self._record.id)
        body = Body(
            call, executor=Executor.TASK, lease=f"{self._desk.desk.host}/{self._record.id[-8:]}", now=self._desk.place.now,
            idempotency_key=idempotency_key(situation.record, situation.view.shared),
            on_waiter_gone=WaiterGone.LEAVE if in_thread else WaiterGone.STOP,
            unrecorded_start=UnrecordedStart.REFUSE if self._record.governed else UnrecordedStart.RUN,
        )  # fmt: skip  # facts in lines
        if in_thread:
            return await body.run(self)  # nobody passes a request on: it could not stop the thread, only hide it
        async with self._desk.holding(self._record.id, body):
            return await body.run(self)

    async def __call__(self, fact: Fact) -> None:
        """Record one fact of the guard."""
        at = rfc3339(fact.at)
        if isinstance(fact, Started):
            await self._begin(fact, at)
        elif isinstance(fact, Ended):
            await self._end(fact, at)
        else:
            await self._reporter(fact)

    async def _begin(self, fact: Started, at: str) -> None:
        paused = self._record.state is State.PARTIALLY_COMPLETE
        if paused and self._raised.goes_on is GoesOn.WHERE_IT_STOPPED:  # for an answer, and it goes on with it
            await self._reporter.say(Kind.HEARTBEAT, {"attempt": self._record.attempt, "lease": self._record.lease or fact.lease}, at=at)
            return
        data = {
            "attempt": self._record.attempt, "executor": str(self._support), "lease": fact.lease, "worker": self._desk.desk.host,
            "started_at": at, "cancel_support": str(self._support), "inputs_compared": self._compared, **self._started,
        }  # fmt: skip  # facts in lines
        await self._reporter.say(Kind.STARTED, data, at=at, values={"inputs": self._inputs})

    async def _end(self, fact: Ended, at: str) -> None:
        """Record the end, where there is one: a pause is none, and of what runs elsewhere only our waiting has ended."""
        ending, say = fact.ending, self._reporter.say
        name, text = type(ending.exception).__name__, str(ending.exception)
        limit = self._raised.limit(ending.exception) if ending.exception is not None else ""
        if name in self._raised.pauses:
            await say(
                Kind.PART_COMPLETED, {"part": "the body until it asked", "open": [self._raised.pauses[name]], "outcome": "paused"}, at=at
            )
        elif ending.kind is EndingKind.UNWOUND and self._support is Support.UNSUPPORTED:
            await say(Kind.WAITER_RELEASED, {"waiter": self._desk.framework, "reason": ending.stop_reason or "", "body": "unknown"}, at=at)
            await say(Kind.LOST, {"reason": "the call was left; what runs elsewhere was not seen to end"}, at=at)
        elif limit:
            await self._timed_out(limit, name, text, at)
        elif name in self._raised.categories:
            category, detail = self._raised.categories[name]
            retryable = "yes" if category == "retry-asked" else "unknown"
            facts = {"category": category, "detail": detail, "evidence_ref": f"raised:{name}", "retryable": retryable}
            await say(Kind.FAILED, facts, at=at, values={"exception": text.encode("utf-8", "surrogatepass")})
        else:
            await self._reporter(fact)

    async def _timed_out(self, limit: str, name: str, text: str, at: str) -> None:
        """Record the framework's own time limit: an async body was stopped by it; a thread goes on."""
        if self._support is Support.TASK:
            facts = {
                "category": "timeout", "detail": f"It was stopped after {limit}.", "evidence_ref": f"raised:{name}",
                "retryable": "yes",
            }  # fmt: skip  # facts in lines
            await self._reporter.say(Kind.FAILED, facts, at=at, values={"exception": text.encode("utf-8", "surrogatepass")})
            return
        facts = {"deadline": str(Deadline.RESULT), "declared_at": f"{limit} after the start", "judged_at": at}
        await self._reporter.say(Kind.DEADLINE_ELAPSED, facts, at=at)


def _unchecked() -> Any:
    """Stand for a function whose result the framework declares; what it returns is recorded as it comes."""
