"""The judge itself: every lie that a record can tell is named, and an honest record is not accused."""

from typing import Any

import pytest

from toolwitness.testing.allowed.pydantic_ai import allowed
from toolwitness.testing.scoring import Expectation, Score, Verdict, episodes, score

Rows = list[dict[str, Any]]


def truth(*kinds: str, call: str = "c1", **facts: Any) -> Rows:
    return [{"src": "truth", "kind": kind, "event": {"tool": "t", "id": call, **facts}} for kind in kinds]


def document(state: str, *, closure: str | None = None, reconciliation: str = "unknown", call: str = "c1", **more: Any) -> dict[str, Any]:
    return {
        "identity": {"invocationId": f"inv_{call}", "attempt": 1},
        "tool": "t",
        "state": state,
        "findings": [],
        "correlation": [{"providerCallId": call}],
        "closure": {"kind": closure},
        "sideEffects": {"reconciliationState": reconciliation},
        "authorization": {"state": "unobserved", "decidedBy": None},
        "inputs": {"executedValuesRef": None},
        **more,
    }


def result(*documents: dict[str, Any], events: Rows | None = None) -> dict[str, Any]:
    return {"file": "x", "invocations": list(documents), "events": events or []}


def told(verdicts: list[Verdict]) -> list[str]:
    return [str(verdict) for verdict in verdicts]


def judged(shown: dict[str, Any], rows: Rows) -> Score:
    return score(shown, rows, allowed=lambda _: [])


REFUSED: Rows = [{"src": "runtime", "kind": "FunctionToolCallEvent", "event": {"part": {"tool_call_id": "c1"}, "args_valid": False}}]
RESULT: Rows = [{"src": "runtime", "kind": "FunctionToolResultEvent", "event": {"part": {"tool_call_id": "c1"}}}]


@pytest.mark.parametrize(
    ("shown", "rows"),
    [
        (document("queued"), truth("start", "end")),
        (document("succeeded"), truth("start", "raise")),
        (document("succeeded"), truth("start", "cancelled_in_body")),
        (document("succeeded"), truth("start")),
        (document("failed"), truth("start", "end")),
        (document("cancelled", closure="denied", reconciliation="not-executed"), truth("SIDE EFFECT t")),
        (document("cancelled", closure="withdrawn", reconciliation="none-expected"), truth("start", "end")),
        (document("cancelled", closure="execution-terminated"), truth("start")),
        (document("expired", reconciliation="not-executed"), truth("start")),
    ],
)
def test_a_record_that_says_more_than_the_truth_is_accused(shown: dict[str, Any], rows: Rows) -> None:
    assert judged(result(shown), rows).false != []


@pytest.mark.parametrize(
    ("shown", "rows"),
    [
        (document("proposed"), truth("start", "SIDE EFFECT t")),
        (document("running"), truth("start")),
        (document("streaming"), truth("start", "end")),
        (document("succeeded"), truth("start", "end")),
        (document("succeeded"), truth("SIDE EFFECT t") + RESULT),
        (document("failed"), truth("start", "raise")),
        (document("cancelled", closure="execution-terminated"), truth("start", "cancelled_in_body")),
        (document("cancelled", closure="withdrawn", reconciliation="required"), truth("SIDE EFFECT t")),
        (document("expired"), truth("start", "cancelled_in_body")),
    ],
)
def test_an_honest_record_is_not_accused(shown: dict[str, Any], rows: Rows) -> None:
    assert judged(result(shown), rows).false == []


def test_two_starts_are_one_attempt_with_a_duplicate_start_or_two_attempts() -> None:
    rows = [*truth("SIDE EFFECT t"), *RESULT, *truth("SIDE EFFECT t"), *RESULT]
    twice = document("succeeded", findings=[{"code": "duplicate-start", "evidenceRefs": ["ev_1"]}])

    assert told(judged(result(document("succeeded")), rows).false) == ["c1: 1 start; 2 starts"]
    assert judged(result(twice), rows).false == []
    assert judged(result(document("succeeded"), document("succeeded")), rows).false == []


def test_inputs_that_were_refused_may_count_as_failed_without_a_start() -> None:
    others = truth("start", "end", call="other")

    assert judged(result(document("failed")), [*REFUSED, *others]).false == []
    assert told(judged(result(document("failed")), others).false) == ["c1: failed; its body never started, and nothing refused its inputs"]
    assert judged(result(document("failed")), REFUSED).unscored == 1
    assert told(judged(result(document("failed", call="other")), others).false) == ["other: failed; its body started and returned"]


def test_an_approval_that_nobody_gave_is_a_false_claim() -> None:
    shown = document("succeeded", authorization={"state": "granted", "decidedBy": "ann"})
    driver: Rows = [{"src": "driver", "kind": "decision", "event": {"decision": "True", "by": "ann"}}]

    assert told(judged(result(shown), truth("start", "end")).false) == ["c1: granted by ann; nobody decided so"]
    assert judged(result(shown), driver + truth("start", "end")).false == []


def test_truth_without_an_id_is_matched_by_tool_and_order() -> None:
    rows: Rows = [
        {"src": "truth", "kind": "start", "event": {"tool": "t"}},
        {"src": "truth", "kind": "start", "event": {"tool": "t"}},
        {"src": "truth", "kind": "end", "event": {"tool": "t"}},
        {"src": "truth", "kind": "raise", "event": {"tool": "t"}},
    ]

    actual = {call: [run.end for run in runs] for call, runs in episodes(rows, [("c1", "t"), ("c2", "t")]).items()}

    assert actual == {"c1": ["end"], "c2": ["raise"]}


def test_whole_evidence_that_is_not_used_is_a_missed_claim() -> None:
    rows = [{"src": "runtime", "kind": "FunctionToolResultEvent", "event": {"part": {"tool_call_id": "c1", "outcome": "success"}}}]

    actual = score(result(document("proposed")), rows + truth("start", "end"), allowed=allowed)

    assert (actual.allowed, told(actual.missed)) == (1, ["c1: proposed; succeeded"])


def test_a_call_that_the_record_does_not_have_is_missed_too() -> None:
    expected = Expectation("gone", "succeeded", lambda claims: True)

    actual = score(result(), truth("start", "end", call="gone"), allowed=lambda _: [expected])

    assert told(actual.missed) == ["gone: the call is not in the record; succeeded"]
