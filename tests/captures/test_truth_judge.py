"""A judge that cannot fail is worthless: each line of the table accuses a made-up record, and each lie about a real one is caught."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwitness.bootstrap.replay import replay_file
from toolwitness.testing.truth.capture import rows_of
from toolwitness.testing.truth.claims import claims_of
from toolwitness.testing.truth.layout import Capture, captures_in
from toolwitness.testing.truth.running import allowed_for
from toolwitness.testing.truth.score import Score, score, truth_of

CAPTURES = Path(__file__).parents[2] / "spec" / "captures"
Rows = list[dict[str, Any]]
Result = dict[str, Any]


# ── every line of the table, on a made-up record ────────────────────────────────────────────────────────────────────


def body(*kinds: str, call: str = "c1", **facts: Any) -> Rows:
    return [{"src": "truth", "kind": kind, "event": {"tool": "t", "id": call, **facts}} for kind in kinds]


def runtime(kind: str, **event: Any) -> Rows:
    return [{"src": "runtime", "kind": kind, "event": event}]


def driver(kind: str, **event: Any) -> Rows:
    return [{"src": "driver", "kind": kind, "event": event}]


ELSEWHERE = body("start", "end", call="other")
"""The same tool, seen in another call: so a call of it without a row never started."""


def shown(state: str, *, closure: str | None = None, effects: str = "unknown", events: Rows | None = None, **more: Any) -> Result:
    document = {
        "identity": {"invocationId": "inv_1", "attempt": 1}, "tool": "t", "state": state, "findings": [],
        "correlation": [{"providerCallId": "c1", "occurrence": 1}], "closure": {"kind": closure},
        "sideEffects": {"reconciliationState": effects}, "authorization": {"state": "unobserved", "decidedBy": None}, **more,
    }  # fmt: skip  # a document in lines
    told = [{"subject": "inv_1", "source": "s", "id": f"row:{one['row']}", **one} for one in events or []]
    return {"file": "made up", "invocations": [document], "events": told}


def event(kind: str, row: int = 1) -> Rows:
    return [{"type": f"toolcall.{kind}", "row": row}]


def judged(record: Result, rows: Rows, **more: Any) -> Score:
    return score(record, rows, allowed=lambda _: (), **more)


GRANTED = {"authorization": {"state": "granted", "decidedBy": "ann"}}
DUPLICATE = {"findings": [{"code": "duplicate-start", "evidenceRefs": ["ev_1"]}]}
RESULT = runtime("FunctionToolResultEvent", part={"tool_call_id": "c1"})

LIES: dict[str, tuple[Result, Rows]] = {
    "running, and never started": (shown("running"), ELSEWHERE),
    "streaming, and never started": (shown("streaming"), ELSEWHERE),
    "partially complete, and never started": (shown("partially_complete"), ELSEWHERE),
    "succeeded, and never started": (shown("succeeded"), ELSEWHERE),
    "a start on record, and none in truth": (shown("expired", events=event("execution.started")), ELSEWHERE),
    "queued, and nothing accepted": (shown("queued"), body("start", "end")),
    "an acceptance on record that the row does not hold": (shown("running", events=event("dispatch.accepted")), body("start")),
    "succeeded, and no end": (shown("succeeded"), body("start")),
    "succeeded, and it raised": (shown("succeeded"), body("start", "raise")),
    "succeeded, and it was cancelled": (shown("succeeded"), body("start", "cancelled_in_body")),
    "succeeded with a result that says cancelled": (shown("succeeded", output={"result": {"status": "cancelled"}}), body("start", "end")),
    "succeeded with a text that is an abort": (shown("succeeded", output={"resultText": "AbortError: aborted"}), body("start", "end")),
    "failed, and it returned": (shown("failed"), body("start", "end")),
    "failed, never started, nothing refused": (shown("failed"), ELSEWHERE),
    "cancelled without effects, and there was one": (
        shown("cancelled", closure="withdrawn", effects="not-executed"), body("SIDE EFFECT t"),
    ),
    "cancelled without effects, and it returned": (shown("cancelled", closure="dismissed", effects="none-expected"), body("start", "end")),
    "cancelled without effects, and one came late": (
        shown("cancelled", closure="execution-terminated", effects="none-expected"), body("start", "cancelled_in_body", "SIDE EFFECT t"),
    ),
    "not executed, and it ran": (shown("cancelled", closure="withdrawn", effects="not-executed"), body("start", "cancelled_in_body")),
    "expired without effects, and it returned": (shown("expired", effects="none-expected"), body("start", "end")),
    "failed and not executed, and it ran": (shown("failed", effects="not-executed"), body("start", "raise")),
    "cancelled after dispatch, and nobody saw it end": (shown("cancelled", closure="execution-terminated"), body("start")),
    "cancelled after dispatch, and it ran on": (shown("cancelled", closure="execution-terminated"), body("start", "SIDE EFFECT t")),
    "a terminal status, and reconciliation closed": (
        shown("cancelled", closure="execution-terminated", effects="reconciled", stateEvidenceRefs=[]), body("start"),
    ),
    "one start, and there were two": (shown("succeeded"), [*body("SIDE EFFECT t"), *RESULT, *body("SIDE EFFECT t"), *RESULT]),
    "two starts, and there was one": (shown("succeeded", **DUPLICATE), body("start", "end")),
    "granted, and nobody decided": (shown("succeeded", **GRANTED), body("start", "end")),
    "granted by somebody who was not there": (shown("succeeded", **GRANTED), driver("approve", by="bob") + body("start", "end")),
    "granted, and it was denied": (shown("succeeded", **GRANTED), driver("deny", by="ann") + body("start", "end")),
    "denied, and nobody decided": (shown("cancelled", closure="denied"), ELSEWHERE),
    "denied, and it was approved": (shown("cancelled", closure="denied"), driver("approve") + ELSEWHERE),
}  # fmt: skip  # one lie a line


@pytest.mark.parametrize("lie", LIES)
def test_every_line_of_the_table_accuses_a_record_that_breaks_it(lie: str) -> None:
    record, rows = LIES[lie]

    assert judged(record, rows).false != []


TRUE: dict[str, tuple[Result, Rows]] = {
    "proposed says nothing": (shown("proposed"), body("start", "SIDE EFFECT t")),
    "running": (shown("running"), body("start")),
    "succeeded": (shown("succeeded"), body("start", "end")),
    "succeeded by its effect and its result": (shown("succeeded"), body("SIDE EFFECT t") + RESULT),
    "failed": (shown("failed"), body("start", "raise")),
    "failed, since its inputs were refused": (
        shown("failed"), [*ELSEWHERE, *runtime("FunctionToolCallEvent", part={"tool_call_id": "c1"}, args_valid=False)],
    ),
    "cancelled as its body was": (shown("cancelled", closure="execution-terminated"), body("start", "cancelled_in_body")),
    "cancelled before it began": (shown("cancelled", closure="withdrawn", effects="not-executed"), ELSEWHERE),
    "cancelled as the protocol says, reconciliation open": (
        shown("cancelled", closure="execution-terminated", effects="required",
              stateEvidenceRefs=["ev_1"], shown={"row": 1}),
        [*runtime("event", status={"state": "TASK_STATE_CANCELED"}), *body("start")],
    ),
    "two starts owned up to": (
        shown("succeeded", **DUPLICATE), [*body("SIDE EFFECT t"), *RESULT, *body("SIDE EFFECT t"), *RESULT],
    ),
    "queued as the protocol says": (
        shown("queued", events=event("dispatch.accepted")), [*runtime("event", status={"state": "TASK_STATE_SUBMITTED"}), *ELSEWHERE],
    ),
    "granted by whoever did": (shown("succeeded", **GRANTED), driver("approve", by="ann") + body("start", "end")),
    "denied by whoever did": (shown("cancelled", closure="denied"), driver("decision", c1="ToolDenied") + ELSEWHERE),
}  # fmt: skip  # one record a line


@pytest.mark.parametrize("record", TRUE)
def test_an_honest_record_is_not_accused(record: str) -> None:
    made, rows = TRUE[record]

    assert [str(verdict) for verdict in judged(made, rows).false] == []


def test_inputs_that_the_body_was_not_given_are_a_false_claim() -> None:
    rows = body("SIDE EFFECT t", args={"total": 99.0}) + RESULT

    assert judged(shown("succeeded"), rows, executed={"inv_1": {"total": 99.0}}).false == []
    assert judged(shown("succeeded"), rows, executed={"inv_1": '{"total": 99.0}'}).false == []
    assert [str(v) for v in judged(shown("succeeded"), rows, executed={"inv_1": {"total": 120.0}}).false] == [
        'c1: executed with {"total": 120.0}; its body was given {"total": 99.0}'
    ]


def test_what_is_ambiguous_is_said_and_neither_accused_nor_cleared() -> None:
    ends = judged(shown("succeeded"), body("start") + RESULT)
    words = judged(shown("running"), [*body("start"), *body("danced", mood="gay")])

    assert (ends.false, [v.reason for v in ends.undecided]) == ([], ["its end: this tool writes its starts and never its ends"])
    assert [v.reason for v in words.undecided] == ["a word of truth that the judge does not know"]


def test_a_call_that_no_row_tells_of_is_unscored_and_counted() -> None:
    told = judged(shown("succeeded"), runtime("FunctionToolResultEvent", part={"tool_call_id": "c1"}))

    assert (told.unscored, told.false) == (1, [])
    assert told.undecided[0].reason == "no row of truth tells of this call"


# ── every lie, told about every real recording ──────────────────────────────────────────────────────────────────────

STATES = ("queued", "running", "succeeded", "failed", "cancelled")


def lies(result: Result) -> Iterator[tuple[int, str, Result]]:
    """Each call of a replay in each state that it is not in."""
    for place, document in enumerate(result["invocations"]):
        for state in STATES:
            if document["state"] != state:
                told = document | {
                    "state": state,
                    "closure": {"kind": "execution-terminated" if state == "cancelled" else None},
                    "sideEffects": {"reconciliationState": "none-expected"},
                    "output": {},
                }
                yield place, state, result | {"invocations": [told if n == place else one for n, one in enumerate(result["invocations"])]}


def could_be_true(result: Result, place: int, state: str, rows: Rows) -> bool:
    """Tell whether a changed state is allowed by the table all the same: what the body wrote does not speak against it."""
    document = result["invocations"][place]
    claim = next(one for one in claims_of(result, rows) if document in one.documents)
    runs = truth_of(rows, [(one.call, one.tool) for one in claims_of(result, rows)]).of(claim.call, claim.tool)
    if runs is None:
        return True
    if state == "running":
        return bool(runs)
    if state == "succeeded":
        return any(run.well or run.answered for run in runs)
    if state == "failed":
        return not runs or not all(run.well for run in runs)
    if state == "cancelled":
        return not runs or any(run.end in {"cancelled", "raise", "pause"} for run in runs)
    return bool(claim.told("dispatch.accepted"))


def with_truth() -> list[Capture]:
    """Give the recordings that lies are told about; those in ``recorded`` are more of the same."""
    found = [one for one in captures_in(CAPTURES) if isinstance(one, Capture) and one.replayed and one.format_name]
    return [one for one in found if "recorded" not in one.file]


@pytest.mark.parametrize("framework", sorted({one.framework for one in with_truth()}))
async def test_every_lie_told_about_a_real_recording_is_caught_where_the_truth_speaks_against_it(framework: str) -> None:
    told: Counter[str] = Counter()
    missed: list[tuple[str, int, str]] = []
    for capture in (one for one in with_truth() if one.framework == framework):
        rows = rows_of(capture)
        result = await replay_file(capture.path, capture.format_name, relative_to=CAPTURES)
        for place, state, lied in lies(result):
            caught = bool(score(lied, rows, allowed=allowed_for(capture)).false)
            allowed = could_be_true(result, place, state, rows)
            told["caught" if caught else "not against the truth" if allowed else "missed"] += 1
            if not caught and not allowed:
                missed.append((capture.file, place, state))
    print(framework, dict(told))  # noqa: T201 -- how many lies were caught is what this test is for; pytest -s shows it

    assert missed == []
    assert told["caught"] > 0 or framework in {"ag-ui", "celery", "provider-wire"}  # whose recordings here have no truth


# ── effects alone, where a graph shows its messages and nothing else ─────────────────────────────────────────────────


def message(status: str = "success", call: str = "c1") -> Rows:
    told = {"type": "tool", "tool_call_id": call, "status": status, "content": "x"}
    return runtime("updates", tools={"messages": [told]}) + runtime("values", messages=[told])


@pytest.mark.parametrize(("rows", "accused"), [(message(), 0), (message("error"), 1), (message(call="c2"), 1), ([], 1)])
def test_a_side_effect_is_an_end_where_a_message_of_the_graph_answers_its_call_well(rows: Rows, accused: int) -> None:
    judged = score(shown("succeeded"), [*body("SIDE EFFECT t"), *rows], allowed=lambda _: ())

    assert len(judged.false) == accused


def test_a_message_that_is_shown_again_ends_no_second_run() -> None:
    rows = [*body("SIDE EFFECT t"), *message(), *body("SIDE EFFECT t"), *message()[1:]]

    runs = truth_of([{**row, "seq": number} for number, row in enumerate(rows, start=1)], [("c1", "t")]).of("c1", "t") or []

    assert [run.end for run in runs] == ["end", ""]


@pytest.mark.parametrize("word", ["tick", "progress", "step 2", "still running"])
def test_a_body_that_writes_its_progress_is_not_started_again(word: str) -> None:
    judged = score(shown("succeeded"), body("start", word, word, "end"), allowed=lambda _: ())

    assert (judged.false, judged.undecided) == ([], [])


# ── a body that only writes that it left ─────────────────────────────────────────────────────────────────────────────


def beside(*words: str, **facts: Any) -> Rows:
    return [{"src": "truth", "kind": word, "event": {"ev": word, **facts}} for word in words]


SAW = "server.onToolExecutionEnd"


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        (beside(SAW, toolCallId="c1", type="tool-result"), "end"),
        (beside(SAW, toolCallId="c1", type="tool-error", error="Error: no"), "raise"),
        (beside(SAW, toolCallId="c1", type="tool-error", error="AbortError: stop"), "cancelled"),
        ([], "cancelled"),
    ],
)
def test_a_body_that_wrote_its_finally_ended_as_the_server_saw_it_end(rows: Rows, ends: str) -> None:
    truth = [*beside("server.onToolExecutionStart", toolCallId="c1"), *beside("tool.start", "tool.yield", "tool.finally"), *rows]

    read = truth_of([{**row, "seq": number} for number, row in enumerate(truth, start=1)], [("c1", "t")])

    assert ([run.end for run in read.of("c1", "t") or []], read.unread) == ([ends], [])


def test_a_finally_after_an_end_is_no_other_end() -> None:
    truth = beside("tool.start", "tool.end", "tool.finally", id="c1")

    read = truth_of([{**row, "seq": number} for number, row in enumerate(truth, start=1)], [("c1", "t")])

    assert [run.end for run in read.of("c1", "t") or []] == ["end"]
