"""Our record in other people's streams: what is emitted, in which order, and that nothing of theirs is touched."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

import toolwitness as tw
from toolwitness.adapters.ag_ui import emitter as ag_ui
from toolwitness.adapters.ai_sdk import emitter as ai_sdk
from toolwitness.emitting.moves import KEY, Moves
from toolwitness.emitting.numbers import for_scripts
from toolwitness.service import views
from toolwitness.wire.framing import SseDecoder

ANN = tw.Actor(id="ann", roles=frozenset({"finance"}))
STRANGER = tw.Actor(id="eve", tenant="another")


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


def frames(raw: bytes) -> list[Any]:
    decoder = SseDecoder()
    found = [frame.data for frame in decoder.feed(raw)]
    assert decoder.close() is None
    return [data if data == "[DONE]" else json.loads(data) for data in found]


async def gathered(stream: AsyncIterator[bytes]) -> list[Any]:
    return frames(b"".join([chunk async for chunk in stream]))


def declared(desk: tw.Desk, gate: asyncio.Event) -> dict[str, Any]:
    @desk.tool(consequences=[tw.READ_ONLY])
    async def search(city: str) -> dict[str, Any]:
        return {"city": city, "big": 9007199254740993123}

    @desk.tool(consequences=[tw.READ_ONLY])
    async def broken() -> str:
        raise RuntimeError("the address of the secret server")

    @desk.tool(consequences=[tw.READ_ONLY])
    async def slow() -> str:
        await gate.wait()
        return "never"

    @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"], scope=["total"])
    async def pay(total: str) -> str:
        return f"paid {total}"

    return {"search": search, "broken": broken, "slow": slow, "pay": pay}


async def waits(desk: tw.Desk, tool: str, state: str) -> str:
    async for _ in desk.follow():
        for task_id in await desk.ledger.tasks():
            view = await desk.ledger.task(task_id)
            assert view is not None
            for record in view.records.values():
                if record.tool == tool and record.state == state:
                    return record.id
    raise AssertionError("the ledger ended")


async def test_a_desk_without_a_framework_streams_native_parts_where_they_are_true_and_ours_for_everything(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:

        async def work() -> None:
            calls = [trip.call(tools["search"], city="Rome"), trip.call(tools["broken"]), trip.call(tools["slow"])]
            calls.append(trip.call(tools["pay"], total="12.50"))
            await desk.deny(await waits(desk, "pay", "awaiting_approval"), by=ANN, reason="too much")
            await desk.request_cancellation(await waits(desk, "slow", "running"), by=ANN, reason="too slow")
            await asyncio.gather(*calls)

        said = await gathered(ai_sdk.Emitter(desk, trip.id, actor=ANN).stream(work(), message_id="m-1"))

    assert said[0] == {"type": "start", "messageId": "m-1"}
    assert said[-2:] == [{"type": "finish"}, "[DONE]"]
    tools_of = {chunk["toolCallId"]: chunk["toolName"] for chunk in said[:-1] if chunk["type"] == "tool-input-available"}
    native = [(tools_of[chunk["toolCallId"]], chunk["type"]) for chunk in said[:-1] if chunk["type"].startswith("tool-")]
    told = {tool: [kind for name, kind in native if name == tool] for tool in tools_of.values()}
    assert told == {
        "search": ["tool-input-available", "tool-output-available"],
        "broken": ["tool-input-available", "tool-output-error"],
        "slow": ["tool-input-available"],
        "pay": ["tool-input-available", "tool-approval-request", "tool-output-denied"],
    }
    (failure,) = [chunk["errorText"] for chunk in said[:-1] if chunk["type"] == "tool-output-error"]
    assert "secret" not in failure

    last = {chunk["id"]: chunk["data"] for chunk in said[:-1] if chunk["type"] == ai_sdk.PART}
    assert len(last) == 4
    for invocation_id, payload in last.items():
        assert payload["document"] == for_scripts(json.loads(json.dumps(await views.document(desk.place, invocation_id, ANN))))
        assert payload["card"]["id"] == payload["invocationId"] == invocation_id
    states = sorted(payload["card"]["state"] for payload in last.values())
    assert states == ["cancelled", "cancelled", "failed", "succeeded"]


async def test_versions_of_one_call_never_go_back_and_the_last_one_is_the_ledgers(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:
        said = await gathered(ai_sdk.Emitter(desk, trip.id, actor=ANN).stream(trip.call(tools["search"], city="Rome"), message_id="m"))
    versions = [chunk["data"]["version"] for chunk in said[:-1] if chunk["type"] == ai_sdk.PART]

    assert versions == sorted(set(versions))
    assert versions[-1] == (await desk.record(said[1]["toolCallId"])).version


async def test_a_run_that_breaks_says_so_without_its_details(desk: tw.Desk) -> None:
    async def breaks() -> None:
        raise ValueError("the password is hunter2")

    async with desk.task("The trip") as trip:
        stream = ai_sdk.Emitter(desk, trip.id, actor=ANN).stream(breaks(), message_id="m")
        said = await anext(stream) + await anext(stream)
        with pytest.raises(ValueError, match="hunter2"):
            await anext(stream)

    assert [chunk["type"] for chunk in frames(said)] == ["start", "error"]
    assert b"hunter2" not in said


async def theirs(*chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


async def test_a_frameworks_own_chunks_pass_unchanged_and_done_comes_last(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:
        await trip.call(tools["search"], city="Rome")
        framed = b'data: {"type":"text-delta",  "id":"t","delta":"\\u2028 x"}\n\n'
        chunks = [{"type": "start"}, framed, {"type": "finish"}, b"data: [DONE]\n\n"]
        raw = b"".join([one async for one in ai_sdk.Emitter(desk, trip.id, actor=ANN).beside(theirs(*chunks))])

    assert framed in raw
    said = frames(raw)
    assert [chunk for chunk in said if chunk == "[DONE]"] == said[-1:]
    assert [chunk["type"] for chunk in said[:-1] if chunk["type"] != ai_sdk.PART] == ["start", "text-delta", "finish"]
    assert sum(chunk["type"] == ai_sdk.PART for chunk in said[:-1]) == 1


async def test_what_moves_after_a_frameworks_end_still_arrives_while_the_stream_settles(desk: tw.Desk) -> None:
    gate = asyncio.Event()
    tools = declared(desk, gate)
    async with desk.task("The trip") as trip:
        call = asyncio.ensure_future(trip.call(tools["slow"]))
        await waits(desk, "slow", "running")
        stream = ai_sdk.Emitter(desk, trip.id, actor=ANN).beside(theirs({"type": "start"}, {"type": "finish"}), settle_seconds=0.5)
        chunks: list[bytes] = []
        async for chunk in stream:
            chunks.append(chunk)
            if b'"finish"' in chunk:
                gate.set()
        await call

    said = frames(b"".join(chunks))
    places = [place for place, chunk in enumerate(said[:-1]) if chunk["type"] == ai_sdk.PART]
    assert said[places[-1]]["data"]["card"]["state"] == "succeeded"
    assert places[-1] > [chunk["type"] for chunk in said[:-1]].index("finish")


async def test_a_reader_of_another_tenant_gets_nothing(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:
        await trip.call(tools["search"], city="Rome")
        stream = ai_sdk.Emitter(desk, trip.id, actor=STRANGER).beside(theirs({"type": "start"}, {"type": "finish"}))
        with pytest.raises(tw.InvalidInput, match="No invocation"):
            await gathered(stream)


async def test_who_comes_back_gets_what_moved_meanwhile(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:
        await trip.call(tools["search"], city="Rome")
        seen = await desk.ledger.head()
        await trip.call(tools["search"], city="Oslo")
        moves = Moves(desk, trip.id, actor=ANN).follow(after=seen)
        first = await anext(moves)
        await moves.aclose()

    assert first.inputs == {"city": "Oslo"}


async def test_ag_ui_gets_a_custom_event_at_every_move_and_the_record_in_the_metadata_of_what_ends_something(desk: tw.Desk) -> None:
    tools = declared(desk, asyncio.Event())
    async with desk.task("The trip") as trip:
        outcome = await trip.call(tools["search"], city="Rome")
        result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": outcome.record.id, "content": "2", "metadata": {"theirs": 1}}
        started = b'data: {"type":"RUN_STARTED", "threadId":"t","runId":"r"}\n\n'
        events = [started, result, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]
        raw = b"".join([one async for one in ag_ui.Emitter(desk, trip.id, actor=ANN).beside(theirs(*events))])
        document = for_scripts(json.loads(json.dumps(await views.document(desk.place, outcome.record.id, ANN))))

    assert raw.startswith(started)
    said = frames(raw)
    assert [event["type"] for event in said] == ["RUN_STARTED", "CUSTOM", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    assert (said[1]["name"], said[1]["value"]["document"]) == (ag_ui.NAME, document)
    assert said[2]["metadata"]["theirs"] == 1
    assert said[2]["metadata"][KEY]["document"] == document
    assert [one["document"] for one in said[3]["metadata"][KEY]] == [document]


async def test_ag_ui_gets_the_last_moves_before_the_runs_end_since_nothing_may_follow_it(desk: tw.Desk) -> None:
    gate = asyncio.Event()
    tools = declared(desk, gate)
    async with desk.task("The trip") as trip:
        call = asyncio.ensure_future(trip.call(tools["slow"]))
        await waits(desk, "slow", "running")

        async def events() -> AsyncIterator[Any]:
            yield {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
            gate.set()
            await call
            yield {"type": "RUN_ERROR", "message": "stopped"}

        said = await gathered(ag_ui.Emitter(desk, trip.id, actor=ANN).beside(events()))

    assert said[-1]["type"] == "RUN_ERROR"
    assert [event["value"]["card"]["state"] for event in said if event["type"] == "CUSTOM"][-1] == "succeeded"
