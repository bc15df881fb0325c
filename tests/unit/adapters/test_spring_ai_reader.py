"""Spring AI's documented shapes are read for what they promise: an observation that names no call is nobody's where two are open."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.adapters.spring_ai import TABLE, Reader
from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Row = dict[str, Any]
PAY = '{"amount": 120}'


def asked(*calls: tuple[str, str, str], **more: Any) -> Row:
    """A chat response as Jackson writes it: ``result`` is the first of ``results`` once more."""
    told = [{"id": call_id, "type": "function", "name": name, "arguments": arguments} for call_id, name, arguments in calls]
    generation = {"metadata": {}, "output": {"messageType": "ASSISTANT", "text": "", "toolCalls": told, "media": [], "metadata": {}}}
    return {"type": "chat.response", "response": {"result": generation, "results": [generation], "metadata": {}}, **more}


def answered(*responses: tuple[str, str, str], **more: Any) -> Row:
    told = [{"id": call_id, "name": name, "responseData": content} for call_id, name, content in responses]
    return {"type": "tool.response", "message": {"messageType": "TOOL", "metadata": {}, "responses": told}, **more}


def observed(event: str, tool: str = "pay", *, error: Any = None, row: Row | None = None, **context: Any) -> Row:
    told: Row = {"type": "observation", "name": "spring.ai.tool", "event": event, **(row or {})}
    return {**told, "context": {"toolDefinition": {"name": tool}, **context}, **({"error": error} if error else {})}


async def replayed(*rows: Row) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    lines = [json.dumps(one).encode() for one in rows]
    result = await replay(lines, reader=reader_for("spring-ai", "capture:x"), ledger=ledger, clock=clock, file="x", format_name="spring-ai")
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}
    for told in result["events"]:
        assert told["type"].removeprefix("toolcall.") in table[told["adapter"].split("#")[1]]
    return result


async def calls(*rows: Row) -> list[tuple[str, str, int, set[str]]]:
    """Each call: its tool, its state, how often it was seen to start, and what is found about it."""
    result = await replayed(*rows)
    starts = [e["subject"] for e in result["events"] if e["type"].endswith("execution.started")] if result["events"] else []
    return [
        (d["tool"], d["state"], starts.count(d["identity"]["invocationId"]), {f["code"] for f in d["findings"]})
        for d in result["invocations"]
    ]


async def states(*rows: Row) -> list[str]:
    return [state for _, state, _, _ in await calls(*rows)]


ONE = asked(("c1", "pay", PAY))


async def test_a_call_goes_from_the_model_through_its_observation_to_its_answer() -> None:
    start, stop = observed("start", toolCallArguments=PAY), observed("stop", toolCallResult='{"ref": "p1"}')

    assert await states(ONE) == ["proposed"]
    assert await states(ONE, start) == ["running"]
    assert await states(ONE, start, stop) == ["succeeded"]
    ((_, state, starts, found),) = await calls(ONE, start, stop, answered(("c1", "pay", '{"ref": "p1"}')))
    assert (state, starts) == ("succeeded", 1)
    assert "executed-inputs-differ" not in found
    assert not {code for code in found if "duplicate" in code or "contradict" in code}


async def test_a_stop_without_content_which_is_the_default_says_nothing_and_the_answer_does() -> None:
    assert await states(ONE, observed("start"), observed("stop")) == ["running"]
    assert await states(ONE, observed("start"), observed("stop"), answered(("c1", "pay", '"paid"'))) == ["succeeded"]


@pytest.mark.parametrize(
    "said", ["upstream 502", "", "Error: no such flight", "404 not found", '"AbortError: stopped"', '{"status":"cancelled"}']
)
async def test_there_is_no_error_flag_so_a_text_that_may_be_an_exceptions_message_is_doubted(said: str) -> None:
    for ending in (answered(("c1", "pay", said)), observed("stop", toolCallResult=said)):
        ((_, state, _, found),) = await calls(ONE, observed("start"), ending)

        assert state == "running"
        assert "outcome-unknown" in found


@pytest.mark.parametrize("said", ['"Done"', "null", "[]", "120", '{"id": 9007199254740993123}', '"2 cancelled flights"'])
async def test_what_the_default_converter_writes_is_a_result(said: str) -> None:
    assert await states(ONE, observed("start"), answered(("c1", "pay", said))) == ["succeeded"]


async def test_an_exception_that_escapes_is_a_failure_and_its_stop_is_no_success() -> None:
    thrown = observed("error", error={"type": "java.lang.IllegalStateException", "message": "card refused"})

    result = await replayed(ONE, observed("start"), thrown, observed("stop"))

    (document,) = result["invocations"]
    assert (document["state"], document["errors"]["safeCategory"]) == ("failed", "IllegalStateException")


@pytest.mark.parametrize("kind", ["java.util.concurrent.CancellationException", "java.lang.InterruptedException", "a.TimeoutException"])
async def test_a_wait_that_ended_is_no_failure_and_no_cancellation_of_the_call(kind: str) -> None:
    ((_, state, _, found),) = await calls(ONE, observed("start"), observed("error", error={"type": kind, "message": ""}))

    assert state == "running"
    assert "outcome-unknown" in found


async def test_an_observation_without_an_id_is_nobodys_where_two_calls_of_its_tool_are_open() -> None:
    two = asked(("c1", "pay", PAY), ("c2", "pay", PAY), ("c3", "look", "{}"))

    found = await calls(two, observed("start"), observed("start", "look"), observed("stop", toolCallResult="1"))

    assert [(tool, state, starts) for tool, state, starts, _ in found] == [
        ("pay", "proposed", 0),
        ("pay", "proposed", 0),
        ("look", "running", 1),
    ]


async def test_an_observation_of_a_newer_version_names_its_call_in_its_context_or_its_keys() -> None:
    two = asked(("c1", "pay", PAY), ("c2", "pay", PAY))
    keys = {"highCardinalityKeyValues": [{"key": "spring.ai.tool.call.id", "value": "c2"}]}

    found = await calls(
        two, observed("start", row=keys), observed("start", toolCallId="c1"), observed("stop", toolCallId="c1", toolCallResult="1")
    )

    assert [(state, starts) for _, state, starts, _ in found] == [("succeeded", 1), ("running", 1)]


async def test_an_observation_with_an_id_of_its_own_ends_what_it_began() -> None:
    begun = observed("start", row={"id": "span-1"})

    found = await calls(ONE, begun, asked(("c2", "pay", "{}")), observed("stop", row={"id": "span-1"}, toolCallResult="1"))

    assert [state for _, state, _, _ in found] == ["succeeded", "proposed"]


async def test_other_arguments_are_another_call_and_empty_ones_are_an_empty_object() -> None:
    assert await states(ONE, observed("start", toolCallArguments='{"amount": 9}')) == ["proposed"]
    ((_, state, _, found),) = await calls(asked(("c1", "pay", "")), observed("start", toolCallArguments="{}"))
    assert (state, "executed-inputs-differ" in found) == ("running", False)
    ((_, state, _, found),) = await calls(ONE, observed("start", toolCallId="c1", toolCallArguments='{"amount": 9}'))
    assert (state, "executed-inputs-differ" in found) == ("running", True)


async def test_a_cancelled_flux_has_lost_a_waiter_and_the_late_answer_is_the_truth() -> None:
    cancel = {"type": "flux", "signal": "cancel"}

    assert await states(ONE, observed("start"), cancel) == ["running"]
    result = await replayed(ONE, observed("start"), cancel, observed("stop", toolCallResult="1"))
    assert result["invocations"][0]["state"] == "succeeded"
    assert "toolcall.waiter.released" in [e["type"] for e in result["events"]]


async def test_a_flux_of_one_conversation_says_nothing_about_another() -> None:
    two = asked(("c1", "pay", PAY), conversationId="a"), asked(("c2", "pay", "{}"), conversationId="b")

    scoped = await replayed(*two, {"type": "flux", "signal": "cancel", "conversationId": "b"})
    unscoped = await replayed(*two, {"type": "flux", "signal": "cancel"})

    def released(result: dict[str, Any]) -> list[str]:
        return [e["subject"] for e in result["events"] if e["type"].endswith("waiter.released")]

    assert released(scoped) == [scoped["invocations"][1]["identity"]["invocationId"]]
    assert released(unscoped) == []


async def test_answers_without_ids_are_paired_in_order_or_not_at_all() -> None:
    two = asked(("", "look", "{}"), ("", "pay", PAY))
    same = asked(("x", "pay", PAY), ("x", "pay", "{}"))

    assert await states(two, answered(("", "look", "1"), ("", "pay", "2"))) == ["succeeded", "succeeded"]
    assert await states(same, answered(("x", "pay", "1"), ("x", "pay", "2"))) == ["succeeded", "succeeded"]
    assert await states(same, answered(("x", "pay", "1"))) == ["proposed", "proposed"]
    assert await states(ONE, answered(("c1", "look", "1"))) == ["proposed"]


async def test_what_two_advisors_log_is_one_call_and_a_reused_id_is_another() -> None:
    assert await states(ONE, ONE) == ["proposed"]
    assert await states(ONE, answered(("c1", "pay", "1")), ONE) == ["succeeded", "proposed"]


async def test_bare_messages_are_known_by_their_fields_and_the_rest_is_reported() -> None:
    reader = Reader("capture:x")
    for row in (ONE["response"], answered(("c1", "pay", "1"))["message"], {"type": "flux", "signal": "complete"}, {"type": "odd"}):
        reader.feed(row)
    kinds = [str(d.event.kind) for d in reader.close()]

    assert kinds == []
    assert [(one.word, one.why) for one in reader.unmapped][-1] == ("odd", "the table does not have this word")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
NAMES = ("response", "message", "results", "context", "error", "time", "toolCalls", "responses", "highCardinalityKeyValues", "id")
FIELDS = dict.fromkeys(NAMES, junk)
ODD = st.fixed_dictionaries(
    {"type": st.sampled_from(["chat.response", "tool.response", "observation", "flux", ""])},
    optional={"event": st.sampled_from(["start", "stop", "error", "odd"]), "name": st.just("spring.ai.tool"), "signal": junk, **FIELDS},
)
WHOLE = st.sampled_from(
    [ONE, observed("start"), observed("stop", toolCallResult="1"), observed("error", error="x"), answered(("c1", "pay", "1")), answered()]
)


@settings(max_examples=80)
@given(st.lists(ODD | WHOLE, max_size=8))
def test_nothing_that_a_line_may_hold_breaks_the_reader(rows: list[Row]) -> None:
    reader = Reader("capture:junk")

    for one in rows:
        reader.feed(one)

    reader.close()
