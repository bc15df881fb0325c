"""Several real processes on one file: whoever decides, whoever runs, whoever dies, nothing is decided or done twice."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from tests.contracts import process_child
from tests.unit.bootstrap.desks import until
from toolwitness.core.evidence import Kind
from toolwitness.core.findings import Code
from toolwitness.core.verdicts import Verdict
from toolwitness.service.propose import open_task

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
_AHEAD_SECONDS = 0.05


class Child:
    """One process."""

    def __init__(self, path: Path, name: str, *, tool: str = "no", step: str = "never") -> None:
        command = [sys.executable, process_child.__file__, str(path / "calls.db"), str(path / "lines"), name, tool, step]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def answer(self) -> Any:
        """Wait for its next answer; ``None`` when it has died."""
        line = await asyncio.get_running_loop().run_in_executor(None, self._process.stdout.readline)
        return json.loads(line) if line else None

    def tell(self, do: str, **wanted: Any) -> None:
        """Tell it to do something."""
        self._process.stdin.write(json.dumps({"do": do, **wanted}) + "\n")
        self._process.stdin.flush()

    async def do(self, do: str, **wanted: Any) -> Any:
        """Let it do something and give its answer."""
        self.tell(do, **wanted)
        return await self.answer()

    async def end(self) -> int:
        """Let it go, and give how it went."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        code = await asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        self._process.stdout.close()
        return code


