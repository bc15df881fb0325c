"""What can happen next: what people do, what the policy's clock makes true, what workers do, and how they die.

People's steps and the sweeper's are the real commands. Workers claim by the real command and report as numbered sources do. A step that
policy refuses is a step too: the refusal is on record, and what it leaves behind is looked at like everything else.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from toolwitness.core.errors import NotPermitted
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import NO_REASON, Owner
from toolwitness.core.times import rfc3339
from toolwitness.core.verdicts import PolicyVerdict
from toolwitness.ports import Draft
from toolwitness.runtime.recovery import record_lost
from toolwitness.service.again import retry
from toolwitness.service.answer import approve, deny
from toolwitness.service.cancel import request_cancellation
from toolwitness.service.claim import claim
from toolwitness.service.close import dismiss, withdraw
from toolwitness.service.inputs import edit_inputs, supply_input
from toolwitness.service.standing import revoke_authority
from toolwitness.service.sweep import sweep
from toolwitness.testing.model.world import ANN, BOB, CARL, Stage, Work, Worker, World

Act = Callable[[Stage, World, str], Awaitable[object]]
Open = Callable[[World, str], bool]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can happen."""

    name: str
    act: Act
    open: Open
    """Whether it can happen at all; whether it may is the real code's to say."""
    about: str = ""
    """The call that it is about; empty where it is about all."""

    def __str__(self) -> str:
        """Name it."""
        return f"{self.name} {self.about}".rstrip()


async def take(stage: Stage, before: World, step: Step) -> World:
    """Give the world after ``step``; the one before it stays as it is."""
    after = before.fork()
    stage.enter(after)
    with suppress(NotPermitted):  # refused, and on record as that
        await step.act(stage, after, step.about)
    after.path = (*before.path, str(step))
    return after


async def go(stage: Stage, world: World, *names: str) -> World:
    """Give the world after these steps in their order, each named as ``str(step)`` names it.

    Raises:
        LookupError: one of them cannot happen when its turn comes.
    """
    for name in names:
        step = next((one for one in steps_from(world) if str(one) == name), None)
        if step is None:
            raise LookupError(f"{name!r} cannot happen after {' → '.join(world.path)}")
        world = await take(stage, world, step)
    return world


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _approve(stage: Stage, _world: World, one: str) -> None:
    await approve(stage.place, one, actor=ANN)


async def _second_approver(stage: Stage, world: World, one: str) -> None:
    """Answer the question that this person was shown, which was the first one, with the inputs that were in view then."""
    asked = world.ledger.record(one).approvals
    shown = {"approval_id": asked[0].id, "inputs_digest": str(asked[0].data.get("inputs_digest"))} if asked else {}
    await approve(stage.place, one, actor=BOB, **shown)


async def _deny(stage: Stage, _world: World, one: str) -> None:
    await deny(stage.place, one, actor=BOB)


async def _withdraw(stage: Stage, _world: World, one: str) -> None:
    await withdraw(stage.place, one, actor=CARL)


async def _dismiss(stage: Stage, _world: World, one: str) -> None:
    await dismiss(stage.place, one, actor=CARL)


async def _edit(stage: Stage, world: World, one: str) -> None:
    """Change the inputs back or forth, or supply what is asked for."""
    record = world.ledger.record(one)
    if record.input_request is not None:
        await supply_input(stage.place, one, actor=CARL, fields={"what": "row 1"})
    else:
        name, values = ("what", ("row 1", "row 2")) if record.tool == "erase" else ("amount", (1, 2))
        first = f'"{name}":{values[0]!r}'.replace("'", '"')
        standing = world.amount(record.inputs).replace(": ", ":")
        await edit_inputs(stage.place, one, actor=CARL, fields={name: values[1] if first in standing else values[0]})


async def _cancel(stage: Stage, _world: World, one: str) -> None:
    await request_cancellation(stage.place, one, actor=CARL)


async def _revoke(stage: Stage, _world: World, _one: str) -> None:
    await revoke_authority(stage.place, ANN.id, actor=ANN)


