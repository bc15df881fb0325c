"""The live stream over real connections: nothing is lost, nobody waits for anybody else, and nobody sees what is not theirs."""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolwitness as tw
from tests.unit.server.house import PEOPLE, House, a_booking, a_house, event, until
from tests.unit.server.streams import Page, following
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.states import Owner
from toolwitness.core.verdicts import Actor
from toolwitness.ports import Draft, Recorded
from toolwitness.server.live import read_cursor
from toolwitness.service import views


async def _say(desk: tw.Desk, task: str, invocation: str | None, kind: str, number: int, *, tenant: str = "", **data: Any) -> None:
    """Record one observation of a runtime that is somewhere else."""
    values = {name: data.pop(name) for name in ("output", "inputs", "result") if isinstance(data.get(name), bytes)}
    said = Event(
        kind=kind, source="runtime:elsewhere", id=f"{task}-{invocation}-{kind}-{number}", task_id=task, invocation_id=invocation,
        owner=Owner.RUNTIME, tenant=tenant, data=data, attempt=1 if invocation else None,
    )  # fmt: skip  # facts in lines
    await desk.ledger.append(task, [Draft(event=said, values=values)])


async def _a_run(desk: tw.Desk, task: str, calls: Sequence[str], *, tenant: str = "") -> None:
    """Open a task with calls that run elsewhere."""
    await _say(desk, task, None, Kind.TASK_OPENED, 0, tenant=tenant, purpose=f"Run {task}")
    for name in calls:
        more = {"tool": "work", "inputs": b"{}", "source_request": "m", "proposer": "agent", "purpose": f"Work {name}"}
        await _say(desk, task, name, Kind.PROPOSED, 0, tenant=tenant, **more)
        await _say(desk, task, name, Kind.STARTED, 0, tenant=tenant, attempt=1, executor="thread")


# ── what is told ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_decision_is_told_to_everybody_who_looks():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        async with following(house, "ann") as ann, following(house, "bob", task=booking.task) as bob:
            await house.act("ann", booking.waiting, "deny", reason="no")
            for follower in (ann, bob):
                card = await follower.until("card", lambda c: c["state"] == "cancelled")
                assert card["id"] == booking.waiting
                await follower.until("task", lambda t: t["id"] == booking.task)
                await follower.until("inbox", lambda i: i == {"waiting": 0})
            assert ann.frames[-1].id and "cards" not in ann.named("task")[-1]
            assert (await ann.until("row"))["id"] == booking.task


async def test_the_stream_draws_what_the_api_draws():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        async with following(house, "ann", task=booking.task) as ann:
            await house.act("ann", booking.waiting, "approve")
            await booking.calls[0]
            head = await house.app.live.cursor()
            await until(lambda: ann.parser.last_id == head)
        whole = (await (await house.of("ann")).get(f"/api/tasks/{booking.task}?view=card")).json()
        told = {c["id"]: c for c in ann.named("card")}
        assert told[booking.waiting] == next(c for c in whole["cards"] if c["id"] == booking.waiting)
        assert {k: v for k, v in ann.named("task")[-1].items() if k != "version"} == {
            k: v for k, v in whole.items() if k not in {"cards", "version"}
        }


async def test_who_follows_one_task_is_told_of_that_task_and_of_what_waits():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        await _a_run(house.desk, "task_b", ["inv_b"])
        async with following(house, "ann", task="task_a") as ann:
            await _say(house.desk, "task_b", "inv_b", Kind.PROGRESS, 1, order=1, text="not for you")
            booking = await a_booking(house.desk)
            await ann.until("inbox", lambda i: i["waiting"] == 1)
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1, text="for you")
            await ann.until("card", lambda c: c["id"] == "inv_a")
            assert {c["task"] for c in ann.named("card")} == {"task_a"}
            assert booking.waiting.encode() not in ann.raw and b"not for you" not in ann.raw


