"""Many calls of one task at once: nobody gives up, and what one call costs does not grow with the number of the others."""

import asyncio
from pathlib import Path

import pytest

import toolwitness as tw
from toolwitness.ledger import folded


async def calls_at_once(url: str, number: int) -> list[tw.CallOutcome]:
    async with tw.open(url, sweep_seconds=3600) as desk:

        @desk.tool(consequences=[tw.READ_ONLY])
        async def echo(n: int) -> int:
            return n

        async with desk.task("Many") as task:
            return list(await asyncio.gather(*(task.call(echo, n=n) for n in range(number))))


async def test_no_call_loses_to_the_others_of_its_own_task(tmp_path: Path):
    outcomes = await calls_at_once(str(tmp_path / "calls.db"), 120)
    assert [outcome.value for outcome in outcomes] == list(range(120))


async def test_a_call_among_many_copies_no_more_records_than_a_call_among_few(monkeypatch: pytest.MonkeyPatch):
    copied = 0
    copy_record = folded.copy_record

    def counting(record: folded.InvocationRecord) -> folded.InvocationRecord:
        nonlocal copied
        copied += 1
        return copy_record(record)

    monkeypatch.setattr(folded, "copy_record", counting)
    per_call = []
    for number in (10, 80):
        copied = 0
        await calls_at_once("memory:", number)
        per_call.append(copied / number)
    assert per_call[1] <= per_call[0] * 1.5
