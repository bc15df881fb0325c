"""Every word of the reports' vocabulary is played: stories of our own, each about one thing that other reports may tell."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolwitness.testing.reports import run_report
from toolwitness.testing.reports.runner import WORDS

Row = tuple[str, str, Mapping[str, Any]]
VISIBLE = ["externally-visible"]


def told(*rows: Row) -> list[dict[str, Any]]:
    """Events in their order, one second apart unless they say when; ``i`` names the call and its attempt."""
    events: list[dict[str, Any]] = []
    for number, (source, kind, said) in enumerate(rows, start=1):
        fields = {"t": number, **said}
        name, _, attempt = str(fields.pop("i", "")).partition("#")
        call = {"invocation": name, "attempt": int(attempt or 1)} if name else {}
        events.append({"seq": number, "source": source, "type": kind, **call, **fields})
    return events


def story(events: list[dict[str, Any]], expected: Mapping[str, Any], *, kind: str = "abstract-events", **more: Any) -> dict[str, Any]:
    return {"id": "a story", "kind": kind, "input": {"events": events, **more}, "expected": expected}


def proposed(call: str, **more: Any) -> Row:
    return ("proposer", "proposed", {"i": call, "tool": "send", "args": {"a": 1}, "consequence": VISIBLE, **more})


def asked(call: str, approval: str, **more: Any) -> Row:
    return ("policy", "approval.requested", {"i": call, "approval": approval, "authority": {"eligible": ["u1", "u2"]}, **more})


def clicked(approval: str, control: str = "approve", **more: Any) -> Row:
    return ("ui", "click", {"control": control, "approval": approval, "actor": "u1", **more})


async def holds(told_story: Mapping[str, Any]) -> None:
    result = await run_report(told_story)
    assert (result.wrong, result.unchecked, result.passed) == ([], [], True)


async def test_a_cancellation_races_the_end_and_both_ways_of_losing_are_told_apart() -> None:
    await holds(story(told(
        proposed("i1", consequence=["reversible"]), ("scheduler", "queue.accepted", {"i": "i1", "queue_ref": "q"}),
        ("executor", "started", {"i": "i1"}), ("user", "cancel.requested", {"i": "i1", "actor": "u1", "scope": "i1#1"}),
        ("executor", "succeeded", {"i": "i1", "result": {"n": 1}}),
        ("orchestrator", "cancel.acknowledged", {"i": "i1", "scope": "i1#1", "initiator": "u1", "reason": "user"}),
        proposed("i2", consequence=["reversible"]), ("executor", "started", {"i": "i2"}),
        ("user", "cancel.requested", {"i": "i2", "actor": "u1", "scope": "i2#1"}),
        ("executor", "cancel.acknowledged", {"i": "i2", "scope": "i2#1", "initiator": "u1", "reason": "user"}),
        ("executor", "succeeded", {"i": "i2", "result": {"n": 1}}), ("provider", "effect.observed", {"i": "i2", "ref": "e-2"}),
        ("user", "cancel.requested", {"i": "i1", "actor": "u1", "scope": "i1#1"}),
    ), {
        "states": {"i1#1": "succeeded", "i2#1": "cancelled"}, "decisions": {"4": "accepted", "13": "rejected:already-terminal"},
        "flags": [
            "i1#1:completed-after-cancel-request", "late-event:6", "late-result-after-terminal:i2#1",
            "i1#1:cancel-refused-already-complete",
        ],
        "side_effects": {"i2#1": {"observed": ["e-2"], "reconciliationState": "required"}},
        "reduce": [{"for": "i1#1", "commit": True, "kind": "ok"}, {"for": "i2#1", "commit": False, "kind": "cancelled"}],
        "controls": {"i2#1": {"allow": ["reconcile"], "deny": ["retry"]}},
    }))  # fmt: skip  # a story in lines


async def test_what_is_run_again_on_resuming_a_pause_is_a_second_start_and_a_second_effect() -> None:
    gated = ["permission-gated"]
    await holds(story(told(
        proposed("i1", parent="t1", consequence=gated), proposed("i2", parent="t1", consequence=gated), proposed("i3", parent="t1"),
        ("executor", "started", {"i": "i3"}), ("executor", "succeeded", {"i": "i3", "result": {"m": "m-1"}}),
        ("provider", "effect.observed", {"i": "i3", "ref": "m-1"}), asked("i1", "ap1"), asked("i2", "ap2"),
        ("orchestrator", "run.paused", {"parent": "t1"}), clicked("ap1"), ("orchestrator", "dispatch.requested", {"i": "i3"}),
        ("executor", "started", {"i": "i3"}), ("provider", "effect.observed", {"i": "i3", "ref": "m-2"}),
        ("executor", "succeeded", {"i": "i3", "result": {"m": "m-2"}}),
    ), {
        "states": {"i1#1": "awaiting_approval", "i2#1": "awaiting_approval", "i3#1": "succeeded"}, "task": {"t1": "partially_complete"},
        "checkpoints": [{"after": 9, "inbox": ["ap1", "ap2"]}], "decisions": {"10": "accepted"},
        "dispatch": {"11": "refuse:already-succeeded"},
        "flags": ["duplicate-start:i3#1", "duplicate-effect:i3#1", "duplicate-terminal", "i1#1:approved-not-queued"],
        "side_effects": {"i3#1": {"observed": ["m-1", "m-2"], "reconciliationState": "required"}},
        "result_of_record": {"i3#1": {"m": "m-1"}},
    }))  # fmt: skip  # a story in lines


async def test_a_late_result_belongs_to_its_own_attempt() -> None:
    reads = ["read-only"]
    await holds(story(told(
        proposed("i1", consequence=reads), ("executor", "started", {"i": "i1"}),
        ("executor", "failed", {"i": "i1", "category": "timeout", "message": "x", "outcome": "unknown"}),
        proposed("i1#2", consequence=reads), ("executor", "started", {"i": "i1#2"}),
        ("executor", "succeeded", {"i": "i1#1", "result": {"v": "old"}}), ("executor", "succeeded", {"i": "i1#2", "result": {"v": "new"}}),
    ), {
        "states": {"i1#1": "failed", "i1#2": "succeeded"}, "flags": ["late-result-after-terminal:i1#1"],
        "result_of_record": {"i1#2": {"v": "new"}}, "lineage": {"i1#2": {"attempt": 2, "retryOf": "i1#1"}},
    }))  # fmt: skip  # a story in lines


async def test_deadlines_are_judged_by_the_servers_clock_and_unreadable_ones_block_approving_only() -> None:
    def until(call: str, approval: str, deadline: object, **more: Any) -> Row:
        return asked(call, approval, tool="x", args={"n": 1}, expires_at=deadline, t=0, **more)

    await holds(story(told(
        until("i1", "ap1", "2025-03-10T11:00:00", clock="2025-03-10T10:00:00Z"), until("i2", "ap2", "2025-03-10T11:01:00+01:00"),
        until("i3", "ap3", 1741608000), until("i4", "ap4", "2025-03-10T12:00:00Z"), clicked("ap1", t=10),
        clicked("ap2", t=60, clock="2025-03-10T01:00:00-08:00"), clicked("ap3", "deny", t=61), clicked("ap4", t=62),
    ), {
        "decisions": {"5": "rejected:deadline-unreadable", "6": "rejected:expired", "7": "accepted", "8": "accepted"},
        "states": {"i1#1": "awaiting_approval", "i3#1": "cancelled", "i4#1": "awaiting_approval"},
        "controls": {"i1#1": {"deny": ["approve"], "allow": ["deny", "inspect"]}},
        "closure": {"i3#1": {"kind": "denied", "owner": "authorization", "initiator": "u1"}},
        "flags": ["i4#1:approved-not-queued", "i1#1:deadline-unreadable"],
    }, kind="ui-actions"))  # fmt: skip  # a story in lines


async def test_two_tabs_and_two_approvers_decide_once_and_dispatch_once() -> None:
    await holds(story(told(
        proposed("i1"), asked("i1", "ap1"), clicked("ap1", tab="A", request_id="r1"), clicked("ap1", tab="B", request_id="r2"),
        clicked("ap1", tab="A", request_id="r1"), clicked("ap1", "deny", actor="u2"), ("ui", "pointer", {"actor": "u1"}),
        ("orchestrator", "dispatch.requested", {"i": "i1", "approval": "ap1"}), ("orchestrator", "dispatch.requested", {"i": "i1"}),
    ), {
        "decisions": {
            "3": "accepted", "4": "duplicate-of:3", "5": "duplicate-of:3", "6": "rejected:already-decided", "7": "not-a-decision",
        },
        "dispatch": {"8": "allow", "9": "refuse:already-dispatched", "i1#1": "refuse:already-used"},
        "states": {"i1#1": "awaiting_approval"},
        "flags": ["i1#1:approved-not-queued", "rejected-decision-recorded:6", "dispatch-refused:9"],
        "controls": {"i1#1": {"deny": ["approve", "deny"]}},
    }, kind="ui-actions"))  # fmt: skip  # a story in lines


async def test_events_that_come_twice_or_in_another_order_count_once_and_in_theirs() -> None:
    def piece(event_id: str, index: int, given: str) -> Row:
        return ("executor", "output", {"i": "i1", "event_id": event_id, "index": index, "text": given})

    end = ("executor", "succeeded", {"i": "i1", "event_id": "e5", "result": {"t": "abc"}})
    await holds(story(told(
        proposed("i1", consequence=["read-only"]), ("executor", "started", {"i": "i1", "event_id": "e1"}), piece("e2", 0, "a"),
        piece("e4", 2, "c"), piece("e3", 1, "b"), piece("e2", 0, "a"), end, end,
        ("executor", "progress", {"i": "i1", "event_id": "e6", "value": 1, "total": 2}),
    ), {
        "states": {"i1#1": "succeeded"}, "checkpoints": [{"after": 3, "states": {"i1#1": "streaming"}}],
        "flags": ["duplicate-event:6", "duplicate-event:8", "out-of-order-event:5", "late-event:9"],
        "result_of_record": {"i1#1": {"t": "abc"}}, "inputs": {"i1#1": {"a": 1}},
    }))  # fmt: skip  # a story in lines


async def test_an_answer_to_an_old_question_decides_neither_the_old_nor_the_new_one() -> None:
    await holds(story(told(
        proposed("i1", t=0), asked("i1", "ap1", deadline_seconds=5, t=0),
        ("policy", "approval.expired", {"i": "i1", "approval": "ap1", "t": 6}),
        proposed("i2", replaces="i1", t=7), asked("i2", "ap2", t=7), clicked("ap1", t=9), clicked("ap1", i="i2", t=10),
        clicked("ap1", "deny", t=11), clicked("ap2", t=12),
    ), {
        "decisions": {
            "6": "recorded-after-expiry:approve", "7": "rejected:wrong-invocation", "8": "recorded-after-expiry:deny", "9": "accepted",
        },
        "states": {"i1#1": "expired", "i2#1": "awaiting_approval"}, "lineage": {"i2": {"replaces": "i1"}},
        "flags": ["i2#1:approved-not-queued", "decision-after-expiry:6", "approval-expired:i1#1"],
    }, kind="ui-actions"))  # fmt: skip  # a story in lines


async def test_one_submission_with_two_opposite_answers_decides_nothing() -> None:
    def sent(values: dict[str, bool], **more: Any) -> Row:
        return ("browser", "rerun.values", {"actor": "u1", "values": values, **more})

    await holds(story(told(
        proposed("i1"), asked("i1", "ap1"), sent({"approve_ap1": True, "deny_ap1": True}), sent({"approve_ap1": False, "deny_ap1": False}),
        sent({"approve": True, "deny": False}, approval="ap1"), sent({"approve": True, "deny": False}, approval="ap1"),
    ), {
        "decisions": {"3": "rejected:contradictory", "4": "not-a-decision", "5": "accepted", "6": "duplicate-of:5"},
        "states": {"i1#1": "awaiting_approval"}, "flags": ["approved-not-queued", "contradictory-submission:3"],
    }, kind="ui-actions"))  # fmt: skip  # a story in lines


async def test_questions_of_the_tool_itself_are_answered_by_people_who_were_shown_them() -> None:
    def asks(call: str, request: str) -> Row:
        return ("executor", "input.requested", {"i": call, "request": request, "fields": ["size"]})

    await holds(story(told(
        proposed("i1", consequence=["read-only"]), asks("i1", "el1"), ("client", "presented", {"request": "el1", "actor": "u1"}),
        ("client", "elicitation.answer", {"request": "el1", "action": "accept", "content": {"size": "L"}, "actor": "u1"}),
        asks("i2", "el2"),
        ("user", "input.supplied", {"request": "el2", "values": {"size": 3}, "actor": "u1"}), asks("i3", "el3"),
        ("client", "viewed", {"request": "el3", "actor": "u1"}),
        ("client", "elicitation.answer", {"request": "el3", "action": "decline", "actor": "u1"}), asks("i4", "el4"),
        ("client", "elicitation.answer", {"request": "el4", "action": "accept", "content": {"size": "L"}, "actor": "u1"}),
    ), {
        "decisions": {"4": "accepted", "6": "accepted", "9": "accepted", "11": "rejected:not-presented"},
        "states": {"i1#1": "proposed", "i3#1": "cancelled", "i4#1": "awaiting_input"},
        "closure": {"i3#1": {"kind": "dismissed", "initiator": "u1"}},
    }, kind="ui-actions"))  # fmt: skip  # a story in lines


async def test_one_approval_that_covers_two_calls_decides_each_of_them() -> None:
    await holds(story(told(
        proposed("i1"), proposed("i2"), asked("i1", "ap1", covers=["i1", "i2"]), clicked("ap1"),
        ("orchestrator", "dispatch.requested", {"i": "i1", "approval": "ap1"}),
        ("orchestrator", "dispatch.requested", {"i": "i2", "approval": "ap1"}),
    ), {
        "decisions": {"4": "accepted"}, "dispatch": {"5": "allow", "6": "allow"}, "states": {"i1#1": "awaiting_approval"},
    }))  # fmt: skip  # a story in lines


async def test_a_retry_is_a_new_attempt_under_the_same_name() -> None:
    await holds(story(told(
        proposed("i1", consequence=["read-only"]), ("executor", "started", {"i": "i1"}),
        ("executor", "raised", {"i": "i1", "exception": {"type": "ValueError"}}),
        ("ui", "click", {"control": "retry", "i": "i1", "actor": "u1"}), ("executor", "started", {"i": "i1#2"}),
        ("executor", "raised", {"i": "i1#2", "exception": {"type": "asyncio.CancelledError"}}),
    ), {
        "states": {"i1#1": "failed", "i1#2": "failed"}, "decisions": {"4": "accepted"},
        "lineage": {"i1#2": {"attempt": 2, "retryOf": "i1"}},
        "reduce": [{"for": "i1#2", "commit": False, "kind": "error"}],
    }))  # fmt: skip  # a story in lines


async def test_a_whole_run_is_stopped_by_its_executors_and_not_by_the_click() -> None:
    await holds(story(told(
        proposed("i1", parent="t1"), ("executor", "started", {"i": "i1"}), proposed("i2", parent="t1", args={"a": 2}), asked("i2", "ap1"),
        ("user", "cancel.requested", {"scope": "run:t1", "actor": "u1"}),
        ("orchestrator", "cancel.acknowledged", {"scope": "run:t1", "initiator": "u1", "reason": "user"}),
    ), {
        "checkpoints": [{"after": 5, "states": {"i1#1": "running"}, "flags": ["i1#1:cancel-requested", "i1#1:no-acknowledgement"]}],
        "states": {"i1#1": "cancelled", "i2#1": "cancelled"},
        "closure": {"i1#1": {"kind": "execution-terminated"}, "i2#1": {"kind": "withdrawn"}},
    }))  # fmt: skip  # a story in lines


@pytest.mark.parametrize(
    ("state", "more", "closure"),
    [
        ("proposed", {}, None),
        ("awaiting_input", {"unresolved": ["size"]}, None),
        ("awaiting_approval", {"inputs": {"q": "\u202eevil"}}, None),
        ("queued", {}, None),
        ("running", {}, None),
        ("streaming", {"text": "<b>hi</b>"}, None),
        ("partially_complete", {}, None),
        ("succeeded", {"output": {"result": {"n": 1}}}, None),
        ("failed", {"errors": {"safeCategory": "timeout", "userMessage": "x"}}, None),
        ("cancelled", {"closure": {"kind": "denied", "initiator": "u7"}}, "denied"),
        ("cancelled", {}, "execution-terminated"),
        ("expired", {}, None),
    ],
)
async def test_a_piece_of_a_document_is_brought_about_by_evidence(state: str, more: dict[str, Any], closure: str | None) -> None:
    piece = {"state": state, "tool": "x", "inputs": {"q": 1}, "consequence": {"classes": ["reversible"]}, **more}
    expected = {"states": {"a": state}, **({"closure": {"a": {"kind": closure}}} if closure else {})}
    await holds({"id": "a piece", "kind": "contract", "input": {"cards": {"a": piece}}, "expected": expected})
    await holds({"id": "a piece", "kind": "contract", "input": {"invocation": {**piece, "invocationId": "a"}}, "expected": expected})


@pytest.mark.parametrize("kind", sorted(WORDS))
@pytest.mark.parametrize(
    "fields", [{}, {"invocation": "i1", "attempt": 1, "approval": "ap1", "actor": {"id": 7}, "t": "soon", "values": [1], "args": 3}]
)
async def test_a_word_whose_fields_are_missing_or_strange_breaks_nothing(kind: str, fields: dict[str, Any]) -> None:
    events = [*told(proposed("i1"), asked("i1", "ap1")), {"seq": 3, "source": "whoever", "type": kind, **fields}]
    result = await run_report(story(events, {"states": {"i1#1": [
        "awaiting_approval", "awaiting_input", "queued", "running", "streaming", "partially_complete", "succeeded", "failed", "cancelled",
    ]}}))  # fmt: skip  # a story in lines
    assert result.wrong == []


TOOLS = {
    "read_note": {"consequence": ["read-only"], "eligible": ["u1"]},
    "erase_note": {"consequence": ["destructive"], "eligible": ["u9"]},
}


@pytest.mark.parametrize("shape", ["flat", "edited_action"])
async def test_an_edit_into_another_tool_is_another_call_under_that_tools_own_policy(shape: str) -> None:
    other = {"name": "erase_note", "args": {"name": "a"}}
    edit = {"edited_action": other} if shape == "edited_action" else {"tool": other["name"], "args": other["args"]}
    await holds(story(told(
        proposed("i1", tool="read_note", args={"name": "a"}, consequence=["read-only"]),
        asked("i1", "ap1", authority={"eligible": ["u1"]}),
        ("user", "decision", {"i": "i1", "kind": "edit", "approval": "ap1", "actor": "u1", **edit}),
        ("user", "decision", {"i": "i1", "kind": "approve", "approval": "ap1", "actor": "u1"}),
        ("orchestrator", "dispatch.requested", {"i": "i1", "claims_approval": "ap1"}),
    ), {
        "states": {"i1#1": "awaiting_approval"}, "decisions": {"3": "accepted", "4": "rejected:unknown-approval"},
        "dispatch": {"5": "refuse:new-tool-needs-its-own-approval"}, "reclassified": {"i1#1": ["destructive"]},
        "controls": {"i1#1": {"for": {"u1": ["inspect", "withdraw"], "u9": ["inspect", "approve", "deny", "withdraw"]}}},
        "flags": ["i1#1:edited-to-other-tool"], "inputs": {"i1#1": {"name": "a"}},
        "must_not_show": ["i1 succeeded", "i1 queued"],
    }, policy=TOOLS))  # fmt: skip  # a story in lines


async def test_an_answer_in_the_tools_place_closes_the_call_and_is_no_success_of_the_tool() -> None:
    await holds(story(told(
        proposed("i2", tool="read_note", args={"name": "b"}, consequence=["read-only"]),
        asked("i2", "ap2", authority={"eligible": ["u1"]}),
        ("user", "decision", {"i": "i2", "kind": "respond", "approval": "ap2", "actor": "u7", "message": "it is empty"}),
        ("user", "decision", {"i": "i2", "kind": "respond", "approval": "ap2", "actor": "u1", "message": "I looked: it is empty"}),
        ("user", "decision", {"i": "i2", "kind": "approve", "approval": "ap2", "actor": "u1"}),
        ("orchestrator", "dispatch.requested", {"i": "i2"}),
    ), {
        "states": {"i2#1": "cancelled"},
        "decisions": {"3": "rejected:not-eligible", "4": "accepted", "5": "rejected:already-used"},
        "dispatch": {"6": "refuse:already-terminal"},
        "closure": {"i2#1": {"kind": "answered-by-human", "owner": "authorization", "initiator": "u1", "executed": False}},
        "reduce": [{"for": "i2#1", "commit": False, "kind": "cancelled"}],
        "flags": ["i2#1:human-answer-used-as-result", "rejected-decision-recorded:3"],
        "must_not_show": ["i2 succeeded", "i2 failed", "i2 running"],
    }))  # fmt: skip  # a story in lines


@pytest.mark.parametrize(
    ("found", "state", "retry"),
    [("not-charged", "reconciled-not-charged", "accepted"), ("reconciled-charged", "reconciled-charged", "rejected:outcome-unknown")],
)
async def test_only_what_is_known_not_to_have_happened_is_tried_again(found: str, state: str, retry: str) -> None:
    accepted = retry == "accepted"
    await holds(story(told(
        proposed("i1", tool="pay", consequence=["financially-consequential"]), asked("i1", "ap1"), clicked("ap1"),
        ("scheduler", "queue.accepted", {"i": "i1", "queue_ref": "q1"}), ("executor", "started", {"i": "i1"}),
        ("executor", "failed", {"i": "i1", "category": "timeout", "message": "no answer", "outcome": "unknown"}),
        ("user", "decision", {"i": "i1", "kind": "retry", "actor": "u1"}),
        ("user", "decision", {"i": "i1", "kind": "reconcile", "actor": "u1", "conclusion": found, "ref": "list 4"}),
        ("user", "decision", {"i": "i1", "kind": "retry", "actor": "u1"}),
    ), {
        "states": {"i1#1": "failed", **({"i1#2": "awaiting_approval"} if accepted else {})},
        "decisions": {"7": "rejected:outcome-unknown", "8": "accepted", "9": retry},
        "side_effects": {"i1#1": {"reconciliationState": state}},
        **({"lineage": {"i1#2": {"attempt": 2, "retryOf": "i1"}}} if accepted else {}),
    }))  # fmt: skip  # a story in lines


async def test_an_answer_in_the_place_of_a_tool_that_runs_is_refused() -> None:
    await holds(story(told(
        proposed("i3", consequence=["reversible"]), ("executor", "started", {"i": "i3"}),
        ("user", "decision", {"i": "i3", "kind": "respond", "actor": "u1", "message": "never mind"}),
    ), {"states": {"i3#1": "running"}, "decisions": {"3": "rejected:already-dispatched"}}))  # fmt: skip  # a story in lines


async def test_what_the_desk_has_no_command_for_is_unchecked() -> None:
    for strange in (
        clicked("ap1", "teleport"),
        ("user", "decision", {"kind": "edit", "tool": "erase", "approval": "ap1", "actor": "u1"}),
        ("client", "elicitation.answer", {"i": "i1", "action": "shrug"}),
    ):
        result = await run_report(story(told(proposed("i1"), asked("i1", "ap1"), strange), {"states": {"i1#1": "awaiting_approval"}}))
        assert [entry for entry in result.unchecked if entry.startswith("event 3")]
        assert not result.passed
