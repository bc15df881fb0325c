"""A process that is killed in the middle of a body, and another that resumes its thread: nothing is run twice, and nothing is made up."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import toolwitness as tw

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


async def _records(desk: tw.Desk) -> list[Any]:
    views = [await desk.ledger.task(task_id) for task_id in await desk.ledger.tasks()]
    return [record for view in views if view is not None for record in view.records.values()]