async def test_nothing_of_another_tenant_is_ever_written():
    async with a_house() as house:
        await _a_run(house.desk, "task_o", ["inv_o"], tenant="other")
        start = "p0."
        async with following(house, "ann", cursor=start) as ann, following(house, "olga", cursor=start) as olga:
            await olga.until("card", lambda c: c["id"] == "inv_o")
            for number in range(5):
                await _say(house.desk, "task_o", "inv_o", Kind.PROGRESS, number + 1, tenant="other", order=number, text="secret")
            booking = await a_booking(house.desk)
            await house.act("ann", booking.waiting, "deny")
            await ann.until("card", lambda c: c["state"] == "cancelled")
            await olga.until("card", lambda c: c["progress"] and c["progress"]["order"] == 4)
        assert b"secret" in olga.raw and b"inv_o" in olga.raw
        assert b"secret" not in ann.raw and b"inv_o" not in ann.raw and b"task_o" not in ann.raw
        assert booking.waiting.encode() not in olga.raw
        assert olga.named("inbox")[-1:] in ([], [{"waiting": 0}])


async def test_a_task_of_another_tenant_cannot_be_followed():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        async with following(house, "olga", task=booking.task, cursor="p0.") as olga:
            await house.act("ann", booking.waiting, "deny")
            await house.act("ann", booking.ended, "reverse")
            await _a_run(house.desk, "task_o", ["inv_o"], tenant="other")
            await house.app.live.close()
            await until(lambda: olga.ended)
        assert olga.named("card") == olga.named("task") == olga.named("row") == []


async def test_a_call_of_a_retried_one_and_those_that_wait_for_it_are_told_too():
    async with a_house() as house:

        @house.desk.tool(consequences=[tw.READ_ONLY], retry_attempts=3, retry_categories=["down"])
        async def search() -> None:
            raise tw.ToolFailure("down", "Down.", retryable="yes")

        @house.desk.tool(consequences=[tw.READ_ONLY])
        async def summary() -> str:
            return "done"

        async with house.desk.task("Trip") as trip:
            first = trip.call(search, purpose="Search")
            await first
            blocked = trip.call(summary, purpose="Summarise", depends_on=[first])
            failed, waiting = await first.invocation_id(), await blocked.invocation_id()
            async with following(house, "ann", task=trip.id) as ann:
                answer = await house.act("ann", failed, "retry")
                new = answer.json()["document"]["identity"]["invocationId"]
                await ann.until("card", lambda c: c["id"] == failed and any(line.get("target") == new for line in c["lineage"]))
                await ann.until("card", lambda c: c["id"] == waiting and any(b.get("target") == new for b in c["blocked"]))


# ── cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["cursor", "last_id"])
async def test_who_was_away_is_told_what_changed_since(how: str):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a", "inv_b"])
        async with following(house, "ann") as ann:
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1, text="one")
            await ann.until("card")
            cursor = ann.parser.last_id
        for number in (2, 3):
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, number, order=number, text=f"{number}")
        async with following(house, "ann", **{how: cursor}) as back:
            card = await back.until("card", lambda c: c["id"] == "inv_a")
            assert card["progress"]["order"] == 3
            assert [c["id"] for c in back.named("card")] == ["inv_a"], "what did not change is not told"


async def test_the_browsers_own_cursor_goes_before_the_pages():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        now = await house.app.live.cursor()
        async with following(house, "ann", cursor="p0.", last_id=now) as ann:
            assert ann.parser.last_id == now
            assert ann.frames == []


CURSORS = ["x", "p", "p-1", "p²", "p1e3", "p" + "9" * 30, "p1.ffffffff", "p999999.{epoch}", "p1", "", "null", "p0x.{epoch}"]


@pytest.mark.parametrize("given", CURSORS)
async def test_a_cursor_that_is_not_ours_asks_for_a_snapshot(given: str):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        now = await house.app.live.cursor()
        cursor = given.replace("{epoch}", now.partition(".")[2])
        async with following(house, "ann", cursor=cursor) as ann:
            if cursor:
                assert await ann.until("resync") == {"cursor": now}
            assert ann.parser.last_id == now


