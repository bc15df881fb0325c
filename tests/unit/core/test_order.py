"""For the numbered events of one source neither the order nor the repetition of their arrival matters; the unnumbered never wait."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.builders import INVOCATION, event, governed, proposed, record_of
from toolwitness.core.evidence import Event, Kind
from toolwitness.core.findings import Code
from toolwitness.core.invocation import fold, judge
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import InvocationId, Owner, State
from toolwitness.core.verdicts import Verdict

ARRIVAL = {"last_at"}
"""The one field that says when something came last, and not what was said."""
SAID = st.one_of(
    st.builds(lambda ref: (Kind.ACCEPTED, {"queue_ref": ref}), st.sampled_from(["q/1", "q/2"])),
    st.builds(
        lambda attempt, lease: (Kind.STARTED, {"attempt": attempt, "lease": lease}), st.integers(1, 2), st.sampled_from(["l1", "l2"])
    ),
    st.builds(lambda lease: (Kind.HEARTBEAT, {"lease": lease}), st.sampled_from(["l1", "l2"])),
    st.builds(lambda order: (Kind.OUTPUT, {"order": order}), st.integers(0, 5)),
    st.builds(lambda order, percent: (Kind.PROGRESS, {"order": order, "percent": percent}), st.integers(0, 5), st.integers(0, 100)),
    st.builds(lambda left: (Kind.PART_COMPLETED, {"open": left}), st.sampled_from([[], ["return"]])),
    st.sampled_from(
        [
            (Kind.COMMITTED, {}),
            (Kind.EFFECT, {}),
            (Kind.SUCCEEDED, {}),
            (Kind.SUCCEEDED, {"validation": "rejected"}),
            (Kind.FAILED, {}),
            (Kind.LOST, {}),
            (Kind.WAITER_RELEASED, {}),
            (Kind.CANCEL_ACKNOWLEDGED, {}),
            (Kind.CANCEL_ACKNOWLEDGED, {"termination": "unwound"}),
            (Kind.DEADLINE_ELAPSED, {}),
            (Kind.FAILED, {"category": None}),
            (Kind.OUTPUT, {"order": "no"}),
            (Kind.GRANTED, {}),
            ("run.finished", {}),
        ]
    ),
)


def numbered(said: list[tuple[str, dict[str, Any]]], source: str = "worker") -> list[Event]:
    return [
        event(kind, source=source, sequence=number, owner=Owner.RUNTIME, time=f"2026-11-30T10:00:{number:02}Z", **changes)
        for number, (kind, changes) in enumerate(said, start=1)
    ]


def contents(record: InvocationRecord) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record) if f.name not in ARRIVAL}


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """What one source said in its order, and the same events as they might arrive: shuffled, and some of them again."""
    said = numbered(draw(st.lists(SAID, min_size=1, max_size=9)))
    again = draw(st.lists(st.sampled_from(said), max_size=6))
    return said, draw(st.permutations([*said, *again]))


BEFORE = st.sampled_from([
    [],
    [proposed()],
    [governed()],
    [governed(), event(Kind.CLAIMED)],
    [governed(), event(Kind.APPROVAL_REQUESTED)],
    [governed(), event(Kind.APPROVAL_REQUESTED), event(Kind.GRANTED), event(Kind.CLAIMED)],
    [proposed(), event(Kind.CANCEL_REQUESTED)],
])  # fmt: skip  # one beginning a line
AFTER = st.sampled_from([[], [event(Kind.RECONCILED)], [event(Kind.EFFECT, source="provider")], [event(Kind.RETRY_REQUESTED)]])


@given(arrivals(), BEFORE, AFTER)
def test_one_sources_numbered_events_give_the_same_record_in_every_order(
    both: tuple[list[Event], list[Event]], before: list[Event], after: list[Event]
) -> None:
    said, arrived = both
    expected = fold(INVOCATION, [*before, *said, *after])
    actual = fold(INVOCATION, [*before, *arrived, *after])
    assert contents(actual) == contents(expected)
    assert actual.held == {}


@given(arrivals(), st.lists(st.tuples(st.integers(0, 15), st.sampled_from([Kind.CARD_RENDERED, Kind.VALUE_ERASED, Kind.RETRY_REQUESTED]))))
def test_another_source_that_speaks_in_between_does_not_change_what_the_first_one_said(
    both: tuple[list[Event], list[Event]], between: list[tuple[int, str]]
) -> None:
    said, arrived = both
    others = [event(kind, source="desk") for _, kind in between]

    def mixed(of: list[Event]) -> list[Event]:
        out = list(of)
        for (at, _), other in zip(between, others, strict=True):
            out.insert(min(at, len(out)), other)
        return out

    first, second = contents(fold(INVOCATION, [*mixed(said), *others])), contents(fold(INVOCATION, [*mixed(arrived), *others]))
    # How two sources mix is how they arrived: the lists of evidence, requests and receipts keep it. Each source's own order is the same.
    for one in (first, second):
        one["evidence_refs"] = [ref for ref in one["evidence_refs"] if ref in {e.ref for e in said}]
        one["requests"] = sorted(request.ref for request in one["requests"])
        one["rendered"] = sorted(receipt["ref"] for receipt in one["rendered"])
    assert second == first


@given(arrivals())
def test_repeating_an_event_is_counted_as_a_duplicate_and_changes_nothing(both: tuple[list[Event], list[Event]]) -> None:
    said, _ = both
    record = fold(INVOCATION, said)
    before = contents(record)
    assert [judge(record, one).verdict for one in said] == [Verdict.DUPLICATE] * len(said)
    assert contents(record) == before


@given(arrivals(), st.integers(1, 9))
def test_what_is_held_in_the_end_does_not_depend_on_the_order_either(both: tuple[list[Event], list[Event]], lost: int) -> None:
    said, arrived = both
    expected = fold(INVOCATION, [e for e in said if e.sequence != lost])
    actual = fold(INVOCATION, [e for e in arrived if e.sequence != lost])
    assert contents(actual) == contents(expected)


def test_an_event_beyond_a_hole_is_held_and_judged_when_the_hole_fills() -> None:
    first, second, third = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {}), (Kind.OUTPUT, {})])
    record = record_of(proposed(), first)
    judgement = judge(record, third)
    assert (judgement.verdict, judgement.reason) == (Verdict.HELD, "sequence: number 2 of worker has not arrived")
    assert record.state is State.QUEUED
    assert record.findings[Code.EVIDENCE_HELD].detail == "worker has not yet said number 2"
    assert record.findings[Code.EVIDENCE_HELD].refs == (third.ref,)
    assert judge(record, second).verdict is Verdict.MOVED
    assert record.state is State.STREAMING
    assert Code.EVIDENCE_HELD not in record.findings


def test_the_finding_for_held_evidence_stays_while_another_source_still_waits() -> None:
    a, b = numbered([(Kind.LOST, {}), (Kind.LOST, {})], "a"), numbered([(Kind.LOST, {}), (Kind.LOST, {})], "b")
    record = record_of(proposed(), a[1], b[1])
    assert record.findings[Code.EVIDENCE_HELD].detail == "a has not yet said number 1; b has not yet said number 1"
    judge(record, a[0])
    assert record.findings[Code.EVIDENCE_HELD].detail == "b has not yet said number 1"


def test_an_event_without_a_number_is_never_held() -> None:
    verdicts = [judge(record_of(proposed()), event(kind)).verdict for kind in Kind]
    assert Verdict.HELD not in verdicts


def test_a_released_hold_is_judged_in_the_order_of_the_numbers() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {}), (Kind.OUTPUT, {}), (Kind.SUCCEEDED, {})])
    record = record_of(proposed(), said[3], said[2])
    assert record.state is State.PROPOSED
    released = event(Kind.HOLD_RELEASED, up_to=4, reason="source ended")
    assert judge(record, released).verdict is Verdict.NOTED
    assert [move.target for move in record.moves] == [State.PROPOSED, State.STREAMING, State.SUCCEEDED]
    assert (record.held, record.held_times) == ({}, {})
    assert {Code.ACCEPTANCE_NOT_RECORDED, Code.START_NOT_RECORDED} <= set(record.findings)
    assert Code.EVIDENCE_HELD not in record.findings


def test_a_release_lets_go_only_what_it_names_and_what_then_shows_no_hole() -> None:
    said = numbered([(Kind.OUTPUT, {"order": order}) for order in range(8)])
    record = record_of(proposed(), said[2], said[3], said[6])
    judge(record, event(Kind.HOLD_RELEASED, up_to=3))
    assert [chunk["order"] for chunk in record.output_chunks] == [2, 3]
    assert list(record.held["worker"]) == [7]
    assert record.findings[Code.EVIDENCE_HELD].detail == "worker has not yet said number 5"


def test_what_follows_directly_on_a_released_number_is_next() -> None:
    said = numbered([(Kind.OUTPUT, {"order": order}) for order in range(7)])
    record = record_of(proposed(), said[6], event(Kind.HOLD_RELEASED, up_to=4))
    assert record.findings[Code.EVIDENCE_HELD].detail == "worker has not yet said number 5"
    assert judge(record, said[5]).reason == "sequence: number 5 of worker has not arrived"
    judge(record, said[4])
    assert [chunk["order"] for chunk in record.output_chunks] == [4, 5, 6]
    assert record.skipped == {"worker": ((1, 4),)}


def test_a_number_that_comes_after_its_hold_was_released_is_judged_and_not_called_reused() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {}), (Kind.OUTPUT, {})])
    record = record_of(proposed(), said[2], event(Kind.HOLD_RELEASED, up_to=3))
    assert record.state is State.STREAMING
    assert judge(record, said[1]).verdict is Verdict.NOTED
    assert (record.starts, record.started_at) == ([said[1].ref], said[1].time)
    assert Code.START_NOT_RECORDED not in record.findings
    assert judge(record, said[0]).verdict is Verdict.NOTED
    assert Code.ACCEPTANCE_NOT_RECORDED not in record.findings
    assert Code.SEQUENCE_REUSED not in record.findings


def test_a_skipped_number_can_be_used_once() -> None:
    said = numbered([(Kind.OUTPUT, {"order": order}) for order in range(6)])
    record = record_of(proposed(), said[5], event(Kind.HOLD_RELEASED, up_to=6), said[2], said[0], said[4])
    assert [chunk["order"] for chunk in record.output_chunks] == [0, 2, 4, 5]
    for number in (3, 1, 5, 6):
        other = event(Kind.OUTPUT, source="worker", sequence=number, order=9)
        assert judge(record, other).reason == f"sequence: worker has already used number {number}"
    assert [judge(record, said[place]).verdict for place in (1, 3)] == [Verdict.NOTED, Verdict.NOTED]
    assert [chunk["order"] for chunk in record.output_chunks] == [0, 1, 2, 3, 4, 5]


def test_nothing_is_waited_for_below_a_number_that_was_released_before_it_came() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {}), (Kind.OUTPUT, {})])
    record = record_of(proposed(), event(Kind.HOLD_RELEASED, up_to=3), said[2])
    assert record.state is State.STREAMING


def test_a_release_that_is_not_whole_or_not_policys_releases_nothing() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {})])
    record = record_of(
        proposed(), said[1], event(Kind.HOLD_RELEASED, up_to="2"), event(Kind.HOLD_RELEASED, without=("reason",)),
        event(Kind.HOLD_RELEASED, owner=Owner.RUNTIME), event(Kind.HOLD_RELEASED, held_source="somebody else"),
    )  # fmt: skip  # one event after the other
    assert (record.state, list(record.held["worker"])) == (State.PROPOSED, [2])


def test_a_release_that_itself_waits_for_its_turn_releases_when_its_turn_comes() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {})])
    late = event(Kind.HOLD_RELEASED, source="policy", sequence=2, up_to=2)
    record = record_of(proposed(), said[1], late)
    assert record.state is State.PROPOSED
    judge(record, event(Kind.CARD_RENDERED, source="policy", sequence=1, owner=Owner.PRESENTATION))
    assert record.state is State.RUNNING


def test_a_huge_release_costs_nothing() -> None:
    record = record_of(proposed(), event(Kind.HOLD_RELEASED, up_to=10**18), event(Kind.OUTPUT, source="worker", sequence=10**17))
    assert record.skipped == {"worker": ((1, 10**17 - 1),)}


@pytest.mark.parametrize("place", [0, 1])
def test_a_number_used_for_two_things_counts_for_the_first_that_came(place: int) -> None:
    pair = [event(Kind.ACCEPTED, source="worker", sequence=1), event(Kind.STARTED, source="worker", sequence=1)]
    first, second = pair[place], pair[1 - place]
    record = record_of(proposed(), first)
    judgement = judge(record, second)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOTED, "sequence: worker has already used number 1")
    assert record.findings[Code.SEQUENCE_REUSED].refs == (second.ref,)
    assert record.state_refs == (first.ref,)


def test_a_number_that_is_held_cannot_be_used_again_while_it_waits() -> None:
    record = record_of(proposed(), event(Kind.STARTED, source="worker", sequence=2))
    assert judge(record, event(Kind.OUTPUT, source="worker", sequence=2)).verdict is Verdict.NOTED
    assert Code.SEQUENCE_REUSED in record.findings


def test_a_refused_event_fills_its_place_in_the_order() -> None:
    said = numbered([(Kind.ACCEPTED, {}), (Kind.STARTED, {})])
    forged = event(Kind.GRANTED, source="worker", sequence=3, owner=Owner.RUNTIME)
    after = event(Kind.OUTPUT, source="worker", sequence=4)
    record = record_of(proposed(), said[0])
    assert judge(record, forged).verdict is Verdict.REFUSED
    assert judge(record, after).verdict is Verdict.HELD
    judge(record, said[1])
    assert record.state is State.STREAMING
    assert record.findings[Code.DECISION_REFUSED].refs == (forged.ref,)


def test_a_held_event_keeps_the_time_at_which_it_was_recorded() -> None:
    record = record_of(proposed())
    judge(record, event(Kind.STARTED, source="worker", sequence=2), recorded_at="2026-11-30T10:00:01Z")
    judge(record, event(Kind.ACCEPTED, source="worker", sequence=1), recorded_at="2026-11-30T10:00:09Z")
    assert (record.started_at, record.accepted_at) == ("2026-11-30T10:00:01Z", "2026-11-30T10:00:09Z")


def test_a_refused_repetition_under_a_known_id_stays_refused() -> None:
    record = InvocationRecord(InvocationId(INVOCATION))
    judge(record, event(Kind.PROPOSED, source="s", event_id="1"))
    again = event(Kind.STARTED, source="s", event_id="1", refusal="id-reused: something else was said under this id")
    judgement = judge(record, again)
    assert (judgement.verdict, judgement.reason) == (Verdict.REFUSED, again.refusal)
    assert record.state is State.PROPOSED
