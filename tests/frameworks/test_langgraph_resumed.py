"""A process that is killed in the middle of a body, and another that resumes its thread: nothing is run twice, and nothing is made up."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import toolwitness as tw
from tests.frameworks.langgraph_bench import ANN, GO, Truth, agent_of, assert_record_equals, govern, thread
from toolwitness.adapters.langgraph import Recorder

VICTIM = Path(__file__).with_name("langgraph_victim.py")


def truth(place: Path) -> list[list[str]]:
    file = place / "truth.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("]")] if file.exists() else []


async def test_a_body_whose_process_was_killed_is_not_run_again_and_its_outcome_is_unknown(tmp_path: Path) -> None:
    victim = await asyncio.create_subprocess_exec(sys.executable, str(VICTIM), str(tmp_path), "run")
    async with asyncio.timeout(60):
        while not {("effect", "c1"), ("end", "f1")} <= {tuple(row) for row in truth(tmp_path)}:
            assert victim.returncode is None
            await asyncio.sleep(0.02)
        async with tw.open(str(tmp_path / "calls.db")) as desk:
            states: dict[str, str] = {}
            while states.get("flight") != "succeeded":
                states = {record.tool: str(record.state) for record in await _records(desk)}
                await asyncio.sleep(0.02)
    victim.kill()
    await victim.wait()

    heir = await asyncio.create_subprocess_exec(sys.executable, str(VICTIM), str(tmp_path), "resume")
    assert await asyncio.wait_for(heir.wait(), 60) == 0

    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert [row for row in truth(tmp_path) if row[0] == "start"].count(["start", "c1"]) == 1
    assert [row for row in truth(tmp_path) if row[0] == "start"].count(["start", "f1"]) == 1
    assert told["f1"] == ["success", "2 flights"]
    assert told["c1"][0] == "error"
    assert "How it ended is not known" in told["c1"][1]
    async with tw.open(str(tmp_path / "calls.db")) as desk:
        found = {record.tool: record for record in await _records(desk)}
        assert (str(found["flight"].state), str(found["charge"].state)) == ("succeeded", "running")
        assert "outcome-unknown" in found["charge"].findings
        assert len(found["charge"].starts) == 1
        assert await desk.verify() == []


async def test_an_approval_given_after_the_process_has_gone_is_used_by_the_one_that_resumes(tmp_path: Path) -> None:
    truth: Truth = []

    @tool
    async def book(total: int, call: Annotated[str, InjectedToolCallId]) -> str:
        """Book."""
        truth.extend([("start", call), ("end", call)])
        return f"PNR {total}"

    file, saver, calls = str(tmp_path / "calls.db"), InMemorySaver(), [("book", {"total": 7}, "b")]
    async with tw.open(file) as desk:
        govern(desk)
        await agent_of(desk, calls, "done", tools=[book], saver=saver, recorder=Recorder(desk, waiting="interrupt")).ainvoke(GO, thread())
    async with tw.open(file) as desk:
        govern(desk)
        await desk.approve((await _records(desk))[0].id, by=ANN)
        agent = agent_of(desk, calls, "done", tools=[book], saver=saver, recorder=Recorder(desk, waiting="interrupt"))
        state = await agent.ainvoke(Command(resume=True), thread())

        assert [m.content for m in state["messages"] if m.type == "tool"] == ["PNR 7"]
        await assert_record_equals(desk, truth)
    assert truth == [("start", "b"), ("end", "b")]


async def test_two_desks_on_one_ledger_that_resume_at_once_run_the_body_once_and_both_get_its_result(tmp_path: Path) -> None:
    truth: Truth = []

    @tool
    async def book(total: int, call: Annotated[str, InjectedToolCallId]) -> str:
        """Book."""
        truth.append(("start", call))
        await asyncio.sleep(0)
        truth.append(("end", call))
        return f"PNR {total}"

    file, saver, calls = str(tmp_path / "calls.db"), InMemorySaver(), [("book", {"total": 7}, "b")]
    async with tw.open(file) as one, tw.open(file) as two:
        agents = []
        for desk in (one, two):
            govern(desk)
            recorder = Recorder(desk, waiting="interrupt")
            agents.append(agent_of(desk, calls, "done", tools=[book], saver=saver, recorder=recorder))
        await agents[0].ainvoke(GO, thread())
        await two.approve((await _records(two))[0].id, by=ANN)
        states = await asyncio.gather(*(agent.ainvoke(Command(resume=True), thread()) for agent in agents))

        assert [[m.content for m in state["messages"] if m.type == "tool"] for state in states] == [["PNR 7"], ["PNR 7"]]
        await assert_record_equals(two, truth)
    assert truth == [("start", "b"), ("end", "b")]


async def _records(desk: tw.Desk) -> list[Any]:
    views = [await desk.ledger.task(task_id) for task_id in await desk.ledger.tasks()]
    return [record for view in views if view is not None for record in view.records.values()]