class Field:
    """The common file, a desk that only looks and decides, and the processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.desk = tw.open(str(path / "calls.db"), sweep_seconds=3600)
        self.task = ""
        self._stack = AsyncExitStack()

    async def child(self, name: str, *, tool: str = "no", step: str = "never") -> Child:
        """Start a process."""
        return (await self.children((name, tool, step)))[0]

    async def children(self, *wanted: tuple[str, str, str]) -> list[Child]:
        """Start processes, and wait until all are there."""
        made = [Child(self.path, name, tool=tool, step=step) for name, tool, step in wanted]
        for one in made:
            self._stack.push_async_callback(one.end)
        for one in made:
            assert await one.answer() == "ready"
        return made

    async def at_once(self, *wanted: tuple[Child, dict[str, Any]]) -> list[Any]:
        """Let every process do its part at the same moment."""
        moment = time.monotonic() + _AHEAD_SECONDS
        for child, what in wanted:
            child.tell(**what, at=moment)
        return list(await asyncio.gather(*(child.answer() for child, _ in wanted)))

    def ran(self) -> Counter[str]:
        """Count the bodies that really ran, by key."""
        lines = self.path / "lines"
        return Counter(line.split()[0] for line in lines.read_text().splitlines()) if lines.exists() else Counter()

    async def count(self, one: str, kind: str, verdict: Verdict | None = None) -> int:
        """Count the events of a kind about a call."""
        events = await self.desk.ledger.read(invocation_id=one)
        return sum(e.event.kind == kind and verdict in {None, e.verdict} for e in events)

    async def until(self, one: str, *states: tw.State) -> None:
        """Wait until a call is in one of these states."""

        async def there() -> bool:
            await asyncio.sleep(0.005)
            return (await self.desk.record(one)).state in states

        await until(there, patience_seconds=30)


@asynccontextmanager
async def a_field(path: Path) -> AsyncIterator[Field]:
    field = Field(path)
    field.task = await open_task(field.desk.place, "See who is first")
    try:
        yield field
        await field._stack.aclose()
        assert await field.desk.verify() == []
    finally:
        await field._stack.aclose()
        await field.desk.close()


async def test_of_several_approvers_at_once_one_is_accepted_and_the_body_runs_once(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, *others = await field.children(("runner", "yes", "never"), *((f"approver-{n}", "no", "never") for n in range(4)))
        for key in "abcd":
            one = await runner.do("call", tool="send", key=key, task=field.task)
            answers = await field.at_once(*((child, {"do": "approve", "id": one}) for child in (runner, *others)))
            assert sorted(str(answer) for answer in answers) == sorted([one, *["{'refused': 'already-answered'}"] * 4])
            await field.until(one, tw.State.SUCCEEDED)
            granted = [await field.count(one, Kind.GRANTED, verdict) for verdict in (Verdict.NOTED, Verdict.REFUSED)]
            assert (granted, await field.count(one, Kind.CLAIMED)) == ([1, 4], 1)
        assert field.ran() == Counter("abcd")


async def test_an_approval_in_another_process_starts_the_call_in_the_process_that_holds_it(tmp_path: Path):
    async with a_field(tmp_path) as field:
        holder, other = await field.children(("holder", "yes", "never"), ("other", "yes", "never"))
        one = await holder.do("call", tool="send", key="a", task=field.task, mine=True)
        await other.do("approve", id=one)
        await field.until(one, tw.State.SUCCEEDED)
        claim = (await field.desk.record(one)).claim
        assert claim.data["worker"] == (await field.desk.record(one)).proposal["host"]
        assert field.ran() == {"a": 1}


async def test_a_denial_and_an_approval_at_once_are_one_answer_and_what_runs_is_what_was_answered(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        ended = Counter()
        for n in range(8):
            one = await runner.do("call", tool="send", key=str(n), task=field.task)
            answers = await field.at_once((runner, {"do": "approve", "id": one}), (other, {"do": "deny", "id": one}))
            assert sum(answer == one for answer in answers) == 1
            await field.until(one, tw.State.SUCCEEDED, tw.State.CANCELLED)
            state = (await field.desk.record(one)).state
            assert field.ran()[str(n)] == (state is tw.State.SUCCEEDED) == (answers[0] == one)
            ended[state] += 1
        assert ended.total() == 8


async def test_a_withdrawal_that_races_the_claim_closes_the_call_or_asks_its_body_to_stop(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        for n in range(8):
            one = await runner.do("call", tool="send", key=str(n), task=field.task)
            moment = time.monotonic() + _AHEAD_SECONDS
            runner.tell("approve", id=one, at=moment)
            other.tell("withdraw", id=one, at=moment + 0.0005 * n)
            approved, withdrawn = await runner.answer(), await other.answer()
            await field.until(one, tw.State.SUCCEEDED, tw.State.CANCELLED)
            record = await field.desk.record(one)
            closed = record.closure is not None and record.closure.kind == "withdrawn"
            assert field.ran()[str(n)] <= (record.claim is not None)
            assert not (closed and (record.claim or field.ran()[str(n)]))
            assert approved in (one, {"refused": "already-answered"}, {"refused": "terminal"})
            assert withdrawn == one or record.state is tw.State.SUCCEEDED


@pytest.mark.parametrize(("step", "bodies"), [("claimed", 0), ("started", 1), ("ended", 1)])
async def test_what_a_killed_process_held_is_unknown_afterwards_and_is_never_run_again(tmp_path: Path, step: str, bodies: int):
    async with a_field(tmp_path) as field:
        victim = await field.child("victim", tool="yes", step=step)
        one = await victim.do("call", tool="send", key="a", task=field.task)
        await field.desk.approve(one, by=ANN)
        assert await victim.answer() is None
        assert await victim.end() == -9
        before = (await field.desk.record(one)).state
        survivors = await field.children(("first", "yes", "never"), ("second", "yes", "never"))

        async def known() -> bool:
            return Code.OUTCOME_UNKNOWN in (await field.desk.record(one)).findings

        await until(known)
        record = await field.desk.record(one)
        assert (record.state, record.reconciliation) == (before, "unknown")
        assert await field.count(one, Kind.LOST) == 1
        for child in survivors:
            assert "refused" in await child.do("retry", id=one)
        assert field.ran()["a"] == bodies
        await field.desk.reconcile(one, "no-effect", by=ANN)
        record = await field.desk.record(one)
        assert (record.state, Code.OUTCOME_UNKNOWN in record.findings) == (before, False)


async def test_a_retry_from_a_process_without_the_tool_runs_in_the_one_that_has_it(tmp_path: Path):
    async with a_field(tmp_path) as field:
        runner, other = await field.children(("runner", "yes", "never"), ("other", "no", "never"))
        one = await runner.do("call", tool="look", key="a", task=field.task, **{"with": {"fail": "yes"}})
        await field.until(one, tw.State.FAILED)
        again = await other.do("retry", id=one)
        await field.until(again, tw.State.FAILED)
        assert (field.ran()["a"], (await field.desk.record(again)).attempt) == (2, 2)


async def test_a_retry_that_every_process_could_run_is_run_by_exactly_one(tmp_path: Path):
    async with a_field(tmp_path) as field:
        children = await field.children(*((f"runner-{n}", "yes", "never") for n in range(3)))
        one = await children[0].do("call", tool="look", key="a", task=field.task, **{"with": {"fail": "yes"}})
        await field.until(one, tw.State.FAILED)
        for attempt in range(2, 6):
            answers = await field.at_once(*((child, {"do": "retry", "id": one}) for child in children))
            made = [answer for answer in answers if isinstance(answer, str)]
            assert len(made) == 1
            one = made[0]
            await field.until(one, tw.State.FAILED)
            assert (field.ran()["a"], await field.count(one, Kind.CLAIMED, Verdict.NOTED)) == (attempt, 1)


async def test_sweepers_of_all_processes_record_one_expiry(tmp_path: Path):
    async with a_field(tmp_path) as field:
        children = await field.children(("one", "yes", "never"), ("two", "no", "never"), ("three", "no", "never"))
        for key in "abc":
            one = await children[0].do("call", tool="hurry", key=key, task=field.task)
            await asyncio.sleep(0.06)  # the deadline is the real clock's, in three processes
            swept = await field.at_once(*((child, {"do": "sweep"}) for child in children))
            # A desk that has just started sweeps by itself: then none of these is the one that finds it.
            assert (sum(swept) <= 1, await field.count(one, Kind.DEADLINE_ELAPSED)) == (True, 1)
            assert (await field.desk.record(one)).state is tw.State.EXPIRED
            assert await children[1].do("approve", id=one) == {"refused": "already-answered"}
        assert field.ran() == {}
