"""assistant-ui's data stream and its transport: what each chunk is evidence for, and what it is not."""

import json
from typing import Any

import pytest

from toolwitness.bootstrap.replay import reader_for
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

Chunk = dict[str, Any]
ENCODINGS = ["data", "transport"]


class Stream:
    """Writes the same story in one of the two encodings."""

    def __init__(self, encoding: str) -> None:
        self.data = encoding == "data"
        self.chunks: list[Chunk] = []
        self.paths: dict[str, int] = {}
        self.parts = 0

    def _say(self, code: str, kind: str, call: str, **members: Any) -> "Stream":
        if self.data:
            self.chunks.append({"code": code, "value": {"toolCallId": call, **members}})
        else:
            self.chunks.append({"type": kind, "path": [self.paths[call]] if call in self.paths else [], **members})
        return self

    def begin(self, call: str = "c1", args: str = '{"q": "x"}', tool: str = "book") -> "Stream":
        if self.data:
            self.chunks.append({"code": "b", "value": {"toolCallId": call, "toolName": tool}})
        else:
            self.chunks.append({"type": "part-start", "part": {"type": "tool-call", "toolCallId": call, "toolName": tool}, "path": []})
            self.paths[call], self.parts = self.parts, self.parts + 1
        name = "argsTextDelta" if self.data else "textDelta"
        for piece in (args[:3], args[3:]):
            if piece:
                self._say("c", "text-delta", call, **{name: piece})
        return self

    def text(self, words: str = "hello") -> "Stream":
        if self.data:
            self.chunks.append({"code": "0", "value": words})
        else:
            self.chunks += [
                {"type": "part-start", "part": {"type": "text"}, "path": []},
                {"type": "text-delta", "textDelta": words, "path": [self.parts]},
            ]
            self.parts += 1
        return self

    def result(self, value: Any, call: str = "c1", **more: Any) -> "Stream":
        return self._say("a", "result", call, result=value, **more)

    def gate(self, call: str = "c1", **gate: Any) -> "Stream":
        return self._say("aui-tool-call-approval", "tool-call-approval", call, approval={"id": "g1", **gate})

    def run(self, code: str, kind: str, value: Any) -> "Stream":
        self.chunks.append(
            {"code": code, "value": value} if self.data else {"type": kind, "path": [], **(value if isinstance(value, dict) else {})}
        )
        return self

    async def read(self) -> dict[str, Any]:
        return await read(*self.chunks)


async def read(*chunks: Chunk) -> dict[str, Any]:
    clock = RecordingClock()
    lines = [json.dumps(chunk).encode() for chunk in chunks]
    reader = reader_for("assistant-ui", "capture:a.jsonl")
    return await replay(lines, reader=reader, ledger=MemoryLedger(now=clock.now), clock=clock, file="a.jsonl", format_name="assistant-ui")


@pytest.fixture(params=ENCODINGS)
def stream(request: pytest.FixtureRequest) -> Stream:
    return Stream(request.param)


def states(told: dict[str, Any]) -> list[str | None]:
    return [one["state"] for one in told["invocations"]]


def findings(told: dict[str, Any], place: int = 0) -> set[str]:
    return {finding["code"] for finding in told["invocations"][place]["findings"]}


def kinds(told: dict[str, Any]) -> list[str]:
    return [event["type"].removeprefix("toolcall.") for event in told["events"][1:]]


# ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_whole_arguments_are_a_proposal_and_nothing_more(stream: Stream) -> None:
    told = await stream.begin().read()

    assert states(told) == ["proposed"]
    assert told["invocations"][0]["inputs"]["values"] == {"q": "x"}


async def test_a_character_that_two_pieces_tore_apart_is_made_whole_again(stream: Stream) -> None:
    told = await stream.begin(args='{"\ud83d\ude00": 1}').read()

    assert told["invocations"][0]["inputs"]["values"] == {"\U0001f600": 1}


async def test_parts_are_told_apart_by_their_place(stream: Stream) -> None:
    told = await stream.text().begin("c1", '{"n": 1}').text().begin("c2", '{"n": 2}').result([2], "c2").result([1]).read()

    assert [(one["inputs"]["values"], one["output"]["result"]) for one in told["invocations"]] == [({"n": 1}, [1]), ({"n": 2}, [2])]


@pytest.mark.parametrize(("args", "why"), [('{"q": "x', "cut"), ("[1]", "not-an-object"), ("", "empty")])
async def test_arguments_that_are_no_whole_object_are_kept_and_named(stream: Stream, args: str, why: str) -> None:
    told = await stream.begin(args=args).result(1).read()

    assert states(told) == ["succeeded"]
    assert why in told["unmapped"][0]["why"]


async def test_a_call_in_one_word_is_a_proposal() -> None:
    assert states(await read({"code": "9", "value": {"toolCallId": "c1", "toolName": "book", "args": {"q": 1}}})) == ["proposed"]


async def test_the_same_id_again_is_another_attempt_and_hides_nothing(stream: Stream) -> None:
    told = await stream.begin().result("boom", isError=True).begin().result({"ok": 1}).read()

    assert states(told) == ["failed", "succeeded"]
    assert [one["identity"]["attempt"] for one in told["invocations"]] == [1, 2]


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [None, 0, "", [], {}, "2 cancelled flights", {"error": None}])
async def test_a_result_of_any_type_is_a_success(stream: Stream, value: Any) -> None:
    assert states(await stream.begin().result(value).read()) == ["succeeded"]


async def test_an_error_is_a_failure(stream: Stream) -> None:
    assert states(await stream.begin().result("upstream 503", isError=True).read()) == ["failed"]