def test_a_cursor_of_another_ledger_is_not_ours():
    assert read_cursor("p5.aaaaaaaa", "aaaaaaaa") == 5
    assert read_cursor("p5.aaaaaaaa", "bbbbbbbb") is None
    assert read_cursor("p0.", "bbbbbbbb") == 0, "whoever looked when nothing was recorded has missed everything, and knows it"


async def test_who_missed_too_much_reads_a_snapshot(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("toolwitness.server.live._CATCH_UP", 3)
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        cursor = await house.app.live.cursor()
        for number in range(4):
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, number, order=number)
        async with following(house, "ann", cursor=cursor) as ann:
            assert await ann.until("resync") == {"cursor": await house.app.live.cursor()}


@pytest.mark.parametrize("seed", range(4))
async def test_a_page_that_loses_its_connection_again_and_again_loses_nothing(seed: int):
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated, and guards nothing
    async with a_house() as house:
        names = [f"inv_{n}" for n in range(6)]
        await _a_run(house.desk, "task_a", names)
        client = await house.of("ann")
        cursor = await house.app.live.cursor()
        page = Page((await client.get("/api/tasks/task_a?view=card")).json())
        over, cuts = asyncio.Event(), 0

        async def record() -> None:
            number = -1
            while number < 60 or cuts < 6:
                number += 1
                name = chance.choice(names)
                kind = chance.choice([Kind.PROGRESS, Kind.OUTPUT, Kind.EFFECT, Kind.COMMITTED])
                data = {"order": number, "output": b'"x"'} if kind is Kind.OUTPUT else {"order": number, "effect": "e", "boundary": "b"}
                await _say(house.desk, "task_a", name, kind, number + 1, **data)
                for _ in range(chance.randrange(40)):
                    await asyncio.sleep(0)
            for name in names:
                await _say(house.desk, "task_a", name, Kind.SUCCEEDED, 999, completed_at="2027-01-01T00:00:00Z", result=b'"ok"')
            over.set()

        recording = asyncio.create_task(record())
        while True:
            last = over.is_set()
            async with following(house, "ann", task="task_a", last_id=cursor) as follower:
                enough = chance.randrange(40_000)
                if last:
                    head = await house.app.live.cursor()
                    await until(lambda: follower.parser.last_id == head)  # noqa: B023 - it is waited for here
                else:
                    await until(lambda: over.is_set() or len(follower.raw) > enough)  # noqa: B023 - it is waited for here
                for frame in list(follower.frames):
                    page.take(frame)
                cursor = follower.parser.last_id or cursor
            if last:
                break
            cuts += 1
        await recording
        final = (await client.get("/api/tasks/task_a?view=card")).json()
        assert not page.stale
        assert page.task["cards"] == final["cards"]
        assert {**page.task, "version": 0} == {**final, "version": 0}


