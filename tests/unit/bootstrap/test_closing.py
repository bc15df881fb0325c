"""A desk that closes tells whoever waits how things stood, also a caller that was in the middle of asking."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolwitness as tw
from toolwitness.bootstrap import task as task_module


async def test_a_caller_that_was_about_to_read_its_record_when_the_desk_closed_gets_its_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorded, read_on = asyncio.Event(), asyncio.Event()
    submit = task_module.submit

    async def submit_and_read_again_late(place: Any, invocation_id: str) -> None:
        await submit(place, invocation_id)
        recorded.set()
        await read_on.wait()
        await place.ledger.task(await place.ledger.find(invocation_id))

    monkeypatch.setattr(task_module, "submit", submit_and_read_again_late)
    desk = tw.open(str(tmp_path / "calls.db"), sweep_seconds=3600)

    @desk.tool(consequences=[tw.EXTERNALLY_VISIBLE], approvers=["role:finance"], approval_seconds=60)
    async def send(to: str) -> str:
        return to

    async with desk.task("Send") as task:
        call = task.call(send, to="x")
        await recorded.wait()
    await desk.close()
    read_on.set()
    outcome = await call
    assert (outcome.which, outcome.why) == ("outcome_unknown", "the desk closed while the call was awaiting_approval")
