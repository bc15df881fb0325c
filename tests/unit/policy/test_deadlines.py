"""Deadlines belong to the authority: read strictly, judged by a time that is passed in, due once and in their phase."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.policy.worlds import CLAIM, NOW, REF, asked, at, granted, record, running, waiting
from toolwitness.core.record import InvocationRecord
from toolwitness.core.states import TERMINAL, Deadline, State
from toolwitness.policy.deadlines import Due, Standing, after, due, standing


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, Standing.NONE),
        ("", Standing.NONE),
        (at(1), Standing.OPEN),
        (at(0), Standing.ELAPSED),
        (at(-1), Standing.ELAPSED),
        ("2026-05-04T14:00:00.000001+02:00", Standing.OPEN),
        ("2026-05-04T14:00:00+02:00", Standing.ELAPSED),
        ("2026-05-04T12:05:00", Standing.UNREADABLE),
        ("tomorrow", Standing.UNREADABLE),
        (1_800_000_000, Standing.UNREADABLE),
        ({"at": at(1)}, Standing.UNREADABLE),
    ],
)
def test_how_a_deadline_stands(declared: object, expected: Standing) -> None:
    assert standing(declared, NOW) is expected


def test_a_clock_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no zone"):
        standing(at(1), NOW.replace(tzinfo=None))


def test_a_limit_gives_a_deadline_and_none_gives_none() -> None:
    assert after(NOW, 90) == at(90)
    assert after(NOW, None) is None


CASES: list[tuple[str, InvocationRecord, str, tuple[str, str] | None]] = [
    ("input", record(State.AWAITING_INPUT), "input", ("", "dispatch:inv_1")),
    ("input while proposed", record(State.PROPOSED), "input", ("", "dispatch:inv_1")),
    ("input after the claim", record(State.PROPOSED, claim=CLAIM), "input", None),
    ("input while it runs", running(), "input", None),
    ("approval", waiting(), "approval", ("apr_1", "answer:apr_1")),
    ("approval after the grant", granted(), "approval", None),
    ("approval while it runs", running(approvals=[asked()]), "approval", None),
    ("queue start", granted(), "queue_start", ("", "dispatch:inv_1")),
    ("queue start after the claim", granted(claim=CLAIM), "queue_start", None),
    ("queue start after a start", record(State.RUNNING, starts=[REF]), "queue_start", None),
    ("queue start under an open question", waiting(), "queue_start", None),
    ("result", running(), "result", ("", "")),
    ("result before dispatch", granted(), "result", ("", "dispatch:inv_1")),
    ("result after a bare start", record(State.RUNNING, starts=[REF]), "result", ("", "")),
]


@pytest.mark.parametrize(("name", "made", "which", "expected"), CASES)
def test_a_deadline_is_due_in_its_phase_only(name: str, made: InvocationRecord, which: str, expected: tuple[str, str] | None) -> None:
    made.deadlines = {which: at(0)}

    actual = due(made, NOW)

    if expected is None:
        assert actual == (), name
    else:
        approval_id, key = expected
        assert actual == (Due(deadline=Deadline(which), declared_at=at(0), approval_id=approval_id, once_key=key),), name


@pytest.mark.parametrize("declared", [at(1), "soon"])
def test_one_that_is_open_or_unreadable_is_not_due(declared: str) -> None:
    assert due(waiting(deadlines={"approval": declared}), NOW) == ()


def test_several_can_be_due_at_once() -> None:
    made: Any = granted(deadlines={"queue_start": at(-1), "result": at(0)})

    assert [d.deadline for d in due(made, NOW + timedelta(seconds=1))] == [Deadline.QUEUE_START, Deadline.RESULT]


@pytest.mark.parametrize("state", [*sorted(TERMINAL), None])
def test_nothing_is_due_after_the_end_or_before_the_beginning(state: State | None) -> None:
    assert due(record(state, deadlines={"result": at(-1)}), NOW) == ()