# ── many ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Counted:
    """Counts how often something is drawn."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.draws = 0

    async def draw(self, actor: Actor, batch: Sequence[Recorded], **kept: Any) -> Any:
        self.draws += 1
        return await self.inner.draw(actor, batch, **kept)

    async def newly_waiting(self, batch: Sequence[Recorded]) -> Any:
        return await self.inner.newly_waiting(batch)

    async def waiting_count(self, actor: Actor) -> int:
        count: int = await self.inner.waiting_count(actor)
        return count


def _count(house: House) -> _Counted:
    counted = house.app.live._drawing = _Counted(house.app.live._drawing)  # type: ignore[assignment]  # a wrapper of the same shape
    return counted


async def test_many_who_see_the_same_get_the_same_bytes_drawn_once():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        counted = _count(house)
        cursor = await house.app.live.cursor()
        followers = [following(house, "ann", cursor=cursor) for _ in range(20)]
        opened = await asyncio.gather(*(f.__aenter__() for f in followers))
        await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1, text="once")
        await asyncio.gather(*(f.until("row") for f in opened))
        head = await house.app.live.cursor()
        await until(lambda: all(f.parser.last_id == head for f in opened))
        assert len({bytes(f.raw) for f in opened}) == 1
        assert counted.draws == 1
        await asyncio.gather(*(f.__aexit__(None, None, None) for f in followers))
        await until(lambda: house.app.live.subscribers == 0)


async def test_many_who_come_back_at_once_share_one_drawing():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        cursor = await house.app.live.cursor()
        await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1)
        counted = _count(house)
        followers = [following(house, "ann", cursor=cursor) for _ in range(20)]
        opened = await asyncio.gather(*(f.__aenter__() for f in followers))
        assert {tuple(c["id"] for c in f.named("card")) for f in opened} == {("inv_a",)}
        assert counted.draws == 1
        await asyncio.gather(*(f.__aexit__(None, None, None) for f in followers))


async def test_a_task_that_nobody_looks_at_is_not_drawn():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        await _a_run(house.desk, "task_b", ["inv_b"])
        counted = _count(house)
        async with following(house, "ann", task="task_a") as ann:
            await _say(house.desk, "task_b", "inv_b", Kind.PROGRESS, 1, order=1)
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1)
            await ann.until("card")
            assert counted.draws == 1


async def test_one_who_does_not_read_holds_up_nobody():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        address = httpx.URL(house.base)
        slow = socket.create_connection((address.host, address.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/stream HTTP/1.1\r\nHost: x\r\nX-Person: ann\r\n\r\n")
        await until(lambda: house.app.live.subscribers == 1)
        async with following(house, "ann") as ann:
            big = b'"' + b"x" * 20_000 + b'"'
            for number in range(120):
                await _say(house.desk, "task_a", "inv_a", Kind.OUTPUT, number, order=number, output=big)
            await ann.until("card", lambda c: c["output"]["order"] == 119)
        slow.close()
        await until(lambda: house.app.live.subscribers == 0)


async def test_one_who_lags_behind_the_log_is_asked_to_read_a_snapshot(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("toolwitness.server.audience._MOST_ENTRIES", 4)
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        live, sent, gate = house.app.live, [], asyncio.Event()

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))
            if len(sent) > 2:
                await gate.wait()

        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        stream = asyncio.create_task(live.serve(lambda: never, send, actor=PEOPLE["ann"]))
        await until(lambda: live.subscribers == 1)
        for number in range(20):
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, number, order=number)
            await until(lambda: live._position == number + 4)  # noqa: B023 - it is waited for here
        gate.set()
        await until(lambda: any(b"event: resync" in body for body in sent))
        await live.close()
        await stream


async def test_a_stream_whose_reader_goes_away_leaves_nothing_behind():
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        before = len(asyncio.all_tasks())
        for _ in range(5):
            async with following(house, "ann"):
                assert house.app.live.subscribers == 1
            await until(lambda: house.app.live.subscribers == 0)
        assert house.app.live._audiences == {}
        await house.app.live.close()
        await until(lambda: len(asyncio.all_tasks()) <= before)
        gc.collect()


# ── trouble ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_cannot_be_drawn_asks_for_a_snapshot_and_the_stream_lives_on(caplog: pytest.LogCaptureFixture):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        counted = _count(house)
        inner = counted.inner

        class Broken:
            async def draw(self, *_: object, **__: object) -> Any:
                raise ZeroDivisionError

            newly_waiting, waiting_count = inner.newly_waiting, inner.waiting_count

        cursor = await house.app.live.cursor()
        async with following(house, "ann") as ann, following(house, "ann", task="task_a") as one:
            counted.inner = Broken()
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1)
            assert (await ann.until("resync"))["cursor"] == await house.app.live.cursor()
            await one.until("resync")
            async with following(house, "ann", cursor=cursor) as back:
                await back.until("resync")
            counted.inner = inner
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 2, order=2)
            await ann.until("card", lambda c: c["progress"]["order"] == 2)
        assert "could not draw" in caplog.text


async def test_a_ledger_that_fails_for_a_while_is_followed_again(caplog: pytest.LogCaptureFixture):
    async with a_house() as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        ledger = house.desk.ledger
        original, failures = ledger.follow, [2]

        def follow(*, after: int = 0) -> Any:
            if failures[0]:
                failures[0] -= 1
                raise tw.core.errors.Unavailable("The disk is away.")
            return original(after=after)

        ledger.follow = follow  # type: ignore[method-assign]  # the fault that is tested
        house.app.live._retry_seconds = 0.01
        async with following(house, "ann") as ann:
            await _say(house.desk, "task_a", "inv_a", Kind.PROGRESS, 1, order=1)
            await ann.until("card", lambda c: c["progress"]["order"] == 1)
        assert failures == [0]
        assert "cannot read the ledger" in caplog.text


async def test_a_quiet_stream_is_kept_open_with_pings():
    async with a_house() as house:
        house.app.live._ping_seconds = 0.02
        async with following(house, "ann") as ann:
            assert ann.parser.retry == "1000"
            await until(lambda: ann.parser.pings >= 2)
            assert ann.frames == []


async def test_streams_end_when_the_server_wants_to_stop(monkeypatch: pytest.MonkeyPatch):
    async with a_house() as house:
        house.app.live._ping_seconds = 0.02
        async with following(house, "ann") as ann:
            monkeypatch.setattr("toolwitness.server.live.server_is_leaving", lambda: True)
            await until(lambda: ann.ended)
        assert house.app.live.subscribers == 0


async def test_streams_end_when_the_ledger_closes():
    async with a_house() as house:
        follower = following(house, "ann")
        ann = await follower.__aenter__()
        await house.desk.ledger.close()
        await until(lambda: ann.ended)
        await follower.__aexit__(None, None, None)


async def test_what_another_process_records_arrives(tmp_path: Path):
    file = tmp_path / "calls.db"
    async with a_house(str(file)) as house:
        await _a_run(house.desk, "task_a", ["inv_a"])
        async with following(house, "ann", task="task_a") as ann:
            code = f"""
