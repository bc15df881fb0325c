"""Views are the caller's own: nothing that the fold changes is shared, whatever fields records come to have."""

from copy import deepcopy
from dataclasses import fields
from typing import Any

from tests.unit.ledger.stories import fill
from toolwitness.core.invocation import judge
from toolwitness.core.record import InvocationRecord
from toolwitness.ledger.cache import Cache
from toolwitness.ledger.folded import Folded, copy_record
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.testing.clock import FakeClock
from toolwitness.testing.ledger_contract import opened, output, proposed


async def told(clock: FakeClock) -> MemoryLedger:
    ledger = MemoryLedger(now=clock.now)
    await fill(ledger, clock)
    return ledger


async def test_a_copy_equals_its_original_and_stays_as_it_is(clock: FakeClock) -> None:
    """However far the original is folded on, event by event."""
    ledger = await told(clock)
    record = InvocationRecord("inv_1", task_id="task_1")
    for recorded in await ledger.read(invocation_id="inv_1"):
        copied, before = copy_record(record), deepcopy(record)
        assert copied == record
        judge(record, recorded.event, recorded_at=recorded.recorded_time)
        assert copied == before
    assert record.version > 5


def containers(value: Any) -> set[int]:
    return {id(value)} if isinstance(value, list | dict | set) else set()


async def test_a_copy_shares_no_container_of_its_own(clock: FakeClock) -> None:
    ledger = await told(clock)
    view = await ledger.task("task_1")
    assert view is not None
    record = view.records["inv_1"]
    shared = [f.name for f in fields(record) if containers(getattr(record, f.name)) & containers(getattr(copy_record(record), f.name))]
    assert shared == []


async def test_looking_at_a_record_twice_gives_the_same_one(clock: FakeClock) -> None:
    view = await (await told(clock)).task("task_1")
    assert view is not None
    assert view.records["inv_1"] is view.records["inv_1"]
    assert dict(view.records) == {"inv_1": view.records["inv_1"]}
    assert "inv_1" in repr(view.records)


async def test_a_view_costs_the_same_however_many_invocations_there_are() -> None:
    """Only the record that is folded on is copied."""
    ledger = MemoryLedger()
    for number in range(50):
        await ledger.append("task_1", [proposed(f"p{number}", about=f"inv_{number}")])
    folded = ledger._index.tasks["task_1"]
    before = dict(folded.records)
    await ledger.task("task_1")
    await ledger.append("task_1", [output(0, about="inv_7")])
    assert [name for name in before if folded.records[name] is not before[name]] == ["inv_7"]


def weighing(events: int) -> Folded:
    folded = Folded.empty("t")
    folded.sequence = events
    return folded


def test_the_cache_lets_go_of_what_was_not_used_for_longest() -> None:
    cache = Cache(events=100, tasks=3)
    for name in ("a", "b", "c"):
        cache.put(name, weighing(10))
    cache.get("a")
    cache.put("d", weighing(10))
    assert [name for name in "abcd" if cache.get(name)] == ["a", "c", "d"]
    cache.put("e", weighing(95))
    assert [name for name in "abcde" if cache.get(name)] == ["e"]
    cache.put("e", weighing(1_000))
    assert len(cache) == 1
    cache.drop("e")
    cache.put("f", weighing(100))
    cache.drop("nothing")
    assert len(cache) == 1


async def test_a_record_names_its_task_even_without_a_proposal() -> None:
    ledger = MemoryLedger()
    await ledger.append("task_1", [opened(), output(0, tenant="acme")])
    view = await ledger.task("task_1")
    assert view is not None
    assert (view.records["inv_1"].task_id, view.records["inv_1"].tenant) == ("task_1", "acme")