async def _retry(stage: Stage, world: World, one: str) -> None:
    """Make the next attempt; it takes the sibling's place among the calls that are acted on."""
    made = (await retry(stage.place, one, actor=CARL)).record.id
    world.calls, world.workers[made] = (one, made), Worker(made)


# ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _tick(_stage: Stage, world: World, _one: str) -> None:
    world.ticks += 1


async def _sweep(stage: Stage, world: World, _one: str) -> None:
    """Record what time has made true, and which workers are gone."""
    await sweep(stage.place)
    dead = {worker.name for worker in world.workers.values() if worker.at is Work.DEAD}
    await record_lost(stage.place, source="model:recovery", gone=lambda name: "its process is gone" if name in dead else "")


# ── workers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _claim(stage: Stage, world: World, one: str) -> None:
    """Ask for the permit; a process that has died is followed by another, which asks as well."""
    worker = world.workers[one]
    if worker.at is Work.DEAD:
        worker = replace(worker, lives=worker.lives + 1)
    answer = await claim(stage.place, one, source=f"model:{worker.name}", worker=worker.name)
    if not isinstance(answer, PolicyVerdict):
        world.workers[one] = replace(worker, at=Work.CLAIMED, said=0)


async def _accept(stage: Stage, world: World, one: str) -> None:
    await _report(stage, world, one, Kind.ACCEPTED, {"queue_ref": "q"})
    world.workers[one] = replace(world.workers[one], at=Work.ACCEPTED)


async def _start(stage: Stage, world: World, one: str) -> None:
    """Record the start under a lease, and run the body with the inputs that stand."""
    worker = world.workers[one]
    lease = {"lease": worker.name, "executor": "task", "expires_at": _in_ticks(stage, 2), "cancel_support": "task"}
    await _report(stage, world, one, Kind.STARTED, {**lease, "attempt": world.ledger.record(one).attempt})
    worker = world.workers[one]
    world.workers[one] = replace(worker, at=Work.STARTED, ran=(*worker.ran, world.amount(world.ledger.record(one).inputs)))


async def _progress(stage: Stage, world: World, one: str) -> None:
    """Say how far it is, which renews no lease."""
    await _report(stage, world, one, Kind.PROGRESS, {"order": world.ledger.record(one).progress_order + 1, "text": "half way"})


async def _commit(stage: Stage, world: World, one: str) -> None:
    """Pass the point from which it cannot be called back."""
    await _report(stage, world, one, Kind.COMMITTED, {"boundary": "the row is gone"})


async def _finish(stage: Stage, world: World, one: str) -> None:
    await _report(stage, world, one, Kind.SUCCEEDED, {"completed_at": stage.place.stamp()}, {"result": b"1"})
    world.workers[one] = replace(world.workers[one], at=Work.OVER)


async def _fail(stage: Stage, world: World, one: str) -> None:
    facts = {"category": "upstream", "detail": "It did not answer.", "evidence_ref": "raised", "effects": "excluded"}
    await _report(stage, world, one, Kind.FAILED, facts)
    world.workers[one] = replace(world.workers[one], at=Work.OVER)


async def _acknowledge(stage: Stage, world: World, one: str) -> None:
    """Say that the cancellation that was asked for has taken place."""
    asked = world.ledger.record(one).cancellation
    facts = {"initiator": asked.actor if asked else "process", "scope": "this invocation", "reason": NO_REASON, "at": stage.place.stamp()}
    await _report(stage, world, one, Kind.CANCEL_ACKNOWLEDGED, {"termination": "unwound", **facts})
    world.workers[one] = replace(world.workers[one], at=Work.OVER)


async def _crash(_stage: Stage, world: World, one: str) -> None:
    world.workers[one] = replace(world.workers[one], at=Work.DEAD)