import asyncio, toolwitness as tw
from tests.unit.server.test_live import _say
async def main():
    async with tw.open({str(file)!r}) as desk:
        for number in range(1, 31):
            await _say(desk, "task_a", "inv_a", "progress.reported", number, order=number, text="from elsewhere")
asyncio.run(main())
"""
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=subprocess.PIPE)
            card = await ann.until("card", lambda c: c["progress"] and c["progress"]["order"] == 30)
            _, said = await process.communicate()
            assert (process.returncode, said) == (0, b"")
            assert card["version"] == 32
        assert (await views.card(house.desk.place, "inv_a", PEOPLE["ann"])) | {"depth": 0} == card


async def test_the_same_client_may_watch_and_act_on_what_is_told_later():
    async with a_house() as house:
        booking = await a_booking(house.desk)
        async with following(house, "ann") as ann:
            house.desk.register.add(tw.service.record.Registration(source="provider:x", principal="ann"))
            said = event("effect.observed", booking.ended, booking.task, data={"effect": "late"})
            await (await house.of("ann")).post("/api/events", json=[said])
            card = await ann.until("card", lambda c: c["id"] == booking.ended)
            assert "late" in str(card)


async def test_a_server_with_open_streams_stops_when_it_is_told_to(tmp_path: Path):
    code = f"""
import uvicorn
from fastapi import FastAPI
import toolwitness as tw
outer = FastAPI()
outer.mount("/toolcalls", tw.open({str(tmp_path / "calls.db")!r}).asgi(authenticate=lambda _: tw.Actor(id="ann")))
uvicorn.run(outer, port=0, log_level="info")
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=subprocess.PIPE)
    assert process.stderr is not None
    port = 0
    while not port and (line := (await process.stderr.readline()).decode()):
        port = int(line.rpartition(":")[2].split()[0]) if "running on" in line else 0
    try:
        async with (
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
            client.stream("GET", "/toolcalls/api/stream") as stream,
        ):
            lines = stream.aiter_lines()
            assert (await anext(lines)).startswith("retry:")
            process.send_signal(signal.SIGINT)
            rest = [line async for line in lines]
            assert [line for line in rest if line and not line.startswith("id:")] == [], "the stream ends, and is not cut off"
        async with asyncio.timeout(10):
            await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
