"""The recorder at a real MCP server and at a real client, over both wire generations. Truth is written by the bodies themselves."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult, ToolAnnotations
from pydantic import BaseModel

import toolwitness as tw
from toolwitness.adapters.mcp import Recorder
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import Reconciliation, State
from toolwitness.policy.tool_policy import ToolPolicy

ANN = tw.Actor(id="ann", roles=frozenset({"finance", "approver"}))
BOB = tw.Actor(id="bob", roles=frozenset({"finance", "approver"}))
WIRES = ("legacy", "2026-07-28")


@pytest.fixture
async def desk() -> AsyncIterator[tw.Desk]:
    async with tw.open("memory:", sweep_seconds=0.02) as opened:
        yield opened


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Bench:
    """A server whose tools write what they really do."""

    def __init__(self) -> None:
        self.server: MCPServer[Any] = MCPServer("truth")
        self.truth: list[tuple[str, Any]] = []
        self.riding = asyncio.Event()
        self.thread_gate = threading.Event()
        self.failing = 0
        for tool in (self.flight, self.hotel, self.rail, self.pay, self.flaky, self.report):
            self.server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True))
        self.server.add_tool(self.book)  # it says nothing about itself

    def word(self, what: str, detail: Any = None) -> None:
        self.truth.append((what, detail))

    @property
    def words(self) -> list[str]:
        return [what for what, _ in self.truth]

    async def flight(self, origin: str, seats: int = 1) -> str:
        self.word("start flight", {"origin": origin, "seats": seats})
        self.word("end flight")
        return f"2 flights from {origin}"

    async def hotel(self, city: str) -> str:
        self.word("start hotel")
        raise ValueError("upstream 502")

    async def rail(self, line: str, ctx: Context) -> str:
        self.word("start rail")
        self.riding.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.word("cancelled rail")
            raise
        return "never"

    def pay(self, amount: int) -> str:
        self.word("start pay")
        self.thread_gate.wait(10)
        self.word("SIDE EFFECT pay", amount)
        return "paid"

    async def book(self, itinerary: str, total: float) -> str:
        self.word("start book", {"itinerary": itinerary, "total": total})
        return "PNR ABC123"

    async def flaky(self, n: int) -> str:
        self.word("start flaky")
        self.failing += 1
        if self.failing == 1:
            raise RuntimeError("first time")
        self.word("end flaky")
        return "second time"

    async def report(self, n: int, ctx: Context) -> str:
        self.word("start report")
        for step in range(n):
            await ctx.report_progress(step + 1, n, f"leg {step + 1}")
        self.word("end report")
        return "report ready"


async def records(desk: tw.Desk) -> list[InvocationRecord]:
    found: list[InvocationRecord] = []
    for task_id in reversed(await desk.ledger.tasks()):
        view = await desk.ledger.task(task_id)
        assert view is not None
        found += list(view.records.values())
    return found


async def by_tool(desk: tw.Desk) -> dict[str, InvocationRecord]:
    return {record.tool: record for record in await records(desk)}


async def until(desk: tw.Desk, holds: Callable[[dict[str, InvocationRecord]], bool]) -> dict[str, InvocationRecord]:
    """Wait until the ledger says so."""
    async with asyncio.timeout(20):
        head = await desk.ledger.head()
        found = await by_tool(desk)
        if holds(found):
            return found
        async for _ in desk.follow(after=head):
            found = await by_tool(desk)
            if holds(found):
                return found
    raise AssertionError("the ledger ended")


async def waiting(desk: tw.Desk, tool: str = "book") -> InvocationRecord:
    return (await until(desk, lambda now: tool in now and now[tool].open_approval is not None))[tool]


async def value(desk: tw.Desk, reference: Any) -> Any:
    raw = await desk.ledger.value(reference["ref"])
    assert raw is not None
    return json.loads(raw)


def said(result: Any) -> str:
    return " ".join(block.text for block in result.content)


def finance(desk: tw.Desk, tool: str = "book", **more: Any) -> None:
    desk.declare_policy(ToolPolicy(tool=tool, consequences=("financially-consequential",), approvers=("role:finance",), **more))


BOOK = {"itinerary": "IT-1", "total": 120.0}


# ── at the server: ok, parallel, cancel, thread ─────────────────────────────────────────────────────────────────────


async def test_a_call_that_ends_well_has_its_whole_path_on_record(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        result = await client.call_tool("flight", {"origin": "LHR"})

    record = (await by_tool(desk))["flight"]
    assert said(result) == "2 flights from LHR"
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "succeeded"]
    assert await value(desk, record.executed_inputs) == {"origin": "LHR", "seats": 1} == bench.truth[0][1]
    assert record.outcome is not None
    assert await value(desk, record.outcome.data["result"]) == "2 flights from LHR"
    assert "policy-unobserved" in record.findings
    assert await desk.verify() == []


async def test_of_three_parallel_calls_one_fails_one_is_cancelled_alone_and_the_third_is_untouched(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        calls = asyncio.gather(
            client.call_tool("flight", {"origin": "LHR"}),
            client.call_tool("hotel", {"city": "Rome"}),
            client.call_tool("rail", {"line": "X"}),
        )
        await bench.riding.wait()
        found = await by_tool(desk)
        await desk.request_cancellation(found["rail"].id, by=ANN, reason="too slow")
        flight, hotel, rail = await calls

    after = await by_tool(desk)
    assert {tool: str(record.state) for tool, record in after.items()} == {"flight": "succeeded", "hotel": "failed", "rail": "cancelled"}
    closure = after["rail"].closure
    assert closure is not None
    assert (closure.initiator, closure.reason, str(closure.termination)) == ("ann", "too slow", "unwound")
    assert (said(flight), hotel.is_error, rail.is_error) == ("2 flights from LHR", True, True)
    assert said(rail) == "The call was cancelled: too slow."
    assert sorted(bench.words) == ["cancelled rail", "end flight", "start flight", "start hotel", "start rail"]


async def test_a_client_that_cancels_its_request_ends_an_async_body_and_is_seen_to(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client, anyio.create_task_group() as group:
        async with anyio.create_task_group() as one:
            one.start_soon(client.call_tool, "rail", {"line": "X"})
            await bench.riding.wait()
            one.cancel_scope.cancel()
        found = await until(desk, lambda now: now["rail"].state is State.CANCELLED)
        group.cancel_scope.cancel()

    assert found["rail"].closure is not None
    assert str(found["rail"].closure.termination) == "unwound"
    assert found["rail"].reconciliation is Reconciliation.UNKNOWN
    assert bench.words == ["start rail", "cancelled rail"]


async def test_a_threaded_tool_stays_running_when_its_client_cancels_and_its_late_effect_is_the_truth(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        async with anyio.create_task_group() as one:
            one.start_soon(client.call_tool, "pay", {"amount": 5})
            await until(desk, lambda now: "pay" in now and now["pay"].state is State.RUNNING)
            one.cancel_scope.cancel()
        during = (await until(desk, lambda now: "waiter-gone" in now["pay"].findings))["pay"]
        assert (str(during.state), during.cancel_support) == ("running", "thread")
        assert "SIDE EFFECT pay" not in bench.words
        bench.thread_gate.set()
        after = (await until(desk, lambda now: now["pay"].state is State.SUCCEEDED))["pay"]

    assert bench.words == ["start pay", "SIDE EFFECT pay"]
    assert after.outcome is not None
    assert await value(desk, after.outcome.data["result"]) == "paid"


async def test_a_retry_is_another_call_and_both_ends_are_on_record(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        first = await client.call_tool("flaky", {"n": 1})
        second = await client.call_tool("flaky", {"n": 1})

    assert (first.is_error, second.is_error) == (True, False)
    assert [str(record.state) for record in await records(desk)] == ["failed", "succeeded"]
    assert bench.words == ["start flaky", "start flaky", "end flaky"]


async def test_what_one_client_asks_for_is_one_task_and_nothing_of_it_is_kept_in_memory(desk: tw.Desk, wire: str) -> None:
    bench, recorder = Bench(), Recorder(desk)
    async with Client(recorder.serve(bench.server), mode=wire) as client:
        await asyncio.gather(*(client.call_tool("flight", {"origin": str(n)}) for n in range(20)))

    assert len({record.task_id for record in await records(desk)}) == 1
    assert len(await records(desk)) == 20
    assert recorder.in_hand == 0


async def test_refused_arguments_and_unknown_tools_start_nothing(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        wrong = await client.call_tool("flight", {"origin": "LHR", "seats": "many"})
        unknown = await client.call_tool("teleport", {})

    found = await by_tool(desk)
    assert (wrong.is_error, unknown.is_error, bench.words) == (True, True, [])
    for tool, category in (("flight", "invalid-input"), ("teleport", "unknown-tool")):
        record = found[tool]
        assert record.outcome is not None
        assert (str(record.state), record.outcome.data["category"], record.starts) == ("failed", category, [])
        assert record.reconciliation is Reconciliation.NOT_EXECUTED


async def test_progress_is_on_record_and_reaches_the_client(desk: tw.Desk, wire: str) -> None:
    bench, heard = Bench(), list[float]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        await client.call_tool("report", {"n": 3}, progress_callback=hear)

    record = (await by_tool(desk))["report"]
    assert [str(move.target) for move in record.moves] == ["proposed", "running", "streaming", "succeeded"]
    assert (record.progress_order, heard) == (3, [1, 2, 3])


# ── at the server: approvals ────────────────────────────────────────────────────────────────────────────────────────


async def test_an_approval_is_answered_at_the_desk_and_the_request_waits_for_it(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        record = await waiting(desk)
        assert bench.words == []
        await desk.approve(record.id, by=ANN)
        assert said(await call) == "PNR ABC123"

    after = (await by_tool(desk))["book"]
    answer = after.approvals[0].answer
    assert answer is not None
    assert (str(after.state), answer.actor, after.claim is not None, bench.words) == ("succeeded", "ann", True, ["start book"])
    with pytest.raises(tw.NotPermitted):
        await desk.approve(record.id, by=BOB)


@pytest.mark.parametrize("how", ["deny", "dismiss", "withdraw"])
async def test_a_call_that_is_not_approved_does_not_run_and_its_client_is_told_in_words(desk: tw.Desk, how: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server)) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        record = await waiting(desk)
        await getattr(desk, how)(record.id, by=ANN, reason="too dear")
        result = await call

    after = (await by_tool(desk))["book"]
    assert after.closure is not None
    kind = {"deny": "denied", "dismiss": "dismissed", "withdraw": "withdrawn"}[how]
    assert (str(after.state), str(after.closure.kind), bench.words) == ("cancelled", kind, [])
    assert result.is_error
    assert said(result).startswith("The call was not run: ")
    assert "too dear" in said(result)


async def test_an_approval_that_nobody_gives_expires_and_a_late_one_runs_nothing(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk, approval_seconds=0.05)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        result = await client.call_tool("book", BOOK)

    after = (await by_tool(desk))["book"]
    assert (str(after.state), bench.words) == ("expired", [])
    assert "deadline passed" in said(result)
    with pytest.raises(tw.NotPermitted):
        await desk.approve(after.id, by=ANN)


async def test_a_client_that_stops_waiting_withdraws_its_request_and_a_late_approval_runs_nothing(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        async with anyio.create_task_group() as one:
            one.start_soon(client.call_tool, "book", BOOK)
            record = await waiting(desk)
            one.cancel_scope.cancel()
        after = (await until(desk, lambda now: now["book"].state is State.CANCELLED))["book"]
        with pytest.raises(tw.NotPermitted):
            await desk.approve(record.id, by=ANN)

    assert after.closure is not None
    assert (str(after.closure.kind), bench.words) == ("withdrawn", [])


async def test_an_edited_approval_runs_the_edited_inputs_and_both_are_on_record(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        record = await waiting(desk)
        await desk.edit_inputs(record.id, {"total": 99.0}, by=ANN)
        record = await waiting(desk)
        await desk.approve(record.id, by=ANN)
        await call

    after = (await by_tool(desk))["book"]
    assert bench.truth == [("start book", {"itinerary": "IT-1", "total": 99.0})]
    assert await value(desk, after.executed_inputs) == {"itinerary": "IT-1", "total": 99.0}
    assert await value(desk, after.inputs_history[0]) == BOOK


async def test_the_same_request_again_needs_an_approval_of_its_own(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        await desk.approve((await waiting(desk)).id, by=ANN)
        await call
        again = asyncio.create_task(client.call_tool("book", BOOK))
        await desk.deny((await waiting(desk)).id, by=ANN, reason="once is enough")
        assert (await again).is_error

    assert bench.words == ["start book"]
    assert [str(record.state) for record in await records(desk)] == ["succeeded", "cancelled"]


async def test_of_two_people_who_answer_at_once_one_wins_and_the_body_runs_once(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    finance(desk)
    async with Client(Recorder(desk).serve(bench.server), mode=wire) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        record = await waiting(desk)
        answers = await asyncio.gather(desk.approve(record.id, by=ANN), desk.deny(record.id, by=BOB), return_exceptions=True)
        await call

    after = (await by_tool(desk))["book"]
    assert sum(isinstance(one, BaseException) for one in answers) == 1
    assert (len(bench.words), str(after.state)) in {(1, "succeeded"), (0, "cancelled")}


# ── at the server: questions ────────────────────────────────────────────────────────────────────────────────────────


class Confirm(BaseModel):
    confirm: bool


async def test_a_question_in_the_middle_of_a_body_is_shown_while_it_waits(desk: tw.Desk) -> None:
    bench, seen = Bench(), list[Any]()

    @bench.server.tool()
    async def ask(what: str, ctx: Context) -> str:
        bench.word("start ask")
        answer = await ctx.elicit(f"{what}?", Confirm)
        bench.word("end ask", answer.action)
        return answer.action

    async def answer(context: Any, params: Any) -> ElicitResult:
        seen.append((await by_tool(desk))["ask"])
        return ElicitResult(action="accept", content={"confirm": True})

    async with Client(Recorder(desk).serve(bench.server), mode="legacy", elicitation_callback=answer) as client:
        assert said(await client.call_tool("ask", {"what": "Book"})) == "accept"

    after = (await by_tool(desk))["ask"]
    assert (str(seen[0].state), seen[0].waits_for_person) == ("running", True)
    assert (str(after.state), after.waits_for_person, bench.words) == ("succeeded", False, ["start ask", "end ask"])


async def test_a_body_that_gives_back_a_question_is_one_call_over_two_requests(desk: tw.Desk) -> None:
    bench, seen = Bench(), list[Any]()
    question = ElicitRequest(
        params=ElicitRequestFormParams(
            message="Book?", requested_schema={"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
        )
    )

    @bench.server.tool()
    async def ask(what: str, ctx: Context) -> str | InputRequiredResult:
        bench.word("entered ask")
        if not ctx.input_responses:
            return InputRequiredResult(input_requests={"confirm": question}, request_state="round-1")
        return "booked"

    async def answer(context: Any, params: Any) -> ElicitResult:
        seen.append((await by_tool(desk))["ask"])
        return ElicitResult(action="accept", content={"confirm": True})

    async with Client(Recorder(desk).serve(bench.server), mode="2026-07-28", elicitation_callback=answer) as client:
        assert said(await client.call_tool("ask", {"what": "Book"})) == "booked"

    found = await records(desk)
    assert (str(seen[0].state), seen[0].waits_for_person) == ("partially_complete", True)
    assert [(record.tool, str(record.state), len(record.starts)) for record in found] == [("ask", "succeeded", 1)]
    assert "duplicate-start" not in found[0].findings
    assert bench.words == ["entered ask", "entered ask"]


# ── at the client ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stranger_s_tool_that_nobody_declared_waits_for_an_approval_before_its_request_leaves(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        call = asyncio.create_task(client.call_tool("flight", {"origin": "LHR"}))
        record = await waiting(desk, "flight")
        assert bench.words == []
        await desk.approve(record.id, by=ANN)
        assert said(await call) == "2 flights from LHR"

    after = (await by_tool(desk))["flight"]
    assert (str(after.state), after.starts, after.claim is not None) == ("succeeded", [], True)
    assert "start-not-recorded" in after.findings


async def test_a_tool_without_annotations_raises_what_was_declared_as_harmless(desk: tw.Desk) -> None:
    bench = Bench()
    desk.declare_policy(ToolPolicy(tool="book", consequences=("read-only",)))
    async with Recorder(desk).watch(Client(bench.server)) as client:
        call = asyncio.create_task(client.call_tool("book", BOOK))
        record = await waiting(desk)
        assert bench.words == []
        await desk.deny(record.id, by=ANN, reason="no")
        assert (await call).is_error

    assert bench.words == []
    assert "destructive" in [str(one) for one in record.consequences]


async def test_a_tool_that_says_later_that_it_is_destructive_is_asked_about_from_then_on(desk: tw.Desk) -> None:
    bench = Bench()
    mandate(desk, "flight", "change")

    @bench.server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def change(ctx: Context) -> str:
        bench.server.remove_tool("flight")
        bench.server.add_tool(bench.flight, annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True))
        await ctx.request_context.session.send_tool_list_changed()
        return "changed"

    async with Recorder(desk).watch(Client(bench.server, mode="legacy")) as client:
        assert not (await client.call_tool("flight", {"origin": "LHR"})).is_error
        await client.call_tool("change", {})
        call = asyncio.create_task(client.call_tool("flight", {"origin": "LHR"}))
        await desk.deny((await waiting(desk, "flight")).id, by=ANN, reason="not any more")
        assert (await call).is_error

    assert bench.words == ["start flight", "end flight"]


async def test_a_request_that_is_out_is_cancelled_alone_and_nothing_is_acknowledged(desk: tw.Desk, wire: str) -> None:
    mandate(desk, "pay", "flight")
    bench = Bench()
    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        pay = asyncio.create_task(client.call_tool("pay", {"amount": 5}))
        await asyncio.to_thread(wait_for, lambda: "start pay" in bench.words)
        out = (await by_tool(desk))["pay"]
        assert (str(out.state), out.starts) == ("proposed", [])
        await desk.request_cancellation(out.id, by=ANN, reason="too dear")
        result = await pay
        other = await client.call_tool("flight", {"origin": "LHR"})
        after = await by_tool(desk)
        bench.thread_gate.set()
        await asyncio.to_thread(wait_for, lambda: "SIDE EFFECT pay" in bench.words)

    assert (result.is_error, other.is_error) == (True, False)
    assert "does not say whether it took effect" in said(result)
    assert after["pay"].state is State.PROPOSED
    assert after["pay"].closure is None
    assert {"outcome-unknown", "waiter-gone"} <= after["pay"].findings.keys()
    assert after["pay"].reconciliation is Reconciliation.UNKNOWN
    assert after["flight"].state is State.SUCCEEDED


def mandate(desk: tw.Desk, *tools: str) -> None:
    """Let these tools run without an approval for each call."""
    for tool in tools:
        desk.declare_policy(ToolPolicy(tool=tool, consequences=("externally-visible",), standing_authorization="the tests' own mandate"))


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait in a thread until a body has written a word."""
    tick = threading.Event()
    for _ in range(2000):
        if holds():
            return
        tick.wait(0.005)
    raise AssertionError("it never came")


