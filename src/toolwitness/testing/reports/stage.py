"""The desk at which a report is played: what was said by whom, and what the desk answered.

Runtime facts go through ``desk.observe`` with registered sources, decisions through the desk's commands, and what policy says is made by
our own policy. The process that proposes and the desk where people decide are two: every judgement reads the policy from the record.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from toolwitness.bootstrap.desk import Desk
from toolwitness.core.errors import NotPermitted, ToolwitnessError
from toolwitness.core.evidence import Event
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Owner
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import Actor, PolicyVerdict
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.ports import Draft, Recorded
from toolwitness.service.claim import claim
from toolwitness.service.propose import open_task
from toolwitness.service.record import Registration
from toolwitness.service.submit import submit
from toolwitness.service.workplace import Receipt, Workplace, read
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ids import CountedIds
from toolwitness.testing.reports.story import DEFAULT_TASK, Step, Story, eligible_of, text, texts

RECORDER: Final = "recorder"
"""The principal that speaks for every source of a report."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What the desk made of one event."""

    decision: Literal["accepted", "refused", "none"] = "none"
    """Of a decision: whether it counts. ``none`` where the event is no decision at all."""
    rule: str = ""
    reason: str = ""
    act: str = ""
    """What was decided: ``approve``, ``deny``, …"""
    winner: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Who had answered before, where somebody had."""
    dispatch: Literal["allow", "refuse", ""] = ""
    dispatch_rule: str = ""
    dispatch_reason: str = ""
    recorded: tuple[Recorded, ...] = ()
    """What stands in the ledger because of it."""
    unclear: str = ""
    """Why it was not played, where it was not understood."""


class Stage:
    """One desk, one ledger, and the names under which a report knows what lies on it."""

    def __init__(self, story: Story) -> None:
        """Open the ledger and the desk; nothing is recorded yet."""
        self.story = story
        self.clock = FakeClock(story.base)
        self.ids = CountedIds()
        self.ledger = MemoryLedger(now=self.clock.now)
        self.desk = self._open_desk()
        self.application = Workplace(ledger=self.ledger, clock=self.clock, ids=self.ids)
        self.names: dict[str, str] = {}
        """``i1#1`` → our invocation id."""
        self.tasks: dict[str, str] = {}
        """Name of a call → its task, where that was settled before."""
        self.approvals: dict[str, dict[str, str]] = {}
        """Approval → our ids of the calls that it covers → our id of the request that each of them got."""
        self.questions: dict[str, str] = {}
        """Request for input → our id of the call that asked."""
        self.inputs: dict[str, object] = {}
        """Digest as the report writes it → the inputs that it stands for."""
        self.presented: set[str] = set()
        self.workers: dict[str, list[str]] = {}
        """Worker → our ids of the calls that it was seen to start."""
        self.orders: dict[str, int] = {}
        self.answers: dict[int, Answer] = {}
        self._first_task = DEFAULT_TASK
        self._roles = story.actors()
        self._first_said: dict[str, str] = {}

    def _open_desk(self) -> Desk:
        return Desk(self.ledger, clock=self.clock, ids=self.ids, sweep_seconds=3600)

    def restart(self) -> None:
        """Forget the desk and open another one on the same ledger: what only lived in the process is gone."""
        register = self.desk.register
        self.desk = self._open_desk()
        self.desk.register = register

    # ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def open_tasks(self) -> None:
        """Open every task that the report names."""
        declared = self.story.input.get("task")
        said: Mapping[str, Any] = declared if isinstance(declared, Mapping) else {}
        calls = {step.invocation for step in self.story.steps if step.invocation}
        parents = {text(step.fields.get("parent")) for step in self.story.steps} - {""} - calls
        named = text(said.get("taskId"))
        for name in dict.fromkeys([named, *sorted(parents)] if named else sorted(parents) or [DEFAULT_TASK]):
            mine: Mapping[str, Any] = said if name == named else {}
            required, optional = ([f"{child}#1" for child in texts(mine.get(part))] for part in ("requiredChildren", "optionalChildren"))
            await open_task(self.place, f"the work of {name}", task_id=name, required_children=required, optional_children=optional)
        self._first_task = named or next(iter(sorted(parents)), DEFAULT_TASK)

    @property
    def place(self) -> Workplace:
        """The desk's own workplace, which knows no tool."""
        return self.desk.place

    def key(self, step: Step) -> str:
        """Give the name of the attempt that an event is about: ``i1#2``; empty where it is about none."""
        name = step.invocation
        if not name:
            covered = self.approvals.get(text(step.fields.get("approval")))
            return self.named(next(iter(covered)) if covered else self.questions.get(text(step.fields.get("request")), ""))
        attempt = step.fields.get("attempt")
        if isinstance(attempt, int) and not isinstance(attempt, bool):
            return f"{name}#{attempt}"
        known = [key for key in self.names if key.rpartition("#")[0] == name]
        return known[-1] if known else f"{name}#1"

    def id_of(self, key: str) -> str:
        """Give our id of an attempt; what no proposal of ours named otherwise goes under the report's own name."""
        return self.names.setdefault(key, key) if key else ""

    def named(self, invocation_id: str) -> str:
        """Give the report's name of one of our ids."""
        return next((key for key, known in self.names.items() if known == invocation_id), invocation_id)

    def task_of(self, key: str) -> str:
        """Give the task of a call: its parent's where its parent is a call, else the task that the report puts it into."""
        name, seen = key.rpartition("#")[0] or key, set[str]()
        if name in self.tasks:
            return self.tasks[name]
        while name not in seen:
            seen.add(name)
            parent = text(self.story.first(name, field="parent"))
            if not parent:
                break
            if not any(step.invocation == parent for step in self.story.steps):
                return parent
            name = parent
        return self._first_task

    def actor(self, given: object) -> Actor:
        """Give the person who acts, as the house that authenticated them knows them; nobody has an empty id."""
        if isinstance(given, Mapping):
            roles = frozenset(texts(given.get("roles")))
            return Actor(id=text(given.get("id")), roles=roles, name=text(given.get("display_name")))
        return Actor(id=text(given), roles=self._roles.get(text(given), frozenset()))

    def viewers(self) -> dict[str, Actor]:
        """Give everybody whom the report names, and one bearer of each role that may decide and that nobody in it holds."""
        found = {who: Actor(id=who, roles=roles) for who, roles in self._roles.items()}
        held = {role for actor in found.values() for role in actor.roles}
        for step in self.story.steps:
            for entry in eligible_of(step):
                role = entry.removeprefix("role:")
                if entry.startswith("role:") and role not in held:
                    found[f"a bearer of {role}"] = Actor(id=f"a bearer of {role}", roles=frozenset({role}))
        return found or {"somebody": Actor(id="somebody")}

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def set_time(self, step: Step) -> None:
        """Move the authority's clock to an event; it never goes back."""
        at = self.story.time_of(step)
        if at is not None and at > self.clock.now():
            self.clock.advance((at - self.clock.now()).total_seconds())

    def at(self, seconds: float) -> str:
        """Give the time ``seconds`` from now."""
        return rfc3339(datetime.fromtimestamp(self.clock.now().timestamp() + seconds, tz=self.clock.now().tzinfo))

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def record(self, invocation_id: str) -> InvocationRecord | None:
        """Give the record of a call, where anything is recorded of it."""
        task_id = await self.ledger.find(invocation_id) if invocation_id else None
        view = await self.ledger.task(task_id) if task_id else None
        return view.records.get(invocation_id) if view else None

    async def standing(self, record: InvocationRecord) -> bytes:
        """Give the bytes of the inputs that stand."""
        return (await self.ledger.value(str(record.inputs["ref"])) if record.inputs else None) or b"{}"

    # ── saying ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def observe(
        self, step: Step, kind: str, data: Mapping[str, Any], *, key: str = "", values: Mapping[str, bytes] | None = None,
        owner: Owner = Owner.RUNTIME, task: str = "",
    ) -> tuple[Recorded, ...]:  # fmt: skip  # a signature in lines
        """Record what a source of the report observed about one of its calls, or about a task."""
        source, sequence = self._numbered(step)
        self.desk.register.add(Registration(source=source, principal=RECORDER))
        key = key or ("" if task else self.key(step))
        event = Event(
            kind=kind, source=source, id=f"{_given_id(step) or step.number}/{kind}/{key or task}", owner=owner, sequence=sequence,
            task_id=task or await self._home(key), invocation_id=self.id_of(key) or None, attempt=_attempt(key),
            data={name: value for name, value in data.items() if value is not None}, time=self.said_at(step),
        )  # fmt: skip  # facts in lines
        return tuple(await self.desk.observe([Draft(event=event, values=values or {})], by=RECORDER))

    def said_at(self, step: Step) -> str:
        """Give the time that an event carries: its own clock's, else the recorder's. What is said again carries that of the first time."""
        given = _given_id(step)
        at = text(step.fields.get("clock")) or self.place.stamp()
        return self._first_said.setdefault(given, at) if given else at

    async def _home(self, key: str) -> str:
        return await self.ledger.find(self.id_of(key)) or self.task_of(key)

    def _numbered(self, step: Step) -> tuple[str, int | None]:
        """Give an event's source and its number there. A host that numbers what it says is a source of its own.

        Numbers that count what is said of one call alone are kept, with their holes; where a host counts several calls together, its
        numbers tell the order only.
        """
        host, number = text(step.fields.get("host")), step.fields.get("host_seq")
        if not host or not isinstance(number, int):
            return f"report:{step.source or 'unnamed'}", None
        said = [s for s in self.story.steps if s.fields.get("host") == host and s.type != "proposed"]
        mine = [s for s in said if isinstance(s.fields.get("host_seq"), int)]
        numbers = sorted({s.fields["host_seq"] for s in mine if s.invocation == step.invocation})
        if {s.invocation for s in mine} == {step.invocation}:
            return f"report:{host}", number - numbers[0] + 1
        return f"report:{host}", numbers.index(number) + 1

    async def append(self, drafts: Iterable[Draft], task: str) -> tuple[Recorded, ...]:
        """Append what our own rooms made."""
        return tuple(await self.ledger.append(task, list(drafts)))

    async def since(self, position: int) -> tuple[Recorded, ...]:
        """Give what was recorded after a position."""
        return tuple(await self.ledger.read(after=position))

    # ── deciding and dispatching ────────────────────────────────────────────────────────────────────────────────────

    async def decide(self, act: str, command: Any) -> Answer:
        """Carry out one command of the desk, and give what it answered."""
        before = await self.ledger.head()
        try:
            receipt: Receipt = await command
        except NotPermitted as refused:
            facts = refused.facts
            return Answer(
                decision="refused", act=act, rule=str(facts.get("rule", "")), reason=refused.message, winner=facts.get("winner") or {},
                recorded=await self.since(before),
            )  # fmt: skip  # facts in lines
        except ToolwitnessError as error:
            return Answer(decision="refused", act=act, rule=error.code, reason=error.message, recorded=await self.since(before))
        permitted = receipt.record.permission is not None and not receipt.record.permission.get("refused")
        return Answer(decision="accepted", act=act, recorded=await self.since(before), dispatch="allow" if permitted else "")

    async def take_up(self, step: Step, key: str) -> None:
        """Claim the permit for a runtime that a report shows to accept or start a call without saying whether it asked.

        Where policy would have let it, it is taken to have asked. Where not, nothing is claimed, and the record says what was bypassed.
        """
        record = await self.record(self.id_of(key))
        if record is None or not record.governed or record.claim is not None or record.starts:
            return
        situation = await read(self.place, record.id)
        if record.permission is None and not situation.policy.requires_approval and record.approval is None:
            await submit(self.place, record.id)
        await claim(self.place, record.id, source=f"report:{step.source}", worker=text(step.fields.get("worker")) or step.source)

    def refused(self, verdict: PolicyVerdict) -> Answer:
        """Give the answer for a dispatch that policy refuses."""
        return Answer(dispatch="refuse", dispatch_rule=verdict.rule, dispatch_reason=verdict.reason)


def _given_id(step: Step) -> str:
    """Give the id under which a source said something: its own, or the number that its host gave it; empty where it gave none."""
    named = next((text(step.fields.get(name)) for name in ("event_id", "id", "eid") if step.fields.get(name)), "")
    numbered = step.fields.get("host") and isinstance(step.fields.get("host_seq"), int)
    return named or (f"number {step.fields['host_seq']} of {step.fields['host']}" if numbered else "")


def _attempt(key: str) -> int:
    return int(key.rpartition("#")[2]) if key else 1


def parsed(raw: bytes) -> Any:
    """Read exact bytes back; bytes that are no JSON are their own text."""
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


def same_inputs(one: object, other: object) -> bool:
    """Tell whether two inputs are the same, whatever the order of their members."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
