"""Celery's events are read for what they say: a redelivery is no retry, a revoke no acknowledgement."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.adapters.celery import TABLE, Reader
from toolwitness.bootstrap.replay import reader_for, replay_file
from toolwitness.ledger.memory import MemoryLedger
from toolwitness.service.replay import RecordingClock, replay

CAPTURES = Path(__file__).parents[3] / "spec" / "captures" / "celery"
EVENTS = ("sent", "received", "started", "succeeded", "failed", "rejected", "revoked", "retried")
"""Every task event that Celery documents."""


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"task-{kind}", "uuid": "u1", "hostname": "celery@w1", "pid": 7, "timestamp": 1741000000.0, **more}


async def replayed(*events: dict[str, Any]) -> dict[str, Any]:
    clock = RecordingClock()
    ledger = MemoryLedger(now=clock.now)
    lines = [json.dumps(one).encode() for one in events]
    return await replay(lines, reader=reader_for("celery", "capture:x"), ledger=ledger, clock=clock, file="x", format_name="celery")


async def only(*events: dict[str, Any]) -> dict[str, Any]:
    (document,) = (await replayed(*events))["invocations"]
    return document


BEGUN = (event("received", name="pay", args="('A17',)", kwargs="{}"), event("started"))


def codes(document: dict[str, Any]) -> set[str]:
    return {str(finding["code"]) for finding in document["findings"]}


def test_every_event_that_celery_documents_has_its_row() -> None:
    words = {word.word.split(" ")[0] for word in TABLE}

    assert {f"task-{kind}" for kind in EVENTS} - words == set()


async def test_a_task_goes_through_its_states() -> None:
    assert (await only(event("sent", name="pay", args="()", kwargs="{'n': 1}")))["inputs"]["values"] == {"n": 1}
    assert (await only(BEGUN[0]))["state"] == "queued"
    assert (await only(*BEGUN))["state"] == "running"
    done = await only(*BEGUN, event("succeeded", result="{'ref': 'p1'}"))
    assert (done["state"], done["output"]["result"]) == ("succeeded", {"ref": "p1"})
    assert (await only(*BEGUN, event("failed", exception="ValueError('no')")))["errors"]["safeCategory"] == "ValueError"


async def test_a_second_delivery_is_a_second_start_of_one_attempt_and_not_a_retry() -> None:
    document = await only(*BEGUN, event("received", name="pay", hostname="celery@w2"), event("started", hostname="celery@w2"))

    assert document["identity"]["attempt"] == 1
    assert "duplicate-start" in codes(document)


async def test_what_a_task_asked_for_itself_is_its_next_attempt() -> None:
    result = await replayed(*BEGUN, event("retried", exception="Busy()"), *BEGUN, event("succeeded", result="1"))

    assert [(d["identity"]["attempt"], d["state"]) for d in result["invocations"]] == [(1, "failed"), (2, "succeeded")]
    assert result["invocations"][1]["identity"]["retryOf"] == result["invocations"][0]["identity"]["invocationId"]


@pytest.mark.parametrize(
    ("revoked", "state", "effects"),
    [
        (event("revoked", terminated=True, expired=False, signum=15), "cancelled", "unknown"),
        (event("revoked", terminated=False, expired=True), "expired", None),
    ],
)
async def test_a_worker_says_what_became_of_a_revoke(revoked: dict[str, Any], state: str, effects: str | None) -> None:
    before = BEGUN if revoked["terminated"] else (event("sent", name="pay"), event("received", name="pay"))

    document = await only(*before, revoked)

    assert document["state"] == state
    assert effects is None or document["sideEffects"]["reconciliationState"] == effects


async def test_a_lost_process_leaves_the_outcome_unknown_and_a_limit_is_an_expiry() -> None:
    lost = await only(*BEGUN, event("failed", exception="WorkerLostError('signal 9')"))
    late = await only(*BEGUN, event("failed", exception="ExceptionWithTraceback()", traceback="TimeLimitExceeded(2,)"))

    assert (lost["state"], "outcome-unknown" in codes(lost)) == ("running", True)
    assert late["state"] == "expired"


async def test_a_result_that_reads_like_a_cancellation_is_no_success() -> None:
    document = await only(*BEGUN, event("succeeded", result="{'status': 'cancelled'}"))

    assert document["state"] == "running"
    assert "outcome-unknown" in codes(document)


EXPECTED = {
    "rabbit_cancel_queued": "proposed",
    "rabbit_cancel_running_soft_revoke": "succeeded",
    "rabbit_cancel_running_terminate": "cancelled",
    "rabbit_sigkill_child": "succeeded",
    "rabbit_sigkill_worker": "succeeded",
    "rabbit_time_limit_hard": "expired",
    "rabbit_time_limit_soft": "expired",
    "redis_cancel_running_abortable": "succeeded",
    "redis_cancel_running_terminate": "cancelled",
    "redis_expires": "expired",
    "redis_failed": "failed",
    "redis_sigkill_child": "succeeded",
    "redis_sigkill_worker": "streaming",
    "redis_success": "succeeded",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in CAPTURES.glob("*.json")))
async def test_each_recorded_run_ends_as_its_workers_said(name: str) -> None:
    result = await replay_file(CAPTURES / f"{name}.json", "celery", relative_to=CAPTURES)

    (document,) = result["invocations"]
    assert document["state"] == EXPECTED[name]
    assert ("duplicate-start" in codes(document)) is ("sigkill" in name and name != "redis_sigkill_worker")
    asked = [request["kind"] for request in document["requests"]] + [e["type"] for e in result["events"]]
    assert ("toolcall.cancellation.requested" in asked) is ("cancel" in name)


async def test_every_event_says_what_its_row_of_the_table_says() -> None:
    table = {word.word: {str(kind) for kind in word.says} for word in TABLE}
    for path in CAPTURES.glob("*.json"):
        for told in (await replay_file(path, "celery", relative_to=CAPTURES))["events"]:
            assert told["type"].removeprefix("toolcall.") in table[told["adapter"].split("#")[1]]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


FIELDS = ("result", "exception", "timestamp", "args", "kwargs", "name", "terminated", "expired", "step", "of", "pid", "hostname")
KINDS = st.sampled_from([f"task-{kind}" for kind in (*EVENTS, "progress", "odd")])
ODD = st.fixed_dictionaries({"type": KINDS}, optional={"uuid": st.sampled_from(["u1", "u2"]) | junk} | dict.fromkeys(FIELDS, junk))


@settings(max_examples=60)
@given(st.lists(ODD, max_size=8))
def test_nothing_that_an_event_may_hold_breaks_the_reader(events: list[dict[str, Any]]) -> None:
    reader = Reader("capture:junk")

    for one in events:
        reader.feed(one)

    reader.close()