async def test_progress_is_the_first_sign_of_a_start_at_the_client(desk: tw.Desk, wire: str) -> None:
    mandate(desk, "report")
    bench, heard = Bench(), list[float]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        await client.call_tool("report", {"n": 3}, progress_callback=hear)

    record = (await by_tool(desk))["report"]
    assert [str(move.target) for move in record.moves] == ["proposed", "streaming", "succeeded"]
    assert heard == [1, 2, 3]


async def test_a_time_out_of_the_client_is_a_lost_waiter_and_no_end(desk: tw.Desk, wire: str) -> None:
    mandate(desk, "rail")
    bench = Bench()
    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        with pytest.raises(MCPError, match=r"(?i)timed out"):
            await client.call_tool("rail", {"line": "X"}, read_timeout_seconds=0.05)

    record = (await by_tool(desk))["rail"]
    assert record.state is State.PROPOSED
    assert {"outcome-unknown", "waiter-gone"} <= record.findings.keys()


async def test_failures_are_as_the_server_tells_them(desk: tw.Desk, wire: str) -> None:
    mandate(desk, "hotel", "flight")
    bench = Bench()
    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        assert (await client.call_tool("hotel", {"city": "Rome"})).is_error
        assert (await client.call_tool("flight", {"seats": "x"})).is_error

    found = await by_tool(desk)
    categories = {tool: record.outcome.data["category"] for tool, record in found.items() if record.outcome is not None}
    assert categories == {"hotel": "tool-error", "flight": "invalid-input"}