@pytest.mark.parametrize(
    ("value", "error"),
    [("Tool execution was cancelled.", True), ({"status": "cancelled", "reason": "user-requested"}, True), ({"cancelled": True}, True),
     ("AbortError: This operation was aborted", True), ({"status": "cancelled"}, False), ({"status": "failed"}, False)],
)  # fmt: skip  # values in lines
async def test_what_the_client_makes_up_when_a_run_is_stopped_is_doubted(stream: Stream, value: Any, error: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    told = await stream.begin().result(value, isError=error).read()

    assert states(told) == ["proposed"]
    assert "outcome-unknown" in findings(told)


async def test_a_preliminary_result_shows_a_body_at_work_and_no_end(stream: Stream) -> None:
    told = await stream.begin().result({"rows": 1}, isPreliminary=True).result({"rows": 2}, isPreliminary=True).read()

    assert states(told) == ["streaming"]
    assert kinds(told) == ["invocation.proposed", "output.emitted", "output.emitted"]


async def test_a_second_result_is_a_second_end(stream: Stream) -> None:
    told = await stream.begin().result({"ok": 1}).text().result({"ok": 2}).read()

    assert states(told) == ["succeeded"]
    assert "conflicting-outcomes" in findings(told)


async def test_a_result_of_a_call_that_nobody_began_is_reported_and_not_believed(stream: Stream) -> None:
    told = await stream.result({"ok": 1}, "nope").text().read()

    assert states(told) == []
    assert len(told["unmapped"]) == 1


async def test_a_result_that_came_before_its_call_waits_for_it() -> None:
    story = Stream("data").result({"ok": 1}).begin()

    told = await story.read()

    assert states(told) == ["succeeded"]
    assert [event["row"] for event in told["events"][1:]] == [4, 1]


async def test_a_message_that_finishes_and_a_stream_that_fails_end_no_call(stream: Stream) -> None:
    for code, kind, value in (("d", "message-finish", {"finishReason": "stop"}), ("3", "error", "provider 500")):
        story = Stream("data" if stream.data else "transport").begin().run(code, kind, value)
        told = await story.read()
        assert states(told) == ["proposed"]
        assert findings(told) == {"waiter-gone"}


async def test_a_warning_ends_nothing(stream: Stream) -> None:
    told = await stream.begin().run("3", "error", {"error": "slow", "severity": "warning"}).read()

    assert findings(told) == set()


async def test_steps_state_and_finished_parts_say_nothing() -> None:
    silent = [
        {"code": "f", "value": {"messageId": "m"}}, {"code": "e", "value": {"finishReason": "tool-calls"}},
        {"code": "aui-state", "value": [{"type": "set", "path": ["tools", "c1"], "value": {"state": "running"}}]},
    ]  # fmt: skip  # chunks in lines

    assert states(await read(*Stream("data").begin().chunks, *silent)) == ["proposed"]


# ── gates ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ([{}], "awaiting_approval"),
        ([{}, {"approved": True}], "awaiting_approval"),
        ([{"approved": True}], "awaiting_approval"),
        ([{}, {"approved": False, "reason": "too dear"}], "cancelled"),
        ([{}, {"resolution": "cancelled"}], "cancelled"),
        ([{}, {"resolution": "expired"}], "expired"),
        ([{}, {"resolution": "imagined"}], "awaiting_approval"),
        ([{"isAutomatic": True, "approved": True}], "proposed"),
        ([{"isAutomatic": True, "approved": False}], "cancelled"),
    ],
)
async def test_a_gate_is_read_for_what_the_server_set(stream: Stream, gates: list[Chunk], expected: str) -> None:
    stream.begin()
    for gate in gates:
        stream.gate(**gate)

    assert states(await stream.read()) == [expected]


async def test_a_denial_that_comes_again_as_an_error_stays_a_denial(stream: Stream) -> None:
    told = await stream.begin().gate().gate(approved=False, reason="too dear").result({"error": "too dear"}, isError=True).read()

    assert states(told) == ["cancelled"]
    assert told["invocations"][0]["closure"]["kind"] == "denied"


async def test_an_approved_call_that_is_answered_ran_with_its_approval(stream: Stream) -> None:
    told = await stream.begin().gate().gate(approved=True).result(1).read()

    assert states(told) == ["succeeded"]
    assert "ran-without-approval" not in findings(told)


async def test_an_error_while_a_gate_is_unanswered_is_doubted(stream: Stream) -> None:
    told = await stream.begin().gate().result("no", isError=True).read()

    assert states(told) == ["awaiting_approval"]
    assert "outcome-unknown" in findings(told)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_unknown_words_and_chunks_that_make_no_sense_are_reported() -> None:
    odd = [{"code": "z", "value": 1}, {"type": "imagined", "path": []}, {"type": "part-start", "part": {"type": "imagined"}, "path": []},
           {"code": "b", "value": "text"}, {"code": "a", "value": None},
           {"type": "result", "path": [7], "result": 1}]  # fmt: skip  # in lines

    told = await read(*odd)

    assert states(told) == []
    assert [one["row"] for one in told["unmapped"]] == [1, 2, 3, 4, 5, 6]


async def test_a_whole_message_in_a_stream_is_read_as_a_stored_one() -> None:
    part = {"type": "tool-call", "toolCallId": "c1", "toolName": "book", "args": {}, "result": {"ok": 1}}

    assert states(await read({"role": "assistant", "content": [part]})) == ["succeeded"]


async def test_a_stop_in_the_client_is_a_request(stream: Stream) -> None:
    stream.begin().chunks.append({"src": "driver", "kind": "stop", "event": {}})

    assert findings(await stream.result(1).read()) >= {"completed-despite-cancel-request"}