async def _rogue(stage: Stage, world: World, one: str) -> None:
    """Let somebody start the body who never asked."""
    event = Event(
        kind=Kind.STARTED, source="model:rogue", id=stage.new("evt"), task_id=world.ledger.record(one).task_id, invocation_id=one,
        owner=Owner.RUNTIME, time=stage.place.stamp(), data={"attempt": world.ledger.record(one).attempt, "executor": "theirs"},
    )  # fmt: skip  # facts in lines
    await stage.place.ledger.append(event.task_id, [Draft(event=event)])
    world.workers[one] = replace(world.workers[one], rogue=world.workers[one].rogue + 1)


async def _redeliver(stage: Stage, world: World, one: str) -> None:
    """Say the last thing that was said once more."""
    draft = world.ledger.drafts[one]
    await stage.place.ledger.append(draft.event.task_id, [draft])


async def _report(
    stage: Stage, world: World, one: str, kind: Kind, data: Mapping[str, Any], values: Mapping[str, bytes] | None = None
) -> None:
    """Record what the worker of a call saw, under its next number."""
    worker, record = world.workers[one], world.ledger.record(one)
    event = Event(
        kind=kind, source=f"model:{worker.name}:reports", id=stage.new("evt"), task_id=record.task_id, invocation_id=one,
        owner=Owner.RUNTIME, attempt=record.attempt, time=stage.place.stamp(), sequence=worker.said + 1, data=data,
    )  # fmt: skip  # facts in lines
    await stage.place.ledger.append(record.task_id, [Draft(event=event, values=values or {})])
    world.workers[one] = replace(worker, said=worker.said + 1)


def _in_ticks(stage: Stage, count: int) -> str:
    world = stage.world
    world.ticks += count
    try:
        return rfc3339(stage.now())
    finally:
        world.ticks -= count


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _always(_world: World, _one: str) -> bool:
    return True


def _worker_is(*where: Work) -> Open:
    return lambda world, one: world.workers[one].at in where


def _can_acknowledge(world: World, one: str) -> bool:
    return world.workers[one].holds and world.ledger.record(one).cancellation is not None


def _is_running(world: World, one: str) -> bool:
    return world.workers[one].at is Work.STARTED


_HOLDING: Final = (Work.CLAIMED, Work.ACCEPTED, Work.STARTED)
_OF_A_CALL: Final[Sequence[tuple[str, Act, Open]]] = (
    ("approve", _approve, _always),
    ("second approver", _second_approver, _always),
    ("deny", _deny, _always),
    ("withdraw", _withdraw, _always),
    ("dismiss", _dismiss, _always),
    ("edit", _edit, _always),
    ("cancel request", _cancel, _always),
    ("claim", _claim, _always),
    ("accept", _accept, _worker_is(Work.CLAIMED)),
    ("start", _start, _worker_is(Work.CLAIMED, Work.ACCEPTED)),
    ("progress", _progress, lambda world, one: _is_running(world, one) and world.ledger.record(one).progress is None),
    ("commit", _commit, lambda world, one: _is_running(world, one) and world.ledger.record(one).commitment is None),
    ("finish", _finish, _worker_is(Work.STARTED)),
    ("fail", _fail, _worker_is(Work.STARTED)),
    ("acknowledge", _acknowledge, _can_acknowledge),
    ("crash", _crash, _worker_is(*_HOLDING)),
    ("start unasked", _rogue, lambda world, one: world.workers[one].rogue == 0),
    ("say again", _redeliver, _always),
)
_OF_ALL: Final[Sequence[tuple[str, Act, Open]]] = (
    ("tick", _tick, _always),
    ("expire", _sweep, _always),
    ("revoke", _revoke, lambda world, _one: not world.revoked),
)


def steps_from(world: World) -> list[Step]:
    """Name everything that can happen next."""
    of_calls = [Step(name, act, is_open, one) for one in world.calls for name, act, is_open in _OF_A_CALL if is_open(world, one)]
    of_all = [Step(name, act, is_open) for name, act, is_open in _OF_ALL if is_open(world, "")]
    first = world.calls[0]
    again = (
        [Step("retry", _retry, _always, first)] if world.workers[first].at is Work.OVER and len(world.workers) == len(world.calls) else []
    )
    return of_calls + of_all + again