async def test_a_caller_that_stops_waiting_leaves_an_unknown_outcome_and_the_server_is_told(desk: tw.Desk, wire: str) -> None:
    bench = Bench()
    mandate(desk, "rail")
    async with Recorder(desk).watch(Client(bench.server, mode=wire)) as client:
        async with anyio.create_task_group() as one:
            one.start_soon(client.call_tool, "rail", {"line": "X"})
            await bench.riding.wait()
            one.cancel_scope.cancel()
        await asyncio.to_thread(wait_for, lambda: "cancelled rail" in bench.words)

    record = (await by_tool(desk))["rail"]
    assert (record.starts, record.closure) == ([], None)
    assert {"outcome-unknown", "waiter-gone"} <= record.findings.keys()


async def test_a_session_is_watched_like_a_client_and_its_rounds_are_one_call(desk: tw.Desk) -> None:
    bench = Bench()
    mandate(desk, "ask")

    @bench.server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def ask(what: str, ctx: Context) -> str | InputRequiredResult:
        asked = ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
        questions = {"confirm": ElicitRequest(params=asked)}
        return "booked" if ctx.input_responses else InputRequiredResult(input_requests=questions, request_state="r1")

    async with Client(bench.server, mode="2026-07-28") as client:
        session = Recorder(desk).watch(client.session)
        first = await session.call_tool("ask", {"what": "Book"}, allow_input_required=True)
        during = (await by_tool(desk))["ask"]
        answers = {"confirm": ElicitResult(action="accept")}
        last = await session.call_tool("ask", {"what": "Book"}, request_state=first.request_state, input_responses=answers)

    assert (during.waits_for_person, said(last)) == (True, "booked")
    assert [str(record.state) for record in await records(desk)] == ["succeeded"]


async def test_a_question_of_the_server_is_shown_at_the_call_that_is_out(desk: tw.Desk) -> None:
    mandate(desk, "ask")
    bench, seen = Bench(), list[Any]()

    @bench.server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    async def ask(what: str, ctx: Context) -> str:
        return (await ctx.elicit(f"{what}?", Confirm)).action

    async def answer(context: Any, params: Any) -> ElicitResult:
        seen.append((await by_tool(desk))["ask"])
        return ElicitResult(action="decline")

    client = Client(bench.server, mode="legacy", elicitation_callback=answer)
    async with Recorder(desk).watch(client) as watched:
        assert said(await watched.call_tool("ask", {"what": "Book"})) == "decline"

    assert (str(seen[0].state), seen[0].waits_for_person) == ("awaiting_input", True)
    assert (await by_tool(desk))["ask"].state is State.SUCCEEDED
